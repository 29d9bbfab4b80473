/* Training steps of the graph trajectory model from files of plays: what a cache of graphs, and
 * 16 bits, gain of the whole step. A step is that of the benchmark it is compared with: 12
 * batches of 16 graphs whose gradients are added, then one update. And the stages of shorter steps,
 * with batches made ahead by workers. */
#include "suites/graph_tracks.h"

#include "base/numbers/splitmix.h"
#include "base/system/clock.h"
#include "models/data/loader.h"
#include "models/graph/data.h"
#include "models/graph/model.h"
#include "models/train/optimiser.h"

#include <string.h>

enum { BATCH = 16, BATCH_MOST = 64, ACCUMULATE = 12, PLAYS = 100 };
#define EPOCH_GRAPHS 185000.0 /* of the benchmark's data */

struct epoch {
    struct yp_case *t;
    bool each; /* the week's file is parsed for each graph */
    struct graph_caching caching;
    struct graph_data *data;
    struct graph_options o;
    struct graph *graph;
    struct ypi_seed seed;
    void *block;
    size_t batch, bytes, parameters;
    float *x, *gradient, *m, *v;
    uint64_t steps;
    double busy, all; /* seconds of passes and updates, and of steps */
    /* Of stages alone: */
    struct data_loader *loader;
    int workers;
    size_t taken; /* of the loader */
    bool cold;
    enum yp_status status;
};

static struct graph_data *open_data(const struct epoch *e)
{
    static const struct graph_reading all_weeks = {.week = 0};
    struct graph_data *data =
        graph_data_open(yp_device_cpu(), yp_tmp_path(e->t), &all_weeks, &GRAPH_RULES, &e->caching);
    yp_got(e->t, data);
    return data;
}

static float *zeros(struct yp_case *t, size_t count)
{
    float *x = yp_alloc(t, count * sizeof *x);
    memset(x, 0, count * sizeof *x);
    return x;
}

static void epoch_open(struct epoch *e, struct yp_case *t, const char *size, enum nn_precision how,
                       size_t batch)
{
    const char *from = yp_string(t, "from");
    const struct synth_plays spec = {.seed = yp_seed(t)};
    *e = (struct epoch){.t = t,
                        .each = strcmp(from, "parsed each") == 0,
                        .cold = strcmp(from, "cold disk") == 0,
                        .batch = batch,
                        .caching = {.where = strcmp(from, "memory") == 0    ? GRAPH_CACHE_MEMORY
                                             : strstr(from, "disk") != NULL ? GRAPH_CACHE_DISK
                                                                            : GRAPH_CACHE_OFF,
                                    .threads = 1},
                        .seed = ypi_seed_of(yp_seed(t), 3, 0)};
    yp_ok(t, graph_sized(size, yp_device(t), &e->o));
    e->o.precision = how;
    graph_tracks_write(t, yp_tmp_path(t), &spec, 1, PLAYS);
    e->data = open_data(e);
    e->bytes = graph_data_batch_bytes(e->data, batch);
    e->block = yp_alloc_host(t, e->bytes);
    e->parameters = graph_elements(&e->o, GRAPH_PARTS);
    e->x = zeros(t, e->parameters);
    e->gradient = zeros(t, e->parameters);
    e->m = zeros(t, e->parameters);
    e->v = zeros(t, e->parameters);
    graph_draw(&e->o, yp_seed(t), e->x);
    e->graph = graph_create(&e->o);
    yp_got(t, e->graph);
}

static enum yp_status read_drawn(const struct epoch *e, struct ypi_seed *seed, void *block)
{
    uint32_t graphs[BATCH_MOST];
    for (size_t i = 0; i < e->batch; i++)
        graphs[i] = (uint32_t)(ypi_seed_uniform(seed) * (double)graph_data_count(e->data));
    return graph_data_read(e->data, graphs, e->batch, NULL, block, e->bytes);
}

/* Graphs anywhere in the week. */
static enum yp_status read(struct epoch *e)
{
    for (size_t i = 0; i < e->batch && e->each; i++) {
        graph_data_destroy(e->data);
        e->data = open_data(e);
    }
    return read_drawn(e, &e->seed, e->block);
}

/* The loss and gradient of batch i of `all` whose gradients are added. */
static enum yp_status passes(struct epoch *e, const void *block, unsigned i, unsigned all)
{
    const struct graph_use use = {.gradient = true, .drops = true, .seed = e->steps};
    const unsigned back = NN_MODEL_BACK | (i > 0 ? NN_MODEL_ADD : 0);
    enum yp_status status = YP_OK;
    yp_phase (e->t, "load")
        status = graph_load(e->graph, block, use);
    yp_phase (e->t, "forward")
        status = status == YP_OK ? graph_pass(e->graph, e->x, 1, NULL, i == 0 ? NN_MODEL_COPY : 0)
                                 : status;
    yp_phase (e->t, "backward")
        status =
            status == YP_OK ? graph_pass(e->graph, e->x, 1.0 / all, e->gradient, back) : status;
    return status;
}

static void update(struct epoch *e)
{
    struct train_adamw how = train_adamw_defaults();
    yp_phase (e->t, "optimiser")
        train_adamw_step(&how, ++e->steps, e->parameters, e->gradient, e->m, e->v, e->x);
}

static enum yp_status step(struct epoch *e)
{
    enum yp_status status = YP_OK;
    const double began = ypi_now();
    for (unsigned i = 0; i < ACCUMULATE && status == YP_OK; i++) {
        yp_phase (e->t, "read")
            status = read(e);
        const double read_at = ypi_now();
        status = status == YP_OK ? passes(e, e->block, i, ACCUMULATE) : status;
        e->busy += ypi_now() - read_at;
    }
    const double passed = ypi_now();
    update(e);
    e->busy += ypi_now() - passed;
    e->all += ypi_now() - began;
    return status;
}

static void run(struct yp_case *t, const char *size, int samples)
{
    struct epoch e;
    enum yp_status status = YP_OK;
    enum nn_precision precision;
    yp_require(t, nn_precision_from_name(yp_string(t, "precision"), &precision), "no precision");
    epoch_open(&e, t, size, precision, BATCH);
    yp_measure (t, "step", .items = BATCH * ACCUMULATE, .unit = "graphs", .warmup = 1,
                .samples = samples)
        status = status == YP_OK ? step(&e) : status;
    yp_ok(t, status);
    const double rate = (double)e.steps * BATCH * ACCUMULATE / e.all;
    yp_value(t, "batches a second", rate / BATCH);
    yp_value(t, "graphs of an epoch", EPOCH_GRAPHS);
    yp_value(t, "minutes of an epoch", EPOCH_GRAPHS / rate / 60);
    yp_value(t, "utilisation", e.busy / e.all);
    graph_destroy(e.graph);
    graph_data_destroy(e.data);
}

/* Parsing for each graph, as the reference does, in one precision: it is the same in all. */
static bool is_measured(const struct yp_case *t)
{
    return strcmp(yp_string(t, "from"), "disk") == 0 ||
           strcmp(yp_string(t, "precision"), "fp32") == 0;
}

#define AXES \
    .axes = YP_AXES(yp_axis_string("from", "parsed each", "parsed once", "memory", "disk"), \
                    yp_axis_string("precision", "fp32", "bf16", "fp16")), \
    .filter = is_measured

YP_TEST(graph_epoch, base, .tags = "perf medium", .timeout = 900, AXES)
{
    run(t, "base", 5);
}

YP_TEST(graph_epoch, large, .tags = "perf large slow", .timeout = 3600, AXES)
{
    run(t, "12M", 3);
}

/* -- stages ------------------------------------------------------------------------------------ */

enum { STEPS = 2 }; /* of a sample */

static enum yp_status fill(void *arg, size_t index, void *data, uint8_t *labels, size_t *count)
{
    const struct epoch *e = arg;
    struct ypi_seed seed = ypi_seed_of(yp_seed(e->t), 4, index);
    (void)labels;
    *count = e->bytes;
    return read_drawn(e, &seed, data);
}

static void start_loader(struct epoch *e)
{
    const struct data_loader_options options = {.items = (size_t)1 << 20,
                                                .elements = e->bytes,
                                                .element_bytes = 1,
                                                .workers = e->workers,
                                                .depth = 8,
                                                .consumers = 1,
                                                .fill = fill,
                                                .arg = e};
    e->loader = data_loader_create(yp_device_cpu(), &options);
    e->status = e->loader != NULL ? e->status : yp_last_status();
}

/* Before a sample from a file that is on the disk alone: nothing is made ahead yet. */
static void chill(void *arg)
{
    struct epoch *e = arg;
    data_loader_destroy(e->loader);
    graph_data_destroy(e->data);
    e->loader = NULL;
    graph_tracks_forget(e->t, yp_tmp_path(e->t));
    e->data = open_data(e);
}

static enum yp_status staged_step(struct epoch *e)
{
    struct data_item item = {.data = NULL};
    enum yp_status status = YP_OK;
    const double began = ypi_now();
    yp_phase (e->t, "take")
        status = data_loader_take(e->loader, e->taken++, &item);
    const double taken_at = ypi_now();
    if (status == YP_OK) {
        status = passes(e, item.data, 0, 1);
        update(e);
        const enum yp_status given = data_loader_give_back(e->loader, &item);
        status = status == YP_OK ? given : status;
    }
    e->busy += ypi_now() - taken_at;
    e->all += ypi_now() - began;
    return status;
}

/* Workers at the batch that the model is trained with, sizes of batches with one worker. */
static bool is_staged(const struct yp_case *t)
{
    return yp_int(t, "batch") == BATCH || yp_int(t, "workers") == 1;
}

/* Steps of one batch each. "take" waits for a batch or makes it: built of plays, or copied from
 * memory or a file, and put together; "load" copies it to the model. */
YP_TEST(graph_epoch, stages, .tags = "perf medium", .timeout = 900,
        .axes = YP_AXES(yp_axis_string("from", "built", "memory", "disk", "cold disk"),
                        yp_axis_int("workers", 0, 1, 2, 3, 4), yp_axis_int("batch", 1, 4, 16, 64)),
        .filter = is_staged)
{
    struct epoch e;
    epoch_open(&e, t, "base", NN_FP32, (size_t)yp_int(t, "batch"));
    e.workers = (int)yp_int(t, "workers");
    if (!e.cold)
        start_loader(&e);
    yp_measure (t, "steps", .items = (double)(STEPS * e.batch), .unit = "graphs", .warmup = 1,
                .samples = 5, .reset = e.cold ? chill : NULL, .arg = &e) {
        if (e.loader == NULL && e.status == YP_OK)
            yp_phase (t, "start")
                start_loader(&e);
        for (int i = 0; i < STEPS && e.status == YP_OK; i++)
            e.status = staged_step(&e);
    }
    yp_ok(t, e.status);
    yp_value(t, "utilisation", e.busy / e.all);
    data_loader_destroy(e.loader);
    graph_destroy(e.graph);
    graph_data_destroy(e.data);
}
