"""The recipe of Conan: a package of this checkout, and projects by CMake and meson that take it.

usage: conan.py SOURCE_ROOT

Debian has no package of Conan: skipped where there is no command `conan` (version 2)."""

import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from tap import Tap  # noqa: E402
from with_mpi import MESON, check_passes, source_of  # noqa: E402

HEAP = """project('heap', 'c', default_options: ['c_std=gnu17'])
executable('suite', 'suite.c', dependencies: dependency('yieldpoint-heap'))
"""
COUNTS = """#include <stdlib.h>
#include <yieldpoint/yieldpoint.h>
YP_TEST(heap, counts, .heap = true, .budgets = YP_BUDGETS(yp_max_peak(YP_HEAP, 4 * YP_KIB)))
{
    char *volatile bytes = malloc(8192);
    free(bytes);
}
"""


class Conan:
    """With its packages in a folder of its own, and Debian's compiler."""

    def __init__(self, tap, folder):
        self.tap, self.folder = tap, folder
        self.mpi = subprocess.run(["pkg-config", "--exists", "ompi-c"]).returncode == 0 and shutil.which("mpirun") is not None
        self.options = ["-o", "yieldpoint/*:mpi=True"] if self.mpi else []
        self.environment = {name: value for name, value in os.environ.items()
                            if name not in ("CC", "CXX", "CFLAGS", "LDFLAGS")}
        self.environment["CONAN_HOME"] = os.path.join(folder, "conan")

    def did(self, name, *words, cwd=None, code=0):
        """What it printed; None: it ended otherwise."""
        done = subprocess.run(words, capture_output=True, text=True, cwd=cwd, env=self.environment, stdin=subprocess.DEVNULL)
        right = self.tap.check(done.returncode == code, name, done.stdout[-3000:] + done.stderr[-3000:])
        return done.stdout if right else None

    def take(self, name, folder, *generators):
        return self.did(f"{name}: conan install", "conan", "install", "--requires=yieldpoint/[>=0]", "-of", "build", *self.options,
                        *(word for each in generators for word in ("-g", each)), cwd=folder) is not None


def check_cmake(tap, conan, root):
    folder = shutil.copytree(os.path.join(root, "examples", "cmake"), os.path.join(conan.folder, "by-cmake"))
    if conan.take("CMake", folder, "CMakeToolchain", "CMakeDeps") and \
            conan.did("CMake: configures", "cmake", "-B", "build", "-DCMAKE_BUILD_TYPE=Release",
                      "-DCMAKE_TOOLCHAIN_FILE=build/conan_toolchain.cmake", cwd=folder) is not None and \
            conan.did("CMake: builds", "cmake", "--build", "build", cwd=folder) is not None:
        out = conan.did("CMake: CTest passes", "ctest", "--test-dir", "build", cwd=folder)
        tap.check(out is not None and "0 tests failed" in out and "suite.c::" in out, "CMake: each case is a test", out)


def check_meson(tap, conan, name, folder):
    return conan.take(name, folder, "MesonToolchain", "PkgConfigDeps") and \
        conan.did(f"{name}: configures", "meson", "setup", "out", "--native-file", "build/conan_meson_native.ini", cwd=folder) \
        is not None and conan.did(f"{name}: builds", "ninja", "-C", "out", cwd=folder) is not None


def check_projects(tap, conan, root):
    folder = shutil.copytree(os.path.join(root, "examples", "first"), os.path.join(conan.folder, "by-meson"))
    if check_meson(tap, conan, "meson", folder):
        out = conan.did("meson: the suite passes", "out/saxpy", "--speed=record", cwd=folder)
        tap.check(out is not None and " passed" in out, "meson: and says so", out)
    folder = os.path.join(conan.folder, "heap")
    os.mkdir(folder)
    for file, text in (("meson.build", HEAP), ("suite.c", COUNTS)):
        with open(os.path.join(folder, file), "w") as out:
            out.write(text)
    if check_meson(tap, conan, "heap", folder):
        out = conan.did("heap: 8 KiB are more than 4", "out/suite", cwd=folder, code=1)
        tap.check(out is not None and "8.0 KiB" in out, "heap: and it names the budget", out)


def check_mpi(tap, conan, root):
    if not conan.mpi:
        tap.skip("MPI", "no Open MPI here")
        return
    folder = os.path.join(conan.folder, "mpi")
    os.mkdir(folder)
    for file, text in (("meson.build", MESON), ("sums.c", source_of(root))):
        with open(os.path.join(folder, file), "w") as out:
            out.write(text)
    if check_meson(tap, conan, "MPI", folder):
        check_passes(tap, "MPI", os.path.join(folder, "out", "sums"))


def main(root):
    tap = Tap()
    if shutil.which("conan") is None:
        tap.skip("a package of Conan", "no conan here (pip install conan)")
        tap.done()
    with tempfile.TemporaryDirectory() as folder:
        conan = Conan(tap, folder)
        source = os.path.join(folder, "source")
        conan.did("sources", "git", "clone", "-q", root, source)
        conan.did("a profile", "conan", "profile", "detect")
        if conan.did("conan create", "conan", "create", source, *conan.options) is not None:
            tap.run("CMake", check_cmake, tap, conan, root)
            tap.run("meson", check_projects, tap, conan, root)
            tap.run("MPI", check_mpi, tap, conan, root)
    tap.done()


main(*sys.argv[1:])
