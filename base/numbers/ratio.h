/* The ratio of two groups of times, with an interval. */
#pragma once

#include <stddef.h>

/* How far figures of the same thing scatter: the standard deviation of their logarithms, and with
 * how many degrees of freedom it is known (0: not at all; infinite: for sure). */
struct ypi_scatter {
    double sd, freedom;
};

/* Of a series in the order of time, logarithms: from the median of the steps from one to the next,
 * so that a few changes of level do not count (the median of |N(0, 2 sd^2)| is 0.954 sd). Such an
 * estimate from n figures is worth n / 4 degrees of freedom: a median has 0.37 of the efficiency,
 * steps that overlap 2/3. None below 8 figures. */
struct ypi_scatter ypi_scatter_of_series(const double *logarithms, size_t count);

struct ypi_ratio {
    double ratio;     /* of geometric means, head over base; NaN without figures */
    double low, high; /* infinite, and 0, where nothing is known of the scatter */
};

/* Student's interval for the difference of two means of logarithms, of coverage 1 - error, from the
 * scatter of both groups put together with what is `known` of it beside them; `more` is the
 * standard deviation of what the two may differ by for reasons of their own (0: none). */
struct ypi_ratio ypi_ratio(const double *base, size_t base_count, const double *head,
                           size_t head_count, struct ypi_scatter known, double more, double error);
