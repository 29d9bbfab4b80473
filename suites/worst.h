/* The worst of several deviations. */
#ifndef YIELDPOINT_SUITES_WORST_H
#define YIELDPOINT_SUITES_WORST_H

#include <math.h>

/* The larger one; a NaN is worse than any number, where fmax() would pass over it. */
static inline double worse(double a, double b)
{
    return isnan(a) || a >= b ? a : b;
}

#endif
