"""Kills the runner, or a case, at random moments, and looks at what the history holds.

usage: kills.py BUILD_DIRECTORY [ROUNDS] [SEED]

Each round runs 1,000 trivial cases into the one history that ten rounds share, and kills the
runner (even rounds) or the process of a case (odd rounds, then the runner a moment later) with
SIGKILL; the first of ten while the history is made. Afterwards the history must open, pass its
integrity check, hold every result that was printed, and none twice.
"""

import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

LINE = re.compile(r"^(\S+) (PASSED|FAILED) .*\[ *[0-9]+%\]$")


def children(pid):
    found = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children") as listed:
                found += [int(child) for child in listed.read().split()]
    except OSError:
        pass
    return found


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
        return True
    except OSError:
        return False


def wait_gone(pids):
    end = time.monotonic() + 5
    while time.monotonic() < end and any(os.path.exists(f"/proc/{pid}") for pid in pids):
        time.sleep(0.01)
    return [pid for pid in pids if os.path.exists(f"/proc/{pid}")]


def one_round(number, program, history, folder, random_source, problems):
    printed_path = os.path.join(folder, "printed")
    with open(printed_path, "w") as printed:
        process = subprocess.Popen([program, "-v", "--history", history], stdout=printed,
                                   stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    time.sleep(random_source.uniform(0.0, 0.8 if number % 10 else 0.1))
    killed_case = False
    if number % 2 == 1:
        killed_case = any(kill(child) for child in children(process.pid))
        time.sleep(random_source.uniform(0.0, 0.3))
    cases = children(process.pid)
    process.kill()
    process.wait()
    if wait_gone(cases):
        problems.append(f"round {number}: a case outlived its runner")

    with open(printed_path) as printed:
        lines = [LINE.match(line.rstrip("\n")) for line in printed if line.endswith("\n")]
    results = [match.groups() for match in lines if match]
    database = sqlite3.connect(history)
    check = database.execute("PRAGMA integrity_check").fetchone()[0]
    if check != "ok":
        problems.append(f"round {number}: integrity check: {check}")
    tables = [row[0] for row in database.execute("SELECT name FROM sqlite_master")]
    stored = {}
    if "run" in tables:
        newest = database.execute("SELECT id FROM run ORDER BY started DESC LIMIT 1").fetchone()
        for case, outcome in database.execute(
                "SELECT case_id, outcome FROM result WHERE run_id = ?", newest or ("",)):
            if case in stored:
                problems.append(f"round {number}: {case} is stored twice")
            stored[case] = outcome
    for case, outcome in results:
        if stored.get(case) != outcome.lower():
            problems.append(f"round {number}: {case} was printed {outcome}, stored is "
                            f"{stored.get(case)}")
    database.close()
    return len(results), killed_case


def main(build, rounds=200, seed=1):
    program = os.path.join(build, "tests", "bench", "trivial-yieldpoint")
    random_source = random.Random(int(seed))
    problems, printed, cases = [], 0, 0
    with tempfile.TemporaryDirectory() as folder:
        history = os.path.join(folder, "history.db")
        for number in range(int(rounds)):
            for name in os.listdir(folder) if number % 10 == 0 else ():
                if name.startswith("history.db"):
                    os.unlink(os.path.join(folder, name))
            count, killed = one_round(number, program, history, folder, random_source, problems)
            printed += count
            cases += killed
        left = [name for name in os.listdir(folder) if name.startswith("run-")]
        subprocess.run([program, "-q", "-k", "hundreds=0 and tens=0 and ones=0", "--history",
                        history], stdout=subprocess.DEVNULL, check=True)
        after = [name for name in os.listdir(folder) if name.startswith("run-")]
    if after:
        problems.append(f"the next run left folders of dead ones: {after}")
    print(f"{rounds} rounds, seed {seed}: {printed} results printed, {cases} cases killed, "
          f"{len(left)} folders left by killed runs, {len(after)} after the next run")
    print(f"{len(problems)} problems")
    for problem in problems[:20]:
        print(" ", problem)
    sys.exit(1 if problems else 0)


main(*sys.argv[1:])
