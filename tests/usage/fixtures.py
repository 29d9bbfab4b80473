"""Fixtures of a run: computed once, before what is given them, and read-only; what becomes of their users when they
fail.

    fixtures.py FIXTURES BAD_FIXTURES CIRCLE [sanitized]"""

import os
import re
import sys
import tempfile
import xml.etree.ElementTree

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from program import listed, results, rows, run, shell  # noqa: E402
from tap import Tap  # noqa: E402

OK, FAILED, COLLECTION, USAGE, NOTHING = 0, 1, 2, 4, 5
SMALL, LARGE = "fixtures.c::numbers[small]", "fixtures.c::numbers[large]"


class Runs:
    """Runs of the program, each with a history and counts of its own."""

    def __init__(self, program, folder):
        self.program, self.folder, self.number = program, folder, 0

    def __call__(self, *arguments):
        self.number += 1
        self.history = os.path.join(self.folder, f"{self.number}.db")
        self.counts = os.path.join(self.folder, f"{self.number}.counts")
        return run(self.program, "--history", self.history, *arguments, cwd=self.folder, env={"COUNTS": self.counts})

    def computed(self):
        return open(self.counts).read().split() if os.path.exists(self.counts) else []

    def order(self):
        return [r["case_id"] for r in rows(self.history, "SELECT case_id FROM result ORDER BY started, rowid")]

    def outcomes(self):
        return {case.split("::")[1]: r["outcome"] for case, r in results(self.history).items()}

    def reason(self, test):
        found = results(self.history)[f"fixtures.c::{test}"]
        return found["failures"][0]["message"] if found["failures"] else found["reason"]


def check_once(tap, runs):
    for more in ([], ["-j4"], ["--no-fork"], ["--shuffle", "3"], ["--speed=off"]):
        name = " ".join(["fixtures", *more])
        done = runs("-k", "sums or reads or times or chain or plain", *more)
        tap.check(done.code == OK and "12 passed" in done.out, f"{name}: all pass", done)
        tap.equal(sorted(runs.computed()), sorted([SMALL, LARGE, "fixtures.c::doubled"]), f"{name}: each is computed once")
        order = runs.order()
        fixtures = [order.index(f) for f in (SMALL, LARGE, "fixtures.c::doubled")]
        tap.check(max(fixtures) == 2 and fixtures[2] == 2, f"{name}: before what is given them, the chained one last", order)
    done = runs("--repeat", "3", "fixtures.c::reads", "fixtures.c::chain")
    tap.check(done.code == OK and "17 passed" in done.out and len(runs.computed()) == 2,
              "--repeat 3: users three times, fixtures once", done)
    one = runs("--seed", "5", "-k", "sums")
    tap.check(one.code == OK and results(runs.history)[SMALL]["data_hash"] == f"{5 + 999:016x}",
              "a fixture has the run's seed, and a data hash of its own", one)


def check_selection(tap, runs):
    done = runs("-k", "plain")
    tap.check(done.code == OK and "1 passed" in done.out and runs.computed() == [] and runs.order() == ["fixtures.c::plain"],
              "one that nobody selected needs is not run", done)
    tap.equal(runs("-k", "numbers").code, NOTHING, "-k of its name alone selects no fixture")
    done = runs("-m", "small")
    tap.check(done.code == OK and runs.order() == [SMALL, "fixtures.c::sums[small]"], "nor -m; what has the tag brings it", done)
    done = runs(SMALL)
    tap.check(done.code == OK and runs.order() == [SMALL], "its own id does", done)
    done = runs("--co", "-q", "-k", "chain")
    tap.equal(listed(done), [SMALL, "fixtures.c::doubled", "fixtures.c::chain"], "--co lists what is brought")
    tap.check("3 cases collected" in done.out or "3/" in done.out, "and counts it", done)
    done = runs("--device", "cpu", "-k", "on_device")
    tap.check(done.code == OK and "2 passed" in done.out, "--device leaves fixtures without devices there", done)
    done = runs("--set", "bytes=9", "-k", "of_size")
    tap.equal((done.code, runs.order()), (OK, ["fixtures.c::sized[bytes=9]", "fixtures.c::of_size[bytes=9]"]),
              "--set reaches a case and its fixture")
    done = runs("--set", "bytes=9", "-k", "on_device")
    tap.check(done.code == OK and runs.reason("on_device[cpu]") == "there is no fixture 'fixtures.c::sized[bytes=1]' with "
              "--set or --device as given", "where it takes a fixture away, the case is skipped", done)
    parts = []
    for part in ("1/2", "2/2"):
        done = runs("--shard", part, "-k", "reads")
        tap.check(done.code == OK and runs.order()[0] == SMALL, f"--shard {part} has its fixture", done)
        parts += runs.order()[1:]
    tap.equal(sorted(parts), [f"fixtures.c::reads[n={n}]" for n in (1, 2, 3, 4)], "and both parts are everything")


def check_failures(tap, runs, sanitized):
    crash = "SIGABRT" if sanitized else "SIGSEGV"  # a sanitizer's report ends so
    done = runs("--junitxml", os.path.join(runs.folder, "report.xml"), "-k",
                "without or far or expected or skipped or left_out_too or after_crash or after_hang or of_nothing")
    tap.equal(runs.outcomes(), {"broken": "failed", "upon": "error", "absent": "skipped", "crashing": "failed",
                                "hanging": "failed", "nothing": "passed", "without": "error", "far": "error",
                                "expected": "xfailed", "skipped": "skipped", "left_out": "skipped",
                                "left_out_too": "skipped", "after_crash": "error", "after_hang": "error",
                                "of_nothing": "failed"}, "what becomes of their users")
    tap.equal(done.code, FAILED, "the run has failed")
    for test, words in (("without", r"^fixture 'fixtures\.c::broken' failed: no such data$"),
                        ("far", r"^fixture 'fixtures\.c::upon' failed: fixture 'fixtures\.c::broken' failed: no such data$"),
                        ("skipped", r"^fixture 'fixtures\.c::absent': there are no data here$"),
                        ("left_out_too", r"^fixture 'fixtures\.c::left_out': not today$"),
                        ("after_crash", rf"^fixture 'fixtures\.c::crashing' failed: crashed in the body: {crash}"),
                        ("after_hang", r"^fixture 'fixtures\.c::hanging' failed: timeout: "),
                        ("of_nothing", r"^fixture 'nothing' has provided nothing$")):
        tap.check(re.search(words, runs.reason(test)), f"{test}: the reason", runs.reason(test))
    tap.check("ERROR fixtures.c::without - fixture 'fixtures.c::broken' failed: no such data" in done.out,
              "the summary says whose fault it is", done.out)
    causes = {r["case_id"].split("::")[1]: r["cause"] for r in rows(
        runs.history, "SELECT case_id, cause FROM failure JOIN result ON result.id = result_id")}
    tap.equal(causes["without"], "fixture", "the cause")
    cases = {c.get("name"): [e.tag for e in c if e.tag in ("error", "failure", "skipped")]
             for c in xml.etree.ElementTree.parse(os.path.join(runs.folder, "report.xml")).iter("testcase")}
    tap.equal((cases["without"], cases["broken"], cases["skipped"]), (["error"], ["failure"], ["skipped"]), "JUnit says so too")
    line = re.search(r"reproduce: (\S+ 'fixtures\.c::without' .*)", done.out)
    again = shell(line.group(1), "--history", os.path.join(runs.folder, "again.db")) if line else None
    tap.check(again is not None and again.code == FAILED and "fixture 'fixtures.c::broken' failed: no such data" in again.out,
              "the printed line runs the fixture and its user again", again)
    done = runs("-x", "fixtures.c::without", "fixtures.c::far")
    tap.equal((done.code, runs.order()), (FAILED, ["fixtures.c::broken"]), "-x: a failed fixture ends the run")
    done = runs("--tap", "fixtures.c::without")
    tap.check("not ok 1 - fixtures.c::broken" in done.out and "not ok 2 - fixtures.c::without" in done.out, "--tap", done)
    done = run(runs.program, "--history", runs.history, "--lf", cwd=runs.folder)
    tap.check("2 failed" in done.out or "1 failed, 1 error" in done.out, "--lf: the user, and its fixture with it", done)
    done = runs("fixtures.c::writes", "fixtures.c::sums")
    tap.check(re.search(f"^crashed in the body: {crash}", runs.reason("writes")) and "1 failed, 4 passed" in done.out,
              "a write to one is a crash, and others have what it was", done)


def check_gdb(tap, runs):
    """A stand-in for gdb goes on with what it is given."""
    place = os.path.join(runs.folder, "bin")
    os.mkdir(place)
    with open(os.path.join(place, "gdb"), "w") as file:
        file.write('#!/bin/sh\nwhile [ "$1" != --args ]; do shift; done\nshift\nexec "$@"\n')
    os.chmod(file.name, 0o755)
    env = {"PATH": f"{place}:{os.environ['PATH']}"}
    done = run(runs.program, "--gdb", "--history", os.path.join(runs.folder, "gdb.db"), "fixtures.c::chain", cwd=runs.folder,
               env=env)
    tap.check(done.code == OK and "3 passed" in done.out, "--gdb: a case with its fixtures in front of it", done)
    done = run(runs.program, "--gdb", "fixtures.c::sums", cwd=runs.folder, env=env)
    tap.check(done.code == USAGE and "--gdb takes one case" in done.err, "--gdb: not two", done)


def check_misuse(tap, runs):
    for ids, words in ((["fixtures.c::twice"], r"yp_provide\(\) a second time: allowed is once"),
                       (["fixtures.c::zero"], r"yp_provide\(\) of 0 bytes: allowed are 1 to \d+"),
                       (["fixtures.c::too_large"], r"a fixture's 4611686018427387904 bytes are more than seven eighths of the \d+ that are free"),
                       (["fixtures.c::no_fixture"], r"yp_provide\(\) in a case that is no fixture: allowed in YP_FIXTURE"),
                       (["fixtures.c::unknown"], r"no one fixture is 'number': \.fixtures is \"numbers\[small\]\""),
                       (["fixtures.c::several"], r"no one fixture is 'numbers': \.fixtures is \"numbers\[small\] numbers\[large\]\"")):
        done = runs(*ids)
        reason = runs.reason(ids[0].split("::")[1])
        tap.check(done.code == FAILED and re.search(words, reason), f"{ids[0]}: {words}", done)
    done = runs("--memory-limit", "7M", LARGE)
    tap.check(done.code == FAILED and "a fixture's 8000000 bytes are more than --memory-limit allows, 7340032"
              in runs.reason("numbers[large]"), "--memory-limit holds for fixtures, too", done)
    done = runs("--fail-allocation=each", "fixtures.c::chain")
    tap.check(done.code == OK and len(runs.computed()) == 2, "--fail-allocation=each: not those of fixtures", done)


def check_declarations(tap, bad, circle, folder):
    done = run(bad, cwd=folder)
    tap.equal(done.code, COLLECTION, "wrong declarations: exit code 2")
    for test, words in (("misspelt", r"'bad_fixtures\.c::misspelt' has no fixture 'bad_fixtures\.c::numbers\[n=3\]'.*"
                                     r"bad_fixtures\.c::numbers\[n=[12]\].*; --co -q lists all ids"),
                        ("many", r"its fixture 'bad_fixtures\.c::numbers' has several cases: name one, as "
                                 r"'bad_fixtures\.c::numbers\[n=1\]'"),
                        ("a_test", r"its fixture 'bad_fixtures\.c::many\[i=1\]' is a test: allowed are those of YP_FIXTURE"),
                        ("word", r"\.fixtures has \{m\}: there are \{case\}, \{seed\} and \{device\}; "),
                        ("empty", r"\.fixtures names 0: allowed are 1 to 8"),
                        ("too_many", r"\.fixtures names 9: allowed are 1 to 8"),
                        ("expected", r"a fixture has \.xfail: allowed in YP_TEST only"),
                        ("expected_case", r"case 'small' of a fixture has \.xfail: allowed in YP_TEST only"),
                        ("each_rank", r"\.each_rank is of fixtures: allowed in YP_FIXTURE only"),
                        ("placement", r"\.placement is of ranks, and it has no \.ranks"),
                        ("placement_word", r"\.placement has 'spread:socket': allowed are spread:core, .*"),
                        ("judged", r"a fixture with \.each_rank has budgets: it is a part of the cases that use it"),
                        ("timed", r"a fixture with \.each_rank has a \.timeout: .*"),
                        ("nested", r"its fixture 'bad_fixtures\.c::own' has \.each_rank: allowed for tests only"),
                        ("command", r"\.fixtures is given to a command, which has no way to their memory"),
                        ("relation", r"\.fixtures is given beside \.relation, which takes no process")):
        found = [line for line in done.err.splitlines() if re.search(rf": test bad\.{test}: {words}", line)]
        tap.check(len(found) == 1, f"{test}: reported once", done.err)
    tap.check("16 errors at collection" in done.err, "and nothing else is", done.err)
    done = run(circle, cwd=folder)
    tap.check(done.code == COLLECTION and re.search(
        r"test circle\.first: the fixture 'circle\.c::first' needs itself, by 'second'\n1 error at collection", done.err),
        "a circle is an error", done.err)


def main():
    tap = Tap()
    fixtures, bad, circle = (os.path.abspath(p) for p in sys.argv[1:4])
    sanitized = "sanitized" in sys.argv[4:]
    with tempfile.TemporaryDirectory() as folder:
        runs = Runs(fixtures, folder)
        tap.run("once", check_once, tap, runs)
        tap.run("selection", check_selection, tap, runs)
        tap.run("failures", check_failures, tap, runs, sanitized)
        tap.run("gdb", check_gdb, tap, runs)
        tap.run("misuse", check_misuse, tap, runs)
        tap.run("declarations", check_declarations, tap, bad, circle, folder)
    tap.done()


main()
