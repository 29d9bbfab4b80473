/* What a run depends on: a checkpoint of other settings is refused. */
#include "models/train/internal.h"

#include "models/data/order.h"

#include <inttypes.h>
#include <string.h>

static void add_whole(struct ypi_train_settings *settings, const char *name, uint64_t value)
{
    settings->list[settings->count++] = (struct ypi_train_setting){name, false, value};
}

static void add_real(struct ypi_train_settings *settings, const char *name, double value)
{
    struct ypi_train_setting *setting = &settings->list[settings->count++];
    *setting = (struct ypi_train_setting){name, true, 0};
    memcpy(&setting->bits, &value, sizeof value);
}

/* The first 64 tensors' bits, mixed with those of others where there are any. */
static uint64_t number_of(const struct train_set *set)
{
    uint64_t number = set->word[0];
    for (size_t i = 1; i < sizeof set->word / sizeof *set->word; i++)
        if (set->word[i] != 0)
            number = data_order_key(number, i, set->word[i]);
    return number;
}

/* Names, places and sizes of the tensors as one number. */
static uint64_t shape_of(const struct train_objective *objective)
{
    uint64_t shape = objective->n_tensors;
    for (size_t t = 0; t < objective->n_tensors; t++) {
        const struct yp_tensor *tensor = &objective->tensors[t];
        for (const char *c = tensor->name; *c != 0; c++)
            shape = data_order_key(shape, t, (unsigned char)*c);
        shape = data_order_key(shape, tensor->offset, tensor->count);
    }
    return shape;
}

/* Names of the workload's settings as one number: their values are read by place. */
static uint64_t names_of(const struct train_objective *objective)
{
    uint64_t names = objective->n_settings;
    for (size_t i = 0; i < objective->n_settings; i++)
        for (const char *c = objective->settings[i].name; *c != 0; c++)
            names = data_order_key(names, i, (unsigned char)*c);
    return names;
}

/* Groups of the items as one number. */
static uint64_t groups_of(const struct train_objective *objective)
{
    uint64_t groups = 0;
    for (size_t i = 0; objective->group != NULL && i < objective->items; i++)
        groups = data_order_key(groups, 1, objective->group[i]);
    return groups;
}

static void add_optimiser(struct ypi_train_settings *all, const struct train_config *c)
{
    add_whole(all, "optimiser", c->optimiser);
    add_real(all, "adamw.lr", c->adamw.lr);
    add_real(all, "adamw.beta1", c->adamw.beta1);
    add_real(all, "adamw.beta2", c->adamw.beta2);
    add_real(all, "adamw.eps", c->adamw.eps);
    add_real(all, "adamw.weight_decay", c->adamw.weight_decay);
    add_real(all, "sgd.lr", c->sgd.lr);
    add_real(all, "sgd.momentum", c->sgd.momentum);
    add_real(all, "sgd.dampening", c->sgd.dampening);
    add_real(all, "sgd.weight_decay", c->sgd.weight_decay);
    add_whole(all, "sgd.nesterov", c->sgd.nesterov);
    add_real(all, "clip", c->clip);
    add_real(all, "average", c->average);
    add_real(all, "scaling.initial", c->scaling.initial);
    add_real(all, "scaling.growth", c->scaling.growth);
    add_real(all, "scaling.backoff", c->scaling.backoff);
    add_whole(all, "scaling.interval", c->scaling.interval);
}

static void add_schedule(struct ypi_train_settings *all, const struct train_config *c)
{
    add_whole(all, "schedule", c->schedule);
    add_real(all, "plateau.factor", c->plateau.factor);
    add_whole(all, "plateau.patience", c->plateau.patience);
    add_real(all, "plateau.threshold", c->plateau.threshold);
    add_whole(all, "plateau.absolute", c->plateau.absolute);
    add_whole(all, "plateau.cooldown", c->plateau.cooldown);
    add_real(all, "plateau.min_lr", c->plateau.min_lr);
    add_real(all, "plateau.eps", c->plateau.eps);
    add_whole(all, "cosine.warmup", c->cosine.warmup);
    add_whole(all, "cosine.steps", c->cosine.steps);
    add_real(all, "cosine.min_lr", c->cosine.min_lr);
}

struct ypi_train_settings ypi_train_settings_of(const struct train *train)
{
    const struct train_objective *o = &train->objective;
    const struct train_config *c = &train->config;
    struct ypi_train_settings all = {.count = 0};
    add_whole(&all, "settings", names_of(o));
    add_whole(&all, "parameters", o->parameters);
    add_whole(&all, "tensors", shape_of(o));
    add_whole(&all, "identity", o->identity);
    for (size_t i = 0; i < o->n_settings; i++)
        add_whole(&all, o->settings[i].name, o->settings[i].value);
    add_whole(&all, "items", o->items);
    add_whole(&all, "groups", groups_of(o));
    add_whole(&all, "seed", c->seed);
    add_real(&all, "validation", c->validation);
    add_whole(&all, "batch", c->batch);
    add_whole(&all, "accumulate", c->accumulate);
    add_optimiser(&all, c);
    add_schedule(&all, c);
    add_whole(&all, "patience", c->patience);
    add_whole(&all, "no_decay", number_of(&c->no_decay));
    add_whole(&all, "frozen", number_of(&c->frozen));
    add_whole(&all, "keep_best", c->keep_best);
    return all;
}

enum yp_status ypi_train_compare(const char *path, const struct ypi_train_settings *ours,
                                 const uint64_t *theirs)
{
    for (size_t i = 0; i < ours->count; i++) {
        const struct ypi_train_setting *s = &ours->list[i];
        double file, here;
        memcpy(&file, &theirs[i], sizeof file);
        memcpy(&here, &s->bits, sizeof here);
        if (theirs[i] == s->bits)
            continue;
        if (s->real)
            return yp_set_error(YP_INVALID,
                                "train_resume: %s is of another configuration: %s is %.17g "
                                "there, %.17g here",
                                path, s->name, file, here);
        return yp_set_error(YP_INVALID,
                            "train_resume: %s is of another configuration: %s is %" PRIu64
                            " there, %" PRIu64 " here",
                            path, s->name, theirs[i], s->bits);
    }
    return YP_OK;
}
