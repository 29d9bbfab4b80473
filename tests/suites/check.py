"""Meson's suites and the tags of the cases say the same: `meson test --suite T` and `-m T` select
the same cases, and all of Meson's tests together run every case once.

    check.py BUILD-DIRECTORY
"""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from program import listed, run  # noqa: E402
from tap import Tap  # noqa: E402

SUITES = {"stress", "perf"}
NOTHING_SELECTED = 5


def suites_of(test):
    """Meson puts the project's name in front."""
    return {suite.rsplit(":", 1)[-1] for suite in test["suite"]}


def suite_programs(tests):
    """program: its meson tests, of those that belong to a suite."""
    found = {}
    for test in tests:
        if suites_of(test) & SUITES:
            found.setdefault(test["cmd"][0], []).append(test)
    return found


def ids(program, arguments, place):
    done = run(program, *[a for a in arguments if a != "--tap"], "--co", "-q", cwd=place)
    if done.code not in (0, NOTHING_SELECTED):
        raise RuntimeError(f"{program} {arguments}: {done}")
    return listed(done)


def check_program(tap, program, tests, place, sanitized):
    name = os.path.basename(program)
    tags = [line.split()[0] for line in run(program, "--markers", cwd=place).out.splitlines()]
    every = ids(program, [], place)
    parts = {test["name"]: ids(program, test["cmd"][1:], place) for test in tests}
    tap.check(len(every) > 0 and len(every) == len(set(every)), f"{name}: has cases", every)
    for test in tests:
        tap.check(len(parts[test["name"]]) > 0, f"{name}: '{test['name']}' selects some cases",
                  test["cmd"])
        tap.equal(sorted(suites_of(test) - set(tags)), [],
                  f"{name}: the suites of '{test['name']}' are registered tags")
        tap.check("--tap" in test["cmd"] and test["protocol"] == "tap",
                  f"{name}: '{test['name']}' speaks TAP to one that listens", test)
        tap.equal(test["is_parallel"], sanitized, f"{name}: '{test['name']}' runs alone where it times")

    runs = {case: [part for part, chosen in parts.items() if case in chosen] for case in every}
    tap.equal({case: of for case, of in runs.items() if len(of) != 1}, {},
              f"{name}: every case is in exactly one meson test")
    for tag in tags:
        by_suite = {case for test in tests if tag in suites_of(test)
                    for case in parts[test["name"]]}
        by_tag = set(ids(program, ["-m", tag], place))
        tap.equal((sorted(by_suite - by_tag), sorted(by_tag - by_suite)), ([], []),
                  f"{name}: --suite {tag} is -m {tag} ({len(by_tag)} cases)")


def main(build):
    tap = Tap()
    with open(os.path.join(build, "meson-info", "intro-tests.json")) as file:
        programs = suite_programs(json.load(file))
    with open(os.path.join(build, "meson-info", "intro-buildoptions.json")) as file:
        sanitized = next(o["value"] for o in json.load(file) if o["name"] == "sanitize") != "false"
    tap.check(len(programs) > 0, "there are suites")
    for program, tests in programs.items():
        tap.run(os.path.basename(program), check_program, tap, program, tests, build, sanitized)
    tap.done()


main(os.path.abspath(sys.argv[1]))
