/* A vision transformer's two models, and passes over them. */
#include "models/refiner/vit.h"

#include "models/nn/types.h"
#include "models/refiner/shared.h"

#include <math.h>
#include <string.h>

#define EPS 1e-6

/* A tensor of the names in a model: its thirds, and their scales where it is kept in 8 bits. */
struct slot {
    struct vit_tensor t;
    int tensor[3], scale[3];
};

struct half {
    struct yp_device *device;
    struct nn_model *model;
    void *arena;
};

struct vit {
    struct vit_options o;
    struct half encoder, head;
    struct half *now; /* that is built */
    struct slot *slots;
    size_t slot_count;
    int input, tokens;            /* of the encoder: the image, and what the head sees */
    int features, target, result; /* of the head */
    size_t head_offset, all;      /* of trained elements: where the head's begin, and their end */
    size_t count;                 /* images whose losses count */
    double scale;                 /* of their mean */
    float *parameters, *gradient; /* copies of the head's on the host, where it fell back */
    nn_model_ready *ready;        /* NULL: there is none */
    void *ready_arg;
};

/* -- options ----------------------------------------------------------------------------------- */

struct vit_options vit_full(struct yp_device *device)
{
    return (struct vit_options){.device = device,
                                .batch = 1,
                                .tile = 224,
                                .channels = 4,
                                .bands = 6,
                                .patch = 14,
                                .width = 1280,
                                .depth = 32,
                                .heads = 16,
                                .trained = 2,
                                .rank = 8,
                                .alpha = 16,
                                .head_width = 256,
                                .head_blocks = 4};
}

static enum yp_status check_sizes(const struct vit_options *o)
{
    const struct {
        const char *name;
        size_t value, low, high;
    } sizes[] = {{"batch", o->batch, 1, 1024},
                 {"channels", o->channels, 1, 1024},
                 {"bands", o->bands, 1, 1024},
                 {"patch", o->patch, 1, 256},
                 {"tile", o->tile, o->patch, 4096},
                 {"width", o->width, 4, 16384},
                 {"depth", o->depth, 1, 128},
                 {"heads", o->heads, 1, o->width},
                 {"trained", o->trained, 0, o->depth},
                 {"rank", o->rank, 0, o->width},
                 {"head_width", o->head_width, 1, 4096},
                 {"head_blocks", o->head_blocks, 0, 64},
                 {"feature", o->feature, 0, o->depth}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (sizes[i].value < sizes[i].low || sizes[i].value > sizes[i].high)
            return yp_set_error(YP_INVALID, "vit_options.%s is %zu: must be %zu to %zu",
                                sizes[i].name, sizes[i].value, sizes[i].low, sizes[i].high);
    return YP_OK;
}

enum yp_status vit_check_options(const struct vit_options *o)
{
    enum yp_status status = check_sizes(o);
    if (status == YP_OK && (o->width % 4 != 0 || o->width % o->heads != 0))
        status = yp_set_error(YP_INVALID,
                              "vit_options.width is %zu, heads %zu: the width must be a multiple "
                              "of 4 and of the heads",
                              o->width, o->heads);
    if (status == YP_OK && !isfinite(o->alpha))
        status = yp_set_error(YP_INVALID, "vit_options.alpha is %g: must be finite", o->alpha);
    if (status == YP_OK && o->precision != NN_FP32 && o->precision != NN_BF16)
        status = yp_set_error(YP_INVALID, "vit_options.precision is %s: must be fp32 or bf16",
                              nn_precision_name(o->precision));
    if (status == YP_OK && o->precision == NN_BF16 && o->frozen != VIT_FLOAT)
        status = yp_set_error(YP_UNSUPPORTED,
                              "vit_options.frozen: matrices in 8 bits need the precision fp32");
    return status == YP_OK ? refiner_check_kind("vit_options", o->kind) : status;
}

/* -- steps ------------------------------------------------------------------------------------- */

enum { STEPS_OF_A_BLOCK = 18, TENSORS_OF_A_BLOCK = 80, STEPS_OF_A_HEAD_BLOCK = 6, MORE = 40 };

static size_t grid_side(const struct vit_options *o)
{
    return o->tile / o->patch;
}

static size_t tokens_of(const struct vit_options *o)
{
    return grid_side(o) * grid_side(o) + 1;
}

/* Rows and columns of the head's grid: with the class token the nearest to a square that the tokens
 * fill. */
static void head_grid(const struct vit_options *o, size_t *rows, size_t *columns)
{
    size_t count = tokens_of(o);
    *rows = grid_side(o);
    while (o->class_token && count % *rows != 0)
        --*rows;
    *columns = o->class_token ? count / *rows : *rows;
}

static struct nn_model *model(const struct vit *vit)
{
    return vit->now->model;
}

/* The next tensor of the names. */
static const struct slot *take(struct vit *vit)
{
    struct slot *slot = &vit->slots[vit->slot_count];
    vit_tensor(&vit->o, vit->slot_count++, &slot->t);
    const size_t thirds = (size_t)slot->t.thirds, count = slot->t.count / thirds;
    if (vit->now == &vit->encoder)
        vit->head_offset += slot->t.trained ? slot->t.count : 0;
    vit->all += slot->t.trained ? slot->t.count : 0;
    for (size_t k = 0; k < thirds; k++) {
        slot->tensor[k] =
            slot->t.trained
                ? nn_model_parameter(model(vit), "parameter", count)
                : nn_model_constant(model(vit), "frozen", slot->t.int8 ? NN_SINT8 : NN_REAL, count);
        if (slot->t.int8)
            slot->scale[k] =
                nn_model_constant(model(vit), "scale", NN_REAL, slot->t.shape[0] / thirds);
    }
    return slot;
}

static int step(struct vit *vit, const struct nn_operator *op, struct nn_shape shape,
                const int *inputs)
{
    return nn_model_step(model(vit), op, shape, inputs);
}

/* The slots of a linear layer. */
struct layer {
    const struct slot *weight, *bias, *low, *high; /* low and high NULL: no low-rank change */
};

static struct layer take_layer(struct vit *vit, bool changed)
{
    struct layer layer = {.weight = take(vit)};
    layer.bias = take(vit);
    if (changed && vit->o.rank > 0) {
        layer.low = take(vit);
        layer.high = take(vit);
    }
    return layer;
}

/* Third k of a layer, of rows x (n, in). */
static int project(struct vit *vit, const struct layer *l, int k, int x, size_t n, size_t out,
                   size_t in)
{
    const struct nn_shape shape = {.size = {n, out, in}};
    int y;
    if (l->weight->t.int8) {
        nn_model_precision(model(vit), vit->o.frozen == VIT_INT8_ROWS ? NN_INT8 : NN_FP32);
        y = step(vit, &nn_linear_int8, shape,
                 (int[]){x, l->weight->tensor[k], l->weight->scale[k], l->bias->tensor[k]});
        nn_model_precision(model(vit), vit->o.precision);
    } else {
        y = step(vit, &nn_linear, shape, (int[]){x, l->weight->tensor[k], l->bias->tensor[k]});
    }
    if (l->low == NULL)
        return y;
    return step(vit, &nn_lora,
                (struct nn_shape){.size = {n, out, in, vit->o.rank},
                                  .setting = {vit->o.alpha / (double)vit->o.rank}},
                (int[]){x, y, l->low->tensor[0], l->high->tensor[k]});
}

static int norm(struct vit *vit, int x, size_t n, size_t width)
{
    const struct slot *gain = take(vit), *shift = take(vit);
    return step(vit, &nn_layer_norm, (struct nn_shape){.size = {n, width}, .setting = {EPS}},
                (int[]){x, gain->tensor[0], shift->tensor[0]});
}

static int gelu(struct vit *vit, int x, size_t count)
{
    return step(vit, &nn_gelu, (struct nn_shape){.size = {count}}, &x);
}

static int add(struct vit *vit, int x, int delta, size_t count)
{
    return step(vit, &nn_add, (struct nn_shape){.size = {count}}, (int[]){x, delta});
}

static int attend(struct vit *vit, int x, size_t n)
{
    const struct vit_options *o = &vit->o;
    const struct nn_shape shape = {.size = {o->batch, tokens_of(o), o->heads, o->width / o->heads}};
    int y = norm(vit, x, n, o->width), qkv[3];
    const struct layer in = take_layer(vit, true), out = take_layer(vit, true);
    for (int k = 0; k < 3; k++)
        qkv[k] = project(vit, &in, k, y, n, o->width, o->width);
    y = step(vit, &nn_attention, shape, qkv);
    return project(vit, &out, 0, y, n, o->width, o->width);
}

static int feed_forward(struct vit *vit, int x, size_t n)
{
    const size_t d = vit->o.width;
    int y = norm(vit, x, n, d);
    const struct layer up = take_layer(vit, true), down = take_layer(vit, true);
    y = gelu(vit, project(vit, &up, 0, y, n, 4 * d, d), n * 4 * d);
    return project(vit, &down, 0, y, n, d, 4 * d);
}

/* The output of a block is kept. With recompute, all activations within the block are made again.
 */
static int encoder_block(struct vit *vit, int x, size_t n)
{
    const size_t count = n * vit->o.width;
    nn_model_make_again(model(vit), vit->o.recompute);
    x = add(vit, x, attend(vit, x, n), count);
    int delta = feed_forward(vit, x, n);
    nn_model_make_again(model(vit), false);
    return add(vit, x, delta, count);
}

static int embed(struct vit *vit)
{
    const struct vit_options *o = &vit->o;
    const size_t b = o->batch, side = grid_side(o), t = tokens_of(o),
                 pixels = b * o->tile * o->tile;
    struct layer l = take_layer(vit, false);
    vit->input = nn_model_constant(model(vit), "image", NN_REAL, pixels * o->channels);
    int x = project(vit, &l, 0, vit->input, pixels, o->bands, o->channels);
    l = take_layer(vit, false);
    x = step(vit, &nn_convolution,
             (struct nn_shape){
                 .size = {b, o->tile, o->tile, side, side, o->patch, o->patch, o->bands, o->width},
                 .setting = {(double)o->patch, 0}},
             (int[]){x, l.weight->tensor[0], l.bias->tensor[0]});
    const struct slot *class = take(vit), *position = take(vit);
    return step(vit, &nn_tokens, (struct nn_shape){.size = {b, t, o->width, t - 1}},
                (int[]){x, class->tensor[0], position->tensor[0]});
}

static void build_encoder(struct vit *vit)
{
    const struct vit_options *o = &vit->o;
    const size_t t = tokens_of(o), feature = o->feature > 0 ? o->feature : o->depth;
    int x = embed(vit);
    for (size_t i = 0; i < feature; i++)
        x = encoder_block(vit, x, o->batch * t);
    /* Blocks that nothing depends on have parameters, and no steps. */
    struct vit_tensor next;
    while (feature < o->depth && vit_tensor(o, vit->slot_count, &next) &&
           strncmp(next.name, "blocks.", 7) == 0)
        take(vit);
    if (feature == o->depth) {
        x = norm(vit, x, o->batch * t, o->width);
    } else {
        take(vit);
        take(vit);
    }
    if (!o->class_token)
        x = step(vit, &nn_slice,
                 (struct nn_shape){.size = {o->batch, t, o->width, t - 1}, .setting = {1}}, &x);
    vit->tokens = x;
}

static int head_block(struct vit *vit, int x, size_t rows, size_t columns)
{
    const struct vit_options *o = &vit->o;
    const size_t b = o->batch, n = b * rows * columns, h = o->head_width;
    struct layer l = take_layer(vit, false);
    int y = step(
        vit, &nn_depthwise_convolution,
        (struct nn_shape){.size = {b, rows, columns, rows, columns, 7, 7, h}, .setting = {1, 3}},
        (int[]){x, l.weight->tensor[0], l.bias->tensor[0]});
    y = norm(vit, y, n, h);
    l = take_layer(vit, false);
    y = gelu(vit, project(vit, &l, 0, y, n, 4 * h, h), n * 4 * h);
    l = take_layer(vit, false);
    return add(vit, x, project(vit, &l, 0, y, n, h, 4 * h), n * h);
}

static void build_head(struct vit *vit)
{
    const struct vit_options *o = &vit->o;
    size_t rows, columns;
    head_grid(o, &rows, &columns);
    const size_t n = o->batch * rows * columns, h = o->head_width;
    const size_t image = o->tile * o->tile * h;
    vit->features = nn_model_input(model(vit), "features", n * o->width);
    if (o->pass == NN_MODEL_GRADIENT)
        vit->target = nn_model_constant(model(vit), "target", NN_REAL, o->batch * image);
    struct layer l = take_layer(vit, false);
    int x = project(vit, &l, 0, vit->features, n, h, o->width);
    for (size_t i = 0; i < o->head_blocks; i++)
        x = head_block(vit, x, rows, columns);
    l = take_layer(vit, false);
    x = project(vit, &l, 0, x, n, h, h);
    x = step(vit, &nn_upsample,
             (struct nn_shape){.size = {o->batch, rows, columns, h, o->tile, o->tile}}, &x);
    vit->result = o->pass == NN_MODEL_GRADIENT
                      ? step(vit, &nn_mse, (struct nn_shape){.size = {o->batch, image}},
                             (int[]){x, vit->target})
                      : x;
}

/* -- the model --------------------------------------------------------------------------------- */

static struct nn_model_options options_of(const struct vit_options *o, size_t blocks,
                                          size_t steps_of_a_block, struct yp_device *device,
                                          const char *kind)
{
    return (struct nn_model_options){.device = device,
                                     .kind = kind,
                                     .precision = o->precision,
                                     .oracle = o->oracle,
                                     .plain = o->plain,
                                     .steps = blocks * steps_of_a_block + MORE,
                                     .tensors = blocks * TENSORS_OF_A_BLOCK + MORE};
}

static struct nn_model_options head_options(const struct vit_options *o, struct yp_device *device,
                                            const char *kind)
{
    return options_of(o, o->head_blocks, STEPS_OF_A_HEAD_BLOCK, device, kind);
}

static struct nn_model_options encoder_options(const struct vit_options *o)
{
    return options_of(o, o->depth, STEPS_OF_A_BLOCK, o->device, o->kind);
}

/* Builds a half and plans it. */
static bool open_half(struct vit *vit, struct half *half, struct nn_model_options options,
                      void (*build)(struct vit *vit))
{
    half->device = options.device;
    half->model = nn_model_create(&options);
    vit->now = half;
    if (half->model == NULL)
        return false;
    build(vit);
    return nn_model_plan(half->model, vit->o.pass) == YP_OK;
}

static size_t own_bytes(const struct vit_options *options)
{
    struct vit_tensor t;
    size_t slots = 0;
    while (vit_tensor(options, slots, &t))
        slots++;
    return sizeof(struct vit) + slots * sizeof(struct slot);
}

size_t vit_description(const struct vit_options *options)
{
    if (vit_check_options(options) != YP_OK)
        return 0;
    const struct nn_model_options encoder = encoder_options(options),
                                  head = head_options(options, options->device, options->kind);
    return own_bytes(options) + nn_model_description(&encoder) + nn_model_description(&head);
}

struct vit *vit_create(const struct vit_options *options)
{
    if (vit_check_options(options) != YP_OK)
        return NULL;
    struct vit *vit = yp_device_alloc(yp_device_cpu(), own_bytes(options));
    if (vit == NULL)
        return NULL;
    *vit = (struct vit){.o = *options,
                        .count = options->batch,
                        .scale = 1,
                        .slots = (struct slot *)(void *)(vit + 1)};
    if (open_half(vit, &vit->encoder, encoder_options(options), build_encoder) &&
        open_half(vit, &vit->head, head_options(options, options->device, options->kind),
                  build_head))
        return vit;
    vit_destroy(vit);
    return NULL;
}

static void close_half(struct half *half)
{
    if (half->arena != NULL)
        yp_device_free(half->device, half->arena);
    nn_model_destroy(half->model);
    *half = (struct half){.device = NULL};
}

void vit_destroy(struct vit *vit)
{
    if (vit == NULL)
        return;
    close_half(&vit->encoder);
    close_half(&vit->head);
    yp_device_free(yp_device_cpu(), vit->parameters);
    yp_device_free(yp_device_cpu(), vit);
}

const struct nn_model *vit_encoder(const struct vit *vit)
{
    return vit->encoder.model;
}

const struct nn_model *vit_head(const struct vit *vit)
{
    return vit->head.model;
}

bool vit_fell_back(const struct vit *vit)
{
    return vit->head.device != vit->encoder.device;
}

static enum yp_status start_half(struct half *half)
{
    half->arena = yp_device_alloc(half->device, nn_model_bytes(half->model)->arena);
    if (half->arena == NULL)
        return yp_last_status();
    nn_model_bind(half->model, half->arena);
    return YP_OK;
}

/* The head once more, on the CPU, with its part of the vectors. */
static enum yp_status fall_back(struct vit *vit)
{
    struct yp_device *cpu = yp_device_cpu();
    const size_t count = vit->all - vit->head_offset;
    close_half(&vit->head);
    vit->slot_count = 0;
    for (struct vit_tensor t; vit_tensor(&vit->o, vit->slot_count, &t) && t.part != VIT_HEAD;)
        vit->slot_count++;
    vit->all = vit->head_offset;
    if (!open_half(vit, &vit->head, head_options(&vit->o, cpu, "cpu"), build_head))
        return yp_last_status();
    vit->parameters = yp_device_alloc(cpu, 2 * count * sizeof *vit->parameters);
    if (vit->parameters == NULL)
        return yp_last_status();
    vit->gradient = vit->parameters + count;
    return start_half(&vit->head);
}

enum yp_status vit_start(struct vit *vit)
{
    const char *kind = nn_device_kind(vit->o.device);
    if (vit->o.kind != NULL && strcmp(vit->o.kind, kind) != 0)
        return yp_set_error(YP_INVALID, "vit_start: planned for %s, the device is %s", vit->o.kind,
                            kind);
    enum yp_status status = start_half(&vit->encoder);
    if (status != YP_OK)
        return status;
    status = start_half(&vit->head);
    const bool may = vit->o.head_falls_back && vit->o.device != yp_device_cpu();
    return status == YP_OUT_OF_MEMORY && may ? fall_back(vit) : status;
}

/* -- values ------------------------------------------------------------------------------------ */

enum { CHUNK = 4096 };

/* Values in a tensor's type. */
static void convert(enum nn_type type, const double *from, size_t count, void *to)
{
    for (size_t i = 0; i < count; i++)
        if (type == NN_DOUBLE)
            ((double *)to)[i] = from[i];
        else if (type == NN_FLOAT)
            ((float *)to)[i] = (float)from[i];
        else if (nn_16_bits(type))
            nn_put(to, i, (float)from[i], type);
        else
            ((int8_t *)to)[i] = (int8_t)from[i];
}

/* Elements `first` on of a tensor of a half. */
static enum yp_status put(const struct half *half, int tensor, size_t first, size_t count,
                          const double *values)
{
    char chunk[CHUNK * sizeof(double)], *to = nn_model_value(half->model, tensor);
    const enum nn_type type = nn_model_type(half->model, tensor);
    if (to == NULL)
        return yp_set_error(YP_INVALID, "vit: vit_start() has not been called");
    const size_t bytes = nn_type_bytes(type); /* 0: no step takes it */
    enum yp_status status = YP_OK;
    for (size_t at = 0; at < count && bytes > 0 && status == YP_OK; at += CHUNK) {
        const size_t some = count - at < CHUNK ? count - at : CHUNK;
        convert(type, values + at, some, chunk);
        status = yp_device_copy(half->device, to + (first + at) * bytes, chunk, some * bytes);
    }
    return status;
}

/* A row in units of its scale. */
static double quantise(const double *row, size_t count, double *units)
{
    double most = 0;
    for (size_t i = 0; i < count; i++)
        most = fmax(most, fabs(row[i]));
    const double scale = most / 127;
    for (size_t i = 0; i < count; i++)
        units[i] = scale > 0 ? nearbyint(row[i] / scale) : 0;
    return scale;
}

static enum yp_status put_int8(const struct half *half, const struct slot *slot,
                               const double *values)
{
    const size_t columns = slot->t.shape[1], rows = slot->t.shape[0] / (size_t)slot->t.thirds;
    double *units = yp_device_alloc(yp_device_cpu(), columns * sizeof *units);
    if (units == NULL)
        return yp_last_status();
    enum yp_status status = YP_OK;
    for (size_t i = 0; i < slot->t.shape[0] && status == YP_OK; i++) {
        const size_t third = i / rows, row = i % rows;
        const double scale = quantise(values + i * columns, columns, units);
        status = put(half, slot->tensor[third], row * columns, columns, units);
        if (status == YP_OK)
            status = put(half, slot->scale[third], row, 1, &scale);
    }
    yp_device_free(yp_device_cpu(), units);
    return status;
}

enum yp_status vit_freeze(struct vit *vit, size_t i, const double *values)
{
    const struct slot *slot = &vit->slots[i];
    if (i >= vit->slot_count || slot->t.trained)
        return yp_set_error(YP_INVALID, "vit_freeze: tensor %zu, %s, is trained", i,
                            i < vit->slot_count ? slot->t.name : "of no name");
    if (slot->t.int8)
        return put_int8(&vit->encoder, slot, values);
    const size_t thirds = (size_t)slot->t.thirds, count = slot->t.count / thirds;
    enum yp_status status = YP_OK;
    for (size_t k = 0; k < thirds && status == YP_OK; k++)
        status = put(&vit->encoder, slot->tensor[k], 0, count, values + k * count);
    return status;
}

enum yp_status vit_initialise(struct vit *vit, uint64_t seed, float *parameters)
{
    size_t most = 0;
    for (size_t i = 0; i < vit->slot_count; i++)
        most = vit->slots[i].t.count > most ? vit->slots[i].t.count : most;
    double *values = yp_device_alloc(yp_device_cpu(), most * sizeof *values);
    if (values == NULL)
        return yp_last_status();
    enum yp_status status = YP_OK;
    for (size_t i = 0; i < vit->slot_count && status == YP_OK; i++) {
        const struct vit_tensor *t = &vit->slots[i].t;
        status = vit_draw(&vit->o, i, seed, values);
        if (status == YP_OK && !t->trained)
            status = vit_freeze(vit, i, values);
        for (size_t k = 0; k < t->count && t->trained; k++)
            parameters[t->offset + k] = (float)values[k];
    }
    yp_device_free(yp_device_cpu(), values);
    return status;
}

enum yp_status vit_set_input(struct vit *vit, const double *image)
{
    const struct vit_options *o = &vit->o;
    return put(&vit->encoder, vit->input, 0, o->batch * o->tile * o->tile * o->channels, image);
}

enum yp_status vit_set_target(struct vit *vit, const double *target)
{
    const struct vit_options *o = &vit->o;
    if (o->pass != NN_MODEL_GRADIENT)
        return yp_set_error(YP_INVALID, "vit_set_target: only training has one");
    return put(&vit->head, vit->target, 0, o->batch * o->tile * o->tile * o->head_width, target);
}

const void *vit_result(const struct vit *vit)
{
    return nn_model_value(vit->head.model, vit->result);
}

/* -- passes ------------------------------------------------------------------------------------ */

static char *in_vector(const struct vit *vit, const void *vector, size_t at)
{
    return (char *)(uintptr_t)vector + at * (vit->o.oracle ? sizeof(double) : sizeof(float));
}

static enum yp_status across(struct vit *vit, void *to, const void *from)
{
    size_t rows, columns;
    head_grid(&vit->o, &rows, &columns);
    const enum nn_type type = nn_model_type(vit->head.model, vit->features);
    return yp_device_copy(vit->o.device, to, from,
                          vit->o.batch * rows * columns * vit->o.width * nn_type_bytes(type));
}

/* The head's part of a vector, where the head is; copied to `host` where that is the host. */
static enum yp_status of_head(const struct vit *vit, const void *vector, float *host, bool copied,
                              void **out)
{
    *out = in_vector(vit, vector, vit->head_offset);
    if (!vit_fell_back(vit))
        return YP_OK;
    const void *there = *out;
    *out = host;
    const size_t bytes = (vit->all - vit->head_offset) * sizeof *host;
    return copied ? yp_device_copy(vit->o.device, host, there, bytes) : YP_OK;
}

enum yp_status vit_encode(struct vit *vit, const void *parameters, unsigned flags)
{
    if (vit->head.arena == NULL)
        return yp_set_error(YP_INVALID, "vit: vit_start() has not been called");
    enum yp_status status = nn_model_pass(vit->encoder.model, parameters, NULL, flags);
    return status == YP_OK ? across(vit, nn_model_value(vit->head.model, vit->features),
                                    nn_model_value(vit->encoder.model, vit->tokens))
                           : status;
}

enum yp_status vit_refine(struct vit *vit, const void *parameters, unsigned flags)
{
    void *of;
    enum yp_status status = of_head(vit, parameters, vit->parameters, true, &of);
    return status == YP_OK ? nn_model_pass(vit->head.model, of, NULL, flags) : status;
}

static enum yp_status refine_back(struct vit *vit, const void *parameters, void *gradient,
                                  unsigned flags)
{
    void *of, *to;
    enum yp_status status = of_head(vit, parameters, vit->parameters, false, &of);
    if (status == YP_OK)
        status = of_head(vit, gradient, vit->gradient, (flags & NN_MODEL_ADD) != 0, &to);
    if (status == YP_OK)
        status = refiner_ask_mean(vit->head.device, vit->head.model, vit->result, vit->o.batch,
                                  vit->count, vit->scale);
    if (status == YP_OK)
        status = nn_model_pass(vit->head.model, of, to, flags);
    if (status == YP_OK && vit_fell_back(vit))
        status = yp_device_copy(vit->o.device, in_vector(vit, gradient, vit->head_offset), to,
                                (vit->all - vit->head_offset) * sizeof(float));
    return status;
}

/* Of blocks that nothing depends on. */
static enum yp_status clear(const struct vit *vit, void *gradient)
{
    static const double zeros[CHUNK];
    const size_t size = vit->o.oracle ? sizeof(double) : sizeof(float);
    enum yp_status status = YP_OK;
    for (size_t at = 0; at < vit->head_offset && status == YP_OK; at += CHUNK) {
        const size_t left = vit->head_offset - at;
        status = yp_device_copy(vit->o.device, in_vector(vit, gradient, at), zeros,
                                (left < CHUNK ? left : CHUNK) * size);
    }
    return status;
}

static enum yp_status encode_back(struct vit *vit, const void *parameters, void *gradient,
                                  unsigned flags)
{
    const bool unused = vit->o.feature > 0 && vit->o.feature < vit->o.depth;
    enum yp_status status =
        unused && (flags & NN_MODEL_ADD) == 0 ? clear(vit, gradient) : (enum yp_status)YP_OK;
    if (status == YP_OK)
        status = across(vit, nn_model_cotangent(vit->encoder.model, vit->tokens),
                        nn_model_cotangent(vit->head.model, vit->features));
    return status == YP_OK ? nn_model_pass(vit->encoder.model, parameters, gradient, flags)
                           : status;
}

/* The head's elements begin behind the encoder's. */
static void head_ready(void *arg, size_t first, size_t count)
{
    const struct vit *vit = arg;
    vit->ready(vit->ready_arg, vit->head_offset + first, count);
}

void vit_tell(struct vit *vit, nn_model_ready *ready, void *arg)
{
    ready = vit_fell_back(vit) ? NULL : ready;
    vit->ready = ready;
    vit->ready_arg = arg;
    nn_model_tell(vit->head.model, ready != NULL ? head_ready : NULL, vit);
    nn_model_tell(vit->encoder.model, ready, arg);
}

void vit_ask(struct vit *vit, size_t count, double scale)
{
    vit->count = count;
    vit->scale = scale;
}

enum yp_status vit_pass(struct vit *vit, const void *parameters, void *gradient, unsigned flags)
{
    enum yp_status status = YP_OK;
    if ((flags & NN_MODEL_BACK) == 0)
        status = vit_encode(vit, parameters, flags & NN_MODEL_COPY);
    if ((flags & NN_MODEL_BACK) == 0 && status == YP_OK)
        status = vit_refine(vit, parameters, flags & NN_MODEL_COPY);
    const unsigned back = (flags & NN_MODEL_ADD) | NN_MODEL_BACK;
    if (gradient != NULL && status == YP_OK)
        status = refine_back(vit, parameters, gradient, back);
    return gradient != NULL && status == YP_OK ? encode_back(vit, parameters, gradient, back)
                                               : status;
}
