"""The same declarations written in each language make the same cases with the same outcomes."""

import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from program import listed, results, rows, run  # noqa: E402
from tap import Tap  # noqa: E402

KINDS = ("flat", "rough")
EVERYTHING = [f"everything[{case}-channels={channels}-noise={noise}-kind={kind}-cpu]"
              for case in ("small", "large")
              for channels, noise in ((10, "0.125"), (10, "0.5"), (100, "0.125"))
              for kind in KINDS]
ADDED = {**{f"limits[n={n}-cpu]": "passed" for n in (64, 256, 1024)},
         **{f"held[{case}-n={n}]": "passed" for case in ("small", "large") for n in (1, 2)}, "counted": "passed",
         "serves": "passed", "command[n=1]": "passed", "command[n=2]": "passed",
         **{name: "passed" for name in
            ("ratio", "ratio_over", "value_ratio", "growth", "same_hash")},
         **{f"parameters[{case}-n={n}]": "passed" for case in ("small", "large")
            for n in (1, 2, 4)},
         "memory": "passed", "kept": "passed",
         **{f"arrays[p={p}-h={h}-w={w}]": "passed" for p in (2, 3, 5) for h in (0.5, 1.5) for w in "ab"},
         **{f"ranges[r={r}-g={g}-threads={n}]": "passed" for r in (1, 50) for g in (1, 10, 100) for n in (1, 2, 3)}}
# Bytes of each type, by what it is called.
TYPES = {"float": 4, "unsigned%20int": 4, "my::half": 2, "my::pair_of<int,double>": 16, "short_pair": 12}
TYPED = {**{f"typed[type={name}-n={n}-cpu]": "passed" for name in TYPES for n in (1, 2)},
         "reals[type=float]": "passed", "reals[type=double]": "passed", "least[type=char]": "passed"}
# Of suites/shared.h, and of shared.hpp.
SHARED = {"gradients": "passed", "bare": "passed",
          **{f"most_values[n={n}]": "passed" for n in range(1, 33)},
          "most_axes[a=1-b=2-c=3-d=4-e=5-f=6-g=7-h=8]": "passed",
          "skipped": "skipped", "expected_to_fail": "xfailed", **ADDED}
OF_ALL = {name: "passed" for name in EVERYTHING}


def check_everything(tap, name, history):
    """What one of the cases stored: every part of a declaration and of a body arrived."""
    case = f"%::{EVERYTHING[0]}"
    found = rows(history, "SELECT * FROM result JOIN test_case ON test_case.id = case_id "
                          "WHERE case_id LIKE ?", case)[0]
    tap.equal((found["tags"], found["test_group"], found["test"], found["name"], found["device"],
               found["timeout"]),
              ("perf small stress", "lang", "everything", "small", "cpu", 30.0),
              f"{name}: tags, names, device, timeout")
    result = rows(history, "SELECT id FROM result WHERE case_id LIKE ?", case)[0]["id"]
    tap.check(found["tail"] == f"tear_down of {found['case_id']}\n" and
              int(found["data_hash"], 16) == 1, f"{name}: teardown, seed and case name", found)
    tap.equal(rows(history, "SELECT name, kind, value FROM axis WHERE case_id LIKE ? "
                            "ORDER BY position", case),
              [{"name": "channels", "kind": "int", "value": 10},
               {"name": "noise", "kind": "double", "value": 0.125},
               {"name": "kind", "kind": "string", "value": "flat"}], f"{name}: axes")
    work = rows(history, "SELECT name, unit, items, warmup, count FROM measurement "
                         "WHERE result_id = ? AND position = 0", result)
    tap.equal(work, [{"name": "work", "unit": "values", "items": 1000.0, "warmup": 2, "count": 5}],
              f"{name}: the measurement and its options")
    tap.equal([p["name"] for p in rows(history, "SELECT name FROM phase WHERE result_id = ? AND "
                                                "position = 0 ORDER BY phase", result)],
              ["write", "read"], f"{name}: phases")
    tap.equal(rows(history, "SELECT value FROM value WHERE result_id = ? AND name = 'sum'",
                   result), [{"value": 10000.0}], f"{name}: reset ran before each iteration")
    large = rows(history, "SELECT timeout, tags FROM result JOIN test_case ON test_case.id = "
                          "case_id WHERE case_id LIKE ?", f"%::{EVERYTHING[-1]}")
    tap.equal(large, [{"timeout": 60.0, "tags": "large perf slow stress"}],
              f"{name}: a case's own tags and timeout")


def verdicts(history, case):
    found = rows(history, "SELECT kind, met FROM verdict WHERE result_id = (SELECT id FROM result "
                          "WHERE case_id LIKE ?) ORDER BY position", f"%::{case}")
    return [(v["kind"], v["met"]) for v in found]


def check_held(tap, name, history):
    found = {case: [(v["kind"], v["allowed"]) for v in rows(
        history, "SELECT kind, allowed FROM verdict WHERE result_id = (SELECT id FROM result WHERE "
                 "case_id LIKE ?) ORDER BY position", f"%::held[{case}]")]
             for case in ("small-n=1", "large-n=2")}
    tap.equal(found, {"small-n=1": [("max allocations", 1), ("max peak", 1024), ("min value", 1)],
                      "large-n=2": [("max value", 2), ("max allocations", 1), ("max peak", 2048),
                                    ("min value", 1)]},
              f"{name}: a case's budgets, its test's, its name's and its function's")


def values(history, case):
    found = rows(history, "SELECT name, value FROM value WHERE result_id = (SELECT id FROM result "
                          "WHERE case_id LIKE ?) ORDER BY position", f"%::{case}")
    return {v["name"]: v["value"] for v in found}


def check_added(tap, name, history):
    """Limits of measurements, load, commands and relations."""
    tap.equal(verdicts(history, "limits[n=64-cpu]"),
              [(kind, "met") for kind in ("min share", "max percentile", "max cpu time",
                                          "max growth")], f"{name}: limits")
    tap.equal([tuple(row.values()) for row in rows(
        history, "SELECT ceiling, work, footprint, stage FROM bound WHERE result_id = (SELECT id "
                 "FROM result WHERE case_id LIKE '%::limits[n=64-cpu]') ORDER BY number")],
              [("fp64", 64, 0, 0), ("copy", 1024, 512, 0), ("int32", 64, 0, 0),
               ("fill", 512, 512, 0), ("read", 8, -1, 1)], f"{name}: bounds")
    tap.equal(verdicts(history, "counted"), [("max count", "met")], f"{name}: a counter's limit")
    tap.equal(rows(history, "SELECT name, count FROM measurement WHERE result_id = (SELECT id FROM "
                            "result WHERE case_id LIKE '%::serves') ORDER BY position"),
              [{"name": "all", "count": 20}, {"name": "plain", "count": 5}], f"{name}: requests")
    for n in (1, 2):
        tail = rows(history, "SELECT tail FROM result WHERE case_id LIKE ?",
                    f"%::command[n={n}]")[0]["tail"]
        found = values(history, f"command[n={n}]")
        found.pop("resident peak")
        tap.equal((found, tail), ({"half": 0.5}, f"hello you {n}\n"),
                  f"{name}: a command's input, environment and axis {n}")
    tap.equal([list(values(history, case)) for case in ("ratio", "ratio_over", "growth")],
              [["ratio"], ["ratio"], ["exponent"]], f"{name}: what relations of speed find")
    tap.equal([values(history, case) for case in ("value_ratio", "same_hash")],
              [{"ratio": 4}, {"distinct hashes": 1}], f"{name}: what exact relations find")


def check_parameters(tap, name, program, history):
    """Parameters of a named case and values of a function arrive in the body and the record."""
    tap.equal([values(history, case) for case in
               ("parameters[small-n=1]", "parameters[large-n=4]")],
              [{"cubes": 2, "n": 1, "noise": 0.125}, {"cubes": 30, "n": 4, "noise": 0.5}],
              f"{name}: what a named case stands for")
    tap.equal(rows(history, "SELECT name, kind, value FROM axis WHERE case_id LIKE ? "
                            "ORDER BY position", "%::parameters[large-n=4]"),
              [{"name": "n", "kind": "int", "value": 4},
               {"name": "cubes", "kind": "int", "value": 30},
               {"name": "noise", "kind": "double", "value": 0.5},
               {"name": "kind", "kind": "string", "value": "rough"}],
              f"{name}: parameters in the record, behind the axes")
    again = run(program, "--history", history, "--set", "cubes=2", "-v", "-k", "parameters and large")
    reproduce = values(history, "parameters[large-cubes=2-n=4]")
    tap.check("[large-cubes=2-n=4] FAILED" in again.out and reproduce.get("cubes") == 2 and
              re.search(r"reproduce: .*\[large-cubes=2-n=4\]' --seed 0 --set=cubes=2\n", again.out),
              f"{name}: --set replaces a parameter, and shows it", again)
    listed = run(program, "--co", "-v", "-k", "parameters").out
    tap.check("\n    parameters: cubes=30 noise=0.5 kind=rough\n" in listed,
              f"{name}: a list shows parameters", listed)


def check_types(tap, name, program, history):
    """A type is an axis like any other: in a body, for -k and --set, on the command line."""
    for written, size in TYPES.items():
        tap.equal(values(history, f"typed[type={written}-n=1-cpu]"), {"bytes": size},
                  f"{name}: the body of type {written}")
    tap.equal(listed(run(program, "--co", "-q", "-k", "typed and half")),
              [f"shared.hpp::typed[type=my::half-n={n}-cpu]" for n in (1, 2)], f"{name}: -k finds a type")
    case = f"shared.hpp::typed[type=my::pair_of<int,double>-n=2-cpu]"
    tap.equal(listed(run(program, "--co", "-q", case)), [case], f"{name}: the id of a type")
    tap.equal(listed(run(program, "--co", "-q", case.replace("::pair", "%3a%3apair"))), [case],
              f"{name}: the same with its colons escaped")
    tap.equal(listed(run(program, "--co", "-q", "--set", "type=double", "-k", "type=")),
              [f"shared.hpp::reals[type=double]"], f"{name}: --set is of the tests that have the type")
    other = run(program, "--co", "-q", "--set", "type=long")
    tap.check(other.code == 4 and "error: --set type=long: no test is made for this type" in other.err,
              f"{name}: a type that the test is not made for", other)


def check_checks(tap, name, history):
    found = rows(history, "SELECT name, precision FROM gradient WHERE result_id = (SELECT id FROM "
                          "result WHERE case_id LIKE '%::gradients') ORDER BY position")
    tap.equal([(row["name"], row["precision"]) for row in found],
              [("square", 0), ("values", 1), ("values first", 1), ("values rest", 1)],
              f"{name}: gradients and precisions, tensor by tensor")


def check_budgets(tap, name, history):
    tap.equal(verdicts(history, EVERYTHING[0]),
              [(kind, "met") for kind in
               ("min rate", "min flops", "min bandwidth", "max latency", "max peak",
                "max resident", "max resident tree", "max leak", "max allocations", "min value", "max value",
                "max gradient error")], f"{name}: all kinds of budgets, in order")


def check_program(tap, name, program, folder):
    history = os.path.join(folder, f"{name}.db")
    cuda = name == "lang-cu"
    source = {"lang-cpp": "lang.cpp", "lang-cpp17": "lang.cpp", "lang-cu": "lang.cu"}.get(name, "lang.c")
    done = run(program, "--history", history, "--jobs=4")  # most cases only start a process
    stored = {key.split("::", 1)[1]: value for key, value in results(history).items()}
    own = {"triad[cpu]": "passed", "triad[cuda]": None} if cuda else OF_ALL if source == "lang.c" else {}
    files = {source: {**own, "fails": "failed"}, "shared.h": SHARED,
             "shared.hpp": {} if source == "lang.c" else {**OF_ALL, **TYPED}}
    tap.equal(listed(run(program, "--co", "-q")), [f"{file}::{case}" for file, cases in files.items() for case in cases],
              f"{name}: ids in declared order")
    wanted = {case: outcome for cases in files.values() for case, outcome in cases.items()}
    if cuda:
        device = stored.get("triad[cuda]", {})
        wanted["triad[cuda]"] = "skipped" if device.get("outcome") == "skipped" else "passed"
        tap.check(device.get("outcome") == "passed" or
                  re.search(r"cuda|CUDA|GPU", device.get("reason") or "") is not None,
                  f"{name}: the device's case runs, or is skipped with its reason", device)
    wrong = {case: (outcome, stored.get(case, {}).get("outcome"))
             for case, outcome in wanted.items()
             if stored.get(case, {}).get("outcome") != outcome}
    tap.equal((wrong, len(stored)), ({}, len(wanted)), f"{name}: outcomes")
    tap.check(done.code == 1, f"{name}: exit 1", done)
    failed = stored.get("fails", {"failures": [{}]})["failures"][0]
    tap.check(failed.get("message") == "in cpu" and
              re.search(rf"suites/{re.escape(source)}$", failed.get("file") or "") is not None,
              f"{name}: a failure names its place", failed)
    check_everything(tap, name, history)
    check_added(tap, name, history)
    check_parameters(tap, name, program, history)
    check_held(tap, name, history)
    if source != "lang.c":
        check_types(tap, name, program, history)
    check_budgets(tap, name, history)
    check_checks(tap, name, history)


def main(arguments):
    tap = Tap()
    programs = dict(zip(arguments[::2], map(os.path.abspath, arguments[1::2])))
    with tempfile.TemporaryDirectory() as folder:
        for name, program in programs.items():
            tap.run(name, check_program, tap, name, program, folder)
    for name, missing in {"lang-cpp": "no C++ compiler here", "lang-cpp17": "no C++ compiler here",
                          "lang-cu": "built without CUDA",
                          "lang-other": "no second C compiler here"}.items():
        if name not in programs:
            tap.skip(name, missing)
    tap.done()


main(sys.argv[1:])
