/* y (b, t, d) = position (t, d) + the rows `first` (d), x (b, p, d) of each image, with t = p + 1:
 * the sequence of a vision transformer from its patches, behind a class token (Dosovitskiy et al.,
 * "An image is worth 16x16 words", 2021). dx is dy without its first row, dfirst the sum of that
 * row over images, dposition that of dy. */
#ifndef REAL
#define NN_FILE "models/nn/operators/tokens.c"
enum { X, FIRST, POSITION, Y };
enum { B, T, D, P };
#include "models/nn/cuda/on_cuda.h"
#include "models/nn/fast.h"
#include "models/nn/plain.h"
#include "models/nn/types.h"

/* y = x + position; x is a row of images or, where it is the first one, of floats. */
NN_LOOPS row_loops(enum nn_type type, const void *x, const float *first, const float *position,
                   size_t n, void *restrict y)
{
    for (size_t i = 0; i < n; i++)
        nn_put(y, i, (first != NULL ? first[i] : nn_get(x, i, type)) + position[i], type);
}
NN_TYPED_KERNEL(row, (const void *x, const float *first, const float *position, size_t n, void *y),
                (x, first, position, n, y))

static enum yp_status forward_in(const struct nn_call *call, enum nn_type type)
{
    const size_t t = call->shape->size[T], d = call->shape->size[D],
                 rows = call->shape->size[B] * t;
    const float *first = call->value[FIRST], *position = call->value[POSITION];
    row_kernel *row = best_row(type);
    NN_PARALLEL_FOR(rows * d > NN_FEW * NN_CHUNK, i, rows, 1, {
        const size_t from = i % t > 0 ? i / t * (t - 1) + i % t - 1 : 0;
        row(nn_from(call->value[X], from * d, type), i % t == 0 ? first : NULL,
            position + i % t * d, d, nn_from(call->value[Y], i * d, type));
    });
    return YP_OK;
}

/* The sums over images of row k of dy. */
static void row_sums(const struct nn_call *call, enum nn_type type, size_t k, float *first,
                     float *position)
{
    const size_t b = call->shape->size[B], t = call->shape->size[T], d = call->shape->size[D];
    const void *dy = call->gradient[Y];
    for (size_t c = 0; c < d; c++) {
        double sum = 0;
        for (size_t i = 0; i < b; i++)
            sum += (double)nn_get(dy, (i * t + k) * d + c, type);
        if (k == 0 && first != NULL)
            first[c] = (float)(sum + (nn_adds(call, FIRST) ? (double)first[c] : 0));
        if (position != NULL)
            position[k * d + c] =
                (float)(sum + (nn_adds(call, POSITION) ? (double)position[k * d + c] : 0));
    }
}

static enum yp_status vjp_in(const struct nn_call *call, enum nn_type type)
{
    const size_t b = call->shape->size[B], t = call->shape->size[T], d = call->shape->size[D];
    const size_t count = (t - 1) * d;
    for (size_t i = 0; i < b && call->gradient[X] != NULL; i++)
        nn_copy(nn_from(call->gradient[Y], (i * t + 1) * d, type), count * nn_width(type),
                nn_from(call->gradient[X], i * count, type));
    NN_PARALLEL_FOR(b * t * d > NN_FEW * NN_CHUNK, k, t, 1,
                    row_sums(call, type, k, call->gradient[FIRST], call->gradient[POSITION]));
    return YP_OK;
}

NN_EACH_TYPE

static struct nn_cuda_tokens job_of(const struct nn_call *call, enum nn_type type)
{
    const size_t *size = call->shape->size;
    return (struct nn_cuda_tokens){.type = type,
                                   .b = size[B],
                                   .t = size[T],
                                   .d = size[D],
                                   .add_dfirst = nn_adds(call, FIRST),
                                   .add_dposition = nn_adds(call, POSITION),
                                   .x = call->value[X],
                                   .first = call->value[FIRST],
                                   .position = call->value[POSITION],
                                   .dy = call->gradient[Y],
                                   .y = call->value[Y],
                                   .dx = call->gradient[X],
                                   .dfirst = call->gradient[FIRST],
                                   .dposition = call->gradient[POSITION]};
}

NN_ON_CUDA_BY_JOB(tokens, struct nn_cuda_tokens)

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
    NN_EACH_VERSION(NULL, NULL, "bffb", "bffb"),
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
