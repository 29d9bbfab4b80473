/*
 * Budgets as shares of ceilings, to be kept on one core and on several, by one instruction set and
 * by another, which stand in for other machines; `slowdown` 0.1 does a tenth more than is declared.
 * travels.py runs it everywhere.
 */
#include <omp.h>
#include <string.h>
#include <yieldpoint/yieldpoint.h>

#define AXES YP_AXES(yp_axis_double("slowdown", 0, 0.1))
enum { LANES = 16, CHAINS = 8 };

/* Sums of products in chains that do not wait for each other. */
#define BODY static inline __attribute__((always_inline))
BODY void chains(size_t steps, float *restrict y)
{
    float v[CHAINS][LANES];
    memcpy(v, y, sizeof v);
    for (size_t i = 0; i < steps; i++)
        for (int c = 0; c < CHAINS; c++)
            for (int k = 0; k < LANES; k++)
                v[c][k] = v[c][k] * 0.999F + 0.5F;
    memcpy(y, v, sizeof v);
}

static void chains_baseline(size_t steps, float *y)
{
    chains(steps, y);
}
#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) static void chains_avx2(size_t steps, float *y)
{
    chains(steps, y);
}
__attribute__((target("avx512f,avx2,fma"))) static void chains_avx512(size_t steps, float *y)
{
    chains(steps, y);
}
#endif

static void run_chains(size_t steps, float *y)
{
    enum yp_isa isa = yp_isa();
#if defined(__x86_64__)
    if (isa >= YP_ISA_AVX512) {
        chains_avx512(steps, y);
        return;
    }
    if (isa >= YP_ISA_AVX2) {
        chains_avx2(steps, y);
        return;
    }
#endif
    (void)isa;
    chains_baseline(steps, y);
}

YP_TEST(travels, arithmetic, .axes = AXES, .timeout = 120,
        .budgets = YP_BUDGETS(yp_min_share("chains", ARITHMETIC_SHARE)))
{
    const size_t steps = 200000;
    size_t real = (size_t)((double)steps * (1 + yp_double(t, "slowdown")));
    int threads = omp_get_max_threads();
    float *y = yp_alloc(t, (size_t)threads * CHAINS * LANES * sizeof *y);
    for (int i = 0; i < threads * CHAINS * LANES; i++)
        y[i] = 1.0F + (float)i * 1e-3F;
    yp_measure (t, "chains", .flops = 2.0 * (double)steps * CHAINS * LANES * threads,
                .arithmetic = YP_FP32, .threads = threads, .max_seconds = 4) {
#pragma omp parallel num_threads(threads)
        run_chains(real, y + (size_t)omp_get_thread_num() * CHAINS * LANES);
        yp_keep(y);
    }
}

YP_TEST(travels, copy, .axes = AXES, .timeout = 120,
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
    yp_measure (t, "copy", .bytes = 2.0 * (double)bytes, .traffic = YP_COPY, .threads = threads,
                .max_seconds = 4) {
#pragma omp parallel num_threads(threads)
        {
            size_t at = part * (size_t)omp_get_thread_num();
            memcpy(to + at, from + at, part);
            memcpy(to + at, from + at, more);
        }
        yp_keep(to);
    }
}
