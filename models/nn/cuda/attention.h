/* Attention by tiles of ATTENTION_TILE positions, a block for each tile of a head; see
 * operators/attention.c for the formulas. Forward keeps a running maximum and sum (Dao et al.,
 * "FlashAttention", 2022). Backward goes over the tiles twice: by rows for dq, which also leaves
 * along = sum p (dy v^T) of each position, and by columns for dk and dv. */
#pragma once

#include "device/cuda/frame.h"
#include "models/nn/cuda/nn_cuda.h"
#include "models/nn/types.h"

#define ATTENTION_TILE 32U
#define ATTENTION_THREADS 256U
#define ATTENTION_LANES (ATTENTION_THREADS / ATTENTION_TILE) /* threads a position */
#define ATTENTION_MOST (NN_CUDA_CHANNELS / ATTENTION_LANES)  /* channels a thread */

/* Channels of the thread's position: its own lane's, in steps of ATTENTION_LANES. */
struct attention_own {
    float first[ATTENTION_MOST], second[ATTENTION_MOST];
};

/* For each of thread t's channels c of a head's e, the n-th: unrolled, so that what the thread has
 * stays in registers. */
#define ATTENTION_CHANNELS(n_, c_, t_, e_) \
    YPK_UNROLL(16) \
    for (unsigned n_ = 0, c_ = (t_) % ATTENTION_LANES; n_ < ATTENTION_MOST; \
         n_++, c_ += ATTENTION_LANES) \
        if (c_ < (e_))

/* What the block shares: tiles of arrays (ATTENTION_TILE, e), rows `step` apart, and scores. */
struct attention_shared {
    float *q, *dy, *k, *v;
    float (*p)[ATTENTION_TILE + 1], (*ds)[ATTENTION_TILE + 1];
    float *high, *sum, *share, *along; /* (ATTENTION_TILE); share: 1 / sum, of the vjp */
    unsigned step;
};

static inline size_t attention_shared_bytes(size_t e, bool vjp)
{
    return ((vjp ? 4 : 3) * ATTENTION_TILE * (e + 1) +
            (vjp ? 2 : 1) * ATTENTION_TILE * (ATTENTION_TILE + 1) + 4 * ATTENTION_TILE) *
           sizeof(float);
}

YPK_FUNCTION struct attention_shared attention_places(float *at, size_t e, bool vjp)
{
    struct attention_shared s;
    unsigned tile = ATTENTION_TILE * (unsigned)(e + 1);
    s.step = (unsigned)(e + 1); /* rows in different banks */
    s.q = at;
    s.k = s.q + tile;
    s.v = s.k + tile;
    s.dy = s.v + tile;
    at = vjp ? s.dy + tile : s.dy;
    s.p = (float(*)[ATTENTION_TILE + 1])(void *)at;
    s.ds = s.p + ATTENTION_TILE;
    at = (float *)(void *)(vjp ? s.ds + ATTENTION_TILE : s.ds);
    s.high = at;
    s.sum = at + ATTENTION_TILE;
    s.share = at + 2 * ATTENTION_TILE;
    s.along = at + 3 * ATTENTION_TILE;
    return s;
}

/* Where position i of the block's head is in an array (b, t, h, e). */
YPK_FUNCTION size_t attention_place(const struct nn_cuda_attention *job, size_t pair, size_t i)
{
    return ((pair / job->h * job->t + i) * job->h + pair % job->h) * job->e;
}

/* Thread t's share of the positions from `first` on; 0 beyond the last. */
YPK_FUNCTION void attention_load(const struct nn_cuda_attention *job, const void *from, size_t pair,
                                 size_t first, unsigned t, unsigned step, float *to)
{
    unsigned e = (unsigned)job->e;
    for (unsigned at = t; at < ATTENTION_TILE * e; at += ATTENTION_THREADS) {
        unsigned i = at / e, c = at % e;
        float value = 0;
        if (first + i < job->t)
            value = nn_get(from, attention_place(job, pair, first + i) + c, job->type);
        to[i * step + c] = value;
    }
}

YPK_FUNCTION bool attention_sees(const struct nn_cuda_attention *job, size_t i, size_t j)
{
    return i < job->t && j < job->t && (!job->causal || j <= i);
}

YPK_FUNCTION float attention_dot(const float *a, const float *b, size_t e)
{
    float sum = 0;
    for (size_t c = 0; c < e; c++)
        sum += a[c] * b[c];
    return sum;
}

YPK_FUNCTION float attention_factor(const struct nn_cuda_attention *job)
{
    return 1 / sqrtf((float)job->e);
}

/* -- forward -------------------------------------------------------------------------------- */

/* Products of thread t's, -infinity where nothing is seen. */
YPK_FUNCTION void attention_scores(const struct nn_cuda_attention *job, size_t row, size_t column,
                                   unsigned t, const struct attention_shared *s)
{
    unsigned i = t / ATTENTION_LANES;
    for (unsigned j = t % ATTENTION_LANES; j < ATTENTION_TILE; j += ATTENTION_LANES) {
        float score = -YPK_INFINITY;
        if (attention_sees(job, row + i, column + j))
            score = attention_dot(s->q + i * s->step, s->k + j * s->step, job->e);
        s->p[i][j] = score;
    }
}

/* Row i's exponentials; what its sums so far are worth by the new maximum goes to `along`. */
YPK_FUNCTION void attention_exponentials(const struct nn_cuda_attention *job, unsigned i,
                                         const struct attention_shared *s)
{
    float factor = attention_factor(job);
    float before = s->high[i], high = before, sum = 0;
    for (unsigned j = 0; j < ATTENTION_TILE; j++)
        high = s->p[i][j] > high ? s->p[i][j] : high;
    for (unsigned j = 0; j < ATTENTION_TILE; j++) {
        float p = high > -YPK_INFINITY ? expf(factor * (s->p[i][j] - high)) : 0;
        s->p[i][j] = p;
        sum += p;
    }
    float worth = before > -YPK_INFINITY ? expf(factor * (before - high)) : 0;
    s->along[i] = worth;
    s->sum[i] = s->sum[i] * worth + sum;
    s->high[i] = high;
}

YPK_FUNCTION void attention_weigh(size_t e, unsigned t, const struct attention_shared *s,
                                  struct attention_own *own)
{
    unsigned i = t / ATTENTION_LANES;
    ATTENTION_CHANNELS(n, c, t, e)
    {
        float sum = own->first[n] * s->along[i];
        for (unsigned j = 0; j < ATTENTION_TILE; j++)
            sum += s->p[i][j] * s->v[j * s->step + c];
        own->first[n] = sum;
    }
}

YPK_FUNCTION size_t attention_end(const struct nn_cuda_attention *job, size_t row)
{
    size_t end = job->causal ? row + ATTENTION_TILE : job->t;
    return end < job->t ? end : job->t;
}

YPK_FUNCTION void attention_forward(const struct nn_cuda_attention *job, size_t row, size_t pair,
                                    float *memory, struct attention_own *own)
{
    struct attention_shared s = attention_places(memory, job->e, false);
    YPK_EACH (t, ATTENTION_THREADS) {
        attention_load(job, job->q, pair, row, t, s.step, s.q);
        memset(&own[YPK_OWN(t)], 0, sizeof *own);
        if (t < ATTENTION_TILE) {
            s.high[t] = -YPK_INFINITY;
            s.sum[t] = 0;
        }
    }
    for (size_t column = 0; column < attention_end(job, row); column += ATTENTION_TILE) {
        ypk_block_barrier();
        YPK_EACH (t, ATTENTION_THREADS) {
            attention_load(job, job->k, pair, column, t, s.step, s.k);
            attention_load(job, job->v, pair, column, t, s.step, s.v);
        }
        ypk_block_barrier();
        YPK_EACH (t, ATTENTION_THREADS)
            attention_scores(job, row, column, t, &s);
        ypk_block_barrier();
        YPK_EACH (t, ATTENTION_TILE)
            attention_exponentials(job, t, &s);
        ypk_block_barrier();
        YPK_EACH (t, ATTENTION_THREADS)
            attention_weigh(job->e, t, &s, &own[YPK_OWN(t)]);
    }
    ypk_block_barrier();
    YPK_EACH (t, ATTENTION_THREADS) {
        size_t i = t / ATTENTION_LANES;
        if (row + i < job->t) {
            if (t % ATTENTION_LANES == 0) {
                job->high[pair * job->t + row + i] = s.high[i];
                job->sum[pair * job->t + row + i] = s.sum[i];
            }
            ATTENTION_CHANNELS(n, c, t, job->e)
            nn_put(job->y, attention_place(job, pair, row + i) + c,
                   own[YPK_OWN(t)].first[n] / s.sum[i], job->type);
        }
    }
}

/* -- backward ------------------------------------------------------------------------------- */

/* p and, into ds, the gradient of it, dy v^T, of thread t's pairs of a row's and a column's tile.
 */
YPK_FUNCTION void attention_pairs(const struct nn_cuda_attention *job, size_t row, size_t column,
                                  unsigned t, const struct attention_shared *s)
{
    unsigned i = t / ATTENTION_LANES;
    for (unsigned j = t % ATTENTION_LANES; j < ATTENTION_TILE; j += ATTENTION_LANES) {
        float p = 0, slope = 0;
        if (attention_sees(job, row + i, column + j)) {
            float product = attention_dot(s->q + i * s->step, s->k + j * s->step, job->e);
            p = expf(attention_factor(job) * (product - s->high[i])) * s->share[i];
            slope = attention_dot(s->dy + i * s->step, s->v + j * s->step, job->e);
        }
        s->p[i][j] = p;
        s->ds[i][j] = slope;
    }
}

/* But for `along`. */
YPK_FUNCTION void attention_load_softmax(const struct nn_cuda_attention *job, size_t row,
                                         size_t pair, unsigned t, const struct attention_shared *s)
{
    attention_load(job, job->q, pair, row, t, s->step, s->q);
    attention_load(job, job->dy, pair, row, t, s->step, s->dy);
    if (t < ATTENTION_TILE) {
        bool inside = row + t < job->t;
        s->high[t] = inside ? job->high[pair * job->t + row + t] : 0;
        s->share[t] = inside ? 1 / job->sum[pair * job->t + row + t] : 0;
    }
}

YPK_FUNCTION void attention_load_rows(const struct nn_cuda_attention *job, size_t row, size_t pair,
                                      unsigned t, const struct attention_shared *s)
{
    attention_load_softmax(job, row, pair, t, s);
    if (t < ATTENTION_TILE)
        s->along[t] = row + t < job->t ? job->along[pair * job->t + row + t] : 0;
}

YPK_FUNCTION void attention_load_columns(const struct nn_cuda_attention *job, size_t column,
                                         size_t pair, unsigned t, const struct attention_shared *s)
{
    attention_load(job, job->k, pair, column, t, s->step, s->k);
    attention_load(job, job->v, pair, column, t, s->step, s->v);
}

/* along (b, h, t), of a tile of rows. */
YPK_FUNCTION void attention_along(const struct nn_cuda_attention *job, size_t row, size_t pair,
                                  float *memory)
{
    struct attention_shared s = attention_places(memory, job->e, true);
    YPK_EACH (t, ATTENTION_THREADS) {
        attention_load_softmax(job, row, pair, t, &s);
        if (t < ATTENTION_TILE)
            s.along[t] = 0;
    }
    for (size_t column = 0; column < attention_end(job, row); column += ATTENTION_TILE) {
        ypk_block_barrier();
        YPK_EACH (t, ATTENTION_THREADS)
            attention_load_columns(job, column, pair, t, &s);
        ypk_block_barrier();
        YPK_EACH (t, ATTENTION_THREADS)
            attention_pairs(job, row, column, t, &s);
        ypk_block_barrier();
        YPK_EACH (t, ATTENTION_TILE)
            for (unsigned j = 0; j < ATTENTION_TILE; j++)
                s.along[t] += s.p[t][j] * s.ds[t][j];
    }
    ypk_block_barrier();
    YPK_EACH (t, ATTENTION_TILE)
        if (row + t < job->t)
            job->along[pair * job->t + row + t] = s.along[t];
}

/* ds of thread t's pairs. */
YPK_FUNCTION void attention_slopes(const struct nn_cuda_attention *job, unsigned t,
                                   const struct attention_shared *s)
{
    unsigned i = t / ATTENTION_LANES;
    for (unsigned j = t % ATTENTION_LANES; j < ATTENTION_TILE; j += ATTENTION_LANES)
        s->ds[i][j] = attention_factor(job) * s->p[i][j] * (s->ds[i][j] - s->along[i]);
}

YPK_FUNCTION void attention_put(const struct nn_cuda_attention *job, void *to, size_t pair,
                                size_t i, unsigned t, const float *values)
{
    if (i < job->t)
        ATTENTION_CHANNELS(n, c, t, job->e)
    nn_put(to, attention_place(job, pair, i) + c, values[n], job->type);
}

/* dq of a tile of rows. */
YPK_FUNCTION void attention_rows_vjp(const struct nn_cuda_attention *job, size_t row, size_t pair,
                                     float *memory, struct attention_own *own)
{
    struct attention_shared s = attention_places(memory, job->e, true);
    YPK_EACH (t, ATTENTION_THREADS) {
        attention_load_rows(job, row, pair, t, &s);
        memset(&own[YPK_OWN(t)], 0, sizeof *own);
    }
    for (size_t column = 0; column < attention_end(job, row); column += ATTENTION_TILE) {
        ypk_block_barrier();
        YPK_EACH (t, ATTENTION_THREADS)
            attention_load_columns(job, column, pair, t, &s);
        ypk_block_barrier();
        YPK_EACH (t, ATTENTION_THREADS) {
            attention_pairs(job, row, column, t, &s);
            attention_slopes(job, t, &s); /* of the same pairs */
        }
        ypk_block_barrier();
        YPK_EACH (t, ATTENTION_THREADS) {
            unsigned i = t / ATTENTION_LANES;
            ATTENTION_CHANNELS(n, c, t, job->e)
            for (unsigned j = 0; j < ATTENTION_TILE; j++)
                own[YPK_OWN(t)].first[n] += s.ds[i][j] * s.k[j * s.step + c];
        }
    }
    YPK_EACH (t, ATTENTION_THREADS)
        attention_put(job, job->dq, pair, row + t / ATTENTION_LANES, t, own[YPK_OWN(t)].first);
}

/* dk and dv of a tile of columns. */
YPK_FUNCTION void attention_columns_vjp(const struct nn_cuda_attention *job, size_t column,
                                        size_t pair, float *memory, struct attention_own *own)
{
    struct attention_shared s = attention_places(memory, job->e, true);
    YPK_EACH (t, ATTENTION_THREADS) {
        attention_load_columns(job, column, pair, t, &s);
        memset(&own[YPK_OWN(t)], 0, sizeof *own);
    }
    for (size_t row = job->causal ? column : 0; row < job->t; row += ATTENTION_TILE) {
        ypk_block_barrier();
        YPK_EACH (t, ATTENTION_THREADS)
            attention_load_rows(job, row, pair, t, &s);
        ypk_block_barrier();
        YPK_EACH (t, ATTENTION_THREADS) {
            attention_pairs(job, row, column, t, &s);
            attention_slopes(job, t, &s);
        }
        ypk_block_barrier();
        YPK_EACH (t, ATTENTION_THREADS) {
            unsigned j = t / ATTENTION_LANES;
            ATTENTION_CHANNELS(n, c, t, job->e)
            for (unsigned i = 0; i < ATTENTION_TILE; i++) {
                own[YPK_OWN(t)].first[n] += s.ds[i][j] * s.q[i * s.step + c];
                own[YPK_OWN(t)].second[n] += s.p[i][j] * s.dy[i * s.step + c];
            }
        }
    }
    YPK_EACH (t, ATTENTION_THREADS) {
        size_t j = column + t / ATTENTION_LANES;
        if (job->dk != NULL)
            attention_put(job, job->dk, pair, j, t, own[YPK_OWN(t)].first);
        if (job->dv != NULL)
            attention_put(job, job->dv, pair, j, t, own[YPK_OWN(t)].second);
    }
}
