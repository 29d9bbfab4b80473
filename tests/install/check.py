"""Installs the build into an empty prefix and builds the outside projects of examples/ with it.

usage: check.py BUILD_DIRECTORY EXAMPLES_DIRECTORY
"""

import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from program import run, rows  # noqa: E402
from tap import Tap  # noqa: E402


def command(tap, name, *words, env=None):
    done = subprocess.run(words, capture_output=True, text=True, env=env, stdin=subprocess.DEVNULL)
    return tap.check(done.returncode == 0, name, done.stdout + done.stderr)


def main(build, examples):
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        prefix = os.path.join(folder, "usr")
        shutil.copytree(examples, os.path.join(folder, "examples"))
        # A prefix of configure time cannot be changed; the installed tree is moved instead.
        if not command(tap, "installs", "meson", "install", "-C", build, "--no-rebuild",
                       "--destdir", os.path.join(folder, "stage")):
            tap.done()
        pkgconfig = []
        for directory, _, files in os.walk(os.path.join(folder, "stage")):
            if "yieldpoint.pc" in files:
                pkgconfig.append(directory)
        tap.equal(len(pkgconfig), 1, "one pkg-config file is installed")
        prefix = os.path.join(folder, "stage")
        env = {**os.environ, "PKG_CONFIG_PATH": os.pathsep.join(
            pkgconfig + [p for p in [os.environ.get("PKG_CONFIG_PATH")] if p]),
               "PKG_CONFIG_LIBDIR": os.environ.get("PKG_CONFIG_LIBDIR", "")}
        if not env["PKG_CONFIG_LIBDIR"]:
            del env["PKG_CONFIG_LIBDIR"]
        # The file says where it was meant to lie; tell the compiler where it lies now.
        for name in os.listdir(pkgconfig[0]):
            path = os.path.join(pkgconfig[0], name)
            with open(path) as text:
                moved = text.read().replace("prefix=/", f"prefix={prefix}/", 1)
            with open(path, "w") as text:
                text.write(moved)
        for example in sorted(os.listdir(os.path.join(folder, "examples"))):
            source = os.path.join(folder, "examples", example)
            if not os.path.isdir(source):
                continue
            out = os.path.join(folder, "build-" + example)
            if os.path.exists(os.path.join(source, "Makefile")):
                command(tap, f"{example}: builds and passes by make", "make", "-C", source, "check", env=env)
                continue
            if not command(tap, f"{example}: configures", "meson", "setup", out, source, env=env):
                continue
            command(tap, f"{example}: builds", "ninja", "-C", out)
            programs = [os.path.join(out, f) for f in os.listdir(out)
                        if not f.endswith(".so") and os.access(os.path.join(out, f), os.X_OK) and
                        os.path.isfile(os.path.join(out, f))]
            for program in programs:
                history = os.path.join(folder, example + ".db")
                # Its commands are found from where its yieldpoint.ini is.
                done = run(program, "--speed=record", "--history", history, cwd=source)
                tap.check(done.code == 0 and
                          len(rows(history, "SELECT * FROM result WHERE outcome = 'passed'")) > 0,
                          f"{example}: {os.path.basename(program)} passes", done)
    tap.done()


main(*sys.argv[1:])
