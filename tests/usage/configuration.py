"""yieldpoint.ini: where it is looked for, what is in it for which machine, what wins, and what --show-config says.

    configuration.py USAGE YIELDPOINT"""

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from program import ENVIRONMENT, Outcome, run  # noqa: E402
from tap import Tap  # noqa: E402

OK, FAILED, USAGE = 0, 1, 4
PASS = "usage.c::passes"


def write(folder, text, name="yieldpoint.ini"):
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def shown(outcome):
    """{option: (value, where)}, and the head's two lines by their names."""
    head, table, tags = outcome.out.split("\n\n")
    rows = {line.split()[0]: (re.split("  +", line)[1:-1], re.split("  +", line)[-1]) for line in table.split("\n")}
    rows = {option: (value[0] if value else "", where) for option, (value, where) in rows.items()}
    named = dict(line.split(": ", 1) for line in head.split("\n"))
    return rows, named, {line.split()[0]: re.split("  +", line)[-1] for line in tags.strip().split("\n")}


def order(tap, program, folder):
    """Everything in its order: built in, file, machine, environment, command line."""
    project = os.path.join(folder, "order")
    path = write(project, f"""[yieldpoint]
options = --seed 1 --repeat 2 --jobs 3 --timeout 4
    --deselect "a b" --deselect c
history = all.db
[machine {socket.gethostname()[:3]}*]
options = --repeat 20 --jobs 30 --timeout 40
[machine nobody-has-this-name]
options = --seed 9
history = nobody.db
[machine quiet-?]
history = quiet.db
[tags]
nightly = not in a gate
""")
    done = run(program, "--show-config", "-x", "--timeout=4000", cwd=project,
               env={"YIELDPOINT_OPTIONS": "--jobs=300 --timeout=400", "YIELDPOINT_MACHINE": "quiet-7"})
    rows, head, tags = shown(done)
    tap.equal(done.code, OK, "--show-config")
    tap.equal(head, {"root": f"{project} (the directory of the file)", "file": path}, "which file, which root")
    mine = f"yieldpoint.ini, [machine {socket.gethostname()[:3]}*] options"
    tap.equal([rows["--seed"], rows["--repeat"], rows["--jobs"], rows["--timeout"], rows["--confirm"]],
              [("1", "yieldpoint.ini, [yieldpoint] options"), ("20", mine), ("300", "YIELDPOINT_OPTIONS"),
               ("4000", "command line"), ("3", "built in")], "what is nearer wins")
    tap.equal(rows["--deselect"], ("'a b' c", "yieldpoint.ini, [yieldpoint] options"), "all of what is kept together")
    tap.equal(rows["--history"], (os.path.join(project, "quiet.db"), "yieldpoint.ini, [machine quiet-?]"),
              "the history, by the name that the environment gives")
    tap.equal((rows["--maxfail"], rows["--exitfirst"], rows["-r"]), (("1", "another option"), ("yes", "command line"), ("fE", "built in")),
              "what follows from another option")
    tap.equal((tags["nightly"], tags["small"]), ("yieldpoint.ini, [tags]", "built in"), "the tags")
    tap.check("--help" not in rows and "--show-config" not in rows, "not what asks", rows)
    run(program, PASS, "--repeat=1", cwd=project, env={"YIELDPOINT_MACHINE": "quiet-7"})
    tap.equal(sorted(f for f in os.listdir(project) if f.endswith(".db")), ["quiet.db"], "and it is used")
    run(program, PASS, "--repeat=1", cwd=project)
    tap.check(os.path.exists(os.path.join(project, "all.db")), "elsewhere the project's", os.listdir(project))
    wrong = run(program, "--co", cwd=write(os.path.join(folder, "slip"), "[machine x]\nseed = 1\n") and
                os.path.join(folder, "slip"))
    tap.check(wrong.code == USAGE and "'seed' in [machine x]" in wrong.err, "a slip in another machine's section", wrong)


def named(tap, program, folder):
    project = os.path.join(folder, "named")
    ci = write(project, "[yieldpoint]\noptions = -q\n[tags]\nci = of CI\n", "ci.ini")
    write(project, "[yieldpoint]\noptions = --seed 77\n")
    below = os.path.join(project, "below")
    os.makedirs(below)
    for words in (["-c", "../ci.ini"], ["--config-file=../ci.ini"], ["-c../ci.ini"]):
        rows, head, tags = shown(run(program, *words, "--show-config", cwd=below))
        tap.equal((head["file"], rows["--seed"][0], "ci" in tags), (ci, "0", True), " ".join(words))
    rows, head, _ = shown(run(program, "--rootdir", "below", "--show-config", cwd=project))
    tap.equal((head["root"], head["file"], rows["--seed"][0]), (f"{below} (asked for)", "none", "0"),
              "--rootdir: no other directory's file")
    _, head, _ = shown(run(program, "--rootdir", "..", "-c", ci, "--show-config", cwd=below))
    tap.equal((head["root"], head["file"]), (f"{project} (asked for)", ci), "both")
    rows, head, _ = shown(run(program, "--show-config", cwd=below, env={"YIELDPOINT_OPTIONS": "-c ../ci.ini"}))
    tap.equal(head["file"], ci, "from the environment")
    for words, said in ((["-c", "absent.ini"], "absent.ini"), (["--rootdir=absent"], "a directory that is there"),
                        (["--rootdir=yieldpoint.ini"], "a directory that is there")):
        done = run(program, *words, "--co", cwd=project)
        tap.check(done.code == USAGE and said in done.err, f"{' '.join(words)}: told", done)
    write(below, "[yieldpoint]\noptions = -c ../ci.ini\n")
    done = run(program, "--co", cwd=below)
    tap.check(done.code == USAGE and "-c and --rootdir say which file is read" in done.err, "a file names no other", done)
    for flag in ("--strict-markers", "--strict-config", "--strict"):
        tap.equal(run(program, flag, "-q", PASS, cwd=project).code, OK, flag)


def of_the_sources(tap, program, folder):
    """From anywhere a program of a project is run with that project's file: its sources lead to it."""
    project, elsewhere = os.path.join(folder, "sources"), os.path.join(folder, "elsewhere")
    os.makedirs(elsewhere)
    path = write(project, "[yieldpoint]\noptions = --seed 12\n[tags]\nmine = of the project\n")
    here = os.path.join(os.path.dirname(os.path.realpath(__file__)), "suites", "usage.c")
    source = os.path.relpath(here, os.path.realpath(os.path.join(os.path.dirname(program), "..", "..")))
    build = os.path.join(project, *["deep"] * source.split("/").count(".."))
    source = os.path.normpath(os.path.join(build, source))
    os.makedirs(build)
    shutil.copy(program, build)
    copy = os.path.join(build, os.path.basename(program))

    def ask(cwd, *words):
        done = subprocess.run([copy, *words, "--show-config"], capture_output=True, text=True, cwd=cwd, env=ENVIRONMENT,
                              stdin=subprocess.DEVNULL)
        return shown(Outcome(done.returncode, done.stdout, done.stderr))
    write(os.path.dirname(source), "", "usage.c")
    rows, head, tags = ask(elsewhere)
    tap.equal((head["file"], rows["--seed"][0], "mine" in tags), (path, "12", True), "the file above its sources")
    other = write(os.path.join(folder, "other"), "[yieldpoint]\noptions = --seed 13\n")
    rows, head, _ = ask(os.path.dirname(other))
    tap.equal((head["file"], rows["--seed"][0]), (other, "13"), "that of the working directory goes before it")
    os.remove(source)
    _, head, _ = ask(elsewhere)
    tap.equal((head["root"], head["file"]), (f"{elsewhere} (the working directory)", "none"),
              "where there are no sources there is none")
    os.makedirs(os.path.join(elsewhere, ".git"))
    os.makedirs(os.path.join(elsewhere, "below"))
    _, head, _ = ask(os.path.join(elsewhere, "below"))
    tap.equal((head["root"], head["file"]), (f"{elsewhere} (it holds .git)", "none"), "and the root has .git")


def of_the_command(tap, program, yieldpoint, folder):
    """`yieldpoint history` reads the history that the file names."""
    project = os.path.join(folder, "command")
    path = write(project, "[yieldpoint]\nhistory = kept/all.db\n")
    run(program, PASS, "-q", cwd=project)
    done = run(yieldpoint, "history", cwd=project)
    tap.check(done.code == OK and PASS in done.out, "a history that the file names is read", done)
    write(project, "[yieldpoint]\nhistroy = kept/all.db\n")
    done = run(yieldpoint, "history", cwd=project)
    tap.check(done.code != OK and f"{path}:2" in done.err, "a wrong file is told", done)


def of_the_history(tap, program, yieldpoint, folder):
    """-v says which history and why, and the commands read the one that a program started there writes to."""
    project = os.path.join(folder, "histories")
    path = write(project, "[yieldpoint]\n")
    below = os.path.join(project, "below")
    os.makedirs(below)
    own, nearer = (os.path.join(place, ".yieldpoint", "history.db") for place in (project, below))

    def header(*words):
        return re.search("history: (.*)", run(program, "-v", PASS, *words, cwd=below).out)[1]
    why = f"below the root: the directory of the file, {path}"
    tap.equal(header(), f"{own} ({why})", "-v: below the root")
    tap.equal(header("--history", nearer), f"{nearer} (command line)", "-v: as it is told")
    tap.equal(header("--rootdir=."), f"{nearer} (below the root: asked for)", "-v: below a root that is asked for")
    for command in ("history", "show", "budgets", "trend", "gates"):
        done = run(yieldpoint, command, "-v", cwd=below)
        tap.check(done.err.startswith(f"history: {own} ({why})\n"), f"{command} -v: the program's, not a nearer one", done)
    tap.equal(run(yieldpoint, "history", cwd=below).err, "", "and without -v nothing is said")
    os.remove(own)
    done = run(yieldpoint, "history", "-v", cwd=below)
    tap.check(done.err == f"history: {nearer} (the nearest, for there is no {own})\n" and PASS in done.out,
              "where there is none, the nearest", done)
    write(project, "[yieldpoint]\nhistory = all.db\n")
    tap.equal(header(), f"{project}/all.db ([yieldpoint] in {path})", "-v: by the file")
    done = run(yieldpoint, "history", "-v", cwd=below)
    tap.equal(done.err, f"history: {project}/all.db ([yieldpoint] in {path})\n", "history -v: by the file")


def main(program, yieldpoint):
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="yp-") as folder:
        folder = os.path.realpath(folder)
        for check in (order, named, of_the_sources):
            tap.run(check.__name__, check, tap, program, folder)
        for check in (of_the_command, of_the_history):
            tap.run(check.__name__, check, tap, program, yieldpoint, folder)
    tap.done()


main(*map(os.path.abspath, sys.argv[1:]))
