"""Statistics and RX by Spectral Python. usage: spectral_rx.py SIDE CHANNELS SEED"""

import sys

from common import DOUBLE, FLOAT, image, judge_scores, judge_statistics, measure, need, work_of


def main(side, channels, seed):
    np, spectral = need("numpy", "spectral")
    x, _ = image(np, side * side, channels, seed)
    cube = x.reshape(side, side, channels)
    of_statistics, of_score, of_detection = work_of(len(x), channels)

    found = measure("statistics", lambda: spectral.calc_stats(cube), **of_statistics)
    # The mean is taken in float, row after row; all else in double.
    judge_statistics(np, x, found.mean, found.cov, (DOUBLE[0], FLOAT[1]))
    # The statistics keep their inverse once they have it, so the warm-up pays for it.
    scores = measure("score", lambda: spectral.rx(cube, background=found), **of_score)
    judge_scores(np, scores.ravel(), channels, 1e-4)
    measure("detection", lambda: spectral.rx(cube), **of_detection)


main(*map(int, sys.argv[1:]))
