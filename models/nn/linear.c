/* y (n, o) = x (n, c) w^T + b, w (o, c), b (o). dx = dy w, dw = dy^T x, db = the sum of dy's rows.
 */
#ifndef REAL
#define NN_FILE "models/nn/linear.c"
enum { X, W, B, Y };
enum { N, OUT, C };
#include "models/nn/plain.h"

static double flops(const struct nn_shape *shape, enum nn_pass pass)
{
    double n = (double)shape->size[N], out = (double)shape->size[OUT], c = (double)shape->size[C];
    return pass == NN_VJP ? n * out * (4 * c + 1) : n * out * (2 * c + 1);
}

const struct nn_operator nn_linear = {
    .name = "linear",
    .dims = "noc",
    .tensors = {{"x", "nc", NN_INPUT},
                {"w", "oc", NN_PARAMETER},
                {"b", "o", NN_PARAMETER},
                {"y", "no", NN_OUTPUT}},
    .shapes = {{"one", {1, 1, 1}},
               {"odd", {5, 7, 3}},
               {"small", {128, 64, 96}},
               {"medium", {2048, 256, 256}}},
    NN_PLAIN,
    .flops = flops,
};

#else
static void NAME(forward)(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    const REAL *x = call->value[X], *w = call->value[W], *b = call->value[B];
    REAL *y = call->value[Y];
    for (size_t i = 0; i < size[N]; i++)
        for (size_t o = 0; o < size[OUT]; o++) {
            REAL sum = b[o];
            for (size_t c = 0; c < size[C]; c++)
                sum += w[o * size[C] + c] * x[i * size[C] + c];
            y[i * size[OUT] + o] = sum;
        }
}

static void NAME(vjp)(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    const REAL *x = call->value[X], *w = call->value[W], *dy = call->gradient[Y];
    REAL *dx = call->gradient[X], *dw = call->gradient[W], *db = call->gradient[B];
    memset(dx, 0, size[N] * size[C] * sizeof *dx);
    memset(dw, 0, size[OUT] * size[C] * sizeof *dw);
    memset(db, 0, size[OUT] * sizeof *db);
    for (size_t i = 0; i < size[N]; i++)
        for (size_t o = 0; o < size[OUT]; o++) {
            REAL d = dy[i * size[OUT] + o];
            db[o] += d;
            for (size_t c = 0; c < size[C]; c++) {
                dx[i * size[C] + c] += d * w[o * size[C] + c];
                dw[o * size[C] + c] += d * x[i * size[C] + c];
            }
        }
}
#endif
