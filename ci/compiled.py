"""Prints the project's own files a build directory compiles, each ended by a NUL.

usage: compiled.py BUILD [directory to leave out, from the project's root]...
"""

import json
import os
import sys

build = os.path.abspath(sys.argv[1])
root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
    commands = json.load(file)
files = {os.path.normpath(os.path.join(c["directory"], c["file"])) for c in commands}
leave = tuple(os.path.join(directory, "") for directory in ["..", "build", *sys.argv[2:]])
for name in sorted(files):
    inside = os.path.relpath(name, root)
    if name.endswith((".c", ".cpp")) and not inside.startswith(leave):
        sys.stdout.write(inside + "\0")
