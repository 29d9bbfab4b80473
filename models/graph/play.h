/* Plays: what graphs are made of. A play has one row for each frame of 0.1 s and one column for
 * each player. It goes to the right: x from 0 to 120 yards, y from 0 to 53.3; directions and
 * orientations are in degrees from +y on, clockwise, so that 90 is along +x. */
#pragma once

#include "models/graph/graph.h"

#include <stdbool.h>
#include <yieldpoint/device.h>

enum {
    GRAPH_PLAYERS_MOST = 256, /* of a play */
    GRAPH_FRAMES_MOST = 65536,
};

/* The code that fills the arrays owns them. Where a player is not present, the values of that frame
 * are not read. */
struct graph_play {
    int64_t game, play; /* its name in the source of the data */
    size_t frames, players;
    const uint8_t *present;            /* (frames, players): 1, or 0 */
    const float *x, *y;                /* (frames, players): yards */
    const float *speed, *acceleration; /* (frames, players): yards and seconds */
    const float *direction;            /* (frames, players): of the motion, in degrees */
    const float *orientation;          /* (frames, players): in degrees */
    const float *weight;               /* (players): pounds */
    const int32_t *role, *side;        /* (players): categories of graph.h */
    int32_t formation, alignment;      /* categories of graph.h */
    float down, to_go, box;            /* box: defenders in the box */
    float coverage;                    /* 0 man, 1 zone, negative: not known */
};

/* YP_INVALID with the play's name, the frame and the player, the field and what is allowed: sizes
 * within their limits, categories of graph.h, numbers within a million where a player is present.
 */
enum yp_status graph_check_play(const struct graph_play *play);
