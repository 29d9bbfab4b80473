/* Optimisers and clipping. */
#include "models/train/internal.h"

#include "models/nn/operators/sum_squares.h"

#include <math.h>

/* -- AdamW ---------------------------------------------------------------------------------- */

struct train_adamw train_adamw_defaults(void)
{
    return (struct train_adamw){
        .lr = 1e-3, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .weight_decay = 0.01};
}

struct nn_shape ypi_adamw_shape(const struct train_adamw *how, uint64_t t, double factor,
                                size_t count)
{
    return (struct nn_shape){.size = {count},
                             .setting = {[NN_ADAMW_LR] = how->lr,
                                         [NN_ADAMW_BETA1] = how->beta1,
                                         [NN_ADAMW_BETA2] = how->beta2,
                                         [NN_ADAMW_EPS] = how->eps,
                                         [NN_ADAMW_WEIGHT_DECAY] = how->weight_decay,
                                         [NN_ADAMW_STEP] = (double)t,
                                         [NN_ADAMW_FACTOR] = factor}};
}

void ypi_adamw_step(struct nn_shape shape, const float *gradient, float *m, float *v,
                    float *parameters)
{
    const struct nn_call call = {.device = yp_device_cpu(),
                                 .shape = &shape,
                                 .value = {(void *)(uintptr_t)gradient, parameters, m, v}};
    nn_version(&nn_adamw, "cpu", NN_FP32)->forward(&call);
}

void train_adamw_step(const struct train_adamw *how, uint64_t t, size_t count,
                      const float *gradient, float *m, float *v, float *parameters)
{
    ypi_adamw_step(ypi_adamw_shape(how, t, 1, count), gradient, m, v, parameters);
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
    return nn_squared_norm(values, count);
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
