/* Sequences as a trainer's items. */
#include "models/lm/train.h"

#include "base/system/arena.h"

#include <math.h>

enum { SETTINGS = 8 };

struct lm_trainee {
    struct lm_options o;
    struct lm_source source;
    struct lm *lm;
    struct lm_tensor *named; /* (tensors) */
    struct yp_tensor *tensors;
    size_t n_tensors;
    int32_t *sequence; /* (context + 1) */
    int32_t *tokens, *labels;
    struct train_setting settings[SETTINGS];
};

static const char *const metric_names[] = {"perplexity"};

/* -- memory ------------------------------------------------------------------------------------ */

static size_t tensors_of(const struct lm_config *config)
{
    struct lm_tensor tensor;
    size_t count = 0;
    while (lm_tensor(config, count, &tensor))
        count++;
    return count;
}

static void lay_out(struct lm_trainee *t, struct ypi_arena *arena, const struct lm_options *options)
{
    size_t tokens = options->batch * options->context;
    *t = (struct lm_trainee){.o = *options, .n_tensors = tensors_of(&options->config)};
    t->named = ypi_arena_take(arena, t->n_tensors, sizeof *t->named);
    t->tensors = ypi_arena_take(arena, t->n_tensors, sizeof *t->tensors);
    t->sequence = ypi_arena_take(arena, options->context + 1, sizeof *t->sequence);
    t->tokens = ypi_arena_take(arena, tokens, sizeof *t->tokens);
    t->labels = ypi_arena_take(arena, tokens, sizeof *t->labels);
}

static struct lm_options with_gradient(const struct lm_options *options)
{
    struct lm_options o = *options;
    o.pass = NN_MODEL_GRADIENT;
    o.logits = false;
    return o;
}

static enum yp_status check(const struct lm_options *options)
{
    enum yp_status status = lm_check_options(options);
    if (status == YP_OK && options->oracle)
        status = yp_set_error(YP_INVALID, "lm_options.oracle: a trainer's parameters are floats");
    if (status == YP_OK && tensors_of(&options->config) > TRAIN_TENSORS)
        status = yp_set_error(YP_INVALID,
                              "lm_config.layers is %zu: a trainer takes at most %d tensors, which "
                              "is %d layers",
                              options->config.layers, TRAIN_TENSORS, (TRAIN_TENSORS - 3) / 9);
    return status;
}

size_t lm_trainee_bytes(const struct lm_options *options)
{
    struct lm_options o = with_gradient(options);
    struct ypi_arena arena = {0};
    struct lm_trainee trainee;
    if (check(&o) != YP_OK)
        return 0;
    ypi_arena_take(&arena, 1, sizeof trainee);
    lay_out(&trainee, &arena, &o);
    return arena.used + lm_description(&o);
}

static void name_tensors(struct lm_trainee *t)
{
    for (size_t i = 0; i < t->n_tensors; i++) {
        struct lm_tensor *named = &t->named[i];
        lm_tensor(&t->o.config, i, named);
        t->tensors[i] = (struct yp_tensor){named->name, named->offset,
                                           (named->rows > 0 ? named->rows : 1) * named->columns};
    }
}

struct lm_trainee *lm_trainee_create(const struct lm_options *options,
                                     const struct lm_source *source)
{
    struct lm_options o = with_gradient(options);
    struct lm_trainee counted;
    struct ypi_arena arena = {0};
    if (check(&o) != YP_OK)
        return NULL;
    ypi_arena_take(&arena, 1, sizeof counted);
    lay_out(&counted, &arena, &o);
    arena = (struct ypi_arena){.base = yp_device_alloc(yp_device_cpu(), arena.used)};
    if (arena.base == NULL)
        return NULL;
    struct lm_trainee *t = ypi_arena_take(&arena, 1, sizeof *t);
    lay_out(t, &arena, &o);
    t->source = *source;
    name_tensors(t);
    t->lm = lm_create(&o);
    if (t->lm != NULL && lm_start(t->lm) == YP_OK)
        return t;
    lm_trainee_destroy(t);
    return NULL;
}

void lm_trainee_destroy(struct lm_trainee *t)
{
    if (t == NULL)
        return;
    lm_destroy(t->lm);
    yp_device_free(yp_device_cpu(), t);
}

struct train_set lm_no_decay(const struct lm_config *config)
{
    struct train_set set = {{0}};
    struct lm_tensor tensor;
    for (size_t i = 0; lm_tensor(config, i, &tensor); i++)
        if (tensor.rows == 0)
            train_set_add(&set, i);
    return set;
}

/* -- items ------------------------------------------------------------------------------------- */

/* As many of the items as the model takes at once; what is left of it repeats the first one. */
static enum yp_status read_some(const struct lm_trainee *t, struct train_items items,
                                struct lm_batch *batch)
{
    size_t context = t->o.context;
    enum yp_status status = YP_OK;
    batch->count = items.count < t->o.batch ? items.count : t->o.batch;
    batch->tokens = t->tokens;
    batch->labels = t->labels;
    for (size_t i = 0; i < t->o.batch && status == YP_OK; i++) {
        if (i < batch->count)
            status = t->source.read(t->source.arg, items.index[i], t->sequence);
        const int32_t *from = i < batch->count ? t->sequence : t->tokens;
        for (size_t k = 0; k < context && status == YP_OK; k++) {
            t->tokens[i * context + k] = from[k];
            t->labels[i * context + k] = i < batch->count ? from[k + 1] : t->labels[k];
        }
    }
    return status;
}

/* The mean over all items, in parts as the model takes them; the gradient is added up in float. */
static enum yp_status run(const struct lm_trainee *t, struct train_items items,
                          const float *parameters, double scale, double *mean, double *weight,
                          float *gradient)
{
    unsigned flags = NN_MODEL_COPY;
    enum yp_status status = YP_OK;
    double sum = 0;
    for (size_t at = 0; at < items.count && status == YP_OK;) {
        struct lm_batch batch;
        double part = 0;
        status = read_some(t, (struct train_items){items.index + at, items.count - at}, &batch);
        double share = (double)batch.count / (double)items.count;
        if (status == YP_OK)
            status = lm_pass(t->lm, &batch, parameters, gradient, scale * share, flags, &part);
        sum += share * part;
        flags = NN_MODEL_ADD;
        at += batch.count;
    }
    *mean = sum;
    *weight = (double)items.count * (double)t->o.context;
    return status;
}

static enum yp_status gradient(void *arg, struct train_items items, const float *parameters,
                               double scale, double *mean, double *weight, float *out)
{
    return run(arg, items, parameters, scale, mean, weight, out);
}

static enum yp_status evaluate(void *arg, struct train_items items, const float *parameters,
                               double *mean, double *weight, double *metrics)
{
    enum yp_status status = run(arg, items, parameters, 1, mean, weight, NULL);
    if (status == YP_OK && metrics != NULL)
        metrics[0] = exp(*mean);
    return status;
}

struct train_objective lm_trainee_objective(struct lm_trainee *t)
{
    const struct lm_config *c = &t->o.config;
    const struct train_setting settings[SETTINGS] = {{"vocabulary", c->vocabulary},
                                                     {"d_model", c->d_model},
                                                     {"d_ff", c->d_ff},
                                                     {"layers", c->layers},
                                                     {"heads", c->heads},
                                                     {"context", t->o.context},
                                                     {"precision", (uint64_t)t->o.precision},
                                                     {"at_once", t->o.batch}};
    for (size_t i = 0; i < SETTINGS; i++)
        t->settings[i] = settings[i];
    return (struct train_objective){.parameters = lm_parameters(c),
                                    .items = t->source.sequences,
                                    .tensors = t->tensors,
                                    .n_tensors = t->n_tensors,
                                    .metrics = metric_names,
                                    .n_metrics = 1,
                                    .settings = t->settings,
                                    .n_settings = SETTINGS,
                                    .identity = t->source.identity,
                                    .gradient = gradient,
                                    .evaluate = evaluate,
                                    .any_device = true,
                                    .arg = t};
}
