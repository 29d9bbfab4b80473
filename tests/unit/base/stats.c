/*
 * Estimates against references computed apart, and the interval's promise by simulation.
 *
 * Of the ranks, C(n, k) / 2^n is summed from the middle outwards with sixty digits:
 *
 *     middle = C(n, n // 2) / 2^n
 *     low, inside = (n - 1) // 2, 0 if n % 2 else middle
 *     w = middle if n % 2 else middle * (n // 2) / (n // 2 + 1)
 *     while low > 0 and inside < coverage:
 *         inside += 2 * w; w = w * low / (n - low + 1); low -= 1
 */
#include <criterion/criterion.h>

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/numbers/splitmix.h"
#include "base/numbers/stats.h"
#include "tests/unit/base/stats_reference.h"

static const struct {
    size_t count;
    double coverage;
    size_t low;
    double reached;
} rank_table[] = {
    {1, 0.99, 0, 0.0},
    {2, 0.5, 0, 0.5},
    {7, 0.99, 0, 0.984375},
    {8, 0.99, 0, 0.9921875},
    {9, 0.95, 1, 0.9609375},
    {10, 0.95, 1, 0.978515625},
    {10, 0.99, 0, 0.998046875},
    {30, 0.99, 7, 0.9947771206498146},
    {101, 0.999, 33, 0.9993587514978304},
    {1000, 0.5, 488, 0.5329548783472139},
    {9999, 0.99, 4870, 0.9901271382490906},
    {100000, 0.95, 49689, 0.9504442853304751},
    {1000000, 0.5, 499662, 0.5003242156017604},
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

/* 1 to n in an order without drift, n and 7 with no common factor. */
static struct ypi_estimate estimate_of_ranks(int n)
{
    double x[40];
    for (int i = 0; i < n; i++)
        x[i] = 1 + i * 7 % n;
    return ypi_estimate(x, (size_t)n);
}

static void expect_nothing(struct ypi_estimate e)
{
    cr_expect(isnan(e.median) && isnan(e.low) && isnan(e.high) && isnan(e.coverage));
    cr_expect(isnan(e.mean) && isnan(e.sd) && isnan(e.min) && isnan(e.max));
    cr_expect(isnan(e.p90) && isnan(e.p99) && isnan(e.p999));
    cr_expect(isnan(e.autocorrelation) && isnan(e.effective));
    cr_expect(e.low_mild + e.high_mild + e.low_severe + e.high_severe == 0);
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

    double late[20];
    for (int i = 0; i < 20; i++)
        late[i] = i < 19 ? i : INFINITY;
    e = ypi_estimate(late, 20);
    cr_expect(isnan(e.autocorrelation) && e.effective == 20 && e.high_severe == 1);
    cr_expect(e.low == 3 && e.high == 16, "[%g, %g]", e.low, e.high);
}

#define CAPACITY 100000

/* The data of stats_reference.h. One operation a statement, so that no compiler makes one
 * rounding of two. */
static double knuth(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(*state >> 40) * 0x1p-24;
}

static double irwin_hall(uint64_t *state)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += knuth(state);
    return sum;
}

static double log_normal(uint64_t *state)
{
    double value = 1 + irwin_hall(state) / 64;
    for (int i = 0; i < 6; i++)
        value = value * value;
    return value;
}

static double heavy(uint64_t *state)
{
    double middle = knuth(state) - 0.5;
    double below = knuth(state) + 0x1p-24;
    double square = below * below;
    return middle / square;
}

static double scaled(double factor, uint64_t *state)
{
    double product = factor * irwin_hall(state);
    return product;
}

/* The i-th of n; `before` is the one before it. */
static double datum(enum data data, uint64_t *state, size_t i, size_t n, double before)
{
    double part;
    switch (data) {
    case NORMAL:
        return 10 + irwin_hall(state);
    case LOG_NORMAL:
        return log_normal(state);
    case HEAVY:
        return heavy(state);
    case TIED:
        return floor(knuth(state) * 6);
    case CONSTANT:
        return 0.1;
    case RAMP:
        return (double)i * 0.375;
    case AUTOREGRESSIVE:
        part = 0.9 * before;
        return part + irwin_hall(state);
    case HUGE_ONES:
        return scaled(1e300, state);
    case TINY_ONES:
        return scaled(1e-300, state);
    case FAR_OFF:
        part = scaled(1e-3, state);
        return 1e9 + part;
    case ALTERNATING:
        return (i % 2 ? -1 : 1) + knuth(state) / 4;
    case STRAY:
        return irwin_hall(state) * (i % 25 == 3 ? 20 : i % 10 == 7 ? 4 : 1);
    case STEP:
        return knuth(state) + (i < n / 2 ? 0 : 3);
    case INDEX:
        return (double)i;
    default:
        part = (double)i * 0.001;
        return 1e9 + part;
    }
}

static void fill(double *out, enum data data, size_t n, uint64_t seed)
{
    double before = 0;
    for (size_t i = 0; i < n; i++)
        before = out[i] = datum(data, &seed, i, n, before);
}

/* To 1e-12 of the value; NaN where NaN is expected. */
static void expect_same(double got, double expected, const char *what, size_t row)
{
    bool same = isnan(expected) ? isnan(got)
                                : fabs(got - expected) <= 1e-12 * fabs(expected) ||
                                      (expected == 0 && fabs(got) <= 1e-12);
    cr_expect(same, "row %zu, %s: %.17g, not %.17g", row, what, got, expected);
}

Test(stats, estimates_are_those_of_the_reference)
{
    static double x[CAPACITY], before[CAPACITY];
    for (size_t t = 0; t < sizeof reference_estimates / sizeof *reference_estimates; t++) {
        fill(x, reference_estimates[t].data, reference_estimates[t].count, 1);
        struct ypi_estimate e = ypi_estimate(x, reference_estimates[t].count);
        fill(before, reference_estimates[t].data, reference_estimates[t].count, 1);
        cr_expect(memcmp(x, before, sizeof x) == 0, "row %zu: the samples were changed", t);
        expect_same(e.mean, reference_estimates[t].mean, "mean", t);
        expect_same(e.sd, reference_estimates[t].sd, "sd", t);
        expect_same(e.median, reference_estimates[t].median, "median", t);
        expect_same(e.low, reference_estimates[t].low, "low", t);
        expect_same(e.high, reference_estimates[t].high, "high", t);
        expect_same(e.coverage, reference_estimates[t].coverage, "coverage", t);
        expect_same(e.p90, reference_estimates[t].p90, "p90", t);
        expect_same(e.p99, reference_estimates[t].p99, "p99", t);
        expect_same(e.p999, reference_estimates[t].p999, "p999", t);
        expect_same(e.autocorrelation, reference_estimates[t].autocorrelation, "r", t);
        expect_same(e.effective, reference_estimates[t].effective, "effective", t);
        cr_expect_eq(e.low_mild, reference_estimates[t].low_mild, "row %zu", t);
        cr_expect_eq(e.high_mild, reference_estimates[t].high_mild, "row %zu", t);
        cr_expect_eq(e.low_severe, reference_estimates[t].low_severe, "row %zu", t);
        cr_expect_eq(e.high_severe, reference_estimates[t].high_severe, "row %zu", t);
    }
}

/* Any bits but those of NaN: either zero, denormals, infinities. */
Test(stats, every_double_has_its_place)
{
    static double x[1000], sorted[1000];
    struct ypi_seed seed = ypi_seed_of(7, 0, 0);
    const double special[6] = {0.0, -0.0, INFINITY, -INFINITY, 0x1p-1074, -0x1p-1074};
    for (size_t n = 6; n <= 1000; n += 142) {
        for (size_t i = 0; i < n; i++) {
            uint64_t bits = ypi_seed_next(&seed);
            memcpy(x + i, &bits, sizeof bits);
            if (isnan(x[i]))
                x[i] = 1;
        }
        memcpy(x + n - 6, special, sizeof special);
        memcpy(sorted, x, n * sizeof *x);
        qsort(sorted, n, sizeof *sorted, ascending);
        size_t low, high;
        ypi_median_ranks(n, 0.99, &low, &high);
        struct ypi_estimate e = ypi_estimate(x, n);
        double median = ypi_quantile_sorted(sorted, n, 0.5);
        cr_expect(e.min == sorted[0] && e.max == sorted[n - 1] && e.median == median, "%zu", n);
        cr_expect(e.low == sorted[low] && e.high == sorted[high], "%zu", n);
    }
}

/* The same values: one after another they drift, and say little about the median of what comes
 * next; well mixed they say all they can. */
Test(stats, drift_makes_the_interval_wide)
{
    double up[40], down[40], wave[40];
    for (int i = 0; i < 40; i++) {
        up[i] = down[39 - i] = i + 1;
        wave[i] = sin(2 * 3.14159265358979323846 / 41 * (i + 1));
    }
    struct ypi_estimate mixed = estimate_of_ranks(40);
    cr_expect(mixed.low == 12 && mixed.high == 29 && mixed.effective == 40);
    const double *both[2] = {up, down};
    for (int i = 0; i < 2; i++) {
        struct ypi_estimate e = ypi_estimate(both[i], 40);
        cr_expect(e.low == 1 && e.high == 40 && e.autocorrelation > 0.9);
        cr_expect(e.effective >= 1 && e.effective < 2 && e.coverage == 0);
        cr_expect(e.median == mixed.median && e.mean == mixed.mean && e.sd == mixed.sd);
    }
    struct ypi_estimate e = ypi_estimate(wave, 40);
    cr_expect(e.autocorrelation > 0.98 && e.effective == 1 && e.low == e.min && e.high == e.max);
    struct ypi_estimate seven = ypi_estimate(up, 7);
    cr_expect(seven.autocorrelation == 0 && seven.effective == 7, "too few to tell");
}

/* 23 samples from 2 to 4 with those as quartiles: fences at -1 and 7, at -4 and 10. On a fence
 * is not beyond it. */
Test(stats, outliers_are_beyond_the_fences)
{
    double x[23] = {-4.5, -4,  -1.5, -1, 2, 2, 2, 2,   2.5, 3,  3, 3,
                    3,    3.5, 4,    4,  4, 4, 7, 7.5, 10,  11, 12};
    struct ypi_estimate e = ypi_estimate(x, 23);
    cr_expect(e.low_severe == 1 && e.low_mild == 2, "%zu, %zu", e.low_severe, e.low_mild);
    cr_expect(e.high_mild == 2 && e.high_severe == 2, "%zu, %zu", e.high_mild, e.high_severe);

    /* The quartiles are 0.4 apart and the fence at 0.6, in units of the largest double. */
    const double wide[9] = {-DBL_MAX,       -DBL_MAX,       -DBL_MAX,
                            -DBL_MAX,       -0.8 * DBL_MAX, -0.7 * DBL_MAX,
                            -0.6 * DBL_MAX, 0.5 * DBL_MAX,  0.7 * DBL_MAX};
    e = ypi_estimate(wide, 9);
    cr_expect(e.high_mild == 1 && e.high_severe == 1, "%zu, %zu", e.high_mild, e.high_severe);
}

Test(stats, quantiles_need_what_they_need)
{
    static const struct {
        double q;
        size_t count;
    } table[] = {{0, 1},      {0.01, 1},     {0.011, 2},        {0.5, 7},           {0.9, 44},
                 {0.99, 459}, {0.999, 4603}, {0.99999, 460515}, {0.999999, 4605168}};
    for (size_t t = 0; t < sizeof table / sizeof *table; t++)
        cr_expect_eq(ypi_quantile_needs(table[t].q), table[t].count, "%g: %zu", table[t].q,
                     ypi_quantile_needs(table[t].q));
    for (size_t n = 1; n <= 200; n++) { /* 0.01 is met, to rounding */
        double q = pow(0.01, 1 / (double)n);
        cr_expect_eq(ypi_quantile_needs(q), n, "%.17g: %zu", q, ypi_quantile_needs(q));
    }
    cr_expect(ypi_quantile_needs(1) == SIZE_MAX && ypi_quantile_needs(-0.1) == SIZE_MAX);
    cr_expect(ypi_quantile_needs(2) == SIZE_MAX && ypi_quantile_needs(NAN) == SIZE_MAX);
}

Test(stats, binomial_sums_are_those_of_the_reference)
{
    for (size_t t = 0; t < sizeof reference_binomials / sizeof *reference_binomials; t++) {
        size_t k = reference_binomials[t].k, n = reference_binomials[t].n;
        double p = reference_binomials[t].p;
        double cdf = ypi_binomial_cdf(k, n, p), tail = ypi_binomial_tail(k, n, p);
        cr_expect(fabs(cdf - reference_binomials[t].cdf) <= 1e-12 * reference_binomials[t].cdf,
                  "P(X <= %zu), n %zu, p %g: %.17g", k, n, p, cdf);
        cr_expect(fabs(tail - reference_binomials[t].tail) <= 1e-12 * reference_binomials[t].tail,
                  "P(X >= %zu), n %zu, p %g: %.17g", k, n, p, tail);
    }
}

/* Both against sums of products, which are good enough where all is of ordinary size. */
Test(stats, binomial_sums_of_few_trials)
{
    for (size_t n = 0; n <= 40; n++)
        for (int tenths = 0; tenths <= 10; tenths++) {
            double p = tenths / 10.0, below = 0, choices = 1;
            for (size_t k = 0; k <= n; k++) {
                double here = choices * pow(p, (double)k) * pow(1 - p, (double)(n - k));
                choices = choices * (double)(n - k) / (double)(k + 1);
                expect_near(ypi_binomial_tail(k, n, p), 1 - below, 1, "tail");
                below += here;
                expect_near(ypi_binomial_cdf(k, n, p), below, 1, "cdf");
            }
            cr_expect(ypi_binomial_cdf(n, n, p) == 1 && ypi_binomial_tail(0, n, p) == 1);
            cr_expect(ypi_binomial_cdf(n + 1, n, p) == 1 && ypi_binomial_tail(n + 1, n, p) == 0);
        }
}

Test(stats, binomial_sums_of_no_probability)
{
    const double no[4] = {-0.1, 1.1, NAN, INFINITY};
    for (int i = 0; i < 4; i++) {
        cr_expect(isnan(ypi_binomial_cdf(1, 3, no[i])) && isnan(ypi_binomial_tail(1, 3, no[i])));
        cr_expect(isnan(ypi_binomial_cdf(3, 3, no[i])) && isnan(ypi_binomial_tail(0, 3, no[i])));
    }
    cr_expect(ypi_binomial_cdf(0, 10000000, 0.5) == 0, "2^-10000000 is nothing");
    cr_expect(ypi_binomial_tail(10000000, 10000000, 0.5) == 0);
}

Test(stats, lines_are_those_of_the_reference)
{
    static double x[CAPACITY], y[CAPACITY];
    for (size_t t = 0; t < sizeof reference_lines / sizeof *reference_lines; t++) {
        size_t n = reference_lines[t].count;
        fill(x, reference_lines[t].x, n, 2);
        fill(y, reference_lines[t].y, n, 1);
        struct ypi_line line = ypi_line(x, y, n);
        expect_same(line.slope, reference_lines[t].slope, "slope", t);
        expect_same(line.intercept, reference_lines[t].intercept, "intercept", t);
        expect_same(line.low, reference_lines[t].low, "low", t);
        expect_same(line.high, reference_lines[t].high, "high", t);
        expect_same(ypi_theil_sen(x, y, n), reference_lines[t].theil_sen, "Theil-Sen", t);
    }
}

/* The interval of a line is that for the scatter which its points have. */
Test(stats, reach_of_a_line_by_its_scatter)
{
    static double x[CAPACITY], y[CAPACITY];
    for (size_t t = 0; t < sizeof reference_lines / sizeof *reference_lines; t++) {
        size_t n = reference_lines[t].count;
        fill(x, reference_lines[t].x, n, 2);
        fill(y, reference_lines[t].y, n, 1);
        double squares = 0;
        for (size_t i = 0; i < n; i++)
            squares +=
                pow(y[i] - reference_lines[t].intercept - reference_lines[t].slope * x[i], 2);
        double half = (reference_lines[t].high - reference_lines[t].low) / 2;
        double reach = ypi_line_reach(x, n, sqrt(squares / (double)(n - 2)));
        if (isfinite(half) && isfinite(squares) && squares > 1e-200) /* in doubles */
            cr_expect(fabs(reach - half) <= 1e-6 * half + 1e-9 * fabs(reference_lines[t].slope),
                      "%zu: %g, wanted %g", t, reach, half);
    }
    const double few[3] = {1, 1, 1};
    cr_expect(isinf(ypi_line_reach(few, 2, 1)) && isinf(ypi_line_reach(few, 3, 1)));
    const double three[3] = {0, 1, 2};
    expect_near(ypi_line_reach(three, 3, 1), 63.656741162872 / sqrt(2), 50, "reach");
}

/* Slopes that doubles hold and a third, which they do not; the points are exact in each. */
Test(stats, points_on_a_line_leave_no_doubt)
{
    double x[60], y[60];
    const struct {
        double slope, intercept, step;
    } lines[] = {{2, 1, 1}, {-0.5, 3, 1}, {0, 0.1, 1}, {1.0 / 3, 5, 3}, {1e6, 0, 0.25}, {0, 0, 7}};
    for (size_t t = 0; t < sizeof lines / sizeof *lines; t++)
        for (size_t n = 3; n <= 60; n++) {
            for (size_t i = 0; i < n; i++) {
                x[i] = lines[t].step * (double)i;
                y[i] = lines[t].intercept + round(lines[t].slope * x[i] * 8) / 8;
            }
            struct ypi_line line = ypi_line(x, y, n);
            cr_expect(line.slope == lines[t].slope && line.low == line.slope &&
                          line.high == line.slope,
                      "%zu of %zu: %.17g [%.17g, %.17g]", n, t, line.slope, line.low, line.high);
            expect_near(line.intercept, lines[t].intercept, fmax(lines[t].intercept, 1), "at 0");
            cr_expect_eq(ypi_theil_sen(x, y, n), lines[t].slope, "%zu of %zu", n, t);
        }
}

/* By the tables of W. S. Gosset ("Student"), to more digits from the incomplete beta function. */
Test(stats, student_quantiles_are_those_of_the_tables)
{
    static const struct {
        double coverage;
        size_t freedom;
        double t;
    } table[] = {{0, 3, 0},
                 {0.5, 1, 1},
                 {0.99, 1, 63.656741162871583},
                 {0.98, 4, 3.7469473879791968},
                 {0.9, 9, 1.8331129326562374},
                 {0.95, 10, 2.2281388519862747},
                 {0.998, 39, 3.3127876},
                 {0.999998, 2, 707.10572054936}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        double t = ypi_student_quantile(table[i].coverage, table[i].freedom);
        cr_expect(fabs(t - table[i].t) <= 1e-5 * table[i].t, "%zu: %.17g", i, t);
    }
    cr_expect(isnan(ypi_student_quantile(1, 3)) && isnan(ypi_student_quantile(0.5, 0)));
    cr_expect(isnan(ypi_student_quantile(-0.1, 3)) && isnan(ypi_student_quantile(NAN, 3)));
}

static bool no_line(const double *x, const double *y, size_t count)
{
    struct ypi_line line = ypi_line(x, y, count);
    return isnan(line.slope) && isnan(line.intercept) && isnan(line.low) && isnan(line.high);
}

Test(stats, no_line_through_nothing)
{
    const double x[4] = {1, 2, 3, 4}, same[4] = {0.1, 0.1, 0.1, 0.1};
    cr_expect(no_line(NULL, NULL, 0) && no_line(x, x, 1) && no_line(x, x, 2));
    cr_expect(no_line(same, x, 4) && !no_line(x, same, 4));
    cr_expect(isnan(ypi_theil_sen(NULL, NULL, 0)) && isnan(ypi_theil_sen(x, x, 1)));
    cr_expect(isnan(ypi_theil_sen(same, x, 4)) && ypi_theil_sen(x, same, 4) == 0);
    cr_expect_eq(ypi_theil_sen(x, x, 2), 1);
    const double strange[3] = {NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 3; i++) {
        const double spoilt[4] = {1, 2, strange[i], 4};
        cr_expect(no_line(spoilt, x, 4) && no_line(x, spoilt, 4));
        cr_expect(isnan(ypi_theil_sen(spoilt, x, 4)) && isnan(ypi_theil_sen(x, spoilt, 4)));
    }
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
        if (e.effective == (double)n) /* not one of the few that look correlated */
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

static double seed_log_normal(struct ypi_seed *seed, double before)
{
    (void)before;
    return exp(ypi_seed_normal(seed));
}

/* Begun with the spread it keeps. */
static double half_kept(struct ypi_seed *seed, double before)
{
    return 0.5 * before + sqrt(0.75) * ypi_seed_normal(seed);
}

/* Of 2,000 sets of 50 those whose interval holds the true median. */
static int sets_held(double (*next)(struct ypi_seed *seed, double before), double median)
{
    int held_sets = 0;
    for (uint64_t set = 0; set < 2000; set++) {
        struct ypi_seed seed = ypi_seed_of(8, 0, set);
        double x[50], before = ypi_seed_normal(&seed);
        for (int i = 0; i < 50; i++)
            before = x[i] = next(&seed, before);
        struct ypi_estimate e = ypi_estimate(x, 50);
        held_sets += e.low <= median && median <= e.high;
    }
    return held_sets;
}

Test(stats, the_interval_holds_for_correlated_samples_too)
{
    int independent = sets_held(seed_log_normal, 1), correlated = sets_held(half_kept, 0);
    cr_expect(independent >= 1960, "%d of 2000 independent", independent);
    cr_expect(correlated >= 1900, "%d of 2000 correlated", correlated);
}
