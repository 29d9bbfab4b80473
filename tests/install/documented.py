"""Pages show the code of examples/ as it is.

usage: documented.py SOURCE_ROOT

A block of code that follows a line with a file's name stands in that file, to the letter; each page shows every file
of its example; and the workload keeps to its 200 lines of C. The changelog begins with the version, which meson.build
alone has."""

import glob
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from tap import Tap  # noqa: E402

PAGES = {"docs/add-a-workload.md": "examples/workload", "docs/cookbook.md": "examples/cookbook",
         "docs/ranks.md": "examples/ranks"}
SHORT, LINES = "examples/workload", 200


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


def files_of(root, folder):
    return [os.path.relpath(path, root) for path in glob.glob(os.path.join(root, folder, "*.*"))]


def check_page(tap, root, page, folder):
    shown = re.findall(r"^`(examples/[^`]+)`:\n\n```\w*\n(.*?)\n```$", read(root, page), re.M | re.S)
    for path, code in shown:
        tap.check(code + "\n" in read(root, path), f"{path}: {code.splitlines()[0][:60]}",
                  "the page shows what the file does not have")
    tap.equal(sorted({path for path, _ in shown}), sorted(files_of(root, folder)), f"{page} shows every file")


def main(root):
    tap = Tap()
    for page, folder in PAGES.items():
        check_page(tap, root, page, folder)
    version = re.search(r"version: '([^']+)'", read(root, "meson.build")).group(1)
    tap.equal(re.findall(r"^## ([0-9][^ ]*)", read(root, "CHANGELOG.md"), re.M)[:1], [version],
              "the changelog begins with the version of meson.build")
    again = [path for folder in ("base", "ci", "cli", "cmake", "device", "gate", "harness", "include", "launch", "machine", "reports")
             for top, _, names in os.walk(os.path.join(root, folder)) for path in (os.path.join(top, n) for n in names)
             if path.endswith((".c", ".h", ".in", ".cmake", "meson.build")) and f'"{version}"' in read(root, path)]
    tap.equal(again, [], "which stands nowhere else in sources")
    lines = sum(read(root, path).count("\n") for path in files_of(root, SHORT)
                if path.endswith((".c", ".h", ".cu", ".inc")))
    tap.check(lines <= LINES, f"{SHORT} has at most {LINES} lines of C", lines)
    tap.done()


main(sys.argv[1])
