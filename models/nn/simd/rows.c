#include "models/nn/simd/rows.h"

#include "base/simd/simd.h"

#include "models/nn/simd/unroll.h"

#include <string.h>

#define V_SOURCE "models/nn/simd/rows.inc"
#include "base/simd/vector_sets.h"

nn_sum_rows *nn_best_sum_rows(void)
{
    static nn_sum_rows *const baseline = sum_rows_baseline;
#if defined(__x86_64__)
    static nn_sum_rows *const avx2 = sum_rows_avx2, *const avx512 = sum_rows_avx512;
    static const struct ypi_simd_version versions[] = {{YP_ISA_BASELINE, NULL, &baseline},
                                                       {YP_ISA_AVX2, NULL, &avx2},
                                                       {YP_ISA_AVX512, NULL, &avx512}};
#else
    static const struct ypi_simd_version versions[] = {{YP_ISA_BASELINE, NULL, &baseline}};
#endif
    return *(nn_sum_rows *const *)ypi_simd_best(versions, sizeof versions / sizeof *versions);
}
