/* Convolutions of any shape: elements of the matrix of patches, which products gather, and sums
 * over taps channel by channel. See struct nn_cuda_patches. */
#pragma once

#include "device/cuda/frame.h"
#include "models/nn/cuda/nn_cuda.h"
#include "models/nn/types.h"

/* Which pixel of the array tap (u, v) of a point lies at; false: there is none. */
YPK_FUNCTION bool patches_pixel(const struct nn_cuda_patches *p, unsigned point, unsigned u,
                                unsigned v, size_t *pixel)
{
    unsigned row = point / p->q, i = row % p->p, j = point % p->q;
    int line = (int)i * p->scale + p->shift + (int)u * p->sign;
    int column = (int)j * p->scale + p->shift + (int)v * p->sign;
    if (line % p->step != 0 || column % p->step != 0)
        return false;
    unsigned y = (unsigned)(line / p->step), x = (unsigned)(column / p->step); /* below 0: wraps */
    *pixel = ((size_t)(row / p->p) * p->h + y) * p->w + x;
    return y < p->h && x < p->w;
}

YPK_FUNCTION float patches_get(const struct nn_cuda_patches *p, size_t point, size_t tap)
{
    unsigned place = (unsigned)tap / p->c, channel = (unsigned)tap % p->c;
    size_t pixel;
    return patches_pixel(p, (unsigned)point, place / p->s, place % p->s, &pixel)
               ? nn_get(p->at, pixel * p->c + channel, p->type)
               : 0;
}

/* -- channel by channel ----------------------------------------------------------------------- */

/* Element `at` of y (points, c). */
YPK_FUNCTION void depthwise_point(const struct nn_cuda_depthwise *job, size_t at)
{
    const struct nn_cuda_patches *p = &job->patches;
    unsigned point = (unsigned)(at / p->c), channel = (unsigned)(at % p->c);
    float sum = job->bias != NULL ? job->bias[channel] : 0;
    for (unsigned u = 0; u < p->r; u++)
        for (unsigned v = 0; v < p->s; v++) {
            size_t pixel;
            if (patches_pixel(p, point, u, v, &pixel))
                sum += nn_get(p->at, pixel * p->c + channel, p->type) *
                       nn_get(job->weights, (size_t)(u * p->s + v) * p->c + channel, p->type);
        }
    nn_put(job->y, at, job->add ? nn_get(job->y, at, p->type) + sum : sum, p->type);
}

/* What every NN_CUDA_GROUPSth point from `group` on has for element i of dweights (r, s, c). */
YPK_FUNCTION void depthwise_part(const struct nn_cuda_depthwise *job, size_t group, size_t i)
{
    const struct nn_cuda_patches *p = &job->patches;
    size_t channel = i % p->c;
    double sum = 0;
    for (size_t point = group; point < job->points; point += NN_CUDA_GROUPS)
        sum +=
            (double)(patches_get(p, point, i) * nn_get(job->dy, point * p->c + channel, p->type));
    job->work[group * p->r * p->s * p->c + i] = sum;
}
