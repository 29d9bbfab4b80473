/* Telling a person and meson: progress, failures, the summary, colours, TAP. */
#include "harness/tell/reporter.h"

#include "base/system/clock.h"
#include "base/text/text.h"
#include "harness/driver/list.h"
#include "tests/unit/harness/capture.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

TestSuite(terminal, .timeout = 60);
TestSuite(tap, .timeout = 60);
TestSuite(output, .timeout = 60);

/* -- a session and its results ------------------------------------------------------------- */

static struct ypi_options options = {.durations = -1, .repeat = 1, .report = (char[]){"fE"}};
static struct ypi_environment environment;
static struct ypi_session session = {
    .o = &options, .environment = &environment, .run_id = "run", .program = "/bin/suite"};
static const struct yp_test test = {.group = "g", .name = "t", .file = "a.c", .line = 7};

static void begin_session(int total, int verbose)
{
    static char device[] = "auto";
    static char history[] = "h.db";
    options.device = device;
    options.history = history;
    options.output_limit = 64 << 20;
    options.process_limit = 512;
    options.verbose = verbose;
    session.total = session.collected = total;
    session.started = ypi_now();
}

static struct yp_case case_of(const char *id)
{
    return (struct yp_case){.test = &test, .id = (char *)(uintptr_t)id, .seed = 7};
}

static struct ypi_result result_of(const struct yp_case *c, enum ypi_outcome outcome)
{
    return (struct ypi_result){.c = c, .outcome = outcome, .duration = 0.25, .ended = true};
}

/* A run begins that a reporter reports. */
static struct ypi_reports begin_run(const struct ypi_reporter *reporter, FILE *out,
                                    const struct ypi_totals *totals)
{
    struct ypi_reports all = {
        .list = {{.reporter = reporter, .out = out, .s = &session, .totals = totals}}, .count = 1};
    ypi_report(&all, YPI_RUN_BEGINS, NULL);
    return all;
}

static struct ypi_reports begin_terminal(FILE *out)
{
    static const struct ypi_totals none;
    return begin_run(&ypi_terminal_reporter, out, &none);
}

static void tell_one(struct ypi_reports *terminal, const char *id, enum ypi_outcome outcome,
                     const char *reason)
{
    struct yp_case c = case_of(id);
    struct ypi_result r = result_of(&c, outcome);
    if (outcome == YPI_FAILED || outcome == YPI_ERROR)
        ypi_result_fail(&r, YPI_CAUSE_EXPECTATION, NULL, 0, "%s", reason);
    else if (reason != NULL)
        r.reason = ypi_strdup(reason);
    ypi_report(terminal, YPI_RESULT, &r);
    ypi_result_clear(&r);
}

/* What a run with these outcomes prints; the caller frees. */
static char *tell_all(const char *const *ids, const enum ypi_outcome *outcomes, int count,
                      struct ypi_totals *totals)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    struct ypi_reports terminal = begin_run(&ypi_terminal_reporter, out, totals);
    for (int i = 0; i < count; i++) {
        tell_one(&terminal, ids[i], outcomes[i], "because");
        totals->count[outcomes[i]]++;
    }
    ypi_report(&terminal, YPI_RUN_ENDS, NULL);
    fclose(out);
    return text;
}

/* The last line; valid until the next call. */
static const char *last_line(const char *text)
{
    static char line[256];
    size_t length = strlen(text);
    cr_assert(length > 0 && text[length - 1] == '\n');
    const char *at = text + length - 1;
    while (at > text && at[-1] != '\n')
        at--;
    snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
    return line;
}

/* -- the summary --------------------------------------------------------------------------- */

static void expect_summary(struct ypi_totals totals, int deselected, const char *wanted)
{
    begin_session(0, -1);
    session.deselected = deselected;
    char *text = tell_all(NULL, NULL, 0, &totals);
    char *start = ypi_format("%sin ", wanted);
    const char *line = last_line(text);
    cr_expect(strncmp(line, start, strlen(start)) == 0 && line[strlen(line) - 1] == 's',
              "%s, wanted %s", line, start);
    free(start);
    free(text);
}

Test(terminal, the_summary_has_pytest_s_order)
{
    struct ypi_totals all = {.count = {[YPI_PASSED] = 2,
                                       [YPI_FAILED] = 1,
                                       [YPI_ERROR] = 8,
                                       [YPI_SKIPPED] = 4,
                                       [YPI_XFAILED] = 6,
                                       [YPI_XPASSED] = 7,
                                       [YPI_NOISY] = 3}};
    expect_summary(all, 5,
                   "1 failed, 2 passed, 3 noisy, 4 skipped, 5 deselected, 6 xfailed, 7 xpassed, "
                   "8 errors ");
    expect_summary((struct ypi_totals){.count = {[YPI_PASSED] = 1}}, 0, "1 passed ");
    expect_summary((struct ypi_totals){.count = {[YPI_ERROR] = 1}}, 0, "1 error ");
    expect_summary((struct ypi_totals){.count = {[YPI_SKIPPED] = 1}, .interrupted = true}, 0,
                   "1 skipped, interrupted ");
    expect_summary((struct ypi_totals){.interrupted = true}, 0, "interrupted ");
    expect_summary((struct ypi_totals){0}, 0, "");
}

Test(terminal, the_summary_is_the_last_line_and_a_rule)
{
    static const char *const ids[] = {"a.c::f", "a.c::g"};
    static const enum ypi_outcome outcomes[] = {YPI_PASSED, YPI_FAILED};
    begin_session(2, 0);
    options.durations = 0; /* they stand in front of it */
    struct ypi_totals totals = {0};
    char *text = tell_all(ids, outcomes, 2, &totals);
    const char *line = last_line(text);
    cr_expect_eq(strlen(line), 80, "%s", line);
    cr_expect_not_null(strstr(line, "= 1 failed, 1 passed in "), "%s", line);
    cr_expect(line[0] == '=' && line[79] == '=', "%s", line);
    free(text);
}

/* -- progress ------------------------------------------------------------------------------ */

Test(terminal, a_letter_an_outcome)
{
    static const char *const ids[] = {"a.c::1", "a.c::2", "a.c::3", "a.c::4",
                                      "a.c::5", "b.c::6", "b.c::7"};
    static const enum ypi_outcome outcomes[] = {YPI_PASSED,  YPI_FAILED,  YPI_ERROR, YPI_SKIPPED,
                                                YPI_XFAILED, YPI_XPASSED, YPI_NOISY};
    begin_session(7, 0);
    struct ypi_totals totals = {0};
    char *text = tell_all(ids, outcomes, 7, &totals);
    char *wanted =
        ypi_format("collected 7 cases\n\na.c .FEsx%*s[ 71%%]\nb.c Xn%*s[100%%]\n", 64, "", 67, "");
    cr_expect_not_null(strstr(text, wanted), "%s, wanted %s", text, wanted);
    free(wanted);
    free(text);
}

Test(terminal, one_case_is_one_case)
{
    begin_session(1, 0);
    struct ypi_totals totals = {0};
    char *text = tell_all(NULL, NULL, 0, &totals);
    cr_expect_not_null(strstr(text, "\ncollected 1 case\n"), "%s", text);
    free(text);
    begin_session(3, 0);
    session.deselected = 2;
    text = tell_all(NULL, NULL, 0, &totals);
    cr_expect_not_null(strstr(text, "\ncollected 3 cases / 2 deselected / 1 selected\n"), "%s",
                       text);
    free(text);
}

Test(terminal, no_line_is_wider_than_the_terminal)
{
    enum { MANY = 300 };
    begin_session(MANY, 0);
    const char *ids[MANY];
    enum ypi_outcome outcomes[MANY];
    for (int i = 0; i < MANY; i++) {
        ids[i] = i < 250 ? "stress/detection.c::fit"
                         : "a_path/that/is/so/long/that/it/leaves/no/"
                           "room/at/all/for/any/letters.c::fit";
        outcomes[i] = YPI_PASSED;
    }
    struct ypi_totals totals = {0};
    char *text = tell_all(ids, outcomes, MANY, &totals);
    int letters = 0;
    int rows = 0;
    for (const char *line = text; *line != '\0'; line += strcspn(line, "\n") + 1) {
        int length = (int)strcspn(line, "\n");
        bool progress = length > 6 && line[length - 1] == ']';
        rows += progress;
        cr_expect(length <= 80 || strncmp(line, "a_path", 6) == 0, "%.*s", length, line);
        for (int k = 0; progress && k < length; k++)
            letters += line[k] == '.' && (k == 0 || strchr(". ", line[k - 1]) != NULL);
    }
    cr_expect_eq(letters, MANY, "%d letters in\n%s", letters, text);
    cr_expect_leq(rows, 6, "%d rows in\n%s", rows, text);
    free(text);
}

Test(terminal, verbose_has_a_line_a_case)
{
    static const char *const ids[] = {"a.c::1", "a.c::2", "b.c::3"};
    static const enum ypi_outcome outcomes[] = {YPI_PASSED, YPI_SKIPPED, YPI_FAILED};
    begin_session(3, 1);
    struct ypi_totals totals = {0};
    char *text = tell_all(ids, outcomes, 3, &totals);
    char *wanted = ypi_format("\na.c::1 PASSED in 250 ms%*s[ 33%%]\n"
                              "a.c::2 SKIPPED (because)%*s[ 66%%]\n"
                              "b.c::3 FAILED in 250 ms%*s[100%%]\n",
                              50, "", 49, "", 50, "");
    cr_expect_not_null(strstr(text, wanted), "%s", text);
    free(wanted);
    free(text);
}

Test(terminal, verbose_says_which_repeat)
{
    begin_session(1, 1);
    options.repeat = 3;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    struct ypi_reports terminal = begin_terminal(out);
    struct yp_case c = case_of("a.c::t");
    c.repeat = 2;
    struct ypi_result r = result_of(&c, YPI_PASSED);
    ypi_report(&terminal, YPI_RESULT, &r);
    ypi_report(&terminal, YPI_RUN_ENDS, NULL);
    fclose(out);
    cr_expect_not_null(strstr(text, "\na.c::t PASSED #3 in 250 ms   "), "%s", text);
    free(text);
}

Test(terminal, quiet_has_no_header_and_no_names_of_files)
{
    static const char *const ids[] = {"a.c::1", "a.c::2", "a.c::3"};
    static const enum ypi_outcome outcomes[] = {YPI_PASSED, YPI_FAILED, YPI_ERROR};
    begin_session(3, -1);
    struct ypi_totals totals = {0};
    char *text = tell_all(ids, outcomes, 3, &totals);
    char *wanted = ypi_format(".FE%*s[100%%]\n====", 70, "");
    cr_expect_eq(strncmp(text, wanted, strlen(wanted)), 0, "%s", text);
    free(wanted);
    cr_expect_not_null(strstr(text, "FAILED a.c::2 - because\nERROR a.c::3 - because\n"));
    free(text);
}

Test(terminal, durations_are_sorted_and_counted)
{
    static const double seconds[] = {0.5, 2, 0.25, 1};
    for (int wanted = -1; wanted <= 5; wanted++) {
        begin_session(4, -1);
        options.durations = wanted;
        char *text = NULL;
        size_t size = 0;
        FILE *out = open_memstream(&text, &size);
        struct ypi_reports terminal = begin_terminal(out);
        for (int i = 0; i < 4; i++) {
            char id[16];
            snprintf(id, sizeof id, "a.c::%d", i);
            struct yp_case c = case_of(id);
            struct ypi_result r = result_of(&c, YPI_PASSED);
            r.body = seconds[i];
            ypi_report(&terminal, YPI_RESULT, &r);
        }
        ypi_report(&terminal, YPI_RUN_ENDS, NULL);
        fclose(out);
        enum { LINE = 22 };
        static const char all[] = "2.00s call     a.c::1\n1.00s call     a.c::3\n"
                                  "0.50s call     a.c::0\n0.25s call     a.c::2\n";
        const char *found = strstr(text, "2.00s");
        size_t lines = wanted < 0 ? 0 : wanted == 0 || wanted > 4 ? 4 : (size_t)wanted;
        cr_expect_eq(found != NULL, lines > 0, "%d: %s", wanted, text);
        cr_expect(lines == 0 || strncmp(found, all, LINE * lines) == 0, "%d: %s", wanted, text);
        cr_expect(lines == 0 || strstr(found + LINE * lines, "call") == NULL, "%d", wanted);
        char title[32] = " slowest durations ";
        if (wanted != 0)
            snprintf(title, sizeof title, " slowest %d durations ", wanted);
        cr_expect_eq(strstr(text, title) != NULL, lines > 0, "%d: %s", wanted, text);
        free(text);
    }
}

/* -- colours ------------------------------------------------------------------------------- */

/* What is written to a terminal; valid until the next call. */
static const char *tell_a_terminal(int verbose)
{
    static char text[1 << 16];
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    cr_assert(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
    int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    FILE *out = fdopen(slave, "w");
    cr_assert_not_null(out);
    begin_session(2, verbose);
    const struct ypi_totals totals = {.count = {[YPI_PASSED] = 1}};
    struct ypi_reports terminal = begin_run(&ypi_terminal_reporter, out, &totals);
    tell_one(&terminal, "a.c::1", YPI_PASSED, NULL);
    tell_one(&terminal, "a.c::2", YPI_FAILED, "because");
    ypi_report(&terminal, YPI_RUN_ENDS, NULL);
    fclose(out);
    /* It comes in pieces; after the last one the other end is gone. */
    size_t size = 0;
    ssize_t got = 0;
    while ((got = read(master, text + size, sizeof text - 1 - size)) > 0)
        size += (size_t)got;
    cr_assert_gt(size, 0);
    text[size] = '\0';
    close(master);
    return text;
}

Test(terminal, colours_are_for_terminals)
{
    unsetenv("NO_COLOR");
    const char *text = tell_a_terminal(1);
    cr_expect_not_null(strstr(text, "a.c::1 \033[32mPASSED\033[0m"), "%s", text);
    cr_expect_not_null(strstr(text, "a.c::2 \033[31mFAILED\033[0m"), "%s", text);
    cr_expect_not_null(strstr(tell_a_terminal(0), "a.c \033[32m.\033[0m\033[31mF\033[0m"));
    setenv("NO_COLOR", "", 1);
    cr_expect_not_null(strchr(tell_a_terminal(1), '\033'), "an empty NO_COLOR says nothing");
    setenv("NO_COLOR", "1", 1);
    cr_expect_null(strchr(tell_a_terminal(1), '\033'));
    cr_expect_null(strchr(tell_a_terminal(0), '\033'));
    unsetenv("NO_COLOR");
    static const char *const ids[] = {"a.c::1"};
    static const enum ypi_outcome outcomes[] = {YPI_FAILED};
    begin_session(1, 1);
    struct ypi_totals totals = {0};
    char *file = tell_all(ids, outcomes, 1, &totals);
    cr_expect_null(strchr(file, '\033'), "a file is no terminal");
    free(file);
}

/* -- failures ------------------------------------------------------------------------------ */

static char *failure_of(const struct ypi_result *r)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    ypi_tell_failure(out, &session, r);
    fclose(out);
    return text;
}

Test(output, a_failure_has_all_there_is_to_know)
{
    begin_session(1, 0);
    struct yp_case c = case_of("a.c::t[x y]");
    struct ypi_result r = result_of(&c, YPI_FAILED);
    ypi_result_fail(&r, YPI_CAUSE_EXPECTATION, "a.c", 12, "1 > 2: %s", "no");
    ypi_result_fail(&r, YPI_CAUSE_BUDGET, NULL, 0, "too slow");
    static const struct yp_budget budgets[] = {yp_min_value("auc", 0.95),
                                               yp_max_latency("fit", 0.001)};
    struct ypi_verdict verdicts[] = {{.budget = &budgets[0],
                                      .met = YPI_UNMEASURED,
                                      .measured = NAN,
                                      .low = NAN,
                                      .high = NAN,
                                      .distance = NAN},
                                     {.budget = &budgets[1],
                                      .met = YPI_NOT_MET,
                                      .measured = 0.002,
                                      .low = 0.001,
                                      .high = 0.003,
                                      .distance = -1}};
    r.verdicts = verdicts;
    r.verdict_count = 2;
    r.tail = ypi_strdup("one\ntwo");
    r.output_bytes = 7;
    char *text = failure_of(&r);
    cr_expect_str_eq(text, "  a.c:12: 1 > 2: no\n"
                           "  too slow\n"
                           "  budgets:\n"
                           "    unmeasured auc at least 0.95: -\n"
                           "    not met    fit at most 1 ms: 2 ms [1 ms, 3 ms] (-100 %)\n"
                           "  output (7 B):\n"
                           "    | one\n"
                           "    | two\n"
                           "  reproduce: /bin/suite 'a.c::t[x y]' --seed 7\n");
    free(text);
    r.verdicts = NULL;
    r.verdict_count = 0;
    ypi_result_clear(&r);
}

Test(output, the_tail_is_forty_lines)
{
    begin_session(1, 0);
    struct yp_case c = case_of("a.c::t");
    for (int lines = 39; lines <= 41; lines++)
        for (int ended = 0; ended < 2; ended++) {
            struct ypi_text tail = {0};
            for (int i = 1; i <= lines; i++)
                ypi_text_add(&tail, "line %d%s", i, i < lines || ended ? "\n" : "");
            struct ypi_result r = result_of(&c, YPI_FAILED);
            r.output_bytes = tail.length;
            r.tail = ypi_text_take(&tail);
            char *text = failure_of(&r);
            bool cut = lines > 40;
            cr_expect_eq(strstr(text, "the end of ") != NULL, cut, "%d: %s", lines, text);
            cr_expect_eq(strstr(text, "| line 1\n") == NULL, cut, "%d: %s", lines, text);
            cr_expect_not_null(strstr(text, "| line 2\n"));
            char last[32];
            snprintf(last, sizeof last, "| line %d\n", lines);
            cr_expect_not_null(strstr(text, last));
            cr_expect_null(strstr(text, "| \n"), "no empty line at the end: %s", text);
            free(text);
            ypi_result_clear(&r);
        }
}

Test(output, long_lines_are_cut)
{
    begin_session(1, 0);
    struct yp_case c = case_of("a.c::t");
    for (int length = 159; length <= 161; length++) {
        struct ypi_result r = result_of(&c, YPI_FAILED);
        r.tail = ypi_format("%0*d\nnext", length, 1);
        r.output_bytes = strlen(r.tail);
        char *text = failure_of(&r);
        char *wanted = ypi_format("    | %0*d%s\n    | next\n", length < 160 ? length : 160,
                                  length > 160 ? 0 : 1, length > 160 ? "..." : "");
        cr_expect_not_null(strstr(text, wanted), "%s", text);
        free(wanted);
        free(text);
        ypi_result_clear(&r);
    }
}

Test(output, the_headline_is_of_the_first_measurement)
{
    static const struct {
        double items, flops, bytes;
        const char *wanted;
    } table[] = {{1e6, 1, 1, "fit 1 M pixels/s +-10 %"},
                 {0, 2e9, 1, "fit 2 GFLOP/s +-10 %"},
                 {0, 0, 3e9, "fit 3 GB/s +-10 %"},
                 {0, 0, 0, "fit 1 s +-10 %"}};
    for (int i = 0; i < 4; i++) {
        struct ypi_measured m = {.name = "fit",
                                 .unit = "pixels",
                                 .items = table[i].items,
                                 .flops = table[i].flops,
                                 .bytes = table[i].bytes,
                                 .count = 10,
                                 .estimate = {.median = 1, .low = 0.9, .high = 1.1}};
        struct ypi_result r = {.measured = &m, .measured_count = 1};
        char text[YPI_HEADLINE_MAX];
        ypi_headline(text, &r);
        cr_expect_str_eq(text, table[i].wanted, "%s", text);
        m.count = 0;
        ypi_headline(text, &r);
        cr_expect_str_eq(text, "");
    }
    struct ypi_result nothing = {0};
    char text[YPI_HEADLINE_MAX];
    ypi_headline(text, &nothing);
    cr_expect_str_eq(text, "");
    cr_expect_str_eq(ypi_first_reason(&nothing), "");
}

/* -- lists --------------------------------------------------------------------------------- */

static const char *list_of(int selected, int count, int verbose)
{
    static const struct yp_test budgeted = {.name = "t",
                                            .budgets = YP_BUDGETS(yp_min_rate("fit", 1e6))};
    struct yp_case one = {.test = &budgeted,
                          .budgets = budgeted.budgets,
                          .id = (char *)(uintptr_t) "a.c::1",
                          .tags = (char *)(uintptr_t) "slow stress",
                          .timeout = 60};
    struct yp_case two = one;
    two.id = (char *)(uintptr_t) "a.c::2";
    two.skip = "no CUDA";
    struct yp_case *cases[] = {&one, &two};
    struct ypi_collection c = {.cases = cases, .count = count, .meant = count};
    struct ypi_options o = {.verbose = verbose};
    capture_begin(STDOUT_FILENO);
    ypi_list(&c, selected, &o);
    return capture_end();
}

Test(output, lists)
{
    cr_expect_str_eq(list_of(2, 2, 0), "a.c::1\na.c::2\n\n2 cases collected\n");
    cr_expect_str_eq(list_of(1, 1, 0), "a.c::1\n\n1 case collected\n");
    cr_expect_str_eq(list_of(1, 2, 0), "a.c::1\n\n1/2 cases collected (1 deselected)\n");
    cr_expect_str_eq(list_of(2, 2, -1), "a.c::1\na.c::2\n\n2 cases collected\n");
    cr_expect_str_eq(list_of(2, 2, -2), "a.c: 2\n");
    cr_expect_str_eq(list_of(2, 2, 1),
                     "a.c::1\n    tags: slow stress; timeout: 60 s\n"
                     "    budget: fit at least 1 M items/s\n"
                     "a.c::2\n    tags: slow stress; timeout: 60 s; skipped: no CUDA\n"
                     "    budget: fit at least 1 M items/s\n\n2 cases collected\n");
}

/* -- TAP ----------------------------------------------------------------------------------- */

/* The lines of the case of this number. */
static char *tap_of(int number, struct ypi_result *r)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    begin_session(number, 0);
    struct ypi_reports tap = begin_run(&ypi_tap_reporter, out, NULL);
    size_t before = size;
    tap.list[0].number = number - 1;
    ypi_report(&tap, YPI_RESULT, r);
    fclose(out);
    memmove(text, text + before, size - before + 1);
    return text;
}

static void expect_tap(int number, const char *id, enum ypi_outcome outcome, const char *reason,
                       int repeat, const char *wanted)
{
    struct yp_case c = case_of(id);
    c.repeat = repeat;
    struct ypi_result r = result_of(&c, outcome);
    if (outcome == YPI_FAILED || outcome == YPI_ERROR || outcome == YPI_XFAILED)
        ypi_result_fail(&r, YPI_CAUSE_EXPECTATION, NULL, 0, "wrong");
    r.reason = reason != NULL ? ypi_strdup(reason) : NULL;
    char *text = tap_of(number, &r);
    cr_expect_str_eq(text, wanted, "%s, wanted %s", text, wanted);
    free(text);
    ypi_result_clear(&r);
}

Test(tap, a_line_a_case)
{
    expect_tap(1, "a.c::t", YPI_PASSED, NULL, 0, "ok 1 - a.c::t\n");
    expect_tap(12, "a.c::t[x]", YPI_FAILED, NULL, 0, "not ok 12 - a.c::t[x]\n# wrong\n");
    expect_tap(3, "a.c::t", YPI_ERROR, NULL, 0, "not ok 3 - a.c::t\n# wrong\n");
    expect_tap(4, "a.c::t", YPI_SKIPPED, "no GPU", 0, "ok 4 - a.c::t # SKIP no GPU\n");
    expect_tap(5, "a.c::t", YPI_XFAILED, "known", 0, "not ok 5 - a.c::t # TODO known\n# wrong\n");
    expect_tap(6, "a.c::t", YPI_XPASSED, "known", 0, "ok 6 - a.c::t # TODO known\n");
    expect_tap(7, "a.c::t", YPI_NOISY, NULL, 0,
               "ok 7 - a.c::t\n# noisy: a budget could not be decided\n");
    expect_tap(8, "a.c::t", YPI_PASSED, NULL, 2, "ok 8 - a.c::t (repeat 3)\n");
    expect_tap(9, "a.c::t", YPI_SKIPPED, NULL, 0, "ok 9 - a.c::t # SKIP \n");
}

/* A # would begin a directive: a name must not skip its own failure. */
Test(tap, names_and_reasons_give_no_directives)
{
    expect_tap(1, "a.c::t[# SKIP]", YPI_FAILED, NULL, 0, "not ok 1 - a.c::t[% SKIP]\n# wrong\n");
    expect_tap(2, "a.c::t", YPI_SKIPPED, "issue #7\nand more", 0,
               "ok 2 - a.c::t # SKIP issue %7\n");
    struct yp_case c = case_of("a.c::t");
    struct ypi_result r = result_of(&c, YPI_FAILED);
    ypi_result_fail(&r, YPI_CAUSE_EXPECTATION, NULL, 0, "two\nok 99 - lines");
    char *text = tap_of(3, &r);
    cr_expect_str_eq(text, "not ok 3 - a.c::t\n# two\n");
    free(text);
    ypi_result_clear(&r);
}

Test(tap, begins_with_the_plan_and_may_bail_out)
{
    static const struct {
        bool interrupted, stopped;
        const char *wanted;
    } table[] = {
        {false, false, "TAP version 13\n1..42\n"},
        {true, false, "TAP version 13\n1..42\nBail out! interrupted\n"},
        {true, true, "TAP version 13\n1..42\nBail out! interrupted\n"},
        {false, true, "TAP version 13\n1..42\nBail out! stopped before all cases were run\n"}};
    for (int i = 0; i < 4; i++) {
        begin_session(42, 0);
        char *text = NULL;
        size_t size = 0;
        FILE *out = open_memstream(&text, &size);
        const struct ypi_totals totals = {.interrupted = table[i].interrupted,
                                          .stopped = table[i].stopped};
        struct ypi_reports tap = begin_run(&ypi_tap_reporter, out, &totals);
        ypi_report(&tap, YPI_RUN_ENDS, NULL);
        fclose(out);
        cr_expect_str_eq(text, table[i].wanted);
        free(text);
    }
}
