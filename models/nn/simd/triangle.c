/* The scores of triangle.h for the instruction sets of this machine. */
#include "models/nn/simd/triangle.h"

#include <string.h>
#include <yieldpoint/isa.h>

#include "models/nn/simd/unroll.h"

#define NAME(name) name##_plain
#include "models/nn/simd/vectors_plain.h"

#include "models/nn/simd/triangle.inc"

#include "models/nn/simd/vectors_end.h"

#ifdef __x86_64__
#define NAME(name) name##_avx2
#include "models/nn/simd/vectors_avx2.h"

#include "models/nn/simd/triangle.inc"

#include "models/nn/simd/vectors_end.h"

#define NAME(name) name##_avx512
#include "models/nn/simd/vectors_avx512.h"

#include "models/nn/simd/triangle.inc"

#include "models/nn/simd/vectors_end.h"
#endif

const struct ypi_triangle_kernels *ypi_triangle_kernels_at(int rank)
{
    if (rank == 0)
        return &triangle_plain;
#ifdef __x86_64__
    if (rank == 1 && yp_isa() >= YP_ISA_AVX2)
        return &triangle_avx2;
    if (rank == 2 && yp_isa() >= YP_ISA_AVX512)
        return &triangle_avx512;
#endif
    return NULL;
}

const struct ypi_triangle_kernels *ypi_triangle_kernels(void)
{
    for (int rank = 2; rank > 0; rank--) {
        const struct ypi_triangle_kernels *kernels = ypi_triangle_kernels_at(rank);
        if (kernels != NULL)
            return kernels;
    }
    return &triangle_plain;
}
