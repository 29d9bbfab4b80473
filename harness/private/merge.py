"""Makes one object of the library and of the static libraries it uses. In that object the names of those libraries, and
those of the library that no header declares, are local: a program may have other functions of the same names.

usage: merge.py OBJECT ARCHIVE LIBRARY OBJCOPY NM AR PRIVATE STATIC_LIBRARY... -- COMPILER...

OBJECT and ARCHIVE are written; ARCHIVE holds OBJECT alone. LIBRARY is taken whole, of the others what is used. PRIVATE is
this folder's library.
"""

import os
import subprocess
import sys

VARIABLES = ("stdout", "stderr", "program_invocation_name")  # as hwloc.c has them


def main(merged, archive, library, objcopy, nm, ar, private, *rest):
    split = rest.index("--")
    used, compiler = list(rest[:split]), rest[split + 1:]
    for i, each in enumerate(used):
        used[i] = f"{merged}.{i}.a"
        subprocess.run([objcopy, *(f"--redefine-sym={name}=private_{name}" for name in VARIABLES), each, used[i]], check=True)
    subprocess.run([*compiler, "-r", "-nostdlib", "-o", merged, "-Wl,--whole-archive", library,
                    "-Wl,--no-whole-archive", *used, private], check=True)
    for each in used:
        os.unlink(each)
    subprocess.run([objcopy, "--localize-hidden", "--wildcard", "--keep-global-symbol=yp_*",
                    "--keep-global-symbol=ypi_*", merged], check=True)
    names = subprocess.run([nm, "-u", merged], capture_output=True, text=True, check=True).stdout.split()
    open_names = sorted(n for n in names if n.startswith(("cJSON_", "sqlite3_", "hwloc_", "udev_")))
    if open_names:
        sys.exit(f"{merged}: would take these from the program: {' '.join(open_names)} (functions of cJSON are listed in "
                 "harness/private/cjson.c)")
    if os.path.exists(archive):
        os.unlink(archive)  # else its former members would stay
    subprocess.run([ar, "rcsD", archive, merged], check=True)


main(*sys.argv[1:])
