"""Kills a process of a case of several ranks at random moments, and looks at what is left.

usage: ranks_kills.py BUILD_DIRECTORY [ROUNDS] [SEED] [LAUNCHER]

Each round runs the sound cases of tests/usage/suites/ranks.c and kills, with SIGKILL, a rank, the process beside a rank,
the launcher, the case's own process or the runner. Afterwards no process is left, the history opens and passes its
integrity check, and has one outcome of each case; of a killed runner, of those that were over. The next run removes the
files of killed ones.
"""

import collections
import os
import random
import signal
import sqlite3
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from process import Started, gone  # noqa: E402
from program import run  # noqa: E402

CASES = ["-k", "sums or memory or checks or leaks or measures"]
LAUNCHERS = ("mpirun", "orterun", "mpiexec", "hydra")


def parent(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return int(file.read().rsplit(")", 1)[1].split()[1])
    except OSError:
        return 0


def targets(started):
    """The living processes by what they are."""
    found = collections.defaultdict(list)
    living = started.living()
    in_ranks = {pid for pid, _ in started.living("YIELDPOINT_RANKS=")}
    for pid, name in living:
        if pid == started.process.pid:
            found["runner"].append(pid)
        elif name.startswith(LAUNCHERS):
            found["launcher"].append(pid)
        elif pid in in_ranks:
            found["beside" if not any(parent(pid) == p and n == name for p, n in living) else "rank"].append(pid)
        elif parent(pid) == started.process.pid:
            found["case"].append(pid)
    return found


def look(number, history, expected, whole, problems, runs):
    database = sqlite3.connect(history)
    check = database.execute("PRAGMA integrity_check").fetchone()[0]
    if check != "ok":
        problems.append(f"round {number}: integrity check: {check}")
    stored = collections.Counter()
    if database.execute("SELECT count(*) FROM sqlite_master WHERE name = 'run'").fetchone()[0]:
        stored = collections.Counter(case for case, in database.execute(
            "SELECT case_id FROM result WHERE attempt = 0"))
        runs |= {run_id for run_id, in database.execute("SELECT id FROM run")}
        problems += [f"round {number}: {case}: {message}" for case, message in database.execute(
            "SELECT case_id, message FROM failure JOIN result ON result.id = result_id WHERE cause = 'timeout'")]
    database.close()
    if [case for case, count in stored.items() if count > 1] or (whole and len(stored) != expected):
        problems.append(f"round {number}: stored are {dict(stored)}")
    return len(stored)


def one_round(number, program, options, expected, source, problems, killed, runs):
    with tempfile.TemporaryDirectory() as folder:
        history = os.path.join(folder, "history.db")
        started = Started(program, "-q", "--speed=record", "--history", history, *CASES, *options)
        what = source.choice(("rank", "beside", "launcher", "case", "runner"))
        time.sleep(source.uniform(0.0, 1.0))
        found = targets(started)[what]
        while not found and started.process.poll() is None:  # between two cases
            time.sleep(0.01)
            found = targets(started)[what]
        if found:
            try:
                os.kill(source.choice(found), signal.SIGKILL)
                killed[what] += 1
            except ProcessLookupError:
                pass
        done = started.wait(60)
        if done.code not in ((-9, 1) if what == "runner" and found else (0, 1)):
            problems.append(f"round {number}: {what} killed, the runner ended with {done.code}")
        left = gone(started, 5)
        if left:
            problems.append(f"round {number}: {what} killed, left are {left}")
            started.end()
        results = look(number, history, expected, what != "runner" or not found, problems, runs) \
            if os.path.exists(history) else 0
        run(program, "--history", history, "-q", "-k", "sums and ranks=1")
        files = [name for name in os.listdir(folder) if name.startswith("run-")]
        if files:
            problems.append(f"round {number}: the next run left {files}")
        return results


def main(build, rounds=200, seed=1, launcher="auto"):
    program = os.path.join(build, "tests", "usage", "usage-ranks")
    options = ["--launcher", launcher]
    expected = len([line for line in run(program, "--co", "-q", *CASES).out.split("\n") if "::" in line])
    source = random.Random(int(seed))
    problems, killed, results = [], collections.Counter(), 0
    runs = set()
    began = time.monotonic()
    for number in range(int(rounds)):
        before = time.monotonic()
        results += one_round(number, program, options, expected, source, problems, killed, runs)
        if time.monotonic() > before + 10:
            print(f"# round {number}: {time.monotonic() - before:.0f} s", flush=True)
    left = [name for name in os.listdir("/dev/shm") if any(run_id in name for run_id in runs)]
    if left:
        problems.append(f"in /dev/shm is left: {left}")
    print(f"{rounds} rounds in {time.monotonic() - began:.0f} s, seed {seed}: {results} results of {expected} a round; "
          f"killed: {', '.join(f'{count} {what}' for what, count in sorted(killed.items()))}")
    print(f"{len(problems)} problems")
    for problem in problems[:20]:
        print(" ", problem)
    sys.exit(1 if problems else 0)


main(*sys.argv[1:])
