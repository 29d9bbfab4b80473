"""--json: what tools made for Google Benchmark read of a run; and what --repeat tells.

    benchmark_json.py VERDICTS USAGE"""

import json
import math
import os
import re
import statistics
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from program import rows, run  # noqa: E402
from tap import Tap  # noqa: E402

OK, FAILED, INTERNAL = 0, 1, 3

# Of src/json_reporter.cc of Google Benchmark 1.9: member, its type; those without a ? are always there.
CONTEXT = {"date": str, "host_name": str, "executable": str, "num_cpus": int, "mhz_per_cpu?": float, "caches": list,
           "cpu_scaling_enabled?": bool, "load_avg": list, "library_version": str, "library_build_type": str,
           "json_schema_version": int}
ENTRY = {"name": str, "run_name": str, "run_type": str, "repetitions": int, "threads": int, "iterations": int,
         "real_time": float, "cpu_time": float, "time_unit": str}
ITERATION = {"family_index": int, "per_family_instance_index": int, "repetition_index": int}
AGGREGATE = {"aggregate_name": str, "aggregate_unit": str}


def strict(path):
    """JSON as its standard has it: no NaN, no name twice, nothing but UTF-8."""
    def refuse(word):
        raise ValueError(f"{word} is no JSON")

    def once(pairs):
        names = [name for name, _ in pairs]
        if len(names) != len(set(names)):
            raise ValueError(f"a name stands twice: {names}")
        return dict(pairs)
    with open(path, encoding="utf-8") as file:
        return json.load(file, parse_constant=refuse, object_pairs_hook=once)


def wrong(found, members):
    out = []
    for name, kind in members.items():
        value = found.get(name.rstrip("?"))
        if value is None and name.endswith("?"):
            continue
        if not isinstance(value, (int, float) if kind is float else kind):
            out.append(f"{name}: {value!r}")
    return out


def entries(tap, path, name):
    document = strict(path)
    tap.equal(wrong(document["context"], CONTEXT), [], f"{name}: the context")
    for entry in document["benchmarks"]:
        more = AGGREGATE if entry.get("run_type") == "aggregate" else ITERATION
        bad = wrong(entry, {**ENTRY, **more})
        if bad or entry["time_unit"] != "ns" or not all(map(math.isfinite, (entry["real_time"], entry["cpu_time"]))):
            tap.check(False, f"{name}: an entry", f"{bad} {entry}")
    return document["benchmarks"]


def of_times(tap, verdicts, usage, place):
    path, history = os.path.join(place, "deep", "times.json"), os.path.join(place, "h.db")
    run(verdicts, "--json", path, "--history", history, "--speed=record", "-k", "far_away or removed", cwd=place)
    found = entries(tap, path, "times")
    stored = {f"{r['case_id']}/{r['name']}": r for r in rows(
        history, "SELECT r.case_id, m.* FROM measurement m JOIN result r ON r.id = m.result_id WHERE m.count > 0")}
    tap.equal(sorted(e["name"] for e in found), sorted(stored), "an entry a measurement")
    for entry in found:
        row = stored[entry["name"]]
        tap.check(math.isclose(entry["real_time"], row["median"] * 1e9, rel_tol=1e-12) and
                  entry["iterations"] == row["count"] * row["batch"] and
                  math.isclose(entry["real_time_low"], row["low"] * 1e9, rel_tol=1e-12),
                  f"{entry['name']}: what is stored", f"{entry}\n{row}")
    tap.equal(os.listdir(os.path.dirname(path)), ["times.json"], "nothing is left beside it")


def of_outcomes(tap, verdicts, usage, place):
    path = os.path.join(place, "outcomes.json")
    label = os.fsdecode(b"<&\">]]> \x1b[1m \xff \xc3\xbc\\\ttab")
    done = run(usage, "--json", path, "-k", "passes or fails or text or axes", "--set", f"label={label}", cwd=place)
    found = {e["name"]: e for e in entries(tap, path, "outcomes")}
    stored = rows(os.path.join(place, ".yieldpoint", "history.db"), "SELECT hex(case_id) FROM result")
    tap.check(done.code == FAILED and len(found) == len(stored), "an entry a case", f"{done}\n{sorted(found)}")
    tap.check(found["usage.c::fails"]["error_occurred"] is True and
              found["usage.c::fails"]["error_message"] == "as it should", "why it failed", found["usage.c::fails"])
    tap.check("error_occurred" not in found["usage.c::passes"], "what passed")
    axes = [e for e in found if "::axes[small-channels=50" in e]
    tap.check(len(axes) == 1 and found[axes[0]]["channels"] == 50 and found[axes[0]]["noise"] == 0.5,
              "values as counters", found)
    families = {e["family_index"] for n, e in found.items() if "::axes[" in n}
    instances = sorted(e["per_family_instance_index"] for n, e in found.items() if "::axes[" in n)
    tap.check(len(families) == 1 and instances == list(range(len(instances))), "a family a test", found)
    run(usage, "--json", path, "-k", "nothing_is_called_so", cwd=place)
    tap.equal(len(strict(path)["benchmarks"]), len(found), "where nothing is selected the file stays as it is")
    for where in ("/proc/x.json", os.path.join(path, "below.json")):
        done = run(usage, "-q", "--json", where, "usage.c::passes", cwd=place)
        tap.check(done.code == INTERNAL and "below.json" in done.err or "x.json" in done.err,
                  f"{os.path.basename(where)}: refused before anything runs", done)


def of_repeats(tap, verdicts, usage, place):
    path = os.path.join(place, "repeats.json")
    done = run(verdicts, "--json", path, "--repeat=5", "--speed=record", "-k", "removed or far_away", "-v", cwd=place)
    found = entries(tap, path, "repeats")
    single = [e for e in found if e["run_type"] == "iteration"]
    merged = [e for e in found if e["run_type"] == "aggregate"]
    names = sorted({e["name"] for e in single})
    tap.check(len(single) == 5 * len(names) and len(merged) == 4 * len(names) > 0, "five processes, four aggregates", found)
    for name in names:
        times = [e["real_time"] for e in single if e["name"] == name]
        got = {e["aggregate_name"]: e for e in merged if e["run_name"] == name}
        wanted = {"mean": statistics.fmean(times), "median": statistics.median(times), "stddev": statistics.stdev(times),
                  "cv": statistics.stdev(times) / statistics.fmean(times)}
        tap.check(all(math.isclose(got[k]["real_time"], v, rel_tol=1e-9) for k, v in wanted.items()) and
                  got["cv"]["aggregate_unit"] == "percentage" and got["mean"]["name"] == f"{name}_mean",
                  f"{name}: mean, median, standard deviation", f"{times}\n{got}")
        tap.equal(sorted(e["repetition_index"] for e in single if e["name"] == name), list(range(5)), f"{name}: numbered")
    told = re.findall(r"^(\S+) '(\w+)': (.*) \[(.*), (.*)\] of 5, sd [0-9.e-]+ %$", done.out, re.M)
    tap.equal(sorted(f"{case}/{name}" for case, name, *_ in told), names, "told at the end, a line a measurement")
    tap.check("medians of several processes" in done.out, "under a title", done)
    once = run(verdicts, "--speed=record", "-k", "removed", cwd=place)
    tap.check("medians of several processes" not in once.out, "not of a single process", once)


def main(verdicts, usage):
    tap = Tap()
    for check in (of_times, of_outcomes, of_repeats):
        with tempfile.TemporaryDirectory() as place:
            tap.run(check.__name__, check, tap, verdicts, usage, place)
    tap.done()


main(*map(os.path.abspath, sys.argv[1:]))
