"""What runs side by side and what does not: within a run, and between runs of one machine."""

import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from process import Started, wait_until  # noqa: E402
from program import rows, run  # noqa: E402
from tap import Tap  # noqa: E402


def spans(history, pattern):
    """Of each result: when its process was there, in seconds since 1970."""
    return [(r["started"], r["started"] + r["duration"], r["case_id"])
            for r in rows(history, "SELECT * FROM result WHERE case_id GLOB ? ORDER BY started",
                          pattern)]


def overlap(one, other):
    return min(one[1], other[1]) - max(one[0], other[0])


def pairs(some, others):
    """Overlaps of more than 5 ms: what a start and an end are reported late by."""
    return [(a[2], b[2], overlap(a, b)) for a in some for b in others
            if a is not b and overlap(a, b) > 5e-3]


def check_jobs(tap, program, folder):
    history = os.path.join(folder, "jobs.db")
    meeting = os.path.join(folder, "meeting")
    os.makedirs(meeting)
    done = run(program, "--history", history, "--jobs", "4", "usage.c::timed", "usage.c::naps",
               env={"MEETING": meeting})
    naps, timed = spans(history, "*::naps*"), spans(history, "*::timed*")
    tap.check(done.code == 0 and len(naps) == 4 and len(timed) == 3, "--jobs 4", done)
    # Each ends when it has seen all four: see usage.c.
    tap.check(min(a[1] for a in naps) > max(a[0] for a in naps),
              "four parallel cases were there at once", naps)
    tap.equal(pairs(timed, naps + timed), [], "a timed case has nothing beside it")

    history = os.path.join(folder, "off.db")
    done = run(program, "--history", history, "--jobs", "4", "--speed=off", "--repeat", "8", "usage.c::timed")
    ran = spans(history, "*::timed*")
    tap.check(done.code == 0 and len(ran) == 24 and any(overlap(a, b) > 0 for a in ran for b in ran if a is not b),
              "under --speed=off these run beside each other too", done)

    history = os.path.join(folder, "alone.db")
    run(program, "--history", history, "usage.c::timed", "usage.c::naps")
    everything = spans(history, "*")
    tap.equal(pairs(everything, everything), [], "without --jobs one case runs at a time")
    tap.equal([e[2] for e in everything],
              [f"usage.c::timed[n={n}]" for n in (1, 2, 3)] +
              [f"usage.c::naps[n={n}]" for n in (1, 2, 3, 4)], "and in the order of the command line")

    history = os.path.join(folder, "failing.db")
    done = run(program, "--history", history, "-j3", "usage.c::fails", "usage.c::passes",
               "usage.c::axes", "usage.c::signals", "usage.c::seed", "usage.c::text")
    outcomes = {r["case_id"]: r["outcome"] for r in rows(history, "SELECT * FROM result")}
    wrong = {c: o for c, o in outcomes.items()
             if o != ("failed" if "fails" in c or "text" in c else "passed")}
    tap.check(done.code == 1 and wrong == {} and len(outcomes) == 9,
              "--jobs 3: each case has its own outcome", done)
    done = run(program, "--history", history, "-j3", "--tap", "usage.c::axes", "usage.c::timed")
    numbers = [line.split()[1] for line in done.out.splitlines() if line.startswith("ok ")]
    tap.equal(numbers, [str(n) for n in range(1, 8)], "--jobs 3 --tap: numbered in order")


def check_two_runs(tap, program, folder):
    """Two runs at once: each its history, then both one."""
    for name, histories in {"two histories": ["one.db", "two.db"],
                            "one history": ["both.db", "both.db"]}.items():
        paths = [os.path.join(folder, h) for h in histories]
        runs = [Started(program, "--history", path, "--repeat", "3", "usage.c::timed")
                for path in paths]
        done = [r.wait(60) for r in runs]
        tap.check(all(d.code == 0 for d in done), f"{name}: both runs succeed", done)
        timed = [span for path in sorted(set(paths)) for span in spans(path, "*::timed*")]
        tap.equal(len(timed), 18, f"{name}: 18 results")
        tap.equal(pairs(timed, timed), [], f"{name}: no two timed cases at once")
        tap.check(any("waiting for another timed run on this machine" in d.err for d in done),
                  f"{name}: the one that waits says so", done)
        for path in sorted(set(paths)):
            tap.equal(rows(path, "PRAGMA integrity_check"), [{"integrity_check": "ok"}],
                      f"{name}: {os.path.basename(path)} is whole")


def check_parallel_beside_timed(tap, program, folder):
    """What times nothing does not wait for another run."""
    holder = Started(program, "--history", os.path.join(folder, "holder.db"), "--repeat", "8",
                     "usage.c::timed")
    wait_until(lambda: len(holder.living()) > 1, what="a timed case")
    done = run(program, "--history", os.path.join(folder, "free.db"), "usage.c::passes")
    tap.check(done.code == 0 and "waiting" not in done.err and holder.process.poll() is None,
              "a run without timed cases does not wait", done)
    holder.wait(60)


def check_many_runs(tap, program, folder):
    """They make one history and its folders at the same moment; none takes another's away."""
    place = os.path.join(folder, "many")
    runs = [Started(program, "--history", os.path.join(place, "history.db"), "--repeat", "5",
                    "usage.c::passes", "usage.c::moves_away") for _ in range(8)]
    done = [r.wait(120) for r in runs]
    tap.check(all(d.code == 0 for d in done), "eight runs begin at once", [d for d in done if d.code])
    tap.equal(rows(os.path.join(place, "history.db"),
                   "SELECT count(*) AS n, count(DISTINCT run_id) AS runs, "
                   "sum(outcome = 'passed') AS passed FROM result"),
              [{"n": 80, "runs": 8, "passed": 80}], "eight runs: all are stored")
    tap.equal([f for f in os.listdir(place) if f.startswith("run-")], [],
              "eight runs: no folder is left")


def main(program):
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        tap.run("--jobs", check_jobs, tap, program, folder)
        tap.run("two runs", check_two_runs, tap, program, folder)
        tap.run("beside", check_parallel_beside_timed, tap, program, folder)
        tap.run("many runs", check_many_runs, tap, program, folder)
    tap.done()


main(os.path.abspath(sys.argv[1]))
