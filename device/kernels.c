#include "kernels.h"

#include <stdint.h>
#include <string.h>

#define FACTOR 0.999
#define TERM 0.5
#define FACTOR_F 0.999F
#define TERM_F 0.5F

/* -- anywhere ------------------------------------------------------------------------------ */

static void read_words(struct ypi_kernel_work *w)
{
    uint64_t sum[8] = {0};
    const uint64_t *x = (const uint64_t *)(const void *)w->from;
    for (size_t i = 0; i < w->bytes / 8; i += 8)
        for (int k = 0; k < 8; k++)
            sum[k] += x[i + (size_t)k];
    for (int k = 1; k < 8; k++)
        sum[0] += sum[k];
    w->result = (double)sum[0];
}

static void copy_words(struct ypi_kernel_work *w)
{
    memcpy(w->to, w->from, w->bytes);
    __asm__ volatile("" : : "g"(w->to) : "memory");
}

static void fill_words(struct ypi_kernel_work *w)
{
    memset(w->to, 0x5a, w->bytes);
    __asm__ volatile("" : : "g"(w->to) : "memory");
}

/* Lanes enough for any vector register there is; the compiler makes of them what it targets. */
#define PLAIN(name, type, lanes, factor, term) \
    static void name(struct ypi_kernel_work *w) \
    { \
        type v[lanes]; \
        for (int k = 0; k < (lanes); k++) \
            v[k] = 1; \
        for (size_t i = 0; i < w->steps; i++) { \
            for (int k = 0; k < (lanes); k++) \
                v[k] = (type)(v[k] * (type)(factor) + (type)(term)); \
            __asm__ volatile("" : : : "memory"); \
        } \
        for (int k = 1; k < (lanes); k++) \
            __asm__ volatile("" : : "g"(v[k])); \
        w->result = (double)v[0]; \
    }

#if defined(__x86_64__)
#include <immintrin.h>

/* -- x86-64: accumulators enough to hide the latency of two units with four cycles each ----- */

#define TWELVE(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11)
#define TEN(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9)
#define HOLD_V(k) __asm__ volatile("" : "+v"(v##k));
#define HOLD_X(k) __asm__ volatile("" : "+x"(v##k));

#define BEGIN(k) V v##k = first;
#define CHAINS(name, target_, vector, EACH, HOLD, first_, a_, b_, STEP, lane) \
    __attribute__((target(target_))) static void name(struct ypi_kernel_work *w) \
    { \
        typedef vector V; \
        const V first = first_; \
        V a = a_; \
        V b = b_; \
        EACH(BEGIN) \
        for (size_t i = 0; i < w->steps; i++) { \
            __asm__ volatile("" : "+x"(a), "+x"(b)); \
            EACH(STEP) \
            EACH(HOLD) \
        } \
        w->result = (double)(lane); \
    }

#define FMA_512(k) v##k = _mm512_fmadd_ps(v##k, a, b);
CHAINS(fp32_avx512, "avx512f", __m512, TWELVE, HOLD_V, _mm512_set1_ps(1), _mm512_set1_ps(FACTOR_F),
       _mm512_set1_ps(TERM_F), FMA_512, _mm512_cvtss_f32(v0))
#define FMA_512D(k) v##k = _mm512_fmadd_pd(v##k, a, b);
CHAINS(fp64_avx512, "avx512f", __m512d, TWELVE, HOLD_V, _mm512_set1_pd(1), _mm512_set1_pd(FACTOR),
       _mm512_set1_pd(TERM), FMA_512D, _mm512_cvtsd_f64(v0))
#define FMA_256(k) v##k = _mm256_fmadd_ps(v##k, a, b);
CHAINS(fp32_avx2, "avx2,fma", __m256, TWELVE, HOLD_X, _mm256_set1_ps(1), _mm256_set1_ps(FACTOR_F),
       _mm256_set1_ps(TERM_F), FMA_256, _mm256_cvtss_f32(v0))
#define FMA_256D(k) v##k = _mm256_fmadd_pd(v##k, a, b);
CHAINS(fp64_avx2, "avx2,fma", __m256d, TWELVE, HOLD_X, _mm256_set1_pd(1), _mm256_set1_pd(FACTOR),
       _mm256_set1_pd(TERM), FMA_256D, _mm256_cvtsd_f64(v0))
#define MUL_ADD_128(k) v##k = _mm_add_ps(_mm_mul_ps(v##k, a), b);
CHAINS(fp32_sse2, "sse2", __m128, TWELVE, HOLD_X, _mm_set1_ps(1), _mm_set1_ps(FACTOR_F),
       _mm_set1_ps(TERM_F), MUL_ADD_128, _mm_cvtss_f32(v0))
#define MUL_ADD_128D(k) v##k = _mm_add_pd(_mm_mul_pd(v##k, a), b);
CHAINS(fp64_sse2, "sse2", __m128d, TWELVE, HOLD_X, _mm_set1_pd(1), _mm_set1_pd(FACTOR),
       _mm_set1_pd(TERM), MUL_ADD_128D, _mm_cvtsd_f64(v0))

/* Products by 3 and sums with 1, modulo 2^32. */
#define STEP_512I(k) v##k = _mm512_add_epi32(_mm512_mullo_epi32(v##k, a), b);
CHAINS(int32_avx512, "avx512f", __m512i, TWELVE, HOLD_V, _mm512_set1_epi32(1), _mm512_set1_epi32(3),
       _mm512_set1_epi32(1), STEP_512I, (uint32_t)_mm512_cvtsi512_si32(v0))
#define STEP_256I(k) v##k = _mm256_add_epi32(_mm256_mullo_epi32(v##k, a), b);
CHAINS(int32_avx2, "avx2", __m256i, TWELVE, HOLD_X, _mm256_set1_epi32(1), _mm256_set1_epi32(3),
       _mm256_set1_epi32(1), STEP_256I, (uint32_t)_mm256_extract_epi32(v0, 0))

/* Sums of products of one byte each, 1 times 3, four products a lane. */
#define DOT_512I(k) v##k = _mm512_dpbusd_epi32(v##k, a, b);
CHAINS(int8_vnni, "avx512f,avx512vnni", __m512i, TWELVE, HOLD_V, _mm512_setzero_si512(),
       _mm512_set1_epi8(1), _mm512_set1_epi8(3), DOT_512I, _mm512_cvtsi512_si32(v0))
#define AGAIN __asm__ volatile("" : "+x"(a));
#define DOT_256I(k) \
    AGAIN v##k = _mm256_add_epi32( \
        v##k, _mm256_madd_epi16(_mm256_maddubs_epi16(a, b), _mm256_set1_epi16(1)));
CHAINS(int8_avx2, "avx2", __m256i, TEN, HOLD_X, _mm256_setzero_si256(), _mm256_set1_epi8(1),
       _mm256_set1_epi8(3), DOT_256I, _mm256_extract_epi32(v0, 0))
/* The same in bytes that stand in words already, two products a lane. */
#define DOT_128I(k) AGAIN v##k = _mm_add_epi32(v##k, _mm_madd_epi16(a, b));
CHAINS(int8_sse2, "sse2", __m128i, TEN, HOLD_X, _mm_setzero_si128(), _mm_set1_epi16(1),
       _mm_set1_epi16(3), DOT_128I, _mm_cvtsi128_si32(v0))

/* 1.5 times 2 in bf16, two products a lane. */
#define DOT_512B(k) v##k = _mm512_dpbf16_ps(v##k, (__m512bh)a, (__m512bh)b);
CHAINS(bf16_avx512, "avx512f,avx512bf16", __m512, TWELVE, HOLD_V, _mm512_setzero_ps(),
       _mm512_castsi512_ps(_mm512_set1_epi32(0x3fc03fc0)),
       _mm512_castsi512_ps(_mm512_set1_epi32(0x40004000)), DOT_512B, _mm512_cvtss_f32(v0))

/* Four tiles of 16 by 16 sums, each of 16 by 64 bytes times 64 bytes by 16. */
struct tile_config {
    uint8_t palette, start_row;
    uint8_t reserved[14];
    uint16_t columns[16];
    uint8_t rows[16];
};

#define TILES(name, type_, dot, first_, second_, result_) \
    __attribute__((target("amx-tile," type_))) static void name(struct ypi_kernel_work *w) \
    { \
        struct tile_config config = {.palette = 1}; \
        uint16_t a[512]; \
        uint16_t b[512]; \
        result_ sum[256]; \
        for (int i = 0; i < 8; i++) { \
            config.columns[i] = 64; \
            config.rows[i] = 16; \
        } \
        for (int i = 0; i < 512; i++) { \
            a[i] = first_; \
            b[i] = second_; \
        } \
        _tile_loadconfig(&config); \
        _tile_zero(0); \
        _tile_zero(1); \
        _tile_zero(2); \
        _tile_zero(3); \
        _tile_loadd(4, a, 64); \
        _tile_loadd(5, a, 64); \
        _tile_loadd(6, b, 64); \
        _tile_loadd(7, b, 64); \
        for (size_t i = 0; i < w->steps; i++) { \
            dot(0, 4, 6); \
            dot(1, 4, 7); \
            dot(2, 5, 6); \
            dot(3, 5, 7); \
        } \
        _tile_stored(0, sum, 64); \
        _tile_release(); \
        w->result = (double)sum[0]; \
    }
TILES(bf16_amx, "amx-bf16", _tile_dpbf16ps, 0x3fc0, 0x4000, float)
TILES(int8_amx, "amx-int8", _tile_dpbusd, 0x0101, 0x0303, int32_t)

/* -- traffic ------------------------------------------------------------------------------- */

#define READ(name, target_, vector, width, zero, add, load) \
    __attribute__((target(target_))) static void name(struct ypi_kernel_work *w) \
    { \
        vector sum[8]; \
        uint64_t words[8 * (width) / 8]; \
        for (int k = 0; k < 8; k++) \
            sum[k] = zero(); \
        for (size_t i = 0; i < w->bytes; i += 8 * (width)) \
            for (size_t k = 0; k < 8; k++) \
                sum[k] = add(sum[k], load((const void *)(w->from + i + k * (width)))); \
        memcpy(words, sum, sizeof words); \
        for (size_t k = 1; k < 8 * (width) / 8; k++) \
            words[0] += words[k]; \
        w->result = (double)words[0]; \
    }
READ(read_avx512, "avx512f", __m512i, 64, _mm512_setzero_si512, _mm512_add_epi64, _mm512_load_si512)
READ(read_avx2, "avx2", __m256i, 32, _mm256_setzero_si256, _mm256_add_epi64, _mm256_load_si256)

#define MOVE(name, target_, width, value, store, after) \
    __attribute__((target(target_))) static void name(struct ypi_kernel_work *w) \
    { \
        for (size_t i = 0; i < w->bytes; i += 8 * (width)) \
            for (size_t k = 0; k < 8; k++) \
                store((void *)(w->to + i + k * (width)), value); \
        after; \
        __asm__ volatile("" : : "g"(w->to) : "memory"); \
    }
#define FROM_512 _mm512_load_si512((const void *)(w->from + i + k * 64))
#define FROM_256 _mm256_load_si256((const void *)(w->from + i + k * 32))
#define FROM_128 _mm_load_si128((const void *)(w->from + i + k * 16))
MOVE(copy_avx512, "avx512f", 64, FROM_512, _mm512_store_si512, (void)0)
MOVE(copy_avx512_past, "avx512f", 64, FROM_512, _mm512_stream_si512, _mm_sfence())
MOVE(copy_avx2, "avx2", 32, FROM_256, _mm256_store_si256, (void)0)
MOVE(copy_avx2_past, "avx2", 32, FROM_256, _mm256_stream_si256, _mm_sfence())
MOVE(copy_sse2_past, "sse2", 16, FROM_128, _mm_stream_si128, _mm_sfence())
MOVE(fill_avx512, "avx512f", 64, _mm512_set1_epi8(0x5a), _mm512_store_si512, (void)0)
MOVE(fill_avx512_past, "avx512f", 64, _mm512_set1_epi8(0x5a), _mm512_stream_si512, _mm_sfence())
MOVE(fill_avx2, "avx2", 32, _mm256_set1_epi8(0x5a), _mm256_store_si256, (void)0)
MOVE(fill_avx2_past, "avx2", 32, _mm256_set1_epi8(0x5a), _mm256_stream_si256, _mm_sfence())
MOVE(fill_sse2_past, "sse2", 16, _mm_set1_epi8(0x5a), _mm_stream_si128, _mm_sfence())

static bool has_vnni(void)
{
    return __builtin_cpu_supports("avx512vnni");
}

static bool has_bf16(void)
{
    return __builtin_cpu_supports("avx512bf16");
}
#else
PLAIN(fp32_plain, float, 64, FACTOR, TERM)
PLAIN(fp64_plain, double, 32, FACTOR, TERM)
#endif

PLAIN(int32_plain, uint32_t, 32, 3, 1)

static const struct ypi_kernel kernels[] = {
    {YP_READ, YP_ISA_BASELINE, NULL, read_words, 1, false},
    {YP_COPY, YP_ISA_BASELINE, NULL, copy_words, 2, false},
    {YP_FILL, YP_ISA_BASELINE, NULL, fill_words, 1, false},
    {YP_INT32, YP_ISA_BASELINE, NULL, int32_plain, 32 * 2, false},
#if defined(__x86_64__)
    {YP_READ, YP_ISA_AVX2, NULL, read_avx2, 1, false},
    {YP_READ, YP_ISA_AVX512, NULL, read_avx512, 1, false},
    {YP_COPY, YP_ISA_BASELINE, NULL, copy_sse2_past, 2, true},
    {YP_COPY, YP_ISA_AVX2, NULL, copy_avx2, 2, false},
    {YP_COPY, YP_ISA_AVX2, NULL, copy_avx2_past, 2, true},
    {YP_COPY, YP_ISA_AVX512, NULL, copy_avx512, 2, false},
    {YP_COPY, YP_ISA_AVX512, NULL, copy_avx512_past, 2, true},
    {YP_FILL, YP_ISA_BASELINE, NULL, fill_sse2_past, 1, true},
    {YP_FILL, YP_ISA_AVX2, NULL, fill_avx2, 1, false},
    {YP_FILL, YP_ISA_AVX2, NULL, fill_avx2_past, 1, true},
    {YP_FILL, YP_ISA_AVX512, NULL, fill_avx512, 1, false},
    {YP_FILL, YP_ISA_AVX512, NULL, fill_avx512_past, 1, true},
    {YP_FP64, YP_ISA_BASELINE, NULL, fp64_sse2, 12 * 2 * 2, false},
    {YP_FP64, YP_ISA_AVX2, NULL, fp64_avx2, 12 * 4 * 2, false},
    {YP_FP64, YP_ISA_AVX512, NULL, fp64_avx512, 12 * 8 * 2, false},
    {YP_FP32, YP_ISA_BASELINE, NULL, fp32_sse2, 12 * 4 * 2, false},
    {YP_FP32, YP_ISA_AVX2, NULL, fp32_avx2, 12 * 8 * 2, false},
    {YP_FP32, YP_ISA_AVX512, NULL, fp32_avx512, 12 * 16 * 2, false},
    {YP_BF16, YP_ISA_BASELINE, NULL, fp32_sse2, 12 * 4 * 2, false},
    {YP_BF16, YP_ISA_AVX2, NULL, fp32_avx2, 12 * 8 * 2, false},
    {YP_BF16, YP_ISA_AVX512, NULL, fp32_avx512, 12 * 16 * 2, false},
    {YP_BF16, YP_ISA_AVX512, has_bf16, bf16_avx512, 12 * 16 * 2 * 2, false},
    {YP_BF16, YP_ISA_AMX, NULL, bf16_amx, 4 * 16 * 16 * 32 * 2, false},
    {YP_INT8, YP_ISA_BASELINE, NULL, int8_sse2, 10 * 4 * 2 * 2, false},
    {YP_INT8, YP_ISA_AVX2, NULL, int8_avx2, 10 * 8 * 4 * 2, false},
    {YP_INT8, YP_ISA_AVX512, has_vnni, int8_vnni, 12 * 16 * 4 * 2, false},
    {YP_INT8, YP_ISA_AMX, NULL, int8_amx, 4 * 16 * 16 * 64 * 2, false},
    {YP_INT32, YP_ISA_AVX2, NULL, int32_avx2, 12 * 8 * 2, false},
    {YP_INT32, YP_ISA_AVX512, NULL, int32_avx512, 12 * 16 * 2, false},
#else
    {YP_FP64, YP_ISA_BASELINE, NULL, fp64_plain, 32 * 2, false},
    {YP_FP32, YP_ISA_BASELINE, NULL, fp32_plain, 64 * 2, false},
    {YP_BF16, YP_ISA_BASELINE, NULL, fp32_plain, 64 * 2, false},
    {YP_INT8, YP_ISA_BASELINE, NULL, int32_plain, 32 * 2, false},
#endif
};

const struct ypi_kernel *ypi_kernels(size_t *count)
{
    *count = sizeof kernels / sizeof kernels[0];
    return kernels;
}
