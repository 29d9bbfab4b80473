/* The whole stream, generated and fitted: tile sizes, threads, and workers that generate ahead. */
#include "suites/loaded_tiles.h"
#include "suites/scene_work.h"

#define CHANNELS 100

static struct scale image(size_t cubes)
{
    return (struct scale){.cubes = cubes, .height = 256, .width = 256, .channels = CHANNELS};
}

#define STREAM(s, threads_) \
    .items = scale_values(s), .unit = "values", .bytes = 4 * scale_values(s), .traffic = YP_FILL, \
    .footprint = 1 * YP_MIB, .threads = threads_, .bounds = FIT_WORK(s)

/* No floors here: by SSE2, in plain loops, the generator takes most of the time, and shares are
 * 0.03 to 0.06; by vectors 0.17 to 0.5. */
YP_TEST(rx, stream, .tags = "perf small",
        .axes = YP_AXES(yp_axis_int("threads", 1, 2), yp_axis_int("tile", 256, 512, 1024, 4096)))
{
    int threads = (int)yp_int(t, "threads");
    size_t tile_pixels = (size_t)yp_int(t, "tile");
    struct scale s = image(2);
    struct scene_tiles tiles;
    scene_tiles_open(&tiles, t, &s, tile_pixels);
    struct rx *rx = open_rx(t, CHANNELS, tile_pixels, threads);
    enum yp_status status = YP_OK;
    yp_measure (t, "stream", STREAM(&s, threads), .reset = reset_rx, .arg = rx)
        status = rx_fit(rx, &tiles.source);
    yp_ok(t, status);
    yp_data_hash(t, scene_tiles_hash(&tiles, t));
    rx_destroy(rx);
    scene_tiles_close(&tiles);
}

/* Consumers are threads of the detector; without workers they generate their tiles themselves.
 * Workers gain only what consumers leave of the processors. */
YP_TEST(rx, prefetch, .tags = "perf small",
        .axes = YP_AXES(yp_axis_int("workers", 0, 1, 2), yp_axis_int("consumers", 1, 2)))
{
    enum { TILE_PIXELS = 1024, DEPTH = 4 };
    int workers = (int)yp_int(t, "workers");
    int consumers = (int)yp_int(t, "consumers");
    struct scale s = image(2);
    struct scene_tiles tiles;
    struct loaded_tiles loaded;
    scene_tiles_open(&tiles, t, &s, TILE_PIXELS);
    loaded_tiles_open(&loaded, t, &tiles, workers, DEPTH);
    struct rx *rx = open_rx(t, CHANNELS, TILE_PIXELS, consumers);
    enum yp_status status = YP_OK;
    yp_measure (t, "prefetch", STREAM(&s, 2)) {
        loaded_tiles_rewind(&loaded); /* timed: workers begin with it */
        rx_reset(rx);
        status = rx_fit(rx, &loaded.source);
    }
    yp_ok(t, status);
    struct data_loader_statistics statistics;
    data_loader_statistics(loaded.loader, &statistics);
    double takes = (double)(statistics.ready + statistics.waited + statistics.helped);
    yp_value(t, "ready", (double)statistics.ready / takes);
    yp_value(t, "helped", (double)statistics.helped / takes);
    loaded_tiles_rewind(&loaded);
    yp_data_hash(t, scene_tiles_hash_of(&tiles, t, &loaded.source)); /* what the loader gives */
    loaded_tiles_close(&loaded);
    rx_destroy(rx);
    scene_tiles_close(&tiles);
}

/* The data do not depend on who generates the tiles or on their number. */
YP_RELATION(rx, stream_data, .tags = "perf small",
            .relation = yp_same_hash("perf/rx_stream.c::stream", "perf/rx_stream.c::prefetch"));
