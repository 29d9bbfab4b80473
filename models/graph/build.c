/* Graphs made of plays: nodes, motion, targets, and their changes in training. */
#include "models/graph/build.h"

#include "base/numbers/splitmix.h"
#include "base/random/normal.h"

#include <math.h>
#include <string.h>

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

#define WIDTH 53.3F /* of the field */

enum yp_status graph_check_rules(const struct graph_rules *r)
{
    enum { MOST = 64 };
    if (!(r->radius > 0) || !isfinite(r->radius))
        return yp_set_error(YP_INVALID, "radius is %g: must be finite and above 0",
                            (double)r->radius);
    if (r->past < 2 || r->past > MOST || r->future < 1 || r->future > MOST)
        return yp_set_error(YP_INVALID,
                            "past is %zu and future %zu: must be 2 to %d, and 1 to %d frames",
                            r->past, r->future, MOST, MOST);
    return YP_OK;
}

/* -- a frame of a play ------------------------------------------------------------------------- */

static float within_turn(float degrees)
{
    if (degrees >= 0 && degrees < 360)
        return degrees;
    const float turned = degrees - 360 * floorf(degrees / 360);
    return turned < 360 ? turned : 0;
}

static void read_motion(const struct graph_play *p, size_t at, size_t steps, float *motion)
{
    float vx = 0, vy = 0;
    bool before = false;
    for (size_t k = 0; k < steps; k++, at += p->players, motion += GRAPH_MOTION) {
        const size_t next = at + p->players;
        const bool here = p->present[at] != 0 && p->present[next] != 0;
        const float now_x = here ? p->x[next] - p->x[at] : 0;
        const float now_y = here ? p->y[next] - p->y[at] : 0;
        motion[0] = now_x;
        motion[1] = now_y;
        motion[2] = here && before ? now_x - vx : 0;
        motion[3] = here && before ? now_y - vy : 0;
        vx = now_x;
        vy = now_y;
        before = here;
    }
}

/* Returns whether the player is present in all frames to come. */
static bool read_target(const struct graph_play *p, size_t at, size_t future, float *target)
{
    bool all = true;
    for (size_t k = 0; k < future; k++) {
        const size_t next = at + (k + 1) * p->players;
        all = all && p->present[next] != 0;
        target[2 * k] = p->x[next] - p->x[at];
        target[2 * k + 1] = p->y[next] - p->y[at];
    }
    if (!all)
        memset(target, 0, 2 * future * sizeof *target);
    return all;
}

void graph_read_play(const struct graph_play *p, size_t t, const struct graph_rules *r,
                     struct graph_players *players, const struct graph_rows *rows)
{
    const size_t steps = r->past - 1;
    size_t n = 0;
    for (size_t i = 0; i < p->players; i++) {
        const size_t at = t * p->players + i;
        if (p->present[at] == 0)
            continue;
        players->x[n] = p->x[at];
        players->y[n] = p->y[at];
        players->speed[n] = p->speed[at];
        players->acceleration[n] = p->acceleration[at];
        players->direction[n] = within_turn(p->direction[at]);
        players->orientation[n] = within_turn(p->orientation[at]);
        players->weight[n] = p->weight[i];
        players->role[n] = p->role[i];
        players->side[n] = p->side[i];
        read_motion(p, at - r->past * p->players, steps, rows->motion + n * steps * GRAPH_MOTION);
        rows->counts[n] = read_target(p, at, r->future, rows->target + n * r->future * 2);
        n++;
    }
    players->count = n;
}

/* -- changes ----------------------------------------------------------------------------------- */

static void flip(const struct graph_rules *r, struct graph_players *p,
                 const struct graph_rows *rows)
{
    for (size_t i = 0; i < p->count; i++) {
        p->y[i] = WIDTH - p->y[i];
        p->direction[i] = within_turn(180 - p->direction[i]);
        p->orientation[i] = within_turn(180 - p->orientation[i]);
    }
    for (size_t i = 0; i < p->count * (r->past - 1); i++) {
        rows->motion[i * GRAPH_MOTION + 1] = -rows->motion[i * GRAPH_MOTION + 1];
        rows->motion[i * GRAPH_MOTION + 3] = -rows->motion[i * GRAPH_MOTION + 3];
    }
    for (size_t i = 0; i < p->count * r->future; i++)
        rows->target[2 * i + 1] = -rows->target[2 * i + 1];
}

static void move(const struct graph_rules *r, struct graph_players *p,
                 const struct graph_rows *rows, size_t i, float dx, float dy)
{
    float *target = rows->target + i * r->future * 2;
    const float x = p->x[i] + dx, y = p->y[i] + dy;
    for (size_t k = 0; k < r->future && rows->counts[i] > 0; k++) {
        target[2 * k] -= x - p->x[i];
        target[2 * k + 1] -= y - p->y[i];
    }
    p->x[i] = x;
    p->y[i] = y;
}

void graph_augment(const struct graph_augmentation *a, uint64_t id, const struct graph_rules *r,
                   struct graph_players *p, const struct graph_rows *rows)
{
    /* Of a purpose of its own: the same seed serves dropout. */
    const struct ypi_stream stream = {ypi_mix64(a->seed + UINT64_C(0x6772617068)),
                                      a->epoch << 40 | id};
    uint32_t words[4];
    ypi_philox_block(stream, 0, words);
    if (ypi_uniform(words[0]) < a->flip)
        flip(r, p, rows);
    for (size_t i = 0; i < p->count && a->noise > 0; i++) {
        float dx, dy;
        ypi_philox_block(stream, 1 + i, words);
        ypi_normal_pair(words[0], words[1], &dx, &dy);
        move(r, p, rows, i, a->noise * dx, a->noise * dy);
    }
}
