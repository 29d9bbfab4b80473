/* The model's steps, and passes over them. */
#include "models/lm/lm.h"

#include "models/nn/operators/rope.h"

#include <string.h>

struct lm {
    struct lm_options o;
    struct nn_model *model;
    void *arena;
    int tokens, labels, cosine, sine, result;
    size_t next;    /* tensor of the parameters, while the model is built */
    double *angles; /* cosines, sines, and one of them as floats */
};

/* -- steps ------------------------------------------------------------------------------------- */

enum { STEPS_OF_A_LAYER = 15, TENSORS_OF_A_LAYER = 28 };

static size_t positions(const struct lm *lm)
{
    return lm->o.batch * lm->o.context;
}

/* The next tensor of the parameters. */
static int parameter(struct lm *lm)
{
    struct lm_tensor tensor;
    lm_tensor(&lm->o.config, lm->next++, &tensor);
    return nn_model_parameter(lm->model, "parameter",
                              (tensor.rows > 0 ? tensor.rows : 1) * tensor.columns);
}

static int norm(struct lm *lm, int x, int gain)
{
    struct nn_shape shape = {.size = {positions(lm), lm->o.config.d_model},
                             .setting = {lm->o.config.eps}};
    bool again = lm->o.recompute != LM_KEEP_ALL;
    nn_model_make_again(lm->model, again);
    int y = nn_model_step(lm->model, &nn_rmsnorm, shape, (int[]){x, gain});
    nn_model_make_again(lm->model, lm->o.recompute == LM_REMAKE_BLOCKS);
    return y;
}

static int project(struct lm *lm, int x, int w, size_t out, size_t in)
{
    return nn_model_step(lm->model, &nn_linear, (struct nn_shape){.size = {positions(lm), out, in}},
                         (int[]){x, w, -1});
}

static int turn(struct lm *lm, int x)
{
    size_t e = lm->o.config.d_model / lm->o.config.heads;
    struct nn_shape shape = {.size = {lm->o.batch, lm->o.context, lm->o.config.heads, e, e / 2}};
    return nn_model_step(lm->model, &nn_rope, shape, (int[]){x, lm->cosine, lm->sine});
}

/* What comes out of a half of a layer is kept, whatever is made again. */
static int add(struct lm *lm, int x, int delta, bool last)
{
    struct nn_shape shape = {.size = {positions(lm) * lm->o.config.d_model}};
    nn_model_make_again(lm->model, lm->o.recompute == LM_REMAKE_BLOCKS && !last);
    return nn_model_step(lm->model, &nn_add, shape, (int[]){x, delta});
}

static int attend(struct lm *lm, int x, const int *w)
{
    size_t d = lm->o.config.d_model, heads = lm->o.config.heads;
    struct nn_shape shape = {.size = {lm->o.batch, lm->o.context, heads, d / heads},
                             .setting = {1}};
    int q = turn(lm, project(lm, x, w[0], d, d)), k = turn(lm, project(lm, x, w[1], d, d));
    int v = project(lm, x, w[2], d, d);
    int y = nn_model_step(lm->model, &nn_attention, shape, (int[]){q, k, v});
    return project(lm, y, w[3], d, d);
}

static int feed_forward(struct lm *lm, int x, const int *w)
{
    size_t d = lm->o.config.d_model, f = lm->o.config.d_ff;
    int gate = project(lm, x, w[0], f, d), up = project(lm, x, w[2], f, d);
    nn_model_make_again(lm->model, lm->o.recompute != LM_KEEP_ALL);
    int y = nn_model_step(lm->model, &nn_swiglu, (struct nn_shape){.size = {positions(lm) * f}},
                          (int[]){gate, up});
    nn_model_make_again(lm->model, lm->o.recompute == LM_REMAKE_BLOCKS);
    return project(lm, y, w[1], d, f);
}

static int layer(struct lm *lm, int x)
{
    int w[9];
    for (int i = 0; i < 9; i++)
        w[i] = parameter(lm);
    x = add(lm, x, attend(lm, norm(lm, x, w[0]), w + 1), false);
    return add(lm, x, feed_forward(lm, norm(lm, x, w[5]), w + 6), true);
}

static void build(struct lm *lm)
{
    const struct lm_config *c = &lm->o.config;
    size_t n = positions(lm), d = c->d_model, v = c->vocabulary, pairs = d / c->heads / 2;
    struct nn_model *m = lm->model;
    lm->tokens = nn_model_constant(m, "tokens", NN_INT32, n);
    lm->cosine = nn_model_constant(m, "cosine", NN_REAL, lm->o.context * pairs);
    lm->sine = nn_model_constant(m, "sine", NN_REAL, lm->o.context * pairs);
    lm->labels = lm->o.logits ? -1 : nn_model_constant(m, "labels", NN_INT32, n);
    int x = nn_model_step(m, &nn_embedding, (struct nn_shape){.size = {n, v, d}},
                          (int[]){parameter(lm), lm->tokens});
    for (size_t i = 0; i < c->layers; i++)
        x = layer(lm, x);
    x = norm(lm, x, parameter(lm));
    nn_model_make_again(m, false);
    int head = parameter(lm);
    lm->result = lm->o.logits ? project(lm, x, head, v, d)
                              : nn_model_step(m, &nn_linear_cross_entropy,
                                              (struct nn_shape){.size = {n, v, d}},
                                              (int[]){x, head, lm->labels});
}

/* -- the model --------------------------------------------------------------------------------- */

enum yp_status lm_check_options(const struct lm_options *o)
{
    enum yp_status status = lm_check_config(&o->config);
    if (status == YP_OK && (o->batch < 1 || o->context < 1 || o->batch > LM_TOKENS / o->context))
        status = yp_set_error(YP_INVALID,
                              "lm_options.batch is %zu, context %zu: must be 1 and above, and "
                              "together at most %u tokens",
                              o->batch, o->context, LM_TOKENS);
    if (status == YP_OK && o->kind != NULL && strcmp(o->kind, "cpu") != 0 &&
        strcmp(o->kind, "cuda") != 0)
        status = yp_set_error(YP_INVALID, "lm_options.kind is '%s': must be cpu or cuda", o->kind);
    if (status == YP_OK && o->precision == NN_FP16)
        status = yp_set_error(YP_INVALID, "lm_options.precision is fp16: must be fp32 or bf16");
    if (status == YP_OK && o->logits && o->pass == NN_MODEL_GRADIENT)
        status = yp_set_error(YP_INVALID, "lm_options.logits: only a loss has a gradient");
    return status;
}

static struct nn_model_options model_options(const struct lm_options *options)
{
    size_t layers = options->config.layers;
    return (struct nn_model_options){.device = options->device,
                                     .kind = options->kind,
                                     .precision = options->precision,
                                     .oracle = options->oracle,
                                     .steps = layers * STEPS_OF_A_LAYER + 3,
                                     .tensors = layers * TENSORS_OF_A_LAYER + 13};
}

/* Pairs of all positions. */
static size_t angles_of(const struct lm_options *o)
{
    return o->context * (o->config.d_model / o->config.heads / 2);
}

static size_t angles_bytes(const struct lm_options *o)
{
    return angles_of(o) * (2 * sizeof(double) + sizeof(float));
}

size_t lm_description(const struct lm_options *options)
{
    struct nn_model_options o = model_options(options);
    size_t bytes = lm_check_options(options) == YP_OK ? nn_model_description(&o) : 0;
    return bytes > 0 ? bytes + sizeof(struct lm) + angles_bytes(options) : 0;
}

struct lm *lm_create(const struct lm_options *options)
{
    if (lm_check_options(options) != YP_OK)
        return NULL;
    struct nn_model_options o = model_options(options);
    struct lm *lm = yp_device_alloc(yp_device_cpu(), sizeof *lm + angles_bytes(options));
    if (lm == NULL)
        return NULL;
    *lm = (struct lm){
        .o = *options, .model = nn_model_create(&o), .angles = (double *)(void *)(lm + 1)};
    if (lm->model != NULL)
        build(lm);
    if (lm->model != NULL && nn_model_plan(lm->model, options->pass) == YP_OK)
        return lm;
    lm_destroy(lm);
    return NULL;
}

void lm_destroy(struct lm *lm)
{
    if (lm == NULL)
        return;
    yp_device_free(lm->o.device, lm->arena);
    nn_model_destroy(lm->model);
    yp_device_free(yp_device_cpu(), lm);
}

const struct nn_model *lm_model(const struct lm *lm)
{
    return lm->model;
}

const void *lm_result(const struct lm *lm)
{
    return nn_model_value(lm->model, lm->result);
}

/* -- passes ------------------------------------------------------------------------------------ */

/* The tables of angles, on the device. */
static enum yp_status write_angles(struct lm *lm)
{
    size_t count = angles_of(&lm->o);
    float *narrow = (float *)(void *)(lm->angles + 2 * count);
    const int tensors[] = {lm->cosine, lm->sine};
    enum yp_status status = YP_OK;
    nn_rope_angles(lm->o.context, count / lm->o.context, lm->o.config.theta, lm->angles,
                   lm->angles + count);
    for (int i = 0; i < 2 && status == YP_OK; i++) {
        const double *table = lm->angles + (size_t)i * count;
        for (size_t k = 0; k < count; k++)
            narrow[k] = (float)table[k];
        status = yp_device_copy(lm->o.device, nn_model_value(lm->model, tensors[i]),
                                lm->o.oracle ? (const void *)table : narrow,
                                count * (lm->o.oracle ? sizeof *table : sizeof *narrow));
    }
    return status;
}

enum yp_status lm_start(struct lm *lm)
{
    const char *kind = nn_device_kind(lm->o.device);
    if (lm->o.kind != NULL && strcmp(lm->o.kind, kind) != 0)
        return yp_set_error(YP_INVALID, "lm_start: it is planned for %s, the device is %s",
                            lm->o.kind, yp_device_name(lm->o.device));
    if (lm->arena == NULL)
        lm->arena = yp_device_alloc(lm->o.device, nn_model_bytes(lm->model)->arena);
    if (lm->arena == NULL)
        return yp_last_status();
    nn_model_bind(lm->model, lm->arena);
    return write_angles(lm);
}

/* The mean of the first losses, or each one's cotangent: numbers on the device, in pieces. */
enum { PIECE = 1024 };

static enum yp_status mean_loss(const struct lm *lm, size_t count, double *mean)
{
    size_t size = lm->o.oracle ? sizeof(double) : sizeof(float);
    const char *from = lm_result(lm);
    union {
        double wide[PIECE];
        float narrow[PIECE];
    } piece;
    enum yp_status status = YP_OK;
    *mean = 0;
    for (size_t at = 0; at < count && status == YP_OK; at += PIECE) {
        size_t some = count - at < PIECE ? count - at : PIECE;
        status = yp_device_copy(lm->o.device, &piece, from + at * size, some * size);
        for (size_t i = 0; i < some; i++)
            *mean += (lm->o.oracle ? piece.wide[i] : (double)piece.narrow[i]) / (double)count;
    }
    return status;
}

/* `each` for the first `count`, 0 for the others. */
static enum yp_status write_cotangents(struct lm *lm, size_t count, double each)
{
    size_t all = positions(lm), size = lm->o.oracle ? sizeof(double) : sizeof(float);
    char *to = nn_model_cotangent(lm->model, lm->result);
    union {
        double wide[PIECE];
        float narrow[PIECE];
    } piece;
    enum yp_status status = YP_OK;
    for (size_t at = 0; at < all && status == YP_OK; at += PIECE) {
        size_t some = all - at < PIECE ? all - at : PIECE;
        for (size_t i = 0; i < some; i++) {
            double value = at + i < count ? each : 0;
            if (lm->o.oracle)
                piece.wide[i] = value;
            else
                piece.narrow[i] = (float)value;
        }
        status = yp_device_copy(lm->o.device, to + at * size, &piece, some * size);
    }
    return status;
}

static const char *wrong_with(const struct lm *lm, const struct lm_batch *batch,
                              const void *parameters, const void *gradient)
{
    return lm->arena == NULL                        ? "lm_start() was not called"
           : batch->tokens == NULL                  ? "batch.tokens is NULL"
           : parameters == NULL                     ? "parameters is NULL"
           : batch->labels == NULL && !lm->o.logits ? "batch.labels is NULL: a loss needs them"
           : batch->count > lm->o.batch             ? "batch.count is above lm_options.batch"
           : gradient != NULL && lm->o.pass != NN_MODEL_GRADIENT ? "no gradient was planned"
                                                                 : NULL;
}

void lm_tell(struct lm *lm, nn_model_ready *ready, void *arg)
{
    nn_model_tell(lm->model, ready, arg);
}

enum yp_status lm_pass(struct lm *lm, const struct lm_batch *batch, const void *parameters,
                       void *gradient, double scale, unsigned flags, double *mean)
{
    size_t bytes = positions(lm) * sizeof *batch->tokens;
    size_t count = (batch->count > 0 ? batch->count : lm->o.batch) * lm->o.context;
    const char *wrong = wrong_with(lm, batch, parameters, gradient);
    if (wrong != NULL)
        return yp_set_error(YP_INVALID, "lm_pass: %s", wrong);
    enum yp_status status =
        yp_device_copy(lm->o.device, nn_model_value(lm->model, lm->tokens), batch->tokens, bytes);
    if (status == YP_OK && !lm->o.logits)
        status = yp_device_copy(lm->o.device, nn_model_value(lm->model, lm->labels), batch->labels,
                                bytes);
    if (status == YP_OK && gradient != NULL)
        status = write_cotangents(lm, count, scale / (double)count);
    if (status == YP_OK)
        status = nn_model_pass(lm->model, parameters, gradient, flags);
    if (status == YP_OK && mean != NULL && !lm->o.logits)
        status = mean_loss(lm, count, mean);
    return status;
}
