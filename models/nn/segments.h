/* Rows in segments: sums of them, and copies of one row to all of a segment. Each segment is one
 * thread's, in the order of its rows: the same bits for any number of threads. */
#pragma once

#include "models/nn/types.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Segment i, i < n, has the rows order[k], k from offset[i] to offset[i + 1] - 1. */
struct nn_segments {
    size_t n;
    const int32_t *offset; /* (n + 1) */
    const int32_t *order;  /* NULL: row k itself */
    float factor;          /* of every row */
    bool mean;             /* and 1 / the rows of a segment */
};

/* The rows of each index from 0 to n - 1, ascending: index (count) turned round, in work of
 * nn_index_bytes(). All of the index is known to be below n. */
size_t nn_index_bytes(size_t count, size_t n);
struct nn_segments nn_index_segments(const int32_t *index, size_t count, size_t n, void *work);

/* y (n, c) = the weighed sums of x (rows, c), added to what is there with `add`; sums in
 * float, x and y of that type. */
void nn_segment_sums(const struct nn_segments *s, const void *x, enum nn_type type, size_t c,
                     bool add, void *y);

/* The rows of a segment of x (rows, c) = y (n, c)'s row i weighed, added to what is there with
 * `add`. */
void nn_segment_copies(const struct nn_segments *s, const void *y, enum nn_type type, size_t c,
                       bool add, void *x);
