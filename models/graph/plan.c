/* What a pass takes, by kind. */
#include "models/graph/plan.h"

#include "models/graph/internal.h"

enum yp_status graph_need(const struct graph_options *options, const struct graph_batch *sizes,
                          enum graph_work work, struct graph_memory *out)
{
    const size_t element = options->oracle ? sizeof(double) : sizeof(float);
    const struct graph_use use = {.losses = work != GRAPH_FORWARD,
                                  .gradient = work != GRAPH_FORWARD,
                                  .drops = work == GRAPH_TRAIN_STEP};
    struct graph *graph = graph_create(options);
    enum yp_status status = graph != NULL ? graph_plan(graph, sizes, use) : yp_last_status();
    if (status == YP_OK) {
        const struct nn_model_bytes *b = nn_model_bytes(graph_model(graph));
        const size_t vector = graph_elements(options, GRAPH_PARTS) * element;
        const size_t shared = b->constants + b->copies + b->prepared + b->kept;
        const size_t shares = use.losses ? graph_shares(sizes) * sizeof(double) : 0;
        *out = (struct graph_memory){.weights = vector,
                                     .batch = b->constants,
                                     .gradients = use.gradient ? vector : 0,
                                     .optimiser = work == GRAPH_TRAIN_STEP ? 2 * vector : 0,
                                     .copies = b->copies + b->prepared,
                                     .activations = b->kept,
                                     .transients = b->arena - shared,
                                     .host = graph_description(options) + shares,
                                     .flops = nn_model_flops(graph_model(graph))};
        out->total = vector + out->gradients + out->optimiser + b->arena + out->host;
    }
    graph_destroy(graph);
    return status;
}
