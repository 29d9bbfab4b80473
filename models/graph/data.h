/* Data sets of graphs: plays, their graphs, and batches of these. */
#pragma once

#include "models/graph/build.h"

struct graph_data;

/* Checks the plays and lists their graphs, play by play, frame by frame. The plays stay the
 * caller's, and as they are while the data set is in use. NULL with yp_last_error() set. */
struct graph_data *graph_data_of_plays(struct yp_device *device, const struct graph_play *plays,
                                       size_t count, const struct graph_rules *rules);
/* NULL is allowed. */
void graph_data_destroy(struct graph_data *data);

size_t graph_data_count(const struct graph_data *data); /* graphs */
/* (graphs): the number of the play that each is of. A split by it never parts a play. */
const uint32_t *graph_data_groups(const struct graph_data *data);
/* The frame of a graph, and its play. */
size_t graph_data_frame(const struct graph_data *data, size_t graph);
const struct graph_play *graph_data_play(const struct graph_data *data, size_t graph);

/* The bytes that a batch of so many graphs of this data set takes, at most. */
size_t graph_data_batch_bytes(const struct graph_data *data, size_t graphs);

/* Makes a batch of the graphs of these numbers, in this order. It is one block of memory, aligned
 * to 64 bytes, that begins with struct graph_batch; its arrays follow in the block. The id of a
 * graph is its number. `augmentation` NULL: none. Takes no memory; any number of threads may read
 * at the same time. YP_INVALID: no graph has that number, or the block is too small. */
enum yp_status graph_data_read(const struct graph_data *data, const uint32_t *graphs, size_t count,
                               const struct graph_augmentation *augmentation, void *block,
                               size_t bytes);
