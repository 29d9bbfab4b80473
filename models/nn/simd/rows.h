/* Weighed sums of rows that an index names. */
#pragma once

#include "models/nn/types.h"

#include <stddef.h>
#include <stdint.h>

enum { NN_ROW_COLUMNS = 64 }; /* that are summed at once, at most */

struct nn_row_sum {
    const void *x; /* rows of `stride` elements, of that type */
    enum nn_type type;
    size_t stride;
    const int32_t *row;  /* of term k; NULL: k */
    const float *weight; /* of term k, of float alone; NULL: 1 */
    size_t begin, end;   /* terms */
};

/* sum (columns) = the terms' columns from `at` on, in the order of k. */
typedef void nn_sum_rows(const struct nn_row_sum *s, size_t at, size_t columns, float *sum);

/* By the widest vectors that this process may use. */
nn_sum_rows *nn_best_sum_rows(void);
