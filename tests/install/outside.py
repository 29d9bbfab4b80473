"""Use from other projects: as a subproject, installed as a static and as a shared library, and with tests that are
in libraries.

usage: outside.py SOURCE_ROOT BUILD_DIRECTORY
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from installed import Installed  # noqa: E402
from private import check_private  # noqa: E402
from program import listed, run  # noqa: E402
from tap import Tap  # noqa: E402
from with_mpi import check_mpi, check_passes, reason_without, source_of  # noqa: E402

# Built without the optimisation that takes long to compile.
QUICK = ["-Doptimization=0", "-Dcuda=disabled"]
SUBPROJECT = ["-Dyieldpoint:optimization=0", "-Dyieldpoint:cuda=disabled"]
TEST = """#include <yieldpoint/yieldpoint.h>
YP_TEST({name}, {name}, .axes = YP_AXES(yp_axis_string("word", "a", "b")))
{{
    double *sum = yp_alloc(t, sizeof *sum);
    *sum = 0;
    yp_measure (t, "body")
        *sum += 1;
    yp_value(t, "sum", *sum);
    yp_expect(t, *sum > 0 && yp_string(t, "word")[0] != 'z', "never");
}}
"""
OPTION = """
int object_of_tests;
YP_OPTION(depth, .value = "N", .help = "of the library");
"""


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)


def sources_of(root, to):
    """What a clone would have of the tree as it is; where it is no checkout, all but builds."""
    listing = subprocess.run(["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                             capture_output=True, text=True)
    top = subprocess.run(["git", "-C", root, "rev-parse", "--show-toplevel"], capture_output=True, text=True)
    if listing.returncode == 0 and top.stdout.strip() == os.path.realpath(root):
        for name in filter(None, listing.stdout.split("\0")):
            if os.path.isfile(os.path.join(root, name)):
                os.makedirs(os.path.dirname(os.path.join(to, name)), exist_ok=True)
                shutil.copy2(os.path.join(root, name), os.path.join(to, name))
    else:
        shutil.copytree(root, to, ignore=lambda folder, names: [
            n for n in names if folder == root and (n.startswith("build") or n.startswith("."))])


class Project:
    def __init__(self, tap, folder, env=None):
        self.tap, self.source, self.out, self.env = tap, folder, os.path.join(folder, "build"), env

    def did(self, name, *words):
        done = subprocess.run(words, capture_output=True, text=True, env=self.env, stdin=subprocess.DEVNULL)
        return self.tap.check(done.returncode == 0, name, done.stdout[-3000:] + done.stderr)

    def setup(self, name, *options):
        shutil.rmtree(self.out, ignore_errors=True)
        return self.did(f"{name}: configures", "meson", "setup", self.out, self.source, *options)

    def build(self, name, *targets):
        return self.did(f"{name}: builds", "ninja", "-C", self.out, *targets)

    def told(self, what):
        done = subprocess.run(["meson", "introspect", self.out, what], capture_output=True, text=True, check=True)
        return json.loads(done.stdout)


# -- installed ----------------------------------------------------------------------------------

def check_install_targets(tap, folder):
    """Only what is installed is built; the tests are configured, and are left alone."""
    own = Project(tap, os.path.join(folder, "yieldpoint"))
    if not own.setup("shared and static", *QUICK, "-Dmodels=disabled", "-Dtests=true", "-Ddefault_library=both") or \
            not own.build("shared and static", "install-targets"):
        return None
    programs = [t for t in own.told("--targets") if t["type"] == "executable"]
    built = sorted(t["name"] for t in programs if os.path.exists(t["filename"][0]))
    # The manual page of test programs is what the first of them says of itself.
    tap.equal(built, ["manual-suite", "yieldpoint", "yieldpoint-embed"], "install-targets builds no program but what is installed needs")
    tap.check(len(programs) > 10, "of many", len(programs))
    stage = Installed(own.out, os.path.join(folder, "both"))
    tap.check(stage.ok, "and meson install --no-rebuild finds all it needs", stage.done.stderr)
    for name in ("/libyieldpoint.a", "/libyieldpoint.so", "/libyieldpoint-main.a", "/bin/yieldpoint",
                 "/yieldpoint/yieldpoint.h"):
        tap.check(stage.path(name) is not None, f"installed: {name}", stage.files)
    done = subprocess.run([stage.path("/bin/yieldpoint"), "--version"], capture_output=True, text=True)
    tap.check(done.stdout.startswith("yieldpoint "), "the installed command runs", done.stdout + done.stderr)
    return stage


def exported(library):
    done = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True)
    return {line.split()[-1] for line in done.stdout.splitlines()}


def check_shared(tap, stage):
    names = exported(stage.path("/libyieldpoint.so"))
    tap.equal(sorted(n for n in names if not n.startswith(("yp_", "ypi_"))), [], "the shared library exports its own")
    tap.check({"yp_alloc", "ypi_measure_begin", "ypi_program", "ypi_unwind_by", "ypi_uncaught"} <= names, "what programs call", sorted(names))
    tap.check("ypi_format" not in names, "and nothing internal", sorted(names))

    def flags(*words):
        return subprocess.run(["pkg-config", *words, "yieldpoint"], capture_output=True, text=True, check=True,
                              env=stage.environment).stdout
    tap.check("criterion" not in flags("--libs") and "hwloc" not in flags("--libs"),
              "linking it needs none of its libraries", flags("--libs"))
    tap.check("criterion" in flags("--libs", "--static"), "linking the static one does", flags("--libs", "--static"))


# -- tests in libraries -------------------------------------------------------------------------

LIBRARIES = """project('libraries', 'c', default_options: ['c_std=gnu17', 'buildtype=release'])
yieldpoint = dependency('yieldpoint')
headers = yieldpoint.partial_dependency(compile_args: true, includes: true)
archive = static_library('archive', 'archive.c', dependencies: headers)
executable('whole', 'own.c', link_whole: archive, dependencies: yieldpoint)
executable('dropped', 'own.c', link_with: archive, dependencies: yieldpoint)
executable('nothing', 'empty.c', link_with: archive, dependencies: yieldpoint)
object = shared_library('object', 'object.c', dependencies: headers, override_options: ['b_lundef=false'])
executable('with-object', 'own.c', 'refers.c', link_with: object, dependencies: yieldpoint)
linked = shared_library('linked', 'object.c', dependencies: yieldpoint)
executable('with-linked', 'own.c', link_with: linked, dependencies: yieldpoint,
  link_args: ['-Wl,--no-as-needed', linked.full_path()])
"""
OWN = [f"own.c::own[word={word}]" for word in "ab"]
OBJECT = [f"object.c::object[word={word}]" for word in "ab"]
ARCHIVE = [f"archive.c::archive[word={word}]" for word in "ab"]


def check_libraries(tap, kind, stage, folder):
    user = Project(tap, os.path.join(folder, "libraries-" + kind), stage.environment)
    write(os.path.join(user.source, "meson.build"), LIBRARIES)
    for name in ("own", "archive", "object"):
        write(os.path.join(user.source, name + ".c"), TEST.format(name=name))
    write(os.path.join(user.source, "object.c"), TEST.format(name="object") + OPTION)
    write(os.path.join(user.source, "empty.c"), "const int nothing = 0;\n")
    write(os.path.join(user.source, "refers.c"), "extern int object_of_tests;\nint *const of_tests = &object_of_tests;\n")
    if not user.setup(f"libraries, {kind}") or not user.build(f"libraries, {kind}"):
        return

    def started(name, *words):
        return run(os.path.join(user.out, name), *words, cwd=user.source,
                   env={"LD_LIBRARY_PATH": stage.environment["LD_LIBRARY_PATH"]})
    tap.equal(sorted(listed(started("whole", "--co", "-q"))), sorted(ARCHIVE + OWN), f"{kind}: link_whole")
    tap.equal(listed(started("dropped", "--co", "-q")), OWN, f"{kind}: the linker drops what nobody refers to")
    done = started("nothing", "--co")
    tap.check(done.code == 5 and "link_whole" in done.err, f"{kind}: and a program without tests says so", done)
    for name in ("with-object", "with-linked"):
        if name == "with-linked" and kind == "static":
            done = started(name)
            tap.check(done.code == 2 and "liblinked.so: it holds tests or options, and a copy of Yieldpoint" in
                      done.err and "1 error at collection, nothing was run" in done.err,
                      f"{kind}: a library with a copy of Yieldpoint is refused", done)
            continue
        done = started(name, "--speed=record", "--depth=3", "-v")
        tap.check(done.code == 0 and all(f"{i} PASSED" in done.out for i in OWN + OBJECT) and
                  "4 passed" in done.out, f"{kind}: tests and options in a shared library, {name}", done)
        done = started(name, "object.c::object[word=b]", "--speed=off", "--no-fork")
        tap.check(done.code == 0 and "1 passed" in done.out, f"{kind}: one of them in this process, {name}", done)


# -- by CMake --------------------------------------------------------------------------------------

FETCH = """cmake_minimum_required(VERSION 3.25)
project(parent LANGUAGES C)
include(FetchContent)
FetchContent_Declare(yieldpoint SOURCE_DIR ${CMAKE_SOURCE_DIR}/../yieldpoint)
FetchContent_MakeAvailable(yieldpoint)
enable_testing()
add_subdirectory(tests)
"""


def check_fetched(tap, root, folder, no_mpi):
    """CMakeLists.txt of Yieldpoint's own, which calls meson."""
    if shutil.which("cmake") is None:
        tap.skip("FetchContent", "no cmake")
        return
    parent = Project(tap, os.path.join(folder, "fetching"))
    write(os.path.join(parent.source, "CMakeLists.txt"), FETCH)
    write(os.path.join(parent.source, "tests", "CMakeLists.txt"), "yieldpoint_add_suite(suite own.c)\nyieldpoint_discover_tests(suite)\n"
          + ("" if no_mpi else "yieldpoint_add_suite(sums sums.c MPI)\n"))
    write(os.path.join(parent.source, "tests", "sums.c"), source_of(root))
    write(os.path.join(parent.source, "tests", "own.c"), TEST.format(name="own"))
    if parent.did("FetchContent: configures", "cmake", "-S", parent.source, "-B", parent.out,
                  "-DYIELDPOINT_MESON_OPTIONS=" + ";".join(QUICK)) and \
            parent.did("FetchContent: builds", "cmake", "--build", parent.out):
        done = subprocess.run(["ctest"], capture_output=True, text=True, cwd=parent.out)
        tap.check(done.returncode == 0 and "tests/own.c::own[word=b]" in done.stdout and "0 tests failed out of 2" in
                  done.stdout, "FetchContent: the project's tests pass", done.stdout)
        if no_mpi:
            tap.skip("FetchContent: MPI", no_mpi)
        else:
            check_passes(tap, "FetchContent", os.path.join(parent.out, "tests", "sums"))


# -- as a subproject -----------------------------------------------------------------------------

PARENT = """project('parent', 'c', default_options: ['c_std=gnu17'])
yieldpoint = dependency('yieldpoint', {words})
suite = executable('suite', 'own.c', dependencies: yieldpoint, install: true)
test('suite', suite, args: ['--tap', '--speed=record'], protocol: 'tap')
"""
SUMS = """executable('sums', 'sums.c', dependencies: dependency('yieldpoint-mpi'))
"""
FORMS = ["fallback: ['yieldpoint', 'yieldpoint_dep']", "fallback: 'yieldpoint'", "allow_fallback: true"]
FINDS = """project('finds', 'c', default_options: ['c_std=gnu17'])
assert(dependency('yieldpoint-heap').found() and find_program('yieldpoint').found())
"""


def wrap_of(root, source):
    """The wrap file of docs/outside.md, which fetches a repository of these sources."""
    with open(os.path.join(root, "docs", "outside.md"), encoding="utf-8") as page:
        text = re.search(r"^```ini\n(\[wrap-git\].*?)^```$", page.read(), re.M | re.S).group(1)
    commit = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "-m", "sources"]
    for words in (["git", "init", "-q", "-b", "main"], ["git", "add", "-A"], commit):
        subprocess.run(words, cwd=source, check=True)
    return text.replace("URL", "file://" + source)


def check_wrapped(tap, folder, wrap):
    """The names that the wrap file provides: nothing else says that Yieldpoint is a subproject."""
    parent = Project(tap, os.path.join(folder, "finds"))
    write(os.path.join(parent.source, "meson.build"), FINDS)
    write(os.path.join(parent.source, "subprojects", "yieldpoint.wrap"), wrap)
    parent.setup("wrap: the heap's library and the command are found", *SUBPROJECT, "-Dyieldpoint:command=true")


def check_subproject(tap, root, folder, no_mpi):
    parent = Project(tap, os.path.join(folder, "parent"))
    write(os.path.join(parent.source, "own.c"), TEST.format(name="own"))
    os.makedirs(os.path.join(parent.source, "subprojects"))
    os.rename(os.path.join(folder, "yieldpoint"), os.path.join(parent.source, "subprojects", "yieldpoint"))
    for form in reversed(FORMS):
        write(os.path.join(parent.source, "meson.build"), PARENT.format(words=form))
        if not parent.setup(form, *SUBPROJECT):
            return
        tap.equal([t["name"] for t in parent.told("--tests") + parent.told("--benchmarks")], ["suite"],
                  f"{form}: the parent's own test is the only one")
        tap.equal(sorted(t["name"] for t in parent.told("--targets") if t["type"] not in ("static library", "custom")), ["suite"],
                  f"{form}: and its own program")
    # From here on a wrap file brings it.
    source = os.path.join(folder, "wrapped")
    os.rename(os.path.join(parent.source, "subprojects", "yieldpoint"), source)
    wrap = wrap_of(root, source)
    tap.run("wrap", check_wrapped, tap, folder, wrap)
    write(os.path.join(parent.source, "subprojects", "yieldpoint.wrap"), wrap)
    write(os.path.join(parent.source, "meson.build"), PARENT.format(words="required: true") + ("" if no_mpi else SUMS))
    write(os.path.join(parent.source, "sums.c"), source_of(root))
    if not parent.setup("a wrap file", *SUBPROJECT) or not parent.build("the parent, by a wrap file"):
        return
    parent.did("the parent's test passes", "meson", "test", "-C", parent.out)
    if no_mpi:
        tap.skip("a wrap file: MPI", no_mpi)
    else:
        check_passes(tap, "a wrap file", os.path.join(parent.out, "sums"))

    def installed(name):
        stage = os.path.join(folder, name)
        parent.did(f"{name}: installs", "meson", "install", "-C", parent.out, "--destdir", stage)
        return {os.path.basename(f): os.path.join(top, f) for top, _, files in os.walk(stage) for f in files}
    tap.equal(sorted(installed("static")), ["suite"], "static: the parent installs its own alone")
    parent.did("shared: configures", "meson", "configure", parent.out, "-Dyieldpoint:default_library=shared")
    files = installed("shared")
    library = [f for f in files if f.startswith("libyieldpoint.so.")]
    tap.equal([f for f in sorted(files) if f not in library], ["libyieldpoint.so", "suite"],
              "shared: and the library that it needs")
    if tap.check(library, "shared: it has a version", sorted(files)):
        done = run(files["suite"], "--speed=record", cwd=folder,
                   env={"LD_LIBRARY_PATH": os.path.dirname(files[library[0]])})
        tap.check(done.code == 0 and "2 passed" in done.out, "shared: what is installed runs", done)


def main(root, build):
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        sources_of(root, os.path.join(folder, "yieldpoint"))
        shared = check_install_targets(tap, folder)
        if shared is not None and shared.ok:
            tap.run("shared", check_shared, tap, shared)
            tap.run("private, shared", check_private, tap, "shared", shared, root, folder)
            tap.run("libraries, shared", check_libraries, tap, "shared", shared, folder)
            tap.run("MPI, shared", check_mpi, tap, "shared", shared, root, folder)
        static = Installed(build, os.path.join(folder, "static-stage"))
        tap.check(static.ok, "the build installs", static.done.stderr)
        tap.run("libraries, static", check_libraries, tap, "static", static, folder)
        tap.run("MPI, static", check_mpi, tap, "static", static, root, folder)
        no_mpi = reason_without(static)
        tap.run("FetchContent", check_fetched, tap, root, folder, no_mpi)
        tap.run("subproject", check_subproject, tap, root, folder, no_mpi)
    tap.done()


main(*sys.argv[1:])
