/* C17, which takes the options in any order. */
#include "tests/lang/suites/shared.h"

YP_TEST(lang, everything,
        .budgets = YP_BUDGETS(yp_min_rate("work", 1e-3), yp_min_flops("work", 1e-3),
                              yp_min_bandwidth("work", 1e-3), yp_max_latency("work", 60),
                              yp_max_peak(YP_HOST, 1 * YP_MIB), yp_max_resident(1 * YP_GIB),
                              yp_max_resident_tree(1 * YP_GIB), yp_max_leak(YP_HOST, 0),
                              yp_max_allocations(YP_HOST, 8), yp_min_value("sum", 1),
                              yp_max_value("sum", 1e12), yp_max_gradient_error("square", 1e-5)),
        .parallel = false, .xfail_strict = false, .teardown = tear_down, .setup = set_up,
        .timeout = 30, .devices = "cpu", .filter = small_ones,
        .axes = YP_AXES(yp_axis_int("channels", 10, 100), yp_axis_double("noise", 0.125, 0.5),
                        yp_axis_string("kind", "flat", "rough")),
        .cases = YP_CASES(yp_case_of("small"), yp_case_of("large", .tags = "slow", .timeout = 60)),
        .tags = "stress perf")
{
    do_everything(t);
    yp_measure (t, "any order", .max_seconds = 0.02, .min_samples = 3, .max_samples = 10)
        yp_keep(t);
}

YP_TEST(lang, fails, .parallel = true)
{
    yp_fail(t, "in %s", yp_device_of(t));
}
