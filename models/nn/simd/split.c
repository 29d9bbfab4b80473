/* The products of split.h for the instruction sets of this machine. */
#include "models/nn/simd/split.h"

#include "base/simd/simd.h"

#include <string.h>

#include "models/nn/simd/split_term.h"
#include "models/nn/simd/unroll.h"

/* A product of two bf16 is a float, but for its range, so that a sum is rounded once with FMA and
 * without. The order is that of VDPBF16PS: odd pixels first. */
#define V_LANES 4
#define V_SUFFIX baseline_bf16
#include "base/simd/vector.h"

static inline VF dot_pairs(VF a, VF b, VF sum)
{
    for (int i = 0; i < V_LANES; i++) {
        uint32_t x, y, x_odd, y_odd;
        float u, v;
        float a_word = a[i], b_word = b[i];
        memcpy(&x, &a_word, sizeof x);
        memcpy(&y, &b_word, sizeof y);
        x_odd = x & 0xffff0000u, y_odd = y & 0xffff0000u;
        memcpy(&u, &x_odd, sizeof u);
        memcpy(&v, &y_odd, sizeof v);
        sum[i] += u * v;
        x <<= 16, y <<= 16;
        memcpy(&u, &x, sizeof u);
        memcpy(&v, &y, sizeof v);
        sum[i] += u * v;
    }
    return sum;
}
#undef V_FMA
#define V_FMA(a, b, c) dot_pairs(a, b, c)

#include "models/nn/simd/split.inc"

#include "base/simd/vector_end.h"

#if defined(__x86_64__)
/* The odd pixels of pairs, or the even ones, as floats. */
#define ODD(v) V_OF_BITS(VI_AND(VI_OF_BITS(v), VI_SET((int)0xffff0000u)))
#define EVEN(v) V_OF_BITS(VI_SHIFT_LEFT(VI_OF_BITS(v), 16))

#define V_LANES 8
#define V_SUFFIX avx2_bf16
#include "base/simd/vector.h"

#undef V_FMA
#define V_FMA(a, b, c) _mm256_fmadd_ps(EVEN(a), EVEN(b), _mm256_fmadd_ps(ODD(a), ODD(b), c))

#include "models/nn/simd/split.inc"

#include "base/simd/vector_end.h"

#define V_LANES 16
#define V_SUFFIX avx512_bf16
#include "base/simd/vector.h"

#undef V_FMA
#define V_FMA(a, b, c) _mm512_fmadd_ps(EVEN(a), EVEN(b), _mm512_fmadd_ps(ODD(a), ODD(b), c))

#include "models/nn/simd/split.inc"

#include "base/simd/vector_end.h"

#define V_LANES 16
#define V_SUFFIX native_bf16
#include "base/simd/vector.h"

#undef V_ISA_NAME
#define V_ISA_NAME "avx512bf16"
#undef V_TARGET
#define V_TARGET YPI_TARGET_AVX512_BF16
#undef V_FMA
#define V_FMA(a, b, c) \
    _mm512_dpbf16_ps(c, (__m512bh)_mm512_castps_si512(a), (__m512bh)_mm512_castps_si512(b))

#include "models/nn/simd/split.inc"

#include "base/simd/vector_end.h"

static bool has_bf16(void)
{
    return __builtin_cpu_supports("avx512bf16");
}
#endif

size_t ypi_split_floats(const struct ypi_split_kernels *kernels, const struct ypi_gram_shape *shape,
                        size_t rows, int terms)
{
    size_t pairs = ((rows + 1) / 2 + kernels->granule - 1) / kernels->granule * kernels->granule;
    size_t panels = (shape->panels + kernels->even - 1) / kernels->even * kernels->even;
    return (size_t)terms * kernels->copies * pairs * panels * kernels->width;
}

/* The last one is split_amx.c's. */
static const struct ypi_simd_version versions[] = {
    {YP_ISA_BASELINE, NULL, &split_kernels_baseline_bf16},
#if defined(__x86_64__)
    {YP_ISA_AVX2, NULL, &split_kernels_avx2_bf16},
    {YP_ISA_AVX512, NULL, &split_kernels_avx512_bf16},
    {YP_ISA_AVX512, has_bf16, &split_kernels_native_bf16},
    {YP_ISA_AMX, NULL, &ypi_split_kernels_amx},
#endif
};
YPI_SIMD_CHOICE(struct ypi_split_kernels, ypi_split_kernels)
