/*
 * Soft selection of channels: y (n, c) = x (n, c) k s, s = softmax(logits / T) over channels, of
 * logits (c) and T, one number. dlogits = (p - s sum p) / T with p_c = k s_c sum over rows of dy x,
 * dT = -sum dlogits logits / T.
 */
#ifndef REAL
#define NN_FILE "models/nn/selector.c"
enum { X, LOGITS, TEMPERATURE, Y };
enum { N, C };
#include "models/nn/plain.h"

static double flops(const struct nn_shape *shape, enum nn_pass pass)
{
    double n = (double)shape->size[N], c = (double)shape->size[C];
    return pass == NN_VJP ? n * c * 3 + 8 * c : n * c + 4 * c;
}

const struct nn_operator nn_selector = {
    .name = "selector",
    .dims = "nc",
    .settings = {"k"},
    .tensors = {{"x", "nc", NN_INPUT},
                {"logits", "c", NN_PARAMETER},
                {"temperature", "", NN_PARAMETER, .domain = {NN_UNIFORM, 0.5, 1.5}},
                {"y", "nc", NN_OUTPUT}},
    .shapes = {{"one", {1, 1}, {1}},
               {"odd", {5, 7}, {4}},
               {"small", {64, 100}, {10}},
               {"medium", {16384, 200}, {20}}},
    NN_PLAIN,
    .flops = flops,
};

#else
/* s of one channel. */
static REAL NAME(share)(const REAL *logits, REAL temperature, size_t channels, size_t c)
{
    REAL top = logits[0], sum = 0;
    for (size_t i = 1; i < channels; i++)
        top = logits[i] > top ? logits[i] : top;
    for (size_t i = 0; i < channels; i++)
        sum += exp((logits[i] - top) / temperature);
    return exp((logits[c] - top) / temperature) / sum;
}

static void NAME(forward)(const struct nn_call *call)
{
    size_t n = call->shape->size[N], channels = call->shape->size[C];
    const REAL *x = call->value[X], *t = call->value[TEMPERATURE];
    REAL *y = call->value[Y], k = (REAL)call->shape->setting[0];
    for (size_t c = 0; c < channels; c++) {
        REAL weight = k * NAME(share)(call->value[LOGITS], *t, channels, c);
        for (size_t i = c; i < n * channels; i += channels)
            y[i] = x[i] * weight;
    }
}

static void NAME(vjp)(const struct nn_call *call)
{
    size_t n = call->shape->size[N], channels = call->shape->size[C];
    const REAL *x = call->value[X], *logits = call->value[LOGITS], *t = call->value[TEMPERATURE];
    const REAL *dy = call->gradient[Y];
    REAL *dx = call->gradient[X], *dlogits = call->gradient[LOGITS];
    REAL *dt = call->gradient[TEMPERATURE], k = (REAL)call->shape->setting[0], all = 0;
    for (size_t c = 0; c < channels; c++) {
        REAL share = NAME(share)(logits, *t, channels, c);
        dlogits[c] = 0; /* p */
        for (size_t i = c; i < n * channels; i += channels) {
            dlogits[c] += k * dy[i] * x[i] * share;
            dx[i] = dy[i] * k * share;
        }
        all += dlogits[c];
    }
    *dt = 0;
    for (size_t c = 0; c < channels; c++) {
        dlogits[c] = (dlogits[c] - NAME(share)(logits, *t, channels, c) * all) / *t;
        *dt -= dlogits[c] * logits[c] / *t;
    }
}
#endif
