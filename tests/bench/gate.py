"""How often `yieldpoint gate` cries without a reason, what it misses, and how long it takes.

usage: gate.py BUILD [--same N] [--loaded N] [--slower N] [--exact N] [--change N] [--rebuilt N] [--busy] [--budget TIME] [--keep FILE]
    BUILD      a build directory with tests
    --same     whole gates of a revision against itself
    --loaded   the same beside a loop that keeps one processor busy
    --slower   of each change of speed: by 5 % and 10 %, in five cases of other kinds
    --exact    of each change of an exact figure
    --change   of the project itself in a clone: a commit that has one operator make a pass too many, beside 40 cases,
               in five minutes for all of them
    --rebuilt  of one source that both sides compile anew, in checkouts of their own: four cases
    --busy     has --rebuilt beside a loop that keeps one processor busy
    --keep     a file that gets a line of JSON a gate

Changes are 1 part in 20 or in 10 more of a case's work, or, of normalise_far, so many rows that are written column
by column as take so much longer on this machine; how much longer it took the median over all gates tells. A gate of
one case has the error that it would have among the nine."""

import argparse
import collections
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time

INI = """[gate]
setup = true
build = sh {source}/build.sh {source} {build}
suites = suite
keep = 20
"""
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CASES = 9
SLOWER = ("roots", "product", "copy", "walk", "normalise_far")
EXACT = {"allocations=1": "allocations", "bytes=1048576": "peak memory", "value=1e-3": "value"}

CHANGED = {
    "file": "models/nn/operators/selector.c",
    "old": "    weigh(call, call->value[X], weight, call->value[Y]);\n",
    "new": "    weigh(call, call->value[X], weight, call->value[Y]);\n" * 2,
    "cases": "operators or (rx.c and (statistics or score) and not growth) or (words_near and threads=1)",
}


def git(folder, *words):
    return subprocess.run(["git", "-c", "user.name=bench", "-c", "user.email=bench", "-C", folder, *words],
                          check=True, capture_output=True, text=True).stdout.strip()


def write(folder, name, text):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        file.write(text)


def make_repository(folder, build):
    suite = os.path.join(build, "tests/usage/usage-gate")
    git(folder, "init", "-q", "-b", "main")
    write(folder, "yieldpoint.ini", INI)
    write(folder, "build.sh", f'cp "{suite}" "$2/suite"\ntest ! -e "$1/change" || cp "$1/change" "$2/"\n')
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "base")


def changed(folder, change):
    git(folder, "checkout", "-q", "--detach", "main")
    write(folder, "change", change)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", change)
    return git(folder, "rev-parse", "HEAD")


class Bench:
    def __init__(self, folder, build, options):
        self.folder, self.options = folder, options
        self.program = os.path.join(build, "cli/yieldpoint")
        self.keep = open(options.keep, "a", encoding="utf-8") if options.keep else None

    def gate(self, what, head, *words):
        began = time.monotonic()
        budget = ["--budget", self.options.budget] if self.options.budget else []
        done = subprocess.run([self.program, "gate", "--base", "main", "--head", head, "--json", "-", *budget, *words],
                              cwd=self.folder, capture_output=True, text=True)
        if done.returncode not in (0, 1, 6):
            sys.exit(done.stderr)
        found = json.loads(done.stdout)
        found.update(what=what, code=done.returncode, wall=time.monotonic() - began)
        if self.keep:
            print(json.dumps(found), file=self.keep, flush=True)
        return found


def at_most(hits, count):
    """What a rate can be at most, by 95 % confidence (Clopper and Pearson), by bisection."""
    if hits >= count:
        return 1.0
    low, high = hits / count, 1.0
    for _ in range(60):
        p = (low + high) / 2
        tail = sum(math.comb(count, k) * p**k * (1 - p)**(count - k) for k in range(hits + 1))
        low, high = (p, high) if tail > 0.05 else (low, p)
    return high


def spread(values, unit=""):
    values = sorted(values)
    return (f"median {statistics.median(values):.3g}{unit}, from {values[0]:.3g} to {values[-1]:.3g}"
            if values else "none")


def times(found):
    return [c for c in found["comparisons"] if c["quantity"] == "time"]


def same(bench, name, count, head=lambda i: "main", *words):
    alarms = cases = 0
    walls, seconds, named, doubtful = [], [], [], []
    for i in range(count):
        found = bench.gate(name, head(i), "--always-time", *words)
        alarms += found["code"] == 1
        walls.append(found["wall"])
        for c in times(found):
            cases += 1
            if c["verdict"] == "cannot say":
                doubtful.append(c["case"].split("::")[1])
            seconds.append(c["seconds"])
        named += [(c["case"].split("::")[1], c["quantity"], c["verdict"], c["ratio"]) for c in found["comparisons"]
                  if c["verdict"] not in ("same", "cannot say")]
        print(f"{name} {i + 1}: exit {found['code']}, {found['wall']:.0f} s", flush=True)
    print(f"{name}: false alarms {alarms} of {count} gates (at most {100 * at_most(alarms, count):.1f} %), "
          f"cannot say {len(doubtful)} of {cases} cases ({100 * len(doubtful) / cases:.1f} %)")
    print(f"{name}: a gate {spread(walls, ' s')}; a case {spread(seconds, ' s')}")
    for case, count in collections.Counter(doubtful).most_common():
        print(f"{name}: cannot say {count} times of {case}")
    for line in named:
        print(f"{name}: {line}")


def rebuilt(bench, count, build):
    """One source, and on each side a build of its own."""
    folder = bench.folder
    with open(os.path.join(ROOT, "tests/usage/suites/gate.c"), encoding="utf-8") as file:
        write(folder, "suite.c", file.read())
    write(folder, "build.sh", f'''cd "$1" && cc -O2 -g -I "{ROOT}/include" -I "{build}/include" suite.c -o "$2/suite" \\
-Wl,--export-dynamic-symbol=main,--export-dynamic-symbol=readlink "{build}/harness/libyieldpoint-main.a" \\
"{build}/harness/libyieldpoint-inside.a" -pthread -lcriterion -lhwloc -lsqlite3 -lcjson -lm -ldl
''')
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "compiled")
    name = "rebuilt, busy" if bench.options.busy else "rebuilt"
    same(bench, name, count, lambda i: changed(folder, f"unread={i + 1}"), "-k",
         "(roots or product or copy or walk) and not long and not far")


def of_one(bench, what, case, commit):
    """The time of one case in a gate of it alone."""
    found = bench.gate(what, commit, "-k", case.split("_")[0] + " and not long and not far", "--error", f"{1 / CASES}%")
    return next(c for c in times(found) if c["case"].endswith("::" + case.split("_")[0]))


def rows_that_take(bench, part):
    """Of normalise_far: how many rows in a thousand make it longer by that part, as a hundred of them tell."""
    commit = changed(bench.folder, "normalise_far=100")
    each = statistics.median(of_one(bench, "far", "normalise_far", commit)["ratio"] - 1 for _ in range(3)) / 100
    return max(1, round(part / each))


def slower(bench, count):
    for one_in, word in ((20, "+5 %"), (10, "+10 %")):
        hits = tries = 0
        seconds = []
        for case in SLOWER:
            figure = rows_that_take(bench, 1 / one_in) if case == "normalise_far" else one_in
            commit = changed(bench.folder, f"{case}={figure}")
            mine, ratios = [], []
            got = 0
            for _ in range(count):
                c = of_one(bench, f"{word} {case}", case, commit)
                got += c["verdict"] == "slower"
                mine.append(c["seconds"])
                ratios.append(c["ratio"])
            print(f"{word} {case}: {got} of {count}, ratio {spread(ratios)}; {spread(mine, ' s')}", flush=True)
            hits, tries, seconds = hits + got, tries + count, seconds + mine
        print(f"{word}: found {hits} of {tries} (missed at most {100 * at_most(tries - hits, tries):.1f} %); "
              f"{spread(seconds, ' s')}")


def exact(bench, count):
    for change, quantity in EXACT.items():
        commit = changed(bench.folder, change)
        hits = sum(any(c["quantity"] == quantity and c["verdict"] in ("more", "changed")
                       for c in bench.gate(change, commit, "-k", "exact", "--budget", "1s")["comparisons"])
                   for _ in range(count))
        print(f"{change}: found {hits} of {count}", flush=True)


def change(bench, count):
    """Whether a commit that touches the code of one case is found, and no other case is blamed."""
    with tempfile.TemporaryDirectory() as folder:
        git(folder, "clone", "-q", ROOT, "project")
        bench.folder = project = os.path.join(folder, "project")
        path = os.path.join(project, CHANGED["file"])
        with open(path, encoding="utf-8") as file:
            text = file.read()
        if text.count(CHANGED["old"]) != 1:
            sys.exit(f"{CHANGED['file']}: what is to be changed does not stand there once")
        git(project, "checkout", "-q", "-B", "main")
        git(project, "checkout", "-q", "-b", "change")
        write(project, CHANGED["file"], text.replace(CHANGED["old"], CHANGED["new"]))
        git(project, "commit", "-qam", "change")
        for i in range(count):
            found = bench.gate("change", "change", "-m", "perf and small and not gpu", "-k", CHANGED["cases"], "--budget", "5m")
            verdicts = collections.Counter(c["verdict"] for c in times(found))
            worse = [f"{c['case']} {c['quantity']} {c['ratio']:.3f} [{c['low']:.3f}, {c['high']:.3f}]"
                     for c in found["comparisons"] if c["verdict"] in ("slower", "more", "changed", "broken")]
            print(f"change {i + 1}: exit {found['code']}, {len({c['case'] for c in found['comparisons']})} cases in "
                  f"{found['seconds']:.0f} s, times {dict(verdicts)}; worse: {worse}", flush=True)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n")[2])
    parser.add_argument("build")
    for name in ("same", "loaded", "slower", "exact", "change", "rebuilt"):
        parser.add_argument(f"--{name}", type=int, default=0)
    parser.add_argument("--busy", action="store_true")
    parser.add_argument("--budget")
    parser.add_argument("--keep")
    options = parser.parse_args()
    build = os.path.abspath(options.build)
    with tempfile.TemporaryDirectory() as folder:
        make_repository(folder, build)
        bench = Bench(folder, build, options)
        if options.exact:
            exact(bench, options.exact)
        if options.slower:
            slower(bench, options.slower)
        if options.same:
            same(bench, "same", options.same)
        busy = None
        if options.loaded or options.busy:
            busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
        try:
            if options.loaded:
                same(bench, "loaded", options.loaded)
            if options.rebuilt:
                rebuilt(bench, options.rebuilt, build)
        finally:
            if busy is not None:
                busy.kill()
                busy.wait()
        if options.change:
            change(bench, options.change)


if __name__ == "__main__":
    main()
