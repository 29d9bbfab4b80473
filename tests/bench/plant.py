#!/usr/bin/env python3
"""Plants one defect at a time in a copy of this checkout, and asks the suites whether they notice.

usage: plant.py [--list] [--only NAME]... [--sample N] [--seed S] [--minutes M] [--first] [--jobs N]
                [--folder DIRECTORY]

A plant (plant_table.py) is a text in a source that is there once, and what takes its place. For each one the suite is
built with it and run: a mutant's cases, then all of the stress suite that are small and not of a GPU; the perf suite
for a slowdown; all of the stress suite that is not slow for a fault of known cases. What is red has to be what the
table says. Before, each of these runs has to be green with nothing planted; for slowdowns it is made twice, three
processes a case, which are the baseline that they are beside.

--list      names the plants and ends
--only      these alone: a part of the name, or a whole kind (wrong, slow, exact)
--sample    N of them, drawn by --seed (0)
--minutes   begins with no plant later than that, and says how many were left
--first     runs no more than the cases named beside a mutant: others may notice what these leave
--jobs      compile jobs, 1 unless given
--folder    works in this directory and leaves it: the next run there compiles only what has changed

Ends with 1 where a plant was not noticed as it has to be; with 2 where a text is not there exactly once, the copy does
not build, or its suites fail with nothing planted.
"""

import argparse
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from plant_table import PLANTS

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# What is run for each kind.
RUNS = {"wrong": ("stress", ["-m", "stress and small and not gpu", "-x", "--speed=off", "--timeout=60"]),
        "slow": ("perf", ["-m", "perf and not gpu and not slow"]),
        "exact": ("stress", ["-m", "stress and not slow", "--timeout=60"])}
LEARNING = {"slow": ["--repeat", "3"]}  # twice
RUN_SECONDS = 1800
BUILD_SECONDS = 3600
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)(?: -|$)", re.MULTILINE)


def stop(message):
    print(f"plant.py: {message}", file=sys.stderr)
    sys.exit(2)


class Copy:
    """This checkout as it is, committed or not, in a directory of its own."""

    def __init__(self, folder, jobs):
        self.kept = folder is not None
        self.folder = os.path.abspath(folder) if self.kept else tempfile.mkdtemp(prefix="yieldpoint-plants-")
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
        code, said = self.run('yp_configure plants "$yp_gcc" "$yp_gxx" -Dmodels=enabled -Dtests=false '
                              "-Dcommand=false -Dwerror=false --buildtype=release", BUILD_SECONDS)
        if code != 0:
            stop(f"not configured:\n{said}")

    def build(self, suite, what):
        code, said = self.run(f"ninja -C build/plants -j {self.jobs} suites/{suite}/yieldpoint-{suite}", BUILD_SECONDS)
        if code != 0:
            stop(f"{what} does not build:\n{said[-4000:]}")

    def cases(self, kind, first=None):
        """The run of a kind, or of its cases that `first` selects."""
        suite, words = RUNS[kind]
        words = " ".join(f"'{word}'" for word in words + (first or []))
        return self.run(f"NO_COLOR=1 exec build/plants/suites/{suite}/yieldpoint-{suite} {words} "
                        f"--history build/plants/history.db", RUN_SECONDS)


def check(plants):
    """Stops where a text is not in its file exactly once."""
    wrong = []
    for plant in plants:
        path = os.path.join(ROOT, plant.file)
        times = open(path).read().count(plant.text) if os.path.isfile(path) else 0
        if times != 1:
            wrong.append(f"{plant.name}: its text is {times} times in {plant.file}, must be once: {plant.text!r}")
    if wrong:
        stop("\n".join(wrong))


def noticed(copy, plant, only_first):
    """Whether the plant is noticed as it has to be, and what is said of it."""
    copy.build(RUNS[plant.kind][0], plant.name)
    for first in [plant.first, None][:1 if only_first else 2] if plant.first else [None]:
        code, said = copy.cases(plant.kind, first)
        if code is None:
            return plant.kind == "wrong", "a hang"
        if code not in (0, 1):  # of the run, not of a case
            stop(f"{plant.name}: the run ends with {code}:\n{said[-2000:]}")
        if code == 1:
            break
    red = list(dict.fromkeys(FAILED.findall(said)))
    undecided = said.count("\nNOISY ")
    others = [case for case in red if not re.search(plant.may, case)]
    missing = [must for must in plant.must if not any(re.search(must, case) for case in red)]
    if plant.kind == "wrong":
        return code == 1, f"red: {', '.join(red) or 'the run'}"
    told = f"red: {len(red)}, undecided: {undecided}"
    if code == 1 and not others and not missing and re.search(plant.reason, said):
        return True, told
    return False, f"{told}, but for {missing}, and wrongly {others}\n{said[-3000:]}"


def campaign(copy, plants, only_first, end):
    """How many were noticed, were not, and were left."""
    copy.fill()
    copy.configure()
    for kind in dict.fromkeys(plant.kind for plant in plants):
        copy.build(RUNS[kind][0], "the copy")
        firsts = {tuple(plant.first): plant.first for plant in plants if plant.kind == kind and plant.first}
        for first in firsts.values() if only_first and firsts else [None]:
            for _ in range(2 if kind in LEARNING else 1):
                code, said = copy.cases(kind, (first or []) + LEARNING.get(kind, []))
                if code != 0:
                    break
            if code != 0:
                stop(f"the suite fails with nothing planted, {kind} {first or ''}:\n{said[-4000:]}")
    count = {True: 0, False: 0}
    for plant in plants:
        begun = time.monotonic()
        if begun > end:
            break
        original = open(os.path.join(ROOT, plant.file), "rb").read()
        copy.write(plant.file, original.replace(plant.text.encode(), plant.instead.encode()))
        right, said = noticed(copy, plant, only_first)
        copy.write(plant.file, original)
        count[right] += 1
        print(f"{plant.name:<34} {'noticed' if right else 'NOT NOTICED: ' + plant.what}, {said} "
              f"({time.monotonic() - begun:.0f} s)", flush=True)
    return count[True], count[False], len(plants) - sum(count.values())


def chosen(given):
    plants = [plant for plant in PLANTS if not given.only or
              any(part == plant.kind or part in plant.name for part in given.only)]
    if not plants:
        stop(f"no plant has {' or '.join(given.only)} in its name")
    if given.sample is None:
        return plants
    if not 0 < given.sample <= len(plants):
        stop(f"--sample {given.sample}: there are {len(plants)} plants")
    drawn = random.Random(given.seed).sample(range(len(plants)), given.sample)
    print(f"{given.sample} of {len(plants)} plants, drawn by seed {given.seed}")
    return [plants[i] for i in sorted(drawn)]


def main():
    begun = time.monotonic()
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--sample", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--first", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--folder")
    given = parser.parse_args()
    plants = chosen(given)
    check(plants)
    if given.list:
        for plant in plants:
            print(f"{plant.name:<34} {plant.kind:<5} {plant.file}: {plant.what}")
        print(f"{len(plants)} plants")
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    copy = Copy(given.folder, given.jobs)
    try:
        count, missed, left = campaign(copy, plants, given.first, begun + 60 * given.minutes)
    except KeyboardInterrupt:
        return 130
    finally:
        copy.remove()
    print(f"{count} noticed, {missed} not noticed, {left} left")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
