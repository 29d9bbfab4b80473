/* The detector on cubes from files: scenes written before, and a user's own. */
#include "suites/file_tiles.h"

#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#define TILE_PIXELS 1024
#define THREADS 2

/* Drops the file from the page cache, so that it is read from the disk. */
static void forget(const char *path)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return;
    (void)posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    close(file);
}

/* A scale where "cubes" is an axis, of which 0 means all. */
#define WHOLE(cubes_, side_, channels_) \
    yp_set_int("all_cubes", cubes_), yp_set_int("side", side_), yp_set_int("channels", channels_)

/* Once through a file that was written before: large has 26 GB, `--set cubes=N` takes N cubes. The
 * first pass is from the disk, what is measured after it on smaller files from the page cache. */
YP_TEST(rx, disk, .tags = "stress",
        .cases = YP_CASES(yp_case_of("small", .set = YP_SET(WHOLE(10, 64, 10))),
                          yp_case_of("medium", .set = YP_SET(WHOLE(100, 128, 50))),
                          yp_case_of("large", .tags = "slow", .timeout = 1800,
                                     .set = YP_SET(WHOLE(1000, 256, 100)))),
        .axes = YP_AXES(yp_axis_int("cubes", 0)), .timeout = 300,
        .budgets = YP_BUDGETS(yp_budget_file("budgets.ini"), yp_max_peak(YP_HOST, 16 * YP_MIB),
                              yp_max_resident(48 * YP_MIB))) /* of slices */
{
    long long cubes = yp_int(t, "cubes");
    yp_require(t, cubes >= 0, "cubes is %lld: 0 for all, or how many", cubes);
    size_t side = (size_t)yp_int(t, "side");
    struct scale s = {.cubes = (size_t)(cubes > 0 ? cubes : yp_int(t, "all_cubes")),
                      .height = side,
                      .width = side,
                      .channels = (size_t)yp_int(t, "channels")};
    struct scene_tiles tiles;
    scene_tiles_open(&tiles, t, &s, TILE_PIXELS);
    char path[512];
    tmp_file(t, "cubes.npy", path);
    struct synth_cube_info info = scene_tiles_info(&tiles);
    info.format = SYNTH_NPY;
    info.wavelengths = NULL;
    scene_tiles_write(&tiles, t, path, &info);
    forget(path);

    struct file_tiles files;
    file_tiles_open(&files, t, path, TILE_PIXELS);
    struct rx *rx = open_rx(t, s.channels, TILE_PIXELS, THREADS);
    bool once = scale_values(&s) > 1e9;
    enum yp_status status = YP_OK;
    yp_measure (t, "read and fit", .items = scale_values(&s), .unit = "values",
                .flops = scale_values(&s) * (double)(s.channels + 1), .bytes = 4 * scale_values(&s),
                .traffic = YP_READ, .footprint = 4 * scale_values(&s), .threads = THREADS,
                .warmup = once ? -1 : 0, .samples = once ? 1 : 0) {
        rx_reset(rx);
        status = rx_fit(rx, &files.source);
    }
    yp_ok(t, status);
    yp_ok(t, rx_finish(rx, RX_EPS));
    yp_data_hash(t, scene_tiles_hash_of(&tiles, t, &files.source));
    file_tiles_close(&files);
    rx_destroy(rx);
    scene_tiles_close(&tiles);
}

/* What was read is what fit generates. */
YP_RELATION(rx, disk_data, .tags = "stress small",
            .relation = yp_same_hash("stress/rx.c::fit[small-cpu]",
                                     "stress/rx_disk.c::disk[small-cubes=0]"));
YP_RELATION(rx, disk_data_medium, .tags = "stress medium",
            .relation = yp_same_hash("stress/rx.c::fit[medium-cpu]",
                                     "stress/rx_disk.c::disk[medium-cubes=0]"));
YP_RELATION(rx, disk_data_large, .tags = "stress large slow",
            .relation = yp_same_hash("stress/rx.c::fit[large-cpu]",
                                     "stress/rx_disk.c::disk[large-cubes=0]"));

/* -- a cube of the user's ------------------------------------------------------------------- */

/* Without one: a scene through a file all the same. */
static void write_own(struct yp_case *t, char path[512])
{
    struct scale s = {.cubes = 1, .height = 200, .width = 150, .channels = 60};
    struct scene_tiles tiles;
    scene_tiles_open(&tiles, t, &s, TILE_PIXELS);
    tmp_file(t, "cube.img", path);
    struct synth_cube_info info = scene_tiles_info(&tiles);
    info.format = SYNTH_ENVI;
    info.interleave = SYNTH_BIL;
    scene_tiles_write(&tiles, t, path, &info);
    scene_tiles_close(&tiles);
}

static double sum_of(const float *scores, size_t places)
{
    double sum = 0;
    for (size_t i = 0; i < places; i++)
        sum += isnan(scores[i]) ? 0 : (double)scores[i];
    return sum;
}

/* Of scene_credible.c too. */
YP_OPTION(cube, .value = "FILE", .help = "--set cube=FILE with the whole path: data of your own",
          .axis = "cube", .path = true);

/* `--cube FILE`: fits the detector to it and scores it. Dead bands are masked, pixels without data
 * skipped. With C' channels that are alive all scores sum to (n - 1) C'. */
YP_TEST(rx, cube, .tags = "stress small", .axes = YP_AXES(yp_axis_string("cube", "generated")),
        .timeout = 3600,
        .budgets = YP_BUDGETS(yp_budget_file("budgets.ini"), yp_max_value("score sum error", 1e-3)))
{
    const char *cube = yp_string(t, "cube");
    bool generated = strcmp(cube, "generated") == 0;
    char path[512];
    if (generated)
        write_own(t, path);
    struct file_tiles files;
    file_tiles_open(&files, t, generated ? path : cube, TILE_PIXELS);
    double channels = (double)files.source.channels;
    double pixels = (double)(files.cube_pixels * synth_cube_info(files.file)->cubes);
    struct rx *rx = open_rx(t, files.source.channels, TILE_PIXELS, THREADS);
    size_t places = files.source.tiles * TILE_PIXELS;
    float *scores = yp_alloc(t, places * sizeof *scores);
    enum yp_status status = YP_OK;
    yp_measure (t, "fit", .items = pixels * channels, .unit = "values",
                .flops = pixels * channels * (channels + 1), .bytes = 4 * pixels * channels,
                .traffic = YP_READ, .footprint = 4 * pixels * channels, .threads = THREADS) {
        rx_reset(rx);
        status = rx_fit(rx, &files.source);
    }
    yp_ok(t, status);
    yp_ok(t, rx_finish_with(rx, &(struct rx_finish_options){.mask_dead = true}));
    yp_measure (t, "score", .items = pixels * channels, .unit = "values",
                .flops = pixels * channels * channels, .bytes = 4 * pixels * channels,
                .traffic = YP_READ, .footprint = 4 * pixels * channels, .threads = THREADS) {
        status = rx_score(rx, &files.source, scores);
    }
    yp_ok(t, status);
    struct rx_summary summary;
    rx_summary(rx, &summary);
    double alive = channels - (double)rx_masked(rx, NULL);
    double expected = ((double)summary.pixels - 1) * alive;
    yp_value(t, "pixels", (double)summary.pixels);
    yp_value(t, "without data", (double)summary.skipped);
    yp_value(t, "channels alive", alive);
    yp_value(t, "score sum error", fabs(sum_of(scores, places) / expected - 1));
    yp_data_hash(t, file_tiles_hash(&files, t));
    rx_destroy(rx);
    file_tiles_close(&files);
}
