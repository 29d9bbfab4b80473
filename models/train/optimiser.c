/* Optimisers, clipping and loss scaling. */
#include "models/train/internal.h"

#include <float.h>
#include <math.h>

#define LANES 8

/* -- AdamW ---------------------------------------------------------------------------------- */

struct train_adamw train_adamw_defaults(void)
{
    return (struct train_adamw){
        .lr = 1e-3, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .weight_decay = 0.01};
}

struct ypi_adamw_factors ypi_adamw_factors(const struct train_adamw *how, uint64_t t)
{
    return (struct ypi_adamw_factors){.keep = 1 - how->lr * how->weight_decay,
                                      .gain1 = 1 - how->beta1,
                                      .beta2 = how->beta2,
                                      .gain2 = 1 - how->beta2,
                                      .correction = sqrt(1 - pow(how->beta2, (double)t)),
                                      .eps = how->eps,
                                      .step = how->lr / (1 - pow(how->beta1, (double)t))};
}

void train_adamw_step(const struct train_adamw *how, uint64_t t, size_t count,
                      const float *gradient, float *m, float *v, float *parameters)
{
    const struct ypi_adamw_factors f = ypi_adamw_factors(how, t);
    const float keep = (float)f.keep, gain1 = (float)f.gain1, beta2 = (float)f.beta2;
    const float gain2 = (float)f.gain2, correction = (float)f.correction, eps = (float)f.eps;
    const float step = (float)f.step;
    for (size_t i = 0; i < count; i++) {
        float g = gradient[i];
        m[i] = m[i] + gain1 * (g - m[i]);
        v[i] = beta2 * v[i] + gain2 * g * g;
        float scale = sqrtf(v[i]) / correction + eps;
        parameters[i] = keep * parameters[i] - step * (m[i] / scale);
    }
}

/* -- SGD ------------------------------------------------------------------------------------ */

struct train_sgd train_sgd_defaults(void)
{
    return (struct train_sgd){.lr = 0.1, .momentum = 0.9};
}

struct ypi_sgd_factors ypi_sgd_factors(const struct train_sgd *how, uint64_t t)
{
    return (struct ypi_sgd_factors){.decay = how->weight_decay,
                                    .keep = t > 1 ? how->momentum : 0,
                                    .gain = t > 1 ? 1 - how->dampening : 1,
                                    .ahead = how->nesterov ? how->momentum : 0,
                                    .step = how->lr};
}

void train_sgd_step(const struct train_sgd *how, uint64_t t, size_t count, const float *gradient,
                    float *b, float *parameters)
{
    const struct ypi_sgd_factors f = ypi_sgd_factors(how, t);
    const float decay = (float)f.decay, keep = (float)f.keep, gain = (float)f.gain;
    const float ahead = (float)f.ahead, step = (float)f.step;
    for (size_t i = 0; i < count; i++) {
        float g = gradient[i] + decay * parameters[i], way = g;
        if (b != NULL) {
            b[i] = keep * b[i] + gain * g;
            way = how->nesterov ? g + ahead * b[i] : b[i];
        }
        parameters[i] = parameters[i] - step * way;
    }
}

/* -- clipping ------------------------------------------------------------------------------- */

double train_sum_squares(size_t count, const float *values)
{
    double lane[LANES] = {0};
    size_t whole = count / LANES * LANES;
    for (size_t i = 0; i < whole; i += LANES)
        for (size_t l = 0; l < LANES; l++)
            lane[l] += (double)values[i + l] * (double)values[i + l];
    for (size_t i = whole; i < count; i++)
        lane[i - whole] += (double)values[i] * (double)values[i];
    for (size_t width = LANES / 2; width > 0; width /= 2)
        for (size_t l = 0; l < width; l++)
            lane[l] += lane[l + width];
    return lane[0];
}

double train_clip_factor(double norm, double max_norm)
{
    double factor = max_norm > 0 ? max_norm / (norm + 1e-6) : 1;
    return factor < 1 ? factor : 1;
}

void train_scale_gradient(size_t count, double factor, float *values)
{
    for (size_t i = 0; i < count; i++)
        values[i] = (float)(factor * (double)values[i]);
}

/* -- loss scaling --------------------------------------------------------------------------- */

struct train_scaling train_scaling_defaults(void)
{
    return (struct train_scaling){.initial = 65536, .growth = 2, .backoff = 0.5, .interval = 2000};
}

void train_scaling_start(const struct train_scaling *how, struct train_scaling_state *state)
{
    *state = (struct train_scaling_state){.scale = how->initial > 0 ? how->initial : 1};
}

void train_scaling_update(const struct train_scaling *how, struct train_scaling_state *state,
                          bool finite)
{
    if (!finite) {
        state->scale *= how->backoff;
        state->made = 0;
    } else if (++state->made == how->interval) {
        double grown = state->scale * how->growth;
        state->scale = grown <= (double)FLT_MAX ? grown : state->scale;
        state->made = 0;
    }
}
