/* Mixtures of paths: what the CPU's plain loops do for a node, a thread each, and elements. */
#pragma once

#include "device/cuda/frame.h"
#include "models/nn/cuda/nn_cuda.h"
#include "models/nn/types.h"

#ifdef __CUDACC__
#include <math.h>
#else
#include <tgmath.h>
#endif

#define REAL float
#define NAME(name) name##_f32
#include "models/nn/operators/mixture_plain.inc"

#include "models/nn/operators/collision.inc"
#include "models/nn/operators/mixture_nll.inc"
#include "models/nn/operators/trajectory_terms.inc"
#undef REAL
#undef NAME

/* -- mixture_head: see operators/mixture_head.c ----------------------------------------------- */

/* A number of row `at` / 5. */
YPK_FUNCTION void mixture_head_value(const struct nn_cuda_mixture_head *job, size_t at)
{
    const size_t column = at % 5;
    const float raw = nn_get(job->raw, at, job->type);
    float deviation = expf(raw);
    deviation = deviation < job->least ? job->least : deviation > job->most ? job->most : deviation;
    job->y[at] = column < 2 ? raw : column < 4 ? deviation : tanhf(raw);
}

YPK_FUNCTION void mixture_head_slope(const struct nn_cuda_mixture_head *job, size_t at)
{
    const size_t column = at % 5;
    const float raw = nn_get(job->raw, at, job->type), deviation = expf(raw), top = coshf(raw);
    const bool held = deviation < job->least || deviation > job->most;
    const float slope = column < 2 ? 1 : column == 4 ? 1 / (top * top) : held ? 0 : deviation;
    const float old = job->add ? nn_get(job->draw, at, job->type) : 0;
    nn_put(job->draw, at, old + job->dy[at] * slope, job->type);
}

/* -- coverage_bce: see operators/coverage_bce.c ----------------------------------------------- */

YPK_FUNCTION void coverage_value(const struct nn_cuda_coverage *job, size_t i)
{
    const float x = nn_get(job->x, i, job->type);
    const float z = job->label[i] * (1 - job->smoothing) + job->smoothing / 2;
    job->loss[i] = job->label[i] < 0 ? x - x : (x < 0 ? 0 : x) - x * z + log1pf(expf(-fabsf(x)));
}

YPK_FUNCTION void coverage_slope(const struct nn_cuda_coverage *job, size_t i)
{
    const float x = nn_get(job->x, i, job->type);
    const float z = job->label[i] * (1 - job->smoothing) + job->smoothing / 2;
    const float dloss = job->label[i] < 0 ? 0 : job->dloss[i];
    if (job->dx != NULL)
        nn_put(job->dx, i,
               (job->add_dx ? nn_get(job->dx, i, job->type) : 0) + dloss * (1 / (1 + expf(-x)) - z),
               job->type);
    if (job->dlabel != NULL)
        job->dlabel[i] = (job->add_dlabel ? job->dlabel[i] : 0) + (job->smoothing - 1) * x * dloss;
}
