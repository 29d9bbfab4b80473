/* y (n) = (x - min) / r, of x (n) and two numbers, min and max. r = max - min, and
 * dmin = -sum dy (1 - y) / r, dmax = -sum dy y / r. Where max is not above min, or by less than
 * FLT_MIN, 1 / r would be no float: then r is the setting `flat`, a constant, dmin = -sum dy / r
 * and dmax = 0. At max = min there is no derivative; the tensors' domains keep away from it. */
#ifndef REAL
#define NN_FILE "models/nn/operators/minmax.c"
enum { X, MIN, MAX, Y };
enum { N };
#include <float.h>

#include "models/nn/fast.h"
#include "models/nn/plain.h"

static size_t work(const struct nn_shape *shape)
{
    return nn_affine_bytes(shape->size[N]);
}

/* 1 / r, and whether r follows min and max. */
static double gain_of(const struct nn_call *call, bool *moves)
{
    double range = (double)*(float *)call->value[MAX] - (double)*(float *)call->value[MIN];
    *moves = range >= (double)FLT_MIN;
    return 1 / (*moves ? range : call->shape->setting[0]);
}

static enum yp_status forward(const struct nn_call *call)
{
    bool moves;
    float min = *(float *)call->value[MIN], gain = (float)gain_of(call, &moves);
    nn_affine(call->value[X], min, gain, call->shape->size[N], call->value[Y]);
    return YP_OK;
}

static enum yp_status vjp(const struct nn_call *call)
{
    float min = *(float *)call->value[MIN];
    float *dmin = call->gradient[MIN], *dmax = call->gradient[MAX];
    double *sums = call->work;
    bool moves;
    double gain = gain_of(call, &moves);
    nn_affine_vjp(call->value[X], call->gradient[Y], min, (float)gain, call->shape->size[N],
                  call->gradient[X], sums);
    double weighed = moves ? sums[1] * gain : 0; /* the sum of dy y */
    if (dmin != NULL)
        *dmin = (float)((weighed - sums[0]) * gain);
    if (dmax != NULL)
        *dmax = (float)(-weighed * gain);
    return YP_OK;
}

static double flops(const struct nn_shape *shape, enum nn_pass pass)
{
    return (pass == NN_VJP ? 7.0 : 2.0) * (double)shape->size[N];
}

const struct nn_operator nn_minmax = {
    .name = "minmax",
    .dims = "n",
    .settings = {"flat"},
    .tensors = {{"x", "n", .role = NN_INPUT},
                {"min", "", .role = NN_PARAMETER, .domain = {NN_UNIFORM, .low = -2, .high = -1}},
                {"max", "", .role = NN_PARAMETER, .domain = {NN_UNIFORM, .low = 1, .high = 2}},
                {"y", "n", .role = NN_OUTPUT}},
    NN_LINE_SHAPES(1e-6),
    NN_PLAIN,
    .flops = flops,
    .versions = {{NN_FP32, "cpu", .forward = forward, .vjp = vjp, .work = work}},
};

#else
static void NAME(forward)(const struct nn_call *call)
{
    const REAL *x = call->value[X], *min = call->value[MIN], *max = call->value[MAX];
    REAL *y = call->value[Y], width = *max - *min;
    REAL range = width >= (REAL)FLT_MIN ? width : (REAL)call->shape->setting[0];
    for (size_t i = 0; i < call->shape->size[N]; i++)
        y[i] = (x[i] - *min) / range;
}

static void NAME(vjp)(const struct nn_call *call)
{
    const REAL *x = call->value[X], *min = call->value[MIN], *max = call->value[MAX];
    const REAL *dy = call->gradient[Y];
    REAL *dx = call->gradient[X], *dmin = call->gradient[MIN], *dmax = call->gradient[MAX];
    bool moves = *max - *min >= (REAL)FLT_MIN;
    REAL range = moves ? *max - *min : (REAL)call->shape->setting[0];
    *dmin = *dmax = 0;
    for (size_t i = 0; i < call->shape->size[N]; i++) {
        REAL y = (x[i] - *min) / range;
        dx[i] = dy[i] / range;
        *dmin -= dy[i] / range * (moves ? 1 - y : 1);
        *dmax -= moves ? dy[i] / range * y : 0;
    }
}
#endif
