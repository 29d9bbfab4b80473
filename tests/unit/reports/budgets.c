/* yieldpoint budgets: what is suggested of figures whose distribution is known, and what is told of
 * a history. */
#include "reports/budgets/suggest.h"
#include "reports/reports.h"

#include "base/numbers/slack.h"
#include "base/numbers/splitmix.h"
#include "base/system/file.h"
#include "base/text/output.h"
#include "base/text/text.h"
#include "harness/history/history.h"
#include "harness/record/record.h"
#include "tests/unit/reports/reporting.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- numbers ------------------------------------------------------------------------------- */

enum { HISTORIES = 4000, PROCESSES_MAX = 40 };

static const int one_machine[PROCESSES_MAX];

static struct ypi_figures_of figures(const double *measured, int count, bool at_least)
{
    return (struct ypi_figures_of){.measured = measured,
                                   .machine = one_machine,
                                   .count = count,
                                   .machine_count = 1,
                                   .at_least = at_least};
}

/* How often one more process lies beyond the bound that `count` earlier ones gave. */
static int missed(int count, bool at_least, double error, bool factors, uint64_t seed)
{
    int missed = 0;
    for (int i = 0; i < HISTORIES; i++) {
        double drawn[PROCESSES_MAX + 1];
        struct ypi_seed stream = ypi_seed_of(seed, (uint64_t)count, (uint64_t)i);
        for (int k = 0; k <= count; k++) {
            double normal = ypi_seed_normal(&stream);
            drawn[k] = factors ? 0.5 * exp(0.05 * normal) : normal - 10;
        }
        double bound = ypi_prediction_bound(drawn, count, at_least, error);
        missed += at_least ? drawn[count] < bound : drawn[count] > bound;
    }
    return missed;
}

Test(suggest, a_good_run_misses_at_the_stated_rate)
{
    static const int counts[] = {5, 10, 40};
    static const double rates[] = {0.01, 0.1};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
        for (size_t e = 0; e < sizeof rates / sizeof *rates; e++)
            for (int way = 0; way < 4; way++) {
                double expected = rates[e] * HISTORIES;
                double sd = sqrt(expected * (1 - rates[e]));
                int found = missed(counts[c], way % 2 == 0, rates[e], way < 2, 7);
                cr_expect(fabs(found - expected) < 4 * sd,
                          "%d processes, error %g, way %d: %d of %d missed, %.0f are expected",
                          counts[c], rates[e], way, found, HISTORIES, expected);
            }
}

Test(suggest, what_is_suggested_is_the_bound_rounded_outwards)
{
    int missed = 0;
    int tight = 0;
    for (int i = 0; i < HISTORIES; i++) {
        double drawn[11];
        const char *why = NULL;
        struct ypi_seed stream = ypi_seed_of(1, 2, (uint64_t)i);
        for (int k = 0; k < 11; k++)
            drawn[k] = 0.5 * exp(0.05 * ypi_seed_normal(&stream));
        struct ypi_figures_of f = figures(drawn, 10, true);
        double limit = ypi_suggest(&f, 0.01, &why);
        double bound = ypi_prediction_bound(drawn, 10, true, 0.01);
        cr_assert(why == NULL && limit <= bound);
        missed += drawn[10] < limit;
        tight += limit >= 0.974 * bound;
    }
    cr_expect_eq(tight, HISTORIES, "rounding costs 2.5 %% at most");
    cr_expect(missed > 0 && missed < 0.01 * HISTORIES + 4 * sqrt(0.01 * HISTORIES), "%d", missed);
}

Test(suggest, the_worst_machine_decides)
{
    static const double measured[] = {0.60, 0.61, 0.59, 0.60, 0.62, 0.40, 0.41, 0.39, 0.40, 0.41};
    static const int machine[] = {0, 0, 0, 0, 0, 1, 1, 1, 1, 1};
    const char *why = NULL;
    struct ypi_figures_of f = {measured, machine, 10, 2, true, false};
    double both = ypi_suggest(&f, 0.01, &why);
    double alone = ypi_prediction_bound(measured + 5, 5, true, 0.01);
    cr_expect(both <= alone && both > 0.97 * alone, "%g, %g", both, alone);
    struct ypi_spread s = ypi_spread_of(&f);
    cr_expect_float_eq(s.machines, 0.2, 1e-12);
    cr_expect_float_eq(s.processes, 0.03, 1e-12);
    cr_expect_float_eq(s.typical, 0.5, 1e-12);
}

Test(suggest, few_processes_say_nothing)
{
    static const double measured[] = {0.60, 0.61, 0.59, 0.60, 0.62, 0.40};
    static const int machine[] = {0, 0, 0, 0, 0, 1};
    const char *why = NULL;
    struct ypi_figures_of f = figures(measured, 4, true);
    cr_expect(isnan(ypi_suggest(&f, 0.01, &why)));
    cr_expect_str_eq(why, "needs 5 processes of one machine");
    f.count = 5;
    cr_expect(!isnan(ypi_suggest(&f, 0.01, &why)));
    cr_expect_null(why);
    f = (struct ypi_figures_of){measured, machine, 6, 2, true, false};
    cr_expect(isnan(ypi_suggest(&f, 0.01, &why)));
    cr_expect_str_eq(why, "beyond on a machine with fewer than 5 processes");
    f.at_least = false;
    cr_expect(!isnan(ypi_suggest(&f, 0.01, &why)), "the other machine's keeps inside");
}

Test(suggest, exact_figures_are_their_own_limit)
{
    static const double same[] = {16384, 16384, 16384};
    static const double varying[] = {16384, 16400, 16390};
    const char *why = NULL;
    struct ypi_figures_of f = figures(same, 3, false);
    f.exact = true;
    cr_expect_eq(ypi_suggest(&f, 0.01, &why), 16384);
    f.measured = varying;
    cr_expect_eq(ypi_suggest(&f, 0.01, &why), 16500, "16400 + 16, outwards");
    f.count = 1;
    cr_expect(isnan(ypi_suggest(&f, 0.01, &why)));
    cr_expect_str_eq(why, "needs 2 processes");
}

Test(suggest, rounding_goes_outwards_and_leaves_what_is_short)
{
    static const struct {
        double value, down, up;
    } table[] = {{0.5291, 0.52, 0.53},
                 {0.3999, 0.399, 0.4},
                 {0.52, 0.52, 0.52},
                 {0.3, 0.3, 0.3},
                 {1, 1, 1},
                 {123456, 123000, 124000},
                 {9.99, 9.9, 10},
                 {-0.5291, -0.53, -0.52},
                 {0, 0, 0},
                 {3.3e-9, 3.3e-9, 3.3e-9},
                 {1.23456e-9, 1.23e-9, 1.24e-9},
                 {1e300, 1e300, 1e300},
                 {0.0001, 0.0001, 0.0001},
                 {4.05e-300, 4e-300, 4.1e-300}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        double down = ypi_round_outwards(table[i].value, false);
        double up = ypi_round_outwards(table[i].value, true);
        cr_expect(down == table[i].down && up == table[i].up, "%g: %.17g, %.17g", table[i].value,
                  down, up);
    }
}

Test(suggest, slack_is_one_when_a_limit_is_met_exactly)
{
    cr_expect_eq(ypi_slack(0.3, 0.6, true), 2);
    cr_expect_eq(ypi_slack(64, 16, false), 4);
    cr_expect_eq(ypi_slack(0, 0, false), 1);
    cr_expect(isinf(ypi_slack(16, 0, false)) && isinf(ypi_slack(0, 0.5, true)));
    cr_expect_eq(ypi_slack(0.6, 0.3, true), 0.5);
    cr_expect(isnan(ypi_slack(-1, 1, false)) && isnan(ypi_slack(1, NAN, true)));
}

/* -- a history ----------------------------------------------------------------------------- */

static char history_path[128];

static const struct yp_test test = {.group = "synth", .name = "words"};
static const struct yp_budget budgets[] = {
    yp_min_share("make", 0.3),
    yp_max_peak(YP_HOST, 65536),
    yp_min_rate("make", 1e6),
    yp_max_value("loss", 0.5),
    {.kind = YP_BUDGET_MAX_LATENCY, .name = "make", .limit = 1, .required = "a standard"}};
enum { BUDGETS = 5 };

struct drawn {
    const char *id, *tags;
    int attempt;
    double share, peak, loss;
    const char *cause; /* of a failure; NULL: none */
    uint64_t fail_allocation;
};

static void begin(struct ypi_history *h, char id[37], const char *machine, const char *option,
                  const char *flags)
{
    struct ypi_environment e = {0};
    char *owned = ypi_strdup(flags);
    snprintf(e.fingerprint, sizeof e.fingerprint, "%s", machine);
    e.facts[e.count++] = (struct ypi_fact){"compiler.flags", owned};
    struct ypi_run run = {.started = 1000,
                          .command = "c",
                          .program = "p",
                          .environment = &e,
                          .reproduce_options = &option,
                          .reproduce_option_count = option != NULL};
    ypi_uuid(run.id);
    memcpy(id, run.id, sizeof run.id);
    cr_assert_eq(ypi_history_begin(h, &run), YP_OK, "%s", yp_last_error());
    free(owned);
}

static void add(struct ypi_history *h, const char *run, const struct drawn *d)
{
    static char message[] = "m";
    static double started = 1000;
    double measured[] = {d->share, d->peak, d->share * 1e7, d->loss, 0.01};
    struct ypi_failure failure = {YPI_CAUSE_BUDGET, message, NULL, 0, NULL};
    struct ypi_verdict verdicts[BUDGETS];
    for (int i = 0; i < BUDGETS; i++)
        verdicts[i] = (struct ypi_verdict){&budgets[i],
                                           isnan(measured[i]) ? YPI_UNMEASURED : YPI_MET,
                                           measured[i],
                                           measured[i] * (i % 2 ? 1 : 0.9),
                                           measured[i] * (i % 2 ? 1 : 1.1),
                                           0,
                                           0,
                                           0,
                                           NULL};
    struct yp_case c = {.test = &test,
                        .id = (char *)(uintptr_t)d->id,
                        .tags = (char *)(uintptr_t)d->tags,
                        .device = "cpu"};
    struct ypi_result r = {.c = &c,
                           .outcome = d->cause ? YPI_FAILED : YPI_PASSED,
                           .started = ++started,
                           .attempt = d->attempt,
                           .fail_allocation = d->fail_allocation,
                           .ended = true,
                           .verdicts = verdicts,
                           .verdict_count = BUDGETS};
    if (d->cause) {
        failure.cause = strcmp(d->cause, "budget") == 0 ? YPI_CAUSE_BUDGET : YPI_CAUSE_SIGNAL;
        r.failures = &failure;
        r.failure_count = 1;
    }
    cr_assert_eq(ypi_history_add(h, run, &r), YP_OK, "%s", yp_last_error());
}

static void add_run(struct ypi_history *h, const char *machine, const char *option,
                    const char *flags, const struct drawn *d)
{
    char run[37];
    begin(h, run, machine, option, flags);
    add(h, run, d);
}

#define WORDS "perf/synth.c::words[threads=1]"
#define OTHER "stress/rx.c::fit[small]"

/* Five runs on each of two machines, one of them with an attempt and one failed by its budget, and
 * one of each kind that does not count. */
static void make_history(void)
{
    enter_directory();
    snprintf(history_path, sizeof history_path, "%s/h.db", directory);
    struct ypi_history *h = ypi_history_open(history_path);
    cr_assert_not_null(h, "%s", yp_last_error());
    struct drawn d = {WORDS, "perf small", 0, 0.6, 16384, 0.25, NULL, 0};
    for (int machine = 0; machine < 2; machine++)
        for (int i = 0; i < 5; i++) {
            char run[37];
            begin(h, run, machine ? "bbbb" : "aaaa", NULL, "-O2");
            d.share = 0.6 + 0.01 * i + 0.02 * machine;
            d.cause = i == 3 ? "budget" : NULL;
            add(h, run, &d);
        }
    d.cause = NULL;
    char run[37];
    begin(h, run, "aaaa", NULL, "-O2");
    struct drawn other = {OTHER, "stress small", 0, NAN, 100, -0.5, NULL, 0};
    add(h, run, &other);
    d.attempt = 1, d.share = 0.64;
    add(h, run, &d);
    d.attempt = 2, d.share = 0.001, d.cause = "signal";
    add(h, run, &d);
    d.attempt = 3, d.cause = NULL, d.fail_allocation = 7;
    add(h, run, &d);
    d.attempt = 0, d.fail_allocation = 0;
    add_run(h, "aaaa", "--slowdown=2", "-O2", &d);
    add_run(h, "aaaa", "--isa=avx2", "-O2", &d);
    add_run(h, "aaaa", NULL, "-O2 -fsanitize=address", &d);
    ypi_history_close(h);
}

TestSuite(budgets, .init = make_history, .fini = remove_directory, .timeout = 60);

/* Words are separated by '|'. */
static int report(const char *words)
{
    char line[512];
    snprintf(line, sizeof line, "budgets|--history|%s%s%s", history_path, *words ? "|" : "", words);
    return run_report(ypi_report_budgets, line, "|");
}

/* The budget of `label` in the document of a report. */
static const cJSON *budget_in(const cJSON *document, const char *id, const char *label)
{
    const cJSON *budget;
    cJSON_ArrayForEach(budget, cJSON_GetObjectItem(document, "budgets"))
    {
        if (strcmp(ypi_text_of(budget, "case"), id) == 0 &&
            strcmp(ypi_text_of(budget, "budget"), label) == 0)
            return budget;
    }
    cr_assert_fail("%s of %s is not in:\n%s", label, id, output);
    return NULL;
}

Test(budgets, each_is_told_with_what_was_measured)
{
    cr_expect_eq(report("--json|--suggest"), YPI_COMMAND_OK, "%s", errors);
    cJSON *document = cJSON_Parse(output);
    const cJSON *share = budget_in(document, WORDS, "min share make");
    cr_expect_float_eq(ypi_real(share, "limit"), 0.3, 0);
    cr_expect_eq(ypi_real(share, "processes"), 11);
    cr_expect_eq(ypi_real(share, "machines"), 2);
    cr_expect_float_eq(ypi_real(share, "typical"), 0.63, 1e-12);
    cr_expect_float_eq(ypi_real(share, "slack"), 2.1, 1e-12);
    cr_expect_float_eq(ypi_real(share, "noticed"), 2.1 * 1.1, 1e-12, "its interval is 10 %% wide");
    cr_expect_float_eq(ypi_real(share, "spread_of_processes"), 0.04, 1e-12);
    cr_expect_float_eq(ypi_real(share, "spread_of_machines"), 0.015, 1e-12);
    cr_expect(ypi_real(share, "suggested") > 0.4 && ypi_real(share, "suggested") < 0.6);
    const cJSON *peak = budget_in(document, WORDS, "max peak host");
    cr_expect_eq(ypi_real(peak, "suggested"), 16384);
    cr_expect_eq(ypi_real(peak, "slack"), 4);
    cr_expect_eq(ypi_real(peak, "noticed"), 4);
    const cJSON *latency = budget_in(document, WORDS, "max latency make");
    cr_expect_str_eq(ypi_text_of(latency, "required"), "a standard");
    cr_expect_str_eq(ypi_text_of(latency, "why_not"), "required");
    cr_expect_eq(ypi_real(latency, "slack"), 100);
    const cJSON *loss = budget_in(document, OTHER, "max value loss");
    cr_expect(isnan(ypi_real(loss, "slack")) && isnan(ypi_real(loss, "noticed")));
    cr_expect_str_eq(ypi_text_of(loss, "why_not"), "needs 5 processes of one machine");
    const cJSON *none = budget_in(document, OTHER, "min share make");
    cr_expect(isnan(ypi_real(none, "typical")) && ypi_real(none, "processes") == 0);
    cJSON_Delete(document);
}

Test(budgets, what_says_nothing_of_them_is_left_out_and_counted)
{
    cr_expect_eq(report(""), YPI_COMMAND_OK, "%s", errors);
    expect_output("10 budgets of 2 cases, from 12 processes on 2 machines\n");
    static const char *const reasons[] = {"--slowdown (1)", "--isa (1)", "sanitizers (1)",
                                          "an allocation was refused (1)",
                                          "failed for another reason than a budget (1)"};
    expect_output("left out, in processes: ");
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        expect_output(reasons[i]);
}

Test(budgets, cases_are_selected_as_a_suite_selects_them)
{
    static const struct {
        const char *words;
        int code, budgets;
    } table[] = {{"-m|stress", YPI_COMMAND_OK, 5},
                 {"-m|small and not stress", YPI_COMMAND_OK, 5},
                 {"-k|words", YPI_COMMAND_OK, 5},
                 {"-k|threads=1 or fit", YPI_COMMAND_OK, 10},
                 {"-k|nothing", YPI_COMMAND_UNSELECTED, 0},
                 {"-m|(", YPI_COMMAND_USAGE, 0},
                 {"stress/rx.c", YPI_COMMAND_OK, 5},
                 {"suites/perf/synth.c::words", YPI_COMMAND_OK, 5},
                 {OTHER "|" WORDS, YPI_COMMAND_OK, 10},
                 {OTHER "|nowhere.c", YPI_COMMAND_USAGE, 0},
                 {"--error|0", YPI_COMMAND_USAGE, 0},
                 {"--error=60%", YPI_COMMAND_USAGE, 0},
                 {"--error=x", YPI_COMMAND_USAGE, 0},
                 {"--check|0.5", YPI_COMMAND_USAGE, 0},
                 {"--check|many", YPI_COMMAND_USAGE, 0},
                 {"--history|/nowhere/h.db", YPI_COMMAND_FILE, 0}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        char words[256];
        snprintf(words, sizeof words, "--json|%s", table[i].words);
        cr_expect_eq(report(words), table[i].code, "%s: %s", words, errors);
        cJSON *document = cJSON_Parse(output);
        cr_expect_eq(cJSON_GetArraySize(cJSON_GetObjectItem(document, "budgets")), table[i].budgets,
                     "%s: %s", words, output);
        cr_expect(table[i].code == YPI_COMMAND_OK || *errors, "%s says nothing", words);
        cJSON_Delete(document);
    }
}

Test(budgets, a_smaller_error_gives_a_looser_limit)
{
    double suggested[3];
    static const char *const words[] = {"--json|--suggest|--error|10%",
                                        "--json|--suggest|--error=0.01",
                                        "--json|--suggest|--error|0.1 %"};
    for (int i = 0; i < 3; i++) {
        cr_expect_eq(report(words[i]), YPI_COMMAND_OK, "%s", errors);
        cJSON *document = cJSON_Parse(output);
        suggested[i] = ypi_real(budget_in(document, WORDS, "min share make"), "suggested");
        cJSON_Delete(document);
    }
    cr_expect(suggested[0] > suggested[1] && suggested[1] > suggested[2], "%g %g %g", suggested[0],
              suggested[1], suggested[2]);
}

/* Of speed alone: bytes and values are what they are on every machine. */
Test(budgets, with_slack_for_machines_that_were_not_measured)
{
    cr_expect_eq(report("--json|--suggest|--slack|1.5|-k|words"), YPI_COMMAND_OK, "%s", errors);
    cJSON *document = cJSON_Parse(output);
    const cJSON *share = budget_in(document, WORDS, "min share make");
    double typical = ypi_real(share, "typical"), suggested = ypi_real(share, "suggested");
    cr_expect(suggested <= typical / 1.5 && suggested >= 0.975 * typical / 1.5, "%g of %g",
              suggested, typical);
    cr_expect_eq(ypi_real(budget_in(document, WORDS, "max peak host"), "suggested"), 16384);
    cr_expect_eq(ypi_real(budget_in(document, WORDS, "max value loss"), "suggested"), 0.25);
    cJSON_Delete(document);
    cr_expect_eq(report("--slack=0.9"), YPI_COMMAND_USAGE);
}

Test(budgets, check_fails_when_one_is_looser_and_lists_those)
{
    cr_expect_eq(report("--check|3|-k|words"), YPI_COMMAND_NOTHING, "%s", errors);
    expect_output("  max peak host");
    expect_output("2 of 5 budgets are looser than 3\n");
    cr_expect_null(strstr(output, "min share"), "%s", output);
    cr_expect_null(strstr(output, "max latency"), "it is required: %s", output);
    cr_expect_eq(report("--check|6.4|-k|words"), YPI_COMMAND_OK, "%s", errors);
    expect_output("0 of 5 budgets are looser than 6.4\n");
}

Test(budgets, suggestions_go_into_a_file)
{
    char text[1024];
    cr_expect_eq(report("--write|b.ini"), YPI_COMMAND_OK, "%s", errors);
    expect_output("b.ini: 0 limits changed, 3 added, 0 as before\n"
                  "not written: 1 that holds on one machine only: rates, times and the processor's"
                  " own counts\n"
                  "not written: 6 without a suggestion\n");
    ypi_read_file("b.ini", text, sizeof text);
    double share = 0;
    char rest[128] = "";
    cr_assert_eq(sscanf(text, "[" WORDS "]\nmin share make = %lf\n%127[^]]", &share, rest), 2, "%s",
                 text);
    cr_expect(share > 0.4 && share < 0.6);
    cr_expect_str_eq(rest, "max peak host = 16384\nmax value loss = 0.25\n");
    cr_expect_eq(report("--write|b.ini"), YPI_COMMAND_OK);
    expect_output("b.ini: 0 limits changed, 0 added, 3 as before\n");
}

Test(budgets, a_file_takes_what_it_lacks_of_cases_that_are_named)
{
    char text[1024];
    write_text("b.ini", "[" WORDS "]\nmax peak host = 1 # bytes\n");
    cr_expect_eq(report("--write=b.ini"), YPI_COMMAND_OK, "%s", errors);
    expect_output("b.ini: 1 limit changed, 0 added, 0 as before\n");
    expect_output("not written: 2 that the file does not have; -m, -k or ids of cases add them\n");
    ypi_read_file("b.ini", text, sizeof text);
    cr_expect_str_eq(text, "[" WORDS "]\nmax peak host = 16384 # bytes\n");
    cr_expect_eq(report("--json|--write|b.ini|-k|words"), YPI_COMMAND_OK, "%s", errors);
    cr_expect_not_null(strstr(errors, "b.ini: 0 limits changed, 2 added, 1 as before\n"), "%s",
                       errors);
    cJSON *document = cJSON_Parse(output);
    cr_expect_eq(ypi_real(budget_in(document, WORDS, "max peak host"), "suggested"), 16384);
    cJSON_Delete(document);
}

Test(budgets, a_file_that_cannot_be_written_is_an_error)
{
    cr_expect_eq(report("--write|nowhere/b.ini"), YPI_COMMAND_FILE);
    cr_expect_eq(report("--write|"), YPI_COMMAND_FILE);
    write_text("b.ini", "[x]\n[x]\n");
    cr_expect_eq(report("--write|b.ini"), YPI_COMMAND_FILE);
    cr_expect_not_null(strstr(errors, "b.ini:2: "), "%s", errors);
}

/* Limits that hold under fewer instructions as they are get no section of those. */
Test(budgets, of_runs_with_fewer_instructions)
{
    char text[1024];
    struct ypi_history *h = ypi_history_open(history_path);
    cr_assert_not_null(h, "%s", yp_last_error());
    struct drawn d = {WORDS, "perf small", 0, 0.2, 16384, 0.25, NULL, 0};
    for (int i = 0; i < 4; i++) {
        d.share = 0.2 + 0.01 * i;
        add_run(h, "aaaa", "--isa=baseline", "-O2", &d);
    }
    ypi_history_close(h);
    cr_expect_eq(report("--isa|baseline|--suggest|-k|words"), YPI_COMMAND_OK, "%s", errors);
    expect_output("needs 5 processes of one machine");
    expect_output("other instructions (16)");
    h = ypi_history_open(history_path);
    add_run(h, "aaaa", "--isa=baseline", "-O2", &d);
    ypi_history_close(h);
    cr_expect_eq(report("--isa|baseline|--write|b.ini|-k|words"), YPI_COMMAND_OK, "%s", errors);
    expect_output("b.ini: 0 limits changed, 1 added, 2 as before\n");
    ypi_read_file("b.ini", text, sizeof text);
    double share = 0;
    cr_assert_eq(sscanf(text, "[" WORDS " baseline]\nmin share make = %lf\n", &share), 1, "%s",
                 text);
    cr_expect(share > 0.1 && share < 0.2, "%g", share);
    cr_expect_null(strstr(text, "host"), "%s", text);
    /* One that is there is renewed, towards the stricter too. */
    write_text("b.ini", "[" WORDS " baseline]\nmin share make = 0.01\nmax peak host = 99999\n");
    cr_expect_eq(report("--isa|baseline|--write|b.ini|-k|words"), YPI_COMMAND_OK, "%s", errors);
    expect_output("b.ini: 2 limits changed, 0 added, 1 as before\n");
    cr_expect_eq(report("--isa|sse9"), YPI_COMMAND_USAGE);
    cr_expect_not_null(strstr(errors, "baseline, avx2, avx512 or amx"), "%s", errors);
}
