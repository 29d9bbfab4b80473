"""--no-fork and --gdb: cases in the runner's own process. A stand-in plays gdb."""

import os
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from program import ENVIRONMENT, results, rows, run, shell  # noqa: E402
from tap import Tap  # noqa: E402

PATH = "debug.c::"
HEADER = "no-fork: no isolation: cases run in this process, without time-out"


def outcomes(history):
    return {name.split("::")[1]: r["outcome"] for name, r in results(history).items()}


def pids(history):
    return [r["value"] for r in rows(history, "SELECT value FROM value WHERE name = 'pid'")]


def start(program, *arguments, env=None):
    return subprocess.Popen([program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, stdin=subprocess.DEVNULL, env={**ENVIRONMENT, **(env or {})})


def check_one_process(tap, program, folder):
    history = os.path.join(folder, "one.db")
    process = start(program, "--history", history, "--no-fork", "-m", "not slow")
    out, err = process.communicate(timeout=300)
    tap.equal(outcomes(history), {"a_leaks": "passed", "b_takes": "passed", "c_measures": "passed",
                                  "d_fails": "failed", "e_after_it": "passed"},
              "each case begins as in a process of its own")
    tap.equal(set(pids(history)), {process.pid}, "and is in the runner's")
    tap.check(process.returncode == 1 and HEADER in out and "speed: recorded" in out,
              "the run says so", out + err)
    verdict = results(history)[PATH + "c_measures"]["verdicts"][0]["met"]
    tap.equal(verdict, "recorded", "speed is not judged")
    tap.equal(rows(history, "SELECT no_fork FROM run")[0]["no_fork"], 1, "and is marked")
    memory = rows(history, "SELECT m.allocated_peak AS peak FROM memory m JOIN result r ON r.id = m.result_id "
                           "WHERE r.case_id GLOB '*b_takes' AND m.memory = 'host'")
    tap.equal(memory[0]["peak"], 1000, "what an earlier case leaked is not its")
    line = [text for text in out.split("\n") if "reproduce: " in text][0].split("reproduce: ")[1]
    tap.check("--no-fork" in line, "the line that reproduces it has the option", line)
    again = os.path.join(folder, "again.db")
    shell(line, "--history", again)
    tap.equal(outcomes(again), {"d_fails": "failed"}, "and reproduces it")
    done = run(program, "--history", history, "--no-fork", "--tap", PATH + "e_after_it")
    tap.check("\n# " + HEADER in done.out and "\nok 1 - debug.c::e_after_it\n" in done.out,
              "TAP says so too", done)
    done = run(program, "--history", history, "--no-fork", "--repeat", "3", PATH + "b_takes")
    tap.check(done.code == 0 and "3 passed" in done.out, "a case again and again", done)


def check_ends(tap, program, folder):
    history = os.path.join(folder, "exits.db")
    done = run(program, "--history", history, "--no-fork", PATH + "e_after_it", PATH + "f_exits",
               PATH + "g_crashes")
    tap.equal(outcomes(history), {"e_after_it": "passed", "f_exits": "failed"},
              "a body that exits ends the run")
    tap.check(done.code == 1 and "the process exited with status 0 in the body" in done.out,
              "as a failure", done)
    tap.equal(rows(history, "SELECT exit_code FROM run")[0]["exit_code"], 1, "which is stored")
    history = os.path.join(folder, "crashes.db")
    done = run(program, "--history", history, "--no-fork", PATH + "e_after_it", PATH + "g_crashes",
               PATH + "h_hangs")
    tap.equal(done.code, -signal.SIGABRT, "a crash is that of the program")
    tap.equal(outcomes(history), {"e_after_it": "passed"}, "what was before it is stored")
    left = [name for name in os.listdir(folder) if name.startswith("run-")]
    run(program, "--history", history, PATH + "e_after_it")
    tap.check(len(left) == 1 and not any(n.startswith("run-") for n in os.listdir(folder)),
              "the next run tidies up", left)
    history = os.path.join(folder, "hangs.db")
    done = run(program, "--history", history, "--no-fork", PATH + "h_hangs")
    tap.equal(outcomes(history), {"h_hangs": "passed"}, "there is no time-out")
    begun = os.path.join(folder, "begun")
    process = start(program, "--history", history, "--no-fork", PATH + "h_hangs",
                    env={"BEGUN": begun})
    while not os.path.exists(begun) and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    tap.equal(process.wait(30), 2, "a second Ctrl-C ends it")
    process.communicate()


STAND_IN = """#!/bin/sh
printf '%s\\n' "$@" > "$ARGUMENTS"
test "$1" = --args || exit 99
shift
exec "$@"
"""


def check_gdb(tap, program, folder):
    place = os.path.join(folder, "bin")
    os.mkdir(place)
    gdb = os.path.join(place, "gdb")
    with open(gdb, "w") as file:
        file.write(STAND_IN)
    os.chmod(gdb, 0o755)
    arguments = os.path.join(folder, "arguments")
    env = {"PATH": place + ":" + os.environ["PATH"], "ARGUMENTS": arguments}
    history = os.path.join(folder, "gdb.db")
    process = start(program, "--gdb", "--history", history, "-k", "measures", "-v", env=env)
    out, err = process.communicate(timeout=300)
    with open(arguments) as file:
        words = file.read().split("\n")[:-1]
    tap.equal(words, ["--args", os.path.realpath(program), "--no-fork", "--speed=off", "--history",
                  history, "-k", "measures", "-v"], "gdb gets the program and its arguments")
    tap.check(process.returncode == 0 and HEADER in out and "speed: not timed" in out,
              "the case runs without a clock", out + err)
    tap.equal(pids(history), [process.pid], "in the very process")
    done = run(program, "--gdb", "--history", history, PATH + "c_measures", "--speed=record",
               env=env)
    tap.check("speed: recorded" in done.out, "unless it is asked for", done)
    done = run(program, "--gdb", "--history", history, PATH + "d_fails", env=env)
    tap.check(done.code == 1 and "--gdb" not in done.out.split("reproduce: ")[1],
              "a failure is one", done)
    done = run(program, "--gdb", "--history", history, PATH + "e_after_it", "--isa=baseline",
               env=env)
    tap.equal(done.code, 0, "with the instructions that were asked for")
    os.remove(arguments)
    done = run(program, "--gdb", "-k", "fails or takes", env=env)
    tap.equal((done.code, done.err), (4, "error: --gdb takes one case, 2 are selected:\n"
                                         "  debug.c::b_takes\n  debug.c::d_fails\n"),
              "two cases are listed")
    done = run(program, "-k", "takes", env={**env, "YIELDPOINT_OPTIONS": "--gdb"})
    tap.check(done.code == 4 and "--gdb belongs on the command line" in done.err,
              "from elsewhere it would come again and again", done)
    done = run(program, "--gdb", "-k", "takes", env={**env, "PATH": folder})
    tap.equal((done.code, done.err),
              (3, "error: --gdb: there is no gdb in PATH; Debian's package is gdb\n"), "without gdb")
    tap.check(not os.path.exists(arguments), "none of these came to gdb", "")


def main(program):
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        for check in (check_one_process, check_ends, check_gdb):
            tap.run(check.__name__, check, tap, program, folder)
    tap.done()


main(sys.argv[1])
