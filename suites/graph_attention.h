/* A layer of graph attention, its two projections and what nn_gatv2 does, as one model in two
 * forms: by that operator, and by operators that write arrays of edges times channels. */
#pragma once

#include "models/nn/model/model.h"

#include <yieldpoint/yieldpoint.h>

/* Graphs of 22 players. */
struct graph_attention_size {
    size_t graphs, heads, channels;
    double density; /* of the edges that there could be */
};

struct graph_attention {
    struct nn_model *model;
    size_t nodes, edges;
    int x, y;
    float *parameters, *gradient; /* the same in both forms */
    size_t parameter_count, x_count;
};

/* Of the case's seed: the same graphs, inputs, cotangents and parameters in both forms. The case
 * owns its memory, but for the model. */
void graph_attention_open(struct graph_attention *a, struct yp_case *t,
                          const struct graph_attention_size *size, bool fused);
/* Forward and gradient. */
void graph_attention_step(const struct graph_attention *a, struct yp_case *t);
void graph_attention_close(struct graph_attention *a);
