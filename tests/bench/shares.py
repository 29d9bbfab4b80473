"""What Yieldpoint reports of known kernels against independent tools, in turns in one run.

usage: shares.py BUILD_DIRECTORY [--stream PATH] [--gemm PATH] [--rounds N]

memcpy and memset against `perf bench mem` (package linux-perf); a copy with a factor against STREAM's
Scale on one thread (--stream: stream.c built with -DSTREAM_ARRAY_SIZE=33554432), sgemm of 2048 against
OpenBLAS's own benchmark/gemm.c (--gemm). Prints medians and the median of the ratios round by round.
"""

import argparse
import os
import re
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile


def ours(program, node, names, folder, *options):
    """Median seconds an iteration and share of each measurement."""
    history = os.path.join(folder, "history.db")
    subprocess.run([program, node, "--speed=record", "--history", history, *options],
                   stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL, check=True)
    database = sqlite3.connect(history)
    found = {}
    for name in names:
        found[name] = database.execute(
            "SELECT m.bytes / m.median, m.flops / m.median, m.share FROM measurement m "
            "JOIN result r ON r.id = m.result_id WHERE m.name = ? ORDER BY r.started DESC LIMIT 1",
            (name,)).fetchone()
    database.close()
    return found


def perf_bench(what, mib):
    out = subprocess.run(["perf", "bench", "-f", "simple", "mem", what, "-s", f"{mib}MB", "-l", "8",
                          "-f", "default"], capture_output=True, text=True, check=True).stdout
    rate = float(re.findall(r"[0-9.]+", out)[-1])
    return rate * 2 if what == "memcpy" else rate  # it counts the bytes copied once


def stream(path):
    out = subprocess.run([path], capture_output=True, text=True, check=True,
                         env={**os.environ, "OMP_NUM_THREADS": "1"}).stdout
    # Columns: best rate, average, least and most seconds; ours is a median, so the average time.
    fields = re.search(r"Scale: +(\S+) +(\S+)", out)
    size = int(re.search(r"Array size = (\d+)", out).group(1))
    return 16.0 * size / float(fields.group(2))


def gemm(path, n):
    out = subprocess.run([path, str(n), str(n), "1"], stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, check=True,
                         env={**os.environ, "OPENBLAS_LOOPS": "10"}).stdout
    return float(re.search(r": +([0-9.]+) MFlops", out).group(1)) * 1e6


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--stream")
    parser.add_argument("--gemm")
    parser.add_argument("--rounds", type=int, default=7)
    asked = parser.parse_args()
    known = os.path.join(asked.build, "tests", "bench", "known-cost")
    suite = os.path.join(asked.build, "suites", "perf", "yieldpoint-perf")
    rows = {}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(asked.rounds):
            if shutil.which("perf"):
                mine = ours(known, "tests/bench/known_cost.c::whole", ("memcpy", "memset"), folder)
                for what in ("memcpy", "memset"):
                    rows.setdefault(what, []).append(
                        (mine[what][0], perf_bench(what, 256), mine[what][2]))
            if asked.stream:
                mine = ours(suite, "perf/ceilings.c::copy", ("copy",), folder)
                rows.setdefault("scale (STREAM)", []).append(
                    (mine["copy"][0], stream(asked.stream), mine["copy"][2]))
            if asked.gemm:
                mine = ours(suite, "perf/ceilings.c::gemm", ("gemm",), folder, "--set", "n=2048")
                rows.setdefault("sgemm 2048", []).append(
                    (mine["gemm"][1], gemm(asked.gemm, 2048), mine["gemm"][2]))
    if not rows:
        sys.exit("no tool to hold it against: perf, --stream or --gemm")
    for name, found in rows.items():
        ratios = [mine / other for mine, other, _ in found]
        print(f"{name:15} ours {statistics.median(r[0] for r in found) / 1e9:7.2f} G/s, theirs "
              f"{statistics.median(r[1] for r in found) / 1e9:7.2f} G/s, ratio "
              f"{statistics.median(ratios):.3f} [{min(ratios):.3f}, {max(ratios):.3f}], our share "
              f"{statistics.median(r[2] for r in found):.2f}")


main()
