/* How far results are off. */
#pragma once

#include <math.h>
#include <stdlib.h>
#include <yieldpoint/yieldpoint.h>

/* A copy in double, which the case owns. */
static inline double *in_double(struct yp_case *t, const float *x, size_t count)
{
    double *wide = yp_alloc_host(t, count * sizeof *wide);
    for (size_t i = 0; i < count; i++)
        wide[i] = (double)x[i];
    return wide;
}

/* The norm of the error over that of what is right. The case fails where one is NaN and the other
 * is not. */
static inline double relative_error(struct yp_case *t, const float *got, const double *right,
                                    size_t count)
{
    double off = 0, size = 0;
    for (size_t i = 0; i < count; i++) {
        yp_require(t, isnan(right[i]) == isnan(got[i]), "number %zu: %g, not %g", i, (double)got[i],
                   right[i]);
        if (isnan(right[i]))
            continue;
        off += ((double)got[i] - right[i]) * ((double)got[i] - right[i]);
        size += right[i] * right[i];
    }
    return sqrt(off / size);
}

static inline int score_error_order(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* What 99 % of the relative errors stay within; both arrays are (pixels), of the host. The case
 * fails where one has a score and the other none. */
static inline double relative_error_99(struct yp_case *t, const float *scores, const double *right,
                                       size_t pixels)
{
    double *errors = yp_alloc_host(t, pixels * sizeof *errors);
    size_t count = 0;
    for (size_t p = 0; p < pixels; p++) {
        yp_require(t, isnan(right[p]) == isnan(scores[p]), "pixel %zu: %g, not %g", p,
                   (double)scores[p], right[p]);
        if (!isnan(right[p]))
            errors[count++] = fabs((double)scores[p] / right[p] - 1);
    }
    yp_require(t, count > 0, "no pixel has a score");
    qsort(errors, count, sizeof *errors, score_error_order);
    return errors[count * 99 / 100];
}
