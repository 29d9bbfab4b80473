"""Writes metrics_reference.h: what models/metrics/metrics.h is held to.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install numpy scipy scikit-learn mpmath
    /tmp/venv/bin/python tests/unit/metrics/metrics_reference.py > tests/unit/metrics/metrics_reference.h

Measures of detection are scikit-learn's, Kolmogorov's distance and chi-square quantiles scipy's.
The chi-square distribution itself is of thirty digits (mpmath), because both tails are held to
1e-10 of their own size; scipy's is compared with it here.

The data are made by tests/unit/metrics/metrics.c too, bit for bit: integers, and one correctly rounded
operation at a time, no function of a mathematics library.
"""

import numpy as np
from mpmath import gammainc, mp, mpf
from scipy import stats
from sklearn import metrics

mp.dps = 30


class Random:
    """Knuth's linear congruential generator (MMIX), the upper 24 bits."""

    def __init__(self, seed):
        self.state = seed

    def uniform(self):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 40) / 2**24

    def normal(self):
        """Irwin and Hall's: a sum of twelve, exact."""
        return sum(self.uniform() for _ in range(12)) - 6


def detections(seed, n, rare, steps, apart):
    """Labels one in `rare`; scores on a grid of 1 / steps, so that there are ties."""
    random = Random(seed)
    labels, scores = [], []
    for _ in range(n):
        target = random.uniform() * rare < 1
        score = random.normal() + (apart if target else 0) - 2
        scores.append(np.floor(score * steps) / steps)
        labels.append(int(target))
    return np.array(labels), np.array(scores, dtype=np.float32)


def detection(labels, scores, rate):
    false, true, _ = metrics.roc_curve(labels, scores, drop_intermediate=False)
    return true[false <= rate].max()


def squares(seed, n, k, stretch):
    """Sums of k squares, stretched; each a float."""
    random = Random(seed)
    out = []
    for _ in range(n):
        total = 0.0
        for _ in range(k):
            z = random.normal()
            total += z * z
        out.append(np.float32(total * stretch))
    return np.array(out)


def number(value):
    return repr(float(value))


def row(*values):
    print("    {" + ", ".join(values) + "},")


print("""/* Made by metrics_reference.py, which says how. */
#ifndef RX_METRICS_REFERENCE_H
#define RX_METRICS_REFERENCE_H

#include <stddef.h>
#include <stdint.h>

/* clang-format off */
static const struct {
    uint64_t seed; size_t n; double rare, steps, apart;
    uint64_t tp, fp, fn, tn;
    double precision, recall, f1, iou, average_precision, roc_auc, detection_1e3, detection_1e4;
} reference_detections[] = {""")
for seed, n, rare, steps, apart in [
    (1, 20000, 20, 2**20, 2),
    (2, 20000, 100, 4, 3),
    (3, 30000, 500, 2**20, 5),
    (4, 1000, 2, 1, 1),
    (5, 300, 1.25, 8, 0),
    (6, 20000, 50, 16, -1),
]:
    labels, scores = detections(seed, n, rare, steps, apart)
    called = scores >= 0
    (tn, fp), (fn, tp) = metrics.confusion_matrix(labels, called)
    row(str(seed), str(n), number(rare), number(steps), number(apart),
        str(tp), str(fp), str(fn), str(tn),
        number(metrics.precision_score(labels, called)),
        number(metrics.recall_score(labels, called)),
        number(metrics.f1_score(labels, called)),
        number(metrics.jaccard_score(labels, called)),
        number(metrics.average_precision_score(labels, scores)),
        number(metrics.roc_auc_score(labels, scores)),
        number(detection(labels, scores, 1e-3)),
        number(detection(labels, scores, 1e-4)))

print("""};

static const struct { double k, x, below, above; } reference_chi_square[] = {""")
for k in [0.5, 1, 2, 3, 10, 31, 32, 33, 100, 200, 425, 1000, 8192]:
    spread = (2 / k) ** 0.5
    places = [1e-3, 0.3, 1, 1 + 2 / k, 3] + [1 + z * spread for z in (-5, -2, -0.1, 0.1, 2, 4, 9)]
    for x in sorted(round(k * p, 6) for p in places if p > 0):
        a, half = mpf(k) / 2, mpf(x) / 2
        below = gammainc(a, 0, half, regularized=True)
        above = gammainc(a, half, mp.inf, regularized=True)
        if min(below, above) < mpf(10) ** -290:
            continue
        assert abs(stats.chi2.cdf(x, k) / below - 1) < 1e-9
        assert abs(stats.chi2.sf(x, k) / above - 1) < 1e-9
        row(number(k), number(x), number(below), number(above))

print("""};

static const struct { double k, upper, x; } reference_points[] = {""")
for k in [1, 2, 10, 100, 200, 8192]:
    for upper in [0.999, 0.5, 0.1, 1e-2, 1e-3, 1e-4, 1e-12]:
        row(number(k), number(upper), number(stats.chi2.isf(upper, k)))

print("""};

static const struct {
    uint64_t seed; size_t n; int k; double stretch, distance, beyond[4];
} reference_calibration[] = {""")
for seed, n, k, stretch in [(7, 4000, 3, 1.0), (8, 2000, 20, 1.0), (9, 2000, 10, 1.3), (10, 1, 5, 1.0)]:
    scores = squares(seed, n, k, stretch).astype(float)
    distance = stats.kstest(scores, stats.chi2(k).cdf).statistic
    beyond = [np.mean(scores > stats.chi2.isf(p, k)) for p in (0.1, 0.01, 0.001, 0.0001)]
    row(str(seed), str(n), str(k), number(stretch), number(distance),
        "{" + ", ".join(number(b) for b in beyond) + "}")
print("""};
/* clang-format on */

#endif""")
