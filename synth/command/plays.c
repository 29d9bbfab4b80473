/* `yieldpoint plays`: weeks of plays as files of CSV, with the names of the Big Data Bowl. */
#include "base/system/clock.h"
#include "base/text/figures.h"
#include "device/cpu/binding.h"
#include "synth/command/command.h"
#include "synth/command/internal.h"
#include "synth/plays/csv.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK_BYTES ((size_t)4 << 20) /* of rows, at most, which a thread makes at a time */
#define ROW_USUAL 150                 /* bytes */

/* ---- options ---- */

struct plays_job {
    struct synth_plays spec;
    size_t weeks, plays, threads;
    char *output, *config;
    bool quiet, force, help;
};

#define AT(field) offsetof(struct plays_job, field)
#define SIZE(field) .value = "N", .kind = YPI_OPTION_SIZE, .offset = AT(field)
#define SWITCH(field) .kind = YPI_OPTION_SWITCH, .offset = AT(field)
#define PATH(field) .kind = YPI_OPTION_PATH, .offset = AT(field), .allowed = "a path"

static const struct ypi_option options[] = {
    {"output", PATH(output), .value = "DIR", .help = "where the files go; it is made"},
    {"weeks", SIZE(weeks), .help = "how many, 1 to 99; 1"},
    {"plays", SIZE(plays), .help = "of a week, 1 to 640000"},
    {"seed", .value = "N", .kind = YPI_OPTION_WORD64, .offset = AT(spec.seed),
     .allowed = "a whole number", .help = "0 to 2^64 - 1; 0"},
    {"players", SIZE(spec.players), .help = "of a play, 2 to 200, half of them the offense; 22"},
    {"frames", SIZE(spec.frames), .help = "of a play, 16 to 200; 25 to 100, differing by play"},
    {"missing", .value = "X|off", .kind = YPI_OPTION_REAL, .offset = AT(spec.missing), .max = 1,
     .zero_is_off = true, .allowed = "a number above 0, at most 1, or off",
     .help = "part of the players who are absent for up to half of the frames; off"},
    {"threads", SIZE(threads), .help = "that make and write, 1 to 1024; all processors"},
    {"config", PATH(config), .value = "PATH",
     .help = "FILE with a section [plays] of these options; the nearest yieldpoint.ini"},
    {"quiet", SWITCH(quiet), .help = "neither progress nor report"},
    {"force", SWITCH(force), .help = "replace files that are there"},
    {"help", SWITCH(help), .help = "this"},
    {.letter = 'h', .kind = YPI_OPTION_FLAG, .offset = AT(help)},
    YPI_OPTIONS_END,
};

static int help(void)
{
    static const char *const titles[] = {""};
    puts(
        "usage: yieldpoint plays --output DIR --plays N [options]\n\n"
        "Makes synthetic plays of American football and stores them in the columns of the NFL Big\n"
        "Data Bowl 2026: DIR/train/input_2023_w01.csv and so on have the players frame by frame,\n"
        "DIR/supplementary_data.csv the plays; it is written last, so all files are whole where\n"
        "it is. After each option what it is, and its default.\n");
    ypi_options_print(options, titles);
    puts("\nExit codes: 0 all right, 3 a file cannot be read or written, 4 wrong command line or "
         "ini\n"
         "file, 130 or 143 interrupted by SIGINT or SIGTERM.");
    return fflush(stdout) == 0 ? YPI_SYNTH_OK : YPI_SYNTH_FILE;
}

static int read_job(struct plays_job *job, int argc, char **argv)
{
    struct plays_job given = {0};
    *job = (struct plays_job){.weeks = 1};
    int code = ypi_command_read("plays", options, &given, job, argc, argv);
    if (code != YPI_SYNTH_OK || job->help)
        return code;
    if (job->output == NULL || job->plays == 0)
        return ypi_command_refuse("plays", job->output == NULL ? "--output is missing"
                                                               : "--plays is missing");
    if (strlen(job->output) + 64 > YPI_PATH_MAX)
        return ypi_command_refuse("plays", "--output is too long");
    if (job->threads == 0)
        job->threads = (size_t)ypi_processors();
    enum yp_status status = ypi_crew_check(job->threads);
    if (status == YP_OK)
        status = synth_plays_check(&job->spec);
    if (status == YP_OK && job->weeks > SYNTH_PLAY_WEEKS)
        status = yp_set_error(YP_INVALID, "synth_plays.weeks is %zu: must be 1 to %d", job->weeks,
                              SYNTH_PLAY_WEEKS);
    if (status == YP_OK && job->plays > SYNTH_PLAY_PLAYS)
        status = yp_set_error(YP_INVALID, "synth_plays.plays is %zu: must be 1 to %d", job->plays,
                              SYNTH_PLAY_PLAYS);
    return status == YP_OK ? YPI_SYNTH_OK : ypi_report_error(status);
}

/* ---- files ---- */

struct run {
    const struct plays_job *job;
    struct ypi_crew crew;
    struct ypi_progress progress;
    struct ypi_atomic_file rows, summary; /* of this week; of all weeks */
    uint64_t rows_bytes, summary_bytes, all_bytes;
    int week;
    size_t players, chunk; /* of a play; plays of one */
    size_t next, turn;     /* the first play that is not taken, that is not placed in the files */
    size_t weeks_whole;    /* that have their names */
    bool made[2];          /* the folders that were not there */
    uint64_t frames, all_frames; /* of the plays that are placed; of all */
    double began;
};

static void path_of(const struct plays_job *job, int week, char out[YPI_PATH_MAX])
{
    if (week == 0)
        snprintf(out, YPI_PATH_MAX, "%s/supplementary_data.csv", job->output);
    else
        snprintf(out, YPI_PATH_MAX, "%s/train/input_2023_w%02d.csv", job->output, week);
}

/* Week 0 is the summary: it goes first, as it says that all beside it are of one kind. */
static enum yp_status make_way(const struct plays_job *job)
{
    char path[YPI_PATH_MAX];
    struct stat there;
    for (int week = 0; !job->force && week <= (int)job->weeks; week++) {
        path_of(job, week, path);
        if (lstat(path, &there) == 0)
            return yp_set_error(YP_IO, "%s: is there already; --force replaces it", path);
    }
    path_of(job, 0, path);
    if (!job->force)
        return YP_OK;
    if (unlink(path) == 0)
        return ypi_sync_directory(path);
    return errno == ENOENT || errno == ENOTDIR
               ? YP_OK
               : yp_set_error(YP_IO, "%s: %s", path, strerror(errno));
}

static void folder_of(const struct plays_job *job, size_t i, char out[YPI_PATH_MAX])
{
    snprintf(out, YPI_PATH_MAX, "%s%s", job->output, i == 0 ? "" : "/train");
}

static enum yp_status make_folders(struct run *r)
{
    char path[YPI_PATH_MAX];
    for (size_t i = 0; i < 2; i++) {
        folder_of(r->job, i, path);
        r->made[i] = mkdir(path, 0777) == 0;
        if (!r->made[i] && errno != EEXIST)
            return yp_set_error(YP_IO, "%s: cannot be made: %s", path, strerror(errno));
    }
    return YP_OK;
}

/* Those that this run made, where they hold nothing. */
static void remove_folders(const struct run *r)
{
    char path[YPI_PATH_MAX];
    for (size_t i = 2; i-- > 0;) {
        folder_of(r->job, i, path);
        if (r->made[i])
            rmdir(path);
    }
}

static size_t rows_room(const struct run *r, size_t plays)
{
    size_t frames = r->job->spec.frames > 0 ? r->job->spec.frames : 100;
    return plays * frames * r->players * SYNTH_PLAY_ROW;
}

static void count_frames(struct run *r)
{
    r->players = r->job->spec.players > 0 ? r->job->spec.players : 22;
    r->chunk = CHUNK_BYTES / rows_room(r, 1);
    r->chunk = r->chunk > 0 ? r->chunk : 1;
    for (int week = 1; week <= (int)r->job->weeks; week++)
        for (size_t play = 0; play < r->job->plays; play++)
            r->all_frames += synth_play_frames(&r->job->spec, week, play);
    r->all_bytes = r->all_frames * r->players * ROW_USUAL;
}

/* ---- one week ---- */

struct chunk {
    struct synth_play *play;
    char *rows, *summary;
    size_t first, count, rows_bytes, summary_bytes;
    uint64_t frames, rows_at, summary_at;
};

static bool take(struct run *r, struct chunk *c)
{
    pthread_mutex_lock(&r->crew.lock);
    size_t left = r->job->plays - r->next;
    bool some = left > 0 && !r->crew.stop && ypi_signal_caught() == 0;
    if (some) {
        c->first = r->next;
        c->count = left < r->chunk ? left : r->chunk;
        r->next += c->count;
    }
    pthread_mutex_unlock(&r->crew.lock);
    return some;
}

static enum yp_status fill(const struct run *r, struct chunk *c)
{
    c->rows_bytes = c->summary_bytes = 0;
    c->frames = 0;
    for (size_t i = 0; i < c->count; i++) {
        enum yp_status status = synth_play_make(&r->job->spec, r->week, c->first + i, c->play);
        if (status != YP_OK)
            return status;
        c->rows_bytes += synth_play_rows(c->play, c->rows + c->rows_bytes);
        c->summary_bytes += synth_play_summary(c->play, c->summary + c->summary_bytes);
        c->frames += c->play->frames;
    }
    return YP_OK;
}

/* Waits for the chunks before and takes the place behind them. False: the run is over. */
static bool place(struct run *r, struct chunk *c)
{
    pthread_mutex_lock(&r->crew.lock);
    while (r->turn != c->first && !r->crew.stop)
        pthread_cond_wait(&r->crew.changed, &r->crew.lock);
    bool mine = !r->crew.stop;
    if (mine) {
        c->rows_at = r->rows_bytes;
        c->summary_at = r->summary_bytes;
        r->rows_bytes += c->rows_bytes;
        r->summary_bytes += c->summary_bytes;
        r->frames += c->frames;
        r->turn += c->count;
        pthread_cond_broadcast(&r->crew.changed);
    }
    pthread_mutex_unlock(&r->crew.lock);
    return mine;
}

static enum yp_status store(const struct run *r, const struct chunk *c)
{
    enum yp_status status =
        ypi_write_at(r->rows.fd, r->rows.path, c->rows_at, c->rows, c->rows_bytes);
    return status != YP_OK ? status
                           : ypi_write_at(r->summary.fd, r->summary.path, c->summary_at, c->summary,
                                          c->summary_bytes);
}

static void work(void *argument)
{
    struct run *r = argument;
    struct chunk c = {0};
    size_t rows = rows_room(r, r->chunk), summary = r->chunk * SYNTH_PLAY_SUMMARY;
    c.play = yp_device_alloc(yp_device_cpu(), sizeof *c.play + rows + summary);
    enum yp_status status = c.play != NULL ? YP_OK : YP_OUT_OF_MEMORY;
    if (status == YP_OK) {
        c.rows = (char *)(c.play + 1);
        c.summary = c.rows + rows;
    }
    while (status == YP_OK && take(r, &c)) {
        status = fill(r, &c);
        if (status == YP_OK && place(r, &c))
            status = store(r, &c);
    }
    if (status != YP_OK) {
        pthread_mutex_lock(&r->crew.lock);
        ypi_crew_fail(&r->crew, status);
        pthread_mutex_unlock(&r->crew.lock);
    }
    if (c.play != NULL)
        yp_device_free(yp_device_cpu(), c.play);
}

static void show(void *argument)
{
    struct run *r = argument;
    double rows = (double)r->frames * (double)r->players;
    ypi_progress_show(&r->progress, (double)r->frames / (double)r->all_frames, rows,
                      rows * ROW_USUAL);
}

static enum yp_status begin(struct ypi_atomic_file *file, const struct plays_job *job, int week,
                            const char *columns, uint64_t *bytes)
{
    char path[YPI_PATH_MAX];
    path_of(job, week, path);
    enum yp_status status = ypi_atomic_create(file, path);
    *bytes = strlen(columns);
    return status == YP_OK ? ypi_write_at(file->fd, path, 0, columns, *bytes) : status;
}

static enum yp_status end(struct ypi_atomic_file *file, const struct plays_job *job)
{
    enum yp_status status = ypi_atomic_sync(file);
    return status == YP_OK ? ypi_atomic_publish(file, job->force) : status;
}

static enum yp_status run_week(struct run *r)
{
    r->next = r->turn = 0;
    enum yp_status status = begin(&r->rows, r->job, r->week, synth_play_columns, &r->rows_bytes);
    if (status == YP_OK)
        status = ypi_crew_run(&r->crew, r->job->threads, work, show, r);
    if (status == YP_OK && r->turn == r->job->plays)
        status = end(&r->rows, r->job);
    ypi_atomic_abandon(&r->rows);
    return status;
}

/* ---- all ---- */

static enum yp_status run_weeks(struct run *r, uint64_t *bytes)
{
    const struct plays_job *job = r->job;
    enum yp_status status =
        begin(&r->summary, job, 0, synth_play_summary_columns, &r->summary_bytes);
    while (status == YP_OK && r->weeks_whole < job->weeks && ypi_signal_caught() == 0) {
        r->week = (int)r->weeks_whole + 1;
        status = run_week(r);
        *bytes += r->rows_bytes;
        if (status == YP_OK && r->turn == job->plays)
            r->weeks_whole++;
    }
    if (status == YP_OK && r->weeks_whole == job->weeks) {
        status = end(&r->summary, job);
        if (status == YP_OK)
            status = ypi_sync_directory(r->summary.path);
    }
    ypi_atomic_abandon(&r->summary);
    *bytes += r->summary_bytes;
    return status;
}

static void report(const struct run *r, uint64_t bytes)
{
    char row_rate[YPI_FIGURE_MAX], byte_rate[YPI_FIGURE_MAX], time[YPI_FIGURE_MAX];
    double seconds = ypi_now() - r->began;
    if (r->job->quiet)
        return;
    ypi_format_rate(row_rate, (double)(r->frames * r->players) / seconds, "rows");
    ypi_format_rate(byte_rate, (double)bytes / seconds, "B");
    ypi_format_seconds(time, seconds);
    printf("%zu week%s of %zu plays: %" PRIu64 " frames of %zu players, %" PRIu64
           " bytes in %s: %s, %s\n",
           r->job->weeks, r->job->weeks == 1 ? "" : "s", r->job->plays, r->frames, r->players,
           bytes, time, row_rate, byte_rate);
}

static enum yp_status make_all(struct run *r, uint64_t *bytes)
{
    enum yp_status status = make_way(r->job);
    if (status == YP_OK)
        status = make_folders(r);
    char path[YPI_PATH_MAX];
    path_of(r->job, 0, path);
    if (status == YP_OK)
        status = ypi_check_free_space(path, r->all_bytes);
    if (status == YP_OK)
        status = run_weeks(r, bytes);
    remove_folders(r);
    return status;
}

static int make(const struct plays_job *job)
{
    struct run r = {.job = job, .rows.fd = -1, .summary.fd = -1, .began = ypi_now()};
    uint64_t bytes = 0;
    ypi_signals_begin();
    count_frames(&r);
    ypi_progress_begin(&r.progress, "plays", "rows", job->quiet);
    enum yp_status status = make_all(&r, &bytes);
    ypi_progress_end(&r.progress);
    ypi_signals_end();
    int code = status != YP_OK ? ypi_report_error(status) : YPI_SYNTH_OK;
    if (status == YP_OK && r.weeks_whole < job->weeks) {
        fputs("yieldpoint: interrupted\n", stderr);
        code = 128 + ypi_signal_caught();
    }
    if (code != YPI_SYNTH_OK && r.weeks_whole > 0)
        fprintf(stderr,
                "yieldpoint: %zu of %zu weeks are whole and stay, without supplementary_data.csv\n",
                r.weeks_whole, job->weeks);
    if (code == YPI_SYNTH_OK)
        report(&r, bytes);
    if (fflush(stdout) == 0)
        return code;
    fputs("yieldpoint: the standard output cannot be written\n", stderr);
    return YPI_SYNTH_FILE;
}

int ypi_plays_command(int argc, char **argv)
{
    struct plays_job job;
    int code = read_job(&job, argc, argv);
    if (code == YPI_SYNTH_OK)
        code = job.help ? help() : make(&job);
    ypi_options_free(&job, options);
    return code;
}
