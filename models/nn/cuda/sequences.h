/* Sequences and segments, an element at a time; see the operators of these names. */
#pragma once

#include "device/cuda/frame.h"
#include "models/nn/cuda/graphs.h"
#include "models/nn/cuda/nn_cuda.h"
#include "models/nn/types.h"

/* -- add_embedding -------------------------------------------------------------------------- */

/* Element `at` of y (n, c). */
YPK_FUNCTION void add_embedding_value(const struct nn_cuda_add_embedding *job, size_t at)
{
    const size_t k = at % job->c;
    const int32_t index = job->index[at / job->c];
    float value = nn_get(job->x, at, job->type);
    if (index < 0 || (size_t)index >= job->v)
        value = YPK_NAN;
    else if (k < job->d)
        value += job->table[(size_t)index * job->d + k];
    nn_put(job->y, at, value, job->type);
}

/* Element `at` of dtable (v, d). */
YPK_FUNCTION void add_embedding_sum(const struct nn_cuda_add_embedding *job, size_t at)
{
    float sum = job->add_dtable ? job->dtable[at] : 0;
    for (size_t i = 0; i < job->n; i++)
        if (job->index[i] >= 0 && (size_t)job->index[i] == at / job->d)
            sum += nn_get(job->dy, i * job->c + at % job->d, job->type);
    job->dtable[at] = sum;
}

/* -- mode_steps ----------------------------------------------------------------------------- */

/* Element `at` of y (n, k, t, c). */
YPK_FUNCTION void mode_steps_value(const struct nn_cuda_mode_steps *job, size_t at)
{
    const size_t c = at % job->c, step = at / job->c % job->t, row = at / job->c / job->t;
    const float x = nn_get(job->x, row / job->k * job->c + c, job->type);
    nn_put(job->y, at, x + job->mode[row % job->k * job->c + c] + job->position[step * job->c + c],
           job->type);
}

/* The sum of dy over all that lies between the bounds, in channel c. */
YPK_FUNCTION float mode_steps_sum(const struct nn_cuda_mode_steps *job, const size_t first[3],
                                  const size_t end[3], size_t c)
{
    float sum = 0;
    for (size_t i = first[0]; i < end[0]; i++)
        for (size_t k = first[1]; k < end[1]; k++)
            for (size_t step = first[2]; step < end[2]; step++)
                sum += nn_get(job->dy, ((i * job->k + k) * job->t + step) * job->c + c, job->type);
    return sum;
}

/* Element `at` of dx (n, c), then of dmode (k, c), then of dposition (t, c). */
YPK_FUNCTION void mode_steps_slope(const struct nn_cuda_mode_steps *job, size_t at)
{
    const size_t c = at % job->c, sizes[3] = {job->n, job->k, job->t};
    size_t row = at / job->c, which = 0;
    while (row >= sizes[which])
        row -= sizes[which++];
    size_t first[3] = {0, 0, 0}, end[3] = {sizes[0], sizes[1], sizes[2]};
    first[which] = row;
    end[which] = row + 1;
    if (which == 0 && job->dx != NULL)
        graphs_put(job->dx, row * job->c + c, mode_steps_sum(job, first, end, c), job->type,
                   job->add_dx);
    float *sums = which == 1 ? job->dmode : job->dposition;
    if (which > 0 && sums != NULL)
        graphs_put(sums, row * job->c + c, mode_steps_sum(job, first, end, c), NN_FLOAT,
                   which == 1 ? job->add_dmode : job->add_dposition);
}

/* -- dropout -------------------------------------------------------------------------------- */

/* Element `at` of rows of `count`. A row's factor is made for each of its elements. */
YPK_FUNCTION void dropout_value(const struct nn_cuda_dropout *job, size_t at)
{
    const float factor = (float)nn_drop_factor(&job->drop, at / job->count, at % job->count);
    graphs_put(job->y, at, nn_get(job->x, at, job->type) * factor, job->type, job->add);
}

/* -- feed_forward: element `at` of hidden rows ------------------------------------------------- */

YPK_FUNCTION void hidden_value(const struct nn_cuda_hidden *job, size_t at)
{
    const float value = nn_get(job->hidden, at, job->type);
    const float factor = (float)nn_drop_factor(&job->drop, at / job->count, at % job->count);
    nn_put(job->hidden, at, (value < 0 ? 0 : value) * factor, job->type);
}

YPK_FUNCTION void hidden_slope(const struct nn_cuda_hidden *job, size_t at)
{
    const float slope = nn_get(job->slopes, at, job->type) * (float)(1 / (1 - job->drop.rate));
    nn_put(job->slopes, at, nn_get(job->hidden, at, job->type) <= 0 ? 0 : slope, job->type);
}

/* -- attention_pool --------------------------------------------------------------------------- */

/* Element `at` of y (g, c); the first of a group's leaves the weights. */
YPK_FUNCTION void attention_pool_value(const struct nn_cuda_attention_pool *job, size_t at)
{
    const size_t group = at / job->c, c = at % job->c;
    float high = nn_get(job->score, group * job->i, job->type), sum = 0, value = 0;
    for (size_t i = 1; i < job->i; i++) {
        const float score = nn_get(job->score, group * job->i + i, job->type);
        high = score > high ? score : high;
    }
    for (size_t i = 0; i < job->i; i++)
        sum += expf(nn_get(job->score, group * job->i + i, job->type) - high);
    for (size_t i = 0; i < job->i; i++) {
        const size_t row = group * job->i + i;
        const float weight = expf(nn_get(job->score, row, job->type) - high) / sum;
        if (c == 0)
            job->weight[row] = weight;
        value += weight * nn_get(job->x, row * job->c + c, job->type);
    }
    nn_put(job->y, at, value, job->type);
}

/* The product of row `row` of x with its group's dy. */
YPK_FUNCTION float attention_pool_along(const struct nn_cuda_attention_pool *job, size_t row)
{
    float sum = 0;
    for (size_t c = 0; c < job->c; c++)
        sum += nn_get(job->x, row * job->c + c, job->type) *
               nn_get(job->dy, row / job->i * job->c + c, job->type);
    return sum;
}

/* Element `at` of dscore (g, i). */
YPK_FUNCTION void attention_pool_score_slope(const struct nn_cuda_attention_pool *job, size_t at)
{
    const size_t first = at / job->i * job->i;
    float all = 0;
    for (size_t row = first; row < first + job->i; row++)
        all += job->weight[row] * attention_pool_along(job, row);
    graphs_put(job->dscore, at, job->weight[at] * (attention_pool_along(job, at) - all), job->type,
               job->add_dscore);
}

/* Element `at` of dx (g, i, c). */
YPK_FUNCTION void attention_pool_slope(const struct nn_cuda_attention_pool *job, size_t at)
{
    const size_t row = at / job->c;
    const float dy = nn_get(job->dy, row / job->i * job->c + at % job->c, job->type);
    graphs_put(job->dx, at, job->weight[row] * dy, job->type, job->add_dx);
}

/* -- lstm: cell `at` of a step, (n, h) --------------------------------------------------------- */

YPK_FUNCTION float lstm_sigmoid(float x)
{
    return 1 / (1 + expf(-x));
}

YPK_FUNCTION void lstm_cell(const struct nn_cuda_lstm *job, size_t at)
{
    const size_t k = at % job->h, row = at / job->h * job->t + job->step, cell = row * job->h + k;
    float *gates = job->gates + row * 4 * job->h + k;
    const float i = lstm_sigmoid(gates[0]), f = lstm_sigmoid(gates[job->h]);
    const float g = tanhf(gates[2 * job->h]), o = lstm_sigmoid(gates[3 * job->h]);
    const float value = i * g + (job->step > 0 ? f * job->cell[cell - job->h] : 0);
    gates[0] = i;
    gates[job->h] = f;
    gates[2 * job->h] = g;
    gates[3 * job->h] = o;
    job->cell[cell] = value;
    nn_put(job->y, cell, o * tanhf(value), job->type);
}

/* As in operators/lstm.c; `last` (n, t, h) gets the y of the step before. */
YPK_FUNCTION void lstm_slope(const struct nn_cuda_lstm *job, size_t at)
{
    const size_t k = at % job->h, row = at / job->h * job->t + job->step, cell = row * job->h + k;
    const float *gates = job->gates + row * 4 * job->h + k;
    const float i = gates[0], f = gates[job->h], g = gates[2 * job->h], o = gates[3 * job->h];
    const bool behind = job->step + 1 < job->t;
    const float squashed = tanhf(job->cell[cell]),
                before = job->step > 0 ? job->cell[cell - job->h] : 0;
    const float slope = nn_get(job->dy, cell, job->type) + (behind ? job->dh[at] : 0);
    const float into = (behind ? job->dc[at] : 0) + slope * o * (1 - squashed * squashed);
    float *dz = job->dz + row * 4 * job->h + k;
    dz[0] = into * g * i * (1 - i);
    dz[job->h] = into * before * f * (1 - f);
    dz[2 * job->h] = into * i * (1 - g * g);
    dz[3 * job->h] = slope * squashed * o * (1 - o);
    job->dc[at] = into * f;
    if (behind)
        job->last[cell + job->h] = o * squashed;
    if (job->step == 0)
        job->last[cell] = 0;
}

/* -- segment_attention --------------------------------------------------------------------------
 */

YPK_FUNCTION struct graphs_range segment_of(const struct nn_cuda_segment_attention *job, size_t g)
{
    return graphs_range_of(job->offset, g, job->n);
}

/* The product of rows `a` and `b`, of d channels. */
YPK_FUNCTION float segment_product(const struct nn_cuda_segment_attention *job, const void *left,
                                   size_t a, const void *right, size_t b)
{
    float sum = 0;
    for (size_t c = 0; c < job->d; c++)
        sum += nn_get(left, a * job->d + c, job->type) * nn_get(right, b * job->d + c, job->type);
    return sum;
}

/* e^((q k - high) / sqrt d), of query `at` of (i, h) and row j. */
YPK_FUNCTION float segment_power(const struct nn_cuda_segment_attention *job, size_t at, size_t j,
                                 float high)
{
    const float product = segment_product(job, job->q, at, job->k, j * job->h + at % job->h);
    return expf((product - high) / sqrtf((float)job->d));
}

/* Element `at` of y (g, i, h, d); the first channel's leaves high and sum. */
YPK_FUNCTION void segment_attention_value(const struct nn_cuda_segment_attention *job, size_t at)
{
    const size_t place = at / job->d, c = at % job->d, query = place % (job->i * job->h);
    const size_t h = place % job->h;
    const struct graphs_range rows = segment_of(job, place / (job->i * job->h));
    float high = 0, sum = 0, value = 0;
    for (size_t j = rows.begin; j < rows.end; j++) {
        const float product = segment_product(job, job->q, query, job->k, j * job->h + h);
        high = j == rows.begin || product > high ? product : high;
    }
    for (size_t j = rows.begin; j < rows.end; j++) {
        const float power = segment_power(job, query, j, high);
        sum += power;
        value += power * nn_get(job->v, (j * job->h + h) * job->d + c, job->type);
    }
    if (rows.begin < rows.end)
        value /= sum;
    nn_put(job->y, at, value, job->type);
    if (c == 0) {
        job->high[place] = high;
        job->sum[place] = sum;
    }
}

/* Of place (g, i, h) and a row of its segment: p, and ds = p (dy v - along) / sqrt d. */
YPK_FUNCTION float segment_share(const struct nn_cuda_segment_attention *job, size_t place,
                                 size_t j)
{
    return segment_power(job, place % (job->i * job->h), j, job->high[place]) / job->sum[place];
}

YPK_FUNCTION float segment_slope(const struct nn_cuda_segment_attention *job, size_t place,
                                 size_t j)
{
    const float dp = segment_product(job, job->dy, place, job->v, j * job->h + place % job->h);
    return segment_share(job, place, j) * (dp - job->along[place]) / sqrtf((float)job->d);
}

/* along (g, i, h) = sum p dy v. */
YPK_FUNCTION void segment_along(const struct nn_cuda_segment_attention *job, size_t place)
{
    const struct graphs_range rows = segment_of(job, place / (job->i * job->h));
    float sum = 0;
    for (size_t j = rows.begin; j < rows.end; j++)
        sum += segment_share(job, place, j) *
               segment_product(job, job->dy, place, job->v, j * job->h + place % job->h);
    job->along[place] = sum;
}

/* Element `at` of dq (i, h, d), over all segments. */
YPK_FUNCTION void segment_query_slope(const struct nn_cuda_segment_attention *job, size_t at)
{
    const size_t query = at / job->d, c = at % job->d;
    float sum = 0;
    for (size_t g = 0; g < job->g; g++) {
        const size_t place = g * job->i * job->h + query;
        const struct graphs_range rows = segment_of(job, g);
        for (size_t j = rows.begin; j < rows.end; j++)
            sum += segment_slope(job, place, j) *
                   nn_get(job->k, (j * job->h + query % job->h) * job->d + c, job->type);
    }
    graphs_put(job->dq, at, sum, job->type, job->add_dq);
}

/* Element `at` of dk and dv (n, h, d), over the queries of the row's segment. */
YPK_FUNCTION void segment_row_slope(const struct nn_cuda_segment_attention *job, size_t at)
{
    const size_t c = at % job->d, h = at / job->d % job->h, row = at / job->d / job->h;
    size_t g = 0;
    while (g < job->g && (row < segment_of(job, g).begin || row >= segment_of(job, g).end))
        g++;
    float dk = 0, dv = 0;
    for (size_t i = 0; g < job->g && i < job->i; i++) {
        const size_t place = (g * job->i + i) * job->h + h;
        dk += segment_slope(job, place, row) *
              nn_get(job->q, (i * job->h + h) * job->d + c, job->type);
        dv += segment_share(job, place, row) * nn_get(job->dy, place * job->d + c, job->type);
    }
    if (job->dk != NULL)
        graphs_put(job->dk, at, dk, job->type, job->add_dk);
    if (job->dv != NULL)
        graphs_put(job->dv, at, dv, job->type, job->add_dv);
}
