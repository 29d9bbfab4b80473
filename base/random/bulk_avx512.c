/* AVX-512: eight blocks a vector. */
#include "base/random/bulk.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define BULK_TARGET YPI_TARGET_AVX512
#define BULK BULK_TARGET YPI_INLINE
#define MM(name) _mm512_##name
#define MM_SI(name) _mm512_##name##_si512
#define BULKS ypi_bulk_avx512

typedef __m512i V;
typedef __m512 F;
typedef __mmask16 M;
#define V_BLOCKS 8
/* Vectors in flight: enough to keep the units busy, few enough for the registers. */
#define MANY 6
#define BOX 4

/* Upper 32-bit halves of the 64-bit lanes. */
#define UPPER 0xAAAA
#define LOWER 0x5555

#include "base/random/bulk_x86.h"

BULK V v_order(void)
{
    return _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);
}

/* The upper half also stays in place. A shift would do as well, but Zen 5 has half as many units
 * for it. */
BULK V v_high(V a)
{
    return _mm512_shuffle_epi32(a, _MM_PERM_DDBB);
}

BULK V v_xor3(V a, V b, V c)
{
    return _mm512_ternarylogic_epi32(a, b, c, 0x96);
}

/* Lower halves: upper half of `last` ^ before ^ key; upper halves: lower half of `last`. */
BULK V v_word_pair(V last, V before, V key)
{
    V turned = _mm512_ror_epi64(last, 32);
    return _mm512_mask_ternarylogic_epi32(turned, LOWER, before, key, 0x96);
}

/* The lower halves of a, those of b. */
BULK V v_join(V a, V b)
{
    return _mm512_mask_shuffle_epi32(a, UPPER, b, _MM_PERM_CCAA);
}

/* The upper halves of a, those of b. */
BULK V v_join_high(V a, V b)
{
    return _mm512_mask_shuffle_epi32(b, LOWER, a, _MM_PERM_DDBB);
}

BULK M v_has_bit_30(V a)
{
    return _mm512_test_epi32_mask(a, _mm512_set1_epi32(1 << 30));
}

BULK M f_is_positive(F x)
{
    return _mm512_cmp_epi32_mask(_mm512_castps_si512(x), _mm512_setzero_si512(), _MM_CMPINT_NLT);
}

/* Of normal numbers; 0 elsewhere. */
BULK F f_exponent_where(M where, F x)
{
    return _mm512_maskz_getexp_ps(where, x);
}

/* x elsewhere. */
BULK F f_mantissa_minus_two_where(M where, F x)
{
    V bits = _mm512_castps_si512(x);
    V one = _mm512_castps_si512(_mm512_set1_ps(1.0f));
    V mantissa = _mm512_ternarylogic_epi32(bits, _mm512_set1_epi32(0x7fffff), one, 0xea);
    return _mm512_mask_sub_ps(x, where, _mm512_castsi512_ps(mantissa), _mm512_set1_ps(2.0f));
}

/* a with its sign changed where b has bit 31. */
BULK F f_xor_sign(F a, V b)
{
    V sign = _mm512_set1_epi32(INT32_MIN);
    return _mm512_castsi512_ps(_mm512_ternarylogic_epi32(_mm512_castps_si512(a), b, sign, 0x78));
}

BULK F f_choose(M where, F there, F elsewhere)
{
    return _mm512_mask_blend_ps(where, elsewhere, there);
}

BULK F f_choose_minus(M where, F there, F elsewhere)
{
    return _mm512_mask_xor_ps(elsewhere, where, there, _mm512_set1_ps(-0.0f));
}

#include "base/random/bulk_kernel.h"
#endif
