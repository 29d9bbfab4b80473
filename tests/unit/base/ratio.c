/* Ratios of groups of times: Student's interval, and how often it misses. */
#include "base/numbers/ratio.h"
#include "base/numbers/splitmix.h"

#include <criterion/criterion.h>
#include <math.h>

TestSuite(ratio, .timeout = 60);

#define NEAR(a, b) \
    cr_expect_lt(fabs((a) - (b)), 1e-6 * fabs(b), #a " is %.9g and not %.9g", (double)(a), \
                 (double)(b))

static const struct ypi_scatter nothing = {0, 0};

Test(ratio, is_student_s_interval)
{
    const double base[] = {0.00, 0.02, -0.01, 0.03};
    const double head[] = {0.10, 0.13, 0.08};
    struct ypi_ratio r = ypi_ratio(base, 4, head, 3, nothing, 0, 0.05);
    NEAR(r.ratio, exp(0.31 / 3 - 0.01));
    /* pooled variance (0.001 + 0.00126667) / 5, t(0.975, 5) = 2.5705818 */
    double reach = 2.570581836 * sqrt((0.001 + 0.0012666666667) / 5 * (1 / 4.0 + 1 / 3.0));
    NEAR(r.low, exp(0.31 / 3 - 0.01 - reach));
    NEAR(r.high, exp(0.31 / 3 - 0.01 + reach));
}

Test(ratio, of_one_each_needs_to_know_the_scatter)
{
    const double base[] = {0.5};
    const double head[] = {0.6};
    struct ypi_ratio r = ypi_ratio(base, 1, head, 1, nothing, 0, 0.05);
    NEAR(r.ratio, exp(0.1));
    cr_expect_eq(r.low, 0);
    cr_expect(isinf(r.high));
    /* t(0.975, 10) = 2.2281389 */
    r = ypi_ratio(base, 1, head, 1, (struct ypi_scatter){0.01, 10}, 0, 0.05);
    NEAR(r.high, exp(0.1 + 2.228138852 * 0.01 * sqrt(2)));
    r = ypi_ratio(base, 1, head, 1, (struct ypi_scatter){0.01, INFINITY}, 0, 0.05);
    cr_expect_lt(fabs(log(r.high) - 0.1 - 1.959963985 * 0.01 * sqrt(2)), 1e-6);
    r = ypi_ratio(base, 1, head, 1, (struct ypi_scatter){0.01, INFINITY}, 0.03, 0.05);
    cr_expect_lt(fabs(log(r.high) - 0.1 - 1.959963985 * sqrt(2 * 0.01 * 0.01 + 0.03 * 0.03)), 1e-6,
                 "what two machines differ by is added");
}

Test(ratio, without_figures_is_none)
{
    const double x[] = {1};
    cr_expect(isnan(ypi_ratio(x, 0, x, 1, nothing, 0, 0.05).ratio));
    cr_expect(isnan(ypi_ratio(x, 1, x, 0, nothing, 0, 0.05).ratio));
}

Test(ratio, scatter_of_a_series_passes_over_changes_of_level)
{
    double x[400];
    double sum = 0;
    enum { TRIALS = 50 };
    for (uint64_t t = 0; t < TRIALS; t++) {
        struct ypi_seed seed = ypi_seed_of(2, t, 0);
        for (size_t i = 0; i < 400; i++)
            x[i] = 0.02 * ypi_seed_normal(&seed) + (i < 100 ? 0 : i < 250 ? 1 : -2);
        struct ypi_scatter s = ypi_scatter_of_series(x, 400);
        cr_expect_eq(s.freedom, 100);
        sum += s.sd / TRIALS;
    }
    cr_expect_lt(fabs(sum - 0.02), 0.0006, "%g and not 0.02", sum);
    cr_expect_eq(ypi_scatter_of_series(x, 7).freedom, 0, "too few figures");
    cr_expect_gt(ypi_scatter_of_series(x, 8).freedom, 0);
}

/* Of 4,000 pairs of groups that are alike, and of one scatter estimated from a series. */
Test(ratio, misses_as_often_as_it_says)
{
    enum { TRIALS = 4000, BASE = 5, HEAD = 3, SERIES = 40 };
    int missed = 0;
    for (uint64_t t = 0; t < TRIALS; t++) {
        struct ypi_seed seed = ypi_seed_of(3, t, 0);
        double x[BASE + HEAD + SERIES];
        for (size_t i = 0; i < BASE + HEAD + SERIES; i++)
            x[i] = 0.05 * ypi_seed_normal(&seed);
        struct ypi_scatter known = ypi_scatter_of_series(x + BASE + HEAD, SERIES);
        struct ypi_ratio r = ypi_ratio(x, BASE, x + BASE, HEAD, known, 0, 0.05);
        missed += r.low > 1 || r.high < 1;
    }
    /* 5 % are 200, with a standard deviation of 14. */
    cr_expect_lt(abs(missed - 200), 45, "%d of %d", missed, TRIALS);
}
