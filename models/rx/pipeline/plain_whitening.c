/* Whitening of components, an operator in plain loops: y (n, k) = x / sqrt(e^log + eps), of x (n,
 * k) and the logarithms of variances (k). dx = dy / sqrt(e^log + eps), dlog = -1/2 e^log / (e^log +
 * eps) times the sum over n of dy y. */
#ifndef REAL
#define NN_FILE "models/rx/pipeline/plain_whitening.c"
#include "models/rx/pipeline/internal.h"
enum { X, LOG, Y };
enum { N, K };
#include "models/nn/plain.h"

const struct nn_operator ypi_rx_whitening = {
    .name = "whitening",
    .dims = "nk",
    .settings = {"eps"},
    .tensors = {{"x", "nk", .role = NN_INPUT},
                {"log", "k", .role = NN_PARAMETER},
                {"y", "nk", .role = NN_OUTPUT}},
    NN_PLAIN,
};

#else
static void NAME(forward)(const struct nn_call *call)
{
    size_t n = call->shape->size[N], components = call->shape->size[K];
    const REAL *x = call->value[X], *logs = call->value[LOG];
    REAL *y = call->value[Y], eps = (REAL)call->shape->setting[0];
    for (size_t i = 0; i < n * components; i++)
        y[i] = x[i] / sqrt(exp(logs[i % components]) + eps);
}

static void NAME(vjp)(const struct nn_call *call)
{
    size_t n = call->shape->size[N], components = call->shape->size[K];
    const REAL *x = call->value[X], *logs = call->value[LOG], *dy = call->gradient[Y];
    REAL *dx = call->gradient[X], *dlogs = call->gradient[LOG];
    REAL eps = (REAL)call->shape->setting[0];
    memset(dlogs, 0, components * sizeof *dlogs);
    for (size_t i = 0; i < n * components; i++) {
        REAL variance = exp(logs[i % components]);
        dx[i] = dy[i] / sqrt(variance + eps);
        dlogs[i % components] -= dx[i] * x[i] * variance / (2 * (variance + eps));
    }
}
#endif
