/* The graph trajectory model beside PyTorch, whose GATv2 is written out in scatter operations:
 * eager and compiled, with and without dropout. */
#include "suites/perf/peers_graph.h"

#include "base/numbers/splitmix.h"
#include "suites/perf/peers.h"

#include <math.h>
#include <string.h>

/* -- the graphs ------------------------------------------------------------------------------- */

enum { PLAYERS = 22, WORDS = 8, RADIUS = 20, UNIT = 32 /* of a yard's parts */ };
enum {
    X,
    Y,
    SPEED,
    ACCELERATION,
    TURN,
    FACING,
    WEIGHT,
    ROLE,
    FRAME,
    FORMATION,
    ALIGNMENT,
    KNOWN,
    HEAD
};
enum { HISTORY = 4, FUTURE = 10, BYTES = HISTORY * GRAPH_MOTION + 2 * FUTURE };

/* The whole numbers that a node's arrays are made of. */
struct player {
    int64_t head[HEAD], tail[BYTES];
};

static uint64_t word(uint64_t seed, uint64_t index)
{
    return ypi_mix64(seed + (index + 1) * YPI_GOLDEN);
}

static struct player draw(uint64_t seed, size_t node)
{
    static const uint64_t below[HEAD] = {1440, 1600, 256, 256, 360, 360, 128, 5, 100, 8, 10, 3};
    struct player p;
    for (size_t i = 0; i < HEAD; i++) {
        const uint64_t w = word(seed, node * WORDS + i / 4) >> 16 * (i % 4) & 0xffff;
        p.head[i] = (int64_t)(w * below[i] >> 16);
    }
    for (size_t i = 0; i < BYTES; i++)
        p.tail[i] = (int64_t)(word(seed, node * WORDS + 3 + i / 8) >> 8 * (i % 8) & 0xff);
    return p;
}

static uint64_t hash_of(const struct player *p, size_t node)
{
    uint64_t hash = 0, at = 2 * node * (HEAD + BYTES) + 1;
    for (size_t i = 0; i < HEAD + BYTES; i++, at += 2)
        hash += (uint64_t)(i < HEAD ? p->head[i] : p->tail[i - HEAD]) * at;
    return hash;
}

/* The arrays, before they are constant. */
struct arrays {
    uint64_t *id;
    int32_t *first, *frame, *formation, *alignment, *role, *side, *incoming, *source;
    float *context, *coverage, *node, *motion, *target, *counts, *edge;
};

static void write_node(const struct arrays *a, const struct player *p, size_t i)
{
    const double degree = acos(-1) / 180;
    const double turn = (double)p->head[TURN] * degree, facing = (double)p->head[FACING] * degree;
    const double values[GRAPH_FEATURES] = {30 + (double)p->head[X] / UNIT,
                                           (double)p->head[Y] / UNIT,
                                           (double)p->head[SPEED] / UNIT,
                                           (double)p->head[ACCELERATION] / UNIT - 4,
                                           sin(turn),
                                           cos(turn),
                                           sin(facing),
                                           cos(facing),
                                           (double)p->head[WEIGHT] / 64 - 1};
    for (size_t k = 0; k < GRAPH_FEATURES; k++)
        a->node[i * GRAPH_FEATURES + k] = (float)values[k];
    const size_t motion = HISTORY * GRAPH_MOTION;
    for (size_t k = 0; k < motion; k++)
        a->motion[i * motion + k] = (float)(p->tail[k] - 128) / 256;
    for (size_t k = motion; k < BYTES; k++)
        a->target[i * 2 * FUTURE + k - motion] = (float)(p->tail[k] - 128) / 32;
    a->role[i] = (int32_t)p->head[ROLE];
    a->side[i] = i % PLAYERS < PLAYERS / 2 ? 0 : 1;
    a->counts[i] = 1;
}

static void write_graph(const struct arrays *a, const struct player *p, size_t g)
{
    a->id[g] = g;
    a->first[g + 1] = (int32_t)((g + 1) * PLAYERS);
    a->frame[g] = (int32_t)p->head[FRAME];
    a->formation[g] = (int32_t)p->head[FORMATION];
    a->alignment[g] = (int32_t)p->head[ALIGNMENT];
    a->context[g * GRAPH_CONTEXT] = (float)(1 + p->head[FORMATION] % 4);
    a->context[g * GRAPH_CONTEXT + 1] = (float)(1 + p->head[ALIGNMENT]);
    a->context[g * GRAPH_CONTEXT + 2] = (float)(p->head[KNOWN] - 1);
    a->coverage[g] = (float)(p->head[KNOWN] - 1);
}

/* The edges that end in node i; returns how many there are with those before. */
static size_t write_edges(const struct arrays *a, const struct player *players, size_t i,
                          size_t edges)
{
    const struct player *to = &players[i];
    const size_t first = i / PLAYERS * PLAYERS;
    for (size_t j = first; j < first + PLAYERS; j++) {
        const struct player *from = &players[j];
        const int64_t dx = from->head[X] - to->head[X], dy = from->head[Y] - to->head[Y];
        const int64_t square = dx * dx + dy * dy;
        if (square == 0 || square >= UNIT * RADIUS * UNIT * RADIUS)
            continue;
        const int64_t turn = (from->head[TURN] - to->head[TURN] + 540) % 360 - 180;
        float *edge = a->edge + edges * GRAPH_EDGE_FEATURES;
        edge[0] = (float)(sqrt((double)square) / (UNIT * RADIUS));
        edge[1] = (float)atan2((double)dy, (double)dx);
        edge[2] = (float)(from->head[SPEED] - to->head[SPEED]) / UNIT;
        edge[3] = (float)((double)turn / 180);
        edge[4] = a->side[i] == a->side[j] ? 1 : 0;
        a->source[edges++] = (int32_t)j;
    }
    return edges;
}

void peers_graphs(struct yp_case *t, size_t graphs, struct graph_batch *out)
{
    const size_t n = graphs * PLAYERS, most = n * (PLAYERS - 1);
    size_t edges = 0;
    uint64_t hash = 0;
#define NEW(count_, field_) .field_ = yp_alloc(t, (count_) * sizeof(*(struct arrays){0}.field_))
    const struct arrays a = {NEW(graphs, id),
                             NEW(graphs + 1, first),
                             NEW(graphs, frame),
                             NEW(graphs, formation),
                             NEW(graphs, alignment),
                             NEW(n, role),
                             NEW(n, side),
                             NEW(n + 1, incoming),
                             NEW(most, source),
                             NEW(graphs * GRAPH_CONTEXT, context),
                             NEW(graphs, coverage),
                             NEW(n * GRAPH_FEATURES, node),
                             NEW(n * HISTORY * GRAPH_MOTION, motion),
                             NEW(n * 2 * FUTURE, target),
                             NEW(n, counts),
                             NEW(most * GRAPH_EDGE_FEATURES, edge)};
#undef NEW
    struct player *players = yp_alloc(t, n * sizeof *players);
    a.first[0] = a.incoming[0] = 0;
    for (size_t i = 0; i < n; i++) {
        players[i] = draw(yp_seed(t), i);
        hash += hash_of(&players[i], i);
        write_node(&a, &players[i], i);
        if (i % PLAYERS == 0)
            write_graph(&a, &players[i], i / PLAYERS);
    }
    for (size_t i = 0; i < n; i++) {
        edges = write_edges(&a, players, i, edges);
        a.incoming[i + 1] = (int32_t)edges;
    }
    yp_data_hash(t, hash + edges);
    /* Nearness has no direction: both orders of edges are the same. */
    *out = (struct graph_batch){.graphs = graphs,
                                .nodes = n,
                                .edges = edges,
                                .history = HISTORY,
                                .future = FUTURE,
                                .id = a.id,
                                .first = a.first,
                                .frame = a.frame,
                                .formation = a.formation,
                                .alignment = a.alignment,
                                .context = a.context,
                                .coverage = a.coverage,
                                .node = a.node,
                                .role = a.role,
                                .side = a.side,
                                .motion = a.motion,
                                .target = a.target,
                                .counts = a.counts,
                                .incoming = a.incoming,
                                .source = a.source,
                                .edge = a.edge,
                                .outgoing = a.incoming,
                                .end = a.source};
}

/* -- PyTorch ---------------------------------------------------------------------------------- */

/* The sizes of the benchmark. */
static bool is_measured(const struct yp_case *t)
{
    return strcmp(yp_string(t, "size"), "base") == 0 ||
           (yp_int(t, "graphs") == 16 && strcmp(yp_string(t, "mode"), "train") == 0);
}

YP_COMMAND(peers, torch_graph, .tags = PEERS_TAGS, .timeout = 1800, .filter = is_measured,
           .axes = YP_AXES(yp_axis_string("size", "base", "12M"), yp_axis_int("graphs", 16, 64),
                           yp_axis_string("mode", "inference", "train"),
                           yp_axis_string("form", "eager", "compile")),
           .command = PEER("graph", "{size} {graphs} {mode} {form} {seed} 2"),
           .environment = "OMP_NUM_THREADS=2 MKL_NUM_THREADS=2");

#define OURS(case_) "perf/graph.c::step[" case_ "]"
#define THEIRS(case_, form_) "perf/peers_graph.c::torch_graph[" case_ "-form=" form_ "]"
#define BESIDE(name_, what_, case_, least_) \
    PEERS_SAME_IMAGE(graph_##name_##_same, OURS(case_), THEIRS(case_, "eager")); \
    PEERS_FASTER(graph_##name_##_eager, what_, OURS(case_), THEIRS(case_, "eager"), least_); \
    PEERS_FASTER(graph_##name_##_compiled, what_, OURS(case_), THEIRS(case_, "compile"), least_)

BESIDE(base_16, "step", "size=base-graphs=16-mode=train", 3);
BESIDE(base_64, "step", "size=base-graphs=64-mode=train", 3);
BESIDE(base_16_inference, "inference", "size=base-graphs=16-mode=inference", 1);
BESIDE(base_64_inference, "inference", "size=base-graphs=64-mode=inference", 1);
BESIDE(large_16, "step", "size=12M-graphs=16-mode=train", 1.3);
