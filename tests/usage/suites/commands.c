/* Commands of all kinds. They run in a folder that the check makes, with what it puts there. */
#include <yieldpoint/yieldpoint.h>

/* Its lines are the check's. */
YP_COMMAND(commands, says, .command = "cat lines");
YP_COMMAND(commands, says_in_parallel, .parallel = true, .command = "cat lines");
YP_COMMAND(commands, ends, .parallel = true, .command = "exit {status}",
           .axes = YP_AXES(yp_axis_int("status", 0, 1, 77, 139)));
YP_COMMAND(commands, is_killed, .parallel = true, .command = "kill -s {signal} $$",
           .axes = YP_AXES(yp_axis_string("signal", "SEGV", "KILL")));
YP_COMMAND(commands, not_found, .parallel = true, .command = "no-such-program --at all");
YP_COMMAND(commands, not_executable, .parallel = true, .command = "./lines");

YP_COMMAND(commands, budgets, .command = "cat lines",
           .budgets = YP_BUDGETS(yp_min_rate("work", 1000), yp_max_latency("work", 0.5),
                                 yp_min_value("auc", 0.9)));
YP_COMMAND(commands, resident, .command = "python3 grow.py {mib}",
           .axes = YP_AXES(yp_axis_int("mib", 1, 200)),
           .budgets = YP_BUDGETS(yp_max_resident(150 * YP_MIB)));

/* Two interpreters side by side, and the shell. */
YP_COMMAND(commands, tree, .command = "python3 hold.py {mib} & python3 hold.py {mib}; wait",
           .axes = YP_AXES(yp_axis_int("mib", 1, 100)),
           .budgets = YP_BUDGETS(yp_max_resident(150 * YP_MIB),
                                 yp_max_resident_tree(150 * YP_MIB)));

/* What arrives: each argument between brackets. */
YP_COMMAND(commands, quotes, .parallel = true, .command = "printf '[%s]\\n' {text} x{text}y \"$0\"",
           .axes = YP_AXES(yp_axis_string("text", "two words", "it's \"a\" $HOME `date` \\n b-c",
                                          "", "*", "#;&|<>(){}")));
YP_COMMAND(commands, words, .parallel = true,
           .cases = YP_CASES(yp_case_of("a case"), yp_case_of("small")),
           .axes = YP_AXES(yp_axis_int("n", -3), yp_axis_double("noise", 0.25, 1e300)),
           .command = "printf '[%s]' {case} {n} {noise} {seed} {device}; {{ echo; }");
YP_COMMAND(commands, environment, .parallel = true,
           .axes = YP_AXES(yp_axis_string("text", "it's $HOME")), .command = "env",
           .environment = "PLAIN=one QUOTED='two words' DOUBLE=\"a \\\"b\\\" $HOME\" JO\\IN'ED'=x "
                          "EMPTY= OF_AXIS={text}\tLAST=z YIELDPOINT_CASE=mine");
YP_COMMAND(commands, reads, .parallel = true, .command = "od -An -c | tr -d ' \\n'; echo",
           .input = "{\"n\": 1}\nend");
YP_COMMAND(commands, reads_nothing, .parallel = true, .command = "wc -c");
YP_COMMAND(commands, ignores_input, .parallel = true, .command = "true", .input = "not read\n");
YP_COMMAND(commands, where, .parallel = true, .command = "pwd; ls /proc/self/fd");

/* Each has a grandchild in a session of its own, which the check looks for. */
#define GRANDCHILD "setsid sleep 4711 & echo started; "
YP_COMMAND(commands, hangs, .parallel = true, .timeout = 1, .command = GRANDCHILD "sleep 4711");
YP_COMMAND(commands, leaves, .parallel = true, .command = GRANDCHILD "exit 0");
YP_COMMAND(commands, skips, .parallel = true,
           .command = GRANDCHILD "echo '{{\"skip\": \"no module named torch\"}'; sleep 4711");
YP_COMMAND(commands, is_wrong, .parallel = true,
           .command = GRANDCHILD "echo '{{\"hash\": 7}'; sleep 4711");
YP_COMMAND(commands, floods, .parallel = true, .command = "yes 'a line of output'");
YP_COMMAND(commands, floods_in_one_line, .parallel = true, .command = "yes '{{' | tr -d '\\n'");
YP_COMMAND(commands, long_result, .parallel = true,
           .command = "printf '{{\"value\": \"'; yes x | tr -d '\\n'");
YP_COMMAND(commands, closes_early, .parallel = true, .command = "exec >&-; sleep 0.3; exit 3");
YP_COMMAND(commands, runs_a_program, .parallel = true,
           .command = "\"$PROGRAM\" --history inner.db commands.c::where");

static void set_up(struct yp_case *t)
{
    yp_value(t, "resident peak", 1);
}
YP_COMMAND(commands, name_taken, .parallel = true, .setup = set_up, .command = "true");
