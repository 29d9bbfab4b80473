/* y (n, d) = gain (d) h + shift (d), h = (x - m) r row by row of x (n, d), with the row's mean m
 * and r = 1 / sqrt(variance + eps), which are saved; the variance is divided by d (Ba, Kiros and
 * Hinton, "Layer normalization", 2016). With g = gain dy: dx = r (g - mean g - h mean (g h)), dgain
 * = the sum of dy h over rows, dshift that of dy. */
#ifndef REAL
#define NN_FILE "models/nn/operators/layer_norm.c"
enum { X, GAIN, SHIFT, Y, MEAN, R };
enum { N, D };
#include "models/nn/cuda/on_cuda.h"
#include "models/nn/fast.h"
#include "models/nn/plain.h"
#include "models/nn/types.h"

#include <math.h>

NN_LOOPS normalise_loops(enum nn_type type, const void *x, const float *gain, const float *shift,
                         size_t d, float eps, void *restrict y, float *restrict mean,
                         float *restrict r)
{
    float sum = 0, squares = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < d; i++)
        sum += nn_get(x, i, type);
    const float middle = sum / (float)d;
#pragma omp simd reduction(+ : squares)
    for (size_t i = 0; i < d; i++)
        squares += (nn_get(x, i, type) - middle) * (nn_get(x, i, type) - middle);
    *mean = middle;
    *r = 1 / sqrtf(squares / (float)d + eps);
    for (size_t i = 0; i < d; i++)
        nn_put(y, i, (nn_get(x, i, type) - middle) * *r * gain[i] + shift[i], type);
}
NN_TYPED_KERNEL(normalise,
                (const void *x, const float *gain, const float *shift, size_t d, float eps, void *y,
                 float *mean, float *r),
                (x, gain, shift, d, eps, y, mean, r))

/* dx, added to what is there when `add`, unless it is NULL; dy h and dy are added to sums (2, d),
 * unless that is NULL. */
NN_LOOPS slopes_loops(enum nn_type type, const void *x, const float *gain, float mean, float r,
                      const void *dy, size_t d, bool add, void *restrict dx, double *restrict sums)
{
    float all = 0, along = 0;
#pragma omp simd reduction(+ : all, along)
    for (size_t i = 0; i < d; i++) {
        float g = gain[i] * nn_get(dy, i, type);
        all += g;
        along += g * ((nn_get(x, i, type) - mean) * r);
    }
    all /= (float)d;
    along /= (float)d;
    for (size_t i = 0; i < d && dx != NULL; i++) {
        float h = (nn_get(x, i, type) - mean) * r;
        float slope = r * (gain[i] * nn_get(dy, i, type) - all - h * along);
        nn_put(dx, i, add ? nn_get(dx, i, type) + slope : slope, type);
    }
    for (size_t i = 0; i < d && sums != NULL; i++) {
        sums[i] += (double)(nn_get(dy, i, type) * ((nn_get(x, i, type) - mean) * r));
        sums[d + i] += (double)nn_get(dy, i, type);
    }
}
NN_TYPED_KERNEL(slopes,
                (const void *x, const float *gain, float mean, float r, const void *dy, size_t d,
                 bool add, void *dx, double *sums),
                (x, gain, mean, r, dy, d, add, dx, sums))

static enum yp_status forward_in(const struct nn_call *call, enum nn_type type)
{
    size_t n = call->shape->size[N], d = call->shape->size[D];
    float *mean = call->value[MEAN], *r = call->value[R], eps = (float)call->shape->setting[0];
    normalise_kernel *kernel = best_normalise(type);
    NN_PARALLEL_FOR(n * d > NN_FEW * NN_CHUNK, i, n, 1,
                    kernel(nn_from(call->value[X], i * d, type), call->value[GAIN],
                           call->value[SHIFT], d, eps, nn_from(call->value[Y], i * d, type),
                           mean + i, r + i));
    return YP_OK;
}

static size_t work(const struct nn_shape *shape)
{
    size_t n = shape->size[N], d = shape->size[D];
    return nn_chunks(n, nn_block_rows(n, d)) * 2 * d * sizeof(double);
}

static enum yp_status vjp_in(const struct nn_call *call, enum nn_type type)
{
    size_t n = call->shape->size[N], d = call->shape->size[D], block = nn_block_rows(n, d);
    size_t blocks = nn_chunks(n, block);
    const float *mean = call->value[MEAN], *r = call->value[R];
    bool summed = call->gradient[GAIN] != NULL || call->gradient[SHIFT] != NULL;
    double *sums = summed ? call->work : NULL;
    char *dx = call->gradient[X];
    slopes_kernel *kernel = best_slopes(type);
    NN_PARALLEL_FOR(n * d > NN_FEW * NN_CHUNK, k, blocks, 1, {
        double *sum = sums != NULL ? sums + k * 2 * d : NULL;
        if (sum != NULL)
            memset(sum, 0, 2 * d * sizeof *sum);
        for (size_t i = k * block; i < nn_least(n, (k + 1) * block); i++)
            kernel(nn_from(call->value[X], i * d, type), call->value[GAIN], mean[i], r[i],
                   nn_from(call->gradient[Y], i * d, type), d, nn_adds(call, X),
                   dx != NULL ? nn_from(dx, i * d, type) : NULL, sum);
    });
    if (!summed)
        return YP_OK;
    nn_merge(sums, blocks, 2 * d);
    nn_put_sums(call, GAIN, sums, d);
    nn_put_sums(call, SHIFT, sums + d, d);
    return YP_OK;
}

NN_EACH_TYPE

static size_t work_cuda(const struct nn_shape *shape)
{
    return nn_cuda_columns_bytes(shape->size[N], shape->size[D]);
}

NN_ON_CUDA_NORM(layer_norm)

static double flops(const struct nn_shape *shape, enum nn_pass pass)
{
    return (pass == NN_VJP ? 14.0 : 8.0) * (double)shape->size[N] * (double)shape->size[D];
}

const struct nn_operator nn_layer_norm = {
    .name = "layer_norm",
    .dims = "nd",
    .settings = {"eps"},
    .tensors = {{"x", "nd", .role = NN_INPUT, .adds = true, .domain = {NN_BELL, .low = 0.5}},
                {"gain", "d", .role = NN_PARAMETER, .adds = true,
                 .domain = {NN_BELL, .low = 1, .high = 0.25}},
                {"shift", "d", .role = NN_PARAMETER, .adds = true},
                {"y", "nd", .role = NN_OUTPUT},
                {"mean", "n", .role = NN_SAVED},
                {"r", "n", .role = NN_SAVED}},
    .shapes = {{"one", .size = {1, 1}, .setting = {0.1}},
               {"odd", .size = {5, 37}, .setting = {1e-5}},
               {"small", .size = {64, 256}, .setting = {1e-6}},
               {"medium", .size = {2056, 1280}, .setting = {1e-6}}},
    NN_PLAIN,
    .flops = flops,
    NN_EACH_VERSION(work, work_cuda, "bffbff", "bffbff"),
};

#else
static void NAME(forward)(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    const REAL *x = call->value[X], *gain = call->value[GAIN], *shift = call->value[SHIFT];
    REAL *y = call->value[Y], *mean = call->value[MEAN], *r = call->value[R];
    REAL eps = (REAL)call->shape->setting[0];
    for (size_t i = 0; i < size[N]; i++, x += size[D], y += size[D]) {
        REAL sum = 0, squares = 0;
        for (size_t k = 0; k < size[D]; k++)
            sum += x[k];
        mean[i] = sum / (REAL)size[D];
        for (size_t k = 0; k < size[D]; k++)
            squares += (x[k] - mean[i]) * (x[k] - mean[i]);
        r[i] = 1 / sqrt(squares / (REAL)size[D] + eps);
        for (size_t k = 0; k < size[D]; k++)
            y[k] = (x[k] - mean[i]) * r[i] * gain[k] + shift[k];
    }
}

static void NAME(vjp)(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    const REAL *x = call->value[X], *gain = call->value[GAIN], *dy = call->gradient[Y];
    const REAL *mean = call->value[MEAN], *r = call->value[R];
    REAL *dx = call->gradient[X], *dgain = call->gradient[GAIN], *dshift = call->gradient[SHIFT];
    memset(dgain, 0, size[D] * sizeof *dgain);
    memset(dshift, 0, size[D] * sizeof *dshift);
    for (size_t i = 0; i < size[N]; i++, x += size[D], dx += size[D], dy += size[D]) {
        REAL all = 0, along = 0;
        for (size_t k = 0; k < size[D]; k++) {
            REAL h = (x[k] - mean[i]) * r[i];
            all += gain[k] * dy[k] / (REAL)size[D];
            along += gain[k] * dy[k] * h / (REAL)size[D];
            dgain[k] += dy[k] * h;
            dshift[k] += dy[k];
        }
        for (size_t k = 0; k < size[D]; k++)
            dx[k] = r[i] * (gain[k] * dy[k] - all - (x[k] - mean[i]) * r[i] * along);
    }
}
#endif
