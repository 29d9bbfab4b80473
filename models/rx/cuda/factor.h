/* A covariance's factor and what whitens by it, by one block of threads: what struct rxc_factor
 * says. The matrix and the inverse stay in the caches; a thread has a row of one or a column of the
 * other. */
#pragma once

#include "models/rx/cuda/quadratic.h"

#define RXC_FACTOR_THREADS 256U /* a thread a channel, at least */

struct rxc_factor_shared {
    double row[RXC_FACTOR_THREADS]; /* of the factor, up to its diagonal */
    double pivot;                   /* squared */
};

YPK_FUNCTION bool rxc_left_out(const struct rxc_factor *job, unsigned channel)
{
    return job->mask && job->low[channel] == job->high[channel];
}

/* Of A, without what its channel is masked for. */
YPK_FUNCTION double rxc_diagonal(const struct rxc_factor *job, unsigned channel)
{
    return job->m2[(size_t)channel * job->channels + channel] / job->count + job->ridge;
}

/* A's upper triangle, and zeros. */
YPK_FUNCTION void rxc_regularise(const struct rxc_factor *job, unsigned t)
{
    unsigned channels = job->channels;
    for (unsigned at = t; at < channels * channels; at += RXC_FACTOR_THREADS) {
        unsigned i = at / channels, j = at % channels;
        bool out = rxc_left_out(job, i) || rxc_left_out(job, j);
        double value = 0;
        if (i == j)
            value = out ? 1 : rxc_diagonal(job, i);
        else if (i < j && !out)
            value = job->m2[at] / job->count * job->keep;
        job->matrix[at] = value;
    }
}

/* Column j of the factor: a thread has sum = A - sum of products of what is left of it. */
YPK_FUNCTION void rxc_factor_sum(const struct rxc_factor *job, struct rxc_factor_shared *shared,
                                 unsigned j, double *sum, unsigned t)
{
    size_t channels = job->channels;
    if (t < j || t >= channels)
        return;
    double left = job->matrix[j * channels + t];
    YPK_UNROLL(8)
    for (unsigned k = 0; k < j; k++)
        left = fma(-job->matrix[k * channels + t], shared->row[k], left);
    *sum = left;
    if (t == j)
        shared->pivot = left;
}

YPK_FUNCTION bool rxc_factor_suffices(const struct rxc_factor *job, double pivot, unsigned j)
{
    return rxc_left_out(job, j) ||
           (pivot >= job->least * rxc_diagonal(job, j) && pivot < (double)YPK_INFINITY);
}

YPK_FUNCTION void rxc_factor_divide(const struct rxc_factor *job,
                                    const struct rxc_factor_shared *shared, unsigned j, double sum,
                                    unsigned t)
{
    double root = sqrt(shared->pivot);
    if (t < j || t >= job->channels)
        return;
    if (t == j)
        root = rxc_left_out(job, j) ? (double)YPK_INFINITY : root;
    job->matrix[(size_t)j * job->channels + t] = t == j ? root : sum / root;
}

/* What rxc_factor.failed becomes. As the host does, all pivots are taken before a small one is
 * minded. NaN is no pivot either. */
YPK_FUNCTION unsigned rxc_factor_matrix(const struct rxc_factor *job,
                                        struct rxc_factor_shared *shared, double *sums)
{
    size_t channels = job->channels;
    unsigned small = 0;
    for (unsigned j = 0; j < channels; j++) {
        YPK_EACH (t, RXC_FACTOR_THREADS)
            if (t < j)
                shared->row[t] = job->matrix[t * channels + j];
        ypk_block_barrier();
        YPK_EACH (t, RXC_FACTOR_THREADS)
            rxc_factor_sum(job, shared, j, &sums[YPK_OWN(t)], t);
        ypk_block_barrier();
        if (!(shared->pivot > 0))
            return j + 1;
        if (small == 0 && !rxc_factor_suffices(job, shared->pivot, j))
            small = j + 1;
        YPK_EACH (t, RXC_FACTOR_THREADS)
            rxc_factor_divide(job, shared, j, sums[YPK_OWN(t)], t);
        ypk_block_barrier();
    }
    return small;
}

/* Row i of the inverse, of which a thread has column t. Its warp begins with the same row: there
 * are zeros above the diagonal. */
YPK_FUNCTION void rxc_invert_row(const struct rxc_factor *job,
                                 const struct rxc_factor_shared *shared, unsigned i, unsigned t)
{
    size_t channels = job->channels;
    double sum = t == i ? -1 : 0;
    if (t >= channels)
        return;
    YPK_UNROLL(8)
    for (unsigned m = t / 32 * 32; m < i; m++)
        sum = fma(shared->row[m], job->inverse[m * channels + t], sum);
    job->inverse[i * channels + t] = t <= i ? -sum / shared->row[i] : 0;
}

YPK_FUNCTION void rxc_invert(const struct rxc_factor *job, struct rxc_factor_shared *shared)
{
    size_t channels = job->channels;
    for (unsigned i = 0; i < channels; i++) {
        YPK_EACH (t, RXC_FACTOR_THREADS)
            if (t <= i)
                shared->row[t] = job->matrix[t * channels + i];
        ypk_block_barrier();
        YPK_EACH (t, RXC_FACTOR_THREADS)
            rxc_invert_row(job, shared, i, t);
        ypk_block_barrier();
    }
}

/* The inverse in float, as rxc_quadratics() wants it. */
YPK_FUNCTION void rxc_cut_slices(const struct rxc_factor *job, unsigned t)
{
    size_t channels = job->channels;
    for (unsigned i = t; i < rxc_slices(job->channels); i += RXC_FACTOR_THREADS) {
        unsigned row, k;
        rxc_entry(i, &row, &k);
        job->slices[i] = row < channels && k <= row ? (float)job->inverse[row * channels + k] : 0;
    }
}

YPK_FUNCTION void rxc_round_mean(const struct rxc_factor *job, unsigned t)
{
    for (unsigned c = t; c < job->channels; c += RXC_FACTOR_THREADS)
        job->centre[c] = (float)job->mean[c];
}

YPK_FUNCTION void rxc_put_offset(const struct rxc_factor *job, unsigned t)
{
    size_t channels = job->channels;
    for (unsigned row = t; row < channels + RXC_ROWS; row += RXC_FACTOR_THREADS) {
        double sum = 0;
        for (unsigned k = 0; row < channels && k <= row; k++)
            sum += job->inverse[row * channels + k] * (job->mean[k] - (double)(float)job->mean[k]);
        job->offset[row] = (float)sum;
    }
}

YPK_FUNCTION void rxc_sum_squares(const struct rxc_factor *job, unsigned t)
{
    size_t channels = job->channels;
    for (unsigned c = t; c < channels && job->squares != NULL; c += RXC_FACTOR_THREADS) {
        double sum = 0;
        YPK_UNROLL(8)
        for (unsigned row = c; row < channels; row++)
            sum = fma(job->inverse[row * channels + c], job->inverse[row * channels + c], sum);
        job->squares[c] = sum;
    }
}

/* The work of one block; `sums` has a place a thread (YPK_PRIVATE). */
YPK_FUNCTION void rxc_factorise(const struct rxc_factor *job, struct rxc_factor_shared *shared,
                                double *sums)
{
    YPK_EACH (t, RXC_FACTOR_THREADS)
        rxc_regularise(job, t);
    ypk_block_barrier();
    unsigned failed = rxc_factor_matrix(job, shared, sums);
    YPK_EACH (t, 1U)
        *job->failed = failed + t;
    if (failed != 0)
        return;
    rxc_invert(job, shared);
    YPK_EACH (t, RXC_FACTOR_THREADS) {
        rxc_cut_slices(job, t);
        rxc_round_mean(job, t);
        rxc_put_offset(job, t);
        rxc_sum_squares(job, t);
    }
}
