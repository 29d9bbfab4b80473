"""yieldpoint compare and reproduce: what stored runs are beside other ones, and beside a new one.

usage: compare.py YIELDPOINT SUITE"""

import json
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from process import Started  # noqa: E402
from program import rows, run  # noqa: E402
from revisions import Repository  # noqa: E402
from stored import History  # noqa: E402
from tap import Tap  # noqa: E402

FINE, WORSE, INTERRUPTED, INTERNAL, USAGE, NOTHING, UNSURE = range(7)
OLD, NEW, OTHER = "1" * 40, "2" * 40, "23" * 20


class Place:
    """A folder with a suite, its history and what is asked of it."""

    def __init__(self, folder, yieldpoint, suite):
        self.folder, self.yieldpoint = folder, yieldpoint
        self.suite = os.path.join(folder, "suite")
        shutil.copy(suite, self.suite)
        self.history = os.path.join(folder, "history.db")
        done = run(self.suite, "--speed=record", "--history", self.history, "-k",
                   "roots or product or exact", cwd=folder)
        assert done.code == 0, done
        self.original = History(self.history).newest()

    def fresh(self):
        """The history of that run alone."""
        path = os.path.join(self.folder, f"copy-{random.randrange(10**9)}.db")
        shutil.copy(self.history, path)
        return path

    def compare(self, history, *words):
        return run(self.yieldpoint, "compare", *words, "--history", history, cwd=self.folder)

    def found(self, history, *words):
        done = self.compare(history, *words, "--json", "-")
        document = json.loads(done.out) if done.out else None
        return done.code, document


def of(document, quantity, case="roots", name=None):
    return [c for c in document["comparisons"] if c["quantity"] == quantity and
            c["case"].endswith("::" + case) and name in (None, c["name"])]


def verdict(document, quantity, case="roots", name=None):
    found = of(document, quantity, case, name)
    return found[0]["verdict"] if len(found) == 1 else found


def series(place, path, old=1.0, new=1.0, count=12, noise=0.01, seed=1, **more):
    """`count` runs of one commit, then so many of another, whose times scatter by `noise`."""
    dice, history = random.Random(seed), History(path)
    for commit, factor in [(OLD, old), (NEW, new)]:
        for _ in range(count):
            history.copy(place.original, factor * dice.lognormvariate(0, noise), commit=commit,
                         **(more if commit == NEW else {}))
    history.close()


def times(tap, place):
    for factor, wanted, code in [(1, "same", FINE), (1.1, "slower", WORSE), (0.8, "faster", FINE)]:
        path = place.fresh()
        series(place, path, new=factor)
        got, document = place.found(path, OLD[:8], NEW[:8])
        tap.equal((got, verdict(document, "time")), (code, wanted), f"{factor} times is {wanted}")
        it = of(document, "time")[0]
        tap.check(it["low"] < factor < it["high"] and it["high"] / it["low"] < 1.06,
                  f"{factor} times: the interval", it)
    path = place.fresh()
    series(place, path, new=1.04, noise=0.2, count=4)
    got, document = place.found(path, OLD, NEW)
    tap.equal((got, verdict(document, "time")), (UNSURE, "cannot say"), "too noisy to say")


def advice(tap, place):
    """Where it cannot say, it says how many runs would: with so many, most comparisons are sure."""
    asked, sure, few = 0, 0, 0
    for seed in range(12):
        path = place.fresh()
        series(place, path, new=1.12, noise=0.04, count=4, seed=seed)
        it = of(place.found(path, OLD, NEW)[1], "time")[0]
        said = re.search(r"^4 and 4 runs; some (\d+) runs of each would be sure, if the ratio stays$", it["note"])
        if it["verdict"] != "cannot say" or not said or int(said.group(1)) > 40:
            continue
        asked += 1
        few += int(said.group(1)) <= 4
        path = place.fresh()
        series(place, path, new=it["ratio"], noise=0.04, count=int(said.group(1)), seed=seed + 100)
        sure += verdict(place.found(path, OLD, NEW)[1], "time") in ("slower", "same")
    tap.check(asked >= 4 and few == 0 and sure >= asked / 2, "some N runs of each would be sure", (asked, sure, few))
    path = place.fresh()
    history = History(path)
    for commit, middle in ((OLD, 1), (NEW, 1.031)):
        for i in range(6):
            history.copy(place.original, middle * (1.02 if i % 2 else 1 / 1.02), commit=commit)
    history.close()
    it = of(place.found(path, OLD, NEW)[1], "time")[0]
    tap.check(it["verdict"] == "cannot say" and it["note"].endswith("only pairs can be sure: yieldpoint gate, or another "
                                                                    "--threshold"), "too near to the threshold", it)
    path = place.fresh()
    series(place, path, new=1.1, count=1)
    it = of(place.found(path, OLD, NEW)[1], "time")[0]
    tap.check(it["note"].endswith("12 % is taken; 3 runs of each would show the scatter"), "one run of each", it)
    path = place.fresh()
    series(place, path, new=1.1, count=3)
    it = of(place.found(path, OLD, NEW)[1], "time")[0]
    tap.check("12 %" not in it["note"], "and they do", it)


def false_alarms(tap, place):
    """The error is shared by the measurements of a comparison."""
    wrong = 0
    for seed in range(20):
        path = place.fresh()
        series(place, path, noise=0.05, seed=seed, count=6)
        wrong += place.found(path, OLD, NEW)[0] == WORSE
    tap.equal(wrong, 0, "20 comparisons of the same: none slower")


def few_runs(tap, place):
    """One run of each: the history says how far they scatter, or the largest scatter is taken."""
    path = place.fresh()
    history = History(path)
    history.copy(place.original, 1, commit=OLD)
    history.copy(place.original, 1.2, commit=NEW)
    history.copy(place.original, 9, commit=OTHER)
    history.close()
    code, document = place.found(path, OLD, NEW)
    tap.equal((code, verdict(document, "time")), (UNSURE, "cannot say"), "one run of each")
    tap.check("12 %" in of(document, "time")[0]["note"], "and what is taken instead is said")
    tap.equal(verdict(place.found(path, OLD, OTHER)[1], "time"), "slower", "nine times is plain")
    path = place.fresh()
    series(place, path, count=10, new=1.2, noise=0.005)
    tap.equal(verdict(place.found(path, "last~10", "last")[1], "time"), "slower",
              "one run of each, and others in the history")


def exact(tap, place):
    """gate.py has the other way round: what is more, breaks or is mended is found alike."""
    def more(table, row):
        if table == "memory" and row["memory"] == "host":
            row["allocated_peak"] += 4096
            row["allocations"] += 1
        if table == "value":
            row["value"] *= 1.001
        if table == "result":
            row["data_hash"] = "0123456789abcdef"

    def hashed(table, row):
        if table == "result":
            row["data_hash"] = "f" * 16

    path = place.fresh()
    history = History(path)
    history.copy(place.original, commit=OLD, change=hashed)
    history.copy(place.original, commit=NEW, change=more)
    history.close()
    code, document = place.found(path, OLD, NEW)
    tap.equal((code, verdict(document, "data hash", "roots")), (WORSE, "changed"), "a hash differs")
    code, document = place.found(path, NEW, OLD)
    tap.equal([verdict(document, q, "exact") for q in ["peak memory", "allocations", "value"]],
              ["less", "less", "changed"], "memory, allocations and a value differ")
    outcomes(tap, place)


def outcomes(tap, place):
    def noisy(table, row):
        if table == "result" and row["case_id"].endswith("::exact"):
            row["outcome"] = "noisy"

    def repeats_more(table, row):
        if table == "measurement":
            row["count"] += 5
        if table == "memory":
            row["allocations"] += 5

    path = place.fresh()
    history = History(path)
    history.copy(place.original, commit=OLD)
    history.copy(place.original, commit=OTHER, change=noisy)
    history.copy(place.original, commit="3" * 40, change=repeats_more)
    history.close()
    tap.equal(verdict(place.found(path, OLD, OTHER)[1], "outcome", "exact"), "same",
              "a noisy case is none that fails")
    tap.equal(of(place.found(path, OLD, "3" * 40)[1], "allocations", "roots"), [],
              "allocations of more iterations are not compared")


def one_side(tap, place):
    case = [r["case_id"] for r in rows(place.history, "SELECT case_id FROM result")
            if r["case_id"].endswith("::product")][0]
    path = place.fresh()
    history = History(path)
    history.copy(place.original, commit=OLD)
    history.copy(place.original, commit=NEW, without=[case])
    history.close()
    code, document = place.found(path, OLD, NEW, "-k", "product")
    tap.equal((code, verdict(document, "case", "product")), (FINE, "only in base"),
              "a case of the base's alone")
    tap.equal(verdict(place.found(path, NEW, OLD, case)[1], "case", "product"), "only in head",
              "a case of the head's alone, by id")
    out = place.compare(path, OLD, NEW).out
    tap.check("only in base  " + case in out, "it is listed", out)
    tap.equal(place.found(path, NEW, NEW, "-k", "product")[0], NOTHING, "no case is selected")
    tap.equal(place.found(path, OLD, NEW, "-m", "(")[0], USAGE, "a malformed expression")


def machines(tap, place):
    """Of two machines, shares are compared."""
    path = place.fresh()
    history = History(path)
    for commit, machine, seconds, share in [(OLD, "a" * 32, 1, 0.5), (NEW, "b" * 32, 3, 0.49),
                                            (OTHER, "b" * 32, 3, 0.1)]:
        for i in range(6):
            history.copy(place.original, seconds, share + i / 1000, commit, machine)
    history.close()
    code, document = place.found(path, OLD, NEW)
    it = of(document, "time")[0]
    tap.check(it["by_share"] and 1 < it["ratio"] < 1.04 and it["verdict"] == "cannot say", "equal "
              "shares of two machines, three times apart in seconds", it)
    tap.check(any("two machines" in n for n in document["notes"]), "which is said")
    code, document = place.found(path, OLD, OTHER)
    tap.equal((code, verdict(document, "time")), (WORSE, "slower"), "a fifth of the share")
    other = place.fresh()
    history = History(other)
    for i in range(6):
        history.copy(place.original, 2, 0.25 + i / 1000, OTHER, "a" * 32)
    history.close()
    both = History(path)
    both.copy(place.original, 1, 0.5, OLD, "c" * 32)
    both.close()
    code, document = place.found(path, OLD, other, "-k", "roots")
    tap.check(code == WORSE and not of(document, "time")[0]["by_share"] and
              document["base"]["machine"] == "a" * 32, "another file, with two machines of which one "
              "is the same", document)


def options(tap, place):
    path = place.fresh()
    history = History(path)
    history.copy(place.original, commit=OLD, options=["--speed=record", "-k", "roots"])
    history.copy(place.original, commit=NEW, options=["--isa=avx2", "-m", "perf"])
    history.close()
    tap.equal([n for n in place.found(path, OLD, NEW)[1]["notes"] if "only" in n],
              ["only the head was run with --isa=avx2"], "options that differ are told")


def words(tap, place):
    path = place.fresh()
    history = History(path)
    first = history.copy(place.original, commit=OLD)
    dirty = history.copy(place.original, commit=OLD, dirty="yes")
    history.copy(place.original, commit=NEW)
    history.copy(place.original, commit=OTHER)
    history.close()
    tap.equal(place.found(path, first, "last~2")[1]["head"]["dirty"], True, "last~2")
    tap.equal(place.found(path, OLD, dirty)[1]["base"]["dirty"], False, "a commit's clean runs")
    tap.equal(place.found(path, OLD + "-dirty", NEW)[1]["base"]["dirty"], True, "its dirty ones")
    for word, wanted in [("zz", "has no such run"), ("2" * 3, "has no such run"),
                         ("23232", None), ("last~99", "has no such run"), ("last~", "no such run"),
                         ("4444-dirty", "has no such run")]:
        done = place.compare(path, OLD, word)
        right = done.code in (FINE, UNSURE) if wanted is None else \
            done.code == USAGE and wanted in done.err
        tap.check(right, f"{word}: {wanted or 'is found'}", done)
    history = History(path)
    history.copy(place.original, commit="2323" + "9" * 36)
    history.close()
    done = place.compare(path, OLD, "2323")
    tap.check(done.code == USAGE and "more than one commit" in done.err, "two commits", done)
    tap.equal(place.compare(path, OLD).code, USAGE, "one side alone")
    tap.equal(place.compare(os.path.join(place.folder, "no.db"), OLD, NEW).code, INTERNAL,
              "no history")
    text = os.path.join(place.folder, "text")
    with open(text, "w") as file:
        file.write("not a history at all, but long enough to have a header" * 20)
    tap.equal(place.compare(path, OLD, text).code, INTERNAL, "a file that is none")


def listing(tap, place):
    path = place.fresh()
    series(place, path, new=1.5)
    done = place.compare(path, OLD, NEW, "-v")
    tap.check(done.code == WORSE and "same" in done.out and "peak" not in done.out, "-v lists what is the same", done)


# -- reproduce ----------------------------------------------------------------------------------

def reproduce(tap, place):
    path = place.fresh()
    done = run(place.suite, "-k", "exact", "--seed", "7", "--speed=record", "--history", path,
               cwd=place.folder)
    assert done.code == 0, done
    done = run(place.yieldpoint, "reproduce", "::exact", "--history", path, "--json", "-",
               cwd=place.folder)
    document = json.loads(done.out)
    runs = rows(path, "SELECT r.seed, r.id, run.command FROM result AS r JOIN run ON"
                      " run.id = r.run_id WHERE r.case_id LIKE '%::exact' ORDER BY r.started")
    tap.equal([r["seed"] for r in runs[-2:]], [7, 7], "the same seed")
    tap.equal([document["base"]["name"], document["head"]["name"]],
              [r["id"][:8] for r in runs[-2:]], "old and new")
    tap.equal([verdict(document, q, "exact") for q in ["outcome", "value", "allocations"]],
              ["same"] * 3, "what is the same is told too")
    tap.equal(document["notes"], ["the environment is the same"], "and that nothing differs")
    with open(os.path.join(place.folder, "change"), "w") as file:
        file.write("value=0.001 allocations=3\n")
    history = History(path)
    history.db.execute("UPDATE fact SET value = 'Plan 9' WHERE key = 'os'")
    history.db.execute("DELETE FROM fact WHERE key = 'kernel'")
    history.close()
    done = run(place.yieldpoint, "reproduce", runs[-1]["id"][:13], "--history", path,
               cwd=place.folder)
    tap.check(done.code == WORSE and "value of mean" in done.out and "allocations" in done.out,
              "what differs is named", done)
    tap.check("note: os: Plan 9 -> Linux" in done.out and "note: kernel: (none) -> " in done.out,
              "differences of the environment", done.out)
    os.unlink(os.path.join(place.folder, "change"))


def reproduce_plain(tap, place):
    """A case's id means its newest run of the work as it is; a UUID and `last` mean what they say."""
    path = place.fresh()
    for i, words in enumerate((["--seed", "7"], ["--seed", "8", "--slowdown=2x"], ["--seed", "9", "--no-fork"])):
        run(place.suite, "-k", "exact", *words, "--speed=record", "--history", path, cwd=place.folder)
    slowed, unforked = (row["id"] for row in rows(path, "SELECT id FROM result WHERE seed > 7 AND case_id LIKE"
                                                        " '%::exact' ORDER BY seed"))
    sql = "SELECT r.seed FROM result AS r WHERE r.case_id LIKE '%::exact' ORDER BY r.started DESC LIMIT 1"
    for word, seed in (("::exact", 7), (slowed, 8), (unforked[:13].upper(), 9), ("last", 9)):
        done = run(place.yieldpoint, "reproduce", word, "--history", path, cwd=place.folder)
        tap.equal(rows(path, sql)[0]["seed"], seed, f"reproduce {word[:8]}: seed {seed}")
        told = f"{unforked[:8]}, the newest result, was run with --slowdown or --no-fork" in done.err
        tap.equal(told, word == "::exact", f"reproduce {word[:8]}: is said where it is another one")
        History(path).db.executescript("DELETE FROM result WHERE rowid = (SELECT max(rowid) FROM result)")
    # Letters of the case's id that a UUID begins with name the case.
    History(path).db.executescript(f"UPDATE result SET id = 'ac' || substr(id, 3) WHERE id = '{unforked}'")
    done = run(place.yieldpoint, "reproduce", "ac", "--history", path, cwd=place.folder)
    tap.check(rows(path, sql)[0]["seed"] == 7, "reproduce ac: no UUID by two digits", done)


def reproduce_what_is_not_there(tap, place):
    path = place.fresh()

    def ask(*words):
        return run(place.yieldpoint, "reproduce", *words, "--history", path, cwd=place.folder)
    tap.equal(ask("nothing such").code, NOTHING, "no such result")
    done = ask("gate.c")
    tap.check(done.code == NOTHING and "part of several ids" in done.err, "several", done)
    done = ask(place.original)
    tap.check(done.code == USAGE and "is a whole run" in done.err, "a run", done)
    tap.equal(ask().code, USAGE, "no word")
    history = History(path)
    history.db.execute("UPDATE run SET program = '/nowhere/suite'")
    history.commit(OLD)
    history.close()
    done = ask("::exact")
    tap.check(done.code == USAGE and "--rev stored builds its commit " + OLD in done.err,
              "a program that is gone", done)
    before = len(rows(path, "SELECT 1 FROM run"))
    done = ask("::exact", "--rev", "stored")
    tap.check(done.code == USAGE and "git" in done.err and len(done.err.strip().splitlines()) == 1,
              "no repository to build it in: the reason, and nothing else", done)
    tap.equal(len(rows(path, "SELECT 1 FROM run")), before, "and nothing was run")


def repository(place, name):
    """What its second commit changes is a value."""
    made = Repository(place.folder, name, place.suite, place.suite)
    made.then("changed", change="value=0.5\n")
    return made.path, made.base


def reproduce_a_revision(tap, place):
    folder, commit = repository(place, "repository")

    def ask(*words):
        path = place.fresh()
        history = History(path)
        history.commit(commit)
        history.close()
        return run(place.yieldpoint, "reproduce", "::exact", *words, "--history", path, cwd=folder)
    done = ask("--rev", "stored", "--json", "-")
    tap.equal(verdict(json.loads(done.out), "value", "exact"), "same", "its own commit is built")
    done = ask("--rev", "HEAD")
    tap.check(done.code == WORSE and "value of mean" in done.out, "another revision", done)
    done = ask("--rev", "nosuch")
    tap.check(done.code == USAGE and "there is no such commit" in done.err, "no such commit", done)


def baseline(tap, place):
    """gate --baseline: a revision beside stored runs."""
    folder, commit = repository(place, "baseline")
    path = place.fresh()
    history = History(path)
    for i in range(4):
        history.copy(place.original, 1 + i / 100, 0.5, OLD)
        history.copy(place.original, 1 + i / 100, 0.5, NEW, "b" * 32)
    history.close()

    def ask(*words):
        done = run(place.yieldpoint, "gate", *words, "-k", "(roots or exact) and not long",
                   "--history", path, "--json", "-", cwd=folder)
        return done, json.loads(done.out) if done.out else None
    done, document = ask("--baseline", OLD, "--head", commit)
    tap.check(document["base"]["name"] == OLD and verdict(document, "value", "exact") == [] and
              not of(document, "time")[0]["by_share"] and of(document, "time")[0]["ratio"] > 0,
              "a stored baseline", done)
    tap.check(of(document, "time")[0]["note"].startswith("4 and 5 runs"), "timed five times", done)
    done, document = ask("--baseline", NEW)
    tap.check(done.code == WORSE and verdict(document, "value", "exact") == "changed" and
              of(document, "time")[0]["by_share"], "of another machine, by shares", done)
    tap.equal(document["head"]["commit"] != commit and document["head"]["name"], "HEAD", "the head")
    done, document = ask("--baseline", "nosuch")
    tap.check(done.code == USAGE and "no such run" in done.err, "no such baseline", done)
    tap.equal(ask("--baseline", OLD, "--base", "main")[0].code, USAGE, "a base beside it")
    tap.equal(sorted(os.listdir(os.path.join(folder, ".yieldpoint"))), [".gitignore", "gate"], "nothing is left")


def interrupted(tap, place):
    path = place.fresh()
    asked = Started(place.yieldpoint, "reproduce", "::product", "--history", path,
                    cwd=place.folder)
    try:
        while not asked.cases():
            time.sleep(0.01)
        asked.process.send_signal(signal.SIGINT)
        done = asked.wait()
        tap.equal((done.code, asked.living()), (INTERRUPTED, []), "interrupted")
    finally:
        asked.end()


def main():
    yieldpoint, suite = (os.path.abspath(a) for a in sys.argv[1:3])
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        place = Place(folder, yieldpoint, suite)
        for check in [times, advice, false_alarms, few_runs, exact, one_side, machines, options, words,
                      listing, reproduce, reproduce_plain, reproduce_what_is_not_there, reproduce_a_revision,
                      baseline, interrupted]:
            tap.run(check.__name__, check, tap, place)
    tap.done()


main()
