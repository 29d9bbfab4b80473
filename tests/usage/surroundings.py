"""Where a run writes, what it is given, and where it stands: full and read-only disks, closed and
broken streams, odd paths, other working directories."""

import contextlib
import os
import re
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from process import Started, wait_until  # noqa: E402
from program import ENVIRONMENT, results, rows, run, shell  # noqa: E402
from tap import Tap  # noqa: E402

PASS = "usage.c::passes"
INTERNAL = 3


def leftovers(folder):
    return [f for f in os.listdir(folder) if f.startswith("run-")]


def refuses(tap, program, name, history, pattern, **more):
    """Exit 3, one line of error that names the path, and no case run."""
    done = run(program, "--history", history, PASS, **more)
    tap.check(done.code == INTERNAL and done.out == "" and
              re.fullmatch(rf"error: {pattern}\n", done.err) is not None, name, done)


# -- what is installed beside it -----------------------------------------------------------------


def check_plugins(tap, program, folder, planted):
    """Plugins of hwloc bring libraries with them, whose memory and time no case is to have."""
    loaded = os.path.join(folder, "loaded")
    done = run(program, "--history", os.path.join(folder, "plugins.db"), "--bind=cores", PASS,
               env={"HWLOC_PLUGINS_PATH": os.path.dirname(planted), "LOADED": loaded})
    tap.check(done.code == 0 and not os.path.exists(loaded), "no plugin of hwloc is loaded", done)


# -- the history -------------------------------------------------------------------------------


def check_history(tap, program, folder):
    def path(name):
        return os.path.join(folder, name)

    refuses(tap, program, "history is a directory", folder,
            rf"history '{folder}': is a directory; name a file in it.*")
    text = path("text")
    with open(text, "w") as file:
        file.write("some notes\n" * 100)
    refuses(tap, program, "history is a text", text,
            rf"history '{text}': is not a history but some other file; name another")
    with open(text) as file:
        tap.equal(file.read(), "some notes\n" * 100, "and the text is as it was")
    refuses(tap, program, "history below a file", path("text/history.db"),
            r"(--history|history) .*text.*: Not a directory")
    refuses(tap, program, "history is a device", "/dev/null",
            r"history '/dev/null': is not a regular file; name another")
    refuses(tap, program, "history where no directory can be made", "/proc/nowhere/h.db",
            r"/proc/nowhere/h\.db: its directory /proc/nowhere cannot be made: No such file or directory")

    other = path("other.db")
    with contextlib.closing(sqlite3.connect(other)) as database:
        database.execute("CREATE TABLE mine (x)")
    refuses(tap, program, "history is another program's database", other,
            rf"history '{other}': is a database of another application .*; name another file")
    newer = path("newer.db")
    run(program, "--history", newer, PASS)
    with contextlib.closing(sqlite3.connect(newer)) as database:
        database.execute("PRAGMA user_version = 99")
    refuses(tap, program, "history of a newer schema", newer,
            rf"history '{newer}': has schema version 99, this program knows versions up to [0-9]+; "
            r"use a newer Yieldpoint, or name another file")
    tap.equal(rows(newer, "SELECT count(*) AS n FROM result"), [{"n": 1}],
              "and the newer history is as it was")

    empty = path("empty.db")
    open(empty, "w").close()
    done = run(program, "--history", empty, PASS)
    tap.check(done.code == 0 and PASS in results(empty), "an empty file becomes a history", done)
    deep = path("a/b/c/history.db")
    done = run(program, "--history", deep, PASS)
    tap.check(done.code == 0 and PASS in results(deep), "directories are made", done)
    tap.equal(leftovers(folder), [], "no folder of a run is left")


def mounted(kind, options, target):
    os.makedirs(target)
    done = subprocess.run(["mount", "-t", kind, "-o", options, kind, target], capture_output=True)
    return done.returncode == 0


def check_read_only(tap, program, folder):
    """Root may write wherever modes forbid it, so the disk itself has to be read-only."""
    place = os.path.join(folder, "read-only")
    if os.geteuid() == 0:
        if not mounted("tmpfs", "size=1m,ro", place):
            tap.skip("read-only directory", "this root may not mount")
            return
    else:
        os.makedirs(place)
        os.chmod(place, stat.S_IRUSR | stat.S_IXUSR)
    try:
        history = os.path.join(place, "history.db")
        refuses(tap, program, "history in a read-only directory", history,
                rf"history '{history}': .*(read-only|Read-only|Permission denied|unable to open).*")
        deep = os.path.join(place, "a", "history.db")
        refuses(tap, program, "history below a read-only directory", deep,
                rf"{deep}: its directory .*(Read-only|Permission denied).*")
        rows_path = os.path.join(place, "rows.csv")
        done = run(program, "--history", os.path.join(folder, "h.db"), "--csv", rows_path, PASS)
        tap.check(done.code == INTERNAL and done.out == "" and
                  f"error: --csv {rows_path}: " in done.err, "csv in a read-only directory", done)
    finally:
        if os.geteuid() == 0:
            subprocess.run(["umount", place], check=True)
        else:
            os.chmod(place, 0o700)


def fill(place, leave):
    """All of the disk but `leave` bytes."""
    free = os.statvfs(place).f_bavail * os.statvfs(place).f_frsize
    with open(os.path.join(place, "filler"), "wb") as file:
        file.write(b"x" * max(free - leave, 0))


def check_full_disk(tap, program, folder):
    place = os.path.join(folder, "full")
    if os.geteuid() != 0 or not mounted("tmpfs", "size=1m", place):
        tap.skip("full disk", "only a root that may mount can have a small one")
        return
    try:
        check_on_full_disk(tap, program, place)
    finally:
        subprocess.run(["umount", place], check=True)


def check_on_full_disk(tap, program, place):
    history = os.path.join(place, "history.db")
    fill(place, 0)
    refuses(tap, program, "full disk, new history", history,
            rf"history '{history}': .*(No space left on device|full).*")
    os.remove(os.path.join(place, "filler"))
    if os.path.exists(history):
        os.remove(history)

    run(program, "--history", history, PASS)
    fill(place, 0)
    refuses(tap, program, "full disk, existing history", history,
            rf"(history|.*run-).*(No space left on device|full).*")
    os.remove(os.path.join(place, "filler"))
    tap.equal(list(results(history)), [PASS], "the history that was there is whole")

    # Room for a few results: the run stops at the one that cannot be stored, and says so.
    fill(place, 120 * 1024)
    done = run(program, "--history", history, "--repeat", "500", "-v", PASS)
    os.remove(os.path.join(place, "filler"))
    kept = rows(history, "SELECT count(*) AS n FROM result")[0]["n"] - 1
    printed = len(re.findall(r"^usage\.c::passes [A-Z]+ #", done.out, re.M))
    tap.check(done.code == INTERNAL and
              re.search(r"error: the result of usage\.c::passes is not stored: .*no more room",
                        done.err) is not None, "the disk fills up in the midst", done)
    tap.check(0 < kept < 500 and printed == kept + 1,
              f"and the run stops there ({kept} stored, {printed} printed)", done)
    tap.equal(rows(history, "PRAGMA integrity_check"), [{"integrity_check": "ok"}],
              "and the history is whole")
    tap.equal(leftovers(place), [], "and no folder of a run is left")

    # A case that fills the disk by what it writes: the others have room again.
    done = run(program, "--history", history, "usage.c::floods", PASS, "usage.c::speaks")
    stored = results(history)
    tap.check(stored.get("usage.c::speaks", {}).get("outcome") == "passed" and
              "usage.c::floods" in stored, "a case's output fills the disk: all are stored", done)
    tap.equal(leftovers(place), [], "and nothing of it is left")


# -- streams -----------------------------------------------------------------------------------


def check_streams(tap, program, folder):
    history = os.path.join(folder, "streams.db")
    base = [program, "--history", history]

    def count():
        return rows(history, "SELECT count(*) AS n FROM result")[0]["n"]

    run(program, "--history", history, PASS)
    for name, redirections in {"stdin": "<&-", "stdout": ">&-", "stderr": "2>&-",
                               "all three streams": "<&- >&- 2>&-"}.items():
        before = count()
        for more in ([], ["--tap"], ["-s"]):
            line = " ".join([*map(shell_quote, base), *more, PASS, "usage.c::speaks",
                             "usage.c::reads", redirections])
            done = subprocess.run(["sh", "-c", line], capture_output=True, text=True,
                                  env=ENVIRONMENT, timeout=60)
            tap.check(done.returncode == 0, f"{name} closed {' '.join(more)}", done)
        tap.check(count() == before + 9 and
                  rows(history, "PRAGMA integrity_check")[0]["integrity_check"] == "ok",
                  f"{name} closed: everything is stored")
    tap.equal(rows(history, "SELECT DISTINCT value FROM value WHERE name = 'read'"),
              [{"value": 0.0}], "a case that reads its standard input finds the end")

    for more in ([], ["-q"], ["--tap"], ["--co"], ["--help"], ["--markers"], ["--version"]):
        with open("/dev/full", "w") as full:
            done = subprocess.run([*base, *more, PASS], stdout=full, stderr=subprocess.PIPE,
                                  text=True, env=ENVIRONMENT, timeout=60)
        tap.check(done.returncode == INTERNAL and
                  "error: the standard output could not be written" in done.stderr,
                  f"a full disk behind standard output {' '.join(more)}", done)


def shell_quote(text):
    return "'" + text.replace("'", "'\\''") + "'"


def check_broken_pipe(tap, program, folder):
    for name, options in {"": [], " under --tap": ["--tap"], " with -v": ["-v"]}.items():
        history = os.path.join(folder, f"pipe{len(name)}.db")
        reading, writing = os.pipe()
        started = Started(program, "--history", history, *options, "--repeat", "3",
                          "usage.c::naps", stdout=writing)
        os.close(writing)
        os.read(reading, 1)
        os.close(reading)
        done = started.wait()
        tap.check(done.code == 2 and
                  re.fullmatch(r"(\ninterrupted: usage\.c::naps\[n=1\]\n)?", done.err) is not None,
                  f"nobody reads on{name}: ends as an interrupted run", done)
        stored = rows(history, "SELECT outcome FROM result")
        tap.check(0 < len(stored) < 12 and {r["outcome"] for r in stored} == {"passed"},
                  f"nobody reads on{name}: what is done is stored", stored)
        tap.equal((leftovers(folder), started.living()), ([], []),
                  f"nobody reads on{name}: nothing is left")
        started.end()


# -- places ------------------------------------------------------------------------------------


def check_places(tap, program, folder):
    odd = os.path.join(folder, "it's a \"$HOME\" `x` \\ folder")
    os.makedirs(os.path.join(odd, "work"))
    copied = os.path.join(odd, "the program")
    shutil.copy2(program, copied)
    linked = os.path.join(folder, "link")
    os.symlink(copied, linked)
    ids = ["usage.c::fails", "usage.c::text", "usage.c::moves_away"]
    for name, start in {"a path with blanks and quotes": copied, "a symbolic link": linked,
                        "a relative path": os.path.join("..", "the program")}.items():
        history = os.path.join(odd, "work", f"{name}.db")
        done = run(start, "--history", os.path.basename(history), *ids,
                   cwd=os.path.join(odd, "work"))
        stored = results(history)
        tap.check(done.code == 1 and len(stored) == 3 and
                  stored["usage.c::moves_away"]["outcome"] == "passed",
                  f"{name}: runs, history beside", done)
        lines = re.findall(r"^  reproduce: (.*)$", done.out, re.M)
        tap.equal(len(lines), 2, f"{name}: two lines to reproduce")
        for line in lines:
            again_history = os.path.join(folder, "again.db")
            again = shell(line, "--history", again_history)
            found = results(again_history)
            case = next(iter(found), None)
            tap.check(again.code == 1 and len(found) == 1 and
                      found[case]["failures"] == [] or
                      [f["message"] for f in found[case]["failures"]] ==
                      [f["message"] for f in stored[case]["failures"]],
                      f"{name}: the line runs {case} again", f"{line}\n{again}")
            os.remove(again_history)
        tap.equal(leftovers(os.path.join(odd, "work")), [], f"{name}: no folder is left")


def check_default_history(tap, program, folder):
    project = os.path.join(folder, "project")
    os.makedirs(os.path.join(project, ".git"))
    os.makedirs(os.path.join(project, "build", "tests"))
    copy = shutil.copy(program, os.path.join(project, "build", "tests"))  # away from the file of its sources
    done = run(copy, PASS, cwd=os.path.dirname(copy))
    tap.check(done.code == 0 and
              os.path.exists(os.path.join(project, ".yieldpoint", "history.db")),
              "the default history is in the project's root", done)
    loose = os.path.join(folder, "loose")
    os.makedirs(loose)
    done = run(program, PASS, cwd=loose)
    tap.check(done.code == 0 and os.path.exists(os.path.join(loose, ".yieldpoint", "history.db")),
              "outside a project it is in the working directory", done)
    gone = os.path.join(folder, "gone")
    os.makedirs(gone)
    line = f"rmdir {shell_quote(gone)}; exec {shell_quote(program)} --history " \
           f"{shell_quote(os.path.join(folder, 'gone.db'))} {PASS}"
    done = subprocess.run(["sh", "-c", line], cwd=gone, capture_output=True, text=True,
                          env=ENVIRONMENT, timeout=60)
    tap.check(done.returncode == 0, "a working directory that is gone", done)


def check_environment(tap, program, folder):
    history = os.path.join(folder, "environment.db")
    done = run(program, "--history", history, "usage.c::perturbed", "usage.c::signals",
               env={"MALLOC_PERTURB_": "173"})
    stored = results(history)
    tap.check(done.code == 0 and stored["usage.c::perturbed"]["outcome"] == "passed",
              "MALLOC_PERTURB_ does not reach the cases", done)
    value = rows(history, "SELECT value FROM value WHERE name = 'bytes set'")
    tap.equal(value, [{"value": 0.0}], "and their fresh memory is as the C library leaves it")
    tap.check(stored["usage.c::signals"]["outcome"] == "passed",
              "a case finds every signal as it is by default", stored["usage.c::signals"])
    done = run(program, "--history", history, PASS, env={"HOME": "", "TMPDIR": "/nowhere",
                                                       "PATH": ""})
    tap.check(done.code == 0, "HOME, TMPDIR and PATH do not matter", done)


def main(program, planted):
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        folder = os.path.realpath(folder)
        tap.run("plugins", check_plugins, tap, program, folder, planted)
        tap.run("history", check_history, tap, program, folder)
        tap.run("read-only", check_read_only, tap, program, folder)
        tap.run("full disk", check_full_disk, tap, program, folder)
        tap.run("streams", check_streams, tap, program, folder)
        tap.run("broken pipe", check_broken_pipe, tap, program, folder)
        tap.run("places", check_places, tap, program, folder)
        tap.run("default history", check_default_history, tap, program, folder)
        tap.run("environment", check_environment, tap, program, folder)
    tap.done()


main(*map(os.path.abspath, sys.argv[1:]))
