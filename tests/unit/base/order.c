/* Orders of growth: what is known is found, what cannot be told is not, and how often it errs. */
#include "base/numbers/order.h"
#include "base/numbers/splitmix.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdint.h>

/* A sanitizer finds in a tenth of the draws what it finds in all. */
#ifdef __SANITIZE_ADDRESS__
enum { PART = 10 };
#else
enum { PART = 1 };
#endif
enum { MOST = 64, SEEDS = 4000 / PART };
enum { CONSTANT, LOG, LINEAR, LINEARITHMIC, SQUARE, CUBE };

static double x[MOST], y[MOST], none[MOST];
static struct ypi_seed state;

static double f(int order, double n)
{
    const double values[] = {1, log2(n), n, n * log2(n), n * n, n * n * n};
    return values[order];
}

/* `count` values of N from low to high, evenly on a logarithmic scale. */
static struct ypi_orders draw(int order, int count, double low, double high, double scatter)
{
    struct ypi_orders found;
    for (int i = 0; i < count; i++) {
        double n = low * pow(high / low, (double)i / (count - 1));
        x[i] = log(n);
        y[i] = log(3e-9 * f(order, n)) + scatter * ypi_seed_normal(&state);
    }
    const struct ypi_growth_points points = {x, y, none, none, (size_t)count};
    cr_assert(ypi_orders_fit(&points, &found));
    return found;
}

static bool alone(const struct ypi_orders *found, int order)
{
    return found->first == order && found->last == order && found->best == order;
}

Test(order, names)
{
    cr_expect_str_eq(ypi_order_name(LINEARITHMIC), "O(N log N)");
    cr_expect_str_eq(ypi_order_name(YPI_ORDERS), "none");
    cr_expect_str_eq(ypi_order_name(-1), "none");
}

Test(order, exact_times_are_told)
{
    for (int order = 0; order < YPI_ORDERS; order++) {
        struct ypi_orders found = draw(order, 9, 100, 1e6, 0);
        cr_expect(alone(&found, order), "%s: %s to %s", ypi_order_name(order),
                  ypi_order_name(found.first), ypi_order_name(found.last));
        cr_expect_float_eq(found.of[order].coefficient, 3e-9, 1e-20);
        cr_expect(found.of[order].rms < 1e-12);
        for (int other = 0; other < YPI_ORDERS; other++)
            cr_expect(other == order || (found.of[other].refuted && found.of[other].rms > 0.1));
    }
}

/* The right one is refuted in one of a hundred draws at most, by whatever values of N. */
Test(order, false_alarms, .timeout = 120)
{
    static const struct {
        int count;
        double low, high, scatter;
    } designs[] = {{3, 100, 1e4, 0.05}, {4, 16, 1024, 0.05},  {5, 100, 1e4, 0.03},
                   {7, 1e3, 1e6, 0.05}, {10, 10, 1e7, 0.1},   {20, 1e3, 1e5, 0.05},
                   {6, 100, 200, 0.05}, {40, 1e2, 1e8, 0.025}};
    for (size_t d = 0; d < sizeof designs / sizeof *designs; d++)
        for (int order = 0; order < YPI_ORDERS; order++) {
            int refuted = 0;
            for (uint64_t seed = 0; seed < SEEDS; seed++) {
                state = ypi_seed_of(7919, seed, 1);
                refuted += draw(order, designs[d].count, designs[d].low, designs[d].high,
                                designs[d].scatter)
                               .of[order]
                               .refuted;
            }
            cr_expect(refuted <= SEEDS * (PART == 1 ? 0.0125 : 0.05),
                      "%s, %d values: %d of %d refuted", ypi_order_name(order), designs[d].count,
                      refuted, SEEDS);
            cr_log_info("%s, %d values: %d of %d", ypi_order_name(order), designs[d].count, refuted,
                        SEEDS);
        }
}

static int told(int order, int count, double low, double high, double scatter)
{
    int right = 0;
    for (uint64_t seed = 0; seed < 1000 / PART; seed++) {
        state = ypi_seed_of(104729, seed, 5);
        struct ypi_orders found = draw(order, count, low, high, scatter);
        right += alone(&found, order);
    }
    return right * PART;
}

Test(order, noisy_times_over_a_wide_range_are_told)
{
    for (int order = 0; order < YPI_ORDERS; order++) {
        int right = told(order, 16, 100, 1e7, 0.05);
        cr_expect(right >= 970, "%s: %d of 1000", ypi_order_name(order), right);
    }
}

/* Nothing is told from few values, nor from a narrow range: and where one is left alone all the
 * same, it is the right one. */
Test(order, few_values_or_a_narrow_range_cannot_tell)
{
    for (int order = 0; order < YPI_ORDERS; order++) {
        cr_expect(told(order, 3, 1000, 4000, 0.05) <= 15, "3 values: %s", ypi_order_name(order));
        cr_expect(told(order, 8, 1000, 1050, 0.05) <= 15, "narrow: %s", ypi_order_name(order));
    }
    struct ypi_orders found = draw(LINEAR, 4, 1e4, 1e5, 0.02);
    cr_expect(!found.of[LINEAR].refuted && !found.of[LINEARITHMIC].refuted);
    cr_expect(found.of[CONSTANT].refuted && found.of[SQUARE].refuted && found.of[CUBE].refuted);
}

Test(order, what_is_none_of_them_is_none)
{
    for (int i = 0; i < 12; i++) {
        x[i] = log(100) + i;
        y[i] = 1.5 * x[i] - 10;
    }
    struct ypi_orders found;
    cr_assert(ypi_orders_fit(&(struct ypi_growth_points){x, y, none, none, 12}, &found));
    cr_expect(found.first == -1 && found.last == -1);
    cr_expect(found.best == LINEARITHMIC, "%s", ypi_order_name(found.best));
}

/* A call of a fifth of the first time bends the line, and is no other order. */
Test(order, an_overhead_of_the_first_values_is_none)
{
    for (int i = 0; i < 9; i++) {
        double n = 100 * pow(4, i);
        x[i] = log(n);
        y[i] = log(20 + n);
    }
    struct ypi_orders found;
    cr_assert(ypi_orders_fit(&(struct ypi_growth_points){x, y, none, none, 9}, &found));
    cr_expect(!found.of[LINEAR].refuted);
    cr_expect(found.of[LINEARITHMIC].refuted);
}

/* What the medians' own intervals leave open stays open. */
Test(order, wide_medians_refute_nothing)
{
    double wide[9];
    draw(LINEAR, 9, 100, 1e6, 0);
    for (int i = 0; i < 9; i++)
        wide[i] = 1;
    struct ypi_orders found;
    cr_assert(ypi_orders_fit(&(struct ypi_growth_points){x, y, wide, wide, 9}, &found));
    cr_expect(!found.of[LINEAR].refuted && !found.of[LINEARITHMIC].refuted);
    cr_expect(found.of[CONSTANT].refuted && found.of[CUBE].refuted);
    cr_expect_float_eq(log(found.of[LINEAR].high / found.of[LINEAR].coefficient), 1, 1e-9);
    cr_expect_float_eq(log(found.of[LINEAR].low / found.of[LINEAR].coefficient), -1, 1e-9);
}

Test(order, the_coefficient_lies_in_its_interval)
{
    int outside = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        state = ypi_seed_of(31337, seed, 3);
        struct ypi_orders found = draw(SQUARE, 6, 10, 1e4, 0.05);
        outside += found.of[SQUARE].low > 3e-9 || found.of[SQUARE].high < 3e-9;
    }
    cr_expect(outside > SEEDS * 0.003 && outside < SEEDS * 0.02, "%d of %d", outside, SEEDS);
}

Test(order, what_cannot_be_fitted)
{
    struct ypi_orders found;
    draw(LINEAR, 5, 10, 1e4, 0);
    cr_expect_not(ypi_orders_fit(&(struct ypi_growth_points){x, y, none, none, 2}, &found));
    cr_expect(found.first == -1 && found.best == -1);
    x[2] = 0;
    cr_expect_not(ypi_orders_fit(&(struct ypi_growth_points){x, y, none, none, 5}, &found));
    x[2] = 3;
    y[1] = INFINITY;
    cr_expect_not(ypi_orders_fit(&(struct ypi_growth_points){x, y, none, none, 5}, &found));
    for (int i = 0; i < 5; i++)
        x[i] = 2, y[i] = 1;
    cr_assert(ypi_orders_fit(&(struct ypi_growth_points){x, y, none, none, 5}, &found));
    cr_expect(found.first == 0 && found.last == YPI_ORDERS - 1, "one N tells nothing");
}

Test(order, reach)
{
    double narrow[] = {6, 6.1, 6.2}, wide[] = {5, 8, 11, 14, 17, 20};
    cr_expect(ypi_order_reach(narrow, 3, LINEAR, LINEARITHMIC, 0.05) > 100);
    cr_expect(ypi_order_reach(wide, 6, LINEAR, SQUARE, 0.05) < 0.05);
    cr_expect_eq(ypi_order_reach(wide, 2, LINEAR, SQUARE, 0.05), INFINITY);
}

/* Planted: times c N^b that no noise touches have the exponent b; each point's own interval opens
 * that of b, and scatter about the line opens it too. */
Test(order, exponent)
{
    double some[4] = {0.1, 0.1, 0.1, 0.1};
    const double scatter[4] = {0.05, -0.05, -0.05, 0.05};
    for (int i = 0; i < 4; i++) {
        x[i] = log(100 << i);
        y[i] = log(3e-9) + 1.75 * x[i];
    }
    struct ypi_growth_points points = {x, y, none, none, 4};
    struct ypi_exponent found = ypi_exponent_fit(&points);
    cr_expect_float_eq(found.value, 1.75, 1e-12);
    cr_expect_float_eq(found.high - found.low, 0, 1e-12);

    /* sum |x - mean| / sum (x - mean)^2 = 4 / (5 log 2), times 0.1 */
    points.down = points.up = some;
    found = ypi_exponent_fit(&points);
    cr_expect_float_eq(found.value, 1.75, 1e-12);
    cr_expect_float_eq(found.low, 1.75 - 0.08 / M_LN2, 1e-12);
    cr_expect_float_eq(found.high, 1.75 + 0.08 / M_LN2, 1e-12);
    points.up = none;
    found = ypi_exponent_fit(&points);
    cr_expect_float_eq(found.high, 1.75 + 0.04 / M_LN2, 1e-12);

    /* Student's t at 99 % of 2 degrees, 9.925, times sqrt(0.01 / 2 / (5 log^2 2)). */
    points.down = points.up = none;
    for (int i = 0; i < 4; i++)
        y[i] += scatter[i];
    found = ypi_exponent_fit(&points);
    cr_expect_float_eq(found.value, 1.75, 1e-12);
    cr_expect_float_eq(found.high - 1.75, 9.9248 * sqrt(0.001) / M_LN2, 1e-4);

    points.count = 2;
    found = ypi_exponent_fit(&points);
    cr_expect(isnan(found.value) && isnan(found.low) && isnan(found.high));
}
