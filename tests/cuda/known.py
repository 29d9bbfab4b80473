"""--audit on a GPU: work of which it is known what it does. Skipped where nothing can be counted.

usage: known.py PROGRAM
"""

import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from program import results, rows, run  # noqa: E402
from tap import Tap  # noqa: E402

# Beside the work: conversions of the ends, and what goes on in the driver.
OFF = 0.02


def main(program):
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        history = os.path.join(folder, "history.db")
        done = run(program, "--history", history, "--audit", "-v", "-k", "work", timeout=500)
        found = results(history) if os.path.exists(history) else {}
        tap.check(len(found) == 3, "three cases", done)
        for case, result in sorted(found.items()):
            if result["outcome"] == "skipped":
                tap.skip(case, result["reason"])
                continue
            tap.equal(result["outcome"], "passed", case)
            counts = {row["counter"]: row["count"] for row in rows(
                history, "SELECT counter, count FROM counter WHERE result_id = ?", result["id"])}
            declared = rows(history, "SELECT flops, bytes FROM measurement WHERE result_id = ?",
                            result["id"])[0]
            kind = case.split("arithmetic=")[1][:4]
            for name, got, wanted in (
                    (f"gpu {kind}", counts.get(f"gpu {kind}", 0), declared["flops"]),
                    ("bytes read", counts.get("gpu bytes read", 0), declared["bytes"] / 2),
                    ("bytes written", counts.get("gpu bytes written", 0), declared["bytes"] / 2),
                    ("L2 bytes", counts.get("gpu L2 bytes", 0), declared["bytes"])):
                # What is in the cache when the range ends is written later.
                off = 0.25 if "written" in name else OFF
                tap.check(abs(got - wanted) <= off * wanted, f"{case}: {name}: {got:g} of {wanted:g}")
    tap.done()


main(*sys.argv[1:])
