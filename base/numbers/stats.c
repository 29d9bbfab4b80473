/*
 * Estimates from samples: order statistics for the median, exact binomial tails for their ranks,
 * fewer samples counted where neighbours are alike; and trends, by least squares and by medians.
 */
#include "base/numbers/stats.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/numbers/sum.h"

#define COVERAGE 0.99
#define FEWEST 8        /* samples whose whole range has that coverage */
#define MOST_POINTS 512 /* of which Theil and Sen's slope looks at all pairs */

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

/* A power of two near the largest of some numbers, so that in units of it neither a sum of huge
 * ones nor a square of tiny ones leaves the range. Its inverse may be out of range, its root not.
 */
struct unit {
    int exponent;
    double first, second;
};

static struct unit unit_of(double largest)
{
    struct unit unit;
    (void)frexp(largest, &unit.exponent);
    int half = unit.exponent / 2;
    unit.first = ldexp(1, -half);
    unit.second = ldexp(1, half - unit.exponent);
    return unit;
}

static double in_units(const struct unit *unit, double value)
{
    return value * unit->first * unit->second;
}

/* The mean is kept as two doubles: one rounded to one would show in the deviations of samples
 * that are nearly equal. */
struct centre {
    struct unit unit;
    double mean, rest;
};

static struct centre centre_of(const struct unit *unit, const double *samples, size_t count)
{
    struct ypi_sum sum = {0};
    for (size_t i = 0; i < count; i++)
        ypi_sum_add(&sum, in_units(unit, samples[i]));
    double n = (double)count, mean = ypi_sum_value(&sum) / n;
    return (struct centre){*unit, mean, (fma(-mean, n, sum.high) + sum.low) / n};
}

static double deviation(const struct centre *centre, double sample)
{
    return in_units(&centre->unit, sample) - centre->mean - centre->rest;
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

    struct unit unit = unit_of(largest);
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
    out->coverage = ypi_median_ranks(count, COVERAGE, &low, &high);
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
 * takes a tenth of the time of qsort. Gives the one of the two arrays that is sorted in the end.
 */
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

/* A sorted copy, no NaN in it; the caller frees. NULL when there is no memory for it. */
static double *sorted_copy(const double *values, size_t count)
{
    uint64_t *keys = count <= SIZE_MAX / 2 / sizeof *keys ? malloc(2 * count * sizeof *keys) : NULL;
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

static bool any_nan(const double *samples, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (isnan(samples[i]))
            return true;
    return false;
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
    if (count == 0 || any_nan(samples, count))
        return nothing;
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

/*
 * Binomial probabilities as sums of weights, P(X = i) in units of about that at the mode. Each
 * follows from its neighbour nearer to the mode, in pairs, so that it is right to the last digits
 * after any number of steps; nothing is subtracted, so the smaller side is as exact as the larger.
 */
#define MODE_WEIGHT 0x1p900     /* so that the least double is still far from 0 in these units */
#define NOTHING_WEIGHT 0x1p-200 /* and this is below the least double */

/* Adds the weights of i + 1, i + 2, ... n, those up to `border` to `near`, the others to `far`.
 * `odds` is that of one trial. */
static void add_weights(size_t i, size_t n, struct ypi_pair odds, size_t border,
                        struct ypi_sum *near, struct ypi_sum *far)
{
    struct ypi_pair weight = {MODE_WEIGHT, 0};
    while (i < n) {
        struct ypi_pair left = {(double)(n - i), 0}, next = {(double)(i + 1), 0};
        weight = ypi_pair_mul(weight, ypi_pair_mul(odds, ypi_pair_div(left, next)));
        i++;
        ypi_sum_add(i <= border ? near : far, weight.high);
        bool no_matter = i > border && weight.high <= 1e-22 * far->high;
        if (no_matter || weight.high < NOTHING_WEIGHT)
            return;
    }
}

/* P(X <= k) in [0], P(X > k) in [1]. With p = 0 or 1 the mode is at an end, and the odds that are
 * infinite are not used. */
static void split_binomial(size_t k, size_t n, double p, double out[2])
{
    bool possible = p >= 0 && p <= 1;
    out[0] = possible ? 1 : NAN;
    out[1] = possible ? 0 : NAN;
    if (!possible || k >= n)
        return;

    struct ypi_pair yes = {p, 0}, no = ypi_pair_sum(1, -p);
    double expected = floor(((double)n + 1) * p);
    size_t mode = expected < (double)n ? (size_t)expected : n;
    struct ypi_sum lower = {0}, upper = {0};
    ypi_sum_add(mode <= k ? &lower : &upper, MODE_WEIGHT);
    add_weights(mode, n, ypi_pair_div(yes, no), k, &lower, &upper);
    /* Downwards is upwards in the trials that fail: more than k succeed, n - k - 1 at most fail. */
    add_weights(n - mode, n, ypi_pair_div(no, yes), n - k - 1, &upper, &lower);
    double total = ypi_sum_value(&lower) + ypi_sum_value(&upper);
    out[0] = ypi_sum_value(&lower) / total;
    out[1] = ypi_sum_value(&upper) / total;
}

double ypi_binomial_cdf(size_t k, size_t n, double p)
{
    double split[2];
    split_binomial(k, n, p, split);
    return split[0];
}

double ypi_binomial_tail(size_t k, size_t n, double p)
{
    double split[2];
    split_binomial(k > 0 ? k - 1 : n, n, p, split);
    return k > 0 ? split[1] : split[0];
}

/* P(|T| <= t) for Student's t: finite sums in the angle a, tan a = t / sqrt(freedom) (Abramowitz
 * and Stegun 26.7.3 and 26.7.4). The terms are in pairs: there may be many, each from the last. */
static double student_inside(double t, size_t freedom)
{
    struct ypi_pair n = {(double)freedom, 0}, square = ypi_pair_product(t, t);
    struct ypi_pair cosine2 = ypi_pair_div(n, ypi_pair_add(n, square));
    double cosine = sqrt(cosine2.high), sine = t / sqrt((double)freedom + square.high);
    size_t odd = freedom % 2;

    struct ypi_sum sum = {0};
    struct ypi_pair term = {odd ? cosine : 1, 0};
    for (size_t i = 1; i <= freedom / 2; i++) {
        ypi_sum_add(&sum, term.high);
        struct ypi_pair above = {(double)(2 * i - 1 + odd), 0}, below = {(double)(2 * i + odd), 0};
        term = ypi_pair_mul(term, ypi_pair_mul(cosine2, ypi_pair_div(above, below)));
    }
    double inside = sine * ypi_sum_value(&sum);
    return odd ? 2 / M_PI * (atan2(t, sqrt((double)freedom)) + inside) : inside;
}

/* The derivative of student_inside by t, to some ten digits. */
static double student_slope(double t, size_t freedom)
{
    double n = (double)freedom;
    double middle = exp(lgamma(n / 2 + 0.5) - lgamma(n / 2)) / sqrt(n * M_PI);
    return 2 * middle * exp(-(n + 1) / 2 * log1p(t * t / n));
}

/* The t with P(|T| <= t) = 0.99. By Newton's method from the quantile of the normal, which is
 * below it: the function is concave, so the steps go up until only rounding is left. */
static double student_quantile(size_t freedom)
{
    double t = 2.5758293035489;
    for (;;) {
        double step = (COVERAGE - student_inside(t, freedom)) / student_slope(t, freedom);
        if (!(step > t * 1e-15))
            return t;
        t += step;
    }
}

/* The largest size among them; NaN when one is not finite. */
static double largest_finite(const double *values, size_t count)
{
    double largest = 0;
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(values[i]))
            return NAN;
        largest = fmax(largest, fabs(values[i]));
    }
    return largest;
}

/* Points as seen from the first: differences as pairs are exact, so that points on one line have
 * no residuals, and equal values no spread. */
struct axis {
    const double *values;
    struct unit unit;
    double first;         /* in units */
    struct ypi_pair mean; /* from the first on */
};

static struct ypi_pair from_first(const struct axis *axis, size_t i)
{
    return ypi_pair_sum(in_units(&axis->unit, axis->values[i]), -axis->first);
}

static struct ypi_pair from_mean(const struct axis *axis, size_t i)
{
    return ypi_pair_add(from_first(axis, i), ypi_pair_minus(axis->mean));
}

static struct axis axis_of(const double *values, size_t count, double largest)
{
    struct axis axis = {.values = values, .unit = unit_of(largest)};
    axis.first = in_units(&axis.unit, values[0]);
    struct ypi_pair sum = {0, 0};
    for (size_t i = 0; i < count; i++)
        sum = ypi_pair_add(sum, from_first(&axis, i));
    axis.mean = ypi_pair_div(sum, (struct ypi_pair){(double)count, 0});
    return axis;
}

static struct ypi_pair products(const struct axis *a, const struct axis *b, size_t count)
{
    struct ypi_pair sum = {0, 0};
    for (size_t i = 0; i < count; i++)
        sum = ypi_pair_add(sum, ypi_pair_mul(from_mean(a, i), from_mean(b, i)));
    return sum;
}

static double residual_squares(const struct axis *x, const struct axis *y, struct ypi_pair slope,
                               size_t count)
{
    struct ypi_sum sum = {0};
    for (size_t i = 0; i < count; i++) {
        struct ypi_pair fitted = ypi_pair_mul(slope, from_mean(x, i));
        double residual = ypi_pair_add(from_mean(y, i), ypi_pair_minus(fitted)).high;
        ypi_sum_add(&sum, residual * residual);
    }
    return ypi_sum_value(&sum);
}

static struct ypi_pair whole_mean(const struct axis *axis)
{
    return ypi_pair_add((struct ypi_pair){axis->first, 0}, axis->mean);
}

struct ypi_line ypi_line(const double *x, const double *y, size_t count)
{
    struct ypi_line nothing = {NAN, NAN, NAN, NAN};
    double widest = largest_finite(x, count), highest = largest_finite(y, count);
    if (count < 3 || isnan(widest) || isnan(highest))
        return nothing;
    struct axis on_x = axis_of(x, count, widest), on_y = axis_of(y, count, highest);
    struct ypi_pair squares = products(&on_x, &on_x, count);
    if (!(squares.high > 0))
        return nothing;

    struct ypi_pair slope = ypi_pair_div(products(&on_x, &on_y, count), squares);
    struct ypi_pair at_mean = ypi_pair_mul(slope, whole_mean(&on_x));
    double intercept = ypi_pair_add(whole_mean(&on_y), ypi_pair_minus(at_mean)).high;
    double variance = residual_squares(&on_x, &on_y, slope, count) / (double)(count - 2);
    double half = student_quantile(count - 2) * sqrt(variance / squares.high);

    int power = on_y.unit.exponent - on_x.unit.exponent;
    return (struct ypi_line){.slope = ldexp(slope.high, power),
                             .intercept = ldexp(intercept, on_y.unit.exponent),
                             .low = ldexp(slope.high + (slope.low - half), power),
                             .high = ldexp(slope.high + (slope.low + half), power)};
}

/* The slopes between all pairs that are apart; gives how many those are. */
static size_t pair_slopes(const double *x, const double *y, size_t points, double *out)
{
    size_t count = 0;
    for (size_t i = 0; i < points; i++)
        for (size_t j = i + 1; j < points; j++)
            if (x[i] != x[j])
                out[count++] = (y[j] - y[i]) / (x[j] - x[i]);
    return count;
}

double ypi_theil_sen(const double *x, const double *y, size_t count)
{
    double widest = largest_finite(x, count), highest = largest_finite(y, count);
    if (count < 2 || isnan(widest) || isnan(highest))
        return NAN;
    struct unit on_x = unit_of(widest), on_y = unit_of(highest);
    size_t points = count < MOST_POINTS ? count : MOST_POINTS;
    double few_x[MOST_POINTS], few_y[MOST_POINTS];
    for (size_t i = 0; i < points; i++) {
        size_t chosen = i * (count - 1) / (points - 1);
        few_x[i] = in_units(&on_x, x[chosen]);
        few_y[i] = in_units(&on_y, y[chosen]);
    }

    double *slopes = malloc(points * (points - 1) / 2 * sizeof *slopes);
    if (slopes == NULL)
        return NAN;
    size_t pairs = pair_slopes(few_x, few_y, points, slopes);
    double *sorted = pairs > 0 ? sorted_copy(slopes, pairs) : NULL;
    double median = sorted != NULL ? ypi_quantile_sorted(sorted, pairs, 0.5) : NAN;
    free(sorted);
    free(slopes);
    return ldexp(median, on_y.exponent - on_x.exponent);
}

double ypi_quantile(const double *samples, size_t count, double q)
{
    double *sorted = count > 0 && !any_nan(samples, count) ? sorted_copy(samples, count) : NULL;
    double value = sorted != NULL ? ypi_quantile_sorted(sorted, count, q) : NAN;
    free(sorted);
    return value;
}
