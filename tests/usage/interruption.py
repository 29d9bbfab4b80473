"""Whatever ends a run early, what was done is stored, the rest is not, and nothing is left."""

import fcntl
import os
import re
import signal
import sqlite3
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from process import Started, gone, wait_until  # noqa: E402
from program import LOCK, rows, run  # noqa: E402
from tap import Tap  # noqa: E402

# Of long_work the first two cases end at once and the third does not.
DONE = ["usage.c::long_work[n=1]", "usage.c::long_work[n=2]"]


def stored(history):
    if not os.path.exists(history):
        return []
    try:
        return [r["case_id"] for r in rows(history, "SELECT case_id FROM result ORDER BY rowid")]
    except sqlite3.OperationalError:
        return []  # its tables are being made


def is_begun(history):
    try:
        return os.path.exists(history) and rows(history, "SELECT id FROM run") != []
    except sqlite3.OperationalError:
        return False


def in_the_midst(program, history, *options):
    """A run whose first two cases are stored and whose third has started its helper."""
    started = Started(program, "--history", history, *options, "usage.c::long_work", env={"LONG_WORK": f"{history}.begun"})
    try:
        wait_until(lambda: len(stored(history)) == 2 and
                   any(name == "sleep" for _, name in started.living()), what="the third case")
    except TimeoutError:
        started.end()
        raise
    return started


def check_left(tap, name, started, folder):
    """The processes end with the runner or, where it was killed, just after."""
    tap.equal(gone(started), [], f"{name}: no process is left")
    started.end()
    tap.equal([f for f in os.listdir(folder) if f.startswith("run-")], [],
              f"{name}: no folder is left")


def check_stored(tap, name, history, wanted, exit_code):
    tap.equal(stored(history), wanted, f"{name}: what was done is stored and no more")
    tap.equal(rows(history, "PRAGMA integrity_check"), [{"integrity_check": "ok"}],
              f"{name}: the history is whole")
    run_row = rows(history, "SELECT exit_code, ended FROM run ORDER BY started DESC")[0]
    tap.check(run_row["exit_code"] == exit_code and (run_row["ended"] is None) ==
              (exit_code is None), f"{name}: the run is stored with exit code {exit_code}", run_row)


def check_signal(tap, program, name, send, options=()):
    with tempfile.TemporaryDirectory() as folder:
        history = os.path.join(folder, "history.db")
        started = in_the_midst(program, history, *options)
        begun = time.monotonic()
        send(started.process.pid)
        done = started.wait()
        tap.check(done.code == 2, f"{name}: exit 2", done)
        tap.check(time.monotonic() - begun < 5, f"{name}: at once", time.monotonic() - begun)
        check_stored(tap, name, history, DONE, 2)
        with open(f"{history}.begun", encoding="utf-8") as file:
            tap.equal(file.read().split(), ["1", "2", "3"], f"{name}: no other case begins")
        check_left(tap, name, started, folder)
        if "--tap" in options:
            tap.check(done.out.endswith("\nBail out! interrupted\n"), f"{name}: TAP says so", done)
        else:
            tap.check(re.search(r"\ninterrupted: usage\.c::long_work\[n=3\]\n", done.out) and
                      re.search(r"2 passed, interrupted in",
                                done.out.splitlines()[-1]),
                      f"{name}: the case and the summary say so", done)


def check_signals(tap, program):
    def to_process(number):
        return lambda pid: os.kill(pid, number)

    check_signal(tap, program, "SIGINT", to_process(signal.SIGINT))
    check_signal(tap, program, "SIGTERM", to_process(signal.SIGTERM))
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # whatever runs this ignores, as nohup does
    check_signal(tap, program, "SIGHUP", to_process(signal.SIGHUP))
    check_signal(tap, program, "SIGINT to the group", lambda pid: os.killpg(pid, signal.SIGINT))
    check_signal(tap, program, "SIGTERM to the group", lambda pid: os.killpg(pid, signal.SIGTERM))
    check_signal(tap, program, "SIGINT under --tap", to_process(signal.SIGINT), ["--tap"])
    check_signal(tap, program, "SIGINT under -s", to_process(signal.SIGINT), ["-s"])


def check_job(tap, program):
    """A queue that ends a job signals each process, the case perhaps first: it has not failed."""
    def send(number, pause):
        def to_all(pid):
            case = next(p for p, name in started_of(pid) if name != "sleep")
            os.kill(case, number)
            time.sleep(pause)
            os.kill(pid, signal.SIGTERM)
        return to_all

    def started_of(pid):
        with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as file:
            for child in map(int, file.read().split()):
                with open(f"/proc/{child}/comm", encoding="utf-8") as name:
                    yield child, name.read().strip()

    for number in (signal.SIGTERM, signal.SIGKILL):
        for pause in (0, 0.1):
            check_signal(tap, program, f"{number.name} to the case, {pause} s later SIGTERM", send(number, pause))
    with tempfile.TemporaryDirectory() as folder:
        history = os.path.join(folder, "history.db")
        started = in_the_midst(program, history, "-x")
        os.kill(next(pid for pid, name in started_of(started.process.pid) if name != "sleep"), signal.SIGTERM)
        done = started.wait()
        tap.check(done.code == 1 and "crashed in the body: SIGTERM" in done.out, "SIGTERM to a case alone: it has failed", done)
        tap.equal(len(stored(history)), 3, "SIGTERM to a case alone: that is stored")


def check_second(tap, program):
    """A second one ends the runner wherever it is; what it could not tidy the next run does."""
    with tempfile.TemporaryDirectory() as folder:
        history = os.path.join(folder, "history.db")
        started = in_the_midst(program, history)
        os.kill(started.process.pid, signal.SIGINT)
        time.sleep(0.002)  # two at the same moment are one
        os.kill(started.process.pid, signal.SIGINT)
        done = started.wait()
        tap.check(done.code == 2, "two SIGINT: exit 2", done)
        tap.equal(gone(started), [], "two SIGINT: no process is left")
        tap.equal(stored(history), DONE, "two SIGINT: what was done is stored")
        run(program, "--history", history, "usage.c::passes")
        check_left(tap, "two SIGINT, then another run", started, folder)


def blocks(pid, number):
    try:
        with open(f"/proc/{pid}/status") as file:
            mask = re.search(r"^SigBlk:\s*([0-9a-f]+)$", file.read(), re.M)
    except OSError:
        return False  # it has ended meanwhile
    return mask is not None and int(mask.group(1), 16) >> (number - 1) & 1 == 1


def check_stubborn(tap, program):
    with tempfile.TemporaryDirectory() as folder:
        history = os.path.join(folder, "history.db")
        started = Started(program, "--history", history, "usage.c::passes", "usage.c::stubborn")
        wait_until(lambda: stored(history) == ["usage.c::passes"] and
                   any(blocks(pid, signal.SIGINT) for pid in started.cases()), what="the case")
        os.kill(started.process.pid, signal.SIGINT)
        done = started.wait()
        tap.check(done.code == 2, "a case that blocks signals: exit 2", done)
        check_left(tap, "a case that blocks signals", started, folder)
        check_stored(tap, "a case that blocks signals", history, ["usage.c::passes"], 2)


def check_jobs(tap, program):
    """Cases side by side are all ended."""
    with tempfile.TemporaryDirectory() as folder:
        history = os.path.join(folder, "history.db")
        started = Started(program, "--history", history, "-j4", "--repeat", "50", "usage.c::naps")
        wait_until(lambda: len(stored(history)) >= 4, what="the first cases")
        os.kill(started.process.pid, signal.SIGINT)
        done = started.wait()
        passed = re.search(r"([0-9]+) passed, interrupted", done.out)
        tap.check(done.code == 2 and passed is not None, "SIGINT under -j4: exit 2", done)
        tap.equal(len(stored(history)), int(passed.group(1)) if passed else None,
                  "SIGINT under -j4: what is printed is stored")
        tap.equal(rows(history, "SELECT outcome FROM result WHERE outcome <> 'passed'"), [],
                  "SIGINT under -j4: no case is called failed")
        check_left(tap, "SIGINT under -j4", started, folder)


def ends_unseen(program, history):
    """A case comes to its end while the runner is stopped, which then finds an interrupt and the
    dead process at the same time. None when it was stopped before the case began, or too late."""
    started = Started(program, "--history", history, "usage.c::naps[n=1]")
    runner = started.process.pid

    def napping():
        before = started.cases()
        time.sleep(0.1)
        return before & started.cases()

    try:
        wait_until(lambda: napping() or started.process.poll() is not None, what="the case")
        if started.process.poll() is not None:
            return None
        os.kill(runner, signal.SIGSTOP)
        try:
            wait_until(lambda: not started.cases(), 3)
        except TimeoutError:
            return None
        os.kill(runner, signal.SIGINT)
        os.kill(runner, signal.SIGCONT)
        return started.wait()
    finally:
        started.end()


def check_too_late(tap, program):
    """Which of its threads is first to look, the watchdog's or the other, is up to the system."""
    def trial(_):
        with tempfile.TemporaryDirectory() as folder:
            history = os.path.join(folder, "history.db")
            done = ends_unseen(program, history)
            return done and (done, [r["outcome"] for r in rows(history, "SELECT outcome FROM result")])

    # They sleep most of the time. On a busy machine many a trial comes to nothing.
    trials = []
    with ThreadPoolExecutor(4) as threads:
        while len(trials) < 20 and (found := list(filter(None, threads.map(trial, range(20))))):
            trials += found
    wrong = [(done, outcomes) for done, outcomes in trials
             if done.code != 2 or outcomes != ["passed"] or "1 passed, " not in done.out]
    tap.check(len(trials) >= 10, "a case ends just before SIGINT", len(trials))
    tap.equal(wrong, [], "a case that ended just before SIGINT is stored and printed")


def check_waiting(tap, program):
    """While another run has the machine."""
    with tempfile.TemporaryDirectory() as folder:
        history = os.path.join(folder, "history.db")
        lock = os.open(LOCK, os.O_RDONLY | os.O_CREAT, 0o644)
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            started = Started(program, "--history", history, "usage.c::timed")
            line = started.process.stderr.readline()
            os.kill(started.process.pid, signal.SIGINT)
            done = started.wait()
        finally:
            os.close(lock)
        tap.equal(line, f"waiting for another timed run on this machine ({LOCK})\n",
                  "a run that waits says so and for which file")
        tap.check(done.code == 2, "SIGINT while waiting: exit 2", done)
        check_stored(tap, "SIGINT while waiting", history, [], 2)
        check_left(tap, "SIGINT while waiting", started, folder)


def check_killed(tap, program):
    """The case dies with its runner; what the case had started ends when the next run tidies up."""
    with tempfile.TemporaryDirectory() as folder:
        history = os.path.join(folder, "history.db")
        started = in_the_midst(program, history)
        os.kill(started.process.pid, signal.SIGKILL)
        started.wait()

        def cases():
            return [name for _, name in started.living() if name != "sleep"]

        try:
            wait_until(lambda: not cases(), 20)
        except TimeoutError:
            pass
        tap.equal(cases(), [], "kill -9 of the runner: the case dies too")
        check_stored(tap, "kill -9 of the runner", history, DONE, None)
        tap.equal(len([f for f in os.listdir(folder) if f.startswith("run-")]), 1,
                  "kill -9 of the runner: it could not tidy up")
        done = run(program, "--history", history, "usage.c::passes")
        tap.check(done.code == 0, "after kill -9: the next run goes on", done)
        tap.equal(stored(history), [*DONE, "usage.c::passes"],
                  "after kill -9: the history goes on")
        check_left(tap, "after kill -9 and another run", started, folder)


def check_killed_before_the_case(tap, program):
    """The runner's child has not even asked to end with it."""
    with tempfile.TemporaryDirectory() as folder:
        history = os.path.join(folder, "history.db")
        started = Started(program, "--history", history, "usage.c::passes", env={"YPTEST_SLOW_FORK": "1"})
        try:
            # Before the run is stored its children are others: git, probes.
            wait_until(lambda: is_begun(history) and len(started.living()) == 2, what="the case's process")
            os.kill(started.process.pid, signal.SIGKILL)
            tap.equal(gone(started, 10), [], "kill -9 while a case is forked: it ends, too")
        finally:
            started.end()
        tap.equal(started.wait().code, -signal.SIGKILL, "kill -9 while a case is forked: the run's output ends")


def check_runner_that_forks(tap, program):
    """A library's thread may: what its children fork has another parent than the runner, and lives all the same."""
    with tempfile.TemporaryDirectory() as folder:
        forked = os.path.join(folder, "forked")
        done = run(program, "--history", os.path.join(folder, "history.db"), "--repeat", "20", "usage.c::passes",
                   env={"YPTEST_FORKS": forked})
        with open(forked, encoding="utf-8") as file:
            told = file.read().split()
        tap.check("passed in" in done.out and len(told) >= 10 and set(told) == {"0"},
                  "a runner that forks: what its children fork lives", (done, told))


def check_faults(tap, program):
    """Criterion's faults end the run like its aborts; others end the program, as everywhere."""
    def trial(fault):
        with tempfile.TemporaryDirectory() as folder:
            history = os.path.join(folder, "history.db")
            done = run(program, "--history", history, "--repeat", "500", "usage.c::passes", env={"YPTEST_FAULT": fault})
            return done, len(stored(history))

    # Beside each other: the thread that faults is another one than the runner's, which is somewhere in its work.
    with ThreadPoolExecutor(4) as threads:
        trials = list(threads.map(trial, ["criterion"] * 12))
    wrong = [done for done, _ in trials if done.code != 3 or "error: Criterion has crashed" not in done.err or
             "what is done is stored" not in done.err]
    tap.equal(wrong, [], "a fault of Criterion's: exit code 3, and why")
    wrong = [(count, done.out[-200:]) for done, count in trials
             if not 0 < count < 500 or f"{count} passed" not in done.out]
    tap.equal(wrong, [], "a fault of Criterion's: what is done is stored and told")
    for fault in ("own", "sent"):
        done, count = trial(fault)
        tap.check(done.code not in (0, 3) and "Criterion has crashed" not in done.err and 0 < count < 500,
                  f"a fault that is {fault}: ends the program", (count, done))


def check_at_any_moment(tap, program):
    """From the first instructions to the end: never a failed case, never something left. Before
    the handler is there the signal itself is the end."""
    wrong = []
    for i in range(20):
        with tempfile.TemporaryDirectory() as folder:
            history = os.path.join(folder, "history.db")
            started = Started(program, "--history", history, "--repeat", "20", "usage.c::passes",
                              "usage.c::signals")
            time.sleep(0.004 * i)
            os.kill(started.process.pid, signal.SIGINT)
            done = started.wait()
            left = gone(started)
            ids = stored(history)
            bad = rows(history, "SELECT outcome FROM result WHERE outcome <> 'passed'") \
                if ids else []
            if done.code not in (0, 2, -signal.SIGINT) or bad or left:
                wrong.append((i, done, bad, left))
            if done.code == 2 and any(f.startswith("run-") for f in os.listdir(folder)):
                wrong.append((i, "a folder is left"))
            started.end()
    tap.equal(wrong, [], "SIGINT at any moment")


def main(program):
    tap = Tap()
    tap.run("signals", check_signals, tap, program)
    tap.run("a job that is ended", check_job, tap, program)
    tap.run("two signals", check_second, tap, program)
    tap.run("a stubborn case", check_stubborn, tap, program)
    tap.run("side by side", check_jobs, tap, program)
    tap.run("too late", check_too_late, tap, program)
    tap.run("waiting", check_waiting, tap, program)
    tap.run("kill -9", check_killed, tap, program)
    tap.run("kill -9 before the case", check_killed_before_the_case, tap, program)
    tap.run("forks", check_runner_that_forks, tap, program)
    tap.run("faults", check_faults, tap, program)
    tap.run("at any moment", check_at_any_moment, tap, program)
    tap.done()


main(os.path.abspath(sys.argv[1]))
