/* Graphs made of plays. A play of F frames has a graph for each frame t from `past` to
 * F - future - 1.
 *
 * Nodes are the players that are present in frame t, in the play's order. Step k of the motion is
 * the difference of the positions in frames t - past + k and t - past + k + 1, and its acceleration
 * that of the velocities k and k - 1, 0 where k is 0. A difference that needs the position of a
 * player who is absent is 0.
 *
 * There is an edge from j to i where 1e-5 < d and d < radius, with
 *     dx = x_j - x_i, dy = y_j - y_i, d = sqrt(dx dx + dy dy),
 * each operation rounded to float and none contracted. d is the same for both directions, so the
 * graph is symmetric: the nodes where the edges of a node begin are those where they end. Features
 * are computed in float, too: sine, cosine and arcus tangent by polynomials of exactly rounded
 * operations (relative error below 4e-7), so that all instruction sets give the same bits. */
#pragma once

#include "models/graph/play.h"

struct graph_rules {
    float radius;  /* yards, above 0 [20] */
    size_t past;   /* frames before the present one whose positions are read, 2 to 64 [5]; the
                      motion has one step less */
    size_t future; /* frames to come, 1 to 64 [10] */
};

#define GRAPH_RULES ((struct graph_rules){.radius = 20, .past = 5, .future = 10})

/* YP_INVALID with the field and what is allowed. */
enum yp_status graph_check_rules(const struct graph_rules *rules);

/* How many graphs the play has. */
static inline size_t graph_count(const struct graph_play *play, const struct graph_rules *rules)
{
    const size_t taken = rules->past + rules->future;
    return play->frames > taken ? play->frames - taken : 0;
}

/* The players of one graph, filled up with NaN to whole vectors. */
enum { GRAPH_LANES = 16, GRAPH_PLAYERS_PADDED = GRAPH_PLAYERS_MOST + GRAPH_LANES };
struct graph_players {
    size_t count;
    float x[GRAPH_PLAYERS_PADDED], y[GRAPH_PLAYERS_PADDED];
    float speed[GRAPH_PLAYERS_PADDED], acceleration[GRAPH_PLAYERS_PADDED];
    float direction[GRAPH_PLAYERS_PADDED], orientation[GRAPH_PLAYERS_PADDED]; /* in [0, 360) */
    float weight[GRAPH_PLAYERS_PADDED];
    int32_t role[GRAPH_PLAYERS_PADDED], side[GRAPH_PLAYERS_PADDED];
};

/* Where the arrays of one graph are written: (nodes, ...) as in struct graph_batch. */
struct graph_rows {
    float *node, *motion, *target, *counts;
    int32_t *role, *side;
};

/* The players that are present in frame t, and their motion, target and counts. */
void graph_read_play(const struct graph_play *play, size_t t, const struct graph_rules *rules,
                     struct graph_players *players, const struct graph_rows *rows);

/* Changes of a training's data. They are a function of the seed, the epoch and the graph's id. */
struct graph_augmentation {
    uint64_t seed, epoch; /* epoch: below 2^24 */
    float flip;           /* the probability that y becomes 53.3 - y and angles 180 - angle */
    float noise;          /* the deviation of what is added to present positions, in yards */
};

/* Flips all of it; noise moves the present positions, and targets by as much the other way. */
void graph_augment(const struct graph_augmentation *augmentation, uint64_t id,
                   const struct graph_rules *rules, struct graph_players *players,
                   const struct graph_rows *rows);

/* Writes the rows' node, role and side. */
void graph_write_nodes(struct graph_players *players, const struct graph_rows *rows);

/* How pairs are searched: by the definition, all of them by vectors, or those of neighbouring cells
 * of a grid. All give the same bits in the same order. The fastest is the grid only for some 200
 * players within a small radius. */
enum graph_search { GRAPH_FASTEST, GRAPH_PLAIN, GRAPH_PAIRS, GRAPH_GRID };

/* Edges by the node where they end: `first` (count + 1) counts from `edge_base` on, `source`
 * numbers nodes from `node_base` on. Room for count (count - 1) + 1 edges. Returns how many there
 * are. */
size_t graph_edges(enum graph_search search, struct graph_players *players, float radius,
                   int32_t node_base, int32_t edge_base, int32_t *first, int32_t *source,
                   float *edge);
