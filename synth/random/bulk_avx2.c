/* AVX2: four blocks a vector. */
#include "synth/random/bulk.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define BULK_TARGET YPI_TARGET_AVX2
#define BULK BULK_TARGET SYNTH_INLINE
#define BULKS ypi_bulk_avx2

typedef __m256i V;
typedef __m256 F;
typedef __m256 M; /* the sign of each lane, or all of its bits */
#define V_BLOCKS 4
/* Vectors in flight: enough to keep the units busy, few enough for the registers. */
#define MANY 5
#define BOX 3

#define UPPER 0xAA /* 32-bit halves of the 64-bit lanes */

BULK V v_set(uint32_t x)
{
    return _mm256_set1_epi32((int)x);
}

BULK V v_order(void)
{
    return _mm256_setr_epi64x(0, 2, 1, 3);
}

BULK V v_add(V a, V b)
{
    return _mm256_add_epi64(a, b);
}

BULK V v_add32(V a, V b)
{
    return _mm256_add_epi32(a, b);
}

BULK V v_mul(V a, V b)
{
    return _mm256_mul_epu32(a, b);
}

BULK V v_high(V a)
{
    return _mm256_srli_epi64(a, 32);
}

BULK V v_xor(V a, V b)
{
    return _mm256_xor_si256(a, b);
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

BULK V v_lower_pairs(V a, V b)
{
    return _mm256_unpacklo_epi64(a, b);
}

BULK V v_upper_pairs(V a, V b)
{
    return _mm256_unpackhi_epi64(a, b);
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

BULK V v_times_4(V a)
{
    return _mm256_slli_epi32(a, 2);
}

BULK M v_has_bit_30(V a)
{
    return _mm256_castsi256_ps(_mm256_slli_epi32(a, 1));
}

BULK V v_lower_singles(F a, F b)
{
    return _mm256_castps_si256(_mm256_unpacklo_ps(a, b));
}

BULK V v_upper_singles(F a, F b)
{
    return _mm256_castps_si256(_mm256_unpackhi_ps(a, b));
}

BULK void v_store(void *to, V a, bool nontemporal)
{
    if (nontemporal)
        _mm256_stream_si256(to, a);
    else
        _mm256_storeu_si256(to, a);
}

BULK void v_fence(void)
{
    _mm_sfence();
}

BULK F f_set(float x)
{
    return _mm256_set1_ps(x);
}

BULK F f_from_int(V a)
{
    return _mm256_cvtepi32_ps(a);
}

BULK F f_mul(F a, F b)
{
    return _mm256_mul_ps(a, b);
}

BULK F f_fma(F a, F b, F c)
{
    return _mm256_fmadd_ps(a, b, c);
}

/* c - a * b */
BULK F f_minus_fma(F a, F b, F c)
{
    return _mm256_fnmadd_ps(a, b, c);
}

BULK F f_sqrt(F a)
{
    return _mm256_sqrt_ps(a);
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

#include "synth/random/bulk_kernel.h"
#endif
