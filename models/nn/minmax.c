/*
 * y (n) = (x - min) / r, r = max(max - min, least), of x (n) and two numbers, min and max. With
 * r = max - min: dmin = -sum dy (1 - y) / r, dmax = -sum dy y / r. Held at `least`, r is a
 * constant: dmin = -sum dy / r, dmax = 0.
 */
#ifndef REAL
#define NN_FILE "models/nn/minmax.c"
enum { X, MIN, MAX, Y };
enum { N };
#include "models/nn/plain.h"

static double flops(const struct nn_shape *shape, enum nn_pass pass)
{
    return (pass == NN_VJP ? 7.0 : 2.0) * (double)shape->size[N];
}

const struct nn_operator nn_minmax = {
    .name = "minmax",
    .dims = "n",
    .settings = {"least"},
    .tensors = {{"x", "n", NN_INPUT},
                {"min", "", NN_PARAMETER, .domain = {NN_UNIFORM, -2, -1}},
                {"max", "", NN_PARAMETER, .domain = {NN_UNIFORM, 1, 2}},
                {"y", "n", NN_OUTPUT}},
    .kinks = "max - min = least",
    .shapes = {{"one", {1}, {1e-6}},
               {"odd", {37}, {1e-6}},
               {"small", {4096}, {1e-6}},
               {"medium", {1 << 20}, {1e-6}}},
    NN_PLAIN,
    .flops = flops,
};

#else
static void NAME(forward)(const struct nn_call *call)
{
    const REAL *x = call->value[X], *min = call->value[MIN], *max = call->value[MAX];
    REAL *y = call->value[Y], least = (REAL)call->shape->setting[0];
    REAL range = *max - *min >= least ? *max - *min : least;
    for (size_t i = 0; i < call->shape->size[N]; i++)
        y[i] = (x[i] - *min) / range;
}

static void NAME(vjp)(const struct nn_call *call)
{
    const REAL *x = call->value[X], *min = call->value[MIN], *max = call->value[MAX];
    const REAL *dy = call->gradient[Y], least = (REAL)call->shape->setting[0];
    REAL *dx = call->gradient[X], *dmin = call->gradient[MIN], *dmax = call->gradient[MAX];
    bool moves = *max - *min >= least;
    REAL range = moves ? *max - *min : least;
    *dmin = *dmax = 0;
    for (size_t i = 0; i < call->shape->size[N]; i++) {
        REAL y = (x[i] - *min) / range;
        dx[i] = dy[i] / range;
        *dmin -= dy[i] / range * (moves ? 1 - y : 1);
        *dmax -= moves ? dy[i] / range * y : 0;
    }
}
#endif
