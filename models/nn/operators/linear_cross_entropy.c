/* The loss of a language model's head: of x (n, d) and w (v, d), logits z = x w^T, and for every
 * row the cross-entropy with its label, loss (n) = ln(sum) - (z[label] - high), where sum is that
 * of e^(z - high), and high the largest logit. Both are saved, and apart: the logarithm of the sum
 * of e^z is one number, which drops digits of ln(sum) where `high` is large. With s = dloss
 * (softmax(z) - 1 at the label): dx = s w, dw = s^T x. Logits are never in memory all at once: ROWS
 * rows are worked on at a time, and the vjp makes them again, or makes the loss with them where
 * forward did not run. */
#ifndef REAL
#define NN_FILE "models/nn/operators/linear_cross_entropy.c"
enum { X, W, LABEL, LOSS, HIGH, SUM };
enum { N, V, D };
#include "models/nn/cuda/on_cuda.h"
#include "models/nn/fast.h"
#include "models/nn/gemm/gemm.h"
#include "models/nn/maths.h"
#include "models/nn/plain.h"
#include "models/nn/types.h"

#include <math.h>

enum { ROWS = 256 };

/* The largest of z, and the sum of e^(z - high). */
NN_LOOPS exponentials_loops(const float *z, size_t n, float *restrict high, float *restrict sum)
{
    float most = nn_max(z, n), all = 0;
#pragma omp simd reduction(+ : all)
    for (size_t i = 0; i < n; i++)
        all += nn_exp(z[i] - most);
    *high = most;
    *sum = all;
}
NN_KERNEL(exponentials, (const float *z, size_t n, float *high, float *sum), (z, n, high, sum))

/* s from z, which may be the same array when it is float; `share` is 1 / sum. */
NN_LOOPS slopes_loops(enum nn_type type, const float *z, size_t n, float high, float share,
                      float dloss, size_t label, void *s)
{
    float own = dloss * (share * nn_exp(z[label] - high) - 1), each = dloss * share;
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        nn_put(s, i, each * nn_exp(z[i] - high), type);
    nn_put(s, label, own, type);
}
NN_TYPED_KERNEL(slopes,
                (const float *z, size_t n, float high, float share, float dloss, size_t label,
                 void *s),
                (z, n, high, share, dloss, label, s))

/* -- the three products of `rows` rows --------------------------------------------------------- */

static struct nn_gemm logits(const struct nn_call *call, size_t at, size_t rows, float *z,
                             enum nn_type type)
{
    size_t v = call->shape->size[V], d = call->shape->size[D];
    return nn_gemm_of(rows, v, d, nn_rows_of(nn_from(call->value[X], at * d, type), type, d),
                      nn_columns_of(call->value[W], type, d), nn_rows_of(z, NN_FLOAT, v), false,
                      NULL);
}

static struct nn_gemm gradient_x(const struct nn_call *call, size_t at, size_t rows, const void *s,
                                 enum nn_type type)
{
    size_t v = call->shape->size[V], d = call->shape->size[D];
    return nn_gemm_of(rows, d, v, nn_rows_of(s, type, v), nn_rows_of(call->value[W], type, d),
                      nn_rows_of(nn_from(call->gradient[X], at * d, type), type, d), false, NULL);
}

static struct nn_gemm gradient_w(const struct nn_call *call, size_t at, size_t rows, const void *s,
                                 enum nn_type type)
{
    size_t v = call->shape->size[V], d = call->shape->size[D];
    return nn_gemm_of(v, d, rows, nn_columns_of(s, type, v),
                      nn_rows_of(nn_from(call->value[X], at * d, type), type, d),
                      nn_rows_of(call->gradient[W], NN_FLOAT, d), at > 0 || nn_adds(call, W), NULL);
}

/* -- workspace: logits of ROWS rows, their slopes in 16 bits, and what products take ----------- */

/* The most that a product of the first rows, of others behind them, or of the last ones takes. */
static size_t product_bytes(const struct nn_shape *shape, enum nn_type type)
{
    size_t n = shape->size[N], most = 0;
    const size_t places[] = {0, ROWS, (n - 1) / ROWS * ROWS};
    for (size_t i = 0; i < 2 * sizeof places / sizeof *places; i++) {
        struct nn_call call = {.shape = shape, .add = i % 2 == 0 ? 0 : 1U << W};
        size_t at = places[i / 2], rows = at < n ? nn_least(ROWS, n - at) : 0;
        if (rows == 0)
            continue;
        const struct nn_gemm products[] = {logits(&call, at, rows, NULL, type),
                                           gradient_x(&call, at, rows, NULL, type),
                                           gradient_w(&call, at, rows, NULL, type)};
        size_t bytes = nn_gemm_most(products, sizeof products / sizeof *products);
        most = bytes > most ? bytes : most;
    }
    return most;
}

static size_t logits_bytes(const struct nn_shape *shape, enum nn_type type)
{
    size_t count = nn_least(ROWS, shape->size[N]) * shape->size[V];
    return nn_aligned(count * sizeof(float)) +
           (nn_16_bits(type) ? nn_aligned(count * sizeof(uint16_t)) : 0);
}

struct places {
    float *z;
    void *s, *products;
};

static struct places places_of(const struct nn_call *call, enum nn_type type)
{
    size_t count = nn_least(ROWS, call->shape->size[N]) * call->shape->size[V];
    char *slopes = (char *)call->work + nn_aligned(count * sizeof(float));
    return (struct places){call->work, nn_16_bits(type) ? (void *)slopes : call->work,
                           nn_16_bits(type) ? slopes + nn_aligned(count * sizeof(uint16_t))
                                            : slopes};
}

/* -- both passes ------------------------------------------------------------------------------- */

/* The logits of some rows, and their losses where they are wanted. */
static enum yp_status rows_forward(const struct nn_call *call, size_t at, size_t rows,
                                   const struct places *p, bool losses, enum nn_type type)
{
    size_t v = call->shape->size[V];
    const int32_t *label = (const int32_t *)call->value[LABEL] + at;
    exponentials_kernel *exponentials = best_exponentials();
    struct nn_gemm product = logits(call, at, rows, p->z, type);
    enum yp_status status = nn_gemm(&product, p->products);
    if (status != YP_OK || !losses)
        return status;
    float *loss = (float *)call->value[LOSS] + at;
    float *high = (float *)call->value[HIGH] + at, *sum = (float *)call->value[SUM] + at;
    NN_PARALLEL_FOR(rows * v > NN_FEW * NN_CHUNK, i, rows, 1, {
        exponentials(p->z + i * v, v, &high[i], &sum[i]);
        loss[i] = logf(sum[i]) - (p->z[i * v + (size_t)label[i]] - high[i]);
    });
    return YP_OK;
}

static enum yp_status check_labels(const struct nn_call *call)
{
    return nn_check_indices("linear_cross_entropy", "label", call->value[LABEL],
                            call->shape->size[N], call->shape->size[V]);
}

static enum yp_status forward_in(const struct nn_call *call, enum nn_type type)
{
    size_t n = call->shape->size[N];
    struct places p = places_of(call, type);
    enum yp_status status = check_labels(call);
    for (size_t at = 0; at < n && status == YP_OK; at += ROWS)
        status = rows_forward(call, at, nn_least(ROWS, n - at), &p, true, type);
    return status;
}

static enum yp_status vjp_of_rows(const struct nn_call *call, size_t at, enum nn_type type)
{
    const size_t *size = call->shape->size;
    size_t rows = nn_least(ROWS, size[N] - at);
    const int32_t *label = (const int32_t *)call->value[LABEL] + at;
    const float *dloss = (const float *)call->gradient[LOSS] + at;
    const float *high = (const float *)call->value[HIGH] + at;
    const float *sum = (const float *)call->value[SUM] + at;
    struct places p = places_of(call, type);
    slopes_kernel *slopes = best_slopes(type);
    struct nn_gemm product;
    enum yp_status status = rows_forward(call, at, rows, &p, call->both, type);
    NN_PARALLEL_FOR(rows * size[V] > NN_FEW * NN_CHUNK, i, rows, 1,
                    slopes(p.z + i * size[V], size[V], high[i], 1 / sum[i], dloss[i],
                           (size_t)label[i], nn_from(p.s, i * size[V], type)));
    if (status == YP_OK && call->gradient[X] != NULL) {
        product = gradient_x(call, at, rows, p.s, type);
        status = nn_gemm(&product, p.products);
    }
    if (status == YP_OK && call->gradient[W] != NULL) {
        product = gradient_w(call, at, rows, p.s, type);
        status = nn_gemm(&product, p.products);
    }
    return status;
}

static enum yp_status vjp_in(const struct nn_call *call, enum nn_type type)
{
    enum yp_status status = call->both ? check_labels(call) : YP_OK;
    for (size_t at = 0; at < call->shape->size[N] && status == YP_OK; at += ROWS)
        status = vjp_of_rows(call, at, type);
    return status;
}

NN_EACH_TYPE

/* -- on a GPU ---------------------------------------------------------------------------------- */

static struct nn_cuda_cross_entropy job_of(const struct nn_call *call, size_t at,
                                           const struct places *p, enum nn_type type)
{
    const float *dloss = call->gradient[LOSS];
    float *loss = call->value[LOSS]; /* of a vjp alone NULL, as dloss is of forward */
    return (struct nn_cuda_cross_entropy){.n = nn_least(ROWS, call->shape->size[N] - at),
                                          .v = call->shape->size[V],
                                          .type = type,
                                          .z = p->z,
                                          .dloss = dloss != NULL ? dloss + at : NULL,
                                          .label = (const int32_t *)call->value[LABEL] + at,
                                          .loss = loss != NULL ? loss + at : NULL,
                                          .high = (float *)call->value[HIGH] + at,
                                          .sum = (float *)call->value[SUM] + at,
                                          .s = p->s};
}

/* The logits of rows from `at` on, with their losses or without. */
static enum yp_status rows_on(const struct nn_cuda *cuda, const struct nn_call *call, size_t at,
                              const struct places *p, bool losses, enum nn_type type)
{
    const struct nn_cuda_cross_entropy job = job_of(call, at, p, type);
    struct nn_gemm product = logits(call, at, job.n, p->z, type);
    enum yp_status status = nn_cuda_product(cuda, call->device, &product);
    return losses && status == YP_OK ? cuda->cross_entropy[NN_FORWARD](call->device, &job) : status;
}

static enum yp_status forward_on(const struct nn_cuda *cuda, const struct nn_call *call,
                                 enum nn_type type)
{
    struct places p = places_of(call, type);
    enum yp_status status = YP_OK;
    for (size_t at = 0; at < call->shape->size[N] && status == YP_OK; at += ROWS)
        status = rows_on(cuda, call, at, &p, true, type);
    return status;
}

static enum yp_status vjp_on(const struct nn_cuda *cuda, const struct nn_call *call,
                             enum nn_type type)
{
    struct places p = places_of(call, type);
    enum yp_status status = YP_OK;
    for (size_t at = 0; at < call->shape->size[N] && status == YP_OK; at += ROWS) {
        const struct nn_cuda_cross_entropy job = job_of(call, at, &p, type);
        status = rows_on(cuda, call, at, &p, call->both, type);
        if (status == YP_OK)
            status = cuda->cross_entropy[NN_VJP](call->device, &job);
        struct nn_gemm product = gradient_x(call, at, job.n, p.s, type);
        if (status == YP_OK && call->gradient[X] != NULL)
            status = nn_cuda_product(cuda, call->device, &product);
        product = gradient_w(call, at, job.n, p.s, type);
        if (status == YP_OK && call->gradient[W] != NULL)
            status = nn_cuda_product(cuda, call->device, &product);
    }
    return status;
}

NN_ON_CUDA

static size_t plain_work(const struct nn_shape *shape)
{
    return shape->size[V] * sizeof(double);
}

static size_t work_in(const struct nn_shape *shape, enum nn_type type)
{
    return logits_bytes(shape, type) + product_bytes(shape, type);
}

NN_EACH_WORK

static size_t work_cuda(const struct nn_shape *shape)
{
    return logits_bytes(shape, NN_FLOAT);
}

static size_t work_cuda_16(const struct nn_shape *shape)
{
    return logits_bytes(shape, NN_BFLOAT16);
}

/* That the vjp may make the logits again is not counted: it saves memory, not work. */
static double flops(const struct nn_shape *shape, enum nn_pass pass)
{
    double n = (double)shape->size[N], v = (double)shape->size[V], d = (double)shape->size[D];
    return n * v * (pass == NN_VJP ? 4 * d + NN_FUNCTION + 2 : 2 * d + NN_FUNCTION + 3);
}

const struct nn_operator nn_linear_cross_entropy = {
    .name = "linear_cross_entropy",
    .dims = "nvd",
    .tensors = {{"x", "nd", .role = NN_INPUT, .domain = {.lift = 0x1p19}},
                {"w", "vd", .role = NN_PARAMETER, .adds = true,
                 .domain = {NN_BELL, .low = 0, .high = 0.25, .lift = 1}},
                {"label", "n", .role = NN_CONSTANT, .type = NN_INT32,
                 .domain = {NN_WHOLE, .below = 'v'}},
                {"loss", "n", .role = NN_OUTPUT},
                {"high", "n", .role = NN_SAVED},
                {"sum", "n", .role = NN_SAVED}},
    .both = true,
    .shapes = {{"one", .size = {1, 2, 1}},
               {"odd", .size = {5, 7, 3}},
               {"small", .size = {300, 64, 32}},
               {"medium", .size = {128, 4096, 512}},
               {"lifted", .size = {40, 33, 5}}},
    NN_PLAIN,
    .plain_work = plain_work,
    .flops = flops,
    .versions = {{NN_FP32, "cpu", .forward = forward, .vjp = vjp, .work = work},
                 {NN_BF16, "cpu", .forward = forward_bf16, .vjp = vjp_bf16, .work = work_bf16,
                  .types = "bbffff", .gradients = "bfffff",
                  .rounding = {[X] = 0x1p-9, [W] = 0x1p-9}, /* of s */
                  .arithmetic = YP_BF16},
                 {NN_FP16, "cpu", .forward = forward_fp16, .vjp = vjp_fp16, .work = work_fp16,
                  .types = "bbffff", .gradients = "bfffff",
                  .rounding = {[X] = 0x1p-12, [W] = 0x1p-12}}, /* of s */
                 {NN_FP32, "cuda", .forward = forward_cuda, .vjp = vjp_cuda, .work = work_cuda},
                 {NN_BF16, "cuda", .forward = forward_cuda_bf16, .vjp = vjp_cuda_bf16,
                  .work = work_cuda_16, .types = "bbffff", .gradients = "bfffff",
                  .rounding = {[X] = 0x1p-9, [W] = 0x1p-9}, .arithmetic = YP_BF16},
                 {NN_FP16, "cuda", .forward = forward_cuda_fp16, .vjp = vjp_cuda_fp16,
                  .work = work_cuda_16, .types = "bbffff", .gradients = "bfffff",
                  .rounding = {[X] = 0x1p-12, [W] = 0x1p-12}, .arithmetic = YP_FP16}},
};

#else
/* z (v): logits of row i; returns the largest; *sum is that of exponentials below it. */
static REAL NAME(row)(const struct nn_call *call, size_t i, REAL *z, REAL *sum)
{
    const size_t *size = call->shape->size;
    const REAL *x = (const REAL *)call->value[X] + i * size[D], *w = call->value[W];
    REAL high = 0;
    *sum = 0;
    for (size_t j = 0; j < size[V]; j++) {
        z[j] = 0;
        for (size_t k = 0; k < size[D]; k++)
            z[j] += x[k] * w[j * size[D] + k];
        high = j == 0 || z[j] > high ? z[j] : high;
    }
    for (size_t j = 0; j < size[V]; j++)
        *sum += exp(z[j] - high);
    return high;
}

static void NAME(forward)(const struct nn_call *call)
{
    const int32_t *label = call->value[LABEL];
    REAL *loss = call->value[LOSS], *z = call->work;
    REAL *high = call->value[HIGH], *sum = call->value[SUM];
    for (size_t i = 0; i < call->shape->size[N]; i++) {
        high[i] = NAME(row)(call, i, z, &sum[i]);
        loss[i] = log(sum[i]) - (z[label[i]] - high[i]);
    }
}

static void NAME(vjp)(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    const int32_t *label = call->value[LABEL];
    const REAL *x = call->value[X], *w = call->value[W], *dloss = call->gradient[LOSS];
    REAL *dx = call->gradient[X], *dw = call->gradient[W], *z = call->work;
    memset(dx, 0, size[N] * size[D] * sizeof *dx);
    memset(dw, 0, size[V] * size[D] * sizeof *dw);
    for (size_t i = 0; i < size[N]; i++) {
        REAL sum, high = NAME(row)(call, i, z, &sum);
        for (size_t j = 0; j < size[V]; j++) {
            REAL s = dloss[i] * (exp(z[j] - high) / sum - (j == (size_t)label[i] ? 1 : 0));
            for (size_t k = 0; k < size[D]; k++) {
                dx[i * size[D] + k] += s * w[j * size[D] + k];
                dw[j * size[D] + k] += s * x[i * size[D] + k];
            }
        }
    }
}
#endif
