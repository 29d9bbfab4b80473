/*
 * Vectors of floats by macros, for kernels that compilers do not turn into vector code by
 * themselves (base/simd/simd.h). No guard: before each inclusion V_LANES says how many lanes are
 * meant,
 *
 *     16  AVX-512    8  AVX2 and FMA    4  what gcc and clang make of vectors without being asked
 *                                          for instructions, V_FMA() then rounds twice
 *
 * and base/simd/vector_end.h takes all names back. V_TARGET is the attribute of functions that use
 * them, V_NAME(name) is name##_avx512, _avx2 or _baseline, or what V_SUFFIX says if it is defined
 * before.
 *
 * VF is a vector of floats, VI one of 32-bit integers, VD the doubles of half a VF, V_MASK names
 * some lanes. V_MIN(a, b) is a < b ? a : b, V_MAX(a, b) is a > b ? a : b, V_ABOVE_0(v, a, b) is
 * v > 0 ? a : b, V_SUM(v) the sum of all lanes, V_LOAD_BF16(p) of as many uint16_t, the upper
 * halves of floats, V_LOAD_FP16(p) of IEEE 754's binary16. Only what is used is here.
 */
#define V_NAME_OF_(name, suffix) name##_##suffix
#define V_NAME_OF(name, suffix) V_NAME_OF_(name, suffix)
#define V_NAME(name) V_NAME_OF(name, V_SUFFIX)

#if V_LANES == 16
#include <immintrin.h>
#ifndef V_SUFFIX
#define V_SUFFIX avx512
#endif
#define V_ISA_NAME "avx512"
#define V_TARGET YPI_TARGET_AVX512
#define VF __m512
#define VI __m512i
#define VD __m512d
#define V_MASK __mmask16

#define V_SET(x) _mm512_set1_ps(x)
#define V_LOAD(p) _mm512_loadu_ps(p)
#define V_STORE(p, v) _mm512_storeu_ps(p, v)
#define V_LOAD_BF16(p) \
    _mm512_castsi512_ps(_mm512_slli_epi32( \
        _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)(p))), 16))
#define V_LOAD_FP16(p) _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)(p)))
/* The first n <= lanes; what is not of them loads as 0, and is neither read nor written. */
#define V_FIRST(n) ((__mmask16)((1u << (n)) - 1))
#define V_LOAD_MASKED(p, mask) _mm512_maskz_loadu_ps(mask, p)
#define V_STORE_MASKED(p, mask, v) _mm512_mask_storeu_ps(p, mask, v)
#define V_FMA(a, b, c) _mm512_fmadd_ps(a, b, c)
#define V_ADD(a, b) _mm512_add_ps(a, b)
#define V_SUB(a, b) _mm512_sub_ps(a, b)
#define V_MUL(a, b) _mm512_mul_ps(a, b)
#define V_DIV(a, b) _mm512_div_ps(a, b)
#define V_SQRT(a) _mm512_sqrt_ps(a)
#define V_MIN(a, b) _mm512_min_ps(a, b)
#define V_MAX(a, b) _mm512_max_ps(a, b)
#define V_ABOVE_0(v, a, b) \
    _mm512_mask_blend_ps(_mm512_cmp_ps_mask(v, _mm512_setzero_ps(), _CMP_GT_OQ), b, a)
#define V_SUM(v) _mm512_reduce_add_ps(v)
/* Lane i gets lane index[i] of a. */
#define V_PICK(a, index) _mm512_permutexvar_ps(index, a)
/* Whether a lane is infinite or NaN. */
#define V_NOT_FINITE(v) (_mm512_fpclass_ps_mask(v, 0x99) != 0)
#define VI_LOAD(p) _mm512_loadu_si512(p)
#define VI_SET(x) _mm512_set1_epi32(x)
#define VI_ADD(a, b) _mm512_add_epi32(a, b)
#define VI_AND(a, b) _mm512_and_si512(a, b)
#define VI_SHIFT_LEFT(a, n) _mm512_slli_epi32(a, n)
#define VI_OF_FLOAT(a) _mm512_cvttps_epi32(a)
#define VI_OF_BITS(a) _mm512_castps_si512(a)
#define V_OF_BITS(a) _mm512_castsi512_ps(a)
/* The first half of the lanes as doubles, and the other. */
#define VD_LOW(v) _mm512_cvtps_pd(_mm512_castps512_ps256(v))
#define VD_HIGH(v) _mm512_cvtps_pd(_mm512_extractf32x8_ps(v, 1))
#define VD_SET(x) _mm512_set1_pd(x)
#define VD_LOAD(p) _mm512_loadu_pd(p)
#define VD_STORE(p, v) _mm512_storeu_pd(p, v)

#elif V_LANES == 8
#include <immintrin.h>
#ifndef YPI_VECTOR_8
#define YPI_VECTOR_8
YPI_TARGET_AVX2 static inline float ypi_sum8(__m256 v)
{
    __m128 four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
}
#endif
#ifndef V_SUFFIX
#define V_SUFFIX avx2
#endif
#define V_ISA_NAME "avx2"
#define V_TARGET YPI_TARGET_AVX2
#define VF __m256
#define VI __m256i
#define VD __m256d
#define V_MASK __m256i

#define V_SET(x) _mm256_set1_ps(x)
#define V_LOAD(p) _mm256_loadu_ps(p)
#define V_STORE(p, v) _mm256_storeu_ps(p, v)
#define V_LOAD_BF16(p) \
    _mm256_castsi256_ps(_mm256_slli_epi32( \
        _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)(p))), 16))
#define V_LOAD_FP16(p) _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(p)))
#define V_FIRST(n) \
    _mm256_cmpgt_epi32(_mm256_set1_epi32((int)(n)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))
#define V_LOAD_MASKED(p, mask) _mm256_maskload_ps(p, mask)
#define V_STORE_MASKED(p, mask, v) _mm256_maskstore_ps(p, mask, v)
#define V_FMA(a, b, c) _mm256_fmadd_ps(a, b, c)
#define V_ADD(a, b) _mm256_add_ps(a, b)
#define V_SUB(a, b) _mm256_sub_ps(a, b)
#define V_MUL(a, b) _mm256_mul_ps(a, b)
#define V_DIV(a, b) _mm256_div_ps(a, b)
#define V_SQRT(a) _mm256_sqrt_ps(a)
#define V_MIN(a, b) _mm256_min_ps(a, b)
#define V_MAX(a, b) _mm256_max_ps(a, b)
#define V_ABOVE_0(v, a, b) _mm256_blendv_ps(b, a, _mm256_cmp_ps(v, _mm256_setzero_ps(), _CMP_GT_OQ))
#define V_SUM(v) ypi_sum8(v)
#define V_PICK(a, index) _mm256_permutevar8x32_ps(a, index)
#define V_NOT_FINITE(v) \
    (_mm256_movemask_ps(_mm256_cmp_ps(_mm256_sub_ps(v, v), _mm256_setzero_ps(), _CMP_NEQ_UQ)) != 0)
#define VI_LOAD(p) _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define VI_SET(x) _mm256_set1_epi32(x)
#define VI_ADD(a, b) _mm256_add_epi32(a, b)
#define VI_AND(a, b) _mm256_and_si256(a, b)
#define VI_SHIFT_LEFT(a, n) _mm256_slli_epi32(a, n)
#define VI_OF_FLOAT(a) _mm256_cvttps_epi32(a)
#define VI_OF_BITS(a) _mm256_castps_si256(a)
#define V_OF_BITS(a) _mm256_castsi256_ps(a)
#define VD_LOW(v) _mm256_cvtps_pd(_mm256_castps256_ps128(v))
#define VD_HIGH(v) _mm256_cvtps_pd(_mm256_extractf128_ps(v, 1))
#define VD_SET(x) _mm256_set1_pd(x)
#define VD_LOAD(p) _mm256_loadu_pd(p)
#define VD_STORE(p, v) _mm256_storeu_pd(p, v)

#elif V_LANES == 4
#include <stdint.h>
#include <string.h>
#ifndef V_SUFFIX
#define V_SUFFIX baseline
#endif
#define V_ISA_NAME "baseline"
#define V_TARGET
#define VF ypi_float4
#define VI ypi_int4
#define VD ypi_double2
#define V_MASK size_t

#ifndef YPI_VECTOR_4
#define YPI_VECTOR_4
typedef float ypi_float4 __attribute__((vector_size(16)));
typedef int ypi_int4 __attribute__((vector_size(16)));
typedef unsigned ypi_uint4 __attribute__((vector_size(16)));
typedef double ypi_double2 __attribute__((vector_size(16)));

static inline ypi_float4 ypi_load4(const float *p, size_t lanes)
{
    ypi_float4 v = {0};
    for (size_t i = 0; i < lanes; i++)
        v[i] = p[i];
    return v;
}

static inline ypi_float4 ypi_load_bf16_4(const uint16_t *p)
{
    const ypi_int4 bits = {(int)((unsigned)p[0] << 16), (int)((unsigned)p[1] << 16),
                           (int)((unsigned)p[2] << 16), (int)((unsigned)p[3] << 16)};
    return (ypi_float4)bits;
}

static inline ypi_float4 ypi_load_fp16_4(const uint16_t *p)
{
    ypi_float4 v;
    for (int i = 0; i < 4; i++) {
        const uint32_t size = p[i] & 0x7fffU, over = size < 0x7c00U ? 112U << 23 : 224U << 23;
        const uint32_t bits = (size << 13) + over, sign = (uint32_t)(p[i] & 0x8000U) << 16;
        float value;
        memcpy(&value, &bits, sizeof value);
        value = size < 0x400U ? (float)size * 0x1p-24F : value;
        v[i] = sign != 0 ? -value : value;
    }
    return v;
}

static inline void ypi_store4(float *p, ypi_float4 v, size_t lanes)
{
    for (size_t i = 0; i < lanes; i++)
        p[i] = v[i];
}

static inline ypi_float4 ypi_choose4(ypi_float4 a, ypi_float4 b, bool least)
{
    for (int i = 0; i < 4; i++)
        a[i] = (least ? a[i] < b[i] : a[i] > b[i]) ? a[i] : b[i];
    return a;
}

static inline ypi_float4 ypi_above4(ypi_float4 v, ypi_float4 a, ypi_float4 b)
{
    for (int i = 0; i < 4; i++)
        a[i] = v[i] > 0 ? a[i] : b[i];
    return a;
}

static inline bool ypi_not_finite4(ypi_float4 v)
{
    for (int i = 0; i < 4; i++)
        if (!(v[i] - v[i] == 0))
            return true;
    return false;
}
#endif

#define V_SET(x) ((ypi_float4){x, x, x, x})
#define V_LOAD(p) ypi_load4(p, 4)
#define V_LOAD_BF16(p) ypi_load_bf16_4(p)
#define V_LOAD_FP16(p) ypi_load_fp16_4(p)
#define V_STORE(p, v) \
    do { \
        ypi_float4 stored_ = (v); \
        memcpy(p, &stored_, sizeof stored_); \
    } while (0)
#define V_FIRST(n) ((size_t)(n))
#define V_LOAD_MASKED(p, mask) ypi_load4(p, mask)
#define V_STORE_MASKED(p, mask, v) ypi_store4(p, v, mask)
#define V_FMA(a, b, c) ((c) + (a) * (b))
#define V_ADD(a, b) ((a) + (b))
#define V_SUB(a, b) ((a) - (b))
#define V_MUL(a, b) ((a) * (b))
#define V_DIV(a, b) ((a) / (b))
#define V_MIN(a, b) ypi_choose4(a, b, true)
#define V_MAX(a, b) ypi_choose4(a, b, false)
#define V_ABOVE_0(v, a, b) ypi_above4(v, a, b)
#define V_SUM(v) (((v)[0] + (v)[2]) + ((v)[1] + (v)[3]))
#define V_PICK(a, index) \
    ((ypi_float4){(a)[(index)[0]], (a)[(index)[1]], (a)[(index)[2]], (a)[(index)[3]]})
#define V_NOT_FINITE(v) ypi_not_finite4(v)
#define VI_LOAD(p) ((ypi_int4){(p)[0], (p)[1], (p)[2], (p)[3]})
#define VI_SET(x) ((ypi_int4){x, x, x, x})
#define VI_ADD(a, b) ((a) + (b))
#define VI_SHIFT_LEFT(a, n) ((ypi_int4)((ypi_uint4)(a) << (n)))
#define VI_OF_BITS(a) ((ypi_int4)(a))
#define V_OF_BITS(a) ((ypi_float4)(a))
#define VD_LOW(v) ((ypi_double2){(double)(v)[0], (double)(v)[1]})
#define VD_HIGH(v) ((ypi_double2){(double)(v)[2], (double)(v)[3]})
#define VD_SET(x) ((ypi_double2){x, x})
#define VD_LOAD(p) ((ypi_double2){(p)[0], (p)[1]})
#define VD_STORE(p, v) ((p)[0] = (v)[0], (p)[1] = (v)[1])
#else
#error "V_LANES must be 16, 8 or 4"
#endif
