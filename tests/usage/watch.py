"""yieldpoint watch: what it tells of a run that goes on, and that it changes nothing."""

import contextlib
import fcntl
import os
import pty
import re
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from process import Started, wait_until  # noqa: E402
from program import ENVIRONMENT, rows, run  # noqa: E402
from tap import Tap  # noqa: E402

OK, NOTHING, KILLED, FILE, USAGE = 0, 1, 2, 3, 4
WIDTH, HEIGHT = 60, 12


class Place:
    """A folder with a history; cases go on when a file of their name is made in it."""

    def __init__(self, yieldpoint, program, folder):
        self.yieldpoint, self.program, self.folder = yieldpoint, program, folder
        self.history = self.path("history.db")
        os.mkdir(self.path("linked"))
        self.link = self.path("linked/history.db")
        os.symlink("../history.db", self.link)

    def path(self, name):
        return os.path.join(self.folder, name)

    def open(self, *names):
        for name in names:
            with open(self.path(name), "w"):
                pass

    def close(self):
        for name in ("measure", "held", "beside", "last"):
            with contextlib.suppress(FileNotFoundError):
                os.remove(self.path(name))

    @contextlib.contextmanager
    def suite(self, *words):
        """A run that has begun, with its UUID; it is ended at the end."""
        before = self.runs()
        suite = Started(self.program, "--history", self.history, *words, env={"WATCHED": self.folder})
        try:
            suite.run = wait_until(lambda: [k for k in self.runs() if k not in before and
                                            os.path.exists(self.path(f"run-{k}/cases"))])[0]
            yield suite
        finally:
            suite.end()
            suite.wait()

    def runs(self):
        try:
            return [r["id"] for r in rows(self.history, "SELECT id FROM run")]
        except sqlite3.OperationalError:  # it is not there yet
            return []

    def newest(self):
        return rows(self.history, "SELECT id FROM run ORDER BY started DESC LIMIT 1")[0]["id"]

    def watch(self, *words):
        return run(self.yieldpoint, "watch", "--history", self.history, *words, timeout=60)


class Watching:
    """`yieldpoint watch` with what it has printed up to now; on a terminal of its own, if that is asked for."""

    def __init__(self, place, *words, terminal=False, height=HEIGHT):
        self.text, self.times = "", []
        ours, its = pty.openpty() if terminal else os.pipe()
        if terminal:
            fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", height, WIDTH, 0, 0))
        self.process = subprocess.Popen([place.yieldpoint, "watch", "--history", place.link if terminal else place.history,
                                         *words],
                                        stdin=subprocess.DEVNULL, stdout=its, stderr=subprocess.PIPE,
                                        env={**ENVIRONMENT, "TERM": "xterm" if terminal else ""})
        os.close(its)
        self.thread = threading.Thread(target=self._read, args=(ours,))
        self.thread.start()

    def _read(self, ours):
        while True:
            try:
                data = os.read(ours, 65536)
            except OSError:  # the terminal's other end is closed
                data = b""
            if not data:
                os.close(ours)
                return
            self.times.append(time.monotonic())
            self.text += data.decode(errors="replace")

    def until(self, pattern, seconds=20):
        try:
            return wait_until(lambda: re.search(pattern, self.text, re.S), seconds)
        except TimeoutError:
            self.process.kill()
            raise TimeoutError(f"no {pattern!r} in {self.text[-3000:]!r}\n{self.process.stderr.read()!r}") from None

    def end(self):
        try:
            code = self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = "still running, killed"
        self.thread.join()
        return code


class Screen:
    """A terminal of so many columns and lines, as far as its sequences are used."""

    def __init__(self):
        self.lines, self.row, self.column, self.widest, self.deepest = [""], 0, 0, 0, 0

    def feed(self, text):
        for part in re.findall(r"\033\[\d*[A-Za-z]|[^\033]", text):
            if part == "\n":
                self.row, self.column = self.row + 1, 0
                self.lines += [""] * (self.row + 1 - len(self.lines))
                self.deepest = max(self.deepest, self.row)
            elif part == "\r":
                self.column = 0
            elif len(part) == 1:
                line = self.lines[self.row].ljust(self.column)
                self.lines[self.row] = line[:self.column] + part + line[self.column + 1:]
                self.column += 1
                self.widest = max(self.widest, self.column)
            elif part[-1] == "A":
                self.row -= int(part[2:-1])
                assert self.row >= 0, "above the first line"
            elif part == "\033[K":  # behind the last column, as xterm does: it stays on that
                self.lines[self.row] = self.lines[self.row][:min(self.column, WIDTH - 1)]
            elif part == "\033[J":
                self.lines[self.row:] = [self.lines[self.row][:self.column]]
            else:
                raise ValueError(f"{part!r} is not plain")
        return self


def check_none(tap, place):
    done = place.watch()
    tap.check(done.code == FILE and "there is no such file" in done.err, "no history", done)
    place.open("measure", "held", "beside", "last")
    done = run(place.program, "--history", place.history, "-q", env={"WATCHED": place.folder})
    tap.check(done.code == 1, "the suite has run", done)
    key = place.newest()
    done = place.watch()
    tap.check(done.code == NOTHING and not done.out and
              re.search(rf"no run is going on; the newest is {key[:8]}, it ended .* with exit code 1: `yieldpoint show "
                        rf"{key[:8]}`.*start a suite, or name another history", done.err), "no run is going on", done)
    for word in ("nothing such", os.path.basename(place.program)):
        done = place.watch(word)
        tap.check(done.code == NOTHING and f"'{word}'" in done.err and not done.out,
                  f"{word}: names no run that is going on", done)
    done = place.watch(key[:6])
    tap.check(done.code == 1 and re.fullmatch(rf"failed: watched\.c::b_fails: red: \?\[31m\nrun {key[:8]} has ended: 9 done: "
                                              r"7 passed, 1 failed, 1 skipped; exit code 1 \(cases failed\), after "
                                              r"\d+ s\n", done.out),
              "a run that has ended, by its UUID: how it ended", done)
    for words in (("",), ("a", "b"), ("--no-such",)):
        done = place.watch(*words)
        tap.check(done.code == USAGE and not done.out, f"watch {words}: is wrong", done)


def check_lines(tap, place):
    place.close()
    with place.suite() as suite:
        key = suite.run
        watching = Watching(place)
        watching.until(r"5 of 9 done: 3 passed, 1 failed, 1 skipped; runs watched\.c::d_held; about")
        names = set(os.listdir(os.path.join(place.folder, f"run-{key}")))
        tap.check("failed: watched.c::b_fails: red: ?[31m\n" in watching.text, "lines: a failure, its first line",
                  watching.text)
        place.open("measure", "held")
        watching.until(r"6 of 9 done: 4 passed.*; runs watched\.c::e_beside\[name=left\]")
        place.open("beside")
        watching.until(r"runs watched\.c::f_last")
        before = watching.text
        time.sleep(1.3)
        tap.equal(watching.text, before, "lines: nothing while nothing changes")
        place.open("last")
        outcome, code = suite.wait(), watching.end()
        tap.equal((outcome.code, code), (1, 1), "lines: the exit code of the run")
        last = watching.text.rstrip("\n").split("\n")[-1]
        tap.check(re.fullmatch(rf"run {key[:8]} has ended: 9 of 9 done: 7 passed, 1 failed, 1 skipped; exit code 1 "
                               r"\(cases failed\), after \d+ s", last), "lines: the last one tells how it ended", last)
        tap.check("\033" not in watching.text and watching.text.count("failed: ") == 1,
                  "lines: nothing for a terminal, and each failure once", watching.text)
        tap.check(all(re.fullmatch(r"\d+\.(channel|output)|cases|libraries", n) for n in names),
                  "lines: no file of the watch's in the run's directory", names)


def check_terminal(tap, place):
    place.close()
    with place.suite() as suite:
        begun = time.monotonic()
        watching = Watching(place, terminal=True)
        watching.until(r"d_held.*, body, cpu, (6[4-9]|[7-9]\d)\.?\d* MiB.*work: usually [\d.]+ [kMG]? ?pixels/s")
        tap.check(True, "terminal: stage, device, memory, the rate that is usual")
        low = Watching(place, terminal=True, height=5)
        place.open("measure")
        watching.until(r"body, cpu, [\d.]+ MiB[^,]*work: [\d.]+ [kMG]? ?pixels/s")
        tap.check(True, "terminal: the rate of the measurement that is over")
        time.sleep(2)
        seconds = time.monotonic() - begun
        tap.check(3 <= watching.text.count("\033[J") <= 2 * seconds + 2, "terminal: drawn twice a second at most",
                  (watching.text.count("\033[J"), seconds))
        screen = Screen().feed(watching.text.replace("\r\n", "\n"))
        shown = "\n".join(screen.lines)
        tap.check(re.search(r"^run \w{8}: .*\.\.\.$", screen.lines[0]) and "5 of 9 done" in screen.lines[1] and
                  re.fullmatch(r"\[#{11}\.{9}\] \d+ s, about .* left", screen.lines[2]) and shown.count("of 9 done") == 1 and
                  shown.count("d_held") == 1 and "failed: watched.c::b_fails: red: ?[31m" in shown,
                  "terminal: drawn in place", shown)
        tap.check(screen.widest <= WIDTH and screen.deepest < HEIGHT, "terminal: within its columns and lines",
                  (screen.widest, screen.deepest))
        screen = Screen().feed(low.text.replace("\r\n", "\n"))
        tap.check(screen.deepest == 4 and "d_held" in screen.lines[3] and screen.lines[4:] in ([], [""]),
                  "terminal: of more lines than there is room for the first", screen.lines)
        place.open("held", "beside", "last")
        outcome, code, _ = suite.wait(), watching.end(), low.end()
        shown = Screen().feed(watching.text.replace("\r\n", "\n")).lines
        tap.check((outcome.code, code) == (1, 1) and "9 of 9 done" in shown[1] and
                  "has ended: 9 of 9 done" in "".join(shown), "terminal: ends as the run ends", shown)


def check_several(tap, place):
    place.close()
    with place.suite("--jobs=2", "-k", "beside") as first, place.suite("-k", "f_last") as second:
        keys = [first.run, second.run]
        both = Watching(place, "beside")
        both.until(r"0 of 2 done; runs watched\.c::e_beside\[name=left\], watched\.c::e_beside\[name=right\]")
        tap.check(True, "several: by a word of the command line; cases that run side by side")
        for words, case, name in (((), "f_last", "the newest"), ((keys[0][:8],), "e_beside", "by the UUID"),
                                  ((keys[1],), "f_last", "by the whole UUID")):
            watching = Watching(place, *words)
            watching.until(rf"runs watched\.c::{case}")
            tap.check(True, f"several: {name}")
            watching.process.send_signal(signal.SIGINT)
            tap.equal(watching.end(), -signal.SIGINT, f"several: {name}, ended by Ctrl-C")
        place.open("beside")
        tap.equal((first.wait().code, both.end()), (OK, OK), "several: one ends, and its watch")
        tap.check(second.process.poll() is None, "several: the other goes on")
        place.open("last")
        tap.equal(second.wait().code, OK, "several: the other ends well")


def check_killed(tap, place):
    place.close()
    with place.suite("-k", "a_quick or f_last") as suite:
        key = suite.run
        watching = Watching(place)
        watching.until(r"runs watched\.c::f_last")
        os.kill(suite.process.pid, signal.SIGKILL)
        killed = time.monotonic()
        code = watching.end()
        tap.check(code == KILLED and time.monotonic() - killed < 5 and
                  re.search(rf"^run {key[:8]} was killed: 3 of 4 done: 3 passed; no end of it is stored", watching.text,
                            re.M), "killed: is told within seconds", f"{code}\n{watching.text}")
        done = place.watch()
        tap.check(done.code == NOTHING and "it was killed after" in done.err, "killed: no run is going on then", done)
        done = place.watch(key[:8])
        tap.check(done.code == KILLED and "was killed" in done.out, "killed: is told afterwards too", done)
    place.close()
    with place.suite("-k", "a_quick or f_last") as suite:
        watching = Watching(place)
        watching.until(r"runs watched\.c::f_last")
        suite.process.send_signal(signal.SIGINT)
        tap.equal((suite.wait().code, watching.end()), (2, 2), "interrupted: the run's exit code")
        tap.check("exit code 2 (interrupted)" in watching.text, "interrupted: in words", watching.text)


def check_time_left(tap, place):
    """From what the same cases took before: here 3 cases of 100 s, and one of which nothing is known."""
    place.close()
    with contextlib.closing(sqlite3.connect(place.history)) as database:
        database.execute("UPDATE result SET duration = 0.01")
        database.execute("UPDATE result SET duration = 100 WHERE case_id LIKE '%beside%' OR case_id LIKE '%d_held%'")
        database.execute("UPDATE result SET duration = 1000 WHERE case_id LIKE '%a_quick%'")  # done by then
        database.execute("DELETE FROM result WHERE case_id LIKE '%f_last%'")
        database.commit()
    with place.suite() as suite:
        watching = Watching(place)
        found = watching.until(r"5 of 9 done.*?d_held; about (?:(\d+) h )?(?:(\d+) min )?(\d+)")
        minutes, seconds = int(found[2] or 0), int(found[3])
        left = 3600 * int(found[1] or 0) + 60 * minutes + seconds
        # The unknown one counts as the mean of all others: some 300 s of 8 cases.
        tap.check(320 <= left <= 345, "time left: from earlier durations, the mean for what is new", found[0][-60:])
        place.open("measure", "held", "beside", "last")
        suite.wait()
        watching.end()


def check_unchanged(tap, place):
    """Reading changes nothing of the history."""
    key, before = place.newest(), dump(place.history)
    with open(place.history, "rb") as file:
        bytes_before = file.read()
    done = place.watch(key[:8])
    with open(place.history, "rb") as file:
        tap.check("has ended" in done.out and file.read() == bytes_before and dump(place.history) == before,
                  "the history stays as it is", done)


def dump(path):
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        return list(database.iterdump())


def main(yieldpoint, program):
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        place = Place(yieldpoint, program, folder)
        for name, check in (("none", check_none), ("lines", check_lines), ("terminal", check_terminal),
                            ("several", check_several), ("killed", check_killed), ("time left", check_time_left),
                            ("unchanged", check_unchanged)):
            tap.run(name, check, tap, place)
    tap.done()


main(*[os.path.abspath(p) for p in sys.argv[1:3]])
