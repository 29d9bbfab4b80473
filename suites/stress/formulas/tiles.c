/* Passes over tiles: made ahead by a loader, taken again, and those that fail. */
#include "suites/loaded_tiles.h"

#include <stdio.h>
#include <string.h>

enum { CHANNELS = 10, TILE = 700, DEPTH = 3, PASSES = 3 };

static const struct scale scale = {.cubes = 5, .height = 64, .width = 64, .channels = CHANNELS};

/* Whatever workers make ahead, in every pass over it: the bits of tiles that are made when they are
 * asked for, labels too. */
YP_TEST(tiles, loaded, .tags = "stress small", .timeout = 120,
        .axes = YP_AXES(yp_axis_int("workers", 1, 3)))
{
    struct scene_tiles tiles;
    struct loaded_tiles loaded;
    double right[CHANNELS * CHANNELS], got[CHANNELS * CHANNELS];
    scene_tiles_open(&tiles, t, &scale, TILE);
    struct rx *rx = open_rx(t, CHANNELS, TILE, 2);
    yp_ok(t, rx_fit(rx, &tiles.source));
    yp_ok(t, rx_covariance(rx, right));
    loaded_tiles_open(&loaded, t, &tiles, (int)yp_int(t, "workers"), DEPTH);
    for (int pass = 0; pass < 2 * PASSES; pass++) {
        if (pass == PASSES) { /* in memory that another one has left, in the midst of a pass */
            struct rx_tile taken = {0};
            yp_ok(t, loaded.source.yield(loaded.source.arg, 0, NULL, NULL, &taken));
            loaded_tiles_close(&loaded);
            loaded_tiles_open(&loaded, t, &tiles, (int)yp_int(t, "workers"), DEPTH);
        }
        rx_reset(rx);
        yp_ok(t, rx_fit(rx, &loaded.source));
        yp_ok(t, rx_covariance(rx, got));
        yp_expect(t, memcmp(got, right, sizeof got) == 0, "pass %d has another covariance", pass);
        loaded_tiles_rewind(&loaded);
    }
    float *values = yp_alloc_host(t, TILE * CHANNELS * sizeof *values);
    uint8_t *labels = yp_alloc_host(t, TILE);
    for (size_t i = 0; i < tiles.source.tiles; i++) {
        struct rx_tile made = {.values = values, .labels = labels}, taken = {0};
        yp_ok(t, tiles.source.yield(tiles.source.arg, i, values, labels, &made));
        yp_ok(t, loaded.source.yield(loaded.source.arg, i, NULL, NULL, &taken));
        yp_require(t,
                   taken.pixels == made.pixels &&
                       memcmp(taken.values, values, made.pixels * CHANNELS * sizeof *values) == 0 &&
                       memcmp(taken.labels, labels, made.pixels) == 0,
                   "tile %zu is another one", i);
    }
    yp_data_hash(t, scene_tiles_hash(&tiles, t));
    rx_destroy(rx);
    loaded_tiles_close(&loaded);
    scene_tiles_close(&tiles);
}

struct failing {
    struct rx_source source;
    size_t at;
};

static enum yp_status yield_or_fail(void *arg, size_t index, float *values, uint8_t *labels,
                                    struct rx_tile *tile)
{
    const struct failing *f = arg;
    if (index >= f->at)
        return yp_set_error(YP_IO, "tile %zu cannot be read", index);
    return f->source.yield(f->source.arg, index, values, labels, tile);
}

/* The first tile that cannot be had ends a pass and is named; what was added up before is not taken
 * for a whole. */
YP_TEST(tiles, failing, .tags = "stress small", .timeout = 120,
        .axes = YP_AXES(yp_axis_int("threads", 1, 2)))
{
    struct scene_tiles tiles;
    scene_tiles_open(&tiles, t, &scale, TILE);
    struct rx *rx = open_rx(t, CHANNELS, TILE, (int)yp_int(t, "threads"));
    for (size_t at = 0; at < tiles.source.tiles; at += 7) {
        struct failing f = {tiles.source, at};
        struct rx_source source = tiles.source;
        char message[64];
        source.yield = yield_or_fail;
        source.arg = &f;
        rx_reset(rx);
        enum yp_status status = rx_fit(rx, &source);
        snprintf(message, sizeof message, "tile %zu cannot be read", at);
        yp_expect(t, status == YP_IO && strstr(yp_last_error(), message) != NULL,
                  "tile %zu fails: status %d, %s", at, (int)status, yp_last_error());
        yp_expect(t, at == 0 || rx_finish(rx, RX_EPS) == YP_INVALID, "half a fit is finished");
    }
    rx_destroy(rx);
    scene_tiles_close(&tiles);
}
