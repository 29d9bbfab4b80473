/* Plays of American football from a seed: who stands where at the snap, and how all of them move,
 * ten frames a second, so that a model can learn it. A play depends on (spec, week, play) alone.
 *
 * Lengths are in yards, x from 0 to 120 along the field with both end zones, y from 0 to 53.3
 * across it. Angles are in degrees, 0 along +y, clockwise: 90 is along +x. Every value is a whole
 * number of hundredths, as files have it. Half of the plays go to the left: such a play is the one
 * that goes to the right with x' = 120 - x, y' = 53.3 - y and angles turned by 180.
 *
 * Frame 0 is the snap. Each player moves towards what its task asks for, at most SYNTH_PLAY_SPEED
 * fast and with at most SYNTH_PLAY_ACCELERATION, keeps a distance from all others and stays on the
 * field:
 * - A receiver runs a route of straight legs, slows down before each turn and turns earlier where a
 *   defender stands in its way. It evades the defenders around.
 * - A man defender follows one receiver, whom it watches, with the delay of its reaction. A zone
 *   defender watches the passer, holds an area and leans towards the receivers in it.
 * - A rusher runs at the passer, and a blocker stands between the two.
 * - From the throw on, the targeted receiver runs to where the ball lands, and so do the defenders
 *   near there. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yieldpoint/device.h>

enum {
    SYNTH_PLAY_PLAYERS = 200, /* most of a play */
    SYNTH_PLAY_FRAMES = 200,
    SYNTH_PLAY_WEEKS = 99,
    SYNTH_PLAY_PLAYS = 640000, /* of a week */
};
#define SYNTH_PLAY_SPEED 10.5
#define SYNTH_PLAY_ACCELERATION 8.0
#define SYNTH_PLAY_LENGTH 120.0
#define SYNTH_PLAY_WIDTH 53.3

enum synth_play_role {
    SYNTH_PLAY_COVERAGE,
    SYNTH_PLAY_ROUTE,
    SYNTH_PLAY_PASSER,
    SYNTH_PLAY_TARGET,
    SYNTH_PLAY_BLOCK, /* "Pass Block" of the offense, "Pass Rush" of the defense */
};
enum { SYNTH_PLAY_DEFENSE, SYNTH_PLAY_OFFENSE };
enum { SYNTH_PLAY_UNKNOWN = -1, SYNTH_PLAY_MAN, SYNTH_PLAY_ZONE };
enum synth_play_position {
    SYNTH_PLAY_QB,
    SYNTH_PLAY_WR,
    SYNTH_PLAY_RB,
    SYNTH_PLAY_T,
    SYNTH_PLAY_DE,
    SYNTH_PLAY_CB,
    SYNTH_PLAY_FS,
    SYNTH_PLAY_LB,
    SYNTH_PLAY_POSITIONS,
};
/* Places in these lists are the numbers of formations and alignments; the count is "unknown". */
enum { SYNTH_PLAY_FORMATIONS = 7, SYNTH_PLAY_ALIGNMENTS = 9 };
extern const char *const synth_play_formations[SYNTH_PLAY_FORMATIONS]; /* SHOTGUN, EMPTY, ... */
extern const char *const synth_play_alignments[SYNTH_PLAY_ALIGNMENTS]; /* 2x2, 3x1, ... */

struct synth_plays {
    uint64_t seed;
    size_t players; /* 2 to SYNTH_PLAY_PLAYERS; 0: 22. One half, rounded up, is the offense */
    size_t frames;  /* 16 to SYNTH_PLAY_FRAMES; 0: 25 to 100, differing by play */
    double missing; /* 0 to 1: part of the players who are absent for up to half of the frames; the
                       targeted receiver never is */
};

/* One play: some megabytes, to be allocated. Arrays of (frames, players) are dense: frame t of
 * player i is at t players + i. */
struct synth_play {
    int64_t game, play; /* the numbers that files have */
    int week;
    size_t players, frames;
    size_t throw_frame;   /* the first one with the ball in the air */
    bool left;            /* the offense goes towards x = 0 */
    int down, to_go;      /* 1 to 4; yards */
    int line;             /* x of the line of scrimmage */
    int box;              /* defenders near the line and the ball at the snap */
    int formation;        /* a place in synth_play_formations */
    int alignment;        /* a place in synth_play_alignments */
    int coverage;         /* SYNTH_PLAY_MAN or _ZONE; of some plays unknown */
    float ball_x, ball_y; /* where the ball lands */

    int32_t id[SYNTH_PLAY_PLAYERS]; /* ascending */
    uint8_t role[SYNTH_PLAY_PLAYERS], side[SYNTH_PLAY_PLAYERS], position[SYNTH_PLAY_PLAYERS];
    uint16_t weight[SYNTH_PLAY_PLAYERS]; /* pounds */

    /* (frames, players); NaN where the player is absent. Speed is in yards per second, acceleration
     * the change of velocity since the frame before, in yards per second squared. */
    uint8_t present[SYNTH_PLAY_FRAMES * SYNTH_PLAY_PLAYERS];
    float x[SYNTH_PLAY_FRAMES * SYNTH_PLAY_PLAYERS];
    float y[SYNTH_PLAY_FRAMES * SYNTH_PLAY_PLAYERS];
    float speed[SYNTH_PLAY_FRAMES * SYNTH_PLAY_PLAYERS];
    float acceleration[SYNTH_PLAY_FRAMES * SYNTH_PLAY_PLAYERS];
    float direction[SYNTH_PLAY_FRAMES * SYNTH_PLAY_PLAYERS];
    float orientation[SYNTH_PLAY_FRAMES * SYNTH_PLAY_PLAYERS];
};

/* YP_INVALID names the field that is out of range. */
enum yp_status synth_plays_check(const struct synth_plays *spec);
/* Makes play `play`, from 0, of a week, from 1. YP_INVALID names what is out of range. */
enum yp_status synth_play_make(const struct synth_plays *spec, int week, uint64_t play,
                               struct synth_play *out);
/* The number of its frames alone; the spec is a good one. */
size_t synth_play_frames(const struct synth_plays *spec, int week, uint64_t play);
