#include "suites/graph_attention.h"

#include "base/random/stream.h"

#include <math.h>
#include <string.h>

#define SLOPE 0.2
enum { PLAYERS = 22, FEATURES = 5 };
enum { EDGES = 1, FEATURES_OF_EDGES, INPUTS, COTANGENTS, PARAMETERS }; /* streams */

/* Edges sorted by where they end, without self-loops and with one behind those of each node. */
struct graphs {
    size_t nodes, edges, rows;
    int32_t *offset, *source, *row_offset, *row_source;
    float *feature, *row_feature;
};

static float *normals(struct yp_case *t, uint64_t stream, size_t count)
{
    float *x = yp_alloc(t, count * sizeof *x);
    ypi_random_normals(YPI_LEVEL_AUTO, (struct ypi_stream){yp_seed(t), stream}, 0, count, x);
    return x;
}

static void add_self_loop(struct graphs *g, size_t i)
{
    const size_t begin = (size_t)g->offset[i], count = g->edges - begin;
    for (size_t f = 0; f < FEATURES; f++) {
        float sum = 0;
        for (size_t k = begin; k < g->edges; k++)
            sum += g->feature[k * FEATURES + f];
        g->row_feature[g->rows * FEATURES + f] = count > 0 ? sum / (float)count : 0;
    }
    g->row_source[g->rows++] = (int32_t)i;
}

static struct graphs graphs_of(struct yp_case *t, const struct graph_attention_size *size)
{
    const size_t nodes = size->graphs * PLAYERS, most = nodes * PLAYERS;
    struct graphs g = {.nodes = nodes,
                       .offset = yp_alloc(t, (nodes + 1) * sizeof(int32_t)),
                       .source = yp_alloc(t, most * sizeof(int32_t)),
                       .row_offset = yp_alloc(t, (nodes + 1) * sizeof(int32_t)),
                       .row_source = yp_alloc(t, most * sizeof(int32_t)),
                       .feature = normals(t, FEATURES_OF_EDGES, most * FEATURES),
                       .row_feature = yp_alloc(t, most * FEATURES * sizeof(float))};
    const float *chance = normals(t, EDGES, most);
    g.offset[0] = g.row_offset[0] = 0;
    for (size_t i = 0; i < nodes; i++) {
        for (size_t k = 0; k < PLAYERS; k++) {
            const size_t j = i / PLAYERS * PLAYERS + k;
            if (j == i || erfc((double)chance[i * PLAYERS + k] * sqrt(0.5)) / 2 > size->density)
                continue;
            memcpy(g.row_feature + g.rows * FEATURES, g.feature + g.edges * FEATURES,
                   FEATURES * sizeof *g.feature);
            g.source[g.edges++] = g.row_source[g.rows++] = (int32_t)j;
        }
        add_self_loop(&g, i);
        g.offset[i + 1] = (int32_t)g.edges;
        g.row_offset[i + 1] = (int32_t)g.rows;
    }
    return g;
}

/* -- the forms --------------------------------------------------------------------------------- */

enum { MOST = 8 };

/* The constants of a form, and what is in them. */
struct constants {
    int tensor[MOST];
    const void *from[MOST];
    size_t bytes[MOST];
    int count;
};

static int constant(struct nn_model *m, struct constants *c, const char *name, enum nn_type type,
                    size_t count, const void *from)
{
    const int tensor = nn_model_constant(m, name, type, count);
    c->tensor[c->count] = tensor;
    c->from[c->count] = from;
    c->bytes[c->count++] = count * sizeof(float); /* and of int32_t */
    return tensor;
}

static int fused_form(struct nn_model *m, struct constants *k, const struct graphs *g, size_t h,
                      size_t c, int left, int right, int edge, int attention, const float *zeros)
{
    const int feature = constant(m, k, "feature", NN_REAL, g->edges * FEATURES, g->feature);
    const int bias = constant(m, k, "bias", NN_REAL, c, zeros);
    const int offset = constant(m, k, "offset", NN_INT32, g->nodes + 1, g->offset);
    const int source = constant(m, k, "source", NN_INT32, g->edges, g->source);
    return nn_model_step(m, &nn_gatv2,
                         (struct nn_shape){.size = {g->nodes, h, c, g->edges, FEATURES,
                                                    g->nodes + 1, g->nodes + g->edges},
                                           .setting = {SLOPE}},
                         (int[]){left, right, feature, edge, attention, bias, offset, source});
}

static int unfused_form(struct nn_model *m, struct constants *k, const struct graphs *g, size_t h,
                        size_t c, int left, int right, int edge, int attention,
                        const int32_t *heads)
{
    const size_t n = g->nodes, r = g->rows, width = h * c;
    const int feature = constant(m, k, "feature", NN_REAL, r * FEATURES, g->row_feature);
    const int offset = constant(m, k, "offset", NN_INT32, n + 1, g->row_offset);
    const int source = constant(m, k, "source", NN_INT32, r, g->row_source);
    const int by_head = constant(m, k, "heads", NN_INT32, n + 1, heads);
    const int rows = nn_model_step(m, &nn_gather, (struct nn_shape){.size = {n, width, r}},
                                   (int[]){left, source});
    const int both = nn_model_step(m, &nn_segment_spread,
                                   (struct nn_shape){.size = {r, width, n, n + 1}, .setting = {1}},
                                   (int[]){rows, right, offset});
    const int projected = nn_model_step(
        m, &nn_linear, (struct nn_shape){.size = {r, width, FEATURES}}, (int[]){feature, edge, -1});
    const int z =
        nn_model_step(m, &nn_add, (struct nn_shape){.size = {r * width}}, (int[]){both, projected});
    const int leaky = nn_model_step(
        m, &nn_leaky_relu, (struct nn_shape){.size = {r * width}, .setting = {SLOPE}}, (int[]){z});
    const int logits = nn_model_step(m, &nn_head_dot, (struct nn_shape){.size = {r, h, c}},
                                     (int[]){leaky, attention});
    const int alpha =
        nn_model_step(m, &nn_segment_softmax, (struct nn_shape){.size = {r, h, n + 1, n}},
                      (int[]){logits, offset});
    const int weighed = nn_model_step(m, &nn_scale_rows, (struct nn_shape){.size = {r * h, c}},
                                      (int[]){rows, alpha});
    const int sums =
        nn_model_step(m, &nn_segment_sum, (struct nn_shape){.size = {r, width, n + 1, n}},
                      (int[]){weighed, offset});
    return nn_model_step(m, &nn_segment_sum,
                         (struct nn_shape){.size = {n * h, c, n + 1, n}, .setting = {1}},
                         (int[]){sums, by_head});
}

/* -- all --------------------------------------------------------------------------------------- */

/* Where the heads of each node begin, among those of all nodes. */
static int32_t *heads_of(struct yp_case *t, size_t nodes, size_t heads)
{
    int32_t *offset = yp_alloc(t, (nodes + 1) * sizeof *offset);
    for (size_t i = 0; i <= nodes; i++)
        offset[i] = (int32_t)(i * heads);
    return offset;
}

void graph_attention_open(struct graph_attention *a, struct yp_case *t,
                          const struct graph_attention_size *size, bool fused)
{
    const struct graphs g = graphs_of(t, size);
    const size_t h = size->heads, c = size->channels, width = h * c;
    const struct nn_model_options options = {
        .device = yp_device(t), .precision = NN_FP32, .steps = 16, .tensors = 64};
    const struct nn_shape projection = {.size = {g.nodes, width, c}};
    struct constants k = {0};
    float *zeros = yp_alloc(t, c * sizeof *zeros);
    memset(zeros, 0, c * sizeof *zeros);
    *a = (struct graph_attention){.model = nn_model_create(&options),
                                  .nodes = g.nodes,
                                  .edges = g.edges,
                                  .x_count = g.nodes * c,
                                  .parameter_count = width * (2 * c + FEATURES + 1)};
    yp_got(t, a->model);
    struct nn_model *m = a->model;
    a->x = nn_model_input(m, "x", g.nodes * c);
    const int w_left = nn_model_parameter(m, "w_left", width * c);
    const int w_right = nn_model_parameter(m, "w_right", width * c);
    const int edge = nn_model_parameter(m, "edge", width * FEATURES);
    const int attention = nn_model_parameter(m, "attention", width);
    const int left = nn_model_step(m, &nn_linear, projection, (int[]){a->x, w_left, -1});
    const int right = nn_model_step(m, &nn_linear, projection, (int[]){a->x, w_right, -1});
    a->y = fused ? fused_form(m, &k, &g, h, c, left, right, edge, attention, zeros)
                 : unfused_form(m, &k, &g, h, c, left, right, edge, attention,
                                heads_of(t, g.nodes, h));
    if (a->y < 0)
        yp_fail(t, "%s", yp_last_error());
    yp_ok(t, nn_model_plan(m, NN_MODEL_GRADIENT));
    nn_model_bind(m, yp_alloc(t, nn_model_bytes(m)->arena));
    for (int i = 0; i < k.count; i++)
        memcpy(nn_model_value(m, k.tensor[i]), k.from[i], k.bytes[i]);
    memcpy(nn_model_value(m, a->x), normals(t, INPUTS, a->x_count), a->x_count * sizeof(float));
    memcpy(nn_model_cotangent(m, a->y), normals(t, COTANGENTS, a->x_count),
           a->x_count * sizeof(float));
    a->parameters = normals(t, PARAMETERS, a->parameter_count);
    for (size_t i = 0; i < a->parameter_count; i++)
        a->parameters[i] /= sqrtf((float)c);
    a->gradient = yp_alloc(t, a->parameter_count * sizeof *a->gradient);
}

void graph_attention_step(const struct graph_attention *a, struct yp_case *t)
{
    yp_ok(t, nn_model_pass(a->model, a->parameters, a->gradient, 0));
}

void graph_attention_close(struct graph_attention *a)
{
    nn_model_destroy(a->model);
}
