#include "synth/plays/motion.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { FULL_TURN = 36000 }; /* in hundredths of a degree */

/* ---- hundredths ---- */

static int32_t hundredths(float value)
{
    double scaled = (double)value * 100;
    return (int32_t)(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
}

/* The float that is nearest to the number that files have. */
static float of_hundredths(int32_t value)
{
    return (float)((double)value / 100);
}

/* The angle of (x, y) from +y, clockwise. arctan by Abramowitz and Stegun, 4.4.49. */
static int32_t angle(float x, float y, bool left)
{
    static const double terms[] = {.0028662257, -.0161657367, .0429096138, -.0752896400,
                                   .1065626393, -.1420889944, .1999355085, -.3333314528};
    double a = x < 0 ? -(double)x : (double)x, b = y < 0 ? -(double)y : (double)y;
    double z = a < b ? a / b : a > 0 ? b / a : 0, square = z * z, sum = 0;
    for (size_t i = 0; i < sizeof terms / sizeof *terms; i++)
        sum = (sum + terms[i]) * square;
    double degrees = (sum + 1) * z * 57.29577951308232;
    degrees = a < b ? degrees : 90 - degrees;
    degrees = y < 0 ? 180 - degrees : degrees;
    degrees = x < 0 ? 360 - degrees : degrees;
    return ((int32_t)(degrees * 100 + 0.5) + (left ? FULL_TURN / 2 : 0)) % FULL_TURN;
}

/* ---- a play ---- */

/* Places of the plan's players among those of the play. */
static void shuffle(struct synth_draws *d, size_t count, uint8_t *place)
{
    for (size_t i = 0; i < count; i++) {
        size_t k = synth_draw(d) % (i + 1);
        place[i] = (uint8_t)i;
        place[i] = place[k];
        place[k] = (uint8_t)i;
    }
}

static void name_players(const struct synth_plan *p, struct synth_draws *d, const uint8_t *place,
                         struct synth_play *out)
{
    for (size_t i = 0; i < p->players; i++)
        out->id[i] = (int32_t)(30000 + 100 * i + synth_draw(d) % 100);
    for (size_t i = 0; i < p->players; i++) {
        size_t k = place[i];
        enum synth_task task = p->task[i];
        out->role[k] = task == SYNTH_TASK_PASS                               ? SYNTH_PLAY_PASSER
                       : task == SYNTH_TASK_BLOCK || task == SYNTH_TASK_RUSH ? SYNTH_PLAY_BLOCK
                       : task != SYNTH_TASK_RUN                              ? SYNTH_PLAY_COVERAGE
                       : i == p->target                                      ? SYNTH_PLAY_TARGET
                                                                             : SYNTH_PLAY_ROUTE;
        out->side[k] = i < p->offense ? SYNTH_PLAY_OFFENSE : SYNTH_PLAY_DEFENSE;
        out->position[k] = p->position[i];
        out->weight[k] = p->weight[i];
    }
}

static int count_box(const struct synth_plan *p)
{
    int box = 0;
    for (size_t i = p->offense; i < p->players; i++) {
        float deep = p->x[i] - p->line, wide = p->y[i] - p->middle;
        box += deep < 6 && wide * wide < 49;
    }
    return box;
}

static void describe(const struct synth_plan *p, int week, uint64_t play, struct synth_play *out)
{
    enum { IN_GAME = 64 };
    out->game = 2023000000 + 10000 * (int64_t)week + (int64_t)(play / IN_GAME);
    out->play = 55 + 23 * (int64_t)(play % IN_GAME);
    out->week = week;
    out->players = p->players;
    out->frames = p->frames;
    out->throw_frame = p->throw_frame;
    out->left = p->left;
    out->down = p->down;
    out->to_go = p->to_go;
    out->line = p->left ? (int)SYNTH_PLAY_LENGTH - (int)p->line : (int)p->line;
    out->box = count_box(p);
    out->formation = p->formation;
    out->alignment = p->alignment;
    out->coverage = p->coverage;
}

static float along(float x, bool left)
{
    int32_t value = hundredths(x);
    return of_hundredths(left ? 12000 - value : value);
}

static float across(float y, bool left)
{
    int32_t value = hundredths(y);
    return of_hundredths(left ? 5330 - value : value);
}

static float norm(float x, float y)
{
    return of_hundredths(hundredths(YPI_SQRT(x * x + y * y)));
}

/* A player who hardly moves goes where he looks. */
static void put_frame(const struct synth_motion *m, const uint8_t *place, struct synth_play *out)
{
    const struct synth_moment *now = synth_motion_now(m);
    bool left = out->left;
    for (size_t i = 0; i < out->players; i++) {
        size_t at = m->frame * out->players + place[i];
        float vx = now->vx[i], vy = now->vy[i];
        bool stands = vx * vx + vy * vy < 0.05F * 0.05F;
        out->present[at] = 1;
        out->x[at] = along(now->x[i], left);
        out->y[at] = across(now->y[i], left);
        out->speed[at] = norm(vx, vy);
        out->acceleration[at] = norm(m->ax[i], m->ay[i]);
        int32_t facing = angle(m->face_x[i], m->face_y[i], left);
        out->orientation[at] = of_hundredths(facing);
        out->direction[at] = of_hundredths(stands ? facing : angle(vx, vy, left));
    }
}

static void remove_player(struct synth_play *play, size_t player, size_t first, size_t count)
{
    float *const arrays[] = {play->x,         play->y,          play->speed, play->acceleration,
                             play->direction, play->orientation};
    for (size_t t = first; t < first + count; t++) {
        size_t at = t * play->players + player;
        play->present[at] = 0;
        for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
            arrays[i][at] = NAN;
    }
}

static void remove_some(const struct synth_plays *spec, struct synth_draws *d,
                        struct synth_play *out)
{
    for (size_t i = 0; i < out->players; i++) {
        bool gone = (double)synth_draw(d) < spec->missing * 0x1p32;
        size_t count = 1 + synth_draw(d) % (out->frames / 2);
        size_t first = synth_draw(d) % (out->frames - count + 1);
        if (gone && out->role[i] != SYNTH_PLAY_TARGET)
            remove_player(out, i, first, count);
    }
}

/* ---- the interface ---- */

enum yp_status synth_plays_check(const struct synth_plays *spec)
{
    if (spec->players > SYNTH_PLAY_PLAYERS || spec->players == 1)
        return yp_set_error(YP_INVALID, "synth_plays.players is %zu: must be 2 to %d",
                            spec->players, SYNTH_PLAY_PLAYERS);
    if (spec->frames > SYNTH_PLAY_FRAMES || (spec->frames > 0 && spec->frames < 16))
        return yp_set_error(YP_INVALID, "synth_plays.frames is %zu: must be 16 to %d", spec->frames,
                            SYNTH_PLAY_FRAMES);
    if (!(spec->missing >= 0 && spec->missing <= 1))
        return yp_set_error(YP_INVALID, "synth_plays.missing is %g: must be 0 to 1", spec->missing);
    return YP_OK;
}

static enum yp_status check(const struct synth_plays *spec, int week, uint64_t play)
{
    if (week < 1 || week > SYNTH_PLAY_WEEKS)
        return yp_set_error(YP_INVALID, "week is %d: must be 1 to %d", week, SYNTH_PLAY_WEEKS);
    if (play >= SYNTH_PLAY_PLAYS)
        return yp_set_error(YP_INVALID, "play is %" PRIu64 ": must be below %d", play,
                            SYNTH_PLAY_PLAYS);
    return synth_plays_check(spec);
}

size_t synth_play_frames(const struct synth_plays *spec, int week, uint64_t play)
{
    struct synth_draws draws = synth_play_draws(spec->seed, week, play);
    return synth_plan_frames(spec, &draws);
}

enum yp_status synth_play_make(const struct synth_plays *spec, int week, uint64_t play,
                               struct synth_play *out)
{
    enum yp_status status = check(spec, week, play);
    if (status != YP_OK)
        return status;
    struct synth_draws draws = synth_play_draws(spec->seed, week, play);
    struct synth_plan plan;
    struct synth_motion motion;
    uint8_t place[SYNTH_PLAY_PLAYERS];
    synth_plan_make(spec, synth_plan_frames(spec, &draws), &draws, &plan);
    shuffle(&draws, plan.players, place);
    describe(&plan, week, play, out);
    name_players(&plan, &draws, place, out);
    synth_motion_begin(&motion, &plan);
    put_frame(&motion, place, out);
    while (motion.frame + 1 < plan.frames) {
        synth_motion_step(&motion);
        put_frame(&motion, place, out);
    }
    out->ball_x = along(motion.ball_x, plan.left);
    out->ball_y = across(motion.ball_y, plan.left);
    remove_some(spec, &draws, out);
    return YP_OK;
}
