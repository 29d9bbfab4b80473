"""The generator of the cuvis.ai stress suite by NumPy.

usage: cuvis_scene.py SIDE CHANNELS SEED pcg64|legacy

A new implementation of its formula (synth/scene/scene.h has it under SYNTH_CUVIS) in whole-array
operations, with NumPy's current generator or the one of before 1.17, which much code still uses.
"""

import sys

from common import expect, measure, need, report

RATIO, STRENGTH, NOISE = 0.05, 3.0, 0.1


def spectra(np, channels):
    w = np.linspace(0, 1, channels)
    normal = 100 * np.exp(-(w - 0.5)**2 / 0.1)
    anomaly = 100 * STRENGTH * (0.5 * np.exp(-(w - 0.3)**2 / 0.05) +
                                0.5 * np.exp(-(w - 0.7)**2 / 0.05))
    return normal, anomaly


def discs(np, whole_number, side):
    labels = np.zeros((side, side), np.uint8)
    i, j = np.ogrid[:side, :side]
    for _ in range(max(1, int(side * side * RATIO) // 20)):
        radius = whole_number(2, 6)
        row, column = whole_number(0, side, 2)
        labels[(i - row)**2 + (j - column)**2 <= radius**2] = 1
    return labels


def sample(np, random, side, channels):
    normal, anomaly = spectra(np, channels)
    turn = 2 * np.pi * np.arange(side) / side
    light = np.outer(1 + 0.2 * np.sin(turn), 1 + 0.2 * np.cos(turn))
    cube = light[:, :, None] * normal + random.normal(0, 100 * NOISE, (side, side, channels))
    labels = discs(np, getattr(random, "integers", None) or random.randint, side)
    cube[labels == 1] = anomaly
    return cube.astype(np.float32), labels, light


def main(side, channels, seed, generator):
    np = need("numpy")
    legacy = generator == "legacy"
    random = np.random.RandomState(seed) if legacy else np.random.default_rng(seed)
    count = side * side * channels
    cube, labels, light = measure("scene", lambda: sample(np, random, side, channels), count,
                                  "values", nbytes=4 * count)
    normal, anomaly = spectra(np, channels)
    noise = cube - light[:, :, None] * normal
    background = noise[labels == 0]
    coverage = float(labels.mean())
    report(value="coverage", number=coverage)
    report(value="noise", number=float(background.std()))
    expect(0.07 < coverage < 0.13, f"the discs cover {coverage:.3f}, about 0.1 is expected")
    expect(abs(background.std() / (100 * NOISE) - 1) < 0.01, f"noise {background.std():.3f}")
    expect(abs(background.mean()) < 60 * NOISE * 10 / background.size**0.5, "the noise has a mean")
    expect(bool((cube[labels == 1] == anomaly.astype(np.float32)).all()),
           "the discs are not filled")


main(*map(int, sys.argv[1:4]), sys.argv[4])
