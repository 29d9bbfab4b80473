/* What else a mixture of k paths of t steps may be held to: loss (n), a weighted sum of terms of p
 * (n, k, t, 5), whose first two numbers are a step's mean position, of logits (n, k) and of targets
 * (n, t, 2). With m the mean path by softmax(logit), o = m - target:
 *
 *     velocity      mean of (o_(s+1) - o_s)^2 over steps and axes
 *     acceleration  the same of o_(s+2) - 2 o_(s+1) + o_s
 *     winner        the least mean distance of a mode's path from the target, plus
 *     likely        times -ln softmax(logit) of that mode, the first one of equals
 *     endpoint      e tanh(e / 5)^2 of the last step's e = |o|
 *
 * The settings are these weights; `likely` is within `winner`. Terms without steps are 0, and so
 * are gradients of distances that are 0. Deviations and correlations have no gradient. */
#ifndef REAL
#define NN_FILE "models/nn/operators/trajectory_terms.c"
enum { P, LOGIT, TARGET, LOSS };
enum { N, K, T, C, D };
enum { VELOCITY, ACCELERATION, WINNER, LIKELY, ENDPOINT };
#include "models/nn/fast.h"
#include "models/nn/plain.h"
#include "models/nn/types.h"

/* Numbers that one node takes: shares, offsets and their gradient, and the logits and their
 * gradient as floats. */
static size_t room(const struct nn_shape *shape)
{
    return 3 * shape->size[K] + 4 * shape->size[T];
}

static size_t plain_work(const struct nn_shape *shape)
{
    return room(shape) * sizeof(double);
}

static size_t work(const struct nn_shape *shape)
{
    return shape->size[N] * room(shape) * sizeof(float);
}

static bool many(const struct nn_shape *shape)
{
    return shape->size[N] * shape->size[K] * shape->size[T] > NN_CHUNK / 4;
}

static void widen(const void *from, size_t count, bool bf16, float *to)
{
    for (size_t i = 0; i < count; i++)
        to[i] = nn_get(from, i, bf16);
}

static float *part_of(void *from, size_t at)
{
    return from != NULL ? (float *)from + at : NULL;
}

/* Of one node: its loss, or its gradients. */
static void node(const struct nn_call *call, size_t i, bool back, bool bf16)
{
    const size_t *size = call->shape->size, k = size[K], path = size[T] * 2;
    float *work = (float *)call->work + i * room(call->shape), *logit = work + k + 2 * path;
    float *dlogit = call->gradient[LOGIT] != NULL && back ? logit + k : NULL;
    float *dp = part_of(back ? call->gradient[P] : NULL, i * k * size[T] * 5);
    float *dtarget = part_of(back ? call->gradient[TARGET] : NULL, i * path);
    void *narrow = nn_from(call->gradient[LOGIT], i * k, bf16);
    const float *p = part_of(call->value[P], i * k * size[T] * 5);
    const float *target = part_of(call->value[TARGET], i * path);
    widen(nn_from(call->value[LOGIT], i * k, bf16), k, bf16, logit);
    if (!back) {
        *part_of(call->value[LOSS], i) =
            terms_f32(call->shape, p, logit, target, 0, NULL, NULL, NULL, work);
        return;
    }
    if (dp != NULL && !nn_adds(call, P))
        memset(dp, 0, k * size[T] * 5 * sizeof *dp);
    if (dtarget != NULL && !nn_adds(call, TARGET))
        memset(dtarget, 0, path * sizeof *dtarget);
    if (dlogit != NULL && nn_adds(call, LOGIT))
        widen(narrow, k, bf16, dlogit);
    else if (dlogit != NULL)
        memset(dlogit, 0, k * sizeof *dlogit);
    terms_f32(call->shape, p, logit, target, *part_of(call->gradient[LOSS], i), dp, dlogit, dtarget,
              work);
    for (size_t j = 0; j < k && dlogit != NULL; j++)
        nn_put(narrow, j, dlogit[j], bf16);
}

static enum yp_status forward_in(const struct nn_call *call, bool bf16)
{
    NN_PARALLEL_FOR(many(call->shape), i, call->shape->size[N], 1, node(call, i, false, bf16));
    return YP_OK;
}

static enum yp_status vjp_in(const struct nn_call *call, bool bf16)
{
    NN_PARALLEL_FOR(many(call->shape), i, call->shape->size[N], 1, node(call, i, true, bf16));
    return YP_OK;
}

NN_BOTH_TYPES

static double flops(const struct nn_shape *shape, enum nn_pass pass)
{
    const double n = (double)shape->size[N], k = (double)shape->size[K];
    const double t = (double)shape->size[T];
    return n * (k * (t * 12 + NN_FUNCTION) + 20 * t + NN_FUNCTION) * (pass == NN_VJP ? 2 : 1);
}

const struct nn_operator nn_trajectory_terms = {
    .name = "trajectory_terms",
    .dims = "nktcd",
    .settings = {"velocity", "acceleration", "winner", "likely", "endpoint"},
    .tensors = {{"p", "nktc", .role = NN_INPUT, .adds = true},
                {"logit", "nk", .role = NN_INPUT, .adds = true},
                {"target", "ntd", .role = NN_INPUT, .adds = true, .domain = {NN_BELL, .high = 2}},
                {"loss", "n", .role = NN_OUTPUT}},
    .shapes = {{"one", .size = {1, 1, 1, 5, 2}, .setting = {0.3, 0.1, 0.5, 0.1, 0.2}},
               {"odd", .size = {5, 3, 4, 5, 2}, .setting = {0.3, 1, 0.5, 0.7, 0.2}},
               {"small", .size = {11, 6, 10, 5, 2}, .setting = {0.3, 0.1, 0.5, 0.1, 0.2}},
               {"medium", .size = {352, 16, 10, 5, 2}, .setting = {0.3, 0.1, 0.5, 0.1, 0.2}}},
    NN_PLAIN,
    .plain_work = plain_work,
    .flops = flops,
    .versions = {{NN_FP32, "cpu", .forward = forward, .vjp = vjp, .work = work},
                 {NN_BF16, "cpu", .forward = forward_bf16, .vjp = vjp_bf16, .work = work,
                  .types = "fbff", .gradients = "fbff"}},
};

#else
#include "models/nn/operators/mixture_plain.inc"

/* The mean square of differences of order `order` of o (t, 2); adds their gradient, weighed. */
static REAL NAME(differences)(const REAL *o, size_t t, size_t order, REAL weight, REAL *g)
{
    const REAL factor[2][3] = {{-1, 1, 0}, {1, -2, 1}};
    REAL sum = 0, count = (REAL)(t > order ? (t - order) * 2 : 1);
    for (size_t at = 0; t > order && at < (t - order) * 2; at++) {
        REAL d = 0;
        for (size_t i = 0; i <= order; i++)
            d += factor[order - 1][i] * o[at + 2 * i];
        sum += d * d / count;
        for (size_t i = 0; i <= order; i++)
            g[at + 2 * i] += weight * 2 * d / count * factor[order - 1][i];
    }
    return sum;
}

/* The mean distance of a mode's path from the target. */
static REAL NAME(distance)(const REAL *p, const REAL *target, size_t t)
{
    REAL sum = 0;
    for (size_t i = 0; i < t; i++)
        sum += NAME(length)(p[5 * i] - target[2 * i], p[5 * i + 1] - target[2 * i + 1]);
    return sum / (REAL)t;
}

/* Adds the gradient of distance(), weighed, to dp and dtarget, or to one of them. */
static void NAME(distance_vjp)(const REAL *p, const REAL *target, size_t t, REAL weight, REAL *dp,
                               REAL *dtarget)
{
    for (size_t i = 0; i < t; i++) {
        const REAL x = p[5 * i] - target[2 * i], y = p[5 * i + 1] - target[2 * i + 1];
        const REAL far = NAME(length)(x, y), by = far > 0 ? weight / ((REAL)t * far) : 0;
        if (dp != NULL) {
            dp[5 * i] += by * x;
            dp[5 * i + 1] += by * y;
        }
        if (dtarget != NULL) {
            dtarget[2 * i] -= by * x;
            dtarget[2 * i + 1] -= by * y;
        }
    }
}

/* The loss of one node; adds its gradients, but those that are NULL, times dloss. */
static REAL NAME(terms)(const struct nn_shape *shape, const REAL *p, const REAL *logit,
                        const REAL *target, REAL dloss, REAL *dp, REAL *dlogit, REAL *dtarget,
                        REAL *work)
{
    const size_t k = shape->size[K], t = shape->size[T];
    const double *setting = shape->setting;
    const REAL velocity = (REAL)setting[VELOCITY], acceleration = (REAL)setting[ACCELERATION];
    const REAL winner = (REAL)setting[WINNER], likely = winner * (REAL)setting[LIKELY];
    const REAL endpoint = (REAL)setting[ENDPOINT];
    REAL *part = work, *o = part + k, *g = o + 2 * t, loss = 0;
    const REAL all = NAME(shares)(logit, k, part);
    NAME(mean_path)(p, part, k, t, o);
    for (size_t i = 0; i < 2 * t; i++) {
        o[i] -= target[i];
        g[i] = 0;
    }
    loss += velocity * NAME(differences)(o, t, 1, velocity * dloss, g);
    loss += acceleration * NAME(differences)(o, t, 2, acceleration * dloss, g);
    const REAL *last = o + 2 * (t - 1), e = NAME(length)(last[0], last[1]), bend = tanh(e / 5);
    const REAL by = endpoint * dloss * bend * (bend + e * 2 * (1 - bend * bend) / 5);
    loss += endpoint * bend * bend * e;
    for (size_t i = 0; i < 2 && e > 0; i++)
        g[2 * (t - 1) + i] += by * last[i] / e;
    size_t best = 0;
    REAL least = NAME(distance)(p, target, t);
    for (size_t i = 1; i < k; i++) {
        const REAL other = NAME(distance)(p + i * t * 5, target, t);
        best = other < least ? i : best;
        least = other < least ? other : least;
    }
    loss += winner * least - likely * (logit[best] - all);
    NAME(distance_vjp)
    (p + best * t * 5, target, t, winner * dloss, dp != NULL ? dp + best * t * 5 : NULL, dtarget);
    NAME(mean_path_vjp)(p, part, g, k, t, dp, dlogit);
    for (size_t i = 0; i < k && dlogit != NULL; i++)
        dlogit[i] += likely * dloss * (part[i] - (i == best));
    for (size_t i = 0; i < 2 * t && dtarget != NULL; i++)
        dtarget[i] -= g[i];
    return loss;
}

static void NAME(forward)(const struct nn_call *call)
{
    const size_t *size = call->shape->size, k = size[K], t = size[T];
    const REAL *p = call->value[P], *logit = call->value[LOGIT], *target = call->value[TARGET];
    REAL *loss = call->value[LOSS];
    for (size_t i = 0; i < size[N]; i++)
        loss[i] = NAME(terms)(call->shape, p + i * k * t * 5, logit + i * k, target + i * t * 2, 0,
                              NULL, NULL, NULL, call->work);
}

static void NAME(vjp)(const struct nn_call *call)
{
    const size_t *size = call->shape->size, k = size[K], t = size[T];
    const REAL *p = call->value[P], *logit = call->value[LOGIT], *target = call->value[TARGET];
    const REAL *dloss = call->gradient[LOSS];
    REAL *dp = call->gradient[P], *dlogit = call->gradient[LOGIT];
    REAL *dtarget = call->gradient[TARGET];
    memset(dp, 0, size[N] * k * t * 5 * sizeof *dp);
    memset(dlogit, 0, size[N] * k * sizeof *dlogit);
    memset(dtarget, 0, size[N] * t * 2 * sizeof *dtarget);
    for (size_t i = 0; i < size[N]; i++)
        NAME(terms)
    (call->shape, p + i * k * t * 5, logit + i * k, target + i * t * 2, dloss[i],
     dp + i * k * t * 5, dlogit + i * k, dtarget + i * t * 2, call->work);
}
#endif
