/* y (n, d) = gain (d) x / rms(x), row by row of x (n, d), with 1 / rms = r = 1 / sqrt(mean x^2 +
 * eps), which is saved (Zhang and Sennrich, "Root mean square layer normalization", 2019). With
 * g = gain dy: dx = r g - x r^3 / d sum g x, dgain = the sum of dy x r over rows. */
#ifndef REAL
#define NN_FILE "models/nn/operators/rmsnorm.c"
enum { X, GAIN, Y, R };
enum { N, D };
#include "models/nn/cuda/on_cuda.h"
#include "models/nn/fast.h"
#include "models/nn/plain.h"
#include "models/nn/types.h"

#include <math.h>

NN_LOOPS normalise_loops(enum nn_type type, const void *x, const float *gain, size_t d, float eps,
                         void *restrict y, float *restrict r)
{
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < d; i++)
        sum += nn_get(x, i, type) * nn_get(x, i, type);
    *r = 1 / sqrtf(sum / (float)d + eps);
    for (size_t i = 0; i < d; i++)
        nn_put(y, i, nn_get(x, i, type) * *r * gain[i], type);
}
NN_TYPED_KERNEL(normalise,
                (const void *x, const float *gain, size_t d, float eps, void *y, float *r),
                (x, gain, d, eps, y, r))

/* dx, added to what is there when `add`, and dy x r added to dgain, either unless it is NULL. */
NN_LOOPS slopes_loops(enum nn_type type, const void *x, const float *gain, float r, const void *dy,
                      size_t d, bool add, void *restrict dx, double *restrict dgain)
{
    float along = 0;
#pragma omp simd reduction(+ : along)
    for (size_t i = 0; i < d; i++)
        along += gain[i] * nn_get(dy, i, type) * nn_get(x, i, type);
    along *= r * r * r / (float)d;
    for (size_t i = 0; i < d && dx != NULL; i++) {
        float slope = r * gain[i] * nn_get(dy, i, type) - along * nn_get(x, i, type);
        nn_put(dx, i, add ? nn_get(dx, i, type) + slope : slope, type);
    }
    for (size_t i = 0; i < d && dgain != NULL; i++)
        dgain[i] += (double)(nn_get(dy, i, type) * nn_get(x, i, type) * r);
}
NN_TYPED_KERNEL(slopes,
                (const void *x, const float *gain, float r, const void *dy, size_t d, bool add,
                 void *dx, double *dgain),
                (x, gain, r, dy, d, add, dx, dgain))

static enum yp_status forward_in(const struct nn_call *call, enum nn_type type)
{
    size_t n = call->shape->size[N], d = call->shape->size[D];
    float *r = call->value[R], eps = (float)call->shape->setting[0];
    normalise_kernel *kernel = best_normalise(type);
    NN_PARALLEL_FOR(n * d > NN_FEW * NN_CHUNK, i, n, 1,
                    kernel(nn_from(call->value[X], i * d, type), call->value[GAIN], d, eps,
                           nn_from(call->value[Y], i * d, type), r + i));
    return YP_OK;
}

static size_t work(const struct nn_shape *shape)
{
    size_t n = shape->size[N], d = shape->size[D];
    return nn_chunks(n, nn_block_rows(n, d)) * d * sizeof(double);
}

static enum yp_status vjp_in(const struct nn_call *call, enum nn_type type)
{
    size_t n = call->shape->size[N], d = call->shape->size[D], block = nn_block_rows(n, d);
    size_t blocks = nn_chunks(n, block);
    const float *r = call->value[R];
    double *sums = call->gradient[GAIN] != NULL ? call->work : NULL;
    char *dx = call->gradient[X];
    slopes_kernel *kernel = best_slopes(type);
    NN_PARALLEL_FOR(n * d > NN_FEW * NN_CHUNK, k, blocks, 1, {
        double *sum = sums != NULL ? sums + k * d : NULL;
        if (sum != NULL)
            memset(sum, 0, d * sizeof *sum);
        for (size_t i = k * block; i < nn_least(n, (k + 1) * block); i++)
            kernel(nn_from(call->value[X], i * d, type), call->value[GAIN], r[i],
                   nn_from(call->gradient[Y], i * d, type), d, nn_adds(call, X),
                   dx != NULL ? nn_from(dx, i * d, type) : NULL, sum);
    });
    if (sums != NULL)
        nn_merge(sums, blocks, d);
    nn_put_sums(call, GAIN, sums, d);
    return YP_OK;
}

NN_EACH_TYPE

static size_t work_cuda(const struct nn_shape *shape)
{
    return nn_cuda_columns_bytes(shape->size[N], shape->size[D]);
}

static struct nn_cuda_rmsnorm job_of(const struct nn_call *call, enum nn_type type)
{
    return (struct nn_cuda_rmsnorm){.n = call->shape->size[N],
                                    .d = call->shape->size[D],
                                    .type = type,
                                    .add_dx = nn_adds(call, X),
                                    .add_dgain = nn_adds(call, GAIN),
                                    .eps = (float)call->shape->setting[0],
                                    .x = call->value[X],
                                    .dy = call->gradient[Y],
                                    .gain = call->value[GAIN],
                                    .y = call->value[Y],
                                    .dx = call->gradient[X],
                                    .r = call->value[R],
                                    .dgain = call->gradient[GAIN],
                                    .work = call->work};
}

NN_ON_CUDA_BY_JOB(rmsnorm, struct nn_cuda_rmsnorm)

static double flops(const struct nn_shape *shape, enum nn_pass pass)
{
    return (pass == NN_VJP ? 10.0 : 4.0) * (double)shape->size[N] * (double)shape->size[D];
}

const struct nn_operator nn_rmsnorm = {
    .name = "rmsnorm",
    .dims = "nd",
    .settings = {"eps"},
    .tensors = {{"x", "nd", .role = NN_INPUT, .adds = true},
                {"gain", "d", .role = NN_PARAMETER, .adds = true,
                 .domain = {NN_BELL, .low = 1, .high = 0.25}},
                {"y", "nd", .role = NN_OUTPUT},
                {"r", "n", .role = NN_SAVED}},
    .shapes = {{"one", .size = {1, 1}, .setting = {0.1}},
               {"odd", .size = {5, 37}, .setting = {1e-5}},
               {"small", .size = {64, 256}, .setting = {1e-5}},
               {"medium", .size = {2048, 768}, .setting = {1e-5}}},
    NN_PLAIN,
    .flops = flops,
    NN_EACH_VERSION(work, work_cuda, "bfbf", "bfbf"),
};

#else
static void NAME(forward)(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    const REAL *x = call->value[X], *gain = call->value[GAIN];
    REAL *y = call->value[Y], *r = call->value[R], eps = (REAL)call->shape->setting[0];
    for (size_t i = 0; i < size[N]; i++, x += size[D], y += size[D]) {
        REAL sum = 0;
        for (size_t k = 0; k < size[D]; k++)
            sum += x[k] * x[k];
        r[i] = 1 / sqrt(sum / (REAL)size[D] + eps);
        for (size_t k = 0; k < size[D]; k++)
            y[k] = x[k] * r[i] * gain[k];
    }
}

static void NAME(vjp)(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    const REAL *x = call->value[X], *gain = call->value[GAIN], *r = call->value[R];
    const REAL *dy = call->gradient[Y];
    REAL *dx = call->gradient[X], *dgain = call->gradient[GAIN];
    memset(dgain, 0, size[D] * sizeof *dgain);
    for (size_t i = 0; i < size[N]; i++, x += size[D], dx += size[D], dy += size[D]) {
        REAL along = 0;
        for (size_t k = 0; k < size[D]; k++) {
            along += gain[k] * dy[k] * x[k];
            dgain[k] += dy[k] * x[k] * r[i];
        }
        for (size_t k = 0; k < size[D]; k++)
            dx[k] = r[i] * gain[k] * dy[k] - x[k] * r[i] * r[i] * r[i] / (REAL)size[D] * along;
    }
}
#endif
