/* What components leave of x, an operator in plain loops: q (n) = weight |r|^2 of x (n, c), with
 * r = x - mean - W^T y, y = W (x - mean), W (k, c). With t = W r, for the cotangent dq:
 *     dx = 2 dq weight (r - W^T t),  dmean = -sum dx,  dweight = sum dq |r|^2,
 *     dW = -2 weight sum dq (y r^T + t (x - mean)^T). */
#ifndef REAL
#define NN_FILE "models/rx/pipeline/plain_residual.c"
#include "models/rx/pipeline/internal.h"
enum { X, MEAN, MAP, WEIGHT, Q };
enum { N, K, C };

#include "models/nn/plain.h"

static size_t work_bytes(const struct nn_shape *shape)
{
    return 2 * (shape->size[C] + shape->size[K]) * sizeof(double);
}

const struct nn_operator ypi_rx_residual = {
    .name = "residual",
    .dims = "nkc",
    .tensors = {{"x", "nc", .role = NN_INPUT},
                {"mean", "c", .role = NN_PARAMETER},
                {"w", "kc", .role = NN_PARAMETER},
                {"weight", "", .role = NN_PARAMETER},
                {"q", "n", .role = NN_OUTPUT}},
    .plain_work = work_bytes,
    NN_PLAIN,
};

#else
/* x - mean and r (c), y and t (k) of a pixel. */
struct NAME(parts) {
    REAL *x, *r, *y, *t;
};

static struct NAME(parts) NAME(take)(const struct nn_call *call, size_t row)
{
    size_t width = call->shape->size[K], channels = call->shape->size[C];
    REAL *room = call->work;
    struct NAME(parts)
        p = {room, room + channels, room + 2 * channels, room + 2 * channels + width};
    const REAL *x = call->value[X], *mean = call->value[MEAN], *w = call->value[MAP];
    for (size_t c = 0; c < channels; c++)
        p.r[c] = p.x[c] = x[row * channels + c] - mean[c];
    for (size_t k = 0; k < width; k++) {
        p.y[k] = 0;
        for (size_t c = 0; c < channels; c++)
            p.y[k] += w[k * channels + c] * p.x[c];
    }
    for (size_t k = 0; k < width; k++)
        for (size_t c = 0; c < channels; c++)
            p.r[c] -= w[k * channels + c] * p.y[k];
    return p;
}

static void NAME(forward)(const struct nn_call *call)
{
    const REAL *weight = call->value[WEIGHT];
    REAL *q = call->value[Q];
    for (size_t row = 0; row < call->shape->size[N]; row++) {
        struct NAME(parts) p = NAME(take)(call, row);
        REAL sum = 0;
        for (size_t c = 0; c < call->shape->size[C]; c++)
            sum += p.r[c] * p.r[c];
        q[row] = *weight * sum;
    }
}

static void NAME(vjp)(const struct nn_call *call)
{
    size_t width = call->shape->size[K], channels = call->shape->size[C];
    const REAL *w = call->value[MAP], *weight = call->value[WEIGHT], *dq = call->gradient[Q];
    REAL *dx = call->gradient[X], *dmean = call->gradient[MEAN], *dw = call->gradient[MAP];
    REAL *dweight = call->gradient[WEIGHT];
    memset(dmean, 0, channels * sizeof *dmean);
    memset(dw, 0, width * channels * sizeof *dw);
    *dweight = 0;
    for (size_t row = 0; row < call->shape->size[N]; row++) {
        struct NAME(parts) p = NAME(take)(call, row);
        REAL pull = 2 * dq[row] * *weight, *out = dx + row * channels;
        for (size_t k = 0; k < width; k++) {
            p.t[k] = 0;
            for (size_t c = 0; c < channels; c++)
                p.t[k] += w[k * channels + c] * p.r[c];
        }
        for (size_t c = 0; c < channels; c++) {
            out[c] = p.r[c];
            *dweight += dq[row] * p.r[c] * p.r[c];
            for (size_t k = 0; k < width; k++) {
                out[c] -= w[k * channels + c] * p.t[k];
                dw[k * channels + c] -= pull * (p.y[k] * p.r[c] + p.t[k] * p.x[c]);
            }
            out[c] *= pull;
            dmean[c] -= out[c];
        }
    }
}
#endif
