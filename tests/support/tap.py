"""TAP for the checks written in Python: one numbered line a check, the plan at the end."""

import sys
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

    def done(self):
        print(f"1..{self.count}", flush=True)
        sys.exit(0)


def clean(name):
    return name.replace("#", "%").replace("\n", " ")
