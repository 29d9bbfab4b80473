/* Where lines of an interpolated image lie; see upsample.c. Columns alike. */
#pragma once

#include "models/nn/types.h"

/* Where point `i` of `points` lies among `size`: beside `*low`, and how far towards `*high`. */
NN_BOTH double nn_between(size_t i, size_t points, size_t size, bool corners, size_t *low,
                          size_t *high)
{
    double t = ((double)i + 0.5) * (double)size / (double)points - 0.5;
    if (corners)
        t = points > 1 ? (double)i * (double)(size - 1) / (double)(points - 1) : 0;
    t = t > 0 ? t : 0;
    *low = (size_t)t < size - 1 ? (size_t)t : size - 1;
    *high = *low + 1 < size ? *low + 1 : size - 1;
    return t - (double)*low;
}
