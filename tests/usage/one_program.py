"""One run is one program: what takes the place of its file meanwhile, how it is started, and what is kept of it.

    one_program.py PROGRAM ITS_REBUILT_SELF YIELDPOINT LINKED ITS_LIBRARY THAT_REBUILT"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from process import Started, wait_until  # noqa: E402
from program import results, rows, run, shell  # noqa: E402
from tap import Tap  # noqa: E402

OK, FAILED, USAGE, UNSURE = 0, 1, 4, 6
CASE = "program.c::naps[n=1]"


def fact(history, key):
    return [row["value"] for row in rows(history, "SELECT value FROM fact WHERE key = ?", key)]


def replaced(folder, name, program, other, *words):
    """A run of a program that is no more what it was once its first case runs; other None: it is removed."""
    place = os.path.join(folder, name)
    os.makedirs(place)
    copy = shutil.copy(program, os.path.join(place, "the-suite"))
    history = os.path.join(place, "h.db")
    started = Started(copy, "--rootdir=.", "--history", history, *words, cwd=place)
    try:
        wait_until(started.cases, what="the first case")
        if other is None:
            os.remove(copy)
        else:
            os.replace(shutil.copy(other, copy + ".part"), copy)
        done = started.wait()
    finally:
        started.end()
    builds = rows(history, "SELECT DISTINCT value FROM value WHERE name = 'build'")
    return done, results(history), [row["value"] for row in builds], history


def check_replaced(tap, program, other, folder):
    for name, by in (("rebuilt", other), ("replaced", sys.executable), ("removed", None)):
        done, found, builds, history = replaced(folder, name, program, by, "-k", "naps or falls or is_called")
        outcomes = {re.search("::([a-z_]+)", case)[1]: result["outcome"] for case, result in found.items()}
        tap.check(done.code == FAILED and len(found) == 5 and builds == [1.0] and
                  outcomes == {"naps": "passed", "is_called": "passed", "falls": "failed"},
                  f"{name}: every case is the first program's", (done, builds))
        # A sanitizer reports such a fault itself.
        tap.check(re.search(r"^ +at fall[.a-z0-9]* \(|^ +\| +#0 .* in fall ", done.out, re.M) is not None,
                  f"{name}: a stack has its names", done)
        tap.equal(rows(history, "SELECT program FROM run")[0]["program"], os.path.join(folder, name, "the-suite"),
                  f"{name}: its path is kept as it was")
    done, found, builds, _ = replaced(folder, "asked", program, other, "program.c::late")
    tap.check(done.code == FAILED and builds == [1.0] and "3 fresh processes" in done.out, "fresh processes are, too",
              (done, builds))
    if shutil.which("valgrind") is None:
        tap.skip("--instructions", "no valgrind")
        return
    done, found, builds, _ = replaced(folder, "counted", program, other, "--instructions", "--repeat=2",
                                      "program.c::naps[n=1]", "program.c::counted")
    counted = found["program.c::counted"]
    if counted["outcome"] == "skipped":
        tap.skip("--instructions", counted["reason"])
        return
    tap.check(done.code == OK and builds == [1.0] and counted["verdicts"][0]["measured"] > 0,
              "what Callgrind runs is, too", (done, builds))


def check_library(tap, linked, library, rebuilt, folder):
    """One that is replaced meanwhile is opened by later cases, which are then of another program."""
    place = os.path.join(folder, "library")
    os.makedirs(place)
    copy, own = shutil.copy(linked, place), shutil.copy(library, place)
    history = os.path.join(place, "h.db")
    beside = {"LD_LIBRARY_PATH": place}  # Meson names the build's
    run(copy, "--history", history, "linked.c::naps[n=3]", cwd=place, env=beside)  # its tables are there then
    started = Started(copy, "--rootdir=.", "--history", history, cwd=place, env=beside)
    try:
        wait_until(lambda: len(results(history)) == 2, what="the first result")
        os.replace(shutil.copy(rebuilt, own + ".part"), own)
        done = started.wait()
    finally:
        started.end()
    found = results(history)
    said = [result["failures"][0]["message"] for result in found.values() if result["failures"]]
    tap.check(done.code == FAILED and len(found) == 3 and found["linked.c::naps[n=1]"]["outcome"] == "passed" and
              found["linked.c::naps[n=3]"]["outcome"] == "failed" and all(own in message for message in said),
              "a library that is replaced: is named", done)
    tap.equal(rows(history, "SELECT DISTINCT value FROM value"), [{"value": 1.0}], "and nothing of the other one is stored")


def check_hash(tap, program, other, folder):
    hashes = []
    for path in (program, shutil.copy(program, os.path.join(folder, "again")), other):
        history = os.path.join(folder, f"hash{len(hashes)}.db")
        run(path, "--history", history, CASE, cwd=folder)
        hashes += fact(history, "program.hash")
    tap.check(len(hashes) == 3 and hashes[0] == hashes[1] != hashes[2] and re.fullmatch("[0-9a-f]{16}", hashes[0]),
              "the hash of the program is kept", hashes)


def git(place, *words):
    done = subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", place, *words], capture_output=True,
                          text=True, check=True)
    return done.stdout.strip()


def commit(place):
    git(place, "commit", "-q", "--allow-empty", "-m", os.path.basename(place))
    return git(place, "rev-parse", "HEAD")


def check_commit(tap, program, folder):
    """The commit of the program's sources, from wherever it is started."""
    own, other = os.path.join(folder, "own"), os.path.join(folder, "other")
    source = os.path.join(os.path.dirname(os.path.realpath(__file__)), "suites", "program.c")
    source = os.path.relpath(source, os.path.realpath(os.path.join(os.path.dirname(program), "..", "..")))  # as compiled
    build = os.path.join(own, *["deep"] * source.split("/").count(".."))
    source = os.path.normpath(os.path.join(build, source))
    for place in (build, os.path.dirname(source), other):
        os.makedirs(place, exist_ok=True)
    copy = shutil.copy(program, build)
    odd = os.path.join(build, "-odd.c")
    for path in (source, odd):
        with open(path, "w", encoding="utf-8"):
            pass
    for place in (own, other):
        git(place, "init", "-q")
    git(own, "add", source, odd)
    right = commit(own)
    commit(other)

    def facts():
        history = os.path.join(folder, "commit.db")
        run(copy, "--history", history, "--rootdir=.", CASE, cwd=other)
        found = {row["key"]: row["value"] for row in rows(history, "SELECT key, value FROM fact WHERE key GLOB 'git.*'")}
        os.remove(history)
        return found
    found = facts()
    tap.equal((found.get("git.commit"), found.get("git.dirty"), found.get("git.note")), (right, "no", None),
              "the commit is that of the sources, not of the working directory")
    git(own, "rm", "-q", "--cached", source)
    commit(own)
    tap.equal(facts().get("git.dirty"), "yes", "dirty, where git does not follow one of them")
    git(own, "rm", "-q", "--cached", odd)
    commit(own)
    found = facts()
    tap.check(list(found) == ["git.note"] and own in found["git.note"], "none of a repository that does not follow them", found)
    shutil.rmtree(os.path.join(own, ".git"))
    found = facts()
    tap.check(list(found) == ["git.note"] and "in no git repository" in found["git.note"], "none without a repository", found)
    os.remove(source)
    os.remove(odd)
    found = facts()
    tap.check(list(found) == ["git.note"] and "suites/program.c" in found["git.note"],
              "none where the sources are not: a note says so", found)


def check_loader(tap, program, folder):
    """`ld.so PROGRAM`: for the kernel the program is then the loader."""
    headers = subprocess.run(["readelf", "-lW", program], capture_output=True, text=True, check=True).stdout
    loader = re.search(r"interpreter: (.*)\]", headers)[1]
    history = os.path.join(folder, "loader.db")
    done = run(loader, "--library-path", "/nowhere", program, "--history", history, CASE, "--seed=3", cwd=folder)
    tap.check(done.code == OK and str(results(history)[CASE]["seed"]) == "3" and
              rows(history, "SELECT program FROM run") == [{"program": program}], "started by its loader: runs", done)
    done = run(loader, "--inhibit-cache", program, CASE, cwd=folder)
    tap.check(done.code == USAGE and "--inhibit-cache" in done.err and done.out == "",
              "an option of the loader that has no other way: is named", done)
    another = shutil.copy(loader, os.path.join(folder, "another-loader.so"))
    done = run(another, program, CASE, cwd=folder)
    tap.check(done.code == USAGE and another in done.err and loader in done.err and done.out == "",
              "by another loader: both are named", done)


def check_dash(tap, program, yieldpoint, folder):
    """An id that begins like an option."""
    history = os.path.join(folder, "dash.db")
    done = run(program, "--history", history, "-k", "odd", "--seed=7", cwd=folder)
    line = re.search(r"^  reproduce: (.*)$", done.out, re.M)
    again = shell(line[1], "--history", os.path.join(folder, "again.db"))
    tap.check(again.code == FAILED and "seed 7" in again.out and list(results(os.path.join(folder, "again.db"))) == ["-odd.c::fails"],
              "its line runs it again", (line[1], again))
    again = run(yieldpoint, "reproduce", results(history)["-odd.c::fails"]["id"], "--history", history, cwd=folder)
    tap.check(again.code in (OK, UNSURE) and "1 failed" in again.err and "outcome failed -> failed" in again.out,
              "and so does yieldpoint reproduce", again)


def main(program, other, yieldpoint, linked, library, rebuilt):
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="yp-") as folder:
        folder = os.path.realpath(folder)
        tap.run("replaced", check_replaced, tap, program, other, folder)
        tap.run("library", check_library, tap, linked, library, rebuilt, folder)
        tap.run("hash", check_hash, tap, program, other, folder)
        tap.run("commit", check_commit, tap, program, folder)
        tap.run("dash", check_dash, tap, program, yieldpoint, folder)
        tap.run("loader", check_loader, tap, program, folder)
    tap.done()


main(*map(os.path.abspath, sys.argv[1:]))
