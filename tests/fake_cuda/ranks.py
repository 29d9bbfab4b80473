"""Cases of several ranks on GPUs that are made up, with an NCCL that is: which device each has, what is recorded of it,
and what is told where one is missing.

    ranks.py PROGRAM PLUGIN NCCL PLUGIN...
"""

import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from program import results, rows, run  # noqa: E402
from tap import Tap  # noqa: E402

def stored(program, env, *options):
    """The results by the case's name, their values, and what the run printed."""
    with tempfile.TemporaryDirectory() as folder:
        history = os.path.join(folder, "history.db")
        done = run(program, "--history", history, *options, env=env, timeout=300)
        values = rows(history, "SELECT case_id, name, value.value FROM value JOIN result ON result.id = result_id "
                               "WHERE name LIKE 'device of %' ORDER BY 1, 2")
        return ({key.split("::", 1)[1]: value for key, value in results(history).items()},
                [(row["case_id"].split("[")[1], row["name"], row["value"]) for row in values], done)


def outcome(result):
    return result["outcome"], result["reason"] or "; ".join(f["message"] for f in result["failures"])


def check_places(tap, program, env):
    found, values, done = stored(program, {**env, "CUDA_VISIBLE_DEVICES": "4,7"}, "-k", "sums", "-v")
    tap.equal(sorted(set(value for value in values if "rank 0" not in value[1])),
              [("ranks=2-cuda]", "device of rank 1", 1), ("ranks=3-cuda]", "device of rank 1", 1),
               ("ranks=3-cuda]", "device of rank 2", 0)], "each rank has the next device, with two rank 2 the first")
    for text in ("rank 0 on cuda:0 (0000:04:00.0), rank 1 on cuda:1 (0000:07:00.0)", "rank 2 on cuda:0 (0000:04:00.0)",
                 "ranks 0, 2 share a device: speed is recorded, and not judged"):
        tap.check(text in done.out, f"it says: {text}", done)
    if len(os.sched_getaffinity(0)) > 1:
        tap.check(outcome(found["sums[ranks=2-cuda]"])[0] in ("failed", "noisy"), "their speed is judged", found)
    found, values, done = stored(program, {**env, "CUDA_VISIBLE_DEVICES": "4,7"}, "-k", "exchanges", "-v")
    got = outcome(found["exchanges[ranks=2-cuda]"])
    tap.check(got[0] == "skipped" and "no ceiling of it could be probed on the device" in got[1],
              "an exchange between GPUs is not compared with the host's memory", (got, done))
    found, values, done = stored(program, {**env, "CUDA_VISIBLE_DEVICES": "3"}, "-k", "sums and ranks=2", "-v")
    tap.equal(([value[2] for value in values], outcome(found["sums[ranks=2-cuda]"])[0]), ([0, 0], "passed"),
              "who sees one device takes that, and speed is not judged")
    tap.check("ranks 0, 1 share a device" in done.out, "it says so", done)


def check_placement(tap, program, env):
    cpu = "placed[ranks=2-cpu]"
    for visible, wanted in (("0,1", ("passed", "")),
                            ("5", ("skipped", "placement 'spread:device': 2 ranks are to have a device each, and there is 1")),
                            ("5,5", ("failed", "ranks 0, 1: placement 'spread:device' is not met: ranks 0 and 1 both have "
                                               "0000:05:00.0 of "))):
        found, _, done = stored(program, {**env, "CUDA_VISIBLE_DEVICES": visible}, "-k", "placed")
        got = outcome(found["placed[ranks=2-cuda]"])
        tap.check(got[0] == wanted[0] and got[1].startswith(wanted[1]),
                  f"spread:device with the devices {visible}: {wanted}", (got, done))
        tap.equal(outcome(found[cpu]), ("passed", ""), "and of the CPU it asks nothing")


def check_refusals(tap, program, env):
    for fake, extra, reason in (
            ("version=22809", {}, "rank 0: ranks 0 and 1 share 0000:00:00.0 of node 0, and NCCL 2.28.9 has one rank a "
                                  "device: 2.30 and later can have several"),
            ("", {"YIELDPOINT_NCCL": "/nowhere/libnccl.so"}, "rank 0: NCCL's library (YIELDPOINT_NCCL): "
                                                             "/nowhere/libnccl.so")):
        found, _, done = stored(program, {**env, "FAKE_NCCL": fake, "CUDA_VISIBLE_DEVICES": "0", **extra},
                                "-k", "sums and ranks=2")
        got = outcome(next(iter(found.values())))
        tap.check(got[0] == "skipped" and got[1].startswith(reason), f"skipped: {reason}", (got, done))


def check_missing(tap, program, env):
    env = {**env, "CUDA_VISIBLE_DEVICES": "0,1"}
    found, _, done = stored(program, env, "-k", "crashes or waits", "--speed=record")
    crashed = outcome(found["crashes[ranks=2-cuda]"])
    tap.check(crashed[0] != "passed" and "rank 1: crashed in the body: SIGABRT" in crashed[1],
              "a rank that crashes is named", (crashed, done))
    tap.check("rank 0 in all-reduce of 4000 bytes, sum of float (call 2 of the devices)" in done.out,
              "and what the others' devices waited in", done)
    waited = outcome(found["waits[ranks=2-cuda]"])
    tap.check(waited[0] != "passed" and
              "rank 0 in all-reduce of 4000 bytes, sum of float (call 1 of the devices)" in waited[1],
              "a time-out says what a rank waits in on its device", (waited, done))


def main(program, cuda, nccl, *plugins):
    tap = Tap()
    if not shutil.which("mpirun"):
        tap.skip("cases of several ranks run", "no mpirun in PATH (Debian packages openmpi-bin, mpich)")
        tap.done()
    folders = [os.path.dirname(os.path.abspath(p)) for p in (cuda, *plugins)]
    env = {"YIELDPOINT_PLUGINS": ":".join(dict.fromkeys(folders)), "YIELDPOINT_NCCL": os.path.abspath(nccl),
           "FAKE_CUDA": "", "FAKE_NCCL": ""}
    check_places(tap, program, env)
    check_placement(tap, program, env)
    check_refusals(tap, program, env)
    check_missing(tap, program, env)
    tap.done()


main(*sys.argv[1:])
