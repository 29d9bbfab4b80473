/* y (n) = max(x, 0). dx = dy where x > 0, else 0, at 0, too. NaN stays NaN, and its dx is dy. */
#ifndef REAL
#define NN_FILE "models/nn/operators/relu.c"
enum { X, Y };
enum { N };
#include "models/nn/cuda/on_cuda.h"
#include "models/nn/fast.h"
#include "models/nn/plain.h"
#include "models/nn/types.h"

NN_LOOPS values_loops(enum nn_type type, const void *x, size_t n, void *restrict y)
{
    for (size_t i = 0; i < n; i++) {
        float value = nn_get(x, i, type);
        nn_put(y, i, value < 0 ? 0 : value, type);
    }
}
NN_TYPED_KERNEL(values, (const void *x, size_t n, void *y), (x, n, y))

NN_LOOPS slopes_loops(enum nn_type type, const void *x, const void *dy, size_t n, bool add,
                      void *restrict dx)
{
    for (size_t i = 0; i < n; i++) {
        float slope = nn_get(x, i, type) <= 0 ? 0 : nn_get(dy, i, type);
        nn_put(dx, i, add ? nn_get(dx, i, type) + slope : slope, type);
    }
}
NN_TYPED_KERNEL(slopes, (const void *x, const void *dy, size_t n, bool add, void *dx),
                (x, dy, n, add, dx))

NN_LINE_FUNCTION

NN_ON_CUDA_LINE(NN_CUDA_RELU)

static double flops(const struct nn_shape *shape, enum nn_pass pass)
{
    (void)pass;
    return (double)shape->size[N];
}

const struct nn_operator nn_relu = {
    .name = "relu",
    .dims = "n",
    .tensors = {{"x", "n", .role = NN_INPUT, .adds = true, .domain = {NN_BELL, .gap = 0.01}},
                {"y", "n", .role = NN_OUTPUT}},
    NN_LINE_SHAPES(0),
    NN_PLAIN,
    .flops = flops,
    NN_EACH_VERSION(NULL, NULL, "bb", "bb"),
};

#else
static void NAME(forward)(const struct nn_call *call)
{
    const REAL *x = call->value[X];
    REAL *y = call->value[Y];
    for (size_t i = 0; i < call->shape->size[N]; i++)
        y[i] = x[i] < 0 ? 0 : x[i];
}

static void NAME(vjp)(const struct nn_call *call)
{
    const REAL *x = call->value[X], *dy = call->gradient[Y];
    REAL *dx = call->gradient[X];
    for (size_t i = 0; i < call->shape->size[N]; i++)
        dx[i] = x[i] <= 0 ? 0 : dy[i];
}
#endif
