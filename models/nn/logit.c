/* y (n) = scale (x - bias), of scores x (n) and two numbers: the logit of a detector. */
#ifndef REAL
#define NN_FILE "models/nn/logit.c"
enum { X, SCALE, BIAS, Y };
enum { N };
#include "models/nn/plain.h"

static double flops(const struct nn_shape *shape, enum nn_pass pass)
{
    return (pass == NN_VJP ? 5.0 : 2.0) * (double)shape->size[N];
}

const struct nn_operator nn_logit = {
    .name = "logit",
    .dims = "n",
    .tensors = {{"x", "n", NN_INPUT},
                {"scale", "", NN_PARAMETER, .domain = {NN_UNIFORM, 0.5, 2}},
                {"bias", "", NN_PARAMETER},
                {"y", "n", NN_OUTPUT}},
    .shapes = {{"one", {1}}, {"odd", {37}}, {"small", {4096}}, {"medium", {1 << 20}}},
    NN_PLAIN,
    .flops = flops,
};

#else
static void NAME(forward)(const struct nn_call *call)
{
    const REAL *x = call->value[X], *scale = call->value[SCALE], *bias = call->value[BIAS];
    REAL *y = call->value[Y];
    for (size_t i = 0; i < call->shape->size[N]; i++)
        y[i] = *scale * (x[i] - *bias);
}

static void NAME(vjp)(const struct nn_call *call)
{
    const REAL *x = call->value[X], *scale = call->value[SCALE], *bias = call->value[BIAS];
    const REAL *dy = call->gradient[Y];
    REAL *dx = call->gradient[X], *dscale = call->gradient[SCALE], *dbias = call->gradient[BIAS];
    *dscale = *dbias = 0;
    for (size_t i = 0; i < call->shape->size[N]; i++) {
        dx[i] = dy[i] * *scale;
        *dscale += dy[i] * (x[i] - *bias);
        *dbias -= dy[i] * *scale;
    }
}
#endif
