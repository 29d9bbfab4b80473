"""A user's own cubes, as they are found: `--cube FILE` of the stress suite leaves out what has no data, says so, and
refuses a cube only when nothing is left.

    own_cubes.py STRESS-PROGRAM CUBE-DUMP
"""

import array
import os
import random
import re
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from cubes import dumped  # noqa: E402
from program import results, rows, run  # noqa: E402
from tap import Tap  # noqa: E402

SCORES, FIGURES = "stress/rx_disk.c::cube", "stress/scene_credible.c::credible_cube"
CODES = {2: "h", 4: "f", 12: "H"}
BANDS = 6
FLOAT_MAX = 3.4028234663852886e38


class Folder:
    def __init__(self, tap, program, path):
        self.tap, self.program, self.path, self.runs = tap, program, path, 0

    def write(self, name, data):
        with open(os.path.join(self.path, name), "wb") as file:
            file.write(data)

    def cube(self, name, values, lines="", shape=(40, 40), kind=4, order="bip", ending=".img"):
        """The header and the raw file of height x width x BANDS values, BIP."""
        height, width = shape
        self.write(name + ".hdr", f"ENVI\nsamples = {width}\nlines = {height}\nbands = {BANDS}\ndata type = {kind}\n"
                                  f"interleave = {order}\nbyte order = 0\n{lines}\n".encode())
        self.write(name + ending, array.array(CODES[kind], values).tobytes())

    def run(self, test, names, *words):
        """{name: (outcome, reason or failure, values)} and what was printed."""
        self.runs += 1
        history = os.path.join(self.path, f"{self.runs}.db")
        done = run(self.program, "--history", history, "--speed=off", "-s", "-v", "-j2", test, *words,
                   *[word for name in names for word in ("--cube", name + ".hdr")], cwd=self.path)
        found = {}
        for case, result in results(history).items():
            values = rows(history, "SELECT name, value FROM value WHERE result_id = ?", result["id"])
            why = result["reason"] or "; ".join(f["message"] for f in result["failures"])
            found[os.path.basename(case).removesuffix(".hdr]")] = (
                result["outcome"], why, {row["name"]: row["value"] for row in values})
        self.tap.equal(sorted(found), sorted(names), f"{test} {words}: all cubes are tried")
        return found, done


def spectra(pixels, seed=1):
    """Bands that go together, and each its own noise; all above 0."""
    source = random.Random(seed)
    values = []
    for _ in range(pixels):
        light = source.gauss(0.5, 0.1)
        values += [abs(light + source.gauss(0, 0.02 + 0.01 * b)) + 1e-3 for b in range(BANDS)]
    return values


def filled(values, fill, pixels):
    """With `fill` in all bands of these pixels."""
    values = list(values)
    for p in pixels:
        values[p * BANDS:(p + 1) * BANDS] = [fill] * BANDS
    return values


def with_band(values, band, fill, pixels):
    values = list(values)
    for p in pixels:
        values[p * BANDS + band] = fill
    return values


def counts(pixels, without=0, zeros=0, left_out=0, alive=None):
    return {"pixels": pixels, "pixels without data": without, "pixels of zeros": zeros,
            "channels left out": left_out, "channels alive": BANDS - left_out if alive is None else alive}


def check_gaps(tap, f):
    """What of them counts, by the values that the case records."""
    values = spectra(1600)
    integers = [round(v * 1e4) for v in values]
    corner = [p for p in range(1600) if p % 40 + p // 40 < 38 or p % 40 - p // 40 > 20]  # of a rotated flight line
    left = 1600 - len(corner)
    every = range(1600)
    wanted = {}

    def cube(name, counted, *arguments, **more):
        wanted[name] = counted
        f.cube(name, *arguments, **more)

    cube("blank_band", counts(1600, left_out=1), with_band(integers, 3, -32768, every),
         "data ignore value = -32768", kind=2)
    cube("bad_band", counts(1600, left_out=2), values, "bbl = {1, 0, 1, 1, 0, 1}")
    cube("sparse_band", counts(left, len(corner), left_out=1),
         filled(with_band(values, 2, -1, [p for p in every if p % 3]), -1, corner), "data ignore value = -1")
    cube("rotated", counts(left, len(corner)), filled(values, -9999, corner), "data ignore value = -9999")
    cube("zero_fill", counts(left, len(corner), len(corner)), filled(values, 0, corner))
    cube("zero_fill_bad_band", counts(left, len(corner), len(corner), 1),
         with_band(filled(values, 0, corner), 5, 7, every), "bbl = {1, 1, 1, 1, 1, 0}")
    cube("zero_fill_with_offsets", counts(left, len(corner), len(corner)), filled(integers, 0, corner),
         "data gain values = {1, 1, 2, 1, 1, 1}\ndata offset values = {-0.1, 0, 0.1, 1, 1e-9, 3}", kind=12)
    cube("zero_fill_of_unsigned", counts(left, len(corner), len(corner)), filled(integers, 0, corner),
         "data ignore value = -9999", kind=12)
    cube("zeros_are_data", counts(1600), filled(values, 0, corner), "data ignore value = -9999")
    cube("rounded", counts(1440, 160), filled(values, -FLOAT_MAX, range(160)), "data ignore value = -3.40282e+38")
    cube("empty_and_twice", counts(1600), values,
         "data ignore value =\nbbl = {}\nwavelength = { }\nfwhm = {}\nreflectance scale factor =\n"
         "data gain values = {}\ndescription = {a}\ndescription = {b}", ending=".hyspex")
    cube("two_raw", counts(1600), values, order="bip", ending=".bip")
    f.write("two_raw.bsq", bytes(4 * len(values)))
    found, done = f.run(SCORES, wanted)
    for name, counted in wanted.items():
        outcome, why, got = found[name]
        tap.equal((outcome, {key: got.get(key) for key in counted}), ("passed", counted), f"{name} is scored")
    for line in ("1 of 6 channels left out (no data in most pixels that have any): 3", "(bbl is 0): 1, 4",
                 f"{len(corner)} of 1600 pixels have no data",
                 f"{len(corner)} of these are 0 in all channels: the file declares no data ignore value that it can "
                 "hold"):
        tap.check(line in done.out, f"it says '{line}'", done)


def check_refused(tap, f):
    """Nothing is left, the header contradicts itself, or there is a choice."""
    values = spectra(100)
    wanted = {"fill": "nothing is left of the cube: .* no pixel has data", "zeros": "100 of 100 are 0 there",
              "all_bad": "6 of 6 channels are left out", "twice": "samples is there again, and in line 2",
              "which": "2 files may be its raw file"}
    f.cube("fill", [-1] * 600, "data ignore value = -1", (10, 10))
    f.cube("zeros", [0] * 600, "", (10, 10))
    f.cube("all_bad", values, "bbl = {0, 0, 0, 0, 0, 0}", (10, 10))
    f.cube("twice", values, "samples = 20", (10, 10))
    f.cube("which", values, "", (10, 10), ending=".raw")
    f.cube("which", values, "", (10, 10), ending=".dat")
    found, done = f.run(SCORES, wanted)
    for name, message in wanted.items():
        outcome, why, _ = found[name]
        tap.check(outcome == "failed" and re.search(message, why), f"{name} is refused", (outcome, why))
    tap.equal(done.code, 1, "a cube that is refused fails")


def check_options(tap, f):
    """What the detector advises can be done."""
    values = spectra(1600)
    values = [values[i - 1] if i % BANDS == 5 else v for i, v in enumerate(values)]
    near = [v + 4e-4 * (i * 7 % 11 - 5) if i % BANDS == 5 else v for i, v in enumerate(values)]
    f.cube("twins", values)
    f.cube("near", near)
    f.cube("line", spectra(6), "", (1, 6))
    f.cube("one", spectra(1), "", (1, 1))
    outcome, why, _ = f.run(SCORES, ["twins"])[0]["twins"]
    tap.check(outcome == "failed" and "use a larger eps (here --precision fp64, --eps X" in why,
              "a band that others explain is refused with the options", why)
    for name, words, alive in (("twins", ["--eps=1e-6"], 6), ("twins", ["--shrink=0.01"], 6),
                               ("twins", ["--leave-out=0,5"], 4), ("near", ["--precision=fp64"], 6),
                               ("near", ["--max-error=inf"], 6), ("line", ["--eps=1e-3", "--shrink=0.1"], 6)):
        outcome, why, got = f.run(SCORES, [name], *words)[0][name]
        tap.equal((outcome, got.get("channels alive")), ("passed", alive), f"{name} is scored with {words}: {why}")
    for word, message in (("--eps=much", "--eps is 'much': must be a number"),
                          ("--precision=half", "--precision is 'half': must be fp32"),
                          ("--leave-out=2-9", "--leave-out is '2-9': must be channels from 0 to 5")):
        outcome, why, _ = f.run(SCORES, ["near"], word)[0]["near"]
        tap.check(outcome == "failed" and message in why, f"refuses {word}", why)
    found = f.run(SCORES, ["line", "one"])[0]
    for name, message in (("line", "6 pixels with data give no covariance of 6 channels; --eps or --shrink"),
                          ("one", "1 pixels have data in all channels that are left, of which 0 are not constant")):
        outcome, why, _ = found[name]
        tap.check(outcome == "skipped" and message in why, f"{name} has no scores", (outcome, why))


def check_gains(tap, f, dump):
    """Stored numbers become physical values."""
    gains, offsets = [5e-5, 1e-4, 2e-4, 3e-4, 4e-4, 5e-4], [-0.1, 0, 0.1, 0.1, 0.15, 0.2]
    stored = [round(v * 1e4) for v in spectra(1600)]
    lists = [",".join(map(str, values)) for values in (gains, offsets)]
    f.cube("stored", stored, f"data gain values = {{{lists[0]}}}\ndata offset values = {{{lists[1]}}}", kind=12)
    read = dumped(dump, os.path.join(f.path, "stored.hdr"), "scaled")[1]
    physical = [v * gains[i % BANDS] + offsets[i % BANDS] for i, v in enumerate(stored)]
    tap.check(all(abs(a - b) < 1e-6 for a, b in zip(read, physical)), "gains and offsets are applied")
    f.cube("both", stored, f"reflectance scale factor = 10000\ndata gain values = {{{lists[0]}}}", kind=12)
    f.cube("short", stored, "data gain values = {1, 2, 3}", kind=12)
    done = f.run(SCORES, ["both", "short"])[1]
    for why in ("the reflectance scale factor is", "they must be lists of one number for each band"):
        tap.check(f"note: data gain and offset values are not applied: {why}" in done.out, f"it says: {why}", done)


def check_figures(tap, f):
    """There is no figure where a cube has no such value."""
    f.cube("narrow", spectra(360), "", (40, 9))
    found, done = f.run(FIGURES, ["narrow"])
    outcome, why, values = found["narrow"]
    tap.check(outcome == "passed" and "SNR dB" in values and "correlation 8 apart" not in values,
              "nine columns have no pixels 8 apart, and the other figures", (outcome, why, values))
    tap.check(done.out.count("correlation 8 apart            -") == 1, "which is shown as -", done)


def main(program, dump):
    tap = Tap()
    with tempfile.TemporaryDirectory() as path:
        f = Folder(tap, program, path)
        tap.run("gaps", check_gaps, tap, f)
        tap.run("refused", check_refused, tap, f)
        tap.run("options", check_options, tap, f)
        tap.run("gains", check_gains, tap, f, dump)
        tap.run("figures", check_figures, tap, f)
    tap.done()


main(*[os.path.abspath(p) for p in sys.argv[1:]])
