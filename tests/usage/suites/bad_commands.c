/* Commands that cannot be run as they are declared. Each is reported at collection. */
#include <yieldpoint/yieldpoint.h>

YP_COMMAND(bad, fine, .command = "echo {n} {case} {seed} {device} {{n} }",
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
YP_TEST(bad, not_a_command, .command = "true")
{
}
YP_TEST(bad, input_of_a_test, .input = "text")
{
}
