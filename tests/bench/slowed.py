"""Makes one kernel twice as slow or more, one at a time, in a copy of the sources, and runs the perf suite.

usage: slowed.py [NAME ...]: only these, in this order, without the run in which nothing is slowed

Answers stay what they are: a wrong tile, a lost vectorisation, a second pass, a serial loop, a copy
too many. Each must turn cases red, and none that does not use the kernel. Prints what was red.
"""

import os
import re
import subprocess
import sys
import tempfile

from planted import copy_sources, planted

SELECTION = ["-m", "perf and not gpu and not slow", "-q", "--tap"]
# What passes over tiles.
DETECTION = r"perf/rx(_axes|_precision|_stream|_pipelines|_methods)?\.c::"

# name: (file, what stands there, what is planted, what may turn red, what must)
SLOWED = {
    "a second pass: scores": (
        "models/rx/detector/score.c", "    rx->triangle->score(&triangle,",
        "    rx->triangle->score(&triangle, tile->values, stride, tile->pixels,\n"
        "                        rx->scratch[item.worker].panels, scores);\n"
        "    rx->triangle->score(&triangle,", r"score", r"rx\.c::score\[channels=200\]"),
    "two passes more: the products of the loss": (
        "models/rx/detector/loss.c", "    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, c, c, 1,",
        "    for (int again = 0; again < 3; again++)\n"
        "        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, c, c, 1,",
        r"gradient", r"rx\.c::gradient_step\[channels=200\]"),
    "a tile of four pixels: the loss and the statistics": (
        "models/rx/internal.h", "#define YPI_RX_CHUNK ((size_t)512)", "#define YPI_RX_CHUNK ((size_t)4)",
        r"gradient|statistics|stream|prefetch|pipeline|mnf", r"rx\.c::gradient_step\[channels=200\]"),
    "a block of one row: products": (
        "models/nn/simd/block.inc", "#define BLOCK_ROWS 8", "#define BLOCK_ROWS 1",
        r"statistics|score|stream|prefetch|mnf", r"rx\.c::statistics\[channels=200\]"),
    "lost vectorisation: bf16": (
        "models/nn/simd/split.c",
        "    {YP_ISA_AVX512, has_bf16, &split_kernels_native_bf16},\n"
        "    {YP_ISA_AMX, NULL, &ypi_split_kernels_amx},\n",
        "    {YP_ISAS, has_bf16, &split_kernels_native_bf16},\n"
        "    {YP_ISAS, NULL, &ypi_split_kernels_amx},\n",
        r"bf16", r"statistics_precision\[channels=200-precision=bf16x2\]"),
    "lost vectorisation: an affine function's slopes": (
        "models/nn/fast.c", "    slopes_kernel *kernel = best_slopes();",
        "    slopes_kernel *kernel = slopes_baseline;\n    (void)best_slopes;",
        r"operator=(logit|minmax)|pipeline", r"speed_in_models\[operator=logit"),
    "a serial loop: passes over tiles": (
        "models/data/pass.c", "#pragma omp parallel num_threads(pass->workers)",
        "#pragma omp parallel num_threads(1)",
        # The ratio is not judged where the case of two threads is red itself.
        DETECTION, r"rx_axes\.c::statistics_threads(_ratio|\[channels=100-threads=2\])"),
    "two reads more: files": (
        "synth/cube/read.c", "        enum yp_status status = ypi_read_at(file->fd, file->path, offset, to, count * size);",
        "        enum yp_status status = ypi_read_at(file->fd, file->path, offset, to, count * size);\n"
        "        for (int again = 0; again < 2 && status == YP_OK; again++)\n"
        "            status = ypi_read_at(file->fd, file->path, offset, to, count * size);",
        r"cubes\.c::read.*float32", r"cubes\.c::read\[interleave=bip-type=float32\]"),
    "noise drawn four times: a scene": (
        "synth/scene/mixing.c", "    ypi_random_normals(spec->level, synth_stream(spec->seed, cube, SYNTH_NOISE),\n",
        "    for (int again = 0; again < 3; again++)\n"
        "        ypi_random_normals(spec->level, synth_stream(spec->seed, cube, SYNTH_NOISE),\n"
        "                      (uint64_t)pixel * channels, pixels * channels, values);\n"
        "    ypi_random_normals(spec->level, synth_stream(spec->seed, cube, SYNTH_NOISE),\n",
        r"scene|stream|prefetch", r"rx\.c::scene\[channels=200\]"),
    "a row at a time: the linear operator": (
        "models/nn/operators/linear.c",
        "    struct nn_gemm gemm = product(call, Y, half);\n    return nn_gemm(&gemm, call->work);\n",
        "    struct nn_gemm gemm = product(call, Y, half);\n"
        "    enum yp_status status = YP_OK;\n"
        "    size_t rows = gemm.m;\n"
        "    gemm.m = 1;\n"
        "    for (size_t i = 0; i < rows && status == YP_OK; i++) {\n"
        "        gemm.a.at = (char *)call->value[X] + i * gemm.k * (half ? 2 : 4);\n"
        "        gemm.c.at = (char *)call->value[Y] + i * gemm.n * (half ? 2 : 4);\n"
        "        status = nn_gemm(&gemm, call->work);\n"
        "    }\n"
        "    return status;\n",
        r"operator=linear|lm\.c", r"speed_in_models\[operator=linear-"),
    "lost vectorisation: the products of attention": (
        "models/nn/simd/small.c", "ypi_simd_best(versions, sizeof versions / sizeof *versions)",
        "ypi_simd_best(versions, 1)",
        r"operator=attention|lm\.c", r"speed_in_models\[operator=attention"),
    "a second pass: random words": (
        "base/random/bulk_kernel.h",
        "    uint32_t *out = to;\n    size_t vectors = groups * (YPI_GROUP_BLOCKS / V_BLOCKS);\n"
        "    for (; vectors >= MANY; vectors -= MANY, out += MANY * 4 * V_BLOCKS)\n"
        "        some_words(",
        "    uint32_t *out = to;\n    size_t vectors = groups * (YPI_GROUP_BLOCKS / V_BLOCKS);\n"
        "    V again = products;\n"
        "    for (size_t v = 0; v + MANY <= vectors; v += MANY)\n"
        "        some_words(&k, &again, MANY, second, nontemporal, out + v * 4 * V_BLOCKS);\n"
        "    for (; vectors >= MANY; vectors -= MANY, out += MANY * 4 * V_BLOCKS)\n"
        "        some_words(",
        # To memory on a Zen 4, where words_near has twice its limit; near on a Zen 5.
        r"synth\.c|scene|stream|prefetch", r"synth\.c::words(_near)?\[threads=1"),
}


def run_perf(build):
    done = subprocess.run([os.path.join(build, "suites", "perf", "yieldpoint-perf"), *SELECTION,
                           "--history", os.path.join(build, "history.db")],
                          capture_output=True, text=True, errors="replace",
                          stdin=subprocess.DEVNULL)
    # With --tap the lines carry the failures, and the exit code is 0 all the same.
    passed = re.findall(r"^ok [0-9]+ - ([^\n#]*?)\s*$", done.stdout, re.M)
    failed = re.findall(r"^not ok [0-9]+ - ([^\n#]*?)\s*(?:#.*)?$", done.stdout, re.M)
    noisy = re.findall(r"^ok [0-9]+ - ([^\n#]*?)\s*\n(?:#.*\n)*?# noisy", done.stdout, re.M)
    return done, set(passed) - set(noisy), set(failed), sorted(noisy)


def check(name, build, tree):
    """Plants one and takes it away again; whether what it slows turned red, and nothing else."""
    file, old, new, may, must = SLOWED[name]
    with planted(tree, name, file, old, new):
        built = subprocess.run(["ninja", "-C", build, "suites/perf/yieldpoint-perf"],
                               capture_output=True, text=True)
        if built.returncode != 0:
            print(f"\n== {name}: does not build\n{built.stdout[-3000:]}", flush=True)
            return False
        done, passed, failed, noisy = run_perf(build)
    others = sorted(case for case in failed if not re.search(may, case))
    right = done.returncode == 0 and not others and any(re.search(must, c) for c in failed)
    verdict = "red" if right else f"NOT as it should be (exit {done.returncode})"
    print(f"\n== {name}: {verdict}: {len(failed)} red, {len(passed)} green, {len(noisy)} undecided\n  "
          + "\n  ".join(sorted(failed) + [f"undecided: {case}" for case in noisy]), flush=True)
    if not right:
        print(f"others: {others}\n{done.stdout[-3000:]}{done.stderr[-2000:]}", flush=True)
    return right


def main(names):
    unknown = [name for name in names if name not in SLOWED]
    if unknown:
        print(f"slowed.py: no {unknown[0]!r}; there are:\n  " + "\n  ".join(SLOWED), file=sys.stderr)
        sys.exit(2)
    problems = 0
    with tempfile.TemporaryDirectory() as folder:
        tree, build = os.path.join(folder, "tree"), os.path.join(folder, "tree", "build")
        copy_sources(tree)
        subprocess.run(["meson", "setup", build, tree, "-Dmodels=enabled", "-Dtests=false",
                        "--buildtype=release"], check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["ninja", "-C", build, "suites/perf/yieldpoint-perf"], check=True,
                       stdout=subprocess.DEVNULL)
        if not names:
            done, passed, failed, noisy = run_perf(build)
            print(f"nothing slowed: {len(passed)} green, red: {sorted(failed)}, undecided: {noisy}", flush=True)
            problems += done.returncode != 0 or bool(failed) or not passed
        for name in names or SLOWED:
            problems += not check(name, build, tree)
    print(f"\n{problems} problems")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
