/* Plays of American football: their motion is possible, their bits are known, their rows of CSV
 * hold what the arrays hold, and who looks back and around foresees more than who does not. */
#include "suites/worst.h"
#include "synth/plays/csv.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yieldpoint/yieldpoint.h>

#define STEP 0.1             /* seconds between frames */
#define DEGREES 57.295779513 /* of a radian */
#define ROUNDED 0.005        /* by which a value of two decimals may be off */
#define OUTSIDE 1.5          /* yards beyond the field that a player may get to */

static struct synth_play *play_of(struct yp_case *t)
{
    return yp_alloc_host(t, sizeof(struct synth_play));
}

static void make(struct yp_case *t, const struct synth_plays *spec, uint64_t number,
                 struct synth_play *play)
{
    yp_ok(t, synth_play_make(spec, 1, number, play));
}

/* ---- as if the play went to the right ---- */

struct turned {
    double x, y, speed, acceleration, direction, orientation;
};

static double turned_angle(const struct synth_play *play, float angle)
{
    return fmod((double)angle + (play->left ? 180 : 0), 360);
}

static struct turned turned(const struct synth_play *play, size_t frame, size_t player)
{
    size_t at = frame * play->players + player;
    double x = (double)play->x[at], y = (double)play->y[at];
    return (struct turned){play->left ? SYNTH_PLAY_LENGTH - x : x,
                           play->left ? SYNTH_PLAY_WIDTH - y : y,
                           (double)play->speed[at],
                           (double)play->acceleration[at],
                           turned_angle(play, play->direction[at]),
                           turned_angle(play, play->orientation[at])};
}

static double line_of(const struct synth_play *play)
{
    return play->left ? SYNTH_PLAY_LENGTH - play->line : play->line;
}

/* ---- motion ---- */

struct worst {
    double speed, acceleration, step, bend, outside, mismatch;
};

/* What the positions of three frames tell beside what the play says of speed and direction. */
static void judge_frame(const struct synth_play *play, size_t t, size_t i, struct worst *w)
{
    struct turned now = turned(play, t, i), before = turned(play, t - 1, i);
    double dx = now.x - before.x, dy = now.y - before.y, angle = now.direction / DEGREES;
    w->step = worse(hypot(dx, dy) / STEP, w->step);
    if (now.speed > 0.5) /* below, a hundredth of a yard is much of a step */
        w->mismatch =
            worse(hypot(dx - STEP * now.speed * sin(angle), dy - STEP * now.speed * cos(angle)),
                  w->mismatch);
    if (t < 2)
        return;
    struct turned first = turned(play, t - 2, i);
    double bend = hypot(dx - (before.x - first.x), dy - (before.y - first.y)) / (STEP * STEP);
    w->bend = worse(bend, w->bend);
}

static void judge(struct yp_case *t, const struct synth_play *play, struct worst *w)
{
    for (size_t frame = 0; frame < play->frames; frame++)
        for (size_t i = 0; i < play->players; i++) {
            struct turned now = turned(play, frame, i);
            double outside = worse(worse(-now.x, now.x - SYNTH_PLAY_LENGTH),
                                   worse(-now.y, now.y - SYNTH_PLAY_WIDTH));
            w->speed = worse(now.speed, w->speed);
            w->acceleration = worse(now.acceleration, w->acceleration);
            w->outside = worse(outside, w->outside);
            yp_require(t,
                       now.direction >= 0 && now.direction < 360 && now.orientation >= 0 &&
                           now.orientation < 360,
                       "play %lld, frame %zu, player %zu: angles %g and %g", (long long)play->play,
                       frame, i, now.direction, now.orientation);
            if (frame > 0)
                judge_frame(play, frame, i, w);
        }
}

/* Positions of two decimals tell a step to 0.01 sqrt 2 yards and a change of steps to 0.02 sqrt 2.
 */
YP_TEST(plays, possible, .tags = "stress small", .timeout = 120, .parallel = true,
        .axes = YP_AXES(yp_axis_int("players", 2, 5, 22, 200)))
{
    struct synth_plays spec = {.seed = yp_seed(t), .players = (size_t)yp_int(t, "players")};
    struct synth_play *play = play_of(t);
    struct worst w = {0, 0, 0, 0, -1, 0};
    size_t plays = spec.players > 100 ? 60 : 600;
    for (uint64_t k = 0; k < plays; k++) {
        make(t, &spec, k, play);
        judge(t, play, &w);
    }
    yp_value(t, "yards outside the field", w.outside);
    yp_expect(t, w.speed <= SYNTH_PLAY_SPEED + ROUNDED, "a speed of %g", w.speed);
    yp_expect(t, w.acceleration <= SYNTH_PLAY_ACCELERATION + ROUNDED, "an acceleration of %g",
              w.acceleration);
    yp_expect(t, w.step <= SYNTH_PLAY_SPEED + 0.01 * sqrt(2) / STEP, "a step at %g yards/s",
              w.step);
    yp_expect(t, w.bend <= SYNTH_PLAY_ACCELERATION + 0.02 * sqrt(2) / (STEP * STEP),
              "steps that differ by %g yards/s^2", w.bend);
    yp_expect(t, w.mismatch <= 0.02, "a step is %g yards off speed and direction", w.mismatch);
    yp_expect(t, w.outside <= OUTSIDE, "a player is %g yards outside the field", w.outside);
    yp_expect(t, w.speed > 9.5 && w.acceleration > 6.5, "the fastest has %g yards/s, %g yards/s^2",
              w.speed, w.acceleration);
}

/* ---- sides ---- */

/* At the snap both sides stand on theirs of the line and look across it, whichever way the play
 * goes, and after two seconds the receivers are beyond it. */
YP_TEST(plays, sides, .tags = "stress small", .timeout = 120, .parallel = true)
{
    enum { PLAYS = 3000, FRAMES = 32, LATER = 20 };
    struct synth_plays spec = {.seed = yp_seed(t), .frames = FRAMES};
    struct synth_play *play = play_of(t);
    double gained[2] = {0, 0}, receivers[2] = {0, 0};
    size_t left = 0;
    for (uint64_t k = 0; k < PLAYS; k++) {
        make(t, &spec, k, play);
        left += play->left;
        for (size_t i = 0; i < play->players; i++) {
            struct turned start = turned(play, 0, i), later = turned(play, LATER, i);
            double beyond = start.x - line_of(play);
            bool offense = play->side[i] == SYNTH_PLAY_OFFENSE;
            yp_require(
                t,
                offense == (play->role[i] != SYNTH_PLAY_COVERAGE && beyond < 0) &&
                    start.speed == 0 && start.orientation == (offense ? 90 : 270),
                "play %d, player %zu: side %d, role %d, %g yards beyond the line, looks to %g",
                (int)k, i, play->side[i], play->role[i], beyond, start.orientation);
            if (play->role[i] == SYNTH_PLAY_TARGET || play->role[i] == SYNTH_PLAY_ROUTE) {
                gained[play->left] += later.x - start.x;
                receivers[play->left]++;
            }
        }
    }
    double right_gain = gained[0] / receivers[0], left_gain = gained[1] / receivers[1];
    yp_value(t, "part that goes left", (double)left / PLAYS);
    yp_expect(t, fabs((double)left / PLAYS - 0.5) < 0.05, "%zu of %d plays go left", left, PLAYS);
    yp_expect(t, right_gain > 3 && fabs(left_gain - right_gain) < 0.1 * right_gain,
              "receivers gain %g yards to the right and %g to the left", right_gain, left_gain);
}

/* ---- bits ---- */

enum { KNOWN = 40, WORKERS = 3 };

/* FNV-1a over all that a play says. */
static uint64_t hash_of(const struct synth_play *play)
{
    size_t all = play->frames * play->players;
    const struct {
        const void *data;
        size_t bytes;
    } parts[] = {{play->id, play->players * sizeof *play->id},
                 {play->role, play->players},
                 {play->weight, play->players * sizeof *play->weight},
                 {play->present, all},
                 {play->x, all * sizeof(float)},
                 {play->y, all * sizeof(float)},
                 {play->speed, all * sizeof(float)},
                 {play->acceleration, all * sizeof(float)},
                 {play->direction, all * sizeof(float)},
                 {play->orientation, all * sizeof(float)}};
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        for (size_t b = 0; b < parts[i].bytes; b++)
            hash = (hash ^ ((const uint8_t *)parts[i].data)[b]) * UINT64_C(0x100000001b3);
    const int64_t numbers[] = {
        play->game, play->play,      play->down,      play->to_go,    play->line,
        play->box,  play->formation, play->alignment, play->coverage, (int64_t)play->throw_frame};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        hash = (hash ^ (uint64_t)numbers[i]) * UINT64_C(0x100000001b3);
    return hash;
}

struct worker {
    const struct synth_plays *spec;
    struct synth_play *play;
    uint64_t *hashes; /* (KNOWN) */
    uint64_t first;   /* of every WORKERS-th play, from the last on */
};

static void *work(void *argument)
{
    const struct worker *w = argument;
    for (uint64_t k = KNOWN; k-- > 0;)
        if (k % WORKERS == w->first) {
            bool made = synth_play_make(w->spec, 3, k, w->play) == YP_OK;
            w->hashes[k] = made ? hash_of(w->play) : 0;
        }
    return NULL;
}

static const struct {
    const char *name;
    struct synth_plays spec;
    uint64_t bits;
} known[] = {
    {"usual", {.seed = 7}, UINT64_C(0xf3ddcd25de71bc3c)},
    {"missing",
     {.seed = UINT64_C(1) << 63, .missing = 0.5, .frames = 33},
     UINT64_C(0xb9124a0eadc0738e)},
    {"few", {.seed = 1, .players = 3, .frames = 200}, UINT64_C(0x05e0b07bda5e5ad6)},
    {"many", {.seed = 2, .players = 200}, UINT64_C(0x633311257e388343)},
};

/* The same from every compiler and level of optimisation: tests/usage/same_bits.py. A change here
 * means that every stored result with plays is of other data. */
YP_TEST(plays, known, .tags = "stress small", .timeout = 120, .parallel = true,
        .axes = YP_AXES(yp_axis_string("plays", "usual", "missing", "few", "many")))
{
    size_t which = 0;
    uint64_t hashes[KNOWN] = {0}, bits = 0;
    pthread_t threads[WORKERS];
    struct worker workers[WORKERS];
    while (strcmp(known[which].name, yp_string(t, "plays")) != 0)
        which++;
    for (size_t i = 0; i < WORKERS; i++) {
        workers[i] = (struct worker){&known[which].spec, play_of(t), hashes, i};
        yp_require(t, pthread_create(&threads[i], NULL, work, &workers[i]) == 0, "no thread");
    }
    for (size_t i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
    for (uint64_t k = 0; k < KNOWN; k++) {
        yp_ok(t, synth_play_make(&known[which].spec, 3, k, workers[0].play));
        yp_require(t, hash_of(workers[0].play) == hashes[k],
                   "play %d has other bits in another order and thread", (int)k);
        yp_require(t, synth_play_frames(&known[which].spec, 3, k) == workers[0].play->frames,
                   "play %d has another number of frames", (int)k);
        bits = bits * UINT64_C(0x100000001b3) + hashes[k];
    }
    yp_expect(t, bits == known[which].bits, "the bits are 0x%016llx, known are 0x%016llx",
              (unsigned long long)bits, (unsigned long long)known[which].bits);
}

/* ---- files ---- */

/* The next field of a row, NUL-terminated in place. */
static char *field(char **at)
{
    char *begin = *at, *end = begin + strcspn(begin, ",\n");
    *at = end + (*end != '\0');
    *end = '\0';
    return begin;
}

static size_t column(const char *names, const char *wanted)
{
    size_t place = 0, length = strlen(wanted);
    for (const char *at = names; *at != '\0'; at += strcspn(at, ",\n") + 1, place++)
        if (strncmp(at, wanted, length) == 0 && strcspn(at, ",\n") == length)
            return place;
    return SIZE_MAX;
}

enum { COLUMNS = 32 };

static size_t fields_of(char **row, const char *fields[COLUMNS])
{
    size_t count = 0;
    for (char *end = strchr(*row, '\n'); count < COLUMNS && *row <= end; count++)
        fields[count] = field(row);
    return count;
}

/* A row's values against the play's, as a reader may parse them: by way of a double or at once. */
static void check_values(struct yp_case *t, const struct synth_play *play, size_t at,
                         const char *const *fields)
{
    static const char *const names[] = {"x", "y", "s", "a", "dir", "o"};
    const float *const values[] = {
        play->x, play->y, play->speed, play->acceleration, play->direction, play->orientation};
    for (size_t i = 0; i < 6; i++) {
        const char *text = fields[column(synth_play_columns, names[i])];
        yp_require(
            t, (float)strtod(text, NULL) == values[i][at] && strtof(text, NULL) == values[i][at],
            "%s is '%s' in the row and %.9g in the play", names[i], text, (double)values[i][at]);
    }
}

static void check_row(struct yp_case *t, const struct synth_play *play, size_t frame, size_t i,
                      const char *const *f)
{
    static const char *const roles[] = {"Defensive Coverage", "Other Route Runner", "Passer",
                                        "Targeted Receiver"};
    bool offense = play->side[i] == SYNTH_PLAY_OFFENSE;
    const char *role = play->role[i] < SYNTH_PLAY_BLOCK ? roles[play->role[i]]
                       : offense                        ? "Pass Block"
                                                        : "Pass Rush";
    const struct {
        const char *name;
        long long value;
    } numbers[] = {{"game_id", play->game},
                   {"play_id", play->play},
                   {"nfl_id", play->id[i]},
                   {"frame_id", (long long)frame + 1},
                   {"absolute_yardline_number", play->line},
                   {"player_weight", play->weight[i]}};
    const struct {
        const char *name, *value;
    } texts[] = {{"play_direction", play->left ? "left" : "right"},
                 {"player_side", offense ? "Offense" : "Defense"},
                 {"player_role", role}};
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
        const char *text = f[column(synth_play_columns, numbers[k].name)];
        yp_require(t, strtoll(text, NULL, 10) == numbers[k].value, "%s is '%s', not %lld",
                   numbers[k].name, text, numbers[k].value);
    }
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        const char *text = f[column(synth_play_columns, texts[k].name)];
        yp_require(t, strcmp(text, texts[k].value) == 0, "%s is '%s', not '%s'", texts[k].name,
                   text, texts[k].value);
    }
    check_values(t, play, frame * play->players + i, f);
}

static void check_summary(struct yp_case *t, const struct synth_play *play)
{
    static const char *const coverages[] = {"NA", "MAN_COVERAGE", "ZONE_COVERAGE"};
    char row[SYNTH_PLAY_SUMMARY + 1], down[8], box[8], *at = row;
    const char *f[COLUMNS] = {NULL};
    row[synth_play_summary(play, row)] = '\0';
    snprintf(down, sizeof down, "%d", play->down);
    snprintf(box, sizeof box, "%d", play->box);
    const char *names = synth_play_summary_columns;
    yp_require(t, fields_of(&at, f) == 14 && *at == '\0', "a row of the plays has 14 fields");
    bool known_alignment = play->alignment < SYNTH_PLAY_ALIGNMENTS;
    const struct {
        const char *name, *value;
    } texts[] = {
        {"play_nullified_by_penalty", "N"},
        {"down", down},
        {"defenders_in_the_box", box},
        {"offense_formation", synth_play_formations[play->formation]},
        {"receiver_alignment", known_alignment ? synth_play_alignments[play->alignment] : "NA"},
        {"team_coverage_man_zone", coverages[play->coverage + 1]}};
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
        yp_require(t, strcmp(f[column(names, texts[k].name)], texts[k].value) == 0,
                   "%s is '%s', not '%s'", texts[k].name, f[column(names, texts[k].name)],
                   texts[k].value);
}

/* Half of the players are absent in up to half of the frames: they have no rows there. */
YP_TEST(plays, rows, .tags = "stress small", .timeout = 120, .parallel = true,
        .axes = YP_AXES(yp_axis_int("players", 2, 22, 200)))
{
    enum { PLAYS = 30 };
    struct synth_plays spec = {
        .seed = yp_seed(t), .players = (size_t)yp_int(t, "players"), .missing = 0.5};
    struct synth_play *play = play_of(t);
    char *text = yp_alloc_host(t, spec.players * 100 * SYNTH_PLAY_ROW + 1);
    for (uint64_t k = 0; k < PLAYS; k++) {
        make(t, &spec, k, play);
        size_t bytes = synth_play_rows(play, text);
        char *at = text;
        text[bytes] = '\0';
        for (size_t i = 0; i < play->players; i++)
            for (size_t frame = 0; frame < play->frames; frame++) {
                const char *f[COLUMNS] = {NULL};
                bool present = play->present[frame * play->players + i];
                yp_require(t, present == !isnan(play->x[frame * play->players + i]),
                           "player %zu of frame %zu is absent, or has values", i, frame);
                if (!present)
                    continue;
                yp_require(t, fields_of(&at, f) == 23, "a row has 23 fields");
                check_row(t, play, frame, i, f);
            }
        yp_expect(t, *at == '\0', "no row is left");
        check_summary(t, play);
    }
}

YP_TEST(plays, absent, .tags = "stress small", .timeout = 120, .parallel = true)
{
    enum { PLAYS = 200 };
    struct synth_plays spec = {.seed = yp_seed(t), .missing = 1};
    struct synth_play *play = play_of(t);
    for (uint64_t k = 0; k < PLAYS; k++) {
        make(t, &spec, k, play);
        for (size_t i = 0; i < play->players; i++) {
            size_t there = 0;
            for (size_t frame = 0; frame < play->frames; frame++)
                there += play->present[frame * play->players + i];
            size_t least = (play->frames + 1) / 2, most = play->frames - 1;
            bool target = play->role[i] == SYNTH_PLAY_TARGET;
            yp_require(t, target ? there == play->frames : there >= least && there <= most,
                       "player %zu is there in %zu of %zu frames", i, there, play->frames);
        }
    }
}

/* ---- what can be foreseen ---- */

enum { AHEAD = 10 };

struct vector {
    double x, y;
};

static struct vector velocity_of(struct turned p)
{
    double angle = p.direction / DEGREES;
    return (struct vector){p.speed * sin(angle), p.speed * cos(angle)};
}

/* Of the receivers the nearest one. */
static size_t receiver_near(const struct synth_play *play, size_t frame, size_t i)
{
    struct turned own = turned(play, frame, i);
    double least = INFINITY;
    size_t best = i;
    for (size_t k = 0; k < play->players; k++) {
        struct turned other = turned(play, frame, k);
        double distance = hypot(other.x - own.x, other.y - own.y);
        bool runs = play->role[k] == SYNTH_PLAY_TARGET || play->role[k] == SYNTH_PLAY_ROUTE;
        if (runs && distance < least) {
            least = distance;
            best = k;
        }
    }
    return best;
}

/* Errors in yards of where players are a second later: by their velocity; by it and the change
 * since the frame before; for man coverage also by the nearest receiver's velocity. */
struct errors {
    double players, constant, changing, followers, constant_follower, changing_follower, around;
};

static void foresee(const struct synth_play *play, size_t frame, size_t i, struct errors *e)
{
    struct turned now = turned(play, frame, i), then = turned(play, frame + AHEAD, i);
    struct vector v = velocity_of(now), before = velocity_of(turned(play, frame - 1, i));
    struct vector change = {(v.x - before.x) / STEP, (v.y - before.y) / STEP};
    double x = now.x + v.x - then.x, y = now.y + v.y - then.y;
    double constant = hypot(x, y), changing = hypot(x + 0.21 * change.x, y + 0.21 * change.y);
    e->players++;
    e->constant += constant;
    e->changing += changing;
    if (play->role[i] != SYNTH_PLAY_COVERAGE || play->coverage != SYNTH_PLAY_MAN)
        return;
    struct vector led = velocity_of(turned(play, frame, receiver_near(play, frame, i)));
    e->followers++;
    e->constant_follower += constant;
    e->changing_follower += changing;
    e->around +=
        hypot(x + 0.15 * change.x + 0.3 * (led.x - v.x), y + 0.15 * change.y + 0.3 * (led.y - v.y));
}

YP_TEST(plays, foreseen, .tags = "stress small", .timeout = 120, .parallel = true)
{
    enum { PLAYS = 300 };
    struct synth_plays spec = {.seed = yp_seed(t)};
    struct synth_play *play = play_of(t);
    struct errors e = {0, 0, 0, 0, 0, 0, 0};
    for (uint64_t k = 0; k < PLAYS; k++) {
        make(t, &spec, k, play);
        for (size_t frame = 5; frame + AHEAD < play->frames; frame++)
            for (size_t i = 0; i < play->players; i++)
                foresee(play, frame, i, &e);
    }
    double constant = e.constant / e.players, changing = e.changing / e.players;
    double own = e.changing_follower / e.followers, around = e.around / e.followers;
    yp_value(t, "by velocity", constant);
    yp_value(t, "by its change", changing);
    yp_value(t, "followers by velocity", e.constant_follower / e.followers);
    yp_value(t, "followers by its change", own);
    yp_value(t, "followers by the receiver too", around);
    yp_expect(t, constant > 1.3 && constant < 1.65,
              "velocity alone misses by %g yards after a second", constant);
    yp_expect(t, changing < 0.85 * constant, "history helps: %g instead of %g yards", changing,
              constant);
    yp_expect(t, around < 0.92 * own, "neighbours help: %g instead of %g yards", around, own);
}

/* Man defenders look at their receivers, zone defenders at the passer. Part of the coverage that
 * looks there within 15 degrees, from half a second on until the throw. */
static double watching(const struct synth_play *play)
{
    size_t passer = 0, seen = 0, all = 0;
    while (play->role[passer] != SYNTH_PLAY_PASSER)
        passer++;
    for (size_t frame = 5; frame < play->throw_frame; frame++)
        for (size_t i = 0; i < play->players; i++) {
            struct turned own = turned(play, frame, i), to = turned(play, frame, passer);
            if (play->role[i] != SYNTH_PLAY_COVERAGE)
                continue;
            double off = atan2(to.x - own.x, to.y - own.y) * DEGREES - own.orientation;
            seen += fabs(remainder(off, 360)) < 15;
            all++;
        }
    return (double)seen / (double)all;
}

YP_TEST(plays, coverage, .tags = "stress small", .timeout = 120, .parallel = true)
{
    enum { PLAYS = 600 };
    struct synth_plays spec = {.seed = yp_seed(t)};
    struct synth_play *play = play_of(t);
    size_t right = 0, labels[3] = {0, 0, 0};
    for (uint64_t k = 0; k < PLAYS; k++) {
        make(t, &spec, k, play);
        labels[play->coverage + 1]++;
        right += play->coverage == (watching(play) > 0.7 ? SYNTH_PLAY_ZONE : SYNTH_PLAY_MAN);
    }
    size_t told = PLAYS - labels[0];
    yp_expect(t, right >= told * 97 / 100, "of %zu plays the eyes tell %zu", told, right);
    yp_expect(t, labels[0] > 0 && labels[0] < PLAYS / 20, "%zu plays have no label", labels[0]);
    yp_expect(t, labels[1] > PLAYS / 3 && labels[2] > PLAYS / 3, "%zu man, %zu zone", labels[1],
              labels[2]);
}

/* ---- what is refused ---- */

YP_TEST(plays, refused, .tags = "stress small", .timeout = 60, .parallel = true)
{
    static const struct {
        struct synth_plays spec;
        int week;
        uint64_t play;
        const char *said;
    } wrong[] = {
        {{.players = 1}, 1, 0, "synth_plays.players is 1: must be 2 to 200"},
        {{.players = 201}, 1, 0, "synth_plays.players is 201: must be 2 to 200"},
        {{.frames = 15}, 1, 0, "synth_plays.frames is 15: must be 16 to 200"},
        {{.frames = 201}, 1, 0, "synth_plays.frames is 201: must be 16 to 200"},
        {{.missing = 1.01}, 1, 0, "synth_plays.missing is 1.01: must be 0 to 1"},
        {{.missing = -0.1}, 1, 0, "synth_plays.missing is -0.1: must be 0 to 1"},
        {{.missing = NAN}, 1, 0, "synth_plays.missing is nan: must be 0 to 1"},
        {{.seed = 0}, 0, 0, "week is 0: must be 1 to 99"},
        {{.seed = 0}, 100, 0, "week is 100: must be 1 to 99"},
        {{.seed = 0}, 1, 640000, "play is 640000: must be below 640000"},
    };
    struct synth_play *play = play_of(t);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        enum yp_status status = synth_play_make(&wrong[i].spec, wrong[i].week, wrong[i].play, play);
        yp_expect(t, status == YP_INVALID && strcmp(yp_last_error(), wrong[i].said) == 0,
                  "wanted '%s', got %d and '%s'", wrong[i].said, (int)status, yp_last_error());
    }
    for (int last = 0; last < 2; last++)
        yp_ok(t, synth_play_make(&(struct synth_plays){.frames = last ? 200 : 16,
                                                       .players = last ? 200 : 2,
                                                       .missing = last},
                                 last ? 99 : 1, last ? 639999 : 0, play));
}
