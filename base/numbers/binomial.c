/*
 * Binomial probabilities as sums of weights, P(X = i) in units of about that at the mode. Each
 * follows from its neighbour nearer to the mode, in pairs, so that it is right to the last digits
 * after any number of steps; nothing is subtracted, so the smaller side is as exact as the larger.
 */
#include "base/numbers/stats.h"

#include "base/numbers/sum.h"

#include <stdbool.h>

#define MODE_WEIGHT 0x1p900     /* so that the least double is still far from 0 in these units */
#define NOTHING_WEIGHT 0x1p-200 /* and this is below the least double */

/* Adds the weights of i + 1, i + 2, ... n, those up to `border` to `near`, the others to `far`.
 * `odds` is that of one trial. */
static void add_weights(size_t i, size_t n, struct ypi_pair odds, size_t border,
                        struct ypi_sum *near, struct ypi_sum *far)
{
    struct ypi_pair weight = {MODE_WEIGHT, 0};
    while (i < n) {
        struct ypi_pair left = {(double)(n - i), 0}, next = {(double)(i + 1), 0};
        weight = ypi_pair_mul(weight, ypi_pair_mul(odds, ypi_pair_div(left, next)));
        i++;
        ypi_sum_add(i <= border ? near : far, weight.high);
        bool no_matter = i > border && weight.high <= 1e-22 * far->high;
        if (no_matter || weight.high < NOTHING_WEIGHT)
            return;
    }
}

/* P(X <= k) in [0], P(X > k) in [1]. With p = 0 or 1 the mode is at an end, and the odds that are
 * infinite are not used. */
static void split_binomial(size_t k, size_t n, double p, double out[2])
{
    bool possible = p >= 0 && p <= 1;
    out[0] = possible ? 1 : NAN;
    out[1] = possible ? 0 : NAN;
    if (!possible || k >= n)
        return;

    struct ypi_pair yes = {p, 0}, no = ypi_pair_sum(1, -p);
    double expected = floor(((double)n + 1) * p);
    size_t mode = expected < (double)n ? (size_t)expected : n;
    struct ypi_sum lower = {0}, upper = {0};
    ypi_sum_add(mode <= k ? &lower : &upper, MODE_WEIGHT);
    add_weights(mode, n, ypi_pair_div(yes, no), k, &lower, &upper);
    /* Downwards is upwards in the trials that fail: more than k succeed, n - k - 1 at most fail. */
    add_weights(n - mode, n, ypi_pair_div(no, yes), n - k - 1, &upper, &lower);
    double total = ypi_sum_value(&lower) + ypi_sum_value(&upper);
    out[0] = ypi_sum_value(&lower) / total;
    out[1] = ypi_sum_value(&upper) / total;
}

double ypi_binomial_cdf(size_t k, size_t n, double p)
{
    double split[2];
    split_binomial(k, n, p, split);
    return split[0];
}

double ypi_binomial_tail(size_t k, size_t n, double p)
{
    double split[2];
    split_binomial(k > 0 ? k - 1 : n, n, p, split);
    return k > 0 ? split[1] : split[0];
}
