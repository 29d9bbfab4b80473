/* Sigmoid with binary cross-entropy: loss (n) = weight positive ln(1 + e^-x) of logits x (n) where
 * the label is not 0, weight ln(1 + e^x) where it is 0; `positive` is pos_weight of PyTorch's
 * BCEWithLogitsLoss. dx = weight (sigmoid(x) - label) dloss, times `positive` where the label is
 * not 0. */
#ifndef REAL
#define NN_FILE "models/nn/operators/bce.c"
enum { X, LABEL, LOSS };
enum { N };
#include "models/nn/fast.h"
#include "models/nn/maths.h"
#include "models/nn/plain.h"

NN_LOOPS losses_loops(const float *x, const uint8_t *label, float weight, float positive, size_t n,
                      float *restrict loss)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        float wrong = label[i] != 0 ? -x[i] : x[i];
        float own = label[i] != 0 ? weight * positive : weight;
        loss[i] =
            own * ((wrong > 0 ? wrong : 0) + nn_log1p_unit(nn_exp(wrong > 0 ? -wrong : wrong)));
    }
}
NN_KERNEL(losses,
          (const float *x, const uint8_t *label, float weight, float positive, size_t n,
           float *loss),
          (x, label, weight, positive, n, loss))

NN_LOOPS slopes_loops(const float *x, const uint8_t *label, const float *dloss, float weight,
                      float positive, size_t n, float *restrict dx)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        float own = label[i] != 0 ? weight * positive : weight;
        float share = own * dloss[i] / (1 + nn_exp(label[i] != 0 ? x[i] : -x[i]));
        dx[i] = label[i] != 0 ? -share : share;
    }
}
NN_KERNEL(slopes,
          (const float *x, const uint8_t *label, const float *dloss, float weight, float positive,
           size_t n, float *dx),
          (x, label, dloss, weight, positive, n, dx))

static enum yp_status forward(const struct nn_call *call)
{
    const float *x = call->value[X];
    const uint8_t *label = call->value[LABEL];
    float *loss = call->value[LOSS], weight = (float)call->shape->setting[0];
    float positive = (float)call->shape->setting[1];
    size_t n = call->shape->size[N];
    losses_kernel *kernel = best_losses();
    NN_PARALLEL_FOR(
        n > NN_FEW * NN_CHUNK, at, n, NN_CHUNK,
        kernel(x + at, label + at, weight, positive, nn_least(NN_CHUNK, n - at), loss + at));
    return YP_OK;
}

static enum yp_status vjp(const struct nn_call *call)
{
    const float *x = call->value[X], *dloss = call->gradient[LOSS];
    const uint8_t *label = call->value[LABEL];
    float *dx = call->gradient[X], weight = (float)call->shape->setting[0];
    float positive = (float)call->shape->setting[1];
    size_t n = call->shape->size[N];
    slopes_kernel *kernel = best_slopes();
    NN_PARALLEL_FOR(n > NN_FEW * NN_CHUNK, at, (dx != NULL ? n : 0), NN_CHUNK,
                    kernel(x + at, label + at, dloss + at, weight, positive,
                           nn_least(NN_CHUNK, n - at), dx + at));
    return YP_OK;
}

static double flops(const struct nn_shape *shape, enum nn_pass pass)
{
    return (pass == NN_VJP ? NN_FUNCTION + 6.0 : 2 * NN_FUNCTION + 5.0) * (double)shape->size[N];
}

const struct nn_operator nn_bce = {
    .name = "bce",
    .dims = "n",
    .settings = {"weight", "positive"},
    .tensors = {{"x", "n", .role = NN_INPUT, .domain = {NN_BELL, .low = 0, .high = 3}},
                {"label", "n", .role = NN_CONSTANT, .type = NN_UINT8,
                 .domain = {NN_WHOLE, .low = 0, .high = 2}},
                {"loss", "n", .role = NN_OUTPUT}},
    .shapes = {{"one", .size = {1}, .setting = {1, 1}},
               {"odd", .size = {37}, .setting = {10, 3}},
               {"small", .size = {4096}, .setting = {10, 1}},
               {"medium", .size = {1 << 20}, .setting = {10, 1}}},
    NN_PLAIN,
    .flops = flops,
    .versions = {{NN_FP32, "cpu", .forward = forward, .vjp = vjp, .multiple = 5}},
};

#else
static void NAME(forward)(const struct nn_call *call)
{
    const double *setting = call->shape->setting;
    const REAL *x = call->value[X];
    const uint8_t *label = call->value[LABEL];
    REAL *loss = call->value[LOSS];
    for (size_t i = 0; i < call->shape->size[N]; i++) {
        REAL wrong = label[i] != 0 ? -x[i] : x[i]; /* ln(1 + e^wrong) without overflow */
        REAL weight = (REAL)setting[0] * (label[i] != 0 ? (REAL)setting[1] : 1);
        loss[i] = weight * ((wrong > 0 ? wrong : 0) + log1p(exp(-fabs(wrong))));
    }
}

static void NAME(vjp)(const struct nn_call *call)
{
    const REAL *x = call->value[X], *dloss = call->gradient[LOSS];
    const uint8_t *label = call->value[LABEL];
    const double *setting = call->shape->setting;
    REAL *dx = call->gradient[X];
    for (size_t i = 0; i < call->shape->size[N]; i++) { /* sigmoid(x) - 1 = -sigmoid(-x) exactly */
        REAL weight = (REAL)setting[0] * (label[i] != 0 ? (REAL)setting[1] : 1);
        dx[i] = weight * dloss[i] * (label[i] != 0 ? -1 / (1 + exp(x[i])) : 1 / (1 + exp(-x[i])));
    }
}
#endif
