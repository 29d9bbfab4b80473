/* Relations whose causes are planted, for relations.py. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <yieldpoint/yieldpoint.h>

/* Says that it took so long, and sleeps as long only where SLOWLY is set: a busy machine wakes
 * sleepers late, and what lasts a tenth of a second may be found to be crowded, which decides
 * nothing. */
static void nap(struct yp_case *t, double seconds)
{
    struct timespec pause = {.tv_nsec = (long)(seconds * 1e9)};
    if (getenv("SLOWLY") != NULL)
        nanosleep(&pause, NULL);
    yp_iteration_time(t, seconds);
}

/* What the script says of this process of the case, a letter each: quick, slow, both in turns,
 * crash, skip. PROCESSES is where they are counted. */
static char role(const char *script_name, const char *count_name)
{
    const char *script = getenv(script_name);
    const char *folder = getenv("PROCESSES");
    if (script == NULL || folder == NULL)
        return 'q';
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, count_name);
    FILE *file = fopen(path, "a");
    if (file == NULL)
        return 'q';
    long before = ftell(file);
    fputc('.', file);
    fclose(file);
    return before < (long)strlen(script) ? script[before] : 'q';
}

static void play(struct yp_case *t, char is)
{
    if (is == 'c')
        abort();
    if (is == 'k')
        yp_skip(t, "nothing to nap on");
    int i = 0;
    yp_measure (t, "nap", .warmup = -1, .samples = 10, .manual_time = true)
        nap(t, is == 's' || (is == 'b' && i++ % 2 == 0) ? 30e-3 : 1e-6);
}

/* Much faster than the other, unless the script has it otherwise. */
YP_TEST(pair, quick, .budgets = YP_BUDGETS(yp_max_latency("nap", 1)))
{
    play(t, role("SCRIPT", "quick"));
}

YP_TEST(pair, slow)
{
    play(t, 's');
}

YP_RELATION(pair, quicker, .tags = "perf", .budgets = YP_BUDGETS(yp_min_value("ratio", 4)),
            .relation = yp_ratio("relations.c::quick", "relations.c::slow", "nap"));
YP_RELATION(pair, known, .xfail = "quick is slow", .budgets = YP_BUDGETS(yp_min_value("ratio", 4)),
            .relation = yp_ratio("relations.c::quick", "relations.c::slow", "nap"));

/* Two pairs, of which only the second is ever wrong. */
YP_TEST(pairs, work, .axes = YP_AXES(yp_axis_int("n", 1, 2), yp_axis_string("by", "hand", "rule")))
{
    bool scripted = yp_int(t, "n") == 2 && strcmp(yp_string(t, "by"), "rule") == 0;
    play(t, scripted                                  ? role("PAIRS", "pairs")
            : strcmp(yp_string(t, "by"), "hand") == 0 ? 's'
                                                      : 'q');
}

YP_RELATION(pairs, by_rule, .tags = "perf", .budgets = YP_BUDGETS(yp_min_value("ratio", 4)),
            .relation = yp_ratio_over("relations.c::work", "nap", "by", "rule", "hand"));

/* With the square, or the other way round. */
YP_TEST(growth, grows, .tags = "stress",
        .axes = YP_AXES(yp_axis_string("as", "up", "down"), yp_axis_int("n", 1, 2, 4, 8, 16)))
{
    bool up = strcmp(yp_string(t, "as"), "up") == 0;
    double n = (double)yp_int(t, "n");
    yp_measure (t, "nap", .warmup = -1, .samples = 5, .manual_time = true)
        nap(t, 1e-4 * (up ? n * n : 256 / (n * n)));
}

YP_RELATION(growth, hardly, .tags = "stress", .budgets = YP_BUDGETS(yp_max_value("exponent", 0.3)),
            .relation = yp_growth("relations.c::grows", "nap", "n"));

YP_TEST(values, counted, .tags = "small", .axes = YP_AXES(yp_axis_int("n", 1, 2, 3)))
{
    yp_value(t, "n", (double)yp_int(t, "n"));
}

YP_RELATION(values, counted_twice, .tags = "small",
            .budgets = YP_BUDGETS(yp_max_value("ratio", 1.5)),
            .relation = yp_value_ratio("relations.c::counted[n=2]", "relations.c::counted[n=1]",
                                       "n"));

/* Times as they are wanted: n log n, n, n to 1.5, and n over too narrow a range. */
#define PLANTED(times_) \
    "awk -v n={n} 'BEGIN {{ t = 1e-9 * " times_ "; printf \"{{\\\"measure\\\": \\\"fit\\\", \"" \
    "\"\\\"seconds\\\": [%.9g, %.9g, %.9g]}\\n\", t, t * 1.01, t * 0.99 }'"

YP_COMMAND(orders, linearithmic, .axes = YP_AXES(yp_axis_geometric("n", 64, 1 << 22, 4)),
           .command = PLANTED("n * log(n) / log(2)"));
YP_COMMAND(orders, between, .axes = YP_AXES(yp_axis_geometric("n", 64, 1 << 22, 4)),
           .command = PLANTED("n * sqrt(n)"));
YP_COMMAND(orders, narrow, .axes = YP_AXES(yp_axis_range("n", 1000, 1300, 100)),
           .command = PLANTED("n"));

YP_RELATION(orders, sorts, .budgets = YP_BUDGETS(yp_grows_as(YP_N_LOG_N)),
            .relation = yp_order("relations.c::linearithmic", "fit", "n"));
YP_RELATION(orders, refuted, .budgets = YP_BUDGETS(yp_grows_as(YP_N)),
            .relation = yp_order("relations.c::linearithmic", "fit", "n"));
YP_RELATION(orders, none_of_them, .budgets = YP_BUDGETS(yp_grows_as(YP_N)),
            .relation = yp_order("relations.c::between", "fit", "n"));
YP_RELATION(orders, unsure, .relation = yp_order("relations.c::narrow", "fit", "n"));
