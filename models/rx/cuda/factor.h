/*
 * A covariance's factor and what whitens by it, by one block of threads: what struct rxc_factor
 * says. The matrix and the inverse stay in the caches; a thread has a row of one or a column of the
 * other.
 */
#ifndef RXC_FACTOR_H
#define RXC_FACTOR_H

#include "quadratic.h"

#define RXC_FACTOR_THREADS 256U /* a thread a channel, at least */

#if defined __CUDACC__ || defined RXC_ON_CPU

struct rxc_factor_room {
    double row[RXC_FACTOR_THREADS]; /* of the factor, up to its diagonal */
    double pivot;                   /* squared */
};

/* Column j of the factor: a thread has sum = A - sum of products of what is left of it. */
RXC_FUNCTION void rxc_factor_sum(const struct rxc_factor *job, struct rxc_factor_room *room,
                                 unsigned j, double *sum, unsigned t)
{
    size_t channels = job->channels;
    if (t < j || t >= channels)
        return;
    double left = job->matrix[j * channels + t];
    RXC_UNROLL(8)
    for (unsigned k = 0; k < j; k++)
        left = fma(-job->matrix[k * channels + t], room->row[k], left);
    *sum = left;
    if (t == j)
        room->pivot = left;
}

/* NaN is no pivot either. */
RXC_FUNCTION bool rxc_factor_holds(const struct rxc_factor *job, double pivot, unsigned j)
{
    bool out = job->out != NULL && job->out[j] != 0;
    return pivot > 0 && (out || job->least == NULL || pivot >= job->least[j]);
}

RXC_FUNCTION void rxc_factor_divide(const struct rxc_factor *job,
                                    const struct rxc_factor_room *room, unsigned j, double sum,
                                    unsigned t)
{
    double root = sqrt(room->pivot);
    if (t < j || t >= job->channels)
        return;
    if (t == j)
        root = job->out != NULL && job->out[j] != 0 ? (double)RXC_INFINITY : root;
    job->matrix[(size_t)j * job->channels + t] = t == j ? root : sum / root;
}

/* False when a pivot fails, which is told. */
RXC_FUNCTION bool rxc_factor_matrix(const struct rxc_factor *job, struct rxc_factor_room *room,
                                    double *sums)
{
    size_t channels = job->channels;
    for (unsigned j = 0; j < channels; j++) {
        RXC_EACH (t, RXC_FACTOR_THREADS)
            if (t < j)
                room->row[t] = job->matrix[t * channels + j];
        rxc_barrier();
        RXC_EACH (t, RXC_FACTOR_THREADS)
            rxc_factor_sum(job, room, j, &sums[RXC_OWN(t)], t);
        rxc_barrier();
        if (!rxc_factor_holds(job, room->pivot, j)) {
            RXC_EACH (t, 1U)
                *job->failed = j + 1 + t;
            return false;
        }
        RXC_EACH (t, RXC_FACTOR_THREADS)
            rxc_factor_divide(job, room, j, sums[RXC_OWN(t)], t);
        rxc_barrier();
    }
    return true;
}

/* Row i of the inverse, of which a thread has column t. Its warp begins with the same row: there
 * are zeros above the diagonal. */
RXC_FUNCTION void rxc_invert_row(const struct rxc_factor *job, const struct rxc_factor_room *room,
                                 unsigned i, unsigned t)
{
    size_t channels = job->channels;
    double sum = t == i ? -1 : 0;
    if (t >= channels)
        return;
    RXC_UNROLL(8)
    for (unsigned m = t / 32 * 32; m < i; m++)
        sum = fma(room->row[m], job->inverse[m * channels + t], sum);
    job->inverse[i * channels + t] = t <= i ? -sum / room->row[i] : 0;
}

RXC_FUNCTION void rxc_invert(const struct rxc_factor *job, struct rxc_factor_room *room)
{
    size_t channels = job->channels;
    for (unsigned i = 0; i < channels; i++) {
        RXC_EACH (t, RXC_FACTOR_THREADS)
            if (t <= i)
                room->row[t] = job->matrix[t * channels + i];
        rxc_barrier();
        RXC_EACH (t, RXC_FACTOR_THREADS)
            rxc_invert_row(job, room, i, t);
        rxc_barrier();
    }
}

/* The inverse in float, as rxc_quadratics() wants it. */
RXC_FUNCTION void rxc_cut_slices(const struct rxc_factor *job, unsigned t)
{
    size_t channels = job->channels;
    for (unsigned i = t; i < rxc_slices(job->channels); i += RXC_FACTOR_THREADS) {
        unsigned row, k;
        rxc_entry(i, &row, &k);
        job->slices[i] = row < channels && k <= row ? (float)job->inverse[row * channels + k] : 0;
    }
}

RXC_FUNCTION void rxc_put_offset(const struct rxc_factor *job, unsigned t)
{
    size_t channels = job->channels;
    for (unsigned row = t; row < channels + RXC_ROWS; row += RXC_FACTOR_THREADS) {
        double sum = 0;
        for (unsigned k = 0; row < channels && k <= row; k++)
            sum += job->inverse[row * channels + k] * job->rest[k];
        job->offset[row] = (float)sum;
    }
}

/* The work of one block; `sums` has a place a thread (RXC_HELD). */
RXC_FUNCTION void rxc_factorise(const struct rxc_factor *job, struct rxc_factor_room *room,
                                double *sums)
{
    if (!rxc_factor_matrix(job, room, sums))
        return;
    rxc_invert(job, room);
    RXC_EACH (t, RXC_FACTOR_THREADS) {
        rxc_cut_slices(job, t);
        rxc_put_offset(job, t);
    }
    RXC_EACH (t, 1U)
        *job->failed = t;
}

#endif
#endif
