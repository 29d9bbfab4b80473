/* Training steps of the graph trajectory model from files of plays: what a cache of graphs, and
 * products in bf16, gain of the whole step. A step is that of the benchmark it is compared with: 12
 * batches of 16 graphs whose gradients are added, then one update. */
#include "suites/graph_tracks.h"

#include "base/numbers/splitmix.h"
#include "base/system/clock.h"
#include "models/graph/data.h"
#include "models/graph/model.h"
#include "models/train/optimiser.h"

#include <string.h>

enum { BATCH = 16, ACCUMULATE = 12, PLAYS = 100 };
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
    size_t bytes, parameters;
    float *x, *gradient, *m, *v;
    uint64_t steps;
    double busy, all; /* seconds of passes and updates, and of steps */
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

static void epoch_open(struct epoch *e, struct yp_case *t, const char *size)
{
    const char *from = yp_string(t, "from");
    const struct synth_plays spec = {.seed = yp_seed(t)};
    *e = (struct epoch){.t = t,
                        .each = strcmp(from, "parsed each") == 0,
                        .caching = {.where = strcmp(from, "memory") == 0 ? GRAPH_CACHE_MEMORY
                                             : strcmp(from, "disk") == 0 ? GRAPH_CACHE_DISK
                                                                         : GRAPH_CACHE_OFF,
                                    .threads = 1},
                        .seed = ypi_seed_of(yp_seed(t), 3, 0)};
    yp_ok(t, graph_sized(size, yp_device(t), &e->o));
    e->o.precision = strcmp(yp_string(t, "precision"), "bf16") == 0 ? NN_BF16 : NN_FP32;
    graph_tracks_write(t, yp_tmp_path(t), &spec, 1, PLAYS);
    e->data = open_data(e);
    e->bytes = graph_data_batch_bytes(e->data, BATCH);
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

static void draw(struct epoch *e, uint32_t graphs[BATCH])
{
    for (size_t i = 0; i < BATCH; i++)
        graphs[i] = (uint32_t)(ypi_seed_uniform(&e->seed) * (double)graph_data_count(e->data));
}

/* Graphs anywhere in the week. */
static enum yp_status read(struct epoch *e)
{
    uint32_t graphs[BATCH];
    draw(e, graphs);
    for (size_t i = 0; i < BATCH && e->each; i++) {
        graph_data_destroy(e->data);
        e->data = open_data(e);
    }
    return graph_data_read(e->data, graphs, BATCH, NULL, e->block, e->bytes);
}

static enum yp_status step(struct epoch *e)
{
    const struct graph_use use = {.gradient = true, .drops = true, .seed = e->steps};
    struct train_adamw how = train_adamw_defaults();
    enum yp_status status = YP_OK;
    const double began = ypi_now();
    for (unsigned i = 0; i < ACCUMULATE && status == YP_OK; i++) {
        yp_phase (e->t, "read")
            status = read(e);
        const double read_at = ypi_now();
        yp_phase (e->t, "load")
            status = status == YP_OK ? graph_load(e->graph, e->block, use) : status;
        yp_phase (e->t, "forward")
            status = status == YP_OK
                         ? graph_pass(e->graph, e->x, 1, NULL, i == 0 ? NN_MODEL_COPY : 0)
                         : status;
        yp_phase (e->t, "backward")
            status = status == YP_OK ? graph_pass(e->graph, e->x, 1.0 / ACCUMULATE, e->gradient,
                                                  NN_MODEL_BACK | (i > 0 ? NN_MODEL_ADD : 0))
                                     : status;
        e->busy += ypi_now() - read_at;
    }
    const double passed = ypi_now();
    yp_phase (e->t, "optimiser")
        train_adamw_step(&how, ++e->steps, e->parameters, e->gradient, e->m, e->v, e->x);
    e->busy += ypi_now() - passed;
    e->all += ypi_now() - began;
    return status;
}

static void run(struct yp_case *t, const char *size, size_t samples)
{
    struct epoch e;
    enum yp_status status = YP_OK;
    epoch_open(&e, t, size);
    yp_measure (t, "step", .items = BATCH * ACCUMULATE, .unit = "graphs", .warmup = 1,
                .samples = samples)
        status = status == YP_OK ? step(&e) : status;
    yp_ok(t, status);
    const double rate = (double)e.steps * BATCH * ACCUMULATE / e.all;
    yp_value(t, "batches a second", rate / BATCH);
    yp_value(t, "minutes of an epoch", EPOCH_GRAPHS / rate / 60);
    yp_value(t, "utilisation", e.busy / e.all);
    graph_destroy(e.graph);
    graph_data_destroy(e.data);
}

/* Parsing for each graph, as the reference does, in one precision: it is the same in both. */
static bool is_measured(const struct yp_case *t)
{
    return strcmp(yp_string(t, "from"), "disk") == 0 ||
           strcmp(yp_string(t, "precision"), "fp32") == 0;
}

#define AXES \
    .axes = YP_AXES(yp_axis_string("from", "parsed each", "parsed once", "memory", "disk"), \
                    yp_axis_string("precision", "fp32", "bf16")), \
    .filter = is_measured

YP_TEST(graph_epoch, base, .tags = "perf medium", .timeout = 900, AXES)
{
    run(t, "base", 5);
}

YP_TEST(graph_epoch, large, .tags = "perf large slow", .timeout = 3600, AXES)
{
    run(t, "12M", 3);
}
