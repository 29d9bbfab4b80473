/* The words in which the kernels are written, for AVX2 and FMA; vectors_avx512.h says what each
 * means. */
#include <immintrin.h>

#define SUMS /* of floats themselves */
#define SET "avx2"
#define TARGET __attribute__((target("avx2,fma")))
#define W 8
#define R 4 /* 12 sums, 3 vectors and a row in 16 registers */
#define N 3
#define V __m256
#define HALF __m256d
#define TURN __m256i
#define SOME __m256i

#define LOAD(p) _mm256_loadu_ps(p)
#define STORE(p, v) _mm256_storeu_ps(p, v)
#define SAME(x) _mm256_set1_ps(x)
#define FMA(a, b, c) _mm256_fmadd_ps(a, b, c)
#define LEAST(a, b) _mm256_min_ps(a, b)
#define MOST(a, b) _mm256_max_ps(a, b)
#define FIRST(n) \
    _mm256_cmpgt_epi32(_mm256_set1_epi32((int)(n)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))
#define LOAD_SOME(p, some) _mm256_maskload_ps(p, some)
#define WRONG(v) \
    (_mm256_movemask_ps(_mm256_cmp_ps(_mm256_sub_ps(v, v), _mm256_setzero_ps(), _CMP_NEQ_UQ)) != 0)
#define LOW_HALF(v) _mm256_cvtps_pd(_mm256_castps256_ps128(v))
#define HIGH_HALF(v) _mm256_cvtps_pd(_mm256_extractf128_ps(v, 1))
#define SAME_HALF(x) _mm256_set1_pd(x)
#define LOAD_HALF(p) _mm256_loadu_pd(p)
#define STORE_HALF(p, v) _mm256_storeu_pd(p, v)
#define LOAD_TURN(p) _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define PERMUTE(v, turn) _mm256_permutevar8x32_ps(v, turn)

TARGET static inline __attribute__((always_inline)) void NAME(transpose)(V v[W])
{
    V t[W];
    UNROLL for (int i = 0; i < 8; i += 2)
    {
        t[i] = _mm256_unpacklo_ps(v[i], v[i + 1]);
        t[i + 1] = _mm256_unpackhi_ps(v[i], v[i + 1]);
    }
    UNROLL for (int i = 0; i < 8; i += 4)
    {
        UNROLL for (int k = 0; k < 2; k++)
        {
            v[i + 2 * k] = _mm256_shuffle_ps(t[i + k], t[i + k + 2], 0x44);
            v[i + 2 * k + 1] = _mm256_shuffle_ps(t[i + k], t[i + k + 2], 0xee);
        }
    }
    UNROLL for (int i = 0; i < 4; i++)
    {
        t[i] = _mm256_permute2f128_ps(v[i], v[i + 4], 0x20);
        t[i + 4] = _mm256_permute2f128_ps(v[i], v[i + 4], 0x31);
    }
    UNROLL for (int i = 0; i < 8; i++) v[i] = t[i];
}
