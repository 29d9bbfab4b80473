/* Graphs as a trainer's items. */
#include "models/graph/train.h"

#include "base/numbers/splitmix.h"
#include "base/system/arena.h"
#include "models/metrics/metrics.h"

#include <math.h>
#include <string.h>

enum { SETTINGS = 22 };

struct graph_trainee {
    struct graph_options o;
    struct graph_source source;
    size_t batch;
    uint64_t seed;
    int64_t epoch;
    struct graph *graph;
    struct graph_tensor *named; /* (n_tensors) */
    struct yp_tensor *tensors;
    size_t n_tensors;
    float *start;
    double *results; /* (results_count): of a batch */
    size_t results_count;
    struct train_setting settings[SETTINGS];
};

static void lay_out(struct graph_trainee *t, struct ypi_arena *arena,
                    const struct graph_options *options)
{
    struct graph_tensor tensor;
    ypi_arena_take(arena, 1, sizeof *t);
    t->n_tensors = 0;
    while (graph_tensor(options, t->n_tensors, &tensor))
        t->n_tensors++;
    t->named = ypi_arena_take(arena, t->n_tensors, sizeof *t->named);
    t->tensors = ypi_arena_take(arena, t->n_tensors, sizeof *t->tensors);
    t->start = ypi_arena_take(arena, graph_elements(options, GRAPH_PARTS), sizeof *t->start);
}

static struct graph_trainee *allocate(const struct graph_options *options)
{
    struct graph_trainee counted = {.batch = 0};
    struct ypi_arena arena = {0};
    lay_out(&counted, &arena, options);
    arena = (struct ypi_arena){.base = yp_device_alloc(yp_device_cpu(), arena.used)};
    if (arena.base == NULL)
        return NULL;
    struct graph_trainee *t = (struct graph_trainee *)(void *)arena.base;
    *t = (struct graph_trainee){.o = *options};
    lay_out(t, &arena, options);
    return t;
}

struct graph_trainee *graph_trainee_create(const struct graph_options *options,
                                           const struct graph_source *source, size_t batch,
                                           uint64_t seed)
{
    if (graph_check_options(options) != YP_OK)
        return NULL;
    if (options->oracle || batch == 0) {
        yp_set_error(YP_INVALID,
                     "graph_trainee_create: a batch of %zu graphs%s: must be 1 or more, "
                     "in float",
                     batch, options->oracle ? " in double" : "");
        return NULL;
    }
    struct graph_trainee *t = allocate(options);
    if (t == NULL)
        return NULL;
    t->source = *source;
    t->batch = batch;
    t->seed = seed;
    for (size_t i = 0; i < t->n_tensors; i++) {
        graph_tensor(options, i, &t->named[i]);
        t->tensors[i] = (struct yp_tensor){t->named[i].name, t->named[i].offset, t->named[i].count};
    }
    if (t->n_tensors > TRAIN_TENSORS)
        yp_set_error(YP_INVALID, "graph_trainee_create: %zu tensors: must be at most %d",
                     t->n_tensors, TRAIN_TENSORS);
    else
        t->graph = graph_create(options);
    if (t->graph == NULL) {
        graph_trainee_destroy(t);
        return NULL;
    }
    graph_draw(options, seed, t->start);
    return t;
}

void graph_trainee_destroy(struct graph_trainee *t)
{
    if (t == NULL)
        return;
    graph_destroy(t->graph);
    yp_device_free(yp_device_cpu(), t->results);
    yp_device_free(yp_device_cpu(), t);
}

struct graph *graph_trainee_graph(struct graph_trainee *t)
{
    return t->graph;
}

const float *graph_trainee_start(const struct graph_trainee *t)
{
    return t->start;
}

/* -- items ------------------------------------------------------------------------------------- */

static enum yp_status read_items(const struct graph_trainee *t, struct train_items items,
                                 int64_t epoch, struct graph_batch *batch)
{
    return t->source.read(t->source.arg, items.index, items.count, epoch, batch);
}

/* One pass over a batch, with its loss; the nodes that count are known before it. */
static enum yp_status run(struct graph_trainee *t, const struct graph_batch *batch,
                          struct graph_use use, const float *parameters, double scale,
                          float *gradient, struct graph_loss *loss, double *weight)
{
    enum yp_status status = graph_load(t->graph, batch, use);
    if (status == YP_OK)
        *weight = graph_counted(t->graph);
    if (status == YP_OK)
        status = graph_pass(t->graph, parameters, scale, gradient, NN_MODEL_COPY);
    return status == YP_OK ? graph_read_loss(t->graph, loss) : status;
}

static enum yp_status gradient(void *arg, struct train_items items, const float *parameters,
                               double scale, double *mean, double *weight, float *out)
{
    struct graph_trainee *t = arg;
    struct graph_loss loss = {.nodes = 0};
    struct graph_batch batch;
    const struct graph_use use = {.losses = true,
                                  .gradient = true,
                                  .drops = true,
                                  .seed = t->seed + YPI_GOLDEN * ((uint64_t)t->epoch + 1)};
    enum yp_status status = read_items(t, items, t->epoch, &batch);
    if (status == YP_OK)
        status = run(t, &batch, use, parameters, scale, out, &loss, weight);
    *mean = loss.total;
    return status;
}

static void tell(void *arg, train_ready *ready, void *ready_arg)
{
    const struct graph_trainee *t = arg;
    graph_tell(t->graph, ready, ready_arg);
}

/* -- metrics ----------------------------------------------------------------------------------- */

static const char *const metric_names[] = {"ade", "fde", "min_ade", "min_fde", "miss", "coverage"};
enum { METRICS = sizeof metric_names / sizeof *metric_names };

struct judged {
    struct metrics_displacement paths;
    size_t covered, right;
};

/* In the same memory. */
static float *narrow(double *values, size_t count)
{
    char *at = (char *)values;
    for (size_t i = 0; i < count; i++) {
        double value;
        memcpy(&value, at + i * sizeof value, sizeof value);
        const float rounded = (float)value;
        memcpy(at + i * sizeof rounded, &rounded, sizeof rounded);
    }
    return (float *)(void *)values;
}

static enum yp_status take_results(struct graph_trainee *t, size_t count)
{
    if (count <= t->results_count)
        return YP_OK;
    yp_device_free(yp_device_cpu(), t->results);
    t->results_count = 0;
    t->results = yp_device_alloc(yp_device_cpu(), count * sizeof *t->results);
    if (t->results == NULL)
        return yp_last_status();
    t->results_count = count;
    return YP_OK;
}

static enum yp_status judge(struct graph_trainee *t, const struct graph_batch *batch,
                            struct judged *judged)
{
    const size_t n = batch->nodes, k = t->o.modes, numbers = n * k * t->o.future * 5;
    enum yp_status status = take_results(t, numbers + n * k + batch->graphs);
    if (status != YP_OK || t->results == NULL)
        return status;
    const struct graph_result result = {t->results, t->results + numbers,
                                        t->results + numbers + n * k};
    status = graph_read(t->graph, result);
    if (status != YP_OK)
        return status;
    for (size_t i = 0; i < batch->graphs; i++) {
        judged->covered += batch->coverage[i] >= 0;
        judged->right +=
            batch->coverage[i] >= 0 && (result.coverage[i] >= 0) == (batch->coverage[i] >= 0.5F);
    }
    const struct metrics_paths paths = {.nodes = n,
                                        .modes = k,
                                        .steps = t->o.future,
                                        .stride = 5,
                                        .path = narrow(result.mixture, numbers),
                                        .logit = narrow(result.logit, n * k),
                                        .target = batch->target,
                                        .counts = batch->counts};
    metrics_displacement_add(&judged->paths, &paths);
    return YP_OK;
}

static void write_metrics(const struct judged *judged, double *metrics)
{
    struct metrics_displaced d;
    metrics_displacement_result(&judged->paths, &d);
    const double all[METRICS] = {
        d.ade,
        d.fde,
        d.min_ade,
        d.min_fde,
        d.miss_rate,
        judged->covered > 0 ? (double)judged->right / (double)judged->covered : (double)NAN};
    memcpy(metrics, all, sizeof all);
}

static enum yp_status evaluate(void *arg, struct train_items items, const float *parameters,
                               double *mean, double *weight, double *metrics)
{
    struct graph_trainee *t = arg;
    struct judged judged = {.covered = 0};
    enum yp_status status = YP_OK;
    double sum = 0;
    *weight = 0;
    for (size_t at = 0; at < items.count && status == YP_OK; at += t->batch) {
        const size_t left = items.count - at;
        const struct train_items some = {items.index + at, left < t->batch ? left : t->batch};
        struct graph_loss loss = {.nodes = 0};
        struct graph_batch batch;
        status = read_items(t, some, -1, &batch);
        if (status != YP_OK)
            return status;
        double nodes = 0;
        status =
            run(t, &batch, (struct graph_use){.losses = true}, parameters, 1, NULL, &loss, &nodes);
        if (status == YP_OK && metrics != NULL)
            status = judge(t, &batch, &judged);
        sum += nodes * loss.total;
        *weight += nodes;
    }
    *mean = *weight > 0 ? sum / *weight : 0;
    if (metrics != NULL && status == YP_OK)
        write_metrics(&judged, metrics);
    return status;
}

static void begin_epoch(void *arg, uint64_t epoch, float *parameters)
{
    (void)parameters;
    ((struct graph_trainee *)arg)->epoch = (int64_t)epoch;
}

static uint64_t bits(double value)
{
    uint64_t out;
    memcpy(&out, &value, sizeof out);
    return out;
}

struct train_objective graph_trainee_objective(struct graph_trainee *t)
{
    const struct graph_options *o = &t->o;
    const struct train_setting settings[SETTINGS] = {{"hidden", o->hidden},
                                                     {"heads", o->heads},
                                                     {"layers", o->layers},
                                                     {"modes", o->modes},
                                                     {"blocks", o->blocks},
                                                     {"inducing", o->inducing},
                                                     {"features", o->features},
                                                     {"history", o->history},
                                                     {"future", o->future},
                                                     {"dropout", bits(o->dropout)},
                                                     {"drop_path", bits(o->drop_path)},
                                                     {"coverage", bits(o->losses.coverage)},
                                                     {"smoothing", bits(o->losses.smoothing)},
                                                     {"velocity", bits(o->losses.velocity)},
                                                     {"acceleration", bits(o->losses.acceleration)},
                                                     {"winner", bits(o->losses.winner)},
                                                     {"likely", bits(o->losses.likely)},
                                                     {"endpoint", bits(o->losses.endpoint)},
                                                     {"collision", bits(o->losses.collision)},
                                                     {"precision", (uint64_t)o->precision},
                                                     {"augment", t->source.augments},
                                                     {"seed", t->seed}};
    memcpy(t->settings, settings, sizeof settings);
    return (struct train_objective){.parameters = graph_elements(o, GRAPH_PARTS),
                                    .items = t->source.graphs,
                                    .group = t->source.play,
                                    .tensors = t->tensors,
                                    .n_tensors = t->n_tensors,
                                    .metrics = metric_names,
                                    .n_metrics = METRICS,
                                    .settings = t->settings,
                                    .n_settings = SETTINGS,
                                    .gradient = gradient,
                                    .evaluate = evaluate,
                                    .tell = tell,
                                    .epoch = begin_epoch,
                                    .any_device = true,
                                    .arg = t};
}
