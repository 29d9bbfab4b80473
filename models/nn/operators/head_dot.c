/* y (n, h) = the products of x (n, h, c) with a vector of each head, a (h, c), summed over c.
 * dx = dy a, da = the sum of dy x over n. */
#ifndef REAL
#define NN_FILE "models/nn/operators/head_dot.c"
enum { X, A, Y };
enum { N, H, C };
#include "models/nn/cuda/on_cuda.h"
#include "models/nn/fast.h"
#include "models/nn/plain.h"

NN_LOOPS dots_loops(const float *x, const float *a, size_t h, size_t c, float *restrict y)
{
    for (size_t i = 0; i < h; i++) {
        float sum = 0;
#pragma omp simd reduction(+ : sum)
        for (size_t k = i * c; k < (i + 1) * c; k++)
            sum += x[k] * a[k];
        y[i] = sum;
    }
}
NN_KERNEL(dots, (const float *x, const float *a, size_t h, size_t c, float *y), (x, a, h, c, y))

/* dx, unless it is NULL, and dy x added to `sums` (h, c). */
NN_LOOPS slopes_loops(const float *x, const float *a, const float *dy, size_t h, size_t c, bool add,
                      float *restrict dx, double *restrict sums)
{
    for (size_t i = 0; i < h; i++) {
        for (size_t k = i * c; k < (i + 1) * c && dx != NULL; k++)
            dx[k] = dy[i] * a[k] + (add ? dx[k] : 0);
        for (size_t k = i * c; k < (i + 1) * c; k++)
            sums[k] += (double)(dy[i] * x[k]);
    }
}
NN_KERNEL(slopes,
          (const float *x, const float *a, const float *dy, size_t h, size_t c, bool add, float *dx,
           double *sums),
          (x, a, dy, h, c, add, dx, sums))

static enum yp_status forward(const struct nn_call *call)
{
    const size_t n = call->shape->size[N], h = call->shape->size[H], c = call->shape->size[C];
    const float *x = call->value[X], *a = call->value[A];
    float *y = call->value[Y];
    dots_kernel *kernel = best_dots();
    NN_PARALLEL_FOR(n * h * c > NN_FEW * NN_CHUNK, i, n, 1,
                    kernel(x + i * h * c, a, h, c, y + i * h));
    return YP_OK;
}

static size_t work(const struct nn_shape *shape)
{
    const size_t n = shape->size[N], width = shape->size[H] * shape->size[C];
    return nn_chunks(n, nn_block_rows(n, width)) * width * sizeof(double);
}

static enum yp_status vjp(const struct nn_call *call)
{
    const size_t n = call->shape->size[N], h = call->shape->size[H], c = call->shape->size[C];
    const size_t width = h * c, block = nn_block_rows(n, width), blocks = nn_chunks(n, block);
    const float *x = call->value[X], *a = call->value[A], *dy = call->gradient[Y];
    float *dx = call->gradient[X];
    double *sums = call->work;
    slopes_kernel *kernel = best_slopes();
    NN_PARALLEL_FOR(n * width > NN_FEW * NN_CHUNK, k, blocks, 1, {
        memset(sums + k * width, 0, width * sizeof *sums);
        for (size_t i = k * block; i < nn_least(n, (k + 1) * block); i++)
            kernel(x + i * width, a, dy + i * h, h, c, nn_adds(call, X),
                   dx != NULL ? dx + i * width : NULL, sums + k * width);
    });
    nn_merge(sums, blocks, width);
    nn_put_sums(call, A, sums, width);
    return YP_OK;
}

static struct nn_cuda_head_dot job_of(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    return (struct nn_cuda_head_dot){.n = size[N],
                                     .h = size[H],
                                     .c = size[C],
                                     .add_dx = nn_adds(call, X),
                                     .add_da = nn_adds(call, A),
                                     .x = call->value[X],
                                     .a = call->value[A],
                                     .dy = call->gradient[Y],
                                     .y = call->value[Y],
                                     .dx = call->gradient[X],
                                     .da = call->gradient[A]};
}

NN_ON_CUDA_BY_JOB_FP32(head_dot, struct nn_cuda_head_dot)

static double flops(const struct nn_shape *shape, enum nn_pass pass)
{
    return (pass == NN_VJP ? 3.0 : 2.0) * (double)shape->size[N] *
           (double)(shape->size[H] * shape->size[C]);
}

const struct nn_operator nn_head_dot = {
    .name = "head_dot",
    .dims = "nhc",
    .tensors = {{"x", "nhc", .role = NN_INPUT, .adds = true},
                {"a", "hc", .role = NN_PARAMETER, .adds = true},
                {"y", "nh", .role = NN_OUTPUT}},
    .shapes = {{"one", .size = {1, 1, 1}},
               {"odd", .size = {5, 3, 7}},
               {"small", .size = {128, 4, 64}},
               {"medium", .size = {7000, 4, 64}}},
    NN_PLAIN,
    .flops = flops,
    NN_FP32_VERSIONS(work, NULL),
};

#else
static void NAME(forward)(const struct nn_call *call)
{
    const size_t *size = call->shape->size, width = size[H] * size[C];
    const REAL *x = call->value[X], *a = call->value[A];
    REAL *y = call->value[Y];
    memset(y, 0, size[N] * size[H] * sizeof *y);
    for (size_t k = 0; k < size[N] * width; k++)
        y[k / size[C]] += x[k] * a[k % width];
}

static void NAME(vjp)(const struct nn_call *call)
{
    const size_t *size = call->shape->size, width = size[H] * size[C];
    const REAL *x = call->value[X], *a = call->value[A], *dy = call->gradient[Y];
    REAL *dx = call->gradient[X], *da = call->gradient[A];
    memset(da, 0, width * sizeof *da);
    for (size_t k = 0; k < size[N] * width; k++) {
        dx[k] = dy[k / size[C]] * a[k % width];
        da[k % width] += dy[k / size[C]] * x[k];
    }
}
#endif
