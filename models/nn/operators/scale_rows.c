/* y (n, c) = w (n) x, row by row. dx = w dy, dw = the sums of dy x by row. */
#ifndef REAL
#define NN_FILE "models/nn/operators/scale_rows.c"
enum { X, W, Y };
enum { N, C };
#include "models/nn/cuda/on_cuda.h"
#include "models/nn/fast.h"
#include "models/nn/plain.h"

NN_LOOPS scale_loops(const float *x, const float *w, size_t rows, size_t c, bool add,
                     float *restrict y)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t k = i * c; k < (i + 1) * c; k++)
            y[k] = w[i] * x[k] + (add ? y[k] : 0);
}
NN_KERNEL(scale, (const float *x, const float *w, size_t rows, size_t c, bool add, float *y),
          (x, w, rows, c, add, y))

NN_LOOPS dots_loops(const float *x, const float *dy, size_t rows, size_t c, bool add,
                    float *restrict dw)
{
    for (size_t i = 0; i < rows; i++) {
        float sum = 0;
#pragma omp simd reduction(+ : sum)
        for (size_t k = i * c; k < (i + 1) * c; k++)
            sum += dy[k] * x[k];
        dw[i] = sum + (add ? dw[i] : 0);
    }
}
NN_KERNEL(dots, (const float *x, const float *dy, size_t rows, size_t c, bool add, float *dw),
          (x, dy, rows, c, add, dw))

/* w times the rows of `from`. */
static void scale_all(const struct nn_call *call, const float *from, bool add, float *to)
{
    const size_t n = call->shape->size[N], c = call->shape->size[C], rows = nn_rows(c, NN_CHUNK);
    const float *w = call->value[W];
    scale_kernel *kernel = best_scale();
    NN_PARALLEL_FOR(n > NN_FEW * rows, at, n, rows,
                    kernel(from + at * c, w + at, nn_least(rows, n - at), c, add, to + at * c));
}

static enum yp_status forward(const struct nn_call *call)
{
    scale_all(call, call->value[X], false, call->value[Y]);
    return YP_OK;
}

static enum yp_status vjp(const struct nn_call *call)
{
    const size_t n = call->shape->size[N], c = call->shape->size[C], rows = nn_rows(c, NN_CHUNK);
    const float *x = call->value[X], *dy = call->gradient[Y];
    float *dw = call->gradient[W];
    dots_kernel *kernel = best_dots();
    if (call->gradient[X] != NULL)
        scale_all(call, dy, nn_adds(call, X), call->gradient[X]);
    NN_PARALLEL_FOR(
        n > NN_FEW * rows, at, dw != NULL ? n : 0, rows,
        kernel(x + at * c, dy + at * c, nn_least(rows, n - at), c, nn_adds(call, W), dw + at));
    return YP_OK;
}

static struct nn_cuda_scale_rows job_of(const struct nn_call *call)
{
    return (struct nn_cuda_scale_rows){.n = call->shape->size[N],
                                       .c = call->shape->size[C],
                                       .add_dx = nn_adds(call, X),
                                       .add_dw = nn_adds(call, W),
                                       .x = call->value[X],
                                       .w = call->value[W],
                                       .dy = call->gradient[Y],
                                       .y = call->value[Y],
                                       .dx = call->gradient[X],
                                       .dw = call->gradient[W]};
}

NN_ON_CUDA_BY_JOB_FP32(scale_rows, struct nn_cuda_scale_rows)

static double flops(const struct nn_shape *shape, enum nn_pass pass)
{
    return (pass == NN_VJP ? 3.0 : 1.0) * (double)shape->size[N] * (double)shape->size[C];
}

const struct nn_operator nn_scale_rows = {
    .name = "scale_rows",
    .dims = "nc",
    .tensors = {{"x", "nc", .role = NN_INPUT, .adds = true},
                {"w", "n", .role = NN_INPUT, .adds = true},
                {"y", "nc", .role = NN_OUTPUT}},
    .shapes = {{"one", .size = {1, 1}},
               {"odd", .size = {5, 37}},
               {"small", .size = {256, 64}},
               {"medium", .size = {28000, 64}}},
    NN_PLAIN,
    .flops = flops,
    NN_FP32_VERSIONS(NULL, NULL),
};

#else
static void NAME(forward)(const struct nn_call *call)
{
    const size_t n = call->shape->size[N], c = call->shape->size[C];
    const REAL *x = call->value[X], *w = call->value[W];
    REAL *y = call->value[Y];
    for (size_t k = 0; k < n * c; k++)
        y[k] = w[k / c] * x[k];
}

static void NAME(vjp)(const struct nn_call *call)
{
    const size_t n = call->shape->size[N], c = call->shape->size[C];
    const REAL *x = call->value[X], *w = call->value[W], *dy = call->gradient[Y];
    REAL *dx = call->gradient[X], *dw = call->gradient[W];
    memset(dw, 0, n * sizeof *dw);
    for (size_t k = 0; k < n * c; k++) {
        dx[k] = w[k / c] * dy[k];
        dw[k / c] += dy[k] * x[k];
    }
}
#endif
