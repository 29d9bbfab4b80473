/* What the golden transcripts leave open of the terminal: the order of the counts, narrow
 * terminals, where output is cut, headlines. */
#include "harness/report/reporter.h"

#include "base/system/clock.h"
#include "base/text/text.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(terminal, .timeout = 60);
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

/* What a run in which these cases pass prints; the caller frees. */
static char *tell_all(const char *const *ids, int count, struct ypi_totals *totals)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    struct ypi_reports terminal = {
        .list = {{.reporter = &ypi_terminal_reporter, .out = out, .s = &session, .totals = totals}},
        .count = 1};
    ypi_report(&terminal, YPI_RUN_BEGINS, NULL);
    for (int i = 0; i < count; i++) {
        struct yp_case c = case_of(ids[i]);
        struct ypi_result r = result_of(&c, YPI_PASSED);
        ypi_report(&terminal, YPI_RESULT, &r);
        totals->count[YPI_PASSED]++;
    }
    ypi_report(&terminal, YPI_RUN_ENDS, NULL);
    fclose(out);
    return text;
}

/* -- the summary --------------------------------------------------------------------------- */

static void expect_summary(struct ypi_totals totals, int deselected, const char *wanted)
{
    begin_session(0, -1);
    session.deselected = deselected;
    char *text = tell_all(NULL, 0, &totals);
    char *start = ypi_format("%sin ", wanted);
    size_t length = strlen(text);
    cr_assert(length > 0 && text[length - 1] == '\n');
    text[length - 1] = '\0';
    const char *before = strrchr(text, '\n');
    const char *line = before != NULL ? before + 1 : text;
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
    expect_summary((struct ypi_totals){.count = {[YPI_SKIPPED] = 1}, .interrupted = true}, 0,
                   "1 skipped, interrupted ");
    expect_summary((struct ypi_totals){.interrupted = true}, 0, "interrupted ");
    expect_summary((struct ypi_totals){0}, 0, "");
}

/* -- progress ------------------------------------------------------------------------------ */

Test(terminal, no_line_is_wider_than_the_terminal)
{
    enum { MANY = 300 };
    begin_session(MANY, 0);
    const char *ids[MANY];
    for (int i = 0; i < MANY; i++)
        ids[i] = i < 250 ? "stress/detection.c::fit"
                         : "a_path/that/is/so/long/that/it/leaves/no/"
                           "room/at/all/for/any/letters.c::fit";
    struct ypi_totals totals = {0};
    char *text = tell_all(ids, MANY, &totals);
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

/* -- failures ------------------------------------------------------------------------------ */

static char *failure_of(const struct ypi_result *r)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    ypi_print_failure(out, &session, r);
    fclose(out);
    return text;
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
    } table[] = {{1e6, 1, 2e6, "fit 1 M pixels/s +-10 %, traffic 2 MB/s"},
                 {1e6, 1, 0, "fit 1 M pixels/s +-10 %"},
                 {0, 2e9, 1, "fit 2 GFLOP/s +-10 %"},
                 {0, 0, 3e9, "fit 3 GB/s +-10 %"},
                 {0, 0, 0, "fit 1 s +-10 %"}};
    for (int i = 0; i < 5; i++) {
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
