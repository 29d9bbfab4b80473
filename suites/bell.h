/* Values from a bell around 0, variance 1. */
#pragma once

#include "base/random/stream.h"

#include <yieldpoint/yieldpoint.h>

/* Of the case's seed and this stream, in double with the bits of floats; the case owns them. */
static inline double *bell(struct yp_case *t, uint64_t stream, size_t count)
{
    enum { PART = 1024 };
    double *x = yp_alloc_host(t, count * sizeof *x);
    float some[PART];
    for (size_t at = 0; at < count; at += PART) {
        const size_t n = count - at < PART ? count - at : PART;
        ypi_random_normals(YPI_LEVEL_AUTO, (struct ypi_stream){yp_seed(t), stream}, at, n, some);
        for (size_t i = 0; i < n; i++)
            x[at + i] = (double)some[i];
    }
    return x;
}
