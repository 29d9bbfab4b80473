"""yieldpoint init: which files it writes, what it refuses and leaves alone, and what it says is next.

usage: init.py YIELDPOINT"""

import configparser
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from program import run  # noqa: E402
from tap import Tap  # noqa: E402

OK, FILE, USAGE = 0, 3, 4
MARKS = {"meson": "meson.build", "cmake": "CMakeLists.txt", "make": "Makefile"}
SUITE = {"meson": ["meson.build"], "cmake": ["CMakeLists.txt", ".gitignore"], "make": ["Makefile", ".gitignore"]}
JOBS = {"github": [".github/workflows/perf.yml", "perf/ci.sh"],
        "gitlab": [".gitlab-ci.yml", "perf/gitlab-ci.yml", "perf/ci.sh"]}


class Project:
    """A folder with files, and the command in it."""

    def __init__(self, yieldpoint, parent, files=(), git=False):
        self.yieldpoint, self.folder = yieldpoint, tempfile.mkdtemp(dir=parent)
        for name in files:
            self.write(name, f"this is {name}\n")
        if git:
            subprocess.run(["git", "init", "-q", "-b", "main", self.folder], check=True)

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)

    def init(self, *words, below=""):
        return run(self.yieldpoint, "init", *words, cwd=os.path.join(self.folder, below))

    def files(self):
        """{path: text} of all but git's."""
        found = {}
        for top, folders, names in os.walk(self.folder):
            folders[:] = [f for f in folders if f != ".git"]
            for name in names:
                path = os.path.join(top, name)
                with open(path) as file:
                    found[os.path.relpath(path, self.folder)] = file.read()
        return found


def check_written(tap, make, build, how):
    wanted = {"yieldpoint.ini", "perf/suite.c"} | {f"perf/{name}" for name in SUITE[build]}
    mark = MARKS[build]
    project = make([mark])
    done = project.init(*how)
    files = project.files()
    tap.equal((done.code, set(files) - {mark}), (OK, wanted), f"{build}: the suite, its build file, yieldpoint.ini")
    tap.equal(files.get(mark), f"this is {mark}\n", f"{build}: the project's own file is as it was")
    tap.check(all(f"    {name}\n" in done.out for name in wanted), f"{build}: each is named", done)
    tap.equal([name for name, text in files.items() if re.search("@[A-Z]+@", text)], [],
              f"{build}: nothing is left to fill in")
    ini = configparser.ConfigParser(interpolation=None)
    ini.read_string(files["yieldpoint.ini"])
    tap.equal(sorted(ini["gate"]), {"meson": [], "cmake": ["build", "setup", "suites"], "make": ["build", "suites"]}[build],
              f"{build}: how the gate builds a revision")
    tap.check(("subdir('perf')" in done.out) == (build == "meson"), f"{build}: the line for the project's own file", done)


def check_folder(tap, make):
    project = make(["Makefile"], git=True)
    done = project.init("--folder", "tests/speed", "--ci=gitlab")
    files = project.files()
    tap.check(done.code == OK and {"tests/speed/suite.c", "tests/speed/ci.sh", "tests/speed/gitlab-ci.yml"} <= set(files),
              "another folder", sorted(files))
    tap.check("make -C tests/speed" in done.out and "{source}/tests/speed BUILD" in files["yieldpoint.ini"] and
              "../../parse.c" in files["tests/speed/Makefile"] and
              "SUITE: tests/speed/build/perf-suite" in files["tests/speed/gitlab-ci.yml"] and
              "local: tests/speed/gitlab-ci.yml" in files[".gitlab-ci.yml"], "is named everywhere", done)
    tap.equal([name for name, text in files.items() if "perf/" in text.replace("/perf-suite", "")], [],
              "and the usual one nowhere")
    for wrong in ("", "/tmp", "../x", "a/../b", "a//b", "a/", ".", "a b", "-a", "a\nb", "$x", ".git"):
        done = make(["Makefile"]).init(f"--folder={wrong}")
        tap.check(done.code == USAGE and "a folder below this one" in done.err, f"refused: --folder {wrong!r}", done)


def check_ci(tap, make):
    for ci, wanted in JOBS.items():
        project = make(["CMakeLists.txt"], git=True)
        tap.equal((project.init("--ci", ci).code, set(wanted) - set(project.files())), (OK, set()), f"{ci}: its files")
        later = make(["Makefile"], git=True)
        later.init()
        before = later.files()
        done = later.init("--ci", ci, "--only-ci")
        after = later.files()
        tap.equal((done.code, set(after) - set(before)), (OK, set(wanted)), f"{ci}: later, by --only-ci")
        tap.equal({name: after[name] for name in before}, before, f"{ci}: and nothing else has changed")
        tap.check("(1)" in done.out, f"{ci}: the lines to set", done)
    project = make(["Makefile", ".gitlab-ci.yml"], git=True)
    done = project.init("--ci=gitlab")
    tap.check(done.code == OK and project.files()[".gitlab-ci.yml"] == "this is .gitlab-ci.yml\n" and
              "include:\n      - local: perf/gitlab-ci.yml" in done.out,
              "the project's own .gitlab-ci.yml stays, and the lines for it are printed", done)
    project = make(["sub/Makefile"], git=True)
    done = project.init("--ci=github", below="sub")
    tap.check(done.code == USAGE and project.folder in done.err and set(project.files()) == {"sub/Makefile"},
              "jobs are written at the top of a repository alone", done)
    tap.equal(project.init(below="sub").code, OK, "a suite below it, too")


def check_refused(tap, make):
    for there in ("yieldpoint.ini", "perf/suite.c", "perf/Makefile", ".github/workflows/perf.yml", "perf/ci.sh"):
        project = make(["Makefile", there])
        before = project.files()
        done = project.init("--ci=github")
        tap.check(done.code == FILE and f"{there}: it is there already" in done.err and "nothing was written" in done.err,
                  f"{there} is there", done)
        tap.equal(project.files(), before, f"{there} is there: nothing is written")
    project = make(["Makefile"])
    os.symlink("nowhere", os.path.join(project.folder, "yieldpoint.ini"))
    done = project.init()
    tap.check(done.code == FILE and "yieldpoint.ini: it is there" in done.err and
              not os.path.exists(os.path.join(project.folder, "perf")), "a link that leads nowhere is there, too", done)
    project = make(["Makefile", "perf"])
    done = project.init()
    tap.check(done.code == FILE and "perf" in done.err and set(project.files()) == {"Makefile", "perf"},
              "a file where the folder would be", done)
    # What is written before the fault is taken back.
    project = make(["Makefile", ".github"])
    done = project.init("--ci=github")
    tap.check(done.code == FILE and "no file was kept" in done.err and set(project.files()) == {"Makefile", ".github"},
              "all files or none", done)


def check_command_line(tap, make):
    done = make().init()
    tap.check(done.code == USAGE and "meson.build, CMakeLists.txt or Makefile" in done.err, "no build system", done)
    project = make(["CMakeLists.txt", "GNUmakefile"])
    done = project.init()
    tap.check(done.code == USAGE and "CMakeLists.txt and Makefile" in done.err, "two of them", done)
    tap.equal((project.init("--build=make").code, "perf/Makefile" in project.files()), (OK, True), "one of two, named")
    done = make().init("--build", "bazel")
    tap.check(done.code == USAGE and "meson, cmake or make" in done.err, "an unknown one", done)
    done = make(["Makefile"]).init("--ci", "jenkins")
    tap.check(done.code == USAGE and "github or gitlab" in done.err, "an unknown CI", done)
    done = make(["Makefile"]).init("--only-ci")
    tap.check(done.code == USAGE and "--only-ci needs --ci" in done.err, "--only-ci alone", done)
    done = make(["Makefile"]).init("somewhere")
    tap.check(done.code == USAGE and "one word too many" in done.err, "a word", done)


def main(yieldpoint):
    tap = Tap()
    with tempfile.TemporaryDirectory() as parent:
        def make(files=(), git=False):
            return Project(os.path.abspath(yieldpoint), parent, files, git)
        for build in MARKS:
            tap.run(build, check_written, tap, make, build, [])
        tap.run("named", check_written, tap, make, "make", ["--build=make"])
        tap.run("folder", check_folder, tap, make)
        tap.run("ci", check_ci, tap, make)
        tap.run("refused", check_refused, tap, make)
        tap.run("command line", check_command_line, tap, make)
    tap.done()


main(*sys.argv[1:])
