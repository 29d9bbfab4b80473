/* AdamW, clipping and the plateau schedule. */
#include "models/rx/device/detector.h"

#include <math.h>

#define LANES 8

struct rx_adamw rx_adamw_defaults(void)
{
    return (struct rx_adamw){
        .lr = 1e-3, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .weight_decay = 0.01};
}

struct ypi_adamw_factors ypi_rx_adamw_factors(const struct rx_adamw *how, uint64_t t)
{
    return (struct ypi_adamw_factors){.keep = 1 - how->lr * how->weight_decay,
                                      .gain1 = 1 - how->beta1,
                                      .beta2 = how->beta2,
                                      .gain2 = 1 - how->beta2,
                                      .correction = sqrt(1 - pow(how->beta2, (double)t)),
                                      .eps = how->eps,
                                      .step = how->lr / (1 - pow(how->beta1, (double)t))};
}

void rx_adamw_step(const struct rx_adamw *how, uint64_t t, size_t count, const float *gradient,
                   float *m, float *v, float *parameters)
{
    const struct ypi_adamw_factors f = ypi_rx_adamw_factors(how, t);
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

void rx_adamw_step_f64(const struct rx_adamw *how, uint64_t t, size_t count, const double *gradient,
                       double *m, double *v, double *parameters)
{
    const struct ypi_adamw_factors f = ypi_rx_adamw_factors(how, t);
    for (size_t i = 0; i < count; i++) {
        double g = gradient[i];
        m[i] = m[i] + f.gain1 * (g - m[i]);
        v[i] = f.beta2 * v[i] + f.gain2 * g * g;
        double scale = sqrt(v[i]) / f.correction + f.eps;
        parameters[i] = f.keep * parameters[i] - f.step * (m[i] / scale);
    }
}

double rx_sum_squares(size_t count, const float *values)
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

double rx_clip_factor(double norm, double most)
{
    double factor = most > 0 ? most / (norm + 1e-6) : 1;
    return factor < 1 ? factor : 1;
}

void rx_scale_gradient(size_t count, double factor, float *values)
{
    for (size_t i = 0; i < count; i++)
        values[i] = (float)(factor * (double)values[i]);
}

struct rx_plateau rx_plateau_defaults(void)
{
    return (struct rx_plateau){.factor = 0.1, .patience = 10, .threshold = 1e-4, .eps = 1e-8};
}

void rx_plateau_start(struct rx_plateau_state *state)
{
    *state = (struct rx_plateau_state){.best = INFINITY};
}

double rx_plateau_step(const struct rx_plateau *how, struct rx_plateau_state *state, double value,
                       double lr)
{
    double bar = how->absolute ? state->best - how->threshold : state->best * (1 - how->threshold);
    if (value < bar) {
        state->best = value;
        state->bad = 0;
    } else {
        state->bad++;
    }
    if (state->cooling > 0) {
        state->cooling--;
        state->bad = 0;
    }
    if (state->bad <= how->patience)
        return lr;
    state->cooling = how->cooldown;
    state->bad = 0;
    double reduced = fmax(lr * how->factor, how->min_lr);
    return lr - reduced > how->eps ? reduced : lr;
}
