/* How the players of a plan move. */
#pragma once

#include "synth/plays/plan.h"

enum { SYNTH_MOMENTS = 8 }; /* that are kept: a reaction may be this old, less one */

struct synth_moment {
    float x[SYNTH_PLAY_PLAYERS], y[SYNTH_PLAY_PLAYERS];
    float vx[SYNTH_PLAY_PLAYERS], vy[SYNTH_PLAY_PLAYERS];
};

struct synth_motion {
    const struct synth_plan *plan;
    size_t frame;
    struct synth_moment moments[SYNTH_MOMENTS]; /* frame t is at t % SYNTH_MOMENTS */
    float ax[SYNTH_PLAY_PLAYERS], ay[SYNTH_PLAY_PLAYERS];
    float face_x[SYNTH_PLAY_PLAYERS], face_y[SYNTH_PLAY_PLAYERS]; /* of length 1 */
    float ball_x, ball_y; /* where it lands; set at the throw */
    /* Of receivers: the direction of the present leg, what is left of it, and its number. */
    float leg_x[SYNTH_PLAY_PLAYERS], leg_y[SYNTH_PLAY_PLAYERS], leg_left[SYNTH_PLAY_PLAYERS];
    unsigned leg[SYNTH_PLAY_PLAYERS];
    float want_x[SYNTH_PLAY_PLAYERS], want_y[SYNTH_PLAY_PLAYERS]; /* the velocity asked for */
};

void synth_motion_begin(struct synth_motion *motion, const struct synth_plan *plan);
const struct synth_moment *synth_motion_now(const struct synth_motion *motion);
void synth_motion_step(struct synth_motion *motion); /* to the next frame */
