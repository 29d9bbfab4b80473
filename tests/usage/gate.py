"""yieldpoint gate: what it finds worse, what it refuses, what it leaves behind.

usage: gate.py YIELDPOINT SUITE OTHER_SUITE SUITE_OF_COMMANDS [sanitized]"""

import glob
import json
import os
import re
import signal
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from process import Started, gone, wait_until  # noqa: E402
from program import run  # noqa: E402
from revisions import INI, OLD_WRAPPER, Repository  # noqa: E402
from tap import Tap  # noqa: E402
SANITIZED = "sanitized" in sys.argv


def gate(yieldpoint, repository, *words, **more):
    return run(yieldpoint, "gate", *words, cwd=repository.path, env=repository.environment(), **more)


def found(done):
    """{(case, quantity, name): comparison} of --json -."""
    return {(c["case"].split("::")[1], c["quantity"], c["name"]): c
            for c in json.loads(done.out)["comparisons"]}


def check_usage(tap, yieldpoint, r, folder):
    def refused(words, code, *wanted, cwd=None):
        done = run(yieldpoint, "gate", *words, cwd=cwd or r.path, env=r.environment())
        tap.check(done.code == code and all(w in done.err for w in wanted) and done.out == "",
                  f"refused: {' '.join(words)}", done)

    refused([], 4, "--base: a revision is wanted")
    refused(["--base", "main", "--threshold", "0"], 4, "a part from 0.1% to 100%")
    refused(["--base", "main", "--threshold", "3 percent"], 4, "--threshold")
    refused(["--base", "main", "--error", "2"], 4, "a rate from 1e-6 to 0.25")
    refused(["--base", "main", "--budget", "soon"], 4, "a time from 1s")
    refused(["--base", "main", "--fast"], 4, "--fast", "`yieldpoint gate --help` lists what there is")
    refused(["--base", "main", "--speed", "record"], 4, "must be judge or off")
    refused(["--baseline", "last", "--speed", "off"], 4, "not for --baseline")
    refused(["--base", "main", "--speed=off", "--always-time"], 4, "not for --always-time")
    refused(["--base", "main", "--missing=ignore"], 4, "--missing", "report or fail")
    refused(["--base", "no such"], 4, "no such: there is no such commit in", "WORKTREE")
    refused(["--base", "--help-me"], 4)
    refused(["--base", "main", "--head", "HEAD~99"], 4, "HEAD~99: there is no such commit")
    refused(["--base", "main", "-k", "nowhere"], 5, "no case is selected in either revision")
    refused(["--base", "main", "-m", "small and"], 4, "ended with 4", "-m")
    outside = os.path.join(folder, "outside")
    os.mkdir(outside)
    refused(["--base", "main"], 4, "is in no git repository", cwd=outside)
    for line, wanted in (("speed = 3", "'speed' is not known in [gate]"),
                         ("keep = 1", "keep is a number of builds from 2 to 1000"),
                         ("setup = true", "it stands there twice")):
        r.write("yieldpoint.ini", INI + line + "\n")
        refused(["--base", "main"], 4, "yieldpoint.ini:6", wanted)
    r.write("yieldpoint.ini", INI)


def check_exact(tap, yieldpoint, r):
    def worse(change, wanted, *words):
        r.head(change=change)
        done = gate(yieldpoint, r, "--base", "main", "-k", "exact", "--budget", "1s", "--json", "-", *words)
        tap.equal(done.code, 1, f"{change}: exit code")
        got = {key: c["verdict"] for key, c in found(done).items()
               if c["verdict"] not in ("same", "cannot say")}
        tap.equal(got, wanted, f"{change}: what is found")
        return found(done)

    worse("allocations=1", {("exact", "allocations", "host"): "more", ("exact", "peak memory", "host"): "more"})
    all_ = worse("value=1e-3", {("exact", "value", "mean"): "changed"})
    c = all_["exact", "value", "mean"]
    tap.check(abs(c["head"] / c["base"] - 1.001) < 1e-9, "both values are told", c)
    all_ = worse("bytes=1048576", {("exact", "peak memory", "host"): "more", ("exact", "resident peak", None): "more"})
    c = all_["exact", "peak memory", "host"]
    tap.equal(c["head"] - c["base"], 1048576, "to the byte")
    all_ = worse("fails=1", {("exact", "outcome", None): "broken"})
    c = all_["exact", "outcome", None]
    tap.equal((c["base"], c["head"]), ("passed", "failed"), "a failure is worse")
    broken = r.git("rev-parse", "HEAD")
    done = gate(yieldpoint, r, "--base", broken, "--head", "main", "-k", "exact", "--budget", "5s")
    tap.check(done.code in (0, 6) and "mended        " in done.out, "the other way round it is mended", done)
    done = gate(yieldpoint, r, "--base", broken, "--head", broken, "-k", "exact", "--budget", "1s")
    tap.check(done.code == 6 and "cannot say" in done.out and "fails in 1 of 1 processes of base" in done.out,
              "what fails on both sides cannot be compared", done)


def check_directions(tap, yieldpoint, r):
    """A value that changed is better or worse where its budget says which way is."""
    for sign in (1, -1):
        r.head(change=" ".join(f"{name}={sign * 0.1}" for name in ("accuracy", "loss", "size", "free")))
        done = gate(yieldpoint, r, "--base", "main", "-k", "scored", "--json", "-")
        notes = {key[2]: (c["verdict"], c["note"]) for key, c in found(done).items()}
        good, bad = ("better", "worse") if sign > 0 else ("worse", "better")
        tap.equal((done.code, notes),
                  (1, {"accuracy": ("changed", f"{good} by its budget, which wants it large"),
                       "loss": ("changed", f"{bad} by its budget, which wants it small"),
                       "size": ("changed", None), "free": ("changed", None)}), f"directions: all by {sign}")


def check_varying(tap, yieldpoint, r):
    """What is another one from process to process proves nothing, and no more are asked once that is plain."""
    for what in ("value_varies", "allocations_vary"):
        sides = [r.head(change=f"{what}={i}") for i in (2, 1)]
        done = gate(yieldpoint, r, "--base", sides[0], "--head", sides[1], "-k", "exact", "--budget", "1s",
                    "--json", "-")
        others = [key for key, c in found(done).items() if c["verdict"] in ("changed", "more", "less")]
        tap.check(done.code in (0, 6) and others == [], f"{what}: nothing is said of it", done)
        places = [p for p in r.places() for side in sides if os.path.basename(p).startswith(side[:20])]
        counts = [os.path.getsize(os.path.join(p, "build", "untimed")) for p in places]
        # The resident set may ask for one or two more.
        tap.check(len(counts) == 2 and all(2 <= n <= 4 for n in counts), f"{what}: not eight processes", counts)


def check_instructions(tap, yieldpoint, r):
    """One in a hundred more is found in one run of each, and nothing else."""
    r.head(change="roots=100")
    done = gate(yieldpoint, r, "--base", "main", "-k", "(roots and not long) or hash", "--budget", "1s",
                "--instructions", "--json", "-")
    got = {key: c for key, c in found(done).items() if key[1] == "instructions"}
    tap.equal({key[0]: c["verdict"] for key, c in got.items()}, {"roots": "more", "hash_short": "same"},
              "instructions: what is found")
    ratio = got["roots", "instructions", "roots"]["ratio"]
    tap.check(done.code == 1 and 1.005 < ratio < 1.015, "instructions: 1 % more", done)


def check_untimed(tap, yieldpoint, r):
    """--speed=off: exact figures and instructions alone, counts that are equal too."""
    words = ["--base", "main", "-k", "roots and not long", "--speed=off", "--instructions", "--json", "-"]
    r.head(change="slower=2")
    done = gate(yieldpoint, r, *words)
    tap.equal((done.code, {key[1]: c["verdict"] for key, c in found(done).items()}),
              (0, {"outcome": "same", "instructions": "same"}), "untimed: the same work at another speed")
    counts = found(done)["roots", "instructions", "roots"]
    tap.check(counts["base"] == counts["head"] > 1000, "untimed: counts that are equal are told", counts)
    tap.check("nothing is timed (--speed=off)" in done.out, "untimed: and that nothing is timed", done)
    r.head(change="roots=100")
    done = gate(yieldpoint, r, *words)
    tap.equal((done.code, {key[1]: c["verdict"] for key, c in found(done).items()}),
              (1, {"outcome": "same", "instructions": "more"}), "untimed: more instructions")


def check_kept(tap, yieldpoint, r):
    """What a gate found is told again from the history, word for word."""
    def gates(*words):
        return run(yieldpoint, "gates", *words, cwd=r.path, env=r.environment())

    words = ["--base", "main", "-k", "exact or (passes and not parallel)", "--budget", "2s"]
    r.head(change="value=1e-3", other="")
    json_file = os.path.join(r.path, "..", "kept.json")
    told = gate(yieldpoint, r, *words, "-v", "--json", json_file)
    again = gates("last", "-v")
    tap.equal((again.code, again.out), (0, told.out), "the last one again")
    with open(json_file, encoding="utf-8") as file:
        tap.equal(json.loads(gates("last", "--json", "-").out), json.load(file), "as JSON")
    tap.check(told.out.splitlines()[0] in gates("last", "--markdown", "-").out.replace("`", ""), "as Markdown")
    listed = gates()
    wanted = r"[0-9a-f]{8}  \S+ \S+  exit 1, 1 worse  main \(\w{10}\) -> HEAD \(\w{10}\)\n"
    tap.check(listed.code == 0 and re.match(wanted, listed.out), "the newest stands first", listed)
    tap.equal(len(gates("-n", "1").out.splitlines()), 1, "-n 1: one of them")
    newest, other = (line.split()[0] for line in listed.out.splitlines()[:2])
    tap.check(gates(newest, "-v").out == told.out != gates(other, "-v").out, "one by the begin of its name")
    done = gates("nosuch")
    tap.check(done.code == 4 and "no gate of that name is stored" in done.err and done.out == "",
              "none of that name", done)
    done = gates("")
    tap.check(done.code == 4 and "several gates begin so" in done.err, "several of that name", done)
    history = os.path.join(r.path, ".yieldpoint", "history.db")
    os.rename(history, history + ".away")
    os.mkdir(history)
    done = gate(yieldpoint, r, "--base", "main", "-k", "exact", "--budget", "1s")
    tap.check(done.code == 1 and "what the gate found is not kept" in done.err and "is a directory" in done.err,
              "no place to keep it: it is told all the same", done)
    os.rmdir(history)
    os.rename(history + ".away", history)
    other = os.path.join(r.path, "..", "other.db")
    done = run(yieldpoint, "history", "import", history, "--history", other)
    tap.check(done.code == 0 and re.search(r"; \d+ gates\b", done.out), "gates are imported", done)
    tap.check("gate" not in run(yieldpoint, "history", "import", history, "--history", other).out, "only once")
    tap.equal(gates("last", "-v", "--history", other).out, gates("last", "-v").out, "and whole")
    count = len(gates("-n", "1000").out.splitlines())
    for extra, code in ((["--keep-last", "1"], "0 results deleted"), (["--dry-run"], f"{count} gates would be deleted"),
                        ([], f"{count} gates deleted")):
        done = run(yieldpoint, "history", "prune", "--older-than", "0s", *extra, "--history", other)
        tap.check(done.code == 0 and code in done.out and ("gate" in done.out) == ("gate" in code),
                  f"pruned: {code}", done)
    done = gates("--history", other)
    tap.check(done.code == 0 and "no gate is stored" in done.err and done.out == "", "none is left", done)


def check_sides(tap, yieldpoint, r):
    r.head(other="")
    words = ["--base", "main", "-k", "exact or (passes and not parallel)", "--budget", "30s", "--threshold", "50%"]
    done = gate(yieldpoint, r, *words)
    tap.check(done.code == 0 and re.search(r"only in head  \S*usage.c::passes\n", done.out), "a new case is told", done)
    done = gate(yieldpoint, r, "--head", "main", "--base", "HEAD", "-k", *words[3:])
    tap.check(done.code == 0 and re.search(r"only in base  \S*usage.c::passes\n", done.out),
              "a case that is gone is told", done)
    gone = ["--base", "HEAD", "--head", "main", "-k", "passes and not parallel", "--json", "-"]
    tap.equal(gate(yieldpoint, r, *gone).code, 0, "a case that is gone changes nothing")
    done = gate(yieldpoint, r, *gone, "--missing=fail")
    tap.check(done.code == 1 and json.loads(done.out)["exit_code"] == 1, "--missing=fail: it fails", done)
    again = run(yieldpoint, "gates", "last", "--json", "-", cwd=r.path, env=r.environment())
    tap.equal(again.out, done.out, "and is told so again")
    done = gate(yieldpoint, r, "--base", "main", "--missing=fail", *gone[4:])
    tap.equal(done.code, 0, "--missing=fail: a new case does not")


def check_builds(tap, yieldpoint, r):
    def clean(name):
        tap.equal(r.git("worktree", "list").count("\n"), 0, f"{name}: no worktree is left")
        tap.equal(r.git("status", "--porcelain"), "", f"{name}: the tree is as it was")
        tap.equal(os.listdir(r.temporary), [], f"{name}: nothing is left in the temporary directory")

    bad = r.head(broken="")
    r.git("checkout", "-q", "main")
    before = r.places()
    done = gate(yieldpoint, r, "--base", bad, "--head", "main")
    tap.check(done.code == 3 and "does not build" in done.err and "there is the fault" in done.err and
              "the whole log: " in done.err, "a base that does not build", done)
    log = re.search(r"the whole log: (.*)\)", done.err).group(1)
    with open(log, encoding="utf-8") as file:
        tap.check("$ sh " in file.read(), "the log has the commands")
    tap.equal(r.places(), before, "and no build of it is left")
    clean("broken base")
    none = r.head(none="")
    r.git("checkout", "-q", "main")
    done = gate(yieldpoint, r, "--base", none, "--head", "main")
    tap.check(done.code == 4 and "has no suite of Yieldpoint" in done.err, "a base without the framework", done)
    clean("no suite")
    quick = ["-k", "exact", "--budget", "1s"]
    done = gate(yieldpoint, r, "--base", "main", "--head", "HEAD", *quick)
    done = gate(yieldpoint, r, "--base", "main", "--head", "HEAD", *quick)
    tap.check("building" not in done.err, "a build is kept for the next time", done)
    place = [p for p in r.places() if os.path.basename(p).startswith(r.base[:20])][0]
    os.unlink(os.path.join(place, "made"))
    done = gate(yieldpoint, r, "--base", "main", "--head", "HEAD", *quick)
    tap.check("building main" in done.err and done.code in (0, 6), "one that was killed is made anew", done)
    for i in range(4):
        commit = r.head(change=f"roots={1000 + i}")
        gate(yieldpoint, r, "--base", "main", "--head", commit, *quick)
    tap.check(len(r.places()) == 3 and place in r.places(), "at most `keep` stay, those used last", r.places())
    clean("many")
    r.git("tag", "-f", "a tag".replace(" ", "'"), r.base)
    done = gate(yieldpoint, r, "--base", "a'tag", "--head", "main", *quick)
    tap.check(done.code in (0, 6), "a tag with a quote", done)


def check_worktree(tap, yieldpoint, r):
    r.git("checkout", "-q", "main")
    r.write(".gitignore", "ignored\n")
    r.git("add", ".gitignore")
    index = r.git("ls-files", "--stage")
    status = r.git("status", "--porcelain")
    r.write("change", "allocations=1")
    r.write("ignored", "x")
    done = gate(yieldpoint, r, "--base", "HEAD", "--head", "WORKTREE", "-k", "exact", "--budget", "1s")
    tap.check(done.code == 1 and "allocations of host 1 -> 2" in done.out and "not committed" in done.out,
              "what is not committed is compared", done)
    tap.equal(r.git("ls-files", "--stage"), index, "the index stays")
    tap.equal(r.git("status", "--porcelain"), status + "\n?? change", "and so does the tree")
    sources = [p for p in r.places() if os.path.exists(os.path.join(p, "source", "change"))]
    tap.check(sources and not any(os.path.exists(os.path.join(p, "source", "ignored")) for p in sources),
              "files that git ignores are left out", sources)
    done = gate(yieldpoint, r, "--base", "HEAD", "--head", "WORKTREE", "-k", "exact", "--budget", "1s")
    tap.check("building" not in done.err, "the same files are the same build", done)
    r.git("reset", "-q", "--hard")
    os.unlink(os.path.join(r.path, "change"))


def check_times(tap, yieldpoint, r):
    # Four times as long: no noise of a machine comes near.
    slow = ["--base", "main", "--head", "main", "--head-options", "--slowdown=4x", "--error", "1e-6"]
    markdown = os.path.join(r.path, "..", "gate.md")
    done = gate(yieldpoint, r, *slow, "-k", "hash_short or normalise", "--markdown", markdown, "--json", "-")
    verdicts = {key[0]: c["verdict"] for key, c in found(done).items() if key[1] == "time"}
    tap.equal((done.code, verdicts), (1, {"hash_short": "slower", "normalise": "slower"}),
              "four times slower is slower")
    tap.check(all(3 < c["ratio"] < 5.5 and c["low"] > 1.03 for key, c in found(done).items() if key[1] == "time"),
              "by how much is told", done)
    with open(markdown, encoding="utf-8") as file:
        tap.check("| slower |" in file.read(), "in Markdown too")
    done = gate(yieldpoint, r, "--base", "main", "--head", "main", "--options", "--slowdown=4x", "--head-options",
                "--slowdown=1x", "--error", "1e-6", "-k", "hash_short", "-v")
    tap.check(done.code == 0 and "faster        " in done.out, "faster is not worse", done)
    done = gate(yieldpoint, r, "--base", "main", "--head", "main", "--error", "1e-6", "-k", "roots_long", "--budget",
                "1s", "--always-time")
    tap.check(done.code == 6 and "cannot say" in done.out, "too little time: cannot say", done)
    old = r.head(wrapper=OLD_WRAPPER)
    done = gate(yieldpoint, r, "--base", old, "--head", "main", *slow[4:], "-k", "hash_short")
    tap.check(done.code == 1 and "does not know --turns" in done.out and "slower        " in done.out,
              "a base that cannot take turns: by whole processes", done)


def check_removed(tap, yieldpoint, r):
    """Work that the compiler has removed on one side is not faster there, nor slower on the other."""
    old = r.head(wrapper=OLD_WRAPPER)
    head = r.head(change="not_kept=1")
    for base, other, side in (("main", head, "head"), (head, "main", "base"), (old, head, "head")):
        done = gate(yieldpoint, r, "--base", base, "--head", other, "-k", "kept", "--json", "-", "--budget", "20s")
        c = found(done).get(("kept", "time", "step"), {})
        tap.check(done.code == 6 and c.get("verdict") == "cannot say" and
                  f"takes no time in the {side}: the compiler has removed the work" in (c.get("note") or ""),
                  f"the {side} takes no time: it cannot say", done)
    histories = []
    for commit in (r.base, head):
        place = [p for p in r.places() if os.path.basename(p).startswith(commit[:20])][0]
        histories.append(os.path.join(r.path, "..", f"removed-{commit}.db"))
        run(os.path.join(place, "build", "suite"), "-k", "kept", "--speed=record", "--history", histories[-1])
    done = run(yieldpoint, "compare", *histories)
    tap.check(done.code == 6 and "takes no time in the head" in done.out, "nor can compare", done)


def check_same_build(tap, yieldpoint, r, of_commands):
    """Where a change is none of the programs, nothing is timed but commands, whose files need not be built."""
    def timed(done):
        return {key[0]: c["verdict"] for key, c in found(done).items() if key[1] == "time"}

    words = ["--base", "main", "-k", "hash_short or exact", "--error", "1e-6", "--json", "-"]
    r.head(notes="not built")
    done = gate(yieldpoint, r, *words)
    tap.check(done.code == 0 and timed(done) == {} and ("exact", "outcome", None) in found(done) and
              json.loads(done.out)["notes"] == ["both builds are the same code, so nothing is timed; "
                                                "--always-time times everything"], "the same build: not timed", done)
    done = gate(yieldpoint, r, *words, "--always-time", "--budget", "1s")
    tap.equal(set(timed(done)), {"hash_short", "exact"}, "the same build: timed where it is wanted")
    done = gate(yieldpoint, r, *words[:3], "hash_short", *words[4:], "--head-options", "--slowdown=4x")
    tap.equal(timed(done).get("hash_short"), "slower", "the same build, other options: timed")
    r.head(**{"yieldpoint.ini": INI + "# other\n"})
    done = gate(yieldpoint, r, *words, "--budget", "1s")
    tap.equal(set(timed(done)), {"hash_short", "exact"}, "another yieldpoint.ini: timed")
    # Data of a suite, in a place with a name that meson has higher up.
    data = r.head(data="1")
    r.head(data="1", notes="not built")
    done = gate(yieldpoint, r, "--base", data, *words[2:])
    tap.equal((done.code, timed(done)), (0, {}), "the same data below the build: not timed")
    r.head(data="2")
    done = gate(yieldpoint, r, "--base", data, *words[2:], "--budget", "1s")
    tap.equal(set(timed(done)), {"hash_short", "exact"}, "other data below the build: timed")
    # Links: to a directory of the build, a file, nothing; and to the sources, of which nothing is known.
    # The cache itself may lie behind one: then builds have two paths.
    r.write(".git/info/exclude", ".yieldpoint\n")
    cache = os.path.join(r.path, ".yieldpoint")
    os.rename(cache, r.path + " cache")
    os.symlink(r.path + " cache", cache)
    inside = ('ln -s "$2/meson.d" "$2/there"; ln -s real "$2/also"; ln -s nowhere "$2/broken"; '
              '(cd "$2" && pwd -P > where)\n')
    for script, more, same in ((inside, {}, True), (inside, {"data": "2"}, False),
                               (inside.replace("nowhere", "elsewhere"), {}, False),
                               ('ln -s "$1" "$2/source"\n', {}, False)):
        base = r.head(data="1", links=script if "$1" in script else inside)
        r.head(**({"data": "1", "links": script, "notes": "not built"} | more))
        for when in ("built", "from the cache"):
            done = gate(yieldpoint, r, "--base", base, *words[2:], "--budget", "1s")
            tap.equal(set(timed(done)), set() if same else {"hash_short", "exact"}, f"links: {script} {more}, {when}")
    os.unlink(cache)
    os.rename(r.path + " cache", cache)
    one = r.head(change="roots=0")
    for base, what in (("main", "a file more"), (one, "other bytes in a file")):
        done = gate(yieldpoint, r, "--base", base, *words[2:], "--budget", "1s")
        tap.equal(set(timed(done)), {"hash_short", "exact"}, f"{what} beside the program: timed")
        r.head(change="roots=1")

    # A library with debug information, a build id, recorded switches and the path of its source.
    code = "const char *where = __FILE__; int f(int x) { return x + %d; }\n"
    library = r.head(**{"lib.c": code % 1})
    for what, files, same in (("documents", {"notes": "not built"}, True),
                              ("a comment", {"lib.c": "/* of two\nlines */ " + code % 1}, True),
                              ("its code", {"lib.c": code % 2}, False)):
        r.git("checkout", "-q", "--detach", library)
        r.then(what, **files)
        done = gate(yieldpoint, r, "--base", library, *words[2:], "--budget", "1s")
        tap.equal(set(timed(done)), set() if same else {"hash_short", "exact"}, f"a library, another commit of {what}")
    places = [p for p in r.places() if os.path.exists(os.path.join(p, "build", "lib.so"))]
    libraries = set()
    for place in places:
        with open(os.path.join(place, "build", "lib.so"), "rb") as file:
            libraries.add(file.read())
    tap.check(len(places) == 3 and len(libraries) == 3, "whose bytes differ each time", places)

    def lines(seconds):
        return f'{{"measure": "work", "seconds": {[seconds] * 20}, "items": 1000}}\n{{"value": "auc", "number": 1}}\n'

    of_commands.write("lines", lines(0.001))
    of_commands.commit("lines")
    of_commands.git("checkout", "-q", "--detach")
    of_commands.then("slower", lines=lines(0.002))
    done = gate(yieldpoint, of_commands, "--base", "main", "-k", "budgets or where", "--json", "-")
    tap.check(done.code == 1 and timed(done) == {"budgets": "slower"} and
              "nothing but commands is timed" in done.out, "a command of the same build: timed", done)


def check_endings(tap, yieldpoint, r):
    r.git("checkout", "-q", "main")
    words = ["gate", "--base", "main", "--head", "main", "--always-time", "-k", "roots_long"]
    for number, name in ((signal.SIGINT, "SIGINT"), (signal.SIGTERM, "SIGTERM"), (signal.SIGKILL, "SIGKILL")):
        started = Started(yieldpoint, *words, cwd=r.path, env=r.environment())
        wait_until(lambda: glob.glob(os.path.join(r.temporary, "*/base.sock")), 300, "the pair")
        time.sleep(0.3)
        os.kill(started.process.pid, number)
        done = started.wait()
        if number == signal.SIGKILL:
            done = gate(yieldpoint, r, "--base", "main", "--head", "main", "-k", "exact", "--budget", "1s")
            tap.check(done.code in (0, 6), "the same again after SIGKILL", done)
        else:
            tap.equal(done.code, 2, f"{name}: exit code")
            tap.check("interrupted" in done.out, f"{name}: what was found is told", done)
        tap.equal(gone(started), [], f"{name}: no process is left")
        tap.equal(os.listdir(r.temporary), [], f"{name}: no file is left")
    # In the middle of a build.
    commit = r.head(slow_build="")
    before = r.places()
    started = Started(yieldpoint, "gate", "--base", commit, "--head", "main", cwd=r.path, env=r.environment())
    wait_until(lambda: any(name == "sleep" for _, name in started.living()), 300, "the slow build")
    os.kill(started.process.pid, signal.SIGINT)
    done = started.wait()
    tap.equal(done.code, 2, "SIGINT in a build: exit code")
    tap.equal(r.places(), before, "SIGINT in a build: it is not left there")


def main(yieldpoint, suite, other, commands):
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        # A name that a shell would take apart.
        repository = Repository(folder, "the 'project'", suite, other)
        # Under a sanitizer, minutes: without those whose code others run too.
        more = () if SANITIZED else (check_instructions, check_untimed, check_sides, check_times, check_removed)
        for check in (check_exact, check_directions, check_varying, check_kept, check_builds, check_worktree, check_endings, *more):
            tap.run(check.__name__, check, tap, yieldpoint, repository)
            repository.git("checkout", "-q", "-f", "main")
        if not SANITIZED:
            tap.run("same build", check_same_build, tap, yieldpoint, repository,
                    Repository(folder, "of commands", commands, other))
        tap.run("usage", check_usage, tap, yieldpoint, repository, folder)
    tap.done()


if __name__ == "__main__":
    main(*(os.path.abspath(a) for a in sys.argv[1:5]))
