/* Relations: what they find, in which cases they find nothing, and what they say then.
 * tests/usage/relations.py has what is asked of fresh rounds. */
#include "harness/judge/relation.h"
#include "harness/vocabulary/budget.h"
#include "harness/vocabulary/node.h"

#include "base/text/text.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yieldpoint/relation.h>

enum { CAPACITY = 16 };

/* The run: its cases are of one test, unless a test says otherwise. */
static struct yp_test subject;
static struct yp_case cases[CAPACITY];
static struct ypi_result results[CAPACITY];
static const struct yp_case *run_cases[CAPACITY];
static const struct ypi_result *run_results[CAPACITY];
static int count;

/* The relation. */
static struct yp_test test;
static struct yp_case own;
static struct ypi_result r;
static struct ypi_relation_findings findings;
static int report;

static void begin(void)
{
    subject = (struct yp_test){.group = "g", .name = "fit", .file = "rx.c", .line = 3};
    /* With all that may stand beside a relation but devices and budgets. */
    test = (struct yp_test){.group = "g",
                            .name = "relation",
                            .file = "rx.c",
                            .line = 7,
                            .tags = "perf",
                            .skip = "not here",
                            .xfail = "known",
                            .xfail_strict = true};
    own = (struct yp_case){
        .test = &test, .budgets = test.budgets, .id = (char *)(uintptr_t) "rx.c::relation"};
    r = (struct ypi_result){.c = &own};
}

static void let_go(void)
{
    for (; count > 0; count--)
        ypi_result_clear(&results[count - 1]);
    ypi_result_clear(&r);
    ypi_relation_findings_clear(&findings);
}

TestSuite(relation, .init = begin, .fini = let_go, .timeout = 60);

/* -- building a run ------------------------------------------------------------------------ */

static struct ypi_result *add(const char *id)
{
    cr_assert(count < CAPACITY);
    cases[count] = (struct yp_case){.test = &subject, .id = (char *)(uintptr_t)id};
    results[count] = (struct ypi_result){.c = &cases[count]};
    run_cases[count] = &cases[count];
    run_results[count] = &results[count];
    return &results[count++];
}

static struct yp_case *last(void)
{
    return &cases[count - 1];
}

static void set_int(const char *axis, long long value)
{
    last()->settings[last()->setting_count++] =
        (struct ypi_setting){.axis = axis, .kind = YP_AXIS_INT, .i = value};
}

static void set_double(const char *axis, double value)
{
    last()->settings[last()->setting_count++] =
        (struct ypi_setting){.axis = axis, .kind = YP_AXIS_DOUBLE, .d = value};
}

static void set_string(const char *axis, const char *value)
{
    last()->settings[last()->setting_count++] =
        (struct ypi_setting){.axis = axis, .kind = YP_AXIS_STRING, .s = value};
}

static void set_device(const char *device)
{
    snprintf(last()->device, sizeof last()->device, "%s", device);
}

static void set_outcome_of(int i, enum ypi_outcome outcome, const char *reason)
{
    free(results[i].reason);
    results[i].outcome = outcome;
    results[i].reason = reason != NULL ? ypi_strdup(reason) : NULL;
}

static void set_outcome(enum ypi_outcome outcome, const char *reason)
{
    set_outcome_of(count - 1, outcome, reason);
}

static void set_hash(uint64_t hash)
{
    results[count - 1].has_hash = true;
    results[count - 1].hash = hash;
}

/* A measurement of the last case. */
static struct ypi_measured *timed(const char *name, double low, double median, double high)
{
    struct ypi_result *result = &results[count - 1];
    size_t number = (size_t)result->measured_count++;
    result->measured = ypi_realloc(result->measured, number + 1, sizeof *result->measured);
    struct ypi_measured *m = &result->measured[number];
    *m = (struct ypi_measured){
        .count = 10, .estimate = {.count = 10, .median = median, .low = low, .high = high}};
    snprintf(m->name, sizeof m->name, "%s", name);
    return m;
}

static struct ypi_measured *add_timed(const char *id, double low, double median, double high)
{
    add(id);
    return timed("fit", low, median, high);
}

static void add_value(const char *name, double value)
{
    struct ypi_result *result = &results[count - 1];
    size_t number = (size_t)result->value_count++;
    result->values = ypi_realloc(result->values, number + 1, sizeof *result->values);
    result->values[number] = (struct ypi_value){.value = value, .low = value, .high = value};
    snprintf(result->values[number].name, YPI_NAME_MAX, "%s", name);
}

static void budgets(struct yp_budget first, struct yp_budget second)
{
    test.budgets[0] = first;
    test.budgets[1] = second;
}

static struct yp_budget at_least(const char *name, double limit)
{
    return (struct yp_budget)yp_min_value(name, limit);
}

static struct yp_budget at_most(const char *name, double limit)
{
    return (struct yp_budget)yp_max_value(name, limit);
}

static const struct yp_budget none;

/* -- working it out ------------------------------------------------------------------------ */

static bool work_out(struct yp_relation relation)
{
    ypi_result_clear(&r);
    r.c = &own;
    test.relation = relation;
    char *problem = ypi_relation_problem(&test);
    cr_assert_null(problem, "%s", problem);
    struct ypi_relation_input input = {
        .cases = run_cases, .results = run_results, .count = count, .report = report};
    ypi_relation_findings_clear(&findings);
    return ypi_relation_evaluate(&input, &r, &findings);
}
/* Initialisers with commas outside of brackets. */
#define RELATION(...) ((struct yp_relation)__VA_ARGS__)

static void near(double got, double wanted, const char *what)
{
    cr_expect(fabs(got - wanted) <= 1e-9 * fmax(1, fabs(wanted)) || got == wanted,
              "%s is %.17g, wanted %.17g", what, got, wanted);
}

static void expect_value(struct yp_relation relation, const char *name, double low, double value,
                         double high)
{
    cr_assert(work_out(relation), "skipped: %s", r.reason);
    cr_assert_eq(r.failure_count, 0, "%s", r.failures[0].message);
    cr_assert_eq(r.value_count, 1, "%d values", r.value_count);
    cr_expect_str_eq(r.values[0].name, name);
    cr_expect_str_eq(r.values[0].unit, "");
    near(r.values[0].low, low, "low");
    near(r.values[0].value, value, "value");
    near(r.values[0].high, high, "high");
}

static void expect_ratio(struct yp_relation relation, double ratio)
{
    expect_value(relation, "ratio", ratio, ratio, ratio);
}

static void expect_note(const char *note)
{
    cr_assert_not_null(r.note);
    cr_expect_str_eq(r.note, note, "%s", r.note);
}

static void expect_missing(struct yp_relation relation, const char *reason)
{
    cr_expect_not(work_out(relation));
    cr_expect_eq(r.value_count, 0);
    cr_expect_eq(r.failure_count, 0, "%s", r.failures[0].message);
    cr_expect(r.reason != NULL && strcmp(r.reason, reason) == 0, "%s", r.reason);
}

static void expect_failure(struct yp_relation relation, enum ypi_cause cause, const char *message)
{
    cr_expect(work_out(relation), "skipped: %s", r.reason);
    cr_assert_eq(r.failure_count, 1, "%d failures", r.failure_count);
    cr_expect_eq(r.failures[0].cause, cause, "%s", ypi_cause_name(r.failures[0].cause));
    cr_expect_str_eq(r.failures[0].message, message, "%s", r.failures[0].message);
    cr_expect_str_eq(r.failures[0].file, "rx.c");
    cr_expect_eq(r.failures[0].line, 7);
}

static void expect_misuse(struct yp_relation relation, const char *message)
{
    expect_failure(relation, YPI_CAUSE_USAGE, message);
    cr_expect_eq(r.value_count, 0);
}

static struct yp_relation over(const char *axis, const char *a, const char *b)
{
    return RELATION(yp_ratio_over("rx.c::fit", "fit", axis, a, b));
}

/* -- nodes --------------------------------------------------------------------------------- */

/* select.c has folders, files, tests and cases as they stand. */
Test(relation, a_node_names_what_it_does_on_the_command_line)
{
    const struct {
        const char *node, *id;
        bool names;
    } pairs[] = {
        {"a.c::t[x]", "a.c::t[x-y]", false},
        {"a.c::t[x", "a.c::t[x]", false},
        {"a.c::t", "b/a.c::t", false},
        {"a.c::t[x]", "a.c::t", false},
        {"a", "a.c::t", false},
        {"", "a.c::t", false},
        {"a.c::t/", "a.c::t", false},
        {"a.c::t[n=a-b]", "a.c::t[n=a-b]", true},
        {"a.c::t[n=a%2db]", "a.c::t[n=a-b]", true}, /* as ids had it once */
        {"a.c::t[n=a%3A:b]", "a.c::t[n=a::b]", true},
        {"a.c::t[n=a%3bb]", "a.c::t[n=a:b]", false},
        {"a.c::t[n=a%2Db]", "a.c::t[n=a-b]", true},
        {"a.c::t[n=a%2eb]", "a.c::t[n=a-b]", false},
        {"a.c::t[n=a%2", "a.c::t[n=a-b]", false},
        {"a.c::t[n=-1]", "a.c::t[n=-10]", false},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        cr_expect_eq(ypi_node_names(pairs[i].node, pairs[i].id), pairs[i].names, "%s of %s",
                     pairs[i].node, pairs[i].id);
}

Test(relation, a_node_that_names_nothing_is_found)
{
    add("rx.c::fit[a]");
    add("rx.c::fit[b]");
    const struct {
        struct yp_relation relation;
        const char *unmatched;
    } declared[] = {
        {yp_ratio("rx.c::fit[a]", "rx.c::fit[b]", "m"), NULL},
        {yp_growth("rx.c::fit", "m", "n"), NULL},
        {yp_ratio("rx.c::fit[c]", "rx.c::fit[d]", "m"), "rx.c::fit[c]"},
        {yp_ratio("rx.c::fit[a]", "rx.c::fit[d]", "m"), "rx.c::fit[d]"},
        {yp_growth("rx.c::fi", "m", "n"), "rx.c::fi"},
    };
    for (size_t i = 0; i < sizeof declared / sizeof *declared; i++) {
        test.relation = declared[i].relation;
        const char *unmatched = ypi_relation_unmatched_node(&test, run_cases, count);
        const char *wanted = declared[i].unmatched;
        cr_expect(wanted == NULL ? unmatched == NULL
                                 : unmatched != NULL && strcmp(unmatched, wanted) == 0,
                  "%zu: %s", i, unmatched);
    }
    cr_expect_str_eq(ypi_relation_unmatched_node(&test, NULL, 0), "rx.c::fi");
}

/* -- declarations -------------------------------------------------------------------------- */

static void expect_problem(const char *wanted)
{
    char *problem = ypi_relation_problem(&test);
    cr_expect(wanted == NULL ? problem == NULL : problem != NULL && strcmp(problem, wanted) == 0,
              "%s\nwanted %s", problem, wanted);
    free(problem);
}

static bool any_filter(const struct yp_case *t)
{
    (void)t;
    return true;
}

static void any_body(struct yp_case *t)
{
    (void)t;
}

Test(relation, fields_that_are_missing_or_make_no_sense)
{
    const struct {
        struct yp_relation relation;
        const char *problem;
    } wrong[] = {
        {{0},
         ".relation is missing: allowed are yp_ratio, yp_ratio_over, yp_share_ratio_over, "
         "yp_value_ratio, yp_growth, yp_order, yp_strong_scaling, yp_weak_scaling and "
         "yp_same_hash"},
        {{.kind = (enum yp_relation_kind)10},
         ".relation is of no known kind: allowed are yp_ratio, yp_ratio_over, yp_share_ratio_over, "
         "yp_value_ratio, yp_growth, yp_order, yp_strong_scaling, yp_weak_scaling and "
         "yp_same_hash"},
        {yp_ratio(NULL, "a.c::t", "m"),
         "'of' is missing: allowed is a test, 'FILE::TEST', or one case of it"},
        {yp_ratio("a.c::t", "", "m"),
         "'to' is missing: allowed is a test, 'FILE::TEST', or one case of it"},
        {yp_growth("", "m", "n"), "'of' is missing: allowed is a test, 'FILE::TEST', or one case "
                                  "of it, but here the test"},
        {yp_ratio("a.c", "a.c::t", "m"),
         "'of' is 'a.c': allowed is 'FILE::TEST' or 'FILE::TEST[...]'"},
        {yp_ratio("::t", "a.c::t", "m"),
         "'of' is '::t': allowed is 'FILE::TEST' or 'FILE::TEST[...]'"},
        {yp_same_hash("a.c::t", "a.c::"),
         "'to' is 'a.c::': allowed is 'FILE::TEST' or 'FILE::TEST[...]'"},
        {yp_value_ratio("a.c::t[x", "a.c::u", "v"),
         "'of' is 'a.c::t[x': allowed is an id to its closing bracket"},
        {yp_growth("a.c::t[x]", "m", "n"),
         "'of' is 'a.c::t[x]', one case: allowed is a test with all its cases, 'a.c::t'"},
        {yp_ratio_over("a.c::t[x]", "m", "n", "1", "2"),
         "'of' is 'a.c::t[x]', one case: allowed is a test with all its cases, 'a.c::t'"},
        {yp_ratio("a.c::t", "a.c::t", "m"),
         "'of' and 'to' are both 'a.c::t': allowed are two cases"},
        {yp_value_ratio("a.c::t", "a.c::t", "v"),
         "'of' and 'to' are both 'a.c::t': allowed are two cases"},
        {yp_ratio("a.c::t", "a.c::u", NULL),
         "the name of a measurement is missing: allowed is one that the body gives"},
        {yp_value_ratio("a.c::t", "a.c::u", ""),
         "the name of a value is missing: allowed is one that the body gives"},
        {yp_growth("a.c::t", "m", ""), "the axis is missing: allowed is one of 'a.c::t'"},
        {yp_ratio_over("a.c::t", "m", NULL, "1", "2"),
         "the axis is missing: allowed is one of 'a.c::t'"},
        {yp_ratio_over("a.c::t", "m", "n", NULL, "2"),
         "'a' is '' and 'b' is '2': allowed are two values of the axis 'n'"},
        {yp_ratio_over("a.c::t", "m", "n", "1", ""),
         "'a' is '1' and 'b' is '': allowed are two values of the axis 'n'"},
        {yp_share_ratio_over("a.c::t", "m", "n", "1", ""),
         "'a' is '1' and 'b' is '': allowed are two values of the axis 'n'"},
        {yp_ratio_over("a.c::t", "m", "n", "1", "1"),
         "'a' is '1' and 'b' is '1': allowed are two values of the axis 'n'"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        test.relation = wrong[i].relation;
        expect_problem(wrong[i].problem);
    }
}

#define NEEDLESS(name) \
    name " is given beside .relation, which takes no process: allowed are .tags, .devices, " \
         ".skip, .xfail, " \
         ".xfail_strict and .budgets"

Test(relation, options_of_a_process_are_refused)
{
    struct yp_relation relation = yp_growth("a.c::t", "m", "n");
    const struct {
        struct yp_test test;
        const char *problem;
    } wrong[] = {
        {{.cases = {{.name = "x"}}}, NEEDLESS(".cases")},
        {{.axes = {{.name = "n", .kind = YP_AXIS_INT, .count = 1}}}, NEEDLESS(".axes")},
        {{.filter = any_filter}, NEEDLESS(".filter")},
        {{.timeout = 1}, NEEDLESS(".timeout")},
        {{.setup = any_body}, NEEDLESS(".setup")},
        {{.teardown = any_body}, NEEDLESS(".teardown")},
        {{.parallel = true}, NEEDLESS(".parallel")},
        {{.command = "true", .body = any_body}, NEEDLESS(".command")},
        {{.input = "x"}, NEEDLESS(".input")},
        {{.environment = "A=b"}, NEEDLESS(".environment")},
        {{.body = any_body},
         ".relation is given to a test with a body: allowed in YP_RELATION only"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        test = wrong[i].test;
        test.relation = relation;
        expect_problem(wrong[i].problem);
    }
}

Test(relation, of_two_devices_at_once_is_no_relation_of_one)
{
    test.devices = "cpu cuda";
    test.relation = (struct yp_relation)yp_growth("a.c::t", "m", "n");
    expect_problem(NULL);
    test.relation = (struct yp_relation)yp_ratio_over("a.c::t", "m", "device", "cuda", "cpu");
    expect_problem(".devices is given to a relation between devices: allowed is one of them");
}

Test(relation, budgets_are_of_the_value_it_finds)
{
    test.relation = (struct yp_relation)yp_growth("a.c::t", "m", "n");
    budgets(at_least("exponent", 1), at_most("exponent", 2));
    expect_problem(NULL);
    budgets(at_least("exponent", 1), at_most("ratio", 2));
    expect_problem("budget 2 is not one of this relation: allowed are yp_min_value(\"exponent\", "
                   "...) and yp_max_value(\"exponent\", ...)");
    budgets((struct yp_budget)yp_min_rate("exponent", 1), none);
    expect_problem("budget 1 is not one of this relation: allowed are yp_min_value(\"exponent\", "
                   "...) and yp_max_value(\"exponent\", ...)");
    budgets(at_least(NULL, 1), none);
    test.relation = (struct yp_relation)yp_ratio("a.c::t", "a.c::u", "m");
    expect_problem("budget 1 is not one of this relation: allowed are yp_min_value(\"ratio\", ...) "
                   "and yp_max_value(\"ratio\", ...)");
    budgets(at_most("distinct hashes", 1), none);
    test.relation = (struct yp_relation)yp_same_hash("a.c::t", "a.c::u");
    expect_problem(NULL);
}

/* -- ratio of times ------------------------------------------------------------------------ */

static const struct yp_relation a_to_b = yp_ratio("rx.c::fit[a]", "rx.c::fit[b]", "fit");

Test(relation, ratio_is_of_speeds_with_the_widest_interval)
{
    add("rx.c::fit[a]");
    timed("load", 7, 7, 7);
    timed("fit", 1, 2, 4);
    add_timed("rx.c::fit[b]", 8, 10, 16);
    timed("load", 7, 7, 7);
    expect_value(a_to_b, "ratio", 2, 5, 16);
    cr_expect(r.values[0].of_speed);
    cr_expect_null(r.note);
    results[0].measured[1].estimate.low = 0;
    expect_value(a_to_b, "ratio", 2, 5, INFINITY);
}

Test(relation, the_only_case_of_a_test_may_be_named_by_it)
{
    add_timed("rx.c::fit[a]", 1, 1, 1);
    add_timed("rx.c::load[a]", 2, 2, 2);
    add("rx.c::other[a]");
    expect_ratio(RELATION(yp_ratio("rx.c::fit", "rx.c::load", "fit")), 2);
}

Test(relation, noisy_and_expected_outcomes_are_results)
{
    add_timed("rx.c::fit[a]", 1, 1, 1);
    add_timed("rx.c::fit[b]", 2, 2, 2);
    const enum ypi_outcome outcomes[] = {YPI_NOISY, YPI_XFAILED, YPI_XPASSED};
    for (int i = 0; i < 3; i++) {
        results[0].outcome = outcomes[i];
        expect_ratio(a_to_b, 2);
    }
}

Test(relation, a_case_without_a_result_skips)
{
    expect_missing(a_to_b, "not selected or not declared: 'rx.c::fit[a]'");
    add_timed("rx.c::fit[a]", 1, 1, 1);
    expect_missing(a_to_b, "not selected or not declared: 'rx.c::fit[b]'");
    add_timed("rx.c::fit[b]", 1, 1, 1);
    run_results[1] = NULL;
    expect_missing(a_to_b, "'rx.c::fit[b]' has no result: it did not run");
    cases[1].skip = "declared so";
    expect_missing(a_to_b, "'rx.c::fit[b]' has no result: skipped: declared so");
    run_results[1] = &results[1];
    set_outcome(YPI_FAILED, NULL);
    expect_missing(a_to_b, "'rx.c::fit[b]' has no result: failed");
    set_outcome(YPI_ERROR, NULL);
    expect_missing(a_to_b, "'rx.c::fit[b]' has no result: error");
    set_outcome(YPI_SKIPPED, "no GPU");
    expect_missing(a_to_b, "'rx.c::fit[b]' has no result: skipped: no GPU");
    results[0].outcome = YPI_FAILED;
    expect_missing(a_to_b, "'rx.c::fit[a]' has no result: failed");
}

Test(relation, a_case_without_the_measurement_is_a_mistake)
{
    add("rx.c::fit[a]");
    add_timed("rx.c::fit[b]", 1, 1, 1);
    expect_misuse(a_to_b, "'rx.c::fit[a]' has no measurement 'fit': it has none");
    count--;
    ypi_result_clear(&results[1]);
    timed("fitt", 1, 1, 1);
    timed("load", 1, 1, 1);
    add_timed("rx.c::fit[b]", 1, 1, 1);
    expect_misuse(a_to_b, "'rx.c::fit[a]' has no measurement 'fit': it has 'fitt', 'load'");
    results[0].outcome = YPI_XFAILED;
    expect_missing(a_to_b, "'rx.c::fit[a]' has no result: xfailed before 'fit'");
}

Test(relation, a_median_that_is_no_time_is_a_mistake)
{
    struct ypi_measured *m = add_timed("rx.c::fit[a]", 1, 1, 1);
    add_timed("rx.c::fit[b]", 1, 1, 1);
    m->estimate.median = 0;
    expect_misuse(a_to_b,
                  "'rx.c::fit[a]': the median of 'fit' is 0 s over 10 samples: allowed is above 0");
    m->estimate.median = NAN;
    expect_misuse(
        a_to_b, "'rx.c::fit[a]': the median of 'fit' is nan s over 10 samples: allowed is above 0");
    m->estimate.median = INFINITY;
    expect_misuse(
        a_to_b, "'rx.c::fit[a]': the median of 'fit' is inf s over 10 samples: allowed is above 0");
    m->estimate.median = 1e-17;
    expect_misuse(a_to_b, "'rx.c::fit[a]': 'fit' takes no time: the compiler has removed the work");
    m->estimate.median = 1;
    m->count = 0;
    expect_misuse(a_to_b,
                  "'rx.c::fit[a]': the median of 'fit' is 1 s over 0 samples: allowed is above 0");
    m->kind = YPI_MEASURED_COUNT;
    expect_missing(a_to_b, "'rx.c::fit[a]' counted 'fit' and did not time it");
    m->kind = YPI_MEASURED_RUN;
    expect_missing(a_to_b, "'rx.c::fit[a]' ran 'fit' and did not time it");
    m->kind = YPI_MEASURED_SERVE;
    m->count = 1;
    expect_ratio(a_to_b, 1);
}

Test(relation, a_node_of_several_cases_is_a_mistake)
{
    add_timed("rx.c::fit[a]", 1, 1, 1);
    add_timed("rx.c::fit[b]", 1, 1, 1);
    add("rx.c::fit[c]");
    expect_misuse(
        RELATION(yp_ratio("rx.c::fit", "rx.c::fit[b]", "fit")),
        "'rx.c::fit' names 3 cases, 'rx.c::fit[a]' and 'rx.c::fit[b]' among them: allowed is one");
    count = 1;
    expect_misuse(RELATION(yp_ratio("rx.c::fit", "rx.c::fit[a]", "fit")),
                  "'rx.c::fit' and 'rx.c::fit[a]' are both 'rx.c::fit[a]': allowed are two cases");
}

Test(relation, a_relation_cannot_be_read)
{
    add("rx.c::relation");
    last()->test = &test;
    expect_misuse(RELATION(yp_growth("rx.c::relation", "fit", "n")),
                  "'rx.c::relation' is a relation itself: allowed are tests that measure");
}

Test(relation, cases_are_read_of_its_own_repeat)
{
    for (int repeat = 0; repeat < 3; repeat++) {
        add("rx.c::fit[a]");
        last()->repeat = repeat;
        timed("fit", 1, 1, 1);
        add("rx.c::fit[b]");
        last()->repeat = repeat;
        timed("fit", repeat + 2, repeat + 2, repeat + 2);
    }
    expect_ratio(a_to_b, 2);
    own.repeat = 2;
    expect_ratio(a_to_b, 4);
    own.repeat = 3;
    expect_missing(a_to_b, "not selected or not declared: 'rx.c::fit[a]'");
}

/* -- ratio of values ----------------------------------------------------------------------- */

static const struct yp_relation values_a_to_b =
    yp_value_ratio("rx.c::fit[a]", "rx.c::fit[b]", "auc");

Test(relation, value_ratio_is_exact)
{
    add("rx.c::fit[a]");
    add_value("loss", 3);
    add_value("auc", 6);
    add("rx.c::fit[b]");
    add_value("auc", -4);
    expect_ratio(values_a_to_b, -1.5);
    cr_expect_not(r.values[0].of_speed);
    results[1].values[0].value = 0;
    expect_ratio(values_a_to_b, INFINITY);
    results[0].values[1].value = 0;
    cr_expect(work_out(values_a_to_b));
    cr_assert_eq(r.value_count, 1);
    cr_expect(isnan(r.values[0].value));
}

Test(relation, a_case_without_the_value_is_a_mistake)
{
    add("rx.c::fit[a]");
    add_value("auc", 6);
    add("rx.c::fit[b]");
    timed("auc", 1, 1, 1);
    expect_misuse(values_a_to_b, "'rx.c::fit[b]' has no value 'auc': it has none");
    add_value("loss", 1);
    add_value("AUC", 1);
    expect_misuse(values_a_to_b, "'rx.c::fit[b]' has no value 'auc': it has 'loss', 'AUC'");
    set_outcome(YPI_XFAILED, "known");
    expect_missing(values_a_to_b, "'rx.c::fit[b]' has no result: xfailed before 'auc'");
    set_outcome(YPI_FAILED, NULL);
    expect_missing(values_a_to_b, "'rx.c::fit[b]' has no result: failed");
}

/* -- ratio over an axis -------------------------------------------------------------------- */

/* One case of two axes and a device, that takes `seconds`. */
static void add_at(const char *id, long long n, const char *kind, const char *device,
                   double seconds)
{
    add(id);
    set_int("n", n);
    set_string("kind", kind);
    set_device(device);
    timed("fit", seconds, seconds, seconds);
}

static void declare_axes(void)
{
    subject.axes[0] = (struct yp_axis)yp_axis_int("n", 8, 16);
    subject.axes[1] = (struct yp_axis)yp_axis_string("kind", "a-b", "c");
    subject.devices = "cpu cuda";
}

Test(relation, pairs_are_the_same_in_all_else)
{
    static const struct yp_case_decl small = {.name = "small"};
    static const struct yp_case_decl large = {.name = "large"};
    declare_axes();
    add_at("1", 8, "a-b", "cpu", 60);
    add_at("2", 8, "c", "cpu", 50);
    add_at("3", 16, "c", "cuda", 40);
    add_at("4", 16, "c", "cpu", 30);
    add_at("5", 16, "a-b", "cpu", 20);
    add_at("6", 8, "c", "cuda", 10);
    for (int i = 0; i < count; i++) {
        cases[i].id = ypi_format("rx.c::fit[%s]", cases[i].id);
        cases[i].decl = &small;
    }
    expect_ratio(over("n", "8", "16"), 1. / 3);
    expect_note("the worst of 3 pairs: 'rx.c::fit[1]' against 'rx.c::fit[5]'");
    budgets(at_most("ratio", 5), none);
    expect_ratio(over("n", "8", "16"), 4);
    expect_note("the worst of 3 pairs: 'rx.c::fit[6]' against 'rx.c::fit[3]'");
    budgets(none, none);
    /* "a-b" has a partner on the CPU only, and it is asked for from that side. */
    expect_ratio(over("kind", "a-b", "c"), 5. / 6);
    expect_note("the worst of 2 pairs: 'rx.c::fit[1]' against 'rx.c::fit[2]'");
    expect_ratio(over("device", "cuda", "cpu"), 0.75);
    expect_note("the worst of 2 pairs: 'rx.c::fit[3]' against 'rx.c::fit[4]'");
    expect_missing(over("kind", "c", "a-b"),
                   "not selected or not declared: the case like 'rx.c::fit[3]' with kind=a-b");
    cases[1].decl = &large;
    expect_missing(over("n", "8", "16"),
                   "not selected or not declared: the case like 'rx.c::fit[2]' with n=16");
    for (int i = 0; i < count; i++)
        free(cases[i].id);
}

static void share(int i, double low, double median, double high)
{
    results[i].measured[0].share_count = 3;
    results[i].measured[0].share_estimate =
        (struct ypi_estimate){.low = low, .median = median, .high = high};
}

/* Twice as fast by a machine that is twice as fast is no gain: times do not enter. */
Test(relation, shares_are_compared_by_the_larger_one)
{
    static const struct yp_relation shares =
        yp_share_ratio_over("rx.c::fit", "fit", "n", "16", "8");
    declare_axes();
    add_at("rx.c::fit[n=8-cpu]", 8, "c", "cpu", 60);
    share(0, 0.4, 0.5, 0.8);
    add_at("rx.c::fit[n=16-cpu]", 16, "c", "cpu", 30);
    share(1, 0.2, 0.25, 0.3);
    expect_value(shares, "ratio", 0.2 / 0.8, 0.5, 0.3 / 0.4);
    results[1].measured[0].share_count = 0;
    expect_misuse(shares, "'rx.c::fit[n=16-cpu]': nothing is known to bound 'fit': allowed is a "
                          "measurement that has a share");
}

/* With .devices a relation reads the cases of its own, and those that have none. */
Test(relation, of_a_device_is_about_its_cases)
{
    declare_axes();
    add_at("rx.c::fit[n=8-kind=c-cpu]", 8, "c", "cpu", 3);
    add_at("rx.c::fit[n=16-kind=c-cpu]", 16, "c", "cpu", 6);
    add_at("rx.c::fit[n=8-kind=c-cuda]", 8, "c", "cuda", 1);
    add_at("rx.c::fit[n=16-kind=c-cuda]", 16, "c", "cuda", 4);
    expect_ratio(over("n", "8", "16"), 2);
    test.budgets[0] = (struct yp_budget)yp_min_value("ratio", 3);
    snprintf(own.device, sizeof own.device, "cuda");
    expect_ratio(over("n", "8", "16"), 4);
    test.budgets[1] = (struct yp_budget)yp_max_value("ratio", 1);
    snprintf(own.device, sizeof own.device, "cpu");
    expect_ratio(over("n", "8", "16"), 2);
    snprintf(own.device, sizeof own.device, "cuda:1");
    expect_missing(over("n", "8", "16"), "not selected or not declared: 'rx.c::fit'");
    add_timed("rx.c::fit[a]", 1, 1, 1);
    add_timed("rx.c::fit[b]", 5, 5, 5);
    expect_ratio(a_to_b, 5);
}

Test(relation, one_pair_needs_no_note)
{
    declare_axes();
    add_at("rx.c::fit[n=8-kind=a-b-cpu]", 8, "a-b", "cpu", 3);
    add_at("rx.c::fit[n=8-kind=a-b-cuda:1]", 8, "a-b", "cuda:1", 1);
    const char *const names[] = {"cuda", "cuda:1"};
    for (int i = 0; i < 2; i++) {
        expect_ratio(over("device", names[i], "cpu"), 3);
        cr_expect_null(r.note);
    }
    cases[1].device[strlen("cuda:1")] = '0';
    expect_missing(over("device", "cuda:1", "cpu"),
                   "not selected or not declared: a case of 'rx.c::fit' with device=cuda:1");
    expect_missing(over("device", "cuda:0", "cpu"),
                   "not selected or not declared: a case of 'rx.c::fit' with device=cuda:0");
    expect_missing(over("n", "16", "8"),
                   "not selected or not declared: a case of 'rx.c::fit' with n=16");
}

Test(relation, a_partner_stands_at_the_other_end)
{
    declare_axes();
    subject.axes[0] = (struct yp_axis)yp_axis_int("n", 8, 16, 32);
    add_at("rx.c::fit[n=8]", 8, "c", "cpu", 1);
    add_at("rx.c::fit[n=16]", 16, "c", "cpu", 2);
    add_at("rx.c::fit[n=32]", 32, "c", "cpu", 4);
    expect_ratio(over("n", "8", "32"), 4);
    expect_ratio(over("n", "32", "16"), 0.5);
    /* Two spellings of one value. */
    expect_missing(over("n", "8", "08"),
                   "not selected or not declared: the case like 'rx.c::fit[n=8]' with n=08");
}

/* Groups apart, two tests of one file may have the same name. */
Test(relation, a_node_of_two_tests)
{
    static struct yp_test other;
    other = (struct yp_test){.group = "h", .name = "fit", .file = "rx.c", .line = 5};
    declare_axes();
    add_at("rx.c::fit[n=8]", 8, "c", "cpu", 1);
    add("rx.c::fit[other]");
    last()->test = &other;
    timed("fit", 1, 1, 1);
    expect_misuse(over("n", "8", "16"), "'rx.c::fit' has no axis 'n': it has none");
    expect_misuse(RELATION(yp_growth("rx.c::fit", "fit", "n")),
                  "'rx.c::fit' has no axis 'n': it has none");
    set_int("n", 16);
    set_string("kind", "c");
    set_device("cpu");
    other.axes[0] = subject.axes[0];
    expect_missing(over("n", "8", "16"),
                   "not selected or not declared: the case like 'rx.c::fit[n=8]' with n=16");
}

Test(relation, ends_are_compared_as_the_axis_is)
{
    subject.axes[0] = (struct yp_axis)yp_axis_double("noise", 0.001, 10);
    subject.axes[1] = (struct yp_axis)yp_axis_int("n", 8, -8);
    add("rx.c::fit[noise=0.001-n=8]");
    set_double("noise", 0.001);
    set_int("n", 8);
    timed("fit", 1, 1, 1);
    add("rx.c::fit[noise=10-n=8]");
    set_double("noise", 10);
    set_int("n", 8);
    timed("fit", 2, 2, 2);
    add("rx.c::fit[noise=10-n=-8]");
    set_double("noise", 10);
    set_int("n", -8);
    timed("fit", 6, 6, 6);
    expect_misuse(over("noise", "1e-3", "x"),
                  "the axis 'noise' of 'rx.c::fit' has no value 'x': allowed are 0.001, 10");
    expect_misuse(over("n", "8.0", "-8"),
                  "the axis 'n' of 'rx.c::fit' has no value '8.0': allowed are 8, -8");
    expect_ratio(over("noise", "1e-3", "10.0"), 2);
    expect_missing(
        over("n", "8", "-8"),
        "not selected or not declared: the case like 'rx.c::fit[noise=0.001-n=8]' with n=-8");
    results[0].outcome = YPI_PASSED;
    expect_missing(
        over("noise", "10", "1e-3"),
        "not selected or not declared: the case like 'rx.c::fit[noise=10-n=-8]' with noise=1e-3");
}

Test(relation, axes_that_are_not_there_are_a_mistake)
{
    declare_axes();
    add_at("rx.c::fit[x]", 8, "c", "cpu", 1);
    expect_misuse(over("m", "1", "2"), "'rx.c::fit' has no axis 'm': it has 'n', 'kind', 'device'");
    expect_misuse(over("device", "gpu", "cpu"),
                  "the axis 'device' of 'rx.c::fit' has no value 'gpu': allowed are cpu cuda");
    expect_misuse(over("device", "cpu", "cud"),
                  "the axis 'device' of 'rx.c::fit' has no value 'cud': allowed are cpu cuda");
    expect_misuse(over("device", "cudas", "cpu"),
                  "the axis 'device' of 'rx.c::fit' has no value 'cudas': allowed are cpu cuda");
    expect_misuse(over("kind", "a%2db", "c"),
                  "the axis 'kind' of 'rx.c::fit' has no value 'a%2db': allowed are a-b, c");
    expect_misuse(RELATION(yp_growth("rx.c::fit", "fit", "device")),
                  "'rx.c::fit' has no axis 'device': it has 'n', 'kind'");
    expect_misuse(
        RELATION(yp_growth("rx.c::fit", "fit", "kind")),
        "the axis 'kind' of 'rx.c::fit' is one of texts: allowed for a growth are numbers");
    last()->setting_count = 0;
    set_device("");
    expect_misuse(over("device", "cuda", "cpu"), "'rx.c::fit' has no axis 'device': it has none");
}

Test(relation, a_pair_without_results_skips)
{
    declare_axes();
    add_at("rx.c::fit[n=8-cpu]", 8, "c", "cpu", 3);
    add_at("rx.c::fit[n=8-cuda]", 8, "c", "cuda", 1);
    add_at("rx.c::fit[n=16-cpu]", 16, "c", "cpu", 3);
    add_at("rx.c::fit[n=16-cuda]", 16, "c", "cuda", 1);
    set_outcome(YPI_SKIPPED, "no GPU");
    expect_missing(over("device", "cuda", "cpu"),
                   "'rx.c::fit[n=16-cuda]' has no result: skipped: no GPU");
    results[0].outcome = YPI_FAILED;
    expect_missing(over("device", "cuda", "cpu"), "'rx.c::fit[n=8-cpu]' has no result: failed");
}

/* -- the worst of several ------------------------------------------------------------------ */

/* A pair whose ratio is `value` in [low, high]; `n` tells them apart. */
static void add_pair(long long n, double low, double value, double high)
{
    static char ids[CAPACITY][32];
    snprintf(ids[count], sizeof ids[count], "rx.c::fit[%lld-cuda]", n);
    add_at(ids[count], n, "c", "cuda", 1);
    snprintf(ids[count], sizeof ids[count], "rx.c::fit[%lld-cpu]", n);
    add_at(ids[count], n, "c", "cpu", value);
    results[count - 1].measured[0].estimate.low = low;
    results[count - 1].measured[0].estimate.high = high;
}

static void expect_worst(struct yp_budget first, struct yp_budget second, double value)
{
    budgets(first, second);
    cr_assert(work_out(over("device", "cuda", "cpu")));
    cr_assert_eq(r.value_count, 1);
    cr_expect_eq(r.values[0].value, value, "with %g and %g: %g", first.limit, second.limit,
                 r.values[0].value);
}

Test(relation, the_worst_is_that_of_the_budgets)
{
    declare_axes();
    add_pair(1, 1.0, 2.0, 3.0);
    add_pair(2, 2.1, 2.2, 2.3);
    add_pair(3, 4.9, 5.0, 5.1);
    expect_worst(none, none, 2.0);
    expect_worst(at_least("ratio", 0.5), none, 2.0);
    expect_worst(at_most("ratio", 6), none, 5.0);
    expect_worst(at_least("ratio", 0.5), at_most("ratio", 6), 5.0);   /* 1 of room to 1.5 */
    expect_worst(at_least("ratio", 0.5), at_most("ratio", 9), 2.0);   /* 1.5 to 4 */
    expect_worst(at_least("ratio", 2.5), none, 2.2);                  /* 2.0 is undecided */
    expect_worst(at_least("ratio", 1.5), none, 2.0);                  /* and no other is */
    expect_worst(at_least("ratio", 3.5), none, 2.0);                  /* both are below */
    expect_worst(at_least("ratio", 1.5), at_most("ratio", 4.5), 5.0); /* above beats undecided */
    expect_worst(at_least("ratio", 1.5), at_most("ratio", 6), 2.0);
    expect_worst(at_least("ratio", 2.5), at_most("ratio", 99), 2.2); /* whatever else is met */
    expect_worst(at_least("ratio", 3.0), none, 2.2); /* the interval holds its end */
    /* What may be asked about again, by its number. */
    const double values[] = {2.0, 2.2, 5.0};
    for (report = 1; report <= 3; report++) {
        expect_worst(at_least("ratio", 3), none, values[report - 1]);
        cr_expect(findings.worst == report && findings.count == 3);
    }
}

/* One that is outside beside others' work says less than one that is outside without. */
Test(relation, of_times_taken_beside_others_it_is_known)
{
    declare_axes();
    add_pair(1, 1.0, 1.0, 1.0);
    add_pair(2, 1.4, 1.4, 1.4);
    expect_worst(at_least("ratio", 2), none, 1.0);
    cr_expect_not(r.values[0].crowded);
    results[1].measured[0].threads = 2;
    results[1].measured[0].noise =
        (struct ypi_noise){.wall = 1, .own = 1, .others = 1, .processors = 2};
    expect_worst(at_least("ratio", 2), none, 1.4);
    cr_expect_not(r.values[0].crowded, "the other pair was not disturbed");
    expect_worst(at_least("ratio", 1.2), none, 1.0);
    cr_expect(r.values[0].crowded);
    results[1].measured[0].noise =
        (struct ypi_noise){.wall = 0.01, .own = 0.01, .others = 0.02, .processors = 2};
    expect_worst(at_least("ratio", 2), none, 1.0);
    cr_expect_not(r.values[0].crowded, "what the kernel rounds is no crowd");
    results[1].measured[0].noise =
        (struct ypi_noise){.wall = 0.05, .own = 0.01, .throttled = 0.04, .processors = 2};
    expect_worst(at_least("ratio", 1.2), none, 1.0);
    cr_expect(r.values[0].crowded, "a quota's time is exact");
    results[1].measured[0].noise =
        (struct ypi_noise){.wall = 1, .own = 1, .others = 1, .processors = 2};
    expect_worst(at_least("ratio", 1.2), none, 1.0);
    cr_expect_not_null(strstr(r.note, "some of its times were taken while others used"));
}

Test(relation, at_the_limit_is_inside)
{
    declare_axes();
    add_pair(1, 2.0, 2.5, 4.0);
    add_pair(2, 1.9, 3.0, 3.5);
    expect_worst(at_least("ratio", 2.0), none, 3.0);
    expect_worst(at_most("ratio", 4.0), none, 3.0); /* both inside: 1 of room to 1.5 */
    expect_worst(at_most("ratio", 3.5), none, 2.5);
}

/* -- growth -------------------------------------------------------------------------------- */

/* A case of the series: its id has `device` at the end where that is not "". */
static void add_point_of(const char *device, long long n, double low, double median, double high)
{
    static char ids[CAPACITY][40];
    snprintf(ids[count], sizeof ids[count], "rx.c::fit[n=%lld%s%s]", n,
             device[0] != '\0' ? "-" : "", device);
    add_timed(ids[count], low, median, high);
    set_int("n", n);
    set_device(device);
}

static void add_point(long long n, double low, double median, double high)
{
    add_point_of("", n, low, median, high);
}

/* n s at each power of 2 from `first` to `last`. */
static void add_line(long long first, long long last)
{
    for (long long n = first; n <= last; n *= 2)
        add_point(n, (double)n, (double)n, (double)n);
}

static const struct yp_relation growth = yp_growth("rx.c::fit", "fit", "n");

static void expect_exponent(double low, double value, double high)
{
    expect_value(growth, "exponent", low, value, high);
}

Test(relation, growth_of_a_power_is_its_exponent)
{
    add_point(100, 0.5e3, 0.5e3, 0.5e3);
    add_point(1, 0.5, 0.5, 0.5);
    add_point(4, 4, 4, 4);
    expect_exponent(1.5, 1.5, 1.5);
    cr_expect(r.values[0].of_speed);
    cr_expect_null(r.note);
}

Test(relation, growth_over_fractions)
{
    const double x[] = {0.25, 0.5, 1, 8};
    for (int i = 0; i < 4; i++) {
        add("rx.c::fit[x]");
        set_double("x", x[i]);
        timed("fit", 3 / x[i], 3 / x[i], 3 / x[i]);
    }
    expect_value(RELATION(yp_growth("rx.c::fit", "fit", "x")), "exponent", -1, -1, -1);
}

Test(relation, growth_is_as_unsure_as_the_points_scatter)
{
    /* In powers of two the points are (0, 0), (1, 1.2), (2, 2): the line has the slope 1, squared
     * residuals of 0.08 / 3 together, and Student's t at 99 % for one degree is 63.6567. */
    add_point(1, 1, 1, 1);
    double middle = exp2(1.2);
    add_point(2, middle, middle, middle);
    add_point(4, 4, 4, 4);
    double half = 63.656741162872 * sqrt(0.08 / 3 / 2);
    expect_exponent(1 - half, 1, 1 + half);
}

Test(relation, growth_is_as_unsure_as_the_medians_are)
{
    add_point(1, 1, 1, 1);
    add_point(2, 1.9, 2, 2.3); /* in the middle: no lever */
    add_point(4, 2, 4, 4);
    struct ypi_estimate *left = &results[0].measured[0].estimate;
    struct ypi_estimate *right = &results[2].measured[0].estimate;
    expect_exponent(0.5, 1, 1);
    right->low = 4;
    right->high = 8;
    expect_exponent(1, 1, 1.5);
    left->low = 0.5;
    expect_exponent(1, 1, 2);
    left->high = 2;
    expect_exponent(0.5, 1, 2);
    left->low = 0;
    expect_exponent(0.5, 1, INFINITY);
    left->low = 1;
    results[1].measured[0].estimate.low = 0;
    expect_exponent(0.5, 1, 1.5);
}

Test(relation, growth_needs_three_values)
{
    add_point(1, 1, 1, 1);
    expect_missing(growth, "1 value of 'n' among the cases like 'rx.c::fit[n=1]', 3 are needed");
    add_line(2, 4);
    set_outcome(YPI_FAILED, NULL);
    expect_missing(growth, "2 values of 'n' among the cases like 'rx.c::fit[n=1]', 3 are needed: "
                           "'rx.c::fit[n=4]' has no result: failed");
    set_outcome(YPI_SKIPPED, NULL);
    expect_missing(growth, "2 values of 'n' among the cases like 'rx.c::fit[n=1]', 3 are needed: "
                           "'rx.c::fit[n=4]' has no result: skipped");
    set_outcome(YPI_FAILED, NULL);
    add_point(2, 2, 2, 2);
    expect_missing(growth, "2 values of 'n' among the cases like 'rx.c::fit[n=1]', 3 are needed: "
                           "'rx.c::fit[n=4]' has no result: failed");
    count = 0;
    expect_missing(growth, "not selected or not declared: 'rx.c::fit'");
}

/* t at 99 % for one degree is 63.657, the logarithms' deviations squared are 0.961. */
Test(relation, growth_over_too_few_values_to_decide_is_skipped)
{
    add_line(1, 4);
    budgets(at_least("exponent", 0.9), at_most("exponent", 1.1));
    expect_missing(
        growth, "3 values of 'n' among the cases like 'rx.c::fit[n=1]' cannot decide the budgets: "
                "where times scatter by 5 % the exponent is known to +-3.2, and the budgets leave "
                "it a range of 0.2; needed are 13 values over the same span, or a wider one");
    budgets(at_least("exponent", 0.9), none); /* up to the next power */
    cr_expect_not(work_out(growth));
    budgets(at_most("exponent", 6.4), none);
    cr_expect_not(work_out(growth));
    budgets(at_most("exponent", 6.5), none); /* from 0 on */
    expect_exponent(1, 1, 1);
    budgets(at_least("exponent", -2.6), at_most("exponent", 4));
    expect_exponent(1, 1, 1);
    budgets(none, none);
    expect_exponent(1, 1, 1);
}

Test(relation, growth_is_over_the_cases_that_have_a_result)
{
    add_point(1, 9, 9, 9);
    set_outcome(YPI_SKIPPED, "too small");
    add_line(2, 8);
    add_point(16, 9, 9, 9);
    run_results[4] = NULL;
    expect_exponent(1, 1, 1);
    expect_note("3 cases like 'rx.c::fit[n=1]' (without others: 'rx.c::fit[n=1]' has no result: "
                "skipped: too small, and 1 more)");
}

Test(relation, growth_takes_values_above_zero)
{
    add_point(0, 1, 1, 1);
    add_point(1, 1, 1, 1);
    add_point(2, 1, 1, 1);
    add_point(3, 1, 1, 1);
    expect_misuse(growth, "'rx.c::fit[n=0]' stands at n=0: allowed for a growth is above 0");
    cases[0].settings[0].i = -4;
    expect_misuse(growth, "'rx.c::fit[n=0]' stands at n=-4: allowed for a growth is above 0");
    cases[0].settings[0] = (struct ypi_setting){.axis = "n", .kind = YP_AXIS_DOUBLE, .d = INFINITY};
    expect_misuse(growth, "'rx.c::fit[n=0]' stands at n=inf: allowed for a growth is above 0");
}

Test(relation, growth_reads_every_measurement)
{
    add_point(1, 1, 1, 1);
    add_point(2, 1, 1, 1);
    add_point(4, 0, 0, 0);
    expect_misuse(
        growth, "'rx.c::fit[n=4]': the median of 'fit' is 0 s over 10 samples: allowed is above 0");
    add_point(8, 1, 1, 1);
    results[3].measured_count = 0;
    results[2].measured[0].estimate.median = 1;
    expect_misuse(growth, "'rx.c::fit[n=8]' has no measurement 'fit': it has none");
}

/* Two series, of exponents p on the CPU and q on the GPU. */
static void add_two_series(double p, double q, int largest)
{
    for (int n = 1; n <= largest; n *= 2) {
        add_point_of("cpu", n, pow(n, p), pow(n, p), pow(n, p));
        add_point_of("cuda", n, pow(n, q), pow(n, q), pow(n, q));
    }
}

Test(relation, growth_of_several_series_is_the_worst)
{
    add_two_series(1, 2, 64);
    expect_exponent(2, 2, 2);
    expect_note("the worst of 2 series: 7 cases like 'rx.c::fit[n=1-cuda]'");
    budgets(at_least("exponent", 0.5), none);
    expect_exponent(1, 1, 1);
    expect_note("the worst of 2 series: 7 cases like 'rx.c::fit[n=1-cpu]'");
    budgets(at_least("exponent", 0.5), at_most("exponent", 2.25));
    expect_exponent(2, 2, 2);
}

Test(relation, a_series_is_made_of_the_cases_that_it_reads)
{
    add_two_series(1, 2, 4);
    set_outcome_of(0, YPI_SKIPPED, "too small");
    add_point_of("cpu", 8, 8, 8, 8);
    cr_assert(work_out(growth));
    cr_assert_eq(findings.count, 2);
    const int wanted[2][3] = {{2, 4, 6}, {1, 3, 5}};
    for (int i = 0; i < 2; i++)
        cr_expect(findings.of[i].count == 3 &&
                  memcmp(findings.of[i].cases, wanted[i], sizeof wanted[i]) == 0);
    cr_expect_eq(findings.worst, 2);
}

/* How the reason begins; NULL: it can be decided. */
static void expect_undecidable(struct yp_relation relation, const char *wanted)
{
    test.relation = relation;
    char *problem = ypi_relation_undecidable(&own, run_cases, count);
    cr_expect(wanted == NULL ? problem == NULL
                             : problem != NULL && strncmp(problem, wanted, strlen(wanted)) == 0,
              "%s", problem);
    free(problem);
}

Test(relation, growths_that_cannot_be_decided_are_known_before_the_run)
{
    add_two_series(1, 1, 16);
    cases[count - 1].skip = "no GPU"; /* as declared they decide */
    budgets(at_least("exponent", 0.7), at_most("exponent", 1.3));
    expect_undecidable(growth, NULL);
    budgets(at_least("exponent", 0.9), at_most("exponent", 1.1));
    expect_undecidable(
        growth, "its 5 values of 'n' in the cases like 'rx.c::fit[n=1-cpu]' cannot decide the "
                "budgets: where times scatter by 5 % the exponent is known to +-0.13, and the "
                "budgets leave it a range of 0.2; needed are 6 values over the same span, or a "
                "wider one");
    /* Each series has to; one on the GPU is of no interest to a relation of the CPU. */
    budgets(at_least("exponent", 0.7), at_most("exponent", 1.3));
    count--;
    expect_undecidable(
        growth, "its 4 values of 'n' in the cases like 'rx.c::fit[n=1-cuda]' cannot decide the ");
    snprintf(own.device, sizeof own.device, "cpu");
    expect_undecidable(growth, NULL);
    budgets(none, none);
    count = 2;
    expect_undecidable(growth, NULL);
    expect_undecidable((struct yp_relation)yp_growth("rx.c::fit", "fit", "m"), NULL);
    expect_undecidable((struct yp_relation)yp_same_hash("rx.c::fit", "rx.c::fit"), NULL);
}

/* -- orders -------------------------------------------------------------------------------- */

static const struct yp_relation order = yp_order("rx.c::fit", "fit", "n");

/* 3e-9 n^power log2(n)^logarithms at so many values of n, each 4 times the one before. */
static void add_curve(long long n, int points, double power, double logarithms)
{
    for (int i = 0; i < points; i++, n *= 4) {
        double seconds = 3e-9 * pow((double)n, power) * pow(log2((double)n), logarithms);
        add_point(n, seconds, seconds, seconds);
    }
}

static void expect_order(double low, double best, double high)
{
    cr_assert(work_out(order), "skipped: %s", r.reason);
    cr_assert_eq(r.value_count, 8);
    cr_expect_str_eq(r.values[0].name, "order");
    near(r.values[0].value, best, "order");
    cr_expect(isnan(low) ? isnan(r.values[0].low) && isnan(r.values[0].high)
                         : r.values[0].low == low && r.values[0].high == high,
              "%g to %g", r.values[0].low, r.values[0].high);
}

static struct yp_budget grows_as(enum yp_order asked)
{
    return (struct yp_budget)yp_grows_as(asked);
}

/* tests/usage/relations.py has the words, the coefficient and the deviations. */
Test(relation, orders_are_found_and_judged)
{
    static const struct {
        const char *name;
        long long n;
        int points;
        double power, logarithms, low, best, high;
    } curves[] = {
        {"alone", 4, 12, 1, 1, YP_N_LOG_N, YP_N_LOG_N, YP_N_LOG_N},
        {"one of two", 16384, 4, 1, 0, YP_N, YP_N, YP_N_LOG_N},
        {"none", 4, 12, 1.5, 0, NAN, YP_N_LOG_N, NAN},
    };
    for (size_t i = 0; i < sizeof curves / sizeof *curves; i++) {
        let_go();
        add_curve(curves[i].n, curves[i].points, curves[i].power, curves[i].logarithms);
        expect_order(curves[i].low, curves[i].best, curves[i].high);
        cr_expect(r.values[0].of_speed);
        for (int asked = YP_CONSTANT; asked <= YP_N_CUBED; asked++) {
            const struct yp_budget budget = grows_as((enum yp_order)asked);
            bool stands = curves[i].low <= asked && asked <= curves[i].high;
            enum ypi_met met = !stands                          ? YPI_NOT_MET
                               : curves[i].low < curves[i].high ? YPI_UNDECIDED
                                                                : YPI_MET;
            cr_expect_eq(ypi_budget_judge(&r, &budget, true).met, met, "%s: %d", curves[i].name,
                         asked);
        }
    }
}

/* The one that the budget refuses is told, else the one that grows most. */
Test(relation, the_order_of_several_series_is_the_worst)
{
    for (int i = 0; i < 8; i++) {
        long long n = 4LL << i * 3;
        double seconds = 1e-9 * (double)n;
        add_point_of("cpu", n, seconds, seconds, seconds);
        seconds *= (double)n;
        add_point_of("cuda", n, seconds, seconds, seconds);
    }
    expect_order(YP_N_SQUARED, YP_N_SQUARED, YP_N_SQUARED);
    cr_expect_not_null(strstr(r.note, "the worst of 2 series: 8 cases like 'rx.c::fit[n=4-cuda]'"));
    budgets(grows_as(YP_N_SQUARED), none);
    expect_order(YP_N, YP_N, YP_N);
    near(r.values[1].value, 1e-9, "coefficient of the one that is told");
    cr_expect_not_null(strstr(r.note, "the worst of 2 series: 8 cases like 'rx.c::fit[n=4-cpu]'"));
}

Test(relation, an_order_needs_values_above_one)
{
    add_point(1, 1, 1, 1);
    add_point(2, 1, 1, 1);
    expect_misuse(order, "'rx.c::fit[n=1]' stands at n=1: allowed for an order is above 1");
}

Test(relation, orders_that_cannot_be_told_are_known_before_the_run)
{
    add_curve(16384, 4, 1, 0);
    expect_undecidable(order, NULL);
    budgets(grows_as(YP_N), none);
    expect_undecidable(order, "its 4 values of 'n' in the cases like 'rx.c::fit[n=16384]' cannot "
                              "tell O(N) from O(N log N) where times scatter by 5 %; needed are 12 "
                              "values over the same span, or a wider one");
    cr_expect_not(work_out(order));
    count = 0;
    add_curve(4, 12, 1, 0);
    expect_undecidable(order, NULL);
    expect_order(YP_N, YP_N, YP_N);
}

Test(relation, budgets_of_an_order)
{
    test.relation = (struct yp_relation)yp_order("a.c::t", "m", "n");
    budgets(grows_as(YP_N_CUBED), none);
    expect_problem(NULL);
    budgets(at_most("order", 2), none);
    expect_problem("budget 1 is not one of this relation: allowed is yp_grows_as(...)");
    budgets((struct yp_budget)yp_grows_as(6), none);
    expect_problem("budget 1 is of order 6: allowed are those of enum yp_order");
    test.relation = (struct yp_relation)yp_growth("a.c::t", "m", "n");
    budgets(grows_as(YP_N), none);
    expect_problem("budget 1 is not one of this relation: allowed are yp_min_value(\"exponent\", "
                   "...) and yp_max_value(\"exponent\", ...)");
}

Test(relation, a_series_that_was_skipped_as_a_whole_is_left_out)
{
    add_two_series(1, 2, 4);
    for (int i = 1; i < count; i += 2) {
        cases[i].skip = "no GPU"; /* known before the run, so nothing was kept of it */
        run_results[i] = NULL;
    }
    expect_exponent(1, 1, 1);
    expect_note("left out: 'rx.c::fit[n=1-cuda]' has no result: skipped: no GPU");
    for (int i = 1; i < count; i += 2) {
        run_results[i] = &results[i];
        set_outcome_of(i, i == 3 ? YPI_FAILED : YPI_SKIPPED, i == 3 ? NULL : "no GPU");
    }
    expect_missing(growth, "0 values of 'n' among the cases like 'rx.c::fit[n=1-cuda]', 3 are "
                           "needed: 'rx.c::fit[n=1-cuda]' has no result: skipped: no GPU");
    for (int i = 0; i < count; i++)
        results[i].outcome = YPI_SKIPPED;
    expect_missing(growth, "'rx.c::fit[n=1-cpu]' has no result: skipped");
}

/* -- scaling ------------------------------------------------------------------------------- */

static const struct yp_relation strong = yp_strong_scaling("rx.c::fit", "fit", "n");
static const struct yp_relation weak = yp_weak_scaling("rx.c::fit", "fit", "n");

static void expect_efficiency(struct yp_relation relation, double low, double value, double high)
{
    expect_value(relation, "efficiency", low, value, high);
    cr_expect(r.values[0].of_speed);
}

Test(relation, strong_scaling_is_time_that_falls_as_its_axis_grows)
{
    add_point(4, 2.5, 2.5, 2.5); /* 2 by the law */
    add_point(1, 8, 8, 8);
    add_point(2, 4, 4, 4);
    expect_efficiency(strong, 0.8, 0.8, 0.8);
    expect_note("the worst of 2 pairs: 'rx.c::fit[n=4]' beside 'rx.c::fit[n=1]'");
    budgets(at_most("efficiency", 1.1), none);
    expect_efficiency(strong, 1, 1, 1);
    budgets(at_least("efficiency", 0.75), none);
    results[0].measured[0].estimate.low = 2; /* from the law to 4 / 6 */
    results[0].measured[0].estimate.high = 3;
    expect_efficiency(strong, 2. / 3, 0.8, 1);
    cr_expect_eq(findings.count, 2);
    cr_expect_eq(findings.of[findings.worst - 1].count, 2);
}

Test(relation, weak_scaling_is_time_that_stays)
{
    add_point(2, 10, 10, 10);
    add_point(4, 9, 11, 12);
    add_point(8, 16, 16, 16);
    expect_efficiency(weak, 0.625, 0.625, 0.625);
    expect_note("the worst of 2 pairs: 'rx.c::fit[n=8]' beside 'rx.c::fit[n=2]'");
    results[2].measured[0].estimate = results[0].measured[0].estimate;
    expect_efficiency(weak, 10. / 12, 10. / 11, 10. / 9);
}

Test(relation, scaling_is_of_each_series)
{
    add_point_of("cpu", 1, 8, 8, 8);
    add_point_of("cuda", 2, 1, 1, 1);
    add_point_of("cpu", 2, 4, 4, 4);
    add_point_of("cuda", 4, 0.625, 0.625, 0.625);
    expect_efficiency(strong, 0.8, 0.8, 0.8);
    expect_note("the worst of 2 pairs: 'rx.c::fit[n=4-cuda]' beside 'rx.c::fit[n=2-cuda]'");
}

Test(relation, scaling_needs_two_numbers)
{
    add_point(1, 8, 8, 8);
    expect_missing(strong, "one value of 'n' among the cases like 'rx.c::fit[n=1]', 2 are needed");
    add_point(2, 4, 4, 4);
    set_outcome(YPI_SKIPPED, "no launcher");
    expect_missing(strong, "'rx.c::fit[n=2]' has no result: skipped: no launcher");
    set_outcome(YPI_PASSED, NULL);
    add_point(-4, 4, 4, 4);
    expect_misuse(weak, "'rx.c::fit[n=-4]' stands at n=-4: allowed for a scaling is above 0");
    set_double("n", 1);
    last()->setting_count = 0;
    set_string("n", "many");
    expect_misuse(weak, "the axis 'n' of 'rx.c::fit' is one of texts: allowed for a scaling are "
                        "numbers");
}

/* They share processors, so they cannot be faster. */
Test(relation, more_ranks_than_processors_are_no_scaling)
{
    add_point(1, 8, 8, 8);
    add_point(2, 5, 5, 5);
    add_point(4, 5, 5, 5);
    results[2].crowded = true;
    expect_efficiency(strong, 0.8, 0.8, 0.8);
    expect_note("left out: 'rx.c::fit[n=4]': more ranks than processors");
    cr_expect_not(r.crowded);
    results[1].crowded = true;
    expect_efficiency(strong, 0.4, 0.4, 0.4);
    cr_expect(r.crowded, "then nothing is judged");
    cr_expect_not_null(strstr(r.note, "more ranks than processors: speed is recorded"));
    results[1].crowded = false;
    r.crowded = false;
    cr_assert(work_out(growth));
    cr_expect(r.crowded, "of any relation");
}

/* -- hashes -------------------------------------------------------------------------------- */

static const struct yp_relation same_hash = yp_same_hash("rx.c::fit", "rx.c::load[a]");

Test(relation, hashes_that_are_the_same)
{
    add("rx.c::load[a]");
    set_hash(0xfedcba9876543210);
    add("rx.c::fit[a]");
    set_hash(0xfedcba9876543210);
    add("rx.c::load[b]");
    set_hash(1);
    add("rx.c::fit[b]");
    set_hash(0xfedcba9876543210);
    set_outcome(YPI_NOISY, NULL);
    expect_value(same_hash, "distinct hashes", 1, 1, 1);
    cr_expect_not(r.values[0].of_speed);
    expect_value(RELATION(yp_same_hash("rx.c::fit", "rx.c::fit")), "distinct hashes", 1, 1, 1);
}

Test(relation, hashes_that_differ_fail)
{
    add("rx.c::fit[a]");
    set_hash(0x10);
    add("rx.c::fit[b]");
    set_hash(0x10);
    add("rx.c::load[a]");
    set_hash(0xfedcba9876543211);
    expect_failure(same_hash, YPI_CAUSE_EXPECTATION,
                   "the data of 'rx.c::fit[a]' and of 'rx.c::load[a]' differ: 0000000000000010 and "
                   "fedcba9876543211 (2 hashes in 3 cases)");
    cr_assert_eq(r.value_count, 1);
    cr_expect_eq(r.values[0].value, 2);
    results[1].hash = 0;
    expect_failure(same_hash, YPI_CAUSE_EXPECTATION,
                   "the data of 'rx.c::fit[a]' and of 'rx.c::fit[b]' differ: 0000000000000010 and "
                   "0000000000000000 (3 hashes in 3 cases)");
    cr_assert_eq(r.value_count, 1);
    cr_expect_eq(r.values[0].value, 3);
}

Test(relation, hashes_that_are_not_there)
{
    add("rx.c::fit[a]");
    set_hash(1);
    expect_missing(same_hash, "not selected or not declared: 'rx.c::load[a]'");
    expect_missing(RELATION(yp_same_hash("rx.c::fit[a]", "rx.c::fit")),
                   "no case to compare 'rx.c::fit[a]' with");
    add("rx.c::load[a]");
    expect_misuse(same_hash,
                  "'rx.c::load[a]' has no data hash: allowed are cases that call yp_data_hash");
    set_outcome(YPI_XFAILED, NULL);
    expect_missing(same_hash, "'rx.c::load[a]' has no result: xfailed before yp_data_hash");
    set_outcome(YPI_FAILED, NULL);
    expect_missing(same_hash, "'rx.c::load[a]' has no result: failed");
}
