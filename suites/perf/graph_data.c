/* Data of the graph trajectory model: graphs made of plays, files of plays, batches from a cache or
 * without one, and made ahead by the workers of a loader. On one thread, unless said otherwise. */
#include "suites/graph_plays.h"
#include "suites/graph_tracks.h"

#include "models/data/loader.h"

#include "base/numbers/splitmix.h"

#include <string.h>

#define BATCH 16

/* -- graphs ------------------------------------------------------------------------------------ */

static enum graph_search search_named(const char *name)
{
    return strcmp(name, "plain") == 0   ? GRAPH_PLAIN
           : strcmp(name, "pairs") == 0 ? GRAPH_PAIRS
           : strcmp(name, "grid") == 0  ? GRAPH_GRID
                                        : GRAPH_FASTEST;
}

/* Edges of one graph of players anywhere on the field. */
YP_TEST(graph_data, edges, .tags = "perf small",
        .axes = YP_AXES(yp_axis_int("players", 22, 64, 200), yp_axis_double("radius", 4, 20),
                        yp_axis_string("search", "plain", "pairs", "grid", "fastest")))
{
    const size_t n = (size_t)yp_int(t, "players");
    const float radius = (float)yp_double(t, "radius");
    const enum graph_search search = search_named(yp_string(t, "search"));
    struct ypi_seed seed = ypi_seed_of(yp_seed(t), n, 0);
    struct graph_players players = {.count = n};
    int32_t first[GRAPH_PLAYERS_MOST + 1], *source = yp_alloc_host(t, n * n * sizeof *source);
    float *edge = yp_alloc_host(t, n * n * GRAPH_EDGE_FEATURES * sizeof *edge);
    size_t edges = 0;
    for (size_t i = 0; i < n; i++) {
        players.x[i] = (float)(120 * ypi_seed_uniform(&seed));
        players.y[i] = (float)(53.3 * ypi_seed_uniform(&seed));
        players.speed[i] = (float)(10 * ypi_seed_uniform(&seed));
        players.direction[i] = (float)(359 * ypi_seed_uniform(&seed));
        players.side[i] = (int32_t)(i % 2);
    }
    yp_measure (t, "edges", .items = (double)(n * n - n), .unit = "pairs", .threads = 1) {
        edges = graph_edges(search, &players, radius, 0, 0, first, source, edge);
        yp_keep(edge);
    }
    yp_value(t, "edges of the graph", (double)edges);
}

static void draw(struct ypi_seed *seed, size_t graphs, uint32_t out[BATCH])
{
    for (size_t i = 0; i < BATCH; i++)
        out[i] = (uint32_t)(ypi_seed_next(seed) % graphs);
}

/* A batch of graphs from plays in memory, as they are and changed. */
YP_TEST(graph_data, build, .tags = "perf small",
        .axes = YP_AXES(yp_axis_int("players", 22, 200), yp_axis_int("changed", 0, 1)))
{
    struct graph_plays plays;
    struct ypi_seed seed = ypi_seed_of(yp_seed(t), 0, 0);
    const struct graph_augmentation changes = {yp_seed(t), 0, 0.5F, 0.1F};
    const struct graph_augmentation *used = yp_int(t, "changed") != 0 ? &changes : NULL;
    const struct synth_plays spec = {.players = (size_t)yp_int(t, "players")};
    uint32_t graphs[BATCH];
    enum yp_status status = YP_OK;
    graph_plays_open(&plays, t, spec, 8, &GRAPH_RULES, BATCH);
    draw(&seed, plays.source.graphs, graphs);
    yp_measure (t, "build", .items = BATCH, .unit = "graphs", .threads = 1) {
        status = graph_data_read(plays.data, graphs, BATCH, used, plays.block, plays.block_bytes);
        yp_keep(plays.block);
    }
    yp_ok(t, status);
    const struct graph_batch *batch = plays.block;
    yp_value(t, "edges of a graph", (double)batch->edges / BATCH);
    graph_plays_close(&plays);
}

/* -- files ------------------------------------------------------------------------------------- */

static const struct graph_reading all_weeks = {.week = 0};

/* A week's file from the page cache. */
YP_TEST(graph_data, parse, .tags = "perf small", .timeout = 120)
{
    const struct synth_plays spec = {.seed = yp_seed(t)};
    struct graph_tracks_seen seen = {.rows = 0};
    struct graph_tracks *tracks = NULL;
    graph_tracks_write(t, yp_tmp_path(t), &spec, 1, 200);
    tracks = graph_tracks_read(yp_device_cpu(), yp_tmp_path(t), &all_weeks);
    yp_got(t, tracks);
    graph_tracks_plays(tracks, &seen);
    graph_tracks_free(tracks);
    yp_measure (t, "parse", .items = (double)seen.bytes, .unit = "bytes", .threads = 1) {
        tracks = graph_tracks_read(yp_device_cpu(), yp_tmp_path(t), &all_weeks);
        graph_tracks_free(tracks);
    }
    yp_require(t, tracks != NULL, "%s", yp_last_error());
    yp_value(t, "rows", (double)seen.rows);
}

/* -- batches ----------------------------------------------------------------------------------- */

struct loading {
    struct yp_case *t;
    struct graph_caching caching;
    struct graph_data *data;
    struct ypi_seed seed;
    uint32_t graphs[BATCH];
    void *block;
    size_t bytes;
    bool cold;
};

static struct graph_data *open_data(const struct loading *l)
{
    return graph_data_open(yp_device_cpu(), yp_tmp_path(l->t), &all_weeks, &GRAPH_RULES,
                           &l->caching);
}

static void loading_open(struct loading *l, struct yp_case *t, enum graph_cache where, size_t plays)
{
    const struct synth_plays spec = {.seed = yp_seed(t)};
    *l = (struct loading){
        .t = t, .caching = {.where = where, .threads = 1}, .seed = ypi_seed_of(yp_seed(t), 1, 0)};
    graph_tracks_write(t, yp_tmp_path(t), &spec, 1, plays);
    l->data = open_data(l);
    yp_got(t, l->data);
    l->bytes = graph_data_batch_bytes(l->data, BATCH);
    l->block = yp_alloc_host(t, l->bytes);
}

/* The data set opened anew, so that every record is checked again; cold: none is in memory. */
static void reopen(void *arg)
{
    struct loading *l = arg;
    graph_data_destroy(l->data);
    if (l->cold)
        graph_tracks_forget(l->t, yp_tmp_path(l->t));
    l->data = open_data(l);
}

static enum yp_status load(struct loading *l)
{
    const enum yp_status status =
        graph_data_read(l->data, l->graphs, BATCH, NULL, l->block, l->bytes);
    yp_keep(l->block);
    return status;
}

/* Batches of graphs of plays anywhere in a week. "off": made of plays that were parsed once;
 * "first": read from a file that was just opened, and checked; "cold": the same, and from the disk.
 */
YP_TEST(graph_data, load, .tags = "perf small", .timeout = 120,
        .axes = YP_AXES(yp_axis_string("from", "off", "memory", "disk", "first", "cold")))
{
    enum { PLAYS = 100 };
    const char *from = yp_string(t, "from");
    const bool opens = strcmp(from, "first") == 0 || strcmp(from, "cold") == 0;
    struct loading l;
    enum yp_status status = YP_OK;
    loading_open(&l, t,
                 strcmp(from, "off") == 0      ? GRAPH_CACHE_OFF
                 : strcmp(from, "memory") == 0 ? GRAPH_CACHE_MEMORY
                                               : GRAPH_CACHE_DISK,
                 PLAYS);
    l.cold = strcmp(from, "cold") == 0;
    for (size_t i = 0; i < graph_data_count(l.data) && !opens && status == YP_OK; i++) {
        l.graphs[i % BATCH] = (uint32_t)i; /* all records were read before */
        status = i % BATCH == BATCH - 1 ? load(&l) : YP_OK;
    }
    yp_measure (t, "load", .items = BATCH, .unit = "graphs", .threads = 1,
                .reset = opens ? reopen : NULL, .arg = &l) {
        draw(&l.seed, graph_data_count(l.data), l.graphs);
        status = status == YP_OK ? load(&l) : status;
    }
    yp_ok(t, status);
    yp_value(t, "graphs", (double)graph_data_count(l.data));
    graph_data_destroy(l.data);
}

/* As the reference does without a cache: for each graph of a batch the week's file is parsed, since
 * the last graphs were of other plays. A week here has 40 plays. */
YP_TEST(graph_data, parse_each, .tags = "perf small", .timeout = 120)
{
    struct loading l;
    enum yp_status status = YP_OK;
    loading_open(&l, t, GRAPH_CACHE_OFF, 40);
    yp_measure (t, "load", .items = BATCH, .unit = "graphs", .threads = 1, .samples = 4) {
        for (size_t i = 0; i < BATCH && status == YP_OK; i++) {
            reopen(&l);
            draw(&l.seed, graph_data_count(l.data), l.graphs);
            status = graph_data_read(l.data, l.graphs, 1, NULL, l.block, l.bytes);
            yp_keep(l.block);
        }
    }
    yp_ok(t, status);
    graph_data_destroy(l.data);
}

/* How many times as fast a batch of a cache is. */
#define FASTER(name_, of_, to_) \
    YP_RELATION(graph_data, name_, .tags = "perf small", \
                .relation = yp_ratio("perf/graph_data.c::load[from=" of_ "]", \
                                     "perf/graph_data.c::" to_, "load"))
FASTER(memory_beside_building, "memory", "load[from=off]");
FASTER(disk_beside_building, "disk", "load[from=off]");
FASTER(cold_beside_building, "cold", "load[from=off]");
/* Far from any noise: a bar for what a cache is for. */
YP_RELATION(graph_data, disk_beside_parsing, .tags = "perf small",
            .budgets = YP_BUDGETS(yp_min_value("ratio", 100)),
            .relation = yp_ratio("perf/graph_data.c::load[from=disk]",
                                 "perf/graph_data.c::parse_each", "load"));

/* -- workers ----------------------------------------------------------------------------------- */

struct ahead {
    const struct graph_data *data;
    uint64_t seed;
    size_t bytes;
};

static enum yp_status fill(void *arg, size_t index, void *data, uint8_t *labels, size_t *count)
{
    const struct ahead *a = arg;
    struct ypi_seed seed = ypi_seed_of(a->seed, 2, index);
    const struct graph_augmentation changes = {a->seed, 0, 0.5F, 0.1F};
    uint32_t graphs[BATCH];
    (void)labels;
    draw(&seed, graph_data_count(a->data), graphs);
    *count = a->bytes;
    return graph_data_read(a->data, graphs, BATCH, &changes, data, a->bytes);
}

/* Changed batches, made ahead and summed up: what a consumer does that takes as long as making one
 * does. */
YP_TEST(graph_data, workers, .tags = "perf small", .timeout = 120,
        .axes = YP_AXES(yp_axis_int("workers", 0, 1, 2, 3, 4),
                        yp_axis_string("from", "off", "disk")))
{
    enum { BATCHES = 64 };
    struct loading l;
    loading_open(&l, t,
                 strcmp(yp_string(t, "from"), "off") == 0 ? GRAPH_CACHE_OFF : GRAPH_CACHE_DISK, 40);
    struct ahead ahead = {l.data, yp_seed(t), l.bytes};
    const struct data_loader_options options = {.items = BATCHES,
                                                .elements = l.bytes,
                                                .element_bytes = 1,
                                                .workers = (int)yp_int(t, "workers"),
                                                .depth = 8,
                                                .consumers = 1,
                                                .fill = fill,
                                                .arg = &ahead};
    struct data_loader *loader = data_loader_create(yp_device_cpu(), &options);
    yp_got(t, loader);
    enum yp_status status = YP_OK;
    uint64_t hash = 0;
    yp_measure (t, "batches", .items = BATCH * BATCHES, .unit = "graphs", .threads = 2) {
        status = status == YP_OK ? data_loader_rewind(loader) : status;
        hash = 0;
        for (size_t i = 0; i < BATCHES && status == YP_OK; i++) {
            struct data_item item;
            status = data_loader_take(loader, i, &item);
            if (status == YP_OK) {
                hash += graph_batch_hash(item.data);
                status = data_loader_give_back(loader, &item);
            }
        }
    }
    data_loader_destroy(loader);
    yp_ok(t, status);
    yp_data_hash(t, hash);
    graph_data_destroy(l.data);
}

/* Batches do not depend on who makes them, or on a cache. */
YP_RELATION(graph_data, same_batches, .tags = "perf small",
            .relation = yp_same_hash("perf/graph_data.c::workers", "perf/graph_data.c::workers"));
