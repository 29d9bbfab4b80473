/* y (m, n) = a (m, k) b (k, n). da = dy b^T, db = a^T dy. */
#ifndef REAL
#define NN_FILE "models/nn/operators/matmul.c"
enum { A, B, Y };
enum { M, N, K };
#include "models/nn/fast.h"
#include "models/nn/plain.h"
#include "models/nn/types.h"

static enum yp_status forward(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    int m = (int)size[M], n = (int)size[N], k = (int)size[K];
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, call->value[A], k,
                call->value[B], n, 0, call->value[Y], n);
    return YP_OK;
}

static enum yp_status vjp(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    int m = (int)size[M], n = (int)size[N], k = (int)size[K];
    if (call->gradient[A] != NULL)
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, k, n, 1, call->gradient[Y], n,
                    call->value[B], n, 0, call->gradient[A], k);
    if (call->gradient[B] != NULL)
        cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, k, n, m, 1, call->value[A], k,
                    call->gradient[Y], n, 0, call->gradient[B], n);
    return YP_OK;
}

/* -- bf16 inputs: widened to float, then as above, so that sums are float's and as fast -----------
 */

NN_LOOPS widen_loops(const uint16_t *half, size_t n, float *restrict out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = nn_from_bf16(half[i]);
}
NN_KERNEL(widen, (const uint16_t *half, size_t n, float *out), (half, n, out))

static size_t work_bf16(const struct nn_shape *shape)
{
    return (shape->size[M] + shape->size[N]) * shape->size[K] * sizeof(float);
}

static struct nn_call widened(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    struct nn_call wide = *call;
    float *a = call->work, *b = a + size[M] * size[K];
    widen_kernel *widen_all = best_widen();
    widen_all(call->value[A], size[M] * size[K], a);
    widen_all(call->value[B], size[K] * size[N], b);
    wide.value[A] = a;
    wide.value[B] = b;
    return wide;
}

static enum yp_status forward_bf16(const struct nn_call *call)
{
    struct nn_call wide = widened(call);
    return forward(&wide);
}

static enum yp_status vjp_bf16(const struct nn_call *call)
{
    struct nn_call wide = widened(call);
    return vjp(&wide);
}

static double flops(const struct nn_shape *shape, enum nn_pass pass)
{
    const size_t *size = shape->size;
    return (pass == NN_VJP ? 4.0 : 2.0) * (double)size[M] * (double)size[N] * (double)size[K];
}

const struct nn_operator nn_matmul = {
    .name = "matmul",
    .dims = "mnk",
    .tensors = {{"a", "mk", .role = NN_INPUT},
                {"b", "kn", .role = NN_PARAMETER},
                {"y", "mn", .role = NN_OUTPUT}},
    .shapes = {{"one", .size = {1, 1, 1}},
               {"odd", .size = {5, 7, 3}},
               {"small", .size = {96, 128, 64}},
               {"medium", .size = {512, 512, 512}}},
    NN_PLAIN,
    .flops = flops,
    .versions = {{NN_FP32, "cpu", .forward = forward, .vjp = vjp},
                 {NN_BF16, "cpu", .forward = forward_bf16, .vjp = vjp_bf16, .work = work_bf16,
                  .types = "bbf"}},
};

#else
static void NAME(forward)(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    const REAL *a = call->value[A], *b = call->value[B];
    REAL *y = call->value[Y];
    memset(y, 0, size[M] * size[N] * sizeof *y);
    for (size_t i = 0; i < size[M]; i++)
        for (size_t k = 0; k < size[K]; k++)
            for (size_t j = 0; j < size[N]; j++)
                y[i * size[N] + j] += a[i * size[K] + k] * b[k * size[N] + j];
}

static void NAME(vjp)(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    const REAL *a = call->value[A], *b = call->value[B], *dy = call->gradient[Y];
    REAL *da = call->gradient[A], *db = call->gradient[B];
    memset(da, 0, size[M] * size[K] * sizeof *da);
    memset(db, 0, size[K] * size[N] * sizeof *db);
    for (size_t i = 0; i < size[M]; i++)
        for (size_t k = 0; k < size[K]; k++)
            for (size_t j = 0; j < size[N]; j++) {
                da[i * size[K] + k] += dy[i * size[N] + j] * b[k * size[N] + j];
                db[k * size[N] + j] += dy[i * size[N] + j] * a[i * size[K] + k];
            }
}
#endif
