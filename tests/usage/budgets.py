"""Budgets of cases and files of them: which hold, where a file is found, what is wrong in one."""

import os
import re
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from program import results, run  # noqa: E402
from tap import Tap  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
INTERRUPTED, USAGE = 2, 4
# What each case is held to, as --co -v lists it.
HELD = {
    "small-n=1": ["nap at most 10 s", "nap processor time at most 5 s", "error at most 0.25",
                  "host memory: at most 2 allocations",
                  "host memory: at most 1.0 KiB accounted at once"],
    "small-n=4": ["nap at most 10 s", "nap processor time at most 5 s",
                  "host memory: at most 1 allocations",
                  "host memory: at most 4.0 KiB accounted at once", "rank at least 2"],
    "large-n=1": ["nap at most 10 s", "nap processor time at most 5 s", "error at most 0.2",
                  "host memory: at most 2 allocations",
                  "host memory: at most 1.0 KiB accounted at once"],
    "large-n=4": ["nap at most 10 s", "nap processor time at most 5 s",
                  "host memory: at most 2 allocations",
                  "host memory: at most 4.0 KiB accounted at once"],
}
# text of a file: what is printed of it
WRONG = {
    "[budgets.c::held[small-n=2]]\nmax value error = 1\n":
        r"^error: {path}:1: \[budgets.c::held\[small-n=2\]\] is no case of the tests that refer to "
        r"this file, did you mean 'budgets.c::held\[small-n=[14]\]'\?; --co -q lists all ids$",
    "[budgets.c::loose]\nmax value error = 1\n":
        r"^error: {path}:1: \[budgets.c::loose\]: the test of this case does not refer to this "
        r"file; a yp_budget_file\(\) among its .budgets does$",
    "\n[budgets.c::held[small-n=1]]\nmax latency nap = 1\n":
        r"^error: {path}:3: 'max latency nap': rates and times hold on one machine only; allowed "
        r"are min share, ",
    "[budgets.c::held[small-n=1]]\nmax peek host = 1\n":
        r"^error: {path}:2: 'max peek host' is no budget: allowed are min share, ",
    "[budgets.c::held[small-n=1]]\nmax peak host = 1 KiB\n":
        r"^error: {path}:2: max peak host = 1 KiB: allowed is one finite number from 0",
    "[budgets.c::held[small-n=1]]\nmax peak host = 1\n[budgets.c::held[small-n=1]]\n":
        r"^error: {path}:3: \[budgets.c::held\[small-n=1\]\] stands in line 1 already$",
    "[budgets.c::held[small-n=1]]\nmax peak host = 1\nmin share x = 1\nmax peak host = 2\n":
        r"^error: {path}:4: 'max peak host' stands in line 2 already",
    "[budgets.c::held[small-n=1]]\nmin share x = -1\nmin share y =\nmax value z = nan\nmax value u = inf\nnothing\n":
        r"^error: {path}:2: min share x = -1: allowed is one finite number from 0\n"
        r"error: {path}:3: min share y = : allowed is one finite number from 0\n"
        r"error: {path}:4: max value z = nan: allowed is one finite number\n"
        r"error: {path}:5: max value u = inf: allowed is one finite number\n"
        r"error: {path}:6: not a \[section\], a name = value or a comment",
    "[budgets.c::held[small-n=1]]\nmin share x = 1\n  min share y = 1\n":
        r"^error: {path}:2: min share x = 1 min share y = 1: allowed is one finite number from 0 \(an indented line "
        r"belongs to the one before\)",
    "max peak host = 1\n": r"^error: {path}:1: 'max peak host' stands before the first \[id",
}


def own_notes(lines):
    """Not what is said of other work on the machine."""
    return [line for line in lines if line.startswith("NOTE") and "was disturbed" not in line]


def listed(out):
    """{case: its budgets, without what stands behind}"""
    found, case = {}, None
    for line in out.splitlines():
        start = re.match(r"\S+::held\[(.*)\]$", line)
        if start:
            case = found.setdefault(start[1], [])
        elif line.startswith("budgets.c::"):
            case = []
        elif line.startswith("    budget: "):
            case.append(re.sub(r"( \(|, measured).*", "", line[12:]))
    return found


def check_held(tap, program, folder):
    done = run(program, "--co", "-v", cwd=folder)
    tap.equal(listed(done.out), HELD, "each case is held to the last that is said of a thing")
    history = os.path.join(folder, "held.db")
    done = run(program, "--history", history, "budgets.c::held", cwd=folder)
    found = {case.split("[")[1][:-1]: len(result["verdicts"])
             for case, result in results(history).items()}
    tap.equal((done.code, found), (0, {case: len(held) for case, held in HELD.items()}),
              "a run judges just these")


SLACK = r", slack [0-9.]+(e\+[0-9]+)?"
# Of budgets.c::loose, under -v.
LINES = [
    rf"    met        nap at most 10 s: \S+ ms \[.*\] \(\+\S+ %\){SLACK}",
    rf"    met        nap processor time at most 5 s \(required: why\): .* \(\+\S+ %\){SLACK}",
    r"    met        host memory: at most 16\.0 MiB accounted at once: 1\.0 KiB \(\+100 %\), slack "
    r"1\.64e\+04",
    r"    met        error at most 0\.5: 0\.01 \(\+98 %\), slack 50",
    r"    met        rank at least 1: 10 \(\+900 %\), slack 10",
    r"    met        host memory: at most 64 B left behind: 0 B \(\+100 %\)",
]
NOTES = [
    r"NOTE budgets\.c::loose - nap at most 10 s: slack \S+, a threefold slowdown would not be noticed",
    r"NOTE budgets\.c::loose - host memory: at most 16\.0 MiB accounted at once: slack 1\.64e\+04, "
    r"ten times as much would not be noticed",
    r"NOTE budgets\.c::loose - error at most 0\.5: slack 50, ten times as much would not be noticed",
    r"NOTE budgets\.c::loose - precision of 'bound' at most 8 times the plain error: slack 256, ten "
    r"times as much would not be noticed",
]


def check_slack(tap, program, folder):
    history = ["--history", os.path.join(folder, "past.db")]
    listed_before = run(program, *history, "--co", "-v", "budgets.c::loose", cwd=folder).out
    tap.check("slack" not in listed_before and
              "    budget: nap processor time at most 5 s (required: why)\n" in listed_before,
              "a list without a history knows no slack, but what is required", listed_before)
    done = run(program, *history, "-v", "budgets.c::loose", cwd=folder)
    lines = done.out.splitlines()
    tap.check(done.code == 0 and len([i for i, line in enumerate(lines)
                                      if "    met " in line]) == len(LINES) and
              all(re.fullmatch(wanted, line) for wanted, line in
                  zip(LINES, [line for line in lines if "    met " in line])),
              "-v: what each budget leaves", done)
    notes = own_notes(lines)
    tap.check(len(notes) == len(NOTES) and
              all(re.fullmatch(wanted, line) for wanted, line in zip(NOTES, notes)),
              "-v: those that would notice little, but for one that is required", done)
    stored = results(history[1])["budgets.c::loose"]["verdicts"]
    tap.equal([(v["required"], v["slack"] is None or round(v["slack"], 6)) for v in stored[1:]],
              [("why", round(5 / stored[1]["measured"], 6)), (None, 16384), (None, 50), (None, 10),
               (None, True)], "both are stored")
    plain = run(program, *history, "budgets.c::loose", cwd=folder)
    tap.check(not own_notes(plain.out.splitlines()) and "slack" not in plain.out,
              "nothing of it without -v", plain)
    out = run(program, *history, "--co", "-v", "budgets.c::loose", cwd=folder).out
    tap.check("    budget: error at most 0.5, measured 0.01, slack 50\n" in out and
              re.search(r"    budget: nap processor time at most 5 s \(required: why\), measured "
                        rf".* us{SLACK}\n", out) is not None and
              "    budget: host memory: at most 64 B left behind, measured 0 B\n" in out,
              "a list shows what was measured last on this machine", out)


def check_places(tap, program, folder):
    """Where the sources are gone, the file is sought below suites/."""
    bundle = os.path.join(folder, "bundle")
    os.makedirs(os.path.join(bundle, "bin"))
    os.makedirs(os.path.join(bundle, "suites"))
    copy = shutil.copy(program, os.path.join(bundle, "bin", "program"))
    done = run(copy, "--co", "-v", cwd=folder)
    tap.check(done.code == INTERRUPTED and
              re.search(r"^error: \S*budgets\.c:\d+: test budgets\.held: no file of budgets "
                        r"'budgets\.ini': there is neither \S*suites/budgets\.ini, nor "
                        rf"suites/budgets\.ini from {re.escape(bundle)}/bin upwards$", done.err, re.M),
              "a file that is nowhere is an error that says where it was sought", done)
    shutil.copy(os.path.join(HERE, "suites", "budgets.ini"), os.path.join(bundle, "suites"))
    done = run(copy, "--co", "-v", cwd=folder)
    tap.equal(listed(done.out), HELD, "it is found below suites/, from the program upwards")


def check_option(tap, program, folder):
    path = os.path.join(folder, "other.ini")
    with open(path, "w") as file:
        file.write("[budgets.c::held[small-n=1]]\nmax value rank = 1\n")
    done = run(program, "--co", "-v", "--budgets", "other.ini", cwd=folder)
    wanted = {**HELD, "small-n=1": [*HELD["small-n=1"], "rank at most 1"],
              "small-n=4": [HELD["small-n=4"][0], HELD["small-n=4"][1],
                            "host memory: at most 2 allocations", HELD["small-n=4"][3]],
              "large-n=1": [*HELD["large-n=1"][:2], "error at most 0.5", *HELD["large-n=1"][3:]]}
    tap.equal(listed(done.out), wanted, "--budgets gives another file")
    done = run(program, "--history", os.path.join(folder, "other.db"), "--budgets", "other.ini",
               "budgets.c::held[small-n=1]", cwd=folder)
    tap.check(done.code == 1 and f" --budgets={path}\n" in done.out,
              "and is in the line that reproduces, with its whole path", done)
    for text, pattern in WRONG.items():
        with open(path, "w") as file:
            file.write(text)
        done = run(program, "--co", "--budgets", path, cwd=folder)
        tap.check(done.code == INTERRUPTED and
                  re.search(pattern.replace("{path}", re.escape(path)), done.err, re.M) and
                  done.err.count("error: ") == pattern.count("error: "), f"wrong: {text!r}", done)
    done = run(program, "--co", "--budgets=none.ini", cwd=folder)
    tap.check(done.code == INTERRUPTED and done.err.count("error: ") == 1 and
              "none.ini: No such file or directory\n" in done.err, "a file that is not there", done)
    done = run(program, "--co", "--set", "n=2", "--budgets",
               os.path.join(HERE, "suites", "budgets.ini"), cwd=folder)
    tap.equal(done.code, 0, "with --set a section may be of a case that is not there")


def check_none(tap, usage, folder):
    done = run(usage, "--co", "--budgets=none.ini", cwd=folder)
    tap.check(done.code == USAGE and "no test of this program refers to a file" in done.err,
              "--budgets for a program without any use of it", done)


def main(program, usage):
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        folder = os.path.realpath(folder)
        for check in (check_held, check_slack, check_places, check_option):
            tap.run(check.__name__, check, tap, os.path.abspath(program), folder)
        check_none(tap, os.path.abspath(usage), folder)
    tap.done()


main(*sys.argv[1:])
