"""Kills a process of cases of several ranks on a Slurm of two nodes at random moments, and looks at what is left.

usage: slurm_kills.py BUILD_DIRECTORY [ROUNDS] [SEED]

The Slurm is one on loopback, of tests/support/slurm.py. Even rounds run tests/usage/suites/ranks.c in an allocation of
both nodes, with srun as the launcher; odd ones have `yieldpoint launch` run it as two shards. Each round kills, with
SIGKILL, the slurmd of a node (which starts again after some seconds, as systemd would have it), a slurmstepd, srun, a
rank, a case's process or a runner. Afterwards no process is left, the history opens and passes its integrity check, and
each case has one outcome, or is named as not run.
"""

import collections
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import slurm  # noqa: E402
from program import ENVIRONMENT, run  # noqa: E402

CASES = ["-k", "sums or memory or checks or leaks or measures"]
KINDS = ("slurmd", "slurmstepd", "srun", "rank", "case", "runner")


def words_of(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().decode(errors="replace").split("\0")
    except OSError:
        return [""]


def has(pid, beginning):
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return any(word.startswith(beginning) for word in file.read().split(b"\0"))
    except OSError:
        return False


def targets(cluster, kind):
    """The living processes of a kind."""
    if kind == "slurmd":
        return [cluster.started[node].pid for node in cluster.nodes if node in cluster.started]
    found = []
    for pid, line in cluster.left():
        ranks = has(pid, b"YIELDPOINT_RANKS=")
        case = has(pid, b"BXFI_MAP=")
        name = line.split(" ")[0]
        what = ("slurmstepd" if name == "slurmstepd:" else "srun" if os.path.basename(name) == "srun" else
                "rank" if ranks else "case" if case and name == "boxfort-worker" else
                "runner" if "usage-ranks" in name and not case else "")
        if what == kind:
            found.append(pid)
    return found


def look(number, history, problems):
    """Cases with how many outcomes each; problems of the file."""
    if not os.path.exists(history):
        return collections.Counter()
    database = sqlite3.connect(history)
    check = database.execute("PRAGMA integrity_check").fetchone()[0]
    if check != "ok":
        problems.append(f"round {number}: integrity check: {check}")
    stored = collections.Counter()
    if database.execute("SELECT count(*) FROM sqlite_master WHERE name = 'run'").fetchone()[0]:
        stored = collections.Counter(case for case, in database.execute("SELECT case_id FROM result WHERE attempt = 0"))
        problems += [f"round {number}: {case}: {message}" for case, message in database.execute(
            "SELECT case_id, message FROM failure JOIN result ON result.id = result_id WHERE cause = 'timeout'")]
    database.close()
    return stored


def kill(cluster, kind, source):
    """Whether there was one to kill; of slurmd its node, to be started again."""
    found = targets(cluster, kind)
    if not found:
        return False
    if kind == "slurmd":
        node = source.choice([n for n in cluster.nodes if n in cluster.started])
        cluster.kill(node)
        return node
    try:
        os.kill(source.choice(found), signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


class Round:
    def __init__(self, cluster, build, number, source, ids):
        self.cluster, self.number, self.source, self.ids = cluster, number, source, ids
        self.program = os.path.join(build, "tests", "usage", "usage-ranks")
        self.command = os.path.join(build, "cli", "yieldpoint")
        self.launched = number % 2 == 1
        self.problems = []
        self.kind = source.choice(KINDS)
        self.killed = None

    def start(self, folder):
        self.history = os.path.join(folder, ".yieldpoint", "history.db")
        os.makedirs(os.path.dirname(self.history))
        with open(os.path.join(folder, "yieldpoint.ini"), "w", encoding="utf-8"):
            pass
        words = [self.command, "launch", "--nodes=2", self.program, *CASES, "--speed=off"] if self.launched else \
            ["salloc", "--quiet", "-N2", "-n4", self.program, "-q", "--speed=off", "--history", self.history,
             "--launcher", "srun", *CASES]
        environment = {**ENVIRONMENT, **self.cluster.environment, "YIELDPOINT_OPTIONS": f"--rootdir={folder}"}
        self.process = subprocess.Popen(words, cwd=folder, env=environment, text=True, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)

    def strike(self):
        """From a runner's begin on at a random moment, or as soon as there is one of the kind."""
        while not targets(self.cluster, "runner") and self.process.poll() is None:
            time.sleep(0.02)
        time.sleep(self.source.uniform(0.0, 1.2))
        while not self.killed and self.process.poll() is None:
            self.killed = kill(self.cluster, self.kind, self.source)
            time.sleep(0.01)
        if self.launched and self.kind == "slurmstepd":
            # The controller asks within a minute; an operator who gives the nodes up is faster. Orphans may run on.
            time.sleep(self.source.uniform(0.5, 2))
            for state in ("DOWN", "RESUME"):
                self.cluster.run("scontrol", "update", f"NodeName={','.join(self.cluster.nodes)}", f"State={state}", "Reason=tried",
                                 check=False)
        if isinstance(self.killed, str):
            time.sleep(self.source.uniform(0, 3))
            self.cluster.start_node(self.killed)

    def end(self):
        try:
            out, _ = self.process.communicate(timeout=90)
        except subprocess.TimeoutExpired:
            self.process.kill()
            out, _ = self.process.communicate()
            self.problems.append(f"{self.name()}: still running after 90 s: {self.cluster.left()}: {out[-1500:]}")
            return out
        codes = (0, 1, 3) if self.launched else (0, 1, -9, 137) if self.kind == "runner" else (0, 1)
        if self.process.returncode not in codes:
            self.problems.append(f"{self.name()}: ended with {self.process.returncode}: {out[-1500:]}")
        return out

    def name(self):
        return f"round {self.number}, {'launch' if self.launched else 'salloc'}, {self.kind} killed"

    def check(self, out):
        stored = look(self.number, self.history, self.problems)
        unrun = set(re.findall(r"^NOT RUN (\S+)", out, re.M))
        twice = [case for case, count in stored.items() if count > 1]
        cut = not self.launched and self.kind == "runner" and self.killed
        missing = [] if cut else sorted(set(self.ids) - set(stored) - unrun)
        both = sorted(set(stored) & unrun)
        if twice or missing or both:
            self.problems.append(f"{self.name()}: twice {twice}, missing {missing}, not run and stored {both}: {out[-3000:]}")
        end = time.monotonic() + 20
        while time.monotonic() < end and self.cluster.left():
            time.sleep(0.1)
        left = self.cluster.left()
        if left:
            self.problems.append(f"{self.name()}: left are {left}")
            for pid, _ in left:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        return len(stored), len(unrun)


def main(build, rounds=20, seed=1):
    reason = slurm.missing()
    if reason:
        sys.exit(f"slurm_kills.py: {reason}")
    build = os.path.abspath(build)
    program = os.path.join(build, "tests", "usage", "usage-ranks")
    ids = [line for line in run(program, "--co", "-q", *CASES).out.split("\n") if "::" in line]
    source = random.Random(int(seed))
    problems, killed, results, unrun = [], collections.Counter(), 0, 0
    began = time.monotonic()
    with slurm.Cluster(nodes=2, cpus=4) as cluster:
        for number in range(int(rounds)):
            with tempfile.TemporaryDirectory(prefix="yieldpoint-kills-") as folder:
                one = Round(cluster, build, number, source, ids)
                one.start(folder)
                one.strike()
                counts = one.check(one.end())
                results += counts[0]
                unrun += counts[1]
                problems += one.problems
                killed[one.kind] += bool(one.killed)
                print(f"# {one.name()}: {bool(one.killed)}, {counts[0]} results, {counts[1]} not run, "
                      f"{time.monotonic() - began:.0f} s", flush=True)
            cluster.run("scancel", "--user=root", check=False)
            for node in cluster.nodes:
                cluster.run("scontrol", "update", f"NodeName={node}", "State=RESUME", check=False)
            slurm.until(lambda: "idle idle" == " ".join(cluster.run("sinfo", "-h", "-N", "-o", "%T", check=False).split()), 60,
                        "idle again")
    print(f"{rounds} rounds in {time.monotonic() - began:.0f} s, seed {seed}: {results} results and {unrun} not run of "
          f"{len(ids)} a round; killed: {', '.join(f'{count} {what}' for what, count in sorted(killed.items()))}")
    print(f"{len(problems)} problems")
    for problem in problems[:20]:
        print(" ", problem)
    sys.exit(1 if problems else 0)


main(*sys.argv[1:])
