"""What Yieldpoint computes of hyperspectral data beside what others compute of the same data.

usage: parity.py BUILD [--threads N] [--rounds N] [--times N] [--seed N] [--only W] [--work FOLDER]
    BUILD     a build folder with cli/yieldpoint, tests/bench/parity and parity-torch: build/test
    --threads that both sides take (2)
    --rounds  in which both sides are timed, in turns that change their order (5)
    --times   that each side is timed in its turn (3)
    --only    sections whose name has one of these words, separated by commas
    --work    for files (a temporary folder)

Peers are Python packages: pip install numpy scipy scikit-learn spectral torch; and GDAL's command
gdal_translate. A section whose peer is missing is skipped with the reason; without NumPy nothing
can be compared. A difference is judged, or the ratio of medians over all rounds, theirs over ours.
Times are the calls' alone, without files, after one to warm up. Prints one table and ends with 1
when a bound is missed, with 2 when nothing was compared."""

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
    found = []
    for name in names:
        try:
            found.append(importlib.import_module(name))
        except ModuleNotFoundError as error:
            raise Missing(f"no {error.name}") from error
        except ImportError as error:
            raise Missing(f"{name} cannot be loaded: {error}") from error
    return found[0] if len(found) == 1 else found


class Run:
    """The programs, their files and the table's rows."""

    def __init__(self, options, folder):
        self.options = options
        self.folder = folder
        self.program = os.path.abspath(os.path.join(options.build, "tests", "bench", "parity"))
        self.torch = os.path.abspath(os.path.join(options.build, "tests", "bench", "parity-torch"))
        self.command = os.path.abspath(os.path.join(options.build, "cli", "yieldpoint"))
        self.rows = []
        for path in (self.program, self.torch, self.command):
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

    def pipeline(self, name, path, labels):
        """A pipeline of parity_torch.c: its lines, by their first word, and what it wrote."""
        out = self.path("out")
        done = subprocess.run([self.torch, name, str(self.options.threads),
                               str(self.options.times), out, path, labels],
                              stdout=subprocess.PIPE, text=True)
        if done.returncode != 0:
            sys.exit(f"parity.py: parity-torch {name} exited with {done.returncode}")
        lines = {"tensor": [], "option": [], "seconds": []}
        for line in done.stdout.splitlines():
            word, *rest = line.split()
            lines[word].append(rest)
        with open(out, "rb") as file:
            return lines, file.read()

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
                # The threads of the other side's products go on spinning for some 30 ms.
                time.sleep(0.3)
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


# -- the pipelines of models/rx/pipeline/nodes.h, by autograd --------------------------------------

RX_GLOBAL, RX_IMAGE, RX_LAD, RX_AUTOENCODER = range(4)  # enum rx_detector


def pipeline_loss(torch, p, o, x, y):
    """The loss of pixels x (tiles, pixels, channels) with labels y (tiles, pixels): parameters p by
    name, options o by name. Formulas are those of nodes.h."""
    extra = 0
    v = x
    if "min" in p:
        v = (v - p["min"]) / torch.clamp(p["max"] - p["min"], min=1e-6)
    if "logits" in p:
        temperature = p["temperature"] if "temperature" in p else o["temperature"]
        share = torch.softmax(p["logits"] / temperature, dim=0)
        weights = o["keep"] * share
        v = v * weights
        entropy = -(share * torch.log(share)).sum()
        extra = extra - o["entropy"] * entropy
        extra = extra - o["diversity"] * ((weights - weights.mean()) ** 2).mean()
    if "W" in p:
        w = p["W"].reshape(-1, x.shape[-1])
        centred = v - p["mean"]
        v = centred @ w.T
        left = centred - v @ w
        unit = torch.eye(len(w), dtype=w.dtype)
        extra = extra + o["orthogonality"] * ((w @ w.T - unit) ** 2).sum()
        if o["whiten"]:
            v = v / torch.sqrt(torch.exp(p["log_variance"]) + 1e-6)
    width = v.shape[-1]
    if o["detector"] == RX_AUTOENCODER:
        hidden = v @ p["W1"].reshape(-1, width).T + p["b1"]
        output = hidden @ p["W2"].reshape(width, -1).T + p["b2"]
        return ((output - v) ** 2).mean()
    if o["detector"] == RX_IMAGE:
        z = v - v.mean(dim=1, keepdim=True)
        covariance = z.transpose(1, 2) @ z / (v.shape[1] - 1)
        matrix = torch.linalg.inv(covariance + o["eps"] * torch.eye(width, dtype=v.dtype))
    else:
        z = v - (p["M"] if o["detector"] == RX_LAD else p["mu"])
        matrix = (p["L"] if o["detector"] == RX_LAD else p["A"]).reshape(width, width)
    scores = ((z @ matrix) * z).sum(dim=-1)
    if "residual" in p:
        scores = scores + p["residual"] * (left ** 2).sum(dim=-1)
    logits = p["scale"] * (scores - p["bias"])
    loss = torch.nn.functional.binary_cross_entropy_with_logits(
        logits, y, pos_weight=torch.tensor(o["positive_weight"], dtype=x.dtype))
    return 10 * loss + extra


def by_torch(torch, kind, lines, parameters, x, y):
    """A function that gives loss and gradients by name, in one floating-point type."""
    options = {name: float(value) for name, value in lines["option"]}
    p = {}
    for name, offset, count in lines["tensor"]:
        offset, count = int(offset), int(count)
        p[name] = torch.tensor(parameters[offset:offset + count], dtype=kind, requires_grad=True)
    x, y = torch.tensor(x, dtype=kind), torch.tensor(y, dtype=kind)

    def step():
        for tensor in p.values():
            tensor.grad = None
        loss = pipeline_loss(torch, p, options, x, y)
        loss.backward()
        return loss.item(), {name: tensor.grad for name, tensor in p.items()}

    return step


def scene_with_labels(run, np, name, side, channels):
    """Path of a cube, path of its labels, and both as arrays by tiles of 4096 pixels."""
    path, _ = scene(run, name, side, side, channels)
    labels = (np.load(run.path(f"{name}_labels.npy")).reshape(-1) != 0).astype(np.uint8)
    labels.tofile(run.path(f"{name}.labels"))
    values = np.load(path).reshape(-1, 4096, channels)
    return path, run.path(f"{name}.labels"), values, labels.reshape(-1, 4096)


def worst_gradient(np, lines, gradient, right):
    """The largest difference relative to a tensor's largest element, and that tensor's name."""
    found = []
    for name, offset, count in lines["tensor"]:
        wanted = right[name]
        if wanted is None:  # statistics of the image itself: nothing depends on this tensor
            continue
        got = gradient[int(offset):int(offset) + int(count)]
        found.append((largest(np, got, wanted.numpy().ravel()), name))
    return max(found)


# Bounds of gradients in float, three to five times what seeds 1 to 4 gave. Those of the loss were
# 2e-8 at most, and 3e-13 at most was what the plain loops in double are off.
PIPELINES = (("rx", 1e-5), ("minmax-rx", 2e-5), ("selector-rx", 1e-5), ("pca-rx", 2e-5),
             ("whitened-pca-rx", 1e-4), ("residual-pca-rx", 6e-5),
             ("image-rx", 3e-6), ("lad", 2e-5), ("autoencoder", 1e-6))


def pipelines(run):
    np, torch = need("numpy", "torch")
    torch.set_num_threads(run.options.threads)
    small = scene_with_labels(run, np, "pipelines", 64, 20)
    large = scene_with_labels(run, np, "pipelines-large", 256, 100)
    for name, bound in PIPELINES:
        path, labels, x, y = small
        lines, data = run.pipeline(name, path, labels)
        count = sum(int(tensor[2]) for tensor in lines["tensor"])
        parameters, rest = data[:4 * count], data[4 * count:]
        parameters = np.frombuffer(parameters, np.float32)
        loss, = np.frombuffer(rest, np.float64, 1)
        gradient = np.frombuffer(rest, np.float32, count, 8)
        plain_loss, *plain = np.frombuffer(rest, np.float64, 1 + count, 8 + 4 * count)
        right, gradients = by_torch(torch, torch.float64, lines, parameters, x, y)()
        what = f"pipeline {name}, 64 x 64 x 20"
        run.off(f"{what}: loss", f"{loss:.9g}", f"{right:.9g} (autograd, double)",
                abs(loss / right - 1), 6e-8)
        worst, tensor = worst_gradient(np, lines, gradient, gradients)
        run.off(f"{what}: {len(lines['tensor'])} gradients, of their largest element",
                f"float, worst of {tensor}", "autograd, double", worst, bound)
        worst, tensor = worst_gradient(np, lines, np.array(plain), gradients)
        run.off(f"{what}: loss and gradients", f"plain loops in double, worst of {tensor}",
                "autograd, double", max(worst, abs(plain_loss / right - 1)), 1e-12)
        time_pipeline(run, np, torch, name, large)


def time_pipeline(run, np, torch, name, data):
    """Loss and gradient in float, on both sides."""
    path, labels, x, y = data
    lines, raw = run.pipeline(name, path, labels)
    count = sum(int(tensor[2]) for tensor in lines["tensor"])
    step = by_torch(torch, torch.float32, lines, np.frombuffer(raw, np.float32, count), x, y)

    def ours():
        lines, _ = run.pipeline(name, path, labels)
        return [float(value) for value, in lines["seconds"]], None

    taken, peer, _, _ = run.turns(ours, step)
    run.faster(f"pipeline {name}, 256 x 256 x 100, loss and gradient", taken, peer, 1)


def adamw(run):
    np, torch = need("numpy", "torch")
    count, steps = 10000, 100
    rng = np.random.default_rng(run.options.seed)
    start = rng.standard_normal(count).astype(np.float32)
    gradients = (rng.standard_normal((steps, count)) *
                 10 ** rng.uniform(-6, 3, count)).astype(np.float32)
    start.tofile(run.path("parameters"))
    gradients.tofile(run.path("gradients"))
    out = run.path("out")
    done = subprocess.run([run.torch, "adamw", "-", "-", out, run.path("parameters"),
                           run.path("gradients"), str(count), str(steps)])
    if done.returncode != 0:
        sys.exit(f"parity.py: parity-torch adamw exited with {done.returncode}")
    got = np.fromfile(out, np.float32)
    # Parameters in float round alike in every step, PyTorch's too: the second bound.
    for kind, name, bound in ((torch.float32, "float", 5e-7), (torch.float64, "double", 1e-5)):
        p = torch.tensor(start, dtype=kind, requires_grad=True)
        optimiser = torch.optim.AdamW([p])
        for gradient in gradients:
            p.grad = torch.tensor(gradient, dtype=kind)
            optimiser.step()
        run.off(f"AdamW, {steps} steps of {count} parameters, of the largest", "float",
                f"torch.optim.AdamW in {name}", largest(np, got, p.detach().double().numpy()),
                bound)


SECTIONS = {"global RX": global_rx, "matched filter": matched_filter, "ACE": ace,
            "local RX": local_rx, "MNF": mnf, "ROC-AUC": roc_auc, "normals": normals,
            "files by Spectral Python": spectral_files, "files by GDAL": gdal_files,
            "pipelines by PyTorch": pipelines, "AdamW by PyTorch": adamw}


def versions():
    found = [f"Python {sys.version.split()[0]}"]
    for name in ("numpy", "scipy", "sklearn", "spectral", "torch"):
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
