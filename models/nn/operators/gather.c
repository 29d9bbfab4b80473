/* y (e, c) = the rows of x (n, c) by index (e). dx = for each row the sum of dy's rows whose index
 * it is. */
#ifndef REAL
#define NN_FILE "models/nn/operators/gather.c"
enum { X, INDEX, Y };
enum { N, C, E };
#include "models/nn/cuda/on_cuda.h"
#include "models/nn/fast.h"
#include "models/nn/plain.h"
#include "models/nn/segments.h"
#include "models/nn/types.h"

static size_t work(const struct nn_shape *shape)
{
    return nn_index_bytes(shape->size[E], shape->size[N]);
}

static enum yp_status forward_in(const struct nn_call *call, enum nn_type type)
{
    const size_t *size = call->shape->size, bytes = size[C] * nn_width(type);
    const int32_t *index = call->value[INDEX];
    enum yp_status status = nn_check_indices("gather", "index", index, size[E], size[N]);
    if (status != YP_OK)
        return status;
    NN_PARALLEL_FOR(size[E] * size[C] > NN_FEW * NN_CHUNK, k, size[E], 1,
                    memcpy(nn_from(call->value[Y], k * size[C], type),
                           nn_from(call->value[X], (size_t)index[k] * size[C], type), bytes));
    return YP_OK;
}

static enum yp_status vjp_in(const struct nn_call *call, enum nn_type type)
{
    const size_t *size = call->shape->size;
    if (call->gradient[X] == NULL)
        return YP_OK;
    const struct nn_segments rows =
        nn_index_segments(call->value[INDEX], size[E], size[N], call->work);
    nn_segment_sums(&rows, call->gradient[Y], type, size[C], nn_adds(call, X), call->gradient[X]);
    return YP_OK;
}

NN_EACH_TYPE

static enum yp_status forward_on(const struct nn_cuda *cuda, const struct nn_call *call,
                                 enum nn_type type)
{
    const size_t *size = call->shape->size;
    const struct nn_cuda_embedding job = {.n = size[E],
                                          .v = size[N],
                                          .d = size[C],
                                          .type = type,
                                          .token = call->value[INDEX],
                                          .table = call->value[X],
                                          .y = call->value[Y]};
    return cuda->embedding[NN_FORWARD](call->device, &job);
}

static enum yp_status vjp_on(const struct nn_cuda *cuda, const struct nn_call *call,
                             enum nn_type type)
{
    const size_t *size = call->shape->size;
    const struct nn_cuda_segments job = {.n = size[N],
                                         .rows = size[E],
                                         .c = size[C],
                                         .type = type,
                                         .add = nn_adds(call, X),
                                         .factor = 1,
                                         .index = call->value[INDEX],
                                         .rows_of = call->gradient[Y],
                                         .segments = call->gradient[X]};
    return job.segments != NULL ? cuda->segments[NN_FORWARD](call->device, &job)
                                : (enum yp_status)YP_OK;
}

NN_ON_CUDA

static double flops(const struct nn_shape *shape, enum nn_pass pass)
{
    return pass == NN_VJP ? (double)shape->size[E] * (double)shape->size[C] : 1; /* copies */
}

const struct nn_operator nn_gather = {
    .name = "gather",
    .dims = "nce",
    .tensors = {{"x", "nc", .role = NN_INPUT, .unread = true, .adds = true},
                {"index", "e", .role = NN_CONSTANT, .type = NN_INT32,
                 .domain = {NN_WHOLE, .below = 'n'}},
                {"y", "ec", .role = NN_OUTPUT}},
    .shapes = {{"one", .size = {1, 1, 1}},
               {"odd", .size = {3, 7, 19}},
               {"small", .size = {32, 64, 256}},
               {"medium", .size = {352, 256, 7000}}},
    NN_PLAIN,
    .flops = flops,
    NN_EACH_VERSION(work, NULL, "bfb", "bfb"),
};

#else
static void NAME(forward)(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    const int32_t *index = call->value[INDEX];
    const REAL *x = call->value[X];
    REAL *y = call->value[Y];
    for (size_t k = 0; k < size[E]; k++)
        for (size_t c = 0; c < size[C]; c++)
            y[k * size[C] + c] = x[(size_t)index[k] * size[C] + c];
}

static void NAME(vjp)(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    const int32_t *index = call->value[INDEX];
    const REAL *dy = call->gradient[Y];
    REAL *dx = call->gradient[X];
    memset(dx, 0, size[N] * size[C] * sizeof *dx);
    for (size_t k = 0; k < size[E]; k++)
        for (size_t c = 0; c < size[C]; c++)
            dx[(size_t)index[k] * size[C] + c] += dy[k * size[C] + c];
}
#endif
