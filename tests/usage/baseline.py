"""Baselines: how they are learned, kept and judged, on cases that measure what a file says."""

import contextlib
import glob
import json
import os
import re
import sqlite3
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from program import ENVIRONMENT, run  # noqa: E402
from tap import Tap  # noqa: E402

TOLD, FLOORED, PATIENT = (f"baseline.c::{name}" for name in ("told", "floored", "patient"))
GREEN = "not red"


class Place:
    """A project of its own, with a history and the file that says what is measured."""

    def __init__(self, folder, program, command):
        self.folder, self.program, self.command = folder, program, command
        self.history = os.path.join(folder, "h.db")
        self.tell(1e-3)

    def tell(self, seconds, loss=0.5, name="work"):
        with open(os.path.join(self.folder, "told.json"), "w") as file:
            file.write(json.dumps({"measure": name, "seconds": [seconds] * 8}) + "\n" +
                       json.dumps({"value": "loss", "number": loss}) + "\n")

    def suite(self, *words, learned=True):
        done = run(self.program, "--history", self.history, *words, cwd=self.folder)
        self.change("DELETE FROM fact WHERE key LIKE '%flags%'")  # nothing is learned with sanitizers
        self.change("UPDATE fact SET value = replace(value, ', with a sanitizer', '')")
        if learned:  # whatever disturbs this machine
            self.change("DELETE FROM noise")
        return done

    def judged(self, *words, run=None):
        """The verdicts of an undisturbed moment: a hypervisor that takes a tick excuses a short command."""
        for _ in range(20):
            done = run(*words) if run else self.suite(*words)
            if "noisy" not in done.out:
                break
        return done

    def probe(self):
        return self.judged(run=lambda: run(self.command, "budgets", "--probe", self.program, TOLD, cwd=self.folder))

    def elsewhere(self):
        """With a history that knows nothing."""
        path = os.path.join(self.folder, "fresh.db")
        return self.judged(run=lambda: run(self.program, "--history", path, TOLD, cwd=self.folder))

    def change(self, sql, *parameters):
        with contextlib.closing(sqlite3.connect(self.history)) as database, database:
            database.execute(sql, parameters)

    def baseline(self, *words):
        return run(self.command, "baseline", "--history", self.history, *words, cwd=self.folder)

    def entries(self):
        return {(e["id"], e["of"], e["name"]): e for e in json.loads(self.baseline("--json").out)}

    def commit(self, digit, newest):
        """As if so many runs were of clean sources at a commit, and of its program."""
        for key, value in (("git.commit", digit * 40), ("git.dirty", "no"), ("program.hash", digit)):
            self.change("INSERT OR REPLACE INTO fact (run_id, key, value) SELECT id, ?, ? FROM run "
                        "ORDER BY started DESC LIMIT ?", key, value, newest)

    def learn(self, seconds=1e-3, commit="a"):
        """Two runs that are enough."""
        self.tell(seconds)
        for _ in range(2):
            self.suite("-k", GREEN, "--repeat", "4", "--baseline=off")
        self.commit(commit, newest=2)


def check_learning(tap, p):
    done = p.baseline()
    tap.check(done.code == 3, "without a history there is nothing to read", done)
    p.suite("-k", GREEN, "--repeat", "4")
    done = p.suite("-k", GREEN, "-v")
    tap.check("no baseline on this kind of machine yet (4 of 5 processes)" in done.out,
              "one run is too few, and it says so", done)
    tap.check("at most 25 % worse" not in done.out, "then nothing is compared", done)
    done = p.suite("-k", GREEN, "-v")
    tap.check("work beside its baseline at most 25 % worse: 0 % worse" in done.out,
              "five processes from two runs are a baseline", done)
    tap.check("work beside its baseline at most 300 % worse" in done.out, "a declared threshold stays", done)
    entries = p.entries()
    told = entries[TOLD, "time", "work"]
    tap.equal((told["typical"], told["slower"], told["deviation"], told["processes"], told["runs"]),
              (1e-3, None, 0, 5, 2), "a time where no ceiling binds")
    tap.check("processor" in told["machine"], "of this kind of machine", told)
    tap.equal(entries[TOLD, "exact", "value loss"]["exact"], "0.5", "a value that all processes agree on is exact")


def check_refused(tap, folder, program, command):
    """Each of these has all but one of what a baseline takes."""
    for name, words, change, why in (
            ("--slowdown", ["--slowdown", "1.1x"], None, "--slowdown"),
            ("a memory limit", ["--memory-limit", "1G"], None, "--memory-limit"),
            ("a red run", ["-k", ""], None, "a red run"),
            ("a run that was killed", [], "UPDATE run SET exit_code = NULL, ended = NULL", "a run that did not end"),
            ("a disturbed run", [], "UPDATE noise SET value = 100 WHERE name = 'stolen'", "disturbed"),
            ("a sanitizer's", [], "INSERT INTO fact (run_id, key, value) SELECT id, 'library.flags', '-fsanitize' FROM run",
             "a sanitizer"),
            ("noisy results", [], "UPDATE result SET outcome = 'noisy'", "not passed"),
            ("unknown code", [], "DELETE FROM fact WHERE key IN ('program.hash', 'git.commit')", "too few of one commit"),
            ("a run of each commit", [], None, "too few of one commit")):
        with tempfile.TemporaryDirectory(dir=folder) as place:
            p = Place(place, program, command)
            each = name == "a run of each commit"
            for i in range(2):
                p.suite(*(words or ["-k", GREEN]), "--repeat", "4", "--baseline=off", learned=name != "a disturbed run")
                if each:
                    p.commit(f"{i}", newest=1)
            if change:
                p.change(change)
            done = p.baseline("--update", TOLD)
            wanted = [line for line in done.out.split("\n") if line.endswith(": " + why)]
            tap.check(done.code == 0 and len(wanted) == 1 and "  work: " not in done.out,
                      f"nothing is learned from {name}, and it says why", done)


def check_rounding(tap, p):
    """The kernel's clock ticks a hundred times a second: of a short measurement, a tick or two say nothing."""
    for _ in range(2):
        p.suite("-k", GREEN, "--repeat", "4", "--baseline=off", learned=False)
    p.commit("a", newest=2)
    for ticks, learned in ((2, True), (3, False)):
        for name, value in (("wall", 0.02), ("processors", 2), ("stolen", ticks / 100), ("others", 0)):
            p.change(f"UPDATE noise SET value = ? WHERE name = '{name}'", value)
        done = p.baseline("--update", TOLD)
        tap.equal((TOLD, "time", "work") in p.entries(), learned, f"{ticks} ticks of the hypervisor: {done.out}")
        os.remove(os.path.join(p.folder, "h.baseline.ini"))


def check_verdicts(tap, p):
    p.learn()
    p.tell(1.24e-3)
    done = p.judged(TOLD)
    tap.check(done.code == 0, "24 % worse is no regression", done)
    p.tell(1.5e-3)
    done = p.judged(TOLD, PATIENT)
    tap.check(done.code == 1 and "1 failed, 1 passed" in done.out, "50 % worse is, unless it is declared not to be", done)
    tap.check("work beside its baseline at most 25 % worse: 50 % worse; 3 of 3 fresh processes say so too; "
              "1.5 ms now, 1 ms at aaaaaaaaaa on " in done.out, "with both figures", done)
    tap.check(f"make sure: yieldpoint gate --base aaaaaaaaaa {TOLD}" in done.out.replace("'", ""), "and how to make sure",
              done)
    done = run(p.command, "show", "--history", p.history, TOLD, cwd=p.folder)
    tap.check("baseline: 1 ms at aaaaaaaaaa on " in done.out, "the history keeps what it was compared with", done)
    done = p.judged(TOLD, "--baseline=report")
    tap.check(done.code == 0 and "NOTE baseline.c::told - 'work' is 50 % worse than its baseline: 1.5 ms now, 1 ms"
              in done.out, "a note, if so asked", done)
    done = p.judged(TOLD, "--baseline=off")
    tap.check(done.code == 0 and "worse" not in done.out, "or nothing", done)
    p.tell(2e-3)
    done = p.judged(FLOORED)
    tap.equal(done.out.count("  budget work"), 1, "a case that misses a budget of the same work is red once")
    p.tell(0.5e-3)
    done = p.judged(TOLD)
    tap.check(done.code == 0 and "'work' is 50 % better than its baseline: 0.5 ms now" in done.out.replace("500 us", "0.5 ms")
              and "'yieldpoint baseline --update' takes it over" in done.out, "what became better is a note", done)
    p.tell(1e-3, loss=0.75)
    done = p.judged(TOLD)
    tap.check(done.code == 0 and "value loss changed: 0.75 now, 0.5 at aaaaaaaaaa on " in done.out, "a changed value is a note", done)


def check_settings(tap, p):
    p.learn()
    ini = os.path.join(p.folder, "yieldpoint.ini")

    def settings(text):
        with open(ini, "w") as file:
            file.write("[baseline]\n" + text)

    settings("exact = judge\n")
    p.tell(1e-3, loss=0.75)
    done = p.judged(TOLD)
    tap.check(done.code == 1 and "value loss changed: 0.75 now, 0.5 at aaaaaaaaaa on " in done.out, "a changed value may fail", done)
    p.tell(1.5e-3)
    settings("threshold = 60%\n")
    tap.equal(p.judged(TOLD).code, 0, "a threshold of the project")
    settings("threshold slow = 0.6\n")
    done = p.judged(TOLD, FLOORED)
    tap.check("1 failed, 1 passed" in done.out and f"FAILED {TOLD}" in done.out, "and of a tag", done)
    p.tell(2e-3)
    for _ in range(2):
        p.suite(TOLD, "--repeat", "4", "--baseline=off")
    settings("update = rolling\n")
    done = p.judged(TOLD, "-v")
    tap.check(done.code == 0 and ": 0 % worse" in done.out, "rolling follows what is measured", done)
    for text, message in (("threshold = no\n", "a threshold is a part above 0"),
                          ("threshold nowhere = 10%\n", "'nowhere' is no registered tag"),
                          ("threshold slow and = 10%\n", "'slow and'"),
                          ("exact = never\n", "allowed are report and judge"),
                          ("update = daily\n", "allowed are deliberate and rolling"),
                          ("file =\n", "file is empty"), ("files = a\n", "'files' is not known in [baseline]")):
        settings(text)
        done = p.judged(TOLD)
        tap.check(done.code == 4 and "yieldpoint.ini:2: " in done.err and message in done.err, f"wrong: {text}", done)
    os.remove(ini)


def check_file(tap, p):
    """A file that a project commits."""
    p.learn()
    committed = os.path.join(p.folder, "baseline.ini")
    done = p.baseline("--update")
    done = p.baseline("--write", committed)
    tap.check(done.code == 0 and "written" in done.out, "baselines are written to a file", done)
    with open(os.path.join(p.folder, "yieldpoint.ini"), "w") as file:
        file.write("[baseline]\nfile = baseline.ini\n")
    p.tell(1.5e-3)
    done = p.elsewhere()
    tap.check(done.code == 1 and "50 % worse" in done.out, "a fresh history is judged by it at once", done)
    with open(committed) as file:
        text = file.read()
    tap.equal(p.baseline("--write", committed).code, 0, "it can be written again")
    with open(committed) as file:
        tap.equal(file.read(), text, "and is the same then")
    lines = text.split("\n")
    sections = [line for line in lines if line.startswith("[")]
    tap.equal(sections, sorted(sections), "its cases are sorted")
    place = next(i for i, line in enumerate(lines) if line.startswith("time work"))
    other = lines[place].rsplit("|", 1)[0] + "| Another 1-2, avx2, 64 processors"
    with open(committed, "w") as file:
        file.write("\n".join(lines[:place] + [other.replace("0.001", "0.5")] + lines[place:]))
    done = p.elsewhere()
    tap.check("50 % worse" in done.out, "another kind of machine has its own line", done)
    with open(committed, "w") as file:
        file.write(text.replace("time work = 0.001", "time work = fast", 1))
    done = p.elsewhere()
    tap.check(done.code == 4 and f"baseline.ini:{place + 1}: " in done.err and "is no baseline" in done.err,
              "a wrong line is named", done)
    tap.equal(p.baseline().code, 3, "by the command too")
    with open(committed, "w") as file:
        file.write(text)
    p.learn(2e-3, commit="b")
    done = p.baseline("--update", TOLD)
    tap.check("work: 2 ms" in done.out and "before: 1 ms" in done.out and committed in done.out,
              "--update takes over what was measured since, into that file", done)
    done = p.probe()
    tap.check(done.code == 0 and "1 of 1 timed case red" in done.out, "--probe judges by it", done)
    with open(committed) as file:
        text = re.sub(r"(time work = )[0-9.e-]+(.*)\| [0-9-]+ \|", r"\g<1>0.5\2| 2999-01-01 |", file.read())
    with open(committed, "w") as file:
        file.write(text)
    done = p.baseline("--update", TOLD)
    tap.check(done.code == 0 and p.entries()[TOLD, "time", "work"]["typical"] == 0.5,
              "what the file has from a later day stays", done)


def check_states(tap, p):
    """The same work 1.3 times slower while a machine's neighbours are busy."""
    for seconds in (1e-3, 1.3e-3):
        p.tell(seconds)
        p.suite("-k", GREEN, "--repeat", "4", "--baseline=off")
    done = p.suite(TOLD, "-v")
    tap.equal((p.entries()[TOLD, "time", "work"]["typical"], p.entries()[TOLD, "time", "work"]["slower"]),
              (1e-3, 1.3e-3), "both states are kept")
    tap.check("1 noisy" in done.out and "in the slower of two states" in done.out, "the slower one is undecided", done)
    p.tell(1e-3)
    tap.check("1 passed" in p.judged(TOLD).out, "the faster one passes")
    p.tell(2e-3)
    done = p.judged(TOLD)
    tap.check(done.code == 1, "what is slower than both is red", done)


def check_figures(tap, p):
    """Which figure is compared, and how much worse it may become."""
    for seconds in (1e-3, 1.11e-3, 1.23e-3):
        p.tell(seconds, loss=seconds)
        p.suite("-k", GREEN, "--repeat", "4", "--baseline=off")
    done = p.suite(TOLD, "-v")
    tap.check("at most 26.4 % worse" in done.out, "three times the deviation, where that is more than 25 %", done)
    for share, of, typical in ((0.5, "share", 0.5), (0.1, "share", 0.1), (0.05, "time", 1.11e-3), (0, "time", 1.11e-3)):
        p.change("UPDATE measurement SET share = ?", share)
        p.baseline("--update", TOLD)
        entries = [e for e in p.entries().values() if e["id"] == TOLD and e["of"] != "exact"]
        tap.equal([(e["of"], e["typical"]) for e in entries], [(of, typical)], f"a share of {share}")
    tap.check((TOLD, "exact", "value loss") not in p.entries(), "a value that differs is no exact one", p.entries())
    p.change("UPDATE measurement SET share = NULL, median = 0")
    os.remove(os.path.join(p.folder, "h.baseline.ini"))
    done = p.baseline("--update", TOLD)
    tap.check(done.code == 0 and (TOLD, "time", "work") not in p.entries(), "work that takes no time has none", done)


def check_probe(tap, p):
    """Without a file that is committed: by what lies beside the history."""
    p.history = os.path.join(p.folder, ".yieldpoint", "history.db")
    p.suite(TOLD)
    p.learn()
    p.suite(TOLD)
    done = p.probe()
    tap.check(done.code == 0 and "1 of 1 timed case red" in done.out, "--probe judges by the baselines", done)
    done = run(p.command, "budgets", TOLD, cwd=p.folder)
    tap.check("  max regression work  25 % worse" in done.out and "1.25x" in done.out,
              "budgets lists them with the least regression they notice", done)


def check_names(tap, p):
    """Signs that mean something in the file."""
    for name in (" x ; # % = : | ", "[y]", "share time", "ü"):
        p.tell(1e-3, name=name)
        for _ in range(4):  # learned before the third, and read before the fourth
            done = p.suite(TOLD, "--repeat", "4", "-v")
        tap.check(done.code == 0 and f"{name} beside its baseline at most 25 % worse" in done.out, f"a name {name!r}", done)


def check_kinds(tap, p):
    """What runs at another speed for another reason than the code is another kind of machine."""
    p.learn()
    p.tell(1.5e-3)
    tap.equal(p.judged(TOLD).code, 1, "the same kind is judged")
    for name, words, env in (("instructions", ["--isa=baseline"], {}), ("processors", ["--cpus=0"], {}),
                             ("binding", ["--bind=cores"], {}), ("threads", [], {"OMP_NUM_THREADS": "7"})):
        done = run(p.program, "--history", p.history, TOLD, "-v", *words, cwd=p.folder, env=env)
        tap.check(done.code == 0 and "no baseline on this kind of machine yet (0 of 5 processes)" in done.out,
                  f"other {name}: not judged", done)
    for name, change in (("no optimisation", "'optimised', 'not optimised'"), ("another compiler", "'gcc', 'Clang'")):
        p.change(f"UPDATE fact SET value = replace(value, {change}) WHERE key = 'program.compiler'")
        for path in glob.glob(os.path.join(p.folder, "*.baseline.ini")):
            os.remove(path)
        done = p.suite(TOLD, "-v")
        tap.check(done.code == 0 and "no baseline" in done.out, f"{name}: not judged", done)


def main(program, command):
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        ENVIRONMENT["TMPDIR"] = folder
        tap.run("check_refused", check_refused, tap, folder, program, command)
        for check in (check_learning, check_verdicts, check_settings, check_file, check_states, check_kinds, check_names,
                      check_figures, check_rounding, check_probe):
            with tempfile.TemporaryDirectory(dir=folder) as place:
                tap.run(check.__name__, check, tap, Place(place, program, command))
    tap.done()


main(*map(os.path.abspath, sys.argv[1:3]))
