/* Sigmoid with binary cross-entropy of labels that may be unknown: loss (n) = ln(1 + e^x) - z x of
 * logits x (n), with labels t (n) from 0 to 1 smoothed to z = t (1 - smoothing) + smoothing / 2;
 * 0 where the label is negative, but of NaN NaN. dx = (sigmoid(x) - z) dloss, dlabel = -(1 -
 * smoothing) x dloss, and 0 where it is negative. */
#ifndef REAL
#define NN_FILE "models/nn/operators/coverage_bce.c"
enum { X, LABEL, LOSS };
enum { N };
#include "models/nn/cuda/on_cuda.h"
#include "models/nn/fast.h"
#include "models/nn/maths.h"
#include "models/nn/plain.h"
#include "models/nn/types.h"

NN_LOOPS losses_loops(enum nn_type type, const void *x, const float *label, float smoothing,
                      size_t n, float *restrict loss)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        float v = nn_get(x, i, type), z = label[i] * (1 - smoothing) + smoothing / 2;
        float value =
            (v < 0 ? 0 : v) - v * z + nn_log1p_unit(nn_exp(v > 0 ? -v : v)); /* of NaN: NaN */
        loss[i] = label[i] < 0 ? v - v : value;
    }
}
NN_TYPED_KERNEL(losses, (const void *x, const float *label, float smoothing, size_t n, float *loss),
                (x, label, smoothing, n, loss))

NN_LOOPS slopes_loops(enum nn_type type, const void *x, const float *label, const float *dloss,
                      float smoothing, size_t n, bool add, void *restrict dx)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        float z = label[i] * (1 - smoothing) + smoothing / 2;
        float slope = dloss[i] * (1 / (1 + nn_exp(-nn_get(x, i, type))) - z);
        slope = label[i] < 0 ? 0 : slope;
        nn_put(dx, i, add ? nn_get(dx, i, type) + slope : slope, type);
    }
}
NN_TYPED_KERNEL(slopes,
                (const void *x, const float *label, const float *dloss, float smoothing, size_t n,
                 bool add, void *dx),
                (x, label, dloss, smoothing, n, add, dx))

NN_LOOPS label_slopes_loops(enum nn_type type, const void *x, const float *label,
                            const float *dloss, float smoothing, size_t n, bool add,
                            float *restrict dlabel)
{
    for (size_t i = 0; i < n; i++) {
        float slope = label[i] < 0 ? 0 : (smoothing - 1) * nn_get(x, i, type) * dloss[i];
        dlabel[i] = add ? dlabel[i] + slope : slope;
    }
}
NN_TYPED_KERNEL(label_slopes,
                (const void *x, const float *label, const float *dloss, float smoothing, size_t n,
                 bool add, float *dlabel),
                (x, label, dloss, smoothing, n, add, dlabel))

static enum yp_status forward_in(const struct nn_call *call, enum nn_type type)
{
    const float *label = call->value[LABEL], smoothing = (float)call->shape->setting[0];
    float *loss = call->value[LOSS];
    size_t n = call->shape->size[N];
    losses_kernel *kernel = best_losses(type);
    NN_PARALLEL_FOR(n > NN_FEW * NN_CHUNK, at, n, NN_CHUNK,
                    kernel(nn_from(call->value[X], at, type), label + at, smoothing,
                           nn_least(NN_CHUNK, n - at), loss + at));
    return YP_OK;
}

static enum yp_status vjp_in(const struct nn_call *call, enum nn_type type)
{
    const void *x = call->value[X];
    const float *label = call->value[LABEL], smoothing = (float)call->shape->setting[0];
    const float *dloss = call->gradient[LOSS];
    float *dlabel = call->gradient[LABEL];
    size_t n = call->shape->size[N];
    slopes_kernel *kernel = best_slopes(type);
    label_slopes_kernel *of_labels = best_label_slopes(type);
    NN_PARALLEL_FOR(n > NN_FEW * NN_CHUNK, at, n, NN_CHUNK, {
        size_t some = nn_least(NN_CHUNK, n - at);
        if (call->gradient[X] != NULL)
            kernel(nn_from(x, at, type), label + at, dloss + at, smoothing, some, nn_adds(call, X),
                   nn_from(call->gradient[X], at, type));
        if (dlabel != NULL)
            of_labels(nn_from(x, at, type), label + at, dloss + at, smoothing, some,
                      nn_adds(call, LABEL), dlabel + at);
    });
    return YP_OK;
}

NN_EACH_TYPE

static struct nn_cuda_coverage job_of(const struct nn_call *call, enum nn_type type)
{
    return (struct nn_cuda_coverage){.n = call->shape->size[N],
                                     .type = type,
                                     .add_dx = nn_adds(call, X),
                                     .add_dlabel = nn_adds(call, LABEL),
                                     .smoothing = (float)call->shape->setting[0],
                                     .x = call->value[X],
                                     .label = call->value[LABEL],
                                     .dloss = call->gradient[LOSS],
                                     .loss = call->value[LOSS],
                                     .dlabel = call->gradient[LABEL],
                                     .dx = call->gradient[X]};
}

NN_ON_CUDA_BY_JOB(coverage_bce, struct nn_cuda_coverage)

static double flops(const struct nn_shape *shape, enum nn_pass pass)
{
    return (pass == NN_VJP ? NN_FUNCTION + 8.0 : 2 * NN_FUNCTION + 6.0) * (double)shape->size[N];
}

const struct nn_operator nn_coverage_bce = {
    .name = "coverage_bce",
    .dims = "n",
    .settings = {"smoothing"},
    .tensors = {{"x", "n", .role = NN_INPUT, .adds = true, .domain = {NN_BELL, .high = 3}},
                {"label", "n", .role = NN_INPUT, .adds = true,
                 .domain = {NN_BELL, .low = 0.3, .high = 0.18, .gap = 0.05}},
                {"loss", "n", .role = NN_OUTPUT}},
    NN_LINE_SHAPES(0.05),
    NN_PLAIN,
    .flops = flops,
    .versions = {{NN_FP32, "cpu", .forward = forward, .vjp = vjp, .multiple = 5},
                 {NN_BF16, "cpu", .forward = forward_bf16, .vjp = vjp_bf16, .types = "bff",
                  .gradients = "bff", .multiple = 5},
                 {NN_FP16, "cpu", .forward = forward_fp16, .vjp = vjp_fp16, .types = "bff",
                  .gradients = "bff", .multiple = 5},
                 {NN_FP32, "cuda", .forward = forward_cuda, .vjp = vjp_cuda, .multiple = 5},
                 {NN_BF16, "cuda", .forward = forward_cuda_bf16, .vjp = vjp_cuda_bf16,
                  .types = "bff", .gradients = "bff", .multiple = 5},
                 {NN_FP16, "cuda", .forward = forward_cuda_fp16, .vjp = vjp_cuda_fp16,
                  .types = "bff", .gradients = "bff", .multiple = 5}},
};

#else
static void NAME(forward)(const struct nn_call *call)
{
    const REAL *x = call->value[X], *label = call->value[LABEL];
    const REAL smoothing = (REAL)call->shape->setting[0];
    REAL *loss = call->value[LOSS];
    for (size_t i = 0; i < call->shape->size[N]; i++) {
        const REAL z = label[i] * (1 - smoothing) + smoothing / 2;
        loss[i] =
            label[i] < 0 ? x[i] - x[i] : (x[i] < 0 ? 0 : x[i]) - x[i] * z + log1p(exp(-fabs(x[i])));
    }
}

static void NAME(vjp)(const struct nn_call *call)
{
    const REAL *x = call->value[X], *label = call->value[LABEL], *dloss = call->gradient[LOSS];
    const REAL smoothing = (REAL)call->shape->setting[0];
    REAL *dx = call->gradient[X], *dlabel = call->gradient[LABEL];
    for (size_t i = 0; i < call->shape->size[N]; i++) {
        const REAL z = label[i] * (1 - smoothing) + smoothing / 2;
        dx[i] = label[i] < 0 ? 0 : dloss[i] * (1 / (1 + exp(-x[i])) - z);
        dlabel[i] = label[i] < 0 ? 0 : (smoothing - 1) * x[i] * dloss[i];
    }
}
#endif
