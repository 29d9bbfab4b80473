"""What the peers share: results as JSON lines, timing, threads, and the image they all work on."""

import importlib
import json
import os
import platform
import sys
import time

MIN_SAMPLES, MAX_SAMPLES = 8, 100  # 8: as many as an interval of 99 % needs
SECONDS = 1.0  # of samples, where more than the least are taken
MATERIALS = 7  # the last one is the target's

# What covariance and mean may be off by. Cases in double hold the formula; sums of 65,536 products
# in float are off by 1.5e-5 when their roundings go like a random walk.
DOUBLE, FLOAT = (1e-10, 1e-10), (5e-5, 1e-4)


def report(**result):
    print(json.dumps(result), flush=True)


def need(*names):
    """The modules, or the case is skipped with the reason."""
    try:
        modules = [importlib.import_module(name) for name in names]
    except ImportError as error:
        report(skip=str(error))
        sys.exit(0)
    print(f"python {platform.python_version()}",
          *(f"{name} {getattr(module, '__version__', '')}"
            for name, module in zip(names, modules) if "." not in name),
          f"threads {os.environ.get('OMP_NUM_THREADS', 'unset')}",
          f"OPENBLAS_CORETYPE {os.environ.get('OPENBLAS_CORETYPE', 'unset')}", flush=True)
    return modules[0] if len(modules) == 1 else modules


def expect(holds, text):
    if not holds:
        report(fail=text)


def measure(name, work, items, unit, flops=0, nbytes=0):
    """Times `work`, reports that and the processors that it kept busy, and returns its last result.

    More processors than the threads it was given fail the case: the comparison would be unfair.
    """
    once = os.environ.get("YIELDPOINT_SPEED") == "off"
    warmup = 0 if once else 2
    for _ in range(warmup):
        result = work()
    seconds = []
    busy = 0.0
    while len(seconds) < (1 if once else MIN_SAMPLES) or (
            not once and sum(seconds) < SECONDS and len(seconds) < MAX_SAMPLES):
        result = None  # its memory, before there is another
        cpu, start = time.process_time(), time.perf_counter()
        result = work()
        seconds.append(time.perf_counter() - start)
        busy += time.process_time() - cpu
    report(measure=name, seconds=seconds, warmup=warmup, items=items, unit=unit, flops=flops,
         bytes=nbytes)
    processors = busy / sum(seconds)
    report(value=f"processors of {name}", number=processors)
    threads = int(os.environ.get("OMP_NUM_THREADS", "0"))
    expect(threads == 0 or processors < threads + 0.2 or sum(seconds) < 0.1,
           f"{name} kept {processors:.2f} processors busy and was given {threads}")
    return result


# -- the image, as peers.c makes it ----------------------------------------------------------


def words(np, seed, first, count):
    """Words first .. first + count - 1 of SplitMix64; numpy's arithmetic is modulo 2^64."""
    z = np.arange(first + 1, first + count + 1, dtype=np.uint64)
    z *= np.uint64(0x9E3779B97F4A7C15)
    z += np.uint64(seed)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def spectra(np, seed, channels):
    """(MATERIALS, channels): three bumps on a level each."""
    at = np.arange(channels) * 4095 // max(1, channels - 1)
    out = np.full((MATERIALS, channels), 200, np.int64)
    for i, word in enumerate(map(int, words(np, seed, 0, 3 * MATERIALS))):
        square = (256 + (word >> 16) % 1024) ** 2
        bump = (256 + (word >> 32) % 1024) * (square - (at - word % 4096) ** 2)
        out[i // 3] += np.maximum(bump, 0) // square
    return out


def abundances(np, seeds, first, count):
    """(count, MATERIALS): at one pixel of 1,024 some of the target, too."""
    word = words(np, seeds[0], first, count)
    out = np.empty((count, MATERIALS), np.int64)
    for k in range(MATERIALS - 1):
        tenth = (word >> np.uint64(10 * k) & np.uint64(1023)).astype(np.int64)
        out[:, k] = tenth * tenth >> 10
    word = words(np, seeds[1], first, count)
    fill = 64 + (word >> np.uint64(32)) % np.uint64(960)
    out[:, -1] = np.where(word % np.uint64(1024) == 0, fill, 0)
    return out


def noise(np, seed, first, count):
    """The sum of 4 bytes a value: nearly normal. Both numbers are even."""
    word = words(np, seed, first // 2, count // 2).astype("<u8").view("<u4")
    pairs = (word & 0x00FF00FF) + (word >> 8 & 0x00FF00FF)
    return ((pairs & 0xFFFF) + (pairs >> 16)).astype(np.int64)


def image(np, pixels, channels, seed):
    """A linear mixture with noise in 16 bits, (pixels, channels) of float32 in [0, 1), and labels.

    All of it is done in whole numbers, or in doubles that hold them exactly, so the bits are those
    of peers.c; the reported hash shows it.
    """
    values = np.empty((pixels, channels), np.float32)
    labels = np.empty(pixels, np.uint8)
    seeds = list(map(int, words(np, seed, 0, 4)))
    of_material = spectra(np, seeds[0], channels).astype(np.float64)
    total = 0
    block = 8192
    for first in range(0, pixels, block):
        count = min(block, pixels - first)
        amounts = abundances(np, seeds[1:3], first, count)
        mixed = (amounts.astype(np.float64) @ of_material).astype(np.int64) >> 9
        mixed += noise(np, seeds[3], first * channels, count * channels).reshape(count, channels)
        values[first:first + count] = mixed / 65536
        labels[first:first + count] = amounts[:, -1] > 0
        place = np.arange(first * channels, (first + count) * channels, dtype=np.uint64)
        total += int((mixed.ravel().astype(np.uint64) * (2 * place + np.uint64(1))).sum())
    report(hash=f"{total % (1 << 64):016x}")
    return values, labels


# -- results of many values as one number -----------------------------------------------------


def uniform(np, seed, first, count):
    """Floats from -0.5 to 0.5, as peers_uniform."""
    return (words(np, seed, first, count) >> np.uint64(40)).astype(np.float32) * np.float32(2**-24) - np.float32(0.5)


def digest(np, values):
    """As peers_digest: the norm, and a sum with signs that depend on the place."""
    x = np.asarray(values, np.float64).ravel()
    odd = np.arange(x.size)  # then bit 0: of the place, whether the number of its bits is odd
    for shift in (32, 16, 8, 4, 2, 1):
        odd ^= odd >> shift
    return 3 * float(np.linalg.norm(x)) + float(np.where(odd & 1, -x, x).sum())


def geometric_mean(np, values):
    """Of the sizes of those that are not 0."""
    return float(np.exp(np.mean([np.log(abs(value)) for value in values if value != 0])))


# -- what is right ---------------------------------------------------------------------------


def statistics_of(np, x):
    """Mean and covariance in double, in parts of bounded size."""
    n, channels = x.shape
    mean = sum(x[i:i + 4096].sum(axis=0, dtype=np.float64) for i in range(0, n, 4096)) / n
    products = np.zeros((channels, channels))
    for i in range(0, n, 4096):
        centred = x[i:i + 4096] - mean
        products += centred.T @ centred
    return mean, products / (n - 1)


def judge_statistics(np, x, mean, covariance, limit):
    """Reports their error relative to those in double, and fails beyond what is allowed."""
    right_mean, right = statistics_of(np, x)
    off = {"covariance": float(np.linalg.norm(covariance - right) / np.linalg.norm(right)),
           "mean": float(np.abs(mean - right_mean).max() / np.abs(right_mean).max())}
    report(value="covariance", number=float(np.linalg.norm(covariance)))
    for name, allowed in zip(("covariance", "mean"), limit):
        report(value=f"{name} error", number=off[name])
        expect(off[name] <= allowed,
               f"the {name} is off by {off[name]:.3g}, {allowed:g} is allowed")


def judge_scores(np, scores, channels, limit):
    """The scores of the data that the statistics are of sum to (n - 1) C."""
    error = abs(float(scores.sum(dtype=np.float64)) / ((scores.size - 1) * channels) - 1)
    report(value="score sum error", number=error)
    report(value="largest score", number=float(scores.max()))
    expect(error <= limit, f"the scores' sum is off by {error:.3g}, {limit:g} is allowed")
    expect(bool((scores > -1e-3).all()), "a score is negative")


def work_of(pixels, channels):
    """Useful work of statistics, scores and both, as peers.c declares it: keywords of measure."""
    read, flops = 4 * pixels * channels, pixels * channels
    return [{"items": pixels, "unit": "pixels", "flops": flops * of_value, "nbytes": passes * read}
            for of_value, passes in ((channels + 1, 1), (channels, 1), (2 * channels + 1, 2))]
