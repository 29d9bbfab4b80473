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
#include "models/nn/fast.h"
#include "models/nn/plain.h"
#include "models/nn/types.h"

/* Numbers that one node takes: its place and the gradient of it, a path, its shares, and its logits
 * and their gradient as floats. */
static size_t room(const struct nn_shape *shape)
{
    return 4 + 2 * shape->size[T] + 3 * shape->size[K];
}

static size_t plain_work(const struct nn_shape *shape)
{
    return shape->size[N] * room(shape) * sizeof(double);
}

static size_t work(const struct nn_shape *shape)
{
    return shape->size[N] * room(shape) * sizeof(float);
}

static bool many(const struct nn_shape *shape)
{
    return shape->size[N] * shape->size[K] * shape->size[T] > NN_CHUNK;
}

/* The call of float with logits of bf16 as floats, and a place for their gradient. */
static struct nn_call widened(const struct nn_call *call, bool bf16)
{
    const size_t *size = call->shape->size, count = size[N] * size[K];
    float *logit = (float *)call->work + size[N] * (room(call->shape) - 2 * size[K]);
    struct nn_call wide = *call;
    for (size_t i = 0; i < count && bf16; i++) {
        logit[i] = nn_get(call->value[LOGIT], i, bf16);
        logit[count + i] = nn_adds(call, LOGIT) && call->gradient[LOGIT] != NULL
                               ? nn_get(call->gradient[LOGIT], i, bf16)
                               : 0;
    }
    if (bf16) {
        wide.value[LOGIT] = logit;
        wide.gradient[LOGIT] = call->gradient[LOGIT] != NULL ? logit + count : NULL;
    }
    return wide;
}

static enum yp_status check(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    return nn_check_offsets("collision", "offset", call->value[OFFSET], size[G], size[N]);
}

static enum yp_status forward_in(const struct nn_call *call, bool bf16)
{
    enum yp_status status = check(call);
    if (status != YP_OK)
        return status;
    const struct nn_call wide = widened(call, bf16);
    NN_PARALLEL_FOR(many(call->shape), i, call->shape->size[G], 1, graph_f32(&wide, i));
    return YP_OK;
}

static void clear(const struct nn_call *call, int tensor, size_t count)
{
    if (call->gradient[tensor] != NULL && !nn_adds(call, tensor))
        nn_zero(call->gradient[tensor], count * sizeof(float));
}

static enum yp_status vjp_in(const struct nn_call *call, bool bf16)
{
    const size_t *size = call->shape->size;
    enum yp_status status = check(call);
    if (status != YP_OK)
        return status;
    const struct nn_call wide = widened(call, bf16);
    clear(&wide, P, size[N] * size[K] * size[T] * size[C]);
    clear(&wide, LOGIT, size[N] * size[K]);
    NN_PARALLEL_FOR(many(call->shape), i, size[G], 1, graph_vjp_f32(&wide, i));
    for (size_t i = 0; i < size[N] * size[K] && bf16 && call->gradient[LOGIT] != NULL; i++)
        nn_put(call->gradient[LOGIT], i, ((float *)wide.gradient[LOGIT])[i], bf16);
    return YP_OK;
}

NN_BOTH_TYPES

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
    .versions = {{NN_FP32, "cpu", .forward = forward, .vjp = vjp, .work = work},
                 {NN_BF16, "cpu", .forward = forward_bf16, .vjp = vjp_bf16, .work = work,
                  .types = "fbfff", .gradients = "fbfff"}},
};

#else
#include "models/nn/operators/mixture_plain.inc"

/* Of nodes from `first` on, in the workspace: places (n, 2), their gradients (n, 2), paths (n, t,
 * 2) and shares (n, k). */
static REAL *NAME(place)(const struct nn_call *call, size_t node)
{
    return (REAL *)call->work + 2 * node;
}

static REAL *NAME(slope)(const struct nn_call *call, size_t node)
{
    return NAME(place)(call, call->shape->size[N] + node);
}

static REAL *NAME(path)(const struct nn_call *call, size_t node)
{
    const size_t *size = call->shape->size;
    return (REAL *)call->work + 4 * size[N] + node * size[T] * 2;
}

static REAL *NAME(part)(const struct nn_call *call, size_t node)
{
    const size_t *size = call->shape->size;
    return NAME(path)(call, size[N]) + node * size[K];
}

static void NAME(find_place)(const struct nn_call *call, size_t i)
{
    const size_t *size = call->shape->size, k = size[K], t = size[T];
    const REAL *p = (const REAL *)call->value[P] + i * k * t * 5, *here = call->value[HERE];
    REAL *part = NAME(part)(call, i), *path = NAME(path)(call, i), *place = NAME(place)(call, i);
    NAME(shares)((const REAL *)call->value[LOGIT] + i * k, k, part);
    NAME(mean_path)(p, part, k, t, path);
    for (size_t axis = 0; axis < 2; axis++) {
        place[axis] = here != NULL ? here[i * size[D] + axis] : 0;
        for (size_t at = 0; at < t; at++)
            place[axis] += path[2 * at + axis] / (REAL)t;
    }
}

/* The loss of a graph; the gradients of its nodes' places, times dloss. */
static REAL NAME(near)(const struct nn_call *call, size_t graph, REAL dloss)
{
    const int32_t *offset = call->value[OFFSET];
    const size_t first = (size_t)offset[graph], end = (size_t)offset[graph + 1];
    const REAL apart = (REAL)call->shape->setting[0];
    REAL loss = 0;
    for (size_t i = first; i < end; i++) {
        const REAL *own = NAME(place)(call, i);
        NAME(find_place)(call, i);
        memset(NAME(slope)(call, i), 0, 2 * sizeof(REAL));
        loss += (own[0] - own[0]) + (own[1] - own[1]); /* NaN shows where a node is alone, too */
    }
    for (size_t i = first; i < end; i++)
        for (size_t j = first; j < i; j++) {
            const REAL *a = NAME(place)(call, i), *b = NAME(place)(call, j);
            const REAL x = a[0] - b[0], y = a[1] - b[1], far = NAME(length)(x, y);
            const REAL by = far < apart && far > 0 ? -2 * dloss / far : 0;
            loss += far >= apart ? 0 : 2 * (apart - far);
            NAME(slope)(call, i)[0] += by * x;
            NAME(slope)(call, i)[1] += by * y;
            NAME(slope)(call, j)[0] -= by * x;
            NAME(slope)(call, j)[1] -= by * y;
        }
    return loss;
}

static void NAME(graph)(const struct nn_call *call, size_t graph)
{
    ((REAL *)call->value[LOSS])[graph] = NAME(near)(call, graph, 0);
}

/* Adds to the gradients, but those that are NULL. */
static void NAME(graph_vjp)(const struct nn_call *call, size_t graph)
{
    const size_t *size = call->shape->size, k = size[K], t = size[T];
    const int32_t *offset = call->value[OFFSET];
    const REAL *p = call->value[P];
    REAL *dp = call->gradient[P], *dlogit = call->gradient[LOGIT];
    NAME(near)(call, graph, ((const REAL *)call->gradient[LOSS])[graph]);
    for (size_t i = (size_t)offset[graph]; i < (size_t)offset[graph + 1]; i++) {
        REAL *path = NAME(path)(call, i);
        for (size_t at = 0; at < 2 * t; at++)
            path[at] = NAME(slope)(call, i)[at % 2] / (REAL)t;
        NAME(mean_path_vjp)
        (p + i * k * t * 5, NAME(part)(call, i), path, k, t, dp != NULL ? dp + i * k * t * 5 : NULL,
         dlogit != NULL ? dlogit + i * k : NULL);
    }
}

static void NAME(forward)(const struct nn_call *call)
{
    for (size_t i = 0; i < call->shape->size[G]; i++)
        NAME(graph)(call, i);
}

static void NAME(vjp)(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    memset(call->gradient[P], 0, size[N] * size[K] * size[T] * 5 * sizeof(REAL));
    memset(call->gradient[LOGIT], 0, size[N] * size[K] * sizeof(REAL));
    for (size_t i = 0; i < size[G]; i++)
        NAME(graph_vjp)(call, i);
}
#endif
