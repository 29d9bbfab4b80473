"""Counts what a `meson test` run did, every subtest by itself, from the logs it left.

usage: count_results.py LABEL LOG EXPECTED CODE
    LABEL     put before each name
    LOG       path of meson's logs without their endings: LOG.json, LOG.junit.xml
    EXPECTED  how many tests were selected
    CODE      exit code of `meson test`

The first line printed is `PASSED FAILED SKIPPED`; then each failure with the end of what it wrote
and each skip with its reason. LOG.seconds gets a line `SECONDS LABEL: NAME` for each test.

Neither log is enough alone: the XML lacks time-outs and programs that died after their last
subtest, the JSON lacks the subtests.
"""

import json
import re
import sys
import xml.etree.ElementTree as ElementTree

TAIL = 25  # lines shown of a failed program
GOOD = ("OK", "EXPECTEDFAIL")


def subtests(path):
    """{name of the test: [(name of the subtest, "failed" | "skipped" | "passed", note)]}"""
    with open(path, encoding="utf-8", errors="replace") as file:
        # A test may write what XML cannot hold, and meson passes it on.
        text = re.sub("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "?", file.read())
    found = {}
    for suite in ElementTree.fromstring(text).iter("testsuite"):
        project, _, test = suite.get("name").partition(".")
        for case in suite.iter("testcase") if test else ():
            state = "passed"
            if case.find("skipped") is not None:
                state = "skipped"
            elif case.find("failure") is not None or case.find("error") is not None:
                state = "failed"
            name = re.sub(r"^\d+( - )?|\s*\(\d+\.\d+s\)$", "", case.get("name"))
            note = (case.findtext("system-out") or "").strip()
            found.setdefault(test, []).append((name, state, note))
    return found


def tail(run):
    # Meson adds a line of its own, and what passed is no reason.
    text = re.sub(r"\(test program exited with status code \d+\)", "", run.get("stderr") or "").strip()
    if not text:
        text = re.sub(r"^ok\b.*\n", "", run.get("stdout") or "", flags=re.M).strip()
    text = re.sub("\x1b\\[[0-9;]*[A-Za-z]", "", text)
    text = re.sub("[^\t\n -\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "?", text)
    return ["    | " + line for line in text.split("\n")[-TAIL:]]


def judge(run, cases):
    """Returns (name or None for the program itself, state, note) of each thing to count."""
    counted = list(cases)
    result = run["result"]
    if result in ("FAIL", "ERROR", "TIMEOUT", "INTERRUPT", "UNEXPECTEDPASS"):
        if not any(state == "failed" for _, state, _ in cases):
            why = f"{result.lower()}, exit {run['returncode']}"
            if result == "ERROR" and run["returncode"] == 0:
                why = "its TAP is malformed, ends before its plan does, or bails out"
            counted.append((None, "failed", why))
    elif not cases:
        if result in GOOD:
            counted.append((None, "passed", ""))
        elif run["returncode"] == 77:
            counted.append((None, "skipped", "exit 77"))
        else:
            plan = re.search(r"^1\.\.0\s*#\s*skip\S*\s+(\S.*)", run.get("stdout") or "", re.I | re.M)
            if plan:
                counted.append((None, "skipped", plan.group(1)))
            else:
                counted.append((None, "failed", "it ran nothing and gave no reason"))
    return counted


def main(label, log, expected, code):
    count = {"passed": 0, "failed": 0, "skipped": 0}
    lines = []

    def fail(why):
        count["failed"] += 1
        lines.append(f"FAILED {label}: {why}")

    runs, cases = [], {}
    try:
        with open(log + ".json", encoding="utf-8") as file:
            runs = [json.loads(line) for line in file]
        cases = subtests(log + ".junit.xml")
    except (OSError, ValueError, ElementTree.ParseError) as error:
        if expected:
            fail(f"no usable log of the run: {error}")
    for run in runs:
        name = run["name"].rpartition(" / ")[2]
        failed = False
        # Releases of meson differ in whether the XML gives the suites with the name.
        for case, state, note in judge(run, cases.get(run["name"], cases.get(name, []))):
            count[state] += 1
            if state != "passed":
                lines.append(
                    f"{state.upper()} {label}: {name}"
                    + (f": {case}" if case else "")
                    + (f" ({note})" if note else "")
                )
            failed |= state == "failed"
        if failed:
            lines += tail(run)
    with open(log + ".seconds", "w", encoding="utf-8") as file:
        file.writelines(f"{run['duration']:.1f} {label}: {run['name'].rpartition(' / ')[2]}\n" for run in runs)
    if expected == 0:
        fail("no test was selected")
    elif runs and len(runs) != expected:
        fail(f"{expected} tests were selected, {len(runs)} ran")
    if code != 0 and count["failed"] == 0:
        fail(f"meson test ended with {code}")
    print(count["passed"], count["failed"], count["skipped"])
    print("\n".join(lines))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
