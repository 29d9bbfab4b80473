"""Installs the build into an empty prefix and builds the outside projects of examples/ with it.

usage: check.py BUILD_DIRECTORY EXAMPLES_DIRECTORY
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from installed import Installed  # noqa: E402
from program import run, rows  # noqa: E402
from tap import Tap  # noqa: E402
from with_cmake import check_cmake  # noqa: E402

# Its cases are all of a GPU; where there is none, they are skipped with a reason that says so.
GPU = "cuda"
# Its cases of several ranks are skipped where there is no launcher; one of its programs is built where there is MPI.
RANKS = "ranks"


def command(tap, name, *words, env=None):
    done = subprocess.run(words, capture_output=True, text=True, env=env, stdin=subprocess.DEVNULL)
    return tap.check(done.returncode == 0, name, done.stdout + done.stderr)


def nvcc():
    """The directory of CUDA's compiler; None: there is none."""
    found = shutil.which("nvcc", path=os.environ["PATH"] + os.pathsep + "/usr/local/cuda/bin")
    return os.path.dirname(found) if found else None


def check_program(tap, example, program, source, history):
    # Its commands are found from where its yieldpoint.ini is.
    done = run(program, "--speed=record", "--history", history, "-rs", "-v", cwd=source)
    outcomes = {row["outcome"] for row in rows(history, "SELECT outcome FROM result")} \
        if os.path.exists(history) else set()
    name = os.path.basename(program)
    if example == GPU and outcomes == {"skipped"}:
        tap.check(done.code == 0 and re.search(r"SKIPPED.* (device|driver|plugin|GPU)", done.out) is not None,
                  f"{example}: {name} is skipped where there is no device", done)
    else:
        tap.check(done.code == 0 and "passed" in outcomes, f"{example}: {name} passes", done)
    if example == RANKS and shutil.which("mpirun") is None:
        tap.skip(f"{example}: {name}, two ranks", "no mpirun")
    elif example == RANKS:
        tap.check("[ranks=2] PASSED" in done.out, f"{example}: {name}, two ranks pass", done)


def check_git(tap, folder, program):
    """A project's own list of what git is to ignore need not have it."""
    subprocess.run(["git", "init", "-q", folder], check=True)
    done = run(program, "--speed=record", "--set", "mib=1", cwd=folder)
    status = subprocess.run(["git", "-C", folder, "status", "--porcelain", "--untracked-files=all"],
                            capture_output=True, text=True, check=True)
    tap.check(done.code == 0 and os.path.exists(os.path.join(folder, ".yieldpoint", "history.db")), "it keeps a history", done)
    tap.equal(status.stdout, "", "and git sees nothing of it")


def main(build, examples):
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(examples, os.path.join(folder, "examples"))
        stage = Installed(build, os.path.join(folder, "stage"))
        if not tap.check(stage.ok, "installs", stage.done.stdout + stage.done.stderr):
            tap.done()
        tap.equal(len(stage.pkgconfig), 1, "one pkg-config file is installed")
        for path in ("/share/man/man1/yieldpoint.1", "/share/man/man7/yieldpoint-suite.7",
                     "/share/bash-completion/completions/yieldpoint"):
            tap.check(stage.path(path) is not None, f"installed: {path}", stage.files)
        env = {**stage.environment, "PATH": os.pathsep.join([os.environ["PATH"]] + ([nvcc()] if nvcc() else []))}
        for example in sorted(os.listdir(os.path.join(folder, "examples"))):
            source = os.path.join(folder, "examples", example)
            if not os.path.isdir(source):
                continue
            if example == GPU and nvcc() is None:
                tap.skip(f"{example}: builds", "no nvcc")
                continue
            out = os.path.join(source, "build")
            if os.path.exists(os.path.join(source, "CMakeLists.txt")):
                tap.run(example, check_cmake, tap, stage, source)
                continue
            if os.path.exists(os.path.join(source, "Makefile")):
                command(tap, f"{example}: builds and passes by make", "make", "-C", source, "check", env=env)
                continue
            if not command(tap, f"{example}: configures", "meson", "setup", out, source, env=env):
                continue
            command(tap, f"{example}: builds", "ninja", "-C", out)
            programs = [os.path.join(out, f) for f in os.listdir(out)
                        if not f.endswith(".so") and os.access(os.path.join(out, f), os.X_OK) and
                        os.path.isfile(os.path.join(out, f))]
            if example == RANKS:
                tap.equal("mpi" in map(os.path.basename, programs), stage.path("/yieldpoint-mpi.pc") is not None,
                          f"{example}: a program of MPI where Yieldpoint has one")
            for program in programs:
                check_program(tap, example, program, source, os.path.join(folder, example + ".db"))
        check_git(tap, os.path.join(folder, "repository"), os.path.join(folder, "examples", "first", "build", "saxpy"))
    tap.done()


main(*sys.argv[1:])
