"""yieldpoint budgets on a suite whose figures are known."""

import json
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from program import ENVIRONMENT, run  # noqa: E402
from tap import Tap  # noqa: E402

PATH = "slack.c::"


def check_probe(tap, program, command, folder):
    def probe(*words):
        return run(command, "budgets", "--probe", program, *words, cwd=folder)

    done = probe("-k", "slack.c and not product and not branchy")
    tap.check(done.code == 1, "a suite with budgets that do not notice fails", done)
    tap.equal(done.out,
              f"stayed green: {PATH}loose (passed)\n"
              "  work at most 5 ms; measured 2 ms\n"
              f"stayed green: {PATH}unbudgeted (passed)\n"
              "  no budget of speed\n"
              "1 of 4 timed cases failed for another reason\n"
              "--slowdown 2x: 1 of 4 timed cases red, 2 stayed green\n", "it lists them")
    tap.check(f"{PATH}tight" in done.err, "what the suite prints is no output of the report", done)
    done = probe(PATH + "tight")
    tap.check(done.code == 0 and "1 of 1 timed case red, 0 stayed green" in done.out,
              "ids are the suite's", done)
    done = probe("--slowdown", "1.2x", PATH + "tight")
    tap.check(done.code == 1 and "--slowdown 1.2x: 0 of 1" in done.out, "so is the factor", done)
    done = probe("--speed=record", PATH + "tight")
    tap.check(done.code == 1, "and whether speed is judged", done)
    done = run(command, "budgets", "--json", f"--probe={program}", "-k", "loose or tight",
               env={"YIELDPOINT_OPTIONS": "--speed=record"})
    found = json.loads(done.out)
    tap.equal((done.code, found["slowdown"], found["timed"], found["red"], found["failed"],
               [(g["case"], g["allowed"], g["measured"]) for g in found["green"]]),
              (1, 2, 2, 1, 0, [(PATH + "loose", 5e-3, 2e-3)]), "the same as JSON")
    for name, words, code, message in (
            ("nothing is timed", [PATH + "untimed"], 5, "no case was timed"),
            ("nothing is selected", ["-k", "nowhere"], 5, "ended with 5"),
            ("an option that the suite does not have", ["--slowdonw=2"], 4, "ended with 4"),
            ("a factor that makes it faster", ["--slowdown=0.5"], 4, "ended with 4"),
            ("another history", ["--history", "h.db"], 4, "a history of its own")):
        done = probe(*words)
        tap.check(done.code == code and message in done.err, name, done)
    for name, words, code, message in (
            ("no program", ["--probe"], 4, "needs a value"),
            ("a program that is not there", ["--probe", "./nowhere"], 4, "No such file"),
            ("a program that is no suite", ["--probe", "true"], 3, "there is no such file"),
            ("a selection in front", ["-k", "loose", "--probe", program], 4, "stands behind it")):
        done = run(command, "budgets", *words, cwd=folder)
        tap.check(done.code == code and message in done.err, name, done)
    left = [n for n in os.listdir(folder) if n.startswith("yieldpoint-probe")]
    tap.equal(left, [], "nothing is left")


def check_new(tap, program, command, folder, sanitized):
    """From no budget to a set one."""
    if sanitized:
        tap.skip("--new", "what a sanitizer has slowed says nothing of the work")
        return
    case, history, file = PATH + "product", "new.db", os.path.join(folder, "new.ini")
    for _ in range(5):
        done = run(program, "--history", history, case, cwd=folder)
        tap.equal(done.code, 0, "a case without a budget passes")
    done = run(command, "budgets", "--history", history, cwd=folder)
    tap.check(done.code == 5 and "have no budget" in done.err, "it has none", done)
    done = run(command, "budgets", "--history", history, "--new", "--json", cwd=folder)
    share, peak = json.loads(done.out)["budgets"]
    tap.equal((share["budget"], share["limit"], share["processes"], peak["budget"], peak["limit"],
               peak["typical"]),
              ("min share fill", None, 5, "max peak host", None, 4 * 65536),
              "--new lists its share and its peak")
    tap.check(0.1 <= share["typical"] < 3, "with what was measured", share)
    branchy = run(program, "--history", "branchy.db", PATH + "branchy", "-v", cwd=folder)
    tap.check(re.search(r"branchy PASSED steps [0-9.]+ [kM] numbers/s \+-\S+ %, traffic \S+ [kMG]?B/s in ", branchy.out)
              is not None, "work that its bytes do not bound: items, traffic, no share", branchy)
    shown = run(command, "show", "--history", "branchy.db", cwd=folder)
    tap.check("the declared work does not bound it" in shown.out, "as yieldpoint show says", shown)
    new = run(command, "budgets", "--history", "branchy.db", "--new", "--json", cwd=folder)
    tap.equal([b["budget"] for b in json.loads(new.out)["budgets"]], ["max peak host"], "--new has no share for it")
    done = run(command, "budgets", "--history", history, "--new", "--write", file, cwd=folder)
    tap.check("new.ini: 0 limits changed, 2 added" in done.out, "both go into a file", done)
    with open(file) as written:
        text = written.read()
    tap.check(text.startswith(f"[{case}]\nmin share fill = ") and
              text.endswith("max peak host = 262144\n"), "as a declaration may refer to it", text)


def main(program, command, *sanitized):
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        ENVIRONMENT["TMPDIR"] = folder
        tap.run("check_probe", check_probe, tap, program, command, folder)
        tap.run("check_new", check_new, tap, program, command, folder, bool(sanitized))
    tap.done()


main(*map(os.path.abspath, sys.argv[1:3]), *sys.argv[3:])
