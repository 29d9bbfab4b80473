/* y (m, n) = a (m, k) b (k, n). da = dy b^T, db = a^T dy. */
#ifndef REAL
#define NN_FILE "models/nn/operators/matmul.c"
enum { A, B, Y };
enum { M, N, K };
#include "models/nn/cuda/on_cuda.h"
#include "models/nn/fast.h"
#include "models/nn/gemm/gemm.h"
#include "models/nn/plain.h"

/* y, da or db, as they are needed; `i` is the tensor that is written. */
static struct nn_gemm product(const struct nn_call *call, int i, enum nn_type type)
{
    size_t m = call->shape->size[M], n = call->shape->size[N], k = call->shape->size[K];
    if (i == Y)
        return nn_gemm_of(m, n, k, nn_rows_of(call->value[A], type, k),
                          nn_rows_of(call->value[B], type, n),
                          nn_rows_of(call->value[Y], NN_FLOAT, n), false, NULL);
    if (i == A)
        return nn_gemm_of(m, k, n, nn_rows_of(call->gradient[Y], type, n),
                          nn_columns_of(call->value[B], type, n),
                          nn_rows_of(call->gradient[A], NN_FLOAT, k), false, NULL);
    return nn_gemm_of(k, n, m, nn_columns_of(call->value[A], type, k),
                      nn_rows_of(call->gradient[Y], type, n),
                      nn_rows_of(call->gradient[B], NN_FLOAT, n), false, NULL);
}

static size_t work_in(const struct nn_shape *shape, enum nn_type type)
{
    const struct nn_call call = {.shape = shape};
    const struct nn_gemm products[] = {product(&call, Y, type), product(&call, A, type),
                                       product(&call, B, type)};
    return nn_gemm_most(products, sizeof products / sizeof *products);
}

NN_EACH_WORK

static enum yp_status forward_in(const struct nn_call *call, enum nn_type type)
{
    struct nn_gemm gemm = product(call, Y, type);
    return nn_gemm(&gemm, call->work);
}

static enum yp_status vjp_in(const struct nn_call *call, enum nn_type type)
{
    enum yp_status status = YP_OK;
    for (int i = A; i <= B && status == YP_OK; i++) {
        struct nn_gemm gemm = product(call, i, type);
        if (call->gradient[i] != NULL)
            status = nn_gemm(&gemm, call->work);
    }
    return status;
}

NN_EACH_TYPE

static enum yp_status forward_on(const struct nn_cuda *cuda, const struct nn_call *call,
                                 enum nn_type type)
{
    const struct nn_gemm gemm = product(call, Y, type);
    return nn_cuda_product(cuda, call->device, &gemm);
}

static enum yp_status vjp_on(const struct nn_cuda *cuda, const struct nn_call *call,
                             enum nn_type type)
{
    enum yp_status status = YP_OK;
    for (int i = A; i <= B && status == YP_OK; i++) {
        const struct nn_gemm gemm = product(call, i, type);
        if (call->gradient[i] != NULL)
            status = nn_cuda_product(cuda, call->device, &gemm);
    }
    return status;
}

NN_ON_CUDA

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
    .versions = {{NN_FP32, "cpu", .forward = forward, .vjp = vjp, .work = work},
                 {NN_BF16, "cpu", .forward = forward_bf16, .vjp = vjp_bf16, .work = work_bf16,
                  .types = "bbf", .gradients = "ffb", .arithmetic = YP_BF16},
                 {NN_FP16, "cpu", .forward = forward_fp16, .vjp = vjp_fp16, .work = work_fp16,
                  .types = "bbf", .gradients = "ffb"},
                 {NN_FP32, "cuda", .forward = forward_cuda, .vjp = vjp_cuda},
                 {NN_BF16, "cuda", .forward = forward_cuda_bf16, .vjp = vjp_cuda_bf16,
                  .types = "bbf", .gradients = "ffb", .arithmetic = YP_BF16},
                 {NN_FP16, "cuda", .forward = forward_cuda_fp16, .vjp = vjp_cuda_fp16,
                  .types = "bbf", .gradients = "ffb", .arithmetic = YP_FP16}},
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
