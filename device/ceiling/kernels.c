#include "device/ceiling/kernels.h"

#include <string.h>

#define FACTOR 0.999
#define TERM 0.5

/* Nothing is known of memory from here on, so that each pass is made. */
#define PASS(w) __asm__ volatile("" : : "r"((w)->from), "r"((w)->to) : "memory")

/* -- for every processor ------------------------------------------------------------------- */

static void read_words(struct ypi_kernel_work *w)
{
    enum { LANES = 8 };
    uint64_t sum[LANES] = {0};
    for (size_t pass = 0; pass < w->passes; pass++) {
        const uint64_t *x = (const uint64_t *)(const void *)w->from;
        PASS(w);
        for (size_t i = 0; i < w->bytes / sizeof *x; i += LANES)
            for (size_t k = 0; k < LANES; k++)
                sum[k] += x[i + k];
    }
    w->sum = 0;
    for (size_t k = 0; k < LANES; k++)
        w->sum += sum[k];
}

static void copy_words(struct ypi_kernel_work *w)
{
    for (size_t pass = 0; pass < w->passes; pass++) {
        PASS(w);
        memcpy(w->to, w->from, w->bytes);
    }
    PASS(w);
}

static void fill_words(struct ypi_kernel_work *w)
{
    for (size_t pass = 0; pass < w->passes; pass++) {
        PASS(w);
        memset(w->to, YPI_KERNEL_FILL, w->bytes);
    }
    PASS(w);
}

/* The sum over the lanes of one accumulator: total_double(), total_float(), total_uint32_t(). */
#define TOTAL(type) \
    static double total_##type(const void *vector, size_t bytes) \
    { \
        double total = 0; \
        for (size_t i = 0; i < bytes; i += sizeof(type)) { \
            type lane; \
            memcpy(&lane, (const char *)vector + i, sizeof lane); \
            total += (double)lane; \
        } \
        return total; \
    }
TOTAL(double)
TOTAL(float)
TOTAL(uint32_t)

/* Lanes enough for any vector register; the compiler makes of them what it targets. */
#define PLAIN(name, type, lanes, first, factor_, term_) \
    static void name(struct ypi_kernel_work *w) \
    { \
        volatile type opaque[2] = {factor_, term_}; \
        const type factor = opaque[0]; \
        const type term = opaque[1]; \
        type v[lanes]; \
        for (int k = 0; k < (lanes); k++) \
            v[k] = first; \
        for (size_t i = 0; i < w->steps; i++) \
            for (int k = 0; k < (lanes); k++) \
                v[k] = v[k] * factor + term; \
        w->total = total_##type(v, sizeof v); \
    }
PLAIN(int32_plain, uint32_t, 32, 1, 3, 1)

#if defined(__x86_64__)
#include <immintrin.h>

/* -- x86-64: chains enough to keep two units busy that answer after five cycles ------------- */

/* As many as fit into 16 registers, or 32. */
#define TWELVE(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11)
#define TWENTY(DO) TWELVE(DO) DO(12) DO(13) DO(14) DO(15) DO(16) DO(17) DO(18) DO(19)

#define BEGIN(k) V v##k = first;
#define HOLD(k) __asm__ volatile("" : "+v"(v##k));
/* a and b are unknown to the compiler in every step: nothing that is made of them alone is kept. */
#define CHAINS(name, target_, vector, EACH, first_, a_, b_, STEP, type) \
    __attribute__((target(target_))) static void name(struct ypi_kernel_work *w) \
    { \
        typedef vector V; \
        const V first = first_; \
        V a = a_; \
        V b = b_; \
        EACH(BEGIN) \
        for (size_t i = 0; i < w->steps; i++) { \
            __asm__ volatile("" : "+v"(a), "+v"(b)); \
            EACH(STEP) \
            EACH(HOLD) \
        } \
        w->total = 0; \
        EACH(ADD_##type) \
    }
#define ADD_double(k) w->total += total_double(&v##k, sizeof v##k);
#define ADD_float(k) w->total += total_float(&v##k, sizeof v##k);
#define ADD_uint32_t(k) w->total += total_uint32_t(&v##k, sizeof v##k);

#define STEP_PS512(k) v##k = _mm512_fmadd_ps(v##k, a, b);
CHAINS(fp32_avx512, "avx512f", __m512, TWENTY, _mm512_set1_ps(1), _mm512_set1_ps((float)FACTOR),
       _mm512_set1_ps((float)TERM), STEP_PS512, float)
#define STEP_PD512(k) v##k = _mm512_fmadd_pd(v##k, a, b);
CHAINS(fp64_avx512, "avx512f", __m512d, TWENTY, _mm512_set1_pd(1), _mm512_set1_pd(FACTOR),
       _mm512_set1_pd(TERM), STEP_PD512, double)
#define STEP_PS256(k) v##k = _mm256_fmadd_ps(v##k, a, b);
CHAINS(fp32_avx2, "avx2,fma", __m256, TWELVE, _mm256_set1_ps(1), _mm256_set1_ps((float)FACTOR),
       _mm256_set1_ps((float)TERM), STEP_PS256, float)
#define STEP_PD256(k) v##k = _mm256_fmadd_pd(v##k, a, b);
CHAINS(fp64_avx2, "avx2,fma", __m256d, TWELVE, _mm256_set1_pd(1), _mm256_set1_pd(FACTOR),
       _mm256_set1_pd(TERM), STEP_PD256, double)
#define STEP_PS128(k) v##k = _mm_add_ps(_mm_mul_ps(v##k, a), b);
CHAINS(fp32_sse2, "sse2", __m128, TWELVE, _mm_set1_ps(1), _mm_set1_ps((float)FACTOR),
       _mm_set1_ps((float)TERM), STEP_PS128, float)
#define STEP_PD128(k) v##k = _mm_add_pd(_mm_mul_pd(v##k, a), b);
CHAINS(fp64_sse2, "sse2", __m128d, TWELVE, _mm_set1_pd(1), _mm_set1_pd(FACTOR), _mm_set1_pd(TERM),
       STEP_PD128, double)

#define STEP_I512(k) v##k = _mm512_add_epi32(_mm512_mullo_epi32(v##k, a), b);
CHAINS(int32_avx512, "avx512f", __m512i, TWENTY, _mm512_set1_epi32(1), _mm512_set1_epi32(3),
       _mm512_set1_epi32(1), STEP_I512, uint32_t)
#define STEP_I256(k) v##k = _mm256_add_epi32(_mm256_mullo_epi32(v##k, a), b);
CHAINS(int32_avx2, "avx2", __m256i, TWELVE, _mm256_set1_epi32(1), _mm256_set1_epi32(3),
       _mm256_set1_epi32(1), STEP_I256, uint32_t)

/* Four products a lane. */
#define STEP_DOT512(k) v##k = _mm512_dpbusd_epi32(v##k, a, b);
CHAINS(int8_vnni, "avx512f,avx512vnni", __m512i, TWENTY, _mm512_setzero_si512(),
       _mm512_set1_epi8(1), _mm512_set1_epi8(3), STEP_DOT512, uint32_t)
/* The product of a and b is made anew for each accumulator. */
#define AGAIN __asm__ volatile("" : "+v"(a));
#define STEP_DOT256(k) \
    AGAIN v##k = _mm256_add_epi32( \
        v##k, _mm256_madd_epi16(_mm256_maddubs_epi16(a, b), _mm256_set1_epi16(1)));
CHAINS(int8_avx2, "avx2", __m256i, TWELVE, _mm256_setzero_si256(), _mm256_set1_epi8(1),
       _mm256_set1_epi8(3), STEP_DOT256, uint32_t)
/* Bytes that stand in words already: two products a lane. */
#define STEP_DOT128(k) AGAIN v##k = _mm_add_epi32(v##k, _mm_madd_epi16(a, b));
CHAINS(int8_sse2, "sse2", __m128i, TWELVE, _mm_setzero_si128(), _mm_set1_epi16(1),
       _mm_set1_epi16(3), STEP_DOT128, uint32_t)

/* 1.5 and 2 in bf16, two of each a lane: two products. */
#define STEP_BF512(k) v##k = _mm512_dpbf16_ps(v##k, (__m512bh)a, (__m512bh)b);
CHAINS(bf16_avx512, "avx512f,avx512bf16", __m512, TWENTY, _mm512_setzero_ps(),
       _mm512_castsi512_ps(_mm512_set1_epi32(0x3fc03fc0)),
       _mm512_castsi512_ps(_mm512_set1_epi32(0x40004000)), STEP_BF512, float)

/* Intel's Architecture Instruction Set Extensions Programming Reference, chapter 3: the 64 bytes
 * that LDTILECFG takes. */
struct tile_config {
    uint8_t palette, start_row;
    uint8_t reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
};

/* Four tiles of 16 by 16 sums, each of 16 by 64 bytes times 64 bytes by 16. */
#define TILES(name, target_, dot, a_, b_, type) \
    __attribute__((target("amx-tile," target_))) static void name(struct ypi_kernel_work *w) \
    { \
        struct tile_config config = {.palette = 1}; \
        uint16_t a[16 * 32]; \
        uint16_t b[16 * 32]; \
        type sum[4][16 * 16]; \
        for (int i = 0; i < 8; i++) { \
            config.row_bytes[i] = 64; \
            config.rows[i] = 16; \
        } \
        for (int i = 0; i < 16 * 32; i++) { \
            a[i] = a_; \
            b[i] = b_; \
        } \
        __asm__ volatile("" : : "r"(a), "r"(b), "r"(&config) : "memory"); \
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
        _tile_stored(0, sum[0], 64); \
        _tile_stored(1, sum[1], 64); \
        _tile_stored(2, sum[2], 64); \
        _tile_stored(3, sum[3], 64); \
        _tile_release(); \
        __asm__ volatile("" : : "r"(sum) : "memory"); \
        w->total = total_##type(sum, sizeof sum); \
    }
TILES(bf16_amx, "amx-bf16", _tile_dpbf16ps, 0x3fc0, 0x4000, float)
TILES(int8_amx, "amx-int8", _tile_dpbusd, 0x0101, 0x0303, uint32_t)

/* -- x86-64: traffic ----------------------------------------------------------------------- */

#define READ(name, target_, vector, zero, add, load) \
    __attribute__((target(target_))) static void name(struct ypi_kernel_work *w) \
    { \
        enum { AT_ONCE = 8, WORDS = AT_ONCE * sizeof(vector) / 8 }; \
        vector sum[AT_ONCE]; \
        uint64_t words[WORDS]; \
        for (size_t k = 0; k < AT_ONCE; k++) \
            sum[k] = zero(); \
        for (size_t pass = 0; pass < w->passes; pass++) { \
            const char *end = w->from + w->bytes; \
            PASS(w); \
            for (const char *x = w->from; x < end; x += sizeof sum) \
                for (size_t k = 0; k < AT_ONCE; k++) \
                    sum[k] = add(sum[k], load((const void *)(x + k * sizeof(vector)))); \
        } \
        memcpy(words, sum, sizeof words); \
        w->sum = 0; \
        for (size_t k = 0; k < WORDS; k++) \
            w->sum += words[k]; \
    }
READ(read_avx512, "avx512f", __m512i, _mm512_setzero_si512, _mm512_add_epi64, _mm512_load_si512)
READ(read_avx2, "avx2", __m256i, _mm256_setzero_si256, _mm256_add_epi64, _mm256_load_si256)

#define MOVE(name, target_, width, value, store, after) \
    __attribute__((target(target_))) static void name(struct ypi_kernel_work *w) \
    { \
        enum { AT_ONCE = 8 }; \
        for (size_t pass = 0; pass < w->passes; pass++) { \
            PASS(w); \
            for (size_t i = 0; i < w->bytes; i += AT_ONCE * (width)) \
                for (size_t k = 0; k < AT_ONCE; k++) \
                    store((void *)(w->to + i + k * (width)), value); \
        } \
        after; \
        PASS(w); \
    }
#define FROM_512 _mm512_load_si512((const void *)(w->from + i + k * 64))
#define FROM_256 _mm256_load_si256((const void *)(w->from + i + k * 32))
#define FROM_128 _mm_load_si128((const void *)(w->from + i + k * 16))
MOVE(copy_avx512, "avx512f", 64, FROM_512, _mm512_store_si512, (void)0)
MOVE(copy_avx512_past, "avx512f", 64, FROM_512, _mm512_stream_si512, _mm_sfence())
MOVE(copy_avx2, "avx2", 32, FROM_256, _mm256_store_si256, (void)0)
MOVE(copy_avx2_past, "avx2", 32, FROM_256, _mm256_stream_si256, _mm_sfence())
MOVE(copy_sse2_past, "sse2", 16, FROM_128, _mm_stream_si128, _mm_sfence())
#define WITH_512 _mm512_set1_epi8(YPI_KERNEL_FILL)
#define WITH_256 _mm256_set1_epi8(YPI_KERNEL_FILL)
#define WITH_128 _mm_set1_epi8(YPI_KERNEL_FILL)
MOVE(fill_avx512, "avx512f", 64, WITH_512, _mm512_store_si512, (void)0)
MOVE(fill_avx512_past, "avx512f", 64, WITH_512, _mm512_stream_si512, _mm_sfence())
MOVE(fill_avx2, "avx2", 32, WITH_256, _mm256_store_si256, (void)0)
MOVE(fill_avx2_past, "avx2", 32, WITH_256, _mm256_stream_si256, _mm_sfence())
MOVE(fill_sse2_past, "sse2", 16, WITH_128, _mm_stream_si128, _mm_sfence())

static bool has_vnni(void)
{
    return __builtin_cpu_supports("avx512vnni");
}

static bool has_bf16(void)
{
    return __builtin_cpu_supports("avx512bf16");
}
#else
PLAIN(fp64_plain, double, 32, 1, FACTOR, TERM)
PLAIN(fp32_plain, float, 64, 1, (float)FACTOR, (float)TERM)
/* One product a lane, in 32 bits: nothing narrower is known of such a processor. */
static void int8_plain(struct ypi_kernel_work *w)
{
    enum { LANES = 32 };
    volatile uint32_t opaque[2] = {1, 3};
    uint32_t v[LANES] = {0};
    for (size_t i = 0; i < w->steps; i++) {
        uint32_t a = opaque[0];
        uint32_t b = opaque[1];
        for (int k = 0; k < LANES; k++) {
            __asm__ volatile("" : "+r"(a));
            v[k] += a * b;
        }
    }
    w->total = total_uint32_t(v, sizeof v);
}
#endif

static const struct ypi_kernel kernels[] = {
    {YP_READ, YP_ISA_BASELINE, false, 1, NULL, read_words},
    {YP_COPY, YP_ISA_BASELINE, false, 2, NULL, copy_words},
    {YP_FILL, YP_ISA_BASELINE, false, 1, NULL, fill_words},
    {YP_INT32, YP_ISA_BASELINE, false, 32 * 2, NULL, int32_plain},
#if defined(__x86_64__)
    {YP_READ, YP_ISA_AVX2, false, 1, NULL, read_avx2},
    {YP_READ, YP_ISA_AVX512, false, 1, NULL, read_avx512},
    {YP_COPY, YP_ISA_BASELINE, true, 2, NULL, copy_sse2_past},
    {YP_COPY, YP_ISA_AVX2, false, 2, NULL, copy_avx2},
    {YP_COPY, YP_ISA_AVX2, true, 2, NULL, copy_avx2_past},
    {YP_COPY, YP_ISA_AVX512, false, 2, NULL, copy_avx512},
    {YP_COPY, YP_ISA_AVX512, true, 2, NULL, copy_avx512_past},
    {YP_FILL, YP_ISA_BASELINE, true, 1, NULL, fill_sse2_past},
    {YP_FILL, YP_ISA_AVX2, false, 1, NULL, fill_avx2},
    {YP_FILL, YP_ISA_AVX2, true, 1, NULL, fill_avx2_past},
    {YP_FILL, YP_ISA_AVX512, false, 1, NULL, fill_avx512},
    {YP_FILL, YP_ISA_AVX512, true, 1, NULL, fill_avx512_past},
    {YP_FP64, YP_ISA_BASELINE, false, 12 * 2 * 2, NULL, fp64_sse2},
    {YP_FP64, YP_ISA_AVX2, false, 12 * 4 * 2, NULL, fp64_avx2},
    {YP_FP64, YP_ISA_AVX512, false, 20 * 8 * 2, NULL, fp64_avx512},
    {YP_FP32, YP_ISA_BASELINE, false, 12 * 4 * 2, NULL, fp32_sse2},
    {YP_FP32, YP_ISA_AVX2, false, 12 * 8 * 2, NULL, fp32_avx2},
    {YP_FP32, YP_ISA_AVX512, false, 20 * 16 * 2, NULL, fp32_avx512},
    {YP_BF16, YP_ISA_BASELINE, false, 12 * 4 * 2, NULL, fp32_sse2},
    {YP_BF16, YP_ISA_AVX2, false, 12 * 8 * 2, NULL, fp32_avx2},
    {YP_BF16, YP_ISA_AVX512, false, 20 * 16 * 2, NULL, fp32_avx512},
    {YP_BF16, YP_ISA_AVX512, false, 20 * 16 * 2 * 2, has_bf16, bf16_avx512},
    {YP_BF16, YP_ISA_AMX, false, 4 * 16 * 16 * 32 * 2, NULL, bf16_amx},
    {YP_INT8, YP_ISA_BASELINE, false, 12 * 4 * 2 * 2, NULL, int8_sse2},
    {YP_INT8, YP_ISA_AVX2, false, 12 * 8 * 4 * 2, NULL, int8_avx2},
    {YP_INT8, YP_ISA_AVX512, false, 20 * 16 * 4 * 2, has_vnni, int8_vnni},
    {YP_INT8, YP_ISA_AMX, false, 4 * 16 * 16 * 64 * 2, NULL, int8_amx},
    {YP_INT32, YP_ISA_AVX2, false, 12 * 8 * 2, NULL, int32_avx2},
    {YP_INT32, YP_ISA_AVX512, false, 20 * 16 * 2, NULL, int32_avx512},
#else
    {YP_FP64, YP_ISA_BASELINE, false, 32 * 2, NULL, fp64_plain},
    {YP_FP32, YP_ISA_BASELINE, false, 64 * 2, NULL, fp32_plain},
    {YP_BF16, YP_ISA_BASELINE, false, 64 * 2, NULL, fp32_plain},
    {YP_INT8, YP_ISA_BASELINE, false, 32 * 2, NULL, int8_plain},
#endif
};

const struct ypi_kernel *ypi_kernels(size_t *count)
{
    *count = sizeof kernels / sizeof *kernels;
    return kernels;
}

const struct ypi_kernel *ypi_kernel_best(enum yp_ceiling ceiling, enum yp_isa isa, bool streaming)
{
    const struct ypi_kernel *best = NULL;
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        const struct ypi_kernel *k = &kernels[i];
        if (k->ceiling == ceiling && k->isa <= isa && k->streaming == streaming &&
            (k->runs == NULL || k->runs()))
            best = k;
    }
    return best;
}
