/* Work whose bottleneck is known, and the same work without it, for the analysis in words. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <yieldpoint/yieldpoint.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void spin(double seconds)
{
    for (double end = now() + seconds; now() < end;)
        ;
}

/* -- phases -------------------------------------------------------------------------------- */

/* A loader that sleeps, as one does that waits for a disk; half a millisecond of work. */
YP_TEST(advice, pipeline, .tags = "small",
        .axes = YP_AXES(yp_axis_string("loader", "slow", "fast")))
{
    bool slow = strcmp(yp_string(t, "loader"), "slow") == 0;
    yp_measure (t, "step", .items = 8, .unit = "graphs", .warmup = 1, .samples = 12) {
        yp_phase (t, "load") {
            if (slow)
                usleep(4000);
            else
                spin(20e-6);
        }
        yp_phase (t, "forward")
            spin(1e-3);
    }
    yp_value(t, "items of an epoch", 8e5);
}

/* -- memory and arithmetic ----------------------------------------------------------------- */

#define CHASED ((size_t)1 << 23) /* of 8 bytes: larger than caches of most */
#define HOPS ((size_t)1 << 16)

/* One cycle through all of `next` (Sattolo). */
static void make_cycle(size_t *next, size_t count)
{
    uint64_t state = 1;
    for (size_t i = 0; i < count; i++)
        next[i] = i;
    for (size_t i = count - 1; i > 0; i--) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        size_t j = (size_t)(state >> 33) % i;
        size_t kept = next[i];
        next[i] = next[j];
        next[j] = kept;
    }
}

YP_TEST(advice, chase, .tags = "small")
{
    size_t *next = yp_alloc_host(t, CHASED * sizeof *next);
    size_t at = 0;
    make_cycle(next, CHASED);
    yp_measure (t, "chase", .items = HOPS, .unit = "hops", .threads = 1, .bytes = 64.0 * HOPS,
                .traffic = YP_READ, .footprint = YP_FOOTPRINT_MEMORY) {
        for (size_t i = 0; i < HOPS; i++)
            at = next[at];
        yp_keep(at);
    }
}

YP_TEST(advice, stream, .tags = "small")
{
    size_t size = (size_t)64 << 20;
    char *from = yp_alloc_host(t, size);
    char *to = yp_alloc_host(t, size);
    memset(from, 1, size);
    memset(to, 2, size);
    yp_measure (t, "stream", .threads = 1, .bytes = 2.0 * (double)size, .traffic = YP_COPY,
                .footprint = YP_FOOTPRINT_MEMORY) {
        memcpy(to, from, size);
        yp_keep(to[size / 2]);
    }
}

#define CHAINS 10 /* of a vector each: as many as hide the time that a sum takes */
#define STEPS 4096
#define PRODUCTS (2.0 * 8 * CHAINS * STEPS)

#if defined(__x86_64__)
#define FUSED __attribute__((target("avx2,fma")))
static bool has_fused(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
#else
#define FUSED
static bool has_fused(void)
{
    return false;
}
#endif

/* Sums of products in registers. */
FUSED static float products(const float *from)
{
    typedef float vector __attribute__((vector_size(32)));
    vector sums[CHAINS];
    vector factor;
    float sum = 0;
    memcpy(&factor, from, sizeof factor);
    for (size_t i = 0; i < CHAINS; i++)
        sums[i] = factor;
    for (size_t k = 0; k < STEPS; k++)
#pragma GCC unroll 10
        for (size_t i = 0; i < CHAINS; i++)
            sums[i] = sums[i] * factor + factor;
    for (size_t i = 0; i < CHAINS; i++)
        sum += sums[i][0];
    return sum;
}

YP_TEST(advice, product, .tags = "small")
{
    float from[8] = {0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f};
    if (!has_fused())
        yp_skip(t, "needs AVX2 and FMA");
    yp_keep(from);
    yp_measure (t, "product", .threads = 1, .flops = PRODUCTS) {
        float sum = products(from);
        yp_keep(sum);
    }
}

/* -- threads ------------------------------------------------------------------------------- */

static void *nothing(void *arg)
{
    return arg;
}

static void *works(void *arg)
{
    spin(*(double *)arg);
    return NULL;
}

/* A few microseconds on two threads, one of them started for it, and two that share it evenly or do
 * not. */
static void pair(struct yp_case *t, double here, double there)
{
    yp_measure (t, "pair", .threads = 2, .samples = 12) {
        pthread_t other;
        if (pthread_create(&other, NULL, works, &there) == 0) {
            spin(here);
            pthread_join(other, NULL);
        }
    }
}

YP_TEST(advice, threads, .tags = "small",
        .axes = YP_AXES(yp_axis_string("shared", "unevenly", "evenly")))
{
    pair(t, 5e-3, strcmp(yp_string(t, "shared"), "evenly") == 0 ? 5e-3 : 0);
}

YP_TEST(advice, starts, .tags = "small")
{
    float sum = 1;
    yp_measure (t, "tiny", .threads = 2, .flops = 2) {
        pthread_t other;
        if (pthread_create(&other, NULL, nothing, NULL) == 0)
            pthread_join(other, NULL);
        sum = sum * 0.5f + 1;
        yp_keep(sum);
    }
}

/* -- the first samples --------------------------------------------------------------------- */

static void cold(struct yp_case *t, int slow, int warmup)
{
    int i = 0;
    yp_measure (t, "work", .warmup = warmup > 0 ? warmup : -1, .samples = 20)
        spin(i++ < slow ? 8e-3 : 2e-3);
}

YP_TEST(advice, first, .tags = "small", .axes = YP_AXES(yp_axis_int("slow", 0, 2)))
{
    cold(t, (int)yp_int(t, "slow"), 0);
}

YP_TEST(advice, study, .tags = "small", .axes = YP_AXES(yp_axis_int("warmup", 0, 1, 2, 5)))
{
    cold(t, 2, (int)yp_int(t, "warmup"));
}

/* -- batches, tiles, memory ---------------------------------------------------------------- */

/* 2 ms for each call and 250 us an item, up to eight; twice as much an item above. A training step
 * takes 1 MiB an item and 4 MiB beside. */
static void batched(struct yp_case *t, const char *name, double fixed, double each, int64_t batch)
{
    char *taken = yp_alloc_host(t, (size_t)(4 + batch) << 20);
    memset(taken, 1, 1);
    yp_measure (t, name, .items = (double)batch, .unit = "samples", .samples = 12)
        spin(fixed + each * (double)batch);
}

YP_TEST(advice, batches, .tags = "small",
        .axes = YP_AXES(yp_axis_string("mode", "inference", "train"),
                        yp_axis_int("batch", 1, 2, 4, 8)))
{
    batched(t, "pass", 2e-3, 0.25e-3, yp_int(t, "batch"));
}

YP_TEST(advice, by_one, .tags = "small", .axes = YP_AXES(yp_axis_int("batch", 2, 4)))
{
    batched(t, "pass", 0, 1e-3, yp_int(t, "batch"));
}

YP_TEST(advice, tiles, .tags = "small", .axes = YP_AXES(yp_axis_int("tile", 16, 32)))
{
    double side = (double)yp_int(t, "tile");
    yp_measure (t, "pass", .items = 1, .unit = "samples", .samples = 12)
        spin(1e-3 + 2e-6 * side * side);
}

/* -- scales -------------------------------------------------------------------------------- */

YP_TEST(advice, scales, .tags = "small",
        .axes = YP_AXES(yp_axis_string("size", "small", "medium", "large")))
{
    static const char *const names[] = {"small", "medium", "large"};
    size_t mib = 1;
    for (size_t i = 0; i < 3 && strcmp(names[i], yp_string(t, "size")) != 0; i++)
        mib *= 4;
    yp_alloc_host(t, mib << 20);
}

YP_TEST(advice, hungry, .tags = "small", .axes = YP_AXES(yp_axis_int("batch", 8)))
{
    yp_require(t, yp_alloc_host(t, (size_t)1 << 40) != NULL, "no memory");
}
