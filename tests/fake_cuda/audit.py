"""--audit on a CUDA device and a CUPTI that are made up: what is counted, printed and refused."""

import csv
import ctypes
import os
import re
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.dirname(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from program import results, rows, run  # noqa: E402
from tap import Tap  # noqa: E402

CASE = "device.c::audited"
# 2 GFLOP and 64 MB as declared: fused ones count once more.
TRUE = "ops_fadd=1.2e9 op_ffma=8e8 fp64=0 dmul=0 dfma=0 hadd=0 hfma=0 tensor=0 bytes_read=4e7 " \
       "bytes_write=2.4e7"


class Fake:
    """A program, its plugin, a CUPTI, and a fresh history for every run."""

    def __init__(self, program, plugin, cupti, folder):
        self.program, self.folder, self.count = program, folder, 0
        self.plugins, self.cupti = (os.path.dirname(os.path.abspath(p)) for p in (plugin, cupti))

    def run(self, *arguments, cupti="", fake="", env=None):
        self.count += 1
        self.history = os.path.join(self.folder, f"{self.count}.db")
        self.csv = os.path.join(self.folder, f"{self.count}.csv")
        done = run(self.program, "--history", self.history, "--csv", self.csv, *arguments,
                   env={"YIELDPOINT_PLUGINS": self.plugins, "FAKE_CUDA": fake, "FAKE_CUPTI": cupti,
                        "LD_LIBRARY_PATH": self.cupti, **(env or {})})
        return done, results(self.history) if os.path.exists(self.history) else {}

    def one(self, cupti, case=f"{CASE}[cuda]", **more):
        done, found = self.run("--audit", "-v", case, cupti=cupti, **more)
        return done, found.get(case)

    def counts(self, result, position=0):
        return {row["counter"]: row["count"] for row in rows(
            self.history, "SELECT counter, count FROM counter WHERE result_id = ? AND position = ? "
                          "AND source = 'cupti'", result["id"], position)}

    def values(self, result):
        return {row["name"]: row["value"] for row in rows(
            self.history, "SELECT name, value FROM value WHERE result_id = ?", result["id"])}


def check_counts(tap, fake):
    done, r = fake.one(TRUE)
    tap.equal((done.code, r["outcome"]), (0, "passed"), "work as declared passes")
    tap.equal(fake.counts(r), {
        "gpu fp64": 0, "gpu fp32": 2e9, "gpu fp16": 0, "gpu integer": 1, "gpu tensor fp64": 0,
        "gpu tensor tf32": 0, "gpu tensor bf16": 0, "gpu tensor fp16": 0, "gpu tensor fp8": 0,
        "gpu tensor int8": 0, "gpu bytes read": 4e7, "gpu bytes written": 2.4e7,
        "gpu L2 bytes": 32}, "every count is stored, fused ones as two, sectors as 32 bytes")
    tap.equal(fake.values(r), {"bodies": 1 + 3, "resets": 1 + 3},
              "the body runs once to warm up and once a pass, after a reset")
    tap.check("work 2e+09 operations (1.00 of declared), 61.0 MiB of memory (1.00 of declared)" in
              done.out, "and reported beside what is declared", done)
    tap.check("'work'" not in done.out, "without a finding", done)
    kinds = rows(fake.history, "SELECT name, kind, count FROM measurement WHERE result_id = ?",
                 r["id"])
    tap.equal({(k["name"], k["kind"], k["count"]) for k in kinds},
              {(n, "count", 0) for n in ("work", "cached", "integers", "fp8", "upload")},
              "nothing is timed")
    tap.equal(rows(fake.history, "SELECT (SELECT total(probes) FROM bound) AS probes, (SELECT total(value) "
                                 "FROM noise WHERE name = 'gpu held') AS held"),
              [{"probes": 0, "held": 0}], "nor probed, nor held back: the device would count that")
    with open(fake.csv) as file:
        table = {(row["kind"], row["name"]): row["value"] for row in csv.DictReader(file)}
    tap.equal([float(table[key]) for key in
               (("count", "work gpu fp32"), ("declared", "work operations"),
                ("executed", "work operations"), ("declared", "work bytes"),
                ("executed", "work bytes"))], [2e9, 2e9, 2e9, 64e6, 64e6], "and in the CSV")
    done, r = fake.one(TRUE.replace("tensor=0", "tensor=3 src_fp16=5 src_fp16_dst=7")
                       + " ops_hadd=11 op_hfma=13")
    counts = fake.counts(r)
    tap.equal((counts["gpu tensor fp16"], counts["gpu fp16"]), (5, 2 * (11 + 13)),
              "halves come in pairs; of two ways to tell, the first")
    done, r = fake.one(TRUE.replace("tensor=0", "tensor=3 src_fp16_dst=7") + " unknown=src_fp16.sum")
    tap.equal(fake.counts(r)["gpu tensor fp16"], 14, "or the second")


def check_budgets(tap, fake):
    done, r = fake.one(TRUE + " op_ffma=4e9")
    tap.equal((r["outcome"], [v["met"] for v in r["verdicts"]]),
              ("failed", ["not judged", "not met"]), "a count is judged, speed is not")
    tap.check("--audit" in done.out, "and reproduced by the same option", done)
    done, found = fake.run(f"{CASE}[cuda]", "--speed=record")
    tap.check(found[f"{CASE}[cuda]"]["outcome"] == "skipped" and
              "it is counted under --audit, by CUPTI" in found[f"{CASE}[cuda]"]["reason"],
              "without --audit the budget's counter is not there", done)
    tap.equal(rows(fake.history, "SELECT * FROM counter WHERE source = 'cupti'"), [],
              "and CUPTI is not asked")


def check_findings(tap, fake):
    for words, wanted in (
            ("op_ffma=0 ops_fadd=9.9e8", "'work' declares 2e+09 operations an iteration, but the "
                                         "device executed only 9.9e+08"),
            ("op_ffma=0 ops_fadd=4.02e9", "declares 2e+09 operations an iteration, but the device "
                                         "executed 4.02e+09"),
            ("op_ffma=0 ops_fadd=0", "declares 2e+09 operations an iteration, but the device executed only 0"),
            ("bytes_read=0", "'work' declares 61.0 MiB an iteration, but the device moved only 22.9 "
                             "MiB of memory: the work is less"),
            ("bytes_read=1.2e8", "declares 61.0 MiB an iteration, but the device moved 137.3 MiB of "
                                 "memory"),
            ("srcunit_tex=10000", "'cached' declares 976.6 KiB an iteration, but the device moved "
                                  "only 312.5 KiB of L2"),
            ("srcunit_tex=100000", "'cached' declares 976.6 KiB an iteration, but the device moved "
                                   "3.1 MiB of L2"),
            ("integer=4e5", "'integers' declares 1e+06 operations an iteration, but the device "
                            "executed only 4e+05"),
            ("src_fp8=3e6", "'fp8' declares 1e+06 operations")):
        done, r = fake.one(f"{TRUE} {words}")
        tap.check(wanted in done.out, f"{words}: {wanted}", done)
    for operations in ("1e9", "4e9"):
        done, r = fake.one(f"{TRUE} op_ffma=0 ops_fadd={operations} integer=9e9 srcunit_tex=20000 bytes_read=1e7")
        tap.check("'work' declares" not in done.out and "'cached' declares" not in done.out and
                  "'integers' declares" not in done.out and "'upload'" not in done.out,
                  "a factor of two, addresses and the bus are no finding", done)


def check_unknown(tap, fake):
    done, r = fake.one(TRUE + " unknown=bytes_write unknown=src_fp8 unknown=op_dfma")
    counts = fake.counts(r)
    tap.equal(sorted(set(("gpu bytes read", "gpu bytes written", "gpu fp64", "gpu tensor fp8",
                          "gpu fp32")) - set(counts)),
              ["gpu bytes written", "gpu fp64", "gpu tensor fp8"],
              "what the device does not know, or only in part, is left out")
    tap.check("'work': this device has no metric of gpu bytes written" in done.out and
              "'fp8': this device has no metric of gpu tensor fp8" in done.out, "and said", done)
    tap.check("work 2e+09 operations (1.00 of declared)\n" in done.out.replace(" PASSED", "\n") or
              "61.0 MiB" not in done.out, "what cannot be compared is not", done)
    done, r = fake.one("unknown=sum")
    tap.check(r["outcome"] == "skipped" and "knows no metric" in r["reason"],
              "a device without any: skipped", r["reason"])
    done, r = fake.one(TRUE + " unknown=fadd_fmul")
    tap.check(r["outcome"] == "skipped" and "this device has no metric of it" in r["reason"],
              "a budget on what is not counted skips", r["reason"])


def refused(tap, place, words, wanted, outcome="skipped", cause="device", **more):
    done, r = place.one(words, **more)
    text = r["reason"] if outcome == "skipped" else (r["failures"] or [{"message": ""}])[0]["message"]
    tap.check(r["outcome"] == outcome and re.search(wanted, text or "") is not None and
              done.code == (0 if outcome == "skipped" else 1) and
              [f["cause"] for f in r["failures"]] == [cause] * done.code,
              f"{words or more}: {outcome}: {wanted}", f"{r['outcome']}: {text}")


def check_refused(tap, fake):
    forbidden = r"keeps the device's counters for the administrator: .*NVreg_RestrictProfiling.*" \
                r"\(CUPTI_ERROR_INSUFFICIENT_PRIVILEGES, 35\)"
    refused(tap, fake, "ProfilerGetCounterAvailability:35", forbidden)
    refused(tap, fake, "RangeProfilerEnable:35", forbidden)
    refused(tap, fake, "RangeProfilerStart:35", forbidden)
    refused(tap, fake, "ProfilerInitialize:15", "does not reach the driver")
    refused(tap, fake, "ProfilerGetCounterAvailability:33", "is virtual, and has no counters")
    refused(tap, fake, "ProfilerGetCounterAvailability:40", "hypervisor does not allow")
    refused(tap, fake, "ProfilerGetCounterAvailability:41", "confidential")
    refused(tap, fake, "ProfilerGetCounterAvailability:43", "MIG")
    refused(tap, fake, "RangeProfilerEnable:39", "another profiler or debugger")
    refused(tap, fake, "RangeProfilerStart:26", "another process reads")
    refused(tap, fake, "ProfilerHostInitialize:46", "does not know this device")
    refused(tap, fake, "vgpu", "cannot count on this device: .*vGPU")
    refused(tap, fake, "", "the driver tells no context", fake="context=0")
    failed = ["DeviceGetChipName", "ProfilerDeviceSupported", "ProfilerHostGetConfigImageSize",
              "ProfilerHostGetConfigImage", "ProfilerHostGetNumOfPasses",
              "RangeProfilerGetCounterDataSize", "RangeProfilerCounterDataImageInitialize",
              "RangeProfilerSetConfig", "RangeProfilerStart", "RangeProfilerPushRange",
              "RangeProfilerPopRange", "RangeProfilerStop", "RangeProfilerDecodeData",
              "RangeProfilerGetCounterDataInfo", "ProfilerHostEvaluateToGpuValues"]
    for call in failed:
        refused(tap, fake, f"{call}:999", r"CUPTI: .*: it failed \(CUPTI_ERROR_OTHER, 999\)",
                outcome="failed")
    refused(tap, fake, "RangeProfilerPopRange:999", "^yp_measure 'work': --audit: .*CUPTI: ", outcome="failed")
    refused(tap, fake, "RangeProfilerEnable:8", "CUPTI_ERROR_OTHER, 8", outcome="failed", cause="out of memory")
    refused(tap, fake, "ranges=2", "2 ranges were counted and 0 dropped, not one", outcome="failed")
    refused(tap, fake, "dropped=1", "1 ranges were counted and 1 dropped", outcome="failed")
    refused(tap, fake, "announced=2 passes=9", "5 passes are over, and it wants more than the 2",
            outcome="failed")
    done, r = fake.one(TRUE + " announced=2 passes=4")
    tap.equal((r["outcome"], fake.values(r)["bodies"]), ("passed", 5),
              "a pass or two more than announced are executed")
    done, r = fake.one(TRUE + " passes=1")
    tap.equal(fake.values(r)["bodies"], 2, "one pass")
    done, r = fake.one(TRUE, fake="fault=4")
    tap.equal((r["outcome"], r["failures"][0]["cause"]), ("failed", "device"),
              "a kernel that fails in a pass is the device's failure")


def check_library(tap, fake):
    """The loader may find a real one by itself, so only what it is told to take is certain."""
    nothing = os.path.join(fake.folder, "nothing.so")
    refused(tap, fake, "", r"YIELDPOINT_CUPTI\): .*nothing.so: cannot open",
            env={"YIELDPOINT_CUPTI": nothing})
    with open(nothing, "w") as file:
        file.write("no shared object")
    refused(tap, fake, "", r"YIELDPOINT_CUPTI\): .*nothing.so", env={"YIELDPOINT_CUPTI": nothing})
    refused(tap, fake, "", "library is too old: it has no cupti",
            env={"YIELDPOINT_CUPTI": os.path.join(fake.plugins, "libyieldpoint-cuda.so")})
    done, r = fake.one(TRUE, env={"LD_LIBRARY_PATH": fake.folder, "YIELDPOINT_CUPTI":
                                  os.path.join(fake.cupti, "libcupti.so.13")})
    tap.equal(r["outcome"], "passed", "the one that is named is taken")
    home = os.path.join(fake.folder, "toolkit")
    os.makedirs(os.path.join(home, "extras", "CUPTI", "lib64"))
    shutil.copy(os.path.join(fake.cupti, "libcupti.so.13"), os.path.join(home, "extras", "CUPTI",
                                                                         "lib64"))
    try:
        ctypes.CDLL("libcupti.so")
        tap.skip("the toolkit's, by CUDA_HOME", "the loader finds one by itself")
    except OSError:
        done, r = fake.one(TRUE, env={"LD_LIBRARY_PATH": fake.folder, "CUDA_HOME": home})
        tap.equal(r["outcome"], "passed", "the toolkit's, by CUDA_HOME")


def check_others(tap, fake):
    done, found = fake.run("--audit", "-v", CASE, "device.c::asks", "device.c::command",
                           "device.c::audited_left", "device.c::same_data", cupti=TRUE)
    tap.check(found[f"{CASE}[cpu]"]["outcome"] == "skipped" and
              "CUDA devices only" in found[f"{CASE}[cpu]"]["reason"] and
              "--instructions" in found[f"{CASE}[cpu]"]["reason"], "the CPU's case says why", done)
    tap.equal(found["device.c::asks[cuda]"]["outcome"], "passed", "what times nothing runs as ever")
    tap.check("not of a command" in found["device.c::command[cuda]"]["reason"], "commands do not")
    left = found["device.c::audited_left[cuda]"]
    tap.equal((left["outcome"], fake.values(left)["bodies"]), ("passed", 2),
              "a body that is left ends its measurement")
    tap.equal(fake.counts(left, 1).get("gpu fp32"), 2e9, "and the next is counted")
    tap.equal(fake.counts(left, 0), {}, "not the one that was left")
    done, found = fake.run("--audit", "--instructions")
    tap.check(done.code == 4 and "--audit and --instructions" in done.err, "one or the other", done)
    done, found = fake.run("--audit", f"{CASE}[cpu]")
    tap.equal(done.code, 0, "a run that skips all of it is no failure")


def main(program, plugin, cupti):
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        fake = Fake(program, plugin, cupti, folder)
        for check in (check_counts, check_budgets, check_findings, check_unknown, check_refused,
                      check_library, check_others):
            tap.run(check.__name__, check, tap, fake)
    tap.done()


main(*sys.argv[1:])
