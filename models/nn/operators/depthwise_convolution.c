/* y (b, p, q, c) = the convolution of each channel of x (b, h, w, c) with its own kernel, of
 * weights (r, s, c), plus bias (c) or none: y_bijc = bias_c + sum over u, v of weights_uvc x at (i
 * stride - pad
 * + u, j stride - pad + v), which is 0 outside. p is (h + 2 pad - r) / stride + 1, rounded down,
 * and q like it. */
#ifndef REAL
#define NN_FILE "models/nn/operators/depthwise_convolution.c"
enum { X, WEIGHTS, BIAS, Y };
enum { B, H, W, P, Q, R, S, C };
#include "models/nn/fast.h"
#include "models/nn/patches.h"
#include "models/nn/plain.h"

NN_LOOPS products_loops(const float *x, const float *w, size_t c, float *restrict y)
{
    for (size_t k = 0; k < c; k++)
        y[k] += x[k] * w[k];
}
NN_KERNEL(products, (const float *x, const float *w, size_t c, float *y), (x, w, c, y))

NN_LOOPS sums_loops(const float *x, const float *dy, size_t c, double *restrict dw)
{
    for (size_t k = 0; k < c; k++)
        dw[k] += (double)(x[k] * dy[k]);
}
NN_KERNEL(sums, (const float *x, const float *dy, size_t c, double *dw), (x, dy, c, dw))

/* Where tap `at` of point `point` lies on an axis of `size`; false: outside. */
static bool pixel(const struct nn_shape *shape, size_t point, size_t at, size_t size, size_t *where)
{
    *where = point * (size_t)shape->setting[NN_STRIDE] + at - (size_t)shape->setting[NN_PAD];
    return *where < size; /* what is below 0 wraps */
}

/* The point whose tap `at` lies there; false: there is none. */
static bool point_of(const struct nn_shape *shape, size_t where, size_t at, size_t points,
                     size_t *point)
{
    size_t stride = (size_t)shape->setting[NN_STRIDE],
           off = where + (size_t)shape->setting[NN_PAD] - at;
    *point = off / stride;
    return where + (size_t)shape->setting[NN_PAD] >= at && off % stride == 0 && *point < points;
}

static void forward_line(const struct nn_call *call, size_t line, products_kernel *add)
{
    const struct nn_shape *shape = call->shape;
    const size_t *size = shape->size, c = size[C];
    const float *x = call->value[X], *w = call->value[WEIGHTS], *bias = call->value[BIAS];
    float *y = (float *)call->value[Y] + line * size[Q] * c;
    size_t row, column;
    for (size_t j = 0; j < size[Q]; j++, y += c) {
        if (bias != NULL)
            memcpy(y, bias, c * sizeof *y);
        else
            memset(y, 0, c * sizeof *y);
        for (size_t u = 0; u < size[R]; u++) {
            if (!pixel(shape, line % size[P], u, size[H], &row))
                continue;
            for (size_t v = 0; v < size[S]; v++)
                if (pixel(shape, j, v, size[W], &column))
                    add(x + ((line / size[P] * size[H] + row) * size[W] + column) * c,
                        w + (u * size[S] + v) * c, c, y);
        }
    }
}

static enum yp_status forward(const struct nn_call *call)
{
    const size_t *size = call->shape->size, lines = size[B] * size[P];
    products_kernel *add = best_products();
    NN_PARALLEL_FOR(lines * size[Q] * size[C] > NN_FEW * NN_CHUNK, line, lines, 1,
                    forward_line(call, line, add));
    return YP_OK;
}

static void dx_line(const struct nn_call *call, size_t line, products_kernel *add)
{
    const struct nn_shape *shape = call->shape;
    const size_t *size = shape->size, c = size[C];
    const float *dy = call->gradient[Y], *w = call->value[WEIGHTS];
    float *dx = (float *)call->gradient[X] + line * size[W] * c;
    size_t i, j;
    for (size_t at = 0; at < size[W]; at++, dx += c) {
        if (!nn_adds(call, X))
            memset(dx, 0, c * sizeof *dx);
        for (size_t u = 0; u < size[R]; u++) {
            if (!point_of(shape, line % size[H], u, size[P], &i))
                continue;
            for (size_t v = 0; v < size[S]; v++)
                if (point_of(shape, at, v, size[Q], &j))
                    add(dy + ((line / size[H] * size[P] + i) * size[Q] + j) * c,
                        w + (u * size[S] + v) * c, c, dx);
        }
    }
}

/* Lines of y whose sums one thread makes. */
static size_t block_of(const struct nn_shape *shape)
{
    return nn_block_rows(shape->size[B] * shape->size[P], shape->size[Q] * shape->size[C]);
}

/* Sums (r, s, c) of a block of lines. */
static void block_sums(const struct nn_call *call, size_t line, size_t end, double *sums,
                       sums_kernel *add)
{
    const struct nn_shape *shape = call->shape;
    const size_t *size = shape->size, c = size[C];
    const float *x = call->value[X], *dy = call->gradient[Y];
    size_t row, column;
    memset(sums, 0, size[R] * size[S] * c * sizeof *sums);
    for (; line < end; line++)
        for (size_t u = 0; u < size[R]; u++) {
            if (!pixel(shape, line % size[P], u, size[H], &row))
                continue;
            for (size_t at = 0; at < size[Q] * size[S]; at++) {
                size_t j = at / size[S], v = at % size[S];
                if (pixel(shape, j, v, size[W], &column))
                    add(x + ((line / size[P] * size[H] + row) * size[W] + column) * c,
                        dy + (line * size[Q] + j) * c, c, sums + (u * size[S] + v) * c);
            }
        }
}

static size_t work(const struct nn_shape *shape)
{
    const size_t *size = shape->size;
    size_t blocks = nn_chunks(size[B] * size[P], block_of(shape));
    size_t sums = blocks * size[R] * size[S] * size[C] * sizeof(double);
    size_t columns = nn_columns_bytes(size[B] * size[P] * size[Q], size[C]);
    return sums > columns ? sums : columns;
}

static enum yp_status vjp(const struct nn_call *call)
{
    const size_t *size = call->shape->size, lines = size[B] * size[P],
                 block = block_of(call->shape);
    const size_t width = size[R] * size[S] * size[C], image = size[B] * size[H];
    double *sums = call->work;
    float *dw = call->gradient[WEIGHTS];
    products_kernel *add = best_products();
    sums_kernel *add_up = best_sums();
    NN_PARALLEL_FOR(image * size[W] * size[C] > NN_FEW * NN_CHUNK, line,
                    call->gradient[X] != NULL ? image : 0, 1, dx_line(call, line, add));
    NN_PARALLEL_FOR(
        lines * size[Q] * size[C] > NN_FEW * NN_CHUNK, line, dw != NULL ? lines : 0, block,
        block_sums(call, line, nn_least(lines, line + block), sums + line / block * width, add_up));
    if (dw != NULL)
        nn_merge(sums, nn_chunks(lines, block), width);
    nn_put_sums(call, WEIGHTS, sums, width);
    nn_bias_vjp(call, BIAS, call->gradient[Y], false, lines * size[Q], size[C], call->work);
    return YP_OK;
}

static double flops(const struct nn_shape *shape, enum nn_pass pass)
{
    const size_t *size = shape->size;
    double grid = (double)(size[B] * size[P] * size[Q] * size[C]);
    double each = 2 * (double)(size[R] * size[S]);
    return pass == NN_VJP ? grid * (2 * each + 1) : grid * (each + 1);
}

const struct nn_operator nn_depthwise_convolution = {
    .name = "depthwise_convolution",
    .dims = "bhwpqrsc",
    .settings = {"stride", "pad"},
    .tensors = {{"x", "bhwc", .role = NN_INPUT, .adds = true},
                {"weights", "rsc", .role = NN_PARAMETER, .adds = true},
                {"bias", "c", .role = NN_PARAMETER, .adds = true, .optional = true},
                {"y", "bpqc", .role = NN_OUTPUT}},
    .shapes = {{"one", .size = {1, 1, 1, 1, 1, 1, 1, 1}, .setting = {1, 0}},
               {"odd", .size = {2, 7, 5, 4, 3, 3, 3, 3}, .setting = {2, 1}},
               {"small", .size = {1, 16, 16, 16, 16, 7, 7, 40}, .setting = {1, 3}},
               {"medium", .size = {4, 18, 18, 18, 18, 7, 7, 256}, .setting = {1, 3}}},
    NN_PLAIN,
    .flops = flops,
    .versions = {{NN_FP32, "cpu", .forward = forward, .vjp = vjp, .work = work}},
};

#else
#include "models/nn/patches_plain.inc"

static void NAME(forward)(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    const struct nn_patches g = nn_patches_of(call->shape, size[C], size[C]);
    REAL *y = call->value[Y];
    NAME(put_bias)(call->value[BIAS], size[B] * size[P] * size[Q], size[C], y);
    NAME(add_products)(&g, true, call->value[X], y, call->value[WEIGHTS], y);
}

static void NAME(vjp)(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    const struct nn_patches g = nn_patches_of(call->shape, size[C], size[C]);
    REAL *dy = call->gradient[Y], *dx = call->gradient[X], *dweights = call->gradient[WEIGHTS];
    memset(dx, 0, size[B] * size[H] * size[W] * size[C] * sizeof *dx);
    memset(dweights, 0, size[R] * size[S] * size[C] * sizeof *dweights);
    NAME(add_products)(&g, true, dx, dy, call->value[WEIGHTS], dx);
    NAME(add_products)(&g, true, call->value[X], dy, dweights, dweights);
    NAME(sum_bias)(dy, size[B] * size[P] * size[Q], size[C], call->gradient[BIAS]);
}
#endif
