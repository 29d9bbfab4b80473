/* Memory and work of a pass over a batch of graphs, known before anything is taken. */
#pragma once

#include "models/graph/model.h"

enum graph_work { GRAPH_FORWARD, GRAPH_FORWARD_BACKWARD, GRAPH_TRAIN_STEP, GRAPH_WORKS };

/* Bytes by kind. */
struct graph_memory {
    size_t weights;     /* in float */
    size_t batch;       /* the graphs, on the device */
    size_t gradients;   /* as the weights */
    size_t optimiser;   /* AdamW's two moments */
    size_t copies;      /* of weights in 16 bits, and as versions prepare them */
    size_t activations; /* that wait for the backward pass */
    size_t transients;  /* other activations and gradients of them, workspace of operators, gaps */
    size_t host;        /* the description, and parts of the loss, on the CPU */
    size_t total;       /* all of them */
    double flops;       /* of the model's operators */
};

/* Of a pass over a batch with so many graphs, nodes and edges, whose arrays are not read; training
 * has drops. YP_INVALID: an option or a size is not allowed. */
enum yp_status graph_need(const struct graph_options *options, const struct graph_batch *sizes,
                          enum graph_work work, struct graph_memory *out);
