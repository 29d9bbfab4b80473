/* How the RX detector's cost grows with channels, image and batch, over minutes, and at a scale
 * larger than any memory or disk. */
#include "base/system/clock.h"
#include "suites/scene_work.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Buffers are one a thread: with two the memory budgets mean the same on every machine. */
#define THREADS 2
#define TILE_PIXELS 4096
#define SMALL_TILE ((size_t)1024)

/* Generates and fits a whole scale as one measurement. */
static void fit_all(struct yp_case *t, const char *name, const struct scene_tiles *tiles,
                    struct rx *rx)
{
    const struct scale *s = &tiles->scale;
    enum yp_status status = YP_OK;
    yp_measure (t, name, .items = scale_values(s), .unit = "values", .bounds = FIT_WORK(s),
                .threads = THREADS, .reset = reset_rx, .arg = rx)
        status = rx_fit(rx, &tiles->source);
    yp_ok(t, status);
    yp_ok(t, rx_finish(rx, RX_EPS));
}

/* What a scene and a detector take on the CPU, and the scene's values, labels and tile sizes where
 * they are kept. */
static size_t detector_bytes(const struct scale *s, size_t tile_pixels, bool kept)
{
    struct synth_spec spec = scale_spec(s, 0);
    size_t pixels = s->cubes * s->height * s->width;
    size_t values =
        pixels * (s->channels * sizeof(float) + 1) + pixels / tile_pixels * sizeof pixels;
    return synth_scene_bytes(&spec) + rx_bytes(s->channels, tile_pixels, THREADS) +
           (kept ? values : 0);
}

static bool on_cpu(const struct yp_case *c)
{
    return strcmp(yp_device_of(c), "cpu") == 0;
}

/* -- channels ----------------------------------------------------------------------------- */

static struct scale images_with(const struct yp_case *c)
{
    return (struct scale){
        .cubes = 20, .height = 32, .width = 32, .channels = (size_t)yp_int(c, "channels")};
}

/* By SSE2 10 and 20 channels have shares of 0.04 to 0.1. */
static void channels_budgets(const struct yp_case *c, struct yp_budgets *out)
{
    struct scale s = images_with(c);
    if (!on_cpu(c))
        return;
    yp_budget_add(out, yp_max_peak(YP_HOST, detector_bytes(&s, SMALL_TILE, true)));
    if (s.channels >= 50)
        yp_budget_add(out, yp_min_share("channels", s.channels < 100 ? 0.12 : 0.18));
}

/* From data in memory, so that the detector is measured and not the generator. On a GPU shares are
 * 0.0007 to 0.03: a fit takes an H100 155 us with 10 channels, and with 200, which is 365 times the
 * work, 372 us. */
YP_TEST(rx, channels, .tags = "stress small", .timeout = 120,
        .axes = YP_AXES(yp_axis_int("channels", 10, 20, 50, 100, 200)), .devices = "cpu cuda",
        .budgets_of = channels_budgets, .budgets = YP_BUDGETS(yp_budget_file("budgets.ini")))
{
    struct scale s = images_with(t);
    struct scene_tiles tiles;
    struct kept_tiles kept;
    size_t tile_pixels = scale_tile_pixels(&s, yp_device(t), SMALL_TILE);
    scene_tiles_open(&tiles, t, &s, tile_pixels);
    kept_tiles_open(&kept, t, &tiles);
    struct rx *rx = open_rx(t, s.channels, tile_pixels, THREADS);
    double c = (double)s.channels;
    enum yp_status status = YP_OK;
    yp_measure (t, "channels", .items = scale_pixels(&s), .unit = "pixels",
                .flops = scale_pixels(&s) * c * (c + 1), .bytes = 4 * scale_values(&s),
                .traffic = YP_READ, .footprint = 4 * scale_values(&s), .threads = THREADS,
                .reset = reset_rx, .arg = rx)
        status = rx_fit(rx, &kept.source);
    yp_ok(t, status);
    yp_ok(t, rx_finish(rx, RX_EPS));
    rx_destroy(rx);
    scene_tiles_close(&tiles);
}

/* Linear while reading is what takes the time, quadratic once the products are; on a GPU, which
 * such a scene does not fill, launches are most of it. */
YP_RELATION(rx, channels_growth, .tags = "stress small", .devices = "cpu cuda",
            .budgets = YP_BUDGETS(yp_max_value("exponent", 2.1), yp_for_device("cpu"),
                                  yp_min_value("exponent", 0.9)),
            .relation = yp_growth("stress/rx_scaling.c::channels", "channels", "channels"));

/* -- image size --------------------------------------------------------------------------- */

static struct scale images_by_size(const struct yp_case *c)
{
    size_t side = (size_t)sqrt((double)yp_int(c, "pixels"));
    return (struct scale){.cubes = 10, .height = side, .width = side, .channels = 10};
}

/* Beside the detector a tile for each thread, from which the hash of the data comes. */
static void spatial_memory(const struct yp_case *c, struct yp_budgets *out)
{
    struct scale s = images_by_size(c);
    size_t hashed = THREADS * SMALL_TILE * s.channels * sizeof(float);
    if (on_cpu(c))
        yp_budget_add(out, yp_max_peak(YP_HOST, detector_bytes(&s, SMALL_TILE, false) + hashed),
                      yp_max_resident(768 * YP_KIB));
}

/* On a GPU shares are 0.0009 to 0.03: 171 us for an H100 with images of 1,024 pixels, 217 us with
 * 16 times as many. */
YP_TEST(rx, spatial, .tags = "stress small", .timeout = 120,
        .axes = YP_AXES(yp_axis_int("pixels", 1024, 4096, 16384, 65536, 262144)),
        .devices = "cpu cuda", .budgets_of = spatial_memory,
        .budgets = YP_BUDGETS(yp_budget_file("budgets.ini")))
{
    struct scale s = images_by_size(t);
    struct scene_tiles tiles;
    size_t tile_pixels = scale_tile_pixels(&s, yp_device(t), SMALL_TILE);
    scene_tiles_open(&tiles, t, &s, tile_pixels);
    struct rx *rx = open_rx(t, s.channels, tile_pixels, THREADS);
    yp_data_hash(t, scene_tiles_hash(&tiles, t));
    fit_all(t, "spatial", &tiles, rx);
    rx_destroy(rx);
    scene_tiles_close(&tiles);
}

YP_RELATION(rx, spatial_growth, .tags = "stress small", .devices = "cpu cuda",
            .budgets = YP_BUDGETS(yp_max_value("exponent", 1.1), yp_for_device("cpu"),
                                  yp_min_value("exponent", 0.8)),
            .relation = yp_growth("stress/rx_scaling.c::spatial", "spatial", "pixels"));

/* -- latency ------------------------------------------------------------------------------ */

/* A fitted detector and images to score: 64 x 64 x 10 each. */
struct forward {
    struct scene_tiles tiles;
    struct kept_tiles kept;
    struct rx *rx;
    float *scores;
};

#define IMAGE ((size_t)64 * 64)

static struct scale images_of(size_t images)
{
    return (struct scale){.cubes = images, .height = 64, .width = 64, .channels = 10};
}

static void forward_open(struct forward *f, struct yp_case *t, size_t images, size_t tile_pixels,
                         int threads)
{
    struct scale s = images_of(images);
    scene_tiles_open(&f->tiles, t, &s, tile_pixels);
    kept_tiles_open(&f->kept, t, &f->tiles);
    f->rx = open_rx(t, s.channels, tile_pixels, threads);
    f->scores = yp_alloc(t, images * 64 * 64 * sizeof *f->scores);
    yp_ok(t, rx_fit(f->rx, &f->kept.source));
    yp_ok(t, rx_finish(f->rx, RX_EPS));
}

static void forward_close(struct forward *f)
{
    rx_destroy(f->rx);
    scene_tiles_close(&f->tiles);
}

#define REFERENCE "the reference system: 8.5 ms a forward pass"

static void latency_memory(const struct yp_case *c, struct yp_budgets *out)
{
    struct scale s = images_of((size_t)yp_int(c, "batch"));
    size_t scores = s.cubes * IMAGE * sizeof(float);
    if (on_cpu(c))
        yp_budget_add(out, yp_max_peak(YP_HOST, detector_bytes(&s, IMAGE, true) + scores));
}

/* No floor: rows of 10 values do not fill a vector, and two threads share tiles of microseconds. A
 * tile is an image; on a GPU it is the batch, of which 1 takes an H100 4.1 us and 8 take 4.7: a
 * launch, with shares of 0.005 to 0.04. */
YP_TEST(rx, forward_latency, .tags = "stress small",
        .axes = YP_AXES(yp_axis_int("batch", 1, 4, 8, 16)), .devices = "cpu cuda", .timeout = 120,
        .budgets_of = latency_memory,
        .budgets = YP_BUDGETS(yp_required(yp_max_percentile("forward", 99, 8.5e-3), REFERENCE),
                              yp_budget_file("budgets.ini")))
{
    struct forward f;
    size_t images = (size_t)yp_int(t, "batch");
    struct scale s = images_of(images);
    forward_open(&f, t, images, scale_tile_pixels(&s, yp_device(t), IMAGE), THREADS);
    double values = scale_values(&f.tiles.scale);
    enum yp_status status = YP_OK;
    yp_measure (t, "forward", .items = (double)images, .unit = "images", .flops = values * 10,
                .bytes = 4 * values, .traffic = YP_READ, .footprint = 4 * values,
                .threads = THREADS)
        status = rx_score(f.rx, &f.kept.source, f.scores);
    yp_ok(t, status);
    forward_close(&f);
}

/* Single images at a given rate: latency counts from the time when each was due. On a GPU an image
 * is one launch, as above. */
YP_TEST(rx, forward_under_load, .tags = "stress small",
        .axes = YP_AXES(yp_axis_int("rate", 100, 1000)), .devices = "cpu cuda", .timeout = 120,
        .budgets = YP_BUDGETS(yp_required(yp_max_percentile("request", 95, 8.5e-3), REFERENCE)))
{
    struct forward f;
    forward_open(&f, t, 16, IMAGE, 1);
    struct rx_source one = f.kept.source;
    one.tiles = 1;
    size_t image = 0;
    enum yp_status status = YP_OK;
    double values = (double)(IMAGE * one.channels);
    yp_measure (t, "alone", .items = 1, .unit = "images", .flops = values * (double)one.channels,
                .bytes = 4 * values, .traffic = YP_READ, .footprint = 16 * 4 * values,
                .threads = 1) {
        f.kept.first = image++ % 16;
        status = rx_score(f.rx, &one, f.scores);
    }
    yp_ok(t, status);
    yp_serve (t, "request", .rate = (double)yp_int(t, "rate"), .seconds = 2) {
        f.kept.first = image++ % 16;
        status = rx_score(f.rx, &one, f.scores);
        if (status == YP_OK) /* who asked waits for the answer */
            status = yp_device_synchronize(yp_device(t));
    }
    yp_ok(t, status);
    forward_close(&f);
}

/* -- time --------------------------------------------------------------------------------- */

static int rising(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, rising);
    return values[count / 2];
}

/* Minutes of the same work: neither memory nor speed may creep. Speed is reported as the median
 * pass of the last quarter over that of the first. */
YP_TEST(rx, soak, .tags = "stress medium slow", .axes = YP_AXES(yp_axis_int("minutes", 3)),
        .timeout = 7200,
        .budgets = YP_BUDGETS(yp_max_growth("soak", 64), yp_max_value("slower", 1.25),
                              yp_max_resident(48 * YP_MIB), yp_max_peak(YP_HOST, 16 * YP_MIB)))
{
    struct scale s = {.cubes = 10, .height = 128, .width = 128, .channels = 50};
    struct scene_tiles tiles;
    scene_tiles_open(&tiles, t, &s, TILE_PIXELS);
    struct rx *rx = open_rx(t, s.channels, TILE_PIXELS, THREADS);
    yp_data_hash(t, scene_tiles_hash(&tiles, t));
    yp_ok(t, rx_fit(rx, &tiles.source));
    rx_reset(rx);
    double begun = ypi_now();
    yp_ok(t, rx_fit(rx, &tiles.source));
    double pass = ypi_now() - begun;
    size_t passes = (size_t)(60 * (double)yp_int(t, "minutes") / pass) + 8;
    double *seconds = yp_alloc(t, passes * sizeof *seconds);
    size_t done = 0;
    enum yp_status status = YP_OK;
    yp_measure (t, "soak", .items = scale_values(&s), .unit = "values", .bounds = FIT_WORK(&s),
                .threads = THREADS, .reset = reset_rx, .arg = rx, .warmup = -1,
                .samples = (int)passes) {
        begun = ypi_now();
        status = rx_fit(rx, &tiles.source);
        seconds[done++] = ypi_now() - begun;
    }
    yp_ok(t, status);
    size_t quarter = done / 4;
    yp_value(t, "passes", (double)done);
    yp_value(t, "slower", median(seconds + done - quarter, quarter) / median(seconds, quarter));
    rx_destroy(rx);
    scene_tiles_close(&tiles);
}

/* -- larger than memory and disk ---------------------------------------------------------- */

/* 10,000 x 512 x 512 x 200: 524 G values, 2.1 TB if they were stored; `--set cubes=N` takes a
 * slice, which the file of budgets does not have. Once through, generated and fitted tile by tile.
 */
YP_TEST(rx, xl, .tags = "stress slow",
        .cases = YP_CASES(yp_case_of("xl", .set = YP_SET(yp_set_int("side", 512),
                                                         yp_set_int("channels", 200)))),
        .axes = YP_AXES(yp_axis_int("cubes", 10000)), .devices = "cpu cuda", .timeout = 7200,
        .budgets = YP_BUDGETS(yp_min_value("auc", 0.95), yp_budget_file("budgets.ini"),
                              yp_max_peak(YP_HOST, 512 * YP_MIB), yp_for_device("cpu"),
                              yp_max_resident(512 * YP_MIB), yp_for_device("cuda"),
                              yp_min_share("fit", 0.2), yp_max_peak(YP_DEVICE, 2 * YP_GIB),
                              yp_max_value("reserved over granules", 1.03)))
{
    struct scale s = scale_of(t);
    struct scene_tiles tiles;
    size_t tile_pixels = scale_tile_pixels(&s, yp_device(t), TILE_PIXELS);
    scene_tiles_open(&tiles, t, &s, tile_pixels);
    struct rx *rx = open_rx(t, s.channels, tile_pixels, THREADS);
    yp_data_hash(t, scene_tiles_hash(&tiles, t));
    enum yp_status status = YP_OK;
    yp_measure (t, "fit", .items = scale_values(&s), .unit = "values", .bounds = FIT_WORK(&s),
                .threads = THREADS, .warmup = -1, .samples = 1) {
        rx_reset(rx);
        status = rx_fit(rx, &tiles.source);
    }
    yp_ok(t, status);
    yp_ok(t, rx_finish(rx, RX_EPS));
    size_t scored = s.cubes < 10 ? s.cubes : 10;
    scored -= scored > tiles.cubes_per_tile ? scored % tiles.cubes_per_tile : 0;
    tiles.source.tiles = scene_tiles_count(&tiles, scored);
    const float *scores = scene_tiles_score(&tiles, t, rx);
    yp_value(t, "auc", scene_tiles_auc(&tiles, t, scores, scored));
    if (runs_on_gpu(t))
        report_reserved(t);
    rx_destroy(rx);
    scene_tiles_close(&tiles);
}
