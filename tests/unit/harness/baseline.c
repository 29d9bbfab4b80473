/* What is typical of the figures of several processes, and what a figure beside it means. The rest
 * of baselines: tests/usage/baseline.py. */
#include "harness/baseline/baseline.h"

#include "harness/judge/judge.h"
#include "harness/vocabulary/budget.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static const struct {
    const char *name;
    enum ypi_baseline_of of;
    int count, per_run; /* processes, and those of one run */
    double figures[10];
    double typical, slower, deviation; /* typical 0: nothing is learned */
} cases[] = {
    {"four processes", YPI_BASELINE_TIME, 4, 2, {1, 1, 1, 1}, 0, 0, 0},
    {"one run", YPI_BASELINE_TIME, 6, 6, {1, 1, 1, 1, 1, 1}, 0, 0, 0},
    {"any order", YPI_BASELINE_TIME, 5, 3, {1.1, 0.9, 1, 1.05, 0.95}, 1, NAN, 0.079},
    {"a share", YPI_BASELINE_SHARE, 5, 3, {0.31, 0.3, 0.32, 0.3, 0.31}, 0.31, NAN, 0.027},
    {"two states of a time",
     YPI_BASELINE_TIME,
     6,
     3,
     {1.31, 1, 1.02, 1.3, 1.01, 1.32},
     1.01,
     1.31,
     0.0099},
    {"two states of a share",
     YPI_BASELINE_SHARE,
     6,
     3,
     {0.3, 0.4, 0.31, 0.42, 0.4, 0.4},
     0.4,
     0.305,
     0.025},
    {"one that is slow alone", YPI_BASELINE_TIME, 6, 3, {1, 1, 1.01, 1, 1.3, 1}, 1, NAN, 0.12},
    {"wide, and not apart",
     YPI_BASELINE_TIME,
     6,
     3,
     {1, 1.1, 1.25, 1.4, 1.5, 1.6},
     1.325,
     NAN,
     0.18},
    {"near each other", YPI_BASELINE_TIME, 6, 3, {1, 1, 1, 1.1, 1.1, 1.1}, 1.05, NAN, 0.052},
};

Test(baseline, estimate)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ypi_learned_figure list[10];
        struct ypi_baseline b = {.of = cases[i].of};
        for (int k = 0; k < cases[i].count; k++)
            list[k] = (struct ypi_learned_figure){cases[i].figures[k], k / cases[i].per_run};
        const bool learned = ypi_baseline_estimate(&b, list, cases[i].count);
        cr_assert_eq(learned, cases[i].typical > 0, "%s", cases[i].name);
        if (!learned)
            continue;
        cr_expect_float_eq(b.typical, cases[i].typical, 1e-12, "%s: %g", cases[i].name, b.typical);
        cr_expect(isnan(cases[i].slower) ? isnan(b.slower) : b.slower == cases[i].slower, "%s: %g",
                  cases[i].name, b.slower);
        cr_expect_float_eq(b.deviation, cases[i].deviation, 1e-12, "%s: %g", cases[i].name,
                           b.deviation);
    }
}

/* A measurement of [low, median, high] beside a typical 0.4 of a ceiling, or 1 s, at most a quarter
 * worse; the slower state is 1.3 times as slow. */
static const struct {
    const char *name;
    enum ypi_baseline_of of;
    double low, median, high;
    enum ypi_met met;
    double worse;
} figures[] = {
    {"a time as before", YPI_BASELINE_TIME, 0.99, 1, 1.01, YPI_MET, 0},
    {"a time around the limit", YPI_BASELINE_TIME, 1.2, 1.26, 1.3, YPI_MET, 0.26},
    {"a time in the slower state", YPI_BASELINE_TIME, 1.26, 1.28, 1.3, YPI_UNDECIDED, 0.28},
    {"a time beyond it", YPI_BASELINE_TIME, 1.5, 1.55, 1.6, YPI_NOT_MET, 0.55},
    {"a share as before", YPI_BASELINE_SHARE, 0.39, 0.4, 0.41, YPI_MET, 0},
    {"a better share", YPI_BASELINE_SHARE, 0.79, 0.8, 0.81, YPI_MET, -0.5},
    {"a share around the limit", YPI_BASELINE_SHARE, 0.3, 0.315, 0.33, YPI_MET, 0.27},
    {"a share in the slower state", YPI_BASELINE_SHARE, 0.29, 0.3, 0.31, YPI_UNDECIDED, 0.333},
    {"a share beyond it", YPI_BASELINE_SHARE, 0.2, 0.2, 0.21, YPI_NOT_MET, 1},
};

Test(baseline, verdicts)
{
    static const struct yp_budget budgets[] = {yp_max_regression("fit", 0.25),
                                               {.kind = YP_BUDGET_NONE}};
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        const bool share = figures[i].of == YPI_BASELINE_SHARE;
        char name[] = "fit";
        struct ypi_baseline b = {.of = figures[i].of,
                                 .name = name,
                                 .typical = share ? 0.4 : 1,
                                 .slower = share ? 0.4 / 1.3 : 1.3};
        const struct ypi_baselines all = {.list = &b, .count = 1};
        static const struct yp_test test = {.name = "t"};
        const struct yp_case c = {.test = &test, .budgets = budgets, .baselines = &all};
        const struct ypi_estimate e = {.count = 20,
                                       .low = figures[i].low,
                                       .median = figures[i].median,
                                       .high = figures[i].high};
        /* The other figure would be judged otherwise. */
        const struct ypi_estimate other = {.count = 20, .low = 7, .median = 7, .high = 7};
        struct ypi_measured m = {.name = "fit",
                                 .count = 20,
                                 .share_count = 20,
                                 .bound = 0,
                                 .estimate = share ? other : e,
                                 .share_estimate = share ? e : other};
        m.share_estimate.low = fmin(m.share_estimate.low, 3); /* no more than there is */
        const struct ypi_result r = {.c = &c, .measured = &m, .measured_count = 1};
        const struct ypi_verdict v = ypi_budget_judge(&r, &budgets[0], true);
        cr_expect_eq(v.met, figures[i].met, "%s: %s", figures[i].name, ypi_met_name(v.met));
        cr_expect_float_eq(v.measured, figures[i].worse, 1e-3, "%s: %g", figures[i].name,
                           v.measured);
    }
}

/* Whether an exact figure of this result differs from its baseline. */
static const struct {
    const char *name, *exact;
    uint64_t seed;
    bool changed;
} exact[] = {
    {"peak host", "4096", 7, false},        {"peak host", "4095", 7, true},
    {"peak host", "4095", 8, false},        {"allocations host", "3", 7, false},
    {"allocations host", "2", 7, true},     {"value loss", "0.25", 7, false},
    {"value loss", "0.26", 7, true},        {"value time", "1", 7, false},
    {"hash", "00000000000000ff", 7, false}, {"hash", "00000000000000fe", 7, true},
    {"instructions fit", "1000", 7, false}, {"instructions fit", "1000.9", 7, false},
    {"instructions fit", "1002", 7, true},  {"value gone", "1", 7, false},
    {"peak device", "1", 7, false},
};

Test(baseline, exact_figures)
{
    static const struct ypi_judging how = {.speed_judged = true};
    static const struct yp_test test = {.name = "t"};
    for (size_t i = 0; i < sizeof exact / sizeof *exact; i++) {
        struct ypi_baseline b = {.of = YPI_BASELINE_EXACT,
                                 .name = (char *)(uintptr_t)exact[i].name,
                                 .exact = (char *)(uintptr_t)exact[i].exact,
                                 .seed = exact[i].seed};
        const struct ypi_baselines all = {.list = &b, .count = 1};
        const struct yp_case c = {.test = &test, .baselines = &all, .seed = 7};
        struct ypi_value values[] = {{.name = "loss", .value = 0.25},
                                     {.name = "time", .value = 2, .of_speed = true}};
        struct ypi_measured m = {.name = "fit", .kind = YPI_MEASURED_COUNT, .bound = -1};
        m.counts[YP_INSTRUCTIONS] =
            (struct ypi_count){.source = YPI_COUNTED_CALLGRIND, .count = 1000};
        struct ypi_result r = {.c = &c,
                               .ended = true,
                               .body = 1,
                               .has_memory = true,
                               .memory.host = {.allocated_peak = 4096, .allocations = 3},
                               .has_hash = true,
                               .hash = 255,
                               .values = values,
                               .value_count = 2,
                               .measured = &m,
                               .measured_count = 1};
        ypi_judge(&r, &how);
        cr_expect_eq(r.outcome, YPI_PASSED, "%s", exact[i].name);
        cr_expect_eq(r.note != NULL && strstr(r.note, " changed: ") != NULL, exact[i].changed,
                     "%s beside %s: %s", exact[i].name, exact[i].exact,
                     r.note != NULL ? r.note : "");
        r.values = NULL;
        r.measured = NULL;
        r.value_count = r.measured_count = 0;
        ypi_result_clear(&r);
    }
}
