"""Makes one object of the library and of the static libraries it uses. In that object the names of those libraries, and
those of the library that no header declares, are local: a program may have other functions of the same names.

usage: merge.py OBJECT ARCHIVE LIBRARY OBJCOPY NM AR PRIVATE STATIC_LIBRARY... -- COMPILER... -- LIBRARY...

OBJECT and ARCHIVE are written; ARCHIVE holds OBJECT alone. LIBRARY is taken whole, of the others what is used. PRIVATE is
this folder's library. The libraries at the end are those that a program may see: a program that is linked to these and to
OBJECT alone has to link, so that OBJECT takes no function from any other library, nor from the program.
"""

import os
import re
import subprocess
import sys

VARIABLES = ("stdout", "stderr", "program_invocation_name")  # as hwloc.c has them


def missing(merged, compiler, seen):
    """The names that a program would have to define."""
    probe = merged + ".probe"
    done = subprocess.run([*compiler, "-x", "c", "-", "-x", "none", merged, *seen, "-o", probe], capture_output=True, text=True,
                          input="int main(void) { return 0; }\n", env={**os.environ, "LC_ALL": "C"})
    if os.path.exists(probe):
        os.unlink(probe)
    names = sorted(set(re.findall(r"undefined (?:reference to|symbol:) [`']?([\w.@]+)", done.stderr)))
    if done.returncode != 0 and not names:
        sys.exit(f"{merged}: a program cannot be linked to it:\n{done.stderr}")
    return names


def main(merged, archive, library, objcopy, nm, ar, private, *rest):
    split = rest.index("--")
    end = rest.index("--", split + 1)
    used, compiler, seen = list(rest[:split]), rest[split + 1:end], rest[end + 1:]
    for i, each in enumerate(used):
        used[i] = f"{merged}.{i}.a"
        subprocess.run([objcopy, *(f"--redefine-sym={name}=private_{name}" for name in VARIABLES), each, used[i]], check=True)
    subprocess.run([*compiler, "-r", "-nostdlib", "-o", merged, "-Wl,--whole-archive", library,
                    "-Wl,--no-whole-archive", *used, private], check=True)
    for each in used:
        os.unlink(each)
    subprocess.run([objcopy, "--localize-hidden", "--wildcard", "--keep-global-symbol=yp_*",
                    "--keep-global-symbol=ypi_*", merged], check=True)
    names = subprocess.run([nm, "-g", "--defined-only", "--format=posix", merged], capture_output=True, text=True, check=True).stdout
    visible = [n for n in (line.split()[0] for line in names.splitlines()) if not n.startswith(("yp_", "ypi_"))]
    if visible:
        sys.exit(f"{merged}: a program would see these names: {' '.join(visible)}")
    open_names = missing(merged, compiler, seen)
    if open_names:
        sys.exit(f"{merged}: would take these from the program: {' '.join(open_names)} (functions of cJSON are listed in "
                 "harness/private/cjson.c)")
    if os.path.exists(archive):
        os.unlink(archive)  # else its former members would stay
    subprocess.run([ar, "rcsD", archive, merged], check=True)


main(*sys.argv[1:])
