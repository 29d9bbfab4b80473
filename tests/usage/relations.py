"""Relations: what the line that reproduces one runs."""

import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from program import results, run, shell  # noqa: E402
from tap import Tap  # noqa: E402

PATH = "relations.c::"


def check_reproduce(tap, program, folder):
    history = os.path.join(folder, "reproduce.db")
    done = run(program, "--history", history, "-m", "small", "-k", "counted and not n=3")
    tap.check(done.code == 1 and "1 failed, 2 passed" in done.out, "a relation fails", done)
    line = re.search(r"^  reproduce: (.*)$", done.out, re.M).group(1)
    tap.check(line.endswith(" -m small -k 'counted and not n=3'"),
              "its line has the selection that it read", line)
    second = os.path.join(folder, "again.db")
    again = shell(line, "--history", second)
    tap.check(again.code == 1 and "1 failed, 2 passed" in again.out, "and gives the same verdict",
              again)
    tap.equal(sorted(results(second)), sorted(results(history)), "of the same cases")
    listed = run(program, "--co", "-q", PATH + "by_rule").out.split()
    tap.equal(listed, [f"{PATH}work[n={n}-by={by}]" for n in (1, 2) for by in ("hand", "rule")] +
              [PATH + "by_rule"], "naming a relation names the cases that it reads")
    listed = run(program, "--co", "-q", "-m", "perf", PATH + "by_rule").out.split()
    tap.equal(listed, [PATH + "by_rule"], "of those that are selected otherwise")


def main(program):
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        for check in (check_reproduce,):
            tap.run(check.__name__, check, tap, program, folder)
    tap.done()


main(*sys.argv[1:])
