/* Fresh processes under a speed budget, and what else a verdict says of a case. */
#include "harness/judge/judge.h"

#include "base/text/text.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(judge, .timeout = 60);

enum { CAPACITY = 4, SAMPLES = 10 };

/* At most 1 ms; `others` are fresh processes. */
static struct yp_test test;
static struct yp_case subject;
static struct ypi_result results[1 + CAPACITY];
static int count;
static const struct ypi_judging how = {.speed_judged = true, .confirmations = 3};

enum said { INSIDE, OUTSIDE, ACROSS };

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
        m->samples[i] = said == INSIDE ? 0.9e-3 : said == OUTSIDE || i % 2 == 0 ? 1.1e-3 : 0.9e-3;
    ypi_judge_budgets(r, &how);
}

static void begin(enum said said)
{
    test = (struct yp_test){
        .group = "g",
        .name = "t",
        .file = "a.c",
        .budgets = {{.kind = YP_BUDGET_MAX_LATENCY, .name = "work", .limit = 1e-3}}};
    subject = (struct yp_case){
        .test = &test, .budgets = test.budgets, .id = (char *)(uintptr_t) "a.c::t"};
    count = 0;
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
    for (int i = 0; i < count; i++)
        ypi_result_clear(&results[i]);
}

Test(judge, what_is_inside_is_asked_of_nobody)
{
    begin(INSIDE);
    expect(YPI_PASSED, YPI_MET);
}

Test(judge, what_is_outside_fails_when_three_more_say_so)
{
    begin(OUTSIDE);
    for (int i = 0; i < 3; i++) {
        cr_assert(more());
        add_process(OUTSIDE);
    }
    ypi_conclude(&results[0], &how, results + 1, 3);
    cr_expect_eq(results[0].outcome, YPI_FAILED);
    cr_expect_eq(results[0].verdicts[0].asked, 3);
    cr_expect_eq(results[0].verdicts[0].confirmed, 3);
    cr_expect(strstr(results[0].failures[0].message, "3 of 3 fresh processes say so too") != NULL,
              "%s", results[0].failures[0].message);
}

Test(judge, one_that_says_otherwise_makes_it_noisy)
{
    begin(OUTSIDE);
    add_process(OUTSIDE);
    add_process(INSIDE);
    expect(YPI_NOISY, YPI_UNDECIDED);
    begin(OUTSIDE);
    add_process(ACROSS);
    expect(YPI_NOISY, YPI_UNDECIDED);
    begin(OUTSIDE);
    add_process(INSIDE);
    expect(YPI_NOISY, YPI_UNDECIDED);
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
    ypi_result_clear(&results[0]);
    const uint64_t inside = 5 * YP_MIB, outside = inside + 4096;
    count = 0;
    add_resident(inside);
    expect(YPI_PASSED, YPI_MET);
    count = 0;
    add_resident(outside);
    cr_expect(more());
    add_resident(inside);
    expect(YPI_NOISY, YPI_UNDECIDED);
    count = 0;
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
    ypi_result_clear(&results[0]);
    memory_only.sanitized = true;
    count = 0;
    add_resident(6 * YP_MIB);
    cr_expect(!more());
    expect(YPI_PASSED, YPI_RECORDED);
    test.command = "a program of its own";
    count = 0;
    add_resident(6 * YP_MIB);
    cr_expect(more());
}

Test(judge, the_undecided_is_what_three_more_say)
{
    begin(ACROSS);
    for (int i = 0; i < 3; i++) {
        cr_assert(more());
        add_process(INSIDE);
    }
    expect(YPI_PASSED, YPI_MET);
    begin(ACROSS);
    for (int i = 0; i < 3; i++)
        add_process(OUTSIDE);
    expect(YPI_FAILED, YPI_NOT_MET);
    begin(ACROSS);
    add_process(ACROSS);
    expect(YPI_NOISY, YPI_UNDECIDED);
}

Test(judge, fewer_than_were_to_be_asked_prove_nothing)
{
    begin(OUTSIDE);
    add_process(OUTSIDE); /* and then the run was stopped */
    ypi_conclude(&results[0], &how, results + 1, 1);
    cr_expect_eq(results[0].outcome, YPI_NOISY);
}

Test(judge, a_fresh_process_that_skips_gives_no_answer)
{
    begin(OUTSIDE);
    add_process(OUTSIDE);
    add_process(INSIDE);
    struct ypi_result *last = &results[2];
    last->skipped = true;
    last->reason = ypi_strdup("no network");
    last->measured_count = 0; /* it did not come to it */
    free(last->verdicts);
    last->verdict_count = 0;
    ypi_measured_clear(last->measured);
    free(last->measured);
    last->measured = NULL;
    ypi_judge_budgets(last, &how);
    cr_expect_not(more());
    ypi_conclude(&results[0], &how, results + 1, 2);
    cr_expect_eq(results[0].outcome, YPI_NOISY);
    cr_expect(results[0].note != NULL &&
                  strstr(results[0].note, "a fresh process skipped: no network") != NULL,
              "%s", results[0].note);
    struct ypi_judging alone = how;
    alone.confirmations = 0;
    ypi_conclude(last, &alone, NULL, 0);
    cr_expect_eq(last->outcome, YPI_SKIPPED, "%s", ypi_outcome_name(last->outcome));
    cr_expect_eq(last->failure_count, 0);
    for (int i = 0; i < count; i++)
        ypi_result_clear(&results[i]);
}

Test(judge, nobody_is_asked_where_there_is_nothing_to_decide)
{
    struct ypi_judging alone = how;
    alone.confirmations = 0;
    begin(OUTSIDE);
    cr_expect_not(ypi_needs_confirmation(&results[0], &alone, NULL, 0));
    ypi_conclude(&results[0], &alone, NULL, 0);
    cr_expect_eq(results[0].outcome, YPI_FAILED, "with --confirm 0 one process decides");
    begin(OUTSIDE);
    ypi_result_fail(&results[0], YPI_CAUSE_EXPECTATION, NULL, 0, "wrong");
    cr_expect_not(more(), "it fails in any case");
    begin(OUTSIDE);
    results[0].ended = false;
    cr_expect_not(more(), "it crashed");
}

Test(judge, what_befalls_a_fresh_process_is_not_lost)
{
    begin(OUTSIDE);
    for (int i = 0; i < 3; i++)
        add_process(OUTSIDE);
    ypi_result_fail(&results[2], YPI_CAUSE_SIGNAL, NULL, 0, "crashed in the body: SIGSEGV");
    ypi_conclude(&results[0], &how, results + 1, 3);
    bool reported = false;
    for (int i = 0; i < results[0].failure_count; i++)
        reported = reported || strcmp(results[0].failures[i].message,
                                      "in fresh process 2: crashed in the body: SIGSEGV") == 0;
    cr_expect(reported);
    cr_expect_eq(results[0].outcome, YPI_FAILED);
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

Test(judge, crowded_work_may_pass_but_not_fail)
{
    const struct {
        double others, stolen, throttled;
        int threads;
        enum ypi_met met;
    } cases[] = {{0, 0, 0, 2, YPI_NOT_MET},       {1.0, 0, 0, 1, YPI_NOT_MET},
                 {0.2, 0, 0, 2, YPI_NOT_MET},     {0.3, 0, 0, 2, YPI_UNDECIDED},
                 {1.0, 0, 0, 2, YPI_UNDECIDED},   {0, 0.05, 0, 1, YPI_NOT_MET},
                 {0, 0.2, 0, 1, YPI_UNDECIDED},   {0, 0, 0.005, 1, YPI_NOT_MET},
                 {0, 0, 0.02, 1, YPI_UNDECIDED},  {0, 0, 0.8, 2, YPI_UNDECIDED},
                 {NAN, NAN, NAN, 2, YPI_NOT_MET}, {2.0, 0, 0, 0, YPI_NOT_MET}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        begin(OUTSIDE);
        struct ypi_measured *m = results[0].measured;
        m->threads = cases[i].threads;
        m->noise = (struct ypi_noise){.wall = 1,
                                      .own = cases[i].threads,
                                      .others = cases[i].others,
                                      .stolen = cases[i].stolen,
                                      .throttled = cases[i].throttled,
                                      .processors = 2};
        results[0].verdict_count = 0;
        ypi_judge_budgets(&results[0], &how);
        cr_expect_eq(results[0].verdicts[0].met, cases[i].met, "case %zu: %s", i,
                     ypi_met_name(results[0].verdicts[0].met));
        for (int k = 0; k < SAMPLES; k++) /* a thousand times what is allowed: nobody's fault */
            m->samples[k] *= 1000;
        results[0].verdict_count = 0;
        ypi_judge_budgets(&results[0], &how);
        cr_expect_eq(results[0].verdicts[0].met, YPI_NOT_MET);
        for (int k = 0; k < SAMPLES; k++)
            m->samples[k] = 0.5e-3;
        results[0].verdict_count = 0;
        ypi_judge_budgets(&results[0], &how);
        cr_expect_eq(results[0].verdicts[0].met, YPI_MET);
    }
}

/* A quota may leave so little that it alone explains more than any crowd; a sleeper's own time
 * bounds nothing. */
Test(judge, a_quota_explains_as_much_as_it_took)
{
    static const struct {
        double own, throttled;
        int times; /* too slow */
        enum ypi_met met;
    } cases[] = {{0.002, 0.998, 1000, YPI_UNDECIDED},
                 {0.5, 0.5, 1000, YPI_NOT_MET},
                 {4, 4, 1000, YPI_NOT_MET},
                 {0.001, 0.02, 1000, YPI_NOT_MET},
                 {0.001, 0.02, 50, YPI_UNDECIDED}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        begin(OUTSIDE);
        struct ypi_measured *m = results[0].measured;
        m->threads = 1;
        m->noise = (struct ypi_noise){
            .wall = 1, .own = cases[i].own, .throttled = cases[i].throttled, .processors = 2};
        for (int k = 0; k < SAMPLES; k++)
            m->samples[k] = cases[i].times * test.budgets[0].limit;
        results[0].verdict_count = 0;
        ypi_judge_budgets(&results[0], &how);
        cr_expect_eq(results[0].verdicts[0].met, cases[i].met, "case %zu: %s", i,
                     ypi_met_name(results[0].verdicts[0].met));
        ypi_result_clear(&results[0]);
    }
}

/* A thread that waits for one whose processor another has waits for a slice of the scheduler. */
Test(judge, short_work_may_wait_its_turn)
{
    static const struct {
        double seconds;
        enum ypi_met met;
    } cases[] = {{8e-3, YPI_UNDECIDED}, {80e-3, YPI_NOT_MET}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        begin(OUTSIDE);
        struct ypi_measured *m = results[0].measured;
        test.budgets[0].limit = 20e-6; /* both are hundreds of times that */
        m->threads = 2;
        m->noise = (struct ypi_noise){.wall = 1, .own = 1.2, .others = 0.8, .processors = 2};
        for (int k = 0; k < SAMPLES; k++)
            m->samples[k] = cases[i].seconds;
        results[0].verdict_count = 0;
        ypi_judge_budgets(&results[0], &how);
        cr_expect_eq(results[0].verdicts[0].met, cases[i].met, "case %zu: %s", i,
                     ypi_met_name(results[0].verdicts[0].met));
        ypi_result_clear(&results[0]);
    }
}

Test(judge, an_expected_failure_that_is_undecided_is_noisy)
{
    begin(ACROSS);
    subject.xfail = "slow";
    test.xfail_strict = true;
    add_process(ACROSS);
    expect(YPI_NOISY, YPI_UNDECIDED);
}

Test(judge, one_sample_is_no_speed)
{
    struct ypi_judging once = {.speed_judged = false, .once = true};
    begin(OUTSIDE);
    results[0].measured_count = 0;
    results[0].verdict_count = 0;
    ypi_judge(&results[0], &once);
    cr_expect_eq(results[0].outcome, YPI_PASSED);
    cr_expect_eq(results[0].verdicts[0].met, YPI_NOT_JUDGED);
}

Test(judge, what_was_not_timed_is_not_judged)
{
    struct ypi_judging off = {.speed_judged = false};
    begin(OUTSIDE);
    results[0].measured[0].kind = YPI_MEASURED_RUN;
    results[0].measured[0].count = 0;
    test.budgets[1] = (struct yp_budget){
        .kind = YP_BUDGET_MAX_COUNT, .name = "work", .counter = YP_PAGE_FAULTS, .limit = 1};
    test.budgets[2] = (struct yp_budget){.kind = YP_BUDGET_MIN_SHARE, .name = "work", .limit = 0.5};
    results[0].verdict_count = 0;
    ypi_judge(&results[0], &off);
    cr_expect_eq(results[0].outcome, YPI_PASSED);
    for (int i = 0; i < 3; i++)
        cr_expect_eq(results[0].verdicts[i].met, YPI_NOT_JUDGED, "%d", i);
    /* Growth is memory, and a name that was never measured is a mistake. */
    begin(INSIDE);
    results[0].measured[0].kind = YPI_MEASURED_RUN;
    results[0].measured[0].growth_resident = 4096;
    test.budgets[0] = (struct yp_budget)yp_max_growth("work", 1024);
    test.budgets[1] = (struct yp_budget)yp_max_latency("wrok", 1);
    test.budgets[2] = (struct yp_budget){0};
    results[0].verdict_count = 0;
    ypi_judge(&results[0], &off);
    cr_expect_eq(results[0].outcome, YPI_FAILED);
    cr_expect_eq(results[0].verdicts[0].met, YPI_NOT_MET);
    cr_expect_eq(results[0].verdicts[1].met, YPI_UNMEASURED);
}

/* -- counters that are not there ------------------------------------------------------------ */

Test(judge, a_budget_on_an_absent_counter_skips_and_never_passes)
{
    begin(INSIDE);
    test.budgets[0] = (struct yp_budget){
        .kind = YP_BUDGET_MAX_COUNT, .name = "work", .counter = YP_INSTRUCTIONS, .limit = 1e9};
    results[0].verdict_count = 0;
    ypi_judge(&results[0], &how);
    cr_expect_eq(results[0].outcome, YPI_SKIPPED);
    cr_expect_eq(results[0].verdicts[0].met, YPI_ABSENT);
    cr_expect(strstr(results[0].reason, "work instructions an iteration at most 1e+09 cannot be "
                                        "judged: ") != NULL &&
                  strstr(results[0].reason, "--instructions") != NULL,
              "%s", results[0].reason);
    /* A failure counts for more. */
    begin(INSIDE);
    test.budgets[0] = (struct yp_budget){
        .kind = YP_BUDGET_MAX_COUNT, .name = "work", .counter = YP_CYCLES, .limit = 1e9};
    results[0].verdict_count = 0;
    ypi_result_fail(&results[0], YPI_CAUSE_EXPECTATION, NULL, 0, "wrong");
    ypi_judge(&results[0], &how);
    cr_expect_eq(results[0].outcome, YPI_FAILED);
}

Test(judge, a_counter_of_a_gpu_is_there_under_audit_only)
{
    begin(INSIDE);
    test.budgets[0] = (struct yp_budget){
        .kind = YP_BUDGET_MAX_COUNT, .name = "work", .counter = YP_GPU_READ, .limit = 1000};
    results[0].verdict_count = 0;
    ypi_judge(&results[0], &how);
    cr_expect_eq(results[0].outcome, YPI_SKIPPED);
    cr_expect_not_null(strstr(results[0].reason, "work gpu bytes read an iteration at most 1000 "
                                                 "cannot be judged: it is counted under --audit"),
                       "%s", results[0].reason);
    begin(INSIDE);
    results[0].measured[0].counts[YP_GPU_FP32] = (struct ypi_count){YPI_COUNTED_CUPTI, 5};
    test.budgets[0] = (struct yp_budget){
        .kind = YP_BUDGET_MAX_COUNT, .name = "work", .counter = YP_GPU_READ, .limit = 1000};
    results[0].verdict_count = 0;
    ypi_judge(&results[0], &how);
    cr_expect_not_null(strstr(results[0].reason, "this device has no metric of it"), "%s",
                       results[0].reason);
    begin(INSIDE);
    results[0].measured[0].counts[YP_GPU_FP32] = (struct ypi_count){YPI_COUNTED_CUPTI, 5};
    test.budgets[0] = (struct yp_budget){
        .kind = YP_BUDGET_MAX_COUNT, .name = "work", .counter = YP_CYCLES, .limit = 1000};
    results[0].verdict_count = 0;
    ypi_judge(&results[0], &how);
    cr_expect_not_null(strstr(results[0].reason, "under --audit only the device counts"), "%s",
                       results[0].reason);
}

Test(judge, a_count_is_exact)
{
    begin(INSIDE);
    test.budgets[0] = (struct yp_budget){
        .kind = YP_BUDGET_MAX_COUNT, .name = "work", .counter = YP_INSTRUCTIONS, .limit = 1000};
    struct ypi_count *instructions = &results[0].measured[0].counts[YP_INSTRUCTIONS];
    *instructions = (struct ypi_count){.source = YPI_COUNTED_CALLGRIND, .count = 1000};
    results[0].verdict_count = 0;
    ypi_judge_budgets(&results[0], &how);
    cr_expect_eq(results[0].verdicts[0].met, YPI_MET);
    instructions->count = 1001;
    results[0].verdict_count = 0;
    ypi_judge_budgets(&results[0], &how);
    cr_expect_eq(results[0].verdicts[0].met, YPI_NOT_MET);
}

/* -- figures of a measurement -------------------------------------------------------------- */

static enum ypi_met judged(struct yp_budget budget)
{
    budget.name = "work";
    test.budgets[0] = budget;
    free(results[0].verdicts);
    results[0].verdict_count = 0;
    ypi_judge_budgets(&results[0], &how);
    return results[0].verdicts[0].met;
}

Test(judge, growth_is_exact_and_unmeasured_with_few_samples)
{
    begin(INSIDE);
    struct yp_budget growth = {.kind = YP_BUDGET_MAX_GROWTH, .limit = 64};
    results[0].measured[0].growth_resident = 64;
    cr_expect_eq(judged(growth), YPI_MET);
    results[0].measured[0].growth_resident = 65;
    cr_expect_eq(judged(growth), YPI_NOT_MET);
    results[0].measured[0].growth_resident = NAN;
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

/* -- values that speed is behind ------------------------------------------------------------- */

Test(judge, a_value_of_speed_is_judged_by_its_interval)
{
    begin(INSIDE);
    test.budgets[0] = (struct yp_budget){.kind = YP_BUDGET_MIN_VALUE, .name = "ratio", .limit = 2};
    struct ypi_value value = {
        .name = "ratio", .value = 2.1, .low = 1.9, .high = 2.3, .of_speed = true};
    results[0].values = ypi_calloc(1, sizeof value);
    results[0].values[0] = value;
    results[0].value_count = 1;
    results[0].verdict_count = 0;
    ypi_judge(&results[0], &how);
    cr_expect_eq(results[0].outcome, YPI_NOISY);
    struct ypi_judging recorded = {.speed_judged = false};
    results[0].verdict_count = 0;
    ypi_judge(&results[0], &recorded);
    cr_expect_eq(results[0].verdicts[0].met, YPI_RECORDED);
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
