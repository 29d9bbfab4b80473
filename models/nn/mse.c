/* loss (n) = mean over c of (y - t)^2, of y (n, c) against t (n, c). dy = 2 (y - t) dloss / c =
 * -dt. */
#ifndef REAL
#define NN_FILE "models/nn/mse.c"
enum { Y, T, LOSS };
enum { N, C };
#include "models/nn/plain.h"

static double flops(const struct nn_shape *shape, enum nn_pass pass)
{
    double n = (double)shape->size[N], c = (double)shape->size[C];
    return pass == NN_VJP ? n * (3 * c + 2) : n * (3 * c + 1);
}

const struct nn_operator nn_mse = {
    .name = "mse",
    .dims = "nc",
    .tensors = {{"y", "nc", NN_INPUT}, {"t", "nc", NN_INPUT}, {"loss", "n", NN_OUTPUT}},
    .shapes = {{"one", {1, 1}}, {"odd", {5, 7}}, {"small", {64, 100}}, {"medium", {16384, 200}}},
    NN_PLAIN,
    .flops = flops,
};

#else
static void NAME(forward)(const struct nn_call *call)
{
    size_t n = call->shape->size[N], channels = call->shape->size[C];
    const REAL *y = call->value[Y], *t = call->value[T];
    REAL *loss = call->value[LOSS];
    for (size_t i = 0; i < n; i++) {
        REAL sum = 0;
        for (size_t c = i * channels; c < (i + 1) * channels; c++)
            sum += (y[c] - t[c]) * (y[c] - t[c]);
        loss[i] = sum / (REAL)channels;
    }
}

static void NAME(vjp)(const struct nn_call *call)
{
    size_t n = call->shape->size[N], channels = call->shape->size[C];
    const REAL *y = call->value[Y], *t = call->value[T], *dloss = call->gradient[LOSS];
    REAL *dy = call->gradient[Y], *dt = call->gradient[T];
    for (size_t i = 0; i < n * channels; i++) {
        dy[i] = dloss[i / channels] * 2 * (y[i] - t[i]) / (REAL)channels;
        dt[i] = -dy[i];
    }
}
#endif
