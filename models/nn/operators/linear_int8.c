/* y (n, o) = x (n, c) (scale w)^T + b: a linear layer whose weights are frozen and quantised, w
 * (o, c) in 8 bits with one scale a row, b (o) or none. dx = dy (scale w), db = the sum of dy's
 * rows.
 *
 * In fp32 the weights alone have 8 bits: some rows at a time become floats. In int8 each row of x
 * is quantised as well, to -127 .. 127 by its largest magnitude (the vector-wise scheme of Dettmers
 * et al., "LLM.int8()", 2022, section 3.1), so that the product is one of integers. A row that is
 * not finite comes out as NaN. */
#ifndef REAL
#define NN_FILE "models/nn/operators/linear_int8.c"
enum { X, W, SCALE, B, Y };
enum { N, OUT, C };
#include "models/nn/cuda/on_cuda.h"
#include "models/nn/fast.h"
#include "models/nn/gemm/gemm.h"
#include "models/nn/plain.h"
#include "models/nn/types.h"

#include <math.h>

/* -- workspace --------------------------------------------------------------------------------- */

/* Forward: x in 8 bits with its rows' scales. Backward: dy scale and w in bf16. */
struct parts {
    int8_t *x;
    float *of_row;
    uint16_t *dy, *w;
    void *rest; /* of a matrix product, and for sums of columns */
};

static struct parts parts_of(const struct nn_call *call, enum nn_pass pass)
{
    const size_t *size = call->shape->size;
    struct parts parts = {.x = NULL};
    char *at = call->work;
    if (pass == NN_FORWARD) {
        parts.x = (int8_t *)at;
        parts.of_row = (float *)(void *)(at + nn_aligned(size[N] * size[C]));
        parts.rest = (char *)parts.of_row + nn_aligned(size[N] * sizeof *parts.of_row);
        return parts;
    }
    parts.dy = (uint16_t *)(void *)at;
    parts.w = (uint16_t *)(void *)(at + nn_aligned(size[N] * size[OUT] * sizeof *parts.dy));
    parts.rest = (char *)parts.w + nn_aligned(size[OUT] * size[C] * sizeof *parts.w);
    return parts;
}

static struct nn_gemm product(const struct nn_call *call, const struct parts *parts,
                              enum nn_pass pass)
{
    size_t n = call->shape->size[N], out = call->shape->size[OUT], c = call->shape->size[C];
    if (pass == NN_FORWARD)
        return nn_gemm_of(n, out, c, nn_rows_of(parts->x, NN_SINT8, c),
                          nn_columns_of(call->value[W], NN_SINT8, c),
                          nn_rows_of(call->value[Y], NN_FLOAT, out), false, NULL);
    return nn_gemm_of(n, c, out, nn_rows_of(parts->dy, NN_BFLOAT16, out),
                      nn_rows_of(parts->w, NN_BFLOAT16, c),
                      nn_rows_of(call->gradient[X], NN_FLOAT, c), nn_adds(call, X), NULL);
}

static size_t work(const struct nn_shape *shape)
{
    const struct nn_call call = {.shape = shape}, more = {.shape = shape, .add = 1U << X};
    const struct parts none = {.x = NULL};
    const size_t *size = shape->size;
    const struct nn_gemm forward = product(&call, &none, NN_FORWARD),
                         back[] = {product(&call, &none, NN_VJP), product(&more, &none, NN_VJP)};
    size_t first = nn_aligned(size[N] * size[C]) + nn_aligned(size[N] * sizeof(float)) +
                   nn_gemm_bytes(&forward);
    size_t rest = nn_gemm_most(back, 2), sums = nn_columns_bytes(size[N], size[OUT]);
    size_t second = nn_aligned(size[N] * size[OUT] * sizeof(uint16_t)) +
                    nn_aligned(size[OUT] * size[C] * sizeof(uint16_t)) +
                    (sums > rest ? sums : rest);
    return first > second ? first : second;
}

/* -- forward ----------------------------------------------------------------------------------- */

/* q = x / *scale to the nearest, *scale the largest magnitude over 127: NaN where x has one, or an
 * infinity. Magnitudes are compared as their bits, which NaN does not slip through. */
NN_LOOPS quantise_loops(const float *x, size_t c, int8_t *restrict q, float *restrict scale)
{
    int32_t most = 0;
#pragma omp simd reduction(max : most)
    for (size_t i = 0; i < c; i++) {
        int32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        bits &= 0x7fffffff;
        most = bits > most ? bits : most;
    }
    float largest;
    memcpy(&largest, &most, sizeof largest);
    float gain = 127 / largest;
    *scale = isfinite(largest) ? largest / 127 : NAN;
    if (!isfinite(largest) || !isfinite(gain)) { /* or 0, or below 127 / FLT_MAX */
        memset(q, 0, c);
        return;
    }
#pragma omp simd
    for (size_t i = 0; i < c; i++) {
        float value = x[i] * gain;
        q[i] = (int8_t)(int)(value + (value < 0 ? -0.5F : 0.5F));
    }
}
NN_KERNEL(quantise, (const float *x, size_t c, int8_t *q, float *scale), (x, c, q, scale))

/* A row of integer products in their units. */
NN_LOOPS units_loops(float *restrict y, size_t out, float of_row, const float *scale,
                     const float *b)
{
    for (size_t i = 0; i < out && b == NULL; i++)
        y[i] *= of_row * scale[i];
    for (size_t i = 0; i < out && b != NULL; i++)
        y[i] = y[i] * (of_row * scale[i]) + b[i];
}
NN_KERNEL(units, (float *y, size_t out, float of_row, const float *scale, const float *b),
          (y, out, of_row, scale, b))

static enum yp_status forward(const struct nn_call *call)
{
    size_t n = call->shape->size[N], out = call->shape->size[OUT], c = call->shape->size[C];
    quantise_kernel *quantise = best_quantise();
    units_kernel *units = best_units();
    struct parts parts = parts_of(call, NN_FORWARD);
    const float *x = call->value[X], *scale = call->value[SCALE], *b = call->value[B];
    float *y = call->value[Y];
    NN_PARALLEL_FOR(n * c > NN_FEW * NN_CHUNK, i, n, 1,
                    quantise(x + i * c, c, parts.x + i * c, &parts.of_row[i]));
    struct nn_gemm gemm = product(call, &parts, NN_FORWARD);
    enum yp_status status = nn_gemm(&gemm, parts.rest);
    if (status != YP_OK)
        return status;
    NN_PARALLEL_FOR(n * out > NN_FEW * NN_CHUNK, i, n, 1,
                    units(y + i * out, out, parts.of_row[i], scale, b));
    return YP_OK;
}

/* -- backward ---------------------------------------------------------------------------------- */

NN_LOOPS scaled_loops(const float *dy, const float *scale, size_t out, uint16_t *restrict to)
{
    for (size_t i = 0; i < out; i++)
        to[i] = nn_to_bf16(dy[i] * scale[i]);
}
NN_KERNEL(scaled, (const float *dy, const float *scale, size_t out, uint16_t *to),
          (dy, scale, out, to))

/* Exact: 8 bits are what bf16 has. */
NN_LOOPS weights_loops(const int8_t *w, size_t c, uint16_t *restrict to)
{
    for (size_t i = 0; i < c; i++)
        to[i] = nn_to_bf16(w[i]);
}
NN_KERNEL(weights, (const int8_t *w, size_t c, uint16_t *to), (w, c, to))

static enum yp_status vjp(const struct nn_call *call)
{
    size_t n = call->shape->size[N], out = call->shape->size[OUT], c = call->shape->size[C];
    scaled_kernel *scaled = best_scaled();
    weights_kernel *weights = best_weights();
    struct parts parts = parts_of(call, NN_VJP);
    const float *dy = call->gradient[Y], *scale = call->value[SCALE];
    const int8_t *w = call->value[W];
    if (call->gradient[X] != NULL) {
        NN_PARALLEL_FOR(n * out > NN_FEW * NN_CHUNK, i, n, 1,
                        scaled(dy + i * out, scale, out, parts.dy + i * out));
        NN_PARALLEL_FOR(out * c > NN_FEW * NN_CHUNK, i, out, 1,
                        weights(w + i * c, c, parts.w + i * c));
        struct nn_gemm gemm = product(call, &parts, NN_VJP);
        enum yp_status status = nn_gemm(&gemm, parts.rest);
        if (status != YP_OK)
            return status;
    }
    nn_bias_vjp(call, B, dy, NN_FLOAT, n, out, parts.rest);
    return YP_OK;
}

/* -- weights alone ----------------------------------------------------------------------------- */

enum { ROWS = 256 }; /* of w in float at once: with 1,280 columns a core's cache has them */

NN_LOOPS widened_loops(const int8_t *w, float scale, size_t c, float *restrict to)
{
    for (size_t i = 0; i < c; i++)
        to[i] = scale * (float)w[i];
}
NN_KERNEL(widened, (const int8_t *w, float scale, size_t c, float *to), (w, scale, c, to))

/* Of rows `first` to `first + rows` - 1 of w, which are floats in `wide`: their part of y, or what
 * they add to dx. */
static struct nn_gemm wide_product(const struct nn_call *call, const float *wide, size_t first,
                                   size_t rows, enum nn_pass pass)
{
    size_t n = call->shape->size[N], out = call->shape->size[OUT], c = call->shape->size[C];
    float *y = call->value[Y], *dy = call->gradient[Y], *b = call->value[B];
    if (pass == NN_FORWARD)
        return nn_gemm_of(n, rows, c, nn_rows_of(call->value[X], NN_FLOAT, c),
                          nn_columns_of(wide, NN_FLOAT, c),
                          nn_rows_of(y != NULL ? y + first : NULL, NN_FLOAT, out), false,
                          b != NULL ? b + first : NULL);
    return nn_gemm_of(n, c, rows, nn_rows_of(dy != NULL ? dy + first : NULL, NN_FLOAT, out),
                      nn_rows_of(wide, NN_FLOAT, c), nn_rows_of(call->gradient[X], NN_FLOAT, c),
                      first > 0 || nn_adds(call, X), NULL);
}

static size_t wide_bytes(const struct nn_shape *shape)
{
    return nn_aligned(nn_least(ROWS, shape->size[OUT]) * shape->size[C] * sizeof(float));
}

static size_t work_wide(const struct nn_shape *shape)
{
    const size_t out = shape->size[OUT], rows = nn_least(ROWS, out), rest = out % rows;
    float bias = 0; /* with and without what may be */
    const struct nn_call call = {.shape = shape}, more = {.shape = shape, .value[B] = &bias};
    const struct nn_gemm products[] = {
        wide_product(&call, NULL, 0, rows, NN_FORWARD),
        wide_product(&more, NULL, 0, rows, NN_FORWARD),
        wide_product(&call, NULL, 0, rows, NN_VJP),
        wide_product(&call, NULL, rows, rows, NN_VJP),
        wide_product(&call, NULL, 0, rest > 0 ? rest : 1, NN_FORWARD),
        wide_product(&more, NULL, 0, rest > 0 ? rest : 1, NN_FORWARD),
        wide_product(&call, NULL, rows, rest > 0 ? rest : 1, NN_VJP)};
    size_t most = nn_gemm_most(products, sizeof products / sizeof *products);
    size_t sums = nn_columns_bytes(shape->size[N], out);
    most += wide_bytes(shape);
    return most > sums ? most : sums;
}

static enum yp_status wide_pass(const struct nn_call *call, enum nn_pass pass)
{
    const size_t out = call->shape->size[OUT], c = call->shape->size[C];
    const int8_t *w = call->value[W];
    const float *scale = call->value[SCALE];
    float *wide = call->work;
    char *rest = (char *)call->work + wide_bytes(call->shape);
    widened_kernel *widened = best_widened();
    enum yp_status status = YP_OK;
    for (size_t first = 0; first < out && status == YP_OK; first += ROWS) {
        const size_t rows = nn_least(ROWS, out - first);
        NN_PARALLEL_FOR(rows * c > NN_FEW * NN_CHUNK, i, rows, 1,
                        widened(w + (first + i) * c, scale[first + i], c, wide + i * c));
        const struct nn_gemm gemm = wide_product(call, wide, first, rows, pass);
        status = nn_gemm(&gemm, rest);
    }
    return status;
}

static enum yp_status forward_wide(const struct nn_call *call)
{
    return wide_pass(call, NN_FORWARD);
}

static enum yp_status vjp_wide(const struct nn_call *call)
{
    enum yp_status status = call->gradient[X] != NULL ? wide_pass(call, NN_VJP) : YP_OK;
    if (status == YP_OK)
        nn_bias_vjp(call, B, call->gradient[Y], NN_FLOAT, call->shape->size[N],
                    call->shape->size[OUT], call->work);
    return status;
}

static size_t work_cuda(const struct nn_shape *shape)
{
    return nn_cuda_columns_bytes(shape->size[N], shape->size[OUT]);
}

/* The kernel makes floats of the weights that it reads. */
static enum yp_status product_on(const struct nn_cuda *cuda, const struct nn_call *call,
                                 const struct nn_gemm *product)
{
    const struct nn_cuda_gemm_of_views job = {
        .gemm = nn_cuda_gemm_of(product),
        .views = {.b = NN_CUDA_BYTES, .scale = call->value[SCALE]}};
    return cuda->gemm_of_views(call->device, &job);
}

static enum yp_status forward_on(const struct nn_cuda *cuda, const struct nn_call *call)
{
    size_t n = call->shape->size[N], out = call->shape->size[OUT], c = call->shape->size[C];
    const struct nn_gemm y =
        nn_gemm_of(n, out, c, nn_rows_of(call->value[X], NN_FLOAT, c),
                   nn_columns_of(call->value[W], NN_SINT8, c),
                   nn_rows_of(call->value[Y], NN_FLOAT, out), false, call->value[B]);
    return product_on(cuda, call, &y);
}

static enum yp_status vjp_on(const struct nn_cuda *cuda, const struct nn_call *call)
{
    size_t n = call->shape->size[N], out = call->shape->size[OUT], c = call->shape->size[C];
    const struct nn_gemm dx =
        nn_gemm_of(n, c, out, nn_rows_of(call->gradient[Y], NN_FLOAT, out),
                   nn_rows_of(call->value[W], NN_SINT8, c),
                   nn_rows_of(call->gradient[X], NN_FLOAT, c), nn_adds(call, X), NULL);
    const struct nn_cuda_columns sums = {.n = n,
                                         .c = out,
                                         .add = nn_adds(call, B),
                                         .dy = call->gradient[Y],
                                         .sums = call->gradient[B],
                                         .work = call->work};
    enum yp_status status = dx.c.at != NULL ? product_on(cuda, call, &dx) : YP_OK;
    return status == YP_OK ? cuda->columns(call->device, &sums) : status;
}

NN_ON_CUDA_FP32

/* -- weights and rows of x in 8 bits, on a GPU --------------------------------------------------
 */

static size_t rounded_bytes(const struct nn_shape *shape)
{
    const size_t bytes = shape->size[N] * shape->size[C] * sizeof(float);
    return nn_most(bytes, work_cuda(shape));
}

/* The product is that of floats: rows of x are rounded to what 8 bits hold, in the workspace. */
static enum yp_status rows_on(const struct nn_cuda *cuda, const struct nn_call *call)
{
    const struct nn_cuda_int8_rows job = {
        .n = call->shape->size[N], .c = call->shape->size[C], .x = call->value[X], .y = call->work};
    struct nn_call rounded = *call;
    rounded.value[X] = call->work;
    enum yp_status status = cuda->int8_rows(call->device, &job);
    return status == YP_OK ? forward_on(cuda, &rounded) : status;
}

NN_ON_CUDA_CALL(forward_rows, rows_on(cuda, call))

static double flops(const struct nn_shape *shape, enum nn_pass pass)
{
    double n = (double)shape->size[N], out = (double)shape->size[OUT], c = (double)shape->size[C];
    return pass == NN_VJP ? n * out * (2 * c + 2) : n * out * (2 * c + 2) + 2 * n * c;
}

const struct nn_operator nn_linear_int8 = {
    .name = "linear_int8",
    .dims = "noc",
    .tensors = {{"x", "nc", .role = NN_INPUT, .adds = true, .unread = true},
                {"w", "oc", .role = NN_CONSTANT, .type = NN_SINT8,
                 .domain = {NN_WHOLE, .low = -127, .high = 128}},
                {"scale", "o", .role = NN_CONSTANT,
                 .domain = {NN_UNIFORM, .low = 0.002, .high = 0.02}},
                {"b", "o", .role = NN_PARAMETER, .unread = true, .optional = true},
                {"y", "no", .role = NN_OUTPUT}},
    .shapes = {{"one", .size = {1, 1, 1}},
               {"odd", .size = {5, 7, 3}},
               {"small", .size = {128, 64, 96}},
               {"medium", .size = {256, 1280, 1280}}},
    NN_PLAIN,
    .flops = flops,
    .versions = {{NN_INT8, "cpu", .forward = forward, .vjp = vjp, .work = work,
                  .rounding = {[X] = 0x1p-9, [Y] = 0x1p-8}, /* of dy scale; of x by its row */
                  .arithmetic = YP_INT8},
                 {NN_FP32, "cpu", .forward = forward_wide, .vjp = vjp_wide, .work = work_wide},
                 {NN_FP32, "cuda", .forward = forward_cuda, .vjp = vjp_cuda, .work = work_cuda},
                 {NN_INT8, "cuda", .forward = forward_rows, .vjp = vjp_cuda, .work = rounded_bytes,
                  .rounding = {[Y] = 0x1p-8}}},
};

#else
static void NAME(forward)(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    const REAL *x = call->value[X], *scale = call->value[SCALE], *b = call->value[B];
    const int8_t *w = call->value[W];
    REAL *y = call->value[Y];
    for (size_t i = 0; i < size[N]; i++)
        for (size_t o = 0; o < size[OUT]; o++) {
            REAL sum = 0;
            for (size_t c = 0; c < size[C]; c++)
                sum += w[o * size[C] + c] * x[i * size[C] + c];
            y[i * size[OUT] + o] = scale[o] * sum + (b != NULL ? b[o] : 0);
        }
}

static void NAME(vjp)(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    const REAL *scale = call->value[SCALE], *dy = call->gradient[Y];
    const int8_t *w = call->value[W];
    REAL *dx = call->gradient[X], *db = call->gradient[B];
    memset(dx, 0, size[N] * size[C] * sizeof *dx);
    for (size_t o = 0; o < size[OUT] && db != NULL; o++)
        db[o] = 0;
    for (size_t i = 0; i < size[N]; i++)
        for (size_t o = 0; o < size[OUT]; o++) {
            REAL d = dy[i * size[OUT] + o];
            if (db != NULL)
                db[o] += d;
            for (size_t c = 0; c < size[C]; c++)
                dx[i * size[C] + c] += d * scale[o] * w[o * size[C] + c];
        }
}
#endif
