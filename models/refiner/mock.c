/* The mock's layers, its parameters, and passes over them. */
#include "models/refiner/mock.h"

#include "base/numbers/splitmix.h"
#include "models/nn/fast.h"
#include "models/nn/patches.h"
#include "models/nn/start.h"
#include "models/refiner/shared.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* -- layers ----------------------------------------------------------------------------------- */

struct mock_layer mock_layer(size_t width, int i)
{
    static const size_t block_kernel[] = {3, 1, 3};
    const int block = (i - 1) / 3, place = (i - 1) % 3;
    struct mock_layer layer = {
        .stride = 1, .activation = MOCK_RELU, .norm = i < MOCK_LAYERS - 1, .kernel = 3};
    if (i == 0) {
        layer.in = MOCK_CHANNELS, layer.out = width, layer.kernel = 7, layer.stride = 2;
    } else if (i <= 9) {
        layer.out = width << (block + 1);
        layer.in = place == 0 ? width << block : layer.out;
        layer.kernel = block_kernel[place];
        layer.stride = place == 0 ? 2 : 1;
    } else if (i <= 12) {
        layer.in = width << (13 - i), layer.out = width << (12 - i);
        layer.activation = MOCK_GELU;
    } else if (i <= 14) {
        layer.transposed = true;
        layer.in = width >> (i - 13), layer.out = width >> (i - 12);
        layer.kernel = 4, layer.stride = 2;
    } else {
        layer.in = width / 4, layer.out = MOCK_CHANNELS, layer.kernel = 1;
        layer.activation = MOCK_NONE;
    }
    layer.pad = layer.transposed ? 1 : layer.kernel / 2;
    return layer;
}

size_t mock_side(size_t tile, int i)
{
    for (int k = 0; k <= i; k++) {
        struct mock_layer layer = mock_layer(MOCK_WIDTH, k);
        tile = layer.transposed ? tile * layer.stride : tile / layer.stride;
    }
    return tile;
}

struct nn_shape mock_shape(size_t width, size_t batch, size_t tile, int i)
{
    const struct mock_layer layer = mock_layer(width, i);
    const size_t in = i > 0 ? mock_side(tile, i - 1) : tile, out = mock_side(tile, i);
    const size_t image = layer.transposed ? out : in, grid = layer.transposed ? in : out;
    return (struct nn_shape){
        .name = "mock",
        .size = {batch, image, image, grid, grid, layer.kernel, layer.kernel, layer.in, layer.out},
        .setting = {(double)layer.stride, (double)layer.pad}};
}

/* -- parameters ------------------------------------------------------------------------------- */

static size_t part_count(const struct mock_layer *layer, enum mock_part part)
{
    return part == MOCK_WEIGHT ? layer->in * layer->kernel * layer->kernel * layer->out
                               : layer->out;
}

/* Tensor i of those from part `first` to part `last`; of layers without a norm there are but weight
 * and bias. */
static bool tensor_of(size_t width, enum mock_part first, enum mock_part last, size_t i,
                      struct mock_tensor *out)
{
    static const char *const names[] = {"conv.weight", "conv.bias",         "norm.weight",
                                        "norm.bias",   "norm.running_mean", "norm.running_var"};
    *out = (struct mock_tensor){.offset = 0};
    for (int k = 0; k < MOCK_LAYERS; k++) {
        const struct mock_layer layer = mock_layer(width, k);
        for (enum mock_part part = first; part <= last && (layer.norm || part <= MOCK_BIAS);
             part++) {
            out->layer = k;
            out->part = part;
            out->count = part_count(&layer, part);
            snprintf(out->name, sizeof out->name, "layer%02d.%s", k + 1, names[part]);
            if (i-- == 0)
                return true;
            out->offset += out->count;
        }
    }
    return false;
}

bool mock_parameter(size_t width, bool folded, size_t i, struct mock_tensor *out)
{
    return tensor_of(width, MOCK_WEIGHT, folded ? MOCK_BIAS : MOCK_SHIFT, i, out);
}

bool mock_statistic(size_t width, size_t i, struct mock_tensor *out)
{
    return tensor_of(width, MOCK_MEAN, MOCK_VARIANCE, i, out);
}

size_t mock_parameters(size_t width, bool folded)
{
    struct mock_tensor end;
    mock_parameter(width, folded, SIZE_MAX, &end); /* stops behind the last one */
    return end.offset;
}

size_t mock_statistics(size_t width)
{
    struct mock_tensor end;
    mock_statistic(width, SIZE_MAX, &end);
    return end.offset;
}

void mock_initialise(size_t width, uint64_t seed, float *parameters, float *statistics)
{
    struct mock_tensor t;
    for (size_t i = 0; mock_parameter(width, false, i, &t); i++) {
        const struct mock_layer layer = mock_layer(width, t.layer);
        const size_t fan = (layer.transposed ? layer.out : layer.in) * layer.kernel * layer.kernel;
        if (t.part <= MOCK_BIAS)
            nn_start_uniform((struct ypi_stream){ypi_mix64(seed + YPI_GOLDEN), i}, 0, t.count,
                             (float)(1 / sqrt((double)fan)), parameters + t.offset);
        for (size_t k = 0; k < t.count && t.part > MOCK_BIAS; k++)
            parameters[t.offset + k] = t.part == MOCK_GAIN ? 1 : 0;
    }
    for (size_t i = 0; mock_statistic(width, i, &t); i++)
        for (size_t k = 0; k < t.count; k++)
            statistics[t.offset + k] = t.part == MOCK_VARIANCE ? 1 : 0;
}

static double get(const void *vector, bool wide, size_t i)
{
    return wide ? ((const double *)vector)[i] : (double)((const float *)vector)[i];
}

static void put(void *vector, bool wide, size_t i, double value)
{
    if (wide)
        ((double *)vector)[i] = value;
    else
        ((float *)vector)[i] = (float)value;
}

/* The layer's parts, in the order of enum mock_part. */
static const void *find(size_t width, bool wide, const void *parameters, const void *statistics,
                        int layer, enum mock_part part)
{
    const bool statistic = part >= MOCK_MEAN;
    const char *vector = statistic ? statistics : parameters;
    struct mock_tensor t;
    for (size_t i = 0;
         statistic ? mock_statistic(width, i, &t) : mock_parameter(width, false, i, &t); i++)
        if (t.layer == layer && t.part == part)
            return vector + t.offset * (wide ? sizeof(double) : sizeof(float));
    return NULL;
}

static void fold(size_t width, bool wide, const void *parameters, const void *statistics,
                 void *folded)
{
    struct mock_tensor t;
    for (size_t i = 0; mock_parameter(width, true, i, &t); i++) {
        const struct mock_layer layer = mock_layer(width, t.layer);
        const void *part[MOCK_VARIANCE + 1];
        for (int k = 0; k <= MOCK_VARIANCE; k++)
            part[k] = find(width, wide, parameters, statistics, t.layer, (enum mock_part)k);
        for (size_t k = 0; k < t.count; k++) {
            /* The output that the element belongs to: the first axis, or the last one. */
            const size_t o =
                layer.transposed || t.part == MOCK_BIAS ? k % layer.out : k / (t.count / layer.out);
            const double r = layer.norm ? get(part[MOCK_GAIN], wide, o) /
                                              sqrt(get(part[MOCK_VARIANCE], wide, o) + MOCK_EPS)
                                        : 1;
            double value = r * get(part[t.part], wide, k);
            if (t.part == MOCK_BIAS && layer.norm)
                value += get(part[MOCK_SHIFT], wide, o) - r * get(part[MOCK_MEAN], wide, o);
            put(folded, wide, t.offset + k, value);
        }
    }
}

void mock_fold(size_t width, const float *parameters, const float *statistics, float *folded)
{
    fold(width, false, parameters, statistics, folded);
}

void mock_fold_oracle(size_t width, const double *parameters, const double *statistics,
                      double *folded)
{
    fold(width, true, parameters, statistics, folded);
}

/* -- the model --------------------------------------------------------------------------------- */

struct mock {
    struct mock_options o;
    struct nn_model *model;
    void *arena;
    int input, target, result;
    int means[MOCK_LAYERS]; /* of norms in training; their r stand behind them */
};

enum yp_status mock_check_options(const struct mock_options *o)
{
    if (o->width < 4 || o->width > 1024 || o->width % 4 != 0)
        return yp_set_error(
            YP_INVALID, "mock_options.width is %zu: must be a multiple of 4, 4 to 1024", o->width);
    if (o->tile < MOCK_STRIDES || o->tile > 8192 || o->tile % MOCK_STRIDES != 0)
        return yp_set_error(YP_INVALID,
                            "mock_options.tile is %zu: must be a multiple of %d, %d to 8192",
                            o->tile, MOCK_STRIDES, MOCK_STRIDES);
    if (o->batch < 1 || o->batch > 1024)
        return yp_set_error(YP_INVALID, "mock_options.batch is %zu: must be 1 to 1024", o->batch);
    if (o->precision == NN_FP16)
        return yp_set_error(YP_INVALID, "mock_options.precision is fp16: must be fp32 or bf16");
    return refiner_check_kind("mock_options", o->kind);
}

/* The next tensor of the parameters; -1 behind the last one. */
static int parameter(struct mock *mock, size_t *next)
{
    struct mock_tensor t;
    bool folded = mock->o.pass == NN_MODEL_FORWARD;
    return mock_parameter(mock->o.width, folded, (*next)++, &t)
               ? nn_model_parameter(mock->model, "parameter", t.count)
               : -1;
}

/* Whether a convolution's step does its activation, too, as plain loops and versions for the CPU
 * can. */
static bool fuses(const struct mock_options *o)
{
    const char *kind = o->kind != NULL ? o->kind : nn_device_kind(o->device);
    return o->pass == NN_MODEL_FORWARD && strcmp(kind, "cpu") == 0;
}

static enum nn_activation activation_of(const struct mock *mock, const struct mock_layer *layer)
{
    const bool relu = layer->activation == MOCK_RELU && !mock->o.smooth;
    return layer->activation == MOCK_NONE ? NN_AS_IT_IS : relu ? NN_RELU : NN_GELU;
}

static int convolve(struct mock *mock, const struct mock_layer *layer, int i, int x, size_t *next)
{
    struct nn_shape shape = mock_shape(mock->o.width, mock->o.batch, mock->o.tile, i);
    if (fuses(&mock->o))
        shape.setting[NN_ACTIVATION] = (double)activation_of(mock, layer);
    int weight = parameter(mock, next), bias = parameter(mock, next);
    return nn_model_step(mock->model,
                         layer->transposed ? &nn_transposed_convolution : &nn_convolution, shape,
                         (int[]){x, weight, bias});
}

static int normalise(struct mock *mock, size_t pixels, int i, int x, size_t *next)
{
    const struct nn_shape shape = {.size = {pixels, mock_layer(mock->o.width, i).out},
                                   .setting = {MOCK_EPS}};
    int gain = parameter(mock, next), shift = parameter(mock, next);
    int y = nn_model_step(mock->model, &nn_batch_norm, shape, (int[]){x, gain, shift});
    mock->means[i] = y + 1;
    nn_model_keep(mock->model, y + 1);
    nn_model_keep(mock->model, y + 2);
    return y;
}

static void build(struct mock *mock)
{
    const bool training = mock->o.pass == NN_MODEL_GRADIENT;
    const size_t b = mock->o.batch, tile = mock->o.tile;
    const size_t image = tile / 4 * (tile / 4) * MOCK_CHANNELS;
    size_t next = 0;
    mock->input = nn_model_constant(mock->model, "image", NN_REAL, b * tile * tile * MOCK_CHANNELS);
    mock->target = training ? nn_model_constant(mock->model, "target", NN_REAL, b * image) : -1;
    int x = mock->input;
    for (int i = 0; i < MOCK_LAYERS; i++) {
        const struct mock_layer layer = mock_layer(mock->o.width, i);
        const size_t side = mock_side(tile, i), pixels = b * side * side;
        const struct nn_shape line = {.size = {pixels * layer.out}};
        x = convolve(mock, &layer, i, x, &next);
        if (training && layer.norm)
            x = normalise(mock, pixels, i, x, &next);
        const enum nn_activation activation = activation_of(mock, &layer);
        if (activation != NN_AS_IT_IS && !fuses(&mock->o))
            x = nn_model_step(mock->model, activation == NN_RELU ? &nn_relu : &nn_gelu, line, &x);
    }
    mock->result = !training
                       ? x
                       : nn_model_step(mock->model, &nn_mse, (struct nn_shape){.size = {b, image}},
                                       (int[]){x, mock->target});
}

static struct nn_model_options model_options(const struct mock_options *options)
{
    return (struct nn_model_options){.device = options->device,
                                     .kind = options->kind,
                                     .precision = options->precision,
                                     .oracle = options->oracle,
                                     .plain = options->plain,
                                     .steady = options->pass == NN_MODEL_FORWARD,
                                     .steps = 3 * MOCK_LAYERS + 1,
                                     .tensors = 10 * MOCK_LAYERS + 3};
}

size_t mock_description(const struct mock_options *options)
{
    const struct nn_model_options o = model_options(options);
    const size_t bytes = mock_check_options(options) == YP_OK ? nn_model_description(&o) : 0;
    return bytes > 0 ? bytes + sizeof(struct mock) : 0;
}

struct mock *mock_create(const struct mock_options *options)
{
    if (mock_check_options(options) != YP_OK)
        return NULL;
    const struct nn_model_options o = model_options(options);
    struct mock *mock = yp_device_alloc(yp_device_cpu(), sizeof *mock);
    if (mock == NULL)
        return NULL;
    *mock = (struct mock){.o = *options, .model = nn_model_create(&o)};
    if (mock->model != NULL)
        build(mock);
    if (mock->model != NULL && nn_model_plan(mock->model, options->pass) == YP_OK)
        return mock;
    mock_destroy(mock);
    return NULL;
}

void mock_destroy(struct mock *mock)
{
    if (mock == NULL)
        return;
    yp_device_free(mock->o.device, mock->arena);
    nn_model_destroy(mock->model);
    yp_device_free(yp_device_cpu(), mock);
}

const struct nn_model *mock_model(const struct mock *mock)
{
    return mock->model;
}

enum yp_status mock_start(struct mock *mock)
{
    const char *kind = nn_device_kind(mock->o.device);
    if (mock->o.kind != NULL && strcmp(mock->o.kind, kind) != 0)
        return yp_set_error(YP_INVALID, "mock_start: planned for %s, the device is %s",
                            mock->o.kind, kind);
    mock->arena = yp_device_alloc(mock->o.device, nn_model_bytes(mock->model)->arena);
    if (mock->arena == NULL)
        return yp_last_status();
    nn_model_bind(mock->model, mock->arena);
    return YP_OK;
}

void *mock_input(const struct mock *mock)
{
    return nn_model_value(mock->model, mock->input);
}

void *mock_target(const struct mock *mock)
{
    return mock->target >= 0 ? nn_model_value(mock->model, mock->target) : NULL;
}

const void *mock_result(const struct mock *mock)
{
    return nn_model_value(mock->model, mock->result);
}

enum yp_status mock_pass(struct mock *mock, const void *parameters, void *gradient, unsigned flags)
{
    if (mock->arena == NULL)
        return yp_set_error(YP_INVALID, "mock_pass: mock_start() has not been called");
    const size_t batch = mock->o.batch;
    enum yp_status status = YP_OK;
    if (gradient != NULL)
        status = refiner_ask_mean(mock->o.device, mock->model, mock->result, batch, batch, 1);
    return status == YP_OK ? nn_model_pass(mock->model, parameters, gradient, flags) : status;
}

/* Moments of layer i to the host: mean and r. */
static enum yp_status fetch(const struct mock *mock, int i, size_t bytes, void *mean, void *r)
{
    const int tensor = mock->means[i];
    enum yp_status status =
        yp_device_copy(mock->o.device, mean, nn_model_value(mock->model, tensor), bytes);
    return status == YP_OK
               ? yp_device_copy(mock->o.device, r, nn_model_value(mock->model, tensor + 1), bytes)
               : status;
}

enum yp_status mock_update_statistics(const struct mock *mock, void *statistics)
{
    enum { MOST = 8 * 1024 }; /* channels: 8 times the largest width */
    const bool wide = mock->o.oracle;
    double mean[MOST], r[MOST]; /* or as many floats */
    struct mock_tensor t;
    enum yp_status status = YP_OK;
    if (mock->o.pass != NN_MODEL_GRADIENT)
        return yp_set_error(YP_INVALID, "mock_update_statistics: the pass has no norms");
    for (size_t i = 0; mock_statistic(mock->o.width, i, &t) && status == YP_OK; i++) {
        const size_t side = mock_side(mock->o.tile, t.layer);
        const double n = (double)(mock->o.batch * side * side);
        status = fetch(mock, t.layer, t.count * (wide ? sizeof(double) : sizeof(float)), mean, r);
        for (size_t k = 0; k < t.count && status == YP_OK; k++) {
            const double root = get(r, wide, k);
            const double variance = fmax(1 / (root * root) - MOCK_EPS, 0);
            const double now =
                t.part == MOCK_MEAN ? get(mean, wide, k) : variance * (n > 1 ? n / (n - 1) : 1);
            const double before = get(statistics, wide, t.offset + k);
            put(statistics, wide, t.offset + k, (1 - MOCK_MOMENTUM) * before + MOCK_MOMENTUM * now);
        }
    }
    return status;
}
