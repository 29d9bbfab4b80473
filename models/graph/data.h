/* Data sets of graphs: plays, their graphs, and batches of these. */
#pragma once

#include "models/graph/build.h"
#include "models/graph/tracks.h"

struct graph_data;

/* Checks the plays and lists their graphs, play by play, frame by frame. The plays stay the
 * caller's, and as they are while the data set is in use. NULL with yp_last_error() set. */
struct graph_data *graph_data_of_plays(struct yp_device *device, const struct graph_play *plays,
                                       size_t count, const struct graph_rules *rules);

/* Where graphs that were made once are kept: nowhere, in memory (some 8 KiB for 22 players; not
 * accounted as the device's), or in a file that later data sets of the same plays read. */
enum graph_cache { GRAPH_CACHE_OFF, GRAPH_CACHE_MEMORY, GRAPH_CACHE_DISK };

struct graph_caching {
    enum graph_cache where;
    const char *path; /* of the file; NULL: graphs.cache in the directory of the plays */
    int threads;      /* that make graphs, 1 and more */
    /* `tell` gets the reason why a file is made again, `progress` how many graphs are made. NULL:
     * not called. */
    void (*tell)(void *arg, const char *text);
    void (*progress)(void *arg, size_t done, size_t graphs, double seconds_left);
    void *arg; /* of both */
};

/* Opens the file of graphs, or makes all graphs. A file of other plays, other rules or another
 * version of this code is made again, and so is one with a damaged record, as soon as that record
 * is read; caching->tell gets the reason. Call it once for a data set. */
enum yp_status graph_data_keep(struct graph_data *data, const struct graph_caching *caching);

/* A data set of the files of a directory (tracks.h). With a file of graphs that is good, plays are
 * not read: graph_data_play() then has no arrays. NULL with yp_last_error() set. */
struct graph_data *graph_data_open(struct yp_device *device, const char *directory,
                                   const struct graph_reading *reading,
                                   const struct graph_rules *rules,
                                   const struct graph_caching *caching);
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
 * graph is its number. `augmentation` NULL: none. Takes no memory, but where a cache is made again;
 * any number of threads may read at the same time. YP_INVALID: no graph has that number, or the
 * block is too small. */
enum yp_status graph_data_read(const struct graph_data *data, const uint32_t *graphs, size_t count,
                               const struct graph_augmentation *augmentation, void *block,
                               size_t bytes);
