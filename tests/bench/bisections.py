"""How often `yieldpoint bisect` names the commit that made a case slower.

usage: bisections.py BUILD [--slower N] [--loaded N] [--only I] [--budget TIME] [--minutes M] [--seed S] [--keep FILE]
    BUILD      a build directory with tests
    --slower   bisects of each planted slowdown, +5 % and +10 % in one of 20 commits
    --loaded   the same beside a loop that keeps one processor busy
    --only     of the bisects that --slower and --loaded name, the one numbered I alone, from 0
    --budget   of each bisect, 5m unless given
    --minutes  begins no bisect later than that
    --keep     a file that gets a line of JSON a bisect

The planted commit is drawn; the case (roots, product, copy, walk) changes from pair to pair of both slowdowns. A bisect is right
where it names that commit, wrong where it names another one, or says of the right one that it is only a part; else it
could not say."""

import argparse
import collections
import json
import os
import random
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from gate import git, make_repository, write  # noqa: E402

COMMITS = 20
CASES = ("roots", "product", "copy", "walk")


def plant(folder, base, case, one_in, culprit):
    """Commits on top of the base, of which the one numbered `culprit` and all after it are slower."""
    git(folder, "checkout", "-q", "--detach", base)
    commits = []
    for i in range(COMMITS):
        write(folder, "n", str(i))
        if i == culprit:
            write(folder, "change", f"{case}={one_in}")
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "-m", f"step {i}")
        commits.append(git(folder, "rev-parse", "HEAD"))
    return commits


def verdict(done, commits, culprit):
    try:
        found = json.loads(done.stdout)
    except ValueError:
        return "failed", {"error": done.stderr[-2000:]}
    left = [c["commit"] for c in found["left"]]
    beside = found["beside_parent"] or {}
    kept = {"code": done.returncode, "steps": len(found["steps"]), "seconds": found["seconds"],
            "followed": found["followed"], "left": [commits.index(c) for c in left], "part": beside.get("part"),
            "part_low": beside.get("part_low"), "part_high": beside.get("part_high")}
    if done.returncode != 0:
        return "cannot say", kept
    if left != [commits[culprit]]:
        return "wrong", kept
    return ("a false part" if beside.get("verdict") == "good" else "right"), kept


def bisect(build, folder, base, number, options):
    percent, case = (5, 10)[number % 2], CASES[number // 2 % len(CASES)]
    culprit = random.Random(1000 * options.seed + number).randrange(COMMITS)
    commits = plant(folder, base, case, 100 // percent, culprit)
    done = subprocess.run([os.path.join(build, "cli/yieldpoint"), "bisect", f"gate.c::{case}", "--good", base,
                           "--bad", commits[-1], "--budget", options.budget, "--json", "-"], cwd=folder, capture_output=True, text=True)
    said, kept = verdict(done, commits, culprit)
    if options.keep:
        with open(options.keep, "a", encoding="utf-8") as file:
            file.write(json.dumps({"case": case, "percent": percent, "culprit": culprit, "said": said, **kept}) + "\n")
    print(f"+{percent} % {case:<8} commit {culprit:>2}: {said}, {kept.get('steps')} steps in {kept.get('seconds', 0):.0f} s"
          f"{'' if said == 'right' else ' ' + json.dumps(kept)}", flush=True)
    return said


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("build", type=os.path.abspath)
    parser.add_argument("--slower", type=int, default=0)
    parser.add_argument("--loaded", type=int, default=0)
    parser.add_argument("--only", type=int)
    parser.add_argument("--budget", default="5m")
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=os.path.abspath)
    options = parser.parse_args()
    end = time.monotonic() + 60 * options.minutes
    counts = collections.defaultdict(collections.Counter)
    with tempfile.TemporaryDirectory() as folder:
        make_repository(folder, options.build)
        base = git(folder, "rev-parse", "HEAD")
        for what, times in (("slower", options.slower), ("loaded", options.loaded)):
            load = subprocess.Popen(["sh", "-c", "while :; do :; done"]) if what == "loaded" and times > 0 else None
            try:
                for number in range(2 * times) if options.only is None else range(options.only, options.only + 1):
                    if times == 0 or time.monotonic() > end:
                        break
                    counts[f"{what}, +{(5, 10)[number % 2]} %"][bisect(options.build, folder, base, number, options)] += 1
            finally:
                if load is not None:
                    load.kill()
                    load.wait()
    for what, found in counts.items():
        print(f"{what}: {', '.join(f'{n} {said}' for said, n in found.items())}")


if __name__ == "__main__":
    main()
