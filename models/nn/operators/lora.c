/* y (n, o) = base (n, o) + u b^T, u (n, r) = scale x a^T, of x (n, c), a (r, c) and b (o, r): the
 * low-rank change of a linear layer whose own product is `base` (Hu et al., "LoRA", 2021; scale =
 * alpha / r). b a is never made. u is saved. With v = scale dy b: dx = v a, da = v^T x, db = dy^T
 * u, dbase = dy. */
#ifndef REAL
#define NN_FILE "models/nn/operators/lora.c"
enum { X, BASE, LOW, HIGH, Y, U };
enum { N, OUT, C, RANK };
#include "models/nn/cuda/on_cuda.h"
#include "models/nn/fast.h"
#include "models/nn/gemm/gemm.h"
#include "models/nn/plain.h"
#include "models/nn/types.h"

NN_LOOPS scale_loops(enum nn_type type, float factor, const float *x, size_t n, void *restrict y)
{
    for (size_t i = 0; i < n; i++)
        nn_put(y, i, factor * x[i], type);
}
NN_TYPED_KERNEL(scale, (float factor, const float *x, size_t n, void *y), (factor, x, n, y))

/* The products of a call, those with r columns in float: `sums`; `v` (n, r). */
enum { OF_U, OF_Y, OF_V, OF_DX, OF_DA, OF_DB, PRODUCTS };

static void products_of(const struct nn_call *call, enum nn_type type, const float *sums,
                        const void *v, struct nn_gemm to[PRODUCTS])
{
    size_t n = call->shape->size[N], out = call->shape->size[OUT], c = call->shape->size[C];
    size_t r = call->shape->size[RANK];
    const void *x = call->value[X], *a = call->value[LOW], *b = call->value[HIGH];
    const void *u = call->value[U], *dy = call->gradient[Y];
    to[OF_U] = nn_gemm_of(n, r, c, nn_rows_of(x, type, c), nn_columns_of(a, type, c),
                          nn_rows_of(sums, NN_FLOAT, r), false, NULL);
    to[OF_Y] = nn_gemm_of(n, out, r, nn_rows_of(u, type, r), nn_columns_of(b, type, r),
                          nn_rows_of(call->value[Y], type, out), true, NULL);
    to[OF_V] = nn_gemm_of(n, r, out, nn_rows_of(dy, type, out), nn_rows_of(b, type, r),
                          nn_rows_of(sums, NN_FLOAT, r), false, NULL);
    to[OF_DX] = nn_gemm_of(n, c, r, nn_rows_of(v, type, r), nn_rows_of(a, type, c),
                           nn_rows_of(call->gradient[X], type, c), nn_adds(call, X), NULL);
    to[OF_DA] = nn_gemm_of(r, c, n, nn_columns_of(v, type, r), nn_rows_of(x, type, c),
                           nn_rows_of(call->gradient[LOW], NN_FLOAT, c), nn_adds(call, LOW), NULL);
    to[OF_DB] =
        nn_gemm_of(out, r, n, nn_columns_of(dy, type, out), nn_rows_of(u, type, r),
                   nn_rows_of(call->gradient[HIGH], NN_FLOAT, r), nn_adds(call, HIGH), NULL);
}

/* Of sums, and of v behind them. */
static size_t low_bytes(const struct nn_shape *shape)
{
    return nn_aligned(shape->size[N] * shape->size[RANK] * sizeof(float));
}

static size_t work_in(const struct nn_shape *shape, enum nn_type type)
{
    const struct nn_call call = {.shape = shape};
    const struct nn_call more = {.shape = shape, .add = 1U << X | 1U << LOW | 1U << HIGH};
    struct nn_gemm products[2 * PRODUCTS];
    products_of(&call, type, NULL, NULL, products);
    products_of(&more, type, NULL, NULL, products + PRODUCTS);
    return 2 * low_bytes(shape) + nn_gemm_most(products, 2 * PRODUCTS);
}

NN_EACH_WORK

/* y (n, r) = scale sums. */
static void scale_all(const struct nn_shape *shape, enum nn_type type, const float *sums, void *y)
{
    const size_t n = shape->size[N] * shape->size[RANK];
    scale_kernel *scale = best_scale(type);
    NN_PARALLEL_FOR(n > NN_FEW * NN_CHUNK, at, n, NN_CHUNK,
                    scale((float)shape->setting[0], sums + at, nn_least(NN_CHUNK, n - at),
                          nn_from(y, at, type)));
}

static enum yp_status forward_in(const struct nn_call *call, enum nn_type type)
{
    const struct nn_shape *shape = call->shape;
    struct nn_gemm products[PRODUCTS];
    products_of(call, type, call->work, NULL, products);
    char *work = (char *)call->work + 2 * low_bytes(shape);
    enum yp_status status = nn_gemm(&products[OF_U], work);
    scale_all(shape, type, call->work, call->value[U]);
    nn_copy(call->value[BASE], shape->size[N] * shape->size[OUT] * nn_width(type), call->value[Y]);
    return status == YP_OK ? nn_gemm(&products[OF_Y], work) : status;
}

static enum yp_status vjp_in(const struct nn_call *call, enum nn_type type)
{
    const struct nn_shape *shape = call->shape;
    char *v = (char *)call->work + low_bytes(shape), *work = v + low_bytes(shape);
    struct nn_gemm products[PRODUCTS];
    products_of(call, type, call->work, v, products);
    enum yp_status status = nn_gemm(&products[OF_V], work);
    scale_all(shape, type, call->work, v);
    if (call->gradient[X] != NULL && status == YP_OK)
        status = nn_gemm(&products[OF_DX], work);
    if (call->gradient[LOW] != NULL && status == YP_OK)
        status = nn_gemm(&products[OF_DA], work);
    if (call->gradient[HIGH] != NULL && status == YP_OK)
        status = nn_gemm(&products[OF_DB], work);
    if (call->gradient[BASE] != NULL)
        nn_copy(call->gradient[Y], shape->size[N] * shape->size[OUT] * nn_width(type),
                call->gradient[BASE]);
    return status;
}

NN_EACH_TYPE

static size_t work_cuda(const struct nn_shape *shape)
{
    return 2 * low_bytes(shape);
}

/* y (n, r) = scale times the product, which is float. */
static enum yp_status scaled_on(const struct nn_cuda *cuda, const struct nn_call *call,
                                enum nn_type type, const struct nn_gemm *product, void *y)
{
    const struct nn_cuda_scale scale = {.n = product->m * product->n,
                                        .type = type,
                                        .factor = (float)call->shape->setting[0],
                                        .x = product->c.at,
                                        .y = y};
    enum yp_status status = nn_cuda_product(cuda, call->device, product);
    return status == YP_OK ? cuda->scale(call->device, &scale) : status;
}

static enum yp_status copy_on(const struct nn_cuda *cuda, const struct nn_call *call,
                              enum nn_type type, const void *from, void *to)
{
    const struct nn_cuda_add copy = {
        .n = call->shape->size[N] * call->shape->size[OUT], .type = type, .a = from, .y = to};
    return to != NULL ? cuda->add(call->device, &copy) : YP_OK;
}

static enum yp_status forward_on(const struct nn_cuda *cuda, const struct nn_call *call,
                                 enum nn_type type)
{
    struct nn_gemm products[PRODUCTS];
    products_of(call, type, call->work, NULL, products);
    enum yp_status status = scaled_on(cuda, call, type, &products[OF_U], call->value[U]);
    if (status == YP_OK)
        status = copy_on(cuda, call, type, call->value[BASE], call->value[Y]);
    return status == YP_OK ? nn_cuda_product(cuda, call->device, &products[OF_Y]) : status;
}

static enum yp_status vjp_on(const struct nn_cuda *cuda, const struct nn_call *call,
                             enum nn_type type)
{
    void *v = (char *)call->work + low_bytes(call->shape);
    struct nn_gemm products[PRODUCTS];
    products_of(call, type, call->work, v, products);
    enum yp_status status = scaled_on(cuda, call, type, &products[OF_V], v);
    for (int i = OF_DX; i <= OF_DB && status == YP_OK; i++)
        if (products[i].c.at != NULL)
            status = nn_cuda_product(cuda, call->device, &products[i]);
    return status == YP_OK ? copy_on(cuda, call, type, call->gradient[Y], call->gradient[BASE])
                           : status;
}

NN_ON_CUDA

static double flops(const struct nn_shape *shape, enum nn_pass pass)
{
    double n = (double)shape->size[N], out = (double)shape->size[OUT], c = (double)shape->size[C];
    double r = (double)shape->size[RANK];
    return pass == NN_VJP ? n * r * (4 * out + 4 * c + 1) : n * r * (2 * out + 2 * c + 1);
}

const struct nn_operator nn_lora = {
    .name = "lora",
    .dims = "nocr",
    .settings = {"scale"},
    .tensors = {{"x", "nc", .role = NN_INPUT, .adds = true},
                {"base", "no", .role = NN_INPUT, .unread = true},
                {"a", "rc", .role = NN_PARAMETER, .adds = true},
                {"b", "or", .role = NN_PARAMETER, .adds = true},
                {"y", "no", .role = NN_OUTPUT},
                {"u", "nr", .role = NN_SAVED}},
    .shapes = {{"one", .size = {1, 1, 1, 1}, .setting = {2}},
               {"odd", .size = {5, 7, 9, 3}, .setting = {2}},
               {"small", .size = {65, 96, 64, 8}, .setting = {2}},
               {"medium", .size = {514, 1280, 1280, 8}, .setting = {2}}},
    NN_PLAIN,
    .flops = flops,
    .versions = {{NN_FP32, "cpu", .forward = forward, .vjp = vjp, .work = work},
                 {NN_BF16, "cpu", .forward = forward_bf16, .vjp = vjp_bf16, .work = work_bf16,
                  .types = "bbbbbb", .gradients = "bbffb", .arithmetic = YP_BF16,
                  .rounding = {[LOW] = 0x1p-9, [HIGH] = 0x1p-9}},
                 {NN_FP16, "cpu", .forward = forward_fp16, .vjp = vjp_fp16, .work = work_fp16,
                  .types = "bbbbbb", .gradients = "bbffb",
                  .rounding = {[LOW] = 0x1p-12, [HIGH] = 0x1p-12}}, /* of v and u */
                 {NN_FP32, "cuda", .forward = forward_cuda, .vjp = vjp_cuda, .work = work_cuda},
                 {NN_BF16, "cuda", .forward = forward_cuda_bf16, .vjp = vjp_cuda_bf16,
                  .work = work_cuda, .types = "bbbbbb", .gradients = "bbffb", .arithmetic = YP_BF16,
                  .rounding = {[LOW] = 0x1p-9, [HIGH] = 0x1p-9}},
                 {NN_FP16, "cuda", .forward = forward_cuda_fp16, .vjp = vjp_cuda_fp16,
                  .work = work_cuda, .types = "bbbbbb", .gradients = "bbffb", .arithmetic = YP_FP16,
                  .rounding = {[LOW] = 0x1p-12, [HIGH] = 0x1p-12}}},
};

#else
static void NAME(forward)(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    const REAL *x = call->value[X], *base = call->value[BASE];
    const REAL *a = call->value[LOW], *b = call->value[HIGH];
    REAL *y = call->value[Y], *u = call->value[U], scale = (REAL)call->shape->setting[0];
    for (size_t i = 0; i < size[N]; i++, u += size[RANK]) {
        for (size_t k = 0; k < size[RANK]; k++) {
            REAL sum = 0;
            for (size_t c = 0; c < size[C]; c++)
                sum += x[i * size[C] + c] * a[k * size[C] + c];
            u[k] = scale * sum;
        }
        for (size_t o = 0; o < size[OUT]; o++) {
            REAL sum = base[i * size[OUT] + o];
            for (size_t k = 0; k < size[RANK]; k++)
                sum += u[k] * b[o * size[RANK] + k];
            y[i * size[OUT] + o] = sum;
        }
    }
}

static void NAME(vjp)(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    const REAL *x = call->value[X], *a = call->value[LOW], *b = call->value[HIGH];
    const REAL *u = call->value[U], *dy = call->gradient[Y];
    REAL *dx = call->gradient[X], *da = call->gradient[LOW], *db = call->gradient[HIGH];
    REAL scale = (REAL)call->shape->setting[0];
    memset(dx, 0, size[N] * size[C] * sizeof *dx);
    memset(da, 0, size[RANK] * size[C] * sizeof *da);
    memset(db, 0, size[OUT] * size[RANK] * sizeof *db);
    memcpy(call->gradient[BASE], dy, size[N] * size[OUT] * sizeof *dy);
    for (size_t i = 0; i < size[N]; i++, x += size[C], dx += size[C], u += size[RANK])
        for (size_t k = 0; k < size[RANK]; k++) {
            REAL v = 0;
            for (size_t o = 0; o < size[OUT]; o++) {
                v += scale * dy[i * size[OUT] + o] * b[o * size[RANK] + k];
                db[o * size[RANK] + k] += dy[i * size[OUT] + o] * u[k];
            }
            for (size_t c = 0; c < size[C]; c++) {
                dx[c] += v * a[k * size[C] + c];
                da[k * size[C] + c] += v * x[c];
            }
        }
}
#endif
