/* When ceilings are probed beside the samples, with probes that only count. What roofline.c asks of
 * device/ceiling/ceiling.c and of the process stands in here and takes the place of the library's.
 */
#include "device/ceiling/ceiling.h"
#include "harness/measure/measurement.h"
#include "ranks/link.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

TestSuite(roofline, .timeout = 60);

/* -- in place of the library ----------------------------------------------------------------- */

/* A ceiling of `level`, or of arithmetic where it is "". */
struct kept {
    enum yp_ceiling ceiling;
    const char *level;
    double rate;
    int runs;
};

#define RATES_MOST 8
static struct kept ceilings[RATES_MOST];
static int ceiling_count, opened;

static struct kept *of(enum yp_ceiling ceiling, const char *level)
{
    for (int i = 0; i < ceiling_count; i++)
        if (ceilings[i].ceiling == ceiling && strcmp(ceilings[i].level, level) == 0)
            return &ceilings[i];
    cr_assert_lt(ceiling_count, RATES_MOST);
    ceilings[ceiling_count] = (struct kept){.ceiling = ceiling, .level = level, .rate = 1};
    return &ceilings[ceiling_count++];
}

/* FP64 and COPY from memory, which most tests are about. */
#define FP64 of(YP_FP64, "")
#define COPY of(YP_COPY, "memory")

const char *yp_ceiling_name(enum yp_ceiling ceiling)
{
    static const char *const names[YP_CEILINGS] = {[YP_READ] = "read",
                                                   [YP_COPY] = "copy",
                                                   [YP_FILL] = "fill",
                                                   [YP_FP64] = "fp64",
                                                   [YP_FP32] = "fp32",
                                                   [YP_INT8] = "int8",
                                                   [YP_INT32] = "int32",
                                                   [YP_ALL_REDUCE] = "all-reduce",
                                                   [YP_ALL_GATHER] = "all-gather",
                                                   [YP_REDUCE_SCATTER] = "reduce-scatter",
                                                   [YP_POINT_TO_POINT] = "point to point"};
    return names[ceiling];
}

struct ypi_level ypi_level_of(double footprint, int threads)
{
    (void)threads;
    struct ypi_level level = {.name = "memory"};
    if (footprint > 0)
        memcpy(level.name, "L2", sizeof "L2");
    return level;
}

struct ypi_probe {
    struct kept *kept;
};

struct ypi_probe *ypi_probe_open(enum yp_ceiling ceiling, const struct ypi_level *level,
                                 int threads, enum yp_isa isa)
{
    (void)threads, (void)isa;
    struct ypi_probe *p = calloc(1, sizeof *p);
    p->kept = of(ceiling, level == NULL ? "" : strcmp(level->name, "L2") == 0 ? "L2" : "memory");
    opened++;
    return p;
}

double ypi_probe_run(struct ypi_probe *probe, double seconds)
{
    (void)seconds;
    probe->kept->runs++;
    return probe->kept->rate;
}

void ypi_probe_close(struct ypi_probe *probe)
{
    opened -= probe != NULL;
    free(probe);
}

/* Of an exchange of so many bytes: a second for a billion of them. */
struct ypk_link {
    double seconds;
};
static int linked, link_runs;
static struct {
    enum ypk_probed what;
    size_t bytes;
} linked_last;

enum yp_status ypk_link_open(struct ypk_link **out, struct ypk_communicator *c,
                             enum ypk_probed what, size_t bytes)
{
    (void)c;
    *out = calloc(1, sizeof **out);
    (*out)->seconds = 1e-9 * (double)bytes;
    linked_last.what = what;
    linked_last.bytes = bytes;
    linked++;
    return YP_OK;
}

enum yp_status ypk_link_run(struct ypk_link *link, double seconds, double *each)
{
    (void)seconds;
    link_runs++;
    *each = link->seconds;
    return YP_OK;
}

void ypk_link_close(struct ypk_link *link)
{
    linked -= link != NULL;
    free(link);
}

/* -- helpers --------------------------------------------------------------------------------- */

static struct ypi_measured measured;
static double samples[100];
static int ranks = 4;

static struct ypi_roofline *open_options(struct yp_measure_options o, bool each)
{
    measured = (struct ypi_measured){.samples = samples, .cold = o.cold};
    if (o.arithmetic == YP_NO_CEILING)
        o.arithmetic = YP_FP32;
    if (o.traffic == YP_NO_CEILING)
        o.traffic = YP_COPY;
    ypi_measure_bounds(&o, ranks, &measured);
    for (int i = 0; i < ceiling_count; i++)
        ceilings[i].runs = 0;
    return ypi_roofline_open(yp_device_cpu(), &measured, each, NULL);
}

static struct ypi_roofline *open_with(double flops, double bytes, bool each)
{
    return open_options((struct yp_measure_options){.flops = flops,
                                                    .bytes = bytes,
                                                    .arithmetic = YP_FP64,
                                                    .traffic = YP_COPY,
                                                    .footprint = YP_FOOTPRINT_MEMORY,
                                                    .threads = 1},
                        each);
}

static void take(size_t count, double seconds)
{
    for (size_t i = 0; i < count; i++)
        samples[measured.count++] = seconds;
}

static void close_all(struct ypi_roofline *r)
{
    ypi_roofline_close(r, &measured);
    cr_expect_eq(opened, 0);
    cr_expect_eq(linked, 0);
    free(measured.shares);
}

/* Runs of a probe: the best of some counts as one. */
static int probes(void)
{
    struct ypi_roofline *r = open_with(1, 0, true);
    ypi_roofline_probe(r, &measured);
    int once = FP64->runs;
    close_all(r);
    return once;
}

/* -- tests ----------------------------------------------------------------------------------- */

Test(roofline, a_share_for_each_stretch_between_probes)
{
    FP64->rate = 1e9;
    struct ypi_roofline *r = open_with(1e6, 0, true);
    ypi_roofline_probe(r, &measured);
    cr_expect_eq(measured.share_count, 0);
    for (size_t stretch = 1; stretch <= 3; stretch++) {
        take(5, 2e-3);
        ypi_roofline_probe(r, &measured);
        cr_assert_eq(measured.share_count, stretch);
        cr_expect_float_eq(measured.shares[stretch - 1], 0.5, 1e-12);
    }
    close_all(r);
    cr_expect_eq(measured.bound, YPI_BOUND_ARITHMETIC);
    cr_expect_eq(measured.bounds[YPI_BOUND_ARITHMETIC].probes, 4);
    cr_expect_eq(COPY->runs, 0);
}

/* As when the last sample ended a stretch: the end of the measurement asks for a probe too. */
Test(roofline, nothing_is_probed_twice_without_a_sample_between)
{
    FP64->rate = 1e9;
    int once = probes();
    cr_assert_gt(once, 0);
    struct ypi_roofline *r = open_with(1e6, 0, true);
    ypi_roofline_probe(r, &measured);
    cr_expect_eq(FP64->runs, once, "the first comes before all samples");
    ypi_roofline_probe(r, &measured);
    cr_expect_eq(FP64->runs, once);
    take(5, 2e-3);
    ypi_roofline_probe(r, &measured);
    cr_expect_eq(FP64->runs, 2 * once);
    ypi_roofline_probe(r, &measured);
    cr_expect_eq(FP64->runs, 2 * once);
    cr_expect_eq(measured.share_count, 1);
    take(1, 2e-3);
    ypi_roofline_probe(r, &measured);
    cr_expect_eq(FP64->runs, 3 * once, "samples since are in no share yet");
    cr_expect_eq(measured.share_count, 2);
    close_all(r);
    cr_expect_eq(measured.bounds[YPI_BOUND_ARITHMETIC].probes, 3);
}

Test(roofline, the_bound_that_is_much_farther_is_left_alone)
{
    FP64->rate = 1e9; /* 1 ms */
    COPY->rate = 1e9; /* 2 ms */
    int once = probes();
    struct ypi_roofline *r = open_with(1e6, 2e6, true);
    ypi_roofline_probe(r, &measured);
    take(5, 4e-3);
    ypi_roofline_probe(r, &measured);
    cr_expect_eq(FP64->runs, once);
    cr_expect_eq(COPY->runs, 2 * once);
    cr_expect_float_eq(measured.shares[0], 0.5, 1e-12);
    close_all(r);
    cr_expect_eq(measured.bound, YPI_BOUND_TRAFFIC);
}

/* -- many bounds ------------------------------------------------------------------------------ */

#define WITH(...) open_options((struct yp_measure_options){.threads = 1, __VA_ARGS__}, true)

/* Probes, takes samples of so many seconds, probes again: the share. */
static double share_of(struct ypi_roofline *r, double seconds)
{
    ypi_roofline_probe(r, &measured);
    take(5, seconds);
    ypi_roofline_probe(r, &measured);
    return measured.share_count == 1 ? measured.shares[0] : NAN;
}

static double share;

static const char *bound_text(void)
{
    static char text[YPI_BOUND_MAX];
    ypi_bound_text(&measured, true, text, sizeof text);
    return text;
}

/* Rates of ceilings on one machine, the work that is declared, and what bounds it. */
static void expect_bounds(double fp32, double int32, double l2, struct yp_measure_options o,
                          double seconds, double wanted, const char *bound)
{
    of(YP_FP32, "")->rate = fp32;
    of(YP_INT32, "")->rate = int32;
    of(YP_FILL, "L2")->rate = l2;
    of(YP_FILL, "memory")->rate = 5e8;
    of(YP_READ, "memory")->rate = COPY->rate = 1e9;
    o.threads = 1;
    struct ypi_roofline *r = open_options(o, true);
    share = share_of(r, seconds);
    close_all(r);
    cr_expect(isnan(wanted) ? isnan(share) : fabs(share - wanted) < 1e-12, "%s: %g", bound, share);
    cr_expect_str_eq(bound_text(), bound);
    cr_expect_eq(measured.bound < 0, bound[0] == '\0');
}
#define EXPECT_BOUNDS(fp32, int32, l2, seconds, wanted, bound, ...) \
    expect_bounds(fp32, int32, l2, (struct yp_measure_options){__VA_ARGS__}, seconds, wanted, bound)

Test(roofline, the_longest_of_all_bounds)
{
#define FILLS \
    .flops = 4e6, \
    .bounds = YP_WORK(yp_work(YP_INT32, 3e6), yp_traffic(YP_FILL, 1e6, YP_FOOTPRINT_MEMORY), \
                      yp_traffic(YP_FILL, 2e6, 1 << 20))
    /* 1 ms, 3 ms, 2 ms of memory, 0.5 ms of the cache; then 8 ms of that: another machine */
    EXPECT_BOUNDS(4e9, 1e9, 4e9, 6e-3, 0.5, "int32", FILLS);
    cr_expect_eq(measured.bounds[YPI_BOUND_MORE].probes, 2);
    cr_expect_str_eq(measured.bounds[YPI_BOUND_MORE + 2].level, "L2");
    EXPECT_BOUNDS(4e9, 1e9, 2.5e8, 16e-3, 0.5, "L2 fill", FILLS);
}

Test(roofline, bytes_of_an_unknown_level_have_no_share)
{
    EXPECT_BOUNDS(1e9, 1e9, 1e9, 2e-3, NAN, "", .bytes = 1e6);
    cr_expect_eq(COPY->runs, 0, "nor is a probe of use");
    EXPECT_BOUNDS(1e9, 1e9, 1e9, 2e-3, 0.5, "memory copy", .bytes = 1e6, .cold = true);
    /* What even memory does not bound has a share; memory would, a cache perhaps not. */
    EXPECT_BOUNDS(1e9, 1e9, 1e9, 4e-3, 0.5, "fp32", .flops = 2e6, .bytes = 1e6);
    EXPECT_BOUNDS(1e9, 1e9, 1e9, 4e-3, NAN, "", .flops = 1e6, .bytes = 2e6);
}

/* However many there are, the near ones alone cost more than a run. */
Test(roofline, far_bounds_are_probed_by_one_run)
{
    int once = probes();
    of(YP_INT32, "")->rate = 1e9; /* 4 ms */
    of(YP_FP32, "")->rate = 1e9;  /* 1 ms */
    of(YP_FP64, "")->rate = 1e9;  /* 3 ms: near */
    of(YP_INT8, "")->rate = 1e9;  /* 1 ms */
    struct ypi_roofline *r = WITH(.bounds = YP_WORK(yp_work(YP_INT32, 4e6), yp_work(YP_FP32, 1e6),
                                                    yp_work(YP_FP64, 3e6), yp_work(YP_INT8, 1e6)));
    share = share_of(r, 8e-3);
    cr_expect_float_eq(share, 0.5, 1e-12);
    cr_expect(of(YP_FP32, "")->runs == 1 && of(YP_INT8, "")->runs == 1);
    cr_expect_eq(of(YP_INT32, "")->runs, 2 * once);
    cr_expect_eq(of(YP_FP64, "")->runs, 2 * once);
    close_all(r);
}

Test(roofline, steps_add_up)
{
    of(YP_INT32, "")->rate = 1e9;
    of(YP_FP32, "")->rate = 1e9;
    of(YP_READ, "memory")->rate = 1e9;
    struct ypi_roofline *r =
        WITH(.bounds = YP_WORK(yp_work(YP_INT32, 1e6), yp_work(YP_FP32, 5e5), yp_then(),
                               yp_work(YP_FP32, 2e6), yp_traffic(YP_READ, 1e6, YP_FOOTPRINT_MEMORY),
                               yp_then(), yp_work(YP_FP32, 1e6)));
    share = share_of(r, 8e-3);
    cr_expect_float_eq(share, 0.5, 1e-12, "1 + 2 + 1 ms");
    cr_expect_eq(opened, 3, "one probe for all bounds of a ceiling");
    close_all(r);
    cr_expect_str_eq(bound_text(), "int32 + fp32 + fp32");
    cr_expect_eq(measured.bound, YPI_BOUND_MORE + 2, "the longest");
}

/* The formulas of nccl-tests, of 4 ranks. */
Test(roofline, an_exchange_is_bound_by_the_bus)
{
    static const struct {
        enum yp_ceiling ceiling;
        enum ypk_probed what;
        double bus;
        const char *name;
    } kinds[] = {{YP_ALL_REDUCE, YPK_PROBE_ALL_REDUCE, 1.5, "all-reduce bus"},
                 {YP_ALL_GATHER, YPK_PROBE_ALL_GATHER, 0.75, "all-gather bus"},
                 {YP_REDUCE_SCATTER, YPK_PROBE_REDUCE_SCATTER, 0.75, "reduce-scatter bus"},
                 {YP_POINT_TO_POINT, YPK_PROBE_EXCHANGE, 1, "point to point bus"}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct ypi_roofline *r = WITH(.bounds = YP_WORK(yp_exchange(kinds[i].ceiling, 1e6)));
        share = share_of(r, 4e-3);
        close_all(r);
        const struct ypi_ceiling *b = &measured.bounds[YPI_BOUND_MORE];
        cr_expect_float_eq(share, 0.25, 1e-12, "%s: %g", kinds[i].name, share);
        cr_expect_str_eq(bound_text(), kinds[i].name);
        cr_expect_float_eq(b->work, kinds[i].bus * 1e6, 1e-3, "%s: %g", kinds[i].name, b->work);
        cr_expect_float_eq(b->rate, kinds[i].bus * 1e9, 1, "%s: %g", kinds[i].name, b->rate);
        cr_expect(linked_last.what == kinds[i].what && linked_last.bytes == 1000000);
    }
}

Test(roofline, a_small_exchange_is_bound_by_latency)
{
    struct ypi_roofline *r = WITH(.bounds = YP_WORK(yp_exchange(YP_ALL_REDUCE, 8)));
    share = share_of(r, 80e-9);
    close_all(r);
    cr_expect_float_eq(share, 0.1, 1e-12);
    cr_expect_str_eq(bound_text(), "all-reduce latency");
}

/* A rank whose own figures say that the exchange is far must not leave the others alone in it. */
Test(roofline, a_far_exchange_is_probed_all_the_same)
{
    int once = probes();
    of(YP_INT32, "")->rate = of(YP_FP32, "")->rate = 1e9;
    link_runs = 0;
    struct ypi_roofline *r = WITH(.bounds = YP_WORK(yp_work(YP_INT32, 4e6), yp_work(YP_FP32, 1e6),
                                                    yp_exchange(YP_ALL_REDUCE, 1e4), yp_then(),
                                                    yp_exchange(YP_ALL_REDUCE, 2e4)));
    share = share_of(r, 8e-3);
    cr_expect_eq(of(YP_FP32, "")->runs, 1);
    cr_expect_eq(linked, 2, "each size has a rate of its own");
    cr_expect_eq(link_runs, 2 * 2 * once, "%d", link_runs);
    close_all(r);
    cr_expect_float_eq(share, 4.02 / 8, 1e-12, "compute, then exchange: %g", share);
}

/* Of a billion bytes one run takes a second. */
Test(roofline, a_large_exchange_is_probed_by_two_runs)
{
    link_runs = 0;
    struct ypi_roofline *r = WITH(.bounds = YP_WORK(yp_exchange(YP_ALL_REDUCE, 1e9)));
    share = share_of(r, 2);
    close_all(r);
    cr_expect_float_eq(share, 0.5, 1e-12);
    cr_expect_eq(link_runs, 2 * 2);
}

Test(roofline, one_rank_exchanges_nothing)
{
    ranks = 1;
    struct ypi_roofline *r = WITH(.bounds = YP_WORK(yp_exchange(YP_ALL_REDUCE, 1e6)));
    cr_expect(isnan(share_of(r, 1e-3)));
    cr_expect_eq(linked, 0);
    close_all(r);
    cr_expect_eq(measured.bound, -1);
}

/* Its drift cannot matter. */
Test(roofline, a_step_that_is_a_trifle_is_not_probed_again)
{
    int once = probes();
    of(YP_INT32, "")->rate = 1e9;
    of(YP_FP32, "")->rate = 1e9;
    struct ypi_roofline *r =
        WITH(.bounds = YP_WORK(yp_work(YP_INT32, 1e4), yp_then(), yp_work(YP_FP32, 1e6)));
    share = share_of(r, 2.02e-3);
    cr_expect_float_eq(share, 0.5, 1e-12);
    cr_expect_eq(of(YP_INT32, "")->runs, once);
    cr_expect_eq(of(YP_FP32, "")->runs, 2 * once);
    close_all(r);
}
