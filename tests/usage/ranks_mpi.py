"""Ranks over MPI: all operations compute what one process does, to the bit, on one node and as if on several; ranks that
are missing, late or out of order are named.

    ranks_mpi.py [PROGRAM]     without a program this build has no MPI"""

import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from tap import Tap  # noqa: E402

LINE = re.compile(r"^rank (\d+) of (\d+): (.*)$", re.M)
SURROUNDINGS = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
                "OMPI_MCA_hwloc_base_binding_policy": "none", "OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,vader",
                "ASAN_OPTIONS": "detect_leaks=0"}  # MPI's own


def run(launcher, ranks, *command, **more):
    """What each rank printed, in their order, and all that was printed."""
    done = subprocess.run([launcher, "-n", str(ranks), *command], env={**os.environ, **SURROUNDINGS, **more}, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=120, check=False)
    return [text for _, _, text in sorted(LINE.findall(done.stdout))], done.stdout


def check_operations(tap, launcher, program):
    for ranks in (1, 2, 3, 4):
        said, output = run(launcher, ranks, program, "all")
        tap.check(said == ["ok"] * ranks, f"{ranks} ranks compute what one process does", output)
    for ranks, nodes in ((2, 2), (4, 2), (5, 3)):
        said, output = run(launcher, ranks, program, "all", "20", str(nodes))
        tap.check(said == ["ok"] * ranks, f"{ranks} ranks as if on {nodes} nodes do", output)


def check_faults(tap, launcher, program):
    out_of_order = "ranks: rank 2 of 3 is in broadcast of 16 bytes from rank 0 (call 2); rank 0 is in barrier (call 2)"
    size = "ranks: a message of rank 0 to rank 1 has 4 bytes; the receiver expects 8"
    for nodes in ("1", "2"):
        where = "" if nodes == "1" else ", as if on 2 nodes"
        said, output = run(launcher, 3, program, "order", "5", nodes)
        tap.check(said == [out_of_order] * 3, f"a rank out of order is named by all{where}", output)
        said, output = run(launcher, 3, program, "message", "2", nodes)
        tap.check(size in said, f"a message of another size is refused{where}", output)
        said, output = run(launcher, 3, program, "silence", "0.5", nodes)
        tap.check("ranks: rank 1 sent no message of rank 0 of 3 within 0.5 s" in said or
                  "ranks: rank 0 of 3 did not arrive in barrier (call 2) within 0.5 s" in said,
                  f"a message that does not come has an end{where}", output)
    said, output = run(launcher, 3, program, "under-way", "0.5")
    tap.check("ranks: rank 1 took no message or rank 1 sent no message of rank 0 of 3 within 0.5 s" in said or
              "ranks: rank 0 of 3 did not arrive in barrier (call 2) within 0.5 s" in said,
              "an exchange under way that does not come has an end", output)
    said, output = run(launcher, 3, program, "late", "0.5")
    tap.check("ranks: rank 2 of 3 did not arrive in barrier (call 2) within 0.5 s" in said, "a late rank is named", output)
    said, output = run(launcher, 3, program, "late", "0.5", "3")
    tap.check(any(text.startswith("ranks: rank 2 of 3 or another of its node did not arrive in barrier (call 2) within 0.5 s")
                  for text in said), "a late rank of another node is named", output)
    said, output = run(launcher, 3, program, "leaves", "5")
    tap.check(any(text.startswith("ranks: rank 2 of 3 has left; rank ") for text in said), "a rank that left is named", output)
    said, output = run(launcher, 3, program, "dies", "20")
    tap.check(any(text.startswith("ranks: rank 2 of 3 has ended; rank ") for text in said), "a rank that was killed is named", output)
    said, output = run(launcher, 2, program, "free")
    tap.equal(said, ["ypk_free: this memory is not of ypk_allocate()"] * 2, "other memory is not freed")


def check_launcher(tap, launcher, program):
    said, output = run(launcher, 2, program, "all", "5", "1", "4")
    tap.check(len(said) == 2 and all("of 4 for its launcher and rank" in text and "of 2 for MPI (" in text and
                                     text.endswith("was it started by the launcher of another MPI?") for text in said),
              "a world of another size than the one that was asked for", output)
    other = shutil.which("mpirun.mpich")
    if other is None:
        tap.skip("the launcher of another MPI", "no mpirun.mpich on this machine")
    else:
        said, output = run(other, 2, program, "all", "5")
        tap.check(len(said) == 2 and all(f"rank {i} of 2 for its launcher and rank 0 of 1 for MPI (" in text for i, text in enumerate(said)),
                  "the launcher of another MPI is no silent success", output)
    done = subprocess.run([program, "all", "5"], env=dict(os.environ), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=60, check=False)
    tap.check(done.returncode == 0 and "rank 0 of 1: ok" in done.stdout,
              "one rank needs no launcher", done.stdout)


def main():
    tap = Tap()
    launcher = shutil.which("mpirun")
    if len(sys.argv) < 2 or launcher is None:
        tap.skip("ranks over MPI", "this build has no MPI" if len(sys.argv) < 2 else "no mpirun on this machine")
        tap.done()
    check_operations(tap, launcher, sys.argv[1])
    check_faults(tap, launcher, sys.argv[1])
    check_launcher(tap, launcher, sys.argv[1])
    tap.done()


main()
