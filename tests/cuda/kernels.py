"""What CUDA's compiler made of every kernel of the project: registers, shared memory, and nothing in
memory for want of registers.

usage: kernels.py SOURCE_ROOT NVCC CAPABILITY
"""

import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from tap import Tap  # noqa: E402

FOLDERS = ("device", "ranks", "synth", "models", "tests/plugin")
# A block of so many threads has to fit a multiprocessor's 65,536 registers at least once.
MAX_REGISTERS = 255


def sources(root):
    for folder in FOLDERS:
        for directory, _, files in sorted(os.walk(os.path.join(root, folder))):
            yield from (os.path.join(directory, f) for f in sorted(files) if f.endswith(".cu"))


def kernels(root, nvcc, capability, source, folder):
    """Name, registers, bytes of stack, of spills and of shared memory of each kernel."""
    # What a file says of itself stands in its first comment.
    with open(source) as file:
        hopper = "sm_90a" in file.read(1000)
    arch = capability + ("a" if hopper else "")
    done = subprocess.run(
        [nvcc, "-std=c++17", "-O3", f"-gencode=arch=compute_{arch},code=sm_{arch}", "-cubin",
         "-Xptxas", "-v", "-Werror=all-warnings", "-I", os.path.join(root, "include"), "-I", root,
         source, "-o", os.path.join(folder, "x.cubin")], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    pattern = re.compile(
        r"Compiling entry function '(\w+)'.*?(\d+) bytes stack frame, (\d+) bytes spill stores, "
        r"(\d+) bytes spill loads.*?Used (\d+) registers(?:.*?(\d+) bytes smem)?", re.DOTALL)
    for entry in done.stderr.split("ptxas info    : Compiling entry")[1:]:
        found = pattern.search("Compiling entry" + entry)
        yield (found[1], int(found[5]), int(found[2]), int(found[3]) + int(found[4]),
               int(found[6] or 0))


def main(root, nvcc, capability):
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        for source in sources(root):
            name = os.path.relpath(source, root)
            try:
                found = list(kernels(root, nvcc, capability, source, folder))
            except RuntimeError as error:
                tap.check(False, f"{name} compiles", error)
                continue
            tap.check(found != [], f"{name} has kernels")
            for kernel, registers, stack, spills, shared in found:
                tap.check(spills == 0 and registers <= MAX_REGISTERS,
                          f"{name}: {kernel}: {registers} registers, {shared} bytes shared, "
                          f"{stack} of stack, {spills} spilled")
    tap.done()


main(*sys.argv[1:])
