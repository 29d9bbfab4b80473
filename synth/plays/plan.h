/* What is decided before the snap: tasks, starts, limits. For a play that goes to the right. */
#pragma once

#include "base/random/philox.h"
#include "synth/plays/plays.h"

/* Words of a play, one after the other. */
struct synth_draws {
    struct ypi_stream stream;
    uint32_t words[4];
    uint64_t next;
};
uint32_t synth_draw(struct synth_draws *draws);
float synth_draw_between(struct synth_draws *draws, float low, float high);

enum synth_task {
    SYNTH_TASK_PASS,
    SYNTH_TASK_RUN,    /* a route */
    SYNTH_TASK_BLOCK,  /* the rusher `mark` */
    SYNTH_TASK_RUSH,   /* at the passer */
    SYNTH_TASK_FOLLOW, /* the receiver `mark` */
    SYNTH_TASK_HOLD,   /* an area around (goal_x, goal_y) */
};

enum { SYNTH_LEGS = 3 };

/* A route: its length up to the first turn, then legs with a direction each, y positive away from
 * the middle. After the last one the receiver looks for room. */
struct synth_route {
    float depth;
    struct {
        float x, y, length;
    } legs[SYNTH_LEGS];
};

struct synth_plan {
    size_t players, frames, throw_frame;
    size_t offense, lines, receivers; /* players: receivers, passer, blockers; rushers, coverage */
    size_t rushers;
    float line, middle; /* x of the line of scrimmage, y of the ball */
    bool man, left;
    int down, to_go, formation, alignment, coverage;
    size_t target; /* of the receivers */
    enum synth_task task[SYNTH_PLAY_PLAYERS];
    size_t mark[SYNTH_PLAY_PLAYERS];
    unsigned delay[SYNTH_PLAY_PLAYERS]; /* of the reaction, in frames */
    float x[SYNTH_PLAY_PLAYERS], y[SYNTH_PLAY_PLAYERS];
    float goal_x[SYNTH_PLAY_PLAYERS], goal_y[SYNTH_PLAY_PLAYERS];
    float top[SYNTH_PLAY_PLAYERS];                /* speed */
    float agility[SYNTH_PLAY_PLAYERS];            /* largest acceleration */
    struct synth_route route[SYNTH_PLAY_PLAYERS]; /* of receivers */
    uint8_t position[SYNTH_PLAY_PLAYERS];
    uint16_t weight[SYNTH_PLAY_PLAYERS];
};

/* Where the passer stands among the players; without one the first blocker's place. */
static inline size_t synth_plan_passer(const struct synth_plan *plan)
{
    return plan->receivers;
}

struct synth_draws synth_play_draws(uint64_t seed, int week, uint64_t play);
size_t synth_plan_frames(const struct synth_plays *spec, struct synth_draws *draws);
/* Draws all of it but the number of frames, which is drawn first. */
void synth_plan_make(const struct synth_plays *spec, size_t frames, struct synth_draws *draws,
                     struct synth_plan *plan);
