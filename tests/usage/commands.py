"""Commands as cases: what their lines mean, what they are given, how they end."""

import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from process import Started, wait_until  # noqa: E402
from program import results, rows, run  # noqa: E402
from tap import Tap  # noqa: E402

PEAK = "resident peak"
GROW = """import json, resource, sys
block = bytearray(int(sys.argv[1]) << 20)
for i in range(0, len(block), 4096):
    block[i] = 1
own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps({"value": "own", "number": own}))
"""
HOLD = """import sys, time
block = bytearray(b"x") * (int(sys.argv[1]) << 20)
time.sleep(0.4)
"""


class Place:
    """A project of its own, with the lines that a command says."""

    def __init__(self, program, folder):
        self.program, self.folder = program, os.path.realpath(folder)
        self.below = os.path.join(self.folder, "below")
        os.makedirs(self.below)
        self.history = os.path.join(self.folder, "history.db")
        self.write("yieldpoint.ini", "")
        self.write("lines", "")
        self.write("grow.py", GROW)
        self.write("hold.py", HOLD)

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w") as file:
            file.write(text)

    def run(self, *arguments, **more):
        return run(self.program, "--history", self.history, *arguments, cwd=self.below, **more)

    def one(self, test, *arguments, **more):
        """The newest result of the one case that is run."""
        done = self.run(f"commands.c::{test}", *arguments, **more)
        found = rows(self.history, "SELECT * FROM result ORDER BY started DESC, rowid DESC LIMIT 1")
        result = found[0]
        result["failures"] = [f["message"] for f in rows(
            self.history, "SELECT * FROM failure WHERE result_id = ? ORDER BY position",
            result["id"])]
        result["causes"] = [f["cause"] for f in rows(
            self.history, "SELECT * FROM failure WHERE result_id = ? ORDER BY position",
            result["id"])]
        result["values"] = rows(self.history, "SELECT name, value, unit FROM value WHERE "
                                "result_id = ? AND name <> ? ORDER BY position", result["id"], PEAK)
        result["measured"] = rows(self.history, "SELECT * FROM measurement WHERE result_id = ? "
                                  "ORDER BY position", result["id"])
        result["verdicts"] = rows(self.history, "SELECT * FROM verdict WHERE result_id = ? "
                                  "ORDER BY position", result["id"])
        result["run"] = done
        return result

    def says(self, lines, *arguments, test="says"):
        self.write("lines", lines)
        return self.one(test, *arguments)


# -- lines -------------------------------------------------------------------------------------

LONG = "x" * 63
# name: (lines, outcome, reason of a skip or a pattern for each failure)
LINES = {
    "nothing": ("", "passed", []),
    "output only": ("some text\n\n  {a brace}\nno newline", "passed", []),
    "objects that are no result": ('{"mean": 1}\n{}\n[1]\n"measure"\n{"seconds": [1]}\n{\n',
                                   "passed", []),
    "a skip": ('{"skip": "no module named torch"}\n', "skipped", "no module named torch"),
    "a skip ends the case": ('{"skip": "first"}\n{"fail": "later"}\n', "skipped", "first"),
    "a failure": ('{"fail": "rows 3 and 4 differ"}\n', "failed", ["^rows 3 and 4 differ$"]),
    "failures go on": ('{"fail": "one"}\ntext\n{"fail": "two"}\n', "failed", ["^one$", "^two$"]),
    "a skip after a failure": ('{"fail": "one"}\n{"skip": "two"}\n', "failed", ["^one$"]),
    "blanks before and after": (' \t{ "fail" : "one" } \r\n', "failed", ["^one$"]),
    "without a newline": ('{"fail": "one"}', "failed", ["^one$"]),
    "measure without seconds": ('{"measure": "a"}\n', "failed",
                                [r'^line 1 of the command\'s output: a "measure" needs "seconds"']),
    "measure of nothing": ('\n{"measure": "a", "seconds": []}\n', "failed",
                           [r'^line 2 .*"seconds" is a list of 0, allowed is a list of 1 to']),
    "seconds not a list": ('{"measure": "a", "seconds": 0.5}\n', "failed",
                           [r'"seconds" is 0\.5, allowed is a list']),
    "seconds negative": ('{"measure": "a", "seconds": [0.5, -0.25]}\n', "failed",
                         [r'"seconds" holds -0\.25, allowed is a list .* above 0']),
    "seconds zero": ('{"measure": "a", "seconds": [0.5, 0]}\n', "failed", [r'holds 0, allowed']),
    "seconds text": ('{"measure": "a", "seconds": ["1"]}\n', "failed", [r'holds "1", allowed']),
    "seconds null": ('{"measure": "a", "seconds": [null]}\n', "failed", [r'holds null, allowed']),
    "seconds infinite": ('{"measure": "a", "seconds": [1e999]}\n', "failed", [r'holds inf,']),
    "seconds nan": ('{"measure": "a", "seconds": [NaN]}\n', "failed",
                    [r'^line 1 .*: begins as a result, but is not JSON from column 30 on: NaN']),
    "items negative": ('{"measure": "a", "seconds": [1], "items": -1}\n', "failed",
                       [r'"items" is -1, allowed is a finite number from 0']),
    "bytes text": ('{"measure": "a", "seconds": [1], "bytes": "8"}\n', "failed",
                   [r'"bytes" is "8", allowed is a finite number from 0']),
    "warmup not whole": ('{"measure": "a", "seconds": [1], "warmup": 1.5}\n', "failed",
                         [r'"warmup" is 1\.5, allowed is a whole number']),
    "unit a number": ('{"measure": "a", "seconds": [1], "unit": 1}\n', "failed",
                      [r'"unit" is 1, allowed is a text of at most 63']),
    "unit too long": ('{"value": "a", "number": 1, "unit": "%sx"}\n' % LONG, "failed",
                      [r'"unit" is "x+']),
    "an unknown key": ('{"measure": "a", "second": [1]}\n', "failed",
                       [r'a "measure" has no "second", did you mean "seconds"\?; it has "measure", '
                        r'"seconds", "items", "unit", "flops", "bytes", "warmup"$']),
    "a key in capitals": ('{"value": "a", "Number": 1}\n', "failed", [r'has no "Number"']),
    "a key twice": ('{"value": "a", "number": 1, "number": 2}\n', "failed",
                    [r'"number" is there twice']),
    "two results in one line": ('{"value": "a", "number": 1, "hash": "0"}\n', "failed",
                                [r'two results, "value" and "hash": each needs a line']),
    "value without number": ('{"value": "a"}\n', "failed", [r'needs "number", a finite number']),
    "number text": ('{"value": "a", "number": "1"}\n', "failed", [r'"number" is "1", allowed']),
    "number true": ('{"value": "a", "number": true}\n', "failed", [r'"number" is true, allowed']),
    "number object": ('{"value": "a", "number": {}}\n', "failed", [r'"number" is \{\}, allowed']),
    "name a number": ('{"value": 1, "number": 1}\n', "failed", [r'"value" is 1, allowed is a text']),
    "name empty": ('{"value": "", "number": 1}\n', "failed",
                   [r"the name of a value is '': allowed are 1 to 63 characters"]),
    "name too long": ('{"value": "%sx", "number": 1}\n' % LONG, "failed", [r"name of a value is"]),
    "name in two lines": ('{"value": "a\\nb", "number": 1}\n', "failed", [r"name of a value is"]),
    "a value twice": ('{"value": "a", "number": 1}\n\n{"value": "a", "number": 2}\n', "failed",
                      [r"^line 3 of .*: the value 'a' is there already"]),
    "a measurement twice": ('{"measure": "a", "seconds": [1]}\n' * 2, "failed",
                            [r"^line 2 of .*: the measurement 'a' is there already"]),
    "the peak is reported by the framework": ('{"value": "%s", "number": 1}\n' % PEAK, "failed",
                                          [r"the value 'resident peak' is there already"]),
    "hash a number": ('{"hash": 7}\n', "failed", [r'"hash" is 7, allowed is a text of 1 to 16']),
    "hash with a prefix": ('{"hash": "0x7"}\n', "failed", [r'"hash" is "0x7", allowed']),
    "hash too long": ('{"hash": "%s"}\n' % ("0" * 17), "failed", [r'"hash" is "0+"']),
    "hash empty": ('{"hash": ""}\n', "failed", [r'"hash" is ""']),
    "skip without a reason": ('{"skip": ""}\n', "failed", [r'"skip" is "", allowed is a text']),
    "fail of a list": ('{"fail": ["a"]}\n', "failed", [r'"fail" is a list of 1, allowed']),
    "cut off": ('{"value": "a", "num', "failed", [r'begins as a result, but is not JSON']),
    "two objects in a line": ('{"value": "a", "number": 1} {"hash": "0"}\n', "failed",
                              [r'not JSON from column 29 on: \{"hash"']),
    "what is wrong ends the case": ('{"fail": "one"}\n{"hash": 1}\n{"fail": "two"}\n', "failed",
                                    ["^one$", "^line 2 "]),
    "nested deeply": ("{" * 5000 + "\n", "passed", []),
    "a NUL byte": ('{"value": "a", "number": 1}\0, "hash": 1}\n', "failed", [r'not JSON']),
}


def check_lines(tap, place):
    for name, (lines, outcome, expected) in LINES.items():
        r = place.says(lines)
        good = r["outcome"] == outcome
        if isinstance(expected, str):
            good = good and r["reason"] == expected and r["failures"] == []
        else:
            good = good and len(r["failures"]) == len(expected) and all(
                re.search(p, f, re.S) for p, f in zip(expected, r["failures"]))
        tap.check(good, f"lines: {name}", f"{r['outcome']} {r['reason']} {r['failures']}\n{r['run']}")
    tap.equal(place.says('{"hash": 7}\n')["causes"], ["usage"], "lines: a wrong one is a misuse")
    r = place.says('{"value": "v", "number": 1}\n{"measure": "a", "seconds": [1]}\n',
                   test="says_in_parallel")
    tap.check(len(r["values"]) == 1 and len(r["failures"]) == 1 and re.search(
        r"^line 2 .*a measurement, 'a', in a test that declares \.parallel", r["failures"][0])
        is not None, "lines: a measurement where others may run beside it", r["run"])
    tap.equal(place.says('{"fail": "x"}\n')["causes"], ["expectation"],
              "lines: a failure is an expectation")


def samples_of(place, result):
    import struct
    blobs = rows(place.history, "SELECT seconds FROM samples WHERE result_id = ? "
                 "ORDER BY position", result["id"])
    return [list(struct.unpack(f"<{len(b['seconds']) // 8}d", b["seconds"])) for b in blobs]


def check_results(tap, place):
    r = place.says('before\n{"measure": "mean", "seconds": [0.11, 0.12, 0.115], "items": 1000, '
                   '"unit": "values", "flops": 3, "bytes": 8e3, "warmup": 3}\nbetween\n'
                   '{"measure": "other", "seconds": [2]}\n'
                   '{"value": "auc", "number": 0.97, "unit": "of 1"}\n{"value": "n", "number": -3}\n'
                   '{"hash": "0123456789ABCdef"}\nafter\n')
    tap.check(r["outcome"] == "passed" and r["tail"] == "before\nbetween\nafter\n",
              "results are not output, and the rest is", f"{r['tail']!r}\n{r['run']}")
    tap.equal(r["data_hash"], "0123456789abcdef", "the hash of the data is stored")
    tap.equal([(v["name"], v["value"], v["unit"]) for v in r["values"]],
              [("auc", 0.97, "of 1"), ("n", -3, "")], "values are stored")
    tap.equal([(m["name"], m["unit"], m["items"], m["flops"], m["bytes"], m["batch"], m["warmup"],
                m["stop"], m["count"], m["median"]) for m in r["measured"]],
              [("mean", "values", 1000, 3, 8000, 1, 3, "fixed", 3, 0.115),
               ("other", "", 0, 0, 0, 1, 0, "fixed", 1, 2)], "measurements are stored")
    tap.equal(samples_of(place, r), [[0.11, 0.12, 0.115], [2.0]],
              "with their samples, in the order taken")

    many = [1 + i / 1024 for i in range(100000)]
    r = place.says('{"measure": "many", "seconds": %s}\n' % many)
    tap.check(samples_of(place, r) == [many], "100,000 samples in a line of 1 MB", r["run"])
    r = place.says("".join('{"value": "v%d", "number": %d}\n' % (i, i) for i in range(2000)))
    tap.equal(sorted(v["value"] for v in r["values"]), list(range(2000)), "2,000 results")


def check_budgets(tap, place):
    def verdicts(seconds, number):
        r = place.says('{"measure": "work", "seconds": [%s], "items": 100}\n'
                       '{"value": "auc", "number": %s}\n' % (", ".join([str(seconds)] * 9), number),
                       "--confirm=0", test="budgets")
        return r["outcome"], [v["met"] for v in r["verdicts"]]

    tap.equal(verdicts(0.05, 0.95), ("passed", ["met", "met", "met"]), "budgets: all met")
    tap.equal(verdicts(0.2, 0.95), ("failed", ["not met", "met", "met"]), "budgets: the rate is not")
    tap.equal(verdicts(0.6, 0.95), ("failed", ["not met", "not met", "met"]),
              "budgets: nor the latency")
    tap.equal(verdicts(0.05, 0.85), ("failed", ["met", "met", "not met"]), "budgets: the value")
    for factor, wanted in (("1.2x", "passed"), ("2x", "failed")):
        r = place.says('{"measure": "work", "seconds": [0.3, 0.3, 0.3], "items": 360}\n'
                       '{"value": "auc", "number": 1}\n', "--confirm=0", "--slowdown", factor,
                       test="budgets")
        tap.equal((r["outcome"], samples_of(place, r)[0][0]),
                  (wanted, 0.3 * float(factor[:-1])), f"budgets: --slowdown {factor} is {wanted}")
    r = place.says("", test="budgets")
    tap.equal((r["outcome"], [v["met"] for v in r["verdicts"]]), ("failed", ["unmeasured"] * 3),
              "budgets: of what was never reported are not met")
    r = place.says('{"measure": "work", "seconds": [0.6, 0.6], "items": 1}\n'
                   '{"value": "auc", "number": 1}\n', "--speed=record", test="budgets")
    tap.equal((r["outcome"], [v["met"] for v in r["verdicts"]]),
              ("passed", ["recorded", "recorded", "met"]), "budgets: --speed=record")


def check_memory(tap, place):
    """The interpreter alone takes some 10 MiB."""
    for mib, outcome in ((1, "passed"), (200, "failed")):
        r = place.one(f"resident[mib={mib}]")
        peak = rows(place.history, "SELECT value, unit FROM value WHERE result_id = ? AND "
                    "name = ?", r["id"], PEAK)
        own = r["values"][0]["value"]
        tap.check(r["outcome"] == outcome and len(peak) == 1 and peak[0]["unit"] == "B" and
                  mib * 2**20 < own <= peak[0]["value"] < own + 3 * 2**20 and
                  r["resident_before"] == 0 and r["resident_peak"] == peak[0]["value"],
                  f"the resident peak of a command that takes {mib} MiB is judged", (peak, r["run"]))
    for mib, outcome in ((1, "passed"), (100, "failed")):
        r = place.one(f"tree[mib={mib}]", "--confirm=0")
        largest, tree = r["verdicts"]
        tap.check(r["outcome"] == outcome and largest["met"] == "met" and
                  2 * mib * 2**20 < tree["measured"] < (2 * mib + 32) * 2**20,
                  f"two processes of {mib} MiB at once are judged together", (r["verdicts"], r["run"]))
    r = place.says("")
    small = rows(place.history, "SELECT value FROM value WHERE result_id = ? AND name = ?", r["id"],
                 PEAK)[0]["value"]
    tap.check(small < 32 * 2**20, f"that of `cat` is {small / 2**20:.1f} MiB", r["run"])


# -- what it is given --------------------------------------------------------------------------


def check_given(tap, place):
    texts = ["two words", "it's \"a\" $HOME `date` \\n b-c", "", "*", "#;&|<>(){}"]
    place.run("commands.c::quotes")
    tails = sorted(r["tail"] for c, r in results(place.history).items() if "::quotes" in c)
    tap.equal(tails, sorted(f"[{t}]\n[x{t}y]\n[sh]\n" for t in texts),
              "the value of an axis arrives as it is")
    r = place.one("quotes", "--set", "text=a\nb' $(id)")
    tap.equal(r["tail"], "[a\nb' $(id)]\n[xa\nb' $(id)y]\n[sh]\n", "that of --set too")

    place.run("commands.c::words", "--seed=18446744073709551615")
    tails = sorted(r["tail"] for c, r in results(place.history).items() if "::words" in c)
    tap.equal(tails, sorted(f"[{c}][-3][{n}][18446744073709551615][cpu]\n"
                            for c in ("a case", "small") for n in ("0.25", "1e+300")),
              "case, axes, seed and device; {{ is a brace")
    listed = place.run("commands.c::words", "--co", "-v", "--seed=7").out.splitlines()
    tap.equal([line for line in listed if line.startswith("    command: ")],
              [f"    command: printf '[%s]' {c} -3 {n} 7 cpu; {{ echo; }}"
               for c in ("'a case'", "small") for n in ("0.25", "1e+300")], "and in lists")
    listed = place.run("commands.c::quotes", "--co", "-v", "--set", "text=a\nb").out
    tap.check("\n    command: printf '[%s]\\n' 'a b' x'a b'y" in listed, "in one line", listed)

    r = place.one("environment", "--seed=5", env={"OUTER": "kept", "PLAIN": "outer"})
    lines = r["tail"].splitlines()
    for wanted in ("PLAIN=one", "QUOTED=two words", 'DOUBLE=a "b" $HOME', "JOINED=x", "EMPTY=",
                   "OF_AXIS=it's $HOME", "LAST=z", "YIELDPOINT_CASE=mine", "YIELDPOINT_SEED=5",
                   "OUTER=kept", "YIELDPOINT_SPEED=judge",
                   "YIELDPOINT_ID=commands.c::environment[text=it's%20$HOME]"):
        name = wanted.split("=")[0]
        tap.equal([line for line in lines if line.startswith(name + "=")], [wanted],
                  f"environment: {wanted}")
    for speed in ("record", "off"):
        r = place.one("environment", f"--speed={speed}")
        tap.check(f"YIELDPOINT_SPEED={speed}" in r["tail"].splitlines(), f"environment: {speed}", r)
    tap.equal([line for line in lines if line.startswith("BXFI_")], [],
              "environment: without Criterion's mark")

    tap.equal(place.one("reads")["tail"], '{"n":1}\\nend\n', "input: what is declared")
    tap.equal(place.one("reads_nothing")["tail"].split(), ["0"], "input: none")
    tap.equal(place.one("ignores_input")["outcome"], "passed", "input: nobody has to read it")
    where = place.one("where")["tail"].split()
    tap.equal(where[0], place.folder, "it runs in the project's root")
    tap.equal(where[1:-1], ["0", "1", "2"], "with three descriptors and the one of ls")
    r = place.one("runs_a_program", env={"PROGRAM": place.program})
    tap.check(r["outcome"] == "passed" and "1 passed" in r["tail"],
              "a program that links Criterion runs as it does alone", r["run"])


# -- how it ends -------------------------------------------------------------------------------


def check_ends(tap, place):
    cases = {
        "ends[status=0]": ("passed", None, []),
        "ends[status=1]": ("failed", "exit", ["^the command exited with status 1$"]),
        "ends[status=77]": ("skipped", None, "exited with status 77"),
        "ends[status=139]": ("failed", "exit",
                             [r"^the command exited with status 139, which stands for SIGSEGV"]),
        "is_killed[signal=SEGV]": ("failed", "signal", [r"^the command was killed by SIGSEGV"]),
        "is_killed[signal=KILL]": ("failed", "signal", [r"^the command was killed by SIGKILL"]),
        "not_found": ("failed", "exit", [r"status 127: not found"]),
        "not_executable": ("failed", "exit", [r"status 126: found, but it cannot be executed"]),
        "closes_early": ("failed", "exit", [r"status 3$"]),
        "name_taken": ("failed", "usage", [r"the value 'resident peak' is there already"]),
    }
    for test, (outcome, cause, expected) in cases.items():
        r = place.one(test)
        good = r["outcome"] == outcome
        if isinstance(expected, str):
            good = good and r["reason"] == expected
        else:
            good = good and len(r["failures"]) == len(expected) and all(
                re.search(p, f) and c == cause
                for p, f, c in zip(expected, r["failures"], r["causes"]))
        tap.check(good, f"ends: {test}", r["run"])
    tap.check("no-such-program" in place.one("not_found")["tail"],
              "ends: what was not found is in the output")
    r = place.says('{"measure": "a", "seconds": [1]}\n{"fail": "and"}\n')
    tap.equal((len(r["measured"]), r["outcome"]), (1, "failed"), "ends: a failed case's results stay")


def check_killed(tap, place):
    """Every process of a command goes with it, those in sessions of their own too."""
    for test, outcome, pattern in (
            ("hangs", "failed", r"^timeout: still running after 1 s, killed in the body"),
            ("leaves", "failed", r"^left 1 process running: sleep"),
            ("skips", "skipped", r"^no module named torch$"),
            ("is_wrong", "failed", r'^line 2 .*"hash" is 7'),
            ("floods", "failed", r"^wrote more than 1048576 bytes of output"),
            ("floods_in_one_line", "failed", r"^wrote more than 1048576 bytes of output"),
            ("long_result", "failed", r"^line 1 .*: longer than 16777216 bytes$")):
        started = Started(place.program, "--history", place.history, "--output-limit=1M",
                          f"commands.c::{test}", cwd=place.below)
        try:
            done = started.wait(60)
            left = started.living()
        finally:
            started.end()
        r = results(place.history)[f"commands.c::{test}"]
        messages = [r["reason"]] if outcome == "skipped" else [f["message"] for f in r["failures"]]
        tap.check(r["outcome"] == outcome and len(messages) == 1 and
                  re.search(pattern, messages[0] or "") is not None, f"killed: {test}", (messages, done))
        tap.equal(left, [], f"killed: {test} leaves nothing")

    started = Started(place.program, "--history", place.history, "--timeout=60",
                      "commands.c::hangs", cwd=place.below)
    try:
        wait_until(lambda: len([p for p in started.living() if p[1] == "sleep"]) == 2,
                   what="the command and its grandchild")
        started.process.kill()
        started.wait()
        run(place.program, "--history", place.history, "commands.c::where", cwd=place.below)
        tap.equal(started.living(), [], "killed: what a killed runner left, by the next run")
    finally:
        started.end()


def main(program):
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        place = Place(program, folder)
        tap.run("lines", check_lines, tap, place)
        tap.run("results", check_results, tap, place)
        tap.run("budgets", check_budgets, tap, place)
        tap.run("memory", check_memory, tap, place)
        tap.run("given", check_given, tap, place)
        tap.run("ends", check_ends, tap, place)
        tap.run("killed", check_killed, tap, place)
    tap.done()


main(*[os.path.abspath(p) for p in sys.argv[1:]])
