"""yieldpoint bisect: which commit it finds, what it skips, what it refuses, what it leaves behind.

usage: bisecting.py YIELDPOINT SUITE OTHER_SUITE [sanitized]"""

import json
import os
import re
import signal
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from process import Started, gone, wait_until  # noqa: E402
from program import run  # noqa: E402
from revisions import Repository  # noqa: E402
from tap import Tap  # noqa: E402

SANITIZED = "sanitized" in sys.argv
# Its exact figures are found before its time is looked at. On a busy machine, and with a sanitizer, all takes longer.
EXACT = ("gate.c::exact", "--budget", "40s")
FINE, NOTHING, INTERRUPTED, INTERNAL, USAGE, UNSELECTED, UNSURE = range(7)


def bisect(yieldpoint, r, *words):
    return run(yieldpoint, "bisect", *words, cwd=r.path, env=r.environment())


def found(done):
    return json.loads(done.out)


def grow(r, *steps):
    """Commits on top of the base, each a dictionary of files; their hashes."""
    r.git("checkout", "-q", "--detach", r.base)
    return [r.then(f"step {i + 1}", **files) for i, files in enumerate(steps)]


def check_allocation(tap, yieldpoint, r):
    """In as few steps as halving takes, which tests/unit/gate/search.c tries at every place."""
    commits = grow(r, *({"change": "allocations=1" if i >= 5 else "value=0", "n": str(i)} for i in range(1, 8)))
    done = bisect(yieldpoint, r, *EXACT, "--good", r.base, "--bad", "HEAD", "--json", "-")
    b = found(done)
    tap.equal((done.code, [c["commit"] for c in b["left"]]), (FINE, [commits[4]]), "one allocation more in commit 5 of 7")
    tap.check(len(b["steps"]) <= 3 and b["followed"]["quantity"] == "peak memory", "in three steps at most", b)
    bad = [s for s in b["steps"] if s["commit"] in commits[4:]]
    tap.check(bad and all(s["verdict"] == "bad" and s["comparisons"] == [] and s["reason"] ==
                          f"not run: the same code as {commits[6][:10]}, which is bad" for s in bad),
              "the same code as bad: not run", b["steps"])
    good = [s for s in b["steps"] if s["commit"] in commits[:4]]
    tap.check(good and all(s["verdict"] == "good" for s in good) and good[0]["reason"] is None and
              all(s["reason"] == f"not run: the same code as {good[0]['commit'][:10]}, which is good"
                  for s in good[1:]), "nor what is the same code as one that was tried", b["steps"])
    times = [c for c in b["beside_parent"]["comparisons"] if c["quantity"] == "time"]
    tap.check([c["name"] for c in times] == ["sum"], "its time beside its parent is told", b["beside_parent"])
    tap.check(b["beside_parent"]["part"] == 1 and b["beside_parent"]["verdict"] == "bad", "all of it is its own", b)
    tap.equal(r.git("rev-parse", "HEAD"), commits[-1], "the checkout stays")
    tap.equal(r.clean(), None, "nothing is left")


def check_time(tap, yieldpoint, r):
    commits = grow(r, *({"change": "roots=1" if i >= 4 else "value=0", "n": str(i)} for i in range(1, 7)))
    markdown = os.path.join(r.path, "..", "bisect.md")
    done = bisect(yieldpoint, r, "gate.c::roots", "--good", r.base, "--bad", "HEAD", "--markdown", markdown)
    tap.check(done.code == FINE and f"first bad commit: {commits[3]}\n" in done.out, "twice the time", done)
    tap.check(re.search(r"followed: time of roots, which bad has [12]\.\d+ times", done.out), "what is followed", done)
    tap.check(f"  beside its parent {commits[2][:10]}: time of roots " in done.out, "beside its parent", done)
    tap.check(re.search(r"(9\d|10\d|11\d) % of the way from good to bad \[\d+ %, \d+ %\]\n", done.out), "how much of it", done)
    tap.check(re.search(r"[234] of 6 commits tried", done.out), "how many were tried", done)
    with open(markdown, encoding="utf-8") as file:
        text = file.read()
    tap.check(text.startswith(f"**first bad commit: {commits[3]}**\n") and "| bad | " in text, "in Markdown", text)


def check_parts(tap, yieldpoint, r):
    """Two commits that each do half of it: the one that goes beyond the middle, and it is told that it is a part."""
    kib = ["bytes=1048576" if i < 2 else "bytes=1500000" if i < 5 else "bytes=2097152" for i in range(6)]
    commits = grow(r, {"change": "value=0"}, *({"change": c, "n": str(i)} for i, c in enumerate(kib)))
    done = bisect(yieldpoint, r, *EXACT, "--good", r.base, "--bad", "HEAD")
    tap.check(done.code == FINE and f"first bad commit: {commits[3]}\n" in done.out and
              "% of the way from good to bad: only a part of it, other commits did the rest" in done.out,
              "a part of it", done)
    tap.check(re.search(rf"\n  beside its parent {commits[2][:10]}: peak memory.*\n  time of .*\n", done.out),
              "and its time", done)


def check_skipped(tap, yieldpoint, r):
    """What does not build, has no suite or no such case is skipped, next to the culprit too."""
    good, bad = {"change": "value=0"}, {"change": "value=1e-3"}
    one = [{"broken": ""}, {"broken": None, **good, "n": "1"}, {"none": "", "other": "", "n": "2"},
           {"none": None, "other": None, **bad, "n": "3"}, {"broken": "", "n": "4"}, {"broken": None, "n": "5"}]
    commits = grow(r, *one)
    file = os.path.join(r.path, "..", "bisect.json")
    done = bisect(yieldpoint, r, *EXACT, "--good", r.base, "--bad", "HEAD", "--json", file)
    with open(file, encoding="utf-8") as text:
        b = json.load(text)
    tap.equal((done.code, [c["commit"] for c in b["left"]]), (UNSURE, commits[2:4]),
              "a skipped one beside it: two are left")
    reasons = {s["commit"]: s["reason"] for s in b["steps"] if s["verdict"] == "skipped"}
    tap.check(reasons.get(commits[2]) == "it does not have the case", "skipped: no such case", reasons)
    tap.check("the first bad commit is one of these 2\n" in done.out and all(c[:10] in done.out for c in commits[2:4]),
              "both are named", done)
    commits = grow(r, {**good, "n": "1"}, {"broken": "", "n": "2"}, {"n": "3"}, {"broken": None, **bad}, {"n": "5"})
    done = bisect(yieldpoint, r, *EXACT, "--good", r.base, "--bad", "HEAD", "--json", "-")
    b = found(done)
    tap.equal((done.code, [c["commit"] for c in b["left"]]), (UNSURE, commits[1:4]), "two that do not build before it")
    tap.check("it does not build" in [s["reason"] for s in b["steps"]], "skipped: it does not build", b["steps"])
    tap.equal(r.clean(), None, "nothing is left of them")


def check_merges(tap, yieldpoint, r):
    """A side branch: its commit is found, and with --first-parent the merge that brought it."""
    first = grow(r, {"n": "1"})[0]
    side = [r.then(f"side {i}", change="allocations=1" if i >= 2 else "value=0", m=str(i)) for i in (1, 2, 3)]
    r.git("checkout", "-q", "--detach", first)
    r.then("step 2", n="2")
    r.git("merge", "-q", "--no-edit", "-m", "merge", side[-1])
    merge = r.git("rev-parse", "HEAD")
    r.then("step 4", n="4")
    words = [*EXACT, "--good", r.base, "--bad", "HEAD", "--json", "-"]
    done = bisect(yieldpoint, r, *words)
    tap.equal((done.code, [c["commit"] for c in found(done)["left"]]), (FINE, [side[1]]), "a commit of a side branch")
    done = bisect(yieldpoint, r, *words, "--first-parent")
    tap.equal((done.code, [c["commit"] for c in found(done)["left"]]), (FINE, [merge]), "--first-parent: its merge")


def check_left_before_good(tap, yieldpoint, r):
    """A branch that left before good and is merged after it is a part of good..bad."""
    r.git("checkout", "-q", "--detach", r.base)
    side = [r.then(f"side {i}", change="allocations=1" if i >= 2 else "value=0", m=str(i)) for i in (1, 2, 3)]
    good = grow(r, {"n": "1"})[0]
    r.then("step 2", n="2")
    r.git("merge", "-q", "--no-edit", "-m", "merge", side[-1])
    merge = r.git("rev-parse", "HEAD")
    words = ["gate.c::exact", "--follow", "peak memory", "--good", good, "--bad", "HEAD", "--json", "-"]
    done = bisect(yieldpoint, r, *words)
    b = found(done)
    tap.equal((done.code, [c["commit"] for c in b["left"]], b["commits"]), (FINE, [side[1]], 5),
              "a branch that left before good")
    done = bisect(yieldpoint, r, *words, "--first-parent")
    tap.equal((done.code, [c["commit"] for c in found(done)["left"]]), (FINE, [merge]),
              "a branch that left before good, --first-parent")
    # The branch never had what makes good good: its first commit is bad, and changed nothing.
    r.git("checkout", "-q", "--detach", r.base)
    r.then("bad from the beginning", change="allocations=1")
    side = [r.then(f"side {i}", m=str(i)) for i in (1, 2)]
    r.git("checkout", "-q", "--detach", "HEAD~2")
    good = r.then("good", change="value=0")
    r.git("merge", "-q", "--no-commit", "-s", "ours", side[-1])
    r.then("merge", change="allocations=1")
    done = bisect(yieldpoint, r, *words[:3], "--good", good, "--bad", "HEAD")
    tap.check(done.code == UNSURE and f"cannot say: the search ends at {side[0][:10]}, but beside its parent" in done.out,
              "what was bad before the branch left", done)


def check_follow(tap, yieldpoint, r):
    """The quantity that is named, and what became better."""
    values = ["value=1e-5", "value=1e-5", "value=1e-3", "value=1e-3"]
    commits = grow(r, *({"change": c, "n": str(i)} for i, c in enumerate(values)))
    ends = ["--good", r.base, "--bad", "HEAD"]
    done = bisect(yieldpoint, r, *EXACT, *ends, "--follow", "value of mean", "--json", "-")
    b = found(done)
    tap.equal((done.code, [c["commit"] for c in b["left"]], b["followed"]["quantity"], b["followed"]["name"]),
              (FINE, [commits[2]], "value", "mean"), "--follow: a value goes beyond the middle")
    done = bisect(yieldpoint, r, *EXACT, *ends, "--follow", "peak memory")
    tap.check(done.code == NOTHING and "nothing to find: bad is not worse than good" in done.out,
              "--follow: what is the same is not found", done)
    sizes = ["bytes=2097152", "bytes=2097152", "value=0", "value=0"]
    commits = grow(r, *({"change": c, "n": str(i)} for i, c in enumerate(sizes)))
    words = ["gate.c::exact", "--follow", "peak memory", "--good", commits[0], "--bad", "HEAD"]
    done = bisect(yieldpoint, r, *words, "--faster")
    tap.check(done.code == FINE and f"first bad commit: {commits[2]}\n" in done.out and
              "100 % of the way from good to bad\n" in done.out, "--faster: less memory", done)
    done = bisect(yieldpoint, r, *words)
    tap.check(done.code == NOTHING, "without --faster less memory is nothing worse", done)


def check_faster_time(tap, yieldpoint, r):
    commits = grow(r, *({"change": "roots=1" if i < 3 else "value=0", "n": str(i)} for i in range(1, 5)))
    done = bisect(yieldpoint, r, "gate.c::roots", "--good", commits[0], "--bad", "HEAD", "--follow", "time", "--faster")
    tap.check(done.code == FINE and f"first bad commit: {commits[2]}\n" in done.out, "--faster: half the time", done)
    tap.check(re.search(r"followed: time of roots, which bad has 0\.[3-7]\d+ times, for certain less than", done.out),
              "--faster: what is followed", done)


def check_nothing(tap, yieldpoint, r):
    grow(r, {"n": "1"}, {"n": "2"}, {"n": "3"})
    done = bisect(yieldpoint, r, *EXACT, "--good", r.base, "--bad", "HEAD")
    tap.check(done.code in (NOTHING, UNSURE) and ("nothing to find: bad is not worse than good" in done.out or
              "cannot say whether bad is worse than good" in done.out), "good and bad alike", done)


def check_refused(tap, yieldpoint, r, folder):
    commits = grow(r, {"n": "1"}, {"broken": "", "n": "2"}, {"broken": None, "change": "value=1e-3"})

    def refused(name, words, code, *wanted, cwd=None):
        done = run(yieldpoint, "bisect", *words, cwd=cwd or r.path, env=r.environment())
        tap.check(done.code == code and all(w in done.err for w in wanted) and done.out == "", f"refused: {name}", done)
        tap.equal(r.clean(), None, f"refused: {name}: nothing is left")

    ends = ["--good", r.base, "--bad", "HEAD"]
    refused("no case", ends, USAGE, "which case?")
    refused("no good", ["exact", "--bad", "HEAD"], USAGE, "--good: a revision is wanted")
    refused("no bad", ["exact", "--good", "HEAD"], USAGE, "--bad: a revision is wanted")
    refused("good is missing", ["exact", "--good", "nosuch", "--bad", "HEAD"], USAGE, "nosuch: there is no such commit")
    refused("swapped", ["exact", "--good", "HEAD", "--bad", r.base], USAGE, "--good and --bad are swapped")
    refused("the same", ["exact", "--good", "HEAD", "--bad", "HEAD"], USAGE, "are the same commit")
    side = r.head(n="side")
    refused("not an ancestor", ["exact", "--good", side, "--bad", commits[-1]], USAGE, "is not an ancestor of bad")
    r.git("checkout", "-q", "--detach", commits[-1])
    refused("no such case", ["gate.c::nosuch", *ends], UNSELECTED, "gate.c::nosuch: there is no such case")
    refused("a good that does not build", ["gate.c::exact", "--good", commits[1], "--bad", "HEAD"], INTERNAL,
            "does not build", "there is the fault")
    refused("a quantity", ["exact", *ends, "--follow", "speed"], USAGE, "--follow", "one of outcome, time, peak memory")
    refused("a threshold", ["exact", *ends, "--threshold", "none"], USAGE, "a part from 0.1% to 100%")
    outside = os.path.join(folder, "outside")
    os.mkdir(outside)
    refused("no repository", ["exact", *ends], USAGE, "is in no git repository", cwd=outside)


def check_tree(tap, yieldpoint, r):
    """What is not committed is not looked at, and stays."""
    commits = grow(r, {"change": "value=0"}, {"change": "value=1e-3"}, {"n": "3"})
    r.write("change", "value=0.5")
    r.write("new", "x")
    status = r.git("status", "--porcelain")
    done = bisect(yieldpoint, r, *EXACT, "--good", r.base, "--bad", "HEAD")
    tap.check(done.code == FINE and f"first bad commit: {commits[1]}\n" in done.out, "a tree with changes", done)
    tap.equal(r.git("status", "--porcelain"), status, "and they stay")
    r.git("reset", "-q", "--hard")
    os.unlink(os.path.join(r.path, "new"))


def check_interrupted(tap, yieldpoint, r):
    """In the middle of a build: what was found by then is told; after SIGKILL the same command ends right."""
    grow(r, {"n": "1"}, {"n": "2"}, {"slow_build": "", "n": "3"}, {"n": "4"}, {"n": "5"})
    r.git("rm", "-q", "slow build")
    r.then("step 6", change="value=1e-3")
    words = ["bisect", *EXACT, "--good", r.base, "--bad", "HEAD"]
    for number, name in ((signal.SIGKILL, "SIGKILL"), (signal.SIGINT, "SIGINT")):
        started = Started(yieldpoint, *words, cwd=r.path, env=r.environment())
        wait_until(lambda: any(name == "sleep" for _, name in started.living()), 300, "the slow build")
        os.kill(started.process.pid, number)
        if number == signal.SIGKILL:  # nobody is left to end the build, which would keep the output open
            started.end()
            started.wait()
            continue
        done = started.wait()
        tap.equal(gone(started, 15), [], f"{name}: no process is left")
        tap.check(done.code == INTERRUPTED and "; interrupted" in done.out, "SIGINT: what was found is told", done)
        tap.equal(r.clean(), None, "SIGINT: nothing is left")


def main(yieldpoint, suite, other):
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        repository = Repository(folder, "the 'project'", suite, other)
        # Under a sanitizer, minutes: those that take other ways through the code.
        more = () if SANITIZED else (check_allocation, check_time, check_faster_time, check_parts, check_follow, check_nothing, check_tree)
        for check in (check_skipped, check_merges, check_left_before_good, check_interrupted, *more):
            tap.run(check.__name__, check, tap, yieldpoint, repository)
            repository.git("reset", "-q", "--hard")
            repository.git("checkout", "-q", "-f", "main")
        tap.run("refused", check_refused, tap, yieldpoint, repository, folder)
    tap.done()


if __name__ == "__main__":
    main(*(os.path.abspath(a) for a in sys.argv[1:4]))
