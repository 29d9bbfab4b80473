"""yieldpoint trend: what it finds in histories whose changes are known, and what it refuses.

usage: trend.py YIELDPOINT SUITE

A run of the suite makes the tables, and its rows are those of all others, with other figures."""

import contextlib
import json
import os
import random
import sqlite3
import sys
import tempfile
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from program import run  # noqa: E402
from tap import Tap  # noqa: E402

DAY = 86400
START = 1.7e9
CASE = "slack.c::tight"
OTHER_MACHINE = "feedfacefeedfacefeedfacefeedface"


class History:
    """Runs a day apart, unless they are said to be elsewhen."""

    def __init__(self, path, suite):
        done = run(suite, "--history", path, CASE, cwd=os.path.dirname(path))
        if done.code != 0:
            raise RuntimeError(done)
        self.path, self.day = path, 0
        with self.open() as database:
            self.rows = {table: dict(database.execute(f"SELECT * FROM {table}").fetchone())
                         for table in ("run", "test_case", "result", "measurement", "memory")}
            for table in ("run", "fact", "result", "measurement", "memory"):
                database.execute(f"DELETE FROM {table}")
        self.machine = self.rows["run"]["machine"]

    @contextlib.contextmanager
    def open(self):
        with contextlib.closing(sqlite3.connect(self.path)) as database, database:
            database.row_factory = sqlite3.Row
            yield database

    def add(self, database, case, seconds, commit=None, dirty="no", day=None, share=None, peak=0, options=(),
            attempt=0, failed=None, **run_columns):
        self.day += 1
        started = START + DAY * (self.day if day is None else day)
        ids = str(uuid.uuid4()), str(uuid.uuid4())

        def insert(table, **row):
            row = {**self.rows.get(table, {}), **row}
            database.execute(f"INSERT INTO {table} ({','.join(row)}) VALUES ({','.join('?' * len(row))})",
                             list(row.values()))

        database.execute("INSERT OR IGNORE INTO test_case SELECT ?, test_group, test, name, device, tags "
                         "FROM test_case", (case,))
        insert("run", id=ids[0], started=started, **run_columns)
        for key, value in (("git.commit", commit or f"{self.day:040x}"), ("git.dirty", dirty)):
            insert("fact", run_id=ids[0], key=key, value=value)
        for position, option in enumerate(options):
            insert("run_option", run_id=ids[0], position=position, argument=option)
        insert("result", id=ids[1], run_id=ids[0], case_id=case, started=started, attempt=attempt)
        insert("measurement", result_id=ids[1], median=seconds, share=share)
        insert("memory", result_id=ids[1], allocated_peak=peak, allocations=3)
        if failed:
            insert("failure", result_id=ids[1], position=0, cause=failed, message="")


def noise(seed, count, spread=0.02):
    maker = random.Random(seed)
    return [maker.lognormvariate(0, spread) for _ in range(count)]


def fill(history):
    """What each case is named for. `commit` is the day on which it was run, in all of them."""
    with history.open() as database:
        def series(case, seconds, **more):
            history.day = 0
            for i, s in enumerate(seconds):
                history.add(database, f"t.c::{case}", 1e-3 * s,
                            **{name: of(i) for name, of in more.items()})

        # The last ones are of a loop that the compiler has emptied.
        series("steady", noise(1, 60) + [1e-14] * 30)
        series("slower", [s * (1.1 if i >= 40 else 1) for i, s in enumerate(noise(2, 60))],
               share=lambda i: 0.6 / (1.1 if i >= 40 else 1), dirty=lambda i: "yes" if i == 40 else "no")
        series("there_and_back", [s * (1.1 if 30 <= i < 60 else 1) for i, s in enumerate(noise(3, 90))])
        series("machine", [s * (1.1 if i >= 30 else 1) for i, s in enumerate(noise(4, 60))],
               share=lambda i: 0.6 + 1e-3 * (i * 7 % 5))
        series("drifting", [s * 1.002 ** i for i, s in enumerate(noise(5, 60, 0.01))])
        series("small", [s * (1.01 if i >= 30 else 1) for i, s in enumerate(noise(6, 60, 0.002))])
        series("short", [1, 1, 1, 1, 2, 2, 2, 2, 2])
        series("outlier", [s * (5 if i in (7, 30) else 1) for i, s in enumerate(noise(7, 60))])
        series("memory", noise(8, 12), peak=lambda i: 1024 if i < 11 else 4096)
        series("restless", noise(9, 12), peak=lambda i: 1024 + i % 2)
        # Six of one commit on one day are one result more of nine, and others of that day are none of it.
        series("crowded", [1] * 4 + [2] * 9, commit=lambda i: "c" * 40 if i > 6 else f"{i:040d}",
               day=lambda i: i if i <= 6 else 7 + i / 1000)
        # What does not count, beside what does.
        series("mixed", [s * (2 if i % 6 else 1) for i, s in enumerate(noise(10, 96))],
               options=lambda i: ["--isa=baseline", "--set=n=1"] if i % 6 == 1 else ["-k", "mixed"],
               slowdown=lambda i: 2 if i % 6 == 2 else None, no_fork=lambda i: int(i % 6 == 3),
               attempt=lambda i: int(i % 6 == 4), failed=lambda i: "crash" if i % 6 == 5 else "budget")
        series("elsewhere", [s * (1.5 if i >= 20 else 1) for i, s in enumerate(noise(11, 40))],
               machine=lambda i: OTHER_MACHINE)


def check_found(tap, yieldpoint, history):
    def trend(*words):
        done = run(yieldpoint, "trend", "--history", history.path, "--json", *words)
        document = json.loads(done.out) if done.code == 0 else None
        return document, {(s["case"][5:], s["quantity"], s["options"]): s
                          for s in (document or {"series": []})["series"]}

    document, found = trend()
    tap.equal((document["machine"], document["error"], document["min_change"], document["cases"]),
              (history.machine, 0.01, 0.02, 12), "the machine of the newest result")
    states = {case: series["state"] for (case, quantity, options), series in found.items()
              if quantity == "time" and options == ""}
    tap.equal(states, {"steady": "unchanged", "slower": "changed", "there_and_back": "changed",
                       "machine": "changed", "drifting": "changed", "small": "unchanged",
                       "short": "too short", "outlier": "unchanged", "memory": "unchanged",
                       "restless": "unchanged", "crowded": "too short", "mixed": "unchanged"},
              "which times changed")
    change, = found["slower", "time", ""]["changes"]
    before, after = (int(change[side]["commit"], 16) for side in ("last_before", "first_after"))
    tap.equal((before, after, change["first_after"]["dirty"], change["last_before"]["dirty"],
               change["first_after"]["time"], change["cause"]),
              (40, 41, True, False, START + 41 * DAY, "work"),
              "a change is told with the commits that it lies between, and its cause")
    ratio = change["change"]
    tap.check(1.05 < ratio["low"] < ratio["ratio"] < ratio["high"] < 1.15 and ratio["low"] < 1.1 < ratio["high"]
              and abs(change["share"]["ratio"] - 1 / 1.1) < 1e-3, "with its size", change)
    back = [(c["change"]["ratio"] > 1, int(c["first_after"]["commit"], 16))
            for c in found["there_and_back", "time", ""]["changes"]]
    tap.check([up for up, _ in back] == [False, True] and abs(back[0][1] - 61) <= 1 and abs(back[1][1] - 31) <= 1,
              "two changes, the newest first", back)
    tap.equal([c["cause"] for c in found["machine", "time", ""]["changes"]], ["machine"],
              "a change that the ceiling made")
    drift = found["drifting", "time", ""]
    tap.check(drift["changes"] == [] and drift["drift"]["points"] == 60 and
              drift["drift"]["low"] < 1.002 ** 59 < drift["drift"]["high"], "a slow drift is no step", drift)
    tap.equal((found["small", "time", ""]["not_told"], document["not_told"]), (1, 1), "a small change is counted")
    peak = found["memory", "peak memory", ""]
    tap.equal([(c["before"], c["after"], int(c["last_before"]["commit"], 16)) for c in peak["changes"]],
              [(1024, 4096, 11)], "memory: the newest result alone is enough")
    tap.equal([found["restless", "peak memory", ""]["state"], found["memory", "allocations", ""]["state"]],
              ["varies", "unchanged"], "memory that varies by itself")
    tap.equal(found["crowded", "time", ""]["points"], 8, "results of a commit on a day are one point")
    tap.equal([found["mixed", "time", options]["points"] for options in ("", "--isa=baseline")], [16, 16],
              "other options are another series, and other runs none")
    tap.equal(trend("-k", "small", "--min-change", "0.5%")[1]["small", "time", ""]["state"], "changed",
              "--min-change")
    document, found = trend("--machine", "feedface")
    tap.equal((document["machine"], {case for case, _, _ in found}, document["changed"]),
              (OTHER_MACHINE, {"elsewhere"}, 1), "--machine")
    tap.equal(trend("--error", "10%", "-k", "steady")[0]["error"], 0.1, "--error")
    tap.equal(trend("-k", "slower"), trend("t.c::slower"), "-k and an id select")


def check_text(tap, yieldpoint, history):
    def text(*words, **more):
        return run(yieldpoint, "trend", "--history", history.path, *words, env={"TZ": "UTC", "LC_ALL": "C", **more})

    done = text("-k", "slower")
    lines = done.out.splitlines()
    tap.check(done.code == 0 and lines[0] == "t.c::slower  work" and lines[1].endswith("  60 points") and
              lines[1][42] == "|" and lines[1].isascii() and lines[2].startswith("  slower  ") and
              " times [1.0" in lines[2] and lines[3] == "          between 2023-12-24 22:13:20 0000000000 and "
              "2023-12-25 22:13:20 0000000000 (not committed)" and lines[4].startswith(
                  "          share of its bound: 0.909 times [0.909, 0.909]"), "a change as text", done)
    tap.equal(lines[5:], ["", f"machine {history.machine}, 1 case: of their times and memory 1 changed, 2 unchanged",
                          "rank statistics, 1 % false alarms in all of it, intervals at 99 %"], "and the counts")
    tap.check("▁" in text("-k", "slower", LC_ALL="C.UTF-8").out, "bars on a terminal of UTF-8")
    tap.check("the machine's: its ceiling changed as much" in text("t.c::machine").out, "the machine's, as text")
    done = text("t.c::drifting")
    tap.check("  drift   slower: 1.1" in done.out and "over the last 60 points, from 2023-11-15" in done.out,
              "a drift as text", done)
    done = text("-v")
    tap.check("too short  t.c::short  work: 9 points, 1 more needed\n" in done.out and
              "varies     t.c::restless  host peak memory: 12 points\n" in done.out and
              "1 change of less than 2 % not told\n" in done.out, "-v lists what was not looked at", done)
    tap.check("less    " not in done.out and "  more    1.0 KiB -> 4.0 KiB\n" in done.out, "memory as text", done)
    quiet = text()
    tap.check("too short  t.c" not in quiet.out and ", 2 too short (fewer than 10 points), 1 vary by" in quiet.out and
              "one for each commit and day: the longest too short lacks 1\n" in quiet.out,
              "without it they are counted", quiet)


def check_refused(tap, yieldpoint, history, folder):
    def refused(code, wanted, *words, path=history.path):
        done = run(yieldpoint, "trend", "--history", path, *words)
        tap.check(done.code == code and wanted in done.err and done.out == "", f"refused: {' '.join(words)}", done)

    refused(1, "no case of the history is selected", "-k", "nowhere")
    refused(1, "no run of the history is of such a machine", "--machine", "xyz")
    refused(1, "no result that counts on this machine", "-k", "elsewhere")
    refused(4, "2 machines begin so", "--machine", "")
    refused(4, "a rate from 1e-6 to 0.25", "--error", "2")
    refused(4, "a part from 0% to 1000%", "--min-change", "-1")
    refused(4, "not found: 't.c::none'", "t.c::none")
    refused(4, "--fast", "--fast")
    refused(3, "there is no such file", path=os.path.join(folder, "none.db"))
    with open(os.path.join(folder, "text.db"), "w", encoding="utf-8") as file:
        file.write("no history at all, but long enough to have a header that is looked at" * 3)
    refused(3, "is not a history", path=os.path.join(folder, "text.db"))
    with history.open() as database:
        for table in ("run", "result", "measurement", "memory", "failure", "fact", "run_option"):
            database.execute(f"DELETE FROM {table}")
    refused(1, "the history has no result")


def main(yieldpoint, suite):
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        history = History(os.path.join(folder, "history.db"), suite)
        fill(history)
        tap.run("check_found", check_found, tap, yieldpoint, history)
        tap.run("check_text", check_text, tap, yieldpoint, history)
        tap.run("check_refused", check_refused, tap, yieldpoint, history, folder)
    tap.done()


main(*map(os.path.abspath, sys.argv[1:]))
