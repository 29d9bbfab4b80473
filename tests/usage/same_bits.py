"""The data that synth makes are the same whichever compiler and optimisation makes the program.

Builds synth's own files and base/random's anew for each, with the options of base/random/meson.build but for -O. The
build's compiler is named for its options: where the system's headers lie."""

import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from tap import Tap  # noqa: E402

SOURCES = [*(f"base/random/{name}" for name in ("bulk_avx2", "bulk_avx512", "bulk_baseline", "level", "stream")),
           *(f"synth/scene/{name}" for name in ("accelerated", "cuvis", "ground", "mixing", "optics", "passband", "prepare",
                                                "scene")),
           *(f"synth/plays/{name}" for name in ("csv", "motion", "plan", "plays")), "tests/usage/suites/same_bits"]
FRAMEWORK = ["base/numbers/hash", "base/system/error", "base/system/file", "base/system/self", "base/text/text",
             "base/simd/isa", "base/simd/simd", "device/cpu/cpu", "device/cpu/levels", "device/device", "device/plugin"]
OPTIONS = ["-std=c17", "-D_GNU_SOURCE", "-ffp-contract=off", "-fno-math-errno",
           "-fno-trapping-math", "-DYPI_VERSION=\"0\""]


def compiled(root, command, level, files, out, *flags):
    files = [os.path.join(root, f"{name}.c") for name in files]
    subprocess.run([*command, *OPTIONS, level, f"-I{root}", f"-I{root}/include", *files, "-o", out, *flags], check=True,
                   timeout=300)
    return out


def hashes(program):
    """{what: {level: hash}}"""
    done = subprocess.run([program], capture_output=True, text=True, check=True, timeout=300)
    found = {}
    for line in done.stdout.splitlines():
        what, level, value = line.split()
        found.setdefault(what, {})[level] = value
    return found


def check_build(tap, root, command, level, framework, wanted):
    name = f"{os.path.basename(command[0])} {level}"
    found = hashes(compiled(root, command, level, SOURCES, framework + level, framework, "-lm", "-lpthread", "-ldl"))
    for what, values in found.items():
        # What has no golden hash is held to the first build's.
        value = wanted.setdefault(what, values.get("golden", values["1"]))
        tap.check(set(values.values()) == {value}, f"{name}: {what}", (values, value))
    tap.check(set(found) == set(wanted) and len(wanted) == 12, f"{name}: everything", found)


def main(root, *command):
    tap = Tap()
    # What comes behind the compiler's name, which may have a cache in front.
    more = [word for word in command if os.path.basename(word) != "ccache"][1:]
    wanted = {}
    with tempfile.TemporaryDirectory() as folder:
        for compiler in ("gcc", "clang"):
            path = shutil.which(compiler)
            if path is None:
                tap.skip(compiler, f"no {compiler}")
                continue
            # What is not synth is not what is looked at: one build of it for all levels.
            framework = compiled(root, [path, *more], "-O1", FRAMEWORK, os.path.join(folder, compiler + ".o"), "-r")
            for level in ("-O0", "-O1", "-O2", "-O3"):
                tap.run(f"{compiler} {level}", check_build, tap, root, [path, *more], level, framework, wanted)
    tap.done()


main(*sys.argv[1:])
