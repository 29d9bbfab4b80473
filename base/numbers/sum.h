/* Sums and norms that lose nothing to rounding or range, and twice the digits where those count. */
#pragma once

#include <math.h>

/* A sum with its roundings kept apart (Neumaier, 1974): begins as {0}, is high + low. */
struct ypi_sum {
    double high, low;
};

static inline void ypi_sum_add(struct ypi_sum *sum, double value)
{
    double next = sum->high + value;
    if (fabs(sum->high) >= fabs(value))
        sum->low += sum->high - next + value;
    else
        sum->low += value - next + sum->high;
    sum->high = next;
}

static inline double ypi_sum_value(const struct ypi_sum *sum)
{
    return sum->high + sum->low;
}

/* A Euclidean norm whose squares neither overflow nor underflow (Blue, 1978): begins as {0}.
 * Infinity and NaN are kept. */
struct ypi_norm {
    double largest, squares, not_finite;
};

static inline void ypi_norm_add(struct ypi_norm *norm, double value)
{
    double size = fabs(value);
    if (!isfinite(size)) {
        norm->not_finite += size;
    } else if (size > norm->largest) {
        double ratio = norm->largest / size;
        norm->squares = 1 + norm->squares * ratio * ratio;
        norm->largest = size;
    } else if (size > 0) {
        double ratio = size / norm->largest;
        norm->squares += ratio * ratio;
    }
}

static inline double ypi_norm_value(const struct ypi_norm *norm)
{
    if (norm->not_finite != 0) /* NaN is not 0 either */
        return norm->not_finite;
    return norm->largest * sqrt(norm->squares);
}

/* A power of two near the largest of some numbers, so that in units of it neither a sum of huge
 * ones nor a square of tiny ones leaves the range. Its inverse may be out of range, its root not.
 */
struct ypi_unit {
    int exponent;
    double first, second;
};

static inline struct ypi_unit ypi_unit_of(double largest)
{
    struct ypi_unit unit;
    (void)frexp(largest, &unit.exponent);
    int half = unit.exponent / 2;
    unit.first = ldexp(1, -half);
    unit.second = ldexp(1, half - unit.exponent);
    return unit;
}

static inline double ypi_in_units(const struct ypi_unit *unit, double value)
{
    return value * unit->first * unit->second;
}

/* A number as high + low, low at most half a unit in the last place of high: some 32 digits
 * (Dekker, 1971). Only for finite numbers. */
struct ypi_pair {
    double high, low;
};

/* a + b, nothing lost. */
static inline struct ypi_pair ypi_pair_sum(double a, double b)
{
    double sum = a + b;
    double of_b = sum - a;
    return (struct ypi_pair){sum, a - (sum - of_b) + (b - of_b)};
}

/* a * b, nothing lost unless it is below the range. */
static inline struct ypi_pair ypi_pair_product(double a, double b)
{
    double product = a * b;
    return (struct ypi_pair){product, fma(a, b, -product)};
}

static inline struct ypi_pair ypi_pair_minus(struct ypi_pair a)
{
    return (struct ypi_pair){-a.high, -a.low};
}

static inline struct ypi_pair ypi_pair_add(struct ypi_pair a, struct ypi_pair b)
{
    struct ypi_pair high = ypi_pair_sum(a.high, b.high), low = ypi_pair_sum(a.low, b.low);
    struct ypi_pair sum = ypi_pair_sum(high.high, high.low + low.high);
    return ypi_pair_sum(sum.high, sum.low + low.low);
}

static inline struct ypi_pair ypi_pair_mul(struct ypi_pair a, struct ypi_pair b)
{
    struct ypi_pair product = ypi_pair_product(a.high, b.high);
    double cross = fma(a.high, b.low, a.low * b.high);
    return ypi_pair_sum(product.high, product.low + cross);
}

static inline struct ypi_pair ypi_pair_div(struct ypi_pair a, struct ypi_pair b)
{
    double quotient = a.high / b.high;
    struct ypi_pair part = ypi_pair_mul((struct ypi_pair){quotient, 0}, b);
    struct ypi_pair rest = ypi_pair_add(a, ypi_pair_minus(part));
    return ypi_pair_sum(quotient, rest.high / b.high);
}
