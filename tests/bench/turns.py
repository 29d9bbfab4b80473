"""Two builds of one suite in turns: what each measurement takes in the second build, over the first.

usage: turns.py FIRST SECOND [--rounds N] [--error PERCENT] [what the programs take, such as -k WORDS]
    FIRST, SECOND  test programs, such as build/test/suites/perf/yieldpoint-perf

A round runs both, in an order that changes from round to round, so that a change of the machine's
speed meets both. Prints, for each measurement of both, the median of the ratios of seconds an
iteration with the least and the largest, and ends with 1 when a median is above 1 by more than
PERCENT (3)."""

import argparse
import csv
import os
import statistics
import subprocess
import sys
import tempfile


def seconds(program, folder, name, options):
    """{(id, measurement): seconds an iteration} of one run."""
    path = os.path.join(folder, f"{name}.csv")
    done = subprocess.run([program, "-q", "--speed=record", "--csv", path, "--history",
                           os.path.join(folder, f"{name}.db"), *options],
                          stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        sys.exit(f"{program} exited with {done.returncode}")
    with open(path, newline="", encoding="utf-8") as file:
        found = {(row["id"], row["name"]): float(row["value"]) for row in csv.DictReader(file)
                 if row["kind"] == "measurement"}
    os.unlink(path)
    return found


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n")[2])
    parser.add_argument("first")
    parser.add_argument("second")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--error", type=float, default=3)
    known, options = parser.parse_known_args()
    ratios = {}
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(known.rounds):
            names = ["first", "second"] if turn % 2 == 0 else ["second", "first"]
            taken = {name: seconds(getattr(known, name), folder, name, options) for name in names}
            for key in taken["first"].keys() & taken["second"].keys():
                ratios.setdefault(key, []).append(taken["second"][key] / taken["first"][key])
    if not ratios:
        sys.exit("no measurement stands in both")
    slower = 0
    for (case, name), values in sorted(ratios.items()):
        median = statistics.median(values)
        slow = median > 1 + known.error / 100
        slower += slow
        print(f"{median:6.3f} [{min(values):.3f}, {max(values):.3f}] of {len(values)}  {case} {name}"
              + ("  SLOWER" if slow else ""))
    print(f"{len(ratios)} measurements, {slower} slower by more than {known.error:g} %")
    sys.exit(1 if slower else 0)


main()
