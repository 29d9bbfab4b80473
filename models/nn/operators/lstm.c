/* A layer of long short-term memory (Hochreiter and Schmidhuber, 1997) over x (n, t, i), from
 * zeros, with gates in PyTorch's order: of w_ih (4 h, i), w_hh (4 h, h), b_ih and b_hh (4 h), g = 4
 * h, the rows of i, f, g and o. For each step z = w_ih x + b_ih + w_hh y' + b_hh,  i, f, o =
 * sigmoid(z),  g = tanh(z), cell = f cell' + i g,  y = o tanh(cell), where ' is the step before.
 * Gates (n, t, 4 h) and cells (n, t, h) are saved. */
#ifndef REAL
#define NN_FILE "models/nn/operators/lstm.c"
enum { X, W_IH, W_HH, B_IH, B_HH, Y, GATES, CELL };
enum { N, T, INPUTS, GATE, H };
#include "models/nn/convert.h"
#include "models/nn/cuda/on_cuda.h"
#include "models/nn/fast.h"
#include "models/nn/gemm/gemm.h"
#include "models/nn/maths.h"
#include "models/nn/plain.h"
#include "models/nn/types.h"

/* One row's step: gates (4 h) from sums, cells and y; `before` NULL: there are no cells yet. */
NN_LOOPS cells_loops(float *restrict gates, const float *before, size_t h, float *restrict cell,
                     float *restrict y)
{
    float *restrict f = gates + h, *restrict g = gates + 2 * h, *restrict o = gates + 3 * h;
#pragma omp simd
    for (size_t k = 0; k < h; k++) {
        gates[k] = nn_sigmoid(gates[k]);
        f[k] = nn_sigmoid(f[k]);
        g[k] = nn_tanh(g[k]);
        o[k] = nn_sigmoid(o[k]);
        cell[k] = gates[k] * g[k] + (before != NULL ? f[k] * before[k] : 0);
        y[k] = o[k] * nn_tanh(cell[k]);
    }
}
NN_KERNEL(cells, (float *gates, const float *before, size_t h, float *cell, float *y),
          (gates, before, h, cell, y))

/* The slopes dz (4 h) of those sums by dy + dh; dc (h) is the cell's from the step behind, and
 * becomes that for the step before. y is made again, unless it is NULL. */
NN_LOOPS slopes_loops(const float *gates, const float *cell, const float *before, const float *dy,
                      const float *dh, size_t h, float *restrict dc, float *restrict dz,
                      float *restrict y)
{
#pragma omp simd
    for (size_t k = 0; k < h; k++) {
        const float i = gates[k], f = gates[h + k], g = gates[2 * h + k], o = gates[3 * h + k];
        const float squashed = nn_tanh(cell[k]), slope = dy[k] + (dh != NULL ? dh[k] : 0);
        const float into = (dh != NULL ? dc[k] : 0) + slope * o * (1 - squashed * squashed);
        dz[k] = into * g * i * (1 - i);
        dz[h + k] = before != NULL ? into * before[k] * f * (1 - f) : 0;
        dz[2 * h + k] = into * i * (1 - g * g);
        dz[3 * h + k] = slope * squashed * o * (1 - o);
        dc[k] = into * f;
        if (y != NULL)
            y[k] = o * squashed;
    }
}
NN_KERNEL(slopes,
          (const float *gates, const float *cell, const float *before, const float *dy,
           const float *dh, size_t h, float *dc, float *dz, float *y),
          (gates, cell, before, dy, dh, h, dc, dz, y))

/* -- workspace -------------------------------------------------------------------------------- */

/* Arrays in float: those of versions in 16 bits widened, and what passes make on their way. */
struct lstm {
    float *x, *w_ih, *w_hh, *y, *dy, *dx; /* NULL: not wanted */
    float *bias, *last, *dz, *dc, *dh;    /* last: y of the step before */
    double *sums;
    void *work; /* of products */
};

static float *floats(char **at, size_t count)
{
    float *here = (float *)(void *)*at;
    *at += nn_aligned(count * sizeof(float));
    return here;
}

/* Places from *at on, which goes on behind them. */
static struct lstm places(const struct nn_call *call, enum nn_type type, char **at)
{
    const size_t *size = call->shape->size, rows = size[N] * size[T], h = size[H];
    struct lstm s = {.x = call->value[X],
                     .w_ih = call->value[W_IH],
                     .w_hh = call->value[W_HH],
                     .y = call->value[Y],
                     .dy = call->gradient[Y],
                     .dx = call->gradient[X]};
    if (nn_16_bits(type)) {
        s.x = floats(at, rows * size[INPUTS]);
        s.w_ih = floats(at, size[GATE] * size[INPUTS]);
        s.w_hh = floats(at, size[GATE] * h);
        s.y = floats(at, rows * h);
        s.dy = floats(at, rows * h);
        s.dx = floats(at, rows * size[INPUTS]);
    }
    s.bias = floats(at, size[GATE]);
    s.last = floats(at, rows * h);
    s.dz = floats(at, rows * size[GATE]);
    s.dc = floats(at, size[N] * h);
    s.dh = floats(at, size[N] * h);
    s.sums = (double *)(void *)*at;
    *at += nn_aligned(nn_columns_bytes(rows, size[GATE]));
    s.work = *at;
    return s;
}

static struct nn_matrix steps_of(float *at, size_t stride)
{
    return nn_rows_of(at, NN_FLOAT, stride);
}

/* All steps' sums of x; a step's of y; a step's dh; dx, dw_ih, dw_hh. */
enum product { OF_X, OF_Y, TO_Y, TO_X, TO_W_IH, TO_W_HH, PRODUCTS };

static struct nn_gemm product(const struct nn_call *call, const struct lstm *s, enum product which,
                              size_t step)
{
    const size_t *size = call->shape->size, n = size[N], t = size[T], g = size[GATE], h = size[H];
    const size_t i = size[INPUTS], rows = n * t;
    float *gates = call->value[GATES];
    if (which == OF_X)
        return nn_gemm_of(rows, g, i, steps_of(s->x, i), nn_columns_of(s->w_ih, NN_FLOAT, i),
                          steps_of(gates, g), false, s->bias);
    if (which == OF_Y)
        return nn_gemm_of(n, g, h, steps_of(s->y + (step > 0 ? step - 1 : 0) * h, t * h),
                          nn_columns_of(s->w_hh, NN_FLOAT, h), steps_of(gates + step * g, t * g),
                          true, NULL);
    if (which == TO_Y)
        return nn_gemm_of(n, h, g, steps_of(s->dz + step * g, t * g), steps_of(s->w_hh, h),
                          steps_of(s->dh, h), false, NULL);
    if (which == TO_X)
        return nn_gemm_of(rows, i, g, steps_of(s->dz, g), steps_of(s->w_ih, i), steps_of(s->dx, i),
                          nn_adds(call, X), NULL);
    const bool of_x = which == TO_W_IH;
    return nn_gemm_of(g, of_x ? i : h, rows, nn_columns_of(s->dz, NN_FLOAT, g),
                      of_x ? steps_of(s->x, i) : steps_of(s->last, h),
                      steps_of(call->gradient[of_x ? W_IH : W_HH], of_x ? i : h),
                      nn_adds(call, of_x ? W_IH : W_HH), NULL);
}

static size_t work_in(const struct nn_shape *shape, enum nn_type type)
{
    char *at = NULL;
    struct nn_gemm products[2 * PRODUCTS];
    for (int i = 0; i < 2 * PRODUCTS; i++) {
        const struct nn_call call = {.shape = shape, .add = i < PRODUCTS ? 0 : ~0U};
        const struct lstm s = {0};
        products[i] = product(&call, &s, (enum product)(i % PRODUCTS), 0);
    }
    const struct nn_call call = {.shape = shape};
    places(&call, type, &at);
    return (size_t)(uintptr_t)at + nn_gemm_most(products, 2 * PRODUCTS);
}

NN_EACH_WORK

/* The workspace, with what a version in 16 bits has widened. */
static struct lstm begin(const struct nn_call *call, enum nn_type type)
{
    const size_t *size = call->shape->size;
    char *at = call->work;
    const struct lstm s = places(call, type, &at);
    if (!nn_16_bits(type))
        return s;
    nn_widen(call->value[X], type, size[N] * size[T] * size[INPUTS], s.x);
    nn_widen(call->value[W_IH], type, size[GATE] * size[INPUTS], s.w_ih);
    nn_widen(call->value[W_HH], type, size[GATE] * size[H], s.w_hh);
    return s;
}

static enum yp_status run(const struct nn_call *call, const struct lstm *s, enum product which,
                          size_t step)
{
    const struct nn_gemm gemm = product(call, s, which, step);
    return nn_gemm(&gemm, s->work);
}

/* -- passes ----------------------------------------------------------------------------------- */

static enum yp_status forward_in(const struct nn_call *call, enum nn_type type)
{
    const size_t *size = call->shape->size, n = size[N], t = size[T], g = size[GATE], h = size[H];
    const float *b_ih = call->value[B_IH], *b_hh = call->value[B_HH];
    const struct lstm s = begin(call, type);
    float *gates = call->value[GATES], *cell = call->value[CELL];
    cells_kernel *cells = best_cells();
    for (size_t k = 0; k < g; k++)
        s.bias[k] = b_ih[k] + b_hh[k];
    enum yp_status status = run(call, &s, OF_X, 0);
    for (size_t step = 0; step < t && status == YP_OK; step++) {
        if (step > 0)
            status = run(call, &s, OF_Y, step);
        NN_PARALLEL_FOR(n * g > NN_CHUNK, i, n, 1, {
            const size_t row = i * t + step;
            cells(gates + row * g, step > 0 ? cell + (row - 1) * h : NULL, h, cell + row * h,
                  s.y + row * h);
        });
    }
    if (nn_16_bits(type))
        nn_narrow(s.y, n * t * h, type, call->value[Y]);
    return status;
}

static enum yp_status vjp_in(const struct nn_call *call, enum nn_type type)
{
    const size_t *size = call->shape->size, n = size[N], t = size[T], g = size[GATE], h = size[H];
    const struct lstm s = begin(call, type);
    const float *gates = call->value[GATES], *cell = call->value[CELL];
    const bool last = call->gradient[W_HH] != NULL;
    slopes_kernel *slopes = best_slopes();
    enum yp_status status = YP_OK;
    if (nn_16_bits(type))
        nn_widen(call->gradient[Y], type, n * t * h, s.dy);
    for (size_t step = t; step-- > 0 && status == YP_OK;) {
        NN_PARALLEL_FOR(n * g > NN_CHUNK, i, n, 1, {
            const size_t row = i * t + step;
            if (step == 0 && last)
                memset(s.last + row * h, 0, h * sizeof(float));
            slopes(gates + row * g, cell + row * h, step > 0 ? cell + (row - 1) * h : NULL,
                   s.dy + row * h, step + 1 < t ? s.dh + i * h : NULL, h, s.dc + i * h,
                   s.dz + row * g, step + 1 < t && last ? s.last + (row + 1) * h : NULL);
        });
        if (step > 0)
            status = run(call, &s, TO_Y, step);
    }
    if (status == YP_OK && call->gradient[X] != NULL) {
        if (nn_16_bits(type) && nn_adds(call, X))
            nn_widen(call->gradient[X], type, n * t * size[INPUTS], s.dx);
        status = run(call, &s, TO_X, 0);
        if (nn_16_bits(type))
            nn_narrow(s.dx, n * t * size[INPUTS], type, call->gradient[X]);
    }
    if (status == YP_OK && call->gradient[W_IH] != NULL)
        status = run(call, &s, TO_W_IH, 0);
    if (status == YP_OK && last)
        status = run(call, &s, TO_W_HH, 0);
    if (call->gradient[B_IH] != NULL || call->gradient[B_HH] != NULL)
        nn_columns(s.dz, NN_FLOAT, n * t, g, s.sums);
    nn_put_sums(call, B_IH, s.sums, g);
    nn_put_sums(call, B_HH, s.sums, g);
    return status;
}

NN_EACH_TYPE

/* -- on a GPU --------------------------------------------------------------------------------- */

/* The places of the version in float: a product there takes either type as it is. */
static size_t work_cuda(const struct nn_shape *shape)
{
    char *at = NULL;
    const struct nn_call call = {.shape = shape};
    places(&call, NN_FLOAT, &at);
    return (size_t)(uintptr_t)at +
           nn_cuda_columns_bytes(shape->size[N] * shape->size[T], shape->size[GATE]);
}

static struct lstm places_on(const struct nn_call *call)
{
    char *at = call->work;
    struct lstm s = places(call, NN_FLOAT, &at);
    s.sums = (double *)(void *)at; /* that many more */
    return s;
}

static enum yp_status product_on(const struct nn_cuda *cuda, const struct nn_call *call,
                                 enum nn_type type, const struct lstm *s, enum product which,
                                 size_t step)
{
    struct nn_gemm gemm = product(call, s, which, step);
    if (which == OF_X || which == OF_Y)
        gemm.a.type = type;
    if (which == OF_Y) /* a place among elements of either type */
        gemm.a.at = nn_from(call->value[Y], (step - 1) * call->shape->size[H], type);
    if (which != TO_W_HH)
        gemm.b.type = type;
    if (which == TO_X)
        gemm.c.type = type;
    return nn_cuda_product(cuda, call->device, &gemm);
}

static struct nn_cuda_lstm step_of(const struct nn_call *call, enum nn_type type,
                                   const struct lstm *s)
{
    const size_t *size = call->shape->size;
    return (struct nn_cuda_lstm){.n = size[N],
                                 .t = size[T],
                                 .h = size[H],
                                 .type = type,
                                 .gates = call->value[GATES],
                                 .cell = call->value[CELL],
                                 .y = call->value[Y],
                                 .dy = call->gradient[Y],
                                 .dh = s->dh,
                                 .dc = s->dc,
                                 .dz = s->dz,
                                 .last = s->last};
}

static enum yp_status forward_on(const struct nn_cuda *cuda, const struct nn_call *call,
                                 enum nn_type type)
{
    const size_t *size = call->shape->size;
    const struct lstm s = places_on(call);
    const struct nn_cuda_add bias = {size[GATE], NN_FLOAT, call->value[B_IH], call->value[B_HH],
                                     s.bias};
    struct nn_cuda_lstm job = step_of(call, type, &s);
    enum yp_status status = cuda->add(call->device, &bias);
    if (status == YP_OK)
        status = product_on(cuda, call, type, &s, OF_X, 0);
    for (; job.step < size[T] && status == YP_OK; job.step++) {
        if (job.step > 0)
            status = product_on(cuda, call, type, &s, OF_Y, job.step);
        if (status == YP_OK)
            status = cuda->lstm[NN_FORWARD](call->device, &job);
    }
    return status;
}

static enum yp_status vjp_on(const struct nn_cuda *cuda, const struct nn_call *call,
                             enum nn_type type)
{
    static const struct {
        int tensor;
        enum product by;
    } products[] = {{X, TO_X}, {W_IH, TO_W_IH}, {W_HH, TO_W_HH}};
    const size_t *size = call->shape->size;
    const struct lstm s = places_on(call);
    struct nn_cuda_lstm job = step_of(call, type, &s);
    enum yp_status status = YP_OK;
    for (job.step = size[T]; job.step-- > 0 && status == YP_OK;) {
        status = cuda->lstm[NN_VJP](call->device, &job);
        if (status == YP_OK && job.step > 0)
            status = product_on(cuda, call, type, &s, TO_Y, job.step);
    }
    for (int i = 0; i < 3 && status == YP_OK; i++)
        if (call->gradient[products[i].tensor] != NULL)
            status = product_on(cuda, call, type, &s, products[i].by, 0);
    for (int i = B_IH; i <= B_HH && status == YP_OK; i++) {
        const struct nn_cuda_columns sums = {.n = size[N] * size[T],
                                             .c = size[GATE],
                                             .add = nn_adds(call, i),
                                             .dy = s.dz,
                                             .sums = call->gradient[i],
                                             .work = s.sums};
        status = cuda->columns(call->device, &sums);
    }
    return status;
}

NN_ON_CUDA

static size_t plain_work(const struct nn_shape *shape)
{
    return (shape->size[GATE] + 2 * shape->size[H]) * sizeof(double);
}

static double flops(const struct nn_shape *shape, enum nn_pass pass)
{
    const size_t *size = shape->size;
    const double rows = (double)size[N] * (double)size[T], h = (double)size[H];
    const double products = 8 * rows * h * ((double)size[INPUTS] + h);
    return pass == NN_VJP ? 2 * products + rows * h * (NN_FUNCTION + 24)
                          : products + rows * h * (5 * NN_FUNCTION + 8);
}

const struct nn_operator nn_lstm =
    {
        .name = "lstm",
        .dims = "ntigh",
        .tensors = {{"x", "nti", .role = NN_INPUT, .adds = true},
                    {"w_ih", "gi", .role = NN_PARAMETER, .adds = true, .domain = {.high = 0.25}},
                    {"w_hh", "gh", .role = NN_PARAMETER, .adds = true, .domain = {.high = 0.25}},
                    {"b_ih", "g", .role = NN_PARAMETER, .adds = true, .unread = true},
                    {"b_hh", "g", .role = NN_PARAMETER, .adds = true, .unread = true},
                    {"y", "nth", .role = NN_OUTPUT},
                    {"gates", "ntg", .role = NN_SAVED},
                    {"cell", "nth", .role = NN_SAVED}},
        .shapes = {{"one", .size = {1, 1, 1, 4, 1}},
                   {"odd", .size = {3, 3, 5, 28, 7}},
                   {"small", .size = {22, 4, 4, 256, 64}},
                   {"medium", .size = {352, 4, 64, 256, 64}}},
        NN_PLAIN,
        .plain_work = plain_work,
        .flops = flops,
        /* At "one" there is one number of what nn_exp() is off, 2^-22, and no sum. */
        .versions = {{NN_FP32, "cpu", .forward = forward, .vjp = vjp, .work = work, .multiple = 5},
                     {NN_BF16, "cpu", .forward = forward_bf16, .vjp = vjp_bf16, .work = work_bf16,
                      .types = "bbbffbff", .gradients = "bffffbff", .multiple = 5},
                     {NN_FP16, "cpu", .forward = forward_fp16, .vjp = vjp_fp16, .work = work_fp16,
                      .types = "bbbffbff", .gradients = "bffffbff", .multiple = 5},
                     {NN_FP32, "cuda", .forward = forward_cuda, .vjp = vjp_cuda, .work = work_cuda},
                     {NN_BF16, "cuda", .forward = forward_cuda_bf16, .vjp = vjp_cuda_bf16,
                      .work = work_cuda, .types = "bbbffbff", .gradients = "bffffbff",
                      .rounding = {[X] = 0x1p-9,
                                   [W_IH] = 0x1p-9,
                                   [W_HH] = 0x1p-9,
                                   [B_IH] = 0x1p-9,
                                   [B_HH] = 0x1p-9,
                                   [Y] = 0x1p-9,
                                   [GATES] = 0x1p-9,
                                   [CELL] = 0x1p-9}},
                     {NN_FP16, "cuda", .forward = forward_cuda_fp16, .vjp = vjp_cuda_fp16,
                      .work = work_cuda, .types = "bbbffbff", .gradients = "bffffbff",
                      .rounding = {[X] = 0x1p-12,
                                   [W_IH] = 0x1p-12,
                                   [W_HH] = 0x1p-12,
                                   [B_IH] = 0x1p-12,
                                   [B_HH] = 0x1p-12,
                                   [Y] = 0x1p-12,
                                   [GATES] = 0x1p-12,
                                   [CELL] = 0x1p-12}}},
};

#else
/* Gate `at` of row `row` before its function. */
static REAL NAME(sum)(const struct nn_call *call, size_t row, size_t at)
{
    const size_t *size = call->shape->size;
    const REAL *x = (const REAL *)call->value[X] + row * size[INPUTS];
    const REAL *y = (const REAL *)call->value[Y] + (row - 1) * size[H];
    const REAL *w_ih = (const REAL *)call->value[W_IH] + at * size[INPUTS];
    const REAL *w_hh = (const REAL *)call->value[W_HH] + at * size[H];
    REAL sum = ((const REAL *)call->value[B_IH])[at] + ((const REAL *)call->value[B_HH])[at];
    for (size_t i = 0; i < size[INPUTS]; i++)
        sum += w_ih[i] * x[i];
    for (size_t k = 0; k < size[H] && row % size[T] > 0; k++)
        sum += w_hh[k] * y[k];
    return sum;
}

static void NAME(forward)(const struct nn_call *call)
{
    const size_t *size = call->shape->size, h = size[H];
    REAL *y = call->value[Y], *gates = call->value[GATES], *cell = call->value[CELL];
    for (size_t row = 0; row < size[N] * size[T]; row++, gates += size[GATE]) {
        for (size_t k = 0; k < size[GATE]; k++) {
            REAL sum = NAME(sum)(call, row, k);
            gates[k] = k / h == 2 ? tanh(sum) : 1 / (1 + exp(-sum));
        }
        for (size_t k = 0; k < h; k++) {
            REAL before = row % size[T] > 0 ? cell[(row - 1) * h + k] : 0;
            REAL now = gates[h + k] * before + gates[k] * gates[2 * h + k];
            cell[row * h + k] = now;
            y[row * h + k] = gates[3 * h + k] * tanh(now);
        }
    }
}

/* dz (4 h) of a row; dh and dc (h) are sums of slopes from the step behind, and become those for
 * the step before. */
static void NAME(row_vjp)(const struct nn_call *call, size_t row, REAL *dz, REAL *dh, REAL *dc)
{
    const size_t *size = call->shape->size, h = size[H];
    const REAL *gates = (const REAL *)call->value[GATES] + row * size[GATE];
    const REAL *cell = (const REAL *)call->value[CELL] + row * h, *w_hh = call->value[W_HH];
    const REAL *dy = (const REAL *)call->gradient[Y] + row * h;
    for (size_t k = 0; k < h; k++) {
        REAL i = gates[k], f = gates[h + k], g = gates[2 * h + k], o = gates[3 * h + k];
        REAL slope = dy[k] + dh[k], squashed = tanh(cell[k]);
        REAL before = row % size[T] > 0 ? cell[k - h] : 0;
        dc[k] += slope * o * (1 - squashed * squashed);
        dz[k] = dc[k] * g * i * (1 - i);
        dz[h + k] = dc[k] * before * f * (1 - f);
        dz[2 * h + k] = dc[k] * i * (1 - g * g);
        dz[3 * h + k] = slope * squashed * o * (1 - o);
        dc[k] *= f;
    }
    memset(dh, 0, h * sizeof *dh);
    for (size_t g = 0; g < size[GATE]; g++)
        for (size_t k = 0; k < h; k++)
            dh[k] += dz[g] * w_hh[g * h + k];
}

static void NAME(vjp)(const struct nn_call *call)
{
    const size_t *size = call->shape->size, h = size[H], inputs = size[INPUTS], t = size[T];
    const REAL *x = call->value[X], *w_ih = call->value[W_IH], *cell = call->value[CELL];
    const REAL *gates = call->value[GATES];
    REAL *dx = call->gradient[X], *dw_ih = call->gradient[W_IH], *dw_hh = call->gradient[W_HH];
    REAL *db_ih = call->gradient[B_IH], *db_hh = call->gradient[B_HH];
    REAL *dz = call->work, *dh = dz + size[GATE], *dc = dh + h;
    memset(dx, 0, size[N] * t * inputs * sizeof *dx);
    memset(dw_ih, 0, size[GATE] * inputs * sizeof *dw_ih);
    memset(dw_hh, 0, size[GATE] * h * sizeof *dw_hh);
    memset(db_ih, 0, size[GATE] * sizeof *db_ih);
    for (size_t at = size[N] * t; at-- > 0;) {
        if (at % t == t - 1)
            memset(dh, 0, 2 * h * sizeof *dh);
        NAME(row_vjp)(call, at, dz, dh, dc);
        for (size_t g = 0; g < size[GATE]; g++) {
            db_ih[g] += dz[g];
            for (size_t k = 0; k < inputs; k++) {
                dx[at * inputs + k] += dz[g] * w_ih[g * inputs + k];
                dw_ih[g * inputs + k] += dz[g] * x[at * inputs + k];
            }
        }
        for (size_t k = 0; k < h && at % t > 0; k++) {
            const REAL y = gates[(at - 1) * size[GATE] + 3 * h + k] * tanh(cell[(at - 1) * h + k]);
            for (size_t g = 0; g < size[GATE]; g++)
                dw_hh[g * h + k] += dz[g] * y;
        }
    }
    memcpy(db_hh, db_ih, size[GATE] * sizeof *db_hh);
}
#endif
