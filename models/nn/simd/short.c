/* Attention of short sequences by the widest vectors that this process may use. */
#include "models/nn/simd/short.h"

#include "base/simd/simd.h"

#include "models/nn/simd/unroll.h"

#include <string.h>

#define V_SOURCE "models/nn/simd/short.inc"
#include "base/simd/vector_sets.h"

struct shorts {
    nn_short_pass *forward, *vjp;
};

static const struct shorts shorts_baseline = {short_forward_baseline, short_vjp_baseline};
#if defined(__x86_64__)
static const struct shorts shorts_avx2 = {short_forward_avx2, short_vjp_avx2};
static const struct shorts shorts_avx512 = {short_forward_avx512, short_vjp_avx512};
#endif
static const struct ypi_simd_version versions[] = {YPI_SIMD_TABLE(shorts)};

static const struct shorts *best(void)
{
    return ypi_simd_best(versions, sizeof versions / sizeof *versions);
}

nn_short_pass *nn_short_forward(void)
{
    return best()->forward;
}

nn_short_pass *nn_short_vjp(void)
{
    return best()->vjp;
}
