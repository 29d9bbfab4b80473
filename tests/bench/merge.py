"""How long it takes to put the histories of many nodes into one, as `yieldpoint launch` does at the end.

usage: merge.py BUILD_DIRECTORY [NODES] [RESULTS] [EXISTING]

A real run makes the tables and the rows that stand for all others: NODES histories (64) have RESULTS results (100,000)
of cases of their own with 30 samples each, and one fixture that every node has run. They are put into a history that
has EXISTING results (100,000) of the same cases already. Prints the seconds, then those of the same once more, and
what is wrong: a result that is lost, or there twice. Exit code 1 if anything is."""

import contextlib
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from histories import making  # noqa: E402

ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.startswith("YIELDPOINT")}
NODE_STARTED, PER_RUN = 1.7e9, 10000


def fill(path, like, seed, names, started):
    with making(path, like, seed) as maker:
        cases = [maker.case(name, n) for name, n in names]
        run = maker.run(started, f"{seed:032x}", host=f"node{seed}")
        maker.results(run, started, cases, set(cases[::100]))


def make(build, folder, nodes, results, existing):
    like = os.path.join(folder, "like.db")
    subprocess.run([os.path.join(build, "tests", "usage", "usage-usage"), "-q", "-k", "timed", "--history", like],
                   stdout=subprocess.DEVNULL, check=True, cwd=folder,
                   env={**ENVIRONMENT, "YIELDPOINT_LOCK": os.path.join(folder, "lock")})
    empty = os.path.join(folder, "empty.db")
    shutil.copy(like, empty)
    with contextlib.closing(sqlite3.connect(empty)) as database:
        database.executescript("PRAGMA foreign_keys = ON; DELETE FROM result; DELETE FROM run; DELETE FROM test_case; VACUUM")
    names = [(f"bench/part{i // 1000}.c::work", i) for i in range(results)]
    fixture = ("bench/data.c::cube", 1)
    histories = []
    for node in range(nodes):
        histories.append(os.path.join(folder, f"node{node}.db"))
        shutil.copy(empty, histories[-1])
        fill(histories[-1], like, node + 1, [fixture, *names[node::nodes]], NODE_STARTED + 60)
    into = os.path.join(folder, "history.db")
    shutil.copy(empty, into)
    with making(into, like, 1000) as maker:
        cases = [maker.case(name, n) for name, n in names[:PER_RUN]]
        for first in range(0, existing, PER_RUN):
            started = NODE_STARTED - 3600 - first
            maker.results(maker.run(started), started, cases[:existing - first])
    return into, histories


def merge(build, into, histories):
    begun = time.monotonic()
    done = subprocess.run([os.path.join(build, "cli", "yieldpoint"), "history", "import", "--history", into, *histories],
                          capture_output=True, text=True, check=True, env=ENVIRONMENT)
    return time.monotonic() - begun, done.stdout


def main(build, nodes="64", results="100000", existing="100000"):
    nodes, results, existing = int(nodes), int(results), int(existing)
    with tempfile.TemporaryDirectory() as folder:
        into, histories = make(os.path.abspath(build), folder, nodes, results, existing)
        size = sum(map(os.path.getsize, histories)) / 2**20
        print(f"{nodes} histories with {results} results, {size:.0f} MiB, into one with {existing}, "
              f"{os.path.getsize(into) / 2**20:.0f} MiB", flush=True)
        wrong = []
        for time_of in ("first", "again"):
            seconds, told = merge(build, into, histories)
            print(f"{time_of}: {seconds:.1f} s, {sum(int(line.split('; ')[1].split()[0]) for line in told.splitlines())} new",
                  flush=True)
            with contextlib.closing(sqlite3.connect(into)) as database:
                found = dict(database.execute("SELECT case_id, count(*) FROM result WHERE run_id IN (SELECT id FROM run WHERE "
                                              "started = ?) GROUP BY case_id", (NODE_STARTED + 60,)))
                samples = database.execute("SELECT count(*) FROM samples").fetchone()[0]
                problems = database.execute("PRAGMA foreign_key_check").fetchall()
            wrong += [f"{time_of}: {len(found)} cases instead of {results + 1}"] if len(found) != results + 1 else []
            wrong += [f"{time_of}: {case} {times} times" for case, times in found.items()
                      if times != (nodes if "cube" in case else 1)][:5]
            wrong += [f"{time_of}: {samples} rows of samples"] if samples != results + nodes + existing else []
            wrong += [f"{time_of}: {problems[:3]}"] if problems else []
        print("\n".join(wrong) if wrong else "none lost, none twice")
        sys.exit(1 if wrong else 0)


main(*sys.argv[1:])
