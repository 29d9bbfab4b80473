/* Projection on components: y (n, k) = (x - mean) w^T, of x (n, c), mean (c), w (k, c).
 * dx = dy w, dmean = -the sum of dx's rows, dw = dy^T (x - mean). */
#ifndef REAL
#define NN_FILE "models/nn/operators/pca.c"
enum { X, MEAN, W, Y };
enum { N, K, C };
#include "models/nn/fast.h"
#include "models/nn/plain.h"

enum { CENTRED = 1 << 16 }; /* elements that are centred at once, so that they stay in a cache */

/* Centred rows, and sums of dy's rows. */
static size_t work(const struct nn_shape *shape)
{
    const size_t *size = shape->size;
    size_t rows = nn_least(size[N], nn_rows(size[C], CENTRED));
    return nn_columns_bytes(size[N], size[K]) + rows * size[C] * sizeof(float);
}

static enum yp_status forward(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    const float *x = call->value[X];
    float *y = call->value[Y], *centred = call->work;
    size_t rows = nn_rows(size[C], CENTRED);
    int k = (int)size[K], c = (int)size[C];
    for (size_t at = 0; at < size[N]; at += rows) {
        size_t some = nn_least(rows, size[N] - at);
        nn_centre(x + at * size[C], call->value[MEAN], some, size[C], centred);
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)some, k, c, 1, centred, c,
                    call->value[W], c, 0, y + at * size[K], k);
    }
    return YP_OK;
}

/* -w^T times the sum of dy's rows, which is `sums`. */
static void mean_vjp(const struct nn_call *call, const double *sums)
{
    const size_t *size = call->shape->size;
    const float *w = call->value[W];
    float *dmean = call->gradient[MEAN];
    for (size_t c = 0; c < size[C]; c++) {
        double sum = 0;
        for (size_t k = 0; k < size[K]; k++)
            sum += (double)w[k * size[C] + c] * sums[k];
        dmean[c] = (float)-sum;
    }
}

static enum yp_status vjp(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    const float *x = call->value[X], *dy = call->gradient[Y];
    int n = (int)size[N], k = (int)size[K], c = (int)size[C];
    double *sums = call->work;
    float *centred = (float *)(sums + nn_columns_bytes(size[N], size[K]) / sizeof *sums);
    size_t rows = nn_rows(size[C], CENTRED);
    if (call->gradient[X] != NULL)
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, c, k, 1, dy, k, call->value[W], c,
                    0, call->gradient[X], c);
    for (size_t at = 0; at < size[N] && call->gradient[W] != NULL; at += rows) {
        size_t some = nn_least(rows, size[N] - at);
        nn_centre(x + at * size[C], call->value[MEAN], some, size[C], centred);
        cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, k, c, (int)some, 1, dy + at * size[K],
                    k, centred, c, at > 0, call->gradient[W], c);
    }
    if (call->gradient[MEAN] == NULL)
        return YP_OK;
    nn_columns(dy, NN_FLOAT, size[N], size[K], sums);
    mean_vjp(call, sums);
    return YP_OK;
}

static double flops(const struct nn_shape *shape, enum nn_pass pass)
{
    double n = (double)shape->size[N], k = (double)shape->size[K], c = (double)shape->size[C];
    return pass == NN_VJP ? n * (4 * k * c + k + c) + 2 * k * c : n * (2 * k * c + c);
}

const struct nn_operator nn_pca = {
    .name = "pca",
    .dims = "nkc",
    .tensors = {{"x", "nc", .role = NN_INPUT},
                {"mean", "c", .role = NN_PARAMETER},
                {"w", "kc", .role = NN_PARAMETER},
                {"y", "nk", .role = NN_OUTPUT}},
    .shapes = {{"one", .size = {1, 1, 1}},
               {"odd", .size = {5, 3, 7}},
               {"small", .size = {64, 10, 100}},
               {"medium", .size = {16384, 20, 200}}},
    NN_PLAIN,
    .flops = flops,
    .versions = {{NN_FP32, "cpu", .forward = forward, .vjp = vjp, .work = work}},
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
