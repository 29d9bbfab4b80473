"""What Yieldpoint computes of hyperspectral data beside what others compute of the same data.

usage: parity.py BUILD [--threads N] [--rounds N] [--times N] [--seed N] [--only W] [--work FOLDER]
    BUILD     a build folder with cli/yieldpoint and tests/bench/parity, such as build/test
    --threads that both sides take (2)
    --rounds  in which both sides are timed, in turns that change their order (5)
    --times   that each side is timed in its turn (3)
    --only    sections whose name has one of these words, separated by commas
    --work    for files (a temporary folder)

Peers are Python packages: pip install numpy scipy scikit-learn spectral; and GDAL's command
gdal_translate. A section whose peer is missing is skipped with the reason; without NumPy nothing
can be compared. A difference is judged, or the ratio of medians over all rounds, theirs over ours.
Times are the calls' alone, without files, after one to warm up. Prints one table and ends with 1 when a bound is missed, with 2 when nothing was compared."""

import argparse
import importlib
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time


class Missing(Exception):
    """A peer that is not here."""


def need(*names):
    try:
        found = [importlib.import_module(name) for name in names]
    except ImportError as error:
        raise Missing(f"no {error.name}") from error
    return found[0] if len(found) == 1 else found


class Run:
    """The programs, their files and the table's rows."""

    def __init__(self, options, folder):
        self.options = options
        self.folder = folder
        self.program = os.path.abspath(os.path.join(options.build, "tests", "bench", "parity"))
        self.command = os.path.abspath(os.path.join(options.build, "cli", "yieldpoint"))
        self.rows = []
        for path in (self.program, self.command):
            if not os.access(path, os.X_OK):
                sys.exit(f"parity.py: {path} is not there; build it, with models")

    def path(self, name):
        return os.path.join(self.folder, name)

    def row(self, what, ours, peer, figure, bound, holds):
        verdict = "met" if holds else "NOT MET"
        self.rows.append((what, ours, peer, figure, bound, verdict))

    def skip(self, what, reason):
        self.rows.append((what, "", "", "", "", f"skipped: {reason}"))

    def off(self, what, ours, peer, difference, bound):
        """A difference that may not be above the bound; a NaN is."""
        self.row(what, ours, peer, f"{difference:.2g}", f"<= {bound:g}", difference <= bound)

    def faster(self, what, ours, peer, least):
        ours, peer = statistics.median(ours), statistics.median(peer)
        self.row(f"{what}: time", seconds(ours), seconds(peer), f"{peer / ours:.1f} x",
                 f">= {least:g} x", peer / ours >= least)

    def ours(self, work, *arguments):
        """Seconds of each time and what the program wrote."""
        out = self.path("out")
        done = subprocess.run([self.program, work, str(self.options.threads),
                               str(self.options.times), out, *map(str, arguments)],
                              stdout=subprocess.PIPE, text=True)
        if done.returncode != 0:
            sys.exit(f"parity.py: parity {work} exited with {done.returncode}")
        with open(out, "rb") as file:
            return [float(line) for line in done.stdout.split()], file.read()

    def synth(self, name, *options):
        done = subprocess.run([self.command, "synth", "--quiet", "--force",
                               f"--seed={self.options.seed}", f"--output={self.path(name)}",
                               *options], stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            sys.exit(f"parity.py: yieldpoint synth: {done.stderr}")

    def turns(self, ours, peer, rounds=None, times=None):
        """Seconds of both, and the last results. `times`: of the peer, when it is slow."""
        taken = {"ours": [], "peer": []}
        results = {}
        peer()  # as ours: once without being timed
        for turn in range(rounds or self.options.rounds):
            for side in (("ours", "peer"), ("peer", "ours"))[turn % 2]:
                if side == "ours":
                    spent, results[side] = ours()
                    taken[side] += spent
                    continue
                for _ in range(times or self.options.times):
                    start = time.perf_counter()
                    results[side] = peer()
                    taken[side].append(time.perf_counter() - start)
        return taken["ours"], taken["peer"], results["ours"], results["peer"]


def seconds(value):
    for scale, unit in ((1, "s"), (1e-3, "ms")):
        if value >= scale:
            return f"{value / scale:.3g} {unit}"
    return f"{value / 1e-6:.3g} us"


def scene(run, name, height, width, channels):
    """A default scene without dead pixels, as its path and as an array in double: what Spectral
    Python turns it into first, which is not timed."""
    np = need("numpy")
    run.synth(name, f"--height={height}", f"--width={width}", f"--channels={channels}",
              "--format=npy", "--dead-fraction=off")
    path = run.path(f"{name}.npy")
    return path, np.load(path).astype(np.float64)


def parts(np, data, *counts):
    """Doubles in those counts, then the rest as floats."""
    found = []
    at = 0
    for count in counts:
        found.append(np.frombuffer(data, np.float64, count, at))
        at += 8 * count
    return [*found, np.frombuffer(data, np.float32, -1, at)]


def largest(np, ours, peer):
    return float(np.abs(np.asarray(ours, np.float64) - peer).max() / np.abs(peer).max())


# -- sections ------------------------------------------------------------------------------------


def global_rx(run):
    np, spectral = need("numpy", "spectral")
    path, x = scene(run, "global", 256, 256, 100)
    channels = x.shape[2]
    flat = x.reshape(-1, channels)

    def work():
        found = spectral.calc_stats(x)
        return found, spectral.rx(x, background=found)

    ours, peer, data, (found, scores) = run.turns(lambda: run.ours("rx", path), work)
    mean, covariance, got = parts(np, data, channels, channels**2)
    what = "global RX, 256 x 256 x 100"
    right = np.cov(flat, rowvar=False)
    run.off(f"{what}: mean", "sums in double", "numpy", largest(np, mean, flat.mean(axis=0)), 1e-12)
    run.off(f"{what}: covariance", "products in float", "numpy",
            float(np.linalg.norm(covariance.reshape(right.shape) - right) / np.linalg.norm(right)),
            1e-6)
    # Sums in float are off by what is above, times the scene's condition.
    run.off(f"{what}: scores, relative", "float", "spectral",
            float(np.abs(got[:scores.size] / scores.ravel() - 1).max()), 1e-3)
    exact = parts(np, run.ours("rx-double", path)[1], channels, channels**2)[2]
    run.off(f"{what}: scores, relative", "sums in double", "spectral",
            float(np.abs(exact[:scores.size] / scores.ravel() - 1).max()), 1e-5)
    run.off(f"{what}: sum over (n - 1) C", f"{got[:scores.size].sum(dtype=np.float64):.9g}", "1",
            abs(got[:scores.size].sum(dtype=np.float64) / ((scores.size - 1) * channels) - 1), 1e-5)
    run.faster(what, ours, peer, 5)


def target_of(run, np, x):
    """One that lies off the background, in the cube's unit, as a file too."""
    flat = x.reshape(-1, x.shape[2])
    target = flat.mean(axis=0) * (1.2 + 0.2 * np.sin(np.arange(x.shape[2]) / 3))
    target = target.astype(np.float32)
    np.save(run.path("target.npy"), target.reshape(1, 1, -1))
    return target.astype(np.float64)


def matched_filter(run):
    np, spectral = need("numpy", "spectral")
    path, x = scene(run, "matched", 256, 256, 100)
    target = target_of(run, np, x)
    ours, peer, data, scores = run.turns(
        lambda: run.ours("filter", path, run.path("target.npy")),
        lambda: spectral.matched_filter(x, target))
    got, = parts(np, data)
    what = "matched filter, 256 x 256 x 100"
    run.off(f"{what}: scores, of the largest", "float", "spectral",
            largest(np, got[:scores.size], scores.ravel()), 1e-3)
    exact, = parts(np, run.ours("filter-double", path, run.path("target.npy"))[1])
    run.off(f"{what}: scores, of the largest", "sums in double", "spectral",
            largest(np, exact[:scores.size], scores.ravel()), 1e-6)
    run.faster(what, ours, peer, 5)


def ace(run):
    np, spectral = need("numpy", "spectral")
    path, x = scene(run, "matched", 256, 256, 100)
    target = target_of(run, np, x)
    ours, peer, data, scores = run.turns(lambda: run.ours("ace", path, run.path("target.npy")),
                                         lambda: spectral.ace(x, target))
    got, = parts(np, data)
    what = "ACE, 256 x 256 x 100"
    run.off(f"{what}: scores, of the largest", "float", "spectral",
            largest(np, got[:scores.size], scores.ravel()), 1e-3)
    exact, = parts(np, run.ours("ace-double", path, run.path("target.npy"))[1])
    run.off(f"{what}: scores, of the largest", "sums in double", "spectral",
            largest(np, exact[:scores.size], scores.ravel()), 3e-6)
    run.faster(what, ours, peer, 5)


def local_rx(run):
    np, spectral = need("numpy", "spectral")
    inner, outer = 5, 15
    for height, width, channels in ((40, 50, 10), (20, 25, 50)):
        path, x = scene(run, "local", height, width, channels)
        ours, peer, data, scores = run.turns(lambda: run.ours("local", path, inner, outer),
                                             lambda: spectral.rx(x, window=(inner, outer)),
                                             min(3, run.options.rounds), 1)
        got, = parts(np, data)
        what = f"local RX ({inner}, {outer}), {height} x {width} x {channels}"
        run.off(f"{what}: scores", "float", "spectral",
                float(np.abs(got / scores.astype(np.float64).ravel() - 1).max()), 1e-6)
        run.faster(what, ours, peer, 5)


def mnf(run):
    np, spectral = need("numpy", "spectral")
    path, x = scene(run, "mnf", 256, 256, 100)
    channels = x.shape[2]

    def work():
        found = spectral.mnf(spectral.calc_stats(x), spectral.noise_from_diffs(x))
        return found, found.reduce(x, num=channels)

    ours, peer, data, (found, right) = run.turns(lambda: run.ours("mnf", path), work)
    values, noise, got = parts(np, data, channels, channels**2)
    what = "MNF, 256 x 256 x 100"
    run.off(f"{what}: noise covariance", "half of differences", "spectral",
            float(np.linalg.norm(noise.reshape(channels, channels) - found.noise.cov) /
                  np.linalg.norm(found.noise.cov)), 1e-6)
    run.off(f"{what}: eigenvalues", f"{values[0]:.6g} ..", f"{found.napc.eigenvalues[0]:.6g} ..",
            float(np.abs(values / found.napc.eigenvalues - 1).max()), 3e-4)
    # Signs are free, and components whose eigenvalues are alike may turn: those that stand apart.
    got = got[:right.size].reshape(-1, channels)
    right = right.reshape(-1, channels)
    apart = 5
    signs = np.sign((got[:, :apart] * right[:, :apart]).sum(axis=0))
    run.off(f"{what}: first {apart} components, of their largest value", "float", "spectral",
            max(largest(np, got[:, k] * signs[k], right[:, k]) for k in range(apart)), 1e-4)
    run.faster(what, ours, peer, 5)


def roc_auc(run):
    np, metrics = need("numpy", "sklearn.metrics")
    rng = np.random.default_rng(run.options.seed)
    n = 1000000
    labels = (rng.random(n) < 0.01).astype(np.uint8)
    scores = (rng.standard_normal(n) + labels).astype(np.float32)
    scores = np.round(scores, 3)  # with ties
    scores.tofile(run.path("scores"))
    labels.tofile(run.path("labels"))
    ours, peer, data, right = run.turns(
        lambda: run.ours("auc", run.path("scores"), run.path("labels"), n),
        lambda: metrics.roc_auc_score(labels, scores))
    value = float(np.frombuffer(data, np.float64)[0])
    what = "ROC-AUC, 1e6 scores with ties"
    run.off(what, f"{value:.12g}", f"{right:.12g} (scikit-learn)", abs(value - right), 1e-12)
    run.faster(what, ours, peer, 1)


def normals(run):
    np, stats = need("numpy", "scipy.stats")
    n = 10000000
    rng = np.random.default_rng(run.options.seed)
    ours, peer, data, _ = run.turns(lambda: run.ours("normals", n, run.options.seed),
                                    lambda: rng.standard_normal(n, dtype=np.float32))
    z = np.frombuffer(data, np.float32).astype(np.float64)
    what = "normals, 1e7"
    wide = np.sqrt(n)
    for name, value, wanted, deviation in (
            ("mean", z.mean(), 0, 1), ("variance", z.var(), 1, np.sqrt(2)),
            ("skewness", float(stats.skew(z)), 0, np.sqrt(6)),
            ("excess kurtosis", float(stats.kurtosis(z)), 0, np.sqrt(24)),
            ("lag-1 correlation", float((z[1:] * z[:-1]).mean()), 0, 1)):
        run.row(f"{what}: {name}", f"{value:.3g}", f"{wanted} (theory)",
                f"{(value - wanted) / deviation * wide:+.2f} sigma", "4 sigma",
                abs(value - wanted) / deviation * wide <= 4)
    distance = stats.kstest(z, "norm").statistic
    # Kolmogorov's distribution leaves 1e-4 beyond 2.2.
    run.off(f"{what}: Kolmogorov distance times root n", "", "scipy", float(distance * wide), 2.2)
    run.faster(f"{what}, beside numpy's", ours, peer, 1)


FORMATS = [(order, kind, big) for order in ("bip", "bil", "bsq")
           for kind in ("float32", "uint16", "int16") for big in ("no", "yes")]
SIZES = ("--height=31", "--width=23", "--channels=19", "--bits=12", "--dead-fraction=off")


def files_of(run, read):
    """How many formats are read as the same scene in .npy, which NumPy reads."""
    np = need("numpy")
    equal = 0
    for order, kind, big in FORMATS:
        run.synth("plain", *SIZES, "--format=npy", f"--type={kind}")
        run.synth("stored", *SIZES, "--format=envi", f"--type={kind}", f"--interleave={order}",
                  f"--big-endian={big}")
        wanted = np.load(run.path("plain.npy"))
        got = read(run.path("stored"))
        equal += got.shape == wanted.shape and bool((got == wanted).all())
    return equal


def spectral_files(run):
    np, envi = need("numpy", "spectral.io.envi")

    def read(path):
        return np.asarray(envi.open(path + ".hdr", path + ".img").load(scale=False,
                                                                       dtype=np.float64))

    equal = files_of(run, read)
    run.row("files, 3 orders x 3 types x 2 byte orders", "yieldpoint synth", "spectral",
            f"{equal} equal", f"{len(FORMATS)}", equal == len(FORMATS))


def gdal_files(run):
    np = need("numpy")
    if shutil.which("gdal_translate") is None:
        raise Missing("no gdal_translate")

    def read(path):
        subprocess.run(["gdal_translate", "-q", "-of", "ENVI", "-co", "INTERLEAVE=BIP", "-ot",
                        "Float64", path + ".img", run.path("copy.img")], check=True)
        return np.fromfile(run.path("copy.img"), np.float64).reshape(31, 23, 19)

    equal = files_of(run, read)
    run.row("files, 3 orders x 3 types x 2 byte orders", "yieldpoint synth", "GDAL",
            f"{equal} equal", f"{len(FORMATS)}", equal == len(FORMATS))


SECTIONS = {"global RX": global_rx, "matched filter": matched_filter, "ACE": ace,
            "local RX": local_rx, "MNF": mnf, "ROC-AUC": roc_auc, "normals": normals,
            "files by Spectral Python": spectral_files, "files by GDAL": gdal_files}


def versions():
    found = [f"Python {sys.version.split()[0]}"]
    for name in ("numpy", "scipy", "sklearn", "spectral"):
        try:
            found.append(f"{name} {importlib.import_module(name).__version__}")
        except ImportError:
            found.append(f"no {name}")
    return ", ".join(found)


def table(rows):
    head = ("what", "ours", "peer", "difference or ratio", "bound", "verdict")
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for row in rows:
        print(f"| {' | '.join(row)} |")


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n")[2][len("usage: "):],
                                     description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--work")
    options = parser.parse_args()
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(options.threads)  # before NumPy is loaded
    words = [word.lower() for word in options.only.split(",") if word]
    with tempfile.TemporaryDirectory() as own:
        run = Run(options, options.work or own)
        for name, section in SECTIONS.items():
            if words and not any(word in name.lower() for word in words):
                continue
            print(f"{name} ...", file=sys.stderr, flush=True)
            try:
                section(run)
            except Missing as missing:
                run.skip(name, missing)
    print(f"{versions()}; {options.threads} threads, medians of {options.rounds} rounds in turns, "
          f"{options.times} times each, "
          f"seed {options.seed}\n")
    table(run.rows)
    judged = [row[-1] for row in run.rows if not row[-1].startswith("skipped")]
    missed = judged.count("NOT MET")
    print(f"\n{len(judged) - missed} met, {missed} not met, {len(run.rows) - len(judged)} skipped")
    sys.exit(1 if missed else 0 if judged else 2)


if __name__ == "__main__":
    main()
