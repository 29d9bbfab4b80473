/* Graphs of players: what the trajectory model reads. A graph is one frame of a play; its nodes are
 * the players that are present in that frame. Lengths are in yards, times in frames of 0.1 s,
 * angles in degrees. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <yieldpoint/device.h>

enum {
    GRAPH_FEATURES = 9, /* of a node: x, y, speed, acceleration, sine and cosine of the direction,
                           sine and cosine of the orientation, (weight in pounds - 200) / 50 */
    GRAPH_EDGE_FEATURES = 5, /* of an edge from j to i: distance / radius, atan2(y_j - y_i, x_j -
                                x_i), difference of speeds j - i, difference of directions j - i
                                wrapped to [-180, 180) / 180, 1 on the same side, else 0 */
    GRAPH_MOTION = 4,        /* of a step of the history: velocity x, y and acceleration x, y, as
                                differences of positions from frame to frame */
    GRAPH_CONTEXT = 3,       /* down, yards to go, (defenders in the box - 7) / 2 */
};

/* Categories; the last one of each is "unknown". */
enum {
    GRAPH_ROLES = 5,       /* defensive coverage, other route runner, passer, targeted receiver */
    GRAPH_SIDES = 3,       /* defense, offense */
    GRAPH_FRAMES = 100,    /* min(99, floor(99 frame / frames of the play)) */
    GRAPH_FORMATIONS = 8,  /* shotgun, empty, singleback, pistol, I form, jumbo, wildcat */
    GRAPH_ALIGNMENTS = 10, /* 2x2, 3x1, 3x2, 2x1, 4x1, 1x1, 4x0, 3x3, 3x0 */
};

/* Some graphs, one behind the other; nothing is padded. Nodes of a graph are neighbours in all
 * arrays. An edge j -> i connects nodes of one graph. Edges are sorted twice: by the node where
 * they end (`incoming`, with features) and by the node where they begin (`outgoing`), within a node
 * by the other end. All arrays are on the host and dense, the last axis fastest. The code that
 * fills the batch owns them. */
struct graph_batch {
    size_t graphs, nodes, edges;
    size_t history, future; /* steps of each */

    const uint64_t *id;       /* (graphs): of the graph in its data set; masks of dropout are
                                 functions of it */
    const int32_t *first;     /* (graphs + 1): the first node of each, and `nodes` */
    const int32_t *frame;     /* (graphs): category */
    const int32_t *formation; /* (graphs) */
    const int32_t *alignment; /* (graphs) */
    const float *context;     /* (graphs, GRAPH_CONTEXT) */
    const float *coverage;    /* (graphs): 0 man, 1 zone, negative: not known */

    const float *node;          /* (nodes, GRAPH_FEATURES) */
    const int32_t *role, *side; /* (nodes): categories */
    const float *motion;        /* (nodes, history, GRAPH_MOTION) */
    const float *target;        /* (nodes, future, 2): positions to come, less the present one */
    const float *counts;        /* (nodes): 1, or 0 where the loss leaves the node out, as a player
                                   who is not present in all frames to come */

    const int32_t *incoming; /* (nodes + 1): edges that end in node i are incoming[i] to
                                incoming[i + 1] - 1 */
    const int32_t *source;   /* (edges): where they begin, a number of the batch's nodes */
    const float *edge;       /* (edges, GRAPH_EDGE_FEATURES), in this order */
    const int32_t *outgoing; /* (nodes + 1) */
    const int32_t *end;      /* (edges): where edges that begin in node j end */
};

/* YP_INVALID, naming array and place: an offset, an index or a category is out of range, an edge
 * connects two graphs or is not in both orders, a number is not finite, a label is not one. */
enum yp_status graph_check_batch(const struct graph_batch *batch);
