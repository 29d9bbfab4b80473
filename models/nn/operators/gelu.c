/* y (n) = x P(x), with P(x) = (1 + erf(x / sqrt 2)) / 2 (Hendrycks and Gimpel, "Gaussian error
 * linear units", 2016, the exact form). dx = dy (P(x) + x e^(-x^2 / 2) / sqrt(2 pi)). */
#ifndef REAL
#define NN_FILE "models/nn/operators/gelu.c"
enum { X, Y };
enum { N };
#include "models/nn/cuda/on_cuda.h"
#include "models/nn/fast.h"
#include "models/nn/maths.h"
#include "models/nn/plain.h"
#include "models/nn/types.h"

NN_LOOPS values_loops(enum nn_type type, const void *x, size_t n, void *restrict y)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        float value = nn_get(x, i, type);
        nn_put(y, i, value * nn_normal_below(value), type);
    }
}
NN_TYPED_KERNEL(values, (const void *x, size_t n, void *y), (x, n, y))

NN_LOOPS slopes_loops(enum nn_type type, const void *x, const void *dy, size_t n, bool add,
                      void *restrict dx)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        float value = nn_get(x, i, type), density = 0.39894228F * nn_exp(-0.5F * value * value);
        float slope = nn_get(dy, i, type) * (nn_normal_below(value) + value * density);
        nn_put(dx, i, add ? nn_get(dx, i, type) + slope : slope, type);
    }
}
NN_TYPED_KERNEL(slopes, (const void *x, const void *dy, size_t n, bool add, void *dx),
                (x, dy, n, add, dx))

NN_LINE_FUNCTION

NN_ON_CUDA_LINE(NN_CUDA_GELU)

static double flops(const struct nn_shape *shape, enum nn_pass pass)
{
    return (pass == NN_VJP ? 2 * NN_FUNCTION + 5 : NN_FUNCTION + 3) * (double)shape->size[N];
}

const struct nn_operator nn_gelu = {
    .name = "gelu",
    .dims = "n",
    .tensors = {{"x", "n", .role = NN_INPUT, .adds = true, .domain = {NN_BELL, .high = 2}},
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
    REAL *y = call->value[Y], root = sqrt((REAL)2);
    for (size_t i = 0; i < call->shape->size[N]; i++)
        y[i] = x[i] * (1 + erf(x[i] / root)) / 2;
}

static void NAME(vjp)(const struct nn_call *call)
{
    const REAL *x = call->value[X], *dy = call->gradient[Y];
    REAL *dx = call->gradient[X], root = sqrt((REAL)2);
    const REAL top = (REAL)0.39894228040143267794; /* 1 / sqrt(2 pi) */
    for (size_t i = 0; i < call->shape->size[N]; i++)
        dx[i] = dy[i] * ((1 + erf(x[i] / root)) / 2 + x[i] * exp(-x[i] * x[i] / 2) * top);
}
#endif
