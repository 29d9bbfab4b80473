/* What training has on a GPU: work on arrays of parameters, gradients and optimiser states. */
#pragma once

#include <yieldpoint/device.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TRAIN_CUDA_PLUGIN "train-cuda"
#define TRAIN_CUDA_PARTS 256U /* sums of squares that are summed last, at most */

/* Pointers are the device's; all arrays have `count` elements. */
struct train_cuda_squares {
    size_t count, part; /* elements: of the values, of a part; the last part may have fewer */
    const float *values;
    double *parts;   /* (ceil(count / part)): the parts' sums */
    double *sum;     /* of the parts, in their order; NULL: it is not wanted */
    double max_norm; /* clipping; read where factor is not NULL */
    double *factor;  /* min(1, max_norm / (sqrt(sum) + 1e-6)), 1 with max_norm = 0; or NULL */
};

/* sum += weight gradient, which may be rounded once instead of twice; or, `divide`, gradient =
 * sum / weight. */
struct train_cuda_sum {
    size_t count;
    bool divide;
    double weight;
    float *gradient;
    double *sum;
};

struct train_cuda_scale {
    size_t count;
    double factor;
    float *values;
};

struct train_cuda_adamw {
    size_t count;
    float keep, gain1, beta2, gain2, correction, eps, step;
    const float *gradient;
    const double *factor; /* of the gradient; NULL: 1 */
    float *m, *v, *parameters;
};

struct train_cuda_sgd {
    size_t count;
    float decay, keep, gain, ahead, step;
    bool nesterov;
    const float *gradient;
    float *b; /* NULL: no momentum */
    float *parameters;
};

/* average += part (parameters - average), or the parameters where part is 1. */
struct train_cuda_average {
    size_t count;
    float part;
    const float *parameters;
    float *average;
};

struct train_cuda_zero {
    size_t words; /* of 4 bytes */
    float *values;
};

/* All launch and return. */
struct train_cuda {
    enum yp_status (*zero)(struct yp_device *device, const struct train_cuda_zero *job);
    enum yp_status (*sum)(struct yp_device *device, const struct train_cuda_sum *job);
    enum yp_status (*scale)(struct yp_device *device, const struct train_cuda_scale *job);
    enum yp_status (*squares)(struct yp_device *device, const struct train_cuda_squares *job);
    enum yp_status (*adamw)(struct yp_device *device, const struct train_cuda_adamw *job);
    enum yp_status (*sgd)(struct yp_device *device, const struct train_cuda_sgd *job);
    enum yp_status (*average)(struct yp_device *device, const struct train_cuda_average *job);
};

#ifdef __cplusplus
}
#endif
