/* What the files of the graph model share. */
#pragma once

#include "models/graph/model.h"

/* What steps read beside parameters. */
struct constants {
    int node, role, side, motion, key; /* of nodes */
    int frame, formation, alignment, context, first, label;
    int incoming, source, edge, outgoing, end, edge_key;
    int point, target, place;
};

struct graph {
    struct graph_options o;
    struct nn_model *model;
    struct graph_tensor *tensors; /* of the names */
    size_t tensor_count, taken;
    struct constants constants;
    int mixture, logit, coverage; /* results */
    int likelihood, terms;        /* losses (nodes); -1: there is none */
    int cross_entropy, collision; /* losses (graphs) */
    struct graph_use use;
    size_t graphs, nodes, edges; /* of the plan */
    int drops;                   /* sites so far */
    void *arena;
    size_t arena_bytes;
    double *shares; /* (nodes), (graphs), (graphs): of each loss in the batch's; on the host */
    size_t share_count;
    double counted, covered; /* nodes and graphs that have a share */
    nn_model_ready *ready;   /* NULL: there is none */
    void *ready_arg;
};

/* How many shares a batch of that size has, where the model has losses. */
size_t graph_shares(const struct graph_batch *sizes);
