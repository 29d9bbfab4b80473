/*
 * Projection on components: y (n, k) = (x - mean) w^T, of x (n, c), mean (c), w (k, c).
 * dx = dy w, dmean = -the sum of dx's rows, dw = dy^T (x - mean).
 */
#ifndef REAL
#define NN_FILE "models/nn/pca.c"
enum { X, MEAN, W, Y };
enum { N, K, C };
#include "models/nn/plain.h"

static double flops(const struct nn_shape *shape, enum nn_pass pass)
{
    double n = (double)shape->size[N], k = (double)shape->size[K], c = (double)shape->size[C];
    return pass == NN_VJP ? n * (4 * k * c + k + c) + 2 * k * c : n * (2 * k * c + c);
}

const struct nn_operator nn_pca = {
    .name = "pca",
    .dims = "nkc",
    .tensors = {{"x", "nc", NN_INPUT},
                {"mean", "c", NN_PARAMETER},
                {"w", "kc", NN_PARAMETER},
                {"y", "nk", NN_OUTPUT}},
    .shapes = {{"one", {1, 1, 1}},
               {"odd", {5, 3, 7}},
               {"small", {64, 10, 100}},
               {"medium", {16384, 20, 200}}},
    NN_PLAIN,
    .flops = flops,
};

#else
static void NAME(forward)(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    const REAL *x = call->value[X], *mean = call->value[MEAN], *w = call->value[W];
    REAL *y = call->value[Y];
    for (size_t i = 0; i < size[N]; i++)
        for (size_t k = 0; k < size[K]; k++) {
            REAL sum = 0;
            for (size_t c = 0; c < size[C]; c++)
                sum += w[k * size[C] + c] * (x[i * size[C] + c] - mean[c]);
            y[i * size[K] + k] = sum;
        }
}

static void NAME(vjp)(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    const REAL *x = call->value[X], *mean = call->value[MEAN], *w = call->value[W];
    const REAL *dy = call->gradient[Y];
    REAL *dx = call->gradient[X], *dmean = call->gradient[MEAN], *dw = call->gradient[W];
    memset(dx, 0, size[N] * size[C] * sizeof *dx);
    memset(dmean, 0, size[C] * sizeof *dmean);
    memset(dw, 0, size[K] * size[C] * sizeof *dw);
    for (size_t i = 0; i < size[N]; i++)
        for (size_t k = 0; k < size[K]; k++)
            for (size_t c = 0; c < size[C]; c++) {
                REAL d = dy[i * size[K] + k];
                dx[i * size[C] + c] += d * w[k * size[C] + c];
                dmean[c] -= d * w[k * size[C] + c];
                dw[k * size[C] + c] += d * (x[i * size[C] + c] - mean[c]);
            }
}
#endif
