/* What verdicts say of a case. tests/usage/verdicts.py has what fresh processes say of a budget of
 * speed. */
#include "harness/judge/judge.h"

#include "base/text/text.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CAPACITY = 4, SAMPLES = 10 };

/* At most 1 ms; `others` are fresh processes. */
static struct yp_test test;
static struct yp_case subject;
static struct ypi_result results[1 + CAPACITY];
static int count;
static const struct ypi_judging how = {.speed_judged = true, .confirmations = 3};

enum said { INSIDE, OUTSIDE };

static void add_process(enum said said)
{
    struct ypi_result *r = &results[count];
    *r = (struct ypi_result){
        .c = &subject, .ended = true, .body = 1, .has_memory = true, .attempt = count};
    count++;
    r->measured_count = 1;
    r->measured = ypi_calloc(1, sizeof *r->measured);
    struct ypi_measured *m = r->measured;
    *m = (struct ypi_measured){.name = "work", .batch = 1, .count = SAMPLES, .bound = -1};
    m->samples = ypi_calloc(SAMPLES, sizeof *m->samples);
    for (int i = 0; i < SAMPLES; i++)
        m->samples[i] = said == INSIDE ? 0.9e-3 : 1.1e-3;
    ypi_judge_budgets(r, &how);
}

static void let_go(void)
{
    for (int i = 0; i < count; i++)
        ypi_result_clear(&results[i]);
    count = 0;
}

TestSuite(judge, .fini = let_go, .timeout = 60);

static void begin(enum said said)
{
    let_go();
    test = (struct yp_test){
        .group = "g",
        .name = "t",
        .file = "a.c",
        .budgets = {{.kind = YP_BUDGET_MAX_LATENCY, .name = "work", .limit = 1e-3}}};
    subject = (struct yp_case){
        .test = &test, .budgets = test.budgets, .id = (char *)(uintptr_t) "a.c::t"};
    add_process(said);
}

static bool more(void)
{
    return ypi_needs_confirmation(&results[0], &how, results + 1, count - 1);
}

static void expect(enum ypi_outcome outcome, enum ypi_met met)
{
    cr_expect_not(more());
    ypi_conclude(&results[0], &how, results + 1, count - 1);
    cr_expect_eq(results[0].outcome, outcome, "%s", ypi_outcome_name(results[0].outcome));
    cr_expect_eq(results[0].verdicts[0].met, met, "%s", ypi_met_name(results[0].verdicts[0].met));
    let_go();
}

/* Judges it as one of these budgets alone says. */
static enum ypi_met judge_as(struct yp_budget budget, const struct ypi_judging *judging)
{
    budget.name = "work";
    test.budgets[0] = budget;
    free(results[0].verdicts);
    ypi_judge(&results[0], judging);
    return results[0].verdicts[0].met;
}

static enum ypi_met judged(struct yp_budget budget)
{
    return judge_as(budget, &how);
}

static struct yp_budget at_most(enum yp_counter counter, double limit)
{
    return (struct yp_budget){.kind = YP_BUDGET_MAX_COUNT, .counter = counter, .limit = limit};
}

/* Speed is not judged here: what is resident is, and asked of others like it. */
static struct ypi_judging memory_only = {.confirmations = 3};

static void add_resident(uint64_t bytes)
{
    if (count == 0)
        test.budgets[0] = (struct yp_budget)yp_max_resident(5 * YP_MIB);
    struct ypi_result *r = &results[count];
    *r = (struct ypi_result){
        .c = &subject, .ended = true, .body = 1, .has_memory = true, .attempt = count};
    count++;
    r->memory.resident_before = YP_MIB;
    r->memory.resident_peak = YP_MIB + bytes;
    ypi_judge_budgets(r, &memory_only);
}

Test(judge, what_is_resident_is_asked_of_three_more)
{
    begin(INSIDE);
    let_go();
    const uint64_t inside = 5 * YP_MIB, outside = inside + 4096;
    add_resident(inside);
    expect(YPI_PASSED, YPI_MET);
    add_resident(outside);
    cr_expect(more());
    add_resident(inside);
    expect(YPI_NOISY, YPI_UNDECIDED);
    add_resident(outside);
    for (int i = 0; i < 3; i++) {
        cr_expect(more());
        add_resident(outside);
    }
    expect(YPI_FAILED, YPI_NOT_MET);
}

Test(judge, what_is_resident_under_a_sanitizer_is_recorded_but_for_a_command)
{
    begin(INSIDE);
    let_go();
    memory_only.sanitized = true;
    add_resident(6 * YP_MIB);
    cr_expect(!more());
    expect(YPI_PASSED, YPI_RECORDED);
    test.command = "a program of its own";
    add_resident(6 * YP_MIB);
    cr_expect(more());
}

Test(judge, fewer_than_were_to_be_asked_prove_nothing)
{
    begin(OUTSIDE);
    add_process(OUTSIDE); /* and then the run was stopped */
    ypi_conclude(&results[0], &how, results + 1, 1);
    cr_expect_eq(results[0].outcome, YPI_NOISY);
}

Test(judge, nobody_is_asked_where_there_is_nothing_to_decide)
{
    begin(OUTSIDE);
    ypi_result_fail(&results[0], YPI_CAUSE_EXPECTATION, NULL, 0, "wrong");
    cr_expect_not(more(), "it fails in any case");
    begin(OUTSIDE);
    results[0].ended = false;
    cr_expect_not(more(), "it crashed");
}

/* -- work that has to share its processors -------------------------------------------------- */

/* What is made of times that were taken so is no better. */
Test(judge, crowded_times_may_let_a_relation_pass_but_not_fail)
{
    const struct {
        const char *name;
        double low, value, high, limit;
        bool crowded;
        enum ypi_met met;
    } values[] = {{"exponent", -0.6, 0.2, 0.8, 0.9, false, YPI_NOT_MET},
                  {"exponent", -0.6, 0.2, 0.8, 0.9, true, YPI_UNDECIDED},
                  {"exponent", -0.6, 0.001, 0.8, 0.9, true, YPI_UNDECIDED},
                  {"exponent", 0.95, 1.0, 1.1, 0.9, true, YPI_MET},
                  {"ratio", 0.4, 0.5, 0.6, 2, true, YPI_UNDECIDED},
                  {"ratio", 0.004, 0.005, 0.006, 2, true, YPI_NOT_MET},
                  {"ratio", 2.5, 3, 3.5, 2, true, YPI_MET}};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        begin(INSIDE);
        test.budgets[0] = (struct yp_budget){
            .kind = YP_BUDGET_MIN_VALUE, .name = values[i].name, .limit = values[i].limit};
        struct ypi_value value = {.value = values[i].value,
                                  .low = values[i].low,
                                  .high = values[i].high,
                                  .of_speed = true,
                                  .crowded = values[i].crowded};
        snprintf(value.name, sizeof value.name, "%s", values[i].name);
        results[0].values = &value;
        results[0].value_count = 1;
        ypi_judge_budgets(&results[0], &how);
        cr_expect_eq(results[0].verdicts[0].met, values[i].met, "value %zu: %s", i,
                     ypi_met_name(results[0].verdicts[0].met));
        cr_expect_eq(ypi_needs_confirmation(&results[0], &how, NULL, 0), values[i].met != YPI_MET);
        results[0].values = NULL;
        results[0].value_count = 0;
    }
}

static void expect_met(const char *name, struct ypi_noise noise, int threads, double seconds,
                       enum ypi_met met)
{
    struct ypi_measured *m = results[0].measured;
    m->threads = threads;
    m->noise = noise;
    for (int i = 0; i < SAMPLES; i++)
        m->samples[i] = seconds;
    free(results[0].verdicts);
    ypi_judge_budgets(&results[0], &how);
    cr_expect_eq(results[0].verdicts[0].met, met, "%s, %g s: %s", name, seconds,
                 ypi_met_name(results[0].verdicts[0].met));
}

Test(judge, crowded_work_may_pass_but_not_fail)
{
    const struct {
        const char *name;
        double others, stolen, throttled;
        int threads;
        enum ypi_met met;
    } cases[] = {{"quiet", 0, 0, 0, 2, YPI_NOT_MET},
                 {"a processor for others", 1.0, 0, 0, 1, YPI_NOT_MET},
                 {"others use little", 0.2, 0, 0, 2, YPI_NOT_MET},
                 {"others use more", 0.3, 0, 0, 2, YPI_UNDECIDED},
                 {"others use half", 1.0, 0, 0, 2, YPI_UNDECIDED},
                 {"little is stolen", 0, 0.05, 0, 1, YPI_NOT_MET},
                 {"much is stolen", 0, 0.2, 0, 1, YPI_UNDECIDED},
                 {"hardly throttled", 0, 0, 0.005, 1, YPI_NOT_MET},
                 {"throttled", 0, 0, 0.02, 1, YPI_UNDECIDED},
                 {"throttled most of the time", 0, 0, 0.8, 2, YPI_UNDECIDED},
                 {"nothing is known", NAN, NAN, NAN, 2, YPI_NOT_MET},
                 {"no threads are known", 2.0, 0, 0, 0, YPI_NOT_MET}};
    begin(OUTSIDE);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct ypi_noise noise = {.wall = 1,
                                        .own = cases[i].threads,
                                        .others = cases[i].others,
                                        .stolen = cases[i].stolen,
                                        .throttled = cases[i].throttled,
                                        .processors = 2};
        expect_met(cases[i].name, noise, cases[i].threads, 1.1e-3, cases[i].met);
        expect_met(cases[i].name, noise, cases[i].threads, 1.1, YPI_NOT_MET); /* nobody's fault */
        expect_met(cases[i].name, noise, cases[i].threads, 0.5e-3, YPI_MET);
    }
}

/* A quota may leave so little that it alone explains more than any crowd; a sleeper's own time
 * bounds nothing. A thread that waits for one whose processor another has waits for a slice of the
 * scheduler. */
Test(judge, a_quota_and_a_turn_explain_as_much_as_they_took)
{
    static const struct {
        const char *name;
        double own, others, throttled;
        int threads;
        double limit, seconds;
        enum ypi_met met;
    } cases[] = {{"a quota left 2 ms", 0.002, 0, 0.998, 1, 1e-3, 1, YPI_UNDECIDED},
                 {"a quota left half", 0.5, 0, 0.5, 1, 1e-3, 1, YPI_NOT_MET},
                 {"of four threads", 4, 0, 4, 1, 1e-3, 1, YPI_NOT_MET},
                 {"a sleeper", 0.001, 0, 0.02, 1, 1e-3, 1, YPI_NOT_MET},
                 {"a sleeper, 50 times", 0.001, 0, 0.02, 1, 1e-3, 50e-3, YPI_UNDECIDED},
                 {"within a turn", 1.2, 0.8, 0, 2, 20e-6, 8e-3, YPI_UNDECIDED},
                 {"longer than a turn", 1.2, 0.8, 0, 2, 20e-6, 80e-3, YPI_NOT_MET}};
    begin(OUTSIDE);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct ypi_noise noise = {.wall = 1,
                                        .own = cases[i].own,
                                        .others = cases[i].others,
                                        .throttled = cases[i].throttled,
                                        .processors = 2};
        test.budgets[0].limit = cases[i].limit;
        expect_met(cases[i].name, noise, cases[i].threads, cases[i].seconds, cases[i].met);
    }
}

/* Others take processors away; they add no processor time to work of one thread. */
Test(judge, others_do_not_explain_the_time_that_work_itself_used)
{
    static const struct {
        const char *name;
        struct yp_budget budget;
        double seconds, cpu; /* of a sample */
        double stolen;       /* of a second */
        int threads;
        enum ypi_met met;
    } cases[] = {
        {"65-fold", yp_max_latency("work", 1e-3), 65e-3, 40e-3, 0, 1, YPI_NOT_MET},
        {"it slept", yp_max_latency("work", 1e-3), 65e-3, 1e-3, 0, 1, YPI_UNDECIDED},
        {"caches are shared", yp_max_latency("work", 1e-3), 65e-3, 3.9e-3, 0, 1, YPI_UNDECIDED},
        {"more than that", yp_max_latency("work", 1e-3), 65e-3, 4.1e-3, 0, 1, YPI_NOT_MET},
        {"counted while stolen", yp_max_latency("work", 1e-3), 65e-3, 4.1e-3, 0.5, 1,
         YPI_UNDECIDED},
        {"two threads may spin", yp_max_latency("work", 1e-3), 65e-3, 40e-3, 0, 2, YPI_UNDECIDED},
        {"a rate", yp_min_rate("work", 1000), 65e-3, 4.1e-3, 0, 1, YPI_NOT_MET},
        {"a rate, in less", yp_min_rate("work", 1000), 65e-3, 3.9e-3, 0, 1, YPI_UNDECIDED},
        {"the time itself", yp_max_cpu_time("work", 1e-3), 65e-3, 4.1e-3, 0, 1, YPI_NOT_MET},
        {"the time itself, less", yp_max_cpu_time("work", 1e-3), 65e-3, 3.9e-3, 0, 1,
         YPI_UNDECIDED},
    };
    double cpu[SAMPLES];
    begin(OUTSIDE);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct ypi_noise noise = {.wall = 1,
                                        .own = cases[i].stolen > 0 ? 0.5 : 0.8,
                                        .others = 1.7,
                                        .stolen = cases[i].stolen,
                                        .processors = 2};
        struct ypi_measured *m = results[0].measured;
        for (int k = 0; k < SAMPLES; k++)
            cpu[k] = cases[i].cpu;
        m->cpu = cpu;
        m->items = 1;
        test.budgets[0] = cases[i].budget;
        expect_met(cases[i].name, noise, cases[i].threads, cases[i].seconds, cases[i].met);
        m->cpu = NULL;
    }
}

Test(judge, one_sample_is_no_speed)
{
    struct ypi_judging once = {.speed_judged = false, .once = true};
    begin(OUTSIDE);
    results[0].measured_count = 0;
    ypi_judge(&results[0], &once);
    cr_expect_eq(results[0].outcome, YPI_PASSED);
    cr_expect_eq(results[0].verdicts[0].met, YPI_NOT_JUDGED);
}

/* Growth is memory, and a name that was never measured is a mistake; tests/usage/verdicts.py has
 * what is not judged. */
Test(judge, what_was_not_timed_may_fail)
{
    struct ypi_judging off = {.speed_judged = false};
    begin(INSIDE);
    results[0].measured[0].kind = YPI_MEASURED_RUN;
    results[0].measured[0].growth_resident = 4096;
    test.budgets[0] = (struct yp_budget)yp_max_growth("work", 1024);
    test.budgets[1] = (struct yp_budget)yp_max_latency("wrok", 1);
    ypi_judge(&results[0], &off);
    cr_expect_eq(results[0].outcome, YPI_FAILED);
    cr_expect_eq(results[0].verdicts[0].met, YPI_NOT_MET);
    cr_expect_eq(results[0].verdicts[1].met, YPI_UNMEASURED);
}

/* -- counters that are not there ------------------------------------------------------------ */

Test(judge, a_budget_on_an_absent_counter_skips_and_never_passes)
{
    static const struct {
        enum yp_counter counter;
        bool audited;
        const char *reason;
    } absent[] = {
        {YP_INSTRUCTIONS, false, "work instructions an iteration at most 1000 cannot be judged: "},
        {YP_INSTRUCTIONS, false, "--instructions"},
        {YP_GPU_READ, false,
         "work gpu bytes read an iteration at most 1000 cannot be judged: it is counted under "
         "--audit"},
        {YP_GPU_READ, true, "this device has no metric of it"},
        {YP_CYCLES, true, "under --audit only the device counts"},
    };
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++) {
        begin(INSIDE);
        if (absent[i].audited)
            results[0].measured[0].counts[YP_GPU_FP32] = (struct ypi_count){YPI_COUNTED_CUPTI, 5};
        cr_expect_eq(judged(at_most(absent[i].counter, 1000)), YPI_ABSENT);
        cr_expect_eq(results[0].outcome, YPI_SKIPPED);
        cr_expect_not_null(strstr(results[0].reason, absent[i].reason), "%s: %s", absent[i].reason,
                           results[0].reason);
    }
    begin(INSIDE);
    ypi_result_fail(&results[0], YPI_CAUSE_EXPECTATION, NULL, 0, "wrong");
    judged(at_most(YP_CYCLES, 1000));
    cr_expect_eq(results[0].outcome, YPI_FAILED, "a failure counts for more");
}

/* -- figures of a measurement -------------------------------------------------------------- */

Test(judge, counts_and_growth_are_exact)
{
    const struct yp_budget growth = {.kind = YP_BUDGET_MAX_GROWTH, .limit = 64};
    begin(INSIDE);
    struct ypi_measured *m = results[0].measured;
    for (int beyond = 0; beyond < 2; beyond++) {
        m->counts[YP_INSTRUCTIONS] = (struct ypi_count){YPI_COUNTED_CALLGRIND, 1000 + beyond};
        m->growth_resident = 64 + beyond;
        cr_expect_eq(judged(at_most(YP_INSTRUCTIONS, 1000)), beyond ? YPI_NOT_MET : YPI_MET);
        cr_expect_eq(judged(growth), beyond ? YPI_NOT_MET : YPI_MET);
    }
    m->growth_resident = NAN; /* of few samples */
    cr_expect_eq(judged(growth), YPI_UNMEASURED);
}

Test(judge, processor_time_has_an_interval)
{
    begin(INSIDE);
    struct ypi_measured *m = results[0].measured;
    struct yp_budget cpu = {.kind = YP_BUDGET_MAX_CPU_TIME, .limit = 2e-3};
    cr_expect_eq(judged(cpu), YPI_UNMEASURED);
    m->cpu = ypi_calloc(SAMPLES, sizeof *m->cpu);
    for (int i = 0; i < SAMPLES; i++)
        m->cpu[i] = 1.9e-3;
    cr_expect_eq(judged(cpu), YPI_MET);
    for (int i = 0; i < SAMPLES; i++)
        m->cpu[i] = 1.9e-3 + 0.2e-3 * (i % 2);
    cr_expect_eq(judged(cpu), YPI_UNDECIDED);
}

Test(judge, a_share_comes_of_the_stretches)
{
    begin(INSIDE);
    struct ypi_measured *m = results[0].measured;
    struct yp_budget share = {.kind = YP_BUDGET_MIN_SHARE, .limit = 0.5};
    cr_expect_eq(judged(share), YPI_UNMEASURED, "nothing was probed");
    m->share_count = SAMPLES;
    m->shares = ypi_calloc(SAMPLES, sizeof *m->shares);
    for (int i = 0; i < SAMPLES; i++)
        m->shares[i] = 0.55;
    cr_expect_eq(judged(share), YPI_MET);
    for (int i = 0; i < SAMPLES; i++)
        m->shares[i] = 0.45;
    cr_expect_eq(judged(share), YPI_NOT_MET);
    for (int i = 0; i < SAMPLES; i++)
        m->shares[i] = 1.3; /* shown as it is */
    cr_expect_eq(judged(share), YPI_MET);
    cr_expect_float_eq(results[0].verdicts[0].measured, 1.3, 1e-12);
}

/* 459 samples with none beyond the limit are what p99 needs; 458 are not enough. */
Test(judge, a_percentile_needs_its_samples)
{
    begin(INSIDE);
    struct ypi_measured *m = results[0].measured;
    struct yp_budget p99 = {.kind = YP_BUDGET_MAX_PERCENTILE, .quantile = 0.99, .limit = 1e-3};
    cr_expect_eq(judged(p99), YPI_UNDECIDED);
    free(m->samples);
    m->samples = ypi_calloc(1000, sizeof *m->samples);
    for (int i = 0; i < 1000; i++)
        m->samples[i] = 0.5e-3;
    m->count = 458;
    cr_expect_eq(judged(p99), YPI_UNDECIDED);
    m->count = 459;
    cr_expect_eq(judged(p99), YPI_MET);
    /* With one beyond, 662. */
    m->samples[0] = 2e-3;
    m->count = 661;
    cr_expect_eq(judged(p99), YPI_UNDECIDED);
    m->count = 662;
    cr_expect_eq(judged(p99), YPI_MET);
    /* Far more than one in a hundred. */
    for (int i = 0; i < 40; i++)
        m->samples[i] = 2e-3;
    m->count = 1000;
    cr_expect_eq(judged(p99), YPI_NOT_MET);
    m->samples[0] = NAN; /* is beyond every limit */
    cr_expect_eq(judged(p99), YPI_NOT_MET);
}

Test(judge, a_wrong_gradient_has_what_makes_it_so)
{
    static const struct {
        enum yp_gradient_finding finding;
        const char *text; /* at the end of the message */
    } expected[] = {
        {YP_GRADIENT_NOTHING, "2 when right)"},
        {YP_GRADIENT_F_UNWRITTEN, "; y[7] is left unwritten by f, or added to what was there"},
        {YP_GRADIENT_VJP_OUTSIDE, "; the vector-Jacobian product writes outside of g"},
        {YP_GRADIENT_KINK,
         "; f has a kink at x: its slopes on both sides differ, however small the step"},
        {(enum yp_gradient_finding)1000, "2 when right)"},
    };
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        begin(INSIDE);
        struct ypi_gradient gradient = {.name = "loss",
                                        .tensor = "x",
                                        .error = INFINITY,
                                        .limit = 1e-6,
                                        .finding = expected[i].finding,
                                        .index = 7};
        results[0].gradients = &gradient;
        results[0].gradient_count = 1;
        ypi_conclude(&results[0], &how, NULL, 0);
        cr_assert(results[0].failure_count == 1);
        const char *message = results[0].failures[0].message;
        size_t length = strlen(message), end = strlen(expected[i].text);
        cr_expect(length > end && strcmp(message + length - end, expected[i].text) == 0, "%s",
                  message);
        results[0].gradients = NULL;
        results[0].gradient_count = 0;
    }
}
