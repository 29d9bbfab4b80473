"""The kernels by real threads: no race, and a planted one is seen. Where the system lets it,
addresses are not random: ThreadSanitizer cannot place its memory among those that are too random.

    rx_cuda_threads.py PROGRAM
"""

import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "support"))
from tap import Tap  # noqa: E402

RACE = 66  # ThreadSanitizer's exit code


def run(command):
    return subprocess.run(command, capture_output=True, text=True, errors="replace")


def main(program):
    tap = Tap()
    allowed = run(["setarch", "-R", "true"]).returncode == 0
    start = ["setarch", "-R", program] if allowed else [program]
    planted = run([*start, "planted"])
    tap.check(planted.returncode == RACE and "data race" in planted.stderr,
              "a kernel without its barrier is found out", planted.stderr[-2000:])
    done = run(start)
    tap.check(done.returncode == 0 and done.stdout.endswith("all\n"), "and no other has a race",
              f"exit code {done.returncode}\n{done.stdout}{done.stderr[-4000:]}")
    tap.done()


main(*sys.argv[1:])
