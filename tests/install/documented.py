"""docs/add-a-workload.md shows the code of examples/workload as it is.

usage: documented.py SOURCE_ROOT

A block of code that follows a line with a file's name stands in that file, to the letter; and the
workload keeps to its 200 lines of C."""

import glob
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from tap import Tap  # noqa: E402

PAGE = "docs/add-a-workload.md"
FOLDER = "examples/workload"
LINES = 200


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


def main(root):
    tap = Tap()
    shown = re.findall(r"^`(examples/[^`]+)`:\n\n```\w*\n(.*?)\n```$", read(root, PAGE), re.M | re.S)
    for path, code in shown:
        tap.check(code + "\n" in read(root, path), f"{path}: {code.splitlines()[0][:60]}",
                  "the page shows what the file does not have")
    files = [os.path.relpath(path, root) for path in glob.glob(os.path.join(root, FOLDER, "*.*"))]
    tap.equal(sorted({path for path, _ in shown}), sorted(files), "the page shows every file")
    lines = sum(read(root, path).count("\n") for path in files if path.endswith((".c", ".h", ".cu", ".inc")))
    tap.check(lines <= LINES, f"the workload has at most {LINES} lines of C", lines)
    tap.done()


main(sys.argv[1])
