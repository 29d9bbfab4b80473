"""--lf, --ff, --sw and --resume: what the next run takes up from the last one; --only: a list of cases; --shard-by:
parts that take equally long; --junitxml: what a CI system reads of it.

    again.py USAGE RELATIONS"""

import contextlib
import os
import re
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from program import listed, run  # noqa: E402
from tap import Tap  # noqa: E402

OK, FAILED, INTERNAL, USAGE, UNSELECTED = 0, 1, 3, 4, 5
SOME = "passes or fails or seed or text"
FAILS = ["usage.c::fails", "usage.c::text[label=it's%20\"a\"%20$b-c]"]

# Of junit-10.xsd of Jenkins' xUnit plugin, with the properties of a case that pytest adds: element: what may stand in
# it, its attributes, and those that must be there.
SCHEMA = {
    "testsuites": ({"testsuite"}, {"name"}, set()),
    "testsuite": ({"testcase", "properties"}, {"name", "tests", "failures", "errors", "skipped", "time", "timestamp", "hostname"},
                  {"name", "tests", "failures", "errors"}),
    "testcase": ({"properties", "skipped", "error", "failure", "system-out"}, {"name", "classname", "time"}, {"name", "classname"}),
    "properties": ({"property"}, set(), set()),
    "property": (set(), {"name", "value"}, {"name", "value"}),
    "skipped": (set(), {"type", "message"}, set()),
    "error": (set(), {"type", "message"}, set()),
    "failure": (set(), {"type", "message"}, set()),
    "system-out": (set(), set(), set()),
}


def stepwise(tap, program, place):
    """From one failure to the next, as each is mended; here by leaving it out."""
    def step(*more):
        return run(program, "-q", "--sw", "--tb=no", "-k", SOME, *more, cwd=place)
    first = step()
    tap.check(first.code == FAILED and "1 failed, 1 passed" in first.out, "--sw stops at the first failure", first)
    second = run(program, "--sw", "--co", "-q", "-k", SOME, cwd=place)
    tap.equal(listed(second), [FAILS[0], FAILS[1], "usage.c::seed"], "--sw goes on from it")
    told = run(program, "--sw", "-k", SOME, cwd=place)
    tap.check("stepwise: skipping 1 already passed item.\n" in told.out and
              "! Interrupted: Test failed, continuing from this test next run. !" in told.out, "and says so", told)
    third = step("--deselect", FAILS[0])
    tap.check(third.code == FAILED and "1 failed" in third.out and FAILS[1] in third.out, "then from the next one", third)
    none = run(program, "--sw", "-k", "passes", cwd=place)
    tap.check(none.code == OK and "stepwise: no previously failed tests, not skipping.\n" in none.out,
              "where nothing has failed all is run", none)


def last_failed(tap, program, place):
    run(program, "-q", "-k", SOME, cwd=place)
    only = run(program, "--lf", "--co", "-q", cwd=place)
    tap.equal(listed(only), FAILS, "--lf: what failed last, among all cases")
    run(program, "-q", "usage.c::fails", "--speed=off", cwd=place)
    tap.equal(listed(run(program, "--lf", "--co", "-q", "-k", "fails", cwd=place)), FAILS[:1], "and is selected")
    first = run(program, "--ff", "--co", "-q", "-k", SOME, cwd=place)
    tap.equal(listed(first), [*FAILS, "usage.c::passes", "usage.c::seed"], "--ff: that first")
    shuffled = run(program, "--ff", "--shuffle", "5", "--co", "-q", "-k", SOME, cwd=place)
    tap.equal(sorted(listed(shuffled)[:2]), FAILS, "also in another order")
    broken = os.path.join(place, "broken.db")
    with open(broken, "w", encoding="utf-8") as file:
        file.write("no history")
    done = run(program, "--lf", "--history", broken, "-k", SOME, cwd=place)
    tap.check(done.code == INTERNAL and "broken.db" in done.err and done.out == "", "a history that is none is told", done)


def relations_again(tap, program, place):
    """A relation judges the cases of its own run, so it never goes without them."""
    together = [f"relations.c::{name}" for name in ("counted[n=1]", "counted[n=2]", "counted_twice")]
    words = ["-q", "--speed=off", "-k", "counted"]
    run(program, *words, cwd=place)
    again = run(program, *words, "--lf", cwd=place)
    tap.check(again.code == FAILED and "1 failed, 2 passed" in again.out,
              "--lf of a relation runs the cases that it reads, too", again)
    parts = [listed(run(program, f"--shard={i}/3", "--co", "-q", cwd=place)) for i in (1, 2, 3)]
    tap.check(any(set(together) <= set(part) for part in parts), "--shard keeps it beside them", parts)
    tap.equal(sorted(sum(parts, [])), sorted(listed(run(program, "--co", "-q", cwd=place))),
              "and each case is in one part")


def longest_first(seconds, parts):
    """Graham's rule, as the parts are promised: each to the part with the least so far."""
    load, place = [0.0] * parts, {}
    for case in sorted(seconds, key=lambda one: -seconds[one]):
        least = min(range(parts), key=lambda one: load[one])
        load[least] += seconds[case]
        place[case] = least
    return [sorted(case for case in place if place[case] == part) for part in range(parts)]


def parts_by_history(tap, program, place):
    history = os.path.join(place, ".yieldpoint", "history.db")
    chosen = ["-k", "passes or fails or seed or text or axes"]
    run(program, "-q", "--speed=off", *chosen, cwd=place)
    cases = listed(run(program, "--co", "-q", *chosen, cwd=place))
    seconds = {case: 1.0 + 7 * i % 5 + i / 16 for i, case in enumerate(cases)}
    with contextlib.closing(sqlite3.connect(history)) as database:
        for case in cases:
            database.execute("UPDATE result SET duration = ? WHERE case_id = ?", (seconds[case], case))
        database.execute("DELETE FROM result WHERE case_id = ?", (cases[3],))
        database.commit()
    known = sorted(value for case, value in seconds.items() if case != cases[3])
    seconds[cases[3]] = statistics.median(known)
    for count in (1, 2, 3, 20):
        parts = [run(program, f"--shard={i + 1}/{count}", f"--shard-by={history}", "--co", "-q", *chosen, cwd=place)
                 for i in range(count)]
        tap.equal([sorted(listed(part)) for part in parts], longest_first(seconds, count), f"--shard-by: {count} parts, the longest first")
    parts = [run(program, f"--shard={i}/2", f"--shard-by={history}", "--history=other.db", "--speed=off", *chosen, cwd=place) for i in (1, 2)]
    told = [re.search(r"shard (\d) of 2: (\d+) of (\d+) cases, (\S+ s) of (\S+ s) by .*, which knows (\d+); division (\w{8})", part.out)
            for part in parts]
    tap.check(all(told) and told[0][7] == told[1][7] and int(told[0][6]) == len(cases) - 1,
              "each part says by what it is divided, and that all are parts of one division", parts)
    none = run(program, "--shard=1/2", "--shard-by=nowhere.db", "--speed=off", "--history=other.db", *chosen, cwd=place)
    tap.check("by their number: nowhere.db knows none" in none.out, "a history that is not there: said", none)
    usual = listed(run(program, "--shard=1/2", "--co", "-q", *chosen, cwd=place))
    tap.equal(listed(run(program, "--shard=1/2", "--shard-by=nowhere.db", "--co", "-q", *chosen, cwd=place)), usual, "divided by number")
    broken = run(program, "--shard=1/2", "--shard-by=broken.db", *chosen, cwd=place)
    tap.check(broken.code == INTERNAL and "broken.db" in broken.err, "a history that is none is told", broken)
    alone = run(program, "--shard-by", history, cwd=place)
    tap.check(alone.code == USAGE and "--shard-by without --shard" in alone.err, "--shard-by goes with --shard", alone)


def only_and_resume(tap, program, place):
    together = [f"relations.c::{name}" for name in ("counted[n=1]", "counted[n=2]", "counted_twice")]
    words = ["--speed=off", "-k", "counted"]
    wanted = os.path.join(place, "ids")
    with open(wanted, "w", encoding="utf-8") as file:
        file.write("\n".join(["relations.c::gone", together[0], "", together[1]]))

    def left(*more):
        return listed(run(program, "--co", "-q", *words, *more, cwd=place))
    tap.equal(left("--only", wanted), together[:2], "--only: of the selected cases those of a list")
    missing = run(program, "--only", "nowhere", cwd=place)
    tap.check(missing.code == USAGE and "a file that is there" in missing.err, "a list that is not there", missing)
    run(program, "-q", "--history=first.db", *words, "--only", wanted, cwd=place)
    tap.equal(left("--resume=first.db"), [*together[:2], *[i for i in left() if i not in together[:2]]],
              "--resume: a relation that is left brings the cases that it reads")
    tap.equal(left("--resume=first.db", "--deselect", together[2]), [i for i in left() if i not in together],
              "what has a result is left out")
    tap.equal(left("--resume=first.db", "--deselect", together[2], "--repeat=2"), [i for i in left() if i != together[2]],
              "but not where it is to be repeated more often")
    run(program, "-q", "--history=all.db", *words, cwd=place)
    tap.equal(left("--resume=first.db", "--resume=all.db"), [], "of several histories any one")
    tap.equal(run(program, *words, "--resume=all.db", cwd=place).code, UNSELECTED, "nothing is left")
    third = "relations.c::counted[n=3]"
    for change, wanted, what in (
            ("UPDATE run SET exit_code = 2", together, "of an interrupted run what did not pass, here a relation,"),
            ("UPDATE run SET exit_code = NULL; UPDATE result SET signal = 9 WHERE case_id LIKE '%n=3%'", [third],
             "what was killed, perhaps with its run,"),
            ("UPDATE run SET exit_code = 1; UPDATE result SET signal = NULL; UPDATE result SET signal = 15 WHERE case_id LIKE '%n=1%'",
             together, "a relation whose case")):
        with contextlib.closing(sqlite3.connect(os.path.join(place, "all.db"))) as database:
            database.executescript(change)
        tap.equal(left("--resume=all.db"), wanted, f"{what} runs again")


def breaches(element, path="", found=None):
    """What the schema does not allow."""
    found = [] if found is None else found
    path = f"{path}/{element.tag}"
    children, attributes, needed = SCHEMA.get(element.tag, (set(), set(), set()))
    if element.tag not in SCHEMA:
        found.append(f"{path}: no such element")
    found += [f"{path}: attribute {a}" for a in set(element.attrib) - attributes]
    found += [f"{path}: no attribute {a}" for a in needed - set(element.attrib)]
    for child in element:
        if child.tag not in children:
            found.append(f"{path}: may not hold {child.tag}")
        breaches(child, path, found)
    return found


def properties(case):
    return {p.get("name"): p.get("value") for p in case.iter("property")}


def junit(tap, program, place):
    path = os.path.join(place, "reports", "usage.xml")
    done = run(program, "-q", "--junitxml", "reports/usage.xml", "--repeat", "2", "-k",
               "passes or fails or text or speaks or timed or axes or skip", cwd=place)
    suite = ElementTree.parse(path).getroot()[0]
    cases = {(c.get("classname"), c.get("name")): c for c in suite}
    tap.equal(breaches(ElementTree.parse(path).getroot()), [], "--junitxml: as the schema says")
    tap.check(f"{suite.get('failures')} failed" in done.out and int(suite.get("tests")) == len(cases) == len(suite),
              "with the counts of the run", done)
    failed = cases[("usage", "fails")]
    tap.check(failed.find("failure").get("message") == "as it should" and "usage.c:" in failed.find("failure").text,
              "a failure with its reason and its place", ElementTree.tostring(failed))
    tap.check(("usage", "fails (repeat 2)") in cases, "a repetition has a name of its own", list(cases))
    odd = cases[("usage", FAILS[1].split("::")[1])]
    tap.equal(odd.find("failure").get("message"), "label it's \"a\" $b-c", "quotes come through")
    told = properties(cases[("usage", "timed[n=1]")])
    tap.check(float(told["nap seconds"]) > 0 and told["id"] == "usage.c::timed[n=1]" and "host memory peak bytes" in told,
              "what was measured is there as properties", told)
    hostile = os.fsdecode(b"<&\">]]> \x1b[1m \xff \xc3\xbc \xef\xbf\xbf\ttab")
    run(program, "-q", "--junitxml", "hostile.xml", "-k", "text", "--set", f"label={hostile}", cwd=place)
    case = ElementTree.parse(os.path.join(place, "hostile.xml")).getroot()[0][0]
    told = "<&\">]]> #x1B[1m #xFF \u00fc #xEF#xBF#xBF\ttab"
    tap.equal(case.find("failure").get("message"), f"label {told}", "characters that XML has none for are written out")
    tap.check(told in case.find("failure").text, "in the text, too", case.find("failure").text)
    spoken = cases[("usage", "speaks")].find("system-out")
    tap.check(spoken is not None and "said on standard output\n" in spoken.text, "and what was written", spoken)
    tap.equal(os.listdir(os.path.dirname(path)), ["usage.xml"], "nothing is left beside it")
    if subprocess.run(["which", "xmllint"], capture_output=True, check=False).returncode == 0:
        lint = subprocess.run(["xmllint", "--noout", path], capture_output=True, text=True, check=False)
        tap.check(lint.returncode == 0, "xmllint takes it", lint.stderr)
    for where, what in ((os.path.join(place, "broken.db", "x.xml"), "below a file"), ("/proc/x.xml", "where nothing can be")):
        done = run(program, "-q", "--junitxml", where, "usage.c::passes", cwd=place)
        tap.check(done.code == INTERNAL and "x.xml" in done.err and "1 passed" not in done.out,
                  f"a report {what} is refused before anything runs", done)


def main(usage, relations):
    tap = Tap()
    for check, program in ((stepwise, usage), (last_failed, usage), (relations_again, relations), (parts_by_history, usage),
                           (only_and_resume, relations), (junit, usage)):
        with tempfile.TemporaryDirectory() as place:
            with open(os.path.join(place, "broken.db"), "w", encoding="utf-8") as file:
                file.write("no history")
            tap.run(check.__name__, check, tap, program, place)
    tap.done()


main(*map(os.path.abspath, sys.argv[1:]))
