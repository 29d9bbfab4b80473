/* Sums and norms that lose nothing to rounding or range. */
#ifndef YPI_SUM_H
#define YPI_SUM_H

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
    double largest, squares, strange;
};

static inline void ypi_norm_add(struct ypi_norm *norm, double value)
{
    double size = fabs(value);
    if (!isfinite(size)) {
        norm->strange += size;
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
    if (norm->strange != 0) /* NaN is not 0 either */
        return norm->strange;
    return norm->largest * sqrt(norm->squares);
}

#endif
