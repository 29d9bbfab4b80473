/* RX with the statistics of the image itself, an operator in plain loops. With z = x - mean,
 * Sigma = sum z z^T / (n - 1), A = (Sigma + eps I)^-1, G = sum ds z z^T for the cotangents ds of
 * the scores s = z^T A z: ds/dA = G, dSigma = -A G A, dz = 2 ds A z + 2 / (n - 1) dSigma z, dx = dz
 * - mean of dz. One pixel has Sigma = 0. work: mean, A, G, and one matrix of scratch. */
#ifndef REAL
#define NN_FILE "models/rx/pipeline/plain_image.c"
#include "models/rx/pipeline/internal.h"
enum { X, S };
enum { N, C };
#include "models/nn/plain.h"

static size_t work(const struct nn_shape *shape)
{
    size_t channels = shape->size[C];
    return (channels + 3 * channels * channels) * sizeof(double);
}

const struct nn_operator ypi_rx_image = {
    .name = "image",
    .dims = "nc",
    .settings = {"eps"},
    .tensors = {{"x", "nc", .role = NN_INPUT}, {"s", "n", .role = NN_OUTPUT}},
    NN_PLAIN,
    .plain_work = work,
};

#else
/* b = a^-1 for a symmetric positive definite a, which is used up: Gauss and Jordan's. */
static void NAME(invert)(REAL *a, REAL *b, size_t n)
{
    for (size_t i = 0; i < n * n; i++)
        b[i] = i / n == i % n;
    for (size_t k = 0; k < n; k++) {
        REAL pivot = a[k * n + k];
        for (size_t j = 0; j < n; j++) {
            a[k * n + j] /= pivot;
            b[k * n + j] /= pivot;
        }
        for (size_t i = 0; i < n; i++) {
            REAL factor = a[i * n + k];
            for (size_t j = 0; j < n && i != k; j++) {
                a[i * n + j] -= factor * a[k * n + j];
                b[i * n + j] -= factor * b[k * n + j];
            }
        }
    }
}

/* c = a b */
static void NAME(multiply)(const REAL *a, const REAL *b, REAL *c, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            c[i * n + j] = 0;
            for (size_t k = 0; k < n; k++)
                c[i * n + j] += a[i * n + k] * b[k * n + j];
        }
}

/* m = sum of weight z z^T, weights NULL: 1 */
static void NAME(products)(const struct nn_call *call, const REAL *mean, const REAL *weights,
                           REAL *m)
{
    size_t n = call->shape->size[N], channels = call->shape->size[C];
    const REAL *x = call->value[X];
    memset(m, 0, channels * channels * sizeof *m);
    for (size_t i = 0; i < n; i++, x += channels)
        for (size_t j = 0; j < channels; j++)
            for (size_t k = 0; k < channels; k++)
                m[j * channels + k] +=
                    (weights != NULL ? weights[i] : 1) * (x[j] - mean[j]) * (x[k] - mean[k]);
}

static void NAME(learn)(const struct nn_call *call, REAL *mean, REAL *a, REAL *spare)
{
    size_t n = call->shape->size[N], channels = call->shape->size[C];
    const REAL *x = call->value[X];
    memset(mean, 0, channels * sizeof *mean);
    for (size_t i = 0; i < n * channels; i++)
        mean[i % channels] += x[i] / (REAL)n;
    NAME(products)(call, mean, NULL, spare);
    for (size_t i = 0; i < channels * channels; i++) {
        spare[i] /= (REAL)(n > 1 ? n - 1 : 1);
        spare[i] += i / channels == i % channels ? (REAL)call->shape->setting[0] : 0;
    }
    NAME(invert)(spare, a, channels);
}

static void NAME(forward)(const struct nn_call *call)
{
    size_t n = call->shape->size[N], channels = call->shape->size[C];
    const REAL *x = call->value[X];
    REAL *s = call->value[S], *mean = call->work, *a = mean + channels;
    NAME(learn)(call, mean, a, a + channels * channels);
    for (size_t i = 0; i < n; i++, x += channels) {
        s[i] = 0;
        for (size_t j = 0; j < channels; j++)
            for (size_t k = 0; k < channels; k++)
                s[i] += (x[j] - mean[j]) * a[j * channels + k] * (x[k] - mean[k]);
    }
}

static void NAME(vjp)(const struct nn_call *call)
{
    size_t n = call->shape->size[N], channels = call->shape->size[C], square = channels * channels;
    const REAL *x = call->value[X], *ds = call->gradient[S];
    REAL *dx = call->gradient[X], *mean = call->work, *a = mean + channels, *g = a + square,
         *ag = g + square;
    NAME(learn)(call, mean, a, g);
    NAME(products)(call, mean, ds, g);
    NAME(multiply)(a, g, ag, channels);
    NAME(multiply)(ag, a, g, channels); /* g = -dSigma from here on */
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < channels; j++) {
            REAL sum = 0;
            for (size_t k = 0; k < channels; k++)
                sum += (ds[i] * a[j * channels + k] -
                        g[j * channels + k] / (REAL)(n > 1 ? n - 1 : 1)) *
                       (x[i * channels + k] - mean[k]);
            dx[i * channels + j] = 2 * sum;
        }
    for (size_t j = 0; j < channels; j++) {
        REAL shared = 0;
        for (size_t i = j; i < n * channels; i += channels)
            shared += dx[i] / (REAL)n;
        for (size_t i = j; i < n * channels; i += channels)
            dx[i] -= shared;
    }
}
#endif
