/* Plays from files of tracking data. */
#include "models/graph/tracks.h"

#include "models/data/cache.h"
#include "models/data/csv.h"

#include "base/numbers/sort.h"
#include "base/numbers/splitmix.h"
#include "base/system/arena.h"
#include "base/text/text.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX
#define LENGTH 120.0
#define WIDTH 53.3
enum { TOLD = 10 };

/* -- growing arrays ---------------------------------------------------------------------------- */

struct array {
    void *data;
    size_t count, room;
};

/* A place for one more element, or NULL with yp_last_error() set. */
static void *add(struct yp_device *device, struct array *a, size_t size)
{
    if (a->count == a->room) {
        const size_t room = a->room > 0 ? 2 * a->room : 64;
        void *data = yp_device_alloc(device, room * size);
        if (data == NULL)
            return NULL;
        if (a->count > 0)
            memcpy(data, a->data, a->count * size);
        yp_device_free(device, a->data);
        a->data = data;
        a->room = room;
    }
    return (char *)a->data + a->count++ * size;
}

static void drop(struct yp_device *device, struct array *a)
{
    yp_device_free(device, a->data);
    *a = (struct array){NULL, 0, 0};
}

/* Places by game and play: an open table of the elements of an array that begin with both. */
struct key {
    int64_t game, play;
};

struct table {
    struct array slots; /* uint32_t: an element, or NONE */
};

static size_t slot_of(const struct table *t, struct key key)
{
    return (size_t)ypi_mix64((uint64_t)key.game * YPI_GOLDEN + (uint64_t)key.play) &
           (t->slots.room - 1);
}

/* The slot of the key, or the free one where it belongs. */
static uint32_t *find(const struct table *t, const struct array *of, size_t size, struct key key)
{
    uint32_t *slots = t->slots.data;
    assert(slots != NULL);
    for (size_t at = slot_of(t, key);; at = (at + 1) & (t->slots.room - 1)) {
        const struct key *there =
            slots[at] == NONE ? NULL : (const void *)((char *)of->data + slots[at] * size);
        if (there == NULL || (there->game == key.game && there->play == key.play))
            return &slots[at];
    }
}

/* Room for one more element of `of`: less than half of the slots are in use. */
static enum yp_status make_room(struct yp_device *device, struct table *t, const struct array *of,
                                size_t size)
{
    if (2 * (of->count + 1) < t->slots.room)
        return YP_OK;
    const size_t room = t->slots.room > 0 ? 2 * t->slots.room : 256;
    uint32_t *slots = yp_device_alloc(device, room * sizeof *slots);
    if (slots == NULL)
        return yp_last_status();
    memset(slots, 0xff, room * sizeof *slots);
    yp_device_free(device, t->slots.data);
    t->slots.data = slots;
    t->slots.room = room;
    for (size_t i = 0; i < of->count; i++) {
        const struct key *key = (const void *)((char *)of->data + i * size);
        *find(t, of, size, *key) = (uint32_t)i;
    }
    return YP_OK;
}

/* -- categories -------------------------------------------------------------------------------- */

static const char *const roles[] = {"Defensive Coverage", "Other Route Runner", "Passer",
                                    "Targeted Receiver"};
static const char *const sides[] = {"Defense", "Offense"};
static const char *const formations[] = {"SHOTGUN", "EMPTY", "SINGLEBACK", "PISTOL",
                                         "I_FORM",  "JUMBO", "WILDCAT"};
static const char *const alignments[] = {"2x2", "3x1", "3x2", "2x1", "4x1",
                                         "1x1", "4x0", "3x3", "3x0"};
static const char *const coverages[] = {"MAN_COVERAGE", "ZONE_COVERAGE"};
#define CATEGORY(csv, column, names) category(csv, column, names, sizeof(names) / sizeof *(names))

/* The place of the field in the names; their count where it is not there. */
static int32_t category(const struct data_csv *csv, size_t column, const char *const *names,
                        size_t count)
{
    size_t i = 0;
    while (i < count && !data_csv_is(csv, column, names[i]))
        i++;
    return (int32_t)i;
}

/* -- rows -------------------------------------------------------------------------------------- */

/* What a play is: a row of supplementary_data.csv. */
struct summary {
    struct key key;
    bool nullified;
    int32_t formation, alignment;
    double down, to_go, box;
    float coverage;
};

struct player {
    int64_t id;
    uint32_t next;  /* of the play; NONE */
    uint32_t place; /* in the order of numbers */
    int32_t role, side;
    double weight;
};

struct found_play {
    struct key key;
    uint32_t summary;     /* NONE: the play is left out */
    uint32_t first, last; /* players: the list, and the one of the last row */
    uint32_t players;
    int32_t from, to; /* frames */
};

struct row {
    uint32_t play, player;
    int32_t frame;
    uint32_t line;
    float x, y, speed, acceleration, direction, orientation;
};

struct graph_tracks {
    struct yp_device *device;
    struct graph_reading reading;
    struct graph_tracks_seen seen;
    struct array plays;  /* struct graph_play */
    struct array blocks; /* void *: the arrays of a file's plays */
    struct array names;  /* struct name: files of weeks */
    struct array summaries;
    struct table summary_of, play_of; /* play_of: of the files before */
    /* of the file that is read */
    struct array rows, found, players;
    struct table found_of;
    uint32_t last_play;
    size_t bad;
};

struct name {
    char path[YPI_PATH_MAX];
};

static enum yp_status wrong(const struct data_csv *csv, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static enum yp_status wrong(const struct data_csv *csv, const char *format, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return yp_set_error(YP_INVALID, "%s:%zu: %s", csv->path, csv->line, text);
}

/* After yp_set_error() for a row: whether the reading goes on. */
static bool goes_on(struct graph_tracks *f)
{
    const struct graph_reading *r = &f->reading;
    f->bad++;
    if (r->skip_bad_rows && r->tell != NULL && f->bad <= TOLD)
        r->tell(r->arg, yp_last_error());
    return r->skip_bad_rows;
}

static void tell_rest(const struct graph_tracks *f, const char *path)
{
    if (f->bad <= TOLD || f->reading.tell == NULL)
        return;
    char *text = ypi_format("%s: %zu bad rows in all", path, f->bad);
    f->reading.tell(f->reading.arg, text);
    free(text);
}

static enum yp_status wrong_field(const struct data_csv *csv, const struct data_csv_column *columns,
                                  size_t column, const char *allowed)
{
    const struct data_csv_text t = data_csv_text(csv, column);
    return wrong(csv, "%s is '%.*s': must be %s", columns[column].name,
                 (int)(t.length < 40 ? t.length : 40), t.text, allowed);
}

/* A number of a column; `missing` where it is missing. */
static enum yp_status read_real(const struct data_csv *csv, const struct data_csv_column *columns,
                                size_t column, double missing, double *out)
{
    const enum data_csv_value kind = data_csv_real(csv, column, out);
    if (kind == DATA_CSV_MISSING)
        *out = missing;
    return kind != DATA_CSV_WRONG && fabs(*out) <= 1e6
               ? YP_OK
               : wrong_field(csv, columns, column, "a number within +-1e6");
}

static enum yp_status read_whole(const struct data_csv *csv, const struct data_csv_column *columns,
                                 size_t column, int64_t *out)
{
    return data_csv_whole(csv, column, out) == DATA_CSV_NUMBER
               ? YP_OK
               : wrong_field(csv, columns, column, "a whole number");
}

/* -- what plays are ---------------------------------------------------------------------------- */

enum { S_GAME, S_PLAY, S_NULLIFIED, S_DOWN, S_TO_GO, S_FORMATION, S_ALIGNMENT, S_BOX, S_COVERAGE };
static const struct data_csv_column summary_columns[] = {{"game_id", false},
                                                         {"play_id", false},
                                                         {"play_nullified_by_penalty", false},
                                                         {"down", true},
                                                         {"yards_to_go", true},
                                                         {"offense_formation", true},
                                                         {"receiver_alignment", true},
                                                         {"defenders_in_the_box", true},
                                                         {"team_coverage_man_zone", true}};

static enum yp_status read_summary(struct graph_tracks *f, const struct data_csv *csv)
{
    struct summary s = {.nullified = !data_csv_is(csv, S_NULLIFIED, "N"),
                        .formation = CATEGORY(csv, S_FORMATION, formations),
                        .alignment = CATEGORY(csv, S_ALIGNMENT, alignments)};
    const int32_t coverage = CATEGORY(csv, S_COVERAGE, coverages);
    s.coverage = coverage < 2 ? (float)coverage : -1;
    enum yp_status status = read_whole(csv, summary_columns, S_GAME, &s.key.game);
    if (status == YP_OK)
        status = read_whole(csv, summary_columns, S_PLAY, &s.key.play);
    if (status == YP_OK)
        status = read_real(csv, summary_columns, S_DOWN, 1, &s.down);
    if (status == YP_OK)
        status = read_real(csv, summary_columns, S_TO_GO, 10, &s.to_go);
    if (status == YP_OK)
        status = read_real(csv, summary_columns, S_BOX, 7, &s.box);
    if (status == YP_OK)
        status = make_room(f->device, &f->summary_of, &f->summaries, sizeof s);
    if (status != YP_OK)
        return status;
    uint32_t *slot = find(&f->summary_of, &f->summaries, sizeof s, s.key);
    if (*slot != NONE)
        return wrong(csv, "game %" PRId64 " play %" PRId64 " is there twice", s.key.game,
                     s.key.play);
    struct summary *to = add(f->device, &f->summaries, sizeof s);
    if (to == NULL)
        return yp_last_status();
    *slot = (uint32_t)f->summaries.count - 1;
    *to = s;
    return YP_OK;
}

/* -- tracks ------------------------------------------------------------------------------------ */

enum {
    T_GAME,
    T_PLAY,
    T_PLAYER,
    T_FRAME,
    T_X,
    T_Y,
    T_SPEED,
    T_ACCELERATION,
    T_DIRECTION,
    T_ORIENTATION,
    T_ROLE,
    T_SIDE,
    T_WEIGHT,
    T_TO
};
static const struct data_csv_column track_columns[] = {{"game_id", false},
                                                       {"play_id", false},
                                                       {"nfl_id", false},
                                                       {"frame_id", false},
                                                       {"x", false},
                                                       {"y", false},
                                                       {"s", false},
                                                       {"a", false},
                                                       {"dir", false},
                                                       {"o", false},
                                                       {"player_role", false},
                                                       {"player_side", false},
                                                       {"player_weight", false},
                                                       {"play_direction", true}};

/* The play of the row, which is a new one where its key is new. */
static enum yp_status find_play(struct graph_tracks *f, const struct data_csv *csv, struct key key,
                                uint32_t *out)
{
    struct found_play *found = f->found.data;
    if (f->last_play != NONE && found[f->last_play].key.game == key.game &&
        found[f->last_play].key.play == key.play) {
        *out = f->last_play;
        return YP_OK;
    }
    const enum yp_status status = make_room(f->device, &f->found_of, &f->found, sizeof *found);
    if (status != YP_OK)
        return status;
    uint32_t *slot = find(&f->found_of, &f->found, sizeof *found, key);
    if (*slot == NONE) {
        if (f->play_of.slots.room > 0 &&
            *find(&f->play_of, &f->plays, sizeof(struct graph_play), key) != NONE)
            return wrong(csv, "game %" PRId64 " play %" PRId64 " is in a file before this, too",
                         key.game, key.play);
        struct found_play *play = add(f->device, &f->found, sizeof *play);
        if (play == NULL)
            return yp_last_status();
        *slot = (uint32_t)f->found.count - 1;
        *play = (struct found_play){key, NONE, NONE, NONE, 0, 0, -1};
        if (f->summary_of.slots.room > 0)
            play->summary = *find(&f->summary_of, &f->summaries, sizeof(struct summary), key);
        const struct summary *s = f->summaries.data;
        f->seen.unknown += play->summary == NONE;
        if (play->summary != NONE && s[play->summary].nullified) {
            f->seen.nullified++;
            play->summary = NONE;
        }
    }
    *out = f->last_play = *slot;
    return YP_OK;
}

/* From the player of the play's last row on, once around: rows come in order of players, or of
 * frames and in each of players. */
static uint32_t look_for(const struct graph_tracks *f, const struct found_play *play, int64_t id)
{
    const struct player *players = f->players.data;
    for (uint32_t i = 0, at = play->last; i < play->players; i++) {
        if (players[at].id == id)
            return at;
        at = players[at].next != NONE ? players[at].next : play->first;
    }
    return NONE;
}

static enum yp_status find_player(struct graph_tracks *f, const struct data_csv *csv,
                                  struct found_play *play, int64_t id, uint32_t *out)
{
    struct player one = {.id = id, .next = NONE};
    *out = look_for(f, play, id);
    if (*out != NONE) {
        play->last = *out;
        return YP_OK;
    }
    if (play->players == GRAPH_PLAYERS_MOST)
        return wrong(csv, "game %" PRId64 " play %" PRId64 " has more than %d players",
                     play->key.game, play->key.play, GRAPH_PLAYERS_MOST);
    const enum yp_status status = read_real(csv, track_columns, T_WEIGHT, 200, &one.weight);
    if (status != YP_OK)
        return status;
    one.role = CATEGORY(csv, T_ROLE, roles);
    one.side = CATEGORY(csv, T_SIDE, sides);
    struct player *to = add(f->device, &f->players, sizeof one);
    if (to == NULL)
        return yp_last_status();
    *to = one;
    struct player *players = f->players.data;
    *out = (uint32_t)f->players.count - 1;
    if (play->players++ == 0) {
        play->first = *out;
    } else { /* the end of the list is behind the last one that was found */
        uint32_t end = play->last;
        while (players[end].next != NONE)
            end = players[end].next;
        players[end].next = *out;
    }
    play->last = *out;
    return YP_OK;
}

/* An angle in the direction of play. */
static enum yp_status read_angle(const struct data_csv *csv, size_t column, bool left, float *out)
{
    double angle = 0;
    const enum yp_status status = read_real(csv, track_columns, column, 0, &angle);
    if (left)
        angle = angle + 180 >= 360 ? angle - 180 : angle + 180;
    *out = (float)angle;
    return status;
}

static enum yp_status read_values(const struct data_csv *csv, bool left, struct row *r)
{
    double speed = 0, acceleration = 0;
    enum yp_status status = read_real(csv, track_columns, T_SPEED, 0, &speed);
    if (status == YP_OK)
        status = read_real(csv, track_columns, T_ACCELERATION, 0, &acceleration);
    if (status == YP_OK)
        status = read_angle(csv, T_DIRECTION, left, &r->direction);
    if (status == YP_OK)
        status = read_angle(csv, T_ORIENTATION, left, &r->orientation);
    r->speed = (float)speed;
    r->acceleration = (float)acceleration;
    return status;
}

/* Whether the play goes to the left: coordinates of the wrong direction would look like any. */
static enum yp_status read_direction(const struct data_csv *csv, bool *left)
{
    static const char *const directions[] = {"right", "left", "", "NA"};
    const int32_t direction = CATEGORY(csv, T_TO, directions);
    *left = direction == 1;
    return direction < 4 ? YP_OK : wrong_field(csv, track_columns, T_TO, "left or right");
}

/* x and y in the direction of play; `missing` where there is none. */
static enum yp_status read_position(const struct data_csv *csv, struct key key, struct row *r,
                                    bool left, bool *missing)
{
    double x = 0, y = 0;
    const enum data_csv_value has_x = data_csv_real(csv, T_X, &x);
    const enum data_csv_value has_y = data_csv_real(csv, T_Y, &y);
    const size_t column = has_x == DATA_CSV_WRONG || !(fabs(x) <= 1e6) ? T_X : T_Y;
    *missing = has_x == DATA_CSV_MISSING || has_y == DATA_CSV_MISSING;
    r->x = (float)(left ? LENGTH - x : x);
    r->y = (float)(left ? WIDTH - y : y);
    if (has_x != DATA_CSV_WRONG && has_y != DATA_CSV_WRONG && fabs(x) <= 1e6 && fabs(y) <= 1e6)
        return YP_OK;
    const struct data_csv_text t = data_csv_text(csv, column);
    return wrong(csv,
                 "game %" PRId64 " play %" PRId64
                 " frame %d: %s is '%.*s': must be a number within +-1e6",
                 key.game, key.play, r->frame, track_columns[column].name,
                 (int)(t.length < 40 ? t.length : 40), t.text);
}

static enum yp_status keep_row(struct graph_tracks *f, const struct data_csv *csv, struct row *r,
                               int64_t player)
{
    struct found_play *play = (struct found_play *)f->found.data + r->play;
    const enum yp_status status = find_player(f, csv, play, player, &r->player);
    struct row *to = status == YP_OK ? add(f->device, &f->rows, sizeof *r) : NULL;
    if (to == NULL)
        return status != YP_OK ? status : yp_last_status();
    *to = *r;
    if (play->to < play->from) {
        play->from = play->to = r->frame;
    } else {
        play->from = r->frame < play->from ? r->frame : play->from;
        play->to = r->frame > play->to ? r->frame : play->to;
    }
    return YP_OK;
}

static enum yp_status read_track(struct graph_tracks *f, const struct data_csv *csv)
{
    struct key key;
    int64_t player = 0, frame = 0;
    struct row r = {.line = (uint32_t)csv->line};
    bool left, missing;
    enum yp_status status = read_whole(csv, track_columns, T_GAME, &key.game);
    if (status == YP_OK)
        status = read_whole(csv, track_columns, T_PLAY, &key.play);
    if (status == YP_OK)
        status = find_play(f, csv, key, &r.play);
    if (status != YP_OK || ((struct found_play *)f->found.data)[r.play].summary == NONE ||
        data_csv_whole(csv, T_PLAYER, &player) == DATA_CSV_MISSING)
        return status;
    status = read_whole(csv, track_columns, T_PLAYER, &player);
    if (status == YP_OK)
        status = read_whole(csv, track_columns, T_FRAME, &frame);
    if (status == YP_OK && (frame < 0 || frame >= GRAPH_FRAMES_MOST))
        status =
            wrong(csv, "frame_id is %" PRId64 ": must be 0 to %d", frame, GRAPH_FRAMES_MOST - 1);
    r.frame = (int32_t)frame;
    if (status == YP_OK)
        status = read_direction(csv, &left);
    if (status == YP_OK)
        status = read_position(csv, key, &r, left, &missing);
    if (status != YP_OK || missing)
        return status;
    status = read_values(csv, left, &r);
    return status == YP_OK ? keep_row(f, csv, &r, player) : status;
}

/* -- plays in memory --------------------------------------------------------------------------- */

/* Arrays of a play, to be written. */
struct writing {
    uint8_t *present;
    float *value[6], *weight;
    int32_t *role, *side;
};

static void lay_out(struct ypi_arena *arena, const struct found_play *found, struct writing *w)
{
    const size_t all = (size_t)(found->to - found->from + 1) * found->players;
    w->present = ypi_arena_take(arena, all, 1);
    for (size_t k = 0; k < 6; k++)
        w->value[k] = ypi_arena_take(arena, all, sizeof(float));
    w->weight = ypi_arena_take(arena, found->players, sizeof *w->weight);
    w->role = ypi_arena_take(arena, found->players, sizeof *w->role);
    w->side = ypi_arena_take(arena, found->players, sizeof *w->side);
}

static bool player_before(const void *arg, uint32_t a, uint32_t b)
{
    const struct player *players = arg;
    return players[a].id < players[b].id;
}

static void write_players(const struct graph_tracks *f, const struct found_play *found,
                          const struct writing *w)
{
    uint32_t order[GRAPH_PLAYERS_MOST];
    struct player *players = f->players.data;
    size_t count = 0;
    for (uint32_t at = found->first; at != NONE; at = players[at].next)
        order[count++] = at;
    ypi_sort_items(order, count, player_before, players);
    for (size_t i = 0; i < count; i++) {
        players[order[i]].place = (uint32_t)i;
        w->weight[i] = (float)players[order[i]].weight;
        w->role[i] = players[order[i]].role;
        w->side[i] = players[order[i]].side;
    }
}

static struct graph_play play_of(const struct graph_tracks *f, const struct found_play *found,
                                 const struct writing *w)
{
    const struct summary *s = (const struct summary *)f->summaries.data + found->summary;
    return (struct graph_play){.game = found->key.game,
                               .play = found->key.play,
                               .frames = (size_t)(found->to - found->from + 1),
                               .players = found->players,
                               .present = w->present,
                               .x = w->value[0],
                               .y = w->value[1],
                               .speed = w->value[2],
                               .acceleration = w->value[3],
                               .direction = w->value[4],
                               .orientation = w->value[5],
                               .weight = w->weight,
                               .role = w->role,
                               .side = w->side,
                               .formation = s->formation,
                               .alignment = s->alignment,
                               .down = (float)s->down,
                               .to_go = (float)s->to_go,
                               .box = (float)s->box,
                               .coverage = s->coverage};
}

static enum yp_status write_rows(struct graph_tracks *f, const struct writing *writing,
                                 const char *path)
{
    const struct found_play *found = f->found.data;
    const struct player *players = f->players.data;
    const struct row *rows = f->rows.data;
    for (size_t i = 0; i < f->rows.count; i++) {
        const struct row *r = &rows[i];
        const struct found_play *play = &found[r->play];
        const struct writing *w = &writing[r->play];
        const size_t at =
            (size_t)(r->frame - play->from) * play->players + players[r->player].place;
        if (w->present[at] != 0) {
            const enum yp_status status = yp_set_error(
                YP_INVALID,
                "%s:%u: game %" PRId64 " play %" PRId64 ": player %" PRId64
                " is there twice in frame %d",
                path, r->line, play->key.game, play->key.play, players[r->player].id, r->frame);
            if (!goes_on(f))
                return status;
            continue;
        }
        w->present[at] = 1;
        w->value[0][at] = r->x;
        w->value[1][at] = r->y;
        w->value[2][at] = r->speed;
        w->value[3][at] = r->acceleration;
        w->value[4][at] = r->direction;
        w->value[5][at] = r->orientation;
    }
    return YP_OK;
}

static bool play_before(const void *arg, uint32_t a, uint32_t b)
{
    const struct found_play *found = arg;
    return found[a].key.game != found[b].key.game ? found[a].key.game < found[b].key.game
                                                  : found[a].key.play < found[b].key.play;
}

static enum yp_status keep_play(struct graph_tracks *f, struct graph_play play)
{
    const enum yp_status status = make_room(f->device, &f->play_of, &f->plays, sizeof play);
    struct graph_play *to = status == YP_OK ? add(f->device, &f->plays, sizeof play) : NULL;
    if (to == NULL)
        return status != YP_OK ? status : yp_last_status();
    *to = play;
    *find(&f->play_of, &f->plays, sizeof play, (struct key){play.game, play.play}) =
        (uint32_t)f->plays.count - 1;
    return YP_OK;
}

/* The plays of the file that was read, in one block. */
static enum yp_status write_plays(struct graph_tracks *f, const char *path)
{
    const size_t count = f->found.count;
    const struct found_play *found = f->found.data;
    struct ypi_arena arena = {0};
    struct writing counted;
    for (size_t i = 0; i < count; i++)
        lay_out(&arena, &found[i], &counted);
    void **block = count > 0 ? add(f->device, &f->blocks, sizeof *block) : NULL;
    if (block == NULL)
        return count > 0 ? yp_last_status() : YP_OK;
    *block = arena.used > 0 ? yp_device_alloc(f->device, arena.used) : NULL;
    struct writing *writing = yp_device_alloc(f->device, count * sizeof *writing);
    uint32_t *order = yp_device_alloc(f->device, count * sizeof *order);
    enum yp_status status = writing == NULL || order == NULL || (*block == NULL && arena.used > 0)
                                ? YP_OUT_OF_MEMORY
                                : YP_OK;
    if (status == YP_OK && *block != NULL)
        memset(*block, 0, arena.used);
    arena = (struct ypi_arena){.base = *block, .together = true};
    for (size_t i = 0; i < count && status == YP_OK; i++) {
        order[i] = (uint32_t)i;
        lay_out(&arena, &found[i], &writing[i]);
        write_players(f, &found[i], &writing[i]);
    }
    if (status == YP_OK)
        status = write_rows(f, writing, path);
    if (status == YP_OK)
        ypi_sort_items(order, count, play_before, found);
    for (size_t i = 0; i < count && status == YP_OK; i++) {
        const struct found_play *play = &found[order[i]];
        if (play->players > 0)
            status = keep_play(f, play_of(f, play, &writing[order[i]]));
    }
    yp_device_free(f->device, writing);
    yp_device_free(f->device, order);
    return status;
}

/* -- files ------------------------------------------------------------------------------------- */

static enum yp_status read_file(struct graph_tracks *f, const char *path,
                                const struct data_csv_column *columns, size_t count,
                                enum yp_status (*read_row)(struct graph_tracks *f,
                                                           const struct data_csv *csv))
{
    struct data_csv csv;
    enum data_csv_step step;
    enum yp_status status = data_csv_open(&csv, path, columns, count);
    f->bad = 0;
    if (status != YP_OK)
        return status;
    f->seen.bytes += csv.size;
    while (status == YP_OK && (step = data_csv_next(&csv)) != DATA_CSV_END) {
        status = step == DATA_CSV_ROW ? read_row(f, &csv) : YP_INVALID;
        f->seen.rows += read_row == read_track;
        if (status == YP_INVALID && goes_on(f))
            status = YP_OK;
    }
    data_csv_close(&csv);
    return status;
}

static enum yp_status read_week(struct graph_tracks *f, const char *path)
{
    f->rows.count = f->found.count = f->players.count = 0;
    f->last_play = NONE;
    if (f->found_of.slots.room > 0)
        memset(f->found_of.slots.data, 0xff, f->found_of.slots.room * sizeof(uint32_t));
    enum yp_status status =
        read_file(f, path, track_columns, sizeof track_columns / sizeof *track_columns, read_track);
    if (status == YP_OK)
        status = write_plays(f, path);
    tell_rest(f, path);
    f->seen.bad_rows += f->bad;
    f->seen.files++;
    return status;
}

/* The week of "input_2023_w07.csv"; 0: it is another file. */
static int week_of(const char *name)
{
    int year, week, length = 0;
    if (sscanf(name, "input_%4d_w%2d.csv%n", &year, &week, &length) != 2 || length == 0 ||
        name[length] != '\0')
        return 0;
    return week;
}

static enum yp_status list_weeks(struct graph_tracks *f, const char *directory, const char *folder)
{
    char path[YPI_PATH_MAX];
    snprintf(path, sizeof path, "%s%s", directory, folder);
    DIR *opened = opendir(path);
    if (opened == NULL)
        return folder[0] != '\0' && (errno == ENOENT || errno == ENOTDIR)
                   ? YP_OK
                   : yp_set_error(YP_IO, "%s: cannot be read: %s", path, strerror(errno));
    enum yp_status status = YP_OK;
    for (struct dirent *entry; status == YP_OK && (entry = readdir(opened)) != NULL;) {
        const int week = week_of(entry->d_name);
        if (week == 0 || (f->reading.week != 0 && week != f->reading.week))
            continue;
        struct name *name = add(f->device, &f->names, sizeof *name);
        if (name == NULL)
            status = yp_last_status();
        else if ((size_t)snprintf(name->path, sizeof name->path, "%s/%s", path, entry->d_name) >=
                 sizeof name->path)
            status = yp_set_error(YP_INVALID, "%s: the path is too long", path);
    }
    closedir(opened);
    return status;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct name *)a)->path, ((const struct name *)b)->path);
}

/* The files of weeks, by their paths, and the one that says what plays are. */
static enum yp_status list_files(struct graph_tracks *f, const char *directory,
                                 char summary[YPI_PATH_MAX])
{
    enum yp_status status = list_weeks(f, directory, "");
    if (status == YP_OK)
        status = list_weeks(f, directory, "/train");
    if (status != YP_OK)
        return status;
    if (f->names.count == 0)
        return yp_set_error(YP_IO,
                            "%s: has no files of weeks, such as input_2023_w%02d.csv or "
                            "train/input_2023_w%02d.csv",
                            directory, f->reading.week > 0 ? f->reading.week : 1,
                            f->reading.week > 0 ? f->reading.week : 1);
    qsort(f->names.data, f->names.count, sizeof(struct name), by_path);
    if (snprintf(summary, YPI_PATH_MAX, "%s/supplementary_data.csv", directory) >= YPI_PATH_MAX)
        return yp_set_error(YP_INVALID, "%s: the path is too long", directory);
    return YP_OK;
}

static enum yp_status read_all(struct graph_tracks *f, const char *directory)
{
    char summary[YPI_PATH_MAX];
    enum yp_status status = list_files(f, directory, summary);
    if (status == YP_OK)
        status = read_file(f, summary, summary_columns,
                           sizeof summary_columns / sizeof *summary_columns, read_summary);
    tell_rest(f, summary);
    for (size_t i = 0; i < f->names.count && status == YP_OK; i++)
        status = read_week(f, ((struct name *)f->names.data)[i].path);
    return status;
}

static enum yp_status hash_file(const char *path, uint64_t *hash)
{
    struct data_csv csv;
    const enum yp_status status = data_csv_open(&csv, path, NULL, 0);
    if (status != YP_OK)
        return status;
    *hash = data_cache_hash(*hash, csv.data, csv.size);
    data_csv_close(&csv);
    return YP_OK;
}

enum yp_status graph_tracks_hash(const char *directory, const struct graph_reading *reading,
                                 uint64_t *hash)
{
    char summary[YPI_PATH_MAX];
    struct graph_tracks listed = {.device = yp_device_cpu(), .reading = *reading};
    const int64_t how[] = {reading->week, reading->skip_bad_rows};
    enum yp_status status = list_files(&listed, directory, summary);
    *hash = data_cache_hash(*hash, how, sizeof how);
    if (status == YP_OK)
        status = hash_file(summary, hash);
    for (size_t i = 0; i < listed.names.count && status == YP_OK; i++) {
        const char *path = ((const struct name *)listed.names.data)[i].path;
        *hash = data_cache_hash(*hash, path + strlen(directory), strlen(path + strlen(directory)));
        status = hash_file(path, hash);
    }
    drop(listed.device, &listed.names);
    return status;
}

static void drop_scratch(struct graph_tracks *f)
{
    drop(f->device, &f->names);
    drop(f->device, &f->summaries);
    drop(f->device, &f->summary_of.slots);
    drop(f->device, &f->play_of.slots);
    drop(f->device, &f->rows);
    drop(f->device, &f->found);
    drop(f->device, &f->players);
    drop(f->device, &f->found_of.slots);
}

struct graph_tracks *graph_tracks_read(struct yp_device *device, const char *directory,
                                       const struct graph_reading *reading)
{
    struct graph_tracks *f = yp_device_alloc(device, sizeof *f);
    if (f == NULL)
        return NULL;
    *f = (struct graph_tracks){.device = device, .reading = *reading};
    const enum yp_status status = read_all(f, directory);
    drop_scratch(f);
    f->seen.plays = f->plays.count;
    if (status == YP_OK)
        return f;
    graph_tracks_free(f);
    return NULL;
}

void graph_tracks_free(struct graph_tracks *t)
{
    if (t == NULL)
        return;
    for (size_t i = 0; i < t->blocks.count; i++)
        yp_device_free(t->device, ((void **)t->blocks.data)[i]);
    drop(t->device, &t->blocks);
    drop(t->device, &t->plays);
    yp_device_free(t->device, t);
}

const struct graph_play *graph_tracks_plays(const struct graph_tracks *t,
                                            struct graph_tracks_seen *seen)
{
    if (seen != NULL)
        *seen = t->seen;
    return t->plays.data;
}
