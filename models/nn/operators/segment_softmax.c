/* y (e, h) = the softmax of x (e, h) down each column of a segment, rows offset[i] to
 * offset[i + 1] - 1 of the i-th. Saved: the largest x and the sum of exponentials below it, (n, h),
 * 0 of a segment without rows. dx = y (dy - sum y dy). */
#ifndef REAL
#define NN_FILE "models/nn/operators/segment_softmax.c"
enum { X, OFFSET, Y, HIGH, SUM };
enum { E, H, M, N };
#include "models/nn/cuda/on_cuda.h"
#include "models/nn/fast.h"
#include "models/nn/maths.h"
#include "models/nn/plain.h"

/* e^(x - high) (rows, h) to y. */
NN_LOOPS powers_loops(const float *x, const float *high, size_t rows, size_t h, float *restrict y)
{
    for (size_t k = 0; k < rows; k++)
        for (size_t i = 0; i < h; i++)
            y[k * h + i] = x[k * h + i] - high[i];
#pragma omp simd
    for (size_t k = 0; k < rows * h; k++)
        y[k] = nn_exp(y[k]);
}

NN_LOOPS values_loops(const float *x, size_t rows, size_t h, float *restrict y,
                      float *restrict high, float *restrict sum)
{
    for (size_t i = 0; i < h; i++) {
        high[i] = rows > 0 ? x[i] : 0;
        sum[i] = 0;
    }
    for (size_t k = 1; k < rows; k++)
        for (size_t i = 0; i < h; i++)
            high[i] = x[k * h + i] > high[i] ? x[k * h + i] : high[i];
    powers_loops(x, high, rows, h, y);
    for (size_t k = 0; k < rows; k++)
        for (size_t i = 0; i < h; i++)
            sum[i] += y[k * h + i];
    for (size_t k = 0; k < rows; k++)
        for (size_t i = 0; i < h; i++)
            y[k * h + i] /= sum[i];
}
NN_KERNEL(values, (const float *x, size_t rows, size_t h, float *y, float *high, float *sum),
          (x, rows, h, y, high, sum))

/* `y` (rows, h) and `along` (h) are the workspace's. */
NN_LOOPS slopes_loops(const float *x, const float *high, const float *sum, const float *dy,
                      size_t rows, size_t h, bool add, float *restrict y, float *restrict along,
                      float *restrict dx)
{
    powers_loops(x, high, rows, h, y);
    for (size_t i = 0; i < h; i++)
        along[i] = 0;
    for (size_t k = 0; k < rows; k++)
        for (size_t i = 0; i < h; i++) {
            y[k * h + i] /= sum[i];
            along[i] += y[k * h + i] * dy[k * h + i];
        }
    for (size_t k = 0; k < rows; k++)
        for (size_t i = 0; i < h; i++)
            dx[k * h + i] = y[k * h + i] * (dy[k * h + i] - along[i]) + (add ? dx[k * h + i] : 0);
}
NN_KERNEL(slopes,
          (const float *x, const float *high, const float *sum, const float *dy, size_t rows,
           size_t h, bool add, float *y, float *along, float *dx),
          (x, high, sum, dy, rows, h, add, y, along, dx))

static bool many(const struct nn_shape *shape)
{
    return (shape->size[E] + shape->size[N]) * shape->size[H] > NN_CHUNK;
}

static enum yp_status forward(const struct nn_call *call)
{
    const size_t *size = call->shape->size, h = size[H];
    const int32_t *offset = call->value[OFFSET];
    const float *x = call->value[X];
    float *y = call->value[Y], *high = call->value[HIGH], *sum = call->value[SUM];
    enum yp_status status = nn_check_offsets("segment_softmax", "offset", offset, size[N], size[E]);
    if (status != YP_OK)
        return status;
    values_kernel *kernel = best_values();
    NN_PARALLEL_FOR(many(call->shape), i, size[N], 1, {
        const size_t at = (size_t)offset[i];
        kernel(x + at * h, (size_t)offset[i + 1] - at, h, y + at * h, high + i * h, sum + i * h);
    });
    return YP_OK;
}

static size_t work(const struct nn_shape *shape)
{
    return (shape->size[E] + shape->size[N]) * shape->size[H] * sizeof(float);
}

static enum yp_status vjp(const struct nn_call *call)
{
    const size_t *size = call->shape->size, h = size[H];
    const int32_t *offset = call->value[OFFSET];
    const float *x = call->value[X], *high = call->value[HIGH], *sum = call->value[SUM];
    const float *dy = call->gradient[Y];
    float *dx = call->gradient[X], *y = call->work, *along = y + size[E] * h;
    slopes_kernel *kernel = best_slopes();
    if (dx == NULL)
        return YP_OK;
    NN_PARALLEL_FOR(many(call->shape), i, size[N], 1, {
        const size_t at = (size_t)offset[i];
        kernel(x + at * h, high + i * h, sum + i * h, dy + at * h, (size_t)offset[i + 1] - at, h,
               nn_adds(call, X), y + at * h, along + i * h, dx + at * h);
    });
    return YP_OK;
}

static struct nn_cuda_softmax job_of(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    return (struct nn_cuda_softmax){.e = size[E],
                                    .h = size[H],
                                    .n = size[N],
                                    .add = nn_adds(call, X),
                                    .offset = call->value[OFFSET],
                                    .x = call->value[X],
                                    .dy = call->gradient[Y],
                                    .y = call->value[Y],
                                    .high = call->value[HIGH],
                                    .sum = call->value[SUM],
                                    .dx = call->gradient[X]};
}

NN_ON_CUDA_BY_JOB_FP32(segment_softmax, struct nn_cuda_softmax)

static double flops(const struct nn_shape *shape, enum nn_pass pass)
{
    return (NN_FUNCTION + (pass == NN_VJP ? 6 : 4)) * (double)shape->size[E] *
           (double)shape->size[H];
}

const struct nn_operator nn_segment_softmax = {
    .name = "segment_softmax",
    .dims = "ehmn",
    .tensors = {{"x", "eh", .role = NN_INPUT, .adds = true,
                 .domain = {NN_BELL, .low = 0, .high = 2}},
                {"offset", "m", .role = NN_CONSTANT, .type = NN_INT32,
                 .domain = {NN_OFFSETS, .below = 'e'}},
                {"y", "eh", .role = NN_OUTPUT},
                {"high", "nh", .role = NN_SAVED},
                {"sum", "nh", .role = NN_SAVED}},
    .shapes = {{"one", .size = {1, 1, 2, 1}},
               {"odd", .size = {6, 3, 5, 4}},
               {"small", .size = {512, 4, 65, 64}},
               {"medium", .size = {56000, 8, 2817, 2816}}},
    NN_PLAIN,
    .flops = flops,
    NN_FP32_VERSIONS(work, NULL),
};

#else
static void NAME(forward)(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    const int32_t *offset = call->value[OFFSET];
    const REAL *x = call->value[X];
    REAL *y = call->value[Y], *highs = call->value[HIGH], *sums = call->value[SUM];
    for (size_t i = 0; i < size[N]; i++)
        for (size_t h = 0; h < size[H]; h++) {
            const size_t begin = (size_t)offset[i], end = (size_t)offset[i + 1];
            REAL high = 0, sum = 0;
            for (size_t k = begin; k < end; k++)
                high = k == begin || x[k * size[H] + h] > high ? x[k * size[H] + h] : high;
            for (size_t k = begin; k < end; k++)
                sum += y[k * size[H] + h] = exp(x[k * size[H] + h] - high);
            for (size_t k = begin; k < end; k++)
                y[k * size[H] + h] /= sum;
            highs[i * size[H] + h] = high;
            sums[i * size[H] + h] = sum;
        }
}

static void NAME(vjp)(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    const int32_t *offset = call->value[OFFSET];
    const REAL *x = call->value[X], *highs = call->value[HIGH], *sums = call->value[SUM];
    const REAL *dy = call->gradient[Y];
    REAL *dx = call->gradient[X];
    for (size_t i = 0; i < size[N]; i++)
        for (size_t h = 0; h < size[H]; h++) {
            const size_t begin = (size_t)offset[i], end = (size_t)offset[i + 1];
            const REAL high = highs[i * size[H] + h], sum = sums[i * size[H] + h];
            REAL along = 0;
            for (size_t k = begin; k < end; k++)
                along += exp(x[k * size[H] + h] - high) / sum * dy[k * size[H] + h];
            for (size_t k = begin; k < end; k++)
                dx[k * size[H] + h] =
                    exp(x[k * size[H] + h] - high) / sum * (dy[k * size[H] + h] - along);
        }
}
#endif
