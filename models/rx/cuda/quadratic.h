/* Quadratic forms of pixels by one block of threads: what struct rxc_quadratic says.
 *
 * The pixels stand in shared memory, one channel of all of them side by side. A warp takes 16 rows
 * of the triangle at once, whose slices it fetches while it multiplies the one before; a lane has 4
 * pixels, side by side, and the 16 rows' sums for each in registers. What lies above the diagonal
 * is left out but for the last slice of a row. Rows are dealt out so that every warp has about the
 * same number of slices. */
#pragma once

#include "models/rx/cuda/rx_cuda.h"

#define RXC_QUADRATIC_WARPS 4U
#define RXC_QUADRATIC_THREADS (32U * RXC_QUADRATIC_WARPS) /* as many as pixels */
/* From one channel to the next: a multiple of 16 bytes, and 8 channels of 4 pixels lie in banks of
 * their own. */
#define RXC_APART (RXC_PIXELS + 4U)
#define RXC_LANE_PIXELS (RXC_PIXELS / 32U)

YPK_BOTH unsigned rxc_fours(unsigned channels)
{
    return (channels + 3) / 4 * 4;
}

/* Floats of the pixels; space for a loss's sums at least, which take their place. */
YPK_BOTH unsigned rxc_quadratic_pixels(unsigned channels)
{
    return RXC_APART * (rxc_fours(channels) < 8 ? 8 : rxc_fours(channels));
}

YPK_BOTH size_t rxc_quadratic_shared(unsigned channels)
{
    return (rxc_quadratic_pixels(channels) + 2U * RXC_SLICE * RXC_QUADRATIC_WARPS) * sizeof(float);
}

/* What becomes of y: scores |y|^2, a loss's y . z, or that and the products themselves. */
enum rxc_outcome { RXC_SCORES, RXC_LOSS, RXC_PRODUCTS };

YPK_BOTH enum rxc_outcome rxc_outcome_of(const struct rxc_quadratic *job)
{
    return job->products != NULL ? RXC_PRODUCTS : job->loss ? RXC_LOSS : RXC_SCORES;
}

struct rxc_pixels {
    unsigned count, channels, inputs; /* inputs: channels rounded up to 4 */
    float *z;                         /* (inputs, APART) */
    float *slices;                    /* (WARPS, 2, SLICE); a warp's part of the scores after it */
};

struct rxc_lane {
    float rows[RXC_LANE_PIXELS][RXC_ROWS];
    float score[RXC_LANE_PIXELS];
};

/* A warp takes 8 channels of 4 pixels at once, each 32 bytes in memory; half of a channel's pixels
 * are on their way together. */
YPK_FUNCTION void rxc_fill(const struct rxc_quadratic *job, const struct rxc_pixels *at,
                           unsigned block, unsigned t)
{
    const unsigned step = RXC_QUADRATIC_THREADS / 8, first = t / 8;
    const float *x = job->x + ((size_t)block * RXC_PIXELS + first) * job->stride;
    bool whole = at->count == RXC_PIXELS;
    YPK_UNROLL(2)
    for (unsigned c = t % 8; c < at->inputs; c += 8) {
        bool there = c < at->channels;
        float centre = there ? job->centre[c] : 0, *to = at->z + c * RXC_APART + first;
        const float *from = x + c;
        YPK_UNROLL(8)
        for (unsigned p = 0; p < RXC_PIXELS; p += step, from += step * job->stride) {
            float value = there && (whole || first + p < at->count) ? *from : centre;
            to[p] = value - centre;
        }
    }
}

/* Where a warp's part of the scores goes, (PIXELS): it needs no slices any more. */
YPK_FUNCTION float *rxc_part(const struct rxc_pixels *at, unsigned warp)
{
    return at->slices + warp * 2 * RXC_SLICE;
}

YPK_FUNCTION void rxc_fetch(const struct rxc_quadratic *job, const struct rxc_pixels *at,
                            unsigned warp, unsigned number, unsigned place, unsigned lane)
{
    float *to = at->slices + (warp * 2 + place) * RXC_SLICE;
    const float *from = job->slices + (size_t)number * RXC_SLICE;
    for (unsigned i = 4 * lane; i < RXC_SLICE; i += 4 * 32)
        ypk_copy(to + i, from + i, 4);
    ypk_commit(warp * 32 + lane);
}

/* 16 inputs of 16 rows, 4 inputs at once; the slice's end beyond the last input is left out. */
YPK_FUNCTION void rxc_add_slice(const struct rxc_pixels *at, struct rxc_lane *own, unsigned warp,
                                unsigned first, unsigned place, unsigned lane)
{
    const float *slice = at->slices + (warp * 2 + place) * RXC_SLICE;
    unsigned inputs = at->inputs - first < RXC_ROWS ? at->inputs - first : RXC_ROWS;
    const float *z = at->z + first * RXC_APART + RXC_LANE_PIXELS * lane;
    for (unsigned k = 0; k < inputs; k += 4) {
        YPK_UNROLL(4)
        for (unsigned e = 0; e < 4; e++) {
            float row[RXC_ROWS], value[RXC_LANE_PIXELS];
            YPK_UNROLL(4)
            for (unsigned i = 0; i < RXC_ROWS; i += 4)
                ypk_load_four(slice + (k + e) * RXC_ROWS + i, row + i);
            ypk_load_four(z + (k + e) * RXC_APART, value);
            YPK_UNROLL(4)
            for (unsigned q = 0; q < RXC_LANE_PIXELS; q++) {
                YPK_UNROLL(16)
                for (unsigned i = 0; i < RXC_ROWS; i++)
                    own->rows[q][i] = fmaf(row[i], value[q], own->rows[q][i]);
            }
        }
    }
}

YPK_FUNCTION void rxc_begin_rows(const struct rxc_quadratic *job, struct rxc_lane *own,
                                 unsigned rows)
{
    YPK_UNROLL(16)
    for (unsigned i = 0; i < RXC_ROWS; i++) {
        float from = job->offset != NULL ? -job->offset[rows * RXC_ROWS + i] : 0;
        YPK_UNROLL(4)
        for (unsigned q = 0; q < RXC_LANE_PIXELS; q++)
            own->rows[q][i] = from;
    }
}

YPK_FUNCTION void rxc_end_rows(const struct rxc_pixels *at, struct rxc_lane *own, unsigned rows,
                               enum rxc_outcome outcome, unsigned lane)
{
    const float *z = at->z + rows * RXC_ROWS * RXC_APART + RXC_LANE_PIXELS * lane;
    YPK_UNROLL(16)
    for (unsigned i = 0; i < RXC_ROWS; i++) {
        if (outcome != RXC_SCORES && rows * RXC_ROWS + i >= at->channels)
            continue;
        YPK_UNROLL(4)
        for (unsigned q = 0; q < RXC_LANE_PIXELS; q++) {
            float y = own->rows[q][i], with = outcome != RXC_SCORES ? z[i * RXC_APART + q] : y;
            own->score[q] = fmaf(y, with, own->score[q]);
        }
    }
}

/* A lane's 16 values of each of its pixels, which lie side by side in memory. */
YPK_FUNCTION void rxc_write_rows(const struct rxc_quadratic *job, const struct rxc_pixels *at,
                                 unsigned block, const struct rxc_lane *own, unsigned rows,
                                 unsigned lane)
{
    bool fours = job->channels % 4 == 0; /* the products are a multiple of 16 bytes, then */
    YPK_UNROLL(4)
    for (unsigned q = 0; q < RXC_LANE_PIXELS; q++) {
        unsigned pixel = RXC_LANE_PIXELS * lane + q;
        float *to = job->products + ((size_t)block * RXC_PIXELS + pixel) * job->channels;
        YPK_UNROLL(4)
        for (unsigned i = 0; i < RXC_ROWS; i += 4) {
            unsigned row = rows * RXC_ROWS + i;
            if (pixel >= at->count)
                continue;
            if (fours && row < at->channels)
                ypk_store_four(to + row, own->rows[q] + i);
            YPK_UNROLL(4)
            for (unsigned e = 0; e < 4; e++)
                if (!fours && row + e < at->channels)
                    to[row + e] = own->rows[q][i + e];
        }
    }
}

/* All rows that are this warp's. A lane's copies are its own until the warp's barrier. */
YPK_FUNCTION void rxc_go_down(const struct rxc_quadratic *job, const struct rxc_pixels *at,
                              unsigned block, struct rxc_lane *own, enum rxc_outcome outcome,
                              unsigned warp)
{
    unsigned blocks = (at->channels + RXC_ROWS - 1) / RXC_ROWS;
    for (unsigned turn = 0; turn < blocks; turn++) {
        unsigned place = turn % RXC_QUADRATIC_WARPS;
        if (turn / RXC_QUADRATIC_WARPS % 2 != 0)
            place = RXC_QUADRATIC_WARPS - 1 - place;
        if (place != warp)
            continue;
        unsigned rows = blocks - 1 - turn, last = rows, first = rows * (rows + 1) / 2;
        if (outcome == RXC_PRODUCTS) {
            last = blocks - 1;
            first = rows * blocks;
        }
        YPK_LANES (l) {
            rxc_begin_rows(job, &own[YPK_OWN(l)], rows);
            rxc_fetch(job, at, warp, first, 0, l);
        }
        for (unsigned s = 0; s <= last; s++) {
            ypk_warp_barrier(); /* the other place has been read */
            YPK_LANES (l) {
                if (s < last)
                    rxc_fetch(job, at, warp, first + s + 1, (s + 1) % 2, l);
                ypk_wait(warp * 32 + l, s < last ? 1 : 0);
            }
            ypk_warp_barrier();
            YPK_LANES (l)
                rxc_add_slice(at, &own[YPK_OWN(l)], warp, s * RXC_ROWS, s % 2, l);
        }
        YPK_LANES (l) {
            rxc_end_rows(at, &own[YPK_OWN(l)], rows, outcome, l);
            if (outcome == RXC_PRODUCTS)
                rxc_write_rows(job, at, block, &own[YPK_OWN(l)], rows, l);
        }
        ypk_warp_barrier();
    }
}

/* From a score to g and to what it adds, as judge() of loss.c; `target`: a pixel that counts and is
 * one, whose loss has that weight. */
YPK_FUNCTION void rxc_judge(const float *scalars, float weight, float score, bool target, bool kept,
                            float *g, double *sums)
{
    float scale = scalars[0], bias = scalars[1];
    float distance = score - bias, l = scale * distance;
    float wrong = target ? -l : l;
    float slope = target ? -1 / (1 + expf(l)) : 1 / (1 + expf(-l));
    float most = target ? 10 * weight : 10, d = most * slope;
    *g = kept ? d * scale : 0;
    sums[0] = kept ? (double)most * (double)(fmaxf(wrong, 0) + log1pf(expf(-fabsf(wrong)))) : 0;
    sums[1] = kept ? (double)d : 0;
    sums[2] = kept ? (double)d * (double)distance : 0;
}

/* A block's sums from its pixels', (PIXELS, 4), which are used up. All threads call it, behind what
 * wrote them. */
YPK_FUNCTION void rxc_sum_pixels(double *sums, double *to, unsigned *kept)
{
    for (unsigned width = RXC_PIXELS / 2; width > 0; width /= 2) {
        ypk_block_barrier();
        YPK_EACH (t, width)
            for (unsigned i = 0; i < 4; i++)
                sums[4 * t + i] += sums[4 * (t + width) + i];
    }
    YPK_EACH (t, 1U) {
        for (unsigned i = 0; i < 3; i++)
            to[i] = sums[i];
        *kept = (unsigned)sums[3];
    }
}

YPK_FUNCTION bool rxc_all_finite(const struct rxc_quadratic *job, size_t pixel)
{
    for (unsigned c = 0; c < job->channels; c++)
        if (!ypk_finite(job->x[pixel * job->stride + c]))
            return false;
    return true;
}

/* A pixel's score from the warps' parts, in their order. The loss's sums go where the pixels were:
 * (PIXELS, 4), the last is 1 for each that counts. */
YPK_FUNCTION void rxc_finish_pixel(const struct rxc_quadratic *job, const struct rxc_pixels *at,
                                   unsigned block, enum rxc_outcome outcome, double *sums,
                                   unsigned t)
{
    size_t pixel = (size_t)block * RXC_PIXELS + t;
    float score = 0;
    for (unsigned w = 0; w < RXC_QUADRATIC_WARPS; w++)
        score += rxc_part(at, w)[t];
    bool there = t < at->count, kept;
    if (outcome == RXC_PRODUCTS)
        kept = there && job->keep[pixel] != 0;
    else /* a value that is not finite makes every sum it is in another such, if by a factor 0 */
        kept = there && (ypk_finite(score) || rxc_all_finite(job, pixel));
    if (pixel < job->places && job->scores != NULL)
        job->scores[pixel] = kept ? score : YPK_NAN;
    if (outcome == RXC_SCORES)
        return;
    double *own = sums + 4 * t;
    own[0] = own[1] = own[2] = 0;
    own[3] = kept;
    if (there && (outcome == RXC_LOSS || job->labels != NULL))
        rxc_judge(job->scalars, job->target, score, kept && job->labels[pixel] != 0, kept,
                  job->g + pixel, own);
}

/* The work of one block; `shared` has rxc_quadratic_shared() bytes. */
YPK_FUNCTION void rxc_quadratics(const struct rxc_quadratic *job, unsigned block,
                                 enum rxc_outcome outcome, float *shared, struct rxc_lane *own)
{
    size_t first = (size_t)block * RXC_PIXELS;
    struct rxc_pixels at;
    size_t left = first < job->pixels ? job->pixels - first : 0;
    at.count = left < RXC_PIXELS ? (unsigned)left : RXC_PIXELS;
    at.channels = job->channels;
    at.inputs = rxc_fours(job->channels);
    at.z = shared;
    at.slices = at.z + rxc_quadratic_pixels(job->channels);
    YPK_EACH (t, RXC_QUADRATIC_THREADS)
        rxc_fill(job, &at, block, t);
    ypk_block_barrier();
    YPK_WARPS (w, RXC_QUADRATIC_WARPS) {
        YPK_LANES (l)
            for (unsigned q = 0; q < RXC_LANE_PIXELS; q++)
                own[YPK_OWN(l)].score[q] = 0;
        rxc_go_down(job, &at, block, own, outcome, w);
        YPK_LANES (l)
            for (unsigned q = 0; q < RXC_LANE_PIXELS; q++)
                rxc_part(&at, w)[RXC_LANE_PIXELS * l + q] = own[YPK_OWN(l)].score[q];
    }
    ypk_block_barrier();
    double *sums = (double *)(void *)shared;
    YPK_EACH (t, RXC_QUADRATIC_THREADS)
        rxc_finish_pixel(job, &at, block, outcome, sums, t);
    if (outcome == RXC_SCORES)
        return;
    rxc_sum_pixels(sums, job->sums + 3 * (size_t)block, job->kept + block);
}

/* One slice's entry of (A + A^T) with the diagonal once, as a lower triangle: entry (row, k). */
YPK_FUNCTION float rxc_folded(unsigned channels, const float *a, unsigned row, unsigned k)
{
    if (row >= channels || k > row)
        return 0;
    size_t c = channels;
    return row == k ? a[row * c + k] : a[row * c + k] + a[k * c + row];
}

/* Where a triangle's entry stands in its slices: number i of all. */
YPK_FUNCTION void rxc_entry(unsigned i, unsigned *row, unsigned *k)
{
    unsigned slice = i / RXC_SLICE, block = 0;
    while (slice > block) {
        slice -= block + 1;
        block++;
    }
    *k = slice * RXC_ROWS + i % RXC_SLICE / RXC_ROWS;
    *row = block * RXC_ROWS + i % RXC_ROWS;
}
