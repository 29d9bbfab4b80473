/*
 * Work of known cost under budgets that it keeps or misses by a known part: what verdicts.py tries
 * hundreds of times. `margin` 0.1: a tenth inside, -0.1: a tenth outside. `base` is what the work
 * reaches with budgets that are met exactly, as verdicts.py has found in many runs before.
 */
#include <math.h>
#include <string.h>
#include <yieldpoint/yieldpoint.h>

#define BUDGETED_SHARE 0.5
#define BUDGETED_SECONDS 1e-3
#define AXES \
    YP_AXES(yp_axis_double("base", 1), yp_axis_double("margin", 0.1, -0.1), \
            yp_axis_int("threads", 1))

/* Eight chains of products and sums that the compiler may not shorten: bound by latency and ports
 * of the processor alone. */
static double polynomial(size_t steps, double x)
{
    double y[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    for (size_t i = 0; i < steps; i++)
        for (int k = 0; k < 8; k++)
            y[k] = y[k] * x + 0.5;
    double sum = 0;
    for (int k = 0; k < 8; k++)
        sum += y[k];
    return sum;
}

/* A larger share than there is: the work is declared larger by that. */
static double declared(const struct yp_case *t)
{
    return BUDGETED_SHARE * (1 + yp_double(t, "margin")) / yp_double(t, "base");
}

YP_TEST(known, arithmetic, .axes = AXES,
        .budgets = YP_BUDGETS(yp_min_share("work", BUDGETED_SHARE)))
{
    size_t steps = 20000;
    yp_measure (t, "work", .flops = 16.0 * (double)steps * declared(t), .arithmetic = YP_FP64,
                .threads = (int)yp_int(t, "threads")) {
        double y = polynomial(steps, 0.999);
        yp_keep(y);
    }
}

YP_TEST(known, copy, .axes = AXES, .budgets = YP_BUDGETS(yp_min_share("work", BUDGETED_SHARE)))
{
    size_t bytes = (size_t)256 << 20; /* far beyond the caches; a part of it at a time */
    size_t part = (size_t)2 << 20;
    char *from = yp_alloc(t, bytes);
    char *to = yp_alloc(t, bytes);
    memset(from, 1, bytes);
    memset(to, 2, bytes);
    size_t at = 0;
    yp_measure (t, "work", .bytes = 2.0 * (double)part * declared(t), .traffic = YP_COPY,
                .footprint = YP_FOOTPRINT_MEMORY, .threads = (int)yp_int(t, "threads")) {
        memcpy(to + at, from + at, part);
        yp_keep(to);
        at = at + part < bytes ? at + part : 0;
    }
}

/* All of two large blocks at a time, as `perf bench mem` does it. */
YP_TEST(known, whole, .axes = YP_AXES(yp_axis_int("mib", 256)))
{
    size_t bytes = (size_t)yp_int(t, "mib") << 20;
    char *from = yp_alloc(t, bytes);
    char *to = yp_alloc(t, bytes);
    memset(from, 1, bytes);
    memset(to, 2, bytes);
    yp_measure (t, "memcpy", .bytes = 2.0 * (double)bytes, .traffic = YP_COPY,
                .footprint = YP_FOOTPRINT_MEMORY, .threads = 1) {
        memcpy(to, from, bytes);
        yp_keep(to);
    }
    yp_measure (t, "memset", .bytes = (double)bytes, .traffic = YP_FILL,
                .footprint = YP_FOOTPRINT_MEMORY, .threads = 1) {
        memset(to, 3, bytes);
        yp_keep(to);
    }
}

/* In seconds; a budget that does not travel. `base` is then the seconds of 20,000 steps. */
YP_TEST(known, seconds, .axes = AXES,
        .budgets = YP_BUDGETS(yp_max_latency("work", BUDGETED_SECONDS)))
{
    double wanted = BUDGETED_SECONDS * (1 - yp_double(t, "margin"));
    size_t steps = (size_t)(20000 * wanted / yp_double(t, "base"));
    yp_measure (t, "work") {
        double y = polynomial(steps, 0.999);
        yp_keep(y);
    }
}

/* Nothing beyond what the loop itself costs. */
YP_TEST(known, nothing, .axes = YP_AXES(yp_axis_int("empty", 1)))
{
    yp_measure (t, "empty", .min_samples = 100) {
    }
    volatile int unread = 0;
    yp_measure (t, "store", .min_samples = 100) {
        unread = 1;
    }
    yp_keep(unread);
}
