/* Graphs that are kept in memory or in a file, whatever happens to that. */
#include "suites/graph_tracks.h"

#include "models/data/cache.h"

#include "base/numbers/splitmix.h"
#include "base/system/atomic_file.h"
#include "base/system/clock.h"

#include <dirent.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NAME "graphs.cache"
static const struct synth_plays small_spec = {.players = 6, .frames = 20, .missing = 0.3};

/* Files of a few plays, and what a batch of all graphs is without a cache. */
static uint64_t write_plays(struct yp_case *t, const struct synth_plays *spec, size_t plays)
{
    const struct graph_reading reading = {.week = 0};
    const struct graph_caching none = {.threads = 1};
    graph_tracks_write(t, yp_tmp_path(t), spec, 1, plays);
    struct graph_data *data =
        graph_data_open(yp_device_cpu(), yp_tmp_path(t), &reading, &GRAPH_RULES, &none);
    yp_got(t, data);
    const struct graph_batch *batch = graph_tracks_batch(t, data, NULL);
    yp_ok(t, graph_check_batch(batch));
    yp_require(t, batch->edges > 20, "%zu edges", batch->edges);
    const uint64_t hash = graph_batch_hash(batch);
    graph_data_destroy(data);
    return hash;
}

static struct graph_data *open_data(struct yp_case *t, enum graph_cache where, int threads,
                                    struct graph_told *told)
{
    const struct graph_reading reading = {.week = 0};
    const struct graph_caching caching = {.where = where,
                                          .threads = threads,
                                          .tell = graph_told_text,
                                          .progress = graph_told_progress,
                                          .arg = told};
    *told = (struct graph_told){.count = 0};
    return graph_data_open(yp_device_cpu(), yp_tmp_path(t), &reading, &GRAPH_RULES, &caching);
}

/* Opens and reads all of it, which must be right, and says how often it was told of something. */
static struct graph_told read_right(struct yp_case *t, uint64_t right)
{
    struct graph_told told;
    struct graph_data *data = open_data(t, GRAPH_CACHE_DISK, 1, &told);
    yp_got(t, data);
    const uint64_t hash = graph_batch_hash(graph_tracks_batch(t, data, NULL));
    graph_data_destroy(data);
    yp_expect(t, hash == right, "what was read is not what is right");
    return told;
}

/* Only the files of plays and the cache are there. */
static void expect_no_other_file(struct yp_case *t)
{
    static const char *const known[] = {".", "..", NAME, "input_2023_w01.csv",
                                        "supplementary_data.csv"};
    DIR *directory = opendir(yp_tmp_path(t));
    yp_require(t, directory != NULL, "%s", yp_tmp_path(t));
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        size_t i = 0;
        while (i < sizeof known / sizeof *known && strcmp(entry->d_name, known[i]) != 0)
            i++;
        yp_expect(t, i < sizeof known / sizeof *known, "%s was left", entry->d_name);
    }
    closedir(directory);
}

/* -- what is kept ------------------------------------------------------------------------------ */

/* The same bits from a cache, by any number of threads, with changes and without. */
YP_TEST(graph_cache, kept, .tags = "stress small", .parallel = true,
        .axes = YP_AXES(yp_axis_string("where", "memory", "disk", "again"),
                        yp_axis_int("threads", 1, 2)))
{
    const struct synth_plays spec = {.seed = yp_seed(t), .missing = 0.1};
    const struct graph_augmentation changes = {yp_seed(t), 2, 0.5F, 0.1F};
    const char *where = yp_string(t, "where");
    const int threads = (int)yp_int(t, "threads");
    struct graph_told told;
    write_plays(t, &spec, 3);
    struct graph_data *off = open_data(t, GRAPH_CACHE_OFF, threads, &told);
    if (strcmp(where, "again") == 0)
        graph_data_destroy(open_data(t, GRAPH_CACHE_DISK, threads, &told));
    struct graph_data *on = open_data(
        t, strcmp(where, "memory") == 0 ? GRAPH_CACHE_MEMORY : GRAPH_CACHE_DISK, threads, &told);
    yp_require(t, off != NULL && on != NULL, "%s", yp_last_error());
    yp_expect(t, told.progress == (strcmp(where, "again") != 0) && told.left == 0,
              "told of the end %zu times, %g s are left", told.progress, told.left);
    const size_t count = graph_data_count(on);
    yp_require(
        t,
        count == graph_data_count(off) &&
            memcmp(graph_data_groups(on), graph_data_groups(off), count * sizeof(uint32_t)) == 0,
        "%zu graphs", count);
    yp_expect(t,
              graph_batch_hash(graph_tracks_batch(t, on, NULL)) ==
                  graph_batch_hash(graph_tracks_batch(t, off, NULL)),
              "graphs differ");
    yp_expect(t,
              graph_batch_hash(graph_tracks_batch(t, on, &changes)) ==
                  graph_batch_hash(graph_tracks_batch(t, off, &changes)),
              "changed graphs differ");
    yp_expect(t,
              graph_batch_hash(graph_tracks_batch(t, on, &changes)) !=
                  graph_batch_hash(graph_tracks_batch(t, on, NULL)),
              "graphs are not changed");
    yp_expect(t, told.count == 0, "told '%s'", told.first);
    graph_data_destroy(on);
    graph_data_destroy(off);
}

/* More plays than one record lists, and none that has a graph. */
YP_TEST(graph_cache, many_plays, .tags = "stress small", .parallel = true)
{
    const struct synth_plays spec = {.seed = yp_seed(t), .players = 2, .frames = 25};
    const struct graph_reading reading = {.week = 0};
    const uint64_t right = write_plays(t, &spec, 40);
    struct graph_told told;
    read_right(t, right);
    struct graph_data *data = open_data(t, GRAPH_CACHE_DISK, 1, &told);
    yp_got(t, data);
    yp_expect(t,
              told.progress == 0 && graph_data_count(data) == 400 &&
                  graph_data_groups(data)[399] == 39,
              "%zu graphs", graph_data_count(data));
    yp_expect(t, graph_data_play(data, 399)->frames == 25 && graph_data_frame(data, 399) == 14,
              "the last graph is of frame %zu", graph_data_frame(data, 399));
    graph_data_destroy(data);
    const struct graph_rules rules = {.radius = 20, .past = 20, .future = 10};
    const struct graph_caching caching = {.where = GRAPH_CACHE_DISK, .threads = 1};
    for (int i = 0; i < 2; i++) {
        data = graph_data_open(yp_device_cpu(), yp_tmp_path(t), &reading, &rules, &caching);
        yp_got(t, data);
        yp_expect(t, graph_data_count(data) == 0, "%zu graphs", graph_data_count(data));
        graph_data_destroy(data);
    }
}

/* Plays in memory are kept in a file, too, which those of other values do not use. */
YP_TEST(graph_cache, plays_in_memory, .tags = "stress small", .parallel = true)
{
    const struct graph_reading reading = {.week = 0};
    struct graph_tracks_seen seen;
    struct graph_told told = {.count = 0};
    char path[512];
    snprintf(path, sizeof path, "%s/of/plays.cache", yp_tmp_path(t));
    write_plays(t, &small_spec, 2);
    struct graph_tracks *tracks = graph_tracks_read(yp_device_cpu(), yp_tmp_path(t), &reading);
    yp_got(t, tracks);
    const struct graph_play *plays = graph_tracks_plays(tracks, &seen);
    const struct graph_caching caching = {.where = GRAPH_CACHE_DISK,
                                          .path = path,
                                          .threads = 1,
                                          .tell = graph_told_text,
                                          .progress = graph_told_progress,
                                          .arg = &told};
    for (int round = 0; round < 3; round++) {
        ((float *)(uintptr_t)plays[1].y)[40] += round == 2 ? 0.5F : 0;
        struct graph_data *on =
            graph_data_of_plays(yp_device_cpu(), plays, seen.plays, &GRAPH_RULES);
        struct graph_data *off =
            graph_data_of_plays(yp_device_cpu(), plays, seen.plays, &GRAPH_RULES);
        yp_require(t, on != NULL && off != NULL, "%s", yp_last_error());
        yp_ok(t, graph_data_keep(on, &caching));
        yp_expect(t,
                  graph_batch_hash(graph_tracks_batch(t, on, NULL)) ==
                      graph_batch_hash(graph_tracks_batch(t, off, NULL)),
                  "graphs differ");
        yp_expect(t, told.progress == (round < 2 ? 1 : 2) && told.count == (round < 2 ? 0 : 1),
                  "round %d: made %zu times, told %zu", round, told.progress, told.count);
        graph_data_destroy(on);
        graph_data_destroy(off);
    }
    yp_expect(t, strstr(told.first, "plays.cache: is of other data or settings: it is made again"),
              "told '%s'", told.first);
    graph_tracks_free(tracks);
}

/* -- what happens to files --------------------------------------------------------------------- */

static void change_file(struct yp_case *t, size_t at, const void *bytes, size_t count)
{
    char path[512];
    snprintf(path, sizeof path, "%s/" NAME, yp_tmp_path(t));
    FILE *file = fopen(path, "r+");
    yp_require(t,
               file != NULL && fseek(file, (long)at, SEEK_SET) == 0 &&
                   fwrite(bytes, 1, count, file) == count && fclose(file) == 0,
               "%s", path);
}

/* One bit of a file of graphs is another, at 100 places: it is told of, the file made again, and no
 * wrong value is read. A next data set has nothing to tell. */
YP_TEST(graph_cache, corrupted, .tags = "stress small", .parallel = true, .timeout = 120)
{
    enum { PLACES = 100 };
    struct ypi_seed seed = ypi_seed_of(yp_seed(t), 4, 0);
    const uint64_t right = write_plays(t, &small_spec, 2);
    size_t bytes;
    yp_expect(t, read_right(t, right).count == 0, "told of something");
    for (int i = 0; i < PLACES; i++) {
        const char *text = graph_tracks_read_file(t, yp_tmp_path(t), NAME, &bytes);
        /* The first ones in the header and at the end, where there is less of it. */
        const size_t at = i < 20   ? (size_t)i * 3
                          : i < 40 ? bytes - 1 - (size_t)(i - 20) * 37
                                   : ypi_seed_next(&seed) % bytes;
        const char byte = (char)(text[at] ^ (1 << ypi_seed_next(&seed) % 8));
        change_file(t, at, &byte, 1);
        const struct graph_told told = read_right(t, right);
        yp_expect(t,
                  told.count == 1 && told.progress == 1 && strstr(told.first, NAME ": ") != NULL &&
                      strstr(told.first, ": it is made again") != NULL,
                  "byte %zu of %zu: told %zu times: '%s'", at, bytes, told.count, told.first);
        yp_expect(t, read_right(t, right).count == 0, "byte %zu is still wrong", at);
    }
    expect_no_other_file(t);
}

/* Truncated, longer than it was, something else, of other rules, of other plays. */
YP_TEST(graph_cache, other_files, .tags = "stress small", .parallel = true)
{
    static const double parts[] = {0, 0.0001, 0.01, 0.5, 0.99};
    const uint64_t right = write_plays(t, &small_spec, 2);
    struct graph_told told = read_right(t, right);
    size_t bytes;
    const char *text = graph_tracks_read_file(t, yp_tmp_path(t), NAME, &bytes);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        graph_tracks_write_file(t, yp_tmp_path(t), NAME, text, (size_t)(parts[i] * (double)bytes));
        told = read_right(t, right);
        yp_expect(t,
                  told.count == 1 && (strstr(told.first, "is truncated: it is made again") ||
                                      strstr(told.first, "is no cache of this version")),
                  "told %zu times: '%s'", told.count, told.first);
    }
    change_file(t, bytes, "", 1);
    told = read_right(t, right);
    yp_expect(t, strstr(told.first, "is truncated") != NULL, "told '%s'", told.first);
    change_file(t, 0, "ypcache0", 8);
    told = read_right(t, right);
    yp_expect(t, strstr(told.first, "is no cache of this version: it is") != NULL, "told '%s'",
              told.first);
    const struct graph_rules rules = {.radius = 20.5F, .past = 5, .future = 10};
    const struct graph_reading reading = {.week = 0};
    const struct graph_caching caching = {
        .where = GRAPH_CACHE_DISK, .threads = 1, .tell = graph_told_text, .arg = &told};
    told.count = 0;
    struct graph_data *data =
        graph_data_open(yp_device_cpu(), yp_tmp_path(t), &reading, &rules, &caching);
    yp_got(t, data);
    yp_expect(t, strstr(told.first, "is of other data or settings: it is made again") != NULL,
              "told '%s'", told.first);
    graph_data_destroy(data);
    const struct synth_plays other = {.seed = 1, .players = 6, .frames = 20};
    told = read_right(t, right);
    const uint64_t of_other = write_plays(t, &other, 2);
    told = read_right(t, of_other);
    yp_expect(t, of_other != right && strstr(told.first, "is of other data or settings") != NULL,
              "told '%s'", told.first);
    expect_no_other_file(t);
}

/* What is no cache keeps its name: a file of somebody's, a folder, a pipe. */
YP_TEST(graph_cache, no_cache, .tags = "stress small", .parallel = true)
{
    static const char notes[] = "what somebody wrote";
    struct graph_told told;
    char path[512];
    struct stat there;
    size_t bytes;
    snprintf(path, sizeof path, "%s/" NAME, yp_tmp_path(t));
    write_plays(t, &small_spec, 2);
    for (int i = 0; i < 3; i++) {
        if (i == 0)
            graph_tracks_write_file(t, yp_tmp_path(t), NAME, notes, sizeof notes);
        else
            yp_require(t, (i == 1 ? mkdir(path, 0777) : mkfifo(path, 0666)) == 0, "%s", path);
        struct graph_data *data = open_data(t, GRAPH_CACHE_DISK, 1, &told);
        yp_expect(t,
                  data == NULL && told.progress == 0 &&
                      strstr(yp_last_error(), NAME ": is no cache: must be one") != NULL,
                  "%d: made %zu times: %s", i, told.progress, yp_last_error());
        graph_data_destroy(data);
        yp_require(t, stat(path, &there) == 0 && !S_ISREG(there.st_mode) == (i > 0), "%d: gone", i);
        if (i == 0)
            yp_expect(t,
                      memcmp(graph_tracks_read_file(t, yp_tmp_path(t), NAME, &bytes), notes,
                             sizeof notes) == 0,
                      "other bytes");
        expect_no_other_file(t);
        yp_require(t, remove(path) == 0, "%s", path);
    }
}

/* Files of plays that change below an open data set: what it has read stays, and a damaged cache is
 * not made of others. */
YP_TEST(graph_cache, changed_below, .tags = "stress small", .parallel = true)
{
    struct graph_told told;
    const uint32_t graph = 3;
    const struct synth_plays other = {.seed = 1, .players = 6, .frames = 20};
    write_plays(t, &small_spec, 2);
    struct graph_data *data = open_data(t, GRAPH_CACHE_DISK, 1, &told);
    yp_got(t, data);
    const size_t size = graph_data_batch_bytes(data, 1);
    void *block = yp_alloc_host(t, size);
    graph_tracks_write(t, yp_tmp_path(t), &other, 1, 2);
    yp_ok(t, graph_data_read(data, &graph, 1, NULL, block, size));
    for (size_t at = 64; at < 60000; at += 64)
        change_file(t, at, "damage", 6);
    const uint32_t another = 5;
    yp_expect(t,
              graph_data_read(data, &another, 1, NULL, block, size) == YP_INVALID &&
                  strstr(yp_last_error(), "its files have changed since they were read"),
              "%s", yp_last_error());
    graph_data_destroy(data);
}

/* -- processes --------------------------------------------------------------------------------- */

/* A process that opens the data set and reads all of it: 0 when that is right. */
static pid_t begin_reader(struct yp_case *t, uint64_t right, bool fresh)
{
    char path[512];
    snprintf(path, sizeof path, "%s/" NAME, yp_tmp_path(t));
    const pid_t child = fork();
    yp_require(t, child >= 0, "no process");
    if (child > 0)
        return child;
    static char block[1 << 22] __attribute__((aligned(64)));
    struct graph_told told;
    uint32_t graphs[64];
    if (fresh)
        unlink(path);
    struct graph_data *data = open_data(t, GRAPH_CACHE_DISK, 1, &told);
    const size_t count = data != NULL ? graph_data_count(data) : 0;
    for (uint32_t i = 0; i < count && i < 64; i++)
        graphs[i] = i;
    const bool good = data != NULL && count <= 64 &&
                      graph_data_read(data, graphs, count, NULL, block, sizeof block) == YP_OK &&
                      graph_batch_hash((const struct graph_batch *)(void *)block) == right;
    _exit(good ? 0 : 1);
}

static int end_of(pid_t child)
{
    int status = 0;
    while (waitpid(child, &status, 0) != child)
        continue;
    return status;
}

/* Builders at the same time: all read what is right, and leave one file. */
YP_TEST(graph_cache, two_builders, .tags = "stress small", .parallel = true)
{
    const uint64_t right = write_plays(t, &small_spec, 2);
    for (int round = 0; round < 20; round++) {
        const pid_t a = begin_reader(t, right, round % 2 == 0);
        const pid_t b = begin_reader(t, right, round % 3 == 0);
        const pid_t c = begin_reader(t, right, false);
        const int ends[] = {end_of(a), end_of(b), end_of(c)};
        yp_expect(t, ends[0] == 0 && ends[1] == 0 && ends[2] == 0, "processes ended with %d %d %d",
                  ends[0], ends[1], ends[2]);
        expect_no_other_file(t);
    }
    yp_expect(t, read_right(t, right).count == 0, "told of something");
}

/* A process that makes the file, or reads it, is killed at 100 moments: what is there then is whole
 * or not there, and nothing else is left. File systems that know no nameless files keep a part
 * until the next process makes the file. */
YP_TEST(graph_cache, killed, .tags = "stress small", .parallel = true, .timeout = 120,
        .axes = YP_AXES(yp_axis_int("named", 0, 1)))
{
    enum { KILLS = 100 };
    struct ypi_seed seed = ypi_seed_of(yp_seed(t), 5, 0);
    const uint64_t right = write_plays(t, &small_spec, 2);
    const bool named = yp_int(t, "named") != 0;
    const double begun = ypi_now();
    int killed = 0;
    ypi_atomic_named = named;
    yp_expect(t, end_of(begin_reader(t, right, true)) == 0, "the file cannot be made");
    double span = ypi_now() - begun; /* so that about half of the processes end before */
    for (int i = 0; i < KILLS; i++) {
        const double wait = span * ypi_seed_uniform(&seed);
        const pid_t child = begin_reader(t, right, i % 3 != 0);
        nanosleep(
            &(struct timespec){.tv_sec = (time_t)wait, .tv_nsec = (long)(fmod(wait, 1) * 1e9)},
            NULL);
        kill(child, SIGKILL);
        const int status = end_of(child);
        killed += WIFSIGNALED(status);
        span *= WIFSIGNALED(status) ? 1.1 : 0.9;
        yp_expect(t, WIFSIGNALED(status) || status == 0, "a process ended with %d", status);
        if (!named)
            expect_no_other_file(t);
        if (i % 10 == 9) {
            yp_expect(t, read_right(t, right).count == 0, "told of something");
            yp_expect(t, end_of(begin_reader(t, right, true)) == 0, "the file cannot be made");
            expect_no_other_file(t);
        }
    }
    yp_expect(t, killed > KILLS / 10, "%d processes were killed before they ended", killed);
    yp_value(t, "killed", killed);
}

/* -- records ----------------------------------------------------------------------------------- */

struct made {
    size_t fails_at; /* SIZE_MAX: never */
    size_t calls;
};

static size_t size_of(size_t record)
{
    return record * 7919 % 500;
}

static enum yp_status make(void *arg, size_t record, void *to, size_t *size)
{
    struct made *made = arg;
    if (record == made->fails_at)
        return yp_set_error(YP_UNSUPPORTED, "record %zu cannot be made", record);
    *size = size_of(record);
    memset(to, (int)(record % 251), *size);
    return YP_OK;
}

static void check_records(struct yp_case *t, struct data_cache *cache, size_t count)
{
    yp_require(t, data_cache_count(cache) == count, "%zu records", data_cache_count(cache));
    for (size_t i = 0; i < count; i++) {
        const void *bytes = NULL;
        size_t size = 0;
        yp_ok(t, data_cache_read(cache, i, &bytes, &size));
        yp_require(t, size == size_of(i) && (uintptr_t)bytes % 64 == 0, "record %zu: %zu bytes", i,
                   size);
        for (size_t k = 0; k < size; k++)
            yp_require(t, ((const unsigned char *)bytes)[k] == i % 251, "record %zu, byte %zu", i,
                       k);
    }
    const void *bytes;
    size_t size;
    yp_expect(t, data_cache_read(cache, count, &bytes, &size) == YP_INVALID, "one more is there");
}

/* Records of any size, by any number of threads: the same file. What cannot be made leaves none. */
YP_TEST(graph_cache, records, .tags = "stress small", .parallel = true)
{
    static const size_t counts[] = {0, 1, 255, 256, 5000};
    struct made made = {.fails_at = SIZE_MAX};
    char path[2][512];
    for (int i = 0; i < 2; i++)
        snprintf(path[i], sizeof path[i], "%s/records%d", yp_tmp_path(t), i);
    struct data_cache_options options = {.key = 5, .most = 499, .make = make, .arg = &made};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        size_t bytes[2];
        options.records = counts[i];
        for (int k = 0; k < 2; k++) {
            options.path = path[k];
            options.threads = 1 + k;
            struct data_cache *cache = data_cache_build(yp_device_cpu(), &options, NULL);
            yp_got(t, cache);
            check_records(t, cache, counts[i]);
            data_cache_close(cache);
        }
        const char *a = graph_tracks_read_file(t, yp_tmp_path(t), "records0", &bytes[0]);
        const char *b = graph_tracks_read_file(t, yp_tmp_path(t), "records1", &bytes[1]);
        yp_expect(t, bytes[0] == bytes[1] && memcmp(a, b, bytes[0]) == 0, "the files differ");
        options.key++;
    }
    options.path = NULL;
    struct data_cache *cache = data_cache_build(yp_device_cpu(), &options, NULL);
    yp_got(t, cache);
    check_records(t, cache, 5000);
    data_cache_close(cache);
    made.fails_at = 3000;
    options.path = path[0];
    unlink(path[0]);
    yp_expect(t,
              data_cache_build(yp_device_cpu(), &options, NULL) == NULL &&
                  yp_last_status() == YP_UNSUPPORTED &&
                  strcmp(yp_last_error(), "record 3000 cannot be made") == 0,
              "%s", yp_last_error());
    yp_expect(t, access(path[0], F_OK) != 0, "a file was left");
    made.fails_at = SIZE_MAX;
    options.most = 498;
    yp_expect(t,
              data_cache_build(yp_device_cpu(), &options, NULL) == NULL &&
                  strstr(yp_last_error(), "499 bytes: must be 498 at most") != NULL,
              "%s", yp_last_error());
    options.most = 499;
    options.path = yp_tmp_path(t);
    yp_expect(
        t, data_cache_build(yp_device_cpu(), &options, NULL) == NULL && yp_last_status() == YP_IO,
        "%s", yp_last_error());
}

static enum yp_status attempt(struct yp_case *t, void *arg)
{
    struct graph_data *data = open_data(t, GRAPH_CACHE_DISK, 1, arg);
    const enum yp_status status = data != NULL ? YP_OK : yp_last_status();
    graph_data_destroy(data);
    return status;
}

/* Every request for memory may fail, with the file and without. */
YP_TEST(graph_cache, without_memory, .tags = "stress small", .parallel = true)
{
    struct graph_told told;
    char path[512];
    snprintf(path, sizeof path, "%s/" NAME, yp_tmp_path(t));
    write_plays(t, &small_spec, 2);
    yp_refuse_each(t, yp_device_cpu(), attempt, &told);
    unlink(path);
    yp_refuse_each(t, yp_device_cpu(), attempt, &told);
}
