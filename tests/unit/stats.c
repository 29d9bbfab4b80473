/*
 * Estimates against references computed apart, and the interval's promise by simulation.
 *
 * The numbers in the two tables come from numpy 2.4 (quantiles) and exact fractions or sixty
 * digits (all else):
 *
 *     from decimal import Decimal as D, getcontext; from fractions import Fraction as F
 *     import numpy as np; getcontext().prec = 60
 *     for value in (lambda k: (k * 37 % 101) / 8, lambda k: k % 5,
 *                   lambda k: 1e9 + (k * 7 % 23) / 1024, lambda k: (-1) ** k * (k + 0.5)):
 *         for n in (1, 2, 7, 10, 101):
 *             x = [float(value(k)) for k in range(n)]
 *             mean = sum(map(F, x)) / n
 *             var = sum((F(v) - mean) ** 2 for v in x) / max(n - 1, 1)
 *             print(n, float(mean), float((D(var.numerator) / D(var.denominator)).sqrt()),
 *                   [float(np.quantile(x, p)) for p in (0.1, 0.25, 0.5, 0.99)])
 *     for n in (1, 2, 3, 7, 8, 9, 10, 20, 30, 101, 1000, 9999, 10**5, 10**6):
 *         middle = D(1)                           # C(n, n // 2) / 2^n
 *         for i in range(1, n // 2 + 1): middle *= D(2 * i - 1) / (2 * i)
 *         if n % 2: middle *= D(n) / (n + 1)
 *         for coverage in ("0.5", "0.95", "0.99", "0.999"):
 *             low, inside = (n - 1) // 2, D(0) if n % 2 else middle
 *             w = middle if n % 2 else middle * (n // 2) / (n // 2 + 1)
 *             while low > 0 and inside < D(coverage):
 *                 inside += 2 * w; w = w * low / (n - low + 1); low -= 1
 *             print(n, coverage, low, float(inside))
 */
#include <criterion/criterion.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "seed.h"
#include "stats.h"

enum set { UNIFORM, TIES, OFFSET, SIGNS };

static double member(enum set set, int k)
{
    switch (set) {
    case UNIFORM:
        return k * 37 % 101 / 8.0;
    case TIES:
        return k % 5;
    case OFFSET:
        return 1e9 + k * 7 % 23 / 1024.0;
    default:
        return (k % 2 ? -1 : 1) * (k + 0.5);
    }
}

static const struct {
    enum set set;
    int count;
    double mean, sd;
    double quantiles[4]; /* 0.1, 0.25, 0.5, 0.99 */
} sample_table[] = {
    {UNIFORM, 1, 0.0, 0.0, {0.0, 0.0, 0.0, 0.0}},
    {UNIFORM, 2, 2.3125, 3.2703688629877825, {0.4625, 1.15625, 2.3125, 4.57875}},
    {UNIFORM,
     7,
     4.857142857142857,
     3.9662827445258877,
     {0.7500000000000001, 1.875, 4.625, 10.424999999999999}},
    {UNIFORM, 10, 5.6625, 3.969086271843097, {1.125, 2.8125, 5.25, 11.6375}},
    {UNIFORM, 101, 6.25, 3.662521330995903, {1.25, 3.125, 6.25, 12.375}},
    {TIES, 1, 0.0, 0.0, {0.0, 0.0, 0.0, 0.0}},
    {TIES, 2, 0.5, 0.7071067811865476, {0.1, 0.25, 0.5, 0.99}},
    {TIES, 7, 1.5714285714285714, 1.511857892036909, {0.0, 0.5, 1.0, 3.9399999999999995}},
    {TIES, 10, 2.0, 1.4907119849998598, {0.0, 1.0, 2.0, 4.0}},
    {TIES, 101, 1.9801980198019802, 1.428147037386571, {0.0, 1.0, 2.0, 4.0}},
    {OFFSET, 1, 1000000000.0, 0.0, {1000000000.0, 1000000000.0, 1000000000.0, 1000000000.0}},
    {OFFSET,
     2,
     1000000000.003418,
     0.004833737762017415,
     {1000000000.0006835, 1000000000.001709, 1000000000.003418, 1000000000.0067676}},
    {OFFSET,
     7,
     1000000000.0108817,
     0.007425056100853276,
     {1000000000.0029297, 1000000000.0058594, 1000000000.0117188, 1000000000.0203906}},
    {OFFSET,
     10,
     1000000000.0105469,
     0.006886900802920776,
     {1000000000.0026367, 1000000000.0053711, 1000000000.0107422, 1000000000.020332}},
    {OFFSET,
     101,
     1000000000.0106648,
     0.006521336628862332,
     {1000000000.0019531, 1000000000.0048828, 1000000000.0107422, 1000000000.0214844}},
    {SIGNS, 1, 0.5, 0.0, {0.5, 0.5, 0.5, 0.5}},
    {SIGNS, 2, -0.5, 1.4142135623730951, {-1.3, -1.0, -0.5, 0.48}},
    {SIGNS, 7, 0.5, 4.320493798938574, {-4.3, -2.5, 0.5, 6.379999999999999}},
    {SIGNS, 10, -0.5, 6.0553007081949835, {-7.7, -5.0, -0.5, 8.32}},
    {SIGNS, 101, 0.5, 58.60034129593445, {-79.5, -49.5, 0.5, 98.5}},
};

static const struct {
    size_t count;
    double coverage;
    size_t low;
    double reached;
} rank_table[] = {
    {1, 0.5, 0, 0.0},
    {1, 0.95, 0, 0.0},
    {1, 0.99, 0, 0.0},
    {1, 0.999, 0, 0.0},
    {2, 0.5, 0, 0.5},
    {2, 0.95, 0, 0.5},
    {2, 0.99, 0, 0.5},
    {2, 0.999, 0, 0.5},
    {3, 0.5, 0, 0.75},
    {3, 0.95, 0, 0.75},
    {3, 0.99, 0, 0.75},
    {3, 0.999, 0, 0.75},
    {7, 0.5, 2, 0.546875},
    {7, 0.95, 0, 0.984375},
    {7, 0.99, 0, 0.984375},
    {7, 0.999, 0, 0.984375},
    {8, 0.5, 2, 0.7109375},
    {8, 0.95, 0, 0.9921875},
    {8, 0.99, 0, 0.9921875},
    {8, 0.999, 0, 0.9921875},
    {9, 0.5, 2, 0.8203125},
    {9, 0.95, 1, 0.9609375},
    {9, 0.99, 0, 0.99609375},
    {9, 0.999, 0, 0.99609375},
    {10, 0.5, 3, 0.65625},
    {10, 0.95, 1, 0.978515625},
    {10, 0.99, 0, 0.998046875},
    {10, 0.999, 0, 0.998046875},
    {20, 0.5, 7, 0.7368240356445312},
    {20, 0.95, 5, 0.9586105346679688},
    {20, 0.99, 3, 0.9974231719970703},
    {20, 0.999, 2, 0.9995975494384766},
    {30, 0.5, 12, 0.638405391946435},
    {30, 0.95, 9, 0.9572260547429323},
    {30, 0.99, 7, 0.9947771206498146},
    {30, 0.999, 5, 0.9996750857681036},
    {101, 0.5, 46, 0.5738399845330061},
    {101, 0.95, 40, 0.9539559330706572},
    {101, 0.99, 37, 0.9906649518793552},
    {101, 0.999, 33, 0.9993587514978304},
    {1000, 0.5, 488, 0.5329548783472139},
    {1000, 0.95, 468, 0.9537088026395019},
    {1000, 0.99, 458, 0.9913600509977395},
    {1000, 0.999, 447, 0.9991100140352307},
    {9999, 0.5, 4965, 0.5035151392357085},
    {9999, 0.95, 4901, 0.9500210895282057},
    {9999, 0.99, 4870, 0.9901271382490906},
    {9999, 0.999, 4834, 0.9990346567202593},
    {100000, 0.5, 49892, 0.5034255012022768},
    {100000, 0.95, 49689, 0.9504442853304751},
    {100000, 0.99, 49592, 0.990041541198719},
    {100000, 0.999, 49479, 0.9990050754180471},
    {1000000, 0.5, 499662, 0.5003242156017604},
    {1000000, 0.95, 499019, 0.9501210313476319},
    {1000000, 0.99, 498711, 0.9900338398639931},
    {1000000, 0.999, 498354, 0.9990016904351567},
};

/* Relative to `scale`, which is the value itself unless that came about by cancelling. */
static void expect_near(double got, double expected, double scale, const char *what)
{
    cr_expect(fabs(got - expected) <= 1e-12 * fabs(scale), "%s: %.17g, not %.17g", what, got,
              expected);
}

static int ascending(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

Test(stats, agrees_with_references)
{
    const double parts[4] = {0.1, 0.25, 0.5, 0.99};
    for (size_t t = 0; t < sizeof sample_table / sizeof *sample_table; t++) {
        double x[101], before[101];
        int n = sample_table[t].count;
        for (int k = 0; k < n; k++)
            before[k] = x[k] = member(sample_table[t].set, k);
        struct ypi_estimate e = ypi_estimate(x, (size_t)n);
        cr_expect(memcmp(x, before, (size_t)n * sizeof *x) == 0, "the samples were changed");
        cr_expect_eq(e.count, (size_t)n);
        expect_near(e.mean, sample_table[t].mean, sample_table[t].mean, "mean");
        expect_near(e.sd, sample_table[t].sd, sample_table[t].sd, "sd");
        expect_near(e.median, sample_table[t].quantiles[2], e.median, "median");
        qsort(x, (size_t)n, sizeof *x, ascending);
        for (int q = 0; q < 4; q++)
            expect_near(ypi_quantile_sorted(x, (size_t)n, parts[q]), sample_table[t].quantiles[q],
                        sample_table[t].quantiles[q], "quantile");
        cr_expect_eq(e.min, x[0]);
        cr_expect_eq(e.max, x[n - 1]);
    }
}

Test(stats, ranks_are_those_of_the_exact_binomial)
{
    for (size_t t = 0; t < sizeof rank_table / sizeof *rank_table; t++) {
        size_t low, high, n = rank_table[t].count;
        double reached = ypi_median_ranks(n, rank_table[t].coverage, &low, &high);
        cr_expect_eq(low, rank_table[t].low, "%zu at %g: %zu", n, rank_table[t].coverage, low);
        cr_expect_eq(high, n - 1 - low);
        expect_near(reached, rank_table[t].reached, 1, "coverage");
    }
}

/* A coverage asked for to the bit is met by the ranks that have it: sums of binomials up to
 * 2^50, and so the coverage, are exact in doubles. */
Test(stats, a_coverage_met_exactly_is_met)
{
    for (int n = 2; n <= 50; n++) {
        double inside = ldexp(1, n), term = 1; /* C(n, k) */
        for (int k = 0; k <= (n - 1) / 2; k++) {
            inside -= 2 * term;
            term = term * (n - k) / (k + 1);
            size_t low, high;
            double coverage = ldexp(inside, -n);
            expect_near(ypi_median_ranks((size_t)n, coverage, &low, &high), coverage, 1, "met");
            cr_expect_eq(low, (size_t)k, "%d at %.17g: %zu, not %d", n, coverage, low, k);
        }
    }
}

Test(stats, few_samples_give_all_there_is)
{
    const double x[7] = {4, 1, 7, 3, 6, 2, 5};
    for (size_t n = 1; n <= 7; n++) {
        struct ypi_estimate e = ypi_estimate(x, n);
        cr_expect(e.low == e.min && e.high == e.max, "%zu", n);
        cr_expect_eq(e.coverage, 1 - ldexp(1, 1 - (int)n), "%zu: %.17g", n, e.coverage);
    }
    struct ypi_estimate one = ypi_estimate(x, 1);
    cr_expect(one.median == 4 && one.mean == 4 && one.sd == 0 && one.coverage == 0);
}

/* 10 samples: 2 * 2^-10 is below 1 %, 2 * 11 * 2^-10 is not. 30: ranks 8 to 23, counted from 1. */
Test(stats, the_interval_is_the_narrowest_that_holds)
{
    double x[30];
    for (int i = 0; i < 30; i++)
        x[i] = 30 - i;
    struct ypi_estimate e = ypi_estimate(x, 30);
    cr_expect(e.low == 8 && e.high == 23 && e.median == 15.5);
    e = ypi_estimate(x, 10);
    cr_expect(e.low == 21 && e.high == 30 && e.median == 25.5);
    e = ypi_estimate(x, 11);
    cr_expect(e.low == 20 && e.high == 30, "one sample off either end is 1.2 %%: too much");
    e = ypi_estimate(x, 12);
    cr_expect(e.low == 20 && e.high == 29, "and of 12 it is 0.6 %%");
}

static void expect_nothing(struct ypi_estimate e)
{
    cr_expect(isnan(e.median) && isnan(e.low) && isnan(e.high) && isnan(e.coverage));
    cr_expect(isnan(e.mean) && isnan(e.sd) && isnan(e.min) && isnan(e.max));
}

Test(stats, nothing_from_nothing_and_from_nan)
{
    double x[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    expect_nothing(ypi_estimate(x, 0));
    expect_nothing(ypi_estimate(NULL, 0));
    for (int i = 0; i < 9; i += 4) {
        double kept = x[i];
        x[i] = NAN;
        expect_nothing(ypi_estimate(x, 9));
        x[i] = kept;
    }
    size_t low = 5, high = 5;
    cr_expect(isnan(ypi_median_ranks(0, 0.99, &low, &high)) && low == 0 && high == 0);
    cr_expect(isnan(ypi_quantile_sorted(x, 0, 0.5)));
    cr_expect(isnan(ypi_quantile_sorted(x, 9, -0.1)) && isnan(ypi_quantile_sorted(x, 9, 1.1)));
    cr_expect(isnan(ypi_quantile_sorted(x, 9, NAN)));
    cr_expect(ypi_quantile_sorted(x, 9, 0) == 1 && ypi_quantile_sorted(x, 9, 1) == 9);
}

Test(stats, coverages_beyond_reach_take_all)
{
    size_t low, high;
    cr_expect(ypi_median_ranks(30, 1, &low, &high) > 1 - 1e-8 && low == 0 && high == 29);
    ypi_median_ranks(30, 2, &low, &high);
    cr_expect(low == 0 && high == 29);
    ypi_median_ranks(30, NAN, &low, &high);
    cr_expect(low == 0 && high == 29);
    ypi_median_ranks(30, 0, &low, &high);
    cr_expect(low == 14 && high == 15);
    ypi_median_ranks(31, 0, &low, &high);
    cr_expect(low == 15 && high == 15);
}

Test(stats, equal_samples_have_no_spread)
{
    double x[50];
    for (int i = 0; i < 50; i++)
        x[i] = 0.1;
    struct ypi_estimate e = ypi_estimate(x, 50);
    cr_expect(e.mean == 0.1 && e.sd == 0 && e.median == 0.1 && e.low == 0.1 && e.high == 0.1);
    x[49] = nextafter(0.1, 1);
    e = ypi_estimate(x, 50);
    cr_expect(e.mean >= 0.1 && e.mean <= x[49] && e.median == 0.1);
    expect_near(e.sd, (x[49] - 0.1) / sqrt(50), e.sd, "one in the last place off");
}

Test(stats, no_size_is_too_large_or_too_small)
{
    const double huge[4] = {DBL_MAX, DBL_MAX, -DBL_MAX, DBL_MAX / 2};
    struct ypi_estimate e = ypi_estimate(huge, 4);
    expect_near(e.mean, DBL_MAX / 4 * 1.5, DBL_MAX, "mean");
    expect_near(e.median, DBL_MAX * 0.75, DBL_MAX, "median");
    /* Deviations 0.625, 0.625, -1.375 and 0.125 of DBL_MAX: squares sum to 2.6875. */
    expect_near(e.sd, DBL_MAX * sqrt(2.6875 / 3), DBL_MAX, "sd");

    const double widest[2] = {-DBL_MAX, DBL_MAX};
    cr_expect_eq(ypi_quantile_sorted(widest, 2, 0.5), 0);

    const double unit = 0x1p-1074; /* the smallest denormal */
    const double tiny[5] = {1000000 * unit, 3000000 * unit, 2000000 * unit, 5000000 * unit,
                            4000000 * unit};
    e = ypi_estimate(tiny, 5);
    cr_expect(e.mean == 3000000 * unit && e.median == 3000000 * unit);
    cr_expect(e.sd == round(1e6 * sqrt(2.5)) * unit, "%g units", e.sd / unit);

    const double mixed[3] = {unit, DBL_MAX, 1};
    e = ypi_estimate(mixed, 3);
    cr_expect(e.min == unit && e.median == 1 && e.max == DBL_MAX);
    cr_expect(isfinite(e.mean) && isfinite(e.sd));
}

Test(stats, infinities_spoil_no_more_than_they_must)
{
    const double x[5] = {1, INFINITY, 2, 3, 4};
    struct ypi_estimate e = ypi_estimate(x, 5);
    cr_expect(e.median == 3 && isinf(e.mean) && isnan(e.sd) && isinf(e.max));
    const double both[2] = {-INFINITY, INFINITY};
    e = ypi_estimate(both, 2);
    cr_expect(isnan(e.mean) && e.low == -INFINITY && e.high == INFINITY && isnan(e.median));
    const double open[2] = {1, INFINITY};
    cr_expect(ypi_quantile_sorted(open, 2, 0) == 1 && isinf(ypi_quantile_sorted(open, 2, 0.1)));
}

static double exponential(struct ypi_seed *seed)
{
    return -log(ypi_seed_uniform(seed));
}

/* No mean, let alone a variance. */
static double cauchy(struct ypi_seed *seed)
{
    return tan(3.14159265358979323846 * (ypi_seed_uniform(seed) - 0.5));
}

/* Nine in ten small, one in ten a thousand times larger: a machine that is disturbed. */
static double disturbed(struct ypi_seed *seed)
{
    double u = ypi_seed_uniform(seed);
    return u < 0.9 ? 1 + u : 1000 * (1 + u);
}

static const struct {
    const char *name;
    double (*draw)(struct ypi_seed *seed);
    double median;
} distributions[] = {{"exponential", exponential, 0.69314718055994530942},
                     {"cauchy", cauchy, 0},
                     {"disturbed", disturbed, 1.5}};

/* Trials in which the interval holds the true median; `promised` is the coverage it states. */
static int held(size_t d, size_t n, int trials, double *promised)
{
    static double x[1000];
    struct ypi_seed seed = ypi_seed_of(2024, d, n);
    int count = 0;
    for (int trial = 0; trial < trials; trial++) {
        for (size_t i = 0; i < n; i++)
            x[i] = distributions[d].draw(&seed);
        struct ypi_estimate e = ypi_estimate(x, n);
        count += e.low <= distributions[d].median && distributions[d].median <= e.high;
        *promised = e.coverage;
    }
    return count;
}

/* For continuous distributions the stated coverage is exact, so the share of trials must be it
 * to 4.5 standard deviations on either side, and 0.99 on the lower one. */
Test(stats, the_interval_holds_the_median_as_often_as_it_says)
{
    const size_t counts[] = {8, 10, 30, 101, 1000};
    for (size_t d = 0; d < sizeof distributions / sizeof *distributions; d++)
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            double promised = 0;
            int trials = counts[c] == 1000 ? 6000 : 20000;
            int count = held(d, counts[c], trials, &promised);
            double share = (double)count / trials;
            double allowed = 4.5 * sqrt(promised * (1 - promised) / trials);
            cr_expect(promised >= 0.99 && fabs(share - promised) <= allowed,
                      "%s, %zu samples: %g held, %g promised, %g allowed", distributions[d].name,
                      counts[c], share, promised, allowed);
            cr_expect(share >= 0.99 - 4.5 * sqrt(0.99 * 0.01 / trials));
        }
}
