/* y (n) = x above 0, slope x below; slope is a setting. dx = dy above 0, slope dy else. */
#ifndef REAL
#define NN_FILE "models/nn/operators/leaky_relu.c"
enum { X, Y };
enum { N };
#include "models/nn/cuda/on_cuda.h"
#include "models/nn/fast.h"
#include "models/nn/plain.h"

/* y = by, by slope where x is not above 0; added to what is there with `add`. */
NN_LOOPS choose_loops(const float *x, const float *by, float slope, size_t n, bool add,
                      float *restrict y)
{
    for (size_t i = 0; i < n; i++) {
        const float value = x[i] > 0 ? by[i] : slope * by[i];
        y[i] = add ? y[i] + value : value;
    }
}
NN_KERNEL(choose, (const float *x, const float *by, float slope, size_t n, bool add, float *y),
          (x, by, slope, n, add, y))

static void choose_in_chunks(const struct nn_call *call, const float *by, bool add, float *y)
{
    choose_kernel *kernel = best_choose();
    const float *x = call->value[X], slope = (float)call->shape->setting[0];
    const size_t n = y != NULL ? call->shape->size[N] : 0;
    NN_PARALLEL_FOR(n > NN_FEW * NN_CHUNK, at, n, NN_CHUNK,
                    kernel(x + at, by + at, slope, nn_least(NN_CHUNK, n - at), add, y + at));
}

static enum yp_status forward(const struct nn_call *call)
{
    choose_in_chunks(call, call->value[X], false, call->value[Y]);
    return YP_OK;
}

static enum yp_status vjp(const struct nn_call *call)
{
    choose_in_chunks(call, call->gradient[Y], nn_adds(call, X), call->gradient[X]);
    return YP_OK;
}

static struct nn_cuda_line job_of(const struct nn_call *call)
{
    return nn_cuda_line_of(call, NN_FLOAT, NN_CUDA_LEAKY_RELU);
}

NN_ON_CUDA_BY_JOB_FP32(line, struct nn_cuda_line)

static double flops(const struct nn_shape *shape, enum nn_pass pass)
{
    (void)pass;
    return (double)shape->size[N];
}

const struct nn_operator nn_leaky_relu = {
    .name = "leaky_relu",
    .dims = "n",
    .settings = {"slope"},
    .tensors = {{"x", "n", .role = NN_INPUT, .adds = true, .domain = {NN_BELL, .gap = 0.1}},
                {"y", "n", .role = NN_OUTPUT}},
    NN_LINE_SHAPES(0.2),
    NN_PLAIN,
    .flops = flops,
    NN_FP32_VERSIONS(NULL, NULL),
};

#else
static void NAME(forward)(const struct nn_call *call)
{
    const REAL *x = call->value[X], slope = (REAL)call->shape->setting[0];
    REAL *y = call->value[Y];
    for (size_t i = 0; i < call->shape->size[N]; i++)
        y[i] = x[i] > 0 ? x[i] : slope * x[i];
}

static void NAME(vjp)(const struct nn_call *call)
{
    const REAL *x = call->value[X], *dy = call->gradient[Y];
    const REAL slope = (REAL)call->shape->setting[0];
    REAL *dx = call->gradient[X];
    for (size_t i = 0; i < call->shape->size[N]; i++)
        dx[i] = x[i] > 0 ? dy[i] : slope * dy[i];
}
#endif
