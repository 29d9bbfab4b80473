/* Estimates from samples. No distribution is assumed. In stats.c, binomial.c and trend.c. */
#pragma once

#include <stddef.h>

#define YPI_COVERAGE 0.99 /* of the intervals here */

struct ypi_estimate {
    size_t count;
    double median;
    /* Order statistics around the median: the true median lies in [low, high] with probability
     * `coverage` at least, for independent samples of any distribution. */
    double low, high;
    double coverage;
    double mean, sd; /* sd with n - 1; 0 for one sample */
    double min, max;
    /* NaN where the samples do not support them: see ypi_quantile_needs. */
    double p90, p99, p999;
    /* Beyond the quartiles by 1.5 and by 3 times their distance (Tukey's fences). They are counted
     * and kept. */
    size_t low_mild, high_mild, low_severe, high_severe;
    /* Lag-1 correlation of the samples in the order taken; 0 with fewer than 8, or when they are
     * all the same; NaN when one is infinite. Beyond what independent samples would show in one
     * case of a hundred, the interval is made for `effective` samples, count (1 - r) / (1 + r) and
     * 1 at least, instead of count: with the coverage of so many, [min, max] below 8. */
    double autocorrelation;
    double effective;
};

/* The interval asked for has coverage 0.99; with fewer than 8 samples that cannot be reached and
 * [min, max] is given with the coverage it has, 1 - 2^(1-n). All NaN for count = 0 or when a
 * sample is NaN. `samples` is not changed; scratch of twice `count` doubles is taken from the heap
 * and a failure to get it gives NaN throughout. Takes time in proportion to `count`. */
struct ypi_estimate ypi_estimate(const double *samples, size_t count);

/* Ranks (from 0) of the interval's ends among `count` sorted samples, for `coverage`; returns
 * the coverage reached. Binomial(count, 1/2), exact. */
double ypi_median_ranks(size_t count, double coverage, size_t *low, size_t *high);

/* The q-quantile, 0 <= q <= 1, of sorted samples: linear interpolation between order statistics
 * (Hyndman and Fan's type 7, numpy's default). */
double ypi_quantile_sorted(const double *sorted, size_t count, double q);

/* The same of samples in any order; NaN where one is NaN, or without memory for a sorted copy. */
double ypi_quantile(const double *samples, size_t count, double q);

/* How many samples a quantile needs before one of them is beyond it with 99 % confidence, that is
 * the least n with q^n <= 0.01: 44 at p90, 459 at p99, 4,603 at p99.9. SIZE_MAX where there is
 * none: for 1 and what is no quantile. */
size_t ypi_quantile_needs(double q);

/* P(X <= k) and P(X >= k) for X binomial with n trials of probability p, to 1e-12 relative however
 * small; 0 below the range of doubles, NaN when p is not in [0, 1]. Takes sqrt(n p (1 - p)) times
 * 80 steps at most: 2 ms for n = 1e7. */
double ypi_binomial_cdf(size_t k, size_t n, double p);
double ypi_binomial_tail(size_t k, size_t n, double p);

/* A line through (x, y): least squares, with the interval of the slope from Student's t at 99 %.
 * All NaN with fewer than 3 points, when all x are the same, or when a number is not finite. Points
 * on one line give an interval without width. */
struct ypi_line {
    double slope, intercept;
    double low, high; /* of the slope */
};
struct ypi_line ypi_line(const double *x, const double *y, size_t count);

/* Half the width of that interval for points at `x` whose y scatter by `scatter` (a standard
 * deviation about the line). Infinite with fewer than 3 points or when all x are the same. */
double ypi_line_reach(const double *x, size_t count, double scatter);

/* The t with P(|T| <= t) = coverage, 0 <= coverage < 1, for Student's t of `freedom` degrees, from
 * 1; NaN elsewhere. */
double ypi_student_quantile(double coverage, size_t freedom);

/* The median of the slopes between all pairs of points with i < j and x apart (Theil and Sen);
 * robust against steps. At most 512 points are looked at, evenly chosen. NaN with fewer than 2,
 * when all x are the same, when a number is not finite, or without 3 MiB of memory. */
double ypi_theil_sen(const double *x, const double *y, size_t count);
