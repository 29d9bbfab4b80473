/* Products of matrices that a core's second-level cache holds, by one thread: for work such as
 * attention's, which has many of them and threads of its own. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* c (m, n) = a b, or c + a b, with a (m, k), b (k, n). Steps are between an array's rows and, of a,
 * columns: (1, m) instead of (k, 1) is a dense matrix's transpose. Columns of b and c stand side by
 * side. c overlaps nothing. Sums are in the order of k. */
struct nn_small_product {
    size_t m, n, k;
    const float *a;
    size_t a_row, a_column;
    const float *b;
    size_t b_row;
    float *c;
    size_t c_row;
    bool add;
    bool far; /* b lies in no cache, and is fetched ahead */
};

void nn_small_product(const struct nn_small_product *product);
