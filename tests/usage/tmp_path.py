"""Directories of cases: theirs alone, empty, and gone whatever became of the case.

    tmp_path.py PROGRAM"""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from program import environment, results, run  # noqa: E402
from tap import Tap  # noqa: E402

FILE = "tmp_path.c::"


class Place:
    """A project with a TMPDIR of its own, and beside it what no case may touch."""

    def __init__(self, program, folder):
        self.program, self.folder = os.path.abspath(program), folder
        self.tmp, self.outside, self.shown = (os.path.join(folder, name) for name in ("tmp", "outside", "shown"))
        self.history = os.path.join(folder, "history", "history.db")
        os.makedirs(self.tmp)
        os.makedirs(self.outside)
        with open(os.path.join(self.outside, "kept"), "w") as file:
            file.write("not a case's\n")
        self.variables = {"TMPDIR": self.tmp, "OUTSIDE": self.outside, "SHOWN": self.shown,
                          "LINKS": os.path.dirname(self.history)}

    def __call__(self, *arguments, **variables):
        if os.path.exists(self.shown):
            os.remove(self.shown)
        return run(self.program, "--history", self.history, *arguments, cwd=self.folder,
                   env={**self.variables, **variables})

    def paths(self):
        with open(self.shown) as file:
            return file.read().split("\n")[:-1]

    def left(self):
        """Of all directories that were shown, and in TMPDIR."""
        return [path for path in self.paths() if os.path.lexists(path)] + os.listdir(self.tmp)

    def untouched(self):
        return os.listdir(self.outside) == ["kept"]


def check_endings(tap, place):
    for name, code in (("written", 0), ("checked", 1), ("crashed", 1), ("stuck", 1), ("forked", 0), ("in_memory", 0),
                       ("more_than_there_is", 0), ("tampered", 0)):
        done = place(FILE + name)
        tap.equal(done.code, code, f"{name}: exit code")
        tap.check(place.paths() and place.left() == [], f"{name}: nothing is left", f"{place.left()}\n{done}")
        tap.check(place.untouched(), f"{name}: no link is followed")
    done = place("--no-fork", FILE + "written", FILE + "checked")
    tap.check(done.code == 1 and len(set(place.paths())) == 2 and place.left() == [], "--no-fork, too", done)
    memory = place(FILE + "in_memory")
    usable = os.path.isdir("/dev/shm") and os.access("/dev/shm", os.W_OK) and os.statvfs("/dev/shm").f_bavail > 0
    tap.check(place.paths()[0].startswith("/dev/shm/") == usable, "in memory where there is such a place", memory)


def check_own(tap, place):
    done = place("--repeat=3", FILE + "written")
    tap.check(done.code == 0 and len(set(place.paths())) == 3, "each of --repeat has an empty one", done)
    done = place("-j4", FILE + "together")
    tap.check(done.code == 0 and len(set(place.paths())) == 8, "and each of several at once", done)
    for path in place.paths():
        tap.check(os.path.dirname(path) == place.tmp, "below TMPDIR", path)
    done = place(FILE + "reads")
    tap.check(done.code == 0 and "3 passed" in done.out and place.left() == [],
              "a fixture's stays until its users have run, and no longer", f"{place.left()}\n{done}")


def check_kept(tap, place):
    done = place("--keep-tmp=failed", FILE + "written", FILE + "checked", FILE + "crashed")
    written, checked, crashed = place.paths()
    tap.check(not os.path.exists(written) and os.path.exists(os.path.join(checked, "file")) and
              os.path.exists(os.path.join(crashed, "closed", "file")), "--keep-tmp=failed keeps those that failed",
              f"{place.left()}\n{done}")
    tap.check(results(place.history)[FILE + "checked"]["note"] == f"its files are kept in {checked}" and
              f"note: its files are kept in {checked}" in done.out, "and says where", done)
    done = place("--keep-tmp=all", FILE + "written", FILE + "reads")
    tap.check(done.code == 0 and len(place.paths()) == 2 and
              all(os.path.exists(os.path.join(path, "file")) for path in place.paths()),
              "--keep-tmp=all keeps all, a fixture's too", done)
    place(FILE + "written")
    tap.check(os.path.exists(os.path.join(checked, "file")), "no later run removes them")
    subprocess.run(["rm", "-rf", *(os.path.join(place.tmp, name) for name in os.listdir(place.tmp))], check=True)
    done = place("--keep-tmp=some", FILE + "written")
    tap.check(done.code == 4 and "--keep-tmp" in done.err and "none, failed or all" in done.err, "a bad value", done)


def check_no_place(tap, place):
    missing = os.path.join(place.folder, "missing")
    done = place(FILE + "written", TMPDIR=missing)
    tap.check(done.code == 1 and f"no directory for its files can be made: {missing}: No such file" in done.out,
              "a TMPDIR that is not there fails the case", done)
    done = place(FILE + "written", TMPDIR="tmp")
    tap.check(done.code == 0 and os.path.dirname(place.paths()[0]) == place.tmp, "a relative TMPDIR", done)
    done = place(FILE + "written", TMPDIR="")
    tap.check(done.code == 0 and os.path.dirname(place.paths()[0]) == os.path.realpath("/tmp") and place.left() == [],
              "an empty one is none", done)


def check_killed_runner(tap, place):
    if os.path.exists(place.shown):
        os.remove(place.shown)
    process = subprocess.Popen([place.program, "--history", place.history, "--timeout=60", FILE + "stuck"],
                               cwd=place.folder, env=environment(place.folder, place.variables),
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 60
    while time.monotonic() < until and not (os.path.exists(place.shown) and place.paths()):
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    path = place.paths()[0]
    tap.check(os.path.isdir(path), "a killed runner leaves it")
    done = place(FILE + "forked")
    tap.check(done.code == 0 and not os.path.lexists(path) and place.left() == [], "and the next run removes it",
              f"{place.left()}\n{done}")


def main(program):
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        place = Place(program, os.path.realpath(folder))
        for check in (check_endings, check_own, check_kept, check_no_place, check_killed_runner):
            tap.run(check.__name__, check, tap, place)
    tap.done()


main(*sys.argv[1:])
