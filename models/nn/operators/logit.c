/* y (n) = scale (x - bias), of scores x (n) and two numbers: the logit of a detector. */
#ifndef REAL
#define NN_FILE "models/nn/operators/logit.c"
enum { X, SCALE, BIAS, Y };
enum { N };
#include "models/nn/fast.h"
#include "models/nn/plain.h"

static size_t work(const struct nn_shape *shape)
{
    return nn_affine_bytes(shape->size[N]);
}

static enum yp_status forward(const struct nn_call *call)
{
    float scale = *(float *)call->value[SCALE], bias = *(float *)call->value[BIAS];
    nn_affine(call->value[X], bias, scale, call->shape->size[N], call->value[Y]);
    return YP_OK;
}

static enum yp_status vjp(const struct nn_call *call)
{
    float scale = *(float *)call->value[SCALE], bias = *(float *)call->value[BIAS];
    float *dscale = call->gradient[SCALE], *dbias = call->gradient[BIAS];
    double *sums = call->work;
    nn_affine_vjp(call->value[X], call->gradient[Y], bias, scale, call->shape->size[N],
                  call->gradient[X], sums);
    if (dscale != NULL)
        *dscale = (float)sums[1];
    if (dbias != NULL)
        *dbias = (float)(-(double)scale * sums[0]);
    return YP_OK;
}

static double flops(const struct nn_shape *shape, enum nn_pass pass)
{
    return (pass == NN_VJP ? 5.0 : 2.0) * (double)shape->size[N];
}

const struct nn_operator nn_logit = {
    .name = "logit",
    .dims = "n",
    .tensors = {{"x", "n", .role = NN_INPUT},
                {"scale", "", .role = NN_PARAMETER, .domain = {NN_UNIFORM, .low = 0.5, .high = 2}},
                {"bias", "", .role = NN_PARAMETER},
                {"y", "n", .role = NN_OUTPUT}},
    NN_LINE_SHAPES(0),
    NN_PLAIN,
    .flops = flops,
    .versions = {{NN_FP32, "cpu", .forward = forward, .vjp = vjp, .work = work}},
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
