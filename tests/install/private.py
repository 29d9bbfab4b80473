"""A project may be cJSON, SQLite, hwloc or inih itself, or bring its own: its tests include its own headers, call its own
functions, and Yieldpoint calls none of them. Used by outside.py for a shared library.

usage: private.py SOURCE_ROOT BUILD_DIRECTORY
"""

import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from installed import Installed  # noqa: E402
from program import run, rows  # noqa: E402
from tap import Tap  # noqa: E402

# What it includes, the library of that name, and what such a library is called where a program is loaded.
LIBRARIES = {"sqlite3": ("sqlite3.h", "libsqlite3.so.0"), "cJSON": ("cJSON.h", "libcjson.so.1"),
             "hwloc": ("hwloc.h", "libhwloc.so.15"), "ini": ("ini.h", "libinih.so.1")}
NAME = re.compile(r"\b((?:sqlite3|cJSON|hwloc)_\w+)\s*\(")
TEST = """#include <yieldpoint/plugin.h>
#include <yieldpoint/yieldpoint.h>
#include <cJSON.h>
#include <hwloc.h>
#include <ini.h>
#include <sqlite3.h>

YP_TEST(own, own, .axes = YP_AXES(yp_axis_int("n", 1, 2)))
{
    int sum = 0;
    yp_measure (t, "calls")
        sum = cJSON_ParseWithOpts(41) + sqlite3_exec(41) + hwloc_topology_init(41) + ini_parse(41);
    yp_value(t, "sum", sum);
    yp_expect(t, sum == 4 * 42, "the sum is %d", sum);
}
"""


def names_of(root):
    """Functions of those libraries that Yieldpoint calls, and one of inih's."""
    found = {"ini_parse"}
    for room in ("base", "device", "harness"):
        for top, _, files in os.walk(os.path.join(root, room)):
            for name in files:
                if name.endswith((".c", ".h")):
                    with open(os.path.join(top, name), encoding="utf-8") as file:
                        found.update(NAME.findall(file.read()))
    return found


def fakes(root, folder):
    """Headers and sources of the project's own; each function returns 42, and ends the program if another than the test
    calls it."""
    names = names_of(root)
    for library, (header, _) in LIBRARIES.items():
        own = sorted(n for n in names if n.startswith(library + "_"))
        with open(os.path.join(folder, header), "w") as file:
            file.write("".join(f"int {n}(int argument);\n" for n in own))
        with open(os.path.join(folder, library + ".c"), "w") as file:
            file.write(f'#include "{header}"\n#include <stdlib.h>\n')
            file.write("".join(f"int {n}(int argument)\n{{\n    if (argument != 41)\n        abort();\n    return 42;\n}}\n"
                               for n in own))
    with open(os.path.join(folder, "suite.c"), "w") as file:
        file.write(TEST)
    return names


def flags(stage, *words):
    return subprocess.run(["pkg-config", *words, "yieldpoint"], capture_output=True, text=True, check=True,
                          env=stage.environment).stdout.split()


def compiled(tap, name, *words, folder):
    done = subprocess.run(["gcc", "-D_GNU_SOURCE", "-w", *words], capture_output=True, text=True, cwd=folder)
    return tap.check(done.returncode == 0, f"{name}: compiles and links", done.stderr[-3000:])


def check_program(tap, stage, name, folder):
    history = os.path.join(folder, name.replace(" ", "-") + ".db")
    done = run(os.path.join(folder, name.replace(" ", "-")), "--speed=record", "--history", history, "-v", cwd=folder,
               env={"LD_LIBRARY_PATH": os.pathsep.join([folder, stage.environment["LD_LIBRARY_PATH"]])})
    tap.check(done.code == 0 and "2 passed" in done.out, f"{name}: the test calls the project's own functions", done)
    stored = rows(history, "SELECT outcome FROM result") if os.path.exists(history) else []
    tap.equal([row["outcome"] for row in stored], ["passed", "passed"], f"{name}: and Yieldpoint its own")


def check_private(tap, kind, stage, root, folder):
    folder = os.path.join(folder, "private-" + kind)
    os.makedirs(folder)
    archive = subprocess.run(["gcc", "-print-file-name=libsqlite3.a"], capture_output=True, text=True).stdout.strip()
    if not os.path.isabs(archive):
        tap.skip(f"{kind}: the libraries behind it are its own", "no libsqlite3.a here (docs/outside.md)")
        return
    names = fakes(root, folder)
    tap.check(len(names) > 60, f"{kind}: functions that Yieldpoint calls", sorted(names))
    cflags, libs = flags(stage, "--cflags"), flags(stage, "--libs")
    foreign = [f for f in cflags + libs + flags(stage, "--libs", "--static") if re.search("json|sqlite|hwloc|inih?$|udev", f)]
    tap.equal(foreign, [], f"{kind}: no flag is another library's")
    headers = subprocess.run(["gcc", "-M", *cflags, "-I.", "suite.c"], capture_output=True, text=True, cwd=folder).stdout
    read = {os.path.basename(h): h for h in headers.replace("\\\n", " ").split()[1:]}
    tap.equal([read.get(header) for header, _ in LIBRARIES.values()],
              [header for header, _ in LIBRARIES.values()], f"{kind}: its headers are the project's")
    tap.check("criterion.h" not in read and "yieldpoint.h" in read, f"{kind}: and none is Criterion's", headers)

    sources = [library + ".c" for library in LIBRARIES]
    # Those of the program itself are what a shared library calls first, the more where all are exported.
    if compiled(tap, f"{kind}, in the program", *cflags, "-I.", "-rdynamic", "-o", f"{kind}-in-the-program", "suite.c",
                *sources, *libs, folder=folder):
        check_program(tap, stage, f"{kind}-in-the-program", folder)
    for library, (_, soname) in LIBRARIES.items():
        if not compiled(tap, soname, "-shared", "-fPIC", "-I.", f"-Wl,-soname,{soname}", "-o", soname, library + ".c",
                        folder=folder):
            return
    # First on the line: what the program loads under the names of the system's.
    own = [soname for _, soname in LIBRARIES.values()]
    if compiled(tap, f"{kind}, in libraries", *cflags, "-I.", "-o", f"{kind}-in-libraries", "suite.c", "-Wl,--no-as-needed",
                *own, *libs, folder=folder):
        check_program(tap, stage, f"{kind}-in-libraries", folder)


def main(root, build):
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        stage = Installed(build, os.path.join(folder, "stage"))
        if tap.check(stage.ok, "the build installs", stage.done.stderr):
            kind = "static" if stage.path("/libyieldpoint.a") else "shared"
            tap.run(kind, check_private, tap, kind, stage, root, folder)
    tap.done()


if __name__ == "__main__":
    main(*sys.argv[1:])
