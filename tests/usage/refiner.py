"""`yieldpoint refiner`: sweeps of small tiles, their file, memory and interruption; passes over given images, which
are held to what PyTorch made (models/refiner/reference/make.py); what is refused."""

import csv
import datetime
import fcntl
import json
import math
import os
import pty
import re
import resource
import signal
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from process import Started, gone, wait_until  # noqa: E402
from program import ENVIRONMENT, LOCK, run  # noqa: E402
from tap import Tap  # noqa: E402
from tensors import tensors  # noqa: E402

NOTHING, FILE, USAGE = 1, 3, 4
REFERENCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "suites", "stress", "refiner")
COLUMNS = ("timestamp,mode,tile_size,batch_size,device,model_params,model_size_mb,avg_time_ms,std_time_ms,"
           "throughput_samples_per_sec,memory_allocated_mb,memory_reserved_mb,memory_peak_mb,forward_time_ms,"
           "backward_time_ms,total_time_ms,error")
MEASURED = COLUMNS.split(",")[7:13]
PARTS = COLUMNS.split(",")[13:16]
SMALL = ["--width", "8", "--warmup", "1", "--iterations", "3"]
# One thread each, which needs no other processor; several wait asleep, for tests run beside each other.
ALONE = {"OMP_NUM_THREADS": "1"}
ASLEEP = {"OMP_WAIT_POLICY": "passive"}


class Place:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.file = os.path.join(folder, "sweep.csv")

    def sweep(self, *words, env=None, **more):
        at = int(words[:1] == ("plan",))
        return run(self.program, "refiner", *words[:at], "--device", "cpu", *words[at:], cwd=self.folder, env=env or ALONE,
                   **more)

    def started(self, *words):
        return Started(self.program, "refiner", "--device", "cpu", *words, cwd=self.folder, env=ALONE)

    def text(self):
        with open(self.file, newline="") as file:
            return file.read()

    def write(self, text):
        with open(self.file, "w", newline="") as file:
            file.write(text)

    def rows(self):
        with open(self.file, newline="") as file:
            return list(csv.DictReader(file))


def parameters(width):
    """As PyTorch counts them: weights and biases of convolutions, gains and shifts of norms."""
    m, layers = width, []
    layers.append((4, m, 7, True))
    for i in range(3):
        layers += [(m << i, m << i + 1, 3, True), (m << i + 1, m << i + 1, 1, True), (m << i + 1, m << i + 1, 3, True)]
    layers += [(8 * m, 4 * m, 3, True), (4 * m, 2 * m, 3, True), (2 * m, m, 3, True)]
    layers += [(m, m // 2, 4, True), (m // 2, m // 4, 4, True), (m // 4, 4, 1, False)]
    return sum(i * o * k * k + o + 2 * o * norm for i, o, k, norm in layers)


# -- rows --


def check_rows(tap, place):
    begun = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0)
    done = place.sweep(*SMALL, "--tile-sizes", "16,32", "--batch-sizes", "1,2", "--output", place.file)
    tap.check(done.code == 0, "inference: exit 0", done)
    done = place.sweep(*SMALL, "--tile_sizes", "16", "32", "--batch_sizes", "1", "2", "--mode", "train", "--output",
                       place.file)
    tap.check(done.code == 0, "train, with words as argparse takes them: exit 0", done)
    rows = place.rows()
    tap.equal(place.text().split("\n")[0], COLUMNS, "the columns")
    tap.equal([(r["mode"], r["tile_size"], r["batch_size"]) for r in rows],
              [(mode, tile, batch) for mode in ("inference", "train") for tile in ("16", "32") for batch in ("1", "2")],
              "a row for each configuration, added to those before")
    tap.equal({(r["device"], r["model_params"], r["error"]) for r in rows}, {("cpu", str(parameters(8)), "")},
              "device, parameters, no error")
    for r in rows:
        at = datetime.datetime.strptime(r["timestamp"], "%Y-%m-%dT%H:%M:%S%z")
        figure = {name: float(r[name]) for name in MEASURED}
        tap.check(begun <= at <= datetime.datetime.now(datetime.timezone.utc), "a time of UTC", r)
        tap.check(abs(figure["throughput_samples_per_sec"] * figure["avg_time_ms"] / 1e3 / int(r["batch_size"]) - 1)
                  < 1e-5 and figure["std_time_ms"] >= 0, "throughput is the batch by the mean time", r)
        tap.check(abs(float(r["model_size_mb"]) / (parameters(8) * 4 / 2**20) - 1) < 1e-5, "4 bytes a parameter", r)
        tap.check(float(r["model_size_mb"]) < figure["memory_allocated_mb"] <= figure["memory_peak_mb"]
                  and figure["memory_allocated_mb"] <= figure["memory_reserved_mb"], "memory holds the parameters", r)
        if r["mode"] == "train":
            forward, backward, total = (float(r[name]) for name in PARTS)
            tap.check(0 < forward and 0 < backward and forward + backward < total * (1 + 1e-5) and
                      total == figure["avg_time_ms"], "forward and backward are parts of a step", r)
        else:
            tap.equal([r[name] for name in PARTS], ["", "", ""], "inference has no parts")
    memory = {(r["mode"], r["tile_size"], r["batch_size"]): float(r["memory_peak_mb"]) for r in rows}
    tap.check(all(memory["train", *size] > memory["inference", *size] for size in (("16", "1"), ("32", "2"))) and
              memory["train", "16", "1"] < memory["train", "32", "1"] < memory["train", "32", "2"],
              "training takes more memory, as do larger tiles and batches", memory)


def check_defaults(tap, place):
    done = place.sweep("--help")
    tap.check(done.code == 0 and all(name in done.out for name in ("--tile-sizes", "256,384", "--one-process")),
              "--help", done)
    done = place.sweep("--width", "4", "--tile-sizes", "16", "--batch-sizes", "1", env={
        **ALONE, "YIELDPOINT_PLUGINS": place.folder})
    tap.check(done.code == 0 and f"mock, inference, fp32 on cpu: {parameters(4)} parameters" in done.out, "the table",
              done)
    tap.equal(os.listdir(place.folder), [], "without --output there is no file")
    tap.equal(parameters(64), 6600532, "the network of the benchmark")


def check_table(tap, place):
    done = place.sweep(*SMALL, "--tile-sizes", "16,32", "--batch-sizes", "2,1,4", "--output", place.file)
    lines = done.out.splitlines()
    tap.check(re.fullmatch(r"configuration +time +memory +samples/s +pixels/s +pixels/s/MiB +by batch", lines[1]),
              "the table's titles", done)
    rates = {(r["tile_size"], r["batch_size"]): float(r["throughput_samples_per_sec"]) for r in place.rows()}
    memory = {(r["tile_size"], r["batch_size"]): float(r["memory_peak_mb"]) for r in place.rows()}
    found = {}
    for line in lines[2:]:
        got = re.fullmatch(r"(\d+)x\1 \(B=(\d+)\) +[\d.]+ [mu]?s +[\d.]+ [KM]iB +([\d.]+) +[\d.]+ [kM]? ?px/s +([\d.]+) +"
                           r"(-|[-+]\d+ %)", line)
        if tap.check(got, "a line of the table", line):
            found[got[1], got[2]] = got.groups()[2:]
    for (tile, batch), (rate, each, gain) in found.items():
        exact = rates[tile, batch]
        tap.check(abs(float(rate) / exact - 1) < 1e-3, "samples a second as in the file", (rate, exact))
        tap.check(abs(float(each) / (exact * int(tile)**2 / memory[tile, batch]) - 1) < 1e-3, "pixels by memory", each)
        wanted = 100 * (exact / rates[tile, "1"] - 1)
        tap.check(gain == "-" if batch == "1" else abs(float(gain[:-2]) - wanted) < 0.51, "gain over the least batch",
                  (gain, wanted))
    tap.equal(sorted(found), sorted(rates), "all configurations are in the table")
    said = re.findall(r"^refiner: (\d) of 6: tile (\d+), batch (\d): [\d.]+ [mu]?s(; [\d.]+ [mu]?s left)?$", done.err, re.M)
    tap.equal([s[:3] for s in said], [(str(i + 1), t, b) for i, (t, b) in enumerate(
        (t, b) for t in ("16", "32") for b in ("2", "1", "4"))], "progress, a line a configuration")
    tap.equal([s[3] != "" for s in said], [True] * 5 + [False], "with the time left")
    done = place.sweep(*SMALL, "--tile-sizes", "16", "--batch-sizes", "1", "--quiet")
    tap.equal((done.code, done.err), (0, ""), "--quiet")


def check_terminal(tap, place):
    ours, theirs = pty.openpty()
    done = subprocess.run([place.program, "refiner", *SMALL, "--device=cpu", "--tile-sizes=16", "--batch-sizes=1,2"],
                          stdout=subprocess.PIPE, stderr=theirs, stdin=subprocess.DEVNULL, cwd=place.folder,
                          env={**ENVIRONMENT, **ALONE}, timeout=60)
    os.close(theirs)
    said = os.read(ours, 65536).decode()
    os.close(ours)
    tap.check(done.returncode == 0 and "\r1 of 2: tile 16, batch 1, iteration 0 of 4\033[K" in said and "\n" not in said
              and re.search(r"\r2 of 2: tile 16, batch 2, iteration \d of 4; [\d.]+ [mu]?s left\033\[K", said)
              and said.endswith("\r\033[K"), "one line that is written again", repr(said))


# -- the file --


def check_file(tap, place):
    words = [*SMALL, "--tile-sizes", "16", "--batch-sizes", "1", "--quiet", "--output", place.file]
    old = "2026-01-01T00:00:00,inference,256,1,cuda,6600532,25.2,29.7,1,33.6,0,0,0,,,,"
    for before, end in ((COLUMNS + "\n" + old, "\n"), (COLUMNS + "\r\n" + old + "\r\n", "\r\n"), (COLUMNS, "\n"),
                        ("\ufeff" + COLUMNS + "\n", "\n"), ("", "\n")):
        place.write(before)
        done = place.sweep(*words)
        text = place.text()
        kept = text.startswith(before or COLUMNS + "\n")
        tap.check(done.code == 0 and kept and text.endswith(end) and
                  len(text.strip().split(end)) == 2 + (old in before), f"added to {before[-20:]!r}", (done, text))
    for before, why in ((COLUMNS.replace("tile_size", "tile") + "\n" + old, "column 3 is 'tile': must be 'tile_size'"),
                        (COLUMNS + ",more\n", "column 18 is 'more': must be none"),
                        (COLUMNS[:-6] + "\n", "column 17 is '': must be 'error'"), ("\n", "column 1 is ''"),
                        ("x" * 10000, "column 1 is 'xxx")):
        place.write(before)
        done = place.sweep(*words)
        tap.check(done.code == FILE and why in done.err and place.text() == before and done.out == "",
                  f"refused, and left as it was: {why}", done)


def check_unwritable(tap, place):
    words = [*SMALL, "--tile-sizes", "16", "--batch-sizes", "1,2,3", "--quiet", "--output"]
    for path, why in ((place.folder, "Is a directory"), ("/dev/full", "No space left on device"),
                      ("/proc/none/x.csv", "/proc/none cannot be made")):
        done = place.sweep(*words, path)
        tap.check(done.code == FILE and why in done.err and done.out == "", f"cannot be written: {why}", done)
    most = len(COLUMNS) + 1 + 200
    place.write("")
    done = subprocess.run([place.program, "refiner", *words, place.file], capture_output=True, text=True,
                          env={**ENVIRONMENT, **ALONE}, stdin=subprocess.DEVNULL, timeout=60,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)))
    whole = len(place.rows())
    tap.check(done.returncode == FILE and "File too large" in done.stderr and 0 < whole < 3 and
              place.text().endswith("\n"), "a disk that becomes full: whole rows, and an error", (done, place.text()))
    tap.check(len(re.findall(r"\(B=\d\)", done.stdout)) == whole, "and a table of these", done)
    deep = os.path.join(place.folder, "logs", "new", "sweep.csv")
    done = place.sweep(*words, deep)
    tap.check(done.code == 0 and os.path.exists(deep), "directories are made", done)


def check_together(tap, place):
    """Sweeps wait for each other, and add to one file."""
    words = [*SMALL, "--tile-sizes", "16,32", "--batch-sizes", "1,2", "--quiet", "--output", place.file]
    for _ in range(3):
        if os.path.exists(place.file):
            os.unlink(place.file)
        ends = [one.wait() for one in [place.started(*words) for _ in range(4)]]
        tap.check(all(e.code == 0 for e in ends) and place.text().count(COLUMNS) == 1 and len(place.rows()) == 16,
                  "four sweeps at once add to one file", (ends, place.text()))


# -- memory --


def check_memory(tap, place, sanitized):
    done = place.sweep(*SMALL, "--mode", "train", "--tile-sizes", "16,128", "--batch-sizes", "1", "--output", place.file)
    small, large = (float(r["memory_peak_mb"]) for r in place.rows())
    limit = str(int((small + large) / 2 * 2**20))
    for more in ([], ["--one-process"]):
        os.unlink(place.file)
        done = place.sweep(*SMALL, "--mode", "train", "--tile-sizes", "16,128,32", "--batch-sizes", "1",
                           "--memory-limit", limit, "--output", place.file, *more)
        rows = place.rows()
        code = NOTHING if sanitized and more and done.code == NOTHING else 0  # a sanitizer keeps freed memory
        tap.equal((done.code, [(r["tile_size"], r["error"]) for r in rows]), (code, [("16", ""), ("128", "OOM"), ("32", "")]),
                  f"out of memory is a row, and the sweep goes on {more}")
        tap.equal({rows[1][name] for name in MEASURED + PARTS}, {""}, "which has no figures")
        tap.check(rows[1]["model_params"] == str(parameters(8)) and rows[1]["model_size_mb"] == rows[0]["model_size_mb"],
                  "but the model's", rows[1])
        tap.check(re.search(r"^128x128 \(B=1\) +OOM$", done.out, re.M) and "batch 1: OOM" in done.err, "as it is told", done)


def check_steady(tap, place, sanitized):
    """All in one process: its memory comes back to what it was after the first configuration."""
    for mode in ("inference", "train"):
        done = place.sweep("--width", "16", "--warmup", "1", "--iterations", "2", "--mode", mode, "--tile-sizes", "16,32,64",
                           "--batch-sizes", "1,2,3,4", "--one-process", env=ASLEEP)
        told = re.search(r"^the process held ([\d.]+) MiB after the first configuration, and at most ([\d.]+) (B|KiB|MiB) "
                         r"more after another one$", done.out, re.M)
        held = re.findall(r"^\d+x.* ([\d.]+) MiB$", done.out, re.M)
        tap.check(told and len(held) == 12 and told[1] == held[0], f"{mode}: memory after each of 12", done)
        if sanitized:
            tap.skip(f"{mode}: steady", "a sanitizer keeps freed memory")
            continue
        tap.check(done.code == 0 and told and float(told[2]) * {"B": 2**-20, "KiB": 2**-10, "MiB": 1}[told[3]] <= 1 and
                  max(map(float, held)) - float(held[0]) <= 1.1, f"{mode}: steady", done)


# -- its end --


def check_signals(tap, place):
    many = ["--width", "8", "--warmup", "0", "--iterations", "200", "--tile-sizes", "16,16,16,16,16,256", "--batch-sizes",
            "1,2", "--quiet", "--output", place.file]
    for more in ([], ["--one-process"]):
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)):
            if os.path.exists(place.file):
                os.unlink(place.file)
            started = place.started(*many, *more)
            try:
                wait_until(lambda: os.path.exists(place.file) and place.text().count("\n") > 2, 60)
                started.process.send_signal(number)
                done = started.wait()
                left = gone(started)
            finally:
                started.end()
            rows, name = place.rows(), f"{number.name} {more}"
            tap.check(done.code == code and left == [], f"{name}: ends it with all of its processes", (done, left))
            tap.check(2 <= len(rows) < 12 and place.text().endswith("\n") and all(float(r["avg_time_ms"]) > 0 for r in rows),
                      f"{name}: rows so far are in the file", place.text())
            if code > 0:
                tap.check(f"interrupted: {len(rows)} of 12 configurations are measured and in {place.file}" in done.err and
                          len(re.findall(r"\(B=\d\)", done.out)) == len(rows), f"{name}: it tells them", done)


def check_waiting(tap, place):
    with open(LOCK, "a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        started = place.started(*SMALL, "--tile-sizes", "16", "--output", place.file)
        try:
            wait_until(lambda: os.path.exists(place.file), 60)
            os.set_blocking(started.process.stderr.fileno(), True)
            said = started.process.stderr.readline()
            started.process.send_signal(signal.SIGINT)
            done = started.wait()
        finally:
            started.end()
    tap.check("waiting for another timed run" in said and done.code == 130 and "interrupted: 0 of 3" in done.err,
              "it waits for other timed runs, and can be interrupted", (said, done))


def check_death(tap, place):
    """A process that is killed is its configuration's error alone."""
    for more in ([], ["--one-process"]):
        if os.path.exists(place.file):
            os.unlink(place.file)
        started = place.started("--width", "8", "--warmup", "0", "--iterations", "100", "--tile-sizes", "16,512,16",
                                "--batch-sizes", "1", "--output", place.file, *more)
        try:
            wait_until(lambda: os.path.exists(place.file) and place.text().count("\n") == 2, 60)
            victim = wait_until(lambda: [pid for pid, _ in started.living() if pid != started.process.pid], 60)
            os.kill(victim[0], signal.SIGKILL)
            done = started.wait()
        finally:
            started.end()
        errors = [r["error"] for r in place.rows()]
        tap.equal((done.code, errors), (FILE, ["", "its process was ended by signal 9 (Killed)", ""]),
                  f"a process that is killed {more}")


# -- bad input --


def check_refused(tap, place):
    def refused(words, text, code=USAGE, **more):
        done = place.sweep("--iterations=1", "--warmup=0", "--width=4", "--batch-sizes=1", "--tile-sizes=16", *words, **more)
        tap.check(done.code == code and text in done.err and done.out == "" and os.listdir(place.folder) == [],
                  f"refused: {text}", done)

    to = ["--output", place.file]
    refused(["--tile-sizes", "16,40", *to], "--tile-sizes is 40: must be a multiple of 16, 16 to 8192")
    refused(["--tile-sizes", "16384"], "--tile-sizes is 16384: must be a multiple of 16")
    refused(["--tile-sizes", "0"], "--tile-sizes is '0': must be whole numbers of 1 at least")
    refused(["--tile-sizes", "16,", *to], "--tile-sizes is '16,'")
    refused(["--tile-sizes", "16;32"], "--tile-sizes is '16;32'")
    refused(["--tile-sizes", "16", "x"], "--tile-sizes is 'x'")
    refused(["--tile-sizes", ",".join(["16"] * 32)], "at most 32")
    refused(["--batch-sizes", "0"], "--batch-sizes is '0'")
    refused(["--batch-sizes", "1025", *to], "--batch-sizes is 1025: must be 1 to 1024")
    refused(["--width", "6"], "--width is 6: must be a multiple of 4")
    refused(["--mode", "eval"], "--mode is 'eval': must be one of: inference train")
    refused(["--precision", "fp8"], "one of: fp32 bf16")
    refused(["--iterations", "0"], "--iterations is '0'")
    refused(["--warmup", "-1"], "--warmup is '-1'")
    refused(["--memory-limit", "much"], "--memory-limit")
    refused(["--output", "-"], "--output is '-': must be the path of a file")
    refused(["--nonsense"], "there is no such option")
    refused(["--quiet", "256"], "256: there is no such option")
    refused(["--device", "tpu"], "one of: cpu cuda")
    refused(["--device", "cuda", *to], "--device is cuda: no CUDA device: ",
            env={**ALONE, "YIELDPOINT_PLUGINS": place.folder, "CUDA_VISIBLE_DEVICES": ""})


# -- passes over given images --


def npy(path, shape, values, letter="f4"):
    text = f"{{'descr': '<{letter}', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    text += " " * (-(10 + len(text) + 1) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode())
        file.write(struct.pack(f"<{len(values)}{ {'f4': 'f', 'f8': 'd', 'i4': 'i'}[letter]}", *values))


def norm(values):
    return math.sqrt(sum(v * v for v in values))


def off(name, got, right):
    """As a share of what is right; a bias in front of a batch norm has the gradient 0 but for rounding, beside which
    that of its weights stands. A NaN is infinitely far."""
    size = norm(right[name][1])
    if name.endswith("conv.bias.grad") and name.replace("conv", "norm") in right:
        size += norm(right[name.replace("bias", "weight")][1])
    by = norm(g - w for g, w in zip(got[name][1], right[name][1]))
    return by / size if by == by else math.inf


def reference(name, model="mock"):
    return os.path.join(REFERENCE, model, name)


# Of the files in refiner/vit.
REAL = ["--model", "real", "--width", "16", "--depth", "2", "--heads", "2", "--patch", "5", "--trained", "1", "--rank", "4",
        "--alpha", "8", "--head-width", "5", "--head-blocks", "2"]
VARIANTS = {"expected": ["--frozen", "float"], "int8": [], "first_block": ["--frozen", "float", "--feature", "1"],
            "with_class_token": ["--frozen", "float", "--class-token"], "all_frozen": ["--freeze-all"]}


def expected(file, model="mock"):
    return {name: t for name, t in tensors(reference(file, model)).items() if name[:5] not in ("size.", "plain")}


def check_real(tap, place):
    """The vision transformer: passes as PyTorch's in double, a sweep with a row for want of memory, and its plan."""
    dump = os.path.join(place.folder, "out.safetensors")
    for variant, words in VARIANTS.items():
        right = expected(f"{variant}.safetensors", "vit")
        done = place.sweep(*REAL, *words, "--input", reference("input.npy", "vit"), "--load",
                           reference("weights.safetensors", "vit"), "--target", reference("target.npy", "vit"), "--gradients",
                           "--double", "--dump", dump)
        tap.check(done.code == 0 and done.err == "", f"{variant}: exit 0", done)
        got = tensors(dump)
        tap.equal({n: t[0] for n, t in got.items() if n in right}, {n: t[0] for n, t in right.items()}, f"{variant}: names")
        worst = max((off(name, got, right), name) for name in right if norm(right[name][1]) > 0)
        tap.check(worst[0] < 1e-10, f"{variant}: all within 1e-10", worst)
    done = place.sweep(*REAL, "--tile-sizes", "10,320", "--batch-sizes", "1,2", "--iterations", "2", "--mode", "train",
                       "--memory-limit", "8M", "--output", place.file)
    rows = place.rows()
    tap.equal((done.code, [row["error"] for row in rows]), (0, ["", "", "OOM", "OOM"]), "a sweep, of which half does not fit")
    tap.check(f"real, train, fp32 on cpu: {rows[0]['model_params']} parameters" in done.out, "with its parameters", done)
    done = place.sweep("plan", "--model", "real", "--tile-sizes", "224,336", "--batch-sizes", "1", "--mode", "train",
                       "--memory-limit", "2.4G")
    lines = done.out.split("\n")
    tap.check(done.code == 0 and lines[0].endswith("638980638 parameters, 751.3 MiB") and re.search("^224x224.*   fits$", lines[2]) and
              re.search("^336x336.*   does not fit$", lines[3]), "plans are of the whole model, without its memory", done)
    done = place.sweep("plan", "--model", "real", "--frozen", "float", "--tile-sizes", "224", "--batch-sizes", "1")
    tap.check("638980638 parameters, 2.4 GiB\n" in done.out, "in float they take more", done)
    small = ["--model", "real", "--width", "16", "--depth", "1", "--heads", "2", "--tile-sizes", "56", "--batch-sizes", "4",
             "--head-width", "64"]
    for mode in ("inference", "train"):
        low, high = 1 << 20, 1 << 26
        while high - low > 1 << 12:
            middle = (low + high) // 2
            fits = "   fits" in place.sweep("plan", *small, "--mode", mode, "--memory-limit", str(middle)).out
            low, high = (low, middle) if fits else (middle, high)
        done = place.sweep(*small, "--mode", mode, "--iterations", "1", "--warmup", "0", "--memory-limit", str(high))
        tap.check(done.code == 0 and "OOM" not in done.out, f"{mode}: what fits runs", done)
        done = place.sweep(*small, "--mode", mode, "--iterations", "1", "--warmup", "0", "--memory-limit", str(low * 9 // 10))
        tap.check(done.code == 0 and "OOM" in done.out, f"{mode}: a tenth less is out of memory", done)
    for words in (["--tile-sizes", "8192", "--batch-sizes", "1024"],
                  [*REAL, "--patch", "1", "--tile-sizes", "4096", "--batch-sizes", "256"],
                  [*REAL, "--rank", "0", "--trained", "0", "--head-blocks", "0", "--tile-sizes", "10", "--batch-sizes", "1"]):
        done = place.sweep("plan", *words)
        tap.check(done.code == 0, f"{words}: planned", done)
    for words, message in ((["--depth", "2"], "--model is mock"), (["--model", "real", "--trained", "33"], "--trained is 33"),
                           (["--model", "real", "--depth", "1000000000"], "--depth is 1000000000: must be 1 to 128"), (["--model", "real", "--heads", "7"], "--width is 1280, heads 7"),
                           (["--model", "real", "--tile-sizes", "9"], "--tile-sizes is 9: must be 14 to 4096"),
                           (["--model", "real", "--precision", "bf16", "--frozen", "int8"], "need the precision fp32"),
                           (["plan", "--output", "x"], "plan: measures nothing")):
        done = place.sweep(*words)
        tap.check(done.code == USAGE and message in done.err, f"{words}: refused", done)


def check_reference(tap, place):
    words = ["--width", "4", "--input", reference("input.npy"), "--load", reference("weights.safetensors")]
    right = expected("expected.safetensors")
    dump = os.path.join(place.folder, "out.safetensors")
    for how, bound in ((["--double"], 1e-10), ([], 2e-5), (["--precision", "bf16"], 3e-2)):
        done = place.sweep(*words, *how, "--gradients", "--target", reference("target.npy"), "--dump", dump)
        tap.check(done.code == 0 and done.err == "" and done.out.startswith("inference of 2 tiles of 32 x 32 in "),
                  f"{how}: exit 0", done)
        got = tensors(dump)
        tap.equal({n: t[0] for n, t in got.items()}, {n: t[0] for n, t in right.items()}, f"{how}: names and shapes")
        # Gradients of so small a batch are ill-conditioned in bf16: the norms' variances are of 8 pixels.
        names = [name for name in right if how[-1:] != ["bf16"] or name in ("output", "losses")]
        worst = max((off(name, got, right), name) for name in names)
        tap.check(worst[0] <= bound, f"{how}: all within {bound}", worst)
        loss = re.search(r"mean squared error ([\d.]+) in training", done.out)
        tap.check(loss and abs(float(loss[1]) / (sum(right["losses"][1]) / 2) - 1) < max(bound, 1e-8), f"{how}: the mean",
                  done)
        print(f"# {how or ['fp32']}: the worst is {worst[1]}, off by {worst[0]:.2e}")
    done = place.sweep(*words, "--double", "--dump", dump)
    got = tensors(dump)
    tap.check(done.code == 0 and list(got) == ["output"] and off("output", got, right) < 1e-10 and
              "mean squared" not in done.out, "without --gradients there is the output", done)


def check_starts(tap, place):
    """Without files of weights and targets: those of the seed, and zeros."""
    zeros, outs = os.path.join(place.folder, "zeros.npy"), []
    npy(zeros, (2, 4, 8, 8), [0.0] * 512)
    for more in ([], [], ["--target", zeros], ["--seed", "1"], ["--double"]):
        dump = os.path.join(place.folder, f"{len(outs)}.safetensors")
        done = place.sweep("--width", "8", "--input", reference("input.npy"), "--gradients", "--dump", dump, *more)
        tap.check(done.code == 0, f"weights to start from {more}", done)
        with open(dump, "rb") as file:
            outs.append(file.read())
    tap.check(outs[0] == outs[1] == outs[2] != outs[3], "are the seed's alone, with a target of zeros")
    single, double = (tensors(os.path.join(place.folder, f"{i}.safetensors")) for i in (0, 4))
    tap.check(off("output", single, double) < 1e-5 and off("losses", single, double) < 1e-5, "and the same in double")


def check_cube(tap, place):
    """A cube in tiles: of one tile that is all of it the same as a pass over that image."""
    words = ["--width", "8", "--cube-bands", "3,1,4,2"]
    image = [((7 * i) % 23) / 8 - 1 for i in range(4 * 32 * 48)]
    cube = os.path.join(place.folder, "cube.npy")
    npy(cube, (32, 48, 5), [image[4 * (i // 5) + i % 5] if i % 5 < 4 else 9.0 for i in range(32 * 48 * 5)])

    def outputs(*more):
        dump = os.path.join(place.folder, "out.safetensors")
        done = place.sweep(*words[:2], *more, "--dump", dump)
        tap.check(done.code == 0 and done.err == "", f"{more[0]}: exit 0", done)
        return tensors(dump)["output"], done

    tiles = []
    for at in (0, 16):
        alone = os.path.join(place.folder, "tile.npy")
        npy(alone, (1, 4, 32, 32), [image[4 * (r * 48 + at + c) + band] for band in (2, 0, 3, 1) for r in range(32)
                                    for c in range(32)])
        tiles.append(outputs("--input", alone)[0][1])
    (shape, got), done = outputs(*("--cube", cube, *words[2:], "--tile-sizes", "32", "--overlap", "16"))
    tap.equal(list(shape), [1, 4, 8, 12], "one image of all tiles")
    tap.check("32 x 48 pixels in 2 tiles of 32 x 32, refined to 8 x 12 in " in done.out, "which it says", done)
    for c, (tile, of) in ((0, (0, 0)), (3, (0, 3)), (8, (1, 4)), (11, (1, 7))):
        tap.check(all(abs(got[(k * 8 + r) * 12 + c] - tiles[tile][(k * 8 + r) * 8 + of]) < 1e-6 for k in range(4)
                      for r in range(8)), f"column {c} is that of its tile alone")
    for c in range(4, 8):
        low, high = (sorted((tiles[0][5 * 8 + c], tiles[1][5 * 8 + c - 4])))
        tap.check(low - 1e-6 <= got[5 * 12 + c] <= high + 1e-6, f"column {c} lies between those of both")
    for more, message in ((["--cube-bands", "1,2,3,6"], "--cube-bands has 6: "), (["--cube-bands", "1"], "--cube-bands are 1: must be 4"),
                          (["--tile-sizes", "48"], "cube.npy: --tile-sizes is 48: the image has 32 x 48 pixels"),
                          (["--tile-sizes", "32", "--overlap", "32"], "cube.npy: overlap is 32: must be at most 28"),
                          (["--tile-sizes", "32", "--overlap", str(2**64 - 4)], f"overlap is {2**64 - 4}: must be at most 28"),
                          (["--model", "real", "--patch", "5", "--tile-sizes", "16"], "must be a multiple of the patch, 5"),
                          (["--tile-sizes", "32", "--dump", "/dev/null"], "/dev/null: is no regular file"),
                          (["--mode", "train"], "--cube is said")):
        done = place.sweep("--width", "8", "--cube", cube, *more)
        tap.check(done.code == (FILE if "--dump" in more else USAGE) and message in done.err, f"{more}: refused", done)
    holes = os.path.join(place.folder, "holes.npy")
    npy(holes, (32, 48, 4), [math.nan if i in (4 * 20, 4 * (48 + 20) + 1, 4 * 47) else 0.5 for i in range(32 * 48 * 4)])
    done = place.sweep("--width", "8", "--cube", holes, "--tile-sizes", "32", "--overlap", "16")
    tap.check(done.code == 0 and "\n3 values that the cube does not have were 0\n" in done.out,
              "a value that is missing is 0 and counted once, whichever tiles have it", done)
    done = place.sweep("--cube", cube + "x")
    tap.check(done.code == FILE and "No such file" in done.err, "a file that is not there", done)


def check_pass_refused(tap, place):
    image, bad = reference("input.npy"), os.path.join(place.folder, "bad.npy")
    weights = reference("weights.safetensors")
    short = os.path.join(place.folder, "short.safetensors")
    with open(weights, "rb") as file, open(short, "wb") as to:
        to.write(file.read()[:-5])
    npy(bad, (1, 4, 16, 32), [0.0] * 2048)

    def refused(words, code, text):
        before = sorted(os.listdir(place.folder))
        done = place.sweep(*words)
        tap.check(done.code == code and text in done.err and done.out == "" and sorted(os.listdir(place.folder)) == before,
                  f"refused: {text}", done)

    refused(["--load", weights], USAGE, "--input is missing")
    refused(["--gradients"], USAGE, "--input is missing")
    for more in (["--tile-sizes", "16"], ["--mode", "train"], ["--output", "x.csv"], ["--one-process"], ["--warmup", "0"]):
        refused(["--input", image, *more], USAGE, "--input is said: a pass over given images has no sizes")
    refused(["--input", image, "--target", image], USAGE, "--target is said without --gradients")
    refused(["--input", image, "--device", "cuda"], USAGE, "a pass over given images is the CPU's")
    refused(["--input", os.path.join(place.folder, "none.npy")], FILE, "No such file")
    refused(["--input", weights], FILE, "weights.safetensors")
    refused(["--input", image, "--load", weights], USAGE, "'layer01.conv.weight' is (4, 4, 7, 7): must be (64, 4, 7, 7)")
    refused(["--input", image, "--width", "4", "--load", short], FILE, "short.safetensors")
    refused(["--input", image, "--width", "4", "--dump", os.path.join(place.folder, "no", "where")], FILE, "no/where")
    refused(["--input", image, "--width", "4", "--gradients", "--target", image], USAGE, "input.npy: is (2, 4, 32, 32)")
    refused(["--input", image, "--width", "3"], USAGE, "width is 3: must be a multiple of 4")
    refused(["--input", bad], USAGE, "bad.npy: has 16 rows and 32 columns: tiles are square")
    npy(bad, (1, 4, 20, 20), [0.0] * 1600)
    for how in ([], ["--double"]):
        refused(["--input", bad, *how], USAGE, "bad.npy: mock_options.tile is 20: must be a multiple of 16")
    npy(bad, (1, 3, 16, 16), [0.0] * 768)
    refused(["--input", bad], USAGE, "bad.npy: is (1, 3, 16, 16)")
    npy(bad, (1, 4, 16, 16), [0] * 1024, "i4")
    refused(["--input", bad], USAGE, "bad.npy: has 'i4'")
    own = {name: os.path.join(place.folder, f"own-{name}") for name in ("input", "load", "target", "cube")}
    for name, path in own.items():
        with open({"load": weights, "target": reference("target.npy")}.get(name, image), "rb") as file:
            content = file.read()
        with open(path, "wb") as file:
            file.write(content)
        words = {"load": ["--input", image], "target": ["--input", image, "--gradients"]}.get(name, [])
        refused([*words, f"--{name}", path, "--dump", os.path.join(place.folder, ".", f"own-{name}")], USAGE,
                f"is the file of --{name}: must be another")
        with open(path, "rb") as file:
            tap.check(file.read() == content, f"--{name} is as it was")
    refused(["plan", "--nonsense"], USAGE, "  yieldpoint refiner plan --")
    npy(bad, (1, 4, 16, 16), [math.nan] + [0.0] * 1023)
    refused(["--input", bad], USAGE, "bad.npy: the image is nan")
    npy(bad, (1, 4, 16, 16), [0.0] * 1023 + [1e300], "f8")
    refused(["--input", bad], USAGE, "bad.npy: has 1e+300: in float must be at most 3.4")
    npy(bad, (2, 4, 8, 8), [1e30] * 512)
    refused(["--input", image, "--width", "4", "--gradients", "--target", bad, "--dump", place.file], NOTHING,
            "losses is inf at element 0, of finite weights and images")


def check_history(tap, place, program):
    """The columns of the history's tables of this kind."""
    history = os.path.join(place.folder, "history.db")
    run(program, "--history", history, "-q", "-k", "timed and n=1", cwd=place.folder)
    done = run(place.program, "history", "export", "--csv", "-", "--columns", "tile-sweep", "--commit", "ffff", "--history",
               history)
    tap.equal(done.out.strip(), COLUMNS, "the history exports the same columns")


def main(yieldpoint, program, *more):
    tap = Tap()
    for check, *arguments in ((check_rows,), (check_defaults,), (check_table,), (check_terminal,), (check_file,),
                              (check_unwritable,), (check_together,), (check_memory, more == ("sanitized",)),
                              (check_steady, more == ("sanitized",)), (check_signals,), (check_waiting,),
                              (check_death,), (check_refused,), (check_reference,), (check_starts,),
                              (check_pass_refused,), (check_real,), (check_cube,), (check_history, os.path.abspath(program))):
        with tempfile.TemporaryDirectory() as folder:
            tap.run(check.__name__, check, tap, Place(os.path.abspath(yieldpoint), folder), *arguments)
    tap.done()


main(*sys.argv[1:])
