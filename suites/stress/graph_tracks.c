/* Plays from files of tracking data. */
#include "suites/graph_tracks.h"

#include "models/data/csv.h"

#include "base/numbers/splitmix.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* -- the same table in other forms ------------------------------------------------------------- */

enum { COLUMNS = 32 };
struct form {
    bool permuted, camel, quoted, windows, by_frame;
};

struct table {
    char *field[COLUMNS]; /* of a row, where they begin in its text */
    size_t fields;
};

/* Cuts a row of plain text into its fields. */
static struct table cut(char *row)
{
    struct table r = {.fields = 0};
    for (char *at = row; at != NULL; r.fields++) {
        r.field[r.fields] = at;
        at = strchr(at, ',');
        if (at != NULL)
            *at++ = '\0';
    }
    return r;
}

/* "play_id" as "playId". */
static void put_name(FILE *out, const char *name, bool camel)
{
    for (; *name != '\0'; name++)
        if (camel && *name == '_' && name[1] != '\0')
            fputc(*++name - 'a' + 'A', out);
        else
            fputc(*name, out);
}

static void put_row(FILE *out, const struct table *r, const struct form *form, bool names)
{
    for (size_t i = 0; i < r->fields; i++) {
        const char *field = r->field[form->permuted ? (5 * i + 3) % r->fields : i];
        fputs(i > 0 ? "," : "", out);
        if (names)
            put_name(out, field, form->camel);
        else if (form->quoted && (strchr(field, ' ') != NULL || i % 3 == 0))
            fprintf(out, "\"%s%s\"", field,
                    strncmp(field, "Player ", 7) == 0 ? ", \"\"Jr.\"\"\nII" : "");
        else
            fputs(field, out);
    }
    fputs(form->windows ? "\r\n" : "\n", out);
}

static int by_frame(const void *a, const void *b)
{
    const struct table *r = a, *s = b;
    const int d = atoi(r->field[4]) - atoi(s->field[4]);
    return d != 0 ? d : (r > s) - (r < s);
}

/* Columns in any order (23 and 14, so that 5 i + 3 reaches each), other names, quotes with commas
 * and line ends in them, line ends of two bytes, a mark at the beginning and none at the end, rows
 * by frame. */
static void change_form(struct yp_case *t, const char *name, const struct form *form)
{
    size_t bytes, size = 0, rows = 0;
    char *text = graph_tracks_read_file(t, yp_tmp_path(t), name, &bytes), *changed = NULL;
    struct table *row = yp_alloc_host(t, bytes / 20 * sizeof *row);
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n"))
        row[rows++] = cut(line);
    FILE *out = open_memstream(&changed, &size);
    fputs(form->windows ? "\xef\xbb\xbf" : "", out);
    if (form->by_frame && row[0].fields == 23)
        qsort(row + 1, rows - 1, sizeof *row, by_frame);
    for (size_t i = 0; i < rows; i++)
        put_row(out, &row[i], form, i == 0);
    fclose(out);
    graph_tracks_write_file(t, yp_tmp_path(t), name, changed, size - (form->windows ? 2 : 0));
    free(changed);
}

/* -- plays ------------------------------------------------------------------------------------- */

static struct graph_tracks *read_tracks(struct yp_case *t, bool skip, struct graph_told *told)
{
    const struct graph_reading reading = {
        .skip_bad_rows = skip, .tell = graph_told_text, .arg = told};
    return graph_tracks_read(yp_device_cpu(), yp_tmp_path(t), &reading);
}

static double turned(double angle)
{
    return fmod(angle + 180, 360);
}

/* How far a play that was read is off from the one that was written. */
static double off(const struct graph_play *p, const struct synth_play *s)
{
    double worst = 0;
    bool any = false;
    size_t first = 0;
    while (!any) /* the frames that nobody has are left out */
        for (size_t i = 0; i < s->players; i++)
            any = s->present[first * s->players + i] != 0 || any;
    for (size_t i = 0; i < p->frames * s->players; i++) {
        const size_t at = first * s->players + i;
        const double here[6] = {p->x[i],         p->y[i],          p->speed[i], p->acceleration[i],
                                p->direction[i], p->orientation[i]};
        const double there[6] = {s->left ? 120 - (double)s->x[at] : s->x[at],
                                 s->left ? 53.3 - (double)s->y[at] : s->y[at],
                                 s->speed[at],
                                 s->acceleration[at],
                                 s->left ? turned(s->direction[at]) : s->direction[at],
                                 s->left ? turned(s->orientation[at]) : s->orientation[at]};
        if (p->present[i] != s->present[at])
            return INFINITY;
        for (size_t k = 0; k < 6 && p->present[i] != 0; k++)
            worst = fmax(worst, fabs(here[k] - there[k]));
    }
    for (size_t i = 0; i < s->players; i++)
        worst = fmax(worst, fabs((double)p->weight[i] - s->weight[i]) + (p->role[i] != s->role[i]) +
                                (p->side[i] != s->side[i]));
    return worst;
}

static void check_play(struct yp_case *t, const struct graph_play *p, const struct synth_play *s)
{
    yp_require(t, p->game == s->game && p->play == s->play && p->players == s->players, "game %lld",
               (long long)p->game);
    yp_require(t, p->frames == s->frames, "%zu frames, %zu are right", p->frames, s->frames);
    yp_expect(t, off(p, s) < 2e-5, "a value is off by %g", off(p, s));
    yp_expect(t,
              p->formation == s->formation && p->alignment == s->alignment &&
                  p->coverage == (float)s->coverage && p->down == (float)s->down &&
                  p->to_go == (float)s->to_go && p->box == (float)s->box,
              "formation %d, alignment %d, coverage %g, down %g, %g to go, box %g", p->formation,
              p->alignment, (double)p->coverage, (double)p->down, (double)p->to_go, (double)p->box);
    yp_ok(t, graph_check_play(p));
}

/* What is written is read again, whatever the form of the file. */
YP_TEST(graph_tracks, forms, .tags = "stress small", .parallel = true,
        .axes = YP_AXES(yp_axis_string("form", "plain", "permuted", "camel", "quoted", "windows",
                                       "by_frame", "all", "train")))
{
    enum { WEEKS = 2, PLAYS = 3 };
    const struct synth_plays spec = {.seed = yp_seed(t), .missing = 0.2};
    const char *is = yp_string(t, "form");
    const bool all = strcmp(is, "all") == 0, train = strcmp(is, "train") == 0;
    const struct form form = {all || strcmp(is, "permuted") == 0, all || strcmp(is, "camel") == 0,
                              all || strcmp(is, "quoted") == 0, all || strcmp(is, "windows") == 0,
                              all || strcmp(is, "by_frame") == 0};
    struct synth_play *play = yp_alloc_host(t, sizeof *play);
    struct graph_tracks_seen seen;
    struct graph_told told = {0};
    graph_tracks_write(t, yp_tmp_path(t), &spec, WEEKS, PLAYS);
    change_form(t, "supplementary_data.csv", &form);
    change_form(t, "input_2023_w01.csv", &form);
    if (train) {
        char from[512], to[512];
        snprintf(to, sizeof to, "%s/train", yp_tmp_path(t));
        yp_require(t, mkdir(to, 0777) == 0, "%s", to);
        snprintf(from, sizeof from, "%s/input_2023_w02.csv", yp_tmp_path(t));
        snprintf(to, sizeof to, "%s/train/input_2023_w02.csv", yp_tmp_path(t));
        yp_require(t, rename(from, to) == 0, "%s", to);
    }
    struct graph_tracks *tracks = read_tracks(t, false, &told);
    yp_require(t, tracks != NULL, "%s", yp_last_error());
    const struct graph_play *plays = graph_tracks_plays(tracks, &seen);
    yp_expect(t, seen.bad_rows == 0 && told.count == 0 && seen.files == WEEKS, "%s", told.first);
    yp_require(t, seen.plays == (size_t)WEEKS * PLAYS, "%zu plays", seen.plays);
    for (size_t i = 0; i < seen.plays; i++) {
        yp_ok(t, synth_play_make(&spec, 1 + (int)(i / PLAYS), i % PLAYS, play));
        check_play(t, &plays[i], play);
    }
    graph_tracks_free(tracks);
}

/* -- rows by hand ------------------------------------------------------------------------------ */

#define NAMES \
    "game_id,play_id,nfl_id,frame_id,play_direction,player_weight,player_side," \
    "player_role,x,y,s,a,dir,o\n"
#define SUMMARY \
    "game_id,play_id,play_nullified_by_penalty,down,yards_to_go,offense_formation," \
    "receiver_alignment,defenders_in_the_box,team_coverage_man_zone\n"

static struct graph_tracks *read_rows(struct yp_case *t, const char *summary, const char *rows,
                                      bool skip, struct graph_told *told)
{
    graph_tracks_write_file(t, yp_tmp_path(t), "supplementary_data.csv", summary, strlen(summary));
    graph_tracks_write_file(t, yp_tmp_path(t), "input_2023_w01.csv", rows, strlen(rows));
    *told = (struct graph_told){0};
    return read_tracks(t, skip, told);
}

/* What is missing, and what the reader makes of it. */
YP_TEST(graph_tracks, missing, .tags = "stress small", .parallel = true)
{
    struct graph_told told;
    struct graph_tracks_seen seen;
    struct graph_tracks *tracks =
        read_rows(t,
                  SUMMARY "1,10,N,,NA,PISTOL,9x9,NA,NA\n1,11,Y,1,10,EMPTY,2x2,6,MAN_COVERAGE\n"
                          "1,12,N,3,7,,3x1,8,ZONE_COVERAGE\n",
                  NAMES "1,12,7,5,right,,Offense,Passer,10,20,1,2,3,4\n"
                        "\n"
                        "1,12,5,7,right,NA,Unsure,Holder,30,40,,NA,,\n" /* players by number */
                        "1,12,7,6,right,210,Offense,Passer,,20,1,2,3,4\n"
                        "1,12,NA,6,right,,,,50,25,1,2,3,4\n" /* the ball */
                        "1,13,7,6,right,210,Offense,Passer,10,20,1,2,3,4\n"
                        "1,11,7,6,right,210,Offense,Passer,10,20,1,2,3,4\n"
                        "1,10,8,1,left,210,Defense,Targeted Receiver,10,20.5,1,2,200,180",
                  false, &told);
    yp_require(t, tracks != NULL, "%s", yp_last_error());
    const struct graph_play *p = graph_tracks_plays(tracks, &seen);
    yp_require(t, seen.plays == 2 && seen.nullified == 1 && seen.unknown == 1 && seen.rows == 7,
               "%zu plays, %zu nullified, %zu unknown, %zu rows", seen.plays, seen.nullified,
               seen.unknown, seen.rows);
    yp_expect(t, p[0].down == 1 && p[0].to_go == 10 && p[0].box == 7 && p[0].coverage == -1,
              "down %g, %g to go, box %g, coverage %g", (double)p[0].down, (double)p[0].to_go,
              (double)p[0].box, (double)p[0].coverage);
    yp_expect(t,
              p[0].formation == 3 && p[0].alignment == 9 && p[1].formation == 7 &&
                  p[1].alignment == 1 && p[1].coverage == 1,
              "formations %d and %d", p[0].formation, p[1].formation);
    yp_expect(t,
              p[0].x[0] == 110 && p[0].y[0] == (float)(53.3 - 20.5) && p[0].direction[0] == 20 &&
                  p[0].orientation[0] == 0,
              "%g, %g, %g, %g", (double)p[0].x[0], (double)p[0].y[0], (double)p[0].direction[0],
              (double)p[0].orientation[0]);
    yp_require(t, p[1].players == 2 && p[1].frames == 3, "%zu players, %zu frames", p[1].players,
               p[1].frames);
    yp_expect(t, memcmp(p[1].present, "\0\1\0\0\1\0", 6) == 0 && p[1].x[4] == 30,
              "others are present");
    yp_expect(t,
              p[1].role[0] == 4 && p[1].side[0] == 2 && p[1].weight[0] == 200 &&
                  p[1].role[1] == 2 && p[1].side[1] == 1 && p[1].weight[1] == 200 &&
                  p[1].speed[4] == 0 && p[1].orientation[4] == 0,
              "roles %d and %d", p[1].role[0], p[1].role[1]);
    graph_tracks_free(tracks);
}

/* A bad row ends the reading with file and line, or is left out and told of. */
YP_TEST(graph_tracks, bad_rows, .tags = "stress small", .parallel = true)
{
    static const char summary[] = SUMMARY "1,10,N,1,10,EMPTY,2x2,6,NA\n";
    static const char good[] = "1,10,3,1,right,210,Offense,Passer,11,20,1,2,3,4\n"
                               "1,10,7,1,right,210,Offense,Passer,12,20,1,2,3,4\n";
    static const struct {
        const char *row, *says;
    } bad[] = {
        {"1,10,7\n", "w01.csv:4: the row has 3 fields: must be 14"},
        {"1,10,7,2,right,210,Offense,Passer,11,20,1,2,3,4,5\n", "w01.csv:4: the row has 15 fields"},
        {"1,10,7,2,right,210,Offense,Passer,nan,20,1,2,3,4\n",
         "w01.csv:4: game 1 play 10 frame 2: x is 'nan': must be a number"},
        {"1,10,7,2,right,210,Offense,Passer,11,-inf,1,2,3,4\n",
         "w01.csv:4: game 1 play 10 frame 2: y is '-inf': must be a number"},
        {"1,10,7,2,right,210,Offense,Passer,11,1e7,1,2,3,4\n", "y is '1e7': must be a number with"},
        {"1,10,7,2,right,210,Offense,Passer,11,20,fast,2,3,4\n", "w01.csv:4: s is 'fast': must be"},
        {"1,10,7,2,right,210,Offense,Passer,11,20,1,2,3.5.5,4\n", "4: dir is '3.5.5': must be"},
        {"1,10,7,2,right,210,Offense,Passer,11,20,1,2,3,.\n", "w01.csv:4: o is '.': must be"},
        {"x,10,7,2,right,210,Offense,Passer,11,20,1,2,3,4\n", "game_id is 'x': must be a whole"},
        {"1,,7,2,right,210,Offense,Passer,11,20,1,2,3,4\n", "play_id is '': must be a whole"},
        {"1,10,7.5,2,right,210,Offense,Passer,11,20,1,2,3,4\n", "nfl_id is '7.5': must be a whole"},
        {"1,10,7,1000000,right,210,Offense,Passer,11,20,1,2,3,4\n",
         "w01.csv:4: frame_id is 1000000: must be 0 to 65535"},
        {"1,10,7,-1,right,210,Offense,Passer,11,20,1,2,3,4\n", "frame_id is -1: must be 0 to"},
        {"1,10,7,2,Left,210,Offense,Passer,11,20,1,2,3,4\n",
         "w01.csv:4: play_direction is 'Left': must be left or right"},
        {"1,10,9,2,right,heavy,Offense,Passer,11,20,1,2,3,4\n", "player_weight is 'heavy': must"},
        {"1,10,7,1,right,210,Offense,Passer,11,20,1,2,3,4\n",
         "w01.csv:4: game 1 play 10: player 7 is there twice in frame 1"},
        {"1,10,7,2,\"right,210,Offense,Passer,11,20,1,2,3,4\n", "w01.csv:4: a quote has no end"},
    };
    char rows[1024];
    struct graph_told told;
    struct graph_tracks_seen seen;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const bool last = strchr(bad[i].row, '"') != NULL;
        snprintf(rows, sizeof rows, "%s%s%s%s", NAMES, good, bad[i].row,
                 last ? "" : "1,10,7,3,right,210,Offense,Passer,13,20,1,2,3,4\n");
        struct graph_tracks *tracks = read_rows(t, summary, rows, false, &told);
        yp_expect(t, tracks == NULL && strstr(yp_last_error(), bad[i].says) != NULL,
                  "'%s' does not say '%s'", tracks == NULL ? yp_last_error() : "", bad[i].says);
        graph_tracks_free(tracks);
        tracks = read_rows(t, summary, rows, true, &told);
        yp_require(t, tracks != NULL, "%s", yp_last_error());
        const struct graph_play *p = graph_tracks_plays(tracks, &seen);
        yp_expect(t, told.count == 1 && strstr(told.first, bad[i].says) != NULL,
                  "'%s' does not say '%s'", told.first, bad[i].says);
        yp_expect(t,
                  seen.bad_rows == 1 && seen.plays == 1 && p->players == 2 &&
                      p->frames == (last ? 1 : 3) && p->x[1] == 12 && (last || p->x[5] == 13),
                  "row %zu: %zu bad rows, %zu frames", i, seen.bad_rows, p->frames);
        graph_tracks_free(tracks);
    }
}

/* -- numbers ----------------------------------------------------------------------------------- */

/* Digits, a point, signs and other things, as they come; most are numbers. */
static size_t draw_text(struct ypi_seed *seed, char out[32])
{
    static const char other[] = "0123456789.-+e x";
    const size_t digits = (size_t)(17 * ypi_seed_uniform(seed));
    size_t length = 0;
    if (ypi_seed_uniform(seed) < 0.3)
        out[length++] = '-';
    for (size_t i = 0; i < digits; i++) {
        out[length++] = (char)('0' + (int)(10 * ypi_seed_uniform(seed)));
        if (ypi_seed_uniform(seed) < 0.15)
            out[length++] = other[(size_t)(16 * ypi_seed_uniform(seed))];
        if (ypi_seed_uniform(seed) < 0.1)
            out[length++] = '.';
        if (length > 24)
            break;
    }
    out[length] = '\0';
    return length;
}

/* Numbers are those that strtod() and strtoll() read, to the bit, and texts that are none are
 * refused. */
YP_TEST(graph_tracks, numbers, .tags = "stress small", .parallel = true)
{
    enum { COUNT = 50000 };
    static const struct data_csv_column columns[] = {{"value", false}, {"last", false}};
    char(*text)[32] = yp_alloc_host(t, COUNT * sizeof *text), path[512], *rows = NULL, *end;
    size_t size, reals = 0, wholes = 0;
    struct ypi_seed seed = ypi_seed_of(yp_seed(t), 3, 0);
    struct data_csv csv;
    FILE *out = open_memstream(&rows, &size);
    fputs("value,last\n", out);
    for (size_t i = 0; i < COUNT; i++) {
        draw_text(&seed, text[i]);
        fprintf(out, "%s,%s\n", text[i], text[i]);
    }
    fclose(out);
    graph_tracks_write_file(t, yp_tmp_path(t), "numbers.csv", rows, size);
    free(rows);
    snprintf(path, sizeof path, "%s/numbers.csv", yp_tmp_path(t));
    yp_ok(t, data_csv_open(&csv, path, columns, 2));
    for (size_t i = 0; i < COUNT; i++) {
        yp_require(t, data_csv_next(&csv) == DATA_CSV_ROW, "%s", yp_last_error());
        const size_t column = i % 2;
        double value = 0;
        int64_t whole = 0;
        const double right = strtod(text[i], &end);
        const bool real = *end == '\0' && text[i][0] != '\0' && text[i][0] != ' ';
        const long long right_whole = strtoll(text[i], &end, 10);
        const bool is_whole = *end == '\0' && real && text[i][0] != '+' &&
                              strlen(text[i]) - (text[i][0] == '-') <= 18;
        const enum data_csv_value is = data_csv_real(&csv, column, &value);
        yp_expect(t, text[i][0] == '\0' ? is == DATA_CSV_MISSING : (is == DATA_CSV_NUMBER) == real,
                  "'%s' is %d", text[i], is);
        yp_expect(t, !real || memcmp(&value, &right, sizeof value) == 0, "'%s' is %.17g", text[i],
                  value);
        const bool found = data_csv_whole(&csv, column, &whole) == DATA_CSV_NUMBER;
        yp_expect(t, found == is_whole && (!found || whole == right_whole), "'%s' is %lld", text[i],
                  (long long)whole);
        reals += real;
        wholes += is_whole;
    }
    yp_expect(t, data_csv_next(&csv) == DATA_CSV_END, "there is one row more");
    yp_expect(t, reals > COUNT / 2 && wholes > COUNT / 10 && reals < COUNT * 9 / 10,
              "%zu numbers, %zu whole ones", reals, wholes);
    data_csv_close(&csv);
}

/* Many bad rows: ten are told of, and how many there were. */
YP_TEST(graph_tracks, many_bad_rows, .tags = "stress small", .parallel = true)
{
    static const char bad[] = "1,10,3,q,,,\n";
    char rows[2048] = NAMES "1,10,3,1,right,210,Offense,Passer,11,20,1,2,3,4\n";
    struct graph_told told;
    for (size_t i = 0, end = strlen(rows); i < 100; i++)
        memcpy(rows + end + i * (sizeof bad - 1), bad, sizeof bad);
    struct graph_tracks *tracks =
        read_rows(t, SUMMARY "1,10,N,1,10,EMPTY,2x2,6,NA\n", rows, true, &told);
    yp_require(t, tracks != NULL, "%s", yp_last_error());
    yp_expect(t, told.count == 11 && strstr(told.first, "w01.csv:3: the row has 7") != NULL,
              "told %zu times, first '%s'", told.count, told.first);
    graph_tracks_free(tracks);
}

/* Files and columns that are not there. */
YP_TEST(graph_tracks, refused, .tags = "stress small", .parallel = true)
{
    static const struct {
        const char *summary, *rows, *says;
    } wrong[] = {
        {SUMMARY, "", "input_2023_w01.csv: is empty: must begin with the names of its columns"},
        {SUMMARY, "game_id,play_id,nfl_id,frame_id\n", "w01.csv:1: there is no column x"},
        {SUMMARY, &NAMES[8], "w01.csv:1: there is no column game_id"},
        {SUMMARY, "Game Id,gameId," NAMES, "w01.csv:1: column game_id is there twice"},
        {"game_id,play_id\n", NAMES, "data.csv:1: there is no column play_nullified_by_penalty"},
        {SUMMARY "1,2,N,,,,,,\n1,2,N,,,,,,\n", NAMES, "data.csv:3: game 1 play 2 is there twice"},
        {SUMMARY "1,2,N,first,,,,,\n", NAMES, "data.csv:2: down is 'first': must be a number"},
    };
    struct graph_told told;
    struct graph_tracks *tracks = read_tracks(t, false, &told);
    yp_expect(t, tracks == NULL && strstr(yp_last_error(), "has no files of weeks, such as input_"),
              "%s", yp_last_error());
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        tracks = read_rows(t, wrong[i].summary, wrong[i].rows, false, &told);
        yp_expect(t, tracks == NULL && strstr(yp_last_error(), wrong[i].says) != NULL,
                  "'%s' does not say '%s'", tracks == NULL ? yp_last_error() : "", wrong[i].says);
        graph_tracks_free(tracks);
    }
}

/* Bytes of both files are others, missing or there again: either it is told where something is
 * wrong, or plays are read that may be. Without bad rows only names of columns are. */
YP_TEST(graph_tracks, mangled, .tags = "stress small", .parallel = true)
{
    enum { ROUNDS = 400 };
    static const char *const names[] = {"supplementary_data.csv", "input_2023_w01.csv"};
    static const char bytes[] = "\n\r,\",\"\n0.-+eN\0\xff";
    const struct synth_plays spec = {.seed = yp_seed(t), .players = 2, .frames = 16};
    struct ypi_seed seed = ypi_seed_of(yp_seed(t), 5, 0);
    struct graph_told told = {0};
    struct graph_tracks_seen seen;
    const char *text[2];
    size_t size[2], refused = 0, told_of = 0;
    graph_tracks_write(t, yp_tmp_path(t), &spec, 1, 1);
    for (int k = 0; k < 2; k++)
        text[k] = graph_tracks_read_file(t, yp_tmp_path(t), names[k], &size[k]);
    for (int i = 0; i < ROUNDS; i++) {
        const int k = i % 2;
        char *changed = yp_alloc_host(t, 2 * size[k]);
        size_t length = 0;
        for (size_t at = 0; at < size[k] && length < 2 * size[k] - 1; at++) {
            const uint64_t draw = ypi_seed_next(&seed), what = draw % size[k];
            if (what == 0 && i % 8 < 4)
                at = draw / size[k] % size[k]; /* goes on elsewhere */
            if (what != 1)
                changed[length++] =
                    what == 2 ? bytes[draw / size[k] % (sizeof bytes - 1)] : text[k][at];
        }
        graph_tracks_write_file(t, yp_tmp_path(t), names[k], changed, length);
        graph_tracks_write_file(t, yp_tmp_path(t), names[1 - k], text[1 - k], size[1 - k]);
        told.count = 0;
        struct graph_tracks *tracks = read_tracks(t, i % 16 < 8, &told);
        told_of += tracks != NULL && told.count > 0;
        if (tracks == NULL) {
            refused++;
            yp_expect(t, strstr(yp_last_error(), names[k]) != NULL, "'%s'", yp_last_error());
            yp_expect(t, i % 16 >= 8 || strstr(yp_last_error(), "column") != NULL, "'%s'",
                      yp_last_error());
            continue;
        }
        const struct graph_play *plays = graph_tracks_plays(tracks, &seen);
        for (size_t j = 0; j < seen.plays; j++)
            yp_ok(t, graph_check_play(&plays[j]));
        graph_tracks_free(tracks);
    }
    yp_expect(t, refused > ROUNDS / 10 && told_of > ROUNDS / 10, "%zu refused, %zu told of",
              refused, told_of);
}

/* A play of two files would be on both sides of a split: its rows of the second one are bad. */
YP_TEST(graph_tracks, in_two_files, .tags = "stress small", .parallel = true)
{
    static const char says[] = "w02.csv:2: game 1 play 10 is in a file before this, too";
    static const char summary[] = SUMMARY "1,10,N,,,,,,\n1,11,N,,,,,,\n";
    static const char rows[] = NAMES "1,10,7,1,right,210,Offense,Passer,11,20,1,2,3,4\n"
                                     "1,10,7,2,right,210,Offense,Passer,12,20,1,2,3,4\n"
                                     "1,11,7,1,right,210,Offense,Passer,13,20,1,2,3,4\n";
    static const char first[] = NAMES "1,10,7,1,right,210,Offense,Passer,10,20,1,2,3,4\n";
    struct graph_told told;
    struct graph_tracks_seen seen;
    graph_tracks_write_file(t, yp_tmp_path(t), "input_2023_w02.csv", rows, strlen(rows));
    struct graph_tracks *tracks = read_rows(t, summary, first, false, &told);
    yp_expect(t, tracks == NULL && strstr(yp_last_error(), says) != NULL, "'%s'", yp_last_error());
    graph_tracks_free(tracks);
    tracks = read_rows(t, summary, first, true, &told);
    yp_require(t, tracks != NULL, "%s", yp_last_error());
    const struct graph_play *p = graph_tracks_plays(tracks, &seen);
    yp_expect(t, told.count == 2 && strstr(told.first, says) != NULL, "told '%s'", told.first);
    yp_require(t, seen.plays == 2 && seen.bad_rows == 2, "%zu plays", seen.plays);
    yp_expect(t, p[0].frames == 1 && p[0].x[0] == 10 && p[1].play == 11 && p[1].x[0] == 13,
              "%zu frames, at %g", p[0].frames, (double)p[0].x[0]);
    graph_tracks_free(tracks);
}

/* What has a file's name and is none is not waited for. */
YP_TEST(graph_tracks, no_files, .tags = "stress small", .parallel = true)
{
    struct graph_told told;
    char path[512];
    for (int i = 0; i < 2; i++) {
        graph_tracks_write_file(t, yp_tmp_path(t), "supplementary_data.csv", SUMMARY,
                                strlen(SUMMARY));
        snprintf(path, sizeof path, "%s/input_2023_w01.csv", yp_tmp_path(t));
        yp_require(t, (i == 0 ? mkdir(path, 0777) : mkfifo(path, 0666)) == 0, "%s", path);
        struct graph_tracks *tracks = read_tracks(t, false, &told);
        yp_expect(t, tracks == NULL && strstr(yp_last_error(), "w01.csv: is no file") != NULL, "%s",
                  yp_last_error());
        graph_tracks_free(tracks);
        yp_require(t, remove(path) == 0, "%s", path);
    }
}

static enum yp_status attempt(struct yp_case *t, void *arg)
{
    struct graph_tracks *tracks = read_tracks(t, false, arg);
    graph_tracks_free(tracks);
    return tracks != NULL ? YP_OK : yp_last_status();
}

/* Every request for memory may fail. */
YP_TEST(graph_tracks, without_memory, .tags = "stress small", .parallel = true)
{
    const struct synth_plays spec = {.seed = yp_seed(t), .players = 4, .frames = 16};
    struct graph_told told = {0};
    graph_tracks_write(t, yp_tmp_path(t), &spec, 1, 2);
    yp_refuse_each(t, yp_device_cpu(), attempt, &told);
}
