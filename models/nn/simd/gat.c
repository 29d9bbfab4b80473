/* Graph attention by the widest vectors that this process may use. */
#include "models/nn/simd/gat.h"

#include "base/simd/simd.h"

#include "models/nn/simd/unroll.h"

/* Loops over features are unrolled where their number is a constant, and are not where it is one of
 * the call's. */
#ifdef __clang__
#pragma clang diagnostic ignored "-Wpass-failed"
#endif

/* A row of a node: its number, the left row and the features. */
struct row {
    size_t number;
    size_t node; /* where it begins */
    const float *feature;
};

static inline __attribute__((always_inline)) struct row row_of(const struct nn_gat *g, size_t i,
                                                               size_t k, size_t f)
{
    const size_t edge = (size_t)g->offset[i] + k;
    return edge < (size_t)g->offset[i + 1]
               ? (struct row){edge, (size_t)g->source[edge], g->feature + edge * f}
               : (struct row){g->e + i, i, g->mean + i * f};
}

static inline size_t rows_of(const struct nn_gat *g, size_t i)
{
    return (size_t)(g->offset[i + 1] - g->offset[i]) + 1;
}

#define V_SOURCE "models/nn/simd/gat.inc"
#include "base/simd/vector_sets.h"

const struct nn_gat_kernels *nn_gat_kernels(void)
{
    static const struct ypi_simd_version versions[] = {YPI_SIMD_TABLE(gat)};
    return ypi_simd_best(versions, sizeof versions / sizeof *versions);
}
