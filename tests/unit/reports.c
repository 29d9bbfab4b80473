/* What is shown of a history: found, selected, in the words of the command line; nothing else. */
#include "reports.h"
#include "record.h"

#include <cJSON.h>
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OLD_RUN "11111111-2222-4333-8444-555555555555"
#define NEW_RUN "22222222-2222-4333-8444-555555555555"

static char directory[64];
static char output[65536];
static char errors[4096];

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
    .estimate = {3, 0.001, 0.0005, INFINITY, 0.75, NAN, 0.0625, 0.25, INFINITY},
};

static void add(struct ypi_history *h, const char *run_id, const char *id, double started,
                enum ypi_outcome outcome)
{
    static char message[] = "not this: \033[31m\nsecond line";
    static char tail[] = "bytes \xff \xc3\xa9\n\033[2J";
    struct ypi_failure failure = {YPI_CAUSE_BUDGET, message, NULL, 0};
    struct ypi_verdict verdict = {&budget, YPI_NOT_MET, 9e5, 8e5, INFINITY, -0.1, 3, 2};
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
    snprintf(directory, sizeof directory, "/tmp/yp-reports-XXXXXX");
    cr_assert_not_null(mkdtemp(directory));
    cr_assert_eq(chdir(directory), 0);
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

static void remove_history(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", directory);
    cr_assert_eq(system(command), 0);
}

TestSuite(reports, .init = make_history, .fini = remove_history, .timeout = 60);

static void take(FILE *from, char *to, size_t size)
{
    rewind(from);
    to[fread(to, 1, size - 1, from)] = '\0';
    fclose(from);
}

/* Runs a report with the blank-separated words; its output and errors are then in `output` and
 * `errors`. */
static int report(const char *words)
{
    char copy[256];
    char *argv[16];
    int argc = 0;
    char *rest = NULL;
    FILE *out = tmpfile();
    FILE *err = tmpfile();
    snprintf(copy, sizeof copy, "%s", words);
    for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        argv[argc++] = word;
    argv[argc] = NULL;
    fflush(NULL);
    int old_out = dup(STDOUT_FILENO);
    int old_err = dup(STDERR_FILENO);
    dup2(fileno(out), STDOUT_FILENO);
    dup2(fileno(err), STDERR_FILENO);
    int code = argc > 0 && strcmp(argv[0], "show") == 0 ? ypi_report_show(argc, argv)
                                                        : ypi_report_history(argc, argv);
    fflush(NULL);
    dup2(old_out, STDOUT_FILENO);
    dup2(old_err, STDERR_FILENO);
    close(old_out);
    close(old_err);
    take(out, output, sizeof output);
    take(err, errors, sizeof errors);
    return code;
}

static void expect_output(const char *wanted)
{
    cr_expect_not_null(strstr(output, wanted), "'%s' is not in:\n%s", wanted, output);
}

/* The document that a report prints; to be deleted. */
static cJSON *json(const char *words)
{
    cr_expect_eq(report(words), YPI_REPORT_OK, "%s", errors);
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
    cr_expect_eq(report("history"), YPI_REPORT_OK, "%s", errors);
    const char *new_run = strstr(output, "run 22222222");
    const char *old_run = strstr(output, "run 11111111");
    cr_assert(new_run && old_run && new_run < old_run, "%s", output);
    const char *unfinished = strstr(output, "unfinished");
    cr_expect(unfinished && unfinished < old_run, "%s", output);
    expect_output("exit code 1");
    expect_output("  failed   a.c::fit[n=2]  not this: ?[31m\n");
    expect_output("  passed   a.c::fit[n=1]  fit 1 M pixels/s\n");
}

Test(reports, history_selects)
{
    cJSON *document = json("history --json -n 2");
    cr_expect_eq(cJSON_GetArraySize(cJSON_GetObjectItem(document, "runs")), 2);
    cr_expect_eq(cJSON_GetArraySize(at(document, "runs", 1, "results")), 1);
    cJSON_Delete(document);
    document = json("history --json --id n=2 --outcome=failed");
    cr_expect_eq(cJSON_GetArraySize(cJSON_GetObjectItem(document, "runs")), 1);
    cr_expect_str_eq(at(document, "runs", 0, "id")->valuestring, OLD_RUN);
    cJSON_Delete(document);
    cr_expect_eq(report("history --id n=2 --outcome passed"), YPI_REPORT_NOTHING);
    cr_expect_eq(report("history --id %"), YPI_REPORT_NOTHING, "a percent sign is no pattern");
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
    cr_expect_eq(report("show fit"), YPI_REPORT_NOTHING);
    cr_expect_not_null(strstr(errors, "  a.c::fit[n=1]\n  a.c::fit[n=2]\n"), "%s", errors);
    cr_expect_eq(report("show 99999999"), YPI_REPORT_NOTHING);
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
    cr_expect_eq(report("show"), YPI_REPORT_OK, "%s", errors);
    expect_output("  not met       fit at least 1 M pixels/s (min rate)\n"
                  "                measured 900 k pixels/s, between 800 k pixels/s and"
                  " inf pixels/s, distance -10.0 %\n");
    expect_output("started 1970-01-01");
    expect_output(", unfinished\n");
    expect_output("    phase forward: 125 ms\n");
    expect_output("  bytes \xef\xbf\xbd \xc3\xa9\n  ?[2J\n");
    expect_output("\nreproduce: p/q 'a.c::fit[n=1]' --seed 18446744073709551615 --set 'a b'\n");
    cr_expect_null(strchr(output, '\033'), "nothing a case wrote may reach the terminal's hands");
}

Test(reports, marks_what_is_wrong)
{
    static const char *const wrong[] = {
        "history --bogus", "history -n 0", "history -n x",  "history -n",
        "history extra",   "show a b",     "show --json=1", "history --outcome=fialed"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cr_expect_eq(report(wrong[i]), YPI_REPORT_USAGE, "%s", wrong[i]);
        cr_expect_not_null(strstr(errors, wrong[i]), "%s", errors);
        cr_expect_eq(strlen(output), 0, "%s", wrong[i]);
    }
    cr_expect_not_null(strstr(errors, "\n  yieldpoint history --outcome=fialed\n"
                                      "                     ^^^^^^^^^^^^^^^^\n"),
                       "%s", errors);
}

Test(reports, tells_where_it_looked)
{
    cr_expect_eq(report("history --history no/such/file"), YPI_REPORT_FILE);
    cr_expect_not_null(strstr(errors, "no/such/file"), "%s", errors);
    cr_assert_eq(chdir("/"), 0);
    if (access("/.yieldpoint/history.db", F_OK) != 0) {
        cr_expect_eq(report("show"), YPI_REPORT_FILE);
        cr_expect_not_null(strstr(errors, "--history FILE"), "%s", errors);
    }
}
