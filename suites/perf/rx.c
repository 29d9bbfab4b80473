/* The operations of the RX detector over channels, from data that are in memory already. */
#include "scene_tiles.h"

#include <omp.h>

enum { TILES = 16, TILE_PIXELS = 4096 };

/* One image's worth of tiles, kept. */
static void keep(struct kept_tiles *kept, struct yp_case *t)
{
    struct scale s = {
        .cubes = 1, .height = 256, .width = 256, .channels = (size_t)yp_int(t, "channels")};
    struct scene_tiles tiles;
    scene_tiles_open(&tiles, t, &s, TILE_PIXELS);
    kept_tiles_open(kept, t, &tiles);
    scene_tiles_close(&tiles);
}

static void reset_rx(void *rx)
{
    rx_reset(rx);
}

#define CHANNELS yp_axis_int("channels", 10, 50, 100, 200)
/* Where arithmetic bounds the work: held to what is expected of the kernels there. With few
 * channels it is memory and calls, and the budgets only catch what is broken. */
#define WIDE yp_axis_int("channels", 100, 200)
#define PIXELS ((double)TILES * TILE_PIXELS)

static void scene(struct yp_case *t)
{
    size_t channels = (size_t)yp_int(t, "channels");
    struct scale s = {.cubes = 1, .height = 256, .width = 256, .channels = channels};
    struct scene_tiles tiles;
    scene_tiles_open(&tiles, t, &s, TILE_PIXELS);
    float *values = yp_alloc(t, TILE_PIXELS * channels * sizeof *values);
    enum yp_status status = YP_OK;
    uint64_t cube = 0;
    yp_measure (t, "scene", .items = (double)(TILE_PIXELS * channels), .unit = "values",
                .bytes = 4.0 * (double)(TILE_PIXELS * channels), .traffic = YP_FILL,
                .footprint = 4.0 * (double)(TILE_PIXELS * channels), .threads = 1) {
        status = synth_scene_tile(tiles.scene, cube++, 0, TILE_PIXELS, values, NULL);
        yp_keep(values);
    }
    yp_ok(t, status);
    scene_tiles_close(&tiles);
}

YP_TEST(rx, scene, .tags = "perf small", .axes = YP_AXES(CHANNELS),
        .budgets = YP_BUDGETS(yp_min_share("scene", 0.003), yp_max_peak(YP_HOST, 64 * YP_MIB)))
{
    scene(t);
}

YP_TEST(rx, scene_wide, .tags = "perf small", .axes = YP_AXES(WIDE),
        .budgets = YP_BUDGETS(yp_min_share("scene", 0.025)))
{
    scene(t);
}

static void statistics(struct yp_case *t)
{
    struct kept_tiles kept;
    keep(&kept, t);
    double c = (double)kept.source.channels;
    struct rx *rx = rx_create(yp_device(t), kept.source.channels, TILE_PIXELS, 0);
    yp_require(t, rx != NULL, "%s", yp_last_error());
    enum yp_status status = YP_OK;
    yp_measure (t, "statistics", .flops = PIXELS * c * (c + 1), .bytes = 4 * PIXELS * c,
                .traffic = YP_READ, .footprint = 4 * PIXELS * c, .reset = reset_rx, .arg = rx) {
        status = rx_fit(rx, &kept.source);
    }
    yp_ok(t, status);
    rx_destroy(rx);
}

YP_TEST(rx, statistics, .tags = "perf small", .axes = YP_AXES(CHANNELS),
        .budgets = YP_BUDGETS(yp_min_share("statistics", 0.05)))
{
    statistics(t);
}

YP_TEST(rx, statistics_wide, .tags = "perf small", .axes = YP_AXES(WIDE),
        .budgets = YP_BUDGETS(yp_min_share("statistics", 0.45)))
{
    statistics(t);
}

static void score(struct yp_case *t)
{
    struct kept_tiles kept;
    keep(&kept, t);
    double c = (double)kept.source.channels;
    struct rx *rx = rx_create(yp_device(t), kept.source.channels, TILE_PIXELS, 0);
    yp_require(t, rx != NULL, "%s", yp_last_error());
    yp_ok(t, rx_fit(rx, &kept.source));
    yp_ok(t, rx_finish(rx, RX_EPS));
    float *scores = yp_alloc(t, (size_t)TILES * TILE_PIXELS * sizeof *scores);
    enum yp_status status = YP_OK;
    /* C^2 is what the triangular product needs. */
    yp_measure (t, "score", .flops = PIXELS * c * c, .bytes = 4 * PIXELS * c, .traffic = YP_READ,
                .footprint = 4 * PIXELS * c) {
        status = rx_score(rx, &kept.source, scores);
    }
    yp_ok(t, status);
    rx_destroy(rx);
}

YP_TEST(rx, score, .tags = "perf small", .axes = YP_AXES(CHANNELS),
        .budgets = YP_BUDGETS(yp_min_share("score", 0.05)))
{
    score(t);
}

YP_TEST(rx, score_wide, .tags = "perf small", .axes = YP_AXES(WIDE),
        .budgets = YP_BUDGETS(yp_min_share("score", 0.4)))
{
    score(t);
}

YP_TEST(rx, gradient_step, .tags = "perf small", .axes = YP_AXES(CHANNELS),
        .budgets = YP_BUDGETS(yp_min_share("gradient step", 0.01)))
{
    struct kept_tiles kept;
    keep(&kept, t);
    size_t channels = kept.source.channels;
    double c = (double)channels;
    struct rx *rx = rx_create(yp_device(t), channels, TILE_PIXELS, 0);
    struct rx_loss *loss = rx_loss_create(yp_device(t), channels, TILE_PIXELS, 0);
    yp_require(t, rx != NULL && loss != NULL, "%s", yp_last_error());
    yp_ok(t, rx_fit(rx, &kept.source));
    yp_ok(t, rx_finish(rx, RX_EPS));
    float *parameters = yp_alloc(t, rx_loss_parameters(channels) * sizeof *parameters);
    float *gradient = yp_alloc(t, rx_loss_parameters(channels) * sizeof *gradient);
    yp_ok(t, rx_loss_start(rx, 0.05F, (float)c, parameters));
    double mean = 0;
    enum yp_status status = YP_OK;
    yp_measure (t, "gradient step", .flops = 4 * PIXELS * c * c, .bytes = 4 * PIXELS * c,
                .traffic = YP_READ, .footprint = 4 * PIXELS * c) {
        status = rx_loss_gradient(loss, &kept.source, parameters, &mean, gradient);
    }
    yp_ok(t, status);
    yp_value(t, "mean loss", mean);
    rx_loss_destroy(loss);
    rx_destroy(rx);
}

/* In channels between linear, where memory bounds it, and quadratic. */
YP_RELATION(rx, statistics_growth, .tags = "perf small",
            .budgets = YP_BUDGETS(yp_min_value("exponent", 0.5), yp_max_value("exponent", 2.2)),
            .relation = yp_growth("perf/rx.c::statistics", "statistics", "channels"));

YP_RELATION(rx, score_growth, .tags = "perf small",
            .budgets = YP_BUDGETS(yp_min_value("exponent", 0.5), yp_max_value("exponent", 2.2)),
            .relation = yp_growth("perf/rx.c::score", "score", "channels"));
