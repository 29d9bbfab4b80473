/* The graph trajectory model by size, graphs of a batch and mode, on the graphs that PyTorch has in
 * peers_graph.c. */
#include "models/graph/plan.h"
#include "models/train/optimiser.h"
#include "suites/perf/peers_graph.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <yieldpoint/yieldpoint.h>

struct work {
    struct graph_options o;
    struct graph *graph;
    struct graph_batch batch;
    struct graph_use use;
    size_t parameters;
    float *x, *gradient, *m, *v; /* the last three: of training */
};

static float *zeros(struct yp_case *t, size_t count)
{
    float *x = yp_alloc(t, count * sizeof *x);
    memset(x, 0, count * sizeof *x);
    return x;
}

static void work_open(struct work *w, struct yp_case *t, enum nn_precision precision)
{
    *w = (struct work){.use = {.seed = yp_seed(t)}};
    yp_ok(t, graph_sized(yp_string(t, "size"), yp_device(t), &w->o));
    w->o.precision = precision;
    w->use.gradient = w->use.drops = strcmp(yp_string(t, "mode"), "train") == 0;
    w->parameters = graph_elements(&w->o, GRAPH_PARTS);
    peers_graphs(t, (size_t)yp_int(t, "graphs"), &w->batch);
    w->x = zeros(t, w->parameters);
    graph_draw(&w->o, yp_seed(t), w->x);
    if (w->use.gradient) {
        w->gradient = zeros(t, w->parameters);
        w->m = zeros(t, w->parameters);
        w->v = zeros(t, w->parameters);
    }
    w->graph = graph_create(&w->o);
    yp_got(t, w->graph);
}

/* What the arena has taken beside what was planned. */
static void compare_with_plan(struct yp_case *t, const struct work *w, size_t before)
{
    struct yp_memory now;
    const struct nn_model_bytes *bytes = nn_model_bytes(graph_model(w->graph));
    yp_device_memory(yp_device(t), &now);
    const double shares = (double)(w->batch.nodes + 2 * w->batch.graphs) * sizeof(double);
    const double taken = (double)(now.allocated - before) - (w->use.gradient ? shares : 0);
    yp_value(t, "bytes", taken);
    yp_value(t, "kept bytes", (double)bytes->kept);
    yp_value(t, "off the plan", taken - (double)bytes->arena);
}

/* 12M with 64 graphs takes a minute. */
static bool is_measured(const struct yp_case *t)
{
    return strcmp(yp_string(t, "size"), "base") == 0 || yp_int(t, "graphs") <= 16;
}

static void step(struct yp_case *t, enum nn_precision precision)
{
    struct work w;
    struct yp_memory before;
    struct train_adamw how = train_adamw_defaults();
    uint64_t steps = 0;
    enum yp_status status = YP_OK;
    work_open(&w, t, precision);
    yp_device_memory(yp_device(t), &before);
    yp_ok(t, graph_load(w.graph, &w.batch, w.use));
    yp_measure (t, w.use.gradient ? "step" : "inference", .items = (double)w.batch.graphs,
                .unit = "graphs", .flops = nn_model_flops(graph_model(w.graph)),
                .arithmetic = YP_FP32, .warmup = 1, .samples = 10) {
        yp_phase (t, "load")
            status = graph_load(w.graph, &w.batch, w.use);
        yp_phase (t, "forward")
            status = status == YP_OK ? graph_pass(w.graph, w.x, 1, NULL, NN_MODEL_COPY) : status;
        if (w.use.gradient) {
            yp_phase (t, "backward")
                status = status == YP_OK ? graph_pass(w.graph, w.x, 1, w.gradient, NN_MODEL_BACK)
                                         : status;
            yp_phase (t, "optimiser")
                train_adamw_step(&how, ++steps, w.parameters, w.gradient, w.m, w.v, w.x);
        }
    }
    yp_ok(t, status);
    yp_value(t, "edges", (double)w.batch.edges);
    compare_with_plan(t, &w, before.allocated);
    graph_destroy(w.graph);
}

#define AS_PLANNED \
    .budgets = YP_BUDGETS(yp_max_value("off the plan", 0), yp_min_value("off the plan", 0))

YP_TEST(graph, step, .tags = "perf medium", .filter = is_measured, .timeout = 600,
        .axes = YP_AXES(yp_axis_string("size", "base", "12M"), yp_axis_int("graphs", 1, 4, 16, 64),
                        yp_axis_string("mode", "inference", "train")),
        AS_PLANNED)
{
    step(t, NN_FP32);
}

/* Where the machine has no products of 16 bits, they are widened: memory is gained, not time. */
YP_TEST(graph, step_in_16_bits, .tags = "perf medium", .timeout = 600,
        .axes = YP_AXES(yp_axis_string("size", "base", "12M"), yp_axis_int("graphs", 16),
                        yp_axis_string("mode", "inference", "train"),
                        yp_axis_string("precision", "bf16", "fp16")),
        AS_PLANNED)
{
    enum nn_precision precision;
    yp_require(t, nn_precision_from_name(yp_string(t, "precision"), &precision), "no precision");
    step(t, precision);
}

/* -- memory by kind ---------------------------------------------------------------------------- */

/* Bytes that the device gave since the call before. */
static double taken(struct yp_case *t, size_t *before)
{
    struct yp_memory now;
    yp_device_memory(yp_device(t), &now);
    const double bytes = (double)now.allocated - (double)*before;
    *before = now.allocated;
    return bytes;
}

/* What one kind took, and what it was planned to; returns how far off that is. */
static double beside(struct yp_case *t, const char *kind, double got, size_t planned)
{
    char name[32];
    snprintf(name, sizeof name, "%s planned", kind);
    yp_value_unit(t, kind, got, "bytes");
    yp_value_unit(t, name, (double)planned, "bytes");
    return fabs(got - (double)planned);
}

/* What each kind takes beside the plan of `yieldpoint graph plan`, before any pass: these take
 * nothing, as `step` shows. The arena is one block; its kinds are the plan's alone. */
YP_TEST(graph, memory, .tags = "perf medium", .filter = is_measured,
        .axes = YP_AXES(yp_axis_string("size", "base", "12M"), yp_axis_int("graphs", 1, 4, 16, 64),
                        yp_axis_string("mode", "inference", "train")),
        .budgets = YP_BUDGETS(yp_max_value("off the plan", 0)))
{
    struct graph_options o;
    struct graph_batch batch;
    struct graph_memory plan;
    const bool trains = strcmp(yp_string(t, "mode"), "train") == 0;
    const struct graph_use use = {.gradient = trains, .drops = trains};
    size_t before;
    double off;
    yp_ok(t, graph_sized(yp_string(t, "size"), yp_device(t), &o));
    peers_graphs(t, (size_t)yp_int(t, "graphs"), &batch);
    yp_ok(t, graph_need(&o, &batch, trains ? GRAPH_TRAIN_STEP : GRAPH_FORWARD, &plan));
    const size_t parameters = graph_elements(&o, GRAPH_PARTS);
    before = 0;
    taken(t, &before);
    zeros(t, parameters);
    off = beside(t, "weights", taken(t, &before), plan.weights);
    if (trains) {
        zeros(t, parameters);
        off += beside(t, "gradients", taken(t, &before), plan.gradients);
        zeros(t, 2 * parameters);
        off += beside(t, "optimiser", taken(t, &before), plan.optimiser);
    }
    struct graph *graph = graph_create(&o);
    yp_got(t, graph);
    yp_ok(t, graph_load(graph, &batch, use));
    off += beside(t, "graph", taken(t, &before),
                  plan.host + plan.batch + plan.copies + plan.activations + plan.transients);
    yp_value_unit(t, "batch planned", (double)plan.batch, "bytes");
    yp_value_unit(t, "copies planned", (double)plan.copies, "bytes");
    yp_value_unit(t, "activations planned", (double)plan.activations, "bytes");
    yp_value_unit(t, "transients planned", (double)plan.transients, "bytes");
    yp_value_unit(t, "off the plan", off, "bytes");
    graph_destroy(graph);
}
