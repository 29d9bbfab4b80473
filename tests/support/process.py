"""Programs that are watched while they run, and the processes that belong to them."""

import os
import signal
import subprocess
import time
import uuid

from program import ENVIRONMENT, Outcome


class Started:
    """A program in a process group of its own, and whatever came of it: known by a mark in its
    environment, which detached processes keep too. As a `job` it stays in this session, like one
    that a shell has started: only such a one can be stopped by SIGTSTP."""

    def __init__(self, program, *arguments, cwd=None, env=None, stdout=subprocess.PIPE,
                 preexec_fn=None, job=False):
        self.mark = f"YPTEST_MARK={uuid.uuid4()}"
        name, value = self.mark.split("=")

        def prepare():  # a script's shell starts what is in the background with SIGINT ignored, which would stay so
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            if preexec_fn is not None:
                preexec_fn()

        self.process = subprocess.Popen(
            [program, *arguments], stdin=subprocess.DEVNULL, stdout=stdout,
            stderr=subprocess.PIPE, text=True, errors="replace", cwd=cwd, start_new_session=not job,
            process_group=0 if job else None,
            env={**ENVIRONMENT, **(env or {}), name: value}, preexec_fn=prepare)

    def living(self, having=""):
        """(pid, name) of every process with the mark that is not a zombie; `having` another word that its
        environment begins a line with."""
        found = []
        for entry in os.listdir("/proc"):
            if not entry.isdigit():
                continue
            try:
                with open(f"/proc/{entry}/environ", "rb") as file:
                    words = file.read().split(b"\0")
                if self.mark.encode() not in words or not any(w.startswith(having.encode()) for w in words):
                    continue
                with open(f"/proc/{entry}/stat") as file:
                    name, rest = file.read().split("(", 1)[1].rsplit(")", 1)
                if rest.split()[0] not in "ZX":
                    found.append((int(entry), name))
            except OSError:
                continue  # it has ended meanwhile
        return found

    def cases(self):
        """Those that a case's own process is, and what that starts: Criterion marks them."""
        return {pid for pid, _ in self.living("BXFI_MAP=")}

    def wait(self, timeout=120):
        try:
            out, err = self.process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            out, err = self.process.communicate()
            return Outcome("still running, killed", out, err)
        return Outcome(self.process.returncode, out, err)

    def end(self):
        """Leaves nothing behind, whatever went wrong."""
        for pid, _ in self.living():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass


def wait_until(condition, seconds=20, what="what was waited for"):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.01)
    raise TimeoutError(f"{what} did not come about in {seconds} s")


def gone(started, seconds=20):
    """The processes that are left when all of them had time to end: none."""
    try:
        wait_until(lambda: not started.living(), seconds)
    except TimeoutError:
        pass
    return started.living()
