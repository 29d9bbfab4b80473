/* Small products by the widest vectors that this process may use. */
#include "models/nn/simd/small.h"

#include "base/simd/simd.h"

#include "models/nn/simd/unroll.h"

#define V_SOURCE "models/nn/simd/small.inc"
#include "base/simd/vector_sets.h"

typedef void small(const struct nn_small_product *product);

void nn_small_product(const struct nn_small_product *product)
{
    static small *const baseline = small_baseline;
#if defined(__x86_64__)
    static small *const avx2 = small_avx2, *const avx512 = small_avx512;
    static const struct ypi_simd_version versions[] = {{YP_ISA_BASELINE, NULL, &baseline},
                                                       {YP_ISA_AVX2, NULL, &avx2},
                                                       {YP_ISA_AVX512, NULL, &avx512}};
#else
    static const struct ypi_simd_version versions[] = {{YP_ISA_BASELINE, NULL, &baseline}};
#endif
    (*(small *const *)ypi_simd_best(versions, sizeof versions / sizeof *versions))(product);
}
