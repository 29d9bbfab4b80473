/* What the tests of the products of pixels share. */
#pragma once

#include "tests/unit/rx/rx_fixture.h"

#include "models/nn/simd/gram.h"
#include "models/nn/simd/split.h"
#include "models/nn/simd/split_term.h"
#include "models/nn/simd/triangle.h"
#include "models/rx/internal.h"
#include <float.h>
#include <math.h>

enum { RANKS = 3 };

/* Values around 3 to 8 with some correlation from channel to channel. */
float *pixels_make(size_t pixels, size_t channels, size_t stride);

struct packed {
    struct ypi_gram_shape shape;
    double *sum, *sums, *m2;
    float *low, *high, *centre, *fine, *panels;
};

/* All that a chunk goes through in one instruction set; `x` has gaps, `keep` may be NULL. */
struct packed through(const struct ypi_gram_kernels *kernels, const float *x, size_t stride,
                      const uint8_t *keep, size_t pixels, size_t channels);

void packed_free(struct packed *p);
