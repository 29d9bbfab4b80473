"""How long commands take that read a large history.

usage: history.py BUILD_DIRECTORY [RUNS] [CASES] [REPEATS] [FILE]

A real run makes the tables and the rows that stand for all others; copies of them with keys, times, commits,
machines and figures of their own fill 2,000 runs of 500 cases, a million results with 30 samples each. With
FILE the history is made there once and kept. Prints the median and the longest of the times of each command;
the first of all, which finds nothing in memory, is not among them."""

import contextlib
import os
import random
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from histories import making  # noqa: E402

MACHINES = 3
PER_COMMIT = 10  # runs
FAILS = 0.002
ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.startswith("YIELDPOINT")}


def fill(path, runs, count):
    source = random.Random(1)
    with making(path, path) as maker:
        cases = [maker.case(f"bench/part{i // 50}.c::work", i, "stress perf" if i % 2 else "perf")
                 for i in range(count)]
        begin = time.time() - 3600 * runs
        for number in range(runs):
            started = begin + 3600 * number
            commit = random.Random(number // PER_COMMIT).getrandbits(160)
            run = maker.run(started, f"{number % MACHINES:032x}", f"{commit:040x}", f"host{number % MACHINES}")
            maker.results(run, started, cases, {c for c in cases if source.random() < FAILS})
            if number % 100 == 99:
                maker.commit()


def make(build, path, runs, count):
    subprocess.run([os.path.join(build, "tests", "usage", "usage-usage"), "-q", "-k", "timed", "--history", path],
                   stdout=subprocess.DEVNULL, check=True, env=ENVIRONMENT)
    begun = time.monotonic()
    fill(path, runs, count)
    print(f"{runs} runs of {count} cases: {os.path.getsize(path) / 2**20:.0f} MiB, made in "
          f"{time.monotonic() - begun:.0f} s")


def some_of(path):
    """The commit, machine and two newest runs that the commands ask for: neither the newest nor the oldest."""
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        runs = [row[0] for row in database.execute("SELECT id FROM run ORDER BY started DESC LIMIT 2")]
        commit = database.execute("SELECT value FROM fact WHERE key = 'git.commit' AND run_id = (SELECT id FROM run "
                                  "ORDER BY started LIMIT 1 OFFSET (SELECT count(*) / 3 FROM run))").fetchone()[0]
        return runs, commit


def timed(command, repeats):
    times = []
    for _ in range(repeats + 1):
        begun = time.monotonic()
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
        times.append(time.monotonic() - begun)
    return times[1:], done


def main(build, runs="2000", cases="500", repeats="5", path=None):
    yieldpoint = os.path.join(build, "cli", "yieldpoint")
    with tempfile.TemporaryDirectory() as folder:
        path = path or os.path.join(folder, "history.db")
        if not os.path.exists(path):
            make(build, path, int(runs), int(cases))
        newest, commit = some_of(path)
        commands = [["history"], ["history", "--id", "part3.c::work[n=17"], ["history", "--id", "nowhere"],
                    ["history", "--commit", commit[:10]], ["history", "--commit", "0123456789"],
                    ["history", "--machine", "0" * 31 + "1"], ["history", "--machine", "host2"],
                    ["history", "-k", "part3 and n=170"], ["history", "-m", "stress"], ["history", "--since", "30d"],
                    ["history", "--until", "60d"], ["history", "--outcome", "failed"], ["history", "--outcome", "error"],
                    ["history", "export", "-k", "n=170", "--csv", "-"], ["compare", *newest],
                    ["trend", "-k", "n=170", "--machine", "0" * 31 + "1"]]
        helped = subprocess.run([yieldpoint, "--help"], capture_output=True, text=True).stdout
        for words in commands:
            if f"  yieldpoint {words[0]} " not in helped:
                print(f"{'':17} there is no `yieldpoint {words[0]}`")
                continue
            times, done = timed([yieldpoint, *words, "--history", path], int(repeats))
            lines = len(done.stdout.splitlines())
            wrong = done.stderr if done.returncode not in (0, 1) else ""
            print(f"{statistics.median(times):7.3f} s {max(times):7.3f} s  yieldpoint {' '.join(words)}: exit "
                  f"{done.returncode}, {lines} lines {wrong}", flush=True)


main(*sys.argv[1:])
