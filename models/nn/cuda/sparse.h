/* Sparse products, and the single steps that the fused gatv2 is compared with; in float. A thread
 * for each element or row of a result: right, not fast. Offsets and indices that are not allowed
 * are taken as graphs.h says. */
#pragma once

#include "models/nn/cuda/graphs.h"

/* -- sparse_matmul: see operators/sparse_matmul.c ---------------------------------------------- */

/* Row `column` of a matrix with rows of n elements, element c; NaN where there is no such row. */
YPK_FUNCTION float sparse_at(const struct nn_cuda_sparse *job, int32_t column, size_t c)
{
    if (column < 0 || (size_t)column >= job->k)
        return YPK_NAN;
    return job->x[(size_t)column * job->n + c];
}

/* Element `at` of y (m, n). */
YPK_FUNCTION void sparse_value(const struct nn_cuda_sparse *job, size_t at)
{
    const struct graphs_range range = graphs_range_of(job->offset, at / job->n, job->e);
    float sum = 0;
    for (size_t e = range.begin; e < range.end; e++)
        sum += job->value[e] * sparse_at(job, job->column[e], at % job->n);
    job->y[at] = sum;
}

/* dvalue of all of row i. */
YPK_FUNCTION void sparse_value_slopes(const struct nn_cuda_sparse *job, size_t i)
{
    const struct graphs_range range = graphs_range_of(job->offset, i, job->e);
    for (size_t e = range.begin; e < range.end; e++) {
        float sum = 0;
        for (size_t c = 0; c < job->n; c++)
            sum += job->dy[i * job->n + c] * sparse_at(job, job->column[e], c);
        graphs_put(job->dvalue, e, sum, NN_FLOAT, job->add_dvalue);
    }
}

/* Column c of those rows of dx whose number leaves `share` of `shares`, in the order of A's rows:
 * no other thread has them. */
YPK_FUNCTION void sparse_x_slopes(const struct nn_cuda_sparse *job, unsigned share, unsigned shares,
                                  size_t c)
{
    for (size_t k = share; k < job->k && !job->add_dx; k += shares)
        job->dx[k * job->n + c] = 0;
    for (size_t i = 0; i < job->m; i++) {
        const struct graphs_range range = graphs_range_of(job->offset, i, job->e);
        const float dy = job->dy[i * job->n + c];
        for (size_t e = range.begin; e < range.end; e++) {
            const int32_t column = job->column[e];
            if (column >= 0 && (size_t)column < job->k && (unsigned)column % shares == share)
                job->dx[(size_t)column * job->n + c] += job->value[e] * dy;
        }
    }
}

/* -- segment_softmax: see operators/segment_softmax.c; column `at` of (n, h) --------------------
 */

YPK_FUNCTION void softmax_values(const struct nn_cuda_softmax *job, size_t at)
{
    const size_t h = at % job->h;
    const struct graphs_range range = graphs_range_of(job->offset, at / job->h, job->e);
    float high = 0, sum = 0;
    for (size_t k = range.begin; k < range.end; k++) {
        const float x = job->x[k * job->h + h];
        high = k == range.begin || x > high ? x : high;
    }
    for (size_t k = range.begin; k < range.end; k++) {
        const float power = expf(job->x[k * job->h + h] - high);
        job->y[k * job->h + h] = power;
        sum += power;
    }
    for (size_t k = range.begin; k < range.end; k++)
        job->y[k * job->h + h] /= sum;
    job->high[at] = high;
    job->sum[at] = sum;
}

YPK_FUNCTION void softmax_slopes(const struct nn_cuda_softmax *job, size_t at)
{
    const size_t h = at % job->h;
    const struct graphs_range range = graphs_range_of(job->offset, at / job->h, job->e);
    const float high = job->high[at], sum = job->sum[at];
    float along = 0;
    for (size_t k = range.begin; k < range.end; k++)
        along += expf(job->x[k * job->h + h] - high) / sum * job->dy[k * job->h + h];
    for (size_t k = range.begin; k < range.end; k++) {
        const float y = expf(job->x[k * job->h + h] - high) / sum;
        graphs_put(job->dx, k * job->h + h, y * (job->dy[k * job->h + h] - along), NN_FLOAT,
                   job->add);
    }
}

/* -- head_dot: see operators/head_dot.c ---------------------------------------------------------
 */

/* Element `at` of y (n, h). */
YPK_FUNCTION void head_dot_value(const struct nn_cuda_head_dot *job, size_t at)
{
    const float *x = job->x + at * job->c, *a = job->a + at % job->h * job->c;
    float sum = 0;
    for (size_t c = 0; c < job->c; c++)
        sum += x[c] * a[c];
    job->y[at] = sum;
}

/* Element `at` of dx (n, h, c). */
YPK_FUNCTION void head_dot_slope(const struct nn_cuda_head_dot *job, size_t at)
{
    graphs_put(job->dx, at, job->dy[at / job->c] * job->a[at % (job->h * job->c)], NN_FLOAT,
               job->add_dx);
}

/* Element `at` of da (h, c), over all rows. */
YPK_FUNCTION void head_dot_sum(const struct nn_cuda_head_dot *job, size_t at)
{
    double sum = 0;
    for (size_t i = 0; i < job->n; i++)
        sum += (double)(job->dy[i * job->h + at / job->c] * job->x[i * job->h * job->c + at]);
    graphs_put(job->da, at, (float)sum, NN_FLOAT, job->add_da);
}

/* -- scale_rows: see operators/scale_rows.c -----------------------------------------------------
 */

/* Element `at` of y (n, c). */
YPK_FUNCTION void scale_rows_value(const struct nn_cuda_scale_rows *job, size_t at)
{
    job->y[at] = job->w[at / job->c] * job->x[at];
}

/* Element `at` of dx (n, c). */
YPK_FUNCTION void scale_rows_slope(const struct nn_cuda_scale_rows *job, size_t at)
{
    graphs_put(job->dx, at, job->w[at / job->c] * job->dy[at], NN_FLOAT, job->add_dx);
}

/* Element i of dw (n). */
YPK_FUNCTION void scale_rows_sum(const struct nn_cuda_scale_rows *job, size_t i)
{
    float sum = 0;
    for (size_t c = 0; c < job->c; c++)
        sum += job->dy[i * job->c + c] * job->x[i * job->c + c];
    graphs_put(job->dw, i, sum, NN_FLOAT, job->add_dw);
}
