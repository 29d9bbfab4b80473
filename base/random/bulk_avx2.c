/* AVX2: four blocks a vector. */
#include "base/random/bulk.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define BULK_TARGET YPI_TARGET_AVX2
#define BULK BULK_TARGET YPI_INLINE
#define MM(name) _mm256_##name
#define MM_SI(name) _mm256_##name##_si256
#define BULKS ypi_bulk_avx2

typedef __m256i V;
typedef __m256 F;
typedef __m256 M; /* the sign of each lane, or all of its bits */
#define V_BLOCKS 4
/* Vectors in flight: enough to keep the units busy, few enough for the registers. */
#define MANY 5
#define BOX 3

#define UPPER 0xAA /* 32-bit halves of the 64-bit lanes */

#include "base/random/bulk_x86.h"

BULK V v_order(void)
{
    return _mm256_setr_epi64x(0, 2, 1, 3);
}

BULK V v_high(V a)
{
    return _mm256_srli_epi64(a, 32);
}

BULK V v_xor3(V a, V b, V c)
{
    return _mm256_xor_si256(_mm256_xor_si256(b, c), a);
}

/* Lower halves: upper half of `last` ^ before ^ key; upper halves: lower half of `last`. */
BULK V v_word_pair(V last, V before, V key)
{
    V turned = _mm256_shuffle_epi32(last, 0xB1);
    V lower = _mm256_set1_epi64x(UINT32_MAX);
    return _mm256_xor_si256(turned, _mm256_and_si256(_mm256_xor_si256(before, key), lower));
}

/* The lower halves of a, those of b. */
BULK V v_join(V a, V b)
{
    return _mm256_blend_epi32(a, _mm256_slli_epi64(b, 32), UPPER);
}

/* The upper halves of a, those of b. */
BULK V v_join_high(V a, V b)
{
    return _mm256_blend_epi32(_mm256_srli_epi64(a, 32), b, UPPER);
}

BULK M v_has_bit_30(V a)
{
    return _mm256_castsi256_ps(_mm256_slli_epi32(a, 1));
}

BULK M f_is_positive(F x)
{
    return _mm256_castsi256_ps(_mm256_cmpgt_epi32(_mm256_castps_si256(x), _mm256_set1_epi32(-1)));
}

/* Of normal numbers; 0 elsewhere. */
BULK F f_exponent_where(M where, F x)
{
    V biased = _mm256_srli_epi32(_mm256_castps_si256(x), 23);
    F exponent = _mm256_cvtepi32_ps(_mm256_sub_epi32(biased, _mm256_set1_epi32(127)));
    return _mm256_and_ps(exponent, where);
}

/* x elsewhere. */
BULK F f_mantissa_minus_two_where(M where, F x)
{
    F fraction = _mm256_and_ps(x, _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffff)));
    F mantissa = _mm256_or_ps(fraction, _mm256_set1_ps(1.0f));
    return _mm256_blendv_ps(x, _mm256_sub_ps(mantissa, _mm256_set1_ps(2.0f)), where);
}

/* a with its sign changed where b has bit 31. */
BULK F f_xor_sign(F a, V b)
{
    return _mm256_xor_ps(a, _mm256_and_ps(_mm256_castsi256_ps(b), _mm256_set1_ps(-0.0f)));
}

BULK F f_choose(M where, F there, F elsewhere)
{
    return _mm256_blendv_ps(elsewhere, there, where);
}

BULK F f_choose_minus(M where, F there, F elsewhere)
{
    return _mm256_blendv_ps(elsewhere, _mm256_xor_ps(there, _mm256_set1_ps(-0.0f)), where);
}

#include "base/random/bulk_kernel.h"
#endif
