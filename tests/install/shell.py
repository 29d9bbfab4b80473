"""The manual pages and the shell's completion say what the programs take.

usage: shell.py YIELDPOINT SUITE COMPLETIONS PAGE...    SUITE: a test program; COMPLETIONS: the directory of the
shells' files; PAGE: a manual page that was made
"""

import os
import pty
import re
import select
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from program import ENVIRONMENT, listed, run  # noqa: E402
from tap import Tap  # noqa: E402


def options_in(text):
    return set(re.findall(r"(?<![\w-])--?[a-zA-Z][a-zA-Z0-9-]*", text))


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
        done = run(yieldpoint, name, "--help")
        tap.check(done.code == 0 and set(re.findall(r"^  yieldpoint (\w+)", done.out, re.M)) <= {name}
                  and name in done.out, f"yieldpoint {name} --help is about {name} alone", done)
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
    for words in ("history", "history prune", "gate", "machine", "synth", "plays"):
        taken = {o.rstrip("=") for o in run(yieldpoint, *words.split(), "--list-options").out.split()}
        shell.check(f"options of {words}", offered(words + " -"), taken | {"--help"})
    shell.check("words of history", offered("history "), ["import", "prune", "export"])
    shell.check("files", offered("history import so"), ["some_file"])
    shell.check("a file behind an option", offered("show --history so"), ["some_file"])


# An interactive zsh, where completion lives. ^T completes the line in the file `line` and writes what is offered,
# between marks, to `offered`; ^Y does what the Tab key does and writes the line that comes of it.
ZSHRC = r"""
PS1='> ' LISTMAX=-1
unsetopt beep prompt_cr
zmodload zsh/parameter
fpath=("$ZDOTDIR/share/zsh/site-functions" $fpath)
autoload -U compinit && compinit -u -d "$ZDOTDIR/dump"
autoload -U +X bashcompinit && bashcompinit
source "$ZDOTDIR/share/bash-completion/completions/yieldpoint"
[ -z "$SUITE" ] && unfunction _yieldpoint && autoload -U _yieldpoint && compdef _yieldpoint yieldpoint
[ -z "$SUITE" ] || complete -F _yieldpoint_suite "${SUITE:t}"
compadd() {
    local -a hits
    [ -n "$listing" ] || { builtin compadd "$@"; return }
    builtin compadd -A hits "$@"
    printf '%s\n' "${hits[@]}" >>"$ZDOTDIR/offered.part"
    false
}
load() { BUFFER=$(<"$ZDOTDIR/line"); BUFFER=${BUFFER%.}; CURSOR=$#BUFFER; : >"$ZDOTDIR/offered.part" }
list() { load; listing=1 zle list-choices; mv "$ZDOTDIR/offered.part" "$ZDOTDIR/offered"; BUFFER= }
finish() { load; zle expand-or-complete; print -r -- "$BUFFER" >"$ZDOTDIR/offered.part"; mv "$ZDOTDIR/offered.part" "$ZDOTDIR/offered"; BUFFER= }
zle -N list && bindkey '^T' list
zle -N finish && bindkey '^Y' finish
print ready >"$ZDOTDIR/ready"
"""


class Zsh:
    """Completes lines as a user would have them completed."""

    def __init__(self, tap, completions, folder, suite=""):
        self.tap, self.folder = tap, folder
        self.home = tempfile.mkdtemp(dir=folder)
        for file, to in (("yieldpoint.bash", "share/bash-completion/completions/yieldpoint"),
                         ("yieldpoint.zsh", "share/zsh/site-functions/_yieldpoint")):
            os.makedirs(os.path.dirname(self.path(to)))
            shutil.copy(os.path.join(completions, file), self.path(to))
        with open(self.path(".zshrc"), "w") as rc:
            rc.write(ZSHRC)
        self.master, slave = pty.openpty()
        self.shell = subprocess.Popen(["zsh", "-i"], stdin=slave, stdout=slave, stderr=slave, cwd=folder,
                                      start_new_session=True,
                                      env={**ENVIRONMENT, "ZDOTDIR": self.home, "SUITE": suite, "TERM": "dumb"})
        os.close(slave)
        self.shown = b""
        self.wait("ready")

    def path(self, name):
        return os.path.join(self.home, name)

    def wait(self, name):
        """The file's text once it is there, and what the terminal has shown until then read away."""
        until = time.monotonic() + 60
        while not os.path.exists(self.path(name)):
            if select.select([self.master], [], [], 0.02)[0]:
                self.shown += os.read(self.master, 65536)
            if time.monotonic() > until:
                raise RuntimeError(f"zsh does not answer: {self.shown[-2000:]!r}")
        with open(self.path(name)) as file:
            return file.read()

    def ask(self, key, line):
        self.shown = b""
        with open(self.path("line"), "w") as file:
            file.write(line + ".")
        os.write(self.master, key)
        answer = self.wait("offered")
        os.remove(self.path("offered"))
        return answer

    def offered(self, line):
        """Without what zsh puts before brackets."""
        return [word for word in self.ask(b"\x14", line).replace("\\", "").split("\n") if word]

    def check(self, name, line, wanted):
        got = self.offered(line)
        self.tap.check(sorted(set(got)) == sorted(set(wanted)), f"zsh: {name}",
                       f"got    {sorted(got)}\nwanted {sorted(wanted)}\n{self.shown[-2000:]!r}")

    def close(self):
        self.shell.kill()
        self.shell.wait()
        os.close(self.master)


def check_zsh(tap, completions, folder, yieldpoint, suite):
    if shutil.which("zsh") is None:
        tap.skip("completion of zsh", "there is no zsh")
        return
    ids = listed(run(suite, "--co", "-q", cwd=folder))
    one = next(i for i in ids if "[" in i)
    file, test = one.split("::")[0], one.split("[")[0]
    wanted = set(ids) | {i.split("[")[0] for i in ids}
    shell = Zsh(tap, completions, folder, suite)
    try:
        shell.check("values", f"{suite} --bind ", ["auto", "none", "cores"])
        shell.check("values behind =", f"{suite} --speed=re", ["--speed=record"])
        shell.check("of one beginning", f"{suite} --du", ["--durations", "--durations-min"])
        shell.check("markers", f"{suite} -m st", ["stress"])
        shell.check("tests and ids", f"{suite} {test[:-1]}", [i for i in wanted if i.startswith(test[:-1])])
        shell.check("in quotes", f"{suite} '{test[:-1]}", [i for i in wanted if i.startswith(test[:-1])])
        shell.check("behind a bracket", f"{suite} {test}\\[", [i for i in wanted if i.startswith(test + "[")])
        shell.check("nothing", f"{suite} no_such_file", [])
        shell.check("a path", f"{suite} --csv some", ["some_file"])
        typed = shell.ask(b"\x19", f"{suite} {one[:-1]}".replace("[", "\\[")).rstrip("\n")
        tap.equal(shlex.split(typed), [suite, one], "zsh: the Tab key types an id that the program takes")
    finally:
        shell.close()
    shell = Zsh(tap, completions, folder)
    try:
        shell.check("one command, as installed", f"{yieldpoint} bi", ["bisect"])
        shell.check("words of history", f"{yieldpoint} history ", ["import", "prune", "export"])
        shell.check("a file behind an option", f"{yieldpoint} show --history so", ["some_file"])
    finally:
        shell.close()


def main(yieldpoint, suite, completions, *pages):
    tap = Tap()
    yieldpoint, suite = os.path.abspath(yieldpoint), os.path.abspath(suite)
    with tempfile.TemporaryDirectory() as folder:
        open(os.path.join(folder, "some_file"), "w").close()
        text = {os.path.basename(page): check_page(tap, os.path.abspath(page), folder) for page in pages}
        tap.run("yieldpoint(1)", check_command, tap, yieldpoint, text.get("yieldpoint.1", ""))
        tap.run("yieldpoint-suite(7)", check_suite, tap, suite, text.get("yieldpoint-suite.7", ""))
        shell = Shell(tap, os.path.join(completions, "yieldpoint.bash"), folder)
        tap.run("completion of a suite", check_suite_completion, tap, shell, suite)
        tap.run("completion of the command", check_command_completion, tap, shell, yieldpoint)
        tap.run("completion of zsh", check_zsh, tap, completions, folder, yieldpoint, suite)
    tap.done()


main(*sys.argv[1:])
