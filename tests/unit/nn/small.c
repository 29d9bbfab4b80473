/* models/nn/simd/small: products by every instruction set that is there, of sizes that leave rests
 * in rows and columns, against sums in double. */
#include "models/nn/simd/small.h"

#include "base/numbers/splitmix.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <yieldpoint/isa.h>

enum { GUARD = 16, GAP = 3 };

static const float untouched = 12345;

/* `count` numbers between -1 and 1 in an array of just that size, which a sanitizer watches. */
static float *drawn(size_t count, struct ypi_seed *seed)
{
    float *values = malloc(count * sizeof *values);
    for (size_t i = 0; i < count; i++)
        values[i] = (float)(2 * ypi_seed_uniform(seed) - 1);
    return values;
}

/* Of a rounding of every sum's terms at most (Higham, "Accuracy and Stability of Numerical
 * Algorithms", section 3.1): k + 1 roundings of what the terms' magnitudes sum up to. */
static double bound(double magnitude, size_t k)
{
    return (double)(k + 1) * (double)FLT_EPSILON / 2 * magnitude;
}

static void check(size_t m, size_t n, size_t k, bool transposed, bool add)
{
    struct ypi_seed seed = ypi_seed_of(m, n, k * 4 + (transposed ? 2 : 0) + (add ? 1 : 0));
    size_t a_row = transposed ? 1 : k + GAP, a_column = transposed ? m + GAP : 1;
    size_t b_row = n + GAP, c_row = n + GAP;
    float *a = drawn((m - 1) * a_row + (k - 1) * a_column + 1, &seed);
    float *b = drawn((k - 1) * b_row + n, &seed), *before = drawn(m * c_row, &seed);
    float *c = malloc((m * c_row + GUARD) * sizeof *c);
    for (size_t i = 0; i < m * c_row + GUARD; i++)
        c[i] = i < m * c_row && i % c_row < n ? before[i] : untouched;
    nn_small_product(
        &(struct nn_small_product){m, n, k, a, a_row, a_column, b, b_row, c, c_row, add, !add});
    for (size_t i = 0; i < m * c_row + GUARD; i++) {
        size_t row = i / c_row, column = i % c_row;
        if (row >= m || column >= n) {
            cr_assert_eq(c[i], untouched, "%zu x %zu x %zu wrote at %zu", m, n, k, i);
            continue;
        }
        double sum = add ? (double)before[i] : 0, magnitude = fabs(sum);
        for (size_t l = 0; l < k; l++) {
            double term = (double)a[row * a_row + l * a_column] * (double)b[l * b_row + column];
            sum += term;
            magnitude += fabs(term);
        }
        cr_assert_leq(fabs((double)c[i] - sum), bound(magnitude, k),
                      "%zu x %zu x %zu%s%s: %g, not %g, at (%zu, %zu)", m, n, k,
                      transposed ? " transposed" : "", add ? " added" : "", (double)c[i], sum, row,
                      column);
    }
    free(a);
    free(b);
    free(before);
    free(c);
}

static void check_all(const char *isa)
{
    cr_assert_eq(setenv("YIELDPOINT_ISA", isa, 1), 0);
    static const size_t rows[] = {1, 2, 5, 6, 7, 64},
                        columns[] = {1, 3, 4, 8, 15, 16, 31, 47, 64, 97, 128};
    static const size_t depths[] = {1, 2, 33};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t j = 0; j < sizeof columns / sizeof *columns; j++)
            for (size_t l = 0; l < sizeof depths / sizeof *depths; l++)
                for (unsigned kind = 0; kind < 4; kind++)
                    check(rows[i], columns[j], depths[l], (kind & 1) != 0, (kind & 2) != 0);
}

Test(small, by_the_widest_vectors)
{
    check_all(yp_isa_name(yp_isa()));
}

Test(small, by_avx2)
{
    check_all("avx2");
}

Test(small, by_the_baseline)
{
    check_all("baseline");
}
