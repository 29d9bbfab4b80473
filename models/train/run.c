/* A run: steps, judgements at the ends of epochs, checkpoints when they are due. */
#include "models/train/internal.h"

#include "base/system/clock.h"
#include "models/data/order.h"

#include <math.h>
#include <string.h>

/* -- a step --------------------------------------------------------------------------------- */

static void order_items(struct train *train)
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
static enum yp_status add_batch(struct train *train, struct train_items items, struct batches *sum)
{
    double mean = NAN, weight = 0;
    enum yp_status status = train->objective.gradient(
        train->objective.arg, items, train->at.parameters, train->progress.scaling.scale, &mean,
        &weight, train->at.gradient);
    if (status != YP_OK)
        return status;
    if (!(weight >= 0 && isfinite(weight)))
        return yp_set_error(
            YP_INVALID, "train_run: the objective's weight is %g, allowed is 0 and more", weight);
    if (weight == 0)
        return YP_OK;
    sum->loss += weight * mean;
    sum->weight += weight;
    return train->at.sum != NULL ? ypi_train_add(&train->at, weight) : YP_OK;
}

/* Leaves the mean gradient of the step's batches, without the scale of the loss, in at.gradient. */
static enum yp_status add_batches(struct train *train, struct batches *sum)
{
    const struct ypi_train_arrays *at = &train->at;
    size_t batch = train->config.batch;
    size_t first = (size_t)train->progress.place * batch * train->config.accumulate;
    enum yp_status status = YP_OK;
    if (ypi_train_is_shared(&train->config)) {
        const size_t left = train->training - first, all = batch * train->config.accumulate;
        const struct train_items step = {train->order + first, left < all ? left : all};
        return ypi_train_share_batches(train, step, &sum->loss, &sum->weight);
    }
    if (at->sum != NULL)
        status = ypi_train_zero(at, at->sum, at->count * sizeof *at->sum);
    for (size_t b = 0; status == YP_OK && b < train->config.accumulate && first < train->training;
         b++) {
        size_t left = train->training - first;
        struct train_items items = {train->order + first, left < batch ? left : batch};
        status = add_batch(train, items, sum);
        first += items.count;
    }
    sum->loss /= sum->weight;
    if (status == YP_OK && at->sum != NULL)
        status = ypi_train_divide(at, sum->weight);
    double scale = train->progress.scaling.scale;
    if (status == YP_OK && scale != 1)
        status = ypi_train_scale(at, 0, at->count, 1 / scale);
    return status;
}

static enum yp_status update(struct train *train, double norm)
{
    const struct ypi_train_arrays *at = &train->at;
    const struct train_config *config = &train->config;
    double factor = train_clip_factor(norm, config->clip);
    uint64_t t = train->progress.step + 1;
    enum yp_status status = YP_OK;
    if (config->schedule == TRAIN_COSINE)
        train->progress.lr = train_cosine_rate(&config->cosine, t, ypi_train_first_rate(config));
    const bool shared = ypi_train_is_shared(config);
    if (shared)
        status = ypi_train_share_step(train, factor, t);
    for (size_t i = 0; status == YP_OK && i < train->objective.n_tensors; i++) {
        const struct yp_tensor *tensor = &train->objective.tensors[i];
        if (train_set_has(&config->frozen, i))
            continue;
        if (!shared)
            status = ypi_train_step(at, config, train->progress.lr,
                                    !train_set_has(&config->no_decay, i), factor, t, tensor);
        if (status == YP_OK && config->average > 0)
            status = ypi_train_average(at, tensor->offset, tensor->count,
                                       fmin(config->average, (double)(1 + t) / (double)(10 + t)));
    }
    train->progress.step += status == YP_OK;
    return status;
}

static bool tell(const struct train *train, const struct train_event *event)
{
    return train->config.watch == NULL || train->config.watch(train->config.watch_arg, event);
}

/* What one rank's watcher stops is stopped for all. */
static enum yp_status ask(struct train *train, const struct train_event *event, bool *go_on)
{
    *go_on = tell(train, event);
    return ypi_train_is_shared(&train->config) ? ypi_train_all_go_on(train, go_on)
                                               : (enum yp_status)YP_OK;
}

/* Makes the step, or does not; the scale of the loss follows. */
static enum yp_status make_step(struct train *train, const struct batches *sum, double *norm,
                                bool *skipped)
{
    struct ypi_train_progress *at = &train->progress;
    double squares = NAN;
    enum yp_status status = YP_OK;
    if (sum->weight > 0 && ypi_train_is_shared(&train->config))
        status = ypi_train_share_squares(train, &squares);
    else if (sum->weight > 0)
        status = ypi_train_squares(&train->at, &train->objective, &train->config.frozen, &squares);
    *norm = sqrt(squares);
    *skipped = !(isfinite(*norm) && isfinite(sum->loss));
    if (status != YP_OK)
        return status;
    if (*skipped) {
        at->skipped++;
        at->skipped_in_row++;
    } else {
        status = update(train, *norm);
        at->skipped_in_row = 0;
        at->loss_sum += sum->weight * sum->loss;
        at->weight_sum += sum->weight;
    }
    bool judged = !*skipped || (sum->weight > 0 && !isfinite(*norm));
    if (train->config.scaling.initial > 0 && judged)
        train_scaling_update(&train->config.scaling, &at->scaling, !*skipped);
    return status;
}

/* What the workload then changes of frozen tensors is their average, too. */
static enum yp_status begin_epoch(struct train *train)
{
    const struct train_objective *objective = &train->objective;
    enum yp_status status = YP_OK;
    train->epoch_begun = true;
    if (objective->epoch == NULL)
        return YP_OK;
    objective->epoch(objective->arg, train->progress.epoch, train->at.parameters);
    for (size_t i = 0; status == YP_OK && i < objective->n_tensors; i++)
        if (train->config.average > 0 && train_set_has(&train->config.frozen, i))
            status = ypi_train_average(&train->at, objective->tensors[i].offset,
                                       objective->tensors[i].count, 0);
    return status;
}

static enum yp_status step(struct train *train, bool *go_on)
{
    struct ypi_train_progress *at = &train->progress;
    double begun = ypi_now(), norm = NAN, scale = at->scaling.scale;
    struct batches sum = {0};
    bool skipped = true;
    order_items(train);
    enum yp_status status =
        at->place == 0 || !train->epoch_begun ? begin_epoch(train) : (enum yp_status)YP_OK;
    if (status == YP_OK)
        status = add_batches(train, &sum);
    if (status == YP_OK)
        status = make_step(train, &sum, &norm, &skipped);
    if (status != YP_OK)
        return status;
    at->place++;
    train->unsaved = true;
    const struct train_event event = {
        .kind = TRAIN_STEP,
        .epoch = at->epoch + 1,
        .place = at->place,
        .step = at->step,
        .loss = sum.loss,
        .weight = sum.weight,
        .norm = norm,
        .lr = at->lr,
        .scale = scale,
        .skipped = skipped,
        .exchange = train->shards != NULL ? train->shards->times : (struct train_exchange){0},
        .seconds = ypi_now() - begun};
    return ask(train, &event, go_on);
}

static enum yp_status check_skipped(const struct train *train)
{
    uint64_t row = train->progress.skipped_in_row, limit = train->config.max_skipped;
    if (limit == 0 || row <= limit)
        return YP_OK;
    return yp_set_error(YP_INVALID,
                        "train_run: %llu steps in a row were skipped, the last is step %llu of "
                        "epoch %llu: loss or gradient is not finite or nothing counts; "
                        "max_skipped is %llu",
                        (unsigned long long)row, (unsigned long long)train->progress.place,
                        (unsigned long long)train->progress.epoch + 1, (unsigned long long)limit);
}

/* -- the end of an epoch -------------------------------------------------------------------- */

enum yp_status train_judge(struct train *train, struct train_items items, const float *parameters,
                           double *loss, double *metrics)
{
    if (train == NULL || items.index == NULL || parameters == NULL || loss == NULL)
        return yp_set_error(YP_INVALID, "train_judge: %s is NULL",
                            train == NULL         ? "train"
                            : items.index == NULL ? "items.index"
                            : parameters == NULL  ? "parameters"
                                                  : "loss");
    const struct train_objective *objective = &train->objective;
    double weight = 0;
    if (metrics != NULL && !ypi_train_has_metrics(objective))
        return yp_set_error(YP_UNSUPPORTED, "train_judge: the objective has no metrics");
    enum yp_status status =
        objective->evaluate != NULL
            ? objective->evaluate(objective->arg, items, parameters, loss, &weight, metrics)
            : objective->gradient(objective->arg, items, parameters, 1, loss, &weight,
                                  train->at.gradient);
    if (status == YP_OK && !(weight > 0))
        *loss = NAN;
    return status;
}

/* The watched loss of an epoch and what hangs on it; epoch 0 is the judgement before the first. */
static enum yp_status take_watched(struct train *train, uint64_t epoch, double watched,
                                   bool *better)
{
    struct ypi_train_progress *at = &train->progress;
    *better = watched < at->best_loss;
    if (*better && train->config.keep_best) {
        enum yp_status status = ypi_train_copy(&train->at, train->at.best, train->at.average,
                                               train->at.count * sizeof *train->at.best);
        if (status != YP_OK)
            return status;
    }
    if (*better) {
        at->best_loss = watched;
        at->best_epoch = epoch;
    }
    at->bad_epochs = *better ? 0 : at->bad_epochs + 1;
    return YP_OK;
}

static enum yp_status end_epoch(struct train *train, bool *go_on)
{
    struct ypi_train_progress *at = &train->progress;
    const struct train_config *config = &train->config;
    double begun = ypi_now(), judged = NAN;
    bool with_metrics = train->validation > 0 && ypi_train_has_metrics(&train->objective);
    enum yp_status status = YP_OK;
    if (train->validation > 0)
        status = train_judge(train, train_part_items(train, TRAIN_VALIDATION), train->at.average,
                             &judged, with_metrics ? train->metrics : NULL);
    if (ypi_train_is_shared(config))
        status = ypi_train_agree_on_judgement(train, status, &judged);
    if (status != YP_OK)
        return status;
    struct train_event event = {.kind = TRAIN_EPOCH,
                                .step = at->step,
                                .place = at->place,
                                .train_loss = at->weight_sum > 0 ? at->loss_sum / at->weight_sum
                                                                 : (double)NAN,
                                .validation_loss = judged,
                                .metrics = with_metrics ? train->metrics : NULL};
    double watched = train->validation > 0 ? judged : event.train_loss;
    bool first = at->judged == 0;
    status = take_watched(train, at->epoch + !first, watched, &event.best);
    if (status != YP_OK)
        return status;
    at->epoch += !first;
    if (first) {
        at->judged = 1;
        at->bad_epochs = 0;
    } else {
        at->place = 0;
        at->loss_sum = at->weight_sum = 0;
        if (config->schedule == TRAIN_PLATEAU)
            at->lr = train_plateau_step(&config->plateau, &at->plateau, watched, at->lr);
        at->early = config->patience > 0 && at->bad_epochs > config->patience;
    }
    event.epoch = at->epoch;
    event.lr = at->lr;
    event.scale = at->scaling.scale;
    event.seconds = ypi_now() - begun;
    train->unsaved = true;
    return ask(train, &event, go_on);
}

/* -- a run ---------------------------------------------------------------------------------- */

static enum yp_status save(struct train *train)
{
    const struct ypi_train_progress *at = &train->progress;
    struct train_event event = {
        .kind = TRAIN_SAVING, .epoch = at->epoch, .place = at->place, .step = at->step};
    if (train->config.checkpoint == NULL || !train->unsaved)
        return YP_OK;
    double begun = ypi_now();
    tell(train, &event);
    enum yp_status status = train_save(train, train->config.checkpoint);
    if (status != YP_OK)
        return status;
    train->unsaved = false;
    event.kind = TRAIN_SAVED;
    event.seconds = ypi_now() - begun;
    tell(train, &event);
    return YP_OK;
}

/* One step or one end of an epoch, whichever is next, and the checkpoint that is due then. */
static enum yp_status advance(struct train *train, uint64_t *steps, bool *go_on)
{
    const struct ypi_train_progress *at = &train->progress;
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

enum yp_status train_run(struct train *train, uint64_t steps)
{
    if (train == NULL || !train->begun)
        return yp_set_error(YP_INVALID, train == NULL ? "train_run: train is NULL"
                                                      : "train_run: there are no parameters yet, "
                                                        "train_begin or train_resume comes first");
    enum yp_status status = YP_OK;
    bool go_on = true;
    uint64_t done = 0;
    while (status == YP_OK && go_on) {
        const enum train_end end = ypi_train_end(train);
        if (end != TRAIN_NOT_ENDED && end != TRAIN_SKIPPED)
            break;
        bool ends_epoch =
            train->progress.judged == 0 || train->progress.place == train->steps_per_epoch;
        if (steps > 0 && done == steps && !ends_epoch)
            break;
        status = advance(train, &done, &go_on);
    }
    return status == YP_OK ? save(train) : status;
}
