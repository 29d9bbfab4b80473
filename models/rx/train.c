/* Cubes of a source as a trainer's items, and what a decision and a ranking by their logits are
 * worth. */
#include "models/rx/train.h"

#include "base/system/arena.h"
#include "device/host.h"
#include "models/metrics/internal.h"
#include "models/rx/detector/cubes.h"

#include <math.h>

enum { SETTINGS = 4 };

struct rx_training {
    struct yp_device *device;
    struct rx_objective objective;
    struct rx_source source;
    size_t tiles_per_cube;
    struct train *trainer;
    struct rx_cubes part_cubes[2];   /* by enum train_part */
    struct rx_source part_source[2]; /* by enum train_part */
    struct metrics_ranking *ranking; /* NULL without objective.targets */
    struct rx_judgement judgement;   /* the last one */
    enum yp_status status; /* of its ranking: `take` may be another thread's, whose message
                              is lost */
};

const char *const rx_metric_names[RX_METRICS] = {
    "precision", "recall",        "f1",           "iou", "average_precision",
    "roc_auc",   "detection_1e3", "detection_1e4"};

struct train_log *rx_log_create(struct yp_device *device, const char *path,
                                const struct train_state *after)
{
    return train_log_create(device, path, rx_metric_names, RX_METRICS, after);
}

static bool has_logits(const struct rx_objective *objective)
{
    return objective->evaluate != NULL && !objective->no_logits;
}

/* -- gradient and judgement of items ---------------------------------------------------------- */

static struct rx_cubes cubes_of(const struct rx_training *training, struct train_items items)
{
    return (struct rx_cubes){&training->source, training->tiles_per_cube, items.index, items.count};
}

static enum yp_status gradient(void *arg, struct train_items items, const float *parameters,
                               double scale, double *mean, double *weight, float *out)
{
    const struct rx_training *training = arg;
    const struct rx_objective *objective = &training->objective;
    struct rx_cubes cubes = cubes_of(training, items);
    struct rx_source source = rx_cubes_source(&cubes);
    return objective->gradient(objective->arg, &source, parameters, scale, mean, weight, out);
}

static void take_first(void *arg, const float *logits, const uint8_t *labels, size_t pixels)
{
    struct rx_training *training = arg;
    metrics_confusion_add(&training->judgement.confusion, logits, labels, pixels);
    if (training->ranking != NULL && training->status == YP_OK)
        training->status = metrics_ranking_targets(training->ranking, logits, labels, pixels);
}

static void take_background(void *arg, const float *logits, const uint8_t *labels, size_t pixels)
{
    struct rx_training *training = arg;
    if (training->status == YP_OK)
        training->status = metrics_ranking_background(training->ranking, logits, labels, pixels);
}

/* The second pass: background among the targets of the first. */
static enum yp_status rank(struct rx_training *training, const struct rx_source *source,
                           const float *parameters)
{
    const struct rx_objective *objective = &training->objective;
    enum yp_status status = YP_OK;
    if (training->status == YP_OK)
        status = objective->evaluate(objective->arg, source, parameters, NULL, NULL,
                                     take_background, training);
    if (status == YP_OK && training->status != YP_OK)
        status = yp_set_error(training->status,
                              "rx_training_judge: the source has more targets than "
                              "objective->targets, %zu, has room for, or 2^32 pixels and more",
                              objective->targets);
    if (status == YP_OK)
        metrics_ranking_result(training->ranking, &training->judgement.ranked);
    return status;
}

static void put_metrics(const struct rx_judgement *judgement, double metrics[RX_METRICS])
{
    const struct metrics_confusion *c = &judgement->confusion;
    const struct metrics_ranked *r = &judgement->ranked;
    metrics[0] = metrics_precision(c);
    metrics[1] = metrics_recall(c);
    metrics[2] = metrics_f1(c);
    metrics[3] = metrics_iou(c);
    metrics[4] = r->average_precision;
    metrics[5] = r->roc_auc;
    metrics[6] = r->detection_1e3;
    metrics[7] = r->detection_1e4;
}

static enum yp_status evaluate(void *arg, struct train_items items, const float *parameters,
                               double *mean, double *weight, double *metrics)
{
    struct rx_training *training = arg;
    const struct rx_objective *objective = &training->objective;
    struct rx_cubes cubes = cubes_of(training, items);
    struct rx_source source = rx_cubes_source(&cubes);
    if (metrics == NULL)
        return objective->evaluate(objective->arg, &source, parameters, mean, weight, NULL, NULL);
    training->status = YP_OK;
    training->judgement = (struct rx_judgement){
        .ranked = {0, 0, 0, (double)NAN, (double)NAN, (double)NAN, (double)NAN}};
    if (training->ranking != NULL)
        metrics_ranking_reset(training->ranking);
    enum yp_status status = objective->evaluate(objective->arg, &source, parameters, mean, weight,
                                                take_first, training);
    if (status == YP_OK && training->ranking != NULL)
        status = rank(training, &source, parameters);
    if (status == YP_OK)
        put_metrics(&training->judgement, metrics);
    return status;
}

static void epoch(void *arg, uint64_t number, float *parameters)
{
    const struct rx_training *training = arg;
    training->objective.epoch(training->objective.arg, number, parameters);
}

/* -- the object ------------------------------------------------------------------------------- */

static enum yp_status check(const char *what, const struct rx_objective *objective,
                            const struct rx_source *source, size_t tiles_per_cube)
{
    if (objective == NULL || source == NULL)
        return yp_set_error(YP_INVALID, "%s: %s is NULL", what,
                            objective == NULL ? "objective" : "source");
    if (objective->gradient == NULL)
        return yp_set_error(YP_INVALID, "%s: objective->gradient is NULL", what);
    if (objective->targets > UINT32_MAX)
        return yp_set_error(YP_INVALID, "%s: targets is %zu, allowed are 0 to %u", what,
                            objective->targets, UINT32_MAX);
    if (objective->targets > 0 && !has_logits(objective))
        return yp_set_error(YP_INVALID,
                            "%s: targets is %zu, but the objective has no logits; allowed is 0",
                            what, objective->targets);
    if (source->yield == NULL)
        return yp_set_error(YP_INVALID, "%s: source->yield is NULL", what);
    if (objective->whole_cubes && tiles_per_cube != 1)
        return yp_set_error(YP_INVALID,
                            "%s: tiles_per_cube is %zu, allowed is 1: MinMax by sample (by_sample) "
                            "takes a tile for a whole cube",
                            what, tiles_per_cube);
    if (tiles_per_cube == 0 || source->tiles == 0 || source->tiles % tiles_per_cube != 0)
        return yp_set_error(YP_INVALID,
                            "%s: tiles_per_cube is %zu, allowed is a divisor of source->tiles, %zu",
                            what, tiles_per_cube, source->tiles);
    return YP_OK;
}

/* As the trainer sees it; `settings` are the caller's. */
static struct train_objective items_of(const struct rx_objective *objective,
                                       const struct rx_source *source, size_t tiles_per_cube,
                                       struct train_setting settings[SETTINGS])
{
    settings[0] = (struct train_setting){"channels", source->channels};
    settings[1] = (struct train_setting){"tile_pixels", source->tile_pixels};
    settings[2] = (struct train_setting){"tiles", source->tiles};
    settings[3] = (struct train_setting){"tiles_per_cube", tiles_per_cube};
    return (struct train_objective){.parameters = objective->parameters,
                                    .items = source->tiles / tiles_per_cube,
                                    .tensors = objective->tensors,
                                    .n_tensors = objective->n_tensors,
                                    .metrics = rx_metric_names,
                                    .n_metrics = has_logits(objective) ? RX_METRICS : 0,
                                    .settings = settings,
                                    .n_settings = SETTINGS,
                                    .identity = objective->identity,
                                    .gradient = gradient,
                                    .evaluate = objective->evaluate != NULL ? evaluate : NULL,
                                    .epoch = objective->epoch != NULL ? epoch : NULL};
}

/* The configuration with the objective's frozen tensors, in `all`; NULL stays for the trainer to
 * refuse. */
static const struct train_config *freeze(const struct rx_objective *objective,
                                         const struct train_config *config,
                                         struct train_config *all)
{
    if (config == NULL)
        return NULL;
    *all = *config;
    for (size_t i = 0; i < sizeof all->frozen.word / sizeof *all->frozen.word; i++)
        all->frozen.word[i] |= objective->frozen.word[i];
    return all;
}

static struct rx_training *take(struct ypi_arena *arena, const struct rx_objective *objective)
{
    struct rx_training *training = ypi_arena_take(arena, 1, sizeof *training);
    struct metrics_ranking *ranking =
        objective->targets > 0 ? ypi_metrics_ranking_take(arena, objective->targets) : NULL;
    if (training != NULL)
        *training = (struct rx_training){.objective = *objective, .ranking = ranking};
    return training;
}

size_t rx_training_bytes(const struct rx_objective *objective, const struct rx_source *source,
                         size_t tiles_per_cube, const struct train_config *config)
{
    struct ypi_arena arena = {0};
    struct train_setting settings[SETTINGS];
    if (check("rx_training_bytes", objective, source, tiles_per_cube) != YP_OK)
        return 0;
    struct train_objective items = items_of(objective, source, tiles_per_cube, settings);
    take(&arena, objective);
    struct train_config all;
    size_t trainer = train_bytes(&items, freeze(objective, config, &all));
    return trainer > 0 ? arena.used + trainer : 0;
}

struct rx_training *rx_training_create(struct yp_device *device,
                                       const struct rx_objective *objective,
                                       const struct rx_source *source, size_t tiles_per_cube,
                                       const struct train_config *config)
{
    struct ypi_arena arena = {0};
    struct train_setting settings[SETTINGS];
    if (ypi_check_host("rx_training_create", device) != YP_OK ||
        check("rx_training_create", objective, source, tiles_per_cube) != YP_OK)
        return NULL;
    take(&arena, objective);
    arena = (struct ypi_arena){.base = yp_device_alloc(device, arena.used)};
    if (arena.base == NULL)
        return NULL;
    struct rx_training *training = take(&arena, objective);
    struct train_objective items = items_of(objective, source, tiles_per_cube, settings);
    items.arg = training;
    training->device = device;
    training->source = *source;
    training->tiles_per_cube = tiles_per_cube;
    struct train_config all;
    training->trainer = train_create(device, &items, freeze(objective, config, &all));
    if (training->trainer == NULL) {
        yp_device_free(device, training);
        return NULL;
    }
    for (int part = TRAIN_TRAINING; part <= TRAIN_VALIDATION; part++) {
        training->part_cubes[part] =
            cubes_of(training, train_part_items(training->trainer, (enum train_part)part));
        training->part_source[part] = rx_cubes_source(&training->part_cubes[part]);
    }
    return training;
}

void rx_training_destroy(struct rx_training *training)
{
    if (training == NULL)
        return;
    train_destroy(training->trainer);
    yp_device_free(training->device, training);
}

struct train *rx_training_trainer(const struct rx_training *training)
{
    return training->trainer;
}

const struct rx_source *rx_training_source(const struct rx_training *training, enum train_part part)
{
    return &training->part_source[part];
}

enum yp_status rx_training_judge(struct rx_training *training, enum train_part part,
                                 const float *parameters, double *loss, struct rx_judgement *out)
{
    double metrics[RX_METRICS];
    if (training == NULL)
        return yp_set_error(YP_INVALID, "rx_training_judge: training is NULL");
    if (out != NULL && !has_logits(&training->objective))
        return yp_set_error(YP_UNSUPPORTED,
                            "rx_training_judge: the objective has no logits that could be judged");
    enum yp_status status =
        train_judge(training->trainer, train_part_items(training->trainer, part), parameters, loss,
                    out != NULL ? metrics : NULL);
    if (status == YP_OK && out != NULL)
        *out = training->judgement;
    return status;
}
