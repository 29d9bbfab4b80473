/* Data of the graph trajectory model beside other programs, on one thread: graphs by the
 * reference's formulas in NumPy and in PyTorch, a week's file by Polars. Both sides draw the same
 * plays. */
#include "suites/perf/peers.h"

#include "suites/graph_tracks.h"

#include "base/numbers/splitmix.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLAYERS = 22, FRAMES = 60, BATCH = 16, PAST = 5 };

/* -- plays ------------------------------------------------------------------------------------- */

/* Whole hundredths, six for a player and a frame: x, y, speed, acceleration, direction,
 * orientation. Positions begin in the middle third of the field and move on by up to half a yard.
 */
static void draw_play(uint64_t seed, size_t play, int32_t *cells)
{
    static const uint32_t below[] = {4000, 5000, 1000, 800, 36000, 36000};
    for (size_t i = 0; i < (size_t)FRAMES * PLAYERS; i++)
        for (size_t k = 0; k < 6; k++) {
            const uint64_t at = ((uint64_t)play * FRAMES * PLAYERS + i) * 6 + k;
            const uint32_t w = (uint32_t)(ypi_mix64(seed + (at + 1) * YPI_GOLDEN) >> 32);
            if (k < 2 && i >= PLAYERS)
                cells[6 * i + k] = cells[6 * (i - PLAYERS) + k] + (int32_t)(w % 101) - 50;
            else
                cells[6 * i + k] = (int32_t)(w % below[k]) + (k == 0 ? 4000 : 0);
        }
}

static uint64_t hash_play(const int32_t *cells, size_t play)
{
    uint64_t hash = 0, count = (uint64_t)FRAMES * PLAYERS * 6;
    for (uint64_t i = 0; i < count; i++)
        hash += (uint64_t)(int64_t)cells[i] * (2 * (play * count + i) + 1);
    return hash;
}

static struct graph_play play_of(struct yp_case *t)
{
    enum { CELLS = FRAMES * PLAYERS };
    int32_t *cells = yp_alloc(t, 6 * CELLS * sizeof *cells);
    float *value = yp_alloc(t, 6 * CELLS * sizeof *value), *weight = yp_alloc(t, PLAYERS * 4);
    int32_t *role = yp_alloc(t, PLAYERS * 4), *side = yp_alloc(t, PLAYERS * 4);
    uint8_t *present = yp_alloc(t, CELLS);
    draw_play(yp_seed(t), 0, cells);
    yp_data_hash(t, hash_play(cells, 0));
    memset(present, 1, CELLS);
    for (size_t i = 0; i < CELLS; i++)
        for (size_t k = 0; k < 6; k++)
            value[k * CELLS + i] = (float)((double)cells[6 * i + k] / 100);
    for (int32_t i = 0; i < PLAYERS; i++) {
        weight[i] = (float)(180 + 7 * i);
        role[i] = i % 5;
        side[i] = i / 11;
    }
    return (struct graph_play){.frames = FRAMES,
                               .players = PLAYERS,
                               .present = present,
                               .x = value,
                               .y = value + CELLS,
                               .speed = value + (size_t)2 * CELLS,
                               .acceleration = value + (size_t)3 * CELLS,
                               .direction = value + (size_t)4 * CELLS,
                               .orientation = value + (size_t)5 * CELLS,
                               .weight = weight,
                               .role = role,
                               .side = side,
                               .down = 1,
                               .to_go = 10,
                               .box = 6,
                               .coverage = 1};
}

/* -- graphs ------------------------------------------------------------------------------------ */

YP_COMMAND(peers, other_graphs, .tags = PEERS_TAGS, .timeout = PEERS_TIMEOUT,
           .axes = YP_AXES(yp_axis_string("by", "numpy", "torch")),
           .command = PEER("graph_data", "build {by} {seed}"),
           .environment = "OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1");

/* A batch of 16 frames of a play. */
YP_TEST(peers, graphs, .tags = PEERS_TAGS, .timeout = PEERS_TIMEOUT)
{
    const struct graph_play play = play_of(t);
    uint32_t graphs[BATCH];
    enum yp_status status = YP_OK;
    struct graph_data *data = graph_data_of_plays(yp_device_cpu(), &play, 1, &GRAPH_RULES);
    yp_got(t, data);
    const size_t bytes = graph_data_batch_bytes(data, BATCH);
    struct graph_batch *batch = yp_alloc(t, bytes);
    for (uint32_t i = 0; i < BATCH; i++)
        graphs[i] = 2 * i;
    yp_measure (t, "build", .items = BATCH, .unit = "graphs", .threads = 1) {
        status = graph_data_read(data, graphs, BATCH, NULL, batch, bytes);
        yp_keep(batch);
    }
    yp_ok(t, status);
    yp_value(t, "edges", (double)batch->edges);
    yp_value(t, "nodes digest", peers_digest_f32(t, batch->node, batch->nodes * GRAPH_FEATURES));
    yp_value(t, "edges digest",
             peers_digest_f32(t, batch->edge, batch->edges * GRAPH_EDGE_FEATURES));
    yp_value(t, "targets digest",
             peers_digest_f32(t, batch->target, batch->nodes * 2 * batch->future));
    yp_value(t, "motion digest",
             peers_digest_f32(t, batch->motion, batch->nodes * batch->history * GRAPH_MOTION));
    graph_data_destroy(data);
}

#define OURS "perf/peers_graph_data.c::graphs"
#define BESIDE(by_) \
    PEERS_SAME_IMAGE(graphs_##by_, OURS, "perf/peers_graph_data.c::other_graphs[by=" #by_ "]"); \
    PEERS_FASTER(build_##by_, "build", OURS, "perf/peers_graph_data.c::other_graphs[by=" #by_ "]", \
                 20); \
    PEERS_AGREES(edges_##by_, "edges digest", OURS, \
                 "perf/peers_graph_data.c::other_graphs[by=" #by_ "]", 1e-4); \
    PEERS_AGREES(nodes_##by_, "nodes digest", OURS, \
                 "perf/peers_graph_data.c::other_graphs[by=" #by_ "]", 1e-5); \
    PEERS_AGREES(targets_##by_, "targets digest", OURS, \
                 "perf/peers_graph_data.c::other_graphs[by=" #by_ "]", 1e-4); \
    PEERS_AGREES(motion_##by_, "motion digest", OURS, \
                 "perf/peers_graph_data.c::other_graphs[by=" #by_ "]", 1e-4)

BESIDE(numpy);
BESIDE(torch);

/* -- files ------------------------------------------------------------------------------------- */

enum { FILE_PLAYS = 200 };

/* All columns that the reference's files have. Polars reads all of them, as the reference has it
 * do, or those that a graph needs; Yieldpoint those, and makes plays of them. */
YP_COMMAND(peers, other_tracks, .tags = PEERS_TAGS, .timeout = PEERS_TIMEOUT,
           .axes = YP_AXES(yp_axis_string("columns", "all", "needed")),
           .command = PEER("graph_data", "parse {columns} {seed}"),
           .environment = "OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 POLARS_MAX_THREADS=1");

static char *put_rows(char *to, const int32_t *cells, size_t play)
{
    for (size_t i = 0; i < PLAYERS; i++)
        for (size_t f = 0; f < FRAMES; f++) {
            const int32_t *c = cells + 6 * (f * PLAYERS + i);
            to +=
                sprintf(to,
                        "2023090700,%zu,True,%zu,%zu,right,42,Player %zu,6-1,%zu,1995-01-01,WR,%s,"
                        "Other Route Runner,",
                        play, 40000 + i, f + 1, i, 180 + 7 * i, i < 11 ? "Defense" : "Offense");
            for (size_t k = 0; k < 6; k++)
                to += sprintf(to, "%s%d.%02d,", c[k] < 0 ? "-" : "", abs(c[k]) / 100,
                              abs(c[k]) % 100);
            to += sprintf(to, "20,50.00,20.00\n");
        }
    return to;
}

YP_TEST(peers, tracks, .tags = PEERS_TAGS, .timeout = PEERS_TIMEOUT)
{
    enum { CELLS = 6 * FRAMES * PLAYERS, ROW = 200 };
    int32_t *cells = yp_alloc(t, CELLS * sizeof *cells);
    char *text = yp_alloc(t, (size_t)ROW * FRAMES * PLAYERS * FILE_PLAYS), *end = text;
    char *summary = yp_alloc(t, (size_t)FILE_PLAYS * 32 + 128), *last = summary;
    uint64_t hash = 0;
    end += sprintf(end, "%s", synth_play_columns);
    last += sprintf(last, "game_id,play_id,play_nullified_by_penalty\n");
    for (size_t i = 0; i < FILE_PLAYS; i++) {
        draw_play(yp_seed(t), i, cells);
        hash += hash_play(cells, i);
        end = put_rows(end, cells, i);
        last += sprintf(last, "2023090700,%zu,N\n", i);
    }
    yp_data_hash(t, hash);
    const size_t bytes = (size_t)(end - text);
    graph_tracks_write_file(t, yp_tmp_path(t), "input_2023_w01.csv", text, bytes);
    graph_tracks_write_file(t, yp_tmp_path(t), "supplementary_data.csv", summary,
                            (size_t)(last - summary));
    const struct graph_reading reading = {.week = 0};
    struct graph_tracks *tracks = NULL;
    struct graph_tracks_seen seen = {.rows = 0};
    double sum = 0;
    yp_measure (t, "parse", .items = (double)bytes, .unit = "bytes", .threads = 1) {
        graph_tracks_free(tracks);
        tracks = graph_tracks_read(yp_device_cpu(), yp_tmp_path(t), &reading);
    }
    yp_got(t, tracks);
    const struct graph_play *plays = graph_tracks_plays(tracks, &seen);
    for (size_t i = 0; i < seen.plays; i++)
        for (size_t k = 0; k < (size_t)FRAMES * PLAYERS; k++)
            sum += plays[i].x[k] + plays[i].orientation[k];
    graph_tracks_free(tracks);
    yp_value(t, "file", (double)bytes);
    yp_value(t, "sum", sum);
}

#define TRACKS "perf/peers_graph_data.c::tracks"
#define BESIDE_POLARS(columns_) \
    PEERS_SAME_IMAGE(tracks_##columns_, TRACKS, \
                     "perf/peers_graph_data.c::other_tracks[columns=" #columns_ "]"); \
    PEERS_AGREES(file_##columns_, "file", TRACKS, \
                 "perf/peers_graph_data.c::other_tracks[columns=" #columns_ "]", 0); \
    PEERS_AGREES(sum_##columns_, "sum", TRACKS, \
                 "perf/peers_graph_data.c::other_tracks[columns=" #columns_ "]", 1e-6); \
    PEERS_FASTER(parse_##columns_, "parse", TRACKS, \
                 "perf/peers_graph_data.c::other_tracks[columns=" #columns_ "]", 1)

BESIDE_POLARS(all);
BESIDE_POLARS(needed);
