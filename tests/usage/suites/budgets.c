/* Budgets of cases: of the test, of a named case, of a function, of a file. */
#include <math.h>
#include <unistd.h>
#include <yieldpoint/yieldpoint.h>

static void hold(const struct yp_case *c, struct yp_budgets *out)
{
    yp_budget_add(out, yp_max_peak(YP_HOST, 1024 * yp_int(c, "n")));
    if (yp_int(c, "n") == 4)
        yp_budget_add(out, yp_max_value("error", NAN));
}

YP_TEST(budgets, held,
        .cases = YP_CASES(yp_case_of("small"),
                          yp_case_of("large", .budgets = YP_BUDGETS(yp_max_value("error", 0.5)))),
        .axes = YP_AXES(yp_axis_int("n", 1, 4)),
        .budgets = YP_BUDGETS(yp_required(yp_max_latency("nap", 10), "the frame rate of a camera"),
                              yp_max_cpu_time("nap", 5), yp_max_value("error", 0.25),
                              yp_max_allocations(YP_HOST, 2), yp_budget_file("budgets.ini")),
        .budgets_of = hold)
{
    yp_alloc(t, (size_t)(1024 * yp_int(t, "n")));
    yp_value(t, "error", 0.125);
    yp_value(t, "rank", 3);
    yp_measure (t, "nap", .warmup = -1, .samples = 3)
        usleep(1000);
}

YP_TEST(budgets, loose,
        .budgets = YP_BUDGETS(yp_max_latency("nap", 10),
                              yp_required(yp_max_cpu_time("nap", 5), "why"),
                              yp_max_peak(YP_HOST, 16 * YP_MIB), yp_max_value("error", 0.5),
                              yp_min_value("rank", 1), yp_max_leak(YP_HOST, 64)))
{
    const double oracle[] = {1, 1};
    const float plain[] = {1.25F, 1}, got[] = {1 + 0x1p-7F, 1};
    yp_alloc(t, 1024);
    yp_value(t, "error", 0.01);
    yp_value(t, "rank", 10);
    yp_check_precision(t, &(struct yp_precision){.name = "bound",
                                                 .count = 2,
                                                 .oracle = oracle,
                                                 .plain = plain,
                                                 .got = got,
                                                 .multiple = 8});
    yp_check_precision(
        t, &(struct yp_precision){
               .name = "usual", .count = 2, .oracle = oracle, .plain = plain, .got = got});
    yp_measure (t, "nap", .warmup = -1, .samples = 3)
        usleep(1000);
}
