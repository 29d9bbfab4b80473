"""Prints what ninja has to make of a build directory, one a line.

usage: targets.py BUILD [--installed]  what the tests need that `meson test --list` names on standard input,
                                    and what is installed
       targets.py BUILD --no-cu        everything but what has code for a GPU, and of that what is C
"""

import json
import os
import sys

build = os.path.abspath(sys.argv[1])


def load(name):
    with open(os.path.join(build, name), encoding="utf-8") as file:
        return json.load(file)


targets = load("meson-info/intro-targets.json")
found = set()
if sys.argv[2:] == ["--no-cu"]:
    # Only ninja's own file says what is linked from objects that a generator, here nvcc, has made.
    with open(os.path.join(build, "build.ninja"), encoding="utf-8") as file:
        edges = [line[len("build "):].split(": ", 1) for line in file if line.startswith("build ")]
    for_gpu = {os.path.join(build, made) for made, of in edges if ".cu.o" in of}
    for target in targets:
        if target["build_by_default"]:
            found.update(set(target["filename"]) - for_gpu)
    found.update(os.path.join(build, c["output"]) for c in load("compile_commands.json")
                 if c["file"].endswith((".c", ".cpp")))
else:
    named = {line.rstrip("\n").rpartition(" / ")[2] for line in sys.stdin}
    wanted = {each for test in load("meson-info/intro-tests.json") if test["name"] in named
              for each in test["depends"]}
    for target in targets:
        if target["id"] in wanted or target["installed"] and sys.argv[2:] == ["--installed"]:
            found.update(target["filename"])
for path in sorted(found):
    print(os.path.relpath(path, build))
