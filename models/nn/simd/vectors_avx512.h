/* The words in which the kernels are written, for AVX-512. Who includes this has said how the set's
 * functions are called: #define NAME(name) name##_avx512. vectors_end.h takes all words back. */
#include <immintrin.h>

#define SUMS /* of floats themselves */
#define SET "avx512"
#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")))
#define W 16 /* floats of a vector */
#define R 8  /* rows of a block, N vectors wide: R N sums, N vectors and a row in 32 registers */
#define N 3
#define V __m512
#define HALF __m512d /* half the vector, in double */
#define TURN __m512i
#define SOME __mmask16

#define LOAD(p) _mm512_loadu_ps(p)
#define STORE(p, v) _mm512_storeu_ps(p, v)
#define SAME(x) _mm512_set1_ps(x)
#define FMA(a, b, c) _mm512_fmadd_ps(a, b, c)
#define LEAST(a, b) _mm512_min_ps(a, b)
#define MOST(a, b) _mm512_max_ps(a, b)
/* The first n lanes, n <= W; what is not of them loads as 0 and is not read. */
#define FIRST(n) ((__mmask16)((1u << (n)) - 1))
#define LOAD_SOME(p, some) _mm512_maskz_loadu_ps(some, p)
/* Whether a lane is infinite or NaN. */
#define WRONG(v) (_mm512_fpclass_ps_mask(v, 0x99) != 0)
/* The first half of the lanes as doubles, and the other. */
#define LOW_HALF(v) _mm512_cvtps_pd(_mm512_castps512_ps256(v))
#define HIGH_HALF(v) _mm512_cvtps_pd(_mm512_extractf32x8_ps(v, 1))
#define SAME_HALF(x) _mm512_set1_pd(x)
#define LOAD_HALF(p) _mm512_loadu_pd(p)
#define STORE_HALF(p, v) _mm512_storeu_pd(p, v)
/* v[turn[0]], v[turn[1]], ... */
#define LOAD_TURN(p) _mm512_loadu_si512(p)
#define PERMUTE(v, turn) _mm512_permutexvar_ps(turn, v)

/* v[i][j] and v[j][i] change places. */
TARGET static inline __attribute__((always_inline)) void NAME(transpose)(V v[W])
{
    V t[W];
    UNROLL for (int i = 0; i < 16; i += 2)
    {
        t[i] = _mm512_unpacklo_ps(v[i], v[i + 1]);
        t[i + 1] = _mm512_unpackhi_ps(v[i], v[i + 1]);
    }
    UNROLL for (int i = 0; i < 16; i += 4)
    {
        UNROLL for (int k = 0; k < 2; k++)
        {
            __m512d a = _mm512_castps_pd(t[i + k]), b = _mm512_castps_pd(t[i + k + 2]);
            v[i + 2 * k] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, b));
            v[i + 2 * k + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, b));
        }
    }
    UNROLL for (int i = 0; i < 4; i++)
    {
        t[i] = _mm512_shuffle_f32x4(v[i], v[i + 4], 0x88);
        t[i + 4] = _mm512_shuffle_f32x4(v[i], v[i + 4], 0xdd);
        t[i + 8] = _mm512_shuffle_f32x4(v[i + 8], v[i + 12], 0x88);
        t[i + 12] = _mm512_shuffle_f32x4(v[i + 8], v[i + 12], 0xdd);
    }
    UNROLL for (int i = 0; i < 4; i++)
    {
        v[i] = _mm512_shuffle_f32x4(t[i], t[i + 8], 0x88);
        v[i + 8] = _mm512_shuffle_f32x4(t[i], t[i + 8], 0xdd);
        v[i + 4] = _mm512_shuffle_f32x4(t[i + 4], t[i + 12], 0x88);
        v[i + 12] = _mm512_shuffle_f32x4(t[i + 4], t[i + 12], 0xdd);
    }
}
