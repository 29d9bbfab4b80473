/* Verdicts and outcomes: every kind of budget at, inside and outside its limit, and the words. */
#include "harness/vocabulary/budget.h"
#include "harness/judge/judge.h"

#include "base/text/text.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void no_setup(struct yp_case *t)
{
    (void)t;
}

/* The case under judgement. */
static struct yp_test test;
static struct yp_case subject;
static struct ypi_result r;

static void let_go(void)
{
    ypi_result_clear(&r);
}

TestSuite(budget, .fini = let_go, .timeout = 60);
TestSuite(outcome, .fini = let_go, .timeout = 60);

/* A whole case with nothing to say but its budgets. */
static void begin(const struct yp_budget *budgets, size_t size)
{
    let_go();
    test = (struct yp_test){.group = "g", .name = "t", .file = "a.c", .line = 7};
    if (size > 0)
        memcpy(test.budgets, budgets, size);
    subject = (struct yp_case){
        .test = &test, .budgets = test.budgets, .id = (char *)(uintptr_t) "a.c::t"};
    r = (struct ypi_result){.c = &subject, .ended = true, .body = 1, .has_memory = true};
}
#define BEGIN(...) \
    do { \
        struct yp_budget list_[] = {__VA_ARGS__}; \
        begin(list_, sizeof list_); \
    } while (0)

static void add_value(const char *name, double value, const char *unit)
{
    r.values = ypi_realloc(r.values, (size_t)r.value_count + 1, sizeof *r.values);
    struct ypi_value *v = &r.values[r.value_count++];
    *v = (struct ypi_value){.value = value};
    snprintf(v->name, sizeof v->name, "%.63s", name);
    snprintf(v->unit, sizeof v->unit, "%s", unit);
}

static void add_gradient(const char *name, double error, double limit, bool precision)
{
    r.gradients = ypi_realloc(r.gradients, (size_t)r.gradient_count + 1, sizeof *r.gradients);
    struct ypi_gradient *g = &r.gradients[r.gradient_count++];
    *g = (struct ypi_gradient){.precision = precision,
                               .error = error,
                               .limit = limit,
                               .slope = 1.0,
                               .expected = 2.0,
                               .got = 2.002,
                               .tensor = "weights"};
    snprintf(g->name, sizeof g->name, "%s", name);
}

/* Ten samples from `first` to `last`: their 99 % interval is all of them. */
static struct ypi_measured *add_measured(const char *name, double first, double last)
{
    r.measured = ypi_realloc(r.measured, (size_t)r.measured_count + 1, sizeof *r.measured);
    struct ypi_measured *m = &r.measured[r.measured_count++];
    *m = (struct ypi_measured){
        .unit = "pixels", .items = 100, .flops = 200, .bytes = 400, .batch = 1, .count = 10};
    snprintf(m->name, sizeof m->name, "%s", name);
    m->samples = ypi_calloc(10, sizeof *m->samples);
    for (int i = 0; i < 10; i++)
        m->samples[i] = i == 9 ? last : first + (last - first) / 9 * i;
    return m;
}

static void judge_as(bool speed_judged, bool noisy_fails, bool skipped)
{
    r.skipped = skipped;
    ypi_judge(&r, &(struct ypi_judging){.speed_judged = speed_judged, .noisy_fails = noisy_fails});
}

static void judge(void)
{
    judge_as(true, false, false);
}

static void expect_verdict(int i, enum ypi_met met)
{
    cr_assert(i < r.verdict_count);
    cr_expect_eq(r.verdicts[i].met, met, "budget %d is %s, wanted %s", i,
                 ypi_met_name(r.verdicts[i].met), ypi_met_name(met));
}

static void expect_outcome(enum ypi_outcome outcome)
{
    cr_expect_eq(r.outcome, outcome, "%s, wanted %s", ypi_outcome_name(r.outcome),
                 ypi_outcome_name(outcome));
}

/* The only failure; "" for none. */
static void expect_failure(enum ypi_cause cause, const char *message)
{
    int wanted = message[0] != '\0';
    cr_expect_eq(r.failure_count, wanted, "%d failures: %s", r.failure_count,
                 r.failure_count > 0 ? r.failures[r.failure_count - 1].message : "");
    if (r.failure_count > 0 && wanted) {
        cr_expect_eq(r.failures[0].cause, cause, "%s", ypi_cause_name(r.failures[0].cause));
        cr_expect_str_eq(r.failures[0].message, message, "%s", r.failures[0].message);
    }
}

/* -- slack --------------------------------------------------------------------------------- */

Test(budget, slack_is_allowed_over_measured)
{
    const struct yp_budget least = yp_min_rate("x", 2), most = yp_max_peak(YP_HOST, 100),
                           none = yp_max_leak(YP_HOST, 0), below = yp_min_value("x", -5);
    cr_expect_eq(ypi_budget_slack(&least, 3), 1.5);
    cr_expect_eq(ypi_budget_slack(&most, 50), 2);
    cr_expect(isnan(ypi_budget_slack(&most, 0)) && isnan(ypi_budget_slack(&most, -1)));
    cr_expect(isnan(ypi_budget_slack(&none, 0)) && isnan(ypi_budget_slack(&none, 3)));
    cr_expect(isnan(ypi_budget_slack(&below, -1)) && isnan(ypi_budget_slack(&below, 1)));
    cr_expect(isnan(ypi_budget_slack(&least, NAN)) && isnan(ypi_budget_slack(&least, INFINITY)));
}

Test(budget, a_slack_is_loose_above_3_of_speed_and_above_10)
{
    struct yp_budget speed = yp_min_share("x", 1), other = yp_max_value("x", 1);
    cr_expect(ypi_slack_is_loose(&speed, nextafter(3, 4)) && !ypi_slack_is_loose(&speed, 3));
    cr_expect(ypi_slack_is_loose(&other, nextafter(10, 11)) && !ypi_slack_is_loose(&other, 10));
    cr_expect_not(ypi_slack_is_loose(&other, NAN));
    speed.required = "the reference";
    cr_expect_not(ypi_slack_is_loose(&speed, 100));
}

/* -- exact budgets ------------------------------------------------------------------------- */

/* Puts `value` where the kind is measured. */
static void measure_exactly(enum yp_budget_kind kind, double value)
{
    uint64_t whole = isfinite(value) && value > 0 ? (uint64_t)value : 0;
    switch (kind) {
    case YP_BUDGET_MAX_PEAK:
        r.memory.host.allocated_peak = whole;
        break;
    case YP_BUDGET_MAX_RESIDENT:
        r.memory.resident_before = 5000;
        r.memory.resident_peak = 5000 + whole;
        break;
    case YP_BUDGET_MAX_RESIDENT_TREE:
        r.memory.has_tree = true;
        r.memory.resident_tree = whole;
        break;
    case YP_BUDGET_MAX_LEAK:
        r.memory.leaked_bytes = whole;
        r.memory.leaked_blocks = 1;
        break;
    case YP_BUDGET_MAX_ALLOCATIONS:
        r.memory.host.allocations = whole;
        break;
    case YP_BUDGET_MAX_GRADIENT_ERROR:
        add_gradient("x", value, 1000, false);
        break;
    default:
        add_value("x", value, "");
    }
}

static void expect_exact(enum yp_budget_kind kind, double limit, double value, enum ypi_met met)
{
    BEGIN({.kind = kind, .name = "x", .limit = limit});
    measure_exactly(kind, value);
    if (kind == YP_BUDGET_MAX_GRADIENT_ERROR)
        r.gradients[0].limit = limit; /* as the check has it from the budget */
    judge();
    cr_expect_eq(r.verdicts[0].met, met, "%s %.17g of %.17g: %s", ypi_budget_kind_name(kind), value,
                 limit, ypi_met_name(r.verdicts[0].met));
    cr_expect_eq(r.outcome, met == YPI_MET ? YPI_PASSED : YPI_FAILED, "%s %.17g of %.17g",
                 ypi_budget_kind_name(kind), value, limit);
    cr_expect_eq(r.failure_count, met != YPI_MET, "one failure, not two: %s %.17g of %.17g",
                 ypi_budget_kind_name(kind), value, limit);
    const struct ypi_verdict *v = &r.verdicts[0];
    cr_expect(isnan(value) || (v->measured == value && v->low == value && v->high == value));
    if (limit == 0 || isnan(value))
        cr_expect(isnan(v->distance));
    else if (isinf(value))
        cr_expect(isinf(v->distance));
    else
        cr_expect(met == YPI_MET ? v->distance >= 0 : v->distance < 0, "%g", v->distance);
}

Test(budget, whole_figures_at_most)
{
    static const enum yp_budget_kind kinds[] = {YP_BUDGET_MAX_PEAK, YP_BUDGET_MAX_RESIDENT,
                                                YP_BUDGET_MAX_RESIDENT_TREE, YP_BUDGET_MAX_LEAK,
                                                YP_BUDGET_MAX_ALLOCATIONS};
    for (int i = 0; i < 5; i++) {
        expect_exact(kinds[i], 1000, 1000, YPI_MET);
        expect_exact(kinds[i], 1000, 999, YPI_MET);
        expect_exact(kinds[i], 1000, 1001, YPI_NOT_MET);
        expect_exact(kinds[i], 0, 0, YPI_MET);
        expect_exact(kinds[i], 0, 1, YPI_NOT_MET);
    }
}

Test(budget, values_and_gradient_errors)
{
    expect_exact(YP_BUDGET_MIN_VALUE, 0.95, 0.95, YPI_MET);
    expect_exact(YP_BUDGET_MIN_VALUE, 0.95, nextafter(0.95, 1), YPI_MET);
    expect_exact(YP_BUDGET_MIN_VALUE, 0.95, nextafter(0.95, 0), YPI_NOT_MET);
    expect_exact(YP_BUDGET_MAX_VALUE, 0.95, 0.95, YPI_MET);
    expect_exact(YP_BUDGET_MAX_VALUE, 0.95, nextafter(0.95, 0), YPI_MET);
    expect_exact(YP_BUDGET_MAX_VALUE, 0.95, nextafter(0.95, 1), YPI_NOT_MET);
    expect_exact(YP_BUDGET_MIN_VALUE, -2, -1, YPI_MET);
    expect_exact(YP_BUDGET_MIN_VALUE, -2, -3, YPI_NOT_MET);
    expect_exact(YP_BUDGET_MAX_VALUE, -2, -3, YPI_MET);
    expect_exact(YP_BUDGET_MAX_VALUE, -2, -1, YPI_NOT_MET);
    expect_exact(YP_BUDGET_MIN_VALUE, 0, 0, YPI_MET);
    expect_exact(YP_BUDGET_MIN_VALUE, 0, -1e-300, YPI_NOT_MET);
    expect_exact(YP_BUDGET_MAX_VALUE, 0, 1e-300, YPI_NOT_MET);
    expect_exact(YP_BUDGET_MAX_GRADIENT_ERROR, 1e-6, 1e-6, YPI_MET);
    expect_exact(YP_BUDGET_MAX_GRADIENT_ERROR, 1e-6, nextafter(1e-6, 1), YPI_NOT_MET);
    expect_exact(YP_BUDGET_MAX_GRADIENT_ERROR, 0, 0, YPI_MET);
    expect_exact(YP_BUDGET_MAX_GRADIENT_ERROR, 0, 1e-300, YPI_NOT_MET);
}

/* case.h: NaN meets no budget, an infinity those that it is on the right side of. */
Test(budget, what_is_no_number_meets_none)
{
    static const enum yp_budget_kind kinds[] = {YP_BUDGET_MIN_VALUE, YP_BUDGET_MAX_VALUE,
                                                YP_BUDGET_MAX_GRADIENT_ERROR};
    for (int k = 0; k < 3; k++) {
        expect_exact(kinds[k], 5, NAN, YPI_NOT_MET);
        expect_exact(kinds[k], 0, -NAN, YPI_NOT_MET);
        expect_exact(kinds[k], 5, INFINITY, k == 0 ? YPI_MET : YPI_NOT_MET);
        expect_exact(kinds[k], 0, INFINITY, k == 0 ? YPI_MET : YPI_NOT_MET);
    }
    for (int k = 0; k < 2; k++) {
        expect_exact(kinds[k], 5, -INFINITY, k == 1 ? YPI_MET : YPI_NOT_MET);
        expect_exact(kinds[k], 0, -INFINITY, k == 1 ? YPI_MET : YPI_NOT_MET);
    }
}

/* Growth is never an underflow; of a huge page all but one of its 512 pages may be unused. */
Test(budget, huge_pages_that_nobody_asked_for_decide_nothing)
{
    static const struct {
        int64_t growth;
        uint64_t huge;
        enum ypi_met met;
        enum ypi_outcome outcome;
    } cases[] = {{-1000, 0, YPI_MET, YPI_PASSED},
                 {1000, 512, YPI_MET, YPI_PASSED},
                 {1001, 0, YPI_NOT_MET, YPI_FAILED},
                 {1511, 512, YPI_UNDECIDED, YPI_NOISY},
                 {1512, 512, YPI_NOT_MET, YPI_FAILED}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        BEGIN(yp_max_resident(1000));
        r.memory.resident_before = 5000;
        r.memory.resident_peak = (uint64_t)(5000 + cases[i].growth);
        r.memory.resident_huge = cases[i].huge;
        judge();
        expect_verdict(0, cases[i].met);
        expect_outcome(cases[i].outcome);
        cr_expect_eq(r.verdicts[0].measured, (double)cases[i].growth);
        cr_expect_eq(r.note != NULL && strstr(r.note, "huge pages") != NULL,
                     cases[i].met == YPI_UNDECIDED);
    }
}

/* As under Callgrind, where no thread adds up. */
Test(budget, memory_of_all_processes_that_nobody_looked_at_is_not_judged)
{
    BEGIN(yp_max_resident_tree(1000));
    r.memory.resident_peak = 2000;
    judge();
    expect_verdict(0, YPI_NOT_JUDGED);
    expect_outcome(YPI_PASSED);
}

/* As many as fit, each judged by its own name. */
Test(budget, each_is_judged_by_its_own_name)
{
    struct yp_budget all[YP_MAX_BUDGETS];
    char names[YP_MAX_BUDGETS][8];
    for (int i = 0; i < YP_MAX_BUDGETS; i++) {
        snprintf(names[i], sizeof names[i], "v%d", i / 2);
        all[i] = (struct yp_budget){.kind = i % 2 ? YP_BUDGET_MAX_VALUE : YP_BUDGET_MIN_VALUE,
                                    .name = names[i],
                                    .limit = (double)(i - i % 2) / 2};
    }
    begin(all, sizeof all);
    for (int i = 0; i < YP_MAX_BUDGETS; i += 2)
        add_value(names[i], all[i].limit + (i % 4 == 0 ? 0 : 0.5), "");
    judge();
    cr_expect_eq(r.verdict_count, YP_MAX_BUDGETS);
    for (int i = 0; i < YP_MAX_BUDGETS; i++)
        expect_verdict(i, i % 4 == 3 ? YPI_NOT_MET : YPI_MET);
    cr_expect_eq(r.failure_count, YP_MAX_BUDGETS / 4);
}

/* -- memory of a device -------------------------------------------------------------------- */

Test(budget, a_cpu_case_uses_no_device_memory)
{
    BEGIN(yp_max_peak(YP_DEVICE, 10), yp_max_peak(YP_HOST, 10));
    r.memory.host.allocated_peak = 100;
    judge();
    expect_verdict(0, YPI_MET);
    expect_verdict(1, YPI_NOT_MET);
    cr_expect_eq(r.verdicts[0].measured, 0);
    BEGIN(yp_max_peak(YP_DEVICE, 10));
    snprintf(subject.device, sizeof subject.device, "cuda");
    judge();
    expect_verdict(0, YPI_UNMEASURED);
    expect_failure(YPI_CAUSE_BUDGET,
                   "budget device memory: at most 10 B accounted at once: the body never told it");
}

/* A leak needs no budget. What a body holds that failed is none, for it had no time to free: what a
 * budget says comes of a body that ran to its end. */
Test(budget, leaks)
{
    static const struct {
        const char *name;
        struct yp_budget budget;
        uint64_t leaked, blocks;
        enum ypi_cause failed; /* before it is judged */
        bool skipped;
        enum ypi_outcome outcome;
        enum ypi_met met;
        int failures;
        const char *message; /* of the last one */
    } cases[] = {
#define FREE yp_max_peak(YP_HOST, 1e9)
#define HELD yp_max_leak(YP_HOST, 0)
        {"without a budget", FREE, 2048, 1, YPI_CAUSES, false, YPI_FAILED, YPI_MET, 1,
         "leaked 2.0 KiB of accounted memory in 1 allocation (yp_max_leak allows some)"},
        {"allowed", yp_max_leak(YP_HOST, 2048), 2048, 2, YPI_CAUSES, false, YPI_PASSED, YPI_MET, 0,
         ""},
        {"of the device only", yp_max_leak(YP_DEVICE, 1e9), 1, 2, YPI_CAUSES, false, YPI_FAILED,
         YPI_MET, 1, "leaked 1 B of accounted memory in 2 allocations (yp_max_leak allows some)"},
        {"failed", FREE, 2048, 1, YPI_CAUSE_EXPECTATION, false, YPI_FAILED, YPI_MET, 1, "before"},
        {"failed, with a budget", HELD, 2048, 1, YPI_CAUSE_EXPECTATION, false, YPI_FAILED,
         YPI_UNMEASURED, 1, "before"},
        {"skipped", FREE, 2048, 1, YPI_CAUSES, true, YPI_SKIPPED, YPI_MET, 0, ""},
        {"skipped, with a budget", HELD, 2048, 1, YPI_CAUSES, true, YPI_SKIPPED, YPI_UNMEASURED, 0,
         ""},
        {"with a budget that is not met", yp_max_peak(YP_HOST, 10), 2048, 1, YPI_CAUSES, false,
         YPI_FAILED, YPI_NOT_MET, 2,
         "leaked 2.0 KiB of accounted memory in 1 allocation (yp_max_leak allows some)"},
        {"found once the body was over", FREE, 2048, 1, YPI_CAUSE_LEAK, false, YPI_FAILED, YPI_MET,
         2, "leaked 2.0 KiB of accounted memory in 1 allocation (yp_max_leak allows some)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        BEGIN(cases[i].budget);
        r.memory.host.allocated_peak = 100;
        r.memory.leaked_bytes = cases[i].leaked;
        r.memory.leaked_blocks = cases[i].blocks;
        if (cases[i].failed != YPI_CAUSES)
            ypi_result_fail(&r, cases[i].failed, NULL, 0, "before");
        judge_as(true, false, cases[i].skipped);
        cr_expect_eq(r.outcome, cases[i].outcome, "%s: %s", cases[i].name,
                     ypi_outcome_name(r.outcome));
        cr_expect_eq(r.verdicts[0].met, cases[i].met, "%s: %s", cases[i].name,
                     ypi_met_name(r.verdicts[0].met));
        const char *last = r.failure_count > 0 ? r.failures[r.failure_count - 1].message : "";
        cr_expect(r.failure_count == cases[i].failures && strcmp(last, cases[i].message) == 0,
                  "%s: %d, %s", cases[i].name, r.failure_count, last);
    }
}

/* -- speed --------------------------------------------------------------------------------- */

/* 0.4 to 0.5 s an iteration of 100 pixels, 200 operations, 400 bytes: judged; with noise as a
 * failure; recorded; after another failure. */
static void expect_speed(struct yp_budget budget, enum ypi_met met)
{
    for (int how = 0; how < 4; how++) {
        bool noisy_fails = how == 1, failed = how == 3;
        begin(&budget, sizeof budget);
        add_measured("fit", 0.4, 0.5);
        if (failed)
            ypi_result_fail(&r, YPI_CAUSE_EXPECTATION, NULL, 0, "no");
        judge_as(how != 2, noisy_fails, false);
        enum ypi_met wanted = how != 2 ? met : YPI_RECORDED;
        cr_expect_eq(r.verdicts[0].met, wanted, "%s of %.17g: %s",
                     ypi_budget_kind_name(budget.kind), budget.limit,
                     ypi_met_name(r.verdicts[0].met));
        bool fails = wanted == YPI_NOT_MET || (wanted == YPI_UNDECIDED && noisy_fails);
        expect_outcome(fails || failed           ? YPI_FAILED
                       : wanted == YPI_UNDECIDED ? YPI_NOISY
                                                 : YPI_PASSED);
        cr_expect_eq(r.failure_count, fails + failed);
    }
}

Test(budget, speed_by_its_interval)
{
    static const struct {
        enum yp_budget_kind kind;
        double work;
    } rates[] = {
        {YP_BUDGET_MIN_RATE, 100}, {YP_BUDGET_MIN_FLOPS, 200}, {YP_BUDGET_MIN_BANDWIDTH, 400}};
    const enum ypi_met met[] = {YPI_MET,       YPI_MET,     YPI_UNDECIDED, YPI_UNDECIDED,
                                YPI_UNDECIDED, YPI_NOT_MET, YPI_NOT_MET};
    for (int i = 0; i < 3; i++) {
        double low = rates[i].work / 0.5, high = rates[i].work / 0.4;
        const double limits[] = {
            0, low, nextafter(low, high), (low + high) / 2, high, nextafter(high, INFINITY), 1e300};
        for (int k = 0; k < 7; k++)
            expect_speed(
                (struct yp_budget){.kind = rates[i].kind, .name = "fit", .limit = limits[k]},
                met[k]);
    }
    const double limits[] = {0.5, 1, nextafter(0.5, 0), 0.45, 0.4, nextafter(0.4, 0), 0};
    for (int k = 0; k < 7; k++)
        expect_speed((struct yp_budget)yp_max_latency("fit", limits[k]), met[k]);
}

static void expect_odd_speed(double sample, enum yp_budget_kind kind, double limit,
                             enum ypi_met met)
{
    BEGIN({.kind = kind, .name = "fit", .limit = limit});
    struct ypi_measured *m = add_measured("fit", 0.4, 0.5);
    for (int i = 0; i < 10; i++)
        m->samples[i] = sample;
    judge();
    cr_expect_eq(r.verdicts[0].met, met, "samples of %g, %s: %s", sample,
                 ypi_budget_kind_name(kind), ypi_met_name(r.verdicts[0].met));
}

Test(budget, speed_that_is_no_number_is_not_met)
{
    expect_odd_speed(NAN, YP_BUDGET_MIN_RATE, 0, YPI_NOT_MET);
    expect_odd_speed(NAN, YP_BUDGET_MAX_LATENCY, 1e300, YPI_NOT_MET);
    expect_odd_speed(INFINITY, YP_BUDGET_MAX_LATENCY, 1e300, YPI_NOT_MET);
    expect_odd_speed(INFINITY, YP_BUDGET_MIN_RATE, 1, YPI_NOT_MET);
    expect_odd_speed(0, YP_BUDGET_MIN_RATE, 1, YPI_NOT_MET);
    expect_odd_speed(0, YP_BUDGET_MAX_LATENCY, 1, YPI_NOT_MET); /* nothing is done in no time */
    expect_odd_speed(19e-12, YP_BUDGET_MAX_LATENCY, 1, YPI_NOT_MET);
    expect_odd_speed(20e-12, YP_BUDGET_MAX_LATENCY, 1, YPI_MET);
}

/* One bad sample among good ones does not make it noisy: it makes it nothing. */
Test(budget, one_nan_sample_spoils_it)
{
    BEGIN(yp_min_rate("fit", 1));
    add_measured("fit", 0.4, 0.5)->samples[3] = NAN;
    judge();
    expect_verdict(0, YPI_NOT_MET);
    expect_failure(YPI_CAUSE_BUDGET, "budget fit at least 1 pixels/s: n/a [n/a, n/a]");
}

/* -- what was never measured --------------------------------------------------------------- */

Test(budget, without_declared_work_there_is_no_rate)
{
    BEGIN(yp_min_rate("fit", 1), yp_min_flops("fit", 1), yp_min_bandwidth("fit", 1),
          yp_max_latency("fit", 1));
    struct ypi_measured *m = add_measured("fit", 0.1, 0.1);
    m->items = m->flops = m->bytes = 0;
    judge();
    for (int i = 0; i < 3; i++)
        expect_verdict(i, YPI_UNMEASURED);
    expect_verdict(3, YPI_MET);
    cr_expect_eq(r.failure_count, 3);
    cr_expect_str_eq(r.failures[0].message, "budget fit at least 1 pixels/s: the body never "
                                            "measured it, or declared no work for it");
}

Test(budget, a_measurement_without_samples_is_none)
{
    for (int recorded = 0; recorded < 2; recorded++) {
        BEGIN(yp_max_latency("fit", 1));
        if (!recorded)
            add_measured("fit", 1, 1)->count = 0;
        judge_as(!recorded, false, false);
        expect_verdict(0, YPI_UNMEASURED);
        expect_outcome(YPI_FAILED);
    }
}

/* A crash, or a requirement that ended the body before it measured: every budget is listed, and
 * there is one reason. */
Test(budget, of_a_failed_case_are_listed_without_a_failure_each)
{
    for (int crashed = 0; crashed < 2; crashed++) {
        BEGIN(yp_min_rate("fit", 1), yp_min_value("auc", 1), yp_max_gradient_error("g", 1),
              yp_max_peak(YP_HOST, 1));
        enum ypi_cause cause = crashed ? YPI_CAUSE_SIGNAL : YPI_CAUSE_EXPECTATION;
        r.ended = r.has_memory = !crashed;
        ypi_result_fail(&r, cause, NULL, 0, "why");
        judge();
        cr_expect_eq(r.verdict_count, 4);
        for (int i = 0; i < 3 + crashed; i++)
            expect_verdict(i, YPI_UNMEASURED);
        expect_failure(cause, "why");
        expect_outcome(YPI_FAILED);
    }
}

/* What was measured before the crash is judged. */
Test(budget, measured_before_a_crash_are_judged)
{
    BEGIN(yp_min_value("auc", 1), yp_max_latency("fit", 0.1));
    r.ended = false;
    r.has_memory = false;
    add_value("auc", 0.5, "");
    ypi_result_fail(&r, YPI_CAUSE_SIGNAL, NULL, 0, "crashed");
    judge();
    expect_verdict(0, YPI_NOT_MET);
    expect_verdict(1, YPI_UNMEASURED);
    cr_expect_eq(r.failure_count, 2);
}

/* -- gradients ----------------------------------------------------------------------------- */

#define WRONG_GRADIENT \
    "gradient 'loss': relative error 0.001 in tensor 'weights', at most 1e-06 is allowed: by " \
    "differences 2, by the gradient 2.002 (slope of the remainder 1.00, 2 when right)"

/* A budget of gradients does not judge a check of precision. */
Test(budget, gradients_and_precision)
{
    static const struct {
        const char *name;
        double allowed; /* by a budget, or 0 */
        double error, limit;
        bool precision;
        enum ypi_met met;
        const char *message; /* of the one failure; NULL: of any */
    } cases[] = {
        {"wrong", 0, 1e-3, 1e-6, false, YPI_MET, WRONG_GRADIENT},
        {"wrong, with a budget", 1e-6, 1e-3, 1e-6, false, YPI_NOT_MET, WRONG_GRADIENT},
        {"allowed by its budget", 1e-2, 1e-3, 1e-2, false, YPI_MET, ""},
        {"precise", 0, 3, 3, true, YPI_MET, ""},
        {"not precise", 0, 3.5, 3, true, YPI_MET,
         "precision of 'loss': the error 2 is 3.5 times that of the plain implementation (2), at "
         "most 3 times is allowed; worst at weights"},
        {"no number", 0, NAN, 3, true, YPI_MET, NULL},
        {"precise, with a budget", 100, 1, 3, true, YPI_UNMEASURED, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct yp_budget budget = yp_max_gradient_error("loss", cases[i].allowed);
        begin(&budget, cases[i].allowed > 0 ? sizeof budget : 0);
        add_gradient("lose", 0, 1, false);
        add_gradient("loss", cases[i].error, cases[i].limit, cases[i].precision);
        judge();
        const char *message = cases[i].message;
        expect_outcome(message != NULL && message[0] == '\0' ? YPI_PASSED : YPI_FAILED);
        if (cases[i].allowed > 0)
            expect_verdict(0, cases[i].met);
        if (message != NULL)
            expect_failure(YPI_CAUSE_GRADIENT, message);
    }
}

/* -- words --------------------------------------------------------------------------------- */

static void expect_message(struct yp_budget budget, double value, const char *wanted)
{
    begin(&budget, sizeof budget);
    if (ypi_budget_is_speed(budget.kind))
        add_measured("x", 0.4, 0.5);
    else
        measure_exactly(budget.kind, value);
    judge_as(true, true, false);
    enum ypi_cause cause = budget.kind == YP_BUDGET_MAX_LEAK ? YPI_CAUSE_LEAK : YPI_CAUSE_BUDGET;
    expect_failure(cause, wanted);
}

Test(budget, failures_show_figure_interval_limit_and_distance)
{
    expect_message((struct yp_budget)yp_min_rate("x", 400), 0,
                   "budget x at least 400 pixels/s: 222.2 pixels/s [200 pixels/s, 250 pixels/s], "
                   "44.4 % below the limit");
    expect_message((struct yp_budget)yp_min_rate("x", 220), 0,
                   "budget x at least 220 pixels/s: too noisy, 222.2 pixels/s [200 pixels/s, 250 "
                   "pixels/s], 1.01 % above the limit");
    expect_message((struct yp_budget)yp_max_latency("x", 0.3), 0,
                   "budget x at most 300 ms: 450 ms [400 ms, 500 ms], 50 % above the limit");
    expect_message((struct yp_budget)yp_max_leak(YP_HOST, 0), 5,
                   "budget host memory: at most 0 B left behind: 5 B");
    expect_message((struct yp_budget)yp_max_value("x", -2), -1,
                   "budget x at most -2: -1, 50 % above the limit");
    expect_message((struct yp_budget)yp_max_value("x", 1), INFINITY, "budget x at most 1: inf");
}

/* -- outcomes ------------------------------------------------------------------------------ */

/* A case without budgets: what happened to it, and what that is. */
Test(outcome, of_what_happened)
{
    static const struct {
        const char *name;
        bool setup, body, failed, skipped;
        enum ypi_outcome outcome;
    } cases[] = {
        {"skipped after a failure", false, true, true, true, YPI_FAILED},
        {"failed in the body behind a setup", true, true, true, false, YPI_FAILED},
        {"failed in a body too short to be timed", false, false, true, false, YPI_FAILED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin(NULL, 0);
        test.setup = cases[i].setup ? no_setup : NULL;
        r.body = cases[i].body;
        if (cases[i].failed)
            ypi_result_fail(&r, YPI_CAUSE_EXPECTATION, NULL, 0, "no licence");
        judge_as(true, false, cases[i].skipped);
        cr_expect_eq(r.outcome, cases[i].outcome, "%s: %s", cases[i].name,
                     ypi_outcome_name(r.outcome));
    }
}

Test(outcome, expected_failures)
{
    static const struct {
        bool strict, fails, skips;
        enum ypi_outcome outcome;
        const char *reason;
    } cases[] = {{true, true, false, YPI_XFAILED, "known"},
                 {false, false, true, YPI_SKIPPED, "no data"},
                 {true, false, true, YPI_SKIPPED, "no data"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin(NULL, 0);
        subject.xfail = "known";
        test.xfail_strict = cases[i].strict;
        r.reason = cases[i].skips ? ypi_strdup("no data") : NULL;
        if (cases[i].fails)
            ypi_result_fail(&r, YPI_CAUSE_EXPECTATION, NULL, 0, "wrong");
        judge_as(true, false, cases[i].skips);
        expect_outcome(cases[i].outcome);
        cr_expect_str_eq(r.reason, cases[i].reason);
    }
}

Test(outcome, an_expected_failure_may_be_a_budget_s)
{
    BEGIN(yp_min_value("auc", 1));
    subject.xfail = "known";
    add_value("auc", 0.5, "");
    judge();
    expect_verdict(0, YPI_NOT_MET);
    expect_outcome(YPI_XFAILED);
}
