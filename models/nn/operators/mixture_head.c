/* y (n, 5): mean x and y, deviations of x and y, and correlation of a normal distribution in the
 * plane, of raw (n, 5) numbers: the means as they are, a deviation e^raw within the settings
 * `least` and `most`, the correlation tanh raw. Where a deviation is held at an end it has no
 * gradient. NaN stays NaN. */
#ifndef REAL
#define NN_FILE "models/nn/operators/mixture_head.c"
enum { RAW, Y };
enum { N, C };
#include "models/nn/cuda/on_cuda.h"
#include "models/nn/fast.h"
#include "models/nn/maths.h"
#include "models/nn/plain.h"
#include "models/nn/types.h"

/* The derivative of tanh: 1 - tanh^2 without cancellation. */
static inline float squash_slope(float x)
{
    float e = nn_exp(x < 0 ? 2 * x : -2 * x);
    return 4 * e / ((1 + e) * (1 + e));
}

static inline float held(float deviation, float least, float most)
{
    deviation = deviation < least ? least : deviation;
    return deviation > most ? most : deviation;
}

NN_LOOPS values_loops(enum nn_type type, const void *raw, float least, float most, size_t n,
                      float *restrict y)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        y[5 * i] = nn_get(raw, 5 * i, type);
        y[5 * i + 1] = nn_get(raw, 5 * i + 1, type);
        y[5 * i + 2] = held(nn_exp(nn_get(raw, 5 * i + 2, type)), least, most);
        y[5 * i + 3] = held(nn_exp(nn_get(raw, 5 * i + 3, type)), least, most);
        y[5 * i + 4] = nn_tanh(nn_get(raw, 5 * i + 4, type));
    }
}
NN_TYPED_KERNEL(values, (const void *raw, float least, float most, size_t n, float *y),
                (raw, least, most, n, y))

static inline float deviation_slope(float raw, float least, float most)
{
    float deviation = nn_exp(raw);
    return deviation < least || deviation > most ? 0 : deviation;
}

NN_LOOPS slopes_loops(enum nn_type type, const void *raw, const float *dy, float least, float most,
                      size_t n, bool add, void *restrict draw)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        float slope[5] = {
            dy[5 * i], dy[5 * i + 1],
            dy[5 * i + 2] * deviation_slope(nn_get(raw, 5 * i + 2, type), least, most),
            dy[5 * i + 3] * deviation_slope(nn_get(raw, 5 * i + 3, type), least, most),
            dy[5 * i + 4] * squash_slope(nn_get(raw, 5 * i + 4, type))};
        for (size_t k = 0; k < 5; k++)
            nn_put(draw, 5 * i + k, add ? nn_get(draw, 5 * i + k, type) + slope[k] : slope[k],
                   type);
    }
}
NN_TYPED_KERNEL(slopes,
                (const void *raw, const float *dy, float least, float most, size_t n, bool add,
                 void *draw),
                (raw, dy, least, most, n, add, draw))

static enum yp_status forward_in(const struct nn_call *call, enum nn_type type)
{
    float *y = call->value[Y], least = (float)call->shape->setting[0];
    float most = (float)call->shape->setting[1];
    size_t n = call->shape->size[N], rows = nn_rows(5, NN_CHUNK);
    values_kernel *kernel = best_values(type);
    NN_PARALLEL_FOR(n > NN_FEW * rows, at, n, rows,
                    kernel(nn_from(call->value[RAW], 5 * at, type), least, most,
                           nn_least(rows, n - at), y + 5 * at));
    return YP_OK;
}

static enum yp_status vjp_in(const struct nn_call *call, enum nn_type type)
{
    const float *dy = call->gradient[Y];
    float least = (float)call->shape->setting[0], most = (float)call->shape->setting[1];
    size_t n = call->gradient[RAW] != NULL ? call->shape->size[N] : 0, rows = nn_rows(5, NN_CHUNK);
    slopes_kernel *kernel = best_slopes(type);
    NN_PARALLEL_FOR(n > NN_FEW * rows, at, n, rows,
                    kernel(nn_from(call->value[RAW], 5 * at, type), dy + 5 * at, least, most,
                           nn_least(rows, n - at), nn_adds(call, RAW),
                           nn_from(call->gradient[RAW], 5 * at, type)));
    return YP_OK;
}

NN_EACH_TYPE

static struct nn_cuda_mixture_head job_of(const struct nn_call *call, enum nn_type type)
{
    return (struct nn_cuda_mixture_head){.n = call->shape->size[N],
                                         .type = type,
                                         .add = nn_adds(call, RAW),
                                         .least = (float)call->shape->setting[0],
                                         .most = (float)call->shape->setting[1],
                                         .raw = call->value[RAW],
                                         .dy = call->gradient[Y],
                                         .y = call->value[Y],
                                         .draw = call->gradient[RAW]};
}

NN_ON_CUDA_BY_JOB(mixture_head, struct nn_cuda_mixture_head)

static double flops(const struct nn_shape *shape, enum nn_pass pass)
{
    return (pass == NN_VJP ? 3 * NN_FUNCTION + 8 : 3 * NN_FUNCTION + 3) * (double)shape->size[N];
}

const struct nn_operator nn_mixture_head = {
    .name = "mixture_head",
    .dims = "nc",
    .settings = {"least", "most"},
    /* Kinks are at ln least and ln most, and the gap is at 0: shapes for gradients have one there.
     */
    .tensors = {{"raw", "nc", .role = NN_INPUT, .adds = true, .domain = {NN_BELL, .gap = 0.02}},
                {"y", "nc", .role = NN_OUTPUT}},
    .shapes = {{"one", .size = {1, 5}, .setting = {1e-5, 1e5}},
               {"odd", .size = {37, 5}, .setting = {1, 1e5}},
               {"small", .size = {512, 5}, .setting = {1e-5, 1}},
               {"medium", .size = {56320, 5}, .setting = {0.01, 10}}},
    NN_PLAIN,
    .flops = flops,
    .versions = {{NN_FP32, "cpu", .forward = forward, .vjp = vjp, .multiple = 5},
                 {NN_BF16, "cpu", .forward = forward_bf16, .vjp = vjp_bf16, .types = "bf",
                  .gradients = "bf", .multiple = 5},
                 {NN_FP16, "cpu", .forward = forward_fp16, .vjp = vjp_fp16, .types = "bf",
                  .gradients = "bf", .multiple = 5},
                 {NN_FP32, "cuda", .forward = forward_cuda, .vjp = vjp_cuda, .multiple = 5},
                 {NN_BF16, "cuda", .forward = forward_cuda_bf16, .vjp = vjp_cuda_bf16,
                  .types = "bf", .gradients = "bf", .multiple = 5},
                 {NN_FP16, "cuda", .forward = forward_cuda_fp16, .vjp = vjp_cuda_fp16,
                  .types = "bf", .gradients = "bf", .multiple = 5}},
};

#else
static void NAME(forward)(const struct nn_call *call)
{
    const double *setting = call->shape->setting;
    const REAL *raw = call->value[RAW], least = (REAL)setting[0], most = (REAL)setting[1];
    REAL *y = call->value[Y];
    for (size_t i = 0; i < 5 * call->shape->size[N]; i++) {
        const size_t column = i % 5;
        REAL deviation = exp(raw[i]);
        deviation = deviation < least ? least : deviation > most ? most : deviation;
        y[i] = column < 2 ? raw[i] : column < 4 ? deviation : tanh(raw[i]);
    }
}

static void NAME(vjp)(const struct nn_call *call)
{
    const double *setting = call->shape->setting;
    const REAL *raw = call->value[RAW], *dy = call->gradient[Y];
    REAL *draw = call->gradient[RAW];
    for (size_t i = 0; i < 5 * call->shape->size[N]; i++) {
        const size_t column = i % 5;
        const REAL deviation = exp(raw[i]), top = cosh(raw[i]);
        const bool free = !(deviation < (REAL)setting[0] || deviation > (REAL)setting[1]);
        draw[i] = dy[i] * (column < 2 ? 1 : column < 4 ? (free ? deviation : 0) : 1 / (top * top));
    }
}
#endif
