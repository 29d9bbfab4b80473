"""What other programs read of a run: JUnit by its schema, TAP by a strict reader and by prove, JSON by a reader that
refuses what the standard does.

    outputs.py OUTPUTS USAGE CLI [sanitized]"""

import csv
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from process import Started, wait_until  # noqa: E402
from program import ENVIRONMENT, rows, run  # noqa: E402
from tap import Tap  # noqa: E402

OK, FAILED, INTERRUPTED, INTERNAL, NOTHING = 0, 1, 2, 3, 5
SCHEMA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "junit.xsd")
ODD = os.fsdecode(b"<&\">]]> \x1b[1m \xff \xc3\xbc \xef\xbf\xbf\ttab\nnot ok 3 - line # TODO \\ `touch x` $(touch x) ' \r \\")
# Of every case of outputs.c: how JUnit tells of it, and TAP.
KINDS = {"passes": (None, "ok"), "fails": ("failure", "not ok"), "skipped": ("skipped", "skip"),
         "known": ("skipped", "todo failed"), "mended": (None, "todo"), "mended_strictly": ("failure", "not ok"),
         "without_setup": ("error", "not ok"), "crashes": ("failure", "not ok"), "hangs": ("failure", "not ok"),
         "undecided": (None, "ok"), "figures": (None, "ok"), "loud": (None, "ok"),
         "fails_at_length": ("failure", "not ok")}
COUNTS = {"tests": 13, "failures": 5, "errors": 1, "skipped": 2}
CASES = " or ".join(KINDS)


# -- JUnit -------------------------------------------------------------------------------------


def valid(path):
    """What the schema says against it: nothing."""
    done = subprocess.run(["xmllint", "--noout", "--huge", "--schema", SCHEMA, path], capture_output=True, text=True,
                          errors="replace")
    return "" if done.returncode == 0 else done.stderr[-2000:]


def suite_of(path):
    return ElementTree.parse(path).getroot()[0]


def kind(case):
    found = [e.tag for e in case if e.tag in ("skipped", "failure", "error")]
    return found[0] if found else None


def junit_of(tap, name, program, path, *arguments, code=OK):
    """Runs it with --junitxml and finds the file valid; the suite in it."""
    done = run(program, "-q", "--history", path + ".db", "--junitxml", path, *arguments)
    tap.check(done.code == code, f"{name}: ends with {code}", done)
    tap.equal(valid(path), "", f"{name}: valid by the schema")
    return suite_of(path)


def check_schema(tap, program, folder):
    """It refuses what it should: a schema that takes everything says nothing."""
    path = os.path.join(folder, "whole.xml")
    run(program, "-q", "--history", path + ".db", "--junitxml", path, "outputs.c::fails")
    with open(path, encoding="utf-8") as file:
        whole = file.read()
    for name, change in {"a count that is a word": ('failures="1"', 'failures="one"'),
                         "no count": ('failures="1"', ""),
                         "a decimal comma": ('time="0.', 'time="0,'),
                         "an attribute of another family": ("<testcase ", '<testcase file="outputs.c" '),
                         "two outcomes": ("</failure>", '</failure><skipped message=""/>'),
                         "an element that is none": ("</failure>", "</failure><rerun/>"),
                         "half a file": ("</testsuite>", "")}.items():
        bad = os.path.join(folder, "bad.xml")
        with open(bad, "w", encoding="utf-8") as file:
            file.write(whole.replace(*change))
        tap.check(whole.replace(*change) != whole and valid(bad) != "", f"the schema refuses {name}")


def check_junit(tap, program, folder):
    def path(name):
        return os.path.join(folder, name)

    for jobs in ("-j1", "-j4"):
        suite = junit_of(tap, f"every outcome, {jobs}", program, path(f"all{jobs}.xml"), "-k", CASES, jobs, code=FAILED)
        found = {case.get("name"): kind(case) for case in suite}
        tap.equal(found, {name: wanted[0] for name, wanted in KINDS.items()}, f"every outcome, {jobs}: as what it is")
        tap.equal({name: int(suite.get(name)) for name in COUNTS}, COUNTS, f"every outcome, {jobs}: counted")
    cases = {case.get("name"): case for case in suite}
    tap.equal((cases["known"][1].get("type"), cases["known"][1].get("message").split(" ")[0], cases["skipped"][1].get("type")),
              ("pytest.xfail", "known", "pytest.skip"), "xfail and skip as pytest writes them")
    told = "first <&\">]]> #x1B[1m #xFF \u00fc #xEF#xBF#xBF # TODO \\ end\\\nok 7"
    tap.check(told in cases["fails"].find("failure").get("message") and told in cases["fails"].find("failure").text,
              "a message comes through, and what XML has no character for is written out", cases["fails"][1].attrib)
    long = cases["fails_at_length"].find("failure")
    tap.check(long.get("message").startswith("begins \u00fc   ") and len(long.get("message")) < 10000,
              "a long reason: the attribute has its beginning", len(long.get("message")))
    tap.check(f"begins \u00fc {1:20000} ends" in long.text, "and the element all of it", len(long.text))
    values = {p.get("name"): p.get("value") for p in cases["figures"].iter("property")}
    tap.check("not a number" not in values and values["too much"] == "inf" and values["too little"] == "-inf" and
              values["odd \"name\", " + told[6:-5].rstrip("\n")] == "0.5",
              "values: no NaN, infinities, odd names", values)
    text = cases["loud"].find("system-out").text
    tap.check(0 < len(text) < 1 << 20 and os.path.getsize(path("all-j1.xml")) < 1 << 20,
              "8 MB of output: its end", len(text))
    suite = junit_of(tap, "--repeat", program, path("repeat.xml"), "outputs.c::passes", "outputs.c::fails", "--repeat", "3",
                     code=FAILED)
    tap.equal(len({case.get("name") for case in suite}), 6, "--repeat: each has a name of its own")
    suite = junit_of(tap, "an odd id", program, path("odd.xml"), "-k", "label", "--set", f"label={ODD}", code=FAILED)
    tap.check("#xFF" in suite[0].get("name") and "%0a" in suite[0].get("name"), "an odd id: is told", suite[0].get("name"))
    suite = junit_of(tap, "--no-fork", program, path("here.xml"), "--no-fork", "outputs.c::fails", "outputs.c::known",
                     code=FAILED)
    tap.equal(len(suite), 2, "--no-fork: both are there")
    suite = junit_of(tap, "--lf with no failure before", program, path("none.xml"), "--lf", "-k", "passes")
    tap.equal(len(suite), 1, "--lf with no failure before runs all")
    done = run(program, "-q", "--history", path("x.db"), "--junitxml", path("nothing.xml"), "-k", "no_such_case")
    tap.check(done.code == NOTHING and not os.path.exists(path("nothing.xml")), "nothing selected: no file", done)


def check_junit_ended(tap, program, folder):
    """It is whole, or as it was before, or absent."""
    for name, number in {"SIGINT": signal.SIGINT, "SIGTERM": signal.SIGTERM, "SIGKILL": signal.SIGKILL}.items():
        place = os.path.join(folder, name)
        os.makedirs(place)
        path = os.path.join(place, "report.xml")
        for before in (None, "of an earlier run"):
            history = os.path.join(place, f"{before}.db")
            if before is not None:
                with open(path, "w", encoding="utf-8") as file:
                    file.write(before)
            started = Started(program, "--history", history, "--junitxml", path, "usage.c::passes", "usage.c::long_work")
            try:
                wait_until(lambda: os.path.exists(history) and stored(history) == 3, what="the fourth case")
                os.kill(started.process.pid, number)
                started.wait()
            finally:
                started.end()
            if number == signal.SIGKILL:
                with open(path, encoding="utf-8") if os.path.exists(path) else open(os.devnull, encoding="utf-8") as file:
                    tap.equal(file.read(), before or "", f"{name}: the file is as it was ({before})")
            else:
                tap.equal((valid(path), suite_of(path).get("tests")), ("", "3"), f"{name}: what was done, whole ({before})")
            tap.equal(sorted(f for f in os.listdir(place) if f.startswith("report") and f != "report.xml"), [],
                      f"{name}: nothing is left beside it ({before})")


def stored(history):
    try:
        return rows(history, "SELECT count(*) AS n FROM result")[0]["n"]
    except Exception:  # its tables are being made
        return 0


def check_junit_together(tap, program, folder):
    """Two runs with one name: the file is that of one of them."""
    path = os.path.join(folder, "both.xml")
    runs = [Started(program, "--history", os.path.join(folder, f"{i}.db"), "--junitxml", path, "-k", "passes or fails",
                    "--repeat", str(40 + 20 * i)) for i in range(2)]
    done = [r.wait() for r in runs]
    tap.check(all(d.code == FAILED for d in done), "two runs write one report", done)
    tap.equal(valid(path), "", "two runs write one report: it is whole")
    tap.check(int(suite_of(path).get("tests")) == len(suite_of(path)) and len(suite_of(path)) in (80, 120),
              "two runs write one report: of one of them", len(suite_of(path)))


# -- TAP ---------------------------------------------------------------------------------------

LINE = re.compile(r"(not ok|ok) ([0-9]+) - ((?:[^#\\]|\\.|\\(?= #))*?)(?: # (SKIP|TODO)(?: (.*))?)?")


def read_tap(text):
    """TAP 13 as its specification says: [(kind, description, reason)], "" or why it ended early. ValueError else."""
    lines = text.split("\n")
    if lines.pop() != "":
        raise ValueError("the last line has no end")
    if lines[0] != "TAP version 13":
        raise ValueError(f"version: {lines[0]!r}")
    plan = re.fullmatch(r"1\.\.([0-9]+)", lines[1])
    if plan is None:
        raise ValueError(f"plan: {lines[1]!r}")
    found, bailed = [], ""
    for line in lines[2:]:
        if bailed:
            raise ValueError(f"after the bail out: {line!r}")
        control = [c for c in line if (c < " " and c != "\t") or c == "\x7f"]
        if control:
            raise ValueError(f"control characters {control}: {line!r}")
        if line.startswith("#"):
            continue
        if line.startswith("Bail out!"):
            bailed = line
            continue
        match = LINE.fullmatch(line)
        if match is None:
            raise ValueError(f"neither a test nor a diagnostic: {line!r}")
        if int(match[2]) != len(found) + 1:
            raise ValueError(f"number {match[2]} after {len(found)}")
        kind = {"SKIP": "skip", "TODO": "todo"}.get(match[4], "")
        failed = "failed" if kind else "not ok"
        found.append(((kind + " " + failed if kind else failed) if match[1] == "not ok" else kind or "ok", match[3], match[5]))
    if len(found) != int(plan[1]) and not bailed:
        raise ValueError(f"{len(found)} of {plan[1]}")
    return found, bailed


def prove(text, folder):
    """What Perl's TAP consumer says: its exit code and its output."""
    path = os.path.join(folder, "prove.tap")
    with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(text)
    done = subprocess.run(["prove", "-v", "--exec", "cat", path], capture_output=True, text=True, errors="replace")
    return done.returncode, done.stdout + done.stderr


def tap_of(program, folder, *arguments, timeout=120):
    done = subprocess.run([program, "--tap", "--history", os.path.join(folder, "tap.db"), *arguments], capture_output=True,
                          timeout=timeout, env=ENVIRONMENT, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout.decode("utf-8")


def refused(text):
    try:
        read_tap(text)
    except ValueError as error:
        return str(error)
    return None


def check_tap_reader(tap, folder):
    good = "TAP version 13\n1..2\nok 1 - a\n# said\nnot ok 2 - b # TODO later\n"
    tap.equal(read_tap(good)[0], [("ok", "a", None), ("todo failed", "b", "later")], "the reader reads")
    for name, change in {"no plan": ("1..2\n", ""), "a number twice": ("not ok 2", "not ok 1"),
                         "too few": ("not ok 2 - b # TODO later\n", ""), "a stray line": ("# said", "said"),
                         "a directive in a name": ("ok 1 - a", "ok 1 - a # b"), "no end": ("later\n", "later"),
                         "a carriage return": ("# said", "# sa\rid")}.items():
        tap.check(refused(good.replace(*change)) is not None, f"the reader refuses {name}")


def check_tap(tap, program, folder, has_prove):
    for name, more in {"": [], " -j4": ["-j4"], " -s": ["-s"]}.items():
        code, text = tap_of(program, folder, "-k", CASES, *more)
        tap.equal((code, refused(text)), (OK, None), f"TAP{name}: strict")
        found = {description.split("::")[1]: kind for kind, description, _ in read_tap(text)[0]}
        tap.equal(found, {k: wanted[1] for k, wanted in KINDS.items()}, f"TAP{name}: every outcome as what it is")
        tap.equal(read_tap(text)[1], "", f"TAP{name}: to the end")
    if has_prove:
        told = prove(text, folder)
        failed = re.search(r"Failed tests?:?  *([0-9, -]+)", told[1]) or re.search(r"Failed ([0-9]+)/13", told[1])
        tap.check(told[0] != 0 and "Parse errors" not in told[1] and "Failed 6/13 subtests" in told[1] and
                  "(less 1 skipped subtest" in told[1] and "TODO passed:" in told[1], "prove reads it: 6 failed",
                  (failed, told[1]))
    else:
        tap.skip("prove", "no prove here")
    code, text = tap_of(program, folder, "-k", "label", "--set", f"label={ODD}")
    tap.equal((code, refused(text)), (OK, None), "an odd id: strict")
    tap.check("%0anot%20ok" in read_tap(text)[0][0][1], "an odd id: one line", text)
    code, text = tap_of(program, folder, "-k", "bytes")
    tap.equal((code, refused(text)), (OK, None), "names that are no UTF-8: strict")
    tap.check("axis=gr\ufffdn" in text and "# gr\ufffdn\n" in text, "names that are no UTF-8: replaced", text)
    code, text = tap_of(program, folder, "-k", CASES, "-x")
    tap.check(refused(text) is None and read_tap(text)[1] == "Bail out! stopped before all cases were run",
              "-x: a bail out", text)
    if has_prove:
        tap.check("Bailout called" in prove(text, folder)[1], "prove sees the bail out", prove(text, folder))
    code, text = tap_of(program, folder, "-k", "passes or fails", "--repeat", "3")
    tap.equal([d for _, d, _ in read_tap(text)[0]][:2], ["outputs.c::passes", "outputs.c::passes (repeat 2)"],
              "--repeat: numbered, named")


# -- JSON and CSV ------------------------------------------------------------------------------


def read_json(data):
    """ValueError for what is no JSON: NaN, a key twice, bytes that are no UTF-8."""
    def pairs(found):
        if len({key for key, _ in found}) != len(found):
            raise ValueError(f"a key twice: {sorted(key for key, _ in found)}")
        return dict(found)

    def refuse(word):
        raise ValueError(word)

    return json.loads(data.decode("utf-8"), object_pairs_hook=pairs, parse_constant=refuse)


def check_json(tap, program, cli, folder, sanitized):
    history = os.path.join(folder, "json.db")
    table = os.path.join(folder, "rows.csv")
    benchmark = os.path.join(folder, "benchmark.json")
    run(program, "-q", "--history", history, "--csv", table, "--json", benchmark, "-k", f"{CASES} or numbers or bytes")
    with open(benchmark, "rb") as file:
        entries = {e["name"]: e for e in read_json(file.read())["benchmarks"]}
    odd = entries["outputs.c::bytes[axis=gr\ufffdn]/gr\ufffdn \u00fc"]
    tap.equal((odd.get("gr\ufffdn"), odd.get("error_message")), (1, "gr\ufffdn"), "--json: UTF-8 whatever bytes names hold")
    run(program, "-q", "--history", history, "--csv", table, "-k", "label", "--set", f"label={ODD}")
    for bad in (b'{"a": NaN}', b'{"a": Infinity}', b'{"a": 1, "a": 2}', b'{"a": "\xff"}', b'{"a": 1,}'):
        try:
            read_json(bad)
            tap.check(False, f"the reader refuses {bad!r}")
        except ValueError:
            tap.check(True, f"the reader refuses {bad!r}")
    commands = [["history", "--json"], ["history", "export", "--json", "-"], ["budgets", "--json"],
                ["compare", "last", "last", "--json", "-"]]
    if not sanitized:  # whose results do not count
        commands.append(["trend", "--json"])
    ids = [row["id"] for row in rows(history, "SELECT id FROM result")]
    commands += [["show", one, "--json", "--samples"] for one in ids]
    for command in commands:
        done = subprocess.run([cli, *command, "--history", history], capture_output=True, env=ENVIRONMENT, cwd=folder,
                              stdin=subprocess.DEVNULL)
        name = " ".join("ID" if word in ids else word for word in command)
        try:
            documents = [read_json(done.stdout)] if command[:2] != ["history", "export"] else \
                read_lines(done.stdout)
            tap.check(documents and documents[0], f"yieldpoint {name}: JSON", done)
        except ValueError as error:
            tap.check(False, f"yieldpoint {name}: JSON", (error, done))
    with open(table, encoding="utf-8", newline="") as file:
        found = list(csv.reader(file, strict=True))
    tap.check(len(found) > 10 and {len(row) for row in found} == {len(found[0])}, "--csv: as many fields in each row",
              {len(row) for row in found})
    values = {row[5]: row[9] for row in found if row[4] == "value"}
    tap.equal([values.get(name) for name in ("not a number", "too much", "too little")], ["", "inf", "-inf"],
              "--csv: no NaN, infinities")
    done = subprocess.run([cli, "history", "export", "--csv", "-", "--history", history], capture_output=True,
                          env=ENVIRONMENT, cwd=folder)
    exported = list(csv.reader(done.stdout.decode("utf-8").splitlines(keepends=True), strict=True))
    tap.check(len(exported) > 5 and {len(row) for row in exported} == {len(exported[0])},
              "yieldpoint history export --csv: as many fields in each row", {len(row) for row in exported})


def read_lines(data):
    """One document, or one a line."""
    try:
        found = read_json(data)
        return found if isinstance(found, list) else [found]
    except ValueError:
        return [read_json(line) for line in data.split(b"\n") if line]


def main(program, usage, cli, *more):
    tap = Tap()
    has_prove = shutil.which("prove") is not None
    checks = [(check_schema, program), (check_junit, program), (check_junit_ended, usage), (check_junit_together, usage)] \
        if shutil.which("xmllint") else []
    if not checks:
        tap.check(False, "xmllint", "not here: it is in the Debian package libxml2-utils")
    for check, of in checks:
        with tempfile.TemporaryDirectory() as folder:
            tap.run(check.__name__, check, tap, of, folder)
    with tempfile.TemporaryDirectory() as folder:
        tap.run("TAP reader", check_tap_reader, tap, folder)
        tap.run("TAP", check_tap, tap, program, folder, has_prove)
    with tempfile.TemporaryDirectory() as folder:
        tap.run("JSON", check_json, tap, program, cli, folder, bool(more))
    tap.done()


main(*map(os.path.abspath, sys.argv[1:]))
