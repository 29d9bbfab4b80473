"""Writes stats_reference.h: what base/numbers/stats.c is held to, computed apart from it.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install numpy scipy mpmath
    /tmp/venv/bin/python tests/unit/base/stats_reference.py > tests/unit/base/stats_reference.h

Quantiles and Tukey's counts are numpy's, the ranks of the median's interval and Theil-Sen slopes
scipy's. Moments, autocorrelations, least squares, binomial sums and Student's t are exact
fractions or fifty digits (mpmath), because numpy and scipy keep fewer than twelve digits on some
of these data; they are compared where they do better than that, as a check on this script.

The data are made by tests/unit/base/stats.c too, bit for bit: integers, and one correctly rounded
operation at a time, no function of a mathematics library.
"""

import warnings
from fractions import Fraction
from math import comb, isclose, isnan, nan
from textwrap import fill

import numpy as np
from mpmath import mp, mpf
from scipy import stats

mp.dps = 50


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


def power64(value):
    for _ in range(6):
        value = value * value
    return value


def heavy(random):
    middle = random.uniform() - 0.5
    below = random.uniform() + 2**-24
    return middle / (below * below)


def member(data, random, i, n, before):
    if data == "NORMAL":
        return 10 + random.normal()
    if data == "LOG_NORMAL":
        return power64(1 + random.normal() / 64)
    if data == "HEAVY":
        return heavy(random)
    if data == "TIED":
        return float(int(random.uniform() * 6))
    if data == "CONSTANT":
        return 0.1
    if data == "RAMP":
        return i * 0.375
    if data == "AUTOREGRESSIVE":
        return 0.9 * before + random.normal()
    if data == "HUGE_ONES":
        return 1e300 * random.normal()
    if data == "TINY_ONES":
        return 1e-300 * random.normal()
    if data == "FAR_OFF":
        return 1e9 + 1e-3 * random.normal()
    if data == "ALTERNATING":
        return (-1) ** i + random.uniform() / 4
    if data == "STRAY":
        return random.normal() * (20 if i % 25 == 3 else 4 if i % 10 == 7 else 1)
    if data == "STEP":
        return random.uniform() + (0 if i < n // 2 else 3)
    if data == "INDEX":
        return float(i)
    assert data == "LATE", data
    return 1e9 + i * 0.001


DATA = ("NORMAL LOG_NORMAL HEAVY TIED CONSTANT RAMP AUTOREGRESSIVE HUGE_ONES TINY_ONES FAR_OFF "
        "ALTERNATING STRAY STEP INDEX LATE").split()


def make(data, n, seed=1):
    random, before, made = Random(seed), 0.0, []
    for i in range(n):
        before = member(data, random, i, n, before)
        made.append(before)
    return made


def integers(values):
    """As integers in a common unit, and the unit."""
    ratios = [v.as_integer_ratio() for v in values]
    denominator = max(d for _, d in ratios)
    return [a * (denominator // d) for a, d in ratios], Fraction(1, denominator)


def root(fraction):
    return mp.sqrt(mpf(fraction.numerator) / mpf(fraction.denominator))


def agree(exact, other, digits, what):
    assert isclose(exact, other, rel_tol=10.0**-digits, abs_tol=1e-12), (what, exact, other)


def moments(values):
    n = len(values)
    whole, unit = integers(values)
    total = sum(whole)
    apart = [n * v - total for v in whole]  # n times the deviations
    squares = sum(d * d for d in apart)
    mean = Fraction(total, n) * unit
    sd = root(Fraction(squares, n * n * (n - 1)) * unit**2) if n > 1 else mpf(0)
    r = Fraction(0)
    if n >= 8 and squares > 0:
        r = Fraction(sum(a * b for a, b in zip(apart, apart[1:])), squares)
    effective = Fraction(n)
    if float(r) > 2.326 / n**0.5:
        effective = max(n * (1 - r) / (1 + r), Fraction(1))
    return float(mean), float(sd), float(r), effective


def median_ranks(n):
    """scipy's binomial; exact for the smaller ones as well."""
    low = int(stats.binom.ppf(0.005, n, 0.5)) + 2
    while low > 0 and not 1 - 2 * stats.binom.cdf(low, n, 0.5) >= 0.99:
        low -= 1
    coverage = 1 - 2 * stats.binom.cdf(low, n, 0.5)
    if n <= 5000:
        below = sum(comb(n, i) for i in range(low + 1))
        agree(float(1 - Fraction(2 * below, 2**n)), coverage, 12, "coverage")
    return low, n - 1 - low, coverage


def needs(q):
    """q is a decimal, so that 0.1 needs 2."""
    exact, n = Fraction(str(q)), 1
    if q > 0.99999:
        n = int(mp.log(mpf("0.01")) / mp.log(mpf(str(q)))) - 2
        assert mpf(str(q)) ** (n - 1) > mpf("0.01")
        while mpf(str(q)) ** n > mpf("0.01"):
            n += 1
        return n
    power = exact
    while power > Fraction(1, 100):
        power, n = power * exact, n + 1
        if power.denominator > 10**400:  # enough digits to tell
            power = Fraction(power.numerator * 10**300 // power.denominator, 10**300)
    return n


def tukey(values):
    first, third = np.quantile(values, [0.25, 0.75])
    apart, x = third - first, np.array(values)
    low_severe = int(np.sum(x < first - 3 * apart))
    high_severe = int(np.sum(x > third + 3 * apart))
    return (int(np.sum(x < first - 1.5 * apart)) - low_severe,
            int(np.sum(x > third + 1.5 * apart)) - high_severe, low_severe, high_severe)


def estimate(data, n):
    x = make(data, n)
    mean, sd, r, effective = moments(x)
    if data not in ("HUGE_ONES", "FAR_OFF"):
        agree(mean, float(np.mean(x)), 9, "mean")
        agree(sd, float(np.std(x, ddof=1)) if n > 1 else 0.0, 9, "sd")
    count = int(effective)
    low, high, coverage = median_ranks(count)
    if count < 8:
        ends = [min(x), max(x)]
    else:
        ends = np.quantile(x, [low / (count - 1), high / (count - 1)])
    high_quantiles = [float(np.quantile(x, q)) if n >= needs(q) else nan
                      for q in (0.9, 0.99, 0.999)]
    return [mean, sd, float(np.median(x)), *map(float, ends), coverage, *high_quantiles, r,
            float(effective), *tukey(x)]


def binomial(k, n, p):
    """P(X <= k) and P(X >= k) by their terms from k outwards, fifty digits."""
    if p in (0, 1) or k > n:
        at = n if p == 1 else 0
        return float(at <= k), float(at >= k)
    q, p = 1 - mpf(p), mpf(p)
    at_k = mp.exp(mp.loggamma(n + 1) - mp.loggamma(k + 1) - mp.loggamma(n - k + 1)
                  + k * mp.log(p) + (n - k) * mp.log(q))

    def outwards(step):
        total, term, i = mpf(0), at_k, k
        rising = True
        while term > total * mpf(10) ** -40 or rising:
            total += term
            ratio = (n - i) * p / ((i + 1) * q) if step > 0 else i * q / ((n - i + 1) * p)
            if ratio == 0:
                break
            rising, term, i = ratio > 1, term * ratio, i + step
        return total

    if k < n * p:
        cdf = outwards(-1)
        tail = 1 - cdf + at_k
    else:
        tail = outwards(1)
        cdf = 1 - tail + at_k
    agree(float(cdf), stats.binom.cdf(k, n, float(p)), 8, ("cdf", k, n, p))
    agree(float(tail), stats.binom.sf(k - 1, n, float(p)), 8, ("tail", k, n, p))
    return float(cdf), float(tail)


def binomials():
    cases = [(0, 0, 0.3), (1, 0, 0.3), (0, 5, 0.0), (5, 5, 0.0), (4, 5, 1.0), (5, 5, 1.0),
             (0, 1, 0.5), (1, 1, 0.5), (2, 1, 0.5), (3, 10, 1e-300), (0, 10, 1 - 2**-53),
             (9, 10, 1 - 2**-53), (1, 64, 0.1), (1, 662, 0.01), (1, 6636, 0.001),
             (9, 10**7, 1e-7), (10**7 - 1, 10**7, 1 - 2**-53), (10**7 - 9, 10**7, 1 - 1e-7),
             (0, 10**7, 1e-9), (10**7, 10**7, 0.999999)]
    for n in (2, 10, 37, 1000, 100000, 10**7):
        for p in (0.001, 0.1, 1 / 3, 0.5, 0.99):
            sd = (n * p * (1 - p)) ** 0.5
            for off in (-36, -8, -1, 0, 1.5, 8, 36):
                k = round(n * p + off * sd)
                if 0 <= k <= n:
                    cases.append((k, n, p))
    cases = sorted(set(cases), key=lambda c: (c[1], c[2], c[0]))
    return [(k, n, p, *binomial(k, n, p)) for k, n, p in cases]


def student_quantile(freedom):
    """P(|T| <= t) = 0.99: the tail is a regularised incomplete beta function."""
    if freedom == 1:
        return mp.tan(mpf("0.99") * mp.pi / 2)
    with mp.workdps(40):
        n, start = mpf(freedom), mpf(float(stats.t.ppf(0.995, freedom)))
        middle = mp.exp(mp.loggamma((n + 1) / 2) - mp.loggamma(n / 2)) / mp.sqrt(n * mp.pi)

        def density(t):
            return middle * (1 + t * t / n) ** (-(n + 1) / 2)

        t = start
        for _ in range(3):  # from twelve digits to all of them
            inside = 2 * mp.quad(density, mp.linspace(0, t, 9))
            t += (mpf("0.99") - inside) / (2 * density(t))
        agree(float(t), float(start), 9, "t")
        return t


def line(across, up, n):
    x, y = make(across, n, 2), make(up, n)
    whole_x, unit_x = integers(x)
    whole_y, unit_y = integers(y)
    sum_x, sum_y = sum(whole_x), sum(whole_y)
    dx, dy = [n * v - sum_x for v in whole_x], [n * v - sum_y for v in whole_y]
    squares, crossed = sum(d * d for d in dx), sum(a * b for a, b in zip(dx, dy))
    slope = Fraction(crossed, squares)
    rest = sum(d * d for d in dy) - slope * crossed  # the sum of squared residuals, times n^2
    half = student_quantile(n - 2) * root(rest / (n - 2) / squares)
    scale = unit_y / unit_x
    intercept = Fraction(sum_y, n) * unit_y - slope * scale * Fraction(sum_x, n) * unit_x
    precise, scale = mpf(slope.numerator) / slope.denominator, root(scale * scale)
    got = [float(precise * scale), float(intercept), float((precise - half) * scale),
           float((precise + half) * scale)]
    if across == "INDEX" and up == "NORMAL":
        fit = stats.linregress(x, y)
        width = stats.t.ppf(0.995, n - 2) * fit.stderr
        for exact, other in zip(got, (fit.slope, fit.intercept, fit.slope - width,
                                      fit.slope + width)):
            agree(exact, other, 8, "line")
    points = min(n, 512)
    chosen = [i * (n - 1) // (points - 1) for i in range(points)]
    theil_sen = stats.theilslopes([y[i] for i in chosen], [x[i] for i in chosen])[0]
    return [*got, float(theil_sen)]


def text(value):
    if isinstance(value, float):
        return "NAN" if isnan(value) else repr(float(value))
    return str(value)


def braces(values, end):
    print(fill("{" + ", ".join(map(text, values)) + "}" + end, 100, initial_indent="    ",
               subsequent_indent="     ", break_long_words=False, break_on_hyphens=False))


def table(fields, name, rows):
    print(f"\nstatic const struct {{\n{fields}}} {name}[] = {{")
    for row in rows:
        braces(row, ",")
    print("};")


def main():
    warnings.simplefilter("error")
    sizes = [(data, n) for data in DATA[:13] for n in (1, 2, 3, 50)]
    sizes += [("NORMAL", n) for n in (7, 8, 43, 44, 458, 459, 4602, 4603)]
    sizes += [("LOG_NORMAL", 100000), ("AUTOREGRESSIVE", 5000), ("AUTOREGRESSIVE", 100000),
              ("HEAVY", 1000), ("FAR_OFF", 1000), ("HUGE_ONES", 1000), ("TINY_ONES", 1000),
              ("TIED", 500), ("STRAY", 500), ("STEP", 500), ("RAMP", 1000), ("RAMP", 9)]
    lines = [("INDEX", "NORMAL", n) for n in (3, 4, 5, 6, 7, 8, 30, 31, 100, 511, 512, 513, 1001)]
    lines += [("LATE", "FAR_OFF", 50), ("INDEX", "FAR_OFF", 50), ("INDEX", "LOG_NORMAL", 1000),
              ("LOG_NORMAL", "HEAVY", 200), ("TIED", "NORMAL", 60), ("INDEX", "HUGE_ONES", 40),
              ("TINY_ONES", "NORMAL", 40), ("HUGE_ONES", "HUGE_ONES", 40),
              ("NORMAL", "TINY_ONES", 40), ("INDEX", "STEP", 40), ("INDEX", "STRAY", 200),
              ("INDEX", "AUTOREGRESSIVE", 5000), ("LATE", "LOG_NORMAL", 100000)]
    quantiles = (0.0, 0.005, 0.01, 0.011, 0.1, 0.25, 0.5, 0.75, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995,
                 0.999, 0.9999, 0.99999, 0.999999)

    print("/* Made by stats_reference.py, which says how. */\n"
          "#ifndef STATS_REFERENCE_H\n#define STATS_REFERENCE_H\n\n"
          "#include <math.h>\n#include <stddef.h>\n\n/* clang-format off */\n"
          "enum data")
    braces(DATA, ";")
    table("    enum data data;\n    size_t count;\n"
          "    double mean, sd, median, low, high, coverage, p90, p99, p999;\n"
          "    double autocorrelation, effective;\n"
          "    size_t low_mild, high_mild, low_severe, high_severe;\n", "reference_estimates",
          [(data, n, *estimate(data, n)) for data, n in sizes])
    table("    double q;\n    size_t count;\n", "reference_needs", [(q, needs(q)) for q in quantiles])
    table("    size_t k, n;\n    double p, cdf, tail;\n", "reference_binomials", binomials())
    table("    enum data x, y;\n    size_t count;\n"
          "    double slope, intercept, low, high, theil_sen;\n", "reference_lines",
          [(*which, *line(*which)) for which in lines])
    print("/* clang-format on */\n\n#endif")


if __name__ == "__main__":
    main()
