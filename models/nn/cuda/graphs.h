/* Rows in segments and graph attention, a thread for each element of a result: right, not fast.
 * Offsets that are not allowed are taken as the nearest that are; an index that is not allowed is
 * of no row, or NaN where it is read. */
#pragma once

#include "device/cuda/frame.h"
#include "models/nn/cuda/nn_cuda.h"
#include "models/nn/types.h"

struct graphs_range {
    size_t begin, end;
};

YPK_FUNCTION size_t graphs_place(int32_t offset, size_t least, size_t count)
{
    size_t at = offset < 0 ? 0 : (size_t)offset;
    return at < least ? least : at < count ? at : count;
}

YPK_FUNCTION struct graphs_range graphs_range_of(const int32_t *offset, size_t i, size_t count)
{
    struct graphs_range range;
    range.begin = graphs_place(offset[i], 0, count);
    range.end = graphs_place(offset[i + 1], range.begin, count);
    return range;
}

YPK_FUNCTION void graphs_put(void *to, size_t at, float value, enum nn_type type, bool add)
{
    nn_put(to, at, add ? nn_get(to, at, type) + value : value, type);
}

/* -- segments --------------------------------------------------------------------------------- */

/* The rows that may be of segment i. */
YPK_FUNCTION struct graphs_range segments_range(const struct nn_cuda_segments *job, size_t i)
{
    struct graphs_range all;
    all.begin = 0;
    all.end = job->rows;
    return job->index != NULL ? all : graphs_range_of(job->offset, i, job->rows);
}

YPK_FUNCTION bool segments_has(const struct nn_cuda_segments *job, size_t i, size_t k)
{
    return job->index == NULL || (job->index[k] >= 0 && (size_t)job->index[k] == i);
}

/* What each row of segment i counts. */
YPK_FUNCTION float segments_weight(const struct nn_cuda_segments *job, size_t i)
{
    struct graphs_range range = segments_range(job, i);
    size_t count = 0;
    for (size_t k = range.begin; k < range.end && job->mean; k++)
        count += segments_has(job, i, k) ? 1 : 0;
    return count > 0 ? job->factor / (float)count : job->factor;
}

YPK_FUNCTION void segments_sum(const struct nn_cuda_segments *job, size_t at)
{
    size_t i = at / job->c, c = at % job->c;
    struct graphs_range range = segments_range(job, i);
    float sum = 0;
    for (size_t k = range.begin; k < range.end; k++)
        if (segments_has(job, i, k))
            sum += nn_get(job->rows_of, k * job->c + c, job->type);
    graphs_put(job->segments, at, segments_weight(job, i) * sum, job->type, job->add);
}

YPK_FUNCTION void segments_copy(const struct nn_cuda_segments *job, size_t at)
{
    size_t i = at / job->c, c = at % job->c;
    struct graphs_range range = segments_range(job, i);
    float value = segments_weight(job, i) * nn_get(job->segments, at, job->type);
    for (size_t k = range.begin; k < range.end; k++)
        if (segments_has(job, i, k))
            graphs_put(job->rows_of, k * job->c + c, value, job->type, job->add);
}

/* -- gate: see operators/gate.c ---------------------------------------------------------------- */

YPK_FUNCTION void gate_value(const struct nn_cuda_gate *job, size_t i)
{
    nn_put(job->y, i, nn_get(job->x, i, job->type) / (1 + expf(-nn_get(job->g, i, job->type))),
           job->type);
}

YPK_FUNCTION void gate_slope(const struct nn_cuda_gate *job, size_t i)
{
    float g = nn_get(job->g, i, job->type), dy = nn_get(job->dy, i, job->type);
    float e = expf(-fabsf(g));
    if (job->dx != NULL)
        graphs_put(job->dx, i, dy / (1 + expf(-g)), job->type, job->add_dx);
    if (job->dg != NULL)
        graphs_put(job->dg, i, dy * nn_get(job->x, i, job->type) * (e / ((1 + e) * (1 + e))),
                   job->type, job->add_dg);
}

/* -- edge_pair: see operators/edge_pair.c; element `at` of (n, c) ------------------------------ */

/* a + b of an edge from i to the node `end`. */
YPK_FUNCTION float edge_pair_sum(const struct nn_cuda_edge_pair *job, size_t i, int32_t end,
                                 size_t c)
{
    if (end < 0 || (size_t)end >= job->n)
        return YPK_NAN;
    return nn_get(job->a, i * job->c + c, job->type) +
           nn_get(job->b, (size_t)end * job->c + c, job->type);
}

YPK_FUNCTION void edge_pair_values(const struct nn_cuda_edge_pair *job, size_t at)
{
    size_t i = at / job->c, c = at % job->c;
    struct graphs_range range = graphs_range_of(job->offset, i, job->e);
    for (size_t k = range.begin; k < range.end; k++) {
        float sum = edge_pair_sum(job, i, job->end[k], c);
        nn_put(job->y, k * job->c + c, sum < 0 ? 0 : sum, job->type);
    }
}

/* What edge k from i adds to the gradient of each of its ends. */
YPK_FUNCTION float edge_pair_slope(const struct nn_cuda_edge_pair *job, size_t i, size_t k,
                                   size_t c)
{
    return edge_pair_sum(job, i, job->end[k], c) <= 0 ? 0
                                                      : nn_get(job->dy, k * job->c + c, job->type);
}

YPK_FUNCTION void edge_pair_slopes(const struct nn_cuda_edge_pair *job, size_t at)
{
    size_t node = at / job->c, c = at % job->c;
    float from = 0, to = 0;
    for (size_t i = 0; i < job->n; i++) {
        struct graphs_range range = graphs_range_of(job->offset, i, job->e);
        for (size_t k = range.begin; k < range.end; k++) {
            if (i == node)
                from += edge_pair_slope(job, i, k, c);
            if (job->end[k] >= 0 && (size_t)job->end[k] == node)
                to += edge_pair_slope(job, i, k, c);
        }
    }
    if (job->da != NULL)
        graphs_put(job->da, at, from, job->type, job->add_da);
    if (job->db != NULL)
        graphs_put(job->db, at, to, job->type, job->add_db);
}

/* -- gatv2: see operators/gatv2.c -------------------------------------------------------------- */

/* Rows of node i are its edges and, as row `end` of its range, the self-loop. */
YPK_FUNCTION size_t gatv2_place(const struct nn_cuda_gatv2 *job, struct graphs_range range,
                                size_t i, size_t k)
{
    return k < range.end ? k : job->e + i;
}

/* Element c of (h, c) of the left row. */
YPK_FUNCTION float gatv2_left(const struct nn_cuda_gatv2 *job, struct graphs_range range, size_t i,
                              size_t k, size_t c)
{
    int32_t node = k < range.end ? job->source[k] : (int32_t)i;
    if (node < 0 || (size_t)node >= job->n)
        return YPK_NAN;
    return nn_get(job->left, (size_t)node * job->h * job->c + c, job->type);
}

YPK_FUNCTION float gatv2_feature(const struct nn_cuda_gatv2 *job, struct graphs_range range,
                                 size_t k, size_t f)
{
    float sum = 0;
    if (k < range.end)
        return job->feature[k * job->f + f];
    for (size_t e = range.begin; e < range.end; e++)
        sum += job->feature[e * job->f + f];
    return range.end > range.begin ? sum / (float)(range.end - range.begin) : 0;
}

YPK_FUNCTION float gatv2_inner(const struct nn_cuda_gatv2 *job, struct graphs_range range, size_t i,
                               size_t k, size_t c)
{
    float z =
        gatv2_left(job, range, i, k, c) + nn_get(job->right, i * job->h * job->c + c, job->type);
    for (size_t f = 0; f < job->f; f++)
        z += job->edge[c * job->f + f] * gatv2_feature(job, range, k, f);
    return z;
}

/* alpha of a node and a head. */
YPK_FUNCTION void gatv2_weights(const struct nn_cuda_gatv2 *job, size_t at)
{
    size_t i = at / job->h, head = at % job->h;
    struct graphs_range range = graphs_range_of(job->offset, i, job->e);
    float high = 0, sum = 0;
    for (size_t k = range.begin; k <= range.end; k++) {
        float logit = 0;
        for (size_t c = head * job->c; c < (head + 1) * job->c; c++) {
            float z = gatv2_inner(job, range, i, k, c);
            logit += job->attention[c] * (z > 0 ? z : job->slope * z);
        }
        high = k == range.begin || logit > high ? logit : high;
        job->alpha[gatv2_place(job, range, i, k) * job->h + head] = logit;
    }
    for (size_t k = range.begin; k <= range.end; k++) {
        float *alpha = job->alpha + gatv2_place(job, range, i, k) * job->h + head;
        *alpha = expf(*alpha - high);
        sum += *alpha;
    }
    for (size_t k = range.begin; k <= range.end; k++)
        job->alpha[gatv2_place(job, range, i, k) * job->h + head] /= sum;
}

/* Element `at` of y (n, c). */
YPK_FUNCTION void gatv2_value(const struct nn_cuda_gatv2 *job, size_t at)
{
    size_t i = at / job->c, c = at % job->c;
    struct graphs_range range = graphs_range_of(job->offset, i, job->e);
    float sum = 0;
    for (size_t k = range.begin; k <= range.end; k++)
        for (size_t head = 0; head < job->h; head++)
            sum += job->alpha[gatv2_place(job, range, i, k) * job->h + head] *
                   gatv2_left(job, range, i, k, head * job->c + c);
    nn_put(job->y, at, sum / (float)job->h + job->bias[c], job->type);
}

/* The slopes of the logits of a node and a head. */
YPK_FUNCTION void gatv2_logit_slopes(const struct nn_cuda_gatv2 *job, size_t at)
{
    size_t i = at / job->h, head = at % job->h;
    struct graphs_range range = graphs_range_of(job->offset, i, job->e);
    float along = 0;
    for (size_t k = range.begin; k <= range.end; k++) {
        size_t place = gatv2_place(job, range, i, k) * job->h + head;
        float slope = 0;
        for (size_t c = 0; c < job->c; c++)
            slope += nn_get(job->dy, i * job->c + c, job->type) *
                     gatv2_left(job, range, i, k, head * job->c + c);
        job->slopes[place] = slope / (float)job->h;
        along += job->alpha[place] * job->slopes[place];
    }
    for (size_t k = range.begin; k <= range.end; k++) {
        size_t place = gatv2_place(job, range, i, k) * job->h + head;
        job->slopes[place] = job->alpha[place] * (job->slopes[place] - along);
    }
}

/* The slope of z by channel c of a row. */
YPK_FUNCTION float gatv2_slope(const struct nn_cuda_gatv2 *job, struct graphs_range range, size_t i,
                               size_t k, size_t c)
{
    float z = gatv2_inner(job, range, i, k, c);
    float ds = job->slopes[gatv2_place(job, range, i, k) * job->h + c / job->c];
    return ds * job->attention[c] * (z > 0 ? 1 : job->slope);
}

/* dleft and dright, element `at` of (n, h, c). */
YPK_FUNCTION void gatv2_node_slopes(const struct nn_cuda_gatv2 *job, size_t at)
{
    size_t width = job->h * job->c, node = at / width, c = at % width;
    float left = 0, right = 0;
    for (size_t i = 0; i < job->n; i++) {
        struct graphs_range range = graphs_range_of(job->offset, i, job->e);
        for (size_t k = range.begin; k <= range.end; k++) {
            int32_t from = k < range.end ? job->source[k] : (int32_t)i;
            bool begins = from >= 0 && (size_t)from == node;
            if (!begins && i != node)
                continue;
            float slope = gatv2_slope(job, range, i, k, c);
            right += i == node ? slope : 0;
            if (begins)
                left += slope + job->alpha[gatv2_place(job, range, i, k) * job->h + c / job->c] *
                                    nn_get(job->dy, i * job->c + c % job->c, job->type) /
                                    (float)job->h;
        }
    }
    if (job->dleft != NULL)
        graphs_put(job->dleft, at, left, job->type, job->add_dleft);
    if (job->dright != NULL)
        graphs_put(job->dright, at, right, job->type, job->add_dright);
}

/* dattention (h, c) and dedge (h, c, f): element `at` of (h c, 1 + f). */
YPK_FUNCTION void gatv2_parameter_slope(const struct nn_cuda_gatv2 *job, size_t at)
{
    size_t c = at / (1 + job->f), f = at % (1 + job->f);
    float *to = f == 0 ? job->dattention : job->dedge;
    size_t place = f == 0 ? c : c * job->f + f - 1;
    double sum = 0;
    for (size_t i = 0; i < job->n && to != NULL; i++) {
        struct graphs_range range = graphs_range_of(job->offset, i, job->e);
        for (size_t k = range.begin; k <= range.end; k++) {
            float z = gatv2_inner(job, range, i, k, c);
            float ds = job->slopes[gatv2_place(job, range, i, k) * job->h + c / job->c];
            if (f == 0)
                sum += (double)(ds * (z > 0 ? z : job->slope * z));
            else
                sum += (double)(gatv2_slope(job, range, i, k, c) *
                                gatv2_feature(job, range, k, f - 1));
        }
    }
    if (to != NULL)
        graphs_put(to, place, (float)sum, NN_FLOAT, f == 0 ? job->add_dattention : job->add_dedge);
}

/* Of a row, by its feature f. */
YPK_FUNCTION float gatv2_row_slope(const struct nn_cuda_gatv2 *job, struct graphs_range range,
                                   size_t i, size_t k, size_t f)
{
    float sum = 0;
    for (size_t c = 0; c < job->h * job->c; c++)
        sum += gatv2_slope(job, range, i, k, c) * job->edge[c * job->f + f];
    return sum;
}

/* dfeature of the edges of a node, element `at` of (n, f). */
YPK_FUNCTION void gatv2_feature_slopes(const struct nn_cuda_gatv2 *job, size_t at)
{
    size_t i = at / job->f, f = at % job->f;
    struct graphs_range range = graphs_range_of(job->offset, i, job->e);
    float self = gatv2_row_slope(job, range, i, range.end, f);
    for (size_t k = range.begin; k < range.end; k++)
        graphs_put(job->dfeature, k * job->f + f,
                   gatv2_row_slope(job, range, i, k, f) + self / (float)(range.end - range.begin),
                   NN_FLOAT, job->add_dfeature);
}
