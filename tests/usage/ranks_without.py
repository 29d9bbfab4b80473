"""A machine without a launcher, MPI and Slurm: cases of several ranks are skipped with the reason, and nothing else changes."""

import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from program import listed, results, run  # noqa: E402
from tap import Tap  # noqa: E402

REASON = "several ranks need a launcher: no program 'mpirun' in PATH (Debian packages openmpi-bin, mpich), and 'srun' is for the " \
         "inside of an allocation"
SOME = ("-m", "ranks and not gpu", "-k", "not ranks=1")
KINDS = ("libmpi", "libmpich", "libopen-rte", "libslurm", "libpmi")


def check_program(tap, program, alone):
    """`alone` selects a case that has one rank and takes no time."""
    with tempfile.TemporaryDirectory() as folder:
        history = os.path.join(folder, "history.db")
        for env, where in (({"PATH": folder}, "on a machine without anything"),
                           ({"PATH": folder, "SLURM_JOB_ID": "7"}, "inside an allocation without srun")):
            several = listed(run(program, "--co", "-q", *SOME, env=env))
            done = run(program, "--history", history, "--speed=off", *SOME, "-rs", env=env)
            found = results(history)
            tap.check(done.code == 0 and len(several) > 0 and sorted(found) == sorted(several), "-m ranks has a result of each case", done)
            tap.equal({(r["outcome"], r["reason"]) for key, r in found.items() if "ranks=" in key}, {("skipped", REASON)},
                      f"each is skipped with the reason, {where}")
            os.unlink(history)
        done = run(program, "--history", history, "--speed=off", "-k", alone, env={"PATH": folder})
        tap.equal((done.code, {r["outcome"] for r in results(history).values()}), (0, {"passed"}), "a case of one rank runs")
    done = subprocess.run(["ldd", program], capture_output=True, text=True, check=False)
    tap.check(not any(kind in done.stdout for kind in KINDS), "the program is linked to none of them", done.stdout)


def check_build(tap, root):
    """The library for MPI is left out, and nothing asks for it."""
    meson = shutil.which("meson")
    if meson is None or not root:
        tap.skip("a build without MPI", "no meson in PATH" if root else "the build without a sanitizer has it")
        return
    with tempfile.TemporaryDirectory() as folder:
        build = os.path.join(folder, "build")
        done = subprocess.run([meson, "setup", build, root, "-Dmpi=disabled", "-Dmodels=disabled", "-Dcuda=disabled", "-Dtests=true"],
                              capture_output=True, text=True, check=False, timeout=280)
        if not tap.check(done.returncode == 0, "-Dmpi=disabled is configured", done.stdout[-2000:] + done.stderr):
            return
        targets = json.loads(subprocess.check_output([meson, "introspect", "--targets", build], text=True))
        names = {target["name"] for target in targets}
        tap.check("usage-ranks" in names and not any("mpi" in name.split("-") for name in names),
                  "it has the cases of several ranks, and nothing of MPI", sorted(names))
        with open(os.path.join(build, "build.ninja"), encoding="utf-8") as file:
            text = file.read()
        tap.check(not any(word in text for word in ("-lmpi", "libmpi.so", "libmpich")), "no command names a library of MPI")


def main(root, program, *suite):
    tap = Tap()
    tap.run("a small program", check_program, tap, program, "sums and ranks=1")
    if suite:
        tap.run("the stress suite", check_program, tap, suite[0], "ranks.c and graph and ranks=1")
    else:
        tap.skip("the stress suite", "this build has none")
    tap.run("the build", check_build, tap, root)
    tap.done()


main(*sys.argv[1:])
