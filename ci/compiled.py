"""Prints the project's own files a build directory compiles, each ended by a NUL.

usage: compiled.py BUILD [--changed REVISION] [directory to leave out, from the project's root]...

--changed  of these, the files that differ from the revision, and for each other file that does (a
           header, an .inc) the nearest one that includes it; all files where .clang-tidy differs
"""

import json
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<]([^">]+)[">]', re.M)


def compiled(build, leave):
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        commands = json.load(file)
    files = {os.path.normpath(os.path.join(c["directory"], c["file"])) for c in commands}
    leave = tuple(os.path.join(directory, "") for directory in ["..", "build", *leave])
    inside = (os.path.relpath(name, ROOT) for name in files)
    return {name for name in inside if name.endswith((".c", ".cpp")) and not name.startswith(leave)}


def git(*words):
    done = subprocess.run(["git", *words, "-z"], cwd=ROOT, check=True, capture_output=True, text=True)
    return set(filter(None, done.stdout.split("\0")))


def includers():
    """{file: the files that include it}; public headers by their name from include/."""
    found = {}
    for name in git("ls-files", "--cached", "--others", "--exclude-standard"):
        if name.endswith((".c", ".h", ".cpp", ".inc")) and os.path.exists(os.path.join(ROOT, name)):
            with open(os.path.join(ROOT, name), encoding="utf-8") as file:
                for included in INCLUDE.findall(file.read()):
                    found.setdefault(included, set()).add(name)
    return found


def nearest(header, including, files):
    """The file that includes it by the fewest steps; of these the one of its own name, or the first."""
    stem, seen, ring = os.path.splitext(header)[0], {header}, {header}
    while ring:
        near = ring & files
        if near:
            return min(near, key=lambda name: (not name.startswith(stem + "."), name))
        ring = {by for name in ring for by in including.get(name.removeprefix("include/"), ())} - seen
        seen |= ring
    return None


def affected(files, revision):
    changed = git("diff", "--name-only", revision) | git("ls-files", "--others", "--exclude-standard")
    if ".clang-tidy" in changed:
        return files
    including = includers()
    return {nearest(name, including, files) for name in changed} - {None}


def main(build, *words):
    words = list(words)
    revision = words.pop(1) if words[:1] == ["--changed"] else None
    files = compiled(os.path.abspath(build), words[1:] if revision else words)
    for name in sorted(affected(files, revision) if revision else files):
        sys.stdout.write(name + "\0")


main(*sys.argv[1:])
