/* What a trainer is made of, and which of it is allowed. */
#include "models/train/internal.h"

#include <math.h>

struct train_config train_defaults(void)
{
    struct train_plateau plateau = train_plateau_defaults();
    struct train_scaling scaling = train_scaling_defaults();
    plateau.patience = 2;
    scaling.initial = 0;
    return (struct train_config){.validation = 0.2,
                                 .epochs = 10,
                                 .batch = 1,
                                 .accumulate = 1,
                                 .adamw = train_adamw_defaults(),
                                 .sgd = train_sgd_defaults(),
                                 .clip = 1,
                                 .plateau = plateau,
                                 .scaling = scaling,
                                 .max_skipped = 10,
                                 .keep_best = true};
}

/* A number and the range it may have; an end that is open does not belong to it. */
struct range {
    const char *name;
    double value, low, high;
    bool open_low, open_high;
};

static enum yp_status check_ranges(const char *what, const struct range *ranges, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct range *r = &ranges[i];
        bool inside = (r->open_low ? r->value > r->low : r->value >= r->low) &&
                      (r->open_high ? r->value < r->high : r->value <= r->high);
        if (!inside)
            return yp_set_error(YP_INVALID, "%s: %s is %g, allowed is %c%g, %g%c", what, r->name,
                                r->value, r->open_low ? '(' : '[', r->low, r->high,
                                r->open_high ? ')' : ']');
    }
    return YP_OK;
}

#define RANGES(what, ranges) check_ranges(what, ranges, sizeof(ranges) / sizeof *(ranges))

static const double unbounded = INFINITY;

static enum yp_status check_optimiser(const char *what, const struct train_config *c)
{
    const struct range adamw[] = {
        {"adamw.lr", c->adamw.lr, 0, unbounded, true, true},
        {"adamw.beta1", c->adamw.beta1, 0, 1, false, true},
        {"adamw.beta2", c->adamw.beta2, 0, 1, false, true},
        {"adamw.eps", c->adamw.eps, 0, unbounded, false, true},
        {"adamw.weight_decay", c->adamw.weight_decay, 0, unbounded, false, true}};
    const struct range sgd[] = {
        {"sgd.lr", c->sgd.lr, 0, unbounded, true, true},
        {"sgd.momentum", c->sgd.momentum, 0, 1, false, true},
        {"sgd.dampening", c->sgd.dampening, 0, 1, false, false},
        {"sgd.weight_decay", c->sgd.weight_decay, 0, unbounded, false, true}};
    if (c->optimiser != TRAIN_ADAMW && c->optimiser != TRAIN_SGD)
        return yp_set_error(YP_INVALID,
                            "%s: optimiser is %d, allowed are TRAIN_ADAMW and TRAIN_SGD", what,
                            (int)c->optimiser);
    if (c->optimiser == TRAIN_ADAMW)
        return RANGES(what, adamw);
    if (c->sgd.nesterov && !(c->sgd.momentum > 0 && c->sgd.dampening == 0))
        return yp_set_error(YP_INVALID,
                            "%s: sgd.nesterov needs momentum above 0 and dampening 0, they are %g "
                            "and %g",
                            what, c->sgd.momentum, c->sgd.dampening);
    return RANGES(what, sgd);
}

static enum yp_status check_schedule(const char *what, const struct train_config *c)
{
    const struct range plateau[] = {
        {"plateau.factor", c->plateau.factor, 0, 1, true, false},
        {"plateau.threshold", c->plateau.threshold, 0, unbounded, false, true},
        {"plateau.min_lr", c->plateau.min_lr, 0, unbounded, false, true},
        {"plateau.eps", c->plateau.eps, 0, unbounded, false, true}};
    double lr = c->optimiser == TRAIN_SGD ? c->sgd.lr : c->adamw.lr;
    const struct range cosine[] = {{"cosine.min_lr", c->cosine.min_lr, 0, lr, false, false}};
    if (c->schedule == TRAIN_PLATEAU)
        return RANGES(what, plateau);
    if (c->schedule == TRAIN_CONSTANT)
        return YP_OK;
    if (c->schedule != TRAIN_COSINE)
        return yp_set_error(
            YP_INVALID,
            "%s: schedule is %d, allowed are TRAIN_PLATEAU, TRAIN_CONSTANT and TRAIN_COSINE", what,
            (int)c->schedule);
    if (c->cosine.steps > 0 && c->cosine.steps <= c->cosine.warmup)
        return yp_set_error(
            YP_INVALID, "%s: cosine.steps is %llu, allowed are more than cosine.warmup, %llu", what,
            (unsigned long long)c->cosine.steps, (unsigned long long)c->cosine.warmup);
    return RANGES(what, cosine);
}

static enum yp_status check_config(const char *what, const struct train_config *c)
{
    const struct range ranges[] = {
        {"validation", c->validation, 0, 1, false, true},
        {"batch", (double)c->batch, 1, UINT32_MAX, false, false},
        {"accumulate", (double)c->accumulate, 1, UINT32_MAX, false, false},
        {"clip", c->clip, 0, unbounded, false, true},
        {"average", c->average, 0, 1, false, true},
        {"scaling.initial", c->scaling.initial, 0, unbounded, false, true}};
    const struct range scaling[] = {
        {"scaling.growth", c->scaling.growth, 1, unbounded, true, true},
        {"scaling.backoff", c->scaling.backoff, 0, 1, true, true},
        {"scaling.interval", (double)c->scaling.interval, 1, UINT32_MAX, false, false}};
    enum yp_status status = RANGES(what, ranges);
    if (status == YP_OK)
        status = check_optimiser(what, c);
    if (status == YP_OK)
        status = check_schedule(what, c);
    if (status == YP_OK && c->scaling.initial > 0)
        status = RANGES(what, scaling);
    return status;
}

static enum yp_status check_tensors(const char *what, const struct train_objective *objective)
{
    size_t end = 0;
    if (objective->n_tensors > TRAIN_TENSORS)
        return yp_set_error(YP_INVALID, "%s: n_tensors is %zu, allowed are 0 to %d", what,
                            objective->n_tensors, TRAIN_TENSORS);
    if (objective->n_tensors > 0 && objective->tensors == NULL)
        return yp_set_error(YP_INVALID, "%s: objective->tensors is NULL, n_tensors is %zu", what,
                            objective->n_tensors);
    for (size_t t = 0; t < objective->n_tensors; t++) {
        const struct yp_tensor *tensor = &objective->tensors[t];
        if (tensor->name == NULL || tensor->offset != end ||
            tensor->count > objective->parameters - end)
            return yp_set_error(YP_INVALID,
                                "%s: tensor %zu, %s, has %zu parameters from %zu on; it must have "
                                "a name, begin at %zu and end at %zu or before",
                                what, t, tensor->name != NULL ? tensor->name : "NULL",
                                tensor->count, tensor->offset, end, objective->parameters);
        end += tensor->count;
    }
    if (objective->n_tensors > 0 && end != objective->parameters)
        return yp_set_error(YP_INVALID, "%s: the tensors end at %zu, there are %zu parameters",
                            what, end, objective->parameters);
    return YP_OK;
}

static enum yp_status check_masks(const char *what, const struct train_objective *objective,
                                  const struct train_config *config)
{
    size_t tensors = objective->n_tensors > 0 ? objective->n_tensors : 1;
    for (size_t t = tensors; t < TRAIN_TENSORS; t++)
        if (train_set_has(&config->no_decay, t) || train_set_has(&config->frozen, t))
            return yp_set_error(YP_INVALID, "%s: %s has tensor %zu, beyond the %zu there are", what,
                                train_set_has(&config->no_decay, t) ? "no_decay" : "frozen", t,
                                tensors);
    return YP_OK;
}

/* Counts of names, and the names themselves. */
static enum yp_status check_names(const char *what, const struct train_objective *o)
{
    if (o->n_metrics > TRAIN_METRICS || o->n_settings > TRAIN_SETTINGS)
        return yp_set_error(YP_INVALID, "%s: %s is %zu, allowed are 0 to %d", what,
                            o->n_metrics > TRAIN_METRICS ? "n_metrics" : "n_settings",
                            o->n_metrics > TRAIN_METRICS ? o->n_metrics : o->n_settings,
                            o->n_metrics > TRAIN_METRICS ? TRAIN_METRICS : TRAIN_SETTINGS);
    for (size_t i = 0; i < o->n_metrics; i++)
        if (o->metrics == NULL || o->metrics[i] == NULL)
            return yp_set_error(YP_INVALID, "%s: objective->metrics has no name %zu", what, i);
    for (size_t i = 0; i < o->n_settings; i++)
        if (o->settings == NULL || o->settings[i].name == NULL)
            return yp_set_error(YP_INVALID, "%s: objective->settings has no name %zu", what, i);
    return YP_OK;
}

enum yp_status ypi_train_check(const char *what, const struct train_objective *objective,
                               const struct train_config *config)
{
    if (objective == NULL || config == NULL)
        return yp_set_error(YP_INVALID, "%s: %s is NULL", what,
                            objective == NULL ? "objective" : "config");
    if (objective->gradient == NULL)
        return yp_set_error(YP_INVALID, "%s: objective->gradient is NULL", what);
    /* Keeps all sizes below 2^60. */
    if (objective->parameters == 0 || objective->parameters > (size_t)1 << 48)
        return yp_set_error(YP_INVALID, "%s: objective->parameters is %zu, allowed are 1 to 2^48",
                            what, objective->parameters);
    if (objective->items == 0 || objective->items > UINT32_MAX)
        return yp_set_error(YP_INVALID, "%s: objective->items is %zu, allowed are 1 to %u", what,
                            objective->items, UINT32_MAX);
    enum yp_status status = check_tensors(what, objective);
    if (status == YP_OK)
        status = check_names(what, objective);
    if (status == YP_OK)
        status = check_config(what, config);
    if (status == YP_OK)
        status = check_masks(what, objective, config);
    if (status == YP_OK)
        status = ypi_train_check_ranks(what, config);
    return status;
}
