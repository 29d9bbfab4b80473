#include "base/numbers/sequential.h"
#include "base/numbers/splitmix.h"

#include <criterion/criterion.h>
#include <math.h>

TestSuite(sequential, .timeout = 120);

enum { MOST = 200 };

/* Logarithms of ratios that scatter by `sd` about `centre`, one in twenty of them four times as
 * wide. */
static double draw(struct ypi_seed *seed, double centre, double sd)
{
    bool wide = ypi_seed_uniform(seed) < 0.05;
    return centre + sd * (wide ? 4 : 1) * ypi_seed_normal(seed);
}

struct outcome {
    int above, below;
};

/* Looks after each observation, `trials` times, whether the centre is above or below 3 %. */
static struct outcome decide(double centre, double sd, double error, int trials, uint64_t purpose)
{
    struct outcome o = {0};
    double limit = log(1.03);
    for (int t = 0; t < trials; t++) {
        struct ypi_seed seed = ypi_seed_of(1, purpose, (uint64_t)t);
        double x[MOST];
        for (size_t n = 1; n <= MOST; n++) {
            x[n - 1] = draw(&seed, centre, sd);
            bool above = ypi_evidence(x, n, limit, 1) >= log(2 / error);
            bool below = ypi_evidence(x, n, limit, -1) >= log(2 / error);
            o.above += above;
            o.below += below;
            if (above || below)
                break;
        }
    }
    return o;
}

/* Of 400 at a rate of 5 % more than 35 come with a probability of 1e-3. */
Test(sequential, looking_after_each_observation_keeps_the_error)
{
    struct outcome o = decide(log(1.03), 0.02, 0.1, 400, 1);
    cr_expect(o.above <= 35 && o.below <= 35, "%d above, %d below", o.above, o.below);
    cr_expect(o.above + o.below > 0, "a test that never errs has no power either");
}

Test(sequential, what_is_off_by_more_than_it_scatters_is_found)
{
    struct outcome slow = decide(log(1.05), 0.02, 0.01, 100, 2);
    struct outcome same = decide(0, 0.02, 0.01, 100, 3);
    cr_expect_eq(slow.above, 100, "%d above, %d below", slow.above, slow.below);
    cr_expect_eq(same.below, 100, "%d above, %d below", same.above, same.below);
}

Test(sequential, a_span_holds_the_centre)
{
    double x[60];
    int missed = 0;
    for (uint64_t t = 0; t < 300; t++) {
        struct ypi_seed seed = ypi_seed_of(2, 4, t);
        for (size_t i = 0; i < 60; i++)
            x[i] = draw(&seed, 0.1, 0.05);
        struct ypi_span span = ypi_sequential_span(x, 60, 0.05);
        missed += !(span.low <= 0.1 && 0.1 <= span.high);
        cr_assert(span.low < span.high);
        cr_assert(span.high - span.low < 0.08, "%g wide", span.high - span.low);
    }
    cr_expect_leq(missed, 28, "%d of 300 at 5 %%", missed);
}

Test(sequential, too_little_says_nothing)
{
    const double x[20] = {0};
    for (size_t n = 0; n <= 8; n++) {
        struct ypi_span span = ypi_sequential_span(x, n, 0.01);
        cr_expect(isinf(span.low) && isinf(span.high), "%zu: [%g, %g]", n, span.low, span.high);
    }
    struct ypi_span span = ypi_sequential_span(x, 20, 0.01);
    cr_expect(span.low > -0.1 && span.high < 0.1, "[%g, %g]", span.low, span.high);
}

Test(sequential, evidence_mirrors)
{
    const double x[] = {0.03, -0.01, 0.02, 0.05, 0.6};
    const double mirrored[] = {-0.03, 0.01, -0.02, -0.05, -0.6};
    cr_expect_float_eq(ypi_evidence(x, 5, 0.01, 1), ypi_evidence(mirrored, 5, -0.01, -1), 1e-12);
    cr_expect_gt(ypi_evidence(x, 5, 0.00, 1), ypi_evidence(x, 5, 0.01, 1));
    cr_expect_gt(ypi_evidence(x, 5, 0.02, -1), ypi_evidence(x, 5, 0.01, -1));
}

/* One outlier among many does not undo what they say. */
Test(sequential, an_outlier_costs_little)
{
    double x[30];
    for (int i = 0; i < 30; i++)
        x[i] = 0.1;
    double before = ypi_evidence(x, 30, 0, 1);
    x[7] = -100;
    cr_expect_gt(ypi_evidence(x, 30, 0, 1), before - 4);
}
