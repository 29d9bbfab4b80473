/* What else a mixture of k paths of t steps may be held to: loss (n), a weighted sum of terms of p
 * (n, k, t, 5), whose first two numbers are a step's mean position, of logits (n, k) and of targets
 * (n, t, 2). With m the mean path by softmax(logit), o = m - target:
 *
 *     velocity      mean of (o_(s+1) - o_s)^2 over steps and axes
 *     acceleration  the same of o_(s+2) - 2 o_(s+1) + o_s
 *     winner        the least mean distance of a mode's path from the target, plus
 *     likely        times -ln softmax(logit) of that mode, the first one of equals
 *     endpoint      e tanh(e / 5)^2 of the last step's e = |o|
 *
 * The settings are these weights; `likely` is within `winner`. Terms without steps are 0, and so
 * are gradients of distances that are 0. Deviations and correlations have no gradient. */
#ifndef REAL
#define NN_FILE "models/nn/operators/trajectory_terms.c"
enum { P, LOGIT, TARGET, LOSS };
enum { N, K, T, C, D };
#include "models/nn/cuda/on_cuda.h"
#include "models/nn/fast.h"
#include "models/nn/types.h"

/* Numbers that one node takes: logits, their gradient and shares, offsets and their gradient. */
static size_t room(const struct nn_shape *shape)
{
    return 3 * shape->size[K] + 4 * shape->size[T];
}

static struct nn_cuda_mixture job_of(const struct nn_call *call, enum nn_type type)
{
    struct nn_cuda_mixture job = nn_cuda_mixture_of(call, type, room(call->shape));
    job.add_dtarget = nn_adds(call, TARGET);
    job.target = call->value[TARGET];
    job.dtarget = call->gradient[TARGET];
    job.loss = call->value[LOSS];
    job.dloss = call->gradient[LOSS];
    return job;
}

#include "models/nn/plain.h"

NN_MIXTURE_WORKS

static enum yp_status run(const struct nn_call *call, enum nn_type type, bool back)
{
    const struct nn_cuda_mixture job = job_of(call, type);
    NN_PARALLEL_FOR(job.n * job.k * job.t > NN_CHUNK / 4, i, job.n, 1, terms_f32(&job, i, back));
    return YP_OK;
}

NN_MIXTURE_PASSES(trajectory_terms)

static double flops(const struct nn_shape *shape, enum nn_pass pass)
{
    const double n = (double)shape->size[N], k = (double)shape->size[K];
    const double t = (double)shape->size[T];
    return n * (k * (t * 12 + NN_FUNCTION) + 20 * t + NN_FUNCTION) * (pass == NN_VJP ? 2 : 1);
}

const struct nn_operator nn_trajectory_terms = {
    .name = "trajectory_terms",
    .dims = "nktcd",
    .settings = {"velocity", "acceleration", "winner", "likely", "endpoint"},
    .tensors = {{"p", "nktc", .role = NN_INPUT, .adds = true},
                {"logit", "nk", .role = NN_INPUT, .adds = true},
                {"target", "ntd", .role = NN_INPUT, .adds = true, .domain = {NN_BELL, .high = 2}},
                {"loss", "n", .role = NN_OUTPUT}},
    .shapes = {{"one", .size = {1, 1, 1, 5, 2}, .setting = {0.3, 0.1, 0.5, 0.1, 0.2}},
               {"odd", .size = {5, 3, 4, 5, 2}, .setting = {0.3, 1, 0.5, 0.7, 0.2}},
               {"small", .size = {11, 6, 10, 5, 2}, .setting = {0.3, 0.1, 0.5, 0.1, 0.2}},
               {"medium", .size = {352, 16, 10, 5, 2}, .setting = {0.3, 0.1, 0.5, 0.1, 0.2}}},
    NN_PLAIN,
    .plain_work = plain_work,
    .flops = flops,
    NN_EACH_VERSION(work, work, "fbff", "fbff"),
};

#else
#include "models/nn/operators/mixture_plain.inc"

#include "models/nn/operators/trajectory_terms.inc"

NN_MIXTURE_PLAIN(n, terms)
#endif
