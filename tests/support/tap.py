"""TAP for the checks written in Python: one numbered line a check, the plan at the end."""

import os
import re
import sys
import tempfile
import traceback


class Tap:
    def __init__(self):
        self.count = 0
        self.failed = 0
        print("TAP version 13", flush=True)

    def check(self, ok, name, detail=""):
        self.count += 1
        if not ok:
            self.failed += 1
        print(f"{'ok' if ok else 'not ok'} {self.count} - {clean(name)}", flush=True)
        if not ok:
            for line in str(detail).splitlines()[-40:]:
                print(f"# {line}", flush=True)
                print(f"{name}: {line}", file=sys.stderr, flush=True)
        return ok

    def equal(self, got, wanted, name):
        return self.check(got == wanted, name, f"got    {got!r}\nwanted {wanted!r}")

    def skip(self, name, reason):
        self.count += 1
        print(f"ok {self.count} - {clean(name)} # SKIP {reason}", flush=True)

    def run(self, name, function, *arguments):
        """A check that may raise: the exception is its failure."""
        try:
            function(*arguments)
        except Exception:  # a broken check is a failed one, and the others still run
            self.check(False, name, traceback.format_exc())

    def beside(self, *checks):
        """Checks that mostly wait, each (name, function, arguments...) in a process of its own, all at once. What they
        print follows in this order."""
        started = []
        for name, function, *arguments in checks:
            told = tempfile.TemporaryFile("w+")
            process = os.fork()
            if process == 0:
                os.dup2(told.fileno(), 1)
                self.run(name, function, *arguments)
                sys.stdout.flush()
                os._exit(0)
            started.append((name, process, told))
        for name, process, told in started:
            _, status = os.waitpid(process, 0)
            with told:
                told.seek(0)
                for line in told:
                    result = re.match(r"((?:not )?ok )\d+( - .*)", line)
                    self.count += result is not None
                    self.failed += line.startswith("not ok ")
                    print(f"{result[1]}{self.count}{result[2]}" if result else line.rstrip("\n"), flush=True)
            if status != 0:
                self.check(False, name, f"its process ended with status {status}")

    def done(self):
        print(f"1..{self.count}", flush=True)
        sys.exit(0)


def clean(name):
    return name.replace("#", "%").replace("\n", " ")
