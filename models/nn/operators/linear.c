/* y (n, o) = x (n, c) w^T + b, w (o, c), b (o). dx = dy w, dw = dy^T x, db = the sum of dy's rows.
 */
#ifndef REAL
#define NN_FILE "models/nn/operators/linear.c"
enum { X, W, B, Y };
enum { N, OUT, C };
#include "models/nn/fast.h"
#include "models/nn/plain.h"

static size_t work(const struct nn_shape *shape)
{
    return nn_columns_bytes(shape->size[N], shape->size[OUT]);
}

static enum yp_status forward(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    int n = (int)size[N], out = (int)size[OUT], c = (int)size[C];
    float *y = call->value[Y];
    for (size_t i = 0; i < size[N]; i++)
        memcpy(y + i * size[OUT], call->value[B], size[OUT] * sizeof *y);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, n, out, c, 1, call->value[X], c,
                call->value[W], c, 1, y, out);
    return YP_OK;
}

static enum yp_status vjp(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    int n = (int)size[N], out = (int)size[OUT], c = (int)size[C];
    double *sums = call->work;
    float *db = call->gradient[B];
    if (call->gradient[X] != NULL)
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, c, out, 1, call->gradient[Y], out,
                    call->value[W], c, 0, call->gradient[X], c);
    if (call->gradient[W] != NULL)
        cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, out, c, n, 1, call->gradient[Y], out,
                    call->value[X], c, 0, call->gradient[W], c);
    if (db == NULL)
        return YP_OK;
    nn_columns(call->gradient[Y], size[N], size[OUT], sums);
    for (size_t o = 0; o < size[OUT]; o++)
        db[o] = (float)sums[o];
    return YP_OK;
}

static double flops(const struct nn_shape *shape, enum nn_pass pass)
{
    double n = (double)shape->size[N], out = (double)shape->size[OUT], c = (double)shape->size[C];
    return pass == NN_VJP ? n * out * (4 * c + 1) : n * out * (2 * c + 1);
}

const struct nn_operator nn_linear = {
    .name = "linear",
    .dims = "noc",
    .tensors = {{"x", "nc", .role = NN_INPUT},
                {"w", "oc", .role = NN_PARAMETER},
                {"b", "o", .role = NN_PARAMETER},
                {"y", "no", .role = NN_OUTPUT}},
    .shapes = {{"one", .size = {1, 1, 1}},
               {"odd", .size = {5, 7, 3}},
               {"small", .size = {128, 64, 96}},
               {"medium", .size = {2048, 256, 256}}},
    NN_PLAIN,
    .flops = flops,
    .versions = {{NN_FP32, "cpu", .forward = forward, .vjp = vjp, .work = work}},
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
