"""What a case costs: 1,000 trivial ones by Yieldpoint and by Criterion alone, one at a time.

usage: overhead.py BUILD_DIRECTORY [ROUNDS]

Both run in turns (A B B A), so that a change of the machine's speed meets both. Prints the
medians, their ratio in each round, and the runner's largest resident set.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time


def timed(command):
    begun = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               stdin=subprocess.DEVNULL)
    peak = 0
    # The kernel's figure for a finished child includes what it waited for itself; ask while it
    # lives instead.
    while process.poll() is None:
        try:
            with open(f"/proc/{process.pid}/status") as status:
                for line in status:
                    if line.startswith("VmHWM:"):
                        peak = max(peak, int(line.split()[1]) * 1024)
        except OSError:
            pass
        time.sleep(0.05)
    seconds = time.monotonic() - begun
    if process.returncode != 0:
        sys.exit(f"{command[0]} exited with {process.returncode}")
    return seconds, peak


def main(build, rounds=5):
    bench = os.path.join(build, "tests", "bench")
    with tempfile.TemporaryDirectory() as folder:
        ours = [os.path.join(bench, "trivial-yieldpoint"), "-q",
                "--history", os.path.join(folder, "history.db")]
        theirs = [os.path.join(bench, "trivial-criterion"), "-j1"]
        a, b, peaks, ratios = [], [], [], []
        for number in range(int(rounds)):
            order = [ours, theirs] if number % 2 == 0 else [theirs, ours]
            seconds = {}
            for command in order:
                elapsed, peak = timed(command)
                seconds[command[0]] = elapsed
                if command is ours:
                    peaks.append(peak)
            a.append(seconds[ours[0]])
            b.append(seconds[theirs[0]])
            ratios.append(a[-1] / b[-1])
            print(f"round {number + 1}: yieldpoint {a[-1]:.2f} s, criterion {b[-1]:.2f} s, "
                  f"ratio {ratios[-1]:.3f}", flush=True)
        print(f"median of {len(a)}: yieldpoint {statistics.median(a):.2f} ms a case, criterion "
              f"{statistics.median(b):.2f} ms a case")
        print(f"ratio: median {statistics.median(ratios):.3f}, "
              f"from {min(ratios):.3f} to {max(ratios):.3f} (bar: 1.1)")
        print(f"resident set of the runner: {max(peaks) / 1e6:.1f} MB (bar: 30)")


main(*sys.argv[1:])
