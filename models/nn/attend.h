/* One head of attention, by one thread: some queries attend to some keys. For operators that have
 * many of them.
 *
 * Never all products in memory: NN_HEAD_ROWS queries are worked on at once, and of each query the
 * largest product with a key and the sum of exponentials below it are saved, so that the vjp makes
 * the softmax p again (Dao et al., "FlashAttention", 2022, who save high / sqrt(e) + ln sum, which
 * drops the sum's digits where `high` is large):
 *     p = e^((q k^T - high) / sqrt(e)) / sum,  dv = p^T dy,
 *     ds = p (dy v^T - sum p dy v^T) / sqrt(e),  dq = ds k,  dk = ds^T q. */
#pragma once

#include "models/nn/types.h"

#include <stdbool.h>
#include <stddef.h>

struct nn_head {
    size_t queries, keys, e;         /* keys > 0 rows, e channels */
    bool causal;                     /* query i sees keys 0 to i; there are as many of both */
    float *q, *y, *dq;               /* (queries, e); y: or its cotangent */
    float *k, *v, *dk, *dv;          /* (keys, e) */
    float *high, *sum;               /* (queries), saved: the caller sets them */
    float *kt, *vt, *p, *ds, factor; /* the functions' own */
};

/* Floats of the arrays but high and sum, a multiple of 16. */
size_t nn_head_floats(size_t queries, size_t keys, size_t e);
struct nn_head nn_head_at(float *work, size_t queries, size_t keys, size_t e);

/* Forward: y, high and sum of q, k, v. Backward: dq, dk, dv of these and of dy in y. */
void nn_head_forward(const struct nn_head *s);
void nn_head_vjp(const struct nn_head *s);

/* Between a head's dense rows (n, e) and those of an array of float or 16 bits, `stride` elements
 * apart. */
void nn_head_gather(const void *from, enum nn_type type, size_t n, size_t e, size_t stride,
                    float *to);
void nn_head_scatter(const float *from, size_t n, size_t e, size_t stride, enum nn_type type,
                     void *to);
