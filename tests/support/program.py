"""Runs a test program as a user would, with a history and a timing lock of its own."""

import contextlib
import os
import shlex
import sqlite3
import subprocess
import tempfile

# Tests of behaviour judge no speed, so two of them need not wait for each other.
_own = tempfile.TemporaryDirectory(prefix="yieldpoint-test-")
os.chmod(_own.name, 0o755)
LOCK = os.path.join(_own.name, "lock")
_TERMINAL = ("COLUMNS", "TERM", "NO_COLOR", "FORCE_COLOR", "PY_COLORS")
ENVIRONMENT = {**{k: v for k, v in os.environ.items()
                  if not k.startswith("YIELDPOINT") and k not in _TERMINAL},
               "YIELDPOINT_LOCK": LOCK}


class Outcome:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    def __repr__(self):
        return f"exit {self.code}\n--- stdout\n{self.out}\n--- stderr\n{self.err}"


def environment(cwd=None, env=None):
    """That of a project of its own in the working directory, unless that is in one: the sources of the programs lie in
    this project, whose yieldpoint.ini they would find."""
    found = {**ENVIRONMENT, **(env or {})}
    place = os.path.abspath(cwd or ".")
    above = [place]
    while above[-1] != os.path.dirname(above[-1]):
        above.append(os.path.dirname(above[-1]))
    if not any(os.path.exists(os.path.join(folder, mark)) for folder in above for mark in ("yieldpoint.ini", ".git")):
        found["YIELDPOINT_OPTIONS"] = f"{found.get('YIELDPOINT_OPTIONS', '')} --rootdir=."
    return found


def run(program, *arguments, cwd=None, timeout=300, env=None):
    done = subprocess.run([program, *arguments], capture_output=True, text=True, errors="replace",
                          cwd=cwd, timeout=timeout, env=environment(cwd, env), stdin=subprocess.DEVNULL)
    return Outcome(done.returncode, done.stdout, done.stderr)


def listed(outcome):
    """The ids that --co has printed, without the count behind them."""
    return [line for line in outcome.out.split("\n") if "::" in line]


def shell(line, *more, timeout=300):
    """A printed line, run by a shell as it stands, with options added."""
    text = line + "".join(" " + shlex.quote(m) for m in more)
    done = subprocess.run(["sh", "-c", text], capture_output=True, text=True, errors="replace",
                          timeout=timeout, env=ENVIRONMENT, stdin=subprocess.DEVNULL)
    return Outcome(done.returncode, done.stdout, done.stderr)


def rows(history, query, *parameters):
    with contextlib.closing(sqlite3.connect(f"file:{history}?mode=ro", uri=True)) as database:
        database.row_factory = sqlite3.Row
        return [dict(row) for row in database.execute(query, parameters)]


def results(history):
    """Newest result of each case, with its failures and verdicts."""
    found = {}
    for row in rows(history, "SELECT * FROM result ORDER BY started, rowid"):
        row["failures"] = rows(history, "SELECT * FROM failure WHERE result_id = ? "
                                        "ORDER BY position", row["id"])
        row["verdicts"] = rows(history, "SELECT * FROM verdict WHERE result_id = ? "
                                        "ORDER BY position", row["id"])
        found[row["case_id"]] = row
    return found
