/* Where the level of a series of results changes, for series whose scatter has any distribution and
 * whose neighbours may be alike. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The correlation of neighbours in a first-order autoregression of normal variables with the same
 * ranks, from 0 to 0.95. Up to four changes of the level inside the series count for little. Values
 * are finite. 0 for fewer than 10, and where all are the same. */
double ypi_neighbour_correlation(const double *values, size_t count);
/* Of the inverse hyperbolic tangent of that estimate, about: the standard deviation. 0 for fewer
 * than 10 points. */
double ypi_correlation_deviation(size_t count);

struct ypi_change_search {
    size_t least;       /* points of a segment, from 1 */
    double error;       /* the rate at which a series without a change is said to have one */
    double correlation; /* of neighbours, without the changes: 0 to 0.95 */
    /* Points that ypi_neighbour_correlation() had: it may be wrong by what so few leave open. 0: it
     * is known. */
    size_t estimated_from;
    uint64_t seed; /* of the random series: the same seed, the same answer */
};

/* Binary segmentation: the split with the largest rank statistic is a change when series without
 * one show as large a statistic at a rate of `error` at most; then either side is searched, at a
 * rate in proportion to its length, so that the rate of any false change is `error` for the whole
 * series. At last each is looked for again between its neighbours. `places`: the first points of
 * the new segments, ascending, room for count / least of them. Returns how many. Values are
 * finite. */
size_t ypi_change_points(const double *values, size_t count, const struct ypi_change_search *how,
                         size_t *places);

/* Of changes that were found, how many stand before a stretch up to the end of the series that a
 * line follows better than steps do, all of them up or all down: a slow drift is no change at a
 * place. `found` where there is no such stretch. */
size_t ypi_changes_before_line(const double *values, size_t count, const size_t *places,
                               size_t found);

/* A difference with its interval at 99 %. NaN throughout where there are no points. */
struct ypi_shift {
    double middle, low, high;
};

/* By how much `after` lies above `before`: the median of the differences of all pairs (Hodges and
 * Lehmann, 1963), with the interval of the rank sum test, wider where neighbours are alike;
 * infinite where that has no end among the pairs. At most 512 points of either are looked at,
 * evenly chosen. */
struct ypi_shift ypi_shift(const double *before, size_t before_count, const double *after,
                           size_t after_count, double correlation);

/* The trend of a series: the slope a point, as ypi_theil_sen() has it, with the interval at 99 %,
 * and the probability of a rank correlation with time as large as this one, of either sign, without
 * a trend (Mann, 1945; Kendall); both for as many points as those count for whose neighbours are
 * alike about that line. At most 512 points are looked at. Without 3 points: NaN, and 1. */
struct ypi_drift {
    struct ypi_shift slope;
    double probability;
};
struct ypi_drift ypi_drift(const double *values, size_t count);
