/* What goes over rows of an array with a block each, and over columns with threads of their own. */
#pragma once

#include "device/cuda/frame.h"
#include "models/nn/cuda/nn_cuda.h"
#include "models/nn/types.h"

#define ROWS_THREADS 128U

struct rows_shared {
    float part[ROWS_THREADS];
    float all;
};

/* part (ROWS_THREADS) to one number, in a fixed order: their sum or, `most`, their maximum. */
YPK_FUNCTION void rows_reduce(struct rows_shared *shared, bool most)
{
    ypk_block_barrier();
    YPK_EACH (t, 16U) {
        float some = shared->part[t];
        for (unsigned i = t + 16; i < ROWS_THREADS; i += 16)
            some = !most ? some + shared->part[i] : some < shared->part[i] ? shared->part[i] : some;
        shared->part[t] = some;
    }
    ypk_block_barrier();
    YPK_EACH (t, 1U) {
        float some = shared->part[0];
        for (unsigned i = 1; i < 16; i++)
            some = !most ? some + shared->part[i] : some < shared->part[i] ? shared->part[i] : some;
        shared->all = some;
    }
    ypk_block_barrier();
}

/* -- rmsnorm: see operators/rmsnorm.c ------------------------------------------------------- */

YPK_FUNCTION void rmsnorm_row(const struct nn_cuda_rmsnorm *job, size_t row,
                              struct rows_shared *shared)
{
    size_t at = row * job->d;
    YPK_EACH (t, ROWS_THREADS) {
        float sum = 0;
        for (size_t i = t; i < job->d; i += ROWS_THREADS) {
            float x = nn_get(job->x, at + i, job->type);
            sum += x * x;
        }
        shared->part[t] = sum;
    }
    rows_reduce(shared, false);
    YPK_EACH (t, ROWS_THREADS) {
        float r = 1 / sqrtf(shared->all / (float)job->d + job->eps);
        if (t == 0)
            job->r[row] = r;
        for (size_t i = t; i < job->d; i += ROWS_THREADS)
            nn_put(job->y, at + i, nn_get(job->x, at + i, job->type) * r * job->gain[i], job->type);
    }
}

YPK_FUNCTION void rmsnorm_row_vjp(const struct nn_cuda_rmsnorm *job, size_t row,
                                  struct rows_shared *shared)
{
    size_t at = row * job->d;
    YPK_EACH (t, ROWS_THREADS) {
        float sum = 0;
        for (size_t i = t; i < job->d; i += ROWS_THREADS)
            sum += job->gain[i] * nn_get(job->dy, at + i, job->type) *
                   nn_get(job->x, at + i, job->type);
        shared->part[t] = sum;
    }
    rows_reduce(shared, false);
    YPK_EACH (t, ROWS_THREADS) {
        float r = job->r[row], along = shared->all * (r * r * r / (float)job->d);
        for (size_t i = t; i < job->d; i += ROWS_THREADS) {
            float slope = r * job->gain[i] * nn_get(job->dy, at + i, job->type) -
                          along * nn_get(job->x, at + i, job->type);
            if (job->add_dx)
                slope += nn_get(job->dx, at + i, job->type);
            nn_put(job->dx, at + i, slope, job->type);
        }
    }
}

/* -- rows in 8 bits: see operators/linear_int8.c ---------------------------------------------- */

/* Each value becomes the nearest multiple of the row's largest magnitude / 127; all of them NaN
 * where one is not finite. */
YPK_FUNCTION void int8_row(const struct nn_cuda_int8_rows *job, size_t row,
                           struct rows_shared *shared)
{
    size_t at = row * job->c;
    YPK_EACH (t, ROWS_THREADS) {
        float most = 0;
        for (size_t i = t; i < job->c; i += ROWS_THREADS) {
            float x = job->x[at + i];
            float size = x - x == 0 ? fabsf(x) : YPK_INFINITY;
            most = size > most ? size : most;
        }
        shared->part[t] = most;
    }
    rows_reduce(shared, true);
    YPK_EACH (t, ROWS_THREADS) {
        float largest = shared->all, gain = 127 / largest, scale = largest / 127;
        for (size_t i = t; i < job->c; i += ROWS_THREADS) {
            float value = job->x[at + i] * gain;
            int q = gain < YPK_INFINITY && largest < YPK_INFINITY
                        ? (int)(value + (value < 0 ? -0.5F : 0.5F))
                        : 0; /* largest is 0, or below 127 / FLT_MAX, or infinite */
            job->y[at + i] = largest < YPK_INFINITY ? scale * (float)q : largest - largest;
        }
    }
}

/* -- layer_norm: see operators/layer_norm.c -------------------------------------------------- */

YPK_FUNCTION void layer_norm_row(const struct nn_cuda_norm *job, size_t row,
                                 struct rows_shared *shared)
{
    size_t at = row * job->c;
    YPK_EACH (t, ROWS_THREADS) {
        float sum = 0;
        for (size_t i = t; i < job->c; i += ROWS_THREADS)
            sum += nn_get(job->x, at + i, job->type);
        shared->part[t] = sum;
    }
    rows_reduce(shared, false);
    YPK_PRIVATE(float, mean, ROWS_THREADS);
    YPK_EACH (t, ROWS_THREADS) {
        float middle = shared->all / (float)job->c, squares = 0;
        for (size_t i = t; i < job->c; i += ROWS_THREADS) {
            float off = nn_get(job->x, at + i, job->type) - middle;
            squares += off * off;
        }
        mean[YPK_OWN(t)] = middle;
        shared->part[t] = squares;
    }
    rows_reduce(shared, false);
    YPK_EACH (t, ROWS_THREADS) {
        float middle = mean[YPK_OWN(t)], r = 1 / sqrtf(shared->all / (float)job->c + job->eps);
        if (t == 0) {
            job->mean[row] = middle;
            job->r[row] = r;
        }
        for (size_t i = t; i < job->c; i += ROWS_THREADS) {
            float h = (nn_get(job->x, at + i, job->type) - middle) * r;
            nn_put(job->y, at + i, h * job->gain[i] + job->shift[i], job->type);
        }
    }
}

YPK_FUNCTION float layer_norm_unit(const struct nn_cuda_norm *job, size_t row, size_t i)
{
    return (nn_get(job->x, row * job->c + i, job->type) - job->mean[row]) * job->r[row];
}

YPK_FUNCTION float layer_norm_gained(const struct nn_cuda_norm *job, size_t row, size_t i)
{
    return job->gain[i] * nn_get(job->dy, row * job->c + i, job->type);
}

YPK_FUNCTION void layer_norm_row_vjp(const struct nn_cuda_norm *job, size_t row,
                                     struct rows_shared *shared)
{
    YPK_EACH (t, ROWS_THREADS) {
        float sum = 0;
        for (size_t i = t; i < job->c; i += ROWS_THREADS)
            sum += layer_norm_gained(job, row, i);
        shared->part[t] = sum;
    }
    rows_reduce(shared, false);
    YPK_PRIVATE(float, all, ROWS_THREADS);
    YPK_EACH (t, ROWS_THREADS) {
        float sum = 0;
        all[YPK_OWN(t)] = shared->all / (float)job->c;
        for (size_t i = t; i < job->c; i += ROWS_THREADS)
            sum += layer_norm_gained(job, row, i) * layer_norm_unit(job, row, i);
        shared->part[t] = sum;
    }
    rows_reduce(shared, false);
    YPK_EACH (t, ROWS_THREADS) {
        float along = shared->all / (float)job->c;
        for (size_t i = t; i < job->c; i += ROWS_THREADS) {
            float slope = job->r[row] * (layer_norm_gained(job, row, i) - all[YPK_OWN(t)] -
                                         layer_norm_unit(job, row, i) * along);
            if (job->add_dx)
                slope += nn_get(job->dx, row * job->c + i, job->type);
            nn_put(job->dx, row * job->c + i, slope, job->type);
        }
    }
}

/* -- batch_norm: see operators/batch_norm.c; element `at` of (n, c) --------------------------- */

YPK_FUNCTION float batch_norm_unit(const struct nn_cuda_norm *job, size_t at)
{
    size_t i = at % job->c;
    return (nn_get(job->x, at, job->type) - job->mean[i]) * job->r[i];
}

YPK_FUNCTION void batch_norm_value(const struct nn_cuda_norm *job, size_t at)
{
    size_t i = at % job->c;
    nn_put(job->y, at, batch_norm_unit(job, at) * job->gain[i] + job->shift[i], job->type);
}

/* dgain and dshift are the sums of dy h and dy alone. */
YPK_FUNCTION void batch_norm_slope(const struct nn_cuda_norm *job, size_t at)
{
    size_t i = at % job->c;
    float along = job->dgain[i] / (float)job->n, all = job->dshift[i] / (float)job->n;
    float off = nn_get(job->dy, at, job->type) - all - batch_norm_unit(job, at) * along;
    float slope = job->gain[i] * job->r[i] * off;
    if (job->add_dx)
        slope += nn_get(job->dx, at, job->type);
    nn_put(job->dx, at, slope, job->type);
}

/* -- mse: see operators/mse.c ----------------------------------------------------------------- */

YPK_FUNCTION float mse_off(const struct nn_cuda_mse *job, size_t at)
{
    return nn_get(job->y, at, job->type) - nn_get(job->t, at, job->type);
}

YPK_FUNCTION void mse_row(const struct nn_cuda_mse *job, size_t row, struct rows_shared *shared)
{
    YPK_EACH (t, ROWS_THREADS) {
        float sum = 0;
        for (size_t i = t; i < job->c; i += ROWS_THREADS) {
            float off = mse_off(job, row * job->c + i);
            sum += off * off;
        }
        shared->part[t] = sum;
    }
    rows_reduce(shared, false);
    YPK_EACH (t, 1U)
        job->loss[row] = shared->all / (float)job->c;
}

YPK_FUNCTION void mse_slope(const struct nn_cuda_mse *job, size_t at)
{
    float slope = job->dloss[at / job->c] * 2 / (float)job->c * mse_off(job, at);
    if (job->dy != NULL)
        nn_put(job->dy, at, slope, job->type);
    if (job->dt != NULL)
        nn_put(job->dt, at, -slope, job->type);
}

/* -- cross-entropy: see operators/linear_cross_entropy.c ------------------------------------ */

YPK_FUNCTION void cross_entropy_row(const struct nn_cuda_cross_entropy *job, size_t row,
                                    struct rows_shared *shared)
{
    const float *z = job->z + row * job->v;
    YPK_EACH (t, ROWS_THREADS) {
        float most = -YPK_INFINITY;
        for (size_t i = t; i < job->v; i += ROWS_THREADS)
            most = z[i] > most ? z[i] : most;
        shared->part[t] = most;
    }
    rows_reduce(shared, true);
    YPK_PRIVATE(float, high, ROWS_THREADS);
    YPK_EACH (t, ROWS_THREADS)
        high[YPK_OWN(t)] = shared->all;
    ypk_block_barrier(); /* `all` is written again */
    YPK_EACH (t, ROWS_THREADS) {
        float sum = 0;
        for (size_t i = t; i < job->v; i += ROWS_THREADS)
            sum += expf(z[i] - high[YPK_OWN(t)]);
        shared->part[t] = sum;
    }
    rows_reduce(shared, false);
    YPK_EACH (t, 1U) {
        float most = high[YPK_OWN(t)];
        int32_t label = job->label[row];
        bool inside = label >= 0 && (size_t)label < job->v;
        job->high[row] = most;
        job->sum[row] = shared->all;
        job->loss[row] = inside ? logf(shared->all) - (z[label] - most) : YPK_NAN;
    }
}

YPK_FUNCTION void cross_entropy_slope(const struct nn_cuda_cross_entropy *job, size_t at)
{
    size_t row = at / job->v, i = at % job->v;
    int32_t label = job->label[row];
    float p = expf(job->z[at] - job->high[row]) / job->sum[row];
    p -= label >= 0 && (size_t)label == i ? 1 : 0;
    if (label < 0 || (size_t)label >= job->v)
        p = YPK_NAN;
    nn_put(job->s, at, job->dloss[row] * p, job->type);
}

/* -- sums of columns ------------------------------------------------------------------------ */

YPK_FUNCTION size_t columns_groups(size_t n)
{
    return n < NN_CUDA_GROUPS ? n : NN_CUDA_GROUPS;
}

/* Of every NN_CUDA_GROUPSth row from `group` on. */
YPK_FUNCTION void columns_part(const struct nn_cuda_columns *job, size_t group, size_t i)
{
    double sum = 0;
    for (size_t row = group; row < job->n; row += NN_CUDA_GROUPS) {
        size_t at = row * job->c + i, k = job->by_column ? i : row;
        float h = 1;
        if (job->x != NULL) {
            h = nn_get(job->x, at, job->type) - (job->mean != NULL ? job->mean[k] : 0);
            h *= job->r != NULL ? job->r[k] : 1;
        }
        sum += (double)(job->dy != NULL ? nn_get(job->dy, at, job->type) * h : h * h);
    }
    job->work[group * job->c + i] = sum;
}

YPK_FUNCTION void columns_merge(const struct nn_cuda_columns *job, size_t i)
{
    double sum = job->add ? (double)job->sums[i] : 0;
    for (size_t group = 0; group < columns_groups(job->n); group++)
        sum += job->work[group * job->c + i];
    job->sums[i] = (float)(job->average ? sum / (double)job->n : sum);
}
