/* Declarations that compile and say something that cannot be. Each is reported at collection. */
#include <math.h>
#include <yieldpoint/yieldpoint.h>

static void wrongly(const struct yp_case *c, struct yp_budgets *out)
{
    (void)c;
    yp_budget_add(out, yp_max_value("loss", 1), yp_max_value("loss", 2));
}

#define BAD(name_, ...) \
    YP_TEST(bad, name_, __VA_ARGS__) \
    { \
    }
BAD(fine, .tags = "stress")
BAD(unregistered_tag, .tags = "stress nightly")
BAD(unregistered_tag_of_case, .cases = YP_CASES(yp_case_of("one", .tags = "weekly")))
BAD(tagged_and, .tags = "and")
BAD(speed_in_parallel, .parallel = true, .budgets = YP_BUDGETS(yp_min_rate("fit", 1)))
BAD(axis_without_name, .axes = YP_AXES(yp_axis_int("", 1)))
BAD(axis_null_name, .axes = YP_AXES(yp_axis_int(NULL, 1), yp_axis_int("n", 1)))
BAD(axis_twice, .axes = YP_AXES(yp_axis_int("n", 1), yp_axis_int("n", 2)))
BAD(value_twice, .axes = YP_AXES(yp_axis_int("n", 1, 2, 1)))
BAD(case_without_name, .cases = YP_CASES(yp_case_of("")))
BAD(case_twice, .cases = YP_CASES(yp_case_of("one"), yp_case_of("one")))
BAD(negative_timeout, .timeout = -1)
BAD(endless_timeout, .timeout = INFINITY)
BAD(nan_timeout_of_case, .cases = YP_CASES(yp_case_of("one", .timeout = NAN)))
BAD(budget_without_name, .budgets = YP_BUDGETS(yp_min_value(NULL, 1)))
BAD(negative_budget, .budgets = YP_BUDGETS(yp_max_peak(YP_HOST, -1)))
BAD(nan_budget, .budgets = YP_BUDGETS(yp_max_value("loss", NAN)))
BAD(negative_budget_of_case,
    .cases = YP_CASES(yp_case_of("one", .budgets = YP_BUDGETS(yp_max_leak(YP_HOST, -1)))))
BAD(budgets_of_function, .budgets_of = wrongly)
BAD(missing_file, .budgets = YP_BUDGETS(yp_budget_file("nowhere/budgets.ini")))
BAD(unknown_device, .devices = "cpu gpu")
BAD(no_device, .devices = " ")
BAD(not_a_command, .command = "true")
BAD(input_of_a_test, .input = "text")

YP_COMMAND(bad, fine_command, .command = "echo {n} {case} {seed} {device} {{n} }",
           .axes = YP_AXES(yp_axis_int("n", 1)), .environment = "A=1 B='{n}'");
YP_COMMAND(bad, missing, .tags = "stress");
YP_COMMAND(bad, blank, .command = " \n");
YP_COMMAND(bad, unknown_word, .command = "echo {n} {m}", .axes = YP_AXES(yp_axis_int("n", 1)));
YP_COMMAND(bad, brace_of_the_shell, .command = "{ true; }");
YP_COMMAND(bad, not_closed, .command = "echo {seed");
YP_COMMAND(bad, hidden_word, .command = "echo {seed}", .axes = YP_AXES(yp_axis_int("seed", 1)));
YP_COMMAND(bad, unknown_in_environment, .command = "true", .environment = "A={n}");
YP_COMMAND(bad, open_quote, .command = "true", .environment = "A=1 B='x");
YP_COMMAND(bad, no_name, .command = "true", .environment = "A=1 =2");
YP_COMMAND(bad, no_value, .command = "true", .environment = "A=1 PATH");
YP_COMMAND(bad, odd_name, .command = "true", .environment = "2A=1");

YP_TEST(good, few, .axes = YP_AXES(yp_axis_int("n", 1, 2, 3)))
{
}

YP_RELATION(bad, growth_over_few, .budgets = YP_BUDGETS(yp_max_value("exponent", 1.1)),
            .relation = yp_growth("declarations.c::few", "step", "n"));
