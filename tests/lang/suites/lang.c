/* C17, which takes the options in any order. */
#include "shared.h"

YP_TEST(lang, everything,
        .budgets = YP_BUDGETS(yp_min_rate("work", 1e-3), yp_min_flops("work", 1e-3),
                              yp_min_bandwidth("work", 1e-3), yp_max_latency("work", 60),
                              yp_max_peak(YP_HOST, 1 * YP_MIB), yp_max_resident(1 * YP_GIB),
                              yp_max_leak(YP_HOST, 0), yp_max_allocations(YP_HOST, 8),
                              yp_min_value("sum", 1), yp_max_value("sum", 1e12),
                              yp_max_gradient_error("square", 1e-5)),
        .parallel = false, .xfail_strict = false, .teardown = tear_down, .setup = set_up,
        .timeout = 30, .devices = "cpu", .filter = small_ones,
        .axes = YP_AXES(yp_axis_int("channels", 10, 100), yp_axis_double("noise", 0.125, 0.5),
                        yp_axis_string("kind", "flat", "rough")),
        .cases = YP_CASES(yp_case_of("small"), yp_case_of("large", .tags = "slow", .timeout = 60)),
        .tags = "stress perf")
{
    double *values = (double *)yp_alloc(t, 1000 * sizeof *values);
    double sum = 0;
    yp_require(t, *(const int *)yp_data(t) == 7, "data is %d", *(const int *)yp_data(t));
    yp_measure (t, "work", .items = 1000, .unit = "values", .flops = 1000, .bytes = 8000,
                .reset = reset, .arg = &sum, .warmup = 2, .samples = 5) {
        yp_phase (t, "write") {
            for (int i = 0; i < 1000; i++)
                values[i] = (double)yp_int(t, "channels");
        }
        yp_phase (t, "read") {
            for (int i = 0; i < 1000; i++)
                sum += values[i];
            yp_keep(sum);
        }
    }
    yp_measure (t, "adaptive", .max_seconds = 0.02, .min_samples = 3, .max_samples = 10)
        yp_keep(sum);
    yp_measure (t, "plain", .samples = 3)
        yp_keep(sum);
    yp_expect(t, sum > 0, "sum is %g", sum);
    yp_value(t, "sum", sum);
    yp_value_unit(t, "noise", yp_double(t, "noise"), "dB");
    yp_data_hash(t, yp_seed(t) + (uint64_t)(yp_case_name(t)[0] == 's'));
    static const double x[] = {1, -2, 3};
    struct yp_gradient gradient = {
        .name = "square", .inputs = 3, .outputs = 3, .f = square, .vjp = square_vjp, .x = x};
    yp_check_gradient(t, &gradient);
    yp_ok(t, yp_device_synchronize(yp_device(t)));
}

YP_TEST(lang, fails, .parallel = true)
{
    yp_fail(t, "in %s", yp_device_of(t));
}
