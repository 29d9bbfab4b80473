/* y (b, t, d) = position (t, d) + the rows `first` (d), x (b, p, d) of each image, with t = p + 1:
 * the sequence of a vision transformer from its patches, behind a class token (Dosovitskiy et al.,
 * "An image is worth 16x16 words", 2021). dx is dy without its first row, dfirst the sum of that
 * row over images, dposition that of dy. */
#ifndef REAL
#define NN_FILE "models/nn/operators/tokens.c"
enum { X, FIRST, POSITION, Y };
enum { B, T, D, P };
#include "models/nn/fast.h"
#include "models/nn/plain.h"

NN_LOOPS sums_loops(const float *a, const float *b, size_t n, float *restrict y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = a[i] + b[i];
}
NN_KERNEL(sums, (const float *a, const float *b, size_t n, float *y), (a, b, n, y))

static enum yp_status forward(const struct nn_call *call)
{
    const size_t t = call->shape->size[T], d = call->shape->size[D],
                 rows = call->shape->size[B] * t;
    const float *x = call->value[X], *first = call->value[FIRST], *position = call->value[POSITION];
    float *y = call->value[Y];
    sums_kernel *sums = best_sums();
    NN_PARALLEL_FOR(rows * d > NN_FEW * NN_CHUNK, i, rows, 1,
                    sums(i % t == 0 ? first : x + (i / t * (t - 1) + i % t - 1) * d,
                         position + i % t * d, d, y + i * d));
    return YP_OK;
}

/* The sums over images of row k of dy. */
static void row_sums(const struct nn_call *call, size_t k, float *first, float *position)
{
    const size_t b = call->shape->size[B], t = call->shape->size[T], d = call->shape->size[D];
    const float *dy = call->gradient[Y];
    for (size_t c = 0; c < d; c++) {
        double sum = 0;
        for (size_t i = 0; i < b; i++)
            sum += (double)dy[(i * t + k) * d + c];
        if (k == 0 && first != NULL)
            first[c] = (float)(sum + (nn_adds(call, FIRST) ? (double)first[c] : 0));
        if (position != NULL)
            position[k * d + c] =
                (float)(sum + (nn_adds(call, POSITION) ? (double)position[k * d + c] : 0));
    }
}

static enum yp_status vjp(const struct nn_call *call)
{
    const size_t b = call->shape->size[B], t = call->shape->size[T], d = call->shape->size[D];
    const float *dy = call->gradient[Y];
    float *dx = call->gradient[X];
    for (size_t i = 0; i < b && dx != NULL; i++)
        nn_copy(dy + (i * t + 1) * d, (t - 1) * d, dx + i * (t - 1) * d);
    NN_PARALLEL_FOR(b * t * d > NN_FEW * NN_CHUNK, k, t, 1,
                    row_sums(call, k, call->gradient[FIRST], call->gradient[POSITION]));
    return YP_OK;
}

static double flops(const struct nn_shape *shape, enum nn_pass pass)
{
    (void)pass;
    return (double)(shape->size[B] * shape->size[T] * shape->size[D]);
}

const struct nn_operator nn_tokens = {
    .name = "tokens",
    .dims = "btdp",
    .tensors = {{"x", "bpd", .role = NN_INPUT, .unread = true},
                {"first", "d", .role = NN_PARAMETER, .adds = true, .unread = true},
                {"position", "td", .role = NN_PARAMETER, .adds = true, .unread = true},
                {"y", "btd", .role = NN_OUTPUT}},
    .shapes = {{"one", .size = {1, 2, 1, 1}},
               {"odd", .size = {3, 5, 7, 4}},
               {"small", .size = {2, 17, 64, 16}},
               {"medium", .size = {4, 257, 1280, 256}}},
    NN_PLAIN,
    .flops = flops,
    .versions = {{NN_FP32, "cpu", .forward = forward, .vjp = vjp}},
};

#else
static void NAME(forward)(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    const REAL *x = call->value[X], *first = call->value[FIRST], *position = call->value[POSITION];
    REAL *y = call->value[Y];
    for (size_t b = 0; b < size[B]; b++)
        for (size_t k = 0; k < size[T]; k++)
            for (size_t d = 0; d < size[D]; d++, y++)
                *y = position[k * size[D] + d] + (k == 0 ? first[d] : *x++);
}

static void NAME(vjp)(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    const REAL *dy = call->gradient[Y];
    REAL *dx = call->gradient[X], *first = call->gradient[FIRST];
    REAL *position = call->gradient[POSITION];
    memset(first, 0, size[D] * sizeof *first);
    memset(position, 0, size[T] * size[D] * sizeof *position);
    for (size_t b = 0; b < size[B]; b++)
        for (size_t k = 0; k < size[T]; k++)
            for (size_t d = 0; d < size[D]; d++, dy++) {
                position[k * size[D] + d] += *dy;
                if (k == 0)
                    first[d] += *dy;
                else
                    *dx++ = *dy;
            }
}
#endif
