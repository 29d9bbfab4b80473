"""Allocations of a body by malloc and the operators of C++: the same as Valgrind's totals, whatever allocator the
program has, judged by budgets, and none of the framework's.

    heap.py PROGRAM PLAIN UNLINKED OPERATORS COMMAND [sanitized]"""

import glob
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from program import results, rows, run  # noqa: E402
from tap import Tap  # noqa: E402

FILE = "heap.cpp::"
FIGURES = ("allocations", "frees", "total")
TOTALS = re.compile(r"total heap usage: ([\d,]+) allocs, ([\d,]+) frees, ([\d,]+) bytes allocated")


def heap_of(history, name, file=FILE):
    found = rows(history, "SELECT m.* FROM memory AS m JOIN result AS r ON m.result_id = r.id WHERE m.memory = 'heap'"
                          " AND r.case_id = ? ORDER BY r.started DESC, r.rowid DESC LIMIT 1", file + name)
    return found[0] if found else None


def figures(history, name):
    heap = heap_of(history, name)
    return heap and tuple(heap[figure] for figure in FIGURES)


def valgrind(plain, name):
    """Allocations, frees and bytes of a program, without those of a process that does nothing."""
    def totals(which):
        done = subprocess.run(["valgrind", "--run-libc-freeres=no", "--run-cxx-freeres=no", plain, which], capture_output=True, text=True,
                              timeout=300, check=False)
        found = TOTALS.search(done.stderr)
        return tuple(int(number.replace(",", "")) for number in found.groups()) if found else (0, 0, 0)
    return tuple(a - b for a, b in zip(totals(name), totals("none")))


def check_valgrind(tap, program, plain, history):
    done = run(program, "--history", history, "-k", "programs")
    tap.equal(done.code, 0, "the five programs run")
    for name in ("lists", "strings", "aligned", "threads", "containers"):
        ours, theirs = figures(history, name), valgrind(plain, name)
        tap.check(ours and theirs[0] > 0 and ours == theirs, f"{name}: allocations, frees and bytes are Valgrind's",
                  f"{ours}, Valgrind {theirs}\n{done}")


def check_figures(tap, program, history):
    done = run(program, "--history", history, FILE + "known", FILE + "framework", FILE + "measured", FILE + "not_counted", FILE + "forks", "-v")
    tap.equal(done.code, 0, "budgets of the heap that are met")
    heap = heap_of(history, "known")
    tap.check(heap and (heap["allocations"], heap["frees"], heap["total"], heap["allocated_peak"], heap["allocated"]) ==
              (4, 4, 1450, 1300, 0), "allocations, bytes and peak to the byte", f"{heap}\n{done}")
    tap.equal(figures(history, "framework"), (0, 0, 0), "the framework's own memory is not counted")
    tap.equal(figures(history, "measured[asked=0]"), (1, 1, 64), "a measured block is not, but for what it frees")
    tap.equal(figures(history, "measured[asked=1]"), (11, 11, 164), "unless it asks")
    tap.equal(figures(history, "not_counted"), None, "nothing is counted without .heap")
    again = run(program, "--history", history, "--no-fork", FILE + "known", FILE + "framework")
    tap.check(again.code == 0 and figures(history, "known") == (4, 4, 1450), "--no-fork, too", again)


def check_failures(tap, program, history):
    done = run(program, "--history", history, FILE + "too_much", FILE + "leaks")
    found = results(history)
    messages = [f["message"] for f in found[FILE + "too_much"]["failures"]]
    tap.equal(done.code, 1, "budgets of the heap that are not met: exit code")
    tap.check(messages == ["budget heap memory: at most 99 B at once: 100 B, 1.01 % above the limit",
                           "budget heap memory: at most 0 allocations: 1"], "each is named with its figure", messages)
    leak = found[FILE + "leaks"]["failures"]
    tap.check(len(leak) == 1 and leak[0]["cause"] == "leak" and "at most 10 B left behind: 70 B" in leak[0]["message"] and
              leak[0]["message"].endswith("; 2 blocks, the first of 30 bytes"), "a leak is one", leak)
    frames = (leak[0]["stack"] or "").split("\n")
    tap.check("lose" in frames[0] and "ypi_body_heap_leaks" in frames[1], "with the stack of the first", leak)
    run(program, "--history", history, "--keep-tmp", "all", FILE + "first_leaks", env={"TMPDIR": os.getcwd()})
    leak = results(history)[FILE + "first_leaks"]["failures"]
    tap.check("lose" in (leak[0]["stack"] or ""), "of a process with a directory of its own", leak)
    tap.check(len(glob.glob("yieldpoint-*")) == 1, "which is not kept", os.listdir("."))


def check_refusals(tap, program, history):
    done = run(program, "--history", history, "--fail-allocation", "each", FILE + "sound", FILE + "loses")
    found = results(history)
    values = rows(history, "SELECT v.name, v.value FROM value AS v JOIN result AS r ON v.result_id = r.id WHERE"
                           " r.case_id = ? AND v.name = 'allocations refused'", FILE + "sound")
    tap.check(found[FILE + "sound"] and [v["value"] for v in values] == [4], "each request is refused once, yp_alloc's too",
              f"{values}\n{done}")
    tap.check(done.code == 1 and "with allocation 2 refused (--fail-allocation=2): it left memory of the heap behind" in
              done.out and "1 failed, 1 passed" in done.out, "what a refusal leaves behind is named", done)
    done = run(program, "--history", history, "--fail-allocation", "2", FILE + "loses")
    tap.check(done.code == 1 and "at most 0 B left behind: 10 B" in done.out, "and is found again by its number", done)
    done = run(program, "--history", history, "--no-fork", "--fail-allocation", "1", "--repeat", "3", FILE + "loses")
    tap.check(done.code == 0 and "3 passed" in done.out and heap_of(history, "loses")["refused"] == 1, "--no-fork, too", done)
    done = run(program, "--history", history, "--no-fork", "--fail-allocation", "each", FILE + "sound", FILE + "loses")
    tap.check(done.code == 1 and "1 failed, 1 passed" in done.out, "and each", done)


def check_operators(tap, operators, history):
    done = run(operators, "--history", history)
    figures_of = heap_of(history, "own", "heap_operators.cpp::")
    tap.check(done.code == 0 and figures_of and tuple(figures_of[f] for f in FIGURES) == (5, 5, 580),
              "a program's own new and delete have all objects", f"{figures_of}\n{done}")


def check_allocators(tap, program, history):
    for name in ("jemalloc", "mimalloc", "tcmalloc_minimal"):
        libraries = sorted(glob.glob(f"/usr/lib/*/lib{name}.so.*"))
        if not libraries:
            tap.skip(f"{name}: the same figures", "it is not installed")
            continue
        done = run(program, "--history", history, "-k", "programs or known", env={"LD_PRELOAD": libraries[0]})
        tap.check(done.code == 0 and figures(history, "known") == (4, 4, 1450) and
                  figures(history, "aligned") == CONTAINED["aligned"] and
                  figures(history, "containers") == CONTAINED["containers"], f"{name}: the same figures", done)


CONTAINED = {}


def check_declarations(tap, unlinked):
    done = run(unlinked, "--co")
    tap.equal(done.code, 2, "declarations that cannot be: exit code")
    for text in (".heap needs the library yieldpoint-heap", "(max peak) is of the heap: the test needs .heap = true",
                 "a command has .heap: allowed in YP_TEST only"):
        tap.check(text in done.out + done.err, f"the error says: {text}", done)


def main():
    program, plain, unlinked, operators = (os.path.abspath(path) for path in sys.argv[1:5])
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        history = os.path.join(folder, "history.db")
        check_declarations(tap, unlinked)
        if "sanitized" in sys.argv:
            done = run(program, "--history", history, FILE + "known", FILE + "too_much", "-v")
            tap.check(done.code == 0 and "the heap is not counted: it is " in done.out and
                      heap_of(history, "known") is None, "under a sanitizer nothing is counted, and a note says so", done)
            tap.done()
            return
        check_figures(tap, program, history)
        check_failures(tap, program, history)
        check_refusals(tap, program, os.path.join(folder, "refusals.db"))
        check_operators(tap, operators, history)
        check_valgrind(tap, program, plain, history)
        CONTAINED.update({name: figures(history, name) for name in ("aligned", "containers")})
        check_allocators(tap, program, history)
    tap.done()


main()
