/* Attention of short sequences, many of them: one head at once, in registers and the nearest cache.
 * What is saved, and the formulas, are those of attend.h. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { NN_SHORT = 16, NN_SHORT_CHANNELS = 128 }; /* positions, and channels, at most */

/* Rows of e channels, `stride` floats apart: t of each array. Every position sees all of them. */
struct nn_short {
    size_t t, e, stride;
    float factor; /* of the scores */
    const float *q, *k, *v, *dy;
    float *y, *dq, *dk, *dv; /* NULL: that gradient is not wanted */
    float *high, *sum;       /* (t) */
};

/* Whether such heads are taken; channels are a multiple of 16. */
static inline bool nn_short_takes(size_t t, size_t e)
{
    return t <= NN_SHORT && e <= NN_SHORT_CHANNELS && e % 16 == 0;
}

/* By the widest vectors that this process may use. Forward writes y, high and sum. */
typedef void nn_short_pass(const struct nn_short *head);
nn_short_pass *nn_short_forward(void);
nn_short_pass *nn_short_vjp(void);
