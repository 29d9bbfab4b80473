/* y (n, r, c) = x m, with a mask m of 0 and 1 / (1 - rate) (Srivastava et al., "Dropout", 2014)
 * that drop.h makes of row's keys (n, 2). dx = dy m, by the same mask, which is made again. With
 * the setting whole = 1 a row's elements have the same m ("stochastic depth": Huang et al., 2016).
 */
#ifndef REAL
#define NN_FILE "models/nn/operators/dropout.c"
enum { X, KEY, Y };
enum { N, R, C, K };
#include "models/nn/drop.h"
#include "models/nn/operator.h"

static struct nn_drop drop_of(const struct nn_call *call)
{
    const double *setting = call->shape->setting;
    return (struct nn_drop){setting[0], (uint64_t)setting[1], call->value[KEY], setting[2] != 0};
}

#include "models/nn/cuda/on_cuda.h"
#include "models/nn/fast.h"
#include "models/nn/plain.h"
#include "models/nn/types.h"

static enum yp_status drop_all(const struct nn_call *call, enum nn_type type, const void *from,
                               bool add, void *to)
{
    const size_t *size = call->shape->size, count = size[R] * size[C];
    const struct nn_drop drop = drop_of(call);
    const enum yp_status status = nn_check_drop("dropout", &drop);
    if (status != YP_OK)
        return status;
    NN_PARALLEL_FOR(size[N] * count > NN_CHUNK, i, size[N], 1,
                    nn_drop_row(&drop, i, 0, type, nn_from(from, i * count, type), count, add,
                                nn_from(to, i * count, type)));
    return YP_OK;
}

static enum yp_status forward_in(const struct nn_call *call, enum nn_type type)
{
    return drop_all(call, type, call->value[X], false, call->value[Y]);
}

static enum yp_status vjp_in(const struct nn_call *call, enum nn_type type)
{
    if (call->gradient[X] == NULL)
        return YP_OK;
    return drop_all(call, type, call->gradient[Y], nn_adds(call, X), call->gradient[X]);
}

NN_EACH_TYPE

static enum yp_status drop_on(const struct nn_cuda *cuda, const struct nn_call *call,
                              enum nn_type type, const void *from, bool add, void *to)
{
    const size_t *size = call->shape->size, count = size[R] * size[C];
    const struct nn_cuda_dropout job = {size[N] * count, count, type, add, drop_of(call), from, to};
    const enum yp_status status = nn_check_drop("dropout", &job.drop);
    return status == YP_OK && to != NULL ? cuda->dropout(call->device, &job) : status;
}

static enum yp_status forward_on(const struct nn_cuda *cuda, const struct nn_call *call,
                                 enum nn_type type)
{
    return drop_on(cuda, call, type, call->value[X], false, call->value[Y]);
}

static enum yp_status vjp_on(const struct nn_cuda *cuda, const struct nn_call *call,
                             enum nn_type type)
{
    return drop_on(cuda, call, type, call->gradient[Y], nn_adds(call, X), call->gradient[X]);
}

NN_ON_CUDA

/* A block of four words takes ten rounds of two products, which are counted as operations. */
static double flops(const struct nn_shape *shape, enum nn_pass pass)
{
    const size_t *size = shape->size;
    (void)pass;
    return (double)(size[N] * size[R] * size[C]) * (shape->setting[2] != 0 ? 1 : 1 + 10 * 6 / 4);
}

const struct nn_operator nn_dropout = {
    .name = "dropout",
    .dims = "nrck",
    .settings = {"rate", "layer", "whole"},
    .tensors = {{"x", "nrc", .role = NN_INPUT, .adds = true, .unread = true},
                {"key", "nk", .role = NN_CONSTANT, .type = NN_INT32,
                 .domain = {NN_WHOLE, .low = INT32_MIN, .high = INT32_MAX}},
                {"y", "nrc", .role = NN_OUTPUT}},
    .shapes = {{"one", .size = {1, 1, 1, 2}, .setting = {0, 0, 0}},
               {"odd", .size = {5, 3, 7, 2}, .setting = {0.25, 3, 0}},
               {"small", .size = {16, 10, 64, 2}, .setting = {0.1, 1, 0}},
               {"medium", .size = {352, 160, 64, 2}, .setting = {0.1, 7, 0}},
               {"whole", .size = {9, 2, 7, 2}, .setting = {0.5, 2, 1}}},
    NN_PLAIN,
    .flops = flops,
    NN_EACH_VERSION(NULL, NULL, "bfb", "bfb"),
};

#else
static void NAME(drop)(const struct nn_call *call, const REAL *from, REAL *to)
{
    const size_t *size = call->shape->size, count = size[R] * size[C];
    const struct nn_drop drop = drop_of(call);
    for (size_t i = 0; i < size[N]; i++)
        for (size_t k = 0; k < count; k++)
            to[i * count + k] = from[i * count + k] * (REAL)nn_drop_factor(&drop, i, k);
}

static void NAME(forward)(const struct nn_call *call)
{
    NAME(drop)(call, call->value[X], call->value[Y]);
}

static void NAME(vjp)(const struct nn_call *call)
{
    NAME(drop)(call, call->gradient[Y], call->gradient[X]);
}
#endif
