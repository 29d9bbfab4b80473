"""Relations: confirmation by fresh rounds, and what the line that reproduces one runs."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from program import ENVIRONMENT, listed, results, rows, run, shell  # noqa: E402
from tap import Tap  # noqa: E402

PATH = "relations.c::"


def attempts(history):
    """How many processes each case had beside its first."""
    return {r["case_id"].split("::")[1]: r["n"] for r in rows(
        history, "SELECT case_id, max(attempt) AS n FROM result GROUP BY case_id")}


def scripted(tap, program, folder, script, wanted, *options, variable="SCRIPT", name="quicker"):
    """Process by process, a letter each. The relation comes to `wanted`."""
    label = f"{name}-{script}{''.join(options)}"
    history = os.path.join(folder, label + ".db")
    counts = os.path.join(folder, label)
    os.mkdir(counts)
    done = run(program, "--history", history, PATH + name, *options,
               env={variable: script, "PROCESSES": counts})
    stored = results(history)
    tap.equal(stored[PATH + name]["outcome"], wanted, f"{label}: {wanted}")
    tap.equal(done.code, 1 if wanted == "failed" else 0, f"{label}: exit code")
    verdict = stored[PATH + name]["verdicts"][0]
    return done, verdict, history


def check_rounds(tap, program, folder):
    def processes(script, wanted, rounds, *options):
        done, verdict, history = scripted(tap, program, folder, script, wanted, *options)
        found = attempts(history)
        tap.equal((found["quick"], found["slow"], found["quicker"]), (rounds, rounds, 0),
                  f"{script}: {rounds} rounds of both cases")
        tap.equal([r["outcome"] for r in rows(history, "SELECT outcome FROM result WHERE case_id "
                                                       "GLOB '*::slow' AND attempt = 0")],
                  ["passed"], f"{script}: which leave the case's own verdict alone")
        return done, verdict

    processes("q", "passed", 0)
    done, verdict = processes("ssss", "failed", 3)
    tap.equal((verdict["met"], verdict["asked"], verdict["confirmed"]), ("not met", 3, 3),
              "the verdict says how many rounds there were")
    tap.check("below the limit; 3 of 3 fresh rounds say so too" in done.out and
              ", 3 of 3 fresh rounds outside" in done.out, "and so does the output", done)
    # verdicts.py has what else fresh processes and rounds may say: they are counted alike.
    processes("ssq", "noisy", 2)
    processes("bqqq", "passed", 3)
    processes("ss", "failed", 1, "--confirm=1")
    processes("s", "passed", 0, "--speed=record")
    done, _ = processes("ssc", "failed", 2)
    tap.check("in fresh round 2: 'relations.c::quick': crashed in the body: SIGABRT" in done.out,
              "a crash in a round is reported", done)
    done, _ = processes("sk", "noisy", 1)
    tap.check("a fresh round skipped: 'relations.c::quick' skipped: nothing to nap on" in done.out,
              "and a case that skips", done)


def check_others(tap, program, folder):
    scripted(tap, program, folder, "ssss", "xfailed", name="known")
    scripted(tap, program, folder, "ssq", "noisy", name="known")
    scripted(tap, program, folder, "q", "xpassed", name="known")
    # One round serves both relations.
    history = os.path.join(folder, "both.db")
    counts = os.path.join(folder, "both")
    os.mkdir(counts)
    done = run(program, "--history", history, "-x", PATH + "quicker", PATH + "known",
               env={"SCRIPT": "ssss", "PROCESSES": counts})
    tap.equal(attempts(history), {"quick": 3, "slow": 3, "quicker": 0},
              "two relations share their rounds, and -x stops before the second")
    tap.check("1 failed, 2 passed" in done.out, "and no round is counted", done)
    # Of several pairs or series only those in question run again.
    done, verdict, history = scripted(tap, program, folder, "ssss", "failed", variable="PAIRS",
                                      name="by_rule")
    tap.equal(attempts(history), {"work[n=1-by=hand]": 0, "work[n=1-by=rule]": 0,
                                  "work[n=2-by=hand]": 3, "work[n=2-by=rule]": 3, "by_rule": 0},
              "the pair in question runs again")
    tap.check("note: the worst of 2 pairs: 'relations.c::work[n=2-by=rule]'" in done.out,
              "and is named", done)
    scripted(tap, program, folder, "sq", "noisy", variable="PAIRS", name="by_rule")
    done, verdict, history = scripted(tap, program, folder, "", "failed", name="hardly")
    tap.equal({name: n for name, n in attempts(history).items() if n > 0},
              {f"grows[as=up-n={n}]": 3 for n in (1, 2, 4, 8, 16)},
              "and so does a series with all its cases")
    tap.equal((verdict["asked"], verdict["confirmed"]), (3, 3), "of a growth")


def check_few_values(tap, program, folder):
    history = os.path.join(folder, "few.db")
    done = run(program, "--history", history, "--speed=record", "-k",
               "as=up and (n=2 or n=4 or n=8) or hardly")
    relation = results(history)[PATH + "hardly"]
    tap.equal((done.code, relation["outcome"]), (0, "skipped"), "a growth over too few is skipped")
    tap.check(relation["reason"].startswith(
        "3 values of 'n' among the cases like 'relations.c::grows[as=up-n=2]' cannot decide the "
        "budgets: where times scatter by 5 % the exponent is known to +-3.2, and the budgets leave "
        "it a range of 1; needed are "), "with the reason", relation["reason"])


def found_values(history, name):
    return {v["name"]: (v["value"], v["low"], v["high"]) for v in
            rows(history, "SELECT name, value, low, high FROM value WHERE result_id = (SELECT id FROM result "
                          "WHERE case_id = ? AND attempt = 0)", PATH + name)}


def check_orders(tap, program, folder):
    history = os.path.join(folder, "orders.db")
    done = run(program, "--history", history, "-v", "-k", "orders and not refuted and not none_of_them")
    found = found_values(history, "sorts")
    tap.check(done.code == 0 and f"{PATH}sorts PASSED grows as O(N log N), 1e-09 s [" in done.out and
              "    met        grows as O(N log N): O(N log N)\n" in done.out, "an order is met", done)
    tap.equal((found["order"], len(found)), ((3, 3, 3), 8), "and stored with eight values")
    tap.check(abs(found["coefficient"][0] - 1e-9) < 1e-11 and
              found["coefficient"][1] < 1e-9 < found["coefficient"][2] and
              found["rms O(N log N)"][0] < 0.01 < 0.3 < found["rms O(N)"][0], "its coefficient and rms", found)
    unsure = found_values(history, "unsure")
    note = results(history)[PATH + "unsure"]["note"]
    tap.check(unsure["order"][1] < unsure["order"][2] and note.startswith("cannot say: ") and
              " or O(N) or " in note and f"{PATH}unsure PASSED grows as " in done.out and ", cannot say" in done.out,
              "a narrow range cannot tell", f"{unsure}\n{note}\n{done}")
    done, verdict, _ = scripted(tap, program, folder, "", "failed", name="refuted")
    tap.check("budget grows as O(N): O(N log N); 3 of 3 fresh rounds say so too" in done.out,
              "an order that is refuted fails", done)
    tap.check("note: O(N log N) alone, the best O(N log N) with 1e-09 s " in done.out and "; rms: O(1) 4, " in done.out,
              "with all that was fitted", done)
    tap.equal((verdict["kind"], verdict["name"], verdict["allowed"], verdict["measured"], verdict["met"]),
              ("order", "order", 2, 3, "not met"), "with its verdict")
    done, verdict, history = scripted(tap, program, folder, "", "failed", name="none_of_them")
    tap.check("budget grows as O(N): none of the orders; 3 of 3 fresh" in done.out and
              "note: none of the orders, the best O(N log N) with " in done.out, "what is none of them fails", done)
    tap.equal((verdict["measured"], verdict["met"]), (None, "not met"), "and has no order")
    listed_budget = run(program, "--co", "-v", PATH + "sorts").out
    tap.check("    budget: grows as O(N log N)\n" in listed_budget, "a list shows it", listed_budget)


def check_interruption(tap, program, folder):
    """In a round: the cases have their results, and the relation is told with what there is."""
    history = os.path.join(folder, "interrupted.db")
    counts = os.path.join(folder, "interrupted")
    os.mkdir(counts)
    process = subprocess.Popen([program, "--history", history, PATH + "quicker"],
                               stdout=subprocess.PIPE, text=True,
                               env={**ENVIRONMENT, "SCRIPT": "ssss", "PROCESSES": counts, "SLOWLY": "1"})
    count = os.path.join(counts, "quick")
    until = time.monotonic() + 60
    while time.monotonic() < until and not (os.path.exists(count) and os.path.getsize(count) > 1):
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out = process.communicate(timeout=60)[0]
    tap.check(process.returncode == 2 and "2 passed, 1 noisy" in out, "exit 2 and what is known", out)
    tap.equal([(r["case_id"], r["outcome"]) for r in rows(
        history, "SELECT case_id, outcome FROM result WHERE attempt = 0 ORDER BY case_id")],
              [(PATH + "quick", "passed"), (PATH + "quicker", "noisy"), (PATH + "slow", "passed")],
              "each is stored once")


def check_reproduce(tap, program, folder):
    history = os.path.join(folder, "reproduce.db")
    done = run(program, "--history", history, "-m", "small", "-k", "counted and not n=3")
    tap.check(done.code == 1 and "1 failed, 2 passed" in done.out, "a relation fails", done)
    line = re.search(r"^  reproduce: (.*)$", done.out, re.M).group(1)
    tap.check(line.endswith(" -m small -k 'counted and not n=3'"),
              "its line has the selection that it read", line)
    second = os.path.join(folder, "again.db")
    again = shell(line, "--history", second)
    tap.check(again.code == 1 and "1 failed, 2 passed" in again.out, "and gives the same verdict",
              again)
    tap.equal(sorted(results(second)), sorted(results(history)), "of the same cases")
    read = run(program, "--co", "-q", PATH + "by_rule")
    tap.equal(listed(read), [f"{PATH}work[n={n}-by={by}]" for n in (1, 2) for by in ("hand", "rule")] +
              [PATH + "by_rule"], "naming a relation names the cases that it reads")
    read = run(program, "--co", "-q", "-m", "perf", PATH + "by_rule")
    tap.equal(listed(read), [PATH + "by_rule"], "of those that are selected otherwise")


def main(program):
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        for check in (check_rounds, check_others, check_few_values, check_orders, check_interruption,
                      check_reproduce):
            tap.run(check.__name__, check, tap, program, folder)
    tap.done()


main(*sys.argv[1:])
