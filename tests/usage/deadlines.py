"""A deadline ends a case and nothing else does: no signal of the framework's own, no faked clock, no stopped time."""

import contextlib
import os
import re
import signal
import sqlite3
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from process import Started, wait_until  # noqa: E402
from program import results, rows, run  # noqa: E402
from tap import Tap  # noqa: E402


def stored(program, *options, env=None):
    """Each case's result, by name, and that of the run."""
    with tempfile.TemporaryDirectory() as folder:
        history = os.path.join(folder, "history.db")
        done = run(program, "--history", history, *options, env=env, timeout=60)
        values = rows(history, "SELECT * FROM value")
        return {key.split("::", 1)[1]: value for key, value in results(history).items()}, values, done


def check_threads(tap, program):
    # LeakSanitizer stops all threads, which ends some of what they wait in.
    cases, _, done = stored(program, "deadlines.c::threads_stay", env={"ASAN_OPTIONS": "detect_leaks=0"})
    case = cases["threads_stay"]
    tap.equal(case["outcome"], "passed", "what threads wait in is not ended by the framework")
    for function, waits in (("serve_by_epoll", "epoll_wait"), ("serve_by_poll", "poll"),
                            ("wait_for_signal", "sig"), ("nap", "nanosleep")):
        tap.check(re.search(rf"outlived the body: [^;]*{waits}[^;]* < {function}\b", case["note"] or ""),
                  f"{function}: where its thread waits is noted", case["note"])


def check_time_outs(tap, program):
    cases, values, _ = stored(program, "-j4", "-k", "late or spins or aborts or crashes")
    late = cases["late"]
    tap.equal([f["message"] for f in late["failures"][:2]],
              ["timeout: still running after 0.3 s, killed in the body", "getppid() == 0: there is a parent"],
              "the time-out is the first reason")
    tap.equal((late["tail"], values), ("", []), "nothing of a case runs after its time")
    tap.check(re.search(r"\bat (ypi_body_deadlines_late|poll|__GI___poll)\b", late["failures"][0]["stack"] or ""),
              "its stack is told", late["failures"])
    tap.check("ypi_body_deadlines_spins" in (cases["spins"]["failures"][0]["stack"] or ""),
              "that of a body that computes, too", cases["spins"]["failures"])
    tap.check(cases["spins"]["tail"] == "block 17 ...", "a line without an end survives a time-out",
              cases["spins"]["tail"])
    for name, line in (("aborts", "block 18 ..."), ("crashes", "block 19 ...")):
        tap.check(line in cases[name]["tail"] and cases[name]["outcome"] == "failed",
                  f"{name}: a line without an end survives a crash", cases[name]["tail"])


def check_refusal(tap, program):
    cases, _, _ = stored(program, "deadlines.c::late", env={"YPTEST_NO_PTRACE": "1"})
    stack = cases["late"]["failures"][0]["stack"] or ""
    tap.check("poll" in stack and stack.endswith("frames may be missing: ptrace is refused (Operation not permitted)"),
              "where ptrace is refused there is the place at which it stood, and it says so", cases)


def check_faked_clock(tap, program):
    """The runner is the same program: its clock stands still, too."""
    for still in ("5", "2000000000"):
        cases, _, _ = stored(program, "deadlines.c::late", env={"YPTEST_CLOCK": still})
        tap.check("still running after 0.3 s" in cases["late"]["failures"][0]["message"],
                  f"a clock that stands still at {still} s stops no deadline", cases)


def check_busy_runner(tap, program):
    """Somebody else writes to the history meanwhile, so that the runner sees late what has ended."""
    with tempfile.TemporaryDirectory() as folder:
        history = os.path.join(folder, "history.db")
        started = Started(program, "--history", history, "-j2", "deadlines.c::short_one", "deadlines.c::in_time")
        wait_until(lambda: len(started.cases()) == 2, what="both cases")
        with contextlib.closing(sqlite3.connect(history, isolation_level=None, timeout=10)) as database:
            database.execute("BEGIN IMMEDIATE")
            time.sleep(2.5)
            database.execute("COMMIT")
        done = started.wait()
        tap.check(done.code == 0 and "2 passed" in done.out, "a case that ended in time did, however busy its runner is",
                  done)


def check_ignored(tap, program):
    ignored = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)

    def ignore():
        for number in ignored:
            signal.signal(number, signal.SIG_IGN)

    with tempfile.TemporaryDirectory() as folder:
        started = Started(program, "--history", os.path.join(folder, "history.db"), "deadlines.c::naps",
                          preexec_fn=ignore)
        wait_until(started.cases, what="the case")
        for number in ignored:
            os.kill(started.process.pid, number)
        done = started.wait()
        tap.check(done.code == 0 and "1 passed" in done.out, "signals that nohup or a shell ignores stay ignored", done)


def state(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rsplit(")", 1)[1].split()[0]
    except OSError:
        return ""


def check_stop(tap, program):
    """As an interactive shell's job: Ctrl-Z, and fg after a while."""
    with tempfile.TemporaryDirectory() as folder:
        history = os.path.join(folder, "history.db")
        started = Started(program, "--history", history, "deadlines.c::naps", job=True)
        try:
            wait_until(started.cases, what="the case")
            time.sleep(0.1)
            os.killpg(started.process.pid, signal.SIGTSTP)
            wait_until(lambda: state(started.process.pid) == "T", what="the runner's stop")
            # A signal of the runner's that the case has still to take, where the processors are busy.
            wait_until(lambda: {state(pid) for pid in started.cases()} == {"T"}, what="the case's stop")
            tap.equal({state(pid) for pid in started.cases()}, {"T"}, "Ctrl-Z stops the case with its runner")
            time.sleep(2)
            os.killpg(started.process.pid, signal.SIGCONT)
            done = started.wait()
            case = results(history)["deadlines.c::naps"]
        finally:
            started.end()
        tap.check(done.code == 0 and "1 passed" in done.out, "the time for which it was stopped counts for nothing",
                  done)
        tap.check(case["duration"] < 2 and (case["note"] or "").startswith("stood still together with the runner for "),
                  "nor is it part of the case's, and it is noted", case)


def main(program):
    tap = Tap()
    tap.run("threads", check_threads, tap, program)
    tap.run("time-outs", check_time_outs, tap, program)
    tap.run("ptrace refused", check_refusal, tap, program)
    tap.run("a faked clock", check_faked_clock, tap, program)
    tap.run("a busy runner", check_busy_runner, tap, program)
    tap.run("ignored", check_ignored, tap, program)
    tap.run("stop", check_stop, tap, program)
    tap.done()


main(os.path.abspath(sys.argv[1]))
