/* The worst of several deviations. */
#pragma once

#include <math.h>

/* The larger one; a NaN is worse than any number, where fmax() would pass over it. */
static inline double worse(double a, double b)
{
    return isnan(a) || a >= b ? a : b;
}
