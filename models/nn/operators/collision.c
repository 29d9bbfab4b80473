/* How far paths come near each other: loss (g), for each graph the sum over ordered pairs of its
 * nodes of max(0, apart - distance) between their mean places. A node's is the mean over t steps of
 * its mean path by softmax(logit), of p (n, k, t, 5), whose first two numbers are a step's mean
 * position, and logit (n, k); where `here` (n, d) is given, d at least 2, its first two are added.
 * Nodes of graph i are offset[i] to offset[i + 1] - 1. The gradient of a distance that is 0 is 0.
 */
#ifndef REAL
#define NN_FILE "models/nn/operators/collision.c"
enum { P, LOGIT, OFFSET, HERE, LOSS };
enum { N, K, T, C, M, D, G };
#include "models/nn/cuda/on_cuda.h"
#include "models/nn/fast.h"
#include "models/nn/types.h"

/* Numbers that one node takes: logits and their gradient, its place and the gradient of it, a path
 * and shares. */
static size_t room(const struct nn_shape *shape)
{
    return 4 + 2 * shape->size[T] + 3 * shape->size[K];
}

static struct nn_cuda_mixture job_of(const struct nn_call *call, enum nn_type type)
{
    struct nn_cuda_mixture job = nn_cuda_mixture_of(call, type, room(call->shape));
    job.d = call->shape->size[D];
    job.graphs = call->shape->size[G];
    job.offset = call->value[OFFSET];
    job.here = call->value[HERE];
    job.loss = call->value[LOSS];
    job.dloss = call->gradient[LOSS];
    return job;
}

#include "models/nn/plain.h"

NN_MIXTURE_WORKS

static enum yp_status run(const struct nn_call *call, enum nn_type type, bool back)
{
    const struct nn_cuda_mixture job = job_of(call, type);
    enum yp_status status = nn_check_offsets("collision", "offset", job.offset, job.graphs, job.n);
    if (status == YP_OK)
        NN_PARALLEL_FOR(job.n * job.k * job.t > NN_CHUNK, i, job.graphs, 1,
                        graph_f32(&job, i, back));
    return status;
}

NN_MIXTURE_PASSES(collision)

static double flops(const struct nn_shape *shape, enum nn_pass pass)
{
    const double n = (double)shape->size[N], k = (double)shape->size[K];
    const double t = (double)shape->size[T], pairs = n * n / (double)shape->size[G] / 2;
    return (n * k * (4 * t + NN_FUNCTION) + pairs * 8) * (pass == NN_VJP ? 2 : 1);
}

const struct nn_operator nn_collision = {
    .name = "collision",
    .dims = "nktcmdg",
    .settings = {"apart"},
    .tensors = {{"p", "nktc", .role = NN_INPUT, .adds = true},
                {"logit", "nk", .role = NN_INPUT, .adds = true},
                {"offset", "m", .role = NN_CONSTANT, .type = NN_INT32,
                 .domain = {NN_OFFSETS, .below = 'n'}},
                {"here", "nd", .role = NN_CONSTANT, .optional = true},
                {"loss", "g", .role = NN_OUTPUT}},
    .shapes = {{"one", .size = {1, 1, 1, 5, 2, 2, 1}, .setting = {1}},
               {"odd", .size = {6, 3, 4, 5, 5, 3, 4}, .setting = {2}},
               {"small", .size = {22, 6, 10, 5, 4, 9, 3}, .setting = {1}},
               {"medium", .size = {352, 16, 10, 5, 17, 9, 16}, .setting = {1}}},
    NN_PLAIN,
    .plain_work = plain_work,
    .flops = flops,
    NN_EACH_VERSION(work, work, "fbfff", "fbfff"),
};

#else
#include "models/nn/operators/mixture_plain.inc"

#include "models/nn/operators/collision.inc"

NN_MIXTURE_PLAIN(graphs, graph)
#endif
