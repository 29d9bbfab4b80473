"""Stand-ins for a machine and for the project, to try the scripts in ci/ on."""

import os
import shutil
import stat
import subprocess

CI = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "ci")


def write(path, text, executable=False):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    if executable:
        os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def call(command, **more):
    return subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        check=False,
        **more,
    )


class Machine:
    """Nothing in PATH but a shell's helpers, and what `has` puts there. Its apt-get notes how it
    was called in `called` and makes what `offers` says it would install."""

    HELPERS = ("awk", "bash", "cat", "dirname", "env", "sort")
    TOOLS = ("gcc", "g++", "meson", "ninja", "python3", "git", "sqlite3")
    CHECKERS = ("make", "pgrep", "valgrind", "gdal_translate", "xmllint", "prove", "cmake", "groff", "zsh", "clang",
                "clang++", "clang-format", "clang-tidy", "llvm-symbolizer", "yamllint", "shellcheck", "jq")
    CHARMAP = "ANSI_X3.4-1968"
    MODULES = ("criterion", "hwloc", "sqlite3", "libcjson", "libpng", "openblas", "lapacke", "librsvg-2.0")
    LIBRARIES = ("libjemalloc.so.2", "libmimalloc.so.2", "libtcmalloc_minimal.so.4")
    HEADERS = ("stdio.h", "dnnl.h", "omp.h", "sanitizer/asan_interface.h")

    def __init__(self, directory, user=0):
        self.directory = directory
        self.bin = os.path.join(directory, "bin")
        self.called = os.path.join(directory, "called")
        os.makedirs(self.bin)
        write(self.called, "")
        for name in self.HELPERS:
            os.symlink(shutil.which(name), os.path.join(self.bin, name))
        self.tool("id", f"echo {user}")
        self.tool("apt-get", f'echo "apt-get $*" >>"{self.called}"')

    def tool(self, name, body="exit 0", where=None):
        write(os.path.join(where or self.bin, name), f"#!/bin/sh\n{body}\n", executable=True)

    def compilers(self, headers):
        known = " | ".join(f'"#include <{header}>"' for header in headers) or '""'
        for name in ("gcc", "clang"):
            self.tool(name, f"read -r line\ncase $line in {known}) ;; *) exit 1 ;; esac")

    def pkg_config(self, modules, openblas="USE_OPENMP=1", where=None):
        self.tool(
            "pkg-config",
            f'case "$1 $2" in --variable*) echo "DYNAMIC_ARCH=1 {openblas}" ;;\n'
            f'*) case " {" ".join(modules)} " in *" $2 "*) ;; *) exit 1 ;; esac ;; esac',
            where,
        )

    def complete(self, without=()):
        for name in self.TOOLS + self.CHECKERS:
            if name not in without:
                self.tool(name)
        self.tool("locale", f"echo {self.CHARMAP}")
        self.tool("ldconfig", f"echo {' '.join(self.LIBRARIES)}")
        self.tool("fc-list", "echo DejaVu Sans:style=Book")
        self.compilers(h for h in self.HEADERS if h not in without)
        self.pkg_config([m for m in self.MODULES if m not in without])
        return self

    def offer(self, name):
        """What apt-get install makes."""
        self.tool(
            "apt-get",
            f'echo "apt-get $*" >>"{self.called}"\n'
            f'case "$*" in *" install "*) printf "#!/bin/sh\\n" >"{self.bin}/{name}" &&'
            f' {shutil.which("chmod")} +x "{self.bin}/{name}" ;; esac',
        )

    def setup(self, *arguments, **environment):
        done = call(
            [os.path.join(self.bin, "bash"), os.path.join(CI, "setup"), *arguments],
            env={"PATH": self.bin, "YP_SBIN": self.bin, **environment},
        )
        return done.returncode, done.stdout, read(self.called).splitlines()


MESON = """project('yieldpoint', 'c', version: '0', meson_version: '>=1.0.0',
  default_options: ['c_std=c17', 'warning_level=3', 'werror=true'])
if get_option('sanitize') == 'true'
  add_project_arguments('-fsanitize=address,undefined', language: 'c')
  add_project_link_arguments('-fsanitize=address,undefined', language: 'c')
endif
program = executable('program', 'program.c')
if get_option('sanitize') == 'fuzzer'
  subdir('tests/fuzz')
endif
"""
OPTIONS = """option('models', type: 'feature')
option('cuda', type: 'feature')
option('sanitize', type: 'combo', choices: ['false', 'true', 'fuzzer'], value: 'false')
"""
# Does what its first argument says, the way a test can.
PROGRAM = r"""#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "exit") == 0)
        return atoi(argv[2]);
    if (strcmp(what, "options") == 0) {
        const char *options = getenv("YIELDPOINT_OPTIONS");
        return options == NULL || strcmp(options, argv[2]) != 0;
    }
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "die") == 0)
            abort();
        if (strcmp(argv[i], "hang") == 0)
            sleep(100);
        if (strcmp(argv[i], "return") == 0)
            return atoi(argv[i + 1]);
        if (strcmp(argv[i], "garbage") == 0)
            fwrite("\x1b[31mred\x00\xff\x01\n", 1, 12, stderr);
        else
            puts(argv[i]);
        fflush(stdout);
    }
    return 0;
}
"""

FUZZ_MESON = """flags = '-fsanitize=fuzzer,address,undefined'
alias_target('fuzz-targets', executable('fuzz-one', 'one.c', c_args: flags, link_args: flags, build_by_default: false))
"""
# Goes wrong the way that an input says, where that is planted.
FUZZ = r"""#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
extern void *volatile kept;
extern volatile char seen;
void *volatile kept;
volatile char seen;
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char small[4] = "";
    if (size < 2 || data[0] != 'x')
        return 0;
    if (PLANTED && data[1] == 'o')
        memcpy(small, data, size + 3);
    if (PLANTED && data[1] == 'l')
        kept = malloc(10);
    if (PLANTED && data[1] == 'l')
        kept = NULL;
    seen = small[0];
    return 0;
}
"""


class Project:
    """A project that is laid out and configured like this one, with the scripts of this one."""

    def __init__(self, directory, tests):
        self.root = os.path.realpath(directory)
        shutil.copytree(CI, os.path.join(self.root, "ci"))
        for name in (".clang-format", ".clang-tidy"):
            shutil.copy(os.path.join(CI, "..", name), self.root)
        write(self.path("meson_options.txt"), OPTIONS)
        write(self.path("program.c"), PROGRAM)
        write(self.path("tests/fuzz/meson.build"), FUZZ_MESON)
        write(self.path("tests/fuzz/corpus/one/seed"), "y\n")
        self.plant(0)
        self.declare(tests)

    def plant(self, defect):
        write(self.path("tests/fuzz/one.c"), FUZZ.replace("PLANTED", str(defect)))

    def path(self, name):
        return os.path.join(self.root, name)

    def declare(self, tests):
        write(self.path("meson.build"), MESON + tests)

    def check(self, *arguments):
        """Runs ci/test; returns (exit code, what it printed, its last line)."""
        done = call(["bash", self.path("ci/test"), *arguments], cwd="/", env={**os.environ, "YP_FUZZ_SECONDS": "1"})
        return done.returncode, done.stdout, done.stdout.rstrip("\n").rpartition("\n")[2]

    def fuzz(self, *arguments):
        """Runs ci/fuzz; returns (exit code, what it printed, its last line)."""
        done = call(["bash", self.path("ci/fuzz"), *arguments], cwd="/")
        return done.returncode, done.stdout, done.stdout.rstrip("\n").rpartition("\n")[2]
