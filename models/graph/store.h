/* Graphs that were made once: records of a cache. For data.c. */
#pragma once

#include "models/graph/data.h"

struct graph_data {
    struct yp_device *device;
    struct graph_rules rules;
    const struct graph_play *plays; /* (play_count): without arrays where nobody has read them */
    size_t play_count;
    size_t count, players;       /* graphs; of a play at most */
    uint32_t *group;             /* (count): the play */
    uint32_t *frame;             /* (count) */
    struct graph_store *store;   /* NULL: graphs are made when they are read */
    struct graph_tracks *tracks; /* the data set's own; NULL: the plays are another's */
    struct graph_play *listed;   /* the same, of a file of graphs */
};

/* Lists the graphs of plays that are good. */
struct graph_data *graph_data_list(struct yp_device *device, const struct graph_play *plays,
                                   size_t count, const struct graph_rules *rules);

/* Edges of a graph of so many nodes, at most, and the one that graph_edges() may write behind
 * them. */
static inline size_t graph_edges_most(size_t nodes)
{
    return nodes * nodes - nodes + 1;
}

/* Nodes of a graph. */
static inline size_t graph_present(const struct graph_play *play, size_t frame)
{
    size_t count = 0;
    for (size_t i = 0; i < play->players; i++)
        count += play->present[frame * play->players + i] != 0;
    return count;
}

/* A graph, in the bytes of its record. */
struct graph_record {
    uint32_t *sizes;      /* nodes, edges */
    float *value[7];      /* (nodes): x, y, speed, ... as in struct graph_players */
    int32_t *role, *side; /* (nodes) */
    float *motion, *target, *counts;
    int32_t *first;  /* (nodes + 1) */
    float *edge;     /* (edges, GRAPH_EDGE_FEATURES) */
    uint8_t *source; /* (edges): nodes of the graph */
};

/* Record of a graph; it is the store's. Has the cache made again where it is damaged. */
enum yp_status graph_store_find(const struct graph_data *data, size_t graph,
                                struct graph_record *out);
void graph_record_players(const struct graph_record *record, const struct graph_rules *rules,
                          struct graph_players *players, const struct graph_rows *rows);
/* As graph_edges(). */
size_t graph_record_edges(const struct graph_record *record, int32_t node_base, int32_t edge_base,
                          int32_t *first, int32_t *source, float *edge);

void graph_store_close(struct graph_store *store); /* NULL is allowed */
