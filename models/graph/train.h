/* Graphs as a trainer's items. */
#pragma once

#include "models/graph/model.h"
#include "models/train/trainer.h"

/* Where graphs come from. */
struct graph_source {
    size_t graphs;
    const uint32_t *play; /* (graphs): graphs of one play are not split; NULL: each is its own */
    /* Graphs `index` (count), in this order. `epoch` counts from 0, or is negative: the graphs as
     * they are, without augmentation. What *out points to is the source's until the next call. */
    enum yp_status (*read)(void *arg, const uint32_t *index, size_t count, int64_t epoch,
                           struct graph_batch *out);
    void *arg;
    bool augments; /* read() changes the graphs: a checkpoint is of a training that does, or not */
};

struct graph_trainee;

/* Copies what it is given; `seed` is that of first values and of drops. `batch`: graphs that the
 * model takes at once. NULL with yp_last_error() set. */
struct graph_trainee *graph_trainee_create(const struct graph_options *options,
                                           const struct graph_source *source, size_t batch,
                                           uint64_t seed);
void graph_trainee_destroy(struct graph_trainee *trainee); /* NULL is allowed */

struct graph *graph_trainee_graph(struct graph_trainee *trainee);

/* (elements): first values. */
const float *graph_trainee_start(const struct graph_trainee *trainee);

/* The objective; the trainee's as long as it lives. Its weight is the number of nodes that count.
 * Its loss is the batch's (model.h), so that accumulated batches make that of a larger batch where
 * as many graphs for as many nodes have a known coverage. Its metrics, over the nodes that count,
 * are the displacement errors of models/metrics/metrics.h in yards, and the share of known
 * coverages that are told right. */
struct train_objective graph_trainee_objective(struct graph_trainee *trainee);
