/* The products of split.h for the instruction sets of this machine. */
#include "models/nn/simd/split.h"

#include <string.h>
#include <yieldpoint/isa.h>

#include "models/nn/simd/split_term.h"
#include "models/nn/simd/unroll.h"

/* A product of two bf16 is a float, but for its range, so that a sum is rounded once with FMA and
 * without. The order is that of VDPBF16PS: odd pixels first. */
#define NAME(name) name##_plain_bf16
#include "models/nn/simd/vectors_plain.h"

#include "models/nn/simd/bf16_begin.h"

static inline V plain_dot(V a, V b, V sum)
{
    for (int i = 0; i < W; i++) {
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
#define FMA(a, b, c) plain_dot(a, b, c)

#include "models/nn/simd/gram.inc"
#include "models/nn/simd/split.inc"

#include "models/nn/simd/vectors_end.h"

#ifdef __x86_64__
#define NAME(name) name##_avx2_bf16
#include "models/nn/simd/vectors_avx2.h"

#include "models/nn/simd/bf16_begin.h"
#define ODD_256(v) \
    _mm256_castsi256_ps( \
        _mm256_and_si256(_mm256_castps_si256(v), _mm256_set1_epi32((int)0xffff0000u)))
#define EVEN_256(v) _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_castps_si256(v), 16))
#define FMA(a, b, c) \
    _mm256_fmadd_ps(EVEN_256(a), EVEN_256(b), _mm256_fmadd_ps(ODD_256(a), ODD_256(b), c))

#include "models/nn/simd/gram.inc"
#include "models/nn/simd/split.inc"

#include "models/nn/simd/vectors_end.h"

#define NAME(name) name##_avx512_bf16
#include "models/nn/simd/vectors_avx512.h"

#include "models/nn/simd/bf16_begin.h"
#define ODD_512(v) \
    _mm512_castsi512_ps( \
        _mm512_and_si512(_mm512_castps_si512(v), _mm512_set1_epi32((int)0xffff0000u)))
#define EVEN_512(v) _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_castps_si512(v), 16))
#define FMA(a, b, c) \
    _mm512_fmadd_ps(EVEN_512(a), EVEN_512(b), _mm512_fmadd_ps(ODD_512(a), ODD_512(b), c))

#include "models/nn/simd/gram.inc"
#include "models/nn/simd/split.inc"

#include "models/nn/simd/vectors_end.h"

#define NAME(name) name##_native_bf16
#include "models/nn/simd/vectors_avx512.h"

#include "models/nn/simd/bf16_begin.h"
#undef SET
#define SET "avx512bf16"
#undef TARGET
#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma")))
#define FMA(a, b, c) \
    _mm512_dpbf16_ps(c, (__m512bh)_mm512_castps_si512(a), (__m512bh)_mm512_castps_si512(b))

#include "models/nn/simd/gram.inc"
#include "models/nn/simd/split.inc"

#include "models/nn/simd/vectors_end.h"
#endif

size_t ypi_split_floats(const struct ypi_split_kernels *kernels, const struct ypi_gram_shape *shape,
                        size_t rows, int terms)
{
    size_t pairs = ((rows + 1) / 2 + kernels->granule - 1) / kernels->granule * kernels->granule;
    size_t panels = (shape->panels + kernels->even - 1) / kernels->even * kernels->even;
    return (size_t)terms * kernels->copies * pairs * panels * kernels->width;
}

const struct ypi_split_kernels *ypi_split_kernels_at(int rank)
{
    if (rank == 0)
        return &split_kernels_plain_bf16;
#ifdef __x86_64__
    if (rank == 1 && yp_isa() >= YP_ISA_AVX2)
        return &split_kernels_avx2_bf16;
    if (rank == 2 && yp_isa() >= YP_ISA_AVX512)
        return &split_kernels_avx512_bf16;
    if (rank == 3 && yp_isa() >= YP_ISA_AVX512 && __builtin_cpu_supports("avx512bf16"))
        return &split_kernels_native_bf16;
    if (rank == 4 && yp_isa() >= YP_ISA_AMX)
        return ypi_split_amx();
#endif
    return NULL;
}

const struct ypi_split_kernels *ypi_split_kernels(void)
{
    for (int rank = 4; rank > 0; rank--) {
        const struct ypi_split_kernels *kernels = ypi_split_kernels_at(rank);
        if (kernels != NULL)
            return kernels;
    }
    return ypi_split_kernels_at(0);
}
