/* The graph model: its options, and its steps for a batch of any sizes. */
#include "models/graph/internal.h"

#include <string.h>

#define EPS 1e-5

/* A parameter: thirds or halves that are tensors of their own. */
struct slot {
    int tensor[3];
};

/* -- options ----------------------------------------------------------------------------------- */

enum yp_status graph_sized(const char *name, struct yp_device *device, struct graph_options *out)
{
    static const struct {
        const char *name;
        size_t hidden, heads, layers, modes;
    } sizes[] = {{"base", 64, 4, 4, 6}, {"9M", 256, 8, 6, 12}, {"12M", 256, 8, 8, 16}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (strcmp(name, sizes[i].name) == 0) {
            *out = (struct graph_options){.device = device,
                                          .hidden = sizes[i].hidden,
                                          .heads = sizes[i].heads,
                                          .layers = sizes[i].layers,
                                          .modes = sizes[i].modes,
                                          .blocks = 2,
                                          .inducing = 8,
                                          .features = GRAPH_FEATURES,
                                          .history = 4,
                                          .future = 10,
                                          .dropout = 0.1,
                                          .drop_path = 0.1,
                                          .losses = {.coverage = 0.5, .smoothing = 0.05}};
            return YP_OK;
        }
    return yp_set_error(YP_INVALID, "graph: there is no size '%s': must be base, 9M or 12M", name);
}

static enum yp_status check_sizes(const struct graph_options *o)
{
    const struct {
        const char *name;
        size_t value, low, high;
    } sizes[] = {{"hidden", o->hidden, 2, 4096},
                 {"heads", o->heads, 1, o->hidden},
                 {"layers", o->layers, 1, 64},
                 {"modes", o->modes, 1, 256},
                 {"blocks", o->blocks, 1, 64},
                 {"inducing", o->inducing, 1, 1024},
                 {"features", o->features, 1, GRAPH_FEATURES},
                 {"history", o->history, 1, 1024},
                 {"future", o->future, 1, 1024}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (sizes[i].value < sizes[i].low || sizes[i].value > sizes[i].high)
            return yp_set_error(YP_INVALID, "graph_options.%s is %zu: must be %zu to %zu",
                                sizes[i].name, sizes[i].value, sizes[i].low, sizes[i].high);
    return YP_OK;
}

static enum yp_status check_rates(const struct graph_options *o)
{
    const struct {
        const char *name;
        double value, high;
    } rates[] = {{"dropout", o->dropout, 0.99},
                 {"drop_path", o->drop_path, 0.99},
                 {"losses.coverage", o->losses.coverage, 1e6},
                 {"losses.smoothing", o->losses.smoothing, 1},
                 {"losses.velocity", o->losses.velocity, 1e6},
                 {"losses.acceleration", o->losses.acceleration, 1e6},
                 {"losses.winner", o->losses.winner, 1e6},
                 {"losses.likely", o->losses.likely, 1e6},
                 {"losses.endpoint", o->losses.endpoint, 1e6},
                 {"losses.collision", o->losses.collision, 1e6}};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
        if (!(rates[i].value >= 0 && rates[i].value <= rates[i].high))
            return yp_set_error(YP_INVALID, "graph_options.%s is %g: must be 0 to %g",
                                rates[i].name, rates[i].value, rates[i].high);
    return YP_OK;
}

enum yp_status graph_check_options(const struct graph_options *o)
{
    enum yp_status status = check_sizes(o);
    if (status == YP_OK && (o->hidden % o->heads != 0 || o->hidden % 2 != 0))
        status = yp_set_error(YP_INVALID,
                              "graph_options.hidden is %zu, heads %zu: hidden must be even and a "
                              "multiple of the heads",
                              o->hidden, o->heads);
    if (status == YP_OK)
        status = check_rates(o);
    if (status == YP_OK && o->precision != NN_FP32 && o->precision != NN_BF16 &&
        o->precision != NN_FP16)
        status =
            yp_set_error(YP_INVALID, "graph_options.precision is %s: must be fp32, bf16 or fp16",
                         nn_precision_name(o->precision));
    return status;
}

/* -- steps ------------------------------------------------------------------------------------- */

static int step(struct graph *g, const struct nn_operator *op, struct nn_shape shape,
                const int *inputs)
{
    return nn_model_step(g->model, op, shape, inputs);
}

/* The next tensor of the names, in so many parts, one behind the other. */
static struct slot take(struct graph *g, size_t parts)
{
    const struct graph_tensor *t = &g->tensors[g->taken++];
    struct slot slot = {{-1, -1, -1}};
    for (size_t k = 0; k < parts; k++)
        slot.tensor[k] = nn_model_parameter(g->model, t->name, t->count / parts);
    return slot;
}

/* A linear layer of rows x (n, in), with the next weight and bias. */
static int linear(struct graph *g, int x, size_t n, size_t out, size_t in)
{
    const int weight = take(g, 1).tensor[0], bias = take(g, 1).tensor[0];
    return step(g, &nn_linear, (struct nn_shape){.size = {n, out, in}}, (int[]){x, weight, bias});
}

static int norm(struct graph *g, int x, size_t n)
{
    const int gain = take(g, 1).tensor[0], shift = take(g, 1).tensor[0];
    return step(g, &nn_layer_norm, (struct nn_shape){.size = {n, g->o.hidden}, .setting = {EPS}},
                (int[]){x, gain, shift});
}

static int relu(struct graph *g, int x, size_t count)
{
    return step(g, &nn_relu, (struct nn_shape){.size = {count}}, &x);
}

static int add(struct graph *g, int x, int delta, size_t count)
{
    return step(g, &nn_add, (struct nn_shape){.size = {count}}, (int[]){x, delta});
}

/* Rows x (n, r, c), each with a key. Every call is a site with masks of its own. Where nothing is
 * left out the step is there for a gradient alone: a sum gives its terms one cotangent, which a
 * term that adds to the other's must not read any more. */
static int drop(struct graph *g, int x, int key, size_t n, size_t r, size_t c, double rate,
                bool whole)
{
    const int site = g->drops++;
    const bool drops = g->use.drops && rate > 0;
    if (!drops && !g->use.gradient)
        return x;
    return step(g, &nn_dropout,
                (struct nn_shape){.size = {n, r, c, 2}, .setting = {drops ? rate : 0, site, whole}},
                (int[]){x, key});
}

static int add_category(struct graph *g, int x, size_t n, int index, size_t categories,
                        size_t width)
{
    const int table = take(g, 1).tensor[0];
    return step(g, &nn_add_embedding,
                (struct nn_shape){.size = {n, g->o.hidden, categories, width}},
                (int[]){x, table, index});
}

/* z of each graph to its nodes. */
static int spread(struct graph *g, int x, int z, double factor)
{
    return step(g, &nn_segment_spread,
                (struct nn_shape){.size = {g->nodes, g->o.hidden, g->graphs, g->graphs + 1},
                                  .setting = {factor}},
                (int[]){x, z, g->constants.first});
}

static int mean_of_segments(struct graph *g, int x, size_t rows, size_t segments, int offset)
{
    return step(
        g, &nn_segment_sum,
        (struct nn_shape){.size = {rows, g->o.hidden, segments + 1, segments}, .setting = {1}},
        (int[]){x, offset});
}

/* -- encoder ----------------------------------------------------------------------------------- */

static int embed(struct graph *g)
{
    const struct constants *c = &g->constants;
    const size_t n = g->nodes, d = g->o.hidden;
    int x = relu(g, linear(g, c->node, n, d, g->o.features), n * d);
    x = add_category(g, x, n, c->role, GRAPH_ROLES, d);
    x = add_category(g, x, n, c->side, GRAPH_SIDES, d / 2);
    int z = relu(g, linear(g, c->context, g->graphs, d, GRAPH_CONTEXT), g->graphs * d);
    z = add_category(g, z, g->graphs, c->formation, GRAPH_FORMATIONS, d);
    z = add_category(g, z, g->graphs, c->alignment, GRAPH_ALIGNMENTS, d);
    z = add_category(g, z, g->graphs, c->frame, GRAPH_FRAMES, d);
    return spread(g, x, z, 1);
}

static int lstm(struct graph *g, int x, size_t in)
{
    int inputs[5] = {x};
    for (int i = 1; i < 5; i++)
        inputs[i] = take(g, 1).tensor[0];
    return step(
        g, &nn_lstm,
        (struct nn_shape){.size = {g->nodes, g->o.history, in, 4 * g->o.hidden, g->o.hidden}},
        inputs);
}

static int remember(struct graph *g)
{
    const size_t n = g->nodes, t = g->o.history, d = g->o.hidden;
    int y = lstm(g, g->constants.motion, GRAPH_MOTION);
    y = lstm(g, drop(g, y, g->constants.key, n, t, d, g->o.dropout, false), d);
    y = step(g, &nn_slice, (struct nn_shape){.size = {n, t, d, 1}, .setting = {(double)t - 1}}, &y);
    return linear(g, y, n, d, d);
}

static int layer(struct graph *g, int x, size_t i)
{
    const struct graph_options *o = &g->o;
    const struct constants *c = &g->constants;
    const size_t n = g->nodes, d = o->hidden, wide = o->heads * d;
    const double path = o->layers > 1 ? o->drop_path * (double)i / (double)(o->layers - 1) : 0;
    const int left = linear(g, x, n, wide, d), right = linear(g, x, n, wide, d);
    const int edge = take(g, 1).tensor[0], attention = take(g, 1).tensor[0],
              bias = take(g, 1).tensor[0];
    int u = step(g, &nn_gatv2,
                 (struct nn_shape){
                     .size = {n, o->heads, d, g->edges, GRAPH_EDGE_FEATURES, n + 1, g->edges + n},
                     .setting = {0.2}},
                 (int[]){left, right, c->edge, edge, attention, bias, c->incoming, c->source});
    u = drop(g, relu(g, u, n * d), c->key, n, 1, d, o->dropout, false);
    u = drop(g, u, c->key, n, 1, d, path, true);
    return norm(g, add(g, x, u, n * d), n);
}

static int meet(struct graph *g, int x)
{
    const struct constants *c = &g->constants;
    const size_t n = g->nodes, e = g->edges, d = g->o.hidden;
    const struct slot weight = take(g, 2), bias = take(g, 1);
    const struct nn_shape half = {.size = {n, d, d}};
    const int begin = step(g, &nn_linear, half, (int[]){x, weight.tensor[0], bias.tensor[0]});
    const int end = step(g, &nn_linear, half, (int[]){x, weight.tensor[1], -1});
    int m = step(g, &nn_edge_pair, (struct nn_shape){.size = {n, d, n + 1, e}},
                 (int[]){begin, end, c->outgoing, c->end});
    m = drop(g, m, c->edge_key, e, 1, d, g->o.dropout, false);
    m = linear(g, m, e, d, d);
    m = step(g, &nn_gate, (struct nn_shape){.size = {e * d}}, (int[]){m, linear(g, m, e, d, d)});
    m = mean_of_segments(g, m, e, n, c->outgoing);
    return norm(g, add(g, x, m, n * d), n);
}

static int see_scene(struct graph *g, int x)
{
    const struct graph_options *o = &g->o;
    const size_t n = g->nodes, d = o->hidden, rows = g->graphs * o->inducing;
    const int points = take(g, 1).tensor[0];
    const struct slot weight = take(g, 3), bias = take(g, 3);
    int q = step(g, &nn_embedding, (struct nn_shape){.size = {o->inducing, o->inducing, d}},
                 (int[]){points, g->constants.point}),
        qkv[3];
    for (int k = 0; k < 3; k++)
        qkv[k] = step(g, &nn_linear, (struct nn_shape){.size = {k == 0 ? o->inducing : n, d, d}},
                      (int[]){k == 0 ? q : x, weight.tensor[k], bias.tensor[k]});
    int y = step(g, &nn_segment_attention,
                 (struct nn_shape){
                     .size = {o->inducing, o->heads, d / o->heads, n, g->graphs + 1, g->graphs}},
                 (int[]){qkv[0], qkv[1], qkv[2], g->constants.first});
    y = linear(g, y, rows, d, d);
    y = step(g, &nn_attention_pool, (struct nn_shape){.size = {g->graphs, o->inducing, d}},
             (int[]){y, linear(g, y, rows, 1, d)});
    y = relu(g, linear(g, y, g->graphs, d, d), g->graphs * d);
    return spread(g, x, linear(g, y, g->graphs, d, d), 0.5);
}

/* -- decoder ----------------------------------------------------------------------------------- */

/* linear2(dropout(relu(linear1(x)))) of the decoder's rows. */
static int feed(struct graph *g, int x)
{
    const struct graph_options *o = &g->o;
    const size_t d = o->hidden;
    int inputs[] = {x, 0, 0, 0, 0, g->constants.key};
    for (int i = 1; i < 5; i++)
        inputs[i] = take(g, 1).tensor[0];
    return step(g, &nn_feed_forward,
                (struct nn_shape){.size = {g->nodes, o->modes * o->future, d, 4 * d, d, 2},
                                  .setting = {g->use.drops ? o->dropout : 0, g->drops++}},
                inputs);
}

/* Rows (nodes, modes, future) of an encoder block whose norms come last. */
static int block(struct graph *g, int x)
{
    const struct graph_options *o = &g->o;
    const size_t d = o->hidden, sequences = g->nodes * o->modes, n = sequences * o->future;
    const struct slot weight = take(g, 3), bias = take(g, 3);
    int qkv[3];
    for (int k = 0; k < 3; k++)
        qkv[k] = step(g, &nn_linear, (struct nn_shape){.size = {n, d, d}},
                      (int[]){x, weight.tensor[k], bias.tensor[k]});
    int y = step(g, &nn_attention,
                 (struct nn_shape){.size = {sequences, o->future, o->heads, d / o->heads}}, qkv);
    y = linear(g, y, n, d, d);
    y = drop(g, y, g->constants.key, g->nodes, o->modes * o->future, d, o->dropout, false);
    x = norm(g, add(g, x, y, n * d), n);
    y = feed(g, x);
    y = drop(g, y, g->constants.key, g->nodes, o->modes * o->future, d, o->dropout, false);
    return norm(g, add(g, x, y, n * d), n);
}

static void decode(struct graph *g, int x)
{
    const struct graph_options *o = &g->o;
    const size_t d = o->hidden, rows = g->nodes * o->modes * o->future;
    g->logit = linear(g, x, g->nodes, o->modes, d);
    const int mode = take(g, 1).tensor[0], position = take(g, 1).tensor[0];
    int y = step(g, &nn_mode_steps, (struct nn_shape){.size = {g->nodes, d, o->modes, o->future}},
                 (int[]){x, mode, position});
    for (size_t i = 0; i < o->blocks; i++)
        y = block(g, y);
    y = linear(g, relu(g, linear(g, y, rows, d, d), rows * d), rows, 5, d);
    g->mixture =
        step(g, &nn_mixture_head, (struct nn_shape){.size = {rows, 5}, .setting = {0.01, 10}}, &y);
}

static void classify(struct graph *g, int x)
{
    const int mean = mean_of_segments(g, x, g->nodes, g->graphs, g->constants.first);
    g->coverage = linear(g, mean, g->graphs, 1, g->o.hidden);
}

static void judge(struct graph *g)
{
    const struct graph_options *o = &g->o;
    const struct graph_losses *l = &o->losses;
    const struct constants *c = &g->constants;
    const int paths[] = {g->mixture, g->logit, c->target};
    struct nn_shape shape = {.size = {g->nodes, o->modes, o->future, 5, 2},
                             .setting = {1e-6, 1e-6}};
    g->likelihood = step(g, &nn_mixture_nll, shape, paths);
    g->cross_entropy =
        step(g, &nn_coverage_bce, (struct nn_shape){.size = {g->graphs}, .setting = {l->smoothing}},
             (int[]){g->coverage, c->label});
    g->terms = g->collision = -1;
    shape = (struct nn_shape){
        .size = {g->nodes, o->modes, o->future, 5, 2},
        .setting = {l->velocity, l->acceleration, l->winner, l->likely, l->endpoint}};
    if (l->velocity > 0 || l->acceleration > 0 || l->winner > 0 || l->endpoint > 0)
        g->terms = step(g, &nn_trajectory_terms, shape, paths);
    if (l->collision > 0)
        g->collision = step(g, &nn_collision,
                            (struct nn_shape){.size = {g->nodes, o->modes, o->future, 5,
                                                       g->graphs + 1, 2, g->graphs},
                                              .setting = {1}},
                            (int[]){g->mixture, g->logit, c->first, c->place});
    nn_model_keep(g->model, g->mixture);
    nn_model_keep(g->model, g->logit);
    nn_model_keep(g->model, g->coverage);
}

/* -- the model --------------------------------------------------------------------------------- */

static void name_constants(struct graph *g)
{
    const size_t n = g->nodes, e = g->edges, graphs = g->graphs;
    const struct graph_options *o = &g->o;
    struct constants *c = &g->constants;
    const struct {
        int *tensor;
        const char *name;
        enum nn_type type;
        size_t count;
        bool wanted;
    } all[] = {
        {&c->node, "node", NN_REAL, n * o->features, true},
        {&c->role, "role", NN_INT32, n, true},
        {&c->side, "side", NN_INT32, n, true},
        {&c->motion, "motion", NN_REAL, n * o->history * GRAPH_MOTION, true},
        {&c->key, "key", NN_INT32, 2 * n, true},
        {&c->frame, "frame", NN_INT32, graphs, true},
        {&c->formation, "formation", NN_INT32, graphs, true},
        {&c->alignment, "alignment", NN_INT32, graphs, true},
        {&c->context, "context", NN_REAL, graphs * GRAPH_CONTEXT, true},
        {&c->first, "first", NN_INT32, graphs + 1, true},
        {&c->label, "coverage", NN_REAL, graphs, g->use.losses},
        {&c->incoming, "incoming", NN_INT32, n + 1, true},
        {&c->source, "source", NN_INT32, e, true},
        {&c->edge, "edge", NN_REAL, e * GRAPH_EDGE_FEATURES, true},
        {&c->outgoing, "outgoing", NN_INT32, n + 1, true},
        {&c->end, "end", NN_INT32, e, true},
        {&c->edge_key, "edge key", NN_INT32, 2 * e, g->use.drops || g->use.gradient},
        {&c->point, "point", NN_INT32, o->inducing, true},
        {&c->target, "target", NN_REAL, n * o->future * 2, g->use.losses},
        {&c->place, "place", NN_REAL, n * 2, g->use.losses && o->losses.collision > 0},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        *all[i].tensor = all[i].wanted
                             ? nn_model_constant(g->model, all[i].name, all[i].type, all[i].count)
                             : -1;
}

static void build(struct graph *g)
{
    const size_t n = g->nodes * g->o.hidden;
    name_constants(g);
    int x = embed(g);
    x = add(g, x, remember(g), n);
    for (size_t i = 0; i < g->o.layers; i++)
        x = layer(g, x, i);
    x = see_scene(g, meet(g, x));
    decode(g, x);
    classify(g, x);
    if (g->use.losses)
        judge(g);
}

enum { STEPS_OF_A_LAYER = 9, STEPS_OF_A_BLOCK = 15, MORE_STEPS = 64, TENSORS_OF_A_STEP = 4 };

static struct nn_model_options model_options(const struct graph_options *o)
{
    struct graph_tensor t;
    size_t parameters = 0, steps = MORE_STEPS;
    while (graph_tensor(o, parameters, &t))
        parameters++;
    steps += o->layers * STEPS_OF_A_LAYER + o->blocks * STEPS_OF_A_BLOCK;
    return (struct nn_model_options){.device = o->device,
                                     .kind = o->kind,
                                     .precision = o->precision,
                                     .oracle = o->oracle,
                                     .plain = o->plain,
                                     .steps = steps,
                                     .tensors = TENSORS_OF_A_STEP * steps + 3 * parameters};
}

static size_t own_bytes(const struct graph_options *o, size_t *tensors)
{
    struct graph_tensor t;
    *tensors = 0;
    while (graph_tensor(o, *tensors, &t))
        ++*tensors;
    return sizeof(struct graph) + *tensors * sizeof t;
}

size_t graph_description(const struct graph_options *options)
{
    size_t tensors;
    if (graph_check_options(options) != YP_OK)
        return 0;
    const struct nn_model_options model = model_options(options);
    return own_bytes(options, &tensors) + nn_model_description(&model);
}

struct graph *graph_create(const struct graph_options *options)
{
    size_t tensors;
    if (graph_check_options(options) != YP_OK)
        return NULL;
    struct graph *g = yp_device_alloc(yp_device_cpu(), own_bytes(options, &tensors));
    if (g == NULL)
        return NULL;
    *g = (struct graph){
        .o = *options, .tensors = (struct graph_tensor *)(void *)(g + 1), .tensor_count = tensors};
    for (size_t i = 0; i < tensors; i++)
        graph_tensor(options, i, &g->tensors[i]);
    const struct nn_model_options model = model_options(options);
    g->model = nn_model_create(&model);
    if (g->model != NULL)
        return g;
    graph_destroy(g);
    return NULL;
}

void graph_destroy(struct graph *g)
{
    if (g == NULL)
        return;
    yp_device_free(g->o.device, g->arena);
    yp_device_free(yp_device_cpu(), g->shares);
    nn_model_destroy(g->model);
    yp_device_free(yp_device_cpu(), g);
}

const struct nn_model *graph_model(const struct graph *g)
{
    return g->model;
}

/* More bytes than a plan takes, in a number that has room for them. */
static double bytes_bound(const struct graph_options *o, const struct graph_batch *b)
{
    enum { WIDEST = 4, KEPT = 64, ELEMENT = 8 }; /* of the hidden size; arrays of a block */
    const double n = (double)b->nodes, h = (double)o->hidden, heads = (double)o->heads;
    const double future = (double)o->future, steps = (double)o->modes * future;
    const double rows = n * (steps + (double)o->history + heads) + (double)b->edges +
                        (double)b->graphs * (double)o->inducing;
    const double scores = n * steps * heads * (future + (double)o->inducing);
    return (rows * (h * WIDEST + GRAPH_FEATURES) + scores) * KEPT * ELEMENT *
           (double)(o->layers + o->blocks + 1);
}

enum yp_status graph_plan(struct graph *g, const struct graph_batch *sizes, struct graph_use use)
{
    if (sizes->graphs == 0 || sizes->graphs > INT32_MAX || sizes->nodes > INT32_MAX ||
        sizes->edges > INT32_MAX || sizes->history != g->o.history ||
        (use.losses && sizes->future != g->o.future))
        return yp_set_error(YP_INVALID,
                            "graph: a batch of %zu graphs, %zu nodes and %zu edges with history "
                            "%zu and future %zu: must be 1 to 2^31 - 1 graphs, as many nodes and "
                            "edges at most, history %zu and future %zu",
                            sizes->graphs, sizes->nodes, sizes->edges, sizes->history,
                            sizes->future, g->o.history, g->o.future);
    if (bytes_bound(&g->o, sizes) > 0x1p63)
        return yp_set_error(YP_INVALID,
                            "graph: a batch of %zu graphs, %zu nodes and %zu edges with hidden "
                            "%zu, %zu modes and future %zu: takes more bytes than are counted",
                            sizes->graphs, sizes->nodes, sizes->edges, g->o.hidden, g->o.modes,
                            g->o.future);
    g->use = use;
    g->use.losses = use.losses || use.gradient;
    g->graphs = sizes->graphs;
    g->nodes = sizes->nodes;
    g->edges = sizes->edges;
    g->taken = 0;
    g->drops = 0;
    nn_model_clear(g->model);
    build(g);
    return nn_model_plan(g->model, use.gradient ? NN_MODEL_GRADIENT : NN_MODEL_FORWARD);
}
