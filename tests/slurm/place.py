"""A project in a directory of its own, for tests of `yieldpoint launch` on a cluster of slurm.py."""

import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import slurm  # noqa: E402
from program import ENVIRONMENT, Outcome, rows  # noqa: E402

HOLDS = [f"launched.c::holds[n={n}]" for n in range(1, 9)]


class Place:
    """A project in a directory of its own, whose suite can be held."""

    def __init__(self, cluster, command, suite):
        self.cluster, self.command, self.suite = cluster, command, suite
        self.folder = tempfile.mkdtemp(prefix="yieldpoint-launch-")
        self.history = os.path.join(self.folder, ".yieldpoint", "history.db")
        with open(os.path.join(self.folder, "yieldpoint.ini"), "w", encoding="utf-8") as file:
            file.write("[yieldpoint]\n")
        self.environment = {**ENVIRONMENT, **cluster.environment, "LAUNCHED": self.folder,
                            "YIELDPOINT_OPTIONS": f"--rootdir={self.folder}"}
        self.process = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.release()
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.cluster.run("scancel", "--user=root", check=False)
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self, *words):
        self.err = open(os.path.join(self.folder, "err"), "w+", encoding="utf-8")
        self.process = subprocess.Popen([self.command, "launch", *words], cwd=self.folder, env=self.environment, text=True,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.err)

    def job_number(self):
        found = re.search(r"^launch: job (\d+):", self.said(), re.M)
        return found[1] if found else None

    def said(self):
        with open(self.err.name, encoding="utf-8") as file:
            return file.read()

    def end(self, timeout=120):
        try:
            out, _ = self.process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            out, _ = self.process.communicate()
        self.err.close()
        return Outcome(self.process.returncode, out, self.said())

    def launch(self, *words):
        self.start(*words)
        return self.end()

    def hold(self, *numbers):
        for n in numbers:
            with open(os.path.join(self.folder, f"hold-{n}"), "w", encoding="utf-8"):
                pass

    def release(self):
        for name in os.listdir(self.folder):
            if name.startswith("hold-"):
                os.unlink(os.path.join(self.folder, name))

    def begun(self):
        """How often the body of each case was begun."""
        path = os.path.join(self.folder, "begun")
        if not os.path.exists(path):
            return collections.Counter()
        with open(path, encoding="utf-8") as file:
            return collections.Counter(int(line) for line in file if line.strip())

    def wait_begun(self, *numbers, times=1):
        slurm.until(lambda: all(self.begun()[n] >= times for n in numbers), 60, f"cases {numbers} begin\n{self.said()}")

    def shard_of(self, n):
        """The place in the array of the shard that has this case."""
        base = os.path.join(self.folder, ".yieldpoint")
        folder = next(os.path.join(base, name) for name in os.listdir(base) if name.startswith("launch-"))
        for name in os.listdir(folder):
            if name.endswith(".ids"):
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    if HOLDS[n - 1] in file.read().split("\n"):
                        return int(re.search(r"\d+", name)[0])
        raise LookupError(n)

    def results(self):
        """Each case with its results in the project's history."""
        found = collections.defaultdict(list)
        for row in rows(self.history, "SELECT case_id, outcome FROM result WHERE attempt = 0 ORDER BY rowid"):
            found[row["case_id"]].append(row["outcome"])
        return dict(found)

    def node_of(self, shard):
        return self.cluster.run("squeue", "-h", "-r", "-j", self.job_number(), "-o", "%K %N").split(f"{shard} n")[1][:1]

    def strays(self):
        """Where a job has no output of its own, Slurm makes one in the working directory."""
        return [name for name in os.listdir(self.folder) + os.listdir() if name.startswith("slurm-") and name.endswith(".out")]

    def kept(self):
        base = os.path.join(self.folder, ".yieldpoint")
        return [name for name in os.listdir(base) if name.startswith("launch-")]
