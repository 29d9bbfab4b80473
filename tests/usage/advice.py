"""The analysis in words: each sentence has a planted cause that makes it and a counter-example that does not.

Real causes come from suites/advice.c, run here. Causes that a busy machine, or one without a GPU, does not
show reliably are documents made from real ones: fields are changed, in the history where the harness makes a
sentence of them, else in the document."""

import copy
import glob
import json
import math
import os
import re
import shutil
import sqlite3
import statistics
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
from program import run  # noqa: E402
from tap import Tap  # noqa: E402

MIB, GIB = 1 << 20, 1 << 30
RULES = os.path.join(HERE, "..", "..", "reports", "advice")


def kinds_of_sources():
    """As they stand in the tables of rules."""
    found = set()
    for path in glob.glob(os.path.join(RULES, "*", "*.c")):
        with open(path) as file:
            text = file.read()
        found |= set(re.findall(r'^\s*\{"([a-z-]+)",\s+(?:U,|YPI_URGENCY)', text, re.M))
        found |= {f"hardware-{k}" for k in re.findall(r'^\s*RULE\("([a-z-]+)",', text, re.M)}
        if "ALL(undecided, UNDECIDED)" in text:
            ends = re.findall(r'\{#of "(-[a-z-]+)"', text)
            found |= {of + end for of in ("undecided", "unsure") for end in ends}
    return found


class Advisor:
    def __init__(self, program, folder):
        self.program, self.folder, self.calls = program, folder, 0

    def run(self, documents, *words):
        self.calls += 1
        paths = []
        for i, document in enumerate(documents):
            paths.append(os.path.join(self.folder, f"document-{i}.json"))
            with open(paths[-1], "w") as file:
                json.dump(document, file)
        return subprocess.run([self.program, *words, *paths], capture_output=True, text=True, timeout=120)

    def __call__(self, documents, limit=0):
        done = self.run(documents, *(["--limit", str(limit)] if limit else []))
        return json.loads(done.stdout)


# -- documents ---------------------------------------------------------------------------------------


class Documents:
    """Made from a real one: quiet, of 20 samples of 2 ms that scatter by 0.1 %."""

    def __init__(self, real):
        self.real = real

    def of(self, case="plant.c::case", axes=None, outcome="passed", peak=None, memory=8 * GIB, device="",
           values=None, name="", **measurement):
        d = copy.deepcopy(self.real)
        d["result"].update(case=case, outcome=outcome, reason=None)
        d["case"].update(id=case, axes=axes or {}, device=device, name=name)
        d["run"]["facts"]["memory.total"] = str(memory)
        d["run"]["facts"]["gpu.memory"] = str(memory)
        d["values"] = [{"name": n, "unit": "", "value": v} for n, v in (values or {}).items()]
        d["memory"] = {"device" if device else "host": {"allocated_peak": peak}} if peak else {}
        m = d["measurements"][0]
        m.update(name="work", unit="", items=0, flops=0, bytes=0, bounds=[], phases=[], counters=[], bound="", batch=1,
                 share=None, share_low=None, share_high=None, threads=1, autocorrelation=0, stop="settled", warmup=3)
        m["noise"] = {"wall": 1.0, "own": 1.0, "others": 0, "minor_faults": 0, "processors": 2, "waits": 0}
        m.pop("noise_cause", None)
        samples = measurement.pop("samples", None) or [2e-3 * (1 + 1e-3 * math.sin(i)) for i in range(20)]
        timed(m, samples)
        m.update(measurement)
        return d

    def bound(self, ceiling, level, work, rate, share, median=2e-3, **more):
        bound = {"ceiling": ceiling, "level": level, "threads": 1, "probes": 3, "rate": rate, "low": 0.99 * rate,
                 "high": 1.01 * rate, "work": work, "footprint": -1, "stage": 0}
        return self.of(bounds=[bound], bound=ceiling, share=share,
                       **{"share_low": 0.98 * share, "share_high": 1.02 * share, "cpu": median, "cpu_low": 0.99 * median, "cpu_high": 1.01 * median, **more})

    def phases(self, cpu=2e-3, **seconds):
        return self.of(phases=[{"name": n.replace("_", " "), "seconds": s} for n, s in seconds.items()], cpu=cpu)


def timed(m, samples):
    ordered = sorted(samples)
    n = len(samples)
    m.update(samples=samples, count=n, median=statistics.median(samples), mean=statistics.fmean(samples),
             sd=statistics.stdev(samples) if n > 1 else 0, min=ordered[0], max=ordered[-1], low=ordered[n // 4],
             high=ordered[-1 - n // 4], coverage=0.99, effective=n, cpu_samples=None, cpu=statistics.median(samples))
    return m


def around(seconds, part=1e-3, count=20):
    return [seconds * (1 + part * math.sin(i)) for i in range(count)]


def noisy(document, **figures):
    document["measurements"][0]["noise"].update(figures)
    return document


def varied(**more):
    """Samples of two levels without order: nothing but their spread."""
    return {"samples": [2e-3 if i % 2 else 2.6e-3 for i in range(20)], **more}


# -- causes that the harness makes a sentence of ---------------------------------------------------


class Planted:
    """Documents of a real history whose figures of noise were changed."""

    def __init__(self, command, history, case, folder):
        self.command, self.history, self.case, self.folder = command, history, case, folder

    def with_noise(self, **figures):
        path = os.path.join(self.folder, "planted.db")
        shutil.copy(self.history, path)
        samples = varied()["samples"]
        noise = {"wall": 10, "own": 20, "others": 0, "stolen": 0, "throttled": 0, "minor_faults": 0, "major_faults": 0,
                 "waits": 0, "preemptions": 0, "migrations": 0, "frequency": 3e9, "frequency_least": 3e9, "hot": 0,
                 "processors": 2, **figures}
        db = sqlite3.connect(path)
        result = db.execute("SELECT id FROM result WHERE case_id = ?", [self.case]).fetchone()[0]
        db.execute("DELETE FROM noise WHERE result_id = ?", [result])
        for name, value in noise.items():
            db.execute("INSERT INTO noise VALUES (?, 0, ?, ?)", [result, name, value])
        m = timed({}, samples)
        db.execute("UPDATE measurement SET " + ", ".join(f"{n} = :{n}" for n in (
            "count", "median", "low", "high", "mean", "sd", "min", "max")) +
            ", threads = 2, stop = 'settled', autocorrelation = 0, effective = count, cpu = NULL WHERE result_id = :id",
            {**{k: m[k] for k in ("count", "median", "low", "high", "mean", "sd", "min", "max")}, "id": result})
        blob = struct.pack(f"={len(samples)}d", *samples)
        db.execute("UPDATE samples SET seconds = ?, cpu = NULL, shares = NULL WHERE result_id = ?", [blob, result])
        db.commit()
        db.close()
        return shown(self.command, path, self.case)


def shown(command, history, case):
    done = run(command, "show", case, "--json", "--samples", "--history", history)
    return json.loads(done.out)


def undecided(document, low=1.9e-3, high=2.1e-3, met="undecided"):
    document = copy.deepcopy(document)
    document["result"]["outcome"] = "noisy"
    document["budgets"] = [{"kind": "max latency", "name": document["measurements"][0]["name"], "allowed": 2e-3, "met": met,
                            "measured": 2e-3, "low": low, "high": high}]
    return document


def unsure(document, ratio=1.02, low=0.9, high=1.15, **more):
    document = copy.deepcopy(document)
    document["changes"] = [{"what": "time", "name": document["measurements"][0]["name"], "ratio": ratio, "low": low,
                            "high": high, **more}]
    return document


NOISE = {  # by the end of a kind: what the kernel counted
    "neighbour": {"others": 8}, "held-back": {"stolen": 3}, "clock": {"frequency_least": 2e9}, "migration": {"migrations": 900},
    "disk": {"major_faults": 500}}
ALSO = {"neighbour": {"others": 0.3, "preemptions": 900}, "held-back": {"throttled": 2}, "clock": {"hot": 3, "own": 5}}


# -- plants ----------------------------------------------------------------------------------------


def plants_of_noise(planted):
    """(kind, documents, limit, counter-examples)"""
    quiet = planted.with_noise()
    for end, figures in NOISE.items():
        for changed in [figures] + ([ALSO[end]] if end in ALSO else []):
            document = planted.with_noise(**changed)
            steady = copy.deepcopy(document)
            timed(steady["measurements"][0], around(2e-3))
            yield f"variation-{end}", [document], [[quiet], [steady]]
            yield f"undecided-{end}", [undecided(document)], [[undecided(quiet)], [undecided(document, met="met")]]
            yield f"unsure-{end}", [unsure(document)], [[unsure(quiet)], [unsure(document, low=1.01)],
                                                        [unsure(document, low=0.99, high=1.02)],
                                                        [unsure(document, worse=True)]]


def plants_of_samples(d):
    plain = d.of()
    faults = noisy(d.of(**varied()), minor_faults=90000)
    few = d.of(samples=[2e-3, 2.5e-3, 2e-3, 2.6e-3], coverage=0.875)
    drift = d.of(samples=[2e-3 + 5e-5 * i for i in range(20)], autocorrelation=0.9, effective=2)
    late = d.of(**varied(), stop="time")
    slow = [4e-3, 3.5e-3] + around(2e-3, count=18)
    begun = d.of(samples=slow, warmup=1)
    middle = d.of(samples=around(2e-3, count=8) + [4e-3, 3.5e-3] + around(2e-3, count=10))
    yield "variation-page-faults", [faults], [[plain], [noisy(d.of(**varied()), minor_faults=9000)]]
    yield "variation-few-samples", [few], [[plain], [d.of(samples=[2e-3, 2.001e-3, 2e-3])]]
    yield "variation-drift", [drift], [[plain], [d.of(**varied())]]
    yield "variation-unexplained", [d.of(**varied())], [[plain], [faults], [drift], [few],
                                                       [d.of(**varied(), noise_cause="a cause that a later version names")]]
    yield "variation-warm-up", [begun], [[plain], [middle]]
    yield "warm-up-short", [begun], [[plain], [middle], [d.of(samples=slow[:1] + slow[2:7])], [d.of(**varied())],
                                     [d.of(samples=[4e-3 if i % 5 == 0 else x for i, x in enumerate(around(2e-3))])],
                                     [d.of(samples=around(4e-3, count=12) + around(2e-3, count=8))],
                                     [d.of(samples=slow, axes={"warmup": 1})]]
    yield "undecided-page-faults", [undecided(faults)], [[undecided(plain)]]
    yield "undecided-few-samples", [undecided(few)], [[undecided(plain)]]
    yield "undecided-drift", [undecided(drift)], [[undecided(plain)]]
    yield "undecided-time", [undecided(late)], [[undecided(d.of(**varied()))]]
    yield "undecided-near", [undecided(plain)], [[undecided(d.of(**varied()))], [undecided(plain, met="not met")]]
    yield "undecided-unexplained", [undecided(d.of(**varied()))], [[undecided(plain)], [undecided(late)]]
    yield "unsure-page-faults", [unsure(faults)], [[unsure(plain)]]
    yield "unsure-few-samples", [unsure(few)], [[unsure(plain)]]
    yield "unsure-drift", [unsure(drift)], [[unsure(plain)]]
    yield "unsure-time", [unsure(late)], [[unsure(d.of(**varied()))]]
    yield "unsure-near", [unsure(plain)], [[unsure(d.of(**varied()))], [unsure(plain, better=True)]]
    yield "unsure-unexplained", [unsure(d.of(**varied()))], [[unsure(plain)], [unsure(d.of(**varied()), low=0.99, high=1.01)]]


def plants_of_bottlenecks(d):
    def hops(**more):
        return d.bound("read", "memory", 64 * 1e5, 1e10, 0.05, **{"cpu": 8e-3, "cpu_low": 8e-3, "cpu_high": 8e-3, "items": 1e5,
                                                                  "unit": "hops", "samples": around(8e-3), **more})
    plain = d.of()
    loads = d.phases(load=1.2e-3, forward=0.7e-3)
    works = d.phases(load=0.1e-3, forward=1.8e-3)
    waits = d.phases(wait_for_data=1.5e-3, forward=0.4e-3)
    memory = d.bound("copy", "memory", 4e7, 2.5e10, 0.8)
    chase = hops()
    slow = d.bound("fp32", "", 2e7, 9e10, 0.1)
    starts = d.bound("fp32", "", 2, 9e10, 1e-6, samples=around(1e-5), threads=2)
    idle = d.of(threads=2, cpu=2.1e-3)
    launching = {"gpu held": 1, "gpu launching": 1.6e-3}
    yield "bottleneck-data", [loads], [[works], [d.phases(load=0.4e-3, forward=0.1e-3)], [d.phases(load=1e-3, forward=1.0e-3, backward=0.2e-3)], [waits]]
    yield "bottleneck-synchronisation", [waits], [[works], [loads]]
    yield "bottleneck-synchronisation", [idle], [[d.of(threads=2, cpu=3.9e-3)], [plain], [d.of(threads=2, cpu=2.1e-3,
                                                                                  noise_cause="other processes used 9 %")]]
    yield "bottleneck-transfer", [d.phases(upload=1e-3, forward=0.9e-3)], [[works], [loads]]
    yield "bottleneck-launch", [d.phases(launch=1e-3, forward=0.9e-3)], [[works]]
    yield "bottleneck-launch", [noisy(d.of(device="cuda"), **launching)], [
        [noisy(d.of(device="cuda"), **{**launching, "gpu launching": 1e-5})], [noisy(d.of(device="cuda"), **launching, **{"gpu graph": 1})],
        [noisy(d.of(), **launching)]]
    yield "bottleneck-launch", [starts], [[d.bound("fp32", "", 2, 9e10, 1e-6, samples=around(1e-5))],
                                          [d.bound("fp32", "", 2, 9e10, 1e-6, threads=2, cpu=4e-3)]]
    yield "bottleneck-memory", [memory], [[slow], [d.bound("copy", "memory", 4e7, 2.5e10, 0.4)], [plain],
                                          [d.bound("fp32", "", 2e8, 9e10, 0.8)], [d.bound("copy", "memory", 4e7, 2.5e10, 1.5)]]
    yield "bottleneck-compute", [d.bound("fp32", "", 1.5e8, 9e10, 0.8)], [[memory], [slow], [plain]]
    yield "bottleneck-latency", [chase], [
        [memory], [hops(cpu=2e-3)],  # idle
        [hops(items=1.6e6)],  # 5 ns for each
        [hops(items=1e4)],  # lines of a page each
        [hops(flops=1e8)],
        [hops(share_high=0.3)], [hops(items=0)],
        [hops(counters=[{"counter": "instructions", "count": 3e9}, {"counter": "cycles", "count": 1e9}])]]
    yield "stages", [works], [[plain], [d.phases(forward=1.9e-3)]]
    yield "far-from-ceiling", [slow], [[d.bound("fp32", "", 1.5e8, 9e10, 0.8)], [starts], [chase], [plain],
                                       [d.bound("fp32", "", 2e7, 9e10, 0.1, cpu=1e-3)],
                                       [d.bound("fp32", "", 2e7, 9e10, 0.1, noise_cause="other processes used 9 %")]]
    for kind, document, wanted in (("memory-rate", memory, 3), ("compute", d.bound("fp32", "", 1.5e8, 9e10, 0.8), 3),
                                   ("data", loads, 3), ("latency", chase, 3)):
        yield f"hardware-{kind}", [document] * wanted, [[document] * 2, [document] * 3 + [waits] * 3, [plain] * 3]


def plants_of_devices(d):
    def gpu(used=0.3, peak=GIB, batch=None, phases=(), **noise):
        document = noisy(d.of(device="cuda", peak=peak, axes={"batch": batch} if batch else {}), **{"gpu utilisation": used,
                                                                                                    "gpu held": 1, **noise})
        document["measurements"][0]["phases"] = [{"name": n, "seconds": s} for n, s in phases]
        return document
    loads = (("load", 0.5e-3), ("forward", 1.4e-3))
    yield "device-idle-data", [gpu(phases=loads)], [[gpu(0.9, phases=loads)], [gpu(phases=(("load", 1e-5), ("forward", 1.9e-3)))], [gpu()]]
    yield "device-idle-batch", [gpu(batch=4)], [[gpu(0.9, batch=4)], [gpu(batch=64)], [gpu(batch=4, peak=7 * GIB)]]
    yield "device-idle-wait", [gpu(**{"gpu held": 0})], [[gpu()], [gpu(0.9, **{"gpu held": 0})]]
    yield "device-idle-launch", [gpu(**{"gpu launching": 1e-4})], [[gpu(0.9, **{"gpu launching": 1e-4})],
                                                                   [gpu(**{"gpu launching": 1e-4, "gpu graph": 1})]]
    yield "device-idle", [gpu()], [[gpu(0.9)], [gpu(batch=4)], [d.of()]]
    hot = {"gpu throttled": 0x20, "gpu samples set aside": 4, "gpu temperature": 90, "gpu clock": 1e9, "gpu clock most": 2e9}
    yield "device-slowed", [gpu(0.9, **hot)], [[gpu(0.9)], [gpu(0.9, **{**hot, "gpu throttled": 4})], [noisy(d.of(), **hot)]]
    shaken = gpu(0.9, **hot)
    timed(shaken["measurements"][0], varied()["samples"])
    yield "variation-device", [shaken], [[gpu(0.9, **hot)], [gpu(0.9)], [d.of(**varied())]]


def plants_of_memory(d):
    def out(**more):
        document = d.of(outcome="failed", **more)
        document["measurements"] = []
        document["failures"] = [{"cause": "out of memory", "message": "the system refused 1 B"}]
        return document
    other = d.of(outcome="failed")
    other["failures"] = [{"cause": "expectation", "message": "out of luck"}]
    yield "out-of-memory", [out(axes={"batch": 8})], [[other], [d.of()]]
    yield "memory-tight", [d.of(peak=7.5 * GIB)], [[d.of(peak=GIB)], [d.of()], [d.of(peak=9 * GIB)]]
    skipped = d.of(outcome="skipped")
    skipped["measurements"] = []
    skipped["result"]["reason"] = "OOM: 20480 MiB of 8192 MiB: weights 4"
    yield "hardware-more-memory", [skipped], [[out()], [d.of()], [d.of(values={"planned": 20 * GIB})]]

    def batches(peaks, **more):
        return [d.of(f"plant.c::b[batch={b}]", {"batch": b}, peak=p, items=b, **more) for b, p in peaks]
    line = [(1, 110 * MIB), (2, 120 * MIB), (4, 140 * MIB)]
    yield "memory-headroom", batches(line), [batches(line[:2]), batches([(b, 100 * MIB) for b in (1, 2, 4)]),
                                             batches([(1, 100 * MIB), (2, 200 * MIB), (4, 210 * MIB)]),
                                             batches([(1, None), (2, None), (4, None)]),
                                             batches([(b, b * b * 10 * MIB) for b in range(1, 9)])]

    def scales(axis=True, last="passed", **peaks):
        found = []
        for n, (name, peak) in enumerate(peaks.items()):
            at = n == len(peaks) - 1
            found.append(d.of(f"plant.c::s[{name}]", {"size": name} if axis else {}, peak=peak, name="" if axis else name,
                              outcome=last if at else "passed", values={"planned": peak} if at and last != "passed" else {}))
        return found
    three = {"small": GIB // 4, "medium": GIB // 2, "large": GIB + GIB // 8}
    big = {"small": GIB, "medium": 3 * GIB, "large": 20 * GIB}
    yield "scales-fit", scales(small=GIB, medium=2 * GIB), [scales(small=GIB), scales(one=GIB, two=2 * GIB), scales(small=None, medium=None)]
    yield "scales-next-planned", scales(last="skipped", **big), [scales(small=GIB, medium=2 * GIB), scales(**three),
                                                                       scales(last="skipped", small=GIB, medium=2 * GIB)]
    yield "scales-next-planned", scales(axis=False, **big), [scales(axis=False, **three)]
    yield "scales-next-projected", scales(**three), [scales(small=GIB, medium=2 * GIB), scales(**big),
                                                     scales(small=GIB, medium=GIB, large=GIB)]


def plants_of_rates(d):
    def along(axis, times, items=None, **more):
        return [d.of(f"plant.c::r[{axis}={x}]", {axis: x, **more.get("axes", {})}, samples=around(s, more.get("part", 1e-3)),
                     items=items or x, unit=more.get("unit", "samples"), peak=more.get("peak", lambda x: 4 * MIB)(x),
                     name=more.get("name", "")) for x, s in times.items()]
    gain = {1: 2e-3, 2: 2.4e-3, 4: 3e-3, 8: 6e-3}
    flat = {1: 2e-3, 2: 4e-3, 4: 8e-3}
    yield "batching-gain", along("batch", gain), [along("batch", flat), along("batch", gain, part=3), along("batch", {1: 2e-3})]
    yield "batching-none", along("batch", flat), [along("batch", gain), along("batch", flat, part=0.5)]
    yield "threads-gain", along("threads", {1: 8e-3, 2: 4.1e-3, 4: 2.2e-3}, items=64), [along("threads", {1: 8e-3, 2: 7.99e-3}, items=64)]
    yield "threads-none", along("threads", {1: 8e-3, 2: 7.9e-3}, items=64), [along("threads", {1: 8e-3, 2: 4e-3}, items=64)]
    tiles = {256: 30e-3, 384: 46e-3}

    def heavy(x):
        return x ** 3
    yield "tiles-pixels", along("tile", tiles, items=1), [along("tile", tiles, items=1, unit="tokens"), along("tile", tiles, items=1, part=0.9),
                                                          along("tile", {256: 30e-3}, items=1)]
    yield "tiles-memory", along("tile", tiles, items=1, peak=heavy), [
        along("tile", tiles, items=1, peak=lambda x: None), along("tile", {256: 30e-3, 384: 30e-3 * 2.25}, items=1)]
    training = {"axes": {"mode": "train"}}
    yield "recommended-latency", along("batch", gain), [along("batch", gain, **training), along("batch", gain, part=0.9),
                                                        along("precision", gain)]
    yield "recommended-throughput", along("batch", gain), [along("batch", gain, **training), along("batch", gain, part=0.9)]
    yield "recommended-training", along("batch", gain, **training), [along("batch", gain), along("batch", gain, part=0.9, **training),
                                                                      along("batch", gain, **training, peak=lambda x: 9 * GIB)]
    yield "recommended-nothing-fits", along("batch", gain, **training, peak=lambda x: 9 * GIB), [along("batch", gain, **training)]
    slow = [4e-3, 3.6e-3] + around(2e-3, count=18)

    def study(slow_at, part=1e-3):
        return [d.of(f"plant.c::w[warmup={w}]", {"warmup": w}, samples=slow if w < slow_at else around(2e-3, part)) for w in (0, 1, 2, 5)]
    yield "warm-up-needed", study(2), [study(0), study(9), study(2)[:1], study(2, part=0.8), [*study(0)[:1], *study(9)[1:2], *study(0)[2:]]]
    yield "warm-up-none", study(0), [study(2), study(9), study(0)[:1], study(0, part=0.8)]
    yield "warm-up-not-enough", [d.of(f"plant.c::w[warmup={w}]", {"warmup": w}, samples=slow) for w in (0, 1)], [study(0), study(2)]
    epoch = {"items of an epoch": 8e5}
    yield "epoch", [d.of(items=8, unit="graphs", values=epoch)], [[d.of(values=epoch)], [d.of(items=8)], [d.of(items=8, values={"epochs": 5})]]


# -- checks ----------------------------------------------------------------------------------------


def said(advice, kind):
    return [a for a in advice if a["kind"] == kind]


def whole(entry):
    return (all(isinstance(entry[k], str) and entry[k] for k in ("kind", "text")) and entry["evidence"] and
            not re.search(r"[{}]|\bnan\b|\binf\b|n/a", entry["text"] + "".join(entry["evidence"]) + "".join(entry["try"])))


def check_plants(tap, advisor, plants, wanted):
    seen = set()
    for kind, documents, others in plants:
        advice = advisor(documents)
        spoken = said(advice, kind)
        tap.check(len(spoken) >= 1 and all(whole(a) for a in advice), f"{kind}: said where its cause is planted",
                  json.dumps(advice, indent=1))
        silent = [advisor(other) for other in others]
        wrong = [a for a in silent if said(a, kind)]
        tap.check(others and not wrong, f"{kind}: not said of {len(others)} counter-examples", json.dumps(wrong, indent=1))
        seen.add(kind)
    tap.equal(sorted(wanted - seen), [], "every rule has a planted cause")
    tap.equal(sorted(seen - wanted), [], "every planted cause has a rule")


def check_text(tap, advisor, d):
    """Sentences and figures to the letter."""
    def entry(kind, documents, limit=0):
        found = said(advisor(documents, limit), kind)
        return (found[0]["text"], found[0]["evidence"], found[0]["try"]) if found else None
    text, evidence, tries = entry("bottleneck-data", [d.phases(load=1.2e-3, forward=0.7e-3)])
    tap.equal(text, "work is data-bound: 60 % of an iteration goes into getting its data.", "text of bottleneck-data")
    tap.equal(evidence, ["load 1.2 ms, of 2 ms an iteration (median 2 ms [1.999 ms, 2.001 ms])",
                         "without it an iteration would take 800 us, 2.5 times less"], "its evidence")
    batches = [d.of(f"plant.c::b[mode=train-batch={b}]", {"mode": "train", "batch": b}, samples=around(2e-3 + b * 1e-3, 1e-4), items=b,
                    unit="samples", peak=(100 + 10 * b) * MIB) for b in (1, 2, 4, 8)]
    text, evidence, _ = entry("recommended-training", batches, 150 * MIB)
    tap.equal(text, "For training, work (mode train), within 150.0 MiB: batch 4, and accumulation of 2 for the gradient of a batch of 8, "
                    "which does not fit, 666.7 samples/s [666.6 samples/s, 666.7 samples/s].", "training within a limit, with accumulation")
    text, evidence, _ = entry("memory-headroom", batches, GIB)
    tap.equal(text, "The largest value of batch that fits into 1.0 GiB (mode train) is 92, by the line through what was measured.", "the largest batch")
    tap.check("10.0 MiB [10.0 MiB, 10.0 MiB] for each more of batch" in evidence, "with its slope", evidence)
    for b in batches:
        b["values"] = [{"name": "planned", "unit": "", "value": (100 + 11 * b["case"]["axes"]["batch"]) * MIB}]
    _, evidence, _ = entry("memory-headroom", batches, GIB)
    tap.check("by the plan the largest is 84" in evidence, "beside the plan", evidence)
    text, _, _ = entry("batching-gain", batches)
    tap.equal(text, "work (mode train) does 2.4 [2.4, 2.4] times as much a second with batch 8 as with batch 1; it still gains there, at the "
                    "largest that was measured.", "gain of batching")
    ladder = d.of(outcome="failed", axes={"mode": "train", "batch": 8, "tile": 384, "precision": "fp32"})
    ladder["failures"] = [{"cause": "killed for memory", "message": "killed"}]
    _, _, tries = entry("out-of-memory", [ladder])
    tap.equal(tries, ["a smaller batch: batch below 8", "accumulation for the same gradient: 8 parts of batch 1",
                      "smaller tiles: tile below 384", "activations computed again in the backward pass instead of kept",
                      "a narrower precision than fp32", "a machine, or an accelerator, with more of it"], "the ladder, in order")
    ladder["case"]["axes"] = {"mode": "inference", "batch": 8, "precision": "bf16"}
    _, _, tries = entry("out-of-memory", [ladder])
    tap.equal(tries, ["a smaller batch: batch below 8", "a machine, or an accelerator, with more of it"], "no gradient in inference")
    ladder["case"]["axes"] = {"mode": "inference", "batch": 1, "precision": "bf16"}
    _, _, tries = entry("out-of-memory", [ladder])
    tap.equal(tries, ["a machine, or an accelerator, with more of it"], "only rungs that the case has")
    flat = [d.of(f"plant.c::f[batch={b}]", {"batch": b}, samples=around(t, 0.01), items=b) for b, t in ((1, 2e-3), (2, 2e-3), (4, 3.98e-3))]
    text, _, _ = entry("batching-gain", flat)
    tap.check("with batch 2 as with batch 1; beyond it there is no gain up to 4" in text, "gain ends where intervals end", text)
    scale = [d.of("plant.c::s[small]", {"size": "small"}, peak=GIB), d.of("plant.c::s[medium]", {"size": "medium"}, outcome="skipped",
                                                                           values={"planned": 2 * GIB})]
    text, evidence, _ = entry("scales-fit", scale)
    tap.equal((text, evidence), ("Of the scales these fit into 8.0 GiB: small.", ["small: peak 1.0 GiB", "medium: did not run, planned 2.0 GiB"]),
              "a scale that did not run fits nowhere")
    scale[1]["values"][0]["value"] = 20 * GIB
    tap.equal([a["kind"] for a in advisor(scale)], ["scales-next-planned"], "one sentence of a group")
    text, _, _ = entry("epoch", [d.of(items=8, unit="graphs", values={"items of an epoch": 8e5})])
    tap.equal(text, "An epoch of 800000 graphs takes 3.33 min [3.33 min, 3.34 min] at the rate of work.", "an epoch")


def check_disturbed(tap, advisor, d):
    """Cases of which neighbours slowed some are not compared with the others; those that were quiet are."""
    def batches(*disturbed, part=0.08):
        found = [d.of(f"plant.c::b[batch={b}]", {"batch": b}, samples=around(1e-3 + b * 1e-4, part), items=b, peak=b * MIB)
                 for b in (1, 4, 16)]
        for i in disturbed:
            found[i]["measurements"][0]["noise_cause"] = "other processes used 91 % of the processors"
        return [len(said(advisor(found), k)) for k in ("batching-gain", "recommended-throughput", "memory-headroom")]
    tap.equal((batches(), batches(0), batches(1, 2), batches(1, 2, part=0.01)), ([1, 1, 1], [1, 1, 1], [0, 0, 1], [1, 1, 1]),
              "cases that others disturbed are left out of comparisons by time")
    quiet = advisor([d.of(f"plant.c::b[batch={b}]", {"batch": b}, samples=around(1e-3 + b * 1e-4, 0.08), items=b) for b in (4, 16)])
    found = [d.of(f"plant.c::b[batch={b}]", {"batch": b}, samples=around(1e-3 + b * 1e-4, 0.08), items=b) for b in (1, 4, 16)]
    found[0]["measurements"][0]["noise_cause"] = "other processes used 91 % of the processors"
    tap.equal([a for a in advisor(found) if a["about"] == "plant.c::b"], [a for a in quiet if a["about"] == "plant.c::b"],
              "as if they were not there")


def check_order(tap, advisor, d):
    out = d.of("z.c::last", outcome="failed")
    out["failures"] = [{"cause": "out of memory", "message": "refused"}]
    advice = advisor([d.phases(load=1.2e-3, forward=0.7e-3), d.of("b.c::b", **varied()), d.of("a.c::a", **varied()), out])
    tap.equal([(a["kind"], a["about"]) for a in advice],
              [("out-of-memory", "z.c::last"), ("bottleneck-data", "plant.c::case"), ("variation-unexplained", "a.c::a"),
               ("variation-unexplained", "b.c::b"), ("stages", "plant.c::case")], "the most urgent first, then by what it is about")


def check_hostile(tap, advisor, d, folder):
    """What a history may hold at worst says nothing, or what can be printed."""
    odd = "</script>\"'\n\x1b[1m{name}]" + "x" * 4096
    values = [None, 0, -1, "inf", "-inf", 1e308, 5e-324, "text", [], {}]
    plain = d.of(odd, {"batch": 4, odd: odd}, peak=GIB, items=4, phases=[{"name": odd, "seconds": 1e-3}])
    wrong = 0
    for field in [k for k in plain["measurements"][0]]:
        bad = [copy.deepcopy(plain) for _ in values]
        for document, value in zip(bad, values):
            document["measurements"][0][field] = value
        done = advisor.run([*bad, plain])
        wrong += done.returncode != 0 or not all(whole_or_odd(a) for a in json.loads(done.stdout))
    for member in plain:
        done = advisor.run([*({**plain, member: value} for value in values), plain])
        wrong += done.returncode != 0
    done = advisor.run([{}, {"measurements": [{}]}, {"measurements": [{"samples": [1, None, "inf"]}]}])
    tap.equal((wrong, done.returncode, json.loads(done.stdout)), (0, 0, []), "odd fields end nothing")
    done = advisor.run([plain, d.of(odd + "2", {"batch": 8, odd: odd}, items=8, samples=around(2.1e-3), peak=2 * GIB)], "--ini",
                       os.path.join(folder, "odd.ini"))
    entries = json.loads(done.stdout)
    tap.check(any(odd in a["text"] or odd in a["about"] or odd in "".join(a["evidence"]) for a in entries), "names stay as they are", done)
    done = advisor.run([plain], "--text")
    tap.check(done.returncode == 0 and "\x1b" not in done.stdout, "a terminal is left alone", done)


def whole_or_odd(entry):
    return entry["kind"] and entry["text"] and isinstance(entry["evidence"], list)


def check_ini(tap, advisor, d, folder):
    path = os.path.join(folder, "advice.ini")
    axes = [(t, b, p) for t in (256, 384) for b in (1, 4) for p in ("fp32", "bf16")]
    tiles = [d.of(f"plant.c::mock[tile={t}-batch={b}-precision={p}]", {"tile": t, "batch": b, "precision": p}, unit="samples", items=b,
                  samples=around((1 + 0.7 * b) * t * t * 1e-7 * (1 if p == "fp32" else 0.8), 1e-4), peak=b * t * t * 100)
             for t, b, p in axes]
    done = advisor.run(tiles, "--ini", path)
    with open(path) as file:
        text = file.read()
    settings = re.sub(r"^;.*\n|^\n", "", text, flags=re.M)
    tap.equal((done.returncode, settings),
              (0, "[latency plant.c::mock[tile=256-batch=1-precision=bf16]]\ntest = plant.c::mock\ntile = 256\nbatch = 1\n"
                  "precision = bf16\ndevice = cpu\n[throughput plant.c::mock[tile=256-batch=4-precision=bf16]]\ntest = plant.c::mock\n"
                  "tile = 256\nbatch = 4\nprecision = bf16\ndevice = cpu\n"), "the configurations as an ini file")
    tap.check("; For the least latency of work" in text and text.count("; beside ") == 14, "with their evidence as comments", text)
    done = advisor.run(tiles, "--text", "--ini", "-")
    tap.check(text in done.stdout, "the same on the standard output", done)
    done = advisor.run([d.of()], "--ini", path)
    with open(path) as file:
        tap.check(done.returncode == 2 and "not written" in done.stderr and file.read() == text, "nothing to recommend: said, the file stays", done)
    done = advisor.run(tiles, "--ini", os.path.join(folder, "nowhere", "a.ini"))
    tap.check(done.returncode == 2 and "nowhere" in done.stderr, "no such folder: said", done)
    with open(os.path.join(folder, "odd.ini")) as file:
        odd = file.read()
    tap.check(all(re.match(r"^(;.*|\[.*\]|[a-z]+ = .*|)$", line) for line in odd.split("\n")), "odd names stay in their line", odd)


REAL = [  # case, kind that it is known for, case that does not have it
    ("pipeline[loader=slow]", "bottleneck-data", "pipeline[loader=fast]"), ("chase", "bottleneck-latency", "product"),
    ("stream", "bottleneck-memory", "chase"), ("product", "bottleneck-compute", "chase"), ("starts", "bottleneck-launch", "product"),
    ("threads[shared=unevenly]", "bottleneck-synchronisation", "threads[shared=evenly]"), ("first[slow=2]", "warm-up-short", "first[slow=0]"),
    ("hungry[batch=8]", "out-of-memory", "chase")]
SURE = {"bottleneck-data", "out-of-memory"}  # on a busy machine, too


def check_real(tap, advisor, program, command, folder, sanitized):
    """Three tries: neighbours hide causes, and then no other may be found in their place."""
    left = list(REAL)
    for attempt in range(3):
        history = os.path.join(folder, f"real-{attempt}.db")
        words = sorted({f"advice.c::{c}" for pair in left for c in (pair[0], pair[2])})
        run(program, "--history", history, *words, cwd=folder)
        for case, kind, other in list(left):
            document, beside = (shown(command, history, f"advice.c::{c}") for c in (case, other))
            found = said(advisor([document]), kind)
            if found and not said(advisor([beside]), kind):
                tap.check(all(whole(a) for a in found), f"{kind}: said of a real {case}, not of {other}", found)
                left.remove((case, kind, other))
            elif kind in SURE and not sanitized:
                tap.check(False, f"{kind}: said of a real {case}, not of {other}", json.dumps([document, beside])[:4000])
                left.remove((case, kind, other))
        if not left:
            return
    for case, kind, other in left:
        notes = [m.get("noise_cause") for c in (case, other) for m in shown(command, history, f"advice.c::{c}")["measurements"]]
        skipped = shown(command, history, f"advice.c::{case}")["result"]["outcome"] == "skipped"
        if any(notes) or skipped or sanitized:
            tap.skip(f"{kind} of a real {case}", f"disturbed: {notes}" if any(notes) else "not on this machine")
        else:
            tap.check(False, f"{kind}: said of a real {case}, not of {other}", notes)


def main():
    program, command, dump = map(os.path.abspath, sys.argv[1:4])
    sanitized = "sanitized" in sys.argv
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="yieldpoint-advice-") as folder:
        history = os.path.join(folder, "advice.db")
        run(program, "--history", history, "advice.c::first", cwd=folder)
        advisor = Advisor(dump, folder)
        d = Documents(shown(command, history, "advice.c::first[slow=0]"))
        planted = Planted(command, history, "advice.c::first[slow=0]", folder)
        plants = [*plants_of_noise(planted), *plants_of_samples(d), *plants_of_bottlenecks(d), *plants_of_devices(d),
                  *plants_of_memory(d), *plants_of_rates(d)]
        check_plants(tap, advisor, plants, kinds_of_sources())
        check_text(tap, advisor, d)
        check_disturbed(tap, advisor, d)
        check_order(tap, advisor, d)
        check_hostile(tap, advisor, d, folder)
        check_ini(tap, advisor, d, folder)
        check_real(tap, advisor, program, command, folder, sanitized)
    tap.done()


if __name__ == "__main__":
    main()
