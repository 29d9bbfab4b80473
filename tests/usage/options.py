"""What a command line, the environment and yieldpoint.ini come to: exit codes as pytest's, what is
wrong and where on standard error, and what the options do."""

import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from program import listed, results, rows, run, shell  # noqa: E402
from tap import Tap  # noqa: E402

OK, FAILED, INTERRUPTED, INTERNAL, USAGE, NOTHING = range(6)
PASS = "usage.c::passes"
FAIL = "usage.c::fails"


def marked(words, part):
    """A line with `words` and, below it, the underlining of `part` at its place."""
    def match(text):
        lines = text.split("\n")
        for line, below in zip(lines, lines[1:]):
            if words in line:
                at = line.index(words) + words.index(part)
                return below == " " * at + "^" + "~" * (len(part) - 1)
        return False
    return match


# name: (arguments, exit code, what standard error says: patterns, or functions of it)
COMMAND_LINES = {
    "passing": ([PASS], OK, ["^$"]),
    "failing": ([FAIL], FAILED, ["^$"]),
    "passing and failing": ([PASS, FAIL], FAILED, ["^$"]),
    "skipped only is a success": (["--device=cpu", PASS], OK, ["^$"]),
    "help and other options": (["-v", "--help", PASS], OK, ["^$"]),
    "collect": (["--co"], OK, ["^$"]),
    "collect what fails": (["--co", FAIL], OK, ["^$"]),
    "collect nothing": (["--co", "-k", "nowhere"], NOTHING, ["^no case selected: 32 collected"]),
    "nothing by mark": (["-m", "medium"], NOTHING, ["^no case selected"]),
    "nothing by mark among ids": (["-m", "medium", PASS], NOTHING, ["^no case selected"]),
    "nothing by device": (["--device=cuda"], NOTHING, ["^no case selected: 0 collected"]),
    "unknown option without a near one": (["--frobnicate"], USAGE,
                                          [r"^error: unknown option '--frobnicate'; --help"]),
    "an option cut short": (["--hist=x"], USAGE, [r"unknown option '--hist'"]),
    "unknown letter": (["-vzq"], USAGE, [r"unknown option '-z'", marked("-vzq", "z")]),
    "value missing at the end": (["--seed"], USAGE,
                                 [r"--seed needs a value", marked("db --seed", "--seed")]),
    "value missing at a letter": (["-m"], USAGE, [r"-m needs a value"]),
    "value where none is taken": (["--co=yes"], USAGE,
                                  [r"takes no value", marked("--co=yes", "=yes")]),
    "jobs of zero": (["-j0"], USAGE, [r"-j is '0'", marked("-j0", "0")]),
    "letters of no outcome": (["-rfz"], USAGE, [r"-r is 'fz': allowed is letters of fEsxXpPwaAN"]),
    "empty shard": (["--shard=2/2", "-k", "passes and not naps"], NOTHING, [r"no case selected"]),
    "no process for CUPTI": (["--gdb", "--audit"], USAGE, [r"--audit: CUPTI needs a process"]),
    "instructions are chosen before": (["--no-fork", "--isa=avx2"], USAGE,
                                       [r"--no-fork and --isa=avx2: libraries have chosen .* set "
                                        r"YIELDPOINT_ISA=avx2 as well$"]),
    "gdb and a clock": (["--gdb", "--slowdown=2x"], USAGE,
                        [r"--slowdown and --gdb: nothing is timed"]),
    "set of an unknown axis": (["--set", "chanels=5"], USAGE,
                               [r"--set chanels=5: no test has the axis 'chanels'; there are: "
                                r"channels, noise, label, n$"]),
    "set of another kind": (["--set", "channels=ten"], USAGE,
                            [r"--set channels=ten: axis 'channels' of usage.axes \(\S*usage\.c:"
                             r"[0-9]+\) takes whole numbers"]),
    "set of a fraction for a whole number": (["--set", "channels=1.5"], USAGE, [r"takes whole"]),
    "set of text for a number": (["--set", "noise=a"], USAGE, [r"axis 'noise'.* takes numbers"]),
    "id not found": (["usage.c::pases"], USAGE,
                     [r"^error: not found: 'usage.c::pases', did you mean 'usage.c::passes'\?; "
                      r"--co -q lists all ids$"]),
    "id of a case not found": (["usage.c::axes[small-channels=11-noise=0.5]"], USAGE,
                               [r"did you mean 'usage.c::axes\[small-channels=10-noise=0.5\]'"]),
    "a test not found": (["usage.c::axe"], USAGE, [r"did you mean 'usage.c::axes'\?"]),
    "nothing like it": (["banana/split/with/cream.c"], USAGE, [r"^error: not found: 'banana/split/with/cream.c'; --co -q"]),
    "file not found": (["usge.c"], USAGE, [r"not found: 'usge.c'"]),
    "two ids not found": (["nowhere", PASS, "elsewhere"], USAGE,
                          [r"'nowhere'", r"'elsewhere'"]),
    "part of a name is not an id": (["usage.c::pass"], USAGE, [r"not found"]),
    "empty id": ([""], USAGE, [r"not found: ''"]),
    "mark not registered": (["-m", "stress and nightly"], USAGE,
                            [r"'nightly' is not a registered tag; --markers lists them",
                             marked("-m stress and nightly", "nightly")]),
    "the first mark not registered": (["-m", "slwo and stres"], USAGE, [r"'slwo' is not", marked("-m slwo and", "slwo")]),
    "mark not registered where it decides nothing": (["-m", "slow or not slow or SLOW"], USAGE,
                                                     [r"'SLOW' is not a registered tag"]),
    "mark nearly registered": (["-m", "not slwo"], USAGE,
                               [r"'slwo' is not a registered tag, did you mean 'slow'\?"]),
    "mark not closed": (["-m", "(stress or perf"], USAGE,
                        [r"expected '\)', found the end", r"\n  -m \(stress or perf\n {20}\^$"]),
    "keyword malformed": (["-k", "a or not"], USAGE, [r"expected a word", r"-k a or not"]),
    "keyword two words": (["-k", "passes fails"], USAGE, [marked("-k passes fails", "fails")]),
    "jobs with a bad value after a good": (["--jobs", "2", "--jobs", "two"], USAGE,
                                           [marked("--jobs 2 --jobs two", "two")]),
    "tap keeps a usage error": (["--tap", "--nope"], USAGE, [r"unknown option"]),
    "tap keeps nothing selected": (["--tap", "-k", "nowhere"], NOTHING, [r"no case selected"]),
    "columns, not bytes": (["-k", "gr\u00f6\u00dfe", "--seed=x"], USAGE, [marked("-k gr\u00f6\u00dfe --seed=x", "x")]),
    "value missing behind letters": (["-vk"], USAGE, [r"-k needs a value", marked("-vk", "-vk")]),
    "no name of an option": (["--=1"], USAGE, [r"unknown option '--'; --help"]),
    "a letter's value that is none": (["-x=1"], USAGE, [r"unknown option '-='", marked("-x=1", "=")]),
    "a bad value after a letter": (["-vj", "1.5"], USAGE, [r"-j is '1.5'", marked("-vj 1.5", "1.5")]),
    "two things to count": (["--instructions", "--audit"], USAGE, [r"--audit and --instructions"]),
    "slowdown of instructions": (["--slowdown=2x", "--instructions"], USAGE,
                                 [r"--slowdown and --instructions: nothing is timed"]),
    "slowdown of an audit": (["--slowdown=2x", "--audit"], USAGE, [r"--slowdown and --audit: nothing is timed"]),
    "slowdown of refused allocations": (["--slowdown=2x", "--fail-allocation=each"], USAGE,
                                        [r"--slowdown and --fail-allocation=each: nothing is timed"]),
    "words after --": (["--", "--co"], USAGE, [r"not found: '--co'"]),
    "csv in a missing directory": (["--csv", "/nowhere/rows.csv", PASS], INTERNAL,
                                   [r"--csv /nowhere/rows.csv: No such file or directory"]),
    "csv in the place of a directory": (["--csv", "/", PASS], INTERNAL, [r"--csv /: Is a directory"]),
}

# option: (what is allowed, what is refused)
COUNT, PATH = r"a whole number from \d to 1000000$", r"the path of a file$"
SIZE = r"a size above 0 such as 64K, 2G \(of 1024\^3\) or 80GB"
REFUSED = {
    "--seed": (r"a whole number from 0 to 2\^64-1$", ["1e3", "x1", "-1", "18446744073709551616", "1x", ""]),
    "--maxfail": (COUNT, ["1000001", "-1"]),
    "--repeat": (COUNT, ["two", "0", "1.5"]),
    "--jobs": (COUNT, ["99999999999999999999"]),
    "--process-limit": (r"a whole number from 8 to 1000000$", ["7", "1"]),
    "--memory-limit": (SIZE, ["-1", "64Q", "0", "1Q", "99999999999G"]),
    "--device-memory-limit": (SIZE, ["0"]),
    "--output-limit": (SIZE, ["9e99", "-5M"]),
    "--timeout": (r"seconds above 0 and up to 1e7$", ["-1", "1e8", "1s", "0", "nan", "inf"]),
    "--speed": (r"judge, record or off$", ["Judge", "maybe"]),
    "--noisy": (r"report or fail$", ["", "ignore"]),
    "--set": (r"AXIS=VALUE$", ["n=", "channels", "=5"]),
    "--slowdown": (r"a finite factor from 1, such as 2x or 1\.5x$",
                   ["", "0.9x", "-2x", "nanx", "2y", "1e999", " 2x", "inf", "x", "2xx"]),
    "--shard": (r"which of how many, such as 2/5", ["3", "6/5", "0/5"]),
    "--shuffle": (r"a whole number", ["often"]),
    "--durations": (r"a whole number", ["-1"]),
    "--history": (PATH, [""]),
    "--csv": (PATH, [""]),
    # One name for one device: it stands in ids.
    "--device": (r"auto, cpu, cuda, cuda:N or all$",
                 ["", "CPU", "gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:1024", "cuda:0x1", "cuda:01", "cuda:1 ", "cpu:0", "auto cpu",
                  "cuda:18446744073709551616"]),
}

# name: (text of YIELDPOINT_OPTIONS, arguments, exit code, standard error)
ENVIRONMENTS = {
    "options from the environment": ("--co -k 'passes or fails'", [], OK, ["^$"]),
    "the command line comes last": ("--repeat 5 -k fails", ["-k", "passes", "--repeat=1"], OK,
                                    ["^$"]),
    "bad option in the environment": ("-v --sed=3", [PASS], USAGE,
                                      [r"unknown option '--sed'",
                                       marked("YIELDPOINT_OPTIONS: -v --sed=3", "--sed")]),
    "open quote in the environment": ("-k 'passes", [], USAGE, [r"a quote is not closed"]),
    "empty environment": ("  ", [PASS], OK, ["^$"]),
}

# name: (yieldpoint.ini, arguments, exit code, standard error)
CONFIGURATIONS = {
    "options from the file": ("[yieldpoint]\noptions = -k passes\n", [], OK, ["^$"]),
    "bad option in the file": ("[yieldpoint]\noptions = --sed=3\n", [PASS], USAGE,
                               [marked("yieldpoint.ini, [yieldpoint] options: --sed=3", "--sed")]),
    "a tag of the project": ("[tags]\nnightly = once a day\n", ["-m", "nightly"], NOTHING,
                             ["no case selected"]),
    "a tag that is a word of the language": ("[tags]\nnot = never\n", [PASS], USAGE,
                                             [r"yieldpoint.ini:2: a tag is letters.* at 'not'"]),
    "a tag with a blank": ("[tags]\nevery night = x\n", [PASS], USAGE, [r"a tag is letters"]),
    "tags that are words of the language": ("[tags]\nand = y\nor = y\na-b = y\n[yieldpoint]\ne = f\n", [PASS], USAGE,
                                            [r"at 'and' in \[tags\]", r"at 'or' in \[tags\]", r"at 'a-b' in \[tags\]",
                                             r"at 'e' in \[yieldpoint\]"]),
    "unknown key of a machine": ("[machine a]\nseed = 1\n", [PASS], USAGE,
                                 [r"and any name in \[tags\], at 'seed' in \[machine a\]"]),
    "no section": ("x = y\n", [PASS], USAGE, [r"at 'x' in \[\]"]),
    "a key of another section": ("[tag]\nhistory = x\n", [PASS], USAGE, [r"at 'history' in \[tag\]"]),
    "an empty history": ("[yieldpoint]\nhistory =\n", [PASS], USAGE,
                         [r"history is empty: allowed is the path of a file"]),
    "unknown key": ("[yieldpoint]\noption = -v\n", [PASS], USAGE,
                    [r"known are options and history in \[yieldpoint\] .* at 'option' in \[yieldpoint\]"]),
    "another program's section": ("[pages]\ncolour = red\n", ["-k", "passes"], OK, ["^$"]),
    "unknown section": ("[yeldpoint]\noptions = -v\n", [PASS], USAGE, [r"in \[yeldpoint\]"]),
    "not an ini file": ("[tags]\nnightly\n", [PASS], USAGE,
                        [r"yieldpoint.ini:2: not a \[section\]"]),
}

# pattern of a message for each line of declarations.c that is wrong
DECLARATIONS = {
    "growth_over_few": r"its 3 values of 'n' in the cases like 'declarations\.c::few\[n=1\]' "
                       r"cannot decide the budgets: where times scatter by 5 % the exponent is "
                       r"known to \+-4\.1, and the budgets leave it a range of 1\.1; needed are 5 ",
    "unregistered_tag": r"tag 'nightly' is not registered: known are stress, perf",
    "unregistered_tag_of_case": r"tag 'weekly' is not registered",
    "speed_in_parallel": r"budget 1 is one of speed, but \.parallel says that nothing is timed",
    "axis_without_name": r"axis 1 has no name",
    "axis_null_name": r"axis 1 has no name",
    "axis_twice": r"axis 'n' is declared twice",
    "case_without_name": r"case 1 has an empty name",
    "case_twice": r"case 'one' is declared twice",
    "negative_timeout": r"\.timeout is -1: allowed is 0 \(the default of 60 s\) or more seconds",
    "endless_timeout": r"\.timeout is inf",
    "nan_timeout_of_case": r"\.timeout is -?nan",
    "budget_without_name": r"budget 1 names no measurement, value or check",
    "negative_budget": r"budget 1 has the limit -1: allowed is any finite number from 0",
    "nan_budget": r"budget 1 has the limit -?nan",
    "negative_budget_of_case": r"case 'one': budget 1 has the limit -1",
    "budgets_of_function": r"\.budgets_of, for declarations\.c::budgets_of_function: budget 2 is of a "
                           r"thing that one before it is of",
    "missing_file": r"no file of budgets 'nowhere/budgets\.ini': there is neither ",
    "unknown_device": r"device 'gpu' is not known: allowed are cpu and cuda",
    "no_device": r"\.devices is empty",
    "tagged_and": r"tag 'and' is not registered",
    "missing": r"\.command is missing",
    "blank": r"\.command is missing",
    "unknown_word": r"\.command has \{m\}: there are \{n\}, \{case\}, \{seed\} and \{device\}; "
                    r"a brace itself is written \{\{$",
    "brace_of_the_shell": r"\.command has \{ true; \}: there are \{case\}",
    "not_closed": r"\.command has \{seed, which is not closed: there are",
    "hidden_word": r"axis 'seed' has the name of a word in braces",
    "unknown_in_environment": r"\.environment has \{n\}: there are \{case\}",
    "open_quote": r"\.environment has a quote that is not closed: B='x",
    "no_name": r"\.environment has '=2': allowed is NAME=value",
    "no_value": r"\.environment has 'PATH': allowed is NAME=value",
    "odd_name": r"\.environment has '2A=1': allowed is NAME=value",
    "not_a_command": r"\.command, \.input and \.environment are those of YP_COMMAND",
    "input_of_a_test": r"\.command, \.input and \.environment are those of YP_COMMAND",
}


def says(text, wanted):
    for pattern in wanted:
        found = pattern(text) if callable(pattern) else re.search(pattern, text, re.M)
        if not found:
            return False
    return True


def check_outcome(tap, name, done, code, wanted):
    text = re.sub(r"^waiting for another timed run .*\n", "", done.err, flags=re.M).rstrip("\n")
    ok = done.code == code and says(text, [p if callable(p) or p != "^$" else lambda t: t == ""
                                           for p in wanted])
    tap.check(ok, name, f"wanted exit {code}, {wanted}\n{done}")


def check_command_lines(tap, program, folder):
    history = ["--history", os.path.join(folder, "history.db")]
    for name, (arguments, code, wanted) in COMMAND_LINES.items():
        # What is being tested stands behind, so that a marked place is that of its own.
        done = run(program, *history, *arguments, cwd=folder)
        check_outcome(tap, name, done, code, wanted)
    for option, (allowed, values) in REFUSED.items():
        for value in values:
            done = run(program, *history, f"{option}={value}", cwd=folder)
            check_outcome(tap, f"{option}={value}", done, USAGE,
                          [rf"^error: {option} is '{re.escape(value)}': allowed is {allowed}",
                           marked(f"{option}={value}", value) if value.strip() == value != "" else ""])


def check_sources(tap, program, folder):
    history = ["--history", os.path.join(folder, "history.db")]
    for name, (text, arguments, code, wanted) in ENVIRONMENTS.items():
        done = run(program, *history, *arguments, cwd=folder, env={"YIELDPOINT_OPTIONS": text})
        check_outcome(tap, name, done, code, wanted)
    for name, (text, arguments, code, wanted) in CONFIGURATIONS.items():
        with open(os.path.join(folder, "yieldpoint.ini"), "w") as file:
            file.write(text)
        done = run(program, *history, *arguments, cwd=folder)
        check_outcome(tap, name, done, code, wanted)
    below = os.path.join(folder, "a", "b")
    os.makedirs(below)
    with open(os.path.join(folder, "yieldpoint.ini"), "w") as file:
        file.write("[yieldpoint]\nhistory = kept/here.db\noptions = -k passes\n")
    done = run(program, cwd=below)
    tap.check(done.code == OK and
              os.path.exists(os.path.join(folder, "kept", "here.db")),
              "the file is found upwards, its history is beside it", done)
    os.remove(os.path.join(folder, "yieldpoint.ini"))


def check_collections(tap, duplicate, declarations, empty, folder):
    history = ["--history", os.path.join(folder, "none.db")]
    done = run(duplicate, *history)
    source = r"\S*tests/usage/suites/duplicate\.c"
    check_outcome(tap, "duplicate ids", done, INTERRUPTED,
                  [rf"^error: duplicate id 'duplicate\.c::same\[n=2\]': declared at {source}:4 and "
                   rf"at {source}:12$", r"^1 error at collection, nothing was run$"])
    tap.equal(done.out, "", "duplicate ids: nothing is listed or run")
    check_outcome(tap, "duplicate ids, --co", run(duplicate, "--co"), INTERRUPTED, [r"duplicate"])
    check_outcome(tap, "duplicate ids, --tap", run(duplicate, "--tap"), INTERRUPTED,
                  [r"duplicate"])

    done = run(declarations, *history)
    tap.equal(done.code, INTERRUPTED, "bad declarations: exit 2")
    for name, pattern in DECLARATIONS.items():
        tap.check(re.search(rf"^error: \S*declarations\.c:[0-9]+: test bad\.{name}: .*{pattern}",
                            done.err, re.M) is not None, f"bad declaration: {name}", done.err)
    tap.check(re.search(r"duplicate id 'declarations\.c::value_twice\[n=1\]'", done.err),
              "bad declaration: value_twice", done.err)
    tap.check("bad.fine" not in done.err and
              f"{len(DECLARATIONS) + 1} errors at collection, nothing was run" in done.err,
              "bad declarations: no other is complained of", done.err)
    check_outcome(tap, "bad declarations, --co of a good one",
                  run(declarations, "--co", "declarations.c::fine"), INTERRUPTED, [r"collection"])

    check_outcome(tap, "no test in the program", run(empty, *history), NOTHING,
                  [r"^no case selected: 0 collected$"])
    tap.check(not os.path.exists(os.path.join(folder, "none.db")),
              "no history is made when nothing runs")


def check_effects(tap, program, folder):
    def stored(name, *arguments, code=OK):
        history = os.path.join(folder, f"{name}.db")
        done = run(program, "--history", history, *arguments)
        tap.check(done.code == code, f"{name}: exit {code}", done)
        return history

    history = stored("repeat", "--repeat", "3", PASS)
    tap.equal([r["repeat"] for r in rows(history, "SELECT repeat FROM result ORDER BY repeat")],
              [0, 1, 2], "--repeat 3 gives three results")

    for seed in ("0", "1", "18446744073709551615"):
        history = stored(f"seed {seed}", "--seed", seed, "usage.c::seed")
        row = rows(history, "SELECT data_hash, printf('%u', seed) AS seed FROM result")[0]
        tap.equal((int(row["data_hash"], 16), row["seed"]), (int(seed), seed),
                  f"--seed {seed} is what yp_seed returns and what is stored")

    history = stored("timeout", "--timeout", "0.3", "usage.c::slow", code=FAILED)
    row = results(history)["usage.c::slow"]
    tap.check(row["failures"][0]["message"].startswith("timeout: still running after 0.3 s") and
              row["timeout"] == 0.3 and 0.3 <= row["duration"] < 5,
              "--timeout overrides a case's own", row)

    history = stored("memory", "--memory-limit", "4M", "usage.c::allocates", code=FAILED)
    row = results(history)["usage.c::allocates"]
    tap.check("8388608 bytes asked" in row["failures"][0]["message"] and
              "4194304" in row["failures"][0]["message"], "--memory-limit refuses", row)
    stored("memory enough", "--memory-limit", "8M", "usage.c::allocates")

    history = stored("set", "--set", "channels=7", "--set", "channels=8", "--set", "noise=1e-3",
                     "-k", "axes")
    tap.equal(sorted(results(history)),
              sorted(f"usage.c::axes[{c}-channels={n}-noise=0.001]" for c in ("small", "large")
                     for n in (7, 8)), "--set replaces an axis's values")
    again = run(program, "--history", history, *results(history))
    tap.check(again.code == USAGE, "an id that --set made is known with --set only", again)

    history = stored("selected", "-m", "stress and not slow", "--co")
    tap.check(not os.path.exists(history), "--co makes no history")
    done = run(program, "-m", "stress and not slow", "--co", "-q")
    tap.equal(listed(done), [PASS, "usage.c::axes[small-channels=10-noise=0.5]",
                             "usage.c::axes[small-channels=50-noise=0.5]"],
              "-m selects by tags")
    done = run(program, "-k", "AXES and not channels=10", "--co", "-q")
    tap.equal(listed(done), ["usage.c::axes[small-channels=50-noise=0.5]",
                             "usage.c::axes[large-channels=50-noise=0.5]"],
              "-k selects by id, in any case")
    done = run(program, "--co", "-q", "usage.c::axes", PASS)
    tap.equal(len(listed(done)), 5, "ids select tests and cases, once each")


def check_s(tap, program, folder):
    history = os.path.join(folder, "s.db")
    done = run(program, "--history", history, "-s", "usage.c::speaks")
    tap.check("said on standard output\n" in done.out and "said on standard error\n" in done.err,
              "-s lets output through, each to its own", done)
    row = results(history)["usage.c::speaks"]
    tap.equal((row["tail"], row["outcome"]), ("", "passed"), "-s keeps no tail")
    done = run(program, "--history", history, "usage.c::speaks")
    tap.check("said" not in done.out and "said" not in done.err, "without -s it is kept back", done)
    tap.equal(results(history)["usage.c::speaks"]["tail"],
              "said on standard output\nsaid on standard error\n", "and stored in order")
    done = run(program, "--history", history, "-s", "--tap", "usage.c::speaks")
    tap.check("said" not in done.out and "said on standard output\n" in done.err,
              "-s with --tap keeps the stream clean", done)


def check_tap_codes(tap, program, duplicate, folder):
    history = os.path.join(folder, "tap.db")
    done = run(program, "--history", history, "--tap", PASS, FAIL)
    tap.equal((done.code, done.out.split("\n")[:4]),
              (OK, ["TAP version 13", "1..2", f"ok 1 - {PASS}", f"not ok 2 - {FAIL}"]),
              "--tap: exit 0 and a line a case")
    tap.equal(rows(history, "SELECT exit_code FROM run")[0]["exit_code"], FAILED,
              "--tap: the stored exit code still says that something failed")


def check_own_options(tap, own, bad, folder):
    history = ["--history", os.path.join(folder, "own.db")]
    word, file = "own_options.c::says", os.path.join(folder, "x-y")
    done = run(own, "--help")
    tap.check(re.search(r"^of this program:\n  --loud +say it loud\n  --some-file FILE +the file to "
                        r"look at\n  --word WORD +what to say$", done.out, re.M), "own: --help", done)
    done = run(own, *history, "--some-file=x-y", "own_options.c::looks", cwd=folder)
    tap.check(done.code == FAILED and f"looks at {file}\n" in done.out and
              f"--seed 0 --set=file={file}\n" in done.out, "own: an axis, with the whole path", done)
    done = run(own, *history, "--some-file=", cwd=folder)
    check_outcome(tap, "own: an empty path", done, USAGE,
                  [r"--some-file is '': allowed is the path of a file"])
    for slip, wanted in (("--word=", r"--word is '': allowed is WORD"), ("--loud=no", r"--loud takes no value")):
        check_outcome(tap, f"own: {slip}", run(own, *history, slip, cwd=folder), USAGE, [wanted])
    done = run(own, *history, "--word", "a b", "--loud", cwd=folder)
    tap.check("says a b!\n" in done.out and "prints a b\n" in done.out and
              "--seed 0 --loud '--word=a b'\n" in done.out, "own: values for bodies and commands", done)
    line = re.search(rf"reproduce: (.*'{word}'.*)", done.out)
    again = shell(line.group(1), *history)
    tap.check("says a b!\n" in again.out, "own: the line that reproduces", again)
    done = run(own, *history, word, cwd=folder, env={"YIELDPOINT_OPTIONS": "--word=here"})
    tap.check("says here\n" in done.out, "own: from the environment's options", done)
    done = run(own, *history, word, cwd=folder, env={"YIELDPOINT_OPTION_WORD": "left"})
    tap.check("says nothing\n" in done.out, "own: what a run around it was given is not this one's",
              done)
    done = run(own, *history, "--wrd=x", cwd=folder)
    check_outcome(tap, "own: a slip", done, USAGE, [r"did you mean '--word'\?"])
    done = run(bad, *history, cwd=folder)
    source = r"^error: \S*tests/usage/suites/bad_options\.c:[0-9]+: option "
    check_outcome(tap, "own: wrong declarations", done, INTERRUPTED,
                  [source + r"fail_allocation: there is an option of this name$",
                   source + r"nothing: one that sets an axis or is a path takes a value"])


def main(program, duplicate, declarations, empty, own, bad):
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        tap.run("command lines", check_command_lines, tap, program, folder)
        tap.run("environment and file", check_sources, tap, program, folder)
        tap.run("collections", check_collections, tap, duplicate, declarations, empty, folder)
        tap.run("what options do", check_effects, tap, program, folder)
        tap.run("-s", check_s, tap, program, folder)
        tap.run("options of a program", check_own_options, tap, own, bad, folder)
        tap.run("--tap", check_tap_codes, tap, program, duplicate, folder)
    tap.done()


main(*map(os.path.abspath, sys.argv[1:]))
