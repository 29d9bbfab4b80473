/* The trainer: its memory, and where a run starts. */
#include "models/train/internal.h"

#include "device/host.h"
#include "models/data/order.h"
#include "models/train/cuda/train_cuda.h"

#include <math.h>
#include <string.h>
#include <yieldpoint/plugin.h>

/* -- memory --------------------------------------------------------------------------------- */

/* The arrays, from memory of their device. `shards` NULL: one process. */
static void lay_out_arrays(struct ypi_train_arrays *a, struct ypi_arena *arena, size_t n,
                           const struct train_config *config, bool on_host,
                           const struct ypi_train_shards *shards)
{
    const size_t batches = shards != NULL ? shards->batches : config->accumulate;
    *a = (struct ypi_train_arrays){.count = n};
    a->parameters = ypi_arena_take(arena, n, sizeof(float));
    for (size_t i = 0; i < ypi_train_states(config); i++)
        a->state[i] = ypi_arena_take(arena, shards != NULL ? shards->own : n, sizeof(float));
    a->gradient = ypi_arena_take(arena, n, sizeof(float));
    a->average = config->average > 0 ? ypi_arena_take(arena, n, sizeof(float)) : a->parameters;
    a->best = config->keep_best ? ypi_arena_take(arena, n, sizeof(float)) : a->average;
    a->sum = batches > 1 ? ypi_arena_take(arena, n, sizeof(double)) : NULL;
    a->scratch = on_host ? NULL : ypi_arena_take(arena, YPI_TRAIN_SCRATCH, sizeof(double));
}

/* Items for training; where they are in groups, which are not divided, as many as there are. */
static size_t most_training(const struct train_objective *objective,
                            const struct train_config *config)
{
    return objective->group != NULL
               ? objective->items
               : objective->items - data_validation_count(objective->items, config->validation);
}

/* The object and what is the host's in any case; with the arrays where they are the host's too,
 * else with a copy of one. */
static void lay_out(struct train *train, struct ypi_arena *arena,
                    const struct train_objective *objective, const struct train_config *config,
                    bool on_host)
{
    size_t n = objective->parameters;
    *train = (struct train){
        .objective = *objective, .whole = {"x", 0, n}, .config = *config, .ordered = UINT64_MAX};
    train->split = ypi_arena_take(arena, objective->items, sizeof *train->split);
    train->order = ypi_arena_take(arena, most_training(objective, config), sizeof *train->order);
    struct ypi_train_shards shards, *at = NULL;
    const bool shared = ypi_train_is_shared(config);
    if (shared) {
        at = ypi_arena_take(arena, 1, sizeof *at);
        ypi_train_lay_out_shards(&shards, arena, objective, config, on_host);
    }
    if (at != NULL)
        *at = shards;
    train->shards = at;
    if (on_host)
        lay_out_arrays(&train->at, arena, n, config, true, shared ? &shards : NULL);
    else
        train->at.host = ypi_arena_take(arena, n, sizeof(float));
}

static size_t host_bytes(const struct train_objective *objective, const struct train_config *config,
                         bool on_host)
{
    struct ypi_arena arena = {0};
    struct train train;
    ypi_arena_take(&arena, 1, sizeof train);
    lay_out(&train, &arena, objective, config, on_host);
    return arena.used;
}

size_t train_bytes(const struct train_objective *objective, const struct train_config *config)
{
    return ypi_train_check("train_bytes", objective, config) == YP_OK
               ? host_bytes(objective, config, true)
               : 0;
}

size_t train_host_bytes(const struct train_objective *objective, const struct train_config *config)
{
    return ypi_train_check("train_host_bytes", objective, config) == YP_OK
               ? host_bytes(objective, config, false)
               : 0;
}

size_t train_device_bytes(const struct train_objective *objective,
                          const struct train_config *config)
{
    struct ypi_arena arena = {0}, host = {0};
    struct ypi_train_arrays arrays;
    struct ypi_train_shards shards;
    if (ypi_train_check("train_device_bytes", objective, config) != YP_OK)
        return 0;
    const bool shared = ypi_train_is_shared(config);
    if (shared)
        ypi_train_lay_out_shards(&shards, &host, objective, config, false);
    lay_out_arrays(&arrays, &arena, objective->parameters, config, false, shared ? &shards : NULL);
    if (shared)
        ypi_train_lay_out_device_shards(&shards, &arena);
    return arena.used;
}

/* The arrays of a device that is not the CPU. */
static enum yp_status open_arrays(struct train *train)
{
    struct ypi_arena arena = {0};
    float *host = train->at.host;
    const struct train_cuda *cuda = ypi_train_cuda();
    if (cuda == NULL)
        return yp_last_status();
    arena.base = train->block =
        yp_device_alloc(train->device, train_device_bytes(&train->objective, &train->config));
    if (train->block == NULL)
        return yp_last_status();
    lay_out_arrays(&train->at, &arena, train->objective.parameters, &train->config, false,
                   train->shards);
    if (train->shards != NULL)
        ypi_train_lay_out_device_shards(train->shards, &arena);
    train->at.host = host;
    train->at.cuda = cuda;
    return YP_OK;
}

static void split_items(struct train *train)
{
    const struct train_config *config = &train->config;
    size_t items = train->objective.items, per_step = config->batch * config->accumulate;
    train->validation =
        data_split(config->seed, items, data_validation_count(items, config->validation),
                   train->objective.group, train->split);
    train->training = items - train->validation;
    train->steps_per_epoch = (train->training + per_step - 1) / per_step;
}

/* A cosine over all epochs; without one no step is made, whatever its rate. */
static enum yp_status set_cosine(struct train *train)
{
    struct train_config *c = &train->config;
    if (c->schedule != TRAIN_COSINE || c->cosine.steps > 0)
        return YP_OK;
    if (__builtin_mul_overflow(train->steps_per_epoch, c->epochs, &c->cosine.steps))
        c->cosine.steps = UINT64_MAX;
    if (c->epochs == 0)
        c->cosine.steps = c->cosine.warmup + 1;
    return c->cosine.steps > c->cosine.warmup
               ? YP_OK
               : yp_set_error(
                     YP_INVALID,
                     "train_create: cosine.warmup is %llu, allowed are fewer than the %llu "
                     "steps of all epochs",
                     (unsigned long long)c->cosine.warmup, (unsigned long long)c->cosine.steps);
}

static struct train *create(struct yp_device *device, const struct train_objective *objective,
                            const struct train_config *config)
{
    if (ypi_train_check("train_create", objective, config) != YP_OK)
        return NULL;
    if ((device == NULL || !objective->any_device) &&
        ypi_check_host("train_create", device) != YP_OK)
        return NULL;
    bool on_host = yp_device_memory_kind(device) == YP_HOST;
    struct yp_device *host = on_host ? device : yp_device_cpu();
    struct ypi_arena arena = {.base =
                                  yp_device_alloc(host, host_bytes(objective, config, on_host))};
    if (arena.base == NULL)
        return NULL;
    struct train *train = ypi_arena_take(&arena, 1, sizeof *train);
    lay_out(train, &arena, objective, config, on_host);
    train->device = device;
    train->host = host;
    if (!on_host && open_arrays(train) != YP_OK) {
        yp_device_free(host, train);
        return NULL;
    }
    train->at.device = device;
    if (objective->n_tensors == 0) {
        train->objective.tensors = &train->whole;
        train->objective.n_tensors = 1;
    }
    for (size_t i = 0; i < objective->n_settings; i++)
        train->settings[i] = objective->settings[i];
    train->objective.settings = train->settings;
    split_items(train);
    if (set_cosine(train) != YP_OK) {
        train_destroy(train);
        return NULL;
    }
    return train;
}

struct train *train_create(struct yp_device *device, const struct train_objective *objective,
                           const struct train_config *config)
{
    struct train *train = create(device, objective, config);
    if (config == NULL || !ypi_train_is_shared(config))
        return train;
    enum yp_status status =
        ypi_train_meet(train, config->ranks.all, train != NULL ? YP_OK : yp_last_status());
    if (status == YP_OK && train != NULL && yp_device_memory_kind(device) != YP_HOST)
        status = ypk_devices_join(&train->shards->devices, config->ranks.all, device);
    if (status == YP_OK)
        return train;
    train_destroy(train);
    return NULL;
}

void train_destroy(struct train *train)
{
    if (train == NULL)
        return;
    if (train->shards != NULL)
        ypk_devices_leave(train->shards->devices);
    if (train->block != NULL)
        yp_device_free(train->device, train->block);
    yp_device_free(train->host, train);
}

/* -- what is there -------------------------------------------------------------------------- */

struct train_items train_part_items(const struct train *train, enum train_part part)
{
    return part == TRAIN_TRAINING
               ? (struct train_items){train->split, train->training}
               : (struct train_items){train->split + train->training, train->validation};
}

const float *train_parameters(const struct train *train)
{
    return train->begun ? train->at.parameters : NULL;
}

const float *train_average(const struct train *train)
{
    return train->begun ? train->at.average : NULL;
}

const float *train_best(const struct train *train)
{
    return train->begun ? train->at.best : NULL;
}

enum train_end ypi_train_end(const struct train *train)
{
    const uint64_t most = train->config.max_skipped;
    if (train->progress.judged == 0)
        return TRAIN_NOT_ENDED;
    if (train->progress.early != 0)
        return TRAIN_NO_BETTER;
    if (train->progress.epoch >= train->config.epochs)
        return TRAIN_ALL_EPOCHS;
    return most > 0 && train->progress.skipped_in_row > most ? TRAIN_SKIPPED : TRAIN_NOT_ENDED;
}

void train_state(const struct train *train, struct train_state *out)
{
    const struct ypi_train_progress *at = &train->progress;
    *out = (struct train_state){.end = ypi_train_end(train),
                                .judged = at->judged != 0,
                                .epoch = at->epoch,
                                .place = at->place,
                                .steps_per_epoch = train->steps_per_epoch,
                                .step = at->step,
                                .skipped = at->skipped,
                                .lr = at->lr,
                                .scale = at->scaling.scale,
                                .best_loss = at->best_loss,
                                .best_epoch = at->best_epoch};
}

double ypi_train_first_rate(const struct train_config *config)
{
    return config->optimiser == TRAIN_SGD ? config->sgd.lr : config->adamw.lr;
}

enum yp_status train_begin(struct train *train, const float *parameters)
{
    if (train == NULL || parameters == NULL)
        return yp_set_error(YP_INVALID, "train_begin: %s is NULL",
                            train == NULL ? "train" : "parameters");
    size_t n = train->objective.parameters;
    for (size_t t = 0; t < train->objective.n_tensors; t++) {
        const struct yp_tensor *tensor = &train->objective.tensors[t];
        for (size_t i = 0; i < tensor->count; i++)
            if (!isfinite(parameters[tensor->offset + i]))
                return yp_set_error(YP_INVALID,
                                    "train_begin: %s[%zu] is %g, allowed are finite values",
                                    tensor->name, i, (double)parameters[tensor->offset + i]);
    }
    size_t bytes = n * sizeof *parameters;
    const struct ypi_train_arrays *at = &train->at;
    train->begun = train->epoch_begun = false;
    const bool shared = ypi_train_is_shared(&train->config);
    const size_t of_state = shared ? train->shards->own * sizeof(float) : bytes;
    enum yp_status status = ypi_train_copy(at, at->parameters, parameters, bytes);
    if (status == YP_OK && shared)
        status = ypi_train_spread(train, at->parameters);
    if (status == YP_OK && train->config.average > 0)
        status = ypi_train_copy(at, at->average, at->parameters, bytes);
    if (status == YP_OK && train->config.keep_best)
        status = ypi_train_copy(at, at->best, at->parameters, bytes);
    for (size_t i = 0; status == YP_OK && i < ypi_train_states(&train->config); i++)
        status = ypi_train_zero(at, at->state[i], of_state);
    if (status != YP_OK)
        return status;
    train->progress = (struct ypi_train_progress){.lr = ypi_train_first_rate(&train->config),
                                                  .best_loss = INFINITY};
    train_plateau_start(&train->progress.plateau);
    train_scaling_start(&train->config.scaling, &train->progress.scaling);
    train->begun = train->unsaved = true;
    return YP_OK;
}
