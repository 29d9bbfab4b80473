/*
 * Budgets as shares of ceilings, to be kept on one core and on several, by one instruction set and
 * by another, which stand in for other machines; `slowdown` 0.1 does a tenth more than is declared.
 * Run it with the options of each stand-in, such as --cpus=0 or --isa=avx2.
 */
#include <omp.h>
#include <string.h>
#include <yieldpoint/yieldpoint.h>

#define AXES YP_AXES(yp_axis_double("slowdown", 0, 0.1))
enum { CHAINS = 12 };

/* Sums of products in chains that do not wait for each other, as many as hide the latency, in
 * vectors of `bytes` bytes; of every two steps one is declared. Gives the operations it has done.
 */
#define DEFINE(name, attributes, bytes) \
    attributes static double name(size_t steps, float *out) \
    { \
        typedef float vector __attribute__((vector_size(bytes))); \
        vector v[CHAINS]; \
        vector factor = {0}; \
        vector term = {0}; \
        factor += 0.999F; \
        term += 0.5F; \
        for (int c = 0; c < CHAINS; c++) \
            v[c] = term * (float)c; \
        for (size_t i = 0; i < steps; i++) \
            for (int c = 0; c < CHAINS; c++) \
                v[c] = v[c] * factor + term; \
        for (int c = 1; c < CHAINS; c++) \
            v[0] += v[c]; \
        *out = v[0][0]; \
        const size_t lanes = sizeof(vector) / sizeof(float); \
        return 2.0 * (double)(steps * CHAINS * lanes); \
    }

DEFINE(chains_baseline, , 16)
#if defined(__x86_64__)
DEFINE(chains_avx2, __attribute__((target("avx2,fma"))), 32)
DEFINE(chains_avx512, __attribute__((target("avx512f,avx2,fma"))), 64)
#else
#define chains_avx2 chains_baseline
#define chains_avx512 chains_baseline
#endif

static double run_chains(size_t steps, float *out)
{
    enum yp_isa isa = yp_isa();
    return isa >= YP_ISA_AVX512 ? chains_avx512(steps, out)
           : isa >= YP_ISA_AVX2 ? chains_avx2(steps, out)
                                : chains_baseline(steps, out);
}

YP_TEST(travels, arithmetic, .axes = AXES, .timeout = 120,
        .budgets = YP_BUDGETS(yp_min_share("chains", ARITHMETIC_SHARE)))
{
    const size_t declared = 100000;
    size_t real = (size_t)(2.0 * (double)declared * (1 + yp_double(t, "slowdown")));
    int threads = omp_get_max_threads();
    float *out = yp_alloc(t, (size_t)threads * 16 * sizeof *out);
    double flops = run_chains(declared, out) * threads;
    yp_measure (t, "chains", .flops = flops, .arithmetic = YP_FP32, .threads = threads,
                .max_seconds = 4) {
#pragma omp parallel num_threads(threads)
        run_chains(real, out + (ptrdiff_t)omp_get_thread_num() * 16);
        yp_keep(out);
    }
}

/* Shares of copying spread by a tenth between processes: a tenth is not told apart, a half is. */
YP_TEST(travels, copy, .axes = YP_AXES(yp_axis_double("slowdown", 0, 0.5)), .timeout = 120,
        .budgets = YP_BUDGETS(yp_min_share("copy", COPY_SHARE)))
{
    const size_t bytes = (size_t)256 << 20;
    int threads = omp_get_max_threads();
    char *from = yp_alloc(t, bytes);
    char *to = yp_alloc(t, bytes);
    size_t part = bytes / (size_t)threads;
#pragma omp parallel num_threads(threads)
    {
        size_t at = part * (size_t)omp_get_thread_num();
        memset(from + at, 1, part);
        memset(to + at, 2, part);
    }
    size_t more = (size_t)((double)part * yp_double(t, "slowdown"));
    yp_measure (t, "copy", .bytes = 2.0 * (double)bytes, .traffic = YP_COPY,
                .footprint = YP_FOOTPRINT_MEMORY, .threads = threads, .max_seconds = 4) {
#pragma omp parallel num_threads(threads)
        {
            size_t at = part * (size_t)omp_get_thread_num();
            memcpy(to + at, from + at, part);
            memcpy(to + at, from + at, more);
        }
        yp_keep(to);
    }
}
