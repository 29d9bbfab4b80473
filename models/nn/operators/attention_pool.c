/* y (g, c) = the rows of x (g, i, c), weighted by the softmax of score (g, i) over i, which is
 * saved: weight. With s_i = x_i dy: dx_i = weight_i dy, dscore_i = weight_i (s_i - sum weight s).
 */
#ifndef REAL
#define NN_FILE "models/nn/operators/attention_pool.c"
enum { X, SCORE, Y, WEIGHT };
enum { G, ITEMS, C };
#include "models/nn/cuda/on_cuda.h"
#include "models/nn/fast.h"
#include "models/nn/maths.h"
#include "models/nn/plain.h"
#include "models/nn/types.h"

NN_LOOPS pool_loops(enum nn_type type, const void *x, const void *score, size_t n, size_t c,
                    void *restrict y, float *restrict weight, float *restrict sum)
{
    float high = nn_get(score, 0, type), all = 0;
    for (size_t i = 0; i < n; i++)
        high = nn_get(score, i, type) > high ? nn_get(score, i, type) : high;
    for (size_t i = 0; i < n; i++) {
        weight[i] = nn_exp(nn_get(score, i, type) - high);
        all += weight[i];
    }
    memset(sum, 0, c * sizeof *sum);
    for (size_t i = 0; i < n; i++) {
        weight[i] /= all;
        for (size_t k = 0; k < c; k++)
            sum[k] += weight[i] * nn_get(x, i * c + k, type);
    }
    for (size_t k = 0; k < c; k++)
        nn_put(y, k, sum[k], type);
}
NN_TYPED_KERNEL(pool,
                (const void *x, const void *score, size_t n, size_t c, void *y, float *weight,
                 float *sum),
                (x, score, n, c, y, weight, sum))

/* dx and dscore, added to what is there or not; NULL: not wanted. `along` has n places. */
NN_LOOPS slopes_loops(enum nn_type type, const void *x, const float *weight, const void *dy,
                      size_t n, size_t c, bool add_dx, bool add_dscore, void *restrict dx,
                      void *restrict dscore, float *restrict along)
{
    float all = 0;
    for (size_t i = 0; i < n; i++) {
        float sum = 0;
#pragma omp simd reduction(+ : sum)
        for (size_t k = 0; k < c; k++)
            sum += nn_get(x, i * c + k, type) * nn_get(dy, k, type);
        along[i] = sum;
        all += weight[i] * sum;
    }
    for (size_t i = 0; i < n && dscore != NULL; i++) {
        const float slope = weight[i] * (along[i] - all);
        nn_put(dscore, i, add_dscore ? nn_get(dscore, i, type) + slope : slope, type);
    }
    for (size_t i = 0; i < n && dx != NULL; i++)
        for (size_t k = 0; k < c; k++) {
            const float slope = weight[i] * nn_get(dy, k, type);
            nn_put(dx, i * c + k, add_dx ? nn_get(dx, i * c + k, type) + slope : slope, type);
        }
}
NN_TYPED_KERNEL(slopes,
                (const void *x, const float *weight, const void *dy, size_t n, size_t c,
                 bool add_dx, bool add_dscore, void *dx, void *dscore, float *along),
                (x, weight, dy, n, c, add_dx, add_dscore, dx, dscore, along))

/* A row of sums, or of scores, for each group. */
static size_t places(const size_t *size)
{
    return nn_most(size[ITEMS], size[C]);
}

static size_t work(const struct nn_shape *shape)
{
    return shape->size[G] * places(shape->size) * sizeof(float);
}

static enum yp_status forward_in(const struct nn_call *call, enum nn_type type)
{
    const size_t *size = call->shape->size, n = size[ITEMS], c = size[C];
    float *weight = call->value[WEIGHT], *sums = call->work;
    pool_kernel *pool = best_pool(type);
    NN_PARALLEL_FOR(
        size[G] * n * c > NN_FEW * NN_CHUNK, g, size[G], 1,
        pool(nn_from(call->value[X], g * n * c, type), nn_from(call->value[SCORE], g * n, type), n,
             c, nn_from(call->value[Y], g * c, type), weight + g * n, sums + g * places(size)));
    return YP_OK;
}

static enum yp_status vjp_in(const struct nn_call *call, enum nn_type type)
{
    const size_t *size = call->shape->size, n = size[ITEMS], c = size[C];
    const float *weight = call->value[WEIGHT];
    float *sums = call->work;
    void *dx = call->gradient[X], *dscore = call->gradient[SCORE];
    slopes_kernel *slopes = best_slopes(type);
    NN_PARALLEL_FOR(size[G] * n * c > NN_FEW * NN_CHUNK, g, size[G], 1,
                    slopes(nn_from(call->value[X], g * n * c, type), weight + g * n,
                           nn_from(call->gradient[Y], g * c, type), n, c, nn_adds(call, X),
                           nn_adds(call, SCORE), dx != NULL ? nn_from(dx, g * n * c, type) : NULL,
                           dscore != NULL ? nn_from(dscore, g * n, type) : NULL,
                           sums + g * places(size)));
    return YP_OK;
}

NN_EACH_TYPE

static struct nn_cuda_attention_pool job_of(const struct nn_call *call, enum nn_type type)
{
    const size_t *size = call->shape->size;
    return (struct nn_cuda_attention_pool){.g = size[G],
                                           .i = size[ITEMS],
                                           .c = size[C],
                                           .type = type,
                                           .add_dx = nn_adds(call, X),
                                           .add_dscore = nn_adds(call, SCORE),
                                           .x = call->value[X],
                                           .score = call->value[SCORE],
                                           .dy = call->gradient[Y],
                                           .y = call->value[Y],
                                           .dx = call->gradient[X],
                                           .dscore = call->gradient[SCORE],
                                           .weight = call->value[WEIGHT]};
}

NN_ON_CUDA_BY_JOB(attention_pool, struct nn_cuda_attention_pool)

static double flops(const struct nn_shape *shape, enum nn_pass pass)
{
    const double rows = (double)shape->size[G] * (double)shape->size[ITEMS];
    return rows * (pass == NN_VJP ? 3 * (double)shape->size[C] + 4
                                  : 2 * (double)shape->size[C] + NN_FUNCTION + 3);
}

const struct nn_operator nn_attention_pool = {
    .name = "attention_pool",
    .dims = "gic",
    .tensors = {{"x", "gic", .role = NN_INPUT, .adds = true},
                {"score", "gi", .role = NN_INPUT, .adds = true, .unread = true},
                {"y", "gc", .role = NN_OUTPUT},
                {"weight", "gi", .role = NN_SAVED}},
    .shapes = {{"one", .size = {1, 1, 1}},
               {"odd", .size = {5, 3, 7}},
               {"small", .size = {16, 8, 64}},
               {"medium", .size = {256, 8, 256}}},
    NN_PLAIN,
    .flops = flops,
    NN_EACH_VERSION(work, NULL, "bbbf", "bbbf"),
};

#else
static void NAME(forward)(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    const REAL *x = call->value[X], *score = call->value[SCORE];
    REAL *y = call->value[Y], *weight = call->value[WEIGHT];
    memset(y, 0, size[G] * size[C] * sizeof *y);
    for (size_t g = 0; g < size[G];
         g++, score += size[ITEMS], weight += size[ITEMS], y += size[C]) {
        REAL high = score[0], sum = 0;
        for (size_t i = 1; i < size[ITEMS]; i++)
            high = score[i] > high ? score[i] : high;
        for (size_t i = 0; i < size[ITEMS]; i++)
            sum += weight[i] = exp(score[i] - high);
        for (size_t i = 0; i < size[ITEMS]; i++) {
            weight[i] /= sum;
            for (size_t c = 0; c < size[C]; c++)
                y[c] += weight[i] * *x++;
        }
    }
}

static void NAME(vjp)(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    const REAL *x = call->value[X], *weight = call->value[WEIGHT], *dy = call->gradient[Y];
    REAL *dx = call->gradient[X], *dscore = call->gradient[SCORE];
    for (size_t g = 0; g < size[G];
         g++, weight += size[ITEMS], dscore += size[ITEMS], dy += size[C]) {
        REAL all = 0;
        for (size_t i = 0; i < size[ITEMS]; i++) {
            dscore[i] = 0;
            for (size_t c = 0; c < size[C]; c++) {
                dscore[i] += *x++ * dy[c];
                *dx++ = weight[i] * dy[c];
            }
            all += weight[i] * dscore[i];
        }
        for (size_t i = 0; i < size[ITEMS]; i++)
            dscore[i] = weight[i] * (dscore[i] - all);
    }
}
#endif
