/* The selector's terms of the loss, an operator in plain loops: with s = softmax(logits / T) over c
 * channels and w = k s,
 *     y = entropy sum s ln s - diversity / c sum (w - k / c)^2,
 * and ds = entropy (ln s + 1) - diversity 2 k / c (w - k / c), dlogits = s (ds - sum s ds) dy / T,
 * dT = -sum dlogits logits / T. */
#ifndef REAL
#define NN_FILE "models/rx/pipeline/plain_terms.c"
#include "models/rx/pipeline/internal.h"
enum { LOGITS, TEMPERATURE, Y };
enum { C };
enum { ENTROPY, DIVERSITY, KEEP };
#include "models/nn/plain.h"

const struct nn_operator ypi_rx_choice_terms = {
    .name = "terms",
    .dims = "c",
    .settings = {"entropy", "diversity", "k"},
    .tensors = {{"logits", "c", .role = NN_PARAMETER},
                {"temperature", "", .role = NN_PARAMETER,
                 .domain = {NN_UNIFORM, .low = 0.5, .high = 1.5}},
                {"y", "", .role = NN_OUTPUT}},
    NN_PLAIN,
};

#else
/* s of one channel. */
static REAL NAME(share)(const struct nn_call *call, size_t c)
{
    const REAL *logits = call->value[LOGITS], *t = call->value[TEMPERATURE];
    REAL top = logits[0], sum = 0;
    for (size_t i = 1; i < call->shape->size[C]; i++)
        top = logits[i] > top ? logits[i] : top;
    for (size_t i = 0; i < call->shape->size[C]; i++)
        sum += exp((logits[i] - top) / *t);
    return exp((logits[c] - top) / *t) / sum;
}

static void NAME(forward)(const struct nn_call *call)
{
    size_t channels = call->shape->size[C];
    const double *setting = call->shape->setting;
    REAL *y = call->value[Y], mean = (REAL)setting[KEEP] / (REAL)channels, log_sum = 0, squares = 0;
    for (size_t c = 0; c < channels; c++) {
        REAL s = NAME(share)(call, c), w = (REAL)setting[KEEP] * s;
        log_sum += s > 0 ? s * log(s) : 0;
        squares += (w - mean) * (w - mean);
    }
    *y = (REAL)setting[ENTROPY] * log_sum - (REAL)setting[DIVERSITY] * squares / (REAL)channels;
}

static void NAME(vjp)(const struct nn_call *call)
{
    size_t channels = call->shape->size[C];
    const double *setting = call->shape->setting;
    const REAL *logits = call->value[LOGITS], *t = call->value[TEMPERATURE];
    const REAL *dy = call->gradient[Y];
    REAL *dlogits = call->gradient[LOGITS], *dt = call->gradient[TEMPERATURE];
    REAL k = (REAL)setting[KEEP], all = 0;
    for (size_t c = 0; c < channels; c++) {
        REAL s = NAME(share)(call, c);
        dlogits[c] =
            (REAL)setting[ENTROPY] * (s > 0 ? log(s) + 1 : 0) -
            (REAL)setting[DIVERSITY] * 2 * k / (REAL)channels * (k * s - k / (REAL)channels);
        all += s * dlogits[c];
    }
    *dt = 0;
    for (size_t c = 0; c < channels; c++) {
        dlogits[c] = NAME(share)(call, c) * (dlogits[c] - all) * *dy / *t;
        *dt -= dlogits[c] * logits[c] / *t;
    }
}
#endif
