"""--lf, --ff and --sw: what the next run takes up from the last one; --junitxml: what a CI system reads of it.

    again.py USAGE RELATIONS"""

import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from program import listed, run  # noqa: E402
from tap import Tap  # noqa: E402

OK, FAILED, INTERNAL = 0, 1, 3
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
    for check, program in ((stepwise, usage), (last_failed, usage), (relations_again, relations), (junit, usage)):
        with tempfile.TemporaryDirectory() as place:
            with open(os.path.join(place, "broken.db"), "w", encoding="utf-8") as file:
                file.write("no history")
            tap.run(check.__name__, check, tap, program, place)
    tap.done()


main(*map(os.path.abspath, sys.argv[1:]))
