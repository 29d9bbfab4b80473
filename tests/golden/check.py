"""What a run prints, held against transcripts in expected/.

    check.py PROGRAM             compares
    check.py PROGRAM --update    writes them anew

Only what differs from one run or machine to the next is replaced, by a mark that says what stood
there: lines, words, units, signs and the width of rules are compared as they are.
"""

import difflib
import os
import pty
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
from program import ENVIRONMENT  # noqa: E402
from tap import Tap  # noqa: E402

EXPECTED = os.path.join(HERE, "expected")
SANITIZED = "sanitized" in sys.argv[2:]
LIMITS = ["--memory-limit", "16M", "--output-limit", "1M", "--process-limit", "64"]
BASIC = ["golden.c"]
# The sanitizers' own reports are not what is shown here.
QUIET = {"ASAN_OPTIONS": "handle_segv=0:handle_abort=0:detect_leaks=0"}
SLOWLY = {"GOLDEN_SLOWLY": "1"}

# transcript: arguments
RUNS = {
    "all": [],
    "quiet": ["-q", *BASIC, "kinds/kinds.c::requirement"],
    "basic-tap": ["--tap", *BASIC, "kinds/kinds.c::expectation", "kinds/kinds.c::plain_failure",
                  "kinds/kinds.c::setup_error", "kinds/kinds.c::budgets"],
    "not-captured": ["-s", "golden.c::passes", "kinds/kinds.c::expectation"],
    "not-captured-verbose": ["-sv", "golden.c::passes", "kinds/kinds.c::expectation"],
    "not-captured-tap": ["-s", "--tap", "golden.c::passes", "kinds/kinds.c::expectation"],
    "durations": ["--durations", "2", "--durations-min=0.1", "-k", "naps or passes"],
    "durations-all": ["--durations=0", "--durations-min=0.1", "-q", "-k", "naps"],
    "exit-first": ["-x", "-k", "passes or kinds"],
    "exit-first-tap": ["-x", "--tap", "kinds/kinds.c"],
    "repeat": ["--repeat", "2", "-v", "-k", "requirement or passes"],
    "repeat-tap": ["--repeat", "2", "--tap", "-k", "requirement or passes"],
    "noisy-fails": ["--noisy=fail", "golden.c::noisy"],
    "speed-recorded": ["--speed=record", "-v", "golden.c::noisy", "golden.c::measures[small]",
                       "kinds/kinds.c::budgets"],
    "no-fork": ["--no-fork", "golden.c::passes", "kinds/kinds.c::requirement"],
    "no-fork-instructions": ["--no-fork", "--instructions"],
    "gdb-two-cases": ["--gdb", "golden.c::passes", "kinds/kinds.c::requirement"],
    "slowdown": ["--slowdown", "2x", "golden.c::passes", "kinds/kinds.c::requirement"],
    "slowdown-tap": ["--slowdown=1.5", "--tap", "golden.c::passes"],
    "slowdown-refused": ["--slowdown", "0.5x"],
    "slowdown-untimed": ["--slowdown", "2x", "--speed=off"],
    "speed-off": ["--speed=off", "-v", "golden.c::noisy", "golden.c::measures[small]",
                  "kinds/kinds.c::budgets"],
    "reproduce-options": ["--seed", "7", "--timeout", "5.5", "--set", "noise=0.2", "--device=cpu",
                          "--set", "kind=it's", "--speed=record", "-k", "axes or requirement"],
    "collect-selected": ["--co", "-m", "perf and not slow"],
    "collect-quiet": ["--co", "-q", *BASIC],
    "collect-verbose": ["--co", "-v", *BASIC, "kinds/kinds.c::budgets", "kinds/kinds.c::resident",
                        "kinds/kinds.c::unmeasured", "kinds/kinds.c::gradient_budget",
                        "kinds/kinds.c::timeout"],
    "collect-measured": ["--co", "-v", "golden.c::measures", "kinds/kinds.c::gradient_budget"],
    "markers": ["--markers"],
    "help": ["--help"],
    "version": ["--version"],
    "nothing-selected": ["-k", "nowhere"],
    "unknown-option": ["--speeed=judge", "golden.c"],
    "malformed-expression": ["-m", "stress and (not slow"],
}
PTY_RUNS = {"terminal": ["golden.c", "kinds/kinds.c::requirement"],
            "terminal-verbose": ["-v", "golden.c", "kinds/kinds.c::requirement"]}

FIGURE = r"[-+]?(?:[0-9]+(?:\.[0-9]+)?(?:e[-+]?[0-9]+)?|inf)"
# Of the kinds of text there are, those that vary. Rules are drawn anew: see redraw().
VARYING = [
    (re.compile(r"(machine: ).* \([0-9a-f?]{1,12}\)$"), r"\1MODEL (FINGERPRINT)"),
    (re.compile(rf"(in ){FIGURE} (?:us|ms|s) +((?:\\e\[[0-9]+m)?\[ *[0-9]+%\](?:\\e\[0m)?)$"),
     r"\1TIME \2"),
    (re.compile(rf"\+-{FIGURE} %"), "+-# %"),
    (re.compile(r"^ *[0-9]+\.[0-9][0-9]s (?=[a-z])"), "   #.##s "),
    (re.compile(r"\(pid [0-9]+\)"), "(pid PID)"),
    (re.compile(r"^# (\w+) [0-9.e+]+ (?=\S+ ?\S*(?:/s)? \+-)"), r"# \1 # "),
    (re.compile(r"pipe:\[[0-9]+\]"), "pipe:[NUMBER]"),
    (re.compile(r"(the end of )[0-9.]+( MiB\))"), r"\1#\2"),
    (re.compile(r"((?:PASSED|FAILED|NOISY|XFAILED|XPASSED|ERROR)(?:\\e\[0m)?(?: #\d)? \w+ )[0-9.e+]+"
                r" (?=\S+ ?\S*(?:/s)? \+-)"), r"\1# "),
    (re.compile(r"(\b(?:copy|step) at .* slack )[0-9.]+(?:e[-+]?[0-9]+)?"), r"\1#"),
    (re.compile(r"(\b(?:copy|step) at [^:]*, measured )[^,]*"), r"\1#"),
    (re.compile(rf"(resident growth: ){FIGURE} MiB(.*?){FIGURE} %"), r"\1# MiB\2# %"),
    (re.compile(rf"{FIGURE} [KM]iB of pages of files"), "# of pages of files"),
]
# The limit of a budget is declared and stays; what follows its colon was measured.
LIMIT = re.compile(r"(.*?\b(?:step|copy) at (?:least|most) [^:]*: )(.*)$")
# On a busy machine a rate may be a thousandfold less.
TRAFFIC = re.compile(r", traffic [0-9.e+]+ \S*B/s")
PREFIX = re.compile(r"# [kMG] (?=\w+/s\b)")
# Said when something else on the machine is timed just now.
WAITING = re.compile(r"^waiting for another timed run on this machine .*\n", re.M)
# Of a crash or a time-out: what there is of it depends on debugging symbols and sanitizers. The zoo
# looks at it.
STACK = re.compile(r"^    +(?:at \S.*|thread .* \(\d+\).*)\n", re.M)
ESTIMATE = re.compile(r"(  measured \w+: )(.*?)(, [0-9]+ samples? of [0-9]+, stopped by .*)$")
RULE = re.compile(r"^(=+) (.*) (=+)$")
SECONDS = re.compile(r"(?:\b|(?<=m))in [0-9]+\.[0-9][0-9]s(?=\\e|$| =)")
COLOUR = re.compile(r"\\e\[[0-9;]*m")


def redraw(line):
    """A rule whose title holds a time: as wide as it was, with a time of fixed width."""
    found = RULE.match(COLOUR.sub("", line))
    if found is None or SECONDS.search(found.group(2)) is None:
        return SECONDS.sub("in #.##s", line)
    left, title, right = found.groups()
    width = max(80 - len(title) - 2, 2)
    if (len(left), len(right)) != (width // 2, width - width // 2):
        return line + " (not as wide as a rule is)"
    return re.sub("=+", "=", SECONDS.sub("in #.##s", line)) + " (a rule)"


def numbers_only(text):
    return re.sub(rf"(?<![\w.]){FIGURE}(?= |\]|$)", "#", text)


def normalise_line(line):
    for pattern, mark in VARYING:
        line = pattern.sub(mark, line)
    found = LIMIT.match(line)
    if found is not None:
        line = found.group(1) + numbers_only(found.group(2))
    found = ESTIMATE.match(line)
    if found is not None:
        line = found.group(1) + numbers_only(found.group(2)) + found.group(3)
    return redraw(PREFIX.sub("# ", line))


# What else went on is another thing every time, and may be nothing.
DISTURBED = re.compile(r"(?m)^(?:  note: |# note: |NOTE \S+ - )'[^'\n]*' was disturbed: .*\n"
                       r"|(?<=be decided): '[^'\n]*' was disturbed: .*(?=\n)")


SHARE = re.compile(r", [0-9]+(?:\.[0-9]+)?(?:e-[0-9]+)? of (?:L[0-9] |memory )?[a-z0-9]+(?= in |$)", re.M)


# Where a flood of output is cut depends on when.
FLOOD = re.compile(r"(?:^    \| 0{20}.*\n)+", re.M)


def normalise(text, places):
    for path, mark in places:
        text = text.replace(path, mark)
    text = STACK.sub("", WAITING.sub("", text))
    text = DISTURBED.sub("", text)
    text = FLOOD.sub("    | 0000 (a flood)\n", text)
    text = SHARE.sub(", # of a ceiling", text)
    text = TRAFFIC.sub(", traffic #", text)
    text = text.replace("\033", "\\e")
    return "".join(normalise_line(line) + "\n" for line in text.split("\n")[:-1]) + \
        ("" if text.endswith("\n") or text == "" else text.rsplit("\n", 1)[-1] + " (no line end)\n")


EXACT_BUDGET = re.compile("max (?:peak|leak|allocations|value|gradient error) |min value ")


def normalise_csv(text):
    """Fields that vary by their column; rows and empty fields stay."""
    lines = []
    for number, line in enumerate(text.split("\n")[:-1]):
        fields = re.findall(r'(?:^|,)("(?:[^"]|"")*"|[^,]*)', line)
        if number > 0 and len(fields) == 20:
            started, run, kind, name = fields[0], fields[1], fields[4], fields[5]
            fields[0] = "WHEN" if re.fullmatch(r"[0-9]+\.[0-9]{3}", started) else started
            fields[1] = "RUN" if re.fullmatch(r"[0-9a-f-]{36}", run) else run
            if kind in ("duration", "measurement", "ceiling") or \
                    kind == "verdict" and not EXACT_BUDGET.match(name):
                for column in (9, 10, 11, 14, 15, 16, 17):
                    if fields[column] != "":
                        fields[column] = "#" if float(fields[column]) > 0 else fields[column]
        lines.append(",".join(fields))
    return "\n".join(lines) + "\n"


def transcript(program, arguments, places, folder, history="history.db"):
    done = subprocess.run([program, "--history", os.path.join(folder, history), *LIMITS,
                           *arguments], capture_output=True, text=True, errors="replace",
                          stdin=subprocess.DEVNULL, timeout=120,
                          env={**ENVIRONMENT, **QUIET, **(SLOWLY if any("durations" in a for a in arguments) else {})})
    return (f"$ golden {' '.join(arguments)}\n--- exit status {done.returncode}\n"
            f"--- standard output\n{normalise(done.stdout, places)}"
            f"--- standard error\n{normalise(done.stderr, places)}")


def on_terminal(program, arguments, folder, **environment):
    """What arrives at a terminal: both streams in one, with its line ends taken off."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen([program, "--history", os.path.join(folder, "history.db"), *LIMITS,
                                *arguments], stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs,
                               env={**ENVIRONMENT, **QUIET, "TERM": "xterm", **environment})
    os.close(theirs)
    text = b""
    while True:
        try:
            more = os.read(ours, 65536)
        except OSError:  # the other end is closed: this is how a terminal ends
            more = b""
        if not more:
            break
        text += more
    os.close(ours)
    return process.wait(), text.decode(errors="replace").replace("\r\n", "\n")


def compare(tap, name, text, update):
    path = os.path.join(EXPECTED, name + ".txt")
    if update:
        with open(path, "w") as file:
            file.write(text)
    wanted = ""
    if os.path.exists(path):
        with open(path) as file:
            wanted = file.read()
    if SANITIZED:
        wanted = NO_BASELINE.sub("", wanted)
    difference = "".join(difflib.unified_diff(wanted.splitlines(True), text.splitlines(True),
                                              f"expected/{name}.txt", "printed", n=2))
    tap.check(difference == "", name, difference)


def check_terminal(tap, program, places, folder, update):
    for name, arguments in PTY_RUNS.items():
        code, colour = on_terminal(program, arguments, folder)
        _, plain = on_terminal(program, arguments, folder, NO_COLOR="1")
        compare(tap, name, f"$ golden {' '.join(arguments)}\n--- exit status {code}\n"
                           f"--- terminal\n{normalise(colour, places)}", update)
        tap.check("\033[32m" in colour and "\033[31m" in colour, f"{name}: in colour", colour)
        tap.check("\033" not in plain, f"{name}: no colour with NO_COLOR", plain)
        tap.equal(normalise(re.sub("\033\\[[0-9;]*m", "", colour), places),
                  normalise(plain, places), f"{name}: colour is all that NO_COLOR takes away")
    _, colour = on_terminal(program, ["golden.c::passes"], folder, NO_COLOR="")
    tap.check("\033[32m" in colour, "an empty NO_COLOR is none", colour)


def check_csv(tap, program, places, folder, update):
    path = os.path.join(folder, "rows.csv")
    for arguments in ([*BASIC, "-k", "not (large or flat or 0.125 or 150)"],
                      ["--repeat", "2", "golden.c::passes", "kinds/kinds.c::gradient",
                       "kinds/kinds.c::precision", "kinds/kinds.c::crash"]):
        transcript(program, ["--csv", path, *arguments], places, folder)
    with open(path) as file:
        compare(tap, "csv", normalise_csv(file.read()), update)


# A program with a sanitizer has no baseline, and -v says nothing of it.
NO_BASELINE = re.compile(r"^ +- +no baseline on this kind of machine yet .*\n", re.M)
# Under AddressSanitizer its memory is not judged.
JUDGED = {"all": "kinds/kinds.c::resident"}


def main(program, update):
    tap = Tap()
    suites = os.path.join(HERE, "suites")
    with tempfile.TemporaryDirectory() as folder:
        # The program was compiled elsewhere: its files are named as the compiler was given them.
        places = [(folder, "FOLDER"), (os.path.abspath(program), "PROGRAM"), (program, "PROGRAM")]
        text = subprocess.run([program, "--history", os.path.join(folder, "history.db"),
                               "kinds/kinds.c::requirement"], capture_output=True, text=True).stdout
        named = re.search(r"^  (\S*)kinds/kinds\.c:", text, re.M)
        places.append((named.group(1) if named else suites + "/", "SUITES/"))
        for name, arguments in RUNS.items():
            known = "none.db" if name == "collect-verbose" else "history.db"
            printed = transcript(program, arguments, places, folder, known)
            if SANITIZED and name in JUDGED:
                tap.skip(name, f"{JUDGED[name]} is not judged with a sanitizer")
            else:
                compare(tap, name, printed, update)
        check_terminal(tap, program, places, folder, update)
        check_csv(tap, program, places, folder, update)
        stale = sorted(set(os.listdir(EXPECTED)) -
                       {n + ".txt" for n in [*RUNS, *PTY_RUNS, "csv"]})
        tap.equal(stale, [], "every transcript in expected/ is made by a run here")
    tap.done()


main(sys.argv[1], "--update" in sys.argv[2:])
