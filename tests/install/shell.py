"""The manual pages and the shell's completion say what the programs take.

usage: shell.py YIELDPOINT SUITE COMPLETION PAGE...    SUITE: a test program; PAGE: a manual page that was made
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from program import ENVIRONMENT, listed, run  # noqa: E402
from tap import Tap  # noqa: E402


def options_in(text):
    return set(re.findall(r"(?<![\w-])--?[a-zA-Z][a-zA-Z-]*", text))


# -- manual pages --------------------------------------------------------------------------------

def check_page(tap, page, folder):
    """Formatted without a warning; returns it as plain text."""
    done = subprocess.run(["groff", "-man", "-Tascii", "-P-cbou", "-ww", "-rLL=200n", page], capture_output=True,
                          text=True)
    tap.check(done.returncode == 0 and done.stderr == "", f"{os.path.basename(page)}: groff warns of nothing",
              done.stderr)
    if shutil.which("man"):
        asked = subprocess.run(["man", "--warnings", "-l", page], capture_output=True, text=True, cwd=folder,
                               env={**os.environ, "MANPAGER": "cat"})
        tap.check(asked.returncode == 0 and asked.stderr == "", f"{os.path.basename(page)}: nor man", asked.stderr)
    return done.stdout


def section_of(text, name):
    """The lines of a subsection, as far as the next."""
    return re.search(rf"^   {name}$(.*?)^(?:   \S|\S)", text, re.M | re.S)


def commands_of(yieldpoint):
    return re.findall(r"^  yieldpoint (\w+)", run(yieldpoint, "--help").out, re.M)


def check_command(tap, yieldpoint, text):
    for name in sorted(set(commands_of(yieldpoint))):
        section = section_of(text, name)
        if not tap.check(section is not None, f"yieldpoint(1) has {name}", text):
            continue
        words = [[name]] + ([[name, more] for more in ("import", "prune", "export")] if name == "history" else [])
        for each in words:
            done = run(yieldpoint, *each, "--list-options")
            taken = {line.rstrip("=") for line in done.out.split()}
            # --history stands once, for all of them.
            shown = options_in(section.group(1))
            missing = taken - shown - {"--history", "--help", "-h"} - ({"--verbose"} if "-v" in shown else set())
            tap.check(done.code == 0 and taken and not missing, f"yieldpoint(1) has all options of {' '.join(each)}",
                      f"{sorted(missing)}\n{done}")


def check_suite(tap, suite, text):
    done = run(suite, "--help")
    shown = {o for line in done.out.splitlines() if line.startswith("  -") for o in options_in(line[:28])}
    own = {o for line in done.out.partition("of this program:")[2].splitlines() for o in options_in(line[:28])}
    lines = {o for line in text.splitlines() if re.match(r" {7}-", line) for o in options_in(line.split("  ")[0])
             | options_in(line[:40])}
    tap.check(len(shown) > 40 and not shown - own - lines, "yieldpoint-suite(7) has all options",
              sorted(shown - own - lines))


# -- completion ----------------------------------------------------------------------------------

class Shell:
    def __init__(self, tap, completion, folder):
        self.tap, self.completion, self.folder = tap, completion, folder

    def offered(self, function, line, split=None):
        """What is offered at the end of `line`; `split`: its words, as bash gives them."""
        words = split if split is not None else line.split(" ")
        script = (f"source {shlex.quote(self.completion)}; COMP_WORDS=({' '.join(map(shlex.quote, words))}); "
                  f"COMP_CWORD={len(words) - 1}; COMP_LINE={shlex.quote(line)}; COMP_POINT=${{#COMP_LINE}}; "
                  f"{function}; printf '%s\\n' \"${{COMPREPLY[@]}}\"")
        done = subprocess.run(["bash", "--norc", "-c", script], capture_output=True, text=True, cwd=self.folder,
                              env=ENVIRONMENT, stdin=subprocess.DEVNULL)
        self.error = done.stderr
        return [word for word in done.stdout.split("\n") if word]

    def check(self, name, got, wanted):
        self.tap.check(sorted(got) == sorted(wanted) and self.error == "", f"completion: {name}",
                       f"got    {sorted(got)}\nwanted {sorted(wanted)}\n{self.error}")


def check_suite_completion(tap, shell, suite):
    ids = listed(run(suite, "--co", "-q", cwd=shell.folder))
    helped = run(suite, "--help").out
    names = {o for line in helped.splitlines() if line.startswith("  -") for o in options_in(line.split("  ")[1])}

    def offered(line, split=None):
        return shell.offered("_yieldpoint_suite", f"{suite} {line}", [suite] + (split or line.split(" ")))
    shell.check("all options", offered("-"), names)
    shell.check("of one beginning", offered("--du"), ["--durations", "--durations-min"])
    shell.check("markers", offered("-m st"), ["stress"])
    shell.check("all markers", offered("-m "), [line.split()[0] for line in run(suite, "--markers").out.splitlines()])
    shell.check("values", offered("--bind "), ["auto", "none", "cores"])
    shell.check("values behind =", offered("--speed=re", ["--speed", "=", "re"]), ["record"])
    shell.check("no value of another", offered("--seed "), [])
    one = next(i for i in ids if "[" in i)
    file, test = one.split("::")[0], one.split("[")[0]
    shell.check("files", offered(file[:-1]), [file] + sorted(
        {i.split("[")[0] for i in ids if i.startswith(file[:-1])} | {i for i in ids if i.startswith(file[:-1])}))
    # Bash has split the word at the colons, and puts what is offered behind them.
    begun = test[:-1]
    wanted = {i for i in {one.split("[")[0] for one in ids} | set(ids) if i.startswith(begun)}
    shell.check("tests and ids", offered(begun, [file, "::", begun.split("::")[1]]),
                [i[len(file) + 2:] for i in wanted])
    shell.check("in quotes", offered("'" + begun, ["'" + begun]), wanted)
    shell.check("nothing", offered("no_such_file"), [])
    shell.check("a path", offered("--csv " + "some"), ["some_file"])


def check_command_completion(tap, shell, yieldpoint):
    def offered(line):
        return shell.offered("_yieldpoint", f"{yieldpoint} {line}", [yieldpoint] + line.split(" "))
    shell.check("commands", offered(""), sorted(set(commands_of(yieldpoint))) + ["--help", "--version"])
    shell.check("one command", offered("bi"), ["bisect"])
    for words in ("history", "history prune", "gate", "machine", "synth"):
        taken = {o.rstrip("=") for o in run(yieldpoint, *words.split(), "--list-options").out.split()}
        shell.check(f"options of {words}", offered(words + " -"), taken | {"--help"})
    shell.check("words of history", offered("history "), ["import", "prune", "export"])
    shell.check("files", offered("history import so"), ["some_file"])
    shell.check("a file behind an option", offered("show --history so"), ["some_file"])


def main(yieldpoint, suite, completion, *pages):
    tap = Tap()
    yieldpoint, suite = os.path.abspath(yieldpoint), os.path.abspath(suite)
    with tempfile.TemporaryDirectory() as folder:
        open(os.path.join(folder, "some_file"), "w").close()
        text = {os.path.basename(page): check_page(tap, os.path.abspath(page), folder) for page in pages}
        tap.run("yieldpoint(1)", check_command, tap, yieldpoint, text.get("yieldpoint.1", ""))
        tap.run("yieldpoint-suite(7)", check_suite, tap, suite, text.get("yieldpoint-suite.7", ""))
        shell = Shell(tap, completion, folder)
        tap.run("completion of a suite", check_suite_completion, tap, shell, suite)
        tap.run("completion of the command", check_command_completion, tap, shell, yieldpoint)
    tap.done()


main(*sys.argv[1:])
