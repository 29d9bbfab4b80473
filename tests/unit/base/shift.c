#include "base/numbers/change_points.h"
#include "base/numbers/splitmix.h"

#include <criterion/criterion.h>
#include <math.h>

TestSuite(shift, .timeout = 120);

enum { MOST = 2000 };

static void draw(struct ypi_seed *seed, double correlation, double *out, size_t count)
{
    double value = ypi_seed_normal(seed);
    for (size_t i = 0; i < count; i++) {
        out[i] = value;
        value = correlation * value + sqrt(1 - correlation * correlation) * ypi_seed_normal(seed);
    }
}

Test(shift, it_is_the_median_of_all_differences)
{
    const double before[] = {1, 2, 4};
    const double after[] = {11, 12, 14, 30}; /* 7 8 9 10 10 10 11 12 13 26 28 29 */
    struct ypi_shift s = ypi_shift(before, 3, after, 4, 0);
    cr_expect_float_eq(s.middle, 10.5, 1e-12);
    cr_expect(isinf(s.low) && s.low < 0 && isinf(s.high), "[%g, %g]", s.low, s.high);
    s = ypi_shift(before, 0, after, 4, 0);
    cr_expect(isnan(s.middle) && isnan(s.low) && isnan(s.high));
}

/* Of all 252 orders of 5 and 5 points two have the truth beyond all differences, less than 1 %. */
Test(shift, five_and_five_points_are_just_enough)
{
    const double before[] = {1, 2, 3, 4, 5};
    const double after[] = {11, 12, 13, 14, 19};
    struct ypi_shift s = ypi_shift(before, 5, after, 5, 0);
    cr_expect(s.middle == 10 && s.low == 6 && s.high == 18, "%g [%g, %g]", s.middle, s.low, s.high);
    s = ypi_shift(before, 5, after, 5, 0.5);
    cr_expect(s.middle == 10 && isinf(s.low) && isinf(s.high), "alike neighbours are fewer");
}

/* Of 500 at 1 % more than 13 come with a probability of 1e-3. */
Test(shift, its_interval_holds_the_truth)
{
    const size_t counts[] = {8, 30, 200};
    double values[MOST];
    for (size_t k = 0; k < 3; k++)
        for (int c = 0; c < 2; c++) {
            double r = 0.5 * c;
            int missed = 0;
            for (uint64_t t = 0; t < 500; t++) {
                struct ypi_seed seed = ypi_seed_of(1, 2 * k + (uint64_t)c, t);
                draw(&seed, r, values, 2 * counts[k]);
                struct ypi_shift s = ypi_shift(values, counts[k], values + counts[k], counts[k], r);
                missed += !(s.low <= 0 && 0 <= s.high);
                if (counts[k] == 200)
                    cr_assert(s.high - s.low < (c == 0 ? 0.8 : 1.5), "%g wide", s.high - s.low);
            }
            cr_expect_leq(missed, 13, "%zu points, correlation %g: %d", counts[k], r, missed);
        }
}

Test(shift, a_drift_has_the_slope_of_its_line)
{
    double values[1000];
    for (size_t i = 0; i < 1000; i++)
        values[i] = 7 - 0.25 * (double)i;
    const size_t counts[] = {20, 100, 1000};
    for (size_t k = 0; k < 3; k++) {
        struct ypi_drift d = ypi_drift(values, counts[k]);
        cr_expect_float_eq(d.slope.middle, -0.25, 1e-9);
        cr_expect_float_eq(d.slope.low, -0.25, 1e-9);
        cr_expect_float_eq(d.slope.high, -0.25, 1e-9);
        cr_expect_lt(d.probability, 1e-4);
    }
    cr_expect_eq(ypi_drift(values, 2).probability, 1);
    cr_expect(isnan(ypi_drift(values, 2).slope.middle));
}

/* Kendall's statistic of 1 3 2 5 4 is 8 - 2 = 6, its variance 5 4 15 / 18: 5 deviations of 4.082.
 */
Test(shift, a_drift_has_the_probability_of_kendalls_statistic)
{
    const double values[] = {1, 3, 2, 5, 4};
    struct ypi_drift d = ypi_drift(values, 5);
    cr_expect_float_eq(d.probability, 0.22067136, 1e-7);
}

Test(shift, a_drifts_interval_holds_the_truth)
{
    double values[MOST];
    for (int c = 0; c < 2; c++) {
        double r = 0.5 * c;
        int missed = 0;
        int sure = 0;
        for (uint64_t t = 0; t < 500; t++) {
            struct ypi_seed seed = ypi_seed_of(3, (uint64_t)c, t);
            draw(&seed, r, values, 100);
            for (size_t i = 0; i < 100; i++)
                values[i] += 0.05 * (double)i;
            struct ypi_drift d = ypi_drift(values, 100);
            missed += !(d.slope.low <= 0.05 && 0.05 <= d.slope.high);
            sure += d.slope.low > 0 && d.probability < 1e-3;
        }
        cr_expect_leq(missed, 15, "correlation %g: %d", r, missed);
        cr_expect_geq(sure, c == 0 ? 500 : 450, "correlation %g: %d are sure", r, sure);
    }
}

/* -- a line or steps ------------------------------------------------------------ */

static int lines_of_100(double (*level)(size_t i), double noise)
{
    const struct ypi_change_search how = {.least = 5, .error = 0.01};
    int lines = 0;
    for (uint64_t t = 0; t < 100; t++) {
        struct ypi_seed seed = ypi_seed_of(4, 0, t);
        double values[100];
        size_t places[20];
        for (size_t i = 0; i < 100; i++)
            values[i] = level(i) + noise * ypi_seed_normal(&seed);
        size_t found = ypi_change_points(values, 100, &how, places);
        cr_assert_gt(found, 0);
        lines += ypi_changes_before_line(values, 100, places, found) < found;
    }
    return lines;
}

static double line(size_t i)
{
    return 0.002 * (double)i;
}

static double step(size_t i)
{
    return i < 50 ? 0 : 0.06;
}

static double stairs(size_t i)
{
    size_t stair = i / 34;
    return 0.06 * (double)stair;
}

static double step_and_line(size_t i)
{
    return i < 40 ? 0.3 : 0.004 * (double)i - 0.16;
}

Test(shift, a_line_is_not_told_as_steps)
{
    cr_expect_geq(lines_of_100(line, 0.02), 90);
    cr_expect_leq(lines_of_100(step, 0.02), 5);
    cr_expect_leq(lines_of_100(stairs, 0.02), 5);
    cr_expect_geq(lines_of_100(step_and_line, 0.02), 90);
}

Test(shift, a_line_behind_a_step_leaves_the_step)
{
    double values[100];
    const size_t places[] = {40, 60, 80};
    for (size_t i = 0; i < 100; i++)
        values[i] = step_and_line(i) + 0.001 * (double)(i * 37 % 11);
    cr_expect_eq(ypi_changes_before_line(values, 100, places, 3), 1);
    cr_expect_eq(ypi_changes_before_line(values, 100, places, 1), 1);
    cr_expect_eq(ypi_changes_before_line(values, 100, places, 0), 0);
}
