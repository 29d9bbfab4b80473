/* y (n, c) = gain (c) h + shift (c), h = (x - mean) r, over all rows of x (n, c), which are the
 * pixels of a batch, with each channel's mean and r = 1 / sqrt(variance + eps), which are saved;
 * the variance is divided by n (Ioffe and Szegedy, "Batch normalization", 2015). dshift = the sum
 * of dy, dgain that of dy h, dx = gain r (dy - dshift / n - h dgain / n). */
#ifndef REAL
#define NN_FILE "models/nn/operators/batch_norm.c"
enum { X, GAIN, SHIFT, Y, MEAN, R };
enum { N, C };
#include "models/nn/cuda/on_cuda.h"
#include "models/nn/fast.h"
#include "models/nn/plain.h"
#include "models/nn/types.h"

#include <math.h>

/* Of rows that fit a core's cache: sums (2, c) = their mean, and the squares about it. */
NN_LOOPS moments_loops(enum nn_type type, const void *x, size_t rows, size_t c,
                       double *restrict sums)
{
    double *mean = sums, *squares = sums + c;
    for (size_t k = 0; k < 2 * c; k++)
        sums[k] = 0;
    for (size_t i = 0; i < rows; i++)
        for (size_t k = 0; k < c; k++)
            mean[k] += (double)nn_get(x, i * c + k, type);
    for (size_t k = 0; k < c; k++)
        mean[k] /= (double)rows;
    for (size_t i = 0; i < rows; i++)
        for (size_t k = 0; k < c; k++) {
            double off = (double)nn_get(x, i * c + k, type) - mean[k];
            squares[k] += off * off;
        }
}
NN_TYPED_KERNEL(moments, (const void *x, size_t rows, size_t c, double *sums), (x, rows, c, sums))

NN_LOOPS normalise_loops(enum nn_type type, const void *x, const float *mean, const float *r,
                         const float *gain, const float *shift, size_t rows, size_t c,
                         void *restrict y)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t k = 0; k < c; k++)
            nn_put(y, i * c + k, (nn_get(x, i * c + k, type) - mean[k]) * r[k] * gain[k] + shift[k],
                   type);
}
NN_TYPED_KERNEL(normalise,
                (const void *x, const float *mean, const float *r, const float *gain,
                 const float *shift, size_t rows, size_t c, void *y),
                (x, mean, r, gain, shift, rows, c, y))

/* sums (2, c) = those of dy h and of dy. */
NN_LOOPS sums_loops(enum nn_type type, const void *x, const float *mean, const float *r,
                    const void *dy, size_t rows, size_t c, double *restrict sums)
{
    for (size_t k = 0; k < 2 * c; k++)
        sums[k] = 0;
    for (size_t i = 0; i < rows; i++)
        for (size_t k = 0; k < c; k++) {
            float d = nn_get(dy, i * c + k, type);
            sums[k] += (double)(d * ((nn_get(x, i * c + k, type) - mean[k]) * r[k]));
            sums[c + k] += (double)d;
        }
}
NN_TYPED_KERNEL(sums,
                (const void *x, const float *mean, const float *r, const void *dy, size_t rows,
                 size_t c, double *sums),
                (x, mean, r, dy, rows, c, sums))

/* dx = scale (dy - all - h along). */
NN_LOOPS slopes_loops(enum nn_type type, const void *x, const float *mean, const float *r,
                      const void *dy, const float *factors, size_t rows, size_t c, bool add,
                      void *restrict dx)
{
    const float *scale = factors, *along = factors + c, *all = factors + 2 * c;
    for (size_t i = 0; i < rows; i++)
        for (size_t k = 0; k < c; k++) {
            size_t at = i * c + k;
            float h = (nn_get(x, at, type) - mean[k]) * r[k];
            float slope = scale[k] * (nn_get(dy, at, type) - all[k] - h * along[k]);
            nn_put(dx, at, add ? nn_get(dx, at, type) + slope : slope, type);
        }
}
NN_TYPED_KERNEL(slopes,
                (const void *x, const float *mean, const float *r, const void *dy,
                 const float *factors, size_t rows, size_t c, bool add, void *dx),
                (x, mean, r, dy, factors, rows, c, add, dx))

/* Sums of chunks (chunks, 2, c), and the factors (3, c) of a gradient. */
static size_t work(const struct nn_shape *shape)
{
    size_t n = shape->size[N], c = shape->size[C];
    return nn_chunks(n, nn_rows(c, NN_CHUNK)) * 2 * c * sizeof(double) + 3 * c * sizeof(float);
}

/* Means and squares of chunks of rows become those of all, in their order (Chan, Golub and LeVeque,
 * "Updating formulae", 1979). */
static void join_moments(double *sums, size_t n, size_t rows, size_t c)
{
    for (size_t at = rows; at < n; at += rows) {
        const double *next = sums + at / rows * 2 * c;
        double before = (double)at, more = (double)nn_least(rows, n - at);
        for (size_t k = 0; k < c; k++) {
            double off = next[k] - sums[k];
            sums[k] += off * more / (before + more);
            sums[c + k] += next[c + k] + off * off * before * more / (before + more);
        }
    }
}

static enum yp_status forward_in(const struct nn_call *call, enum nn_type type)
{
    size_t n = call->shape->size[N], c = call->shape->size[C], rows = nn_rows(c, NN_CHUNK);
    const char *x = call->value[X];
    float *mean = call->value[MEAN], *r = call->value[R];
    double *sums = call->work;
    moments_kernel *moments = best_moments(type);
    normalise_kernel *normalise = best_normalise(type);
    NN_PARALLEL_FOR(
        n > NN_FEW * rows, at, n, rows,
        moments(nn_from(x, at * c, type), nn_least(rows, n - at), c, sums + at / rows * 2 * c));
    join_moments(sums, n, rows, c);
    for (size_t k = 0; k < c; k++) {
        mean[k] = (float)sums[k];
        r[k] = (float)(1 / sqrt(sums[c + k] / (double)n + call->shape->setting[0]));
    }
    NN_PARALLEL_FOR(n > NN_FEW * rows, at, n, rows,
                    normalise(nn_from(x, at * c, type), mean, r, call->value[GAIN],
                              call->value[SHIFT], nn_least(rows, n - at), c,
                              nn_from(call->value[Y], at * c, type)));
    return YP_OK;
}

static enum yp_status vjp_in(const struct nn_call *call, enum nn_type type)
{
    size_t n = call->shape->size[N], c = call->shape->size[C], rows = nn_rows(c, NN_CHUNK);
    const char *x = call->value[X], *dy = call->gradient[Y];
    const float *mean = call->value[MEAN], *r = call->value[R], *gain = call->value[GAIN];
    double *sums = call->work;
    float *factors = (float *)(sums + nn_chunks(n, rows) * 2 * c);
    sums_kernel *add_up = best_sums(type);
    slopes_kernel *slopes = best_slopes(type);
    NN_PARALLEL_FOR(n > NN_FEW * rows, at, n, rows,
                    add_up(nn_from(x, at * c, type), mean, r, nn_from(dy, at * c, type),
                           nn_least(rows, n - at), c, sums + at / rows * 2 * c));
    nn_merge(sums, nn_chunks(n, rows), 2 * c);
    nn_put_sums(call, GAIN, sums, c);
    nn_put_sums(call, SHIFT, sums + c, c);
    for (size_t k = 0; k < c; k++) {
        factors[k] = gain[k] * r[k];
        factors[c + k] = (float)(sums[k] / (double)n);
        factors[2 * c + k] = (float)(sums[c + k] / (double)n);
    }
    n = call->gradient[X] != NULL ? n : 0;
    NN_PARALLEL_FOR(n > NN_FEW * rows, at, n, rows,
                    slopes(nn_from(x, at * c, type), mean, r, nn_from(dy, at * c, type), factors,
                           nn_least(rows, n - at), c, nn_adds(call, X),
                           nn_from(call->gradient[X], at * c, type)));
    return YP_OK;
}

NN_EACH_TYPE

static size_t work_cuda(const struct nn_shape *shape)
{
    return nn_cuda_columns_bytes(shape->size[N], shape->size[C]) +
           2 * shape->size[C] * sizeof(float);
}

NN_ON_CUDA_NORM(batch_norm)

static double flops(const struct nn_shape *shape, enum nn_pass pass)
{
    return (pass == NN_VJP ? 11.0 : 8.0) * (double)shape->size[N] * (double)shape->size[C];
}

const struct nn_operator nn_batch_norm = {
    .name = "batch_norm",
    .dims = "nc",
    .settings = {"eps"},
    .tensors = {{"x", "nc", .role = NN_INPUT, .adds = true, .domain = {NN_BELL, .low = 0.5}},
                {"gain", "c", .role = NN_PARAMETER, .adds = true,
                 .domain = {NN_BELL, .low = 1, .high = 0.25}},
                {"shift", "c", .role = NN_PARAMETER, .adds = true},
                {"y", "nc", .role = NN_OUTPUT},
                {"mean", "c", .role = NN_SAVED},
                {"r", "c", .role = NN_SAVED}},
    .shapes = {{"one", .size = {2, 1}, .setting = {0.1}},
               {"odd", .size = {37, 5}, .setting = {1e-5}},
               {"small", .size = {1024, 24}, .setting = {1e-5}},
               {"medium", .size = {16384, 128}, .setting = {1e-5}}},
    NN_PLAIN,
    .flops = flops,
    NN_EACH_VERSION(work, work_cuda, "bffbff", "bffbff"),
};

#else
static void NAME(forward)(const struct nn_call *call)
{
    size_t n = call->shape->size[N], c = call->shape->size[C];
    const REAL *x = call->value[X], *gain = call->value[GAIN], *shift = call->value[SHIFT];
    REAL *y = call->value[Y], *mean = call->value[MEAN], *r = call->value[R];
    for (size_t k = 0; k < c; k++) {
        REAL sum = 0, squares = 0;
        for (size_t i = k; i < n * c; i += c)
            sum += x[i];
        mean[k] = sum / (REAL)n;
        for (size_t i = k; i < n * c; i += c)
            squares += (x[i] - mean[k]) * (x[i] - mean[k]);
        r[k] = 1 / sqrt(squares / (REAL)n + (REAL)call->shape->setting[0]);
        for (size_t i = k; i < n * c; i += c)
            y[i] = (x[i] - mean[k]) * r[k] * gain[k] + shift[k];
    }
}

static void NAME(vjp)(const struct nn_call *call)
{
    size_t n = call->shape->size[N], c = call->shape->size[C];
    const REAL *x = call->value[X], *gain = call->value[GAIN], *dy = call->gradient[Y];
    const REAL *mean = call->value[MEAN], *r = call->value[R];
    REAL *dx = call->gradient[X], *dgain = call->gradient[GAIN], *dshift = call->gradient[SHIFT];
    for (size_t k = 0; k < c; k++) {
        dgain[k] = dshift[k] = 0;
        for (size_t i = k; i < n * c; i += c) {
            dgain[k] += dy[i] * (x[i] - mean[k]) * r[k];
            dshift[k] += dy[i];
        }
        for (size_t i = k; i < n * c; i += c)
            dx[i] = gain[k] * r[k] *
                    (dy[i] - dshift[k] / (REAL)n - (x[i] - mean[k]) * r[k] * dgain[k] / (REAL)n);
    }
}
#endif
