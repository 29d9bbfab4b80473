/* What is shown of a history: found, selected, in the words of the command line; nothing else. */
#include "reports/reports.h"
#include "base/text/output.h"
#include "device/backend.h"
#include "harness/history/history.h"
#include "harness/measure/noise.h"
#include "harness/measure/series.h"
#include "harness/record/record.h"
#include "harness/record/row.h"

#include "tests/unit/harness/history_v2.h"
#include "tests/unit/reports/reporting.h"

#include <cJSON.h>
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOISE ((size_t)15) /* figures that the kernel tells */
#define OLD_RUN "11111111-2222-4333-8444-555555555555"
#define NEW_RUN "22222222-2222-4333-8444-555555555555"

static const struct yp_test test = {.group = "rx", .name = "fit"};
static const struct yp_budget budget = yp_min_rate("fit", 1e6);
static double samples[] = {0.5, INFINITY, 0.25};

static struct ypi_measured measured = {
    .name = "fit",
    .unit = "pixels",
    .items = 1000,
    .batch = 8,
    .phases = {{"forward", 0.125}},
    .phase_count = 1,
    .count = 3,
    .samples = samples,
    .estimate = {.count = 3,
                 .median = 0.001,
                 .low = 0.0005,
                 .high = INFINITY,
                 .coverage = 0.75,
                 .mean = NAN,
                 .sd = 0.0625,
                 .min = 0.25,
                 .max = INFINITY,
                 .p90 = NAN,
                 .p99 = NAN,
                 .p999 = NAN},
};

static void add(struct ypi_history *h, const char *run_id, const char *id, double started,
                enum ypi_outcome outcome)
{
    static char message[] = "not this: \033[31m\nsecond line";
    static char tail[] = "bytes \xff \xc3\xa9\n\033[2J";
    struct ypi_failure failure = {YPI_CAUSE_BUDGET, message, NULL, 0, NULL};
    struct ypi_verdict verdict = {&budget, YPI_NOT_MET, 9e5, 8e5, INFINITY, -0.1, 3, 2, NULL};
    struct yp_case c = {.test = &test, .device = "cpu", .timeout = 60, .seed = UINT64_MAX};
    struct ypi_result result = {.c = &c,
                                .outcome = outcome,
                                .started = started,
                                .ended = true,
                                .measured = &measured,
                                .measured_count = 1,
                                .verdicts = &verdict,
                                .verdict_count = 1,
                                .tail = tail};
    c.id = (char *)(uintptr_t)id;
    if (outcome == YPI_FAILED) {
        result.failures = &failure;
        result.failure_count = 1;
    }
    cr_assert_eq(ypi_history_add(h, run_id, &result), YP_OK, "%s", yp_last_error());
}

static void begin(struct ypi_history *h, const char *id, double started)
{
    static const char *const options[] = {"--set", "a b"};
    struct ypi_run run = {.started = started,
                          .command = "c",
                          .program = "p/q",
                          .reproduce_options = options,
                          .reproduce_option_count = 2};
    snprintf(run.id, sizeof run.id, "%s", id);
    cr_assert_eq(ypi_history_begin(h, &run), YP_OK, "%s", yp_last_error());
}

/* An old run that ended, a new one that did not. The working directory is below the history's. */
static void make_history(void)
{
    char path[128];
    cr_assert_eq(setenv("TZ", "UTC0", 1), 0);
    enter_directory();
    cr_assert_eq(mkdir(".yieldpoint", 0755) | mkdir("a", 0755) | mkdir("a/b", 0755), 0);
    snprintf(path, sizeof path, "%s/.yieldpoint/history.db", directory);
    struct ypi_history *h = ypi_history_open(path);
    cr_assert_not_null(h, "%s", yp_last_error());
    begin(h, OLD_RUN, 1000);
    add(h, OLD_RUN, "a.c::fit[n=1]", 1001, YPI_PASSED);
    add(h, OLD_RUN, "a.c::fit[n=2]", 1002, YPI_FAILED);
    cr_assert_eq(ypi_history_finish(h, OLD_RUN, 1003, 1), YP_OK);
    begin(h, NEW_RUN, 2000);
    add(h, NEW_RUN, "a.c::fit[n=1]", 2001, YPI_FAILED);
    ypi_history_close(h);
    cr_assert_eq(chdir("a/b"), 0);
}

TestSuite(reports, .init = make_history, .fini = remove_directory, .timeout = 60);

/* Runs a report with the blank-separated words. */
static int report(const char *words)
{
    char line[256];
    snprintf(line, sizeof line, "%s", words);
    return run_report(strncmp(words, "show", 4) == 0 ? ypi_report_show : ypi_report_history, line,
                      " ");
}

/* The document that a report prints; to be deleted. */
static cJSON *json(const char *words)
{
    cr_expect_eq(report(words), YPI_COMMAND_OK, "%s", errors);
    cJSON *document = cJSON_Parse(output);
    cr_assert_not_null(document, "%s", output);
    return document;
}

static const cJSON *at(const cJSON *from, const char *list, int index, const char *member)
{
    const cJSON *item = cJSON_GetArrayItem(cJSON_GetObjectItem(from, list), index);
    return cJSON_GetObjectItem(item, member);
}

Test(reports, history_lists_the_newest_first)
{
    cr_expect_eq(report("history"), YPI_COMMAND_OK, "%s", errors);
    const char *new_run = strstr(output, "run 22222222");
    const char *old_run = strstr(output, "run 11111111");
    cr_assert(new_run && old_run && new_run < old_run, "%s", output);
    const char *unfinished = strstr(output, "unfinished");
    cr_expect(unfinished && unfinished < old_run, "%s", output);
    expect_output("exit code 1");
    expect_output("  failed   a.c::fit[n=2]  not this: ?[31m\n");
    expect_output("  passed   a.c::fit[n=1]  fit 1 M pixels/s\n");
    cr_expect_eq(report("history --id %"), YPI_COMMAND_NOTHING, "a percent sign is no pattern");
}

static void expect_shown(const char *words, const char *id, double started)
{
    cJSON *document = json(words);
    const cJSON *result = cJSON_GetObjectItem(document, "result");
    cr_expect_str_eq(cJSON_GetObjectItem(result, "case")->valuestring, id, "%s", words);
    cr_expect_float_eq(cJSON_GetObjectItem(result, "started")->valuedouble, started, 0, "%s",
                       words);
    cJSON_Delete(document);
}

Test(reports, show_finds_what_is_meant)
{
    char prefix[64];
    expect_shown("show --json", "a.c::fit[n=1]", 2001);
    expect_shown("show last --json", "a.c::fit[n=1]", 2001);
    expect_shown("show a.c::fit[n=2] --json", "a.c::fit[n=2]", 1002);
    expect_shown("show --json n=1]", "a.c::fit[n=1]", 2001);
    expect_shown("show --json t[n=2", "a.c::fit[n=2]", 1002);
    cJSON *document = json("history --json --outcome passed");
    const cJSON *result = cJSON_GetArrayItem(at(document, "runs", 0, "results"), 0);
    snprintf(prefix, sizeof prefix, "show --json %.13s",
             cJSON_GetObjectItem(result, "id")->valuestring);
    expect_shown(prefix, "a.c::fit[n=1]", 1001);
    cJSON_Delete(document);
    document = json("show 1111 --json");
    cr_expect_str_eq(cJSON_GetObjectItem(cJSON_GetObjectItem(document, "run"), "id")->valuestring,
                     OLD_RUN);
    cr_expect_eq(cJSON_GetArraySize(cJSON_GetObjectItem(document, "results")), 2);
    cJSON_Delete(document);
    cr_expect_eq(report("show fit"), YPI_COMMAND_NOTHING);
    cr_expect_not_null(strstr(errors, "  a.c::fit[n=1]\n  a.c::fit[n=2]\n"), "%s", errors);
    cr_expect_eq(report("show 99999999"), YPI_COMMAND_NOTHING);
}

Test(reports, json_has_what_numbers_cannot_say)
{
    cJSON *document = json("show --json --samples");
    const cJSON *list = at(document, "measurements", 0, "samples");
    cr_expect_eq(cJSON_GetArraySize(list), 3);
    cr_expect_float_eq(cJSON_GetArrayItem(list, 0)->valuedouble, 0.5, 0);
    cr_expect_str_eq(cJSON_GetArrayItem(list, 1)->valuestring, "inf");
    cr_expect(cJSON_IsNull(at(document, "measurements", 0, "mean")));
    cr_expect_str_eq(at(document, "budgets", 0, "high")->valuestring, "inf");
    const cJSON *result = cJSON_GetObjectItem(document, "result");
    cr_expect_str_eq(cJSON_GetObjectItem(result, "seed")->valuestring, "18446744073709551615");
    cr_expect(cJSON_IsTrue(cJSON_GetObjectItem(result, "ended")));
    cr_expect_str_eq(cJSON_GetObjectItem(result, "tail")->valuestring,
                     "bytes \xef\xbf\xbd \xc3\xa9\n\033[2J");
    cr_expect_str_eq(cJSON_GetObjectItem(document, "reproduce")->valuestring,
                     "p/q 'a.c::fit[n=1]' --seed 18446744073709551615 --set 'a b'");
    cJSON_Delete(document);
    document = json("show --json");
    cr_expect_null(at(document, "measurements", 0, "samples"));
    cJSON_Delete(document);
}

Test(reports, show_is_for_a_person)
{
    cr_expect_eq(report("show"), YPI_COMMAND_OK, "%s", errors);
    expect_output("  not met       fit at least 1 M pixels/s (min rate)\n"
                  "                measured 900 k pixels/s, between 800 k pixels/s and"
                  " inf pixels/s, distance -10.0 %, slack 0.9\n");
    expect_output("started 1970-01-01");
    expect_output(", unfinished\n");
    expect_output("    phase forward: 125 ms\n");
    expect_output("  bytes \xef\xbf\xbd \xc3\xa9\n  ?[2J\n");
    expect_output("\nreproduce: p/q 'a.c::fit[n=1]' --seed 18446744073709551615 --set 'a b'\n");
    cr_expect_null(strchr(output, '\033'), "nothing a case wrote may reach the terminal's hands");
}

/* -- what is stored since version 3 -------------------------------------------------------- */

static const struct yp_budget rich_budgets[] = {yp_min_rate("fit", 1e6),
                                                {.kind = YP_BUDGET_MAX_PERCENTILE,
                                                 .name = "fit",
                                                 .quantile = 0.999,
                                                 .limit = 2,
                                                 .required = "the reference"},
                                                yp_max_count("fit", YP_BRANCH_MISSES, 7)};
static double rich_samples[100] = {0.5, 0.25};
static double rich_cpu[100] = {0.75, 1.5};
static double rich_shares[] = {0.8, 0.9};

/* A measurement with all that there may be of one. */
static struct ypi_measured rich_measured(void)
{
    return (struct ypi_measured){
        .name = "fit",
        .unit = "pixels",
        .items = 1000,
        .footprint = 4096,
        .threads = 2,
        .cold = true,
        .batch = 8,
        .warmup = 3,
        .stop = YPI_STOP_SETTLED,
        .phases = {{"forward", 0.125}},
        .phase_count = 1,
        .bounds = {{YP_FP32, "", 2, 4, 2e12, 1.5e12, 2.5e12, 1e9, 0, 0},
                   {YP_COPY, "memory", 2, 6, 27.1e9, 26e9, 28e9, 167e6, -1, 0}},
        .bound = YPI_BOUND_TRAFFIC,
        .noise = {.wall = 1.5,
                  .own = 1.25,
                  .others = 1.25,
                  .stolen = NAN,
                  .throttled = NAN,
                  .preemptions = 12,
                  .migrations = NAN,
                  .frequency = 2.6e9,
                  .frequency_least = NAN,
                  .hot = NAN,
                  .processors = 2},
        .counts = {[YP_PAGE_FAULTS] = {YPI_COUNTED_KERNEL, 0.5},
                   [YP_CYCLES] = {YPI_COUNTED_HARDWARE, 1e6}},
        .growth_accounted = 0,
        .growth_resident = 2048,
        .count = 100,
        .samples = rich_samples,
        .cpu = rich_cpu,
        .share_count = 2,
        .shares = rich_shares,
        .estimate = {100, 0.0075, 0.0074, 0.0076, 0.99, 0.008, 0.001, 0.007, 0.01, 0.009, NAN, NAN,
                     1, 2, 3, 4, 0.6, 25},
        .cpu_estimate = {.median = 0.01425, .low = 0.014, .high = 0.0145},
        .share_estimate = {.median = 0.8345, .low = 0.81, .high = 0.85, .coverage = 0.5}};
}

static struct ypi_history *reopen(void)
{
    char path[128];
    snprintf(path, sizeof path, "%s/.yieldpoint/history.db", directory);
    struct ypi_history *h = ypi_history_open(path);
    cr_assert_not_null(h, "%s", yp_last_error());
    return h;
}

static void add_result(struct ypi_history *h, struct ypi_result *result)
{
    struct yp_case c = {
        .test = &test, .id = (char *)(uintptr_t) "b.c::rich", .device = "cpu", .timeout = 60};
    result->c = &c;
    result->ended = true;
    cr_assert_eq(ypi_history_add(h, NEW_RUN, result), YP_OK, "%s", yp_last_error());
    result->c = NULL;
}

static void add_rich(struct ypi_measured *m)
{
    static char note[] = "nota bene";
    struct ypi_value value = {"ratio", "", 2, 1.5, 2.5, true, false};
    struct ypi_gradient gradient = {
        "loss", false, 1e-9, 1e-6, 2, 0.5, 0.75, "w", 6, 1e-12, YP_GRADIENT_NOTHING, 0};
    struct ypi_verdict verdicts[] = {
        {&rich_budgets[0], YPI_NOT_MET, 9e5, 8e5, 95e4, -0.1, 3, 2, NULL},
        {&rich_budgets[1], YPI_MET, 1, 0.5, 1.5, 0.5, 1, 1, NULL},
        {&rich_budgets[2], YPI_ABSENT, NAN, NAN, NAN, NAN, 0, 0, NULL}};
    struct ypi_result result = {.outcome = YPI_PASSED,
                                .started = 3000,
                                .note = note,
                                .measured = m,
                                .measured_count = 1,
                                .values = &value,
                                .value_count = 1,
                                .gradients = &gradient,
                                .gradient_count = 1,
                                .verdicts = verdicts,
                                .verdict_count = 3};
    struct ypi_history *h = reopen();
    add_result(h, &result);
    ypi_history_close(h);
}

static void expect_no_output(const char *unwanted)
{
    cr_expect_null(strstr(output, unwanted), "'%s' is in:\n%s", unwanted, output);
}

Test(reports, show_tells_all_of_a_measurement)
{
    struct ypi_measured m = rich_measured();
    char cause[256] = "";
    char wanted[2048];
    bool any = ypi_noise_cause(&m.noise, m.threads, cause, sizeof cause);
    add_rich(&m);
    cr_expect_eq(report("show b.c::rich"), YPI_COMMAND_OK, "%s", errors);
    expect_output("  fit: median 7.5 ms, between 7.4 ms and 7.6 ms (99 % sure)\n"
                  "    133.3 k pixels/s, between 131.6 k pixels/s and 135.1 k pixels/s\n"
                  "    mean 8 ms, standard deviation 1 ms (CV 12 %), from 7 ms to 10 ms\n"
                  "    p50 7.5 ms, p90 9 ms, p99 needs 459 samples, p99.9 needs 4603 samples\n"
                  "    outliers: 4 low (3 of them far), 6 high (4 of them far)\n"
                  "    samples depend on the one before (correlation 0.60): they count as 25\n"
                  "    100 samples of 8 iterations after 3 to warm up, stopped by: settled\n"
                  "    caches emptied before every iteration\n"
                  "    footprint 4.0 KiB\n"
                  "    bound by copy from memory on 2 threads: 0.835 [0.81, 0.85] of 27.1 GB/s;"
                  " fp32 arithmetic would allow 12.3 times more\n"
                  "    ceiling of fp32 arithmetic: 2 TFLOP/s, from 1.5 TFLOP/s to 2.5 TFLOP/s"
                  " in 4 probes on 2 threads\n"
                  "    ceiling of copy from memory: 27.1 GB/s, from 26 GB/s to 28 GB/s"
                  " in 6 probes on 2 threads\n"
                  "    processor time 14.25 ms, between 14 ms and 14.5 ms: 1.9 processors busy\n"
                  "    resident memory grows by 2.0 KiB\n"
                  "    cycles: 1e+06 (hardware)\n"
                  "    page faults: 0.5 (kernel)\n");
    snprintf(wanted, sizeof wanted, "    likely cause of noise: %s\n    phase forward: 125 ms\n",
             cause);
    expect_output("    meanwhile: wall clock 1.5 s, own processor time 1.25 s, that of other"
                  " processes 1.25 s, preemptions 12, frequency 2.6 GHz\n");
    if (any)
        expect_output(wanted);
    else
        expect_no_output("likely cause");
}

Test(reports, show_tells_the_rest)
{
    struct ypi_measured m = rich_measured();
    add_rich(&m);
    cr_expect_eq(report("show b.c::rich"), YPI_COMMAND_OK, "%s", errors);
    expect_output("  note          nota bene\n");
    expect_output("  ratio: 2, between 1.5 and 2.5\n");
    expect_output(", 6 directions, rounding leaves 1e-12\n");
    expect_output("distance -10.0 %, slack 0.9\n                2 of 3 fresh processes agree\n");
    expect_output(
        "                required: the reference\n                measured 1 s, between 500 ms and "
        "1.5 s, distance +50.0 %, slack 2\n                1 of 1 fresh process agrees\n");
    expect_output(" (max percentile)\n");
    expect_output(" (max count)\n");
    expect_no_output("attempt");
    expect_no_output("n/a");
}

/* A ceiling of arithmetic, a share above it, one thread, nothing known of the other ceiling. */
Test(reports, show_tells_the_place_in_the_roofline)
{
    struct ypi_measured m = rich_measured();
    m.bound = YPI_BOUND_ARITHMETIC;
    m.bounds[0].threads = 1;
    m.bounds[0].probes = 1;
    m.bounds[0].ceiling = YP_INT8;
    m.bounds[1] = (struct ypi_ceiling){
        .ceiling = YP_FILL, .level = "L2", .threads = 1, .work = 5, .footprint = 1};
    m.share_estimate = (struct ypi_estimate){.median = 1.25, .low = 1.25, .high = 1.25};
    m.estimate.p99 = 0.0095;
    m.estimate.effective = 100;
    m.kind = YPI_MEASURED_SERVE;
    m.rate = 250;
    add_rich(&m);
    cr_expect_eq(report("show b.c::rich"), YPI_COMMAND_OK, "%s", errors);
    expect_output("    bound by int8 arithmetic on 1 thread: 1.25 of 2 T operations/s; more than 1:"
                  " the work is less than declared, or comes from a nearer cache than its footprint"
                  " says\n"
                  "    ceiling of int8 arithmetic: 2 T operations/s, from 1.5 T operations/s to 2.5"
                  " T operations/s in 1 probe on 1 thread\n"
                  "    ceiling of fill of L2: not probed\n");
    expect_output("p99 9.5 ms, p99.9 needs 4603 samples\n");
    expect_output("    requests due 250 times a second; a latency counts from then\n");
    expect_output("    processor time 14.25 ms, between 14 ms and 14.5 ms\n");
    expect_no_output("samples depend");
    expect_no_output("would allow");
    cr_expect_eq(report("history --id rich"), YPI_COMMAND_OK);
    expect_output("  passed   b.c::rich  fit 133.3 k pixels/s, 1.2 of int8\n");
}

/* An exchange among ranks: a rate, or the time of a small one. */
Test(reports, show_tells_what_ranks_exchange)
{
    struct ypi_measured m = rich_measured();
    m.bound = YPI_BOUND_MORE;
    m.bounds[0] = m.bounds[1] = (struct ypi_ceiling){.ceiling = YP_NO_CEILING};
    m.bounds[YPI_BOUND_MORE] = (struct ypi_ceiling){.ceiling = YP_ALL_REDUCE,
                                                    .level = "latency",
                                                    .threads = 4,
                                                    .probes = 2,
                                                    .work = 12,
                                                    .footprint = 8,
                                                    .rate = 12e6,
                                                    .low = 6e6,
                                                    .high = 24e6};
    m.bounds[YPI_BOUND_MORE + 1] = (struct ypi_ceiling){.ceiling = YP_POINT_TO_POINT,
                                                        .level = "bus",
                                                        .threads = 4,
                                                        .probes = 1,
                                                        .work = 1e3,
                                                        .footprint = 1e3,
                                                        .rate = 1e10,
                                                        .low = 1e10,
                                                        .high = 1e10};
    m.share_estimate = (struct ypi_estimate){.median = 0.25, .low = 0.25, .high = 0.25};
    add_rich(&m);
    cr_expect_eq(report("show b.c::rich"), YPI_COMMAND_OK, "%s", errors);
    expect_output(
        "    bound by all-reduce latency among 4 ranks: 0.25 of 1 us; point to point bus "
        "would allow 10 times more\n"
        "    ceiling of all-reduce latency: 1 us, from 500 ns to 2 us in 2 probes among 4 "
        "ranks\n"
        "    ceiling of point to point bus: 10 GB/s, from 10 GB/s to 10 GB/s in 1 probe "
        "among 4 ranks\n");
}

Test(reports, show_tells_what_bounds_each_step)
{
    struct ypi_measured m = rich_measured();
    m.bounds[2] = (struct ypi_ceiling){.ceiling = YP_INT32,
                                       .threads = 2,
                                       .probes = 1,
                                       .rate = 1e9,
                                       .low = 1e9,
                                       .high = 1e9,
                                       .work = 2e6,
                                       .stage = 1};
    add_rich(&m);
    cr_expect_eq(report("show b.c::rich"), YPI_COMMAND_OK, "%s", errors);
    expect_output("    bound by copy from memory on 2 threads for 6.162 ms, then by int32"
                  " arithmetic on 2 threads for 2 ms: their sum is 0.835 [0.81, 0.85] of what was"
                  " measured\n");
    cr_expect_eq(report("history --id rich"), YPI_COMMAND_OK);
    expect_output("0.83 of copy + int32\n");
}

/* Bytes of an unknown level. */
Test(reports, show_tells_why_there_is_no_share)
{
    struct ypi_measured m = rich_measured();
    m.bound = -1;
    m.cold = false;
    m.share_count = 0;
    m.bounds[1] = (struct ypi_ceiling){.ceiling = YP_COPY, .threads = 2, .work = 5};
    add_rich(&m);
    cr_expect_eq(report("show b.c::rich"), YPI_COMMAND_OK, "%s", errors);
    expect_output("    bound by memory or a cache, and .footprint does not say which: no share\n"
                  "    ceiling of fp32 arithmetic: ");
    expect_no_output("ceiling of copy");
}

/* Where `show` prints it in words, the members are those that it reads. */
Test(reports, json_has_what_words_leave_out)
{
    struct ypi_measured m = rich_measured();
    add_rich(&m);
    cJSON *document = json("show b.c::rich --json --samples");
    const cJSON *measurement = cJSON_GetArrayItem(cJSON_GetObjectItem(document, "measurements"), 0);
    cr_expect(cJSON_IsNull(cJSON_GetObjectItem(measurement, "p99")));
    cr_expect(cJSON_IsTrue(cJSON_GetObjectItem(measurement, "cold")));
    cr_expect_float_eq(ypi_real(measurement, "share_coverage"), 0.5, 0);
    cr_expect_float_eq(ypi_real(measurement, "stretches"), 2, 0);
    cr_expect_eq(cJSON_GetArraySize(cJSON_GetObjectItem(measurement, "samples")), 100);
    cr_expect_eq(cJSON_GetArraySize(cJSON_GetObjectItem(measurement, "cpu_samples")), 100);
    cr_expect_eq(cJSON_GetArraySize(cJSON_GetObjectItem(measurement, "shares")), 2);
    cr_expect_eq(cJSON_GetArraySize(cJSON_GetObjectItem(measurement, "noise")), (int)NOISE);
    cr_expect(cJSON_IsTrue(at(document, "values", 0, "of_speed")));
    cr_expect_str_eq(at(document, "budgets", 1, "detail")->valuestring, "p99.9");
    cr_expect_str_eq(at(document, "budgets", 2, "detail")->valuestring, "branch misses");
    cr_expect_eq(cJSON_GetArraySize(cJSON_GetObjectItem(document, "attempts")), 0);
    cJSON_Delete(document);
    document = json("history --json --id rich");
    const cJSON *result = cJSON_GetArrayItem(at(document, "runs", 0, "results"), 0);
    measurement = cJSON_GetObjectItem(result, "measurement");
    cr_expect_float_eq(cJSON_GetObjectItem(measurement, "share")->valuedouble, 0.8345, 0);
    cJSON_Delete(document);
}

/* Every figure can be read back: what the cause is made of is the same. */
Test(reports, noise_is_read_back)
{
    cJSON *figures = cJSON_CreateObject();
    struct ypi_measured m = {.noise = {.wall = 1}};
    for (size_t i = 0; i < NOISE; i++)
        cJSON_AddNumberToObject(figures, ypi_noise_fields[i].name, (double)i + 1);
    for (size_t i = 0; i < NOISE; i++)
        ypi_field_read(&ypi_noise_fields[i], &m, figures);
    for (size_t i = 0; i < NOISE; i++)
        cr_expect_float_eq(ypi_field_real(&ypi_noise_fields[i], &m), (double)i + 1, 0, "%s",
                           ypi_noise_fields[i].name);
    for (size_t i = 0; i < NOISE; i++)
        ypi_field_read(&ypi_noise_fields[i], &m, NULL);
    cr_expect(isnan(m.noise.wall) && isnan(m.noise.hot) && m.noise.processors == 0);
    cJSON_Delete(figures);
}

/* -- what slows an accelerator ---------------------------------------------------------------- */

/* At its power cap a device is not slowed down, unless its clock says so. */
Test(reports, a_power_cap_alone_is_no_slowdown)
{
    static const struct {
        double reasons;
        bool slowed;
        const char *by;
    } tried[] = {{0x4, false, "its power cap"},
                 {0x20, true, "heat"},
                 {0x84, true, "its power cap, the power brake"},
                 {0x1, false, ""},
                 {NAN, false, ""}};
    char by[128];
    for (size_t i = 0; i < sizeof tried / sizeof *tried; i++) {
        cr_expect_eq(ypi_store_slowed(tried[i].reasons, by), tried[i].slowed, "%zu", i);
        cr_expect_str_eq(by, tried[i].by);
    }
    for (int clock = 0; clock < 2; clock++) {
        const struct ypi_condition now = {
            .clock = clock ? 1.4e9 : 1.9e9, .clock_max = 1.98e9, .throttled = YPI_POWER_CAPPED};
        cr_expect_eq(ypi_condition_is_slow(&now), clock == 1);
    }
}

/* Rows: capped at full clock, capped at a low one, hot, neither. */
Test(reports, a_series_tells_power_cap_and_slowdown_apart)
{
    double series[][YPI_SERIES_COLUMNS] = {{0, 1.9e9, 60, 700, 1, 1e9, 0x4},
                                           {1, 1.2e9, 60, 700, 1, 1e9, 0x4},
                                           {2, 1.9e9, 90, 500, 1, 1e9, 0x20},
                                           {3, 1.9e9, 50, 400, 1, 1e9, 0}};
    struct ypi_measured m = rich_measured();
    m.on_device.there = true;
    m.on_device.opening = 0.25;
    m.on_device.clock_max = 1.98e9;
    m.on_device.power_capped = 3;
    m.on_device.throttled = 0x4;
    struct ypi_result result = {.outcome = YPI_PASSED,
                                .started = 4000,
                                .measured = &m,
                                .measured_count = 1,
                                .series = series[0],
                                .series_count = 4};
    struct ypi_history *h = reopen();
    add_result(h, &result);
    ypi_history_close(h);
    cr_expect_eq(report("show"), YPI_COMMAND_OK, "%s", errors);
    expect_output("\n      opened in 250 ms\n");
    expect_output("\n      3 samples kept that the device took at its power cap\n");
    cr_expect_null(strstr(output, "the device was slowed down"), "%s", output);
    expect_output("\n  slowed down   in 2 of 4, by its power cap, heat\n");
    expect_output("\n  at power cap  in 2 of 4\n");
    cJSON *document = json("show --json");
    const cJSON *throttled =
        cJSON_GetObjectItem(cJSON_GetObjectItem(document, "series"), "throttled");
    cr_expect_float_eq(cJSON_GetObjectItem(throttled, "slowed")->valuedouble, 2, 0);
    cr_expect_float_eq(cJSON_GetObjectItem(throttled, "power_capped")->valuedouble, 2, 0);
    cJSON_Delete(document);
}

/* -- attempts ------------------------------------------------------------------------------ */

#define MAIN_ID "aaaaaaaa-2222-4333-8444-555555555555"
#define SECOND_ID "bbbbbbbb-2222-4333-8444-555555555555"

/* A case, a process that confirms it and one whose allocation was refused, the newest. */
static void add_attempts(void)
{
    static char message[] = "no memory";
    struct ypi_failure failure = {YPI_CAUSE_OUT_OF_MEMORY, message, NULL, 0, NULL};
    struct ypi_measured m = rich_measured();
    struct ypi_result result = {
        .outcome = YPI_PASSED, .started = 3000, .id = MAIN_ID, .measured = &m, .measured_count = 1};
    struct yp_case other = {.test = &test, .id = (char *)(uintptr_t) "c.c::other", .device = "cpu"};
    struct ypi_result other_result = {.c = &other, .started = 1, .attempt = 3};
    struct ypi_history *h = reopen();
    cr_assert_eq(ypi_history_add(h, NEW_RUN, &other_result), YP_OK); /* of another case, */
    other.id = (char *)(uintptr_t) "b.c::rich";
    cr_assert_eq(ypi_history_add(h, OLD_RUN, &other_result), YP_OK); /* another run, */
    other.repeat = 1;
    cr_assert_eq(ypi_history_add(h, NEW_RUN, &other_result), YP_OK); /* another repeat */
    add_result(h, &result);
    result.attempt = 1;
    result.started = 3001;
    snprintf(result.id, sizeof result.id, "%s", "cccccccc-2222-4333-8444-555555555555");
    add_result(h, &result);
    snprintf(result.id, sizeof result.id, "%s", SECOND_ID);
    result.attempt = 2;
    result.started = 3002;
    result.fail_allocation = 2;
    result.outcome = YPI_FAILED;
    result.failures = &failure;
    result.failure_count = 1;
    add_result(h, &result);
    ypi_history_close(h);
}

Test(reports, attempts_are_listed_when_asked_for)
{
    add_attempts();
    cr_expect_eq(report("history --id rich"), YPI_COMMAND_OK);
    expect_output("  aaaaaaaa  passed   b.c::rich  fit 133.3 k pixels/s, 0.83 of copy\n");
    expect_no_output("bbbbbbbb");
    expect_no_output("attempt");
    cr_expect_eq(report("history --id rich --outcome failed"), YPI_COMMAND_NOTHING);
    cr_expect_eq(report("history --id rich --attempts"), YPI_COMMAND_OK);
    expect_output(
        "  bbbbbbbb  failed   b.c::rich attempt 2     no memory\n"
        "  cccccccc  passed   b.c::rich attempt 1     fit 133.3 k pixels/s, 0.83 of copy\n"
        "  aaaaaaaa  passed   b.c::rich               fit 133.3 k pixels/s, 0.83 of copy\n");
    expect_output("  b.c::rich #2 attempt 3\n");
    cr_expect_eq(report("history --attempts --outcome failed --id rich"), YPI_COMMAND_OK);
    cJSON *document = json("history --attempts --json --id rich");
    const cJSON *newest = cJSON_GetArrayItem(at(document, "runs", 0, "results"), 0);
    cr_expect_float_eq(cJSON_GetObjectItem(newest, "attempt")->valuedouble, 2, 0);
    cr_expect_str_eq(cJSON_GetObjectItem(newest, "fail_allocation")->valuestring, "2");
    cJSON_Delete(document);
}

/* Also where attempts are left out. */
Test(reports, a_run_without_results_is_there)
{
    struct ypi_history *h = reopen();
    begin(h, "33333333-2222-4333-8444-555555555555", 4000);
    ypi_history_close(h);
    cr_expect_eq(report("history"), YPI_COMMAND_OK);
    expect_output("unfinished\n  no result\n");
}

Test(reports, show_lists_the_attempts_of_a_case)
{
    static const char *const words[] = {"show", "show b.c::rich", "show rich", "show aaaa",
                                        "show c::ric"};
    add_attempts();
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        cr_expect_eq(report(words[i]), YPI_COMMAND_OK, "%s", words[i]);
        expect_output("  result        " MAIN_ID "\n");
        expect_output("attempts (fresh processes for the same case)\n"
                      "  1   cccccccc  passed   fit 133.3 k pixels/s, 0.83 of copy\n"
                      "  2   bbbbbbbb  failed   allocation 2 refused  no memory\n");
    }
    cJSON *document = json("show --json");
    cr_expect_eq(cJSON_GetArraySize(cJSON_GetObjectItem(document, "attempts")), 2);
    cr_expect_str_eq(at(document, "attempts", 1, "id")->valuestring, SECOND_ID);
    cJSON_Delete(document);
}

Test(reports, show_tells_an_attempt_as_one)
{
    add_attempts();
    cr_expect_eq(report("show bbbb"), YPI_COMMAND_OK, "%s", errors);
    expect_output("  attempt       2, a fresh process for result aaaaaaaa; allocation 2 was refused"
                  " on purpose\n");
    expect_no_output("attempts (");
    cr_expect_eq(report("show cccc"), YPI_COMMAND_OK, "%s", errors);
    expect_output("  attempt       1, a fresh process for result aaaaaaaa\n");
}

/* One more run with these options, NULL at their end, and in it a case, then `second` where it is
 * given: an attempt of the case, or what no process ran. */
static void add_run(const char *const *options, double slowdown, struct ypi_result *second)
{
    struct ypi_run run = {.id = "33333333-2222-4333-8444-555555555555",
                          .started = 4000,
                          .command = "c",
                          .program = "p/q",
                          .reproduce_options = options,
                          .slowdown = slowdown};
    struct yp_case c = {.test = &test, .id = (char *)(uintptr_t) "b.c::rich", .device = "cpu"};
    struct ypi_result result = {
        .c = &c, .started = 4000, .id = MAIN_ID, .ended = true, .duration = 2};
    struct ypi_history *h = reopen();
    while (options[run.reproduce_option_count] != NULL)
        run.reproduce_option_count++;
    cr_assert_eq(ypi_history_begin(h, &run), YP_OK);
    cr_assert_eq(ypi_history_add(h, run.id, &result), YP_OK);
    if (second != NULL) {
        second->c = second->c != NULL ? second->c : &c;
        second->started = 4000;
        snprintf(second->id, sizeof second->id, "%s", SECOND_ID);
        cr_assert_eq(ypi_history_add(h, run.id, second), YP_OK);
    }
    ypi_history_close(h);
}

static void expect_reproduced(const char *words, const char *line)
{
    cr_expect_eq(report(words), YPI_COMMAND_OK);
    expect_output(line);
}

/* The one process is run again, not all of them. */
Test(reports, a_refused_allocation_is_reproduced_alone)
{
    struct ypi_result attempt = {.attempt = 7, .fail_allocation = 7};
    add_run((const char *const[]){"--fail-allocation=each", "--set", "a b", NULL}, 0, &attempt);
    expect_reproduced("show",
                      "\nreproduce: p/q 'b.c::rich' --seed 0 --fail-allocation=each --set 'a b'\n");
    expect_reproduced("show bbbb",
                      "\nreproduce: p/q 'b.c::rich' --seed 0 --fail-allocation=7 --set 'a b'\n");
}

Test(reports, a_slowed_run_is_no_normal_one)
{
    add_run((const char *const[]){NULL}, 1.5, NULL);
    expect_reproduced("history", "  slowed down 1.5 times\n  ");
    expect_reproduced("history --json", "\"slowdown\":\t1.5");
    expect_reproduced("show", "every sample 1.5 times as long as its work (--slowdown)\n");
    sqlite3 *db = ypi_store_open(NULL);
    cJSON *rows = ypi_store_rows(db, "SELECT id FROM run WHERE " YPI_NORMAL_RUN, 0, NULL);
    cr_expect_eq(cJSON_GetArraySize(rows), 2, "the other two");
    cJSON_Delete(rows);
    sqlite3_close(db);
}

/* A relation reads what was selected, other cases stand for themselves. */
Test(reports, a_relation_is_reproduced_with_its_selection)
{
    const struct yp_case c = {.test = &test, .id = (char *)(uintptr_t) "b.c::relation"};
    struct ypi_result relation = {.c = &c, .ended = true};
    add_run((const char *const[]){"--set=n=1", "-m", "a and b", "-k", "c", NULL}, 0, &relation);
    expect_reproduced("show aaaa", "\nreproduce: p/q 'b.c::rich' --seed 0 --set=n=1\n");
    expect_reproduced("show bbbb",
                      "\nreproduce: p/q 'b.c::relation' --seed 0 --set=n=1 -m 'a and b'"
                      " -k c\n");
}

/* -- older histories ----------------------------------------------------------------------- */

static void execute(const char *path, const char *sql)
{
    sqlite3 *db = NULL;
    cr_assert_eq(sqlite3_open(path, &db), SQLITE_OK);
    cr_assert_eq(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK, "%s", sqlite3_errmsg(db));
    sqlite3_close(db);
}

/* Nothing is printed of what nobody looked at then: no empty lines, no "n/a". */
Test(reports, an_older_result_is_told_as_ever)
{
    char path[128];
    snprintf(path, sizeof path, "%s/older.db", directory);
    execute(path, history_v1_tables);
    execute(path, history_v1_rows);
    execute(path, history_v2_tables);
    execute(path, history_v2_rows);
    ypi_history_close(ypi_history_open(path));
    snprintf(path, sizeof path, "show --history %s/older.db 0b7d1f5c-8f7e-4d57-8a53-2a8f5f4d9a03",
             directory);
    cr_expect_eq(report(path), YPI_COMMAND_OK, "%s", errors);
    expect_output("budgets (distance: above 0 on the good side)\n"
                  "  undecided     fit at most 750 ms (max latency)\n"
                  "                measured 500 ms, between 250 ms and 1 s, distance +50.0 %\n"
                  "  met           host memory: at most 0 B left behind (max leak)\n"
                  "                measured 0 B\n"
                  "measurements (an iteration)\n"
                  "  fit: median 500 ms, between 250 ms and 1 s (75 % sure)\n"
                  "    2 k pixels/s, between 1 k pixels/s and 4 k pixels/s\n"
                  "    4 kFLOP/s, between 2 kFLOP/s and 8 kFLOP/s\n"
                  "    8 kB/s, between 4 kB/s and 16 kB/s\n"
                  "    mean 600 ms, standard deviation 400 ms (CV 67 %), from 250 ms to 1 s\n"
                  "    3 samples of 8 iterations after 5 to warm up, stopped by: time\n"
                  "    phase forward: 125 ms\n"
                  "    phase backward: 250 ms\n"
                  "environment\n");
    snprintf(path, sizeof path, "history --history %s/older.db", directory);
    cr_expect_eq(report(path), YPI_COMMAND_OK, "%s", errors);
    expect_output("#2  for some reason\n");
}

Test(reports, marks_what_is_wrong)
{
    static const char *const wrong[] = {
        "history --bogus", "history -n 0", "history -n x",  "history -n",
        "history extra",   "show a b",     "show --json=1", "history --outcome=fialed"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cr_expect_eq(report(wrong[i]), YPI_COMMAND_USAGE, "%s", wrong[i]);
        cr_expect_not_null(strstr(errors, wrong[i]), "%s", errors);
        cr_expect_eq(strlen(output), 0, "%s", wrong[i]);
    }
    cr_expect_not_null(strstr(errors, "\n  yieldpoint history --outcome=fialed\n"
                                      "                     ^^^^^^^^^^^^^^^^\n"),
                       "%s", errors);
}
