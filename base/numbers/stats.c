/* Estimates from samples: order statistics for the median and for quantiles, fewer samples counted
 * where neighbours are alike. */
#include "base/numbers/stats.h"

#include "base/numbers/sum.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FEWEST 8 /* samples whose whole range has the coverage YPI_COVERAGE */

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

/* The mean is kept as two doubles: one rounded to one would show in the deviations of samples
 * that are nearly equal. */
struct centre {
    struct ypi_unit unit;
    double mean, rest;
};

static struct centre centre_of(const struct ypi_unit *unit, const double *samples, size_t count)
{
    struct ypi_sum sum = {0};
    for (size_t i = 0; i < count; i++)
        ypi_sum_add(&sum, ypi_in_units(unit, samples[i]));
    double n = (double)count, mean = ypi_sum_value(&sum) / n;
    return (struct centre){*unit, mean, (fma(-mean, n, sum.high) + sum.low) / n};
}

static double deviation(const struct centre *centre, double sample)
{
    return ypi_in_units(&centre->unit, sample) - centre->mean - centre->rest;
}

/* The sum of squares in the square of the unit. */
static double squares_about(const struct centre *centre, const double *samples, size_t count)
{
    struct ypi_sum sum = {0};
    for (size_t i = 0; i < count; i++) {
        double d = deviation(centre, samples[i]);
        ypi_sum_add(&sum, d * d);
    }
    return ypi_sum_value(&sum);
}

/* The same of each sample with the next one. */
static double neighbours_about(const struct centre *centre, const double *samples, size_t count)
{
    struct ypi_sum sum = {0};
    double before = deviation(centre, samples[0]);
    for (size_t i = 1; i < count; i++) {
        double d = deviation(centre, samples[i]);
        ypi_sum_add(&sum, before * d);
        before = d;
    }
    return ypi_sum_value(&sum);
}

/* `taken` are the samples in the order taken. Needs min and max. */
static void set_moments(struct ypi_estimate *out, const double *taken, const double *sorted)
{
    double largest = fmax(fabs(out->min), fabs(out->max));
    if (!isfinite(largest)) {
        out->mean = isinf(out->min) && isinf(out->max) && out->min != out->max
                        ? NAN
                        : (isinf(out->max) ? out->max : out->min);
        out->sd = NAN;
        out->autocorrelation = NAN;
        return;
    }
    if (out->min == out->max) {
        out->mean = out->min;
        return;
    }

    struct ypi_unit unit = ypi_unit_of(largest);
    struct centre centre = centre_of(&unit, sorted, out->count);
    double squares = squares_about(&centre, sorted, out->count);
    out->mean = fmin(fmax(ldexp(centre.mean, unit.exponent), out->min), out->max);
    out->sd = ldexp(sqrt(squares / ((double)out->count - 1)), unit.exponent);
    if (out->count >= FEWEST)
        out->autocorrelation = neighbours_about(&centre, taken, out->count) / squares;
}

/* With correlation r at lag 1, falling off as in a first-order autoregression, the variance of the
 * mean is that of n (1 - r) / (1 + r) independent samples (Bartlett, 1946). */
static double effective_count(size_t count, double r)
{
    const double one_in_a_hundred = 2.326; /* of a standard normal, one-sided */
    double n = (double)count;
    return r > one_in_a_hundred / sqrt(n) ? fmax(n * (1 - r) / (1 + r), 1) : n;
}

/* Where the samples count for fewer, the ranks are those among so few, and the interval has the
 * same share of all samples inside. */
static void set_interval(struct ypi_estimate *out, const double *sorted)
{
    size_t count = (size_t)out->effective, low, high;
    out->coverage = ypi_median_ranks(count, YPI_COVERAGE, &low, &high);
    if (count == out->count) {
        out->low = sorted[low];
        out->high = sorted[high];
    } else if (low == 0) {
        out->low = out->min;
        out->high = out->max;
    } else {
        double all = (double)(count - 1);
        out->low = ypi_quantile_sorted(sorted, out->count, (double)low / all);
        out->high = ypi_quantile_sorted(sorted, out->count, (double)high / all);
    }
}

static double supported_quantile(const double *sorted, size_t count, double q)
{
    return count < ypi_quantile_needs(q) ? NAN : ypi_quantile_sorted(sorted, count, q);
}

/* Tukey's fences (1977). One rounding each: where only the distance from a quartile to its fence
 * is out of range, the fence may be inside it. */
static void count_outliers(struct ypi_estimate *out, const double *sorted)
{
    double first = ypi_quantile_sorted(sorted, out->count, 0.25);
    double third = ypi_quantile_sorted(sorted, out->count, 0.75);
    double spread = third - first;
    double low = fma(-1.5, spread, first), lowest = fma(-3, spread, first);
    double high = fma(1.5, spread, third), highest = fma(3, spread, third);
    for (size_t i = 0; i < out->count; i++) {
        out->low_severe += sorted[i] < lowest;
        out->low_mild += sorted[i] < low && sorted[i] >= lowest;
        out->high_mild += sorted[i] > high && sorted[i] <= highest;
        out->high_severe += sorted[i] > highest;
    }
}

/* Doubles as integers in the same order: those below zero are upside down. */
static uint64_t key_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}

static double value_of(uint64_t key)
{
    uint64_t bits = key >> 63 ? key & ~(UINT64_C(1) << 63) : ~key;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* By bytes from the last to the first, those skipped that are the same in all. Samples are sorted
 * again and again while they are taken, and no comparison can be predicted: for 10,000 this
 * takes a tenth of the time of qsort. Gives that of the two arrays which is sorted in the end. */
static uint64_t *sort_keys(uint64_t *keys, uint64_t *other, size_t count)
{
    size_t places[8][256] = {{0}};
    for (size_t i = 0; i < count; i++)
        for (int byte = 0; byte < 8; byte++)
            places[byte][keys[i] >> 8 * byte & 255]++;

    for (int byte = 0; byte < 8; byte++) {
        size_t *place = places[byte], next = 0;
        if (place[keys[0] >> 8 * byte & 255] == count)
            continue;
        for (int digit = 0; digit < 256; digit++) {
            size_t here = place[digit];
            place[digit] = next;
            next += here;
        }
        for (size_t i = 0; i < count; i++)
            other[place[keys[i] >> 8 * byte & 255]++] = keys[i];
        uint64_t *sorted = other;
        other = keys;
        keys = sorted;
    }
    return keys;
}

static bool any_nan(const double *samples, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (isnan(samples[i]))
            return true;
    return false;
}

/* A sorted copy; the caller frees. NULL without values, with a NaN among them, or when there is no
 * memory for it. */
static double *sorted_copy(const double *values, size_t count)
{
    bool sortable = count > 0 && count <= SIZE_MAX / 2 / sizeof(double) && !any_nan(values, count);
    uint64_t *keys = sortable ? malloc(2 * count * sizeof *keys) : NULL;
    if (keys == NULL)
        return NULL;
    for (size_t i = 0; i < count; i++)
        keys[i] = key_of(values[i]);
    const uint64_t *sorted = sort_keys(keys, keys + count, count);
    for (size_t i = 0; i < count; i++) {
        double value = value_of(sorted[i]);
        memcpy(keys + i, &value, sizeof value);
    }
    return (double *)keys;
}

static struct ypi_estimate estimate_sorted(const double *taken, const double *sorted, size_t count)
{
    struct ypi_estimate out = {.count = count, .min = sorted[0], .max = sorted[count - 1]};
    out.median = ypi_quantile_sorted(sorted, count, 0.5);
    set_moments(&out, taken, sorted);
    out.effective = effective_count(count, out.autocorrelation);
    set_interval(&out, sorted);
    out.p90 = supported_quantile(sorted, count, 0.9);
    out.p99 = supported_quantile(sorted, count, 0.99);
    out.p999 = supported_quantile(sorted, count, 0.999);
    count_outliers(&out, sorted);
    return out;
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
                                   .p999 = NAN,
                                   .autocorrelation = NAN,
                                   .effective = NAN};
    double *sorted = sorted_copy(samples, count);
    if (sorted == NULL)
        return nothing;
    struct ypi_estimate out = estimate_sorted(samples, sorted, count);
    free(sorted);
    return out;
}

size_t ypi_quantile_needs(double q)
{
    if (q == 0)
        return 1;
    if (!(q > 0 && q < 1))
        return SIZE_MAX;
    const double rounding = 1e-14; /* a power that is 0.01 exactly is enough: 0.1 needs 2 */
    return (size_t)ceil(log(0.01) / log(q) * (1 - rounding));
}

double ypi_quantile(const double *samples, size_t count, double q)
{
    double *sorted = sorted_copy(samples, count);
    double value = sorted != NULL ? ypi_quantile_sorted(sorted, count, q) : NAN;
    free(sorted);
    return value;
}
