/*
 * A quadratic form: s (n) = z^T a z with z = x - mu, of x (n, c), mu (c), a (c, c), which need not
 * be symmetric: the score of RX and of LAD. dx = ds (a + a^T) z, dmu = -the sum of dx's rows, da =
 * sum ds z z^T.
 */
#ifndef REAL
#define NN_FILE "models/nn/quadratic.c"
enum { X, MU, A, S };
enum { N, C };
#include "models/nn/plain.h"

static double flops(const struct nn_shape *shape, enum nn_pass pass)
{
    double n = (double)shape->size[N], c = (double)shape->size[C];
    return pass == NN_VJP ? n * (4 * c * c + 4 * c) : n * (2 * c * c + 3 * c);
}

const struct nn_operator nn_quadratic = {
    .name = "quadratic",
    .dims = "nc",
    .tensors = {{"x", "nc", NN_INPUT},
                {"mu", "c", NN_PARAMETER},
                {"a", "cc", NN_PARAMETER},
                {"s", "n", NN_OUTPUT}},
    .shapes = {{"one", {1, 1}}, {"odd", {5, 7}}, {"small", {64, 100}}, {"medium", {8192, 200}}},
    NN_PLAIN,
    .flops = flops,
};

#else
static void NAME(forward)(const struct nn_call *call)
{
    size_t n = call->shape->size[N], channels = call->shape->size[C];
    const REAL *x = call->value[X], *mu = call->value[MU], *a = call->value[A];
    REAL *s = call->value[S];
    for (size_t i = 0; i < n; i++, x += channels) {
        s[i] = 0;
        for (size_t j = 0; j < channels; j++) {
            REAL row = 0;
            for (size_t k = 0; k < channels; k++)
                row += a[j * channels + k] * (x[k] - mu[k]);
            s[i] += (x[j] - mu[j]) * row;
        }
    }
}

static void NAME(vjp)(const struct nn_call *call)
{
    size_t n = call->shape->size[N], channels = call->shape->size[C];
    const REAL *x = call->value[X], *mu = call->value[MU], *a = call->value[A];
    const REAL *ds = call->gradient[S];
    REAL *dx = call->gradient[X], *dmu = call->gradient[MU], *da = call->gradient[A];
    memset(dmu, 0, channels * sizeof *dmu);
    memset(da, 0, channels * channels * sizeof *da);
    for (size_t i = 0; i < n; i++, x += channels, dx += channels)
        for (size_t j = 0; j < channels; j++) {
            REAL row = 0;
            for (size_t k = 0; k < channels; k++) {
                REAL zk = x[k] - mu[k];
                row += (a[j * channels + k] + a[k * channels + j]) * zk;
                da[j * channels + k] += ds[i] * (x[j] - mu[j]) * zk;
            }
            dx[j] = ds[i] * row;
            dmu[j] -= dx[j];
        }
}
#endif
