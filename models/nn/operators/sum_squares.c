/* y = the sum of the squares of x (n); dx = 2 x dy. */
#ifndef REAL
#define NN_FILE "models/nn/operators/sum_squares.c"
enum { X, Y };
enum { N };
#include "models/nn/operators/sum_squares.h"

#include "models/nn/fast.h"
#include "models/nn/plain.h"

/* Sums of so many elements side by side, and parts that threads divide. */
enum { LANES = 16, PARTS = 256 };

NN_LOOPS squares_loops(const float *x, size_t n, double *sum)
{
    double lane[LANES] = {0};
    size_t whole = n / LANES * LANES;
    for (size_t i = 0; i < whole; i += LANES)
#pragma omp simd
        for (size_t l = 0; l < LANES; l++)
            lane[l] += (double)x[i + l] * (double)x[i + l];
    for (size_t i = whole; i < n; i++)
        lane[i - whole] += (double)x[i] * (double)x[i];
    for (size_t width = LANES / 2; width > 0; width /= 2)
        for (size_t l = 0; l < width; l++)
            lane[l] += lane[l + width];
    *sum = lane[0];
}
NN_KERNEL(squares, (const float *x, size_t n, double *sum), (x, n, sum))

size_t nn_squared_part(size_t n)
{
    return n > 0 ? nn_chunks(nn_chunks(n, PARTS), NN_CHUNK) * NN_CHUNK : 1;
}

double nn_squared_norm_of_part(const float *x, size_t count)
{
    double sum;
    best_squares()(x, count, &sum);
    return sum;
}

double nn_squared_norm(const float *x, size_t n)
{
    double sums[PARTS], sum = 0;
    size_t part = nn_squared_part(n), parts = nn_chunks(n, part);
    squares_kernel *kernel = best_squares();
    NN_PARALLEL_FOR(parts > NN_FEW, i, parts, 1,
                    kernel(x + i * part, nn_least(part, n - i * part), &sums[i]));
    for (size_t i = 0; i < parts; i++)
        sum += sums[i];
    return sum;
}

NN_LOOPS slope_loops(const float *x, float twice, size_t n, float *restrict dx)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        dx[i] = twice * x[i];
}
NN_KERNEL(slope, (const float *x, float twice, size_t n, float *dx), (x, twice, n, dx))

static enum yp_status forward(const struct nn_call *call)
{
    *(float *)call->value[Y] = (float)nn_squared_norm(call->value[X], call->shape->size[N]);
    return YP_OK;
}

static enum yp_status vjp(const struct nn_call *call)
{
    const float *x = call->value[X];
    float *dx = call->gradient[X], twice = 2 * *(const float *)call->gradient[Y];
    size_t n = call->shape->size[N];
    slope_kernel *kernel = best_slope();
    if (dx == NULL)
        return YP_OK;
    NN_PARALLEL_FOR(n > NN_FEW * NN_CHUNK, at, n, NN_CHUNK,
                    kernel(x + at, twice, nn_least(NN_CHUNK, n - at), dx + at));
    return YP_OK;
}

static double flops(const struct nn_shape *shape, enum nn_pass pass)
{
    return (pass == NN_VJP ? 1 : 2) * (double)shape->size[N];
}

const struct nn_operator nn_sum_squares = {
    .name = "sum_squares",
    .dims = "n",
    .tensors = {{"x", "n", .role = NN_INPUT}, {"y", "", .role = NN_OUTPUT}},
    NN_LINE_SHAPES(0),
    NN_PLAIN,
    .flops = flops,
    .versions = {{NN_FP32, "cpu", .forward = forward, .vjp = vjp}},
};

#else
static void NAME(forward)(const struct nn_call *call)
{
    const REAL *x = call->value[X];
    REAL sum = 0;
    for (size_t i = 0; i < call->shape->size[N]; i++)
        sum += x[i] * x[i];
    *(REAL *)call->value[Y] = sum;
}

static void NAME(vjp)(const struct nn_call *call)
{
    const REAL *x = call->value[X];
    REAL *dx = call->gradient[X];
    for (size_t i = 0; i < call->shape->size[N]; i++)
        dx[i] = 2 * x[i] * *(const REAL *)call->gradient[Y];
}
#endif
