/* Images and sequences of their patches, an element at a time. */
#pragma once

#include "device/cuda/frame.h"
#include "models/nn/cuda/nn_cuda.h"
#include "models/nn/operators/upsample.h"

/* -- upsample: see operators/upsample.c ------------------------------------------------------- */

/* Element `at` of y (b, p, q, c). */
YPK_FUNCTION void upsample_value(const struct nn_cuda_upsample *job, size_t at)
{
    size_t c = at % job->c, j = at / job->c % job->q, row = at / job->c / job->q;
    size_t up, down, left, right;
    float below = (float)nn_between(row % job->p, job->p, job->h, job->corners, &up, &down);
    float beside = (float)nn_between(j, job->q, job->w, job->corners, &left, &right);
    size_t image = row / job->p * job->h;
    up = (image + up) * job->w, down = (image + down) * job->w;
    float value = (1 - below) * (1 - beside) * nn_get(job->x, (up + left) * job->c + c, job->type) +
                  (1 - below) * beside * nn_get(job->x, (up + right) * job->c + c, job->type) +
                  below * (1 - beside) * nn_get(job->x, (down + left) * job->c + c, job->type) +
                  below * beside * nn_get(job->x, (down + right) * job->c + c, job->type);
    nn_put(job->y, at, value, job->type);
}

/* The share that point i of `points` has of line `at` of `size`. */
YPK_FUNCTION float upsample_share(size_t i, size_t points, size_t size, bool corners, size_t at)
{
    size_t low, high;
    float off = (float)nn_between(i, points, size, corners, &low, &high);
    return (low == at ? 1 - off : 0) + (high == at ? off : 0);
}

/* The first point beyond `bound`, of points whose places grow. */
YPK_FUNCTION size_t upsample_beyond(size_t points, size_t size, bool corners, double bound)
{
    size_t first = 0, end = points, low, high;
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        double off = nn_between(middle, points, size, corners, &low, &high);
        if ((double)low + off > bound)
            end = middle;
        else
            first = middle + 1;
    }
    return first;
}

/* Element `at` of dx (b, h, w, c): the points less than a line and a column away. */
YPK_FUNCTION void upsample_slope(const struct nn_cuda_upsample *job, size_t at)
{
    size_t c = at % job->c, column = at / job->c % job->w, row = at / job->c / job->w;
    size_t line = row % job->h;
    size_t i = upsample_beyond(job->p, job->h, job->corners, (double)line - 1);
    size_t end = upsample_beyond(job->p, job->h, job->corners, (double)line + 1);
    size_t first = upsample_beyond(job->q, job->w, job->corners, (double)column - 1);
    size_t last = upsample_beyond(job->q, job->w, job->corners, (double)column + 1);
    float sum = 0;
    for (; i < end; i++) {
        float of_line = upsample_share(i, job->p, job->h, job->corners, line);
        size_t points = (row / job->h * job->p + i) * job->q;
        for (size_t j = first; j < last; j++)
            sum += of_line * upsample_share(j, job->q, job->w, job->corners, column) *
                   nn_get(job->dy, (points + j) * job->c + c, job->type);
    }
    nn_put(job->dx, at, job->add ? nn_get(job->dx, at, job->type) + sum : sum, job->type);
}

/* -- tokens, slice: see operators/tokens.c and slice.c ---------------------------------------- */

YPK_FUNCTION void tokens_value(const struct nn_cuda_tokens *job, size_t at)
{
    size_t d = at % job->d, row = at / job->d, k = row % job->t, b = row / job->t;
    float value =
        k == 0 ? job->first[d] : nn_get(job->x, (b * (job->t - 1) + k - 1) * job->d + d, job->type);
    nn_put(job->y, at, value + job->position[k * job->d + d], job->type);
}

/* Element `at` of dposition (t, d), and what stands in its place of each image. */
YPK_FUNCTION void tokens_slope(const struct nn_cuda_tokens *job, size_t at)
{
    size_t d = at % job->d, k = at / job->d;
    double sum = 0;
    for (size_t b = 0; b < job->b; b++) {
        float dy = nn_get(job->dy, b * job->t * job->d + at, job->type);
        sum += (double)dy;
        if (k > 0 && job->dx != NULL)
            nn_put(job->dx, (b * (job->t - 1) + k - 1) * job->d + d, dy, job->type);
    }
    if (k == 0 && job->dfirst != NULL)
        job->dfirst[d] = (float)(sum + (job->add_dfirst ? (double)job->dfirst[d] : 0));
    if (job->dposition != NULL)
        job->dposition[at] = (float)(sum + (job->add_dposition ? (double)job->dposition[at] : 0));
}

YPK_FUNCTION void slice_value(const struct nn_cuda_slice *job, size_t at)
{
    size_t wide = job->m * job->d;
    size_t from = at / wide * job->t * job->d + job->from * job->d + at % wide;
    nn_put(job->y, at, nn_get(job->x, from, job->type), job->type);
}

YPK_FUNCTION void slice_slope(const struct nn_cuda_slice *job, size_t at)
{
    size_t d = at % job->d, k = at / job->d % job->t, b = at / job->d / job->t;
    bool inside = k - job->from < job->m; /* what is before wraps */
    size_t from = (b * job->m + k - job->from) * job->d + d;
    nn_put(job->dx, at, inside ? nn_get(job->dy, from, job->type) : 0, job->type);
}
