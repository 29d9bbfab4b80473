/* Data sets of graphs, and batches. */
#include "models/graph/store.h"

#include "base/system/arena.h"

#include <string.h>

/* -- the list ---------------------------------------------------------------------------------- */

static void lay_out(struct graph_data *d, struct ypi_arena *arena)
{
    ypi_arena_take(arena, 1, sizeof *d);
    d->group = ypi_arena_take(arena, d->count, sizeof *d->group);
    d->frame = ypi_arena_take(arena, d->count, sizeof *d->frame);
}

static void list_graphs(struct graph_data *d)
{
    size_t at = 0;
    for (size_t i = 0; i < d->play_count; i++)
        for (size_t k = 0; k < graph_count(&d->plays[i], &d->rules); k++, at++) {
            d->group[at] = (uint32_t)i;
            d->frame[at] = (uint32_t)(d->rules.past + k);
        }
}

struct graph_data *graph_data_list(struct yp_device *device, const struct graph_play *plays,
                                   size_t count, const struct graph_rules *rules)
{
    struct graph_data set = {
        .device = device, .rules = *rules, .plays = plays, .play_count = count};
    for (size_t i = 0; i < count; i++) {
        set.count += graph_count(&plays[i], rules);
        set.players = plays[i].players > set.players ? plays[i].players : set.players;
    }
    if (count > UINT32_MAX || set.count > UINT32_MAX) {
        yp_set_error(YP_INVALID, "%zu graphs of %zu plays: must be below 2^32", set.count, count);
        return NULL;
    }
    struct ypi_arena arena = {0};
    lay_out(&set, &arena);
    arena = (struct ypi_arena){.base = yp_device_alloc(device, arena.used)};
    if (arena.base == NULL)
        return NULL;
    struct graph_data *d = (void *)arena.base;
    lay_out(&set, &arena);
    *d = set;
    list_graphs(d);
    return d;
}

struct graph_data *graph_data_of_plays(struct yp_device *device, const struct graph_play *plays,
                                       size_t count, const struct graph_rules *rules)
{
    enum yp_status status = graph_check_rules(rules);
    for (size_t i = 0; i < count && status == YP_OK; i++)
        status = graph_check_play(&plays[i]);
    return status == YP_OK ? graph_data_list(device, plays, count, rules) : NULL;
}

void graph_data_destroy(struct graph_data *d)
{
    if (d == NULL)
        return;
    graph_store_close(d->store);
    graph_tracks_free(d->tracks);
    yp_device_free(d->device, d->listed);
    yp_device_free(d->device, d);
}

size_t graph_data_count(const struct graph_data *d)
{
    return d->count;
}

const uint32_t *graph_data_groups(const struct graph_data *d)
{
    return d->group;
}

size_t graph_data_frame(const struct graph_data *d, size_t graph)
{
    return d->frame[graph];
}

const struct graph_play *graph_data_play(const struct graph_data *d, size_t graph)
{
    return &d->plays[d->group[graph]];
}

/* -- batches ----------------------------------------------------------------------------------- */

/* The arrays of a batch, to be written. */
struct arrays {
    uint64_t *id;
    int32_t *first, *frame, *formation, *alignment, *incoming, *source;
    float *context, *coverage, *edge;
    struct graph_rows rows;
};

static void lay_out_batch(struct ypi_arena *arena, const struct graph_rules *r, size_t graphs,
                          size_t nodes, size_t edges, struct arrays *a)
{
    ypi_arena_take(arena, 1, sizeof(struct graph_batch));
    a->id = ypi_arena_take(arena, graphs, sizeof *a->id);
    a->first = ypi_arena_take(arena, graphs + 1, sizeof *a->first);
    a->frame = ypi_arena_take(arena, graphs, sizeof *a->frame);
    a->formation = ypi_arena_take(arena, graphs, sizeof *a->formation);
    a->alignment = ypi_arena_take(arena, graphs, sizeof *a->alignment);
    a->context = ypi_arena_take(arena, graphs, GRAPH_CONTEXT * sizeof *a->context);
    a->coverage = ypi_arena_take(arena, graphs, sizeof *a->coverage);
    a->rows.node = ypi_arena_take(arena, nodes, GRAPH_FEATURES * sizeof(float));
    a->rows.role = ypi_arena_take(arena, nodes, sizeof(int32_t));
    a->rows.side = ypi_arena_take(arena, nodes, sizeof(int32_t));
    a->rows.motion = ypi_arena_take(arena, nodes, (r->past - 1) * GRAPH_MOTION * sizeof(float));
    a->rows.target = ypi_arena_take(arena, nodes, r->future * 2 * sizeof(float));
    a->rows.counts = ypi_arena_take(arena, nodes, sizeof(float));
    a->incoming = ypi_arena_take(arena, nodes + 1, sizeof *a->incoming);
    a->source = ypi_arena_take(arena, edges, sizeof *a->source);
    a->edge = ypi_arena_take(arena, edges, GRAPH_EDGE_FEATURES * sizeof *a->edge);
}

size_t graph_data_batch_bytes(const struct graph_data *d, size_t graphs)
{
    struct ypi_arena arena = {0};
    struct arrays arrays;
    lay_out_batch(&arena, &d->rules, graphs, graphs * d->players,
                  graphs * graph_edges_most(d->players), &arrays);
    return arena.used;
}

static struct graph_rows rows_from(const struct graph_rules *r, const struct graph_rows *rows,
                                   size_t node)
{
    return (struct graph_rows){.node = rows->node + node * GRAPH_FEATURES,
                               .motion = rows->motion + node * (r->past - 1) * GRAPH_MOTION,
                               .target = rows->target + node * r->future * 2,
                               .counts = rows->counts + node,
                               .role = rows->role + node,
                               .side = rows->side + node};
}

static void read_context(const struct graph_data *d, uint32_t graph, size_t at, struct arrays *a)
{
    const struct graph_play *play = graph_data_play(d, graph);
    const size_t part = (GRAPH_FRAMES - 1) * d->frame[graph] / play->frames;
    a->id[at] = graph;
    a->frame[at] = (int32_t)(part < GRAPH_FRAMES - 1 ? part : GRAPH_FRAMES - 1);
    a->formation[at] = play->formation;
    a->alignment[at] = play->alignment;
    a->context[at * GRAPH_CONTEXT] = play->down;
    a->context[at * GRAPH_CONTEXT + 1] = play->to_go;
    a->context[at * GRAPH_CONTEXT + 2] = (play->box - 7) / 2;
    a->coverage[at] = play->coverage;
}

/* Adds what the graph takes: nodes, and edges at most. */
static enum yp_status count_graph(const struct graph_data *d, size_t graph, bool changes,
                                  size_t *nodes, size_t *edges)
{
    if (graph >= d->count)
        return yp_set_error(YP_INVALID, "graph %zu: must be below %zu", graph, d->count);
    if (d->store == NULL) {
        const size_t present = graph_present(graph_data_play(d, graph), d->frame[graph]);
        *nodes += present;
        *edges += graph_edges_most(present);
        return YP_OK;
    }
    struct graph_record record;
    const enum yp_status status = graph_store_find(d, graph, &record);
    if (status != YP_OK)
        return status;
    *nodes += record.sizes[0];
    *edges += changes ? graph_edges_most(record.sizes[0]) : record.sizes[1];
    return YP_OK;
}

/* Writes a graph behind others; their nodes and edges are counted on. */
static enum yp_status read_graph(const struct graph_data *d, uint32_t graph,
                                 const struct graph_augmentation *augmentation, struct arrays *a,
                                 size_t *nodes, size_t *edges)
{
    struct graph_players players;
    struct graph_record record;
    const struct graph_rows rows = rows_from(&d->rules, &a->rows, *nodes);
    int32_t *first = a->incoming + *nodes, *source = a->source + *edges;
    float *edge = a->edge + *edges * GRAPH_EDGE_FEATURES;
    if (d->store != NULL) {
        const enum yp_status status = graph_store_find(d, graph, &record);
        if (status != YP_OK)
            return status;
        graph_record_players(&record, &d->rules, &players, &rows);
    } else {
        graph_read_play(graph_data_play(d, graph), d->frame[graph], &d->rules, &players, &rows);
    }
    if (augmentation != NULL)
        graph_augment(augmentation, graph, &d->rules, &players, &rows);
    graph_write_nodes(&players, &rows);
    *edges +=
        d->store != NULL && augmentation == NULL
            ? graph_record_edges(&record, (int32_t)*nodes, (int32_t)*edges, first, source, edge)
            : graph_edges(GRAPH_FASTEST, &players, d->rules.radius, (int32_t)*nodes,
                          (int32_t)*edges, first, source, edge);
    *nodes += players.count;
    return YP_OK;
}

enum yp_status graph_data_read(const struct graph_data *d, const uint32_t *graphs, size_t count,
                               const struct graph_augmentation *augmentation, void *block,
                               size_t bytes)
{
    struct arrays a;
    struct ypi_arena arena = {.base = block, .together = true};
    enum yp_status status = YP_OK;
    size_t nodes = 0, edges = 0, most = 0;
    for (size_t i = 0; i < count && status == YP_OK; i++)
        status = count_graph(d, graphs[i], augmentation != NULL, &nodes, &most);
    if (status != YP_OK)
        return status;
    lay_out_batch(&arena, &d->rules, count, nodes, most, &a);
    if (arena.overflow || arena.used > bytes || nodes > INT32_MAX || most > INT32_MAX)
        return yp_set_error(YP_INVALID,
                            "a batch of %zu graphs needs %zu bytes: the block has %zu, and nodes "
                            "and edges must be below 2^31",
                            count, arena.used, bytes);
    nodes = 0;
    for (size_t i = 0; i < count && status == YP_OK; i++) {
        a.first[i] = (int32_t)nodes;
        read_context(d, graphs[i], i, &a);
        status = read_graph(d, graphs[i], augmentation, &a, &nodes, &edges);
    }
    a.first[count] = (int32_t)nodes;
    a.incoming[nodes] = (int32_t)edges; /* without a graph, too */
    /* Both directions of an edge exist: nodes where edges begin are those where they end. */
    *(struct graph_batch *)block = (struct graph_batch){.graphs = count,
                                                        .nodes = nodes,
                                                        .edges = edges,
                                                        .history = d->rules.past - 1,
                                                        .future = d->rules.future,
                                                        .id = a.id,
                                                        .first = a.first,
                                                        .frame = a.frame,
                                                        .formation = a.formation,
                                                        .alignment = a.alignment,
                                                        .context = a.context,
                                                        .coverage = a.coverage,
                                                        .node = a.rows.node,
                                                        .role = a.rows.role,
                                                        .side = a.rows.side,
                                                        .motion = a.rows.motion,
                                                        .target = a.rows.target,
                                                        .counts = a.rows.counts,
                                                        .incoming = a.incoming,
                                                        .source = a.source,
                                                        .edge = a.edge,
                                                        .outgoing = a.incoming,
                                                        .end = a.source};
    return status;
}
