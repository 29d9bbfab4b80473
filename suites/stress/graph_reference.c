/* The graph trajectory model beside PyTorch: models/graph/reference/make.py. */
#include "models/graph/files.h"
#include "suites/stress/reference.h"

#include <stdio.h>
#include <string.h>

static struct graph_options options_of(struct yp_case *t, const struct reference *r)
{
    struct graph_options o;
    yp_ok(t, graph_sized("base", reference_device(t, r), &o));
    o.oracle = r->way == REFERENCE_DOUBLE;
    o.plain = r->way == REFERENCE_PLAIN;
    const struct {
        const char *name;
        size_t *to;
    } sizes[] = {{"size.hidden", &o.hidden},   {"size.heads", &o.heads},
                 {"size.layers", &o.layers},   {"size.modes", &o.modes},
                 {"size.history", &o.history}, {"size.future", &o.future}};
    const struct {
        const char *name;
        double *to;
    } weights[] = {{"weight.coverage", &o.losses.coverage},
                   {"weight.velocity", &o.losses.velocity},
                   {"weight.acceleration", &o.losses.acceleration},
                   {"weight.winner", &o.losses.winner},
                   {"weight.likely", &o.losses.likely},
                   {"weight.endpoint", &o.losses.endpoint},
                   {"weight.collision", &o.losses.collision}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        *sizes[i].to = (size_t)reference_number(t, r, sizes[i].name);
    for (size_t i = 0; i < sizeof weights / sizeof *weights; i++)
        *weights[i].to = reference_number(t, r, weights[i].name);
    return o;
}

/* -- results ---------------------------------------------------------------------------------- */

static void add(struct reference *r, const char *name, size_t axes, const size_t *shape,
                const double *values)
{
    struct state_tensor tensor = {.axes = axes, .order = {0, 1, 2, 3}};
    snprintf(tensor.name, sizeof tensor.name, "%s", name);
    for (size_t i = 0; i < axes; i++)
        tensor.shape[i] = shape[i];
    reference_add(r, tensor, values, true);
}

static void add_results(struct yp_case *t, struct reference *r, const struct graph *graph,
                        const struct graph_options *o, const struct graph_batch *batch)
{
    const size_t shape[] = {batch->nodes, o->modes, o->future, 5};
    const size_t logits = shape[0] * shape[1], numbers = logits * shape[2] * shape[3];
    struct graph_loss *loss = yp_alloc_host(t, sizeof *loss);
    const struct graph_result result = {yp_alloc_host(t, numbers * sizeof(double)),
                                        yp_alloc_host(t, logits * sizeof(double)),
                                        yp_alloc_host(t, batch->graphs * sizeof(double))};
    yp_ok(t, graph_read(graph, result));
    yp_ok(t, graph_read_loss(graph, loss));
    add(r, "mixture", 4, shape, result.mixture);
    add(r, "logit", 2, shape, result.logit);
    add(r, "coverage", 1, &batch->graphs, result.coverage);
    add(r, "loss", 0, NULL, &loss->total);
    add(r, "loss.likelihood", 0, NULL, &loss->likelihood);
    add(r, "loss.coverage", 0, NULL, &loss->coverage);
    add(r, "loss.terms", 0, NULL, &loss->terms);
    add(r, "loss.collision", 0, NULL, &loss->collision);
}

/* A pass with the gradient over the file's weights and graphs. */
static void run(struct yp_case *t, struct reference *r)
{
    const struct graph_options o = options_of(t, r);
    const struct graph_use use = {.losses = true, .gradient = true};
    const size_t count = graph_elements(&o, GRAPH_PARTS), bytes = count * reference_element(r);
    struct state_vectors v = {.at = {yp_alloc_host(t, bytes)}, .wide = o.oracle};
    struct graph_batch batch;
    char path[512];
    yp_ok(t, graph_read_file(reference_path(r, "graphs.safetensors", path), &batch));
    yp_ok(t, state_load(reference_path(r, "weights.safetensors", path), graph_state, &o,
                        state_take_vectors, &v));
    struct graph *graph = graph_create(&o);
    void *parameters = yp_device_alloc(o.device, bytes),
         *gradient = yp_device_alloc(o.device, bytes);
    yp_got(t, graph);
    yp_got(t, parameters);
    yp_got(t, gradient);
    yp_ok(t, yp_device_copy(o.device, parameters, v.at[STATE_PARAMETERS], bytes));
    yp_ok(t, graph_load(graph, &batch, use));
    yp_ok(t, graph_pass(graph, parameters, 1, gradient, NN_MODEL_COPY));
    add_results(t, r, graph, &o, &batch);
    v.at[STATE_PARAMETERS] = reference_fetch(t, r, gradient, count);
    r->count += state_values_of(graph_state, &o, &v, ".grad", r->results + r->count);
    yp_device_free(o.device, parameters);
    yp_device_free(o.device, gradient);
    graph_destroy(graph);
    graph_give_back(&batch);
}

/* -- the test --------------------------------------------------------------------------------- */

/* A constant that is added to all scores changes no softmax. */
static bool is_rounding(const struct reference *r, const char *name)
{
    (void)r;
    return strcmp(name, "scene_encoder.pool_attention.bias.grad") == 0;
}

/* Some deviations are a hundredth of a yard. They make an error of a mean a hundred times larger in
 * loss and gradient, the same for all tensors: the ratio of two such errors is luck. */
YP_TEST(graph_reference, of, .tags = "stress small", .parallel = true,
        .budgets = YP_BUDGETS(
            REFERENCE_BUDGETS("what the graph trajectory model says of itself beside PyTorch"),
            yp_max_value("losses error", 1e-6), yp_max_value("gradient error", 2e-5)),
        .axes = YP_AXES(yp_axis_string("variant", "expected", "all_terms")))
{
    static struct reference r;
    r = (struct reference){.model = "graph",
                           .variant = yp_string(t, "variant"),
                           .all = strcmp(yp_string(t, "variant"), "expected") == 0,
                           .plain = 5e-5,
                           .run = run,
                           .is_rounding = is_rounding};
    reference_check(t, &r);
}
