/* How a probe walks over its buffers, with a kernel that writes down what it is given. */
#include "device/ceiling/ceiling.c"

#include <criterion/criterion.h>

TestSuite(probe, .timeout = 60);

enum { CALLS_MAX = 4096 };
static struct ypi_kernel_work calls[CALLS_MAX];
static int call_count;

static void write_down(struct ypi_kernel_work *w)
{
    if (call_count < CALLS_MAX)
        calls[call_count] = *w;
    call_count++;
}

static struct ypi_kernel kernel = {YP_COPY, YP_ISA_BASELINE, false, 2, NULL, write_down};

static struct ypi_probe *open_with(const struct ypi_level *level)
{
    struct ypi_probe *p = ypi_probe_open(YP_COPY, level, 1, YP_ISA_BASELINE);
    cr_assert_not_null(p, "%s", yp_last_error());
    kernel.ceiling = YP_COPY;
    p->kernel = &kernel;
    p->workers[0].at = 0;
    call_count = 0;
    return p;
}

/* Every run goes on where the last one ended, so that no byte is met again before all others. */
Test(probe, memory_is_walked_round_and_round)
{
    const struct ypi_level level = {.name = "memory", .working = 6 * CHUNK_BYTES};
    struct ypi_probe *p = open_with(&level);
    cr_assert_eq(p->buffer, 3 * CHUNK_BYTES);
    for (int run = 0; run < 10; run++)
        (void)ypi_probe_run(p, 0);
    cr_assert_eq(call_count, 20, "one to warm up and one that counts: %d", call_count);
    for (int i = 0; i < call_count; i++) {
        size_t offset = (size_t)(i % 3) * CHUNK_BYTES;
        cr_expect_eq(calls[i].from, p->workers[0].from + offset, "call %d", i);
        cr_expect_eq(calls[i].to, p->workers[0].to + offset, "call %d", i);
        cr_expect(calls[i].bytes == CHUNK_BYTES && calls[i].passes == 1);
    }
    ypi_probe_close(p);
}

Test(probe, a_cache_is_filled_before_the_time_begins)
{
    const struct ypi_level level = {.name = "L3", .size = 1, .working = 8 * CHUNK_BYTES};
    struct ypi_probe *p = open_with(&level);
    (void)ypi_probe_run(p, 0);
    cr_expect_eq(call_count, 5, "all four chunks and one that counts: %d", call_count);
    cr_expect_eq(p->workers[0].done, 2.0 * CHUNK_BYTES);
    ypi_probe_close(p);
}

Test(probe, a_near_cache_is_gone_over_several_times)
{
    const struct ypi_level level = {.name = "L1", .size = 1, .working = 4 * PAGE};
    struct ypi_probe *p = open_with(&level);
    (void)ypi_probe_run(p, 0);
    cr_expect_eq(calls[0].bytes, 2 * PAGE);
    cr_expect_eq(calls[0].bytes * calls[0].passes, CHUNK_BYTES);
    cr_expect_eq(p->workers[0].done, 2.0 * CHUNK_BYTES);
    ypi_probe_close(p);
}

/* What all did, from the first one's begin to the last one's end, whatever the clock says now. */
Test(probe, a_rate_is_of_all_threads_together)
{
    const struct ypi_level level = {.name = "memory", .working = 2 * CHUNK_BYTES};
    struct ypi_probe *p = open_with(&level);
    double rate = ypi_probe_run(p, 0.002);
    const struct worker *w = &p->workers[0];
    cr_expect_geq(w->end - w->begin, 0.002 * 0.99);
    cr_expect_float_eq(rate, w->done / (w->end - w->begin), rate * 1e-12);
    struct worker two[2] = {{.begin = 10, .end = 12, .done = 6},
                            {.begin = 11, .end = 14, .done = 2}};
    cr_expect_float_eq(rate_of(two, 2), 2, 1e-12);
    ypi_probe_close(p);
}

Test(probe, a_wider_set_than_allowed_is_not_used)
{
    setenv("YIELDPOINT_ISA", "baseline", 1);
    struct ypi_probe *p = ypi_probe_open(YP_FP32, NULL, 1, YP_ISA_AMX);
    cr_assert_not_null(p);
    cr_expect_eq(p->kernel->isa, YP_ISA_BASELINE);
    ypi_probe_close(p);
}

/* Stores past the caches tell nothing of one; whichever was the quickest, it may run here. */
Test(probe, a_cache_is_not_gone_past)
{
    const struct ypi_level level = {.name = "L1", .size = 1, .working = 4 * PAGE};
    for (int c = YP_READ; c <= YP_FILL; c++) {
        struct ypi_probe *p = ypi_probe_open((enum yp_ceiling)c, &level, 1, yp_isa());
        cr_assert_not_null(p, "%s", yp_last_error());
        cr_expect_eq((int)p->kernel->ceiling, c);
        cr_expect_not(p->kernel->streaming);
        cr_expect_leq(p->kernel->isa, yp_isa());
        ypi_probe_close(p);
    }
}

/* On all processors: each thread did its part, on one of its own, and they rest between runs. */
Test(probe, all_threads_take_part)
{
    const struct ypi_level level = {.name = "L2", .size = 1, .working = CHUNK_BYTES};
    struct ypi_probe *p = ypi_probe_open(YP_FILL, &level, 0, yp_isa());
    cr_assert_not_null(p, "%s", yp_last_error());
    for (int run = 0; run < 3; run++) {
        (void)ypi_probe_run(p, 0.001);
        for (int i = 0; i < p->threads; i++) {
            const struct worker *w = &p->workers[i];
            cr_expect_gt(w->done, 0);
            cr_expect_gt(w->end, w->begin);
            for (int k = 0; k < i; k++)
                cr_expect_neq(w->cpu, p->workers[k].cpu);
        }
        cr_expect_eq(p->busy, 0);
    }
    ypi_probe_close(p);
}
