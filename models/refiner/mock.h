/* The refiner's mock: a convolutional network that stands for a large one in measurements of memory
 * and throughput by tile size and batch. An image (batch, tile, tile, 4), channels last, becomes
 * one of (batch, tile / 4, tile / 4, 4), by 16 layers that begin with a convolution each (M is
 * `width`):
 *
 *     01          7x7 / 2, 4 to M
 *     02 to 10    three blocks of 3x3 / 2, 1x1, 3x3, to 2 M, 4 M and 8 M
 *     11 to 13    3x3, to 4 M, 2 M and M, with GELU
 *     14, 15      transposed 4x4 / 2, to M / 2 and M / 4
 *     16          1x1 to 4, without norm and activation
 *
 * Each but the last is followed by batch norm and an activation, ReLU but for 11 to 13. With M = 64
 * there are 6,600,532 parameters. */
#pragma once

#include "models/nn/model/model.h"

#define MOCK_LAYERS 16
#define MOCK_CHANNELS 4
#define MOCK_WIDTH 64     /* of the benchmark */
#define MOCK_STRIDES 16   /* a tile's side is a multiple of it */
#define MOCK_MOMENTUM 0.1 /* of running statistics: what a batch's weigh */
#define MOCK_EPS 1e-5

struct mock_options {
    struct yp_device *device;
    const char *kind; /* "cpu" or "cuda", to plan for one that is not there; NULL: the device's */
    enum nn_precision precision;
    bool oracle;  /* in double by plain loops, see struct nn_model_options */
    bool plain;   /* in float by plain loops */
    bool smooth;  /* GELU everywhere: a network without kinks, for differences */
    size_t width; /* a multiple of 4, 4 to 1024 */
    size_t batch, tile;
    /* NN_MODEL_GRADIENT: training; norms are of the batch, the result is the loss.
     * NN_MODEL_FORWARD: inference with folded parameters, the result is the image. */
    enum nn_model_pass pass;
};

/* YP_INVALID with the field and what is allowed. */
enum yp_status mock_check_options(const struct mock_options *options);

/* -- layers and parameters ------------------------------------------------------------------ */

struct mock_layer {
    bool transposed;
    size_t in, out, kernel, stride, pad; /* channels; the kernel's side */
    enum mock_activation { MOCK_NONE, MOCK_RELU, MOCK_GELU } activation;
    bool norm;
};

/* Layer i, 0 to MOCK_LAYERS - 1. */
struct mock_layer mock_layer(size_t width, int i);

/* The side of what layer i makes of a tile. */
size_t mock_side(size_t tile, int i);

/* Layer i as a shape of nn_convolution, or of nn_transposed_convolution, without its activation. */
struct nn_shape mock_shape(size_t width, size_t batch, size_t tile, int i);

/* A tensor of the parameters, or of the running statistics. */
struct mock_tensor {
    char name[40]; /* "layer01.conv.weight" */
    int layer;
    enum mock_part {
        MOCK_WEIGHT, /* (out, kernel, kernel, in); transposed (in, kernel, kernel, out) */
        MOCK_BIAS,
        MOCK_GAIN, /* "layer01.norm.weight" */
        MOCK_SHIFT,
        MOCK_MEAN, /* "layer01.norm.running_mean" */
        MOCK_VARIANCE
    } part;
    size_t offset, count;
};

/* Tensor i in the order of the vector: of each layer weight, bias, gain, shift; false behind the
 * last one. Folded: weight and bias alone. */
bool mock_parameter(size_t width, bool folded, size_t i, struct mock_tensor *out);
size_t mock_parameters(size_t width, bool folded); /* elements of the vector */

/* The same of the running statistics: of each layer with a norm mean and variance. */
bool mock_statistic(size_t width, size_t i, struct mock_tensor *out);
size_t mock_statistics(size_t width);

/* Values to start from on the host, as PyTorch's layers have: weights and biases uniform within 1 /
 * sqrt(inputs of an output), of a transposed one the outputs of an input; gains 1, shifts 0;
 * running means 0, variances 1. The same bits for a seed everywhere. */
void mock_initialise(size_t width, uint64_t seed, float *parameters, float *statistics);

/* Folds each norm with its running statistics into its convolution: with r = gain / sqrt(variance +
 * eps), weight' = r weight and bias' = r (bias - mean) + shift, per output. In double. */
void mock_fold(size_t width, const float *parameters, const float *statistics, float *folded);
void mock_fold_oracle(size_t width, const double *parameters, const double *statistics,
                      double *folded);

/* -- the model -------------------------------------------------------------------------------- */

struct mock;

/* Bytes of the CPU's memory that mock_create() takes; 0 with yp_last_error() set. */
size_t mock_description(const struct mock_options *options);

/* The description and its plan; the arena is not taken yet. NULL with yp_last_error() set. */
struct mock *mock_create(const struct mock_options *options);
void mock_destroy(struct mock *mock); /* NULL is allowed */

const struct nn_model *mock_model(const struct mock *mock); /* for its bytes and flops */

/* Takes the arena, nn_model_bytes()->arena of the device's memory. */
enum yp_status mock_start(struct mock *mock);

/* Where images are on the device: the input (batch, tile, tile, 4); in training the target (batch,
 * tile / 4, tile / 4, 4); and the result, an image of that size, or the mean squared error of each
 * image of the batch. Doubles of an oracle, bf16 images in that precision, else floats. */
void *mock_input(const struct mock *mock);
void *mock_target(const struct mock *mock);
const void *mock_result(const struct mock *mock);

/* One pass, with flags of nn_model_pass(). Parameters (folded ones in inference, which change with
 * NN_MODEL_COPY alone) and gradient are on the device; the gradient, NULL where none is wanted, is
 * that of the mean squared error over the batch. */
enum yp_status mock_pass(struct mock *mock, const void *parameters, void *gradient, unsigned flags);

/* Moves running statistics, on the host, towards those of the last pass of training: each becomes
 * 0.9 of itself and 0.1 of the batch's, whose variance is divided by one less than its pixels.
 * Floats, or doubles of an oracle. */
enum yp_status mock_update_statistics(const struct mock *mock, void *statistics);
