"""yieldpoint history: which results are meant; histories put together, made smaller, exported."""

import contextlib
import csv
import hashlib
import io
import json
import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from histories import making  # noqa: E402
from process import Started, wait_until  # noqa: E402
from program import ENVIRONMENT, rows, run  # noqa: E402
from tap import Tap  # noqa: E402

OK, NOTHING, FILE, USAGE = 0, 1, 3, 4
DAY = 86400
NOON = 1795435200  # 2026-11-23T12:00Z
PARTS = ("memory", "failure", "measurement", "samples", "phase", "bound", "noise", "counter", "value", "gradient",
         "verdict", "series")


class Place:
    """A folder with a history that a suite has made, from which others are."""

    def __init__(self, yieldpoint, program, folder):
        self.yieldpoint, self.program, self.folder = yieldpoint, program, folder
        self.template = self.path("template.db")
        run(program, "--history", self.template, "-q", "-k", "timed and n=1")

    def path(self, name):
        return os.path.join(self.folder, name)

    def new(self, name):
        """A history with the tables of the suite's and nothing in them; its path."""
        path = self.path(name)
        with contextlib.closing(sqlite3.connect(self.template)) as source, \
                contextlib.closing(sqlite3.connect(path)) as copy:
            source.backup(copy)
            copy.executescript("PRAGMA foreign_keys = ON; DELETE FROM run; DELETE FROM test_case")
        return path

    def history(self, *words, file=None, **more):
        return run(self.yieldpoint, "history", *words, *(["--history", file] if file else []), **more)

    def make(self, name, fill, seed=1):
        path = self.new(name)
        with self.making(path, seed) as maker:
            fill(maker)
        return path

    def making(self, path, seed):
        return making(path, self.template, seed)

    def copy(self, path, name):
        to = self.path(name)
        with contextlib.closing(sqlite3.connect(path)) as source, contextlib.closing(sqlite3.connect(to)) as copy:
            source.backup(copy)
        return to


def tables(path):
    return [row["name"] for row in rows(path, "SELECT name FROM sqlite_master WHERE type = 'table' AND "
                                              "name NOT LIKE 'sqlite_%' ORDER BY name")]


def dump(path):
    """All rows of all tables, each table in an order of its own."""
    return {table: sorted((tuple(row.items()) for row in rows(path, f"SELECT * FROM {table}")), key=repr)
            for table in tables(path)}


def sound(path):
    """None, or what is wrong with the file."""
    with contextlib.closing(sqlite3.connect(path)) as database:
        wrong = [row[0] for row in database.execute("PRAGMA integrity_check") if row[0] != "ok"]
        wrong += [tuple(row) for row in database.execute("PRAGMA foreign_key_check")]
        for table in PARTS:
            wrong += [f"{table}: {count} rows of no result" for count, in database.execute(
                f"SELECT count(*) FROM {table} WHERE result_id NOT IN (SELECT id FROM result)") if count]
        return wrong or None


def bytes_of(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def count(path, table, where="1"):
    return rows(path, f"SELECT count(*) AS n FROM {table} WHERE {where}")[0]["n"]


# -- which results -------------------------------------------------------------------------------


def three_runs(maker):
    """x by machine a1.., commit 1111.., on day 0; y by b2.., 2222.., day 10; z by a1.., 1122.., day 20."""
    fit = maker.case("stress/rx.c::fit", 1, "stress slow")
    score = maker.case("stress/rx.c::score", 2, "stress", "cuda")
    load = maker.case("perf/io.c::load", 3, "perf", "cpu")
    for day, machine, host, commit, failed in (
            (0, "a1" + "0" * 30, "left", "1111" + "0" * 36, {fit}), (10, "b2" + "0" * 30, "right", "2222" + "0" * 36, ()),
            (20, "a1" + "0" * 30, "left", "1122" + "0" * 36, {load})):
        key = maker.run(NOON + day * DAY, machine, commit, host)
        maker.results(key, NOON + day * DAY, [fit, score, load], failed)


FILTERED = {  # words: days of the runs, tests of the results
    (): ("0 10 20", "fit score load"),
    ("--id", "::fit"): ("0 10 20", "fit"),
    ("--id", "n=2]"): ("0 10 20", "score"),
    ("-m", "stress"): ("0 10 20", "fit score"),
    ("-m", "stress and not slow"): ("0 10 20", "score"),
    ("-m", "perf or slow"): ("0 10 20", "fit load"),
    ("-k", "load"): ("0 10 20", "load"),
    ("-k", "not fit and n=2"): ("0 10 20", "score"),
    ("--device", "cuda"): ("0 10 20", "score"),
    ("--device", "cpu"): ("0 10 20", "fit load"),
    ("--machine", "a1"): ("0 20", "fit score load"),
    ("--machine", "B2" + "0" * 30): ("10", "fit score load"),
    ("--machine", "igh"): ("10", "fit score load"),
    ("--machine", "LEFT"): ("0 20", "fit score load"),
    ("--machine", "00"): ("", ""),
    ("--commit", "1111"): ("0", "fit score load"),
    ("--commit", "1122" + "0" * 36): ("20", "fit score load"),
    ("--commit", "0000"): ("", ""),
    ("--since", "2026-12-03"): ("10 20", "fit score load"),
    ("--since", "2026-12-03T12:00"): ("10 20", "fit score load"),
    ("--since", "2026-12-03T12:01"): ("20", "fit score load"),
    ("--since", "2026-12-03T12:00:01"): ("20", "fit score load"),
    ("--until", "2026-12-03"): ("0 10", "fit score load"),
    ("--until", "2026-12-02"): ("0", "fit score load"),
    ("--until", "2026-12-03T11:59"): ("0", "fit score load"),
    ("--until", "2026-12-03T12:00"): ("0 10", "fit score load"),
    ("--until", "2026-12-03T12:00:00Z"): ("0 10", "fit score load"),
    ("--since", "2026-11-24", "--until", "2026-12-12"): ("10", "fit score load"),
    ("--outcome", "failed"): ("0 20", "fit load"),
    ("--outcome", "failed", "--commit", "1122"): ("20", "load"),
    ("--outcome", "failed", "-k", "score"): ("", ""),
    ("--machine", "a1", "--since", "2026-12-03", "-m", "stress", "--device", "cpu"): ("20", "fit"),
}
WRONG = {  # words: what is said
    ("--device", "gpu"): r"--device is 'gpu': must be cpu or cuda",
    ("--outcome", "fine"): r"--outcome is 'fine': must be passed, failed",
    ("--machine", ""): r"--machine is '': must be the begin of a machine's fingerprint",
    ("--commit", "HEAD"): r"--commit is 'HEAD': must be the begin of a commit's hash",
    ("--commit", "abc"): r"--commit is 'abc': must be",
    ("--since", "yesterday"): r"--since is 'yesterday': must be a date such as 2026-11-22",
    ("--since", "2026-02-30"): r"--since is '2026-02-30': must be",
    ("--until", "7"): r"--until is '7': must be .*12h, 7d",
    ("-m", "stress and ("): r"expected a word, 'not' or '\(', found the end",
    ("-k", "and"): r"-k and",
    ("-n", "0"): r"-n is '0': must be a whole number from 1",
}


def check_filters(tap, place):
    path = place.make("three.db", three_runs)
    for words, (days, tests) in FILTERED.items():
        done = place.history("--json", *words, file=path)
        listed = json.loads(done.out)["runs"]
        got = (sorted({round((r["started"] - NOON) / DAY) for r in listed}),
               sorted({c["case"].split("::")[1].split("[")[0] for r in listed for c in r["results"]}))
        wanted = (sorted(int(d) for d in days.split()), sorted(tests.split()))
        tap.check(got == wanted and done.code == (OK if days else NOTHING), f"filter: {' '.join(words) or 'none'}",
                  f"{got}, wanted {wanted}\n{done}")
    for words, said in WRONG.items():
        for form in ([], ["prune"], ["export", "--csv", "-"]):
            if words[0] == "-n" and form:
                continue
            done = place.history(*form, *words, file=path)
            tap.check(done.code == USAGE and done.out == "" and re.search(said, done.err),
                      f"wrong: {' '.join([*form, *words])}", done)
    done = place.history("-n", "4", "--json", file=path)
    tap.equal(sum(len(r["results"]) for r in json.loads(done.out)["runs"]), 4, "filter: -n counts results")
    recent = place.make("recent.db", lambda m: m.results(m.run(time.time() - 3 * 3600), time.time(), [m.case("a.c::b", 1)]))
    tap.equal([place.history("--since", s, file=recent).code for s in ("4h", "200m", "1d", "2h", "1m")],
              [OK, OK, OK, NOTHING, NOTHING], "filter: --since so long ago")


# -- import ----------------------------------------------------------------------------------------


def old_history(header, path, version):
    """As the program of that version wrote it: the texts of the unit tests' header, run by SQLite."""
    with open(header) as file:
        texts = re.findall(r'"((?:[^"\\]|\\.)*)"', re.sub(r"#[^\n]*|/\*.*?\*/", "", file.read(), flags=re.S))
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.executescript("".join(texts))
        database.executescript(f"PRAGMA application_id = {0x59504849}; PRAGMA user_version = {version}")


def check_import(tap, place, header):
    a, b = place.make("a.db", three_runs, 1), place.make("b.db", three_runs, 2)
    before, into = (bytes_of(a), bytes_of(b)), place.path("both.db")
    done = place.history("import", a, b, file=into)
    tap.check(done.code == OK and done.out == "".join(
        f"{p}: 3 runs new, 0 already there; 9 results new, 0 already there\n" for p in (a, b)), "import: counts", done)
    tap.equal((bytes_of(a), bytes_of(b)), before, "import: the sources are as they were")
    tap.equal(sorted(n for n in os.listdir(place.folder) if n.startswith(("a.db", "b.db"))), ["a.db", "b.db"],
              "import: no file is left beside them")
    union, both = dump(a), dump(into)
    for table, some in dump(b).items():
        union[table] = sorted(set(union[table]) | set(some), key=repr)
    tap.check(both == union and sound(into) is None, "import: every row of both is there", sound(into))
    done = place.history("import", b, a, file=into)
    tap.check(done.out.count("0 runs new, 3 already there; 0 results new, 9 already there\n") == 2 and dump(into) == both,
              "import: a second time changes nothing", done)
    done = place.history("import", into, file=into)
    tap.check(done.code == FILE and "is the one that is to be added to" in done.err, "import: not of itself", done)

    fresh = place.path("fresh/checkout/below")
    os.makedirs(fresh)
    open(place.path("fresh/checkout/yieldpoint.ini"), "w").close()
    done = run(place.yieldpoint, "history", "import", place.path("absent.db"), cwd=fresh)
    tap.check(done.code == FILE and not os.path.exists(place.path("fresh/checkout/.yieldpoint")),
              "import: into a fresh checkout: nothing is made for what is refused", done)
    done = run(place.yieldpoint, "history", "import", a, cwd=fresh)
    into = place.path("fresh/checkout/.yieldpoint/history.db")
    tap.check(done.code == OK and dump(into) == dump(a), "import: into a fresh checkout: where a run would write", done)
    done = place.history("import", a, file=place.path("new/place/of.db"))
    tap.check(done.code == OK and dump(place.path("new/place/of.db")) == dump(a), "import: makes the directories", done)

    old = place.path("old.db")
    old_history(header, old, 1)
    before, held = bytes_of(old), {t: count(old, t) for t in ("run", "result", "measurement", "samples")}
    into = place.path("of-old.db")
    done = place.history("import", old, a, file=into)
    tap.check(done.code == OK and sound(into) is None and bytes_of(old) == before and
              held == {t: count(into, t) - count(a, t) for t in held} and held["result"] > 0,
              "import: of version 1, which stays as it is", f"{held}\n{done}")
    before = dump(into)
    done = place.history("import", old, file=into)
    tap.check("0 runs new" in done.out and dump(into) == before, "import: of version 1 again", done)


def check_refused(tap, place):
    into, good = place.make("into.db", three_runs, 3), place.make("good.db", three_runs, 4)
    before = dump(into)

    def changed(name, change):
        path = place.make(name, three_runs, 5)
        with contextlib.closing(sqlite3.connect(path)) as database:
            database.executescript(change)
        return path

    text, other = place.path("text.db"), place.path("other.db")
    with open(text, "w") as file:
        file.write("run,started\n" * 100)
    with contextlib.closing(sqlite3.connect(other)) as database:
        database.execute("CREATE TABLE run (id)")
        database.commit()
    damaged = place.make("damaged.db", three_runs, 6)
    with open(damaged, "r+b") as file:
        for page in range(4, os.path.getsize(damaged) // 4096, 3):
            file.seek(page * 4096)
            file.write(random.Random(page).randbytes(2048))
    cut = place.make("cut.db", three_runs, 7)
    os.truncate(cut, os.path.getsize(cut) // 2 // 4096 * 4096)
    for path, said in ((text, "is not a history but some other file"), (other, "is a database of another application"),
                       (changed("newer.db", "PRAGMA user_version = 99"), "has schema version 99"),
                       (damaged, "damaged|malformed"), (cut, "damaged|malformed"),
                       (changed("dangling.db", "PRAGMA foreign_keys = OFF; DELETE FROM run WHERE rowid = 2"),
                        "has rows that refer to nothing"),
                       (changed("half.db", "DROP TABLE verdict"), "no such table"),
                       (changed("view.db", "DROP TABLE result; CREATE VIEW result AS WITH RECURSIVE more(id) AS"
                                " (SELECT 1 UNION ALL SELECT id + 1 FROM more) SELECT id FROM more"), "views stand where"),
                       (place.path("absent.db"), "there is no such file"), (place.folder, "is a directory")):
        kept = bytes_of(path) if os.path.isfile(path) else None
        done = place.history("import", path, file=into)
        name = os.path.basename(path)
        tap.check(done.code == FILE and re.search(said, done.err) and done.out == "", f"refused: {name}", done)
        tap.check(dump(into) == before and sound(into) is None, f"refused: {name} changes nothing", sound(into))
        tap.check(kept is None or bytes_of(path) == kept, f"refused: {name} stays as it is")
    new = place.path("never.db")
    place.history("import", text, damaged, file=new)
    tap.check(not os.path.exists(new), "refused: no history is made for what is refused")
    done = place.history("import", text, good, file=into)
    tap.check(done.code == FILE and "3 runs new" in done.out, "refused: the others are imported", done)
    tap.check(place.history("import", file=into).code == USAGE, "import: of no file is a wrong command line")


def with_log(place, name, beside):
    """A history in whose log something is left that its file has not: an exit code of 7."""
    source = place.make("source-" + name, three_runs, 8)
    with contextlib.closing(sqlite3.connect(source)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("UPDATE run SET exit_code = 7")
        database.commit()
        for ending in ("", *beside):
            shutil.copy(source + ending, place.path(os.path.join("fixed", name)) + ending)


def check_read_only(tap, place, header):
    """Nothing can be written beside these files, as SQLite would: every command that reads reads them all the same."""
    fixed = place.path("fixed")
    os.makedirs(fixed)
    shutil.copy(place.make("still.db", three_runs, 8), fixed)
    with_log(place, "log.db", ("-wal", "-shm"))
    with_log(place, "log-alone.db", ("-wal",))
    old_history(header, os.path.join(fixed, "old.db"), 1)
    shutil.copy(place.template, os.path.join(fixed, "real.db"))
    command = shutil.copy(place.yieldpoint, place.path("yieldpoint"))
    ways = {"rights": []}
    if os.geteuid() == 0:
        line = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"'
        ways = {"rights": ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"],
                "mount": ["unshare", "-m", "sh", "-c", line, fixed]}
        if subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode != 0:
            del ways["mount"]
    os.chmod(place.folder, 0o755)
    os.chmod(fixed, 0o555)
    for file in os.listdir(fixed):
        os.chmod(os.path.join(fixed, file), 0o444)
    before = {file: bytes_of(os.path.join(fixed, file)) for file in os.listdir(fixed)}
    for way, words in ways.items():
        for name, seen in (("still.db", "run "), ("log.db", "exit code 7"), ("log-alone.db", "exit code 7"), ("old.db", "run ")):
            path = os.path.join(fixed, name)
            done = run(*words, command, "history", "--history", path)
            tap.check(done.code == OK and seen in done.out, f"read-only by {way}: {name}", done)
            others = (["compare", path, path], ["history", "export", "--csv", "-", "--history", path],
                      ["history", "prune", "--dry-run", "--keep-last", "1", "--history", path])
            for what in (["show", "last", "--history", path], *(others if name == "still.db" else ())):
                done = run(*words, command, *what)
                tap.check(done.code != FILE and done.out != "" and "history '" not in done.err,
                          f"read-only by {way}: {name}, {what[0]} {what[1] if what[0] == 'history' else ''}", done)
        done = run(*words, command, "history", "prune", "--keep-last", "1", "--history", os.path.join(fixed, "still.db"))
        tap.check(done.code == FILE and "may not be written to" in done.err, f"read-only by {way}: is not pruned", done)
    if "mount" in ways:
        done = run(*ways["mount"], command, "reproduce", "last", "--history", os.path.join(fixed, "real.db"))
        tap.check("the new result is not kept" in done.err and "outcome passed -> passed" in done.out,
                  "read-only: reproduce runs it again", done)
    tap.check({file: bytes_of(os.path.join(fixed, file)) for file in os.listdir(fixed)} == before, "read-only: stays as it is")
    os.chmod(fixed, 0o755)


def check_merged(tap, place):
    """What is there already, but different."""
    here = place.make("here.db", lambda m: m.results(m.run(NOON, ended=None), NOON, [
        m.case("a.c::one", 1, "old"), m.case("a.c::two", 2, "old")]))
    there = place.copy(here, "there.db")
    with place.making(there, 9) as maker:
        key = rows(here, "SELECT id FROM run")[0]["id"]
        maker.database.execute("UPDATE run SET ended = ?, exit_code = 1", (NOON + 100,))
        maker.database.execute("UPDATE test_case SET tags = 'new'")
        maker.results(key, NOON + 50, ["a.c::one[n=1]"], repeat=1)
        maker.results(key, NOON + 60, [maker.case("a.c::three", 3)])
    done = place.history("import", there, file=here)
    tap.check("0 runs new, 1 completed, 0 already there; 2 results new, 2 already there" in done.out,
              "merged: a run that is completed", done)
    merged = rows(here, "SELECT ended, exit_code FROM run")[0]
    tap.equal((merged["ended"], merged["exit_code"], count(here, "result"), sound(here)), (NOON + 100, 1, 4, None),
              "merged: its end and its results")
    tap.equal({r["id"]: r["tags"] for r in rows(here, "SELECT id, tags FROM test_case")},
              {"a.c::one[n=1]": "new", "a.c::two[n=2]": "old", "a.c::three[n=3]": "perf"},
              "merged: a case is as its newest result says")
    with contextlib.closing(sqlite3.connect(here)) as database:
        database.execute("UPDATE run SET ended = 7")
        database.commit()
    before = dump(here)
    place.history("import", there, file=here)
    tap.check(dump(here) == before, "merged: what has ended here stays so")

    def ceilings(path, *some):
        with contextlib.closing(sqlite3.connect(path)) as database:
            database.executemany("INSERT OR REPLACE INTO ceiling VALUES ('m', ?, '', 1, '', 'B/s', ?, ?, 1, 1)", some)
            database.commit()

    ceilings(here, ("copy", 100, 1), ("read", 100, 1))
    ceilings(there, ("copy", 200, 2), ("read", 50, 2), ("write", 10, 2))
    done = place.history("import", there, file=here)
    tap.equal({r["name"]: r["rate"] for r in rows(here, "SELECT name, rate FROM ceiling")},
              {"copy": 2, "read": 1, "write": 2}, "merged: the newer ceiling stays")
    tap.check("; 2 ceilings" in done.out, "merged: ceilings are counted", done)

    with contextlib.closing(sqlite3.connect(there)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("UPDATE fact SET value = 'in the log' WHERE key = 'hostname'")
        writer.commit()
        into = place.path("of-log.db")
        done = place.history("import", there, file=into)
        tap.check(done.code == OK and count(into, "fact", "value = 'in the log'") == 1,
                  "import: what is in the log of an open history is there too", done)
    project = place.path("project/.yieldpoint")
    os.makedirs(project)
    os.rename(into, os.path.join(project, "history.db"))
    done = place.history("import", here, cwd=os.path.dirname(project))
    tap.check("0 runs new" in done.out, "import: into the nearest", done)
    done = place.history("import", here, cwd=place.folder)
    into = place.path(".yieldpoint/history.db")
    tap.check(done.code == OK and "1 run new" in done.out and count(into, "run", "1") == 1,
              "import: there is no nearest, so it is made where a run would", done)


# -- prune -----------------------------------------------------------------------------------------


def many_runs(maker, runs=8, cases=4):
    """Day after day, alternately on two machines; the last case fails in every third run, and is confirmed."""
    names = [maker.case("p.c::work", i, "perf" if i % 2 else "stress") for i in range(cases)]
    for day in range(runs):
        key = maker.run(NOON + day * DAY, "ab"[day % 2] * 32)
        failed = {names[-1]} if day % 3 == 0 else ()
        maker.results(key, NOON + day * DAY, names, failed)
        for attempt in (1, 2):
            maker.results(key, NOON + day * DAY + 100 * attempt, list(failed), (), attempt)


def kept(path):
    """(day, case, attempt) of each result that is left."""
    return {(round((r["begun"] - NOON) / DAY), int(re.search(r"n=(\d+)", r["case_id"])[1]), r["attempt"])
            for r in rows(path, "SELECT case_id, attempt, run.started AS begun FROM result JOIN run ON run.id = run_id "
                                "WHERE case_id LIKE 'p.c::%'")}


def check_prune(tap, place):
    path = place.make("many.db", many_runs)
    all_of = kept(path)
    choices = {
        ("--keep-last", "2"): lambda day, case, attempt: day >= 4,
        ("--keep-last", "1"): lambda day, case, attempt: day >= 6,
        ("--older-than", "2026-11-26"): lambda day, case, attempt: day >= 3,
        ("--keep-last", "3", "--older-than", "2026-11-24T13:00"): lambda day, case, attempt: day >= 2,
        ("--id", "n=3"): lambda day, case, attempt: case != 3,
        ("--id", "n=3", "--keep-last", "1"): lambda day, case, attempt: case != 3 or day >= 6,
        ("-m", "perf", "--machine", "aaaa"): lambda day, case, attempt: case % 2 == 0 or day % 2,
        ("--outcome", "failed"): lambda day, case, attempt: case != 3 or day % 3,
        ("--outcome", "failed", "--keep-last", "1"): lambda day, case, attempt: case != 3 or day % 3 or day in (3, 6),
        ("--until", "2026-11-25"): lambda day, case, attempt: day > 2,
        ("--keep-last", "100"): lambda day, case, attempt: True,
        ("--until", "30d"): lambda day, case, attempt: True,
    }
    for number, (words, stays) in enumerate(choices.items()):
        one = place.copy(path, f"prune{number}.db")
        wanted = {r for r in all_of if stays(*r)}
        before, dry = dump(one), place.history("prune", "--dry-run", *words, file=one)
        tap.check(dry.code == OK and dump(one) == before and
                  dry.out.startswith(f"{len(all_of) - len(wanted)} result"), f"prune: --dry-run {' '.join(words)}", dry)
        done = place.history("prune", *words, file=one)
        tap.check(done.code == OK and kept(one) == wanted and sound(one) is None, f"prune: {' '.join(words)}",
                  f"{sorted(all_of - kept(one))} went\n{done}\n{sound(one)}")
        tap.check(done.out.splitlines()[0] == dry.out.splitlines()[0].replace("would be ", ""),
                  f"prune: {' '.join(words)} is what the dry run told", f"{dry}\n{done}")
        tap.equal((count(one, "run"), count(one, "test_case"), rows(one, "PRAGMA freelist_count")),
                  (len({r[0] for r in wanted}), len({r[1] for r in wanted}), [{"freelist_count": 0}]),
                  f"prune: {' '.join(words)}: runs, cases, no room")
    for words in ((), ("--samples",), ("--dry-run",)):
        done = place.history("prune", *words, file=path)
        tap.check(done.code == USAGE and "which results?" in done.err and kept(path) == all_of,
                  f"prune: {' '.join(words) or 'nothing'} is no criterion", done)
    for words, said in ((("--keep-last", "0"), "whole number from 1"), (("--older-than", "x"), "must be a date"),
                        (("--keep-last", "1", "more"), "one word too many")):
        done = place.history("prune", *words, file=path)
        tap.check(done.code == USAGE and said in done.err, f"prune: {' '.join(words)} is wrong", done)
    done = place.history("prune", "--keep-last", "1", file=place.path("absent.db"))
    tap.check(done.code == FILE and not os.path.exists(place.path("absent.db")), "prune: makes no history", done)


def check_samples(tap, place):
    path = place.make("samples.db", lambda m: many_runs(m, 30, 20))
    before, size = dump(path), os.path.getsize(path)
    done = place.history("prune", "--samples", "--older-than", "2026-12-03", file=path)
    after = dump(path)
    old = [r["id"] for r in rows(path, "SELECT result.id FROM result JOIN run ON run.id = run_id WHERE run.started < ?",
                                 NOON + 9.5 * DAY)]
    tap.check(done.out.startswith(f"samples of {len(old)} results dropped\n") and old, "samples: dropped", done)
    tap.equal(sorted(t for t in before if before[t] != after[t]), ["samples"], "samples: nothing else")
    tap.equal(set(before["samples"]) - set(after["samples"]),
              {r for r in before["samples"] if dict(r)["result_id"] in old}, "samples: those of the old results")
    tap.check(os.path.getsize(path) < size, "samples: the file is smaller", (size, os.path.getsize(path)))
    done = place.history("prune", "--samples", "--older-than", "2026-12-03", file=path)
    tap.check(done.out.startswith("samples of 0 results dropped\n"), "samples: once", done)
    shown = run(place.yieldpoint, "show", old[0], "--json", "--samples", "--history", path)
    tap.check(shown.code == OK and json.loads(shown.out)["measurements"][0]["median"] > 0, "samples: the rest is shown",
              shown)


def check_beside_others(tap, place):
    """Another process has the file open, or a run is going on."""
    path = place.make("open.db", lambda m: many_runs(m, 40, 20))
    size = os.path.getsize(path)
    place.history("prune", "--keep-last", "100", file=path)
    with contextlib.closing(sqlite3.connect(path)) as reader:
        reader.execute("SELECT count(*) FROM result").fetchall()
        done = place.history("prune", "--keep-last", "2", file=path)
        tap.check(done.code == OK and "another process has it open" in done.out and os.path.getsize(path) >= size,
                  "prune: the room of an open file is not given back, and that is said", done)
    done = place.history("prune", "--keep-last", "2", file=path)
    tap.check(done.code == OK and done.out.startswith("0 results deleted") and os.path.getsize(path) < size,
              "prune: later it is", done)
    tap.equal(rows(path, "PRAGMA journal_mode"), [{"journal_mode": "wal"}], "prune: the log is there again")

    path = place.make("suite.db", lambda m: many_runs(m, 160, 20))
    wanted = {r for r in kept(path) if r[0] >= 158}
    ended, codes = threading.Event(), []

    def store():
        while not ended.is_set():
            codes.append(run(place.program, "--history", path, "-q", "-k", "usage and (timed or passes)").code)

    suite = threading.Thread(target=store)
    suite.start()
    done = place.history("prune", "--keep-last", "1", "--id", "p.c::", file=path)
    ended.set()
    suite.join()
    tap.check(done.code == OK and set(codes) == {OK} and sound(path) is None, "prune: while a suite stores results",
              f"{codes}\n{done}\n{sound(path)}")
    tap.check(kept(path) == wanted and
              count(path, "result", "case_id LIKE '%usage.c%'") == 4 * len(codes), "prune: keeps what the suite stored",
              count(path, "result", "case_id LIKE '%usage.c%'"))

    started = Started(place.program, "--history", path, "-k", "long_work", "--jobs=8")
    try:
        wait_until(lambda: count(path, "result", "case_id LIKE '%long_work%'"), what="a result")
        key = rows(path, "SELECT id FROM run WHERE ended IS NULL")[0]["id"]
        held = count(path, "result", "case_id LIKE '%long_work%'")
        done = place.history("prune", "--since", "2020-01-01", file=path)
        tap.check(held > 0 and [r["id"] for r in rows(path, "SELECT id FROM run")] == [key] and
                  count(path, "result") >= held, "prune: leaves a run that is going on alone", done)
    finally:
        started.end()
        started.wait()
    done = place.history("prune", "--since", "2020-01-01", file=path)
    tap.equal((count(path, "run"), sound(path)), (0, None), "prune: takes it once it is dead")


# -- export ----------------------------------------------------------------------------------------


def a_sweep(maker):
    """Cases that say what the reference benchmarks record, one that fails, one that did not fit."""
    names = [maker.case("sweep.c::tile", n, "perf", "cuda") for n in (1, 2, 3)]
    key = maker.run(NOON, "a" * 32, "12" * 20)
    maker.results(key, NOON, names, {names[1]})
    change = maker.database.execute
    for position, (name, value) in enumerate((("tile_size", 256), ("batch", 4), ("pass", "forward_backward"))):
        change("INSERT INTO axis SELECT id, ?, ?, 'string', ? FROM test_case", (position + 1, name, value))
    first = "(SELECT id FROM result WHERE case_id LIKE '%n=1]')"
    change(f"UPDATE measurement SET mean = 0.5, sd = 0.05, median = 0.45 WHERE result_id = {first}")
    change(f"UPDATE value SET name = 'parameters', value = 6600532 WHERE result_id = {first}")
    change(f"INSERT INTO memory SELECT result_id, 'device', 1048576, 8388608, 2097152, 9437184, total, allocations, "
           f"frees, refused, allowed, system FROM memory WHERE result_id = {first}")
    for number, (name, seconds) in enumerate((("forward", 0.125), ("backward", 0.25))):
        change(f"INSERT INTO phase VALUES ({first}, 0, ?, ?, ?)", (number, name, seconds))
    last = "(SELECT id FROM result WHERE case_id LIKE '%n=3]')"
    change(f"UPDATE result SET outcome = 'skipped', reason = 'OOM: 9 of \"8\" MiB,\n' WHERE id = {last}")
    for table in ("measurement", "samples", "noise", "verdict"):
        change(f"DELETE FROM {table} WHERE result_id = {last}")


def exported(place, path, *words):
    done = place.history("export", "--csv", "-", *words, file=path)
    return list(csv.DictReader(io.StringIO(done.out, newline=""))), done


def check_export(tap, place):
    path = place.make("sweep.db", a_sweep)
    table, done = exported(place, path)
    tap.equal([(r["id"].split("n=")[1], r["outcome"], r["name"], r["samples"]) for r in table],
              [("1]", "passed", "nap", "30"), ("2]", "failed", "nap", "30"), ("3]", "skipped", "", "")],
              "export: a row for each measurement, and for what has none")
    one = table[0]
    for column, wanted in {"value": "0.45", "mean": "0.5", "time": "2026-11-23T12:00:00Z", "commit": "12" * 20,
                           "machine": "a" * 32, "device": "cuda", "axes": "n=1; tile_size=256; batch=4; "
                           "pass=forward_backward", "budgets": "max_latency nap met", "test": "tile",
                           "device_peak": "8388608", "seed": "0", "hostname": "host"}.items():
        tap.equal(one[column], wanted, f"export: {column}")
    tap.equal(table[2]["reason"], 'OOM: 9 of "8" MiB,\n', "export: quotes, commas and line ends in CSV")
    exact = rows(path, "SELECT low FROM measurement JOIN result ON id = result_id WHERE case_id LIKE '%n=2]'")[0]["low"]
    tap.check(float(table[1]["low"]) == exact, "export: numbers read back the same", (table[1]["low"], exact))
    done = place.history("export", "--json", "-", file=path)
    objects = json.loads(done.out)["rows"]
    tap.check([list(o) for o in objects] == [list(one)] * 3 and objects[0]["value"] == 0.45 and
              objects[0]["seed"] == "0" and objects[2]["value"] is None and objects[0]["no_fork"] is False and
              objects[1]["low"] == exact, "export: JSON has the same columns, with types", done)

    tiles, _ = exported(place, path, "--columns", "tile-sweep")
    tap.equal(list(tiles[0]), ["timestamp", "mode", "tile_size", "batch_size", "device", "model_params",
              "model_size_mb", "avg_time_ms", "std_time_ms", "throughput_samples_per_sec", "memory_allocated_mb",
              "memory_reserved_mb", "memory_peak_mb", "forward_time_ms", "backward_time_ms", "total_time_ms",
              "error"], "tile-sweep: columns")
    tap.equal(list(tiles[0].values()), ["2026-11-23T12:00:00Z", "forward_backward", "256", "4", "cuda", "6600532", "",
              "500", "50", "8", "1", "2", "8", "125", "250", "500", ""], "tile-sweep: what is known")
    tap.equal([r["error"] for r in tiles], ["", "nap: at most 100 ms: 130 ms", "OOM"], "tile-sweep: errors")
    models, _ = exported(place, path, "--columns=model-sweep")
    tap.equal({k: v for k, v in models[0].items() if v}, {
        "timestamp": "2026-11-23T12:00:00Z", "batch_size": "4", "pass_type": "forward_backward", "device": "cuda",
        "warmup_steps": models[0]["warmup_steps"], "measure_steps": "30", "parameters": "6600532",
        "mean_time_ms": "500", "mean_time_s": "0.5", "std_time_ms": "50", "std_time_s": "0.05", "cv_percent": "10",
        "status": "ok"}, "model-sweep: what is known")
    tap.equal([r["status"] for r in models], ["ok", "failed", "OOM"], "model-sweep: status")

    many = place.make("attempts.db", many_runs)
    tap.equal((len(exported(place, many)[0]), len(exported(place, many, "--attempts")[0]),
               len(exported(place, many, "--machine", "b", "-m", "perf")[0])), (32, 38, 8), "export: by a filter")
    none, done = exported(place, many, "--commit", "ffff")
    tap.check(done.code == NOTHING and none == [] and done.out.startswith("started,"), "export: nothing matches", done)


def check_export_files(tap, place):
    path, to = place.make("files.db", many_runs), place.path("out.csv")
    done = place.history("export", "--csv", to, file=path)
    with open(to, newline="") as file:
        tap.check(done.code == OK and done.out == "" and file.read() == exported(place, path)[1].out.replace("\r\n", "\n"),
                  "export: into a file", done)
    place.history("export", "--json", to, file=path)
    with open(to) as file:
        tap.equal(len(json.load(file)["rows"]), 32, "export: in the place of another file")
    before = bytes_of(to)
    damaged = place.make("damaged-export.db", lambda m: many_runs(m, 30, 20))
    with open(damaged, "r+b") as file:
        file.seek(os.path.getsize(damaged) // 2)
        file.write(b"\xff" * (os.path.getsize(damaged) // 4))
    done = place.history("export", "--csv", to, file=damaged)
    tap.check(done.code == FILE and bytes_of(to) == before, "export: a failure leaves the file as it was", done)
    tap.equal([n for n in os.listdir(place.folder) if ".part" in n], [], "export: nothing is left of it")
    done = place.history("export", "--csv", os.path.join(place.folder, "no", "x.csv"), file=path)
    tap.check(done.code == FILE and "x.csv" in done.err, "export: into a folder that is not there", done)
    for words in ((), ("--csv", "a", "--json", "b"), ("--csv", ""), ("--csv", "-", "--columns", "seed")):
        done = place.history("export", *words, file=path)
        tap.check(done.code == USAGE and done.out == "", f"export: {' '.join(words) or 'nowhere'} is wrong", done)


# -- kill -9 ---------------------------------------------------------------------------------------


def killed(place, words, path, seconds):
    """Whether it was still running after so long."""
    process = subprocess.Popen([place.yieldpoint, "history", *words, "--history", path], env=ENVIRONMENT,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    time.sleep(seconds)
    running = process.poll() is None
    process.kill()
    process.wait()
    return running


def duration(place, words, path):
    begun = time.monotonic()
    done = place.history(*words, file=path)
    return time.monotonic() - begun, done


def check_kills(tap, place, rounds):
    source = random.Random(7)
    left = place.make("left.db", lambda m: many_runs(m, 60, 40), 8)
    right = place.make("right.db", lambda m: many_runs(m, 60, 40), 9)
    whole = place.copy(left, "whole.db")
    took, _ = duration(place, ["import", right], whole)
    wanted, few, all_of = dump(whole), count(left, "result"), count(whole, "result")
    wrong, there = [], 0
    into = place.copy(left, "killed-import.db")
    for number in range(rounds):
        there += killed(place, ["import", right], into, source.uniform(0, 1.1 * took))
        state, held = sound(into), count(into, "result")
        if state or held not in (few, all_of):
            wrong.append((number, state, held))
        if held == all_of:
            os.remove(into)
            into = place.copy(left, "killed-import.db")
    tap.check(not wrong and there > rounds / 3, f"kill -9: import, {there} times of {rounds} in the midst", wrong)
    place.history("import", right, file=into)
    tap.check(dump(into) == wanted and sound(into) is None, "kill -9: import again has all of it")
    tap.equal([n for n in os.listdir(place.folder) if n.startswith(("right.db", "etilqs"))], ["right.db"],
              "kill -9: nothing is left of the copies")

    words = ["prune", "--keep-last", "3"]
    pruned = place.copy(whole, "pruned.db")
    took, _ = duration(place, words, pruned)
    wanted, stays = dump(pruned), {r["id"] for r in rows(pruned, "SELECT id FROM result")}
    wrong, there, partly = [], 0, 0
    one = place.copy(whole, "killed-prune.db")
    for number in range(rounds):
        there += killed(place, words, one, source.uniform(0, 1.1 * took))
        state, left_over = sound(one), {r["id"] for r in rows(one, "SELECT id FROM result")}
        empty = count(one, "run", "id NOT IN (SELECT run_id FROM result)")
        partly += len(stays) < len(left_over) < all_of
        if state or not stays <= left_over or empty:
            wrong.append((number, state, len(left_over), empty))
        if left_over == stays:
            for name in (one, one + "-wal", one + "-shm"):
                if os.path.exists(name):
                    os.remove(name)
            one = place.copy(whole, "killed-prune.db")
    tap.check(not wrong and there > rounds / 3, f"kill -9: prune, {there} times of {rounds} in the midst, {partly} "
              "half done", wrong)
    done = place.history(*words, file=one)
    tap.check(done.code == OK and dump(one) == wanted and sound(one) is None, "kill -9: prune again has done all", done)


def main(yieldpoint, program, old, rounds="10"):
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        place = Place(yieldpoint, program, folder)
        tap.run("filters", check_filters, tap, place)
        tap.run("import", check_import, tap, place, old)
        tap.run("refused", check_refused, tap, place)
        tap.run("read-only", check_read_only, tap, place, old)
        tap.run("merged", check_merged, tap, place)
        tap.run("prune", check_prune, tap, place)
        tap.run("samples", check_samples, tap, place)
        tap.run("beside others", check_beside_others, tap, place)
        tap.run("export", check_export, tap, place)
        tap.run("export to files", check_export_files, tap, place)
        tap.run("kills", check_kills, tap, place, int(rounds))
    tap.done()


main(*[os.path.abspath(p) for p in sys.argv[1:4]], *sys.argv[4:])
