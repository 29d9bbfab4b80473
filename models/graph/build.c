/* Graphs made of plays: nodes, motion, targets, and their changes in training. */
#include "models/graph/build.h"

#include "base/numbers/splitmix.h"
#include "base/random/stream.h"

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

/* Of all players from one frame to another; `both`: present in both. */
struct step {
    float x[GRAPH_PLAYERS_MOST], y[GRAPH_PLAYERS_MOST];
    uint8_t both[GRAPH_PLAYERS_MOST];
};

static void take_step(const struct graph_play *p, size_t from, size_t to, struct step *step)
{
    const size_t n = p->players;
    const float *x = p->x + from * n, *y = p->y + from * n;
    const float *next_x = p->x + to * n, *next_y = p->y + to * n;
    const uint8_t *present = p->present + from * n, *next_present = p->present + to * n;
    for (size_t i = 0; i < n; i++) {
        step->x[i] = next_x[i] - x[i];
        step->y[i] = next_y[i] - y[i];
        step->both[i] = (present[i] != 0) & (next_present[i] != 0);
    }
}

/* Of the players `of` (count). */
static void read_motion(const struct graph_play *p, size_t t, const struct graph_rules *r,
                        const uint16_t *of, size_t count, float *motion)
{
    struct step steps[2];
    memset(steps[1].both, 0, p->players); /* before the first one there is none */
    for (size_t k = 0; k + 1 < r->past; k++) {
        const struct step *now = &steps[k % 2], *before = &steps[1 - k % 2];
        take_step(p, t - r->past + k, t - r->past + k + 1, &steps[k % 2]);
        for (size_t j = 0; j < count; j++) {
            const size_t i = of[j];
            const bool here = now->both[i] != 0, twice = here && before->both[i] != 0;
            float *to = motion + (j * (r->past - 1) + k) * GRAPH_MOTION;
            to[0] = here ? now->x[i] : 0;
            to[1] = here ? now->y[i] : 0;
            to[2] = twice ? now->x[i] - before->x[i] : 0;
            to[3] = twice ? now->y[i] - before->y[i] : 0;
        }
    }
}

/* Sets counts, and targets of 0 where that is 0. */
static void read_targets(const struct graph_play *p, size_t t, const struct graph_rules *r,
                         const uint16_t *of, size_t count, const struct graph_rows *rows)
{
    struct step step;
    uint8_t stays[GRAPH_PLAYERS_MOST];
    memset(stays, 1, p->players);
    for (size_t k = 0; k < r->future; k++) {
        take_step(p, t, t + 1 + k, &step);
        for (size_t i = 0; i < p->players; i++)
            stays[i] &= step.both[i];
        for (size_t j = 0; j < count; j++) {
            rows->target[2 * (j * r->future + k)] = step.x[of[j]];
            rows->target[2 * (j * r->future + k) + 1] = step.y[of[j]];
        }
    }
    for (size_t j = 0; j < count; j++) {
        rows->counts[j] = stays[of[j]];
        if (stays[of[j]] == 0)
            memset(rows->target + 2 * j * r->future, 0, 2 * r->future * sizeof *rows->target);
    }
}

void graph_read_play(const struct graph_play *p, size_t t, const struct graph_rules *r,
                     struct graph_players *players, const struct graph_rows *rows)
{
    uint16_t of[GRAPH_PLAYERS_MOST];
    size_t n = 0;
    for (size_t i = 0; i < p->players; i++) {
        of[n] = (uint16_t)i;
        n += p->present[t * p->players + i] != 0;
    }
    for (size_t j = 0; j < n; j++) {
        const size_t at = t * p->players + of[j];
        players->x[j] = p->x[at];
        players->y[j] = p->y[at];
        players->speed[j] = p->speed[at];
        players->acceleration[j] = p->acceleration[at];
        players->direction[j] = within_turn(p->direction[at]);
        players->orientation[j] = within_turn(p->orientation[at]);
        players->weight[j] = p->weight[of[j]];
        players->role[j] = p->role[of[j]];
        players->side[j] = p->side[of[j]];
    }
    players->count = n;
    read_motion(p, t, r, of, n, rows->motion);
    read_targets(p, t, r, of, n, rows);
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
    if (a->noise > 0) {
        float by[2 * GRAPH_PLAYERS_MOST];
        ypi_random_normals(YPI_LEVEL_AUTO, stream, 4, 2 * p->count, by);
        for (size_t i = 0; i < p->count; i++)
            move(r, p, rows, i, a->noise * by[2 * i], a->noise * by[2 * i + 1]);
    }
}
