"""A git repository of a project whose build copies a suite and the file that says what is changed in it."""

import glob
import os
import subprocess

INI = """[gate]
setup = sh {source}/setup.sh {source} {build}
build = sh {source}/build.sh {source} {build}
suites = suite more/other
keep = 3
"""
BUILD = """test ! -e "$1/broken" || { echo "there is the fault" >&2; exit 1; }
test ! -e "$1/slow build" || setsid --wait sleep 60
test ! -e "$1/change" || cp "$1/change" "$2/"
test ! -e "$1/data" || { mkdir "$2/meson.d"; cp "$1/data" "$2/meson.d/build.ninja"; }
test ! -e "$1/links" || sh "$1/links" "$1" "$2"
test ! -e "$1/lib.c" || cc -g -frecord-gcc-switches -c -fPIC "$1/lib.c" -o "$2/lib.o" || exit 1
test ! -e "$1/lib.c" || cc -g -shared -Wl,--build-id "$2/lib.o" -o "$2/lib.so" || exit 1
test -e "$1/none" || cp "%s" "$2/real"
test -e "$1/none" || cp "$1/wrapper" "$2/suite"
test ! -e "$1/other" || { mkdir "$2/more"; cp "%s" "$2/more/other"; }
"""
# The program, or one that knows nothing of turns.
WRAPPER = """#!/bin/sh
here=$(dirname "$0")
exec "$here/real" "$@"
"""
OLD_WRAPPER = """#!/bin/sh
here=$(dirname "$0")
[ "$1" = --help ] && exec echo usage
exec "$here/real" "$@"
"""


class Repository:
    """Branch main has the base alone. A file `change` says what is slower, larger or wrong; `data` is put
    below the build, `lib.c` built to a library there; `links` is a script that is told source and build; `broken` does not build, `slow build` takes a minute, `none` has no suite and `other` another one."""

    def __init__(self, folder, name, suite, other):
        self.path = os.path.join(folder, name)
        os.mkdir(self.path)
        self.temporary = os.path.join(folder, "tmp")
        os.makedirs(self.temporary, exist_ok=True)
        self.git("init", "-q", "-b", "main")
        self.write("yieldpoint.ini", INI)
        self.write("setup.sh", "true\n")
        self.write("build.sh", BUILD % (suite, other))
        self.write("wrapper", WRAPPER)
        os.chmod(os.path.join(self.path, "wrapper"), 0o755)
        self.base = self.commit("base")

    def git(self, *words):
        done = subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", self.path, *words],
                              capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        return done.stdout.strip()

    def write(self, name, text):
        with open(os.path.join(self.path, name), "w", encoding="utf-8") as file:
            file.write(text)

    def commit(self, message):
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")

    def head(self, **files):
        """A commit on top of the base with these files."""
        self.git("checkout", "-q", "--detach", self.base)
        for name, text in files.items():
            self.write(name.replace("_", " "), text)
        return self.commit(" ".join(files))

    def then(self, message, **files):
        """A commit on top of where the repository is; a file that is None goes."""
        for name, text in files.items():
            if text is not None:
                self.write(name.replace("_", " "), text)
            elif os.path.exists(os.path.join(self.path, name)):
                os.unlink(os.path.join(self.path, name))
        return self.commit(message)

    def clean(self):
        """None, or what a command has left behind."""
        left = {"worktrees": self.git("worktree", "list").count("\n"), "changes": self.git("status", "--porcelain"),
                "branches": self.git("for-each-ref", "--format=%(refname:short)", "refs/heads").split(),
                "temporary": os.listdir(self.temporary)}
        return left if left != {"worktrees": 0, "changes": "", "branches": ["main"], "temporary": []} else None

    def environment(self):
        return {"TMPDIR": self.temporary}

    def places(self):
        return sorted(p for p in glob.glob(os.path.join(self.path, ".yieldpoint/gate/*")) if os.path.isdir(p))
