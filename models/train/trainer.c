/* The trainer: its memory, steps, ends of epochs. */
#include "models/train/internal.h"

#include <math.h>
#include <string.h>
#include <time.h>

double ypi_rx_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* -- memory --------------------------------------------------------------------------------- */

static void lay_out(struct rx_train *train, struct ypi_arena *arena,
                    const struct rx_objective *objective, const struct rx_source *source,
                    size_t tiles_per_cube, const struct rx_train_config *config)
{
    size_t n = objective->parameters, cubes = source->tiles / tiles_per_cube;
    *train = (struct rx_train){.objective = *objective,
                               .whole = {"x", 0, n},
                               .config = *config,
                               .source = *source,
                               .tiles_per_cube = tiles_per_cube,
                               .validation = data_validation_count(cubes, config->validation),
                               .ordered = UINT64_MAX};
    train->training = cubes - train->validation;
    size_t per_step = config->batch * config->accumulate;
    train->steps_per_epoch = (train->training + per_step - 1) / per_step;
    train->split = ypi_arena_take(arena, cubes, sizeof *train->split);
    train->order = ypi_arena_take(arena, train->training, sizeof *train->order);
    train->parameters = ypi_arena_take(arena, n, sizeof(float));
    train->m = ypi_arena_take(arena, n, sizeof(float));
    train->v = ypi_arena_take(arena, n, sizeof(float));
    train->gradient = ypi_arena_take(arena, n, sizeof(float));
    train->best = config->keep_best ? ypi_arena_take(arena, n, sizeof(float)) : train->parameters;
    train->sum = config->accumulate > 1 ? ypi_arena_take(arena, n, sizeof(double)) : NULL;
    train->ranking = config->targets > 0 ? ypi_metrics_ranking_take(arena, config->targets) : NULL;
}

size_t rx_train_bytes(const struct rx_objective *objective, const struct rx_source *source,
                      size_t tiles_per_cube, const struct rx_train_config *config)
{
    struct ypi_arena arena = {0};
    struct rx_train train;
    if (ypi_rx_train_check("rx_train_bytes", objective, source, tiles_per_cube, config) != YP_OK)
        return 0;
    ypi_arena_take(&arena, 1, sizeof train);
    lay_out(&train, &arena, objective, source, tiles_per_cube, config);
    return arena.used;
}

struct rx_train *rx_train_create(struct yp_device *device, const struct rx_objective *objective,
                                 const struct rx_source *source, size_t tiles_per_cube,
                                 const struct rx_train_config *config)
{
    if (ypi_check_host("rx_train_create", device) != YP_OK ||
        ypi_rx_train_check("rx_train_create", objective, source, tiles_per_cube, config) != YP_OK)
        return NULL;
    struct ypi_arena arena = {
        .base = yp_device_alloc(device, rx_train_bytes(objective, source, tiles_per_cube, config))};
    if (arena.base == NULL)
        return NULL;
    struct rx_train *train = ypi_arena_take(&arena, 1, sizeof *train);
    lay_out(train, &arena, objective, source, tiles_per_cube, config);
    train->device = device;
    if (train->objective.n_tensors == 0) {
        train->objective.tensors = &train->whole;
        train->objective.n_tensors = 1;
    }
    data_split(config->seed, train->training + train->validation, train->validation, train->split);
    const size_t counts[] = {train->training, train->validation};
    for (int part = RX_FOR_TRAINING; part <= RX_FOR_VALIDATION; part++) {
        train->part_cubes[part] = (struct rx_cubes){
            &train->source, tiles_per_cube,
            train->split + (part == RX_FOR_TRAINING ? 0 : train->training), counts[part]};
        train->part_source[part] = rx_cubes_source(&train->part_cubes[part]);
    }
    return train;
}

void rx_train_destroy(struct rx_train *train)
{
    if (train != NULL)
        yp_device_free(train->device, train);
}

/* -- what is there -------------------------------------------------------------------------- */

const struct rx_source *rx_train_source(const struct rx_train *train, enum rx_part part)
{
    return &train->part_source[part];
}

const float *rx_train_parameters(const struct rx_train *train)
{
    return train->begun ? train->parameters : NULL;
}

const float *rx_train_best(const struct rx_train *train)
{
    return train->begun ? train->best : NULL;
}

static enum rx_train_end end_of(const struct rx_train *train)
{
    if (train->progress.judged == 0)
        return RX_NOT_ENDED;
    return train->progress.early != 0                      ? RX_NO_BETTER
           : train->progress.epoch >= train->config.epochs ? RX_ALL_EPOCHS
                                                           : RX_NOT_ENDED;
}

void rx_train_state(const struct rx_train *train, struct rx_train_state *out)
{
    const struct ypi_rx_progress *at = &train->progress;
    *out = (struct rx_train_state){.end = end_of(train),
                                   .judged = at->judged != 0,
                                   .epoch = at->epoch,
                                   .place = at->place,
                                   .steps_per_epoch = train->steps_per_epoch,
                                   .step = at->step,
                                   .skipped = at->skipped,
                                   .lr = at->lr,
                                   .best_loss = at->best_loss,
                                   .best_epoch = at->best_epoch};
}

enum yp_status rx_train_begin(struct rx_train *train, const float *parameters)
{
    if (train == NULL || parameters == NULL)
        return yp_set_error(YP_INVALID, "rx_train_begin: %s is NULL",
                            train == NULL ? "train" : "parameters");
    size_t n = train->objective.parameters;
    for (size_t t = 0; t < train->objective.n_tensors; t++) {
        const struct yp_tensor *tensor = &train->objective.tensors[t];
        for (size_t i = 0; i < tensor->count; i++)
            if (!isfinite(parameters[tensor->offset + i]))
                return yp_set_error(YP_INVALID,
                                    "rx_train_begin: %s[%zu] is %g, allowed are finite values",
                                    tensor->name, i, (double)parameters[tensor->offset + i]);
    }
    memcpy(train->parameters, parameters, n * sizeof *parameters);
    if (train->config.keep_best)
        memcpy(train->best, parameters, n * sizeof *parameters);
    memset(train->m, 0, n * sizeof *train->m);
    memset(train->v, 0, n * sizeof *train->v);
    train->progress = (struct ypi_rx_progress){.lr = train->config.adamw.lr, .best_loss = INFINITY};
    rx_plateau_start(&train->progress.plateau);
    train->begun = train->unsaved = true;
    return YP_OK;
}

/* -- a step --------------------------------------------------------------------------------- */

static void order_cubes(struct rx_train *train)
{
    if (train->ordered == train->progress.epoch)
        return;
    memcpy(train->order, train->split, train->training * sizeof *train->order);
    data_order(train->config.seed, train->progress.epoch + 1, train->order, train->training);
    train->ordered = train->progress.epoch;
}

struct batches {
    double loss, weight; /* mean and sum */
};

/* Adds one batch to the sum, or takes its gradient as it is where it is the only one. */
static enum yp_status add_batch(struct rx_train *train, const struct rx_cubes *cubes,
                                struct batches *sum)
{
    struct rx_source source = rx_cubes_source(cubes);
    double mean = NAN, weight = 0;
    enum yp_status status = train->objective.gradient(
        train->objective.arg, &source, train->parameters, &mean, &weight, train->gradient);
    if (status != YP_OK)
        return status;
    if (!(weight >= 0 && isfinite(weight)))
        return yp_set_error(YP_INVALID,
                            "rx_train_run: the objective's weight is %g, allowed is 0 and more",
                            weight);
    if (weight == 0)
        return YP_OK;
    sum->loss += weight * mean;
    sum->weight += weight;
    if (train->sum != NULL)
        for (size_t i = 0; i < train->objective.parameters; i++)
            train->sum[i] += weight * (double)train->gradient[i];
    return YP_OK;
}

/* Leaves the mean gradient of the step's batches in train->gradient. */
static enum yp_status add_batches(struct rx_train *train, struct batches *sum)
{
    size_t n = train->objective.parameters, batch = train->config.batch;
    size_t first = (size_t)train->progress.place * batch * train->config.accumulate;
    if (train->sum != NULL)
        memset(train->sum, 0, n * sizeof *train->sum);
    for (size_t b = 0; b < train->config.accumulate && first < train->training; b++) {
        size_t left = train->training - first;
        struct rx_cubes cubes = {&train->source, train->tiles_per_cube, train->order + first,
                                 left < batch ? left : batch};
        enum yp_status status = add_batch(train, &cubes, sum);
        if (status != YP_OK)
            return status;
        first += cubes.count;
    }
    sum->loss /= sum->weight;
    if (train->sum != NULL)
        for (size_t i = 0; i < n; i++)
            train->gradient[i] = (float)(train->sum[i] / sum->weight);
    return YP_OK;
}

static double global_norm(const struct rx_train *train)
{
    double sum = 0;
    for (size_t t = 0; t < train->objective.n_tensors; t++) {
        const struct yp_tensor *tensor = &train->objective.tensors[t];
        if (!ypi_rx_has(train->config.frozen, t))
            sum += rx_sum_squares(tensor->count, train->gradient + tensor->offset);
    }
    return sqrt(sum);
}

static void update(struct rx_train *train, double norm)
{
    double factor = rx_clip_factor(norm, train->config.clip);
    train->progress.step++;
    for (size_t t = 0; t < train->objective.n_tensors; t++) {
        const struct yp_tensor *tensor = &train->objective.tensors[t];
        struct rx_adamw how = train->config.adamw;
        how.lr = train->progress.lr;
        if (ypi_rx_has(train->config.frozen, t))
            continue;
        if (ypi_rx_has(train->config.no_decay, t))
            how.weight_decay = 0;
        float *gradient = train->gradient + tensor->offset;
        if (factor < 1)
            rx_scale_gradient(tensor->count, factor, gradient);
        rx_adamw_step(&how, train->progress.step, tensor->count, gradient,
                      train->m + tensor->offset, train->v + tensor->offset,
                      train->parameters + tensor->offset);
    }
}

static bool tell(const struct rx_train *train, const struct rx_train_event *event)
{
    return train->config.watch == NULL || train->config.watch(train->config.watch_arg, event);
}

static enum yp_status step(struct rx_train *train, bool *go_on)
{
    struct ypi_rx_progress *at = &train->progress;
    double begun = ypi_rx_seconds();
    struct batches sum = {0};
    order_cubes(train);
    enum yp_status status = add_batches(train, &sum);
    if (status != YP_OK)
        return status;
    double norm = sum.weight > 0 ? global_norm(train) : NAN;
    bool skipped = !(isfinite(norm) && isfinite(sum.loss));
    if (skipped) {
        at->skipped++;
        at->skipped_in_row++;
    } else {
        update(train, norm);
        at->skipped_in_row = 0;
        at->loss_sum += sum.weight * sum.loss;
        at->weight_sum += sum.weight;
    }
    at->place++;
    train->unsaved = true;
    *go_on = tell(train, &(struct rx_train_event){.kind = RX_STEP,
                                                  .epoch = at->epoch + 1,
                                                  .place = at->place,
                                                  .step = at->step,
                                                  .loss = sum.loss,
                                                  .weight = sum.weight,
                                                  .norm = norm,
                                                  .lr = at->lr,
                                                  .skipped = skipped,
                                                  .seconds = ypi_rx_seconds() - begun});
    return YP_OK;
}

static enum yp_status check_skipped(const struct rx_train *train)
{
    uint64_t row = train->progress.skipped_in_row, most = train->config.max_skipped;
    if (most == 0 || row <= most)
        return YP_OK;
    return yp_set_error(YP_INVALID,
                        "rx_train_run: %llu steps in a row were skipped, the last is step %llu of "
                        "epoch %llu: loss or gradient is not finite or no pixel counts; "
                        "max_skipped is %llu",
                        (unsigned long long)row, (unsigned long long)train->progress.place,
                        (unsigned long long)train->progress.epoch + 1, (unsigned long long)most);
}

/* -- the end of an epoch -------------------------------------------------------------------- */

/* The watched loss and what hangs on it; epoch 0 is the judgement before the first. */
static bool take_watched(struct rx_train *train, double watched)
{
    struct ypi_rx_progress *at = &train->progress;
    bool better = watched < at->best_loss - train->config.min_delta;
    if (better) {
        at->best_loss = watched;
        at->best_epoch = at->epoch;
        if (train->config.keep_best)
            memcpy(train->best, train->parameters,
                   train->objective.parameters * sizeof *train->best);
    }
    at->bad_epochs = better ? 0 : at->bad_epochs + 1;
    return better;
}

static enum yp_status end_epoch(struct rx_train *train, bool *go_on)
{
    struct ypi_rx_progress *at = &train->progress;
    double begun = ypi_rx_seconds(), judged = NAN;
    bool with_metrics = train->validation > 0 && ypi_rx_has_logits(&train->objective);
    if (train->validation > 0) {
        enum yp_status status =
            rx_train_judge(train, &train->part_source[RX_FOR_VALIDATION], train->parameters,
                           &judged, with_metrics ? &train->judgement : NULL);
        if (status != YP_OK)
            return status;
    }
    struct rx_train_event event = {.kind = RX_EPOCH,
                                   .step = at->step,
                                   .place = at->place,
                                   .train_loss = at->weight_sum > 0 ? at->loss_sum / at->weight_sum
                                                                    : (double)NAN,
                                   .validation_loss = judged,
                                   .validation = with_metrics ? &train->judgement : NULL};
    double watched = train->validation > 0 ? judged : event.train_loss;
    if (at->judged == 0) {
        at->judged = 1;
        event.best = take_watched(train, watched);
        at->bad_epochs = 0;
    } else {
        at->epoch++;
        at->place = 0;
        at->loss_sum = at->weight_sum = 0;
        event.best = take_watched(train, watched);
        at->lr = rx_plateau_step(&train->config.plateau, &at->plateau, watched, at->lr);
        at->early = train->config.patience > 0 && at->bad_epochs > train->config.patience;
    }
    event.epoch = at->epoch;
    event.lr = at->lr;
    event.seconds = ypi_rx_seconds() - begun;
    train->unsaved = true;
    *go_on = tell(train, &event);
    return YP_OK;
}

/* -- a run ---------------------------------------------------------------------------------- */

static enum yp_status save(struct rx_train *train)
{
    const struct ypi_rx_progress *at = &train->progress;
    struct rx_train_event event = {
        .kind = RX_SAVING, .epoch = at->epoch, .place = at->place, .step = at->step};
    if (train->config.checkpoint == NULL || !train->unsaved)
        return YP_OK;
    double begun = ypi_rx_seconds();
    tell(train, &event);
    enum yp_status status = rx_train_save(train, train->config.checkpoint);
    if (status != YP_OK)
        return status;
    train->unsaved = false;
    event.kind = RX_SAVED;
    event.seconds = ypi_rx_seconds() - begun;
    tell(train, &event);
    return YP_OK;
}

/* One step or one end of an epoch, whichever is next, and the checkpoint that is due then. */
static enum yp_status advance(struct rx_train *train, uint64_t *steps, bool *go_on)
{
    const struct ypi_rx_progress *at = &train->progress;
    uint64_t every = train->config.checkpoint_every;
    if (at->judged == 0 || at->place == train->steps_per_epoch) {
        enum yp_status status = end_epoch(train, go_on);
        return status == YP_OK ? save(train) : status;
    }
    enum yp_status status = step(train, go_on);
    ++*steps;
    if (status == YP_OK)
        status = check_skipped(train);
    if (status == YP_OK && every > 0 && (at->step + at->skipped) % every == 0)
        status = save(train);
    return status;
}

enum yp_status rx_train_run(struct rx_train *train, uint64_t steps)
{
    if (train == NULL || !train->begun)
        return yp_set_error(YP_INVALID, train == NULL
                                            ? "rx_train_run: train is NULL"
                                            : "rx_train_run: there are no parameters yet, "
                                              "rx_train_begin or rx_train_resume comes first");
    enum yp_status status = YP_OK;
    bool go_on = true;
    uint64_t done = 0;
    while (status == YP_OK && go_on && end_of(train) == RX_NOT_ENDED) {
        bool ends_epoch =
            train->progress.judged == 0 || train->progress.place == train->steps_per_epoch;
        if (steps > 0 && done == steps && !ends_epoch)
            break;
        status = advance(train, &done, &go_on);
    }
    return status == YP_OK ? save(train) : status;
}
