"""Mean, covariance and RX scores by NumPy. usage: numpy_rx.py SIDE CHANNELS SEED BITS"""

import sys

from common import (DOUBLE, FLOAT, image, judge_scores, judge_statistics, measure, need,
                    statistics_of, work_of)


def main(side, channels, seed, bits):
    np = need("numpy")
    x, _ = image(np, side * side, channels, seed)
    kind = np.float64 if bits == 64 else np.float32
    n = len(x)

    def statistics():
        mean = x.mean(axis=0, dtype=kind)
        centred = x - mean
        return mean, centred.T @ centred / (n - 1)

    def score(mean, inverse):
        centred = x - mean
        return (centred @ inverse * centred).sum(axis=1)

    def detection():
        mean, covariance = statistics()
        return score(mean, np.linalg.inv(covariance))

    of_statistics, of_score, of_detection = work_of(n, channels)
    mean, covariance = measure("statistics", statistics, **of_statistics)
    judge_statistics(np, x, mean, covariance, DOUBLE if bits == 64 else FLOAT)
    # Scoring is judged by itself: with an inverse that the covariance in double has.
    wide = statistics_of(np, x)
    mean, inverse = wide[0].astype(kind), np.linalg.inv(wide[1]).astype(kind)
    scores = measure("score", lambda: score(mean, inverse), **of_score)
    judge_scores(np, scores, channels, 1e-8 if bits == 64 else 1e-4)
    measure("detection", detection, **of_detection)


main(*map(int, sys.argv[1:]))
