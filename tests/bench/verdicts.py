"""How often a verdict is wrong: work of known cost a tenth inside and a tenth outside its budget.

usage: verdicts.py BUILD_DIRECTORY [--times N] [--work NAME ...] [--load none|half ...]
                   [--threads N]

First the work runs many times with nothing at stake, to find what it reaches (`base`, the median
over processes). Then each of the trials is a run of its own, with confirmation by fresh processes
as always; idle trials and trials beside a process that keeps half of the processors busy take turns
in blocks of 25, each block with a base found just before. Prints outcomes, the bound that a count
proves (95 % confidence, Clopper and Pearson), and how the processes of each kind spread.
"""

import argparse
import json
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

from gate import at_most

BLOCK = 25
BASES = 7


class Load:
    """Half of the processors busy; they belong to whom the scheduler gives them."""

    def __init__(self, kind):
        count = max(1, os.cpu_count() // 2) if kind == "half" else 0
        code = "x = 1.0\nwhile True:\n    x = x * 1.0000001 % 3.0\n"
        self.processes = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(count)]
        if count:
            time.sleep(0.3)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
            process.wait()


class Program:
    def __init__(self, build, folder, threads, options):
        self.path = os.path.join(build, "tests", "bench", "known-cost")
        self.history = os.path.join(folder, "history.db")
        self.threads = threads
        self.options = options

    def run(self, work, base, margin, repeat, judged=True):
        """One entry a case: its outcome, attempts included, and the figure of its first process."""
        subprocess.run([self.path, "-q", f"tests/bench/known_cost.c::{work}", f"--set=base={base!r}",
                        f"--set=margin={margin}", f"--set=threads={self.threads}",
                        f"--repeat={repeat}", "--history", self.history, *self.options]
                       + ([] if judged else ["--speed=record"]),
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       stdin=subprocess.DEVNULL, check=False)
        database = sqlite3.connect(self.history)
        run = database.execute("SELECT id FROM run ORDER BY started DESC LIMIT 1").fetchone()[0]
        rows = database.execute(
            "SELECT r.repeat, r.attempt, r.outcome, v.measured, v.asked, v.confirmed, r.duration "
            "FROM result r JOIN verdict v ON v.result_id = r.id WHERE r.run_id = ? "
            "ORDER BY r.repeat, r.attempt", (run,)).fetchall()
        database.close()
        if sum(row[1] == 0 for row in rows) != repeat:
            sys.exit(f"{work}: {repeat} runs asked for, stored: {rows}")
        return rows


def base_of(program, work):
    """What it reaches: the share, or the seconds of 20,000 steps."""
    if work == "seconds":
        wanted = 1e-3
        rows = program.run(work, 20e-6, 0, BASES, judged=False)
        return statistics.median(row[3] for row in rows) / wanted * 20e-6
    rows = program.run(work, 0.5, 0, BASES, judged=False)
    return statistics.median(row[3] for row in rows)


def trial(program, work, load, margin, times):
    outcomes, figures, asked, seconds = [], [], 0, 0.0
    begun = time.monotonic()
    while len(outcomes) < times:
        with Load("none"):
            base = base_of(program, work)
        with Load(load):
            rows = program.run(work, base, margin, min(BLOCK, times - len(outcomes)))
        for _, attempt, outcome, measured, fresh, _, duration in rows:
            seconds += duration
            if attempt == 0:
                outcomes.append(outcome)
                figures.append(measured)
                asked += fresh > 0
    counts = {name: outcomes.count(name) for name in ("passed", "failed", "noisy")}
    counts["other"] = times - sum(counts.values())
    wrong = counts["failed"] if margin > 0 else counts["passed"]
    spread = [figure / statistics.median(figures) - 1 for figure in figures]
    result = {"work": work, "load": load, "margin": margin, "times": times, **counts,
              "wrong": wrong, "at most (95 %)": round(at_most(wrong, times), 4),
              "asked fresh processes": asked,
              "spread of first processes": [round(min(spread), 3), round(max(spread), 3)],
              "minutes": round((time.monotonic() - begun) / 60, 1)}
    print(json.dumps(result), flush=True)
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("--times", type=int, default=300)
    parser.add_argument("--work", nargs="*", default=["arithmetic", "copy", "seconds"])
    parser.add_argument("--load", nargs="*", default=["none", "half"])
    parser.add_argument("--margin", type=float, nargs="*", default=[0.1, -0.1])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--option", action="append", default=[],
                        help="handed on to the program: --option=--cpus=0")
    asked = parser.parse_args()
    results = []
    with tempfile.TemporaryDirectory() as folder:
        program = Program(asked.build, folder, asked.threads, asked.option)
        for work in asked.work:
            for load in asked.load:
                for margin in asked.margin:
                    results.append(trial(program, work, load, margin, asked.times))
    print(f"{'work':12} {'load':5} {'margin':>7} {'passed':>7} {'failed':>7} {'noisy':>6} "
          f"{'wrong':>6} {'at most':>8}")
    for r in results:
        print(f"{r['work']:12} {r['load']:5} {r['margin']:>+7.0%} {r['passed']:>7} {r['failed']:>7} "
              f"{r['noisy']:>6} {r['wrong']:>6} {r['at most (95 %)']:>8.2%}")


main()
