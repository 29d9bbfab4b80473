/* y (b, m, d) = rows `from` to `from` + m - 1 of x (b, t, d). dx is dy in these rows, and 0
 * elsewhere. */
#ifndef REAL
#define NN_FILE "models/nn/operators/slice.c"
enum { X, Y };
enum { B, T, D, M };
#include "models/nn/cuda/on_cuda.h"
#include "models/nn/fast.h"
#include "models/nn/plain.h"
#include "models/nn/types.h"

/* Element of x where image b's rows begin. */
static size_t place(const struct nn_shape *shape, size_t b)
{
    return (b * shape->size[T] + (size_t)shape->setting[0]) * shape->size[D];
}

static enum yp_status forward_in(const struct nn_call *call, enum nn_type type)
{
    const size_t *size = call->shape->size, count = size[M] * size[D];
    for (size_t b = 0; b < size[B]; b++)
        nn_copy(nn_from(call->value[X], place(call->shape, b), type), count * nn_width(type),
                nn_from(call->value[Y], b * count, type));
    return YP_OK;
}

static enum yp_status vjp_in(const struct nn_call *call, enum nn_type type)
{
    const size_t *size = call->shape->size, count = size[M] * size[D];
    void *dx = call->gradient[X];
    if (dx == NULL)
        return YP_OK;
    nn_zero(dx, size[B] * size[T] * size[D] * nn_width(type));
    for (size_t b = 0; b < size[B]; b++)
        nn_copy(nn_from(call->gradient[Y], b * count, type), count * nn_width(type),
                nn_from(dx, place(call->shape, b), type));
    return YP_OK;
}

NN_EACH_TYPE

static struct nn_cuda_slice job_of(const struct nn_call *call, enum nn_type type)
{
    const size_t *size = call->shape->size;
    return (struct nn_cuda_slice){.type = type,
                                  .b = size[B],
                                  .t = size[T],
                                  .d = size[D],
                                  .m = size[M],
                                  .from = (size_t)call->shape->setting[0],
                                  .x = call->value[X],
                                  .dy = call->gradient[Y],
                                  .y = call->value[Y],
                                  .dx = call->gradient[X]};
}

NN_ON_CUDA_BY_JOB(slice, struct nn_cuda_slice)

static double flops(const struct nn_shape *shape, enum nn_pass pass)
{
    (void)shape;
    (void)pass;
    return 1; /* copies */
}

const struct nn_operator nn_slice = {
    .name = "slice",
    .dims = "btdm",
    .settings = {"from"},
    .tensors = {{"x", "btd", .role = NN_INPUT, .unread = true}, {"y", "bmd", .role = NN_OUTPUT}},
    .shapes = {{"one", .size = {1, 1, 1, 1}, .setting = {0}},
               {"odd", .size = {3, 5, 7, 3}, .setting = {1}},
               {"small", .size = {2, 17, 64, 16}, .setting = {1}},
               {"medium", .size = {4, 257, 1280, 256}, .setting = {1}}},
    NN_PLAIN,
    .flops = flops,
    NN_EACH_VERSION(NULL, NULL, "bb", "bb"),
};

#else
static void NAME(forward)(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    const REAL *x = call->value[X];
    REAL *y = call->value[Y];
    size_t from = (size_t)call->shape->setting[0];
    for (size_t b = 0; b < size[B]; b++)
        for (size_t k = 0; k < size[M]; k++)
            for (size_t d = 0; d < size[D]; d++)
                *y++ = x[(b * size[T] + from + k) * size[D] + d];
}

static void NAME(vjp)(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    const REAL *dy = call->gradient[Y];
    REAL *dx = call->gradient[X];
    size_t from = (size_t)call->shape->setting[0];
    memset(dx, 0, size[B] * size[T] * size[D] * sizeof *dx);
    for (size_t b = 0; b < size[B]; b++)
        for (size_t k = 0; k < size[M]; k++)
            for (size_t d = 0; d < size[D]; d++)
                dx[(b * size[T] + from + k) * size[D] + d] = *dy++;
}
#endif
