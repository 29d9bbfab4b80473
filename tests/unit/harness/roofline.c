/* When ceilings are probed beside the samples, with probes that only count. What roofline.c asks of
 * device/ceiling/ceiling.c and of the process stands in here and takes the place of the library's.
 */
#include "device/ceiling/ceiling.h"
#include "harness/measure/measurement.h"
#include "harness/run/process.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

TestSuite(roofline, .timeout = 60);

/* -- in place of the library ----------------------------------------------------------------- */

struct ypi_probe {
    enum yp_ceiling ceiling;
};

static int opened, runs[YPI_BOUNDS];
static double rates[YPI_BOUNDS];

static int bound_of(const struct ypi_probe *p)
{
    return p->ceiling == YP_COPY ? YPI_BOUND_TRAFFIC : YPI_BOUND_ARITHMETIC;
}

struct ypi_level ypi_level_of(double footprint, int threads)
{
    (void)footprint, (void)threads;
    return (struct ypi_level){.name = "memory"};
}

struct ypi_probe *ypi_probe_open(enum yp_ceiling ceiling, const struct ypi_level *level,
                                 int threads, enum yp_isa isa)
{
    (void)level, (void)threads, (void)isa;
    struct ypi_probe *p = calloc(1, sizeof *p);
    p->ceiling = ceiling;
    opened++;
    return p;
}

double ypi_probe_run(struct ypi_probe *probe, double seconds)
{
    (void)seconds;
    runs[bound_of(probe)]++;
    return rates[bound_of(probe)];
}

size_t ypi_probe_bytes(const struct ypi_probe *probe)
{
    (void)probe;
    return 1;
}

void ypi_probe_close(struct ypi_probe *probe)
{
    opened -= probe != NULL;
    free(probe);
}

/* -- helpers --------------------------------------------------------------------------------- */

static struct ypi_measured measured;
static double samples[100];

static struct ypi_roofline *open_with(double flops, double bytes, bool each)
{
    const struct yp_measure_options o = {
        .flops = flops, .bytes = bytes, .arithmetic = YP_FP64, .traffic = YP_COPY, .threads = 1};
    measured = (struct ypi_measured){.samples = samples};
    memset(runs, 0, sizeof runs);
    return ypi_roofline_open(yp_device_cpu(), &o, &measured, each);
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
    free(measured.shares);
}

/* Runs of a probe: the best of some counts as one. */
static int probes(int bound)
{
    struct ypi_roofline *r = open_with(1, 1, true);
    ypi_roofline_probe(r, &measured);
    int once = runs[bound];
    close_all(r);
    return once;
}

/* -- tests ----------------------------------------------------------------------------------- */

Test(roofline, a_share_for_each_stretch_between_probes)
{
    rates[YPI_BOUND_ARITHMETIC] = 1e9;
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
    cr_expect_eq(runs[YPI_BOUND_TRAFFIC], 0);
}

/* As when the last sample ended a stretch: the end of the measurement asks for a probe too. */
Test(roofline, nothing_is_probed_twice_without_a_sample_between)
{
    rates[YPI_BOUND_ARITHMETIC] = 1e9;
    int once = probes(YPI_BOUND_ARITHMETIC);
    cr_assert_gt(once, 0);
    struct ypi_roofline *r = open_with(1e6, 0, true);
    ypi_roofline_probe(r, &measured);
    cr_expect_eq(runs[YPI_BOUND_ARITHMETIC], once, "the first comes before all samples");
    ypi_roofline_probe(r, &measured);
    cr_expect_eq(runs[YPI_BOUND_ARITHMETIC], once);
    take(5, 2e-3);
    ypi_roofline_probe(r, &measured);
    cr_expect_eq(runs[YPI_BOUND_ARITHMETIC], 2 * once);
    ypi_roofline_probe(r, &measured);
    cr_expect_eq(runs[YPI_BOUND_ARITHMETIC], 2 * once);
    cr_expect_eq(measured.share_count, 1);
    take(1, 2e-3);
    ypi_roofline_probe(r, &measured);
    cr_expect_eq(runs[YPI_BOUND_ARITHMETIC], 3 * once, "samples since are in no share yet");
    cr_expect_eq(measured.share_count, 2);
    close_all(r);
    cr_expect_eq(measured.bounds[YPI_BOUND_ARITHMETIC].probes, 3);
}

Test(roofline, the_bound_that_is_much_farther_is_left_alone)
{
    rates[YPI_BOUND_ARITHMETIC] = 1e9; /* 1 ms */
    rates[YPI_BOUND_TRAFFIC] = 1e9;    /* 2 ms */
    int once = probes(YPI_BOUND_TRAFFIC);
    struct ypi_roofline *r = open_with(1e6, 2e6, true);
    ypi_roofline_probe(r, &measured);
    take(5, 4e-3);
    ypi_roofline_probe(r, &measured);
    cr_expect_eq(runs[YPI_BOUND_ARITHMETIC], once);
    cr_expect_eq(runs[YPI_BOUND_TRAFFIC], 2 * once);
    cr_expect_float_eq(measured.shares[0], 0.5, 1e-12);
    close_all(r);
    cr_expect_eq(measured.bound, YPI_BOUND_TRAFFIC);
}

Test(roofline, without_work_nothing_is_probed)
{
    struct ypi_roofline *r = open_with(0, 0, true);
    take(3, 1e-3);
    ypi_roofline_probe(r, &measured);
    cr_expect(runs[0] == 0 && runs[1] == 0 && opened == 0);
    cr_expect_eq(measured.share_count, 0);
    close_all(r);
    cr_expect_eq(measured.bound, -1);
}
