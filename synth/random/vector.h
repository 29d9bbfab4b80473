/*
 * Vectors of floats and of 32-bit integers by macros, for kernels that compilers do not turn into
 * vector code by themselves. No guard: before each inclusion SYNTH_VECTOR says how many lanes are
 * meant, 16 (AVX-512), 8 (AVX2 and FMA) or 1 (plain C), and the functions that use them carry the
 * matching SYNTH_TARGET_.... (or, for CUDA, __device__). Every operation is exactly rounded or an
 * integer one, so lanes do not show in the results. V_MIN(a, b) is a < b ? a : b, V_MAX(a, b) is a
 * > b ? a : b.
 */
#undef VF
#undef VI
#undef V_LOAD
#undef V_STORE
#undef V_LOAD_FIRST
#undef V_STORE_FIRST
#undef V_SET
#undef V_FMA
#undef V_ADD
#undef V_SUB
#undef V_MUL
#undef V_DIV
#undef V_SQRT
#undef V_MIN
#undef V_MAX
#undef VI_LOAD
#undef VI_SET
#undef VI_ADD
#undef VI_AND
#undef VI_SHIFT_LEFT
#undef V_PICK
#undef VI_OF_FLOAT
#undef V_OF_BITS

#if SYNTH_VECTOR == 16
#include <immintrin.h>
#define VF __m512
#define VI __m512i
#define V_LOAD(p) _mm512_loadu_ps(p)
#define V_STORE(p, v) _mm512_storeu_ps(p, v)
/* The first n < lanes; the others are 0. */
#define V_LOAD_FIRST(p, n) _mm512_maskz_loadu_ps((__mmask16)((1u << (n)) - 1), p)
#define V_STORE_FIRST(p, n, v) _mm512_mask_storeu_ps(p, (__mmask16)((1u << (n)) - 1), v)
#define V_SET(x) _mm512_set1_ps(x)
#define V_FMA(a, b, c) _mm512_fmadd_ps(a, b, c)
#define V_ADD(a, b) _mm512_add_ps(a, b)
#define V_SUB(a, b) _mm512_sub_ps(a, b)
#define V_MUL(a, b) _mm512_mul_ps(a, b)
#define V_DIV(a, b) _mm512_div_ps(a, b)
#define V_SQRT(a) _mm512_sqrt_ps(a)
#define V_MIN(a, b) _mm512_min_ps(a, b)
#define V_MAX(a, b) _mm512_max_ps(a, b)
#define VI_LOAD(p) _mm512_loadu_si512(p)
#define VI_SET(x) _mm512_set1_epi32(x)
#define VI_ADD(a, b) _mm512_add_epi32(a, b)
#define VI_AND(a, b) _mm512_and_si512(a, b)
#define VI_SHIFT_LEFT(a, n) _mm512_slli_epi32(a, n)
/* Lane i gets lane index[i] of a. */
#define V_PICK(a, index) _mm512_permutexvar_ps(index, a)
#define VI_OF_FLOAT(a) _mm512_cvttps_epi32(a)
#define V_OF_BITS(a) _mm512_castsi512_ps(a)

#elif SYNTH_VECTOR == 8
#include <immintrin.h>
#define VF __m256
#define VI __m256i
#define V_LOAD(p) _mm256_loadu_ps(p)
#define V_STORE(p, v) _mm256_storeu_ps(p, v)
#define V_FIRST_(n) \
    _mm256_cmpgt_epi32(_mm256_set1_epi32((int)(n)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))
#define V_LOAD_FIRST(p, n) _mm256_maskload_ps(p, V_FIRST_(n))
#define V_STORE_FIRST(p, n, v) _mm256_maskstore_ps(p, V_FIRST_(n), v)
#define V_SET(x) _mm256_set1_ps(x)
#define V_FMA(a, b, c) _mm256_fmadd_ps(a, b, c)
#define V_ADD(a, b) _mm256_add_ps(a, b)
#define V_SUB(a, b) _mm256_sub_ps(a, b)
#define V_MUL(a, b) _mm256_mul_ps(a, b)
#define V_DIV(a, b) _mm256_div_ps(a, b)
#define V_SQRT(a) _mm256_sqrt_ps(a)
#define V_MIN(a, b) _mm256_min_ps(a, b)
#define V_MAX(a, b) _mm256_max_ps(a, b)
#define VI_LOAD(p) _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define VI_SET(x) _mm256_set1_epi32(x)
#define VI_ADD(a, b) _mm256_add_epi32(a, b)
#define VI_AND(a, b) _mm256_and_si256(a, b)
#define VI_SHIFT_LEFT(a, n) _mm256_slli_epi32(a, n)
#define V_PICK(a, index) _mm256_permutevar8x32_ps(a, index)
#define VI_OF_FLOAT(a) _mm256_cvttps_epi32(a)
#define V_OF_BITS(a) _mm256_castsi256_ps(a)

#else
#define VF float
#define VI int32_t
#define V_LOAD(p) (*(p))
#define V_STORE(p, v) (*(p) = (v))
#define V_LOAD_FIRST(p, n) ((void)(n), 0.0f) /* no part of one lane */
#define V_STORE_FIRST(p, n, v) ((void)(p), (void)(n), (void)(v))
#define V_SET(x) (x)
#define V_FMA(a, b, c) SYNTH_FMA(a, b, c)
#define V_ADD(a, b) ((a) + (b))
#define V_SUB(a, b) ((a) - (b))
#define V_MUL(a, b) ((a) * (b))
#define V_DIV(a, b) ((a) / (b))
#define V_SQRT(a) SYNTH_SQRT(a)
#define V_MIN(a, b) SYNTH_MIN(a, b)
#define V_MAX(a, b) SYNTH_MAX(a, b)
#define VI_LOAD(p) ((int32_t) * (p))
#define VI_SET(x) (x)
#define VI_ADD(a, b) ((a) + (b))
#define VI_AND(a, b) ((a) & (b))
#define VI_SHIFT_LEFT(a, n) ((int32_t)((uint32_t)(a) << (n)))
#define V_PICK(a, index) ((void)(index), (a))
#define VI_OF_FLOAT(a) ((int32_t)(a))
#define V_OF_BITS(a) synth_float(a)
#endif
