"""Cases of several ranks in jobs of several nodes, on two nodes of a Slurm cluster that this test starts and ends.

    ranks.py YIELDPOINT RANKED EXAMPLE PAGE [MPI_SUITE]     without MPI_SUITE this build has no MPI"""

import os
import re
import shutil
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import slurm  # noqa: E402
from place import Place  # noqa: E402
from program import rows  # noqa: E402
from tap import Tap  # noqa: E402

OK, FAILED, INTERRUPTED, LOST, USAGE, UNSELECTED = range(6)
# Between two slurmd on one machine the shared memory of Open MPI is not that of one node.
MPI_OF_NODES = {"OMPI_MCA_btl": "self,tcp", "OMPI_MCA_btl_tcp_if_include": "lo"}


def notes(place):
    return {row["case_id"].split("::")[1]: row["note"] for row in
            rows(place.history, "SELECT case_id, note FROM result WHERE attempt = 0")}


def several_nodes(tap, place):
    done = place.launch("--nodes-per-job", "2", "--no-such-option", place.suite)
    tap.check(done.code == USAGE, "an unknown option is refused", done)
    done = place.launch("--nodes=1", "--nodes-per-job=2", place.suite)
    tap.check(done.code == USAGE and "--nodes-per-job 2: more than the 1 of --nodes" in done.err,
              "more nodes for a job than for all", done)
    done = place.launch("--nodes-per-job", "2", place.suite, "-k", "not at_once and not works and not placed")
    tap.check(done.code == FAILED and "6 cases in 1 shard, on 2 nodes at once, 2 for each" in done.err and
              " 1 failed, 5 passed in " in done.out, "a job of two nodes runs cases of several ranks", done)
    tap.check(re.search(r"^FAILED ranked\.c::crashes\[ranks=2\] - rank 1: crashed in the body: SIGABRT", done.out, re.M),
              "a rank of another node is named", done)
    found = notes(place)
    tap.equal({name: found.get(f"meets[ranks={name}]") for name in "234"},
              {"2": "rank 0 on n1, rank 1 on n2", "3": "ranks 0, 1 on n1, rank 2 on n2", "4": "ranks 0, 1 on n1, ranks 2, 3 on n2"},
              "the ranks are on all nodes of the job, and results name them")
    of = [row["value"] for row in rows(place.history, "SELECT value.value FROM value JOIN result ON result.id = result_id WHERE "
                                       "case_id = 'ranked.c::meets[ranks=4]' AND name LIKE 'processor of rank %' ORDER BY name")]
    if len(os.sched_getaffinity(0)) > 1:
        tap.check(len(of) == 4 and of[0] != of[1] and of[:2] == of[2:], "the ranks of a node have processors of their own", of)
    else:
        tap.skip("the ranks of a node have processors of their own", "there is one")


def placed(tap, place):
    """srun is asked for a node each, or for one node; a fixture of each rank is made on the rank's node."""
    done = place.launch("--nodes-per-job=2", place.suite, "-k", "placed")
    tap.check(done.code == OK and " 3 passed, 1 skipped in " in done.out, "srun places the ranks as their tests want them", done)
    results = {row["case_id"].split("::")[1]: row for row in
               rows(place.history, "SELECT case_id, outcome, reason, note FROM result WHERE attempt = 0")}
    tap.equal(results["placed_apart[ranks=3]"]["reason"],
              "placement 'spread:node': 3 ranks are to have a node each, and there are 2", "too few nodes skip a case")
    tap.equal([results[f"placed_{name}[ranks=2]"]["note"] for name in ("apart", "fixture")], ["rank 0 on n1, rank 1 on n2"] * 2,
              "a node each")
    values = {(row["case_id"].split("::")[1], row["name"]): row["value"] for row in
              rows(place.history, "SELECT case_id, name, value.value FROM value JOIN result ON result.id = result_id")}
    tap.equal([values.get((f"placed_{name}[ranks=2]", f"node of rank {i}")) for name in ("apart", "together") for i in (0, 1)],
              [0, 1, 0, 0], "the nodes are values")
    tap.equal([values.get(("placed_fixture[ranks=2]", f"own rank {i}")) for i in (0, 1)], [20, 21],
              "each has its own fixture on its node")


def packed(tap, place):
    """Cases of two ranks fit a node of two processors, one of three does not: two at a time, a node each, and one alone."""
    done = place.launch("--nodes-per-job=2", place.suite, "-k", "at_once or crashes or works or spread or meets and not ranks=4", "--pack")
    tap.check(done.code == FAILED and re.search(r" (2 failed, 5 passed|1 failed, 5 passed, 1 noisy) in ", done.out) and
              "crashes[ranks=2] - rank 1: crashed" in done.out,
              "two cases that wait for each other pass, so they ran at the same time", done)
    found = notes(place)
    where = {found.get(f"at_once[n={n}-ranks=2]") for n in (1, 2)}
    tap.equal(where, {"ranks 0, 1 on n1", "ranks 0, 1 on n2"}, "each on a node of its own")
    tap.check(found.get("meets[ranks=2]") in where and found.get("meets[ranks=3]") == "ranks 0, 1 on n1, rank 2 on n2",
              "a case that fits no node has all of them", found)
    tap.equal(found.get("spread[ranks=2]"), "rank 0 on n1, rank 1 on n2", "so has one that asks for several nodes")
    attempts = [row["attempt"] for row in
                rows(place.history, "SELECT attempt FROM result WHERE case_id = 'ranked.c::works[ranks=2]' ORDER BY attempt")]
    least = 2 if "1 noisy" in done.out else 4  # a machine that is too busy ends the confirmation
    tap.check(attempts == list(range(len(attempts))) and len(attempts) >= least,
              "speed is judged: a failure is confirmed by fresh processes", (attempts, done))
    values = {(row["case_id"], row["name"]): row["value"] for row in
              rows(place.history, "SELECT case_id, name, value.value FROM value JOIN result ON result.id = result_id")}
    tap.equal([values.get((f"ranked.c::at_once[n={n}-ranks=2]", name)) for n in (1, 2) for name in ("n", "rank rank 0", "rank rank 1")],
              [1, 0, 1, 2, 0, 1], "and each has its own values")


def rebuilt(tap, place):
    """The program is replaced by another build while its first case runs."""
    suite = os.path.join(place.folder, "suite")
    shutil.copy(place.suite, suite)
    with open(suite, "rb") as file:
        content = bytearray(file.read())
    note = struct.pack("<III", 4, 20, 3) + b"GNU\0"  # in front of the build id
    at = content.index(note) + len(note)
    content[at:at + 20] = bytes(range(20))
    place.hold(1)
    place.start("--nodes-per-job=2", suite, "-k", "holds or meets and ranks=2")
    place.wait_begun(1)
    with open(os.open(suite + ".new", os.O_WRONLY | os.O_CREAT, 0o755), "wb") as file:
        file.write(content)
    os.rename(suite + ".new", suite)
    place.release()
    done = place.end()
    tap.check(done.code == FAILED and " 1 failed, 1 passed in " in done.out and
              re.search(r"meets\[ranks=2\] - ranks 0, 1: another build of the program than the one that runs the case "
                        r"\(000102030405, not [0-9a-f]{12}\): .*/suite was replaced during the run", done.out),
              "a program that was rebuilt during the run is named", done)


def with_mpi(tap, place, suite):
    place.environment.update(MPI_OF_NODES)
    done = place.launch("--nodes-per-job=2", suite, "-k", "mpi_sums or mpi_aborts", "--speed=off")
    tap.check(done.code == FAILED and " 1 failed, 3 passed in " in done.out and
              "mpi_aborts[ranks=3] - rank 1: the process exited with status 7 in the body" in done.out,
              "srun gives the plugin that the program's MPI needs", done)
    # The same cluster as a machine sees it whose srun has no such plugin.
    plugins = os.path.join(place.folder, "plugins")
    os.mkdir(plugins)
    folder = next(line.split("=")[1].strip() for line in place.cluster.run("scontrol", "show", "config").split("\n")
                  if line.startswith("PluginDir"))
    for name in os.listdir(folder):
        if not name.startswith("mpi_pm"):
            os.symlink(os.path.join(folder, name), os.path.join(plugins, name))
    lacking = os.path.join(place.folder, "slurm.conf")
    with open(place.cluster.configuration, encoding="utf-8") as given, open(lacking, "w", encoding="utf-8") as file:
        file.write(given.read() + f"PluginDir={plugins}\n")
    without = os.path.join(place.folder, "without")  # slurmd gives a job the file of its own
    with open(os.open(without, os.O_WRONLY | os.O_CREAT, 0o755), "w", encoding="utf-8") as file:
        file.write(f'#!/bin/sh\nSLURM_CONF={lacking} exec {suite} "$@"\n')
    done = place.launch("--nodes-per-job=2", without, "-k", "mpi_sums and ranks=2", "--speed=off")
    tap.check(done.code == FAILED and re.search(r"srun ended with status 1 before the ranks were over: it has no plugin 'pm\w+', by "
                                                r"which the program's MPI finds its ranks; it has .*none", done.out),
              "a plugin that srun lacks is named", done)


def documented(tap, place, example, page):
    """The page's commands for an allocation, as they stand."""
    programs = os.path.join(place.folder, "bin")
    os.mkdir(programs)
    os.symlink(place.command, os.path.join(programs, "yieldpoint"))
    os.mkdir(os.path.join(place.folder, "build"))
    os.symlink(example, os.path.join(place.folder, "build", "ranks"))
    os.symlink(example, os.path.join(programs, "ranks"))
    environment = {**place.environment, "PATH": programs + ":" + place.environment["PATH"]}
    with open(page, encoding="utf-8") as file:
        lines = re.findall(r"^(?:salloc|yieldpoint launch) .*", file.read(), re.M)
    tap.equal(len(lines), 3, "docs/ranks.md has commands for an allocation")
    for line in lines:
        done = subprocess.run(["sh", "-c", line], cwd=place.folder, env=environment, capture_output=True, text=True, timeout=120)
        tap.check(done.returncode == OK and " 1 xfailed in " in done.stdout, f"docs/ranks.md: {line}",
                  f"{done.returncode}\n{done.stdout}{done.stderr}")


def main(command, suite, example, page, mpi=None):
    tap = Tap()
    reason = slurm.missing() or ("" if slurm.found("srun") else "no srun here (ci/setup --for slurm)")
    if reason:
        tap.skip("cases of several ranks on Slurm", reason)
        tap.done()
    began = time.monotonic()
    checks = [(several_nodes, []), (placed, []), (packed, []), (rebuilt, []), (documented, [example, page])]
    if mpi is None:
        tap.skip("MPI by srun", "this build has no MPI")
    else:
        checks.append((with_mpi, [mpi]))
    with slurm.Cluster(nodes=2) as cluster:
        for check, more in checks:
            with Place(cluster, command, suite) as place:
                tap.run(check.__name__, check, tap, place, *more)
                tap.equal(place.strays(), [], f"{check.__name__}: no output in the working directory")
            slurm.until(lambda: "idle idle" == " ".join(cluster.run("sinfo", "-h", "-N", "-o", "%T").split()), 60, "idle again")
            print(f"# {check.__name__}: {time.monotonic() - began:.0f} s", flush=True)
    tap.done()


main(*map(os.path.abspath, sys.argv[1:]))
