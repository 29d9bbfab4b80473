/* Synthetic plays as graphs: what connects synth/plays with models/graph. */
#pragma once

#include "models/graph/data.h"
#include "models/graph/train.h"
#include "synth/plays/plays.h"

#include <yieldpoint/yieldpoint.h>

struct graph_plays {
    struct graph_play *plays; /* (count) */
    size_t count;
    struct graph_data *data;
    struct graph_augmentation augmentation; /* of training, where flip or noise is not 0 */
    void *block;                            /* a batch */
    size_t block_bytes;
    struct graph_source source; /* its graphs */
};

/* Plays 0 to count - 1 of week 1, with the case's seed, turned to the right; batches of up to
 * `batch` graphs. Memory is the case's. */
void graph_plays_open(struct graph_plays *f, struct yp_case *t, struct synth_plays spec,
                      size_t count, const struct graph_rules *rules, size_t batch);
void graph_plays_close(struct graph_plays *f);

/* A batch of these graphs; the next call makes another of it. */
const struct graph_batch *graph_plays_batch(struct graph_plays *f, struct yp_case *t,
                                            const uint32_t *graphs, size_t count);
