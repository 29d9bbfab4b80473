/* y (n, o) = x (n, c) w^T + b, w (o, c), b (o) or none. dx = dy w, dw = dy^T x, db = the sum of
 * dy's rows. */
#ifndef REAL
#define NN_FILE "models/nn/operators/linear.c"
enum { X, W, B, Y };
enum { N, OUT, C };
#include "models/nn/cuda/on_cuda.h"
#include "models/nn/fast.h"
#include "models/nn/gemm/gemm.h"
#include "models/nn/plain.h"

/* y, dx or dw; `i` is the tensor that is written. */
static struct nn_gemm product(const struct nn_call *call, int i, enum nn_type type)
{
    size_t n = call->shape->size[N], out = call->shape->size[OUT], c = call->shape->size[C];
    if (i == Y)
        return nn_gemm_of(n, out, c, nn_rows_of(call->value[X], type, c),
                          nn_columns_of(call->value[W], type, c),
                          nn_rows_of(call->value[Y], type, out), false, call->value[B]);
    if (i == X)
        return nn_gemm_of(n, c, out, nn_rows_of(call->gradient[Y], type, out),
                          nn_rows_of(call->value[W], type, c),
                          nn_rows_of(call->gradient[X], type, c), nn_adds(call, X), NULL);
    return nn_gemm_of(out, c, n, nn_columns_of(call->gradient[Y], type, out),
                      nn_rows_of(call->value[X], type, c),
                      nn_rows_of(call->gradient[W], NN_FLOAT, c), nn_adds(call, W), NULL);
}

static size_t work_in(const struct nn_shape *shape, enum nn_type type)
{
    float bias = 0; /* with and without what may be */
    const struct nn_call call = {.shape = shape};
    const struct nn_call more = {.shape = shape, .value[B] = &bias, .add = 1U << X | 1U << W};
    const struct nn_gemm products[] = {product(&call, Y, type), product(&call, X, type),
                                       product(&call, W, type), product(&more, Y, type),
                                       product(&more, X, type), product(&more, W, type)};
    size_t sums = nn_columns_bytes(shape->size[N], shape->size[OUT]);
    size_t most = nn_gemm_most(products, sizeof products / sizeof *products);
    return sums > most ? sums : most;
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
    for (int i = X; i <= W && status == YP_OK; i++) {
        struct nn_gemm gemm = product(call, i, type);
        if (call->gradient[i] != NULL)
            status = nn_gemm(&gemm, call->work);
    }
    if (status == YP_OK)
        nn_bias_vjp(call, B, call->gradient[Y], type, call->shape->size[N], call->shape->size[OUT],
                    call->work);
    return status;
}

NN_EACH_TYPE

static size_t work_cuda(const struct nn_shape *shape)
{
    return nn_cuda_columns_bytes(shape->size[N], shape->size[OUT]);
}

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
    for (int i = X; i <= W && status == YP_OK; i++) {
        const struct nn_gemm gemm = product(call, i, type);
        if (call->gradient[i] != NULL)
            status = nn_cuda_product(cuda, call->device, &gemm);
    }
    const struct nn_cuda_columns sums = {.n = call->shape->size[N],
                                         .c = call->shape->size[OUT],
                                         .type = type,
                                         .add = nn_adds(call, B),
                                         .dy = call->gradient[Y],
                                         .sums = call->gradient[B],
                                         .work = call->work};
    if (sums.sums != NULL && status == YP_OK)
        status = cuda->columns(call->device, &sums);
    return status;
}

NN_ON_CUDA

static double flops(const struct nn_shape *shape, enum nn_pass pass)
{
    double n = (double)shape->size[N], out = (double)shape->size[OUT], c = (double)shape->size[C];
    return pass == NN_VJP ? n * out * (4 * c + 1) : n * out * (2 * c + 1);
}

const struct nn_operator nn_linear = {
    .name = "linear",
    .dims = "noc",
    .tensors = {{"x", "nc", .role = NN_INPUT, .adds = true},
                {"w", "oc", .role = NN_PARAMETER, .adds = true},
                {"b", "o", .role = NN_PARAMETER, .adds = true, .optional = true},
                {"y", "no", .role = NN_OUTPUT}},
    .shapes = {{"one", .size = {1, 1, 1}},
               {"odd", .size = {5, 7, 3}},
               {"small", .size = {128, 64, 96}},
               {"medium", .size = {2048, 256, 256}}},
    NN_PLAIN,
    .flops = flops,
    .versions = {{NN_FP32, "cpu", .forward = forward, .vjp = vjp, .work = work},
                 {NN_BF16, "cpu", .forward = forward_bf16, .vjp = vjp_bf16, .work = work_bf16,
                  .types = "bbfb", .gradients = "bffb", .arithmetic = YP_BF16},
                 {NN_FP16, "cpu", .forward = forward_fp16, .vjp = vjp_fp16, .work = work_fp16,
                  .types = "bbfb", .gradients = "bffb"},
                 {NN_FP32, "cuda", .forward = forward_cuda, .vjp = vjp_cuda, .work = work_cuda},
                 {NN_BF16, "cuda", .forward = forward_cuda_bf16, .vjp = vjp_cuda_bf16,
                  .work = work_cuda, .types = "bbfb", .gradients = "bffb", .arithmetic = YP_BF16},
                 {NN_FP16, "cuda", .forward = forward_cuda_fp16, .vjp = vjp_cuda_fp16,
                  .work = work_cuda, .types = "bbfb", .gradients = "bffb", .arithmetic = YP_FP16}},
};

#else
static void NAME(forward)(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    const REAL *x = call->value[X], *w = call->value[W], *b = call->value[B];
    REAL *y = call->value[Y];
    for (size_t i = 0; i < size[N]; i++)
        for (size_t o = 0; o < size[OUT]; o++) {
            REAL sum = b != NULL ? b[o] : 0;
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
    for (size_t o = 0; o < size[OUT] && db != NULL; o++)
        db[o] = 0;
    for (size_t i = 0; i < size[N]; i++)
        for (size_t o = 0; o < size[OUT]; o++) {
            REAL d = dy[i * size[OUT] + o];
            if (db != NULL)
                db[o] += d;
            for (size_t c = 0; c < size[C]; c++) {
                dx[i * size[C] + c] += d * w[o * size[C] + c];
                dw[o * size[C] + c] += d * x[i * size[C] + c];
            }
        }
}
#endif
