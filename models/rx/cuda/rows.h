/* What a pipeline does to rows of pixels, by blocks of threads: products with a matrix, scores and
 * the sums that make a gradient. See rx_cuda.h for each job. */
#pragma once

#include "models/rx/cuda/quadratic.h"

#include <assert.h>

#define RXC_ROW_THREADS 256U

#define RXC_GATHERED 8U /* pixels of a block: a warp takes one */

/* A block of linear() makes so many outputs of so many pixels, and reads so many inputs at once. */
#define RXC_WIDE 64U
#define RXC_DEEP 16U

#define RXC_COLUMNS 32U /* of a block of columns() */

/* Rows that a thread of columns() reads before it uses the first; COLUMNED rows lie between them.
 */
#define RXC_TOGETHER 8U
#define RXC_COLUMNED (RXC_ROW_THREADS / RXC_COLUMNS)

static_assert(RXC_ROW_THREADS == 32 * RXC_GATHERED, "a warp a pixel");
static_assert(RXC_ROW_THREADS == RXC_PIXELS / 8 * (RXC_WIDE / 4), "8 by 4 sums of linear() each");
static_assert(RXC_ROW_THREADS / 4 == RXC_WIDE && RXC_PIXELS == 2 * RXC_WIDE && RXC_DEEP == 16,
              "4 inputs of three rows each");
static_assert(RXC_ROW_THREADS == RXC_WIDE / 4 * (RXC_WIDE / 4), "4 by 4 sums of cross() each");

/* -- gather --------------------------------------------------------------------------------- */

/* `invalid` is RXC_GATHERED of shared memory. */
YPK_FUNCTION void rxc_gather_rows(const struct rxc_gather *job, unsigned block, unsigned *invalid)
{
    size_t first = (size_t)block * RXC_GATHERED;
    YPK_EACH (t, RXC_GATHERED)
        invalid[t] = 0;
    ypk_block_barrier();
    YPK_EACH (t, RXC_ROW_THREADS) {
        size_t pixel = first + t / 32;
        for (unsigned c = t % 32; pixel < job->pixels && c < job->channels; c += 32)
            if (!ypk_finite(job->x[pixel * job->stride + c]))
                ypk_set_flag(&invalid[t / 32]);
    }
    ypk_block_barrier();
    YPK_EACH (t, RXC_ROW_THREADS) {
        size_t pixel = first + t / 32;
        if (pixel < job->pixels) {
            const float *x = job->x + pixel * job->stride;
            float *row = job->rows + pixel * job->channels;
            bool kept = invalid[t / 32] == 0;
            for (unsigned c = t % 32; c < job->channels; c += 32)
                row[c] = kept ? fmaf(x[c] - job->base[c], job->gain[c], job->rest[c]) : job->fill;
            if (t % 32 == 0)
                job->keep[pixel] = kept;
        }
    }
}

/* -- products with a matrix ------------------------------------------------------------------ */

/* Both sides turned: what one thread multiplies lies side by side. */
struct rxc_linear_shared {
    float in[RXC_DEEP][RXC_PIXELS + 4];
    float w[RXC_DEEP][RXC_WIDE + 4];
};

struct rxc_linear_own {
    float sum[8][4]; /* of pixels and outputs */
};

/* Four inputs of a row, of which there are `left`, and zeros; `fours`: rows are a multiple of 16
 * bytes. */
YPK_FUNCTION void rxc_linear_four(const float *from, unsigned left, bool fours, float *to)
{
    YPK_UNROLL(4)
    for (unsigned i = 0; i < 4; i++)
        to[i] = 0;
    if (fours && left > 0)
        ypk_load_four(from, to);
    if (fours)
        return;
    YPK_UNROLL(4)
    for (unsigned i = 0; i < 4; i++)
        to[i] = i < left ? from[i] : 0;
}

/* All of a thread's loads are on their way before the first is waited for. */
YPK_FUNCTION void rxc_linear_load(const struct rxc_linear *job, size_t pixel, unsigned output,
                                  unsigned input, struct rxc_linear_shared *shared, unsigned t)
{
    const unsigned k = t % 4 * 4, first = t / 4, step = RXC_ROW_THREADS / 4;
    bool fours = job->inputs % 4 == 0;
    unsigned left = input + k < job->inputs ? job->inputs - input - k : 0;
    size_t rows = job->pixels - pixel;
    float in[2][4], w[4];
    const float *from = job->in + (pixel + first) * job->inputs + input + k;
    rxc_linear_four(from, first < rows ? left : 0, fours, in[0]);
    rxc_linear_four(from + (size_t)step * job->inputs, first + step < rows ? left : 0, fours,
                    in[1]);
    rxc_linear_four(job->w + (size_t)(output + first) * job->inputs + input + k,
                    output + first < job->outputs ? left : 0, fours, w);
    YPK_UNROLL(4)
    for (unsigned i = 0; i < 4; i++) {
        shared->in[k + i][first] = in[0][i];
        shared->in[k + i][first + step] = in[1][i];
        shared->w[k + i][first] = w[i];
    }
}

YPK_FUNCTION void rxc_linear_multiply(const struct rxc_linear_shared *shared,
                                      struct rxc_linear_own *own, unsigned t)
{
    YPK_UNROLL(4)
    for (unsigned k = 0; k < RXC_DEEP; k++) {
        float in[8], w[4];
        ypk_load_four(&shared->in[k][8 * (t / 16)], in);
        ypk_load_four(&shared->in[k][8 * (t / 16) + 4], in + 4);
        ypk_load_four(&shared->w[k][4 * (t % 16)], w);
        YPK_UNROLL(8)
        for (unsigned p = 0; p < 8; p++) {
            YPK_UNROLL(4)
            for (unsigned j = 0; j < 4; j++)
                own->sum[p][j] = fmaf(in[p], w[j], own->sum[p][j]);
        }
    }
}

YPK_FUNCTION void rxc_linear_write(const struct rxc_linear *job, size_t pixel, unsigned output,
                                   const struct rxc_linear_own *own, unsigned t)
{
    YPK_UNROLL(8)
    for (unsigned p = 0; p < 8; p++) {
        size_t row = pixel + 8 * (t / 16) + p;
        YPK_UNROLL(4)
        for (unsigned j = 0; j < 4; j++) {
            unsigned column = output + 4 * (t % 16) + j;
            if (row >= job->pixels || column >= job->outputs)
                continue;
            size_t at = row * job->outputs + column;
            float sum = own->sum[p][j] + (job->offset != NULL ? job->offset[column] : 0);
            job->out[at] = sum - (job->less != NULL ? job->less[at] : 0);
        }
    }
}

/* Outputs from RXC_WIDE `wide` on, of the pixels of one block. `own` is a place a thread. */
YPK_FUNCTION void rxc_linear_rows(const struct rxc_linear *job, unsigned block, unsigned wide,
                                  struct rxc_linear_shared *shared, struct rxc_linear_own *own)
{
    size_t pixel = (size_t)block * RXC_PIXELS;
    unsigned output = wide * RXC_WIDE;
    YPK_EACH (t, RXC_ROW_THREADS) {
        YPK_UNROLL(8)
        for (unsigned p = 0; p < 8; p++) {
            YPK_UNROLL(4)
            for (unsigned j = 0; j < 4; j++)
                own[YPK_OWN(t)].sum[p][j] = 0;
        }
    }
    for (unsigned input = 0; input < job->inputs; input += RXC_DEEP) {
        YPK_EACH (t, RXC_ROW_THREADS)
            rxc_linear_load(job, pixel, output, input, shared, t);
        ypk_block_barrier();
        YPK_EACH (t, RXC_ROW_THREADS)
            rxc_linear_multiply(shared, &own[YPK_OWN(t)], t);
        ypk_block_barrier();
    }
    YPK_EACH (t, RXC_ROW_THREADS)
        rxc_linear_write(job, pixel, output, &own[YPK_OWN(t)], t);
}

/* -- scores ---------------------------------------------------------------------------------- */

struct rxc_dots_shared {
    float part[RXC_PIXELS]
              [33]; /* each lane's; one more, so that columns lie in banks of their own */
    double sums[RXC_PIXELS * 4];
};

YPK_FUNCTION void rxc_dots_part(const struct rxc_dots *job, size_t first,
                                struct rxc_dots_shared *shared, unsigned t)
{
    for (unsigned p = t / 32; p < RXC_PIXELS; p += RXC_ROW_THREADS / 32) {
        size_t row = (first + p) * job->width;
        float sum = 0;
        for (unsigned c = t % 32; first + p < job->pixels && c < job->width; c += 32)
            sum = fmaf(job->a[row + c], job->b[row + c], sum);
        shared->part[p][t % 32] = sum;
    }
}

YPK_FUNCTION void rxc_dots_pixel(const struct rxc_dots *job, size_t first,
                                 struct rxc_dots_shared *shared, unsigned t)
{
    size_t pixel = first + t;
    double *sums = shared->sums + 4 * t;
    sums[0] = sums[1] = sums[2] = sums[3] = 0;
    if (pixel >= job->pixels)
        return;
    bool kept = job->keep[pixel] != 0;
    float score = 0;
    if (job->a != NULL) {
        for (unsigned i = 0; i < 32; i++)
            score += shared->part[t][i];
        job->scores[pixel] = score *= job->factor;
    } else if (kept) {
        score = job->scores[pixel];
    }
    sums[3] = kept;
    if (job->own) {
        job->g[pixel] = kept ? 1 : 0;
        sums[0] = kept ? (double)score : 0;
    } else if (job->labels != NULL) {
        rxc_judge(job->scalars, job->target, score, kept && job->labels[pixel] != 0, kept,
                  job->g + pixel, sums);
    }
}

YPK_FUNCTION void rxc_dots_rows(const struct rxc_dots *job, unsigned block,
                                struct rxc_dots_shared *shared)
{
    size_t first = (size_t)block * RXC_PIXELS;
    if (job->a != NULL) {
        YPK_EACH (t, RXC_ROW_THREADS)
            rxc_dots_part(job, first, shared, t);
        ypk_block_barrier();
    }
    YPK_EACH (t, RXC_PIXELS)
        rxc_dots_pixel(job, first, shared, t);
    rxc_sum_pixels(shared->sums, job->sums + 3 * (size_t)block, job->kept + block);
}

/* -- sums over rows ---------------------------------------------------------------------------- */

struct rxc_columns_shared {
    double sum[RXC_ROW_THREADS], product[RXC_ROW_THREADS];
};

/* A thread's rows of column c, from `first` on. */
YPK_FUNCTION void rxc_column_some(const struct rxc_columns *job, size_t first, size_t end,
                                  unsigned c, double *sum, double *product)
{
    float a[RXC_TOGETHER], b[RXC_TOGETHER], weight[RXC_TOGETHER];
    YPK_UNROLL(8)
    for (unsigned i = 0; i < RXC_TOGETHER; i++) {
        size_t p = first + i * RXC_COLUMNED, at = p * job->width + c;
        a[i] = p < end ? job->a[at] : 0;
        b[i] = p < end && job->b != NULL ? job->b[at] : 0;
        weight[i] = p < end && job->weights != NULL ? job->weights[p] : 0;
    }
    YPK_UNROLL(8)
    for (unsigned i = 0; i < RXC_TOGETHER; i++) {
        size_t p = first + i * RXC_COLUMNED;
        float value = job->weights != NULL ? a[i] * (job->factor * weight[i]) : a[i];
        if (job->weights != NULL && p < end)
            job->a[p * job->width + c] = value;
        *sum += (double)value;
        *product += (double)value * (double)b[i];
    }
}

/* COLUMNS columns, from that many times `wide` on, of one range of rows. */
YPK_FUNCTION void rxc_columns_rows(const struct rxc_columns *job, unsigned block, unsigned wide,
                                   struct rxc_columns_shared *shared)
{
    size_t first = (size_t)block * job->range, left = job->pixels - first;
    size_t end = first + (left < job->range ? left : job->range);
    YPK_EACH (t, RXC_ROW_THREADS) {
        unsigned c = wide * RXC_COLUMNS + t % RXC_COLUMNS;
        double sum = 0, product = 0;
        for (size_t p = first + t / RXC_COLUMNS; c < job->width && p < end;
             p += RXC_TOGETHER * RXC_COLUMNED)
            rxc_column_some(job, p, end, c, &sum, &product);
        shared->sum[t] = sum;
        shared->product[t] = product;
    }
    ypk_block_barrier();
    YPK_EACH (t, RXC_COLUMNS) {
        unsigned c = wide * RXC_COLUMNS + t;
        double *to = job->parts + (size_t)block * 2 * job->width + c, sum = 0, product = 0;
        for (unsigned from = t; from < RXC_ROW_THREADS; from += RXC_COLUMNS) {
            sum += shared->sum[from];
            product += shared->product[from];
        }
        if (c < job->width) {
            to[0] = sum;
            to[job->width] = product;
        }
    }
}

struct rxc_cross_shared {
    float a[RXC_DEEP][RXC_WIDE + 4], b[RXC_DEEP][RXC_WIDE + 4]; /* of DEEP pixels */
};

struct rxc_cross_own {
    float sum[4][4];
};

YPK_FUNCTION void rxc_cross_load(const float *from, unsigned width, unsigned first, size_t pixel,
                                 size_t end, float to[RXC_DEEP][RXC_WIDE + 4], unsigned t)
{
    unsigned c = first + t % RXC_WIDE;
    YPK_UNROLL(4)
    for (unsigned p = t / RXC_WIDE; p < RXC_DEEP; p += RXC_ROW_THREADS / RXC_WIDE)
        to[p][t % RXC_WIDE] = pixel + p < end && c < width ? from[(pixel + p) * width + c] : 0;
}

YPK_FUNCTION void rxc_cross_multiply(const struct rxc_cross_shared *shared,
                                     struct rxc_cross_own *own, unsigned t)
{
    YPK_UNROLL(8)
    for (unsigned p = 0; p < RXC_DEEP; p++) {
        float a[4], b[4];
        ypk_load_four(&shared->a[p][4 * (t / 16)], a);
        ypk_load_four(&shared->b[p][4 * (t % 16)], b);
        YPK_UNROLL(4)
        for (unsigned i = 0; i < 4; i++) {
            YPK_UNROLL(4)
            for (unsigned j = 0; j < 4; j++)
                own->sum[i][j] = fmaf(a[i], b[j], own->sum[i][j]);
        }
    }
}

/* WIDE by WIDE products of one range of rows: number `square` of those there are. */
YPK_FUNCTION void rxc_cross_rows(const struct rxc_cross *job, unsigned block, unsigned square,
                                 struct rxc_cross_shared *shared, struct rxc_cross_own *own)
{
    unsigned across = (job->columns + RXC_WIDE - 1) / RXC_WIDE;
    unsigned row = square / across * RXC_WIDE, column = square % across * RXC_WIDE;
    size_t first = (size_t)block * job->range, left = job->pixels - first;
    size_t end = first + (left < job->range ? left : job->range);
    YPK_EACH (t, RXC_ROW_THREADS) {
        YPK_UNROLL(16)
        for (unsigned i = 0; i < 16; i++)
            own[YPK_OWN(t)].sum[i / 4][i % 4] = 0;
    }
    for (size_t pixel = first; pixel < end; pixel += RXC_DEEP) {
        YPK_EACH (t, RXC_ROW_THREADS) {
            rxc_cross_load(job->a, job->rows, row, pixel, end, shared->a, t);
            rxc_cross_load(job->b, job->columns, column, pixel, end, shared->b, t);
        }
        ypk_block_barrier();
        YPK_EACH (t, RXC_ROW_THREADS)
            rxc_cross_multiply(shared, &own[YPK_OWN(t)], t);
        ypk_block_barrier();
    }
    YPK_EACH (t, RXC_ROW_THREADS) {
        float *to = job->parts + (size_t)block * job->rows * job->columns;
        YPK_UNROLL(16)
        for (unsigned i = 0; i < 16; i++) {
            unsigned r = row + 4 * (t / 16) + i / 4, c = column + 4 * (t % 16) + i % 4;
            if (r < job->rows && c < job->columns)
                to[(size_t)r * job->columns + c] = own[YPK_OWN(t)].sum[i / 4][i % 4];
        }
    }
}

/* Number `at` of all. */
YPK_FUNCTION void rxc_add_parts(const struct rxc_parts *job, size_t at)
{
    double sum = job->fresh ? 0 : job->all[at];
    YPK_UNROLL(8)
    for (unsigned b = 0; b < job->blocks; b++) {
        size_t place = b * job->count + at;
        sum += job->doubles != NULL ? job->doubles[place] : (double)job->floats[place];
    }
    job->all[at] = sum;
}
