"""`yieldpoint synth`: what it stores, what it refuses, how it ends."""

import contextlib
import json
import os
import pty
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from cubes import dumped, envi, npy, same, with_numpy  # noqa: E402
from process import Started  # noqa: E402
from program import ENVIRONMENT, run  # noqa: E402
from tap import Tap  # noqa: E402

FILE, USAGE = 3, 4
TARGETS = 4
SIZES = ["--height=7", "--width=9", "--channels=20"]
# So that a small cube has some of everything.
MUCH = ["--seed=5", "--target-fraction=0.1", "--dead-fraction=0.1"]
PLANES = ("", "_labels", "_fill", "_abundances", "_valid")
ARRAYS = ("endmembers", "gains", "noise", "offsets", "path", "transmission", "wavelengths")
CLEAN = ["--snr-db=off", "--prnu=off", "--dsnu=off", "--bits=off", "--dead-fraction=off"]


class Place:
    def __init__(self, program, folder):
        self.program, self.folder = program, os.path.realpath(folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def synth(self, *words, **more):
        return run(self.program, "synth", *words, cwd=self.folder, **more)

    def good(self, tap, name, *words):
        done = self.synth(*words)
        tap.check(done.code == 0 and done.err == "", f"{name}: exit 0", done)
        return done

    def files(self):
        return sorted(os.listdir(self.folder))

    def contents(self):
        found = {}
        for name in self.files():
            with open(self.path(name), "rb") as file:
                found[name] = file.read()
        return found


@contextlib.contextmanager
def place(program):
    with tempfile.TemporaryDirectory() as folder:
        yield Place(program, folder)


# -- what is stored ----------------------------------------------------------------------------


def check_formats(tap, program, dump):
    """Every type and order holds the values of the plainest one."""
    with place(program) as p:
        p.good(tap, "plain", *SIZES, *MUCH, "--cubes=2", "--output=plain")
        plain = [envi(p.path(f"plain_000{i}.img")) for i in range(2)]
        tap.check(plain[0][1] != plain[1][1], "two cubes are two")
        tap.check(sum(v != v for v in plain[0][1]) >= 20, "the cube has dead pixels")
        for order in ("bip", "bil", "bsq"):
            for kind in ("float32", "uint16", "int16"):
                for big in ("yes", "no"):
                    check_format(tap, p, dump, plain, order, kind, big)
        for kind in ("float32", "uint16", "int16"):
            more = ["--bits=15"] if kind == "int16" else []
            p.good(tap, f"npy {kind}", *SIZES, *MUCH, *more, "--cubes=2", "--format=npy",
                   f"--type={kind}", "--output=array.npy", "--force")
            shape, values = npy(p.path("array.npy"))
            tap.equal(shape, (2, 7, 9, 20), f"npy {kind}: the shape")
            if kind != "int16":
                tap.check(same(values, coded(plain[0][1] + plain[1][1], kind, 16)),
                          f"npy {kind}: the values")
            tap.equal(npy(p.path("array_labels.npy"))[0], (2, 7, 9, 1), f"npy {kind}: labels")


def coded(values, kind, bits):
    if kind == "float32":
        return values
    none, highest = (65535, 65534) if kind == "uint16" else (-32768, 32767)
    return [none if v != v else min(round(v * 2**bits), highest) for v in values]


def check_format(tap, p, dump, plain, order, kind, big):
    name = f"{order} {kind} big-endian={big}"
    bits = 15 if kind == "int16" else 16
    p.good(tap, name, *SIZES, *MUCH, "--cubes=2", f"--bits={bits}", f"--interleave={order}",
           f"--type={kind}", f"--big-endian={big}", "--output=cube.dat", "--force")
    shape, values, head = envi(p.path("cube_0001.dat"))
    wanted = coded(plain[1][1], kind, bits)
    if bits == 16:
        tap.check(shape == (7, 9, 20) and same(values, wanted), f"{name}: the values")
    else:  # another sensor: its steps are wider
        tap.check(all(abs(a - b) <= 1 for a, b in zip(values, wanted)), f"{name}: the values")
    tap.check(head["interleave"] == order and len(head["wavelength"].split(",")) == 20 and
              {round(float(w), 3) for w in head["fwhm"].strip("{}").split(",")} == {round(2100 / 19, 3)} and
              len(head["fwhm"].split(",")) == 20 and len(head["bbl"].split(",")) == 20,
              f"{name}: the header", head)
    read_shape, read = dumped(dump, p.path("cube_0001.hdr"), "scaled")
    decoded = values if kind == "float32" else [
        float("nan") if v == wanted_none(kind) else v / 2**bits for v in values]
    tap.check(read_shape == (1, 7, 9, 20) and same(read, decoded), f"{name}: read back")


def wanted_none(kind):
    return 65535 if kind == "uint16" else -32768


def check_truth(tap, program):
    with place(program) as p:
        p.good(tap, "truth", *SIZES, *MUCH, "--output=t", "--interleave=bsq")
        values, labels, fill, abundances, valid = (envi(p.path(f"t{n}.img"))[1] for n in PLANES)
        pixels = range(7 * 9)
        tap.check(sum(labels) > 0 and all((labels[i] > 0) == (fill[i] > 0) for i in pixels)
                  and max(labels) <= TARGETS, "labels are where there is fill", (labels, fill))
        tap.check(all(abs(fill[i] + sum(abundances[6 * i:6 * i + 6]) - 1) < 1e-5 for i in pixels),
                  "fill and abundances are one")
        tap.check(0 < sum(valid) < 63 and all(
            (values[20 * i] != values[20 * i]) == (valid[i] == 0) for i in pixels),
            "what is not valid has no values", valid)
        spectra_shape, spectra = npy(p.path("t_endmembers.npy"))
        document = json.loads(p.contents()["t.json"])
        rows = document["options"]["endmembers"] + document["targets"]
        tau, path = (npy(p.path(f"t_{n}.npy"))[1] for n in ("transmission", "path"))
        ground = [(s - path[i % 20]) / tau[i % 20] for i, s in enumerate(spectra)]
        tap.check(rows == 6 + TARGETS and spectra_shape == (rows, 20) and
                  all(0 < s < 1 for s in ground[:6 * 20]) and
                  all(0 < s < 4.1 for s in ground[6 * 20:]), "the spectra", spectra)
        for quantity in ("radiance", "reflectance"):
            check_label_rows(tap, p, quantity)
        shape, wavelengths = npy(p.path("t_wavelengths.npy"))
        tap.check(shape == (20,) and wavelengths[0] == 400 and wavelengths[-1] == 2500,
                  "the wavelengths", wavelengths)
    with place(program) as p:
        p.good(tap, "cuvis", *SIZES, "--preset=cuvis", "--output=t", "--type=int16", "--scale=50")
        tap.equal(p.files(), ["t.hdr", "t.img", "t.json", "t_endmembers.npy", "t_fill.hdr",
                              "t_fill.img", "t_labels.hdr", "t_labels.img", "t_valid.hdr",
                              "t_valid.img", "t_wavelengths.npy"], "cuvis has no abundances")
        tap.check(any(envi(p.path("t_labels.img"))[1]), "cuvis has discs")
        for i, none in enumerate(("0", "off")):
            p.good(tap, f"no discs: {none}", *SIZES, "--preset=cuvis", f"--anomaly-ratio={none}", f"--output=n{i}")
            tap.check(not any(envi(p.path(f"n{i}_labels.img"))[1]), f"no discs: {none}: none is there")


def check_label_rows(tap, p, quantity):
    """Label k is row endmembers + k - 1: without noise and shade a full pixel is that spectrum."""
    p.good(tap, "labels", *SIZES, *CLEAN, "--target-fraction=0.5", "--fill-low=1", "--shade=off",
           "--grain=off", "--water=0.5", f"--quantity={quantity}", "--output=u", "--force")
    values, labels = (envi(p.path(f"u{n}.img"))[1] for n in ("", "_labels"))
    spectra = npy(p.path("u_endmembers.npy"))[1]
    tap.equal(sorted(set(labels)), list(range(TARGETS + 1)), f"labels, {quantity}: all targets")
    off = [abs(values[20 * i + c] - spectra[20 * (6 + int(labels[i]) - 1) + c])
           for i in range(63) if labels[i] for c in range(20)]
    tap.check(len(off) > 20 * 20 and max(off) < 4e-6, f"labels, {quantity}: each is a row of the "
              "spectra", max(off))


# -- radiance and reflectance -----------------------------------------------------------------------


def arrays_of(p, stem):
    return {n: npy(p.path(f"{stem}_{n}.npy"))[1] for n in ARRAYS}


def check_quantity(tap, program):
    """Reflectance is the reading less the path over the transmission, by what is stored."""
    with place(program) as p:
        # Of 20 channels one has its centre in the dark; with a response of its own none is dark throughout.
        for name, more in (("wide", []), ("plain", ["--fwhm-nm=off"]), ("narrow", ["--fwhm-nm=5"]),
                           ("blank", ["--fwhm-nm=off", "--blank-bands"])):
            p.good(tap, name, *SIZES, *MUCH, *more, "--output=y")
            p.good(tap, name, *SIZES, *MUCH, *more, "--output=r", "--quantity=reflectance")
            beside, seen = arrays_of(p, "r"), arrays_of(p, "y")
            tau, path = beside["transmission"], beside["path"]
            y, r = envi(p.path("y.img"))[1], envi(p.path("r.img"))[1]
            document = json.loads(p.contents()["r.json"])
            bbl = [int(b) for b in envi(p.path("r.img"))[2]["bbl"].strip("{}").split(",")]
            dark = [c for c in range(20) if tau[c] < 0.01 or (name == "blank" and not bbl[c])]
            tap.check(document["empty_bands"] == dark and (len(dark) >= 1) == (name in ("plain", "blank")) and
                      not any(bbl[c] for c in dark), f"{name}: the bands that are not inverted",
                      (document["empty_bands"], dark))
            wanted = [0 if v == v and i % 20 in dark else (v - path[i % 20]) / tau[i % 20]
                      for i, v in enumerate(y)]
            tap.check(all(abs(a - b) <= 1e-6 * abs(b) + 1e-7 or (a != a and b != b)
                          for a, b in zip(r, wanted)), f"{name}: reflectance is the reading inverted")
            tap.check(all(abs(s - (tau[i % 20] * g + path[i % 20])) <= 1e-7
                          for i, (s, g) in enumerate(zip(seen["endmembers"], beside["endmembers"]))),
                      f"{name}: spectra have the unit of the cube")
            check_noise(tap, name, document, beside, seen, dark)
            for stem in "yr":
                for file in p.files():
                    if file.startswith((stem + ".", stem + "_")):
                        os.unlink(p.path(file))


def check_optics(tap, program):
    """What was applied is in the header's description and in the options that make the same again."""
    with place(program) as p:
        p.good(tap, "optics", *SIZES, "--psf-px=1.5", "--smile-nm=2", "--keystone-px=0.25", "--output=o")
        p.good(tap, "optics", *SIZES, "--output=plain")
        said = envi(p.path("o.img"))[2]["description"]
        tap.check("; point spread 1.5 px; smile 2 nm; keystone 0.25 px" in said, "optics: the description", said)
        tap.check("spread" not in envi(p.path("plain.img"))[2]["description"], "no optics: the description")
        options = json.loads(p.contents()["o.json"])["options"]
        tap.equal([options[k] for k in ("psf-px", "smile-nm", "keystone-px")], [1.5, 2, 0.25], "optics: the options")
        tap.equal(json.loads(p.contents()["plain.json"])["options"]["psf-px"], "off", "no optics: the options")


def check_no_light(tap, program):
    """A band without light is 0, and no pixel of it is taken for a dead one."""
    with place(program) as p:
        p.good(tap, "no light", "--height=16", "--width=16", "--channels=2", "--first-nm=1400", "--last-nm=1500",
               "--fwhm-nm=off", "--water=1", "--path=off", "--dead-fraction=off", "--quantity=reflectance", "--output=n")
        values = envi(p.path("n.img"))[1]
        tap.check(json.loads(p.contents()["n.json"])["empty_bands"][:1] == [0] and
                  not any(values[0::2]) and all(v == v for v in values), "a band without light is 0 throughout")


def check_noise(tap, name, document, beside, seen, dark):
    """Variance by band: a m + b at the mean of the endmembers, over tau^2."""
    a, b, tau = document["noise"]["a"], document["noise"]["b"], beside["transmission"]
    means = [sum(seen["endmembers"][20 * k + c] for k in range(6)) / 6 for c in range(20)]
    own = [0 if c in dark else (a * means[c] + b) / tau[c]**2 for c in range(20)]
    tap.check(all(abs(v - w) <= 1e-5 * w for v, w in zip(beside["noise"], own)) and min(a, b) > 0,
              f"{name}: noise by band", (beside["noise"], own))


def check_sensor(tap, program):
    """Gains, offsets and noise are those with which the values were made."""
    big = ["--height=60", "--width=60", "--channels=20", "--seed=2", "--dead-fraction=off",
           "--bits=off"]
    with place(program) as p:
        p.good(tap, "clean", *big, *CLEAN, "--output=clean")
        p.good(tap, "striped", *big, "--snr-db=off", "--output=striped", "--prnu=0.05", "--dsnu=0.05")
        p.good(tap, "noisy", *big, "--prnu=off", "--dsnu=off", "--output=noisy", "--snr-db=20")
        clean, striped, noisy = (envi(p.path(f"{n}.img"))[1] for n in ("clean", "striped", "noisy"))
        gains, offsets = (npy(p.path(f"striped_{n}.npy"))[1] for n in ("gains", "offsets"))
        places = [(i // 20 % 60) * 20 + i % 20 for i in range(len(clean))]
        off = max(abs(x * gains[at] + offsets[at] - y) for x, y, at in zip(clean, striped, places))
        spread = sum((g - 1)**2 for g in gains) / len(gains)
        tap.check(off < 2e-7 and abs(spread / 0.05**2 - 1) < 0.2, "sensor: gains and offsets",
                  (off, spread))
        ones = arrays_of(p, "clean")
        tap.check(set(ones["gains"]) == {1} and set(ones["offsets"]) == {0} and
                  set(ones["noise"]) == {0}, "sensor: none of it")
        noise = json.loads(p.contents()["noisy.json"])["noise"]
        squares = [(y - x)**2 / (noise["a"] * x + noise["b"]) for x, y in zip(clean, noisy)]
        # 72,000 squares of normals: the mean's deviation is 0.0053.
        tap.check(abs(sum(squares) / len(squares) - 1) < 0.02, "sensor: the noise's variance",
                  sum(squares) / len(squares))


def check_headers(tap, program):
    """A header says what the values are, and by which number they are to be divided."""
    with place(program) as p:
        for kind, bits in (("uint16", "16"), ("int16", "12"), ("float32", "16")):
            for quantity in ("radiance", "reflectance"):
                p.good(tap, "headers", *SIZES, f"--type={kind}", f"--quantity={quantity}",
                       f"--bits={bits}", "--output=a", "--force")
                head = envi(p.path("a.img"))[2]
                gains = head.get("data gain values", "").strip("{}").split(",")
                integer = kind != "float32"
                tap.check(quantity in head["description"] and
                          head["data units"].startswith(quantity.capitalize()),
                          f"headers: {quantity} {kind} says so", head)
                tap.equal(head.get("reflectance scale factor"),
                          "10000" if integer and quantity == "reflectance" else None,
                          f"headers: {quantity} {kind}, reflectance scale factor")
                tap.equal({float(g) for g in gains if g},
                          {2.0**-int(bits)} if integer and quantity == "radiance" else set(),
                          f"headers: {quantity} {kind}, gains")
                tap.equal(head["band names"].strip("{}").split(",\n ")[19], "channel 20",
                          "headers: names of bands")
        for stem, names in (("_labels", "label"), ("_fill", "fill"), ("_valid", "valid"),
                            ("_abundances", ",\n ".join(f"endmember {k + 1}" for k in range(6)))):
            head = envi(p.path(f"a{stem}.img"))[2]
            tap.equal(head["band names"], "{" + names + "}", f"headers: names in {stem}")
        head = envi(p.path("a_labels.img"))[2]
        classes = ["background"] + [f"target {k + 1}" for k in range(TARGETS)]
        tap.equal([head["file type"], head["classes"], head["class names"].strip("{}").split(",\n ")],
                  ["ENVI Classification", "5", classes], "headers: classes of labels")
        colours = re.findall(r"\d+", head["class lookup"])
        tap.check(len(colours) == 15 and len({tuple(colours[i:i + 3]) for i in range(0, 15, 3)}) == 5,
                  "headers: a colour for each", head["class lookup"])


def check_again(tap, program):
    """The line in the description makes the same bytes, and so does any number of threads."""
    for words in (["--output=a b", "--cubes=3", "--type=uint16", "--snr-db=off", "--seed=0"],
                  ["--output=c.npy", "--format=npy", "--preset=cuvis", "--noise-std=0.25",
                   "--seed=18446744073709551615"],
                  ["--output=e", "--preset=cuvis", "--anomaly-ratio=off"],
                  ["--output=f", "--target-shape=mixed", "--target-px=3.5", "--grain-px=5"],
                  ["--output=d", "--interleave=bil", "--shade=0.1", "--blank-bands",
                   "--fill-low=0.3", "--bits=9", "--type=int16", "--quantity=reflectance"]):
        with place(program) as first, place(program) as second:
            big = ["--height=150", "--width=93", "--channels=61"]
            first.good(tap, f"first {words[0]}", *big, *words, "--threads=3")
            document = json.loads(first.contents()[f"{words[0][9:].removesuffix('.npy')}.json"])
            line = document["remake"]
            assert line.startswith("yieldpoint synth ")
            with open(second.path("yieldpoint.ini"), "w") as file:  # which has no say
                file.write("[synth]\npreview = yes\nshade = 0.4\n")
            done = subprocess.run(
                ["sh", "-c", f"{program}{line.removeprefix('yieldpoint')} --threads=1"],
                cwd=second.folder, capture_output=True, text=True, timeout=120, check=False,
                env=ENVIRONMENT)
            os.unlink(second.path("yieldpoint.ini"))
            tap.equal((done.returncode, done.stderr), (0, ""), f"again {words[0]}: exit 0")
            tap.check(first.contents() == second.contents(), f"again {words[0]}: the same bytes",
                      f"{line}\n{first.files()}\n{second.files()}")
            for files in document["files"]:
                tap.check(all(name in first.files() for name in files.values()),
                          f"again {words[0]}: it names its files", files)


def check_many(tap, program):
    """More cubes than threads by far: each is made once, whoever waited for its place."""
    where = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    for i in range(2):
        with tempfile.TemporaryDirectory(dir=where) as folder:
            p = Place(program, folder)
            done = p.synth("--height=4", "--width=4", "--channels=2", "--cubes=2000",
                           "--threads=16", "--output=a")
            tap.check(done.code == 0 and len(p.files()) == 2000 * 10 + 8, f"many: {i}",
                      (done, len(p.files())))


def check_processors(tap, program):
    """As many threads as the process has processors, which taskset and cpusets may take away."""
    one = min(os.sched_getaffinity(0))
    for allowed in ({one}, os.sched_getaffinity(0)):
        with place(program) as p:
            started = Started(program, "synth", "--height=2000", "--width=1000", "--channels=100",
                              "--output=a", cwd=p.folder,
                              preexec_fn=lambda a=allowed: os.sched_setaffinity(0, a))
            highest = 0
            try:
                until = time.monotonic() + 1
                while started.process.poll() is None and time.monotonic() < until:
                    with contextlib.suppress(OSError):
                        highest = max(highest, len(os.listdir(f"/proc/{started.process.pid}/task")))
            finally:
                started.end()
            tap.equal(highest, 1 + len(allowed), f"threads on {len(allowed)} processors")


def check_levels(tap, program):
    with place(program) as p:
        for level in ("baseline", "auto"):
            p.good(tap, level, *SIZES, f"--level={level}", f"--output={level}")
        files = p.contents()
        tap.check(files["baseline.img"] == files["auto.img"], "every level gives the same bytes")


def check_numpy(tap, program):
    python = with_numpy()
    if python is None:
        tap.skip("numpy reads it", "no numpy")
        return
    script = """import numpy, sys
a = numpy.load('a.npy'); e = numpy.load('a_abundances.npy'); v = numpy.load('a_valid.npy')
b = numpy.fromfile('b.img', '<f4').reshape(20, 7, 9).transpose(1, 2, 0)
assert a.shape == (2, 7, 9, 20) and a.dtype == numpy.float32 and not a.flags.f_contiguous
assert numpy.array_equal(a[0], b, equal_nan=True)
assert e.shape == (2, 7, 9, 6) and v.dtype == numpy.uint8 and v.shape == (2, 7, 9, 1)
assert numpy.array_equal(numpy.isnan(a).all(-1), v[..., 0] == 0)
for i, (order, kind) in enumerate([('F', '<f4'), ('C', '>f8'), ('F', '>u2'), ('C', 'i8')]):
    numpy.save(f'n{i}.npy', (a * 1000).astype(kind, order=order) if i < 2 else
               numpy.nan_to_num(a * 1000).astype(kind, order=order))
    numpy.nan_to_num(a * 1000, nan=numpy.nan if i < 2 else 0).astype(kind).astype('<f4').tofile(f'n{i}.raw')
"""
    with place(program) as p:
        p.good(tap, "numpy", *SIZES, *MUCH, "--output=a", "--format=npy", "--cubes=2")
        p.good(tap, "numpy", *SIZES, *MUCH, "--output=b", "--interleave=bsq")
        done = run(python, "-c", script, cwd=p.folder)
        tap.check(done.code == 0, "numpy reads the same values in both formats", done)
        for i in range(4):
            shape, read = dumped(DUMP, p.path(f"n{i}.npy"))
            with open(p.path(f"n{i}.raw"), "rb") as file:
                tap.check(shape == (2, 7, 9, 20) and same_bytes(read, file.read()),
                          f"what numpy stored is read: {i}")


def same_bytes(values, data):
    wanted = type(values)("f")
    wanted.frombytes(data)
    return same(values, wanted)


# -- the picture -------------------------------------------------------------------------------


def png(path):
    """Width, height and rows of (r, g, b)."""
    with open(path, "rb") as file:
        data = file.read()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, packed, width, height = 8, b"", 0, 0
    while at < len(data):
        size, kind = int.from_bytes(data[at:at + 4], "big"), data[at + 4:at + 8]
        body = data[at + 8:at + 8 + size]
        if kind == b"IHDR":
            width, height = (int.from_bytes(body[i:i + 4], "big") for i in (0, 4))
            assert body[8:] == b"\x08\x02\0\0\0", body
        packed += body if kind == b"IDAT" else b""
        at += 12 + size
    raw, rows, above = zlib.decompress(packed), [], bytes(3 * width)
    for row in range(height):
        line = bytearray(raw[row * (3 * width + 1):(row + 1) * (3 * width + 1)])
        how, line = line[0], line[1:]
        for i in range(3 * width):
            a, b, c = (line[i - 3] if i > 2 else 0), above[i], (above[i - 3] if i > 2 else 0)
            paeth = min((abs(b - c), 0, a), (abs(a - c), 1, b), (abs(a + b - 2 * c), 2, c))[2]
            line[i] = line[i] + (0, a, b, (a + b) // 2, paeth)[how] & 255
        rows.append([tuple(line[3 * i:3 * i + 3]) for i in range(width)])
        above = bytes(line)
    return width, height, rows


def check_preview(tap, program):
    with place(program) as p:
        p.good(tap, "preview", "--height=40", "--width=60", "--channels=30", *MUCH, "--preview",
               "--output=a")
        width, height, rows = png(p.path("a.png"))
        tap.equal((width, height), (124, 40), "preview: two pictures and a gap")
        labels = envi(p.path("a_labels.img"))[1]
        valid = envi(p.path("a_valid.img"))[1]
        marked = [int(r >= 160 and b == 0) for row in rows for r, g, b in row[64:]]
        tap.check(marked == [int(label > 0) for label in labels] and sum(marked) > 100, "preview: the targets are marked")
        black = [row[i] == (0, 0, 0) for row in rows for i in range(60)]
        tap.check(all(black[i] for i in range(2400) if not valid[i]),
                  "preview: dead pixels are black")
        tap.check(sum(black) < 600 and len({c for row in rows for c in row[:60]}) > 500,
                  "preview: the rest has colours")
        p.good(tap, "preview large", "--height=3000", "--width=2", "--channels=1", "--preview",
               "--output=b")
        tap.equal(png(p.path("b.png"))[:2], (6, 1000), "preview: a large one is thinned out")


# -- what is refused ---------------------------------------------------------------------------

WRONG = {
    "nothing": ([], USAGE, r"^yieldpoint: --output is missing"),
    "too many threads": (["--output=a", "--threads=1025"], USAGE, r"--threads is 1025: must be 1 to 1024"),
    "no height": (["--output=a"], USAGE, r"--height is missing"),
    "no width": (["--output=a", "--height=1"], USAGE, r"--width is missing"),
    "no channels": (["--output=a", "--height=1", "--width=1"], USAGE, r"--channels is missing"),
    "an unknown option": ([*SIZES, "--output=a", "--chanels=3"], USAGE,
                          r"--chanels=3: there is no such option.*\n.*\n +\^"),
    "another word": ([*SIZES, "--output=a", "more"], USAGE, r"more: there is no such option"),
    "no value": ([*SIZES, "--output"], USAGE, r"--output needs a value"),
    "an empty path": ([*SIZES, "--output="], USAGE, r"--output is '': must be a path"),
    "zero": (["--height=0"], USAGE, r"--height is '0': must be a whole number of 1 at least"),
    "no number": (["--cubes", "many"], USAGE, r"--cubes is 'many': must be a whole number"),
    "a seed beyond": (["--seed=18446744073709551616"], USAGE, r"--seed is .*: must be a whole"),
    "no preset": (["--preset=mixing"], USAGE, r"must be one of: scene cuvis"),
    "a zero for off": (["--shade=0"], USAGE, r"--shade is '0': must be a number above 0, or off"),
    "less than no anomalies": (["--anomaly-ratio=-0.1"], USAGE,
                               r"--anomaly-ratio is '-0.1': must be a number of at least 0, or off\n"),
    "a secret for off": (["--shade=-1"], USAGE, r"--shade is '-1': must be"),
    "off where there is none": (["--sharpness=off"], USAGE, r"must be a number above 0\n"),
    "not a number": (["--shade=nan"], USAGE, r"--shade is 'nan'"),
    "a flag with a word": (["--force=maybe"], USAGE, r"--force is 'maybe': must be yes or no"),
    "a spread that is too wide": ([*SIZES, "--output=a", "--psf-px=6.5"], USAGE,
                                  r"^yieldpoint: --psf-px is 6\.5: must be 1e-09 to 6, or off\n$"),
    "wider than the axis": ([*SIZES, "--output=a", "--fwhm-nm=2100.5"], USAGE,
                            r"^yieldpoint: --fwhm-nm is 2100\.5: must be 1e-09 to last_nm - first_nm, here 2100, "
                            r"or off\n$"),
    "grain beyond": ([*SIZES, "--output=a", "--grain-px=65"], USAGE,
                     r"^yieldpoint: --grain-px is 65: must be 1 to 64\n$"),
    "no shape": (["--target-shape=square"], USAGE, r"must be one of: pixel disc rectangle mixed"),
    "of the other preset": ([*SIZES, "--output=a", "--noise-std=1"], USAGE,
                            r"--noise-std is 1: it belongs to SYNTH_CUVIS"),
    "reflectance without air": ([*SIZES, "--output=a", "--preset=cuvis",
                                 "--quantity=reflectance"], USAGE,
                                r"--quantity is reflectance: preset cuvis has no air"),
    "no quantity": (["--quantity=albedo"], USAGE, r"must be one of: radiance reflectance"),
    "npy in bsq": ([*SIZES, "--output=a", "--format=npy", "--interleave=bsq"], USAGE,
                   r"--interleave is not bip"),
    "a scale for floats": ([*SIZES, "--output=a", "--scale=2"], USAGE, r"--scale is for integers"),
    "16 bits in int16": ([*SIZES, "--output=a", "--type=int16"], USAGE, r"--type int16 holds 15"),
    "cuvis in integers": ([*SIZES, "--output=a", "--preset=cuvis", "--type=uint16"], USAGE,
                          r"--scale is missing"),
    "a cube beyond all": (["--output=a", "--height=1073741824", "--width=1073741824",
                           "--channels=1073741824"], USAGE, r"a cube may have at most"),
    "a disk too small": (["--output=a", "--height=100000", "--width=100000", "--channels=500",
                          "--cubes=100"], FILE, r"needs \d+ bytes \(2\.\d+e\+06 GB\), and \S+ has \d+ "),
    "no directory": ([*SIZES, "--output=none/a"], FILE, r"No such file or directory"),
    "a file for a directory": ([*SIZES, "--output=/dev/null/a"], FILE, r"Not a directory"),
    "no ini file": ([*SIZES, "--output=a", "--config=none.ini"], FILE, r"none.ini: No such file"),
}


def check_wrong(tap, program):
    for name, (words, code, expected) in WRONG.items():
        with place(program) as p:
            done = p.synth(*words)
            tap.check(done.code == code and re.search(expected, done.err) and done.out == "" and
                      p.files() == [], f"refused: {name}", done)


def check_existing(tap, program):
    for name in ("a.img", "a.hdr", "a_labels.img", "a_valid.hdr", "a.json", "a_endmembers.npy",
                 "a_wavelengths.npy", "a_gains.npy", "a_noise.npy", "a.png"):
        with place(program) as p:
            with open(p.path(name), "w") as file:
                file.write("mine")
            words = [*SIZES, "--output=a", "--preview"]
            done = p.synth(*words)
            tap.check(done.code == FILE and f"{name}: is there already" in done.err and
                      p.contents() == {name: b"mine"}, f"existing: {name} is kept", done)
            p.good(tap, f"existing: {name}, --force", *words, "--force")
            tap.check(len(p.files()) == 19 and p.contents()[name] != b"mine",
                      f"existing: {name} is replaced", p.files())


# -- the ini file ------------------------------------------------------------------------------

INI = """[tags]
mine = of the project
[synth]
; a comment
height = 7
width=9
channels = 4
snr_db = off
target-fraction = 0.25
seed = 9
quiet = yes
"""


def check_ini(tap, program, usage):
    with place(program) as p:
        with open(p.path("yieldpoint.ini"), "w") as file:
            file.write(INI)
        below = p.path("below")
        os.makedirs(below)
        done = run(program, "synth", "--output=a", "--width=3", cwd=below)
        tap.check((done.code, done.out, done.err) == (0, "", ""), "ini: the nearest above", done)
        document = json.load(open(os.path.join(below, "a.json")))["options"]
        tap.equal([document[k] for k in ("height", "width", "channels", "snr-db",
                                         "target-fraction", "seed")], [7, 3, 4, "off", 0.25, 9],
                  "ini: the command line wins")
        done = run(usage, "--markers", cwd=below)
        tap.check(done.code == 0 and "mine" in done.out, "ini: a suite leaves [synth] alone", done)
        with open(p.path("other.ini"), "w") as file:
            file.write("[synth]\nheight=2\n")
        done = p.synth("--config=other.ini", "--output=b", "--width=3", "--channels=2")
        tap.check(done.code == 0 and envi(p.path("b.img"))[0] == (2, 3, 2), "ini: --config", done)
        for section, code in (("sinth", USAGE), ("pages", 0)):
            with open(p.path("yieldpoint.ini"), "w") as file:
                file.write(f"[{section}]\nheight = 1\n")
            done = p.synth(*SIZES, f"--output={section}")
            tap.check(done.code == code and ("in [sinth]: the section" in done.err) == (code > 0),
                      f"ini: a section [{section}] of a shared file", done)
        os.remove(p.path("yieldpoint.ini"))
        for text, expected in (("[synth]\n\nheigth = 3\n", r"x.ini:3: 'heigth' in \[synth\]: known"),
                           ("[synth]\nheight = 0\n", r"x.ini:2: height is '0': must be a whole"),
                           ("[synth]\nshade = 0\n", r"x.ini:2: shade is '0': must be .* or off"),
                           ("[synth]\nconfig = a\n", r"x.ini:2: 'config' in \[synth\]"),
                           ("[sinth]\nheight = 1\n", r"x.ini:2: 'height' in \[sinth\]: the section"),
                           ("[synth]\nheight\n", r"x.ini:2: not a \[section\]")):
            with open(p.path("x.ini"), "w") as file:
                file.write(text)
            done = p.synth(*SIZES, "--config=x.ini", "--output=c")
            tap.check(done.code == USAGE and re.search(expected, done.err) and
                      not os.path.exists(p.path("c.img")), f"ini: {expected}", done)


# -- how it ends -------------------------------------------------------------------------------


def check_full(tap, program):
    for words in (["--format=npy"], ["--interleave=bsq"], ["--interleave=bip", "--threads=3"]):
        with place(program) as p:
            started = Started(
                program, "synth", "--height=200", "--width=200", "--channels=50", "--output=a",
                *words, cwd=p.folder, preexec_fn=lambda: resource.setrlimit(
                    resource.RLIMIT_FSIZE, (3000000, 3000000)))
            done = started.wait()
            tap.check(done.code == FILE and re.search(r"a\.\w+: cannot be written at byte \d+: File "
                                                      r"too large", done.err) and p.files() == [],
                      f"full: {words[0]} leaves nothing", (done, p.files()))
    with place(program) as p:
        p.good(tap, "full: before", "--height=9", "--width=9", "--channels=4", "--output=a")
        started = Started(program, "synth", "--height=200", "--width=200", "--channels=50", "--output=a", "--force",
                          "--quantity=reflectance", cwd=p.folder, preexec_fn=lambda: resource.setrlimit(
                              resource.RLIMIT_FSIZE, (3000000, 3000000)))
        done = started.wait()
        tap.check(done.code == FILE and "a.hdr" in p.files() and "a.json" not in p.files(),
                  "full: with --force no description of another cube stays", (done, p.files()))
    with place(program) as p:
        os.makedirs(p.path("small"))
        mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "none", p.path("small")],
                               capture_output=True, text=True, check=False)
        if mount.returncode != 0:
            tap.skip("full: a small disk", mount.stderr.strip() or "cannot mount")
            return
        try:
            done = p.synth("--height=200", "--width=200", "--channels=50", "--output=small/a")
            tap.check(done.code == FILE and re.search(r"needs \d+ bytes .* has 41943\d\d ", done.err)
                      and os.listdir(p.path("small")) == [], "full: a small disk is seen first", done)
        finally:
            subprocess.run(["umount", p.path("small")], check=False)


def whole(p, name, reference):
    """Under the final names is either what belongs there or nothing."""
    found = p.contents()
    wrong = [n for n in found if n not in reference or found[n] != reference[n]]
    headers = [n for n in found if n.endswith(".hdr") and n[:-4] + ".img" not in found]
    return wrong + headers


def check_killed(tap, program):
    many = ["--height=128", "--width=128", "--channels=64", "--cubes=10", "--output=k"]
    chance = random.Random(4)
    with place(program) as p:
        begun = time.monotonic()
        p.good(tap, "killed: the whole", *many)
        took, reference = time.monotonic() - begun, p.contents()
    for number, code in ((signal.SIGKILL, -9), (signal.SIGINT, 130), (signal.SIGTERM, 143)):
        ended = tries = 0
        # On a busy machine many may be over, or not have begun, when the signal comes.
        while tries < 5 or (ended == 0 and tries < 100):
            tries += 1
            with place(program) as p:
                started = Started(program, "synth", *many, cwd=p.folder)
                try:
                    time.sleep(chance.uniform(0.002, took * 0.9))
                    started.process.send_signal(number)
                    done = started.wait()
                finally:
                    started.end()
                ended += done.code == code
                # Before the command has begun, it is ended by the signal and has written nothing.
                early = done.code == -number and p.files() == []
                tap.check((early or done.code in (0, code)) and whole(p, "k", reference) == [],
                          f"killed: {number.name} leaves whole files only",
                          (done, whole(p, "k", reference)))
                if done.code in (130, 143):
                    cubes = re.search(r"interrupted: (\d+) of 10 cubes are whole", done.err)
                    there = [n for n in p.files() if re.fullmatch(r"k_\d+\.hdr", n)]
                    tap.check(cubes and len(there) == int(cubes[1]) and
                              "k.json" not in p.files(), "killed: it tells what is whole",
                              (done, p.files()))
        tap.check(ended > 0, f"killed: {number.name} came in time", ended)
    with place(program) as p:
        started = Started(program, "synth", "--height=4000", "--width=2000", "--channels=100",
                          "--format=npy", "--output=one", cwd=p.folder)
        time.sleep(0.5)
        started.process.send_signal(signal.SIGINT)
        done = started.wait()
        tap.check(done.code == 130 and p.files() == [], "killed: one .npy is there or not",
                  (done, p.files()))


# -- what is printed ---------------------------------------------------------------------------


def check_output(tap, program):
    with place(program) as p:
        done = p.good(tap, "output", *SIZES, "--output=a", "--cubes=2")
        tap.check(re.match(r"2 cubes of 7 x 9 x 20 \(ENVI bip, float32\) and the truth: 2520 values, "
                           r"\d+ bytes in .*s: .* values/s, .*B/s\ndescribed in a.json\n$", done.out),
                  "output: the report", done)
        size = sum(os.path.getsize(p.path(n)) for n in p.files() if n.endswith((".img", ".hdr")))
        tap.equal(int(re.search(r"(\d+) bytes", done.out)[1]), size, "output: the bytes there are")
        done = p.synth(*SIZES, "--output=b", "--quiet")
        tap.equal((done.code, done.out, done.err), (0, "", ""), "output: --quiet")
        done = p.synth(*SIZES, "--output=c", "--type=uint16", "--snr-db=off", "--preset=cuvis",
                       "--scale=1000")
        tap.check(done.code == USAGE, "output: an option of the other preset", done)
        done = p.good(tap, "clipped", *SIZES, "--output=c", "--type=uint16", "--preset=cuvis",
                      "--scale=1000")
        tap.check(re.search(r"\n\d+ values beyond the range of uint16 were clipped", done.out),
                  "output: what was clipped", done)
        done = p.synth("--help")
        tap.check(done.code == 0 and "--snr-db X|off" in done.out and done.err == "",
                  "output: --help", done)
        done = run(program, "--help")
        tap.check("yieldpoint synth --output" in done.out, "output: the general help names it", done)


def check_bar(tap, program):
    with place(program) as p:
        master, slave = pty.openpty()
        process = subprocess.Popen(
            [program, "synth", "--height=1000", "--width=1000", "--channels=100", "--output=a"],
            cwd=p.folder, stdout=subprocess.DEVNULL, stderr=slave, env=ENVIRONMENT)
        os.close(slave)
        seen = b""
        with contextlib.suppress(OSError):  # the end of a terminal
            while chunk := os.read(master, 4096):
                seen += chunk
        os.close(master)
        text = seen.decode()
        tap.check(process.wait(60) == 0 and re.search(
            r"\r\[#*\.*\] +\d+ %  [\d.]+ \w? ?values/s, [\d.]+ \w?B/s, .*s left\x1b\[K", text) and
            text.endswith("\r\x1b[K"), "output: a bar on a terminal", repr(text))


def main(program, dump, usage):
    global DUMP
    DUMP = dump
    tap = Tap()
    tap.run("formats", check_formats, tap, program, dump)
    tap.run("truth", check_truth, tap, program)
    tap.run("quantity", check_quantity, tap, program)
    tap.run("no light", check_no_light, tap, program)
    tap.run("optics", check_optics, tap, program)
    tap.run("sensor", check_sensor, tap, program)
    tap.run("headers", check_headers, tap, program)
    tap.run("again", check_again, tap, program)
    tap.run("many", check_many, tap, program)
    tap.run("processors", check_processors, tap, program)
    tap.run("levels", check_levels, tap, program)
    tap.run("numpy", check_numpy, tap, program)
    tap.run("preview", check_preview, tap, program)
    tap.run("wrong", check_wrong, tap, program)
    tap.run("existing", check_existing, tap, program)
    tap.run("ini", check_ini, tap, program, usage)
    tap.run("full", check_full, tap, program)
    tap.run("killed", check_killed, tap, program)
    tap.run("output", check_output, tap, program)
    tap.run("bar", check_bar, tap, program)
    tap.done()


main(*[os.path.abspath(p) for p in sys.argv[1:]])
