"""--instructions: counts that repeat exactly, and a case that finds everything as it does without."""

import os
import re
import shutil
import stat
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from process import Started  # noqa: E402
from program import results, rows, run  # noqa: E402
from tap import Tap  # noqa: E402

SEED = "--seed=18446744073709551615"
CASE = "surroundings[two-n=7-x=0.1-text=it's%20a%20\"b\"]"
LOOP = 400  # instructions, at most, of the measuring loop around an iteration


class Place:
    def __init__(self, program, folder):
        self.program = program
        self.folder = os.path.join(folder, "100% odd 'place'")  # names that Valgrind might read
        os.makedirs(self.folder)
        self.history = os.path.join(self.folder, "history.db")

    def run(self, *cases, **more):
        arguments = [c if c.startswith("-") else f"instructions.c::{c}" for c in cases]
        return run(self.program, "--history", self.history, "--instructions", *arguments,
                   cwd=self.folder, **more)

    def one(self, case, *arguments, **more):
        done = self.run(case, *arguments, **more)
        newest = rows(self.history, "SELECT id, case_id FROM result ORDER BY started DESC, "
                      "rowid DESC LIMIT 1")[0]
        result = results(self.history)[newest["case_id"]]
        result["run"] = done
        return result

    def count(self, case):
        """What was counted, as the budget's verdict has it."""
        result = self.one(case)
        return result["verdicts"][0]["measured"] if result["verdicts"] else None


def check_counts(tap, place):
    counts = [place.count("kernel[turns=100000]") for _ in range(3)]
    tap.check(len(set(counts)) == 1 and None not in counts, "a kernel: equal in three runs", counts)
    first = counts[0] or 0
    tap.check(400000 <= first <= 400000 + LOOP, f"a kernel of 400,000 instructions: {first}")
    more = place.count("kernel[turns=101000]")
    tap.equal(more, first + 4000, "1 % more turns are 1 % more instructions")
    counts = [place.count("library") for _ in range(3)]
    tap.check(len(set(counts)) == 1 and None not in counts and counts[0] > 1e6,
              "the C library: equal in three runs", counts)
    place.run("library", "--repeat=2")
    found = rows(place.history, "SELECT DISTINCT measured FROM verdict JOIN result ON "
                 "result.id = result_id WHERE case_id GLOB '*library*'")
    tap.equal([f["measured"] for f in found], counts[:1], "and under --repeat")


def check_judged(tap, place):
    r = place.one("kernel[turns=100000]")
    tap.equal((r["outcome"], [v["met"] for v in r["verdicts"]]), ("passed", ["met"]),
              "a budget of instructions is met")
    r = place.one("kernel[turns=101000]")
    tap.check(r["outcome"] == "failed" and [v["met"] for v in r["verdicts"]] == ["not met"] and
              r["run"].code == 1 and re.search(r"kernel", r["failures"][0]["message"]) is not None,
              "or not, by half a percent", r["run"])
    tap.check("--instructions" in r["run"].out, "and reproduced by the same option", r["run"])


def check_surroundings(tap, place):
    r = place.one(CASE, SEED)
    tap.check(r["outcome"] == "passed" and r["data_hash"] == "0000000000000005",
              "a case finds its name, axes, seed and an empty input", r["run"])
    tap.check(re.search(r"isa avx2, core type Haswell, threads 1, policy passive\n.*standard error",
                        r["tail"], re.S) is not None, "with what Valgrind needs set", r["tail"])
    values = rows(place.history, "SELECT value FROM value WHERE result_id = ? AND name = 'value'",
                  r["id"])
    tap.equal(values, [{"value": 3.0}], "and tells values")
    memory = rows(place.history, "SELECT allocated_peak FROM memory WHERE result_id = ?", r["id"])
    tap.equal(memory[0]["allocated_peak"], 1000, "and accounts for memory")
    r = place.one(CASE, SEED,
                  env={"YIELDPOINT_ISA": "baseline", "OPENBLAS_CORETYPE": "Prescott",
                       "OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "active"})
    tap.check("isa baseline, core type Prescott, threads 2, policy active" in r["tail"],
              "what the user has set stays", r["tail"])
    r = place.one(CASE, SEED, env={"YIELDPOINT_ISA": "amx"})
    tap.check("isa avx2," in r["tail"], "but for instructions that Valgrind does not know",
              r["tail"])
    done = place.run(CASE, SEED, "-s")
    tap.check("said on standard output" in done.out + done.err and done.code == 0, "under -s", done)
    r = place.one("allocates", "--memory-limit=1M")
    tap.check(r["outcome"] == "failed" and r["failures"][0]["cause"] == "out of memory",
              "the memory limit holds", r["run"])
    tap.equal(place.one("allocates")["outcome"], "passed", "and only where it is given")
    r = place.one("parallel")
    values = rows(place.history, "SELECT value FROM value WHERE result_id = ?", r["id"])
    tap.equal((r["outcome"], values), ("passed", [{"value": 0.0}]),
              "a case that times nothing runs without Valgrind")
    r = place.one("command")
    tap.check(r["outcome"] == "skipped" and "not in a command" in r["reason"],
              "a command is skipped", r["run"])


def check_ends(tap, place):
    for case, outcome, pattern in (("crashes", "failed", r"^crashed in the body: SIGSEGV"),
                                   ("leaves", "failed", r"exited with status 3 in the body$"),
                                   ("skips", "skipped", r"^for a reason$"),
                                   ("hangs", "failed", r"^timeout: still running after 2 s")):
        started = Started(place.program, "--history", place.history, "--instructions",
                          f"instructions.c::{case}", cwd=place.folder)
        try:
            done = started.wait(60)
            left = started.living()
        finally:
            started.end()
        r = results(place.history)[f"instructions.c::{case}"]
        message = r["reason"] if outcome == "skipped" else r["failures"][0]["message"]
        tap.check(r["outcome"] == outcome and re.search(pattern, message) is not None,
                  f"ends: {case}", (message, done))
        tap.equal(left, [], f"ends: {case} leaves nothing")
    tap.equal([f for f in os.listdir(place.folder) if f.startswith("run-")], [],
              "no folder of a run is left")


def check_absent(tap, place):
    bare = os.path.join(place.folder, "bin")
    os.makedirs(bare)
    r = place.one("library", env={"PATH": bare})
    tap.check(r["outcome"] == "skipped" and "no program 'valgrind' in PATH" in r["reason"] and
              r["run"].code == 0, "without valgrind a case is skipped", r["run"])
    tap.equal(place.one("parallel", env={"PATH": bare})["outcome"], "passed",
              "unless it times nothing")
    broken = os.path.join(bare, "valgrind")
    with open(broken, "w") as file:
        file.write("#!/bin/sh\necho valgrind: not today >&2\nexit 9\n")
    os.chmod(broken, stat.S_IRWXU)
    r = place.one("library", env={"PATH": bare})
    tap.check(r["outcome"] == "failed" and "status 9 before it began" in
              r["failures"][0]["message"] and "not today" in r["tail"],
              "a valgrind that fails is a failure, with what it says", r["run"])
    with open(broken, "w") as file:
        file.write("#!/nowhere\n")
    r = place.one("library", env={"PATH": bare})
    tap.check(r["outcome"] == "failed" and re.match(
        r"valgrind: No such file or directory", r["failures"][0]["message"]) is not None,
        "one that cannot be executed too", r["run"])
    done = place.run("library", env={"YIELDPOINT_DIRECT": "/nowhere/1.channel"})
    tap.check(done.code == 3 and re.search(
        r"^error: YIELDPOINT_DIRECT: /nowhere/1\.channel\.job: No such file", done.err)
        is not None, "the order to run a case directly needs one", done)


def main(program):
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        place = Place(program, os.path.realpath(folder))
        first = place.one("library")
        if first["outcome"] == "skipped":
            tap.check(shutil.which("valgrind") is None or
                      re.search("built without|AddressSanitizer", first["reason"]) is not None,
                      "counting is absent for a reason", first["run"])
            tap.skip("instructions", first["reason"])
            tap.done()
        tap.run("counts", check_counts, tap, place)
        tap.run("judged", check_judged, tap, place)
        tap.run("surroundings", check_surroundings, tap, place)
        tap.run("ends", check_ends, tap, place)
        tap.run("absent", check_absent, tap, place)
    tap.done()


main(os.path.abspath(sys.argv[1]))
