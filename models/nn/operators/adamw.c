/* A step of AdamW (Loshchilov and Hutter, 2019, algorithm 2) on parameters p with moments m and v,
 * in the form and order of operations that PyTorch gives it:
 *     g <- factor gradient
 *     p <- p (1 - lr weight_decay)
 *     m <- m + (1 - beta1) (g - m)
 *     v <- beta2 v + (1 - beta2) g^2
 *     p <- p - lr / (1 - beta1^step)  m / (sqrt(v) / sqrt(1 - beta2^step) + eps)
 * `factor` is that of clipping. What all elements share is made in double. Products and sums are
 * rounded one by one, so that all versions have the same bits. */
#ifndef REAL
#define NN_FILE "models/nn/operators/adamw.c"
enum { GRADIENT, PARAMETERS, M, V };
enum { N };
#ifdef __clang__ /* GCC does not join them in ISO C */
#pragma STDC FP_CONTRACT OFF
#endif
#include "models/nn/operators/adamw.h"

#include "models/nn/fast.h"
#include "models/nn/plain.h"

struct nn_adamw_shared nn_adamw_shared(const double s[NN_ADAMW_SETTINGS])
{
    double step = s[NN_ADAMW_STEP];
    return (struct nn_adamw_shared){
        .keep = (float)(1 - s[NN_ADAMW_LR] * s[NN_ADAMW_WEIGHT_DECAY]),
        .gain1 = (float)(1 - s[NN_ADAMW_BETA1]),
        .gain2 = (float)(1 - s[NN_ADAMW_BETA2]),
        .beta2 = (float)s[NN_ADAMW_BETA2],
        .correction = (float)sqrt(1 - pow(s[NN_ADAMW_BETA2], step)),
        .eps = (float)s[NN_ADAMW_EPS],
        .step = (float)(s[NN_ADAMW_LR] / (1 - pow(s[NN_ADAMW_BETA1], step)))};
}

NN_LOOPS update_loops(struct nn_adamw_shared s, double factor, const float *gradient, size_t n,
                      float *restrict p, float *restrict m, float *restrict v)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        float g = (float)(factor * (double)gradient[i]);
        float mean = m[i] + s.gain1 * (g - m[i]), square = s.beta2 * v[i] + s.gain2 * g * g;
        m[i] = mean;
        v[i] = square;
        p[i] = s.keep * p[i] - s.step * (mean / (sqrtf(square) / s.correction + s.eps));
    }
}
NN_KERNEL(update,
          (struct nn_adamw_shared s, double factor, const float *gradient, size_t n, float *p,
           float *m, float *v),
          (s, factor, gradient, n, p, m, v))

static enum yp_status forward(const struct nn_call *call)
{
    const double *setting = call->shape->setting;
    struct nn_adamw_shared shared = nn_adamw_shared(setting);
    const float *gradient = call->value[GRADIENT];
    float *p = call->value[PARAMETERS], *m = call->value[M], *v = call->value[V];
    size_t n = call->shape->size[N];
    update_kernel *kernel = best_update();
    NN_PARALLEL_FOR(n > NN_FEW * NN_CHUNK, at, n, NN_CHUNK,
                    kernel(shared, setting[NN_ADAMW_FACTOR], gradient + at,
                           nn_least(NN_CHUNK, n - at), p + at, m + at, v + at));
    return YP_OK;
}

static double flops(const struct nn_shape *shape, enum nn_pass pass)
{
    (void)pass;
    return 16 * (double)shape->size[N];
}

const struct nn_operator nn_adamw = {
    .name = "adamw",
    .dims = "n",
    .settings = {"lr", "beta1", "beta2", "eps", "weight_decay", "step", "factor"},
    .tensors = {{"gradient", "n", .role = NN_CONSTANT},
                {"parameters", "n", .role = NN_STATE},
                {"m", "n", .role = NN_STATE},
                {"v", "n", .role = NN_STATE, .domain = {NN_UNIFORM, .low = 0, .high = 1}}},
    NN_LINE_SHAPES(1e-3, 0.9, 0.999, 1e-8, 0.01, 3, 0.5),
    .oracle = forward_f64,
    .plain = forward_f32,
    .flops = flops,
    .versions = {{NN_FP32, "cpu", .forward = forward}},
};

#else
static void NAME(forward)(const struct nn_call *call)
{
    const double *set = call->shape->setting, lr = set[NN_ADAMW_LR];
    const double beta1 = set[NN_ADAMW_BETA1], beta2 = set[NN_ADAMW_BETA2];
    const REAL step = (REAL)(lr / (1 - pow(beta1, set[NN_ADAMW_STEP])));
    const REAL correction = (REAL)sqrt(1 - pow(beta2, set[NN_ADAMW_STEP]));
    const REAL *gradient = call->value[GRADIENT];
    REAL *p = call->value[PARAMETERS], *m = call->value[M], *v = call->value[V];
    for (size_t i = 0; i < call->shape->size[N]; i++) {
        REAL g = (REAL)set[NN_ADAMW_FACTOR] * gradient[i];
        m[i] += (REAL)(1 - beta1) * (g - m[i]);
        v[i] = (REAL)beta2 * v[i] + (REAL)(1 - beta2) * g * g;
        p[i] = (REAL)(1 - lr * set[NN_ADAMW_WEIGHT_DECAY]) * p[i] -
               step * (m[i] / (sqrt(v[i]) / correction + (REAL)set[NN_ADAMW_EPS]));
    }
}
#endif
