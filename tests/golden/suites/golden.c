/* One case of every outcome, and of every manner of declaring one: what a run of them prints is
 * kept in expected/. Figures that vary are normalised, so sleeps stand for work. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <yieldpoint/yieldpoint.h>

static void nap(int milliseconds)
{
    usleep((unsigned)milliseconds * 1000);
}

YP_TEST(golden, passes, .tags = "stress")
{
    printf("written by a case that passes\n");
}

YP_TEST(golden, measures, .tags = "stress perf",
        .cases = YP_CASES(yp_case_of("small"), yp_case_of("large", .tags = "slow", .timeout = 90)),
        .budgets = YP_BUDGETS(yp_min_rate("copy", 1e4), yp_max_latency("copy", 0.5),
                              yp_max_peak(YP_HOST, 1 * YP_MIB)))
{
    yp_alloc(t, 64 * 1024);
    yp_measure (t, "copy", .samples = 7, .items = 1000, .unit = "pixels", .bytes = 4000,
                .footprint = 4000) {
        yp_phase (t, "forward")
            nap(3);
        yp_phase (t, "backward")
            nap(2);
    }
    yp_value_unit(t, "auc", 0.96875, "");
    yp_value_unit(t, "depth", 12, "m");
    yp_data_hash(t, 0x123456789abcdef0);
}

static bool not_both_large(const struct yp_case *t)
{
    return yp_int(t, "channels") < 100 || yp_double(t, "noise") < 0.25;
}

YP_TEST(golden, axes, .tags = "perf",
        .axes = YP_AXES(yp_axis_int("channels", 10, 100), yp_axis_double("noise", 0.125, 0.25),
                        yp_axis_string("kind", "flat", "a-b c")),
        .filter = not_both_large, .devices = "cpu", .parallel = true)
{
    yp_value(t, "channels", (double)yp_int(t, "channels"));
}

/* Bimodal and interval from minimum to maximum: the limit lies inside whatever the machine does. */
YP_TEST(golden, noisy, .budgets = YP_BUDGETS(yp_max_latency("step", 20e-3)))
{
    int i = 0;
    yp_measure (t, "step", .warmup = -1, .samples = 8)
        nap(i++ % 2 == 0 ? 1 : 40);
}

YP_TEST(golden, skipped_by_declaration, .skip = "needs a licence")
{
}

YP_TEST(golden, skips_itself)
{
    yp_skip(t, "needs %d GiB", 512);
}

YP_TEST(golden, known_to_fail, .xfail = "the solver diverges")
{
    yp_fail(t, "diverged at step %d", 7);
}

YP_TEST(golden, known_to_fail_but_passes, .xfail = "the solver diverges")
{
}

/* Where times are printed in order, whatever else the machine has to do. */
static int times(void)
{
    return getenv("GOLDEN_SLOWLY") != NULL ? 8 : 1;
}

YP_TEST(golden, naps_300_ms, .parallel = true)
{
    nap(300 * times());
}

YP_TEST(golden, naps_150_ms, .parallel = true)
{
    nap(150 * times());
}
