/* Declarations that compile and say something that cannot be. Each is reported at collection. */
#include <math.h>
#include <yieldpoint/yieldpoint.h>

YP_TEST(bad, fine, .tags = "stress")
{
}

YP_TEST(bad, unregistered_tag, .tags = "stress nightly")
{
}

YP_TEST(bad, unregistered_tag_of_case, .cases = YP_CASES(yp_case_of("one", .tags = "weekly")))
{
}

YP_TEST(bad, speed_in_parallel, .parallel = true, .budgets = YP_BUDGETS(yp_min_rate("fit", 1)))
{
}

YP_TEST(bad, axis_without_name, .axes = YP_AXES(yp_axis_int("", 1)))
{
}

YP_TEST(bad, axis_null_name, .axes = YP_AXES(yp_axis_int(NULL, 1), yp_axis_int("n", 1)))
{
}

YP_TEST(bad, axis_twice, .axes = YP_AXES(yp_axis_int("n", 1), yp_axis_int("n", 2)))
{
}

YP_TEST(bad, value_twice, .axes = YP_AXES(yp_axis_int("n", 1, 2, 1)))
{
}

YP_TEST(bad, case_without_name, .cases = YP_CASES(yp_case_of("")))
{
}

YP_TEST(bad, case_twice, .cases = YP_CASES(yp_case_of("one"), yp_case_of("one")))
{
}

YP_TEST(bad, negative_timeout, .timeout = -1)
{
}

YP_TEST(bad, endless_timeout, .timeout = INFINITY)
{
}

YP_TEST(bad, nan_timeout_of_case, .cases = YP_CASES(yp_case_of("one", .timeout = NAN)))
{
}

YP_TEST(bad, budget_without_name, .budgets = YP_BUDGETS(yp_min_value(NULL, 1)))
{
}

YP_TEST(bad, negative_budget, .budgets = YP_BUDGETS(yp_max_peak(YP_HOST, -1)))
{
}

YP_TEST(bad, nan_budget, .budgets = YP_BUDGETS(yp_max_value("loss", NAN)))
{
}

YP_TEST(bad, negative_budget_of_case,
        .cases = YP_CASES(yp_case_of("one", .budgets = YP_BUDGETS(yp_max_leak(YP_HOST, -1)))))
{
}

static void wrongly(const struct yp_case *c, struct yp_budgets *out)
{
    (void)c;
    yp_budget_add(out, yp_max_value("loss", 1), yp_max_value("loss", 2));
}

YP_TEST(bad, budgets_of_function, .budgets_of = wrongly)
{
}

YP_TEST(bad, missing_file, .budgets = YP_BUDGETS(yp_budget_file("nowhere/budgets.ini")))
{
}

YP_TEST(bad, unknown_device, .devices = "cpu gpu")
{
}

YP_TEST(bad, no_device, .devices = " ")
{
}

static bool asks_wrongly(const struct yp_case *t)
{
    return yp_int(t, "chanels") > 0;
}

YP_TEST(bad, filter, .axes = YP_AXES(yp_axis_int("channels", 1)), .filter = asks_wrongly)
{
}

YP_TEST(bad, tagged_and, .tags = "and")
{
}

YP_TEST(bad, null_string, .axes = YP_AXES(yp_axis_string("kind", "a", NULL)))
{
}

YP_TEST(good, few, .axes = YP_AXES(yp_axis_int("n", 1, 2, 3)))
{
}

YP_RELATION(bad, growth_over_few, .budgets = YP_BUDGETS(yp_max_value("exponent", 1.1)),
            .relation = yp_growth("declarations.c::few", "step", "n"));
