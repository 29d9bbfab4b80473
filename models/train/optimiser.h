/* The numbers of training, apart from any model: optimisers, clipping, loss scaling. All are
 * functions of their arguments alone; arrays are the caller's, in host memory where nothing else is
 * said. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yieldpoint/device.h>

enum train_optimiser { TRAIN_ADAMW, TRAIN_SGD };

/* -- AdamW ---------------------------------------------------------------------------------- */

struct train_adamw {
    double lr;           /* above 0 */
    double beta1, beta2; /* in [0, 1) */
    double eps;          /* 0 and above */
    double weight_decay; /* 0 and above; decoupled from the gradient */
};

struct train_adamw train_adamw_defaults(void); /* 1e-3, 0.9, 0.999, 1e-8, 0.01 */

/* Step t = 1, 2, ... of AdamW, operator adamw of models/nn, which has the formula. The bias of both
 * moments is corrected inside: m's in the step size, v's before eps is added. The decay has the
 * learning rate as its factor and is not seen by the moments. The factors that all elements share
 * are made in double, elements are float. All arrays have `count` elements; m and v are 0 before
 * step 1. With eps = 0 an element whose gradient was always 0 becomes 0 / 0, NaN, as in PyTorch. */
void train_adamw_step(const struct train_adamw *how, uint64_t t, size_t count,
                      const float *gradient, float *m, float *v, float *parameters);

/* The same on a GPU, with the gradient clipped to the norm `max_norm` before (0: not clipped),
 * which `gradient` itself does not show. All arrays are in the device's memory, `scratch` has
 * TRAIN_STEP_SCRATCH doubles. Without clipping the bits are those of train_adamw_step(); the norm
 * is summed in double in another order. Launches and returns. YP_INVALID for NULL or t = 0,
 * YP_UNSUPPORTED when the device is no GPU or the plugin is not there. */
#define TRAIN_STEP_SCRATCH 258
enum yp_status train_adamw_step_on(struct yp_device *device, const struct train_adamw *how,
                                   uint64_t t, size_t count, double max_norm, double *scratch,
                                   const float *gradient, float *m, float *v, float *parameters);

/* -- SGD -------------------------------------------------------------------------------------- */

struct train_sgd {
    double lr;           /* above 0 */
    double momentum;     /* in [0, 1); 0: no buffer */
    double dampening;    /* in [0, 1] */
    double weight_decay; /* 0 and above; added to the gradient */
    bool nesterov;       /* needs momentum, and no dampening */
};

struct train_sgd train_sgd_defaults(void); /* 0.1, 0.9, 0, 0, false */

/* Step t = 1, 2, ... of stochastic gradient descent with momentum as PyTorch's torch.optim.SGD
 * defines it (Sutskever et al., 2013, in another form: the rate is not inside the buffer):
 *     g <- g + weight_decay p
 *     b <- momentum b + (1 - dampening) g, but b <- g at step 1
 *     p <- p - lr (nesterov: g + momentum b, else b; without momentum: g)
 * Arrays have `count` elements; b is 0 before step 1, NULL without momentum. Factors are made in
 * double, elements are float. */
void train_sgd_step(const struct train_sgd *how, uint64_t t, size_t count, const float *gradient,
                    float *b, float *parameters);

/* -- clipping ------------------------------------------------------------------------------- */

/* The sum of squares in double; its bits depend on the values and `count` alone. Infinite or NaN
 * exactly when a value is. */
double train_sum_squares(size_t count, const float *values);

/* What a gradient of that norm is multiplied with: min(1, max_norm / (norm + 1e-6)), as in
 * PyTorch's clip_grad_norm_ (Pascanu, Mikolov and Bengio, 2013). `max_norm` = 0: never clipped, 1.
 */
double train_clip_factor(double norm, double max_norm);

/* values <- factor values, rounded once. */
void train_scale_gradient(size_t count, double factor, float *values);

/* -- loss scaling ----------------------------------------------------------------------------- */

/* Dynamic loss scaling for gradients in 16 bits (Micikevicius et al., 2018), as PyTorch's
 * GradScaler does it: the loss, and so the gradient, is multiplied by a scale; the gradient is
 * divided by it again before it is clipped or used. A step whose gradient is not finite is not made
 * and multiplies the scale by `backoff`; `interval` steps in a row that are made multiply it by
 * `growth`, unless that is infinite in float. */
struct train_scaling {
    double initial;    /* above 0; 0: no scaling */
    double growth;     /* above 1 */
    double backoff;    /* in (0, 1) */
    uint32_t interval; /* 1 and more */
};

struct train_scaling train_scaling_defaults(void); /* PyTorch's: 65536, 2, 0.5, 2000 */

struct train_scaling_state {
    double scale;
    uint64_t made; /* steps since the scale changed */
};

void train_scaling_start(const struct train_scaling *how, struct train_scaling_state *state);
/* After a step that was made (finite), or not because of its gradient. */
void train_scaling_update(const struct train_scaling *how, struct train_scaling_state *state,
                          bool finite);
