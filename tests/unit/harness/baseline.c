/* What is typical of the figures of several processes. The rest of baselines:
 * tests/usage/baseline.py. */
#include "harness/baseline/baseline.h"

#include <criterion/criterion.h>
#include <math.h>

static const struct {
    const char *name;
    enum ypi_baseline_of of;
    int count, per_run; /* processes, and those of one run */
    double figures[10];
    double typical, slower, spread; /* typical 0: nothing is learned */
} cases[] = {
    {"four processes", YPI_BASELINE_TIME, 4, 2, {1, 1, 1, 1}, 0, 0, 0},
    {"one run", YPI_BASELINE_TIME, 6, 6, {1, 1, 1, 1, 1, 1}, 0, 0, 0},
    {"any order", YPI_BASELINE_TIME, 5, 3, {1.1, 0.9, 1, 1.05, 0.95}, 1, NAN, 0.2},
    {"a share", YPI_BASELINE_SHARE, 5, 3, {0.31, 0.3, 0.32, 0.3, 0.31}, 0.31, NAN, 0.065},
    {"two states of a time",
     YPI_BASELINE_TIME,
     6,
     3,
     {1.31, 1, 1.02, 1.3, 1.01, 1.32},
     1.01,
     1.31,
     0.02},
    {"two states of a share",
     YPI_BASELINE_SHARE,
     6,
     3,
     {0.3, 0.4, 0.31, 0.41, 0.4, 0.4},
     0.4,
     0.305,
     0.025},
    {"one that is slow alone", YPI_BASELINE_TIME, 6, 3, {1, 1, 1.01, 1, 1.3, 1}, 1, NAN, 0.3},
    {"wide, and not apart",
     YPI_BASELINE_TIME,
     6,
     3,
     {1, 1.1, 1.25, 1.4, 1.5, 1.6},
     1.325,
     NAN,
     0.45},
    {"near each other", YPI_BASELINE_TIME, 6, 3, {1, 1, 1, 1.1, 1.1, 1.1}, 1.05, NAN, 0.095},
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
        cr_expect_float_eq(b.spread, cases[i].spread, 1e-12, "%s: %g", cases[i].name, b.spread);
    }
}
