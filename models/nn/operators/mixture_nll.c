/* The negative log-likelihood of paths in the plane under a mixture of k of them: loss (n) of
 * targets (n, t, 2) under p (n, k, t, 5), which are mean x and y, deviations a and b and
 * correlation r of a normal distribution for each step, and logits (n, k):
 *
 *     loss = -ln sum_k e^s,  s = ln(softmax(logit) + floor) + sum_t d
 *     d = -(u^2 - 2 r u v + v^2) / (2 q) - ln a - ln b - ln(q) / 2 - ln 2 pi
 *     u = (x - mean x) / a,  v = (y - mean y) / b,  q = 1 - r^2 + ridge
 *
 * share (n, k), the part of each mode in that sum, is saved. The square is taken as (u - r v)^2 +
 * (1 - r) (1 + r) v^2, and u - r v as (u - v) + (1 - r) v, or (u + v) - (1 + r) v where r is
 * negative, which lose nothing where r is near 1 or -1. With w = share softmax / (softmax +
 * floor), dlogit = (softmax sum w - w) dloss; gradients of d are weighed by -share dloss. */
#ifndef REAL
#define NN_FILE "models/nn/operators/mixture_nll.c"
enum { P, LOGIT, TARGET, LOSS, SHARE };
enum { N, K, T, C, D };
#define LN_2_PI 1.8378770664093454836
#include "models/nn/fast.h"
#include "models/nn/maths.h"
#include "models/nn/plain.h"
#include "models/nn/types.h"

/* u - r v. */
static inline float without(float u, float v, float r)
{
    float near = r < 0 ? -1 : 1;
    return (u - near * v) + (near - r) * v;
}

/* The sum of the densities' logarithms of a mode. */
static inline float likelihood(const float *p, const float *target, size_t t, float ridge)
{
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < t; i++) {
        float a = p[5 * i + 2], b = p[5 * i + 3], r = p[5 * i + 4];
        float u = (target[2 * i] - p[5 * i]) / a, v = (target[2 * i + 1] - p[5 * i + 1]) / b;
        float bare = (1 - r) * (1 + r), q = bare + ridge, along = without(u, v, r);
        sum -= (along * along + bare * v * v) / (2 * q) + nn_log(a * b) + nn_log(q) / 2;
    }
    return sum - (float)LN_2_PI * (float)t;
}

/* Of logits (k): their largest, and the sum of the exponentials of what is left. */
static inline float high_of(const void *logit, size_t k, bool bf16, float *sum)
{
    float high = nn_get(logit, 0, bf16);
    for (size_t i = 1; i < k; i++)
        high = nn_get(logit, i, bf16) > high ? nn_get(logit, i, bf16) : high;
    *sum = 0;
    for (size_t i = 0; i < k; i++)
        *sum += nn_exp(nn_get(logit, i, bf16) - high);
    return high;
}

/* Of one node. */
NN_LOOPS losses_loops(bool bf16, const struct nn_call *call, size_t node)
{
    const size_t k = call->shape->size[K], t = call->shape->size[T];
    const float floor = (float)call->shape->setting[0], ridge = (float)call->shape->setting[1];
    const float *p = (const float *)call->value[P] + node * k * t * 5;
    const float *target = (const float *)call->value[TARGET] + node * t * 2;
    const void *logit = nn_from(call->value[LOGIT], node * k, bf16);
    float *restrict share = (float *)call->value[SHARE] + node * k, all = 0, sum;
    const float high = high_of(logit, k, bf16, &sum);
    for (size_t i = 0; i < k; i++)
        share[i] = nn_log(nn_exp(nn_get(logit, i, bf16) - high) / sum + floor) +
                   likelihood(p + i * t * 5, target, t, ridge);
    const float most = nn_max(share, k);
    for (size_t i = 0; i < k; i++)
        all += share[i] = nn_exp(share[i] - most);
    for (size_t i = 0; i < k; i++)
        share[i] /= all;
    ((float *)call->value[LOSS])[node] = -(most + nn_log(all));
}
NN_TYPED_KERNEL(losses, (const struct nn_call *call, size_t node), (call, node))

/* dp of a mode, and the sum over modes of the gradient of the target. */
static inline void mode_slopes(const float *p, const float *target, size_t t, float ridge,
                               float weight, bool add, float *restrict dp, float *restrict dtarget)
{
#pragma omp simd
    for (size_t i = 0; i < t; i++) {
        float a = p[5 * i + 2], b = p[5 * i + 3], r = p[5 * i + 4];
        float u = (target[2 * i] - p[5 * i]) / a, v = (target[2 * i + 1] - p[5 * i + 1]) / b;
        float bare = (1 - r) * (1 + r), q = bare + ridge, along = without(u, v, r),
              across = without(v, u, r);
        float square = along * along + bare * v * v;
        float dx = weight * along / (q * a), dy = weight * across / (q * b);
        float da = weight * (u * along / q - 1) / a, db = weight * (v * across / q - 1) / b;
        float dr = weight * (u * v + r - r * square / q) / q;
        dp[5 * i] = add ? dp[5 * i] + dx : dx;
        dp[5 * i + 1] = add ? dp[5 * i + 1] + dy : dy;
        dp[5 * i + 2] = add ? dp[5 * i + 2] + da : da;
        dp[5 * i + 3] = add ? dp[5 * i + 3] + db : db;
        dp[5 * i + 4] = add ? dp[5 * i + 4] + dr : dr;
        dtarget[2 * i] -= dx;
        dtarget[2 * i + 1] -= dy;
    }
}

static inline void logit_slopes(const void *logit, const float *share, float floor, float dloss,
                                size_t k, bool bf16, bool add, void *restrict dlogit)
{
    float sum, all = 0;
    const float high = high_of(logit, k, bf16, &sum);
    for (size_t i = 0; i < k; i++) {
        float part = nn_exp(nn_get(logit, i, bf16) - high) / sum;
        all += share[i] * part / (part + floor);
    }
    for (size_t i = 0; i < k; i++) {
        float part = nn_exp(nn_get(logit, i, bf16) - high) / sum;
        float slope = dloss * (part * all - share[i] * part / (part + floor));
        nn_put(dlogit, i, add ? nn_get(dlogit, i, bf16) + slope : slope, bf16);
    }
}

/* Of one node. `spare` (t, 7) takes what is not wanted. */
NN_LOOPS slopes_loops(bool bf16, const struct nn_call *call, size_t node, float *restrict spare)
{
    const size_t k = call->shape->size[K], t = call->shape->size[T];
    const float floor = (float)call->shape->setting[0], ridge = (float)call->shape->setting[1];
    const float dloss = ((const float *)call->gradient[LOSS])[node];
    const float *p = (const float *)call->value[P] + node * k * t * 5;
    const float *target = (const float *)call->value[TARGET] + node * t * 2;
    const float *share = (const float *)call->value[SHARE] + node * k;
    float *dp = call->gradient[P], *dtarget = call->gradient[TARGET];
    dtarget = dtarget != NULL ? dtarget + node * t * 2 : spare + t * 5;
    for (size_t i = 0; i < 2 * t && !nn_adds(call, TARGET); i++)
        dtarget[i] = 0;
    for (size_t i = 0; i < k && (dp != NULL || call->gradient[TARGET] != NULL); i++)
        mode_slopes(p + i * t * 5, target, t, ridge, -share[i] * dloss,
                    dp != NULL && nn_adds(call, P),
                    dp != NULL ? dp + (node * k + i) * t * 5 : spare, dtarget);
    if (call->gradient[LOGIT] != NULL)
        logit_slopes(nn_from(call->value[LOGIT], node * k, bf16), share, floor, dloss, k, bf16,
                     nn_adds(call, LOGIT), nn_from(call->gradient[LOGIT], node * k, bf16));
}
NN_TYPED_KERNEL(slopes, (const struct nn_call *call, size_t node, float *spare),
                (call, node, spare))

static bool many(const struct nn_shape *shape)
{
    return shape->size[N] * shape->size[K] * shape->size[T] > NN_CHUNK / 8;
}

static enum yp_status forward_in(const struct nn_call *call, bool bf16)
{
    losses_kernel *kernel = best_losses(bf16);
    NN_PARALLEL_FOR(many(call->shape), i, call->shape->size[N], 1, kernel(call, i));
    return YP_OK;
}

static size_t work(const struct nn_shape *shape)
{
    return shape->size[N] * shape->size[T] * 7 * sizeof(float);
}

static enum yp_status vjp_in(const struct nn_call *call, bool bf16)
{
    const size_t room = call->shape->size[T] * 7;
    float *spare = call->work;
    slopes_kernel *kernel = best_slopes(bf16);
    NN_PARALLEL_FOR(many(call->shape), i, call->shape->size[N], 1,
                    kernel(call, i, spare + i * room));
    return YP_OK;
}

NN_BOTH_TYPES

static double flops(const struct nn_shape *shape, enum nn_pass pass)
{
    const double n = (double)shape->size[N], k = (double)shape->size[K];
    const double t = (double)shape->size[T];
    return pass == NN_VJP ? n * k * (t * 45 + NN_FUNCTION + 8)
                          : n * k * (t * (18 + 2 * NN_FUNCTION) + 3 * NN_FUNCTION + 6);
}

const struct nn_operator nn_mixture_nll = {
    .name = "mixture_nll",
    .dims = "nktcd",
    .settings = {"floor", "ridge"},
    .tensors = {{"p", "nktc", .role = NN_INPUT, .adds = true,
                 .domain = {NN_UNIFORM, .low = 0.4, .high = 0.9}},
                {"logit", "nk", .role = NN_INPUT, .adds = true},
                {"target", "ntd", .role = NN_INPUT, .adds = true,
                 .domain = {NN_BELL, .low = 0.6, .high = 0.5}},
                {"loss", "n", .role = NN_OUTPUT},
                {"share", "nk", .role = NN_SAVED}},
    .shapes = {{"one", .size = {1, 1, 1, 5, 2}, .setting = {0.1, 0.1}},
               {"odd", .size = {5, 3, 3, 5, 2}, .setting = {0.1, 0.1}},
               {"small", .size = {22, 6, 10, 5, 2}, .setting = {1e-6, 1e-6}},
               {"medium", .size = {352, 16, 10, 5, 2}, .setting = {1e-6, 1e-6}}},
    NN_PLAIN,
    .flops = flops,
    .versions = {{NN_FP32, "cpu", .forward = forward, .vjp = vjp, .work = work},
                 {NN_BF16, "cpu", .forward = forward_bf16, .vjp = vjp_bf16, .work = work,
                  .types = "fbfff", .gradients = "fbfff"}},
};

#else
static REAL NAME(without)(REAL u, REAL v, REAL r)
{
    return r < 0 ? (u + v) - (1 + r) * v : (u - v) + (1 - r) * v;
}

/* The sum of the densities' logarithms of a mode; its gradients, weighed, are written to dp and
 * taken from dtarget unless dp is NULL. */
static REAL NAME(mode)(const REAL *p, const REAL *target, size_t t, REAL ridge, REAL weight,
                       REAL *dp, REAL *dtarget)
{
    REAL sum = 0;
    for (size_t i = 0; i < t; i++, p += 5, target += 2) {
        const REAL a = p[2], b = p[3], r = p[4];
        const REAL u = (target[0] - p[0]) / a, v = (target[1] - p[1]) / b;
        const REAL bare = (1 - r) * (1 + r), q = bare + ridge;
        const REAL along = NAME(without)(u, v, r), across = NAME(without)(v, u, r);
        const REAL square = along * along + bare * v * v;
        sum += -square / (2 * q) - log(a) - log(b) - log(q) / 2 - (REAL)LN_2_PI;
        if (dp == NULL)
            continue;
        dp[0] = weight * along / (q * a);
        dp[1] = weight * across / (q * b);
        dp[2] = weight * (u * along / q - 1) / a;
        dp[3] = weight * (v * across / q - 1) / b;
        dp[4] = weight * (u * v + r - r * square / q) / q;
        dtarget[0] -= dp[0];
        dtarget[1] -= dp[1];
        dp += 5;
        dtarget += 2;
    }
    return sum;
}

static REAL NAME(part)(const REAL *logit, size_t k, size_t i)
{
    REAL high = logit[0], sum = 0;
    for (size_t j = 1; j < k; j++)
        high = logit[j] > high ? logit[j] : high;
    for (size_t j = 0; j < k; j++)
        sum += exp(logit[j] - high);
    return exp(logit[i] - high) / sum;
}

static void NAME(forward)(const struct nn_call *call)
{
    const size_t *size = call->shape->size, k = size[K], step = size[T] * 5;
    const REAL floor = (REAL)call->shape->setting[0], ridge = (REAL)call->shape->setting[1];
    const REAL *p = call->value[P], *logit = call->value[LOGIT], *target = call->value[TARGET];
    REAL *loss = call->value[LOSS], *share = call->value[SHARE];
    for (size_t n = 0; n < size[N]; n++, p += k * step, logit += k, share += k) {
        REAL most = -(REAL)INFINITY, sum = 0;
        for (size_t i = 0; i < k; i++) {
            share[i] =
                log(NAME(part)(logit, k, i) + floor) +
                NAME(mode)(p + i * step, target + n * size[T] * 2, size[T], ridge, 0, NULL, NULL);
            most = share[i] < most ? most : share[i];
        }
        for (size_t i = 0; i < k; i++)
            sum += exp(share[i] - most);
        for (size_t i = 0; i < k; i++)
            share[i] = exp(share[i] - most) / sum;
        loss[n] = -most - log(sum);
    }
}

static void NAME(vjp)(const struct nn_call *call)
{
    const size_t *size = call->shape->size, k = size[K], step = size[T] * 5;
    const REAL floor = (REAL)call->shape->setting[0], ridge = (REAL)call->shape->setting[1];
    const REAL *p = call->value[P], *logit = call->value[LOGIT], *target = call->value[TARGET];
    const REAL *dloss = call->gradient[LOSS], *share = call->value[SHARE];
    REAL *dp = call->gradient[P], *dlogit = call->gradient[LOGIT];
    REAL *dtarget = call->gradient[TARGET];
    memset(dtarget, 0, size[N] * size[T] * 2 * sizeof *dtarget);
    for (size_t n = 0; n < size[N]; n++, logit += k, dlogit += k, share += k) {
        REAL all = 0;
        for (size_t i = 0; i < k; i++, p += step, dp += step) {
            const REAL part = NAME(part)(logit, k, i);
            NAME(mode)
            (p, target + n * size[T] * 2, size[T], ridge, -share[i] * dloss[n], dp,
             dtarget + n * size[T] * 2);
            all += share[i] * part / (part + floor);
        }
        for (size_t i = 0; i < k; i++) {
            const REAL part = NAME(part)(logit, k, i);
            dlogit[i] = dloss[n] * (part * all - share[i] * part / (part + floor));
        }
    }
}
#endif
