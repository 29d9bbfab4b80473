"""What CUDA's compiler makes of synth's kernels: only exactly rounded operations, nothing contracted,
no register spilled. And cuRAND's device functions on the host, against synth's words.

The build's own command is used, for one architecture at a time, so that it is the build's options
that are looked at. No GPU is needed."""

import os
import re
import shlex
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from tap import Tap  # noqa: E402

SOURCE = "synth/cuda/kernels.cu"
# Registers: 65536 of a multiprocessor allow two blocks of 256 threads 128 each, four 64, eight 32.
ARCHITECTURES = ["80", "90"]
SMALLER = ("80", "scene_714synth", 160)  # of which one block is resident
KERNELS = {
    r"scene_[67](_whole)?14synth": 128,
    r"cuvis(_whole)?14synth": 64,
    r"words_(plain|normals|as_curand)16synth": 32,
    r"curand_kernel": 40,
}
COUNT = 4 + 2 + 3 + 1
# As written in normal.h: of a radius 10, of an angle and its sine and cosine 7; two pairs a block.
NORMAL_KERNEL, NORMAL_FMAS = "words_normals", 2 * (10 + 7)


def command(build):
    """How the build compiles the kernels, without what is said of architecture and output."""
    done = subprocess.run(["ninja", "-C", build, "-t", "commands"], capture_output=True, text=True,
                          timeout=60, check=True)
    lines = [line for line in done.stdout.splitlines() if SOURCE in line and "nvcc" in line]
    if not lines:
        return None
    words, kept = shlex.split(lines[0]), []
    while words:
        word = words.pop(0)
        if word in ("-o", "-MF"):
            words.pop(0)
        elif word not in ("-c", "-MD") and not word.startswith("-gencode"):
            kept.append(word)
    return kept


def compiled(build, words, *more):
    """nvcc's messages."""
    done = subprocess.run([*words, *more], cwd=build, capture_output=True, text=True, timeout=250)
    if done.returncode != 0:
        raise RuntimeError(done.stdout + done.stderr)
    return done.stdout + done.stderr


def ptx(build, words, folder, *more):
    """{kernel: its instructions}"""
    path = os.path.join(folder, "kernels.ptx")
    compiled(build, words, "-gencode=arch=compute_90,code=compute_90", "-ptx", "-o", path, *more)
    kernels, own = {}, None
    with open(path, encoding="utf-8") as file:
        for line in file:
            entry = re.search(r"\.entry\s+(\w+)|\.func\s.*?(\w+)\s*\(", line)
            if entry:
                own = kernels.setdefault(entry.group(1) or entry.group(2), [])
            found = re.match(r"\s*(?:@!?%\w+\s+)?([a-z][\w.]*)\s+[^:]*;", line)
            if found and own is not None:
                own.append(found.group(1))
    return kernels


def inexact(kernels):
    """What is not exactly rounded, or may be contracted when it is assembled."""
    wrong = []
    for kernel, instructions in kernels.items():
        for one in instructions:
            parts = one.split(".")
            floating = any(re.fullmatch(r"f(16|32|64)(x2)?|bf16(x2)?", p) for p in parts[1:])
            if "approx" in parts or "ftz" in parts or "full" in parts:
                wrong.append(f"{kernel}: {one}")
            elif parts[0] in ("sin", "cos", "ex2", "lg2", "tanh", "rsqrt", "mad") and floating:
                wrong.append(f"{kernel}: {one}")
            elif parts[0] in ("add", "sub", "mul", "fma", "div", "rcp", "sqrt") and floating \
                    and "rn" not in parts:
                wrong.append(f"{kernel}: {one}")
    return wrong


def check_exact(tap, build, words, folder):
    kernels = ptx(build, words, folder)
    known = [k for k in kernels if any(re.search(p, k) for p in KERNELS)]
    tap.check(len(known) == COUNT, "every kernel is in the PTX", "\n".join(kernels))
    tap.check(not inexact(kernels), "every operation is exactly rounded", "\n".join(inexact(kernels)))
    for kernel in known:
        if "scene" in kernel or "cuvis" in kernel or NORMAL_KERNEL in kernel:
            tap.check("sqrt.rn.f32" in kernels[kernel] and "fma.rn.f32" in kernels[kernel],
                      f"{kernel}: roots and products are where they are looked for")
    normal = next(k for k in kernels if NORMAL_KERNEL in k)
    tap.equal(kernels[normal].count("fma.rn.f32"), NORMAL_FMAS,
              "the normal transform has the fused products that are written, and no more")
    for option in ("-fmad=true", "-use_fast_math", "-prec-sqrt=false"):
        other = ptx(build, [w for w in words if not w.startswith(("-fmad", "-prec-sqrt"))], folder,
                    option)
        tap.check(inexact(other), f"with {option} it would be seen")


def check_resources(tap, build, words, folder, architecture):
    text = compiled(build, words, f"-gencode=arch=compute_{architecture},code=sm_{architecture}",
                    "-cubin", "-Xptxas=-v", "-o", os.path.join(folder, "kernels.cubin"))
    entries = re.findall(r"Compiling entry function '(\w+)'.*?(\d+) bytes stack frame, (\d+) bytes "
                         r"spill stores, (\d+) bytes spill loads.*?Used (\d+) registers([^\n]*)",
                         text, re.S)
    tap.check(len(entries) == COUNT, f"sm_{architecture}: every kernel is reported", text)
    for name, stack, stores, loads, registers, rest in entries:
        limit = next((m for p, m in KERNELS.items() if re.search(p, name)), 0)
        if architecture == SMALLER[0] and SMALLER[1] in name:
            limit = SMALLER[2]
        shared = re.search(r"(\d+) bytes smem", rest)
        print(f"# sm_{architecture} {name}: {registers} registers, "
              f"{shared.group(1) if shared else 0} bytes of shared memory beside what is asked for")
        tap.check(stack == stores == loads == "0" and int(registers) <= limit,
                  f"sm_{architecture} {name}: at most {limit} registers, none spilled",
                  (registers, stack, stores, loads))


def check_curand(tap, nvcc, root, folder):
    program = os.path.join(folder, "curand-words")
    subprocess.run([nvcc, "-std=c++17", "-O2", "-arch=sm_80", f"-I{root}", f"-I{root}/include",
                    "-o", program, f"{root}/tests/usage/suites/curand_words.cu"], check=True,
                   timeout=250, capture_output=True)
    done = subprocess.run([program], capture_output=True, text=True, timeout=100)
    tap.check(done.returncode == 0 and done.stdout == "compared 1680000\n",
              "words are those of cuRAND's device functions", done.stdout + done.stderr)


def main(root, build, nvcc=None):
    tap = Tap()
    if nvcc is None:
        tap.skip("the code of the kernels", "no nvcc")
        tap.done()
    with tempfile.TemporaryDirectory() as folder:
        words = command(build)
        if words is None:
            tap.skip("the code of the kernels", "this build has no kernels")
        else:
            tap.run("exact operations", check_exact, tap, build, words, folder)
            for architecture in ARCHITECTURES:
                tap.run(f"resources of sm_{architecture}", check_resources, tap, build, words,
                        folder, architecture)
        tap.run("cuRAND", check_curand, tap, nvcc, root, folder)
    tap.done()


main(*sys.argv[1:])
