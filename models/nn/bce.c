/*
 * Sigmoid with binary cross-entropy: loss (n) = weight ln(1 + e^-x) of logits x (n) where the label
 * is not 0, weight ln(1 + e^x) where it is 0. dx = weight (sigmoid(x) - label) dloss.
 */
#ifndef REAL
#define NN_FILE "models/nn/bce.c"
enum { X, LABEL, LOSS };
enum { N };
#include "models/nn/plain.h"

static double flops(const struct nn_shape *shape, enum nn_pass pass)
{
    return (pass == NN_VJP ? 5.0 : 6.0) * (double)shape->size[N];
}

const struct nn_operator nn_bce = {
    .name = "bce",
    .dims = "n",
    .settings = {"weight"},
    .tensors = {{"x", "n", NN_INPUT, .domain = {NN_BELL, 0, 3}},
                {"label", "n", NN_CONSTANT, NN_UINT8, {NN_WHOLE, 0, 2}},
                {"loss", "n", NN_OUTPUT}},
    .shapes = {{"one", {1}, {1}},
               {"odd", {37}, {10}},
               {"small", {4096}, {10}},
               {"medium", {1 << 20}, {10}}},
    NN_PLAIN,
    .flops = flops,
};

#else
static void NAME(forward)(const struct nn_call *call)
{
    const REAL *x = call->value[X], weight = (REAL)call->shape->setting[0];
    const uint8_t *label = call->value[LABEL];
    REAL *loss = call->value[LOSS];
    for (size_t i = 0; i < call->shape->size[N]; i++) {
        REAL wrong = label[i] != 0 ? -x[i] : x[i]; /* ln(1 + e^wrong) without overflow */
        loss[i] = weight * ((wrong > 0 ? wrong : 0) + log1p(exp(-fabs(wrong))));
    }
}

static void NAME(vjp)(const struct nn_call *call)
{
    const REAL *x = call->value[X], *dloss = call->gradient[LOSS];
    const uint8_t *label = call->value[LABEL];
    REAL *dx = call->gradient[X], weight = (REAL)call->shape->setting[0];
    for (size_t i = 0; i < call->shape->size[N]; i++) /* sigmoid(x) - 1 = -sigmoid(-x) exactly */
        dx[i] = weight * dloss[i] * (label[i] != 0 ? -1 / (1 + exp(x[i])) : 1 / (1 + exp(-x[i])));
}
#endif
