/* y (b, p, q, c) = the convolution of each channel of x (b, h, w, c) with its own kernel, of
 * weights (r, s, c), plus bias (c) or none: y_bijc = bias_c + sum over u, v of weights_uvc x at (i
 * stride - pad
 * + u, j stride - pad + v), which is 0 outside. p is (h + 2 pad - r) / stride + 1, rounded down,
 * and q like it. */
#ifndef REAL
#define NN_FILE "models/nn/operators/depthwise_convolution.c"
enum { X, WEIGHTS, BIAS, Y };
enum { B, H, W, P, Q, R, S, C };
#include "models/nn/cuda/on_cuda.h"
#include "models/nn/fast.h"
#include "models/nn/patches.h"
#include "models/nn/plain.h"
#include "models/nn/types.h"

/* Taps of one point, lines by columns of them: elements from one to the next, in the image or grid
 * `x` and in the weights `w`. */
struct taps {
    const void *x, *w;
    size_t lines, columns;
    ptrdiff_t x_line, x_column, w_line, w_column;
};

enum { BLOCK = 256 }; /* channels whose sums are made at once */

NN_LOOPS products_loops(enum nn_type type, const void *x, const void *w, size_t n,
                        float *restrict sum)
{
    for (size_t k = 0; k < n; k++)
        sum[k] += nn_get(x, k, type) * nn_get(w, k, type);
}

/* y = bias + the sum of x w over taps; added to what is there with `add`. */
NN_LOOPS point_loops(enum nn_type type, const struct taps *t, const float *bias, bool add, size_t c,
                     void *restrict y)
{
    float sum[BLOCK];
    for (size_t from = 0; from < c; from += BLOCK) {
        const size_t some = nn_least(BLOCK, c - from);
        for (size_t k = 0; k < some; k++)
            sum[k] = (bias != NULL ? bias[from + k] : 0) + (add ? nn_get(y, from + k, type) : 0);
        for (size_t i = 0; i < t->lines; i++)
            for (size_t j = 0; j < t->columns; j++) {
                const ptrdiff_t line = (ptrdiff_t)i, column = (ptrdiff_t)j;
                const ptrdiff_t x = line * t->x_line + column * t->x_column;
                const ptrdiff_t w = line * t->w_line + column * t->w_column;
                products_loops(type, nn_from(t->x, from + (size_t)x, type),
                               nn_from(t->w, from + (size_t)w, type), some, sum);
            }
        for (size_t k = 0; k < some; k++)
            nn_put(y, from + k, sum[k], type);
    }
}
NN_TYPED_KERNEL(point, (const struct taps *t, const float *bias, bool add, size_t c, void *y),
                (t, bias, add, c, y))

NN_LOOPS sums_loops(enum nn_type type, const void *x, const void *dy, size_t c, double *restrict dw)
{
    for (size_t k = 0; k < c; k++)
        dw[k] += (double)(nn_get(x, k, type) * nn_get(dy, k, type));
}
NN_TYPED_KERNEL(sums, (const void *x, const void *dy, size_t c, double *dw), (x, dy, c, dw))

/* Where tap `at` of point `point` lies on an axis of `size`; false: outside. */
static bool pixel(const struct nn_shape *shape, size_t point, size_t at, size_t size, size_t *where)
{
    *where = point * (size_t)shape->setting[NN_STRIDE] + at - (size_t)shape->setting[NN_PAD];
    return *where < size; /* what is below 0 wraps */
}

/* Of an axis, the taps of a point that are inside: the first tap, where it lies, and how many. */
struct reach {
    size_t tap, at, count;
};

static struct reach taps_of_point(const struct nn_shape *shape, size_t point, size_t taps,
                                  size_t size)
{
    const size_t start = point * (size_t)shape->setting[NN_STRIDE];
    const size_t pad = (size_t)shape->setting[NN_PAD];
    const size_t tap = nn_least(taps, start < pad ? pad - start : 0), at = start + tap - pad;
    return (struct reach){tap, at, at < size ? nn_least(taps - tap, size - at) : 0};
}

/* The same of a pixel: taps are the stride apart, and points go down from the first one's. */
static struct reach taps_of_pixel(const struct nn_shape *shape, size_t where, size_t taps,
                                  size_t points)
{
    const size_t stride = (size_t)shape->setting[NN_STRIDE];
    const size_t at = where + (size_t)shape->setting[NN_PAD];
    /* The first tap whose point is there. */
    const size_t beyond = at / stride < points ? 0 : at / stride - points + 1;
    const size_t tap = at % stride + beyond * stride, point = at / stride - beyond;
    return (struct reach){tap, point,
                          tap < taps ? nn_least((taps - tap + stride - 1) / stride, point + 1) : 0};
}

static void forward_line(const struct nn_call *call, enum nn_type type, size_t line,
                         point_kernel *kernel)
{
    const struct nn_shape *shape = call->shape;
    const size_t *size = shape->size, c = size[C];
    const struct reach row = taps_of_point(shape, line % size[P], size[R], size[H]);
    for (size_t j = 0; j < size[Q]; j++) {
        const struct reach column = taps_of_point(shape, j, size[S], size[W]);
        const size_t from = ((line / size[P] * size[H] + row.at) * size[W] + column.at) * c;
        const struct taps taps = {
            .x = nn_from(call->value[X], from, type),
            .w = nn_from(call->value[WEIGHTS], (row.tap * size[S] + column.tap) * c, type),
            .lines = row.count,
            .columns = column.count,
            .x_line = (ptrdiff_t)(size[W] * c),
            .x_column = (ptrdiff_t)c,
            .w_line = (ptrdiff_t)(size[S] * c),
            .w_column = (ptrdiff_t)c};
        kernel(&taps, call->value[BIAS], false, c,
               nn_from(call->value[Y], (line * size[Q] + j) * c, type));
    }
}

static enum yp_status forward_in(const struct nn_call *call, enum nn_type type)
{
    const size_t *size = call->shape->size, lines = size[B] * size[P];
    point_kernel *kernel = best_point(type);
    NN_PARALLEL_FOR(lines * size[Q] * size[C] > NN_FEW * NN_CHUNK, line, lines, 1,
                    forward_line(call, type, line, kernel));
    return YP_OK;
}

static void dx_line(const struct nn_call *call, enum nn_type type, size_t line,
                    point_kernel *kernel)
{
    const struct nn_shape *shape = call->shape;
    const size_t *size = shape->size, c = size[C], stride = (size_t)shape->setting[NN_STRIDE];
    const struct reach row = taps_of_pixel(shape, line % size[H], size[R], size[P]);
    for (size_t j = 0; j < size[W]; j++) {
        const struct reach column = taps_of_pixel(shape, j, size[S], size[Q]);
        const size_t from = ((line / size[H] * size[P] + row.at) * size[Q] + column.at) * c;
        const struct taps taps = {
            .x = nn_from(call->gradient[Y], from, type),
            .w = nn_from(call->value[WEIGHTS], (row.tap * size[S] + column.tap) * c, type),
            .lines = row.count,
            .columns = column.count,
            .x_line = -(ptrdiff_t)(size[Q] * c),
            .x_column = -(ptrdiff_t)c,
            .w_line = (ptrdiff_t)(stride * size[S] * c),
            .w_column = (ptrdiff_t)(stride * c)};
        kernel(&taps, NULL, nn_adds(call, X), c,
               nn_from(call->gradient[X], (line * size[W] + j) * c, type));
    }
}

/* Lines of y whose sums one thread makes. */
static size_t block_of(const struct nn_shape *shape)
{
    return nn_block_rows(shape->size[B] * shape->size[P], shape->size[Q] * shape->size[C]);
}

/* Sums (r, s, c) of a block of lines. */
static void block_sums(const struct nn_call *call, enum nn_type type, size_t line, size_t end,
                       double *sums, sums_kernel *add)
{
    const struct nn_shape *shape = call->shape;
    const size_t *size = shape->size, c = size[C];
    const void *x = call->value[X], *dy = call->gradient[Y];
    size_t row, column;
    memset(sums, 0, size[R] * size[S] * c * sizeof *sums);
    for (; line < end; line++)
        for (size_t u = 0; u < size[R]; u++) {
            if (!pixel(shape, line % size[P], u, size[H], &row))
                continue;
            for (size_t at = 0; at < size[Q] * size[S]; at++) {
                size_t j = at / size[S], v = at % size[S];
                if (pixel(shape, j, v, size[W], &column))
                    add(nn_from(x, ((line / size[P] * size[H] + row) * size[W] + column) * c, type),
                        nn_from(dy, (line * size[Q] + j) * c, type), c,
                        sums + (u * size[S] + v) * c);
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

static enum yp_status vjp_in(const struct nn_call *call, enum nn_type type)
{
    const size_t *size = call->shape->size, lines = size[B] * size[P],
                 block = block_of(call->shape);
    const size_t width = size[R] * size[S] * size[C], image = size[B] * size[H];
    double *sums = call->work;
    float *dw = call->gradient[WEIGHTS];
    point_kernel *kernel = best_point(type);
    sums_kernel *add_up = best_sums(type);
    NN_PARALLEL_FOR(image * size[W] * size[C] > NN_FEW * NN_CHUNK, line,
                    call->gradient[X] != NULL ? image : 0, 1, dx_line(call, type, line, kernel));
    NN_PARALLEL_FOR(lines * size[Q] * size[C] > NN_FEW * NN_CHUNK, line, dw != NULL ? lines : 0,
                    block,
                    block_sums(call, type, line, nn_least(lines, line + block),
                               sums + line / block * width, add_up));
    if (dw != NULL)
        nn_merge(sums, nn_chunks(lines, block), width);
    nn_put_sums(call, WEIGHTS, sums, width);
    nn_bias_vjp(call, BIAS, call->gradient[Y], type, lines * size[Q], size[C], call->work);
    return YP_OK;
}

NN_EACH_TYPE

NN_ON_CUDA_OF(nn_cuda_depthwise_convolution, nn_cuda_depthwise_convolution_vjp)

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
    NN_EACH_VERSION(work, nn_cuda_depthwise_convolution_work, "bbfb", "bffb"),
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
