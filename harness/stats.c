/*
 * Estimates from samples: order statistics for the median, exact binomial tails for their ranks.
 */
#include "stats.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sum.h"

#define COVERAGE 0.99

/* Weights C(n, k) / C(n, m), m the middle, are followed from the middle outwards: every step
 * costs two roundings and the weights that matter lie within nine standard deviations, 4.5
 * sqrt(n) steps, so for n = 1e6 the coverage is right to 1e-13 or so. Logarithms of factorials
 * would cancel to 1e-9 there. */
static double weight_outwards(double weight, size_t n, size_t k)
{
    return weight * (double)(k + 1) / (double)(n - k); /* C(n, k) from C(n, k + 1) */
}

/* The sum of all weights, begun with the one of the middle (n even) or its two (n odd). */
static double total_weight(size_t n)
{
    size_t k = (n - 1) / 2;
    double weight = n % 2 == 0 ? weight_outwards(1, n, k) : 1;
    double total = n % 2 == 0 ? 1 : 0;
    for (;;) {
        total += 2 * weight;
        if (k == 0 || weight < 1e-30)
            return total;
        k--;
        weight = weight_outwards(weight, n, k);
    }
}

/* The median lies between the sorted samples l and n - 1 - l when more than l and fewer than
 * n - l samples are below it. `inside` is the weight of that; l moves out until it is enough. */
double ypi_median_ranks(size_t count, double coverage, size_t *low, size_t *high)
{
    *low = *high = 0;
    if (count == 0)
        return NAN;

    const double rounding = 1e-14; /* a coverage met exactly counts as met */
    size_t l = (count - 1) / 2;
    double total = total_weight(count);
    double inside = count % 2 == 0 ? 1 : 0;
    double weight = count % 2 == 0 ? weight_outwards(1, count, l) : 1;
    while (l > 0 && !(inside / total >= coverage - rounding)) {
        inside += 2 * weight;
        l--;
        weight = weight_outwards(weight, count, l);
    }
    *low = l;
    *high = count - 1 - l;
    if (l == 0) /* exactly: the median is beyond all samples with 2^-n on either side */
        return 1 - ldexp(1, 1 - (int)(count < 2000 ? count : 2000));
    return fmin(inside / total, 1);
}

/* From a to b without the overflow of b - a, and never outside them. */
static double between(double a, double b, double part)
{
    if (part <= 0 || a == b)
        return a;
    double value = (1 - part) * a + part * b;
    return isnan(value) ? value : fmin(fmax(value, a), b); /* from -infinity to infinity */
}

double ypi_quantile_sorted(const double *sorted, size_t count, double q)
{
    if (count == 0 || !(q >= 0 && q <= 1))
        return NAN;
    double position = q * (double)(count - 1);
    size_t below = (size_t)position;
    if (below >= count - 1)
        return sorted[count - 1];
    return between(sorted[below], sorted[below + 1], position - (double)below);
}

/* In units of a power of two near the largest sample, so that neither a sum of huge samples nor
 * a square of tiny ones leaves the range. The mean is kept as two doubles: a mean rounded to one
 * would show in the deviations of samples that are nearly equal. */
static void set_moments(struct ypi_estimate *out, const double *sorted, size_t count)
{
    double largest = fmax(fabs(out->min), fabs(out->max));
    if (!isfinite(largest)) {
        out->mean = isinf(out->min) && isinf(out->max) && out->min != out->max
                        ? NAN
                        : (isinf(out->max) ? out->max : out->min);
        out->sd = NAN;
        return;
    }
    if (out->min == out->max) {
        out->mean = out->min;
        out->sd = 0;
        return;
    }

    int exponent = 0;
    (void)frexp(largest, &exponent);
    double n = (double)count;
    struct ypi_sum sum = {0};
    for (size_t i = 0; i < count; i++)
        ypi_sum_add(&sum, ldexp(sorted[i], -exponent));
    double mean = ypi_sum_value(&sum) / n;
    double rest = (fma(-mean, n, sum.high) + sum.low) / n;

    struct ypi_sum squares = {0};
    for (size_t i = 0; i < count; i++) {
        double deviation = ldexp(sorted[i], -exponent) - mean - rest;
        ypi_sum_add(&squares, deviation * deviation);
    }
    out->mean = fmin(fmax(ldexp(mean, exponent), out->min), out->max);
    out->sd = ldexp(sqrt((ypi_sum_value(&squares)) / (n - 1)), exponent);
}

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static bool any_nan(const double *samples, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (isnan(samples[i]))
            return true;
    return false;
}

static struct ypi_estimate estimate_sorted(const double *sorted, size_t count)
{
    struct ypi_estimate out = {.count = count};
    size_t low, high;
    out.coverage = ypi_median_ranks(count, COVERAGE, &low, &high);
    out.low = sorted[low];
    out.high = sorted[high];
    out.median = ypi_quantile_sorted(sorted, count, 0.5);
    out.min = sorted[0];
    out.max = sorted[count - 1];
    set_moments(&out, sorted, count);
    return out;
}

static double *sort_copy(const double *samples, size_t count)
{
    double *sorted = count <= SIZE_MAX / sizeof *sorted ? malloc(count * sizeof *sorted) : NULL;
    if (sorted == NULL)
        return NULL;
    memcpy(sorted, samples, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, by_value);
    return sorted;
}

struct ypi_estimate ypi_estimate(const double *samples, size_t count)
{
    struct ypi_estimate nothing = {.count = count,
                                   .median = NAN,
                                   .low = NAN,
                                   .high = NAN,
                                   .coverage = NAN,
                                   .mean = NAN,
                                   .sd = NAN,
                                   .min = NAN,
                                   .max = NAN,
                                   .p90 = NAN,
                                   .p99 = NAN,
                                   .p999 = NAN};
    if (count == 0 || any_nan(samples, count))
        return nothing;
    double *sorted = count <= SIZE_MAX / sizeof *sorted ? malloc(count * sizeof *sorted) : NULL;
    if (sorted == NULL)
        return nothing;
    memcpy(sorted, samples, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, by_value);
    struct ypi_estimate out = estimate_sorted(sorted, count);
    free(sorted);
    return out;
}

size_t ypi_quantile_needs(double q)
{
    return (size_t)ceil(log(0.01) / log(q));
}

double ypi_binomial_cdf(size_t k, size_t n, double p)
{
    (void)k, (void)n, (void)p;
    return NAN;
}

double ypi_binomial_tail(size_t k, size_t n, double p)
{
    (void)k, (void)n, (void)p;
    return NAN;
}

struct ypi_line ypi_line(const double *x, const double *y, size_t count)
{
    (void)x, (void)y, (void)count;
    return (struct ypi_line){NAN, NAN, NAN, NAN};
}

double ypi_theil_sen(const double *x, const double *y, size_t count)
{
    (void)x, (void)y, (void)count;
    return NAN;
}

double ypi_quantile(const double *samples, size_t count, double q)
{
    double *sorted = sort_copy(samples, count);
    double value = sorted != NULL ? ypi_quantile_sorted(sorted, count, q) : NAN;
    free(sorted);
    return value;
}
