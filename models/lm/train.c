/* Sequences as a trainer's items. */
#include "models/lm/train.h"

#include "base/system/arena.h"
#include "models/train/parts.h"

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
    size_t count; /* sequences among them */
    struct train_parts parts;
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
static enum yp_status read_some(void *arg, struct train_items items, size_t *count)
{
    struct lm_trainee *t = arg;
    size_t context = t->o.context;
    enum yp_status status = YP_OK;
    *count = t->count = items.count < t->o.batch ? items.count : t->o.batch;
    for (size_t i = 0; i < t->o.batch && status == YP_OK; i++) {
        if (i < *count)
            status = t->source.read(t->source.arg, items.index[i], t->sequence);
        const int32_t *from = i < *count ? t->sequence : t->tokens;
        for (size_t k = 0; k < context && status == YP_OK; k++) {
            t->tokens[i * context + k] = from[k];
            t->labels[i * context + k] = i < *count ? from[k + 1] : t->labels[k];
        }
    }
    return status;
}

static double weigh(void *arg, struct train_items items)
{
    const struct lm_trainee *t = arg;
    return (double)items.count * (double)t->o.context;
}

static enum yp_status pass(void *arg, const float *parameters, float *gradient, double scale,
                           unsigned flags, double *sum)
{
    const struct lm_trainee *t = arg;
    const struct lm_batch batch = {t->tokens, t->labels, t->count};
    const double tokens = (double)t->count * (double)t->o.context;
    double mean = 0;
    enum yp_status status =
        lm_pass(t->lm, &batch, parameters, gradient, scale * tokens, flags, &mean);
    *sum += tokens * mean;
    return status;
}

static void tell(void *arg, train_ready *ready, void *ready_arg)
{
    const struct lm_trainee *t = arg;
    lm_tell(t->lm, ready, ready_arg);
}

static void measure(void *arg, double mean, double *metrics)
{
    (void)arg;
    metrics[0] = exp(mean);
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
    t->parts = (struct train_parts){.read = read_some,
                                    .pass = pass,
                                    .tell = tell,
                                    .weigh = weigh,
                                    .measure = measure,
                                    .arg = t};
    return (struct train_objective){.parameters = lm_parameters(c),
                                    .items = t->source.sequences,
                                    .tensors = t->tensors,
                                    .n_tensors = t->n_tensors,
                                    .metrics = metric_names,
                                    .n_metrics = 1,
                                    .settings = t->settings,
                                    .n_settings = SETTINGS,
                                    .identity = t->source.identity,
                                    .gradient = train_parts_gradient,
                                    .evaluate = train_parts_evaluate,
                                    .tell = train_parts_tell,
                                    .any_device = true,
                                    .arg = &t->parts};
}
