/*
 * The numbers of training, apart from any model: AdamW, clipping, the plateau schedule. All are
 * functions of their arguments alone; arrays are the caller's.
 */
#ifndef RX_OPTIMISER_H
#define RX_OPTIMISER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yieldpoint/device.h>

#ifdef __cplusplus
extern "C" {
#endif

/* -- AdamW ---------------------------------------------------------------------------------- */

struct rx_adamw {
    double lr;           /* above 0 */
    double beta1, beta2; /* in [0, 1) */
    double eps;          /* 0 and above */
    double weight_decay; /* 0 and above; decoupled from the gradient */
};

struct rx_adamw rx_adamw_defaults(void); /* 1e-3, 0.9, 0.999, 1e-8, 0.01 */

/*
 * Step t = 1, 2, ... of AdamW (Loshchilov and Hutter, 2019, algorithm 2, with Adam's moments of
 * Kingma and Ba, 2015) in the form and order of operations that PyTorch gives it:
 *     p <- p (1 - lr weight_decay)
 *     m <- m + (1 - beta1) (g - m)
 *     v <- beta2 v + (1 - beta2) g^2
 *     p <- p - lr / (1 - beta1^t)  m / (sqrt(v) / sqrt(1 - beta2^t) + eps)
 * The bias of both moments is corrected inside: m's in the step size, v's before eps is added.
 * The decay has the learning rate as its factor and is not seen by the moments. The factors that
 * all elements share are made in double, elements are float (or double). All arrays have `count`
 * elements; m and v are 0 before step 1. With eps = 0 an element whose gradient was always 0
 * becomes 0 / 0, NaN, as in PyTorch.
 */
void rx_adamw_step(const struct rx_adamw *how, uint64_t t, size_t count, const float *gradient,
                   float *m, float *v, float *parameters);
/* The same in double: the oracle. */
void rx_adamw_step_f64(const struct rx_adamw *how, uint64_t t, size_t count, const double *gradient,
                       double *m, double *v, double *parameters);

/*
 * The same on a GPU, with the gradient clipped to the norm `most` before (0: not clipped), which
 * `gradient` itself does not show. All arrays are in the device's memory, `scratch` has
 * RX_STEP_SCRATCH doubles. Without clipping the bits are those of rx_adamw_step(); the norm is
 * summed in double in another order. Launches and returns. YP_INVALID for NULL or t = 0,
 * YP_UNSUPPORTED when the device is no GPU or the plugin is not there.
 */
#define RX_STEP_SCRATCH 257
enum yp_status rx_adamw_step_on(struct yp_device *device, const struct rx_adamw *how, uint64_t t,
                                size_t count, double most, double *scratch, const float *gradient,
                                float *m, float *v, float *parameters);

/* -- clipping ------------------------------------------------------------------------------- */

/* The sum of squares in double: eight sums over elements 8 apart, added pairwise, so its bits
 * depend on the values and `count` alone. Infinite or NaN exactly when a value is. */
double rx_sum_squares(size_t count, const float *values);

/* What a gradient of that norm is multiplied with: min(1, most / (norm + 1e-6)), as in PyTorch's
 * clip_grad_norm_ (Pascanu, Mikolov and Bengio, 2013). `most` = 0: never clipped, 1. */
double rx_clip_factor(double norm, double most);

/* values <- factor values, rounded once. */
void rx_scale_gradient(size_t count, double factor, float *values);

/* -- ReduceLROnPlateau ----------------------------------------------------------------------- */

/* As PyTorch's class of that name with mode 'min'. */
struct rx_plateau {
    double factor;     /* in (0, 1); 1: the learning rate stays */
    uint32_t patience; /* calls without improvement that are borne */
    double threshold;  /* better: below best (1 - threshold), or best - threshold if `absolute` */
    bool absolute;
    uint32_t cooldown; /* calls after a reduction in which nothing counts as bad */
    double min_lr;
    double eps; /* a smaller change of the learning rate is not made */
};

struct rx_plateau rx_plateau_defaults(void); /* PyTorch's: 0.1, 10, 1e-4 relative, 0, 0, 1e-8 */

struct rx_plateau_state {
    double best;
    uint64_t bad, cooling;
};

void rx_plateau_start(struct rx_plateau_state *state);

/* Takes over one value of what is to become small and returns the learning rate from now on. A
 * NaN is never an improvement. */
double rx_plateau_step(const struct rx_plateau *how, struct rx_plateau_state *state, double value,
                       double lr);

#ifdef __cplusplus
}
#endif

#endif
