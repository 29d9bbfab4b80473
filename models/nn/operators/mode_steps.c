/* y (n, k, t, c) = x (n, c) + mode (k, c) + position (t, c): the queries of a decoder that predicts
 * k futures of t steps for each of n rows. dx, dmode and dposition are sums of dy. */
#ifndef REAL
#define NN_FILE "models/nn/operators/mode_steps.c"
enum { X, MODE, POSITION, Y };
enum { N, C, K, T };
#include "models/nn/cuda/on_cuda.h"
#include "models/nn/fast.h"
#include "models/nn/plain.h"
#include "models/nn/types.h"

/* Of one row of x. */
NN_LOOPS row_loops(enum nn_type type, const void *x, const float *mode, const float *position,
                   const size_t *size, void *restrict y)
{
    const size_t c = size[C], t = size[T];
    for (size_t k = 0; k < size[K]; k++)
        for (size_t s = 0; s < t; s++)
            for (size_t i = 0; i < c; i++)
                nn_put(y, (k * t + s) * c + i,
                       nn_get(x, i, type) + mode[k * c + i] + position[s * c + i], type);
}
NN_TYPED_KERNEL(row,
                (const void *x, const float *mode, const float *position, const size_t *size,
                 void *y),
                (x, mode, position, size, y))

/* The sums of one row's dy to `part`: (1 + k + t, c), of all of it, of each mode, of each step. */
NN_LOOPS parts_loops(enum nn_type type, const void *dy, const size_t *size, float *restrict part)
{
    const size_t c = size[C], t = size[T];
    float *restrict steps = part + (1 + size[K]) * c;
    memset(part, 0, (1 + size[K] + t) * c * sizeof *part);
    for (size_t k = 0; k < size[K]; k++) {
        float *restrict mode = part + (1 + k) * c;
        for (size_t s = 0; s < t; s++)
            for (size_t i = 0; i < c; i++) {
                const float slope = nn_get(dy, (k * t + s) * c + i, type);
                mode[i] += slope;
                steps[s * c + i] += slope;
            }
        for (size_t i = 0; i < c; i++)
            part[i] += mode[i];
    }
}
NN_TYPED_KERNEL(parts, (const void *dy, const size_t *size, float *part), (dy, size, part))

/* The first of them to dx, unless that is NULL; the others are added to sums. */
NN_LOOPS totals_loops(enum nn_type type, const float *part, size_t c, size_t count, bool add,
                      void *restrict dx, double *restrict sums)
{
    for (size_t i = 0; i < c && dx != NULL; i++)
        nn_put(dx, i, part[i] + (add ? nn_get(dx, i, type) : 0), type);
    for (size_t i = 0; i < count; i++)
        sums[i] += (double)part[c + i];
}
NN_TYPED_KERNEL(totals,
                (const float *part, size_t c, size_t count, bool add, void *dx, double *sums),
                (part, c, count, add, dx, sums))

static size_t row_size(const size_t *size)
{
    return size[K] * size[T] * size[C];
}

static enum yp_status forward_in(const struct nn_call *call, enum nn_type type)
{
    const size_t *size = call->shape->size, width = row_size(size);
    row_kernel *row = best_row(type);
    NN_PARALLEL_FOR(size[N] * width > NN_FEW * NN_CHUNK, i, size[N], 1,
                    row(nn_from(call->value[X], i * size[C], type), call->value[MODE],
                        call->value[POSITION], size, nn_from(call->value[Y], i * width, type)));
    return YP_OK;
}

/* Sums and a row's parts of each block of rows. */
static size_t block_bytes(const size_t *size)
{
    const size_t count = (size[K] + size[T]) * size[C];
    return nn_aligned(count * sizeof(double)) + nn_aligned((size[C] + count) * sizeof(float));
}

static size_t work(const struct nn_shape *shape)
{
    const size_t *size = shape->size;
    return nn_chunks(size[N], nn_block_rows(size[N], row_size(size))) * block_bytes(size);
}

static enum yp_status vjp_in(const struct nn_call *call, enum nn_type type)
{
    const size_t *size = call->shape->size, n = size[N], c = size[C], width = row_size(size);
    const size_t block = nn_block_rows(n, width), blocks = nn_chunks(n, block);
    const size_t count = (size[K] + size[T]) * c;
    double *sums = call->work;
    float *rows = (float *)(void *)((char *)call->work + blocks * count * sizeof *sums);
    void *dx = call->gradient[X];
    parts_kernel *parts = best_parts(type);
    totals_kernel *totals = best_totals(type);
    NN_PARALLEL_FOR(n * width > NN_FEW * NN_CHUNK, b, blocks, 1, {
        float *part = rows + b * (c + count);
        memset(sums + b * count, 0, count * sizeof *sums);
        for (size_t i = b * block; i < nn_least(n, (b + 1) * block); i++) {
            parts(nn_from(call->gradient[Y], i * width, type), size, part);
            totals(part, c, count, nn_adds(call, X), dx != NULL ? nn_from(dx, i * c, type) : NULL,
                   sums + b * count);
        }
    });
    nn_merge(sums, blocks, count);
    nn_put_sums(call, MODE, sums, size[K] * c);
    nn_put_sums(call, POSITION, sums + size[K] * c, size[T] * c);
    return YP_OK;
}

NN_EACH_TYPE

static struct nn_cuda_mode_steps job_of(const struct nn_call *call, enum nn_type type)
{
    const size_t *size = call->shape->size;
    return (struct nn_cuda_mode_steps){.n = size[N],
                                       .c = size[C],
                                       .k = size[K],
                                       .t = size[T],
                                       .type = type,
                                       .add_dx = nn_adds(call, X),
                                       .add_dmode = nn_adds(call, MODE),
                                       .add_dposition = nn_adds(call, POSITION),
                                       .x = call->value[X],
                                       .dy = call->gradient[Y],
                                       .mode = call->value[MODE],
                                       .position = call->value[POSITION],
                                       .y = call->value[Y],
                                       .dx = call->gradient[X],
                                       .dmode = call->gradient[MODE],
                                       .dposition = call->gradient[POSITION]};
}

NN_ON_CUDA_BY_JOB(mode_steps, struct nn_cuda_mode_steps)

static double flops(const struct nn_shape *shape, enum nn_pass pass)
{
    (void)pass;
    return 2 * (double)shape->size[N] * (double)row_size(shape->size);
}

const struct nn_operator nn_mode_steps = {
    .name = "mode_steps",
    .dims = "nckt",
    .tensors = {{"x", "nc", .role = NN_INPUT, .adds = true, .unread = true},
                {"mode", "kc", .role = NN_PARAMETER, .adds = true, .unread = true},
                {"position", "tc", .role = NN_PARAMETER, .adds = true, .unread = true},
                {"y", "nktc", .role = NN_OUTPUT}},
    .shapes = {{"one", .size = {1, 1, 1, 1}},
               {"odd", .size = {5, 7, 3, 4}},
               {"small", .size = {22, 64, 6, 10}},
               {"medium", .size = {96, 256, 16, 10}}},
    NN_PLAIN,
    .flops = flops,
    NN_EACH_VERSION(work, NULL, "bffb", "bffb"),
};

#else
static void NAME(forward)(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    const REAL *x = call->value[X], *mode = call->value[MODE], *position = call->value[POSITION];
    REAL *y = call->value[Y];
    for (size_t i = 0; i < size[N]; i++)
        for (size_t k = 0; k < size[K]; k++)
            for (size_t s = 0; s < size[T]; s++)
                for (size_t c = 0; c < size[C]; c++)
                    *y++ = x[i * size[C] + c] + mode[k * size[C] + c] + position[s * size[C] + c];
}

static void NAME(vjp)(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    const REAL *dy = call->gradient[Y];
    REAL *dx = call->gradient[X], *mode = call->gradient[MODE];
    REAL *position = call->gradient[POSITION];
    memset(dx, 0, size[N] * size[C] * sizeof *dx);
    memset(mode, 0, size[K] * size[C] * sizeof *mode);
    memset(position, 0, size[T] * size[C] * sizeof *position);
    for (size_t i = 0; i < size[N]; i++)
        for (size_t k = 0; k < size[K]; k++)
            for (size_t s = 0; s < size[T]; s++)
                for (size_t c = 0; c < size[C]; c++, dy++) {
                    dx[i * size[C] + c] += *dy;
                    mode[k * size[C] + c] += *dy;
                    position[s * size[C] + c] += *dy;
                }
}
#endif
