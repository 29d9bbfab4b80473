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
#include "models/nn/cuda/on_cuda.h"
#include "models/nn/fast.h"
#include "models/nn/maths.h"
#include "models/nn/types.h"

/* Numbers of one node: what plain loops take, 2 k, or a fast vjp. */
static size_t room(const struct nn_shape *shape)
{
    return nn_most(2 * shape->size[K], 7 * shape->size[T]);
}

static struct nn_cuda_mixture job_of(const struct nn_call *call, enum nn_type type)
{
    struct nn_cuda_mixture job = nn_cuda_mixture_of(call, type, room(call->shape));
    job.add_dtarget = nn_adds(call, TARGET);
    job.target = call->value[TARGET];
    job.dtarget = call->gradient[TARGET];
    job.share = call->value[SHARE];
    job.loss = call->value[LOSS];
    job.dloss = call->gradient[LOSS];
    return job;
}

#include "models/nn/plain.h"

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
static inline float high_of(const void *logit, size_t k, enum nn_type type, float *sum)
{
    float high = nn_get(logit, 0, type);
    for (size_t i = 1; i < k; i++)
        high = nn_get(logit, i, type) > high ? nn_get(logit, i, type) : high;
    *sum = 0;
    for (size_t i = 0; i < k; i++)
        *sum += nn_exp(nn_get(logit, i, type) - high);
    return high;
}

/* Of one node. */
NN_LOOPS losses_loops(enum nn_type type, const struct nn_call *call, size_t node)
{
    const size_t k = call->shape->size[K], t = call->shape->size[T];
    const float floor = (float)call->shape->setting[0], ridge = (float)call->shape->setting[1];
    const float *p = (const float *)call->value[P] + node * k * t * 5;
    const float *target = (const float *)call->value[TARGET] + node * t * 2;
    const void *logit = nn_from(call->value[LOGIT], node * k, type);
    float *restrict share = (float *)call->value[SHARE] + node * k, all = 0, sum;
    const float high = high_of(logit, k, type, &sum);
    for (size_t i = 0; i < k; i++)
        share[i] = nn_log(nn_exp(nn_get(logit, i, type) - high) / sum + floor) +
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
                                size_t k, enum nn_type type, bool add, void *restrict dlogit)
{
    float sum, all = 0;
    const float high = high_of(logit, k, type, &sum);
    for (size_t i = 0; i < k; i++) {
        float part = nn_exp(nn_get(logit, i, type) - high) / sum;
        all += share[i] * part / (part + floor);
    }
    for (size_t i = 0; i < k; i++) {
        float part = nn_exp(nn_get(logit, i, type) - high) / sum;
        float slope = dloss * (part * all - share[i] * part / (part + floor));
        nn_put(dlogit, i, add ? nn_get(dlogit, i, type) + slope : slope, type);
    }
}

/* Of one node. `spare` (t, 7) takes what is not wanted. */
NN_LOOPS slopes_loops(enum nn_type type, const struct nn_call *call, size_t node,
                      float *restrict spare)
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
        logit_slopes(nn_from(call->value[LOGIT], node * k, type), share, floor, dloss, k, type,
                     nn_adds(call, LOGIT), nn_from(call->gradient[LOGIT], node * k, type));
}
NN_TYPED_KERNEL(slopes, (const struct nn_call *call, size_t node, float *spare),
                (call, node, spare))

static bool many(const struct nn_shape *shape)
{
    return shape->size[N] * shape->size[K] * shape->size[T] > NN_CHUNK / 8;
}

static enum yp_status forward_in(const struct nn_call *call, enum nn_type type)
{
    losses_kernel *kernel = best_losses(type);
    NN_PARALLEL_FOR(many(call->shape), i, call->shape->size[N], 1, kernel(call, i));
    return YP_OK;
}

NN_MIXTURE_WORKS

static enum yp_status vjp_in(const struct nn_call *call, enum nn_type type)
{
    const size_t each = room(call->shape);
    float *spare = call->work;
    slopes_kernel *kernel = best_slopes(type);
    NN_PARALLEL_FOR(many(call->shape), i, call->shape->size[N], 1,
                    kernel(call, i, spare + i * each));
    return YP_OK;
}

NN_EACH_TYPE
NN_ON_CUDA_BY_JOB(mixture_nll, struct nn_cuda_mixture)

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
    .plain_work = plain_work,
    NN_EACH_VERSION(work, work, "fbfff", "fbfff"),
};

#else
#include "models/nn/operators/mixture_plain.inc"

#include "models/nn/operators/mixture_nll.inc"

static void NAME(forward)(const struct nn_call *call)
{
    const struct nn_cuda_mixture job = job_of(call, NN_REAL);
    for (size_t i = 0; i < job.n; i++)
        NAME(likelihood)(&job, i);
}

static void NAME(vjp)(const struct nn_call *call)
{
    const struct nn_cuda_mixture job = job_of(call, NN_REAL);
    for (size_t i = 0; i < job.n; i++)
        NAME(likelihood_vjp)(&job, i);
}
#endif
