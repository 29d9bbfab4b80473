"""Builds the project in a Debian 13 that is made for it, and runs the small cases of the stress suite and the tests
of matrix products there, those by oneDNN 3.

usage: chroot.py SOURCE_ROOT

Takes what is committed. Needs root, mmdebstrap and Debian's packages: skipped where ci/chroot says that it cannot."""

import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from tap import Tap  # noqa: E402

RELEASE, CANNOT = "trixie", 125
MARK = "== step "
# A line each, in one shell; the first that fails ends it.
STEPS = [
    ("sets up", "ci/setup"),
    ("nothing is missing then", "ci/setup --check"),
    ("builds with -Werror", ". ci/environment.sh; yp_build test \"$yp_gcc\" \"$yp_gxx\" -Dmodels=enabled "
                            "-Donednn=enabled -Dcuda=disabled --buildtype=release"),
    ("small cases of the stress suite", "build/test/suites/stress/yieldpoint-stress -m 'stress and small' "
                                        "--speed=record -q"),
    ("matrix products", "build/test/tests/unit/unit-nn_gemm && build/test/tests/unit/unit-nn_operators"),
    ("matrix products by oneDNN", "DNNL_VERBOSE=1 build/test/tests/unit/unit-nn_onednn"),
]


def script():
    return "set -euo pipefail\n" + "".join(f"echo '{MARK}{number}'\n{command}\n"
                                           for number, (_, command) in enumerate(STEPS)) + f"echo '{MARK}end'\n"


def main(root):
    tap = Tap()
    done = subprocess.run([os.path.join(root, "ci", "chroot"), RELEASE, "bash", "-c", script()], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", errors="replace")
    if done.returncode == CANNOT:
        tap.skip("a Debian 13", done.stdout.strip().splitlines()[-1])
        tap.done()
    parts = done.stdout.split(MARK)[1:]
    for number, (name, _) in enumerate(STEPS):
        output = parts[number] if number < len(parts) else "not run"
        tap.check(number + 1 < len(parts), name, output)
    tap.equal(done.returncode, 0, "and the exit code says so")
    output = parts[len(STEPS) - 1] if len(parts) >= len(STEPS) else ""
    tap.check(re.search(r"verbose,.*oneDNN v3\.", output) and re.search(r"verbose,.*exec,cpu,matmul,", output),
              "oneDNN 3 multiplied", output[:4000])
    tap.done()


main(*sys.argv[1:])
