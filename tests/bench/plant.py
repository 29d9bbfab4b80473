#!/usr/bin/env python3
"""Breaks the workloads on purpose, one place at a time, and asks the suite whether it notices.

usage: mutants.py [--list] [--only NAME]... [--jobs N] [--folder DIRECTORY] [--first]

A mutant (mutant_table.py) is a text in a source that is there once, and what takes its place. For each one the suite
of stress is built with it, in a copy of this checkout, and its cases are run: first those named beside the mutant,
then, where they stay green, all that are small and not of a GPU. Speed is not judged. A case that fails, crashes,
hangs or runs out of memory has killed the mutant. One that cannot change any answer is in the table with the reason,
and is neither run nor counted.

--list      names the mutants and ends
--only      these alone; a part of the name is enough
--jobs      compile jobs, 1 unless given
--folder    works in this directory and leaves it: the next run there compiles only what has changed
--first     runs no more than the cases named: what they leave alive is told, but may be killed by others

Prints a line a mutant and `N killed, N survived, N equivalent`. Ends with 1 where one survived; with 2 where a text is
not there exactly once, the copy does not build, or its suite fails without a mutant.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from mutant_table import EQUIVALENT, MUTANTS

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = "suites/stress/yieldpoint-stress"
SMALL = ["-m", "stress and small and not gpu"]
CASE_SECONDS = 60
RUN_SECONDS = 1800
BUILD_SECONDS = 3600
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)


def stop(message):
    print(f"mutants.py: {message}", file=sys.stderr)
    sys.exit(2)


class Copy:
    """This checkout as it is, committed or not, in a directory of its own."""

    def __init__(self, folder, jobs):
        self.kept = folder is not None
        self.folder = os.path.abspath(folder) if self.kept else tempfile.mkdtemp(prefix="yieldpoint-mutants-")
        self.jobs = jobs
        self.running = None

    def remove(self):
        if self.running is not None:
            try:
                os.killpg(self.running.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            self.running.wait()
        if not self.kept:
            shutil.rmtree(self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def fill(self):
        """Files keep their times where they are the same, so that nothing is compiled for them."""
        listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                                check=True, capture_output=True).stdout.decode()
        for name in filter(None, listed.split("\0")):
            source = os.path.join(ROOT, name)
            if os.path.isfile(source):
                self.write(name, open(source, "rb").read())
                shutil.copymode(source, self.path(name))

    def write(self, name, data):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if os.path.isfile(path) and open(path, "rb").read() == data:
            return
        with open(path, "wb") as file:
            file.write(data)

    def run(self, script, seconds):
        """Exit code, None where it ran out of time, and the output."""
        with tempfile.TemporaryFile() as out:
            self.running = subprocess.Popen(["bash", "-c", f". ci/environment.sh && {script}"], cwd=self.folder,
                                            stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                                            start_new_session=True)
            try:
                code = self.running.wait(timeout=seconds)
            except subprocess.TimeoutExpired:
                os.killpg(self.running.pid, signal.SIGKILL)
                self.running.wait()
                code = None
            self.running = None
            out.seek(0)
            return code, out.read().decode(errors="replace")

    def configure(self):
        code, said = self.run('yp_configure mutants "$yp_gcc" "$yp_gxx" -Dmodels=enabled -Dtests=false '
                              "-Dcommand=false -Dwerror=false --buildtype=release", BUILD_SECONDS)
        if code != 0:
            stop(f"not configured:\n{said}")

    def build(self):
        return self.run(f"ninja -C build/mutants -j {self.jobs} {PROGRAM}", BUILD_SECONDS)

    def cases(self, selection):
        words = " ".join(f"'{word}'" for word in selection)
        return self.run(f"exec build/mutants/{PROGRAM} {words} -x --speed=off --timeout {CASE_SECONDS} "
                        f"--history build/mutants/history.db", RUN_SECONDS)


def text_of(mutant):
    """The source with the mutant in it."""
    text = open(os.path.join(ROOT, mutant.file)).read()
    times = text.count(mutant.text)
    if times != 1:
        stop(f"{mutant.name}: its text is {times} times in {mutant.file}, must be once: {mutant.text!r}")
    return text.replace(mutant.text, mutant.instead)


def killer(copy, mutant, only_first):
    """What noticed the mutant, None: nothing."""
    code, said = copy.build()
    if code != 0:
        stop(f"{mutant.name} does not compile:\n{said[-2000:]}")
    for selection in [mutant.first, [*SMALL]][:1 if only_first else 2]:
        code, said = copy.cases(selection)
        if code is None:
            return "a hang"
        if code == 5:
            stop(f"{mutant.name}: {' '.join(selection)} selects no case")
        if code not in (0, 1):  # of the run, not of a case
            stop(f"{mutant.name}: {' '.join(selection)}:\n{said[-2000:]}")
        if code != 0:
            found = FAILED.search(said)
            return found.group(1) if found else f"exit code {code}"
    return None


def campaign(copy, mutants, only_first):
    copy.fill()
    copy.configure()
    code, said = copy.build()
    if code != 0:
        stop(f"the copy does not build:\n{said[-4000:]}")
    for selection in [list(words) for words in {tuple(m.first) for m in mutants}] if only_first else [SMALL]:
        code, said = copy.cases(selection)
        if code != 0:
            stop(f"the suite fails without a mutant, {' '.join(selection)}:\n{said[-4000:]}")
    killed, survived = 0, []
    for mutant in mutants:
        begun = time.monotonic()
        original = open(os.path.join(ROOT, mutant.file), "rb").read()
        copy.write(mutant.file, text_of(mutant).encode())
        by = killer(copy, mutant, only_first)
        copy.write(mutant.file, original)
        killed += by is not None
        if by is None:
            survived.append(mutant)
        print(f"{mutant.name:<34} {'killed by ' + by if by else 'SURVIVED: ' + mutant.what} "
              f"({time.monotonic() - begun:.0f} s)", flush=True)
    return killed, survived


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--folder")
    parser.add_argument("--first", action="store_true")
    given = parser.parse_args()
    chosen = [m for m in MUTANTS if not given.only or any(part in m.name for part in given.only)]
    equivalent = [m for m in EQUIVALENT if not given.only or any(part in m.name for part in given.only)]
    if not chosen and not equivalent:
        stop(f"no mutant has {' or '.join(given.only)} in its name")
    for mutant in chosen + equivalent:
        text_of(mutant)
    if given.list:
        for mutant in chosen:
            print(f"{mutant.name:<34} {mutant.file}: {mutant.what}")
        for mutant in equivalent:
            print(f"{mutant.name:<34} {mutant.file}: equivalent: {mutant.what}")
        print(f"{len(chosen)} mutants, {len(equivalent)} equivalent")
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    copy = Copy(given.folder, given.jobs)
    try:
        killed, survived = campaign(copy, chosen, given.first)
    except KeyboardInterrupt:
        return 130
    finally:
        copy.remove()
    for mutant in equivalent:
        print(f"{mutant.name:<34} equivalent: {mutant.what}")
    print(f"{killed} killed, {len(survived)} survived, {len(equivalent)} equivalent")
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main())
