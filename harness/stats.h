/* Estimates from samples. No distribution is assumed. */
#ifndef YPI_STATS_H
#define YPI_STATS_H

#include <stddef.h>

struct ypi_estimate {
    size_t count;
    double median;
    /* Order statistics around the median: the true median lies in [low, high] with probability
     * `coverage` at least, for independent samples of any distribution. */
    double low, high;
    double coverage;
    double mean, sd; /* sd with n - 1; 0 for one sample */
    double min, max;
};

/* The interval asked for has coverage 0.99; with fewer than 8 samples that cannot be reached and
 * [min, max] is given with the coverage it has, 1 - 2^(1-n). All NaN for count = 0 or when a
 * sample is NaN. `samples` is not changed; scratch of `count` doubles is taken from the heap and
 * a failure to get it gives NaN throughout. */
struct ypi_estimate ypi_estimate(const double *samples, size_t count);

/* Ranks (from 0) of the interval's ends among `count` sorted samples, for `coverage`; returns
 * the coverage reached. Binomial(count, 1/2), exact. */
double ypi_median_ranks(size_t count, double coverage, size_t *low, size_t *high);

/* The q-quantile, 0 <= q <= 1, of sorted samples: linear interpolation between order statistics
 * (Hyndman and Fan's type 7, numpy's default). */
double ypi_quantile_sorted(const double *sorted, size_t count, double q);

#endif
