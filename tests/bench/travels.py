"""The same budgets, as shares of ceilings, on stand-ins for other machines.

usage: travels.py BUILD_DIRECTORY [TIMES]

Each stand-in runs every case TIMES times (default 20), as declared and with more work than declared:
a tenth more arithmetic, half more copying. Prints outcomes and the medians and spread of the shares.
"""

import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile

STAND_INS = {
    "all cores": [],
    "one core": ["--cpus=0"],
    "AVX2": ["--isa=avx2"],
    "baseline": ["--isa=baseline"],
    "one core, AVX2": ["--cpus=0", "--isa=avx2"],
}


def main(build, times=20):
    program = os.path.join(build, "tests", "bench", "travels")
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, options in STAND_INS.items():
            history = os.path.join(folder, name.replace(" ", "-") + ".db")
            subprocess.run([program, "-q", f"--repeat={times}", "--history", history, *options],
                           stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL, check=False)
            database = sqlite3.connect(history)
            rows = database.execute(
                "SELECT c.test, a.value, r.outcome, v.measured FROM result r "
                "JOIN test_case c ON c.id = r.case_id JOIN axis a ON a.case_id = c.id "
                "JOIN verdict v ON v.result_id = r.id WHERE r.attempt = 0").fetchall()
            database.close()
            for test, slower in (("arithmetic", 0.1), ("copy", 0.5)):
                for slowdown, right in ((0.0, "passed"), (slower, "failed")):
                    mine = [row for row in rows if row[0] == test and row[1] == slowdown]
                    if len(mine) != int(times):
                        sys.exit(f"{name}: {len(mine)} results of {test}")
                    outcomes = [row[2] for row in mine]
                    shares = [row[3] for row in mine]
                    counts = ", ".join(f"{outcomes.count(o)} {o}" for o in sorted(set(outcomes)))
                    wrong += sum(o not in (right, "noisy") for o in outcomes)
                    print(f"{name:15} {test:11} slowdown {slowdown:4.0%}: {counts:24} share "
                          f"{statistics.median(shares):.3f} [{min(shares):.3f}, "
                          f"{max(shares):.3f}]", flush=True)
    print(f"{wrong} wrong")
    sys.exit(1 if wrong else 0)


main(*sys.argv[1:])
