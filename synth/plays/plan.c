#include "synth/plays/plan.h"

#include "base/numbers/splitmix.h"

const char *const synth_play_formations[SYNTH_PLAY_FORMATIONS] = {
    "SHOTGUN", "EMPTY", "SINGLEBACK", "PISTOL", "I_FORM", "JUMBO", "WILDCAT"};
const char *const synth_play_alignments[SYNTH_PLAY_ALIGNMENTS] = {"2x2", "3x1", "3x2", "2x1", "4x1",
                                                                  "1x1", "4x0", "3x3", "3x0"};
enum { SHOTGUN, EMPTY, SINGLEBACK, PISTOL, I_FORM, JUMBO, WILDCAT };

static const float width = (float)SYNTH_PLAY_WIDTH;

/* ---- draws ---- */

/* A key of its own: scenes and tokens of the same seed have other words. */
struct synth_draws synth_play_draws(uint64_t seed, int week, uint64_t play)
{
    return (struct synth_draws){
        {ypi_mix64(seed ^ UINT64_C(0x706c617973)), play << 8 | (uint64_t)week}, {0}, 0};
}

uint32_t synth_draw(struct synth_draws *d)
{
    if (d->next % 4 == 0)
        ypi_philox_block(d->stream, d->next / 4, d->words);
    return d->words[d->next++ % 4];
}

float synth_draw_between(struct synth_draws *d, float low, float high)
{
    return low + (high - low) * ypi_uniform(synth_draw(d));
}

/* The first place whose share, summed up from the first on, is above a number below 100. */
static int draw_share(struct synth_draws *d, const int *shares, int count)
{
    int number = (int)(synth_draw(d) % 100), i = 0;
    while (i < count - 1 && number >= shares[i])
        number -= shares[i++];
    return i;
}

size_t synth_plan_frames(const struct synth_plays *spec, struct synth_draws *d)
{
    float u = synth_draw_between(d, 0, 1);
    return spec->frames > 0 ? spec->frames : 25 + (size_t)(75.99F * u * u);
}

/* ---- the offense ---- */

static const size_t left_right[SYNTH_PLAY_ALIGNMENTS][2] = {{2, 2}, {3, 1}, {3, 2}, {2, 1}, {4, 1},
                                                            {1, 1}, {4, 0}, {3, 3}, {3, 0}};

/* Numbers of players, and who lines up how. */
static void choose_formation(struct synth_plan *p, struct synth_draws *d)
{
    static const int alignments[SYNTH_PLAY_ALIGNMENTS] = {30, 30, 10, 10, 5, 4, 4, 2, 5};
    static const int formations[4][SYNTH_PLAY_FORMATIONS] = {
        {0, 100}, {60, 0, 22, 18}, {45, 0, 0, 0, 45, 0, 10}, {0, 0, 0, 0, 0, 60, 40}};
    p->alignment = draw_share(d, alignments, SYNTH_PLAY_ALIGNMENTS);
    size_t wide = left_right[p->alignment][0] + left_right[p->alignment][1];
    p->offense = (p->players + 1) / 2;
    p->lines = (p->offense - 1) / 2;
    p->receivers = p->offense == 1 ? 1 : p->offense - 1 - p->lines;
    if (wide > p->receivers && wide < p->offense)
        p->receivers = wide;
    p->lines = p->offense == 1 ? 0 : p->offense - 1 - p->receivers;
    if (wide > p->receivers)
        p->alignment = SYNTH_PLAY_ALIGNMENTS;
    size_t backs = wide > p->receivers ? 0 : p->receivers - wide;
    p->formation = draw_share(d, formations[backs < 3 ? backs : 3], SYNTH_PLAY_FORMATIONS);
    p->target = synth_draw(d) % p->receivers;
}

static float passer_depth(const struct synth_plan *p)
{
    bool under = p->formation == SINGLEBACK || p->formation == I_FORM || p->formation == JUMBO;
    return under ? 1.5F : p->formation == PISTOL ? 4.0F : 5.0F;
}

/* Receiver k of the wide ones: the first `strong` stand on the strong side, from the tackle out. */
static void place_wide(struct synth_plan *p, struct synth_draws *d, size_t k, size_t strong,
                       size_t weak, float side)
{
    size_t place = k < strong ? k : k - strong, of = k < strong ? strong : weak;
    side = k < strong ? side : -side;
    float room = (side > 0 ? width - p->middle : p->middle) - 9.5F;
    float out = 5.5F + room * ((float)(place + 1) / (float)of);
    p->y[k] = p->middle + side * (out + synth_draw_between(d, -0.7F, 0.7F));
    p->x[k] = p->line - (place % 2 == 0 ? 0.6F : 1.6F);
}

static void place_back(struct synth_plan *p, struct synth_draws *d, size_t k, size_t back)
{
    bool behind = p->formation == I_FORM || p->formation == PISTOL;
    float side = back % 2 == 0 ? 1.0F : -1.0F;
    if (back < 4) {
        p->x[k] = p->line - 4.0F - passer_depth(p) * 0.4F - (behind ? 2.4F : 0.8F) * (float)back;
        p->y[k] = p->middle + (behind ? 0.0F : side * 1.8F) + synth_draw_between(d, -0.3F, 0.3F);
    } else { /* more than football has: rows behind */
        size_t row = back / 20;
        p->x[k] = p->line - 9.0F - 1.6F * (float)row;
        p->y[k] = 5.0F + 2.2F * (float)(back % 20);
    }
}

/* Legs as fractions of a turn's direction; a length of 0: the route ends there. */
static const struct synth_route routes[] = {
    {60, {{0, 0, 0}}},                                         /* go */
    {3, {{0.80F, -0.60F, 14}, {1, 0, 20}}},                    /* slant */
    {9, {{0.10F, 0.99F, 9}, {1, 0, 12}}},                      /* out and up */
    {9, {{0.10F, -0.99F, 20}, {0.7F, -0.7F, 8}}},              /* in */
    {8, {{-0.80F, -0.60F, 3}, {-0.3F, 0.95F, 6}, {1, 0, 15}}}, /* curl */
    {11, {{0.85F, -0.53F, 25}}},                               /* post */
    {11, {{0.80F, 0.60F, 12}, {0.3F, -0.95F, 9}}},             /* corner */
    {4, {{0.15F, -0.99F, 25}, {0.6F, -0.8F, 10}}},             /* cross */
    {12, {{-0.90F, 0.44F, 4}, {0.98F, 0.2F, 15}}},             /* comeback */
};
static const struct synth_route flats[] = {
    {1.5F, {{0.20F, 0.98F, 8}, {0.98F, 0.2F, 15}}}, /* flat, wheel */
    {4, {{0.6F, -0.8F, 6}, {0.1F, 0.99F, 8}}},      /* angle */
    {6, {{-0.5F, 0.87F, 3}, {0.9F, 0.44F, 12}}},    /* check down */
};

static void choose_route(struct synth_plan *p, struct synth_draws *d, size_t k, bool back)
{
    size_t count = back ? sizeof flats / sizeof *flats : sizeof routes / sizeof *routes;
    p->route[k] = (back ? flats : routes)[synth_draw(d) % count];
    p->route[k].depth *= synth_draw_between(d, 0.8F, 1.3F);
}

static void set_player(struct synth_plan *p, struct synth_draws *d, size_t k, enum synth_task task,
                       enum synth_play_position position)
{
    static const struct {
        float pounds, top, agility;
    } kinds[SYNTH_PLAY_POSITIONS] = {
        [SYNTH_PLAY_QB] = {220, 6.5F, 6.0F}, [SYNTH_PLAY_WR] = {198, 9.3F, 7.2F},
        [SYNTH_PLAY_RB] = {214, 8.9F, 7.2F}, [SYNTH_PLAY_T] = {312, 5.5F, 5.5F},
        [SYNTH_PLAY_DE] = {272, 7.0F, 6.2F}, [SYNTH_PLAY_CB] = {194, 9.4F, 7.3F},
        [SYNTH_PLAY_FS] = {204, 9.2F, 7.0F}, [SYNTH_PLAY_LB] = {236, 8.6F, 6.8F},
    };
    p->task[k] = task;
    p->position[k] = (uint8_t)position;
    p->top[k] = kinds[position].top * synth_draw_between(d, 0.92F, 1.1F);
    p->agility[k] = kinds[position].agility * synth_draw_between(d, 0.9F, 1.08F);
    p->weight[k] = (uint16_t)(kinds[position].pounds * synth_draw_between(d, 0.92F, 1.08F));
    p->delay[k] = 3 + synth_draw(d) % 3;
}

static void place_offense(struct synth_plan *p, struct synth_draws *d)
{
    bool known = p->alignment < SYNTH_PLAY_ALIGNMENTS;
    size_t strong = known ? left_right[p->alignment][0] : 0;
    size_t weak = known ? left_right[p->alignment][1] : 0;
    float side = synth_draw(d) % 2 == 0 ? 1.0F : -1.0F;
    for (size_t k = 0; k < p->receivers; k++) {
        bool back = k >= strong + weak;
        set_player(p, d, k, SYNTH_TASK_RUN, back ? SYNTH_PLAY_RB : SYNTH_PLAY_WR);
        if (back)
            place_back(p, d, k, k - strong - weak);
        else
            place_wide(p, d, k, strong, weak, side);
        choose_route(p, d, k, back);
    }
    size_t passer = synth_plan_passer(p);
    if (passer == p->offense)
        return;
    set_player(p, d, passer, SYNTH_TASK_PASS, SYNTH_PLAY_QB);
    p->x[passer] = p->line - passer_depth(p);
    p->y[passer] = p->middle;
    p->goal_x[passer] = p->line - synth_draw_between(d, 6.0F, 9.0F);
    p->goal_y[passer] = p->middle + synth_draw_between(d, -3.0F, 3.0F);
    for (size_t k = 0; k < p->lines; k++) {
        size_t i = passer + 1 + k, row = k / 25, of = p->lines - 25 * row;
        set_player(p, d, i, SYNTH_TASK_BLOCK, SYNTH_PLAY_T);
        p->mark[i] = p->rushers == 0 ? passer : p->offense + k * p->rushers / p->lines;
        p->x[i] = p->line - 0.8F - 1.5F * (float)row;
        p->y[i] = p->middle + 1.5F * ((float)(k % 25) - (float)((of < 25 ? of : 25) - 1) / 2);
    }
}

/* ---- the defense ---- */

static void place_follower(struct synth_plan *p, struct synth_draws *d, size_t i, size_t receiver)
{
    set_player(p, d, i, SYNTH_TASK_FOLLOW, SYNTH_PLAY_CB);
    p->mark[i] = receiver;
    float cushion = synth_draw_between(d, 1.5F, 6.0F);
    p->x[i] = p->line + cushion;
    p->y[i] = p->y[receiver] + (p->y[receiver] < p->middle ? 0.8F : -0.8F);
    p->goal_x[i] = 0.4F * cushion; /* the distance that is kept */
}

/* Area `place` of `of` across the field. */
static void place_holder(struct synth_plan *p, struct synth_draws *d, size_t i, size_t place,
                         size_t of, bool deep)
{
    size_t row = place / 16;
    set_player(p, d, i, SYNTH_TASK_HOLD, deep ? SYNTH_PLAY_FS : SYNTH_PLAY_LB);
    p->goal_x[i] =
        p->line + (deep ? 15.0F : 6.5F) + synth_draw_between(d, -1.0F, 1.5F) + 3.0F * (float)row;
    p->goal_y[i] = width * ((float)place + 0.5F) / (float)of + synth_draw_between(d, -1.0F, 1.0F);
    p->x[i] = p->line + (p->goal_x[i] - p->line) * synth_draw_between(d, 0.55F, 0.8F);
    p->y[i] = p->middle + (p->goal_y[i] - p->middle) * synth_draw_between(d, 0.65F, 0.9F);
}

static void place_defense(struct synth_plan *p, struct synth_draws *d)
{
    size_t first = p->offense + p->rushers, cover = p->players - first;
    for (size_t k = 0; k < p->rushers; k++) {
        size_t i = p->offense + k, row = k / 20, of = p->rushers - 20 * row;
        set_player(p, d, i, SYNTH_TASK_RUSH, SYNTH_PLAY_DE);
        p->x[i] = p->line + 1.0F + 1.5F * (float)row + synth_draw_between(d, 0, 0.4F);
        p->y[i] = p->middle + 2.2F * ((float)(k % 20) - (float)((of < 20 ? of : 20) - 1) / 2);
    }
    size_t followers = !p->man ? 0 : cover < p->receivers ? cover : p->receivers;
    for (size_t k = 0; k < followers; k++) /* the targeted one has a follower in any case */
        place_follower(p, d, first + k, (p->target + k) % p->receivers);
    size_t rest = cover - followers, deep = p->man ? (rest + 1) / 2 : (rest * 3 + 6) / 7;
    for (size_t k = 0; k < rest; k++)
        place_holder(p, d, first + followers + k, k < deep ? k : k - deep,
                     k < deep ? deep : rest - deep, k < deep);
}

void synth_plan_make(const struct synth_plays *spec, size_t frames, struct synth_draws *d,
                     struct synth_plan *p)
{
    p->players = spec->players > 0 ? spec->players : 22;
    p->frames = frames;
    p->throw_frame = (size_t)((float)frames * synth_draw_between(d, 0.5F, 0.8F));
    p->left = synth_draw(d) % 2 == 1;
    p->man = synth_draw(d) % 100 < 45;
    p->coverage = synth_draw(d) % 100 < 2 ? SYNTH_PLAY_UNKNOWN
                  : p->man                ? SYNTH_PLAY_MAN
                                          : SYNTH_PLAY_ZONE;
    static const int downs[] = {40, 30, 25, 5};
    p->down = 1 + draw_share(d, downs, 4);
    int any = 1 + (int)(synth_draw(d) % 15);
    p->to_go = p->down == 1 ? 10 : any;
    p->line = (float)(20 + synth_draw(d) % 66);
    p->middle = width / 2 + synth_draw_between(d, -3.0F, 3.0F);
    size_t defense = p->players / 2, blitz = synth_draw(d) % 8;
    p->rushers = defense * 4 / 11;
    if (p->rushers > 1 && blitz < 2)
        p->rushers = blitz == 0 ? p->rushers + 1 : p->rushers - 1;
    choose_formation(p, d);
    place_offense(p, d);
    place_defense(p, d);
}
