"""Options that pytest's users know, flag by flag: what is printed for the same tests, beside pytest's own output.

    habits.py PROGRAM             compares with the transcripts in pytest/
    habits.py PROGRAM --pytest    compares these with what the pytest of this machine prints
    habits.py PROGRAM --update    writes them anew, by the pytest of this machine

Both are brought to one form first: names of files, words for a test, figures of time and the header differ by design;
of a failure's section only the title is compared. docs/pytest.md lists what differs beyond that."""

import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "support"))
from program import ENVIRONMENT  # noqa: E402
from tap import Tap  # noqa: E402

STORED = os.path.join(HERE, "pytest")
FILE = {"program": "habits.c", "pytest": "test_habits.py"}

# name: the command lines, one after the other in one place; {f} is the file of the tests, {t} begins a test's name.
RUNS = {
    "plain": [[]],
    "verbose": [["-v"]],
    "quiet": [["-q"]],
    "quieter": [["-qq"]],
    "report-all": [["-rA"]],
    "report-all-but-passed": [["-ra", "--tb=no"]],
    "report-none": [["-rN", "--tb=no"]],
    "report-skipped": [["-rs", "--tb=no"]],
    "report-in-order": [["-rxX", "--tb=no"]],
    "unfolded": [["-rs", "--no-fold-skipped", "--tb=no"]],
    "traceback-line": [["--tb=line"]],
    "no-header": [["--no-header", "--tb=no", "-k", "passes"]],
    "no-summary": [["--no-summary"]],
    "exit-first": [["-x"]],
    "maxfail": [["--maxfail=2"]],
    "maxfail-none": [["--maxfail=0", "--tb=no"]],
    "collect": [["--co", "-q"]],
    "collect-some": [["--co", "-q", "-k", "each"]],
    "collect-counts": [["--co", "-qq"], ["--collect-only", "-qq"], ["--collectonly", "-qq"],
                       ["--co", "-qq", "-k", ""]],
    "keyword": [["-v", "--tb=no", "-k", "each or KNOWN and not too"]],
    "keyword-mark": [["--co", "-q", "-k", "slow"]],
    "mark": [["--co", "-q", "-m", "slow"]],
    "deselect": [["--tb=no", "-v", "--deselect", "{f}::{t}each", "--deselect", "{f}::{t}skipped_twice[n=2]"]],
    "ids-in-order": [["-v", "--tb=no", "{f}::{t}last", "{f}::{t}each[n=2]", "{f}::{t}passes"]],
    "last-failed": [["--tb=no", "-q"], ["--tb=no", "--lf"], ["--lf", "--co", "-q"]],
    "last-failed-none": [["-q", "-k", "passes"], ["-q", "--lf", "-k", "passes"], ["--lf", "-k", "passes"]],
    "failed-first": [["--tb=no", "-q"], ["--tb=no", "--ff", "-v"]],
    "durations": [["--durations=3", "--durations-min=1", "-q", "--tb=no", "-k", "passes"]],
    "exit-codes": [["-q", "-k", "passes"], ["-q"], ["--no-such-option"], ["{f}::{t}nowhere"], ["-k", "nowhere"],
                   ["-m", "slow and ("], ["--co", "-q", "-k", "nowhere"], ["--maxfail=many"]],
}
CODES_ONLY = {"exit-codes"}
# What begins a line of the header.
HEADER = re.compile(r"(?:machine|seed|platform|cachedir|rootdir|plugins|configfile)\b")
RULE = re.compile(r"^([=_!-])\1+ (.*?) \1+$")
REASON = re.compile(r"(?:AssertionError|Failed|RuntimeError|Skipped): ")


def run(what, program, arguments, folder):
    words = [a.format(f=FILE[what], t="" if what == "program" else "test_") for a in arguments]
    command = [program] if what == "program" else [sys.executable, "-m", "pytest", "-p", "no:randomly", "-c", "pytest.ini"]
    done = subprocess.run([*command, *words], capture_output=True, text=True, cwd=folder, timeout=120, stdin=subprocess.DEVNULL,
                          env={**ENVIRONMENT, "PYTHONDONTWRITEBYTECODE": "1"})
    return done.returncode, done.stdout


def common_line(line, what):
    """A line in the one form; None: it is no part of it."""
    line = line.replace(FILE[what], "FILE").replace("::test_", "::")
    if HEADER.match(line):
        return None
    found = RULE.match(line)
    title = found.group(2) if found else None
    if title is not None and re.match(r"yieldpoint [0-9]|test session starts", title):
        return "== begins"
    line = f"{found.group(1) * 2} {title}" if found else line
    line = re.sub(r" in [0-9.]+ ?(?:us|ms|s)\b", "", line)
    line = re.sub(r"(\d+) (?:items?|cases?|tests?)\b", r"\1 cases", line)
    line = re.sub(r"(SKIPPED \[\d+\] FILE:)\d+", r"\1#", line)
    line = re.sub(r"\b(FILE):\d+(?=: )", r"\1:#", line)
    line = re.sub(r"^collecting \.\.\. ", "", line)
    line = re.sub(r"ERROR at setup of test_", "ERROR at setup of ", re.sub(r"^__ test_", "__ ", line))
    line = line.replace("FILE::", "") if line.startswith("__") else line
    return re.sub(r" +(?=\[ *\d+%\]$)", " ", REASON.sub("", line))


def common(text, what):
    """The whole of an output; of sections of failures only the titles."""
    lines, inside = [], False
    for line in text.splitlines():
        line = common_line(line, what)
        if line in (None, "", "== XPASSES"):  # this one is empty
            continue
        if line.startswith(("==", "!!")):
            inside = line in ("== ERRORS", "== FAILURES", "== PASSES", "== XPASSES")
        if not inside or line.startswith(("==", "__")):
            lines.append(line)
    return lines


def transcript(what, program, name):
    """All command lines of a run, each with its exit code and its lines."""
    text = ""
    with tempfile.TemporaryDirectory() as folder:
        if what == "pytest":
            shutil.copy(os.path.join(HERE, FILE[what]), folder)
            with open(os.path.join(folder, "pytest.ini"), "w", encoding="utf-8") as file:
                file.write("[pytest]\nmarkers = slow: takes long\n")
        for arguments in RUNS[name]:
            code, out = run(what, program, arguments, folder)
            text += f"$ {' '.join(a if a else repr(a) for a in arguments)}\nexit code {code}\n"
            if name not in CODES_ONLY:
                text += "".join(line + "\n" for line in common(out, what))
    return text


def pytest_is_new():
    asked = subprocess.run([sys.executable, "-c", "import pytest; print(*pytest.version_tuple[:2])"], capture_output=True,
                           text=True, check=False)
    return asked.returncode == 0 and tuple(map(int, asked.stdout.split())) >= (8, 3)


def stored(name):
    path = os.path.join(STORED, name + ".txt")
    with open(path, encoding="utf-8") as file:
        return file.read()


def main(program, way):
    tap = Tap()
    if way == "--pytest" and not pytest_is_new():
        tap.skip("as pytest", "there is no pytest 8.3 or later on this machine")
        tap.done()
    if way == "--update":
        os.makedirs(STORED, exist_ok=True)
        for name in RUNS:
            with open(os.path.join(STORED, name + ".txt"), "w", encoding="utf-8") as file:
                file.write(transcript("pytest", None, name))
    for name in RUNS:
        got = transcript("program" if way is None else "pytest", program, name)
        tap.check(got == stored(name), f"{name}, as pytest", f"--- got\n{got}--- pytest\n{stored(name)}")
    tap.done()


main(os.path.abspath(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else None)
