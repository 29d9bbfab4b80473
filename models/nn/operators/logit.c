/* y (n) = scale (x - bias), of scores x (n) and two numbers: the logit of a detector. */
#ifndef REAL
#define NN_FILE "models/nn/operators/logit.c"
enum { X, SCALE, BIAS, Y };
enum { N };
#include "models/nn/fast.h"
#include "models/nn/plain.h"

NN_LOOPS values_loops(const float *x, float scale, float bias, size_t n, float *restrict y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = scale * (x[i] - bias);
}
NN_KERNEL(values, (const float *x, float scale, float bias, size_t n, float *y),
          (x, scale, bias, n, y))

/* sums: of dy (x - bias), of dy. */
NN_LOOPS slopes_loops(const float *x, const float *dy, float scale, float bias, size_t n,
                      float *restrict dx, double *restrict sums)
{
    double first = 0, second = 0;
    for (size_t i = 0; i < n && dx != NULL; i++)
        dx[i] = dy[i] * scale;
#pragma omp simd reduction(+ : first, second)
    for (size_t i = 0; i < n; i++) {
        first += (double)dy[i] * ((double)x[i] - (double)bias);
        second += (double)dy[i];
    }
    sums[0] = first;
    sums[1] = second;
}
NN_KERNEL(slopes,
          (const float *x, const float *dy, float scale, float bias, size_t n, float *dx,
           double *sums),
          (x, dy, scale, bias, n, dx, sums))

static size_t work(const struct nn_shape *shape)
{
    return nn_chunks(shape->size[N], NN_CHUNK) * 2 * sizeof(double);
}

static enum yp_status forward(const struct nn_call *call)
{
    const float *x = call->value[X];
    float scale = *(float *)call->value[SCALE], bias = *(float *)call->value[BIAS];
    float *y = call->value[Y];
    size_t n = call->shape->size[N], chunks = nn_chunks(n, NN_CHUNK);
    values_kernel *kernel = best_values();
#pragma omp parallel for schedule(static) if (chunks > NN_FEW)
    for (size_t i = 0; i < chunks; i++) {
        size_t at = i * NN_CHUNK;
        kernel(x + at, scale, bias, nn_least(NN_CHUNK, n - at), y + at);
    }
    return YP_OK;
}

static enum yp_status vjp(const struct nn_call *call)
{
    const float *x = call->value[X], *dy = call->gradient[Y];
    float scale = *(float *)call->value[SCALE], bias = *(float *)call->value[BIAS];
    float *dx = call->gradient[X], *dscale = call->gradient[SCALE], *dbias = call->gradient[BIAS];
    double *sums = call->work;
    size_t n = call->shape->size[N], chunks = nn_chunks(n, NN_CHUNK);
    slopes_kernel *kernel = best_slopes();
#pragma omp parallel for schedule(static) if (chunks > NN_FEW)
    for (size_t i = 0; i < chunks; i++) {
        size_t at = i * NN_CHUNK;
        kernel(x + at, dy + at, scale, bias, nn_least(NN_CHUNK, n - at),
               dx != NULL ? dx + at : NULL, sums + 2 * i);
    }
    nn_merge(sums, chunks, 2);
    if (dscale != NULL)
        *dscale = (float)sums[0];
    if (dbias != NULL)
        *dbias = (float)(-(double)scale * sums[1]);
    return YP_OK;
}

static double flops(const struct nn_shape *shape, enum nn_pass pass)
{
    return (pass == NN_VJP ? 5.0 : 2.0) * (double)shape->size[N];
}

const struct nn_operator nn_logit = {
    .name = "logit",
    .dims = "n",
    .tensors = {{"x", "n", .role = NN_INPUT},
                {"scale", "", .role = NN_PARAMETER, .domain = {NN_UNIFORM, .low = 0.5, .high = 2}},
                {"bias", "", .role = NN_PARAMETER},
                {"y", "n", .role = NN_OUTPUT}},
    .shapes = {{"one", .size = {1}},
               {"odd", .size = {37}},
               {"small", .size = {4096}},
               {"medium", .size = {1 << 20}}},
    NN_PLAIN,
    .flops = flops,
    .versions = {{NN_FP32, "cpu", .forward = forward, .vjp = vjp, .work = work}},
};

#else
static void NAME(forward)(const struct nn_call *call)
{
    const REAL *x = call->value[X], *scale = call->value[SCALE], *bias = call->value[BIAS];
    REAL *y = call->value[Y];
    for (size_t i = 0; i < call->shape->size[N]; i++)
        y[i] = *scale * (x[i] - *bias);
}

static void NAME(vjp)(const struct nn_call *call)
{
    const REAL *x = call->value[X], *scale = call->value[SCALE], *bias = call->value[BIAS];
    const REAL *dy = call->gradient[Y];
    REAL *dx = call->gradient[X], *dscale = call->gradient[SCALE], *dbias = call->gradient[BIAS];
    *dscale = *dbias = 0;
    for (size_t i = 0; i < call->shape->size[N]; i++) {
        dx[i] = dy[i] * *scale;
        *dscale += dy[i] * (x[i] - *bias);
        *dbias -= dy[i] * *scale;
    }
}
#endif
