/* The detector on cubes from files: scenes written before, and a user's own. */
#include "suites/file_tiles.h"
#include "suites/stress/cube_gaps.h"

#include <fcntl.h>
#include <lapacke.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
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
                          yp_case_of("medium", .set = YP_SET(WHOLE(100, 128, 50)),
                                     .budgets = YP_BUDGETS(yp_min_share("read and fit", 0.14))),
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
/* What the detector advises where it refuses a cube. */
YP_OPTION(precision, .value = "NAME",
          .help = "sums of the detector on --cube: fp32 (the default), bf16x2, bf16x3 or fp64");
YP_OPTION(eps, .value = "X",
          .help = "regularise it: squares of the data's range added to variances (0)");
YP_OPTION(shrink, .value = "X", .help = "regularise it: part of covariances left away, 0 to 1 (0)");
YP_OPTION(max_error, .value = "X", .help = "the largest relative error of its scores (0.01)");

static double number_of(struct yp_case *t, const char *name, const char *text)
{
    char *end = NULL;
    double number = text != NULL ? strtod(text, &end) : 0;
    if (text != NULL && (end == text || *end != '\0'))
        yp_fail(t, "--%s is '%s': must be a number", name, text);
    return number;
}

static enum rx_precision precision_of(struct yp_case *t, const char *name)
{
    static const char *const names[] = {
        [RX_FP32] = "fp32", [RX_BF16X2] = "bf16x2", [RX_BF16X3] = "bf16x3", [RX_FP64] = "fp64"};
    for (int i = 0; name != NULL && i < (int)(sizeof names / sizeof *names); i++)
        if (strcmp(name, names[i]) == 0)
            return (enum rx_precision)i;
    if (name != NULL)
        yp_fail(t, "--precision is '%s': must be fp32, bf16x2, bf16x3 or fp64", name);
    return RX_FP32;
}

/* A user's cube without what has no data. */
struct own_tiles {
    struct file_tiles files;
    struct cube_gaps gaps;
    struct rx_source source; /* `arg` is this structure */
};

static enum yp_status yield_own(void *arg, size_t index, float *values, uint8_t *labels,
                                struct rx_tile *tile)
{
    const struct own_tiles *own = arg;
    const struct rx_source *files = &own->files.source;
    enum yp_status status = files->yield(files->arg, index, values, labels, tile);
    if (status == YP_OK)
        cube_gaps_clear(&own->gaps, values, tile->pixels);
    return status;
}

static void own_tiles_open(struct own_tiles *own, struct yp_case *t, const char *path)
{
    file_tiles_open(&own->files, t, path, TILE_PIXELS);
    const struct rx_source *files = &own->files.source;
    float *values = yp_alloc(t, files->tile_pixels * files->channels * sizeof *values);
    cube_gaps_open(&own->gaps, t, own->files.file);
    for (size_t i = 0; i < files->tiles; i++) {
        struct rx_tile tile = {.values = values};
        yp_ok(t, files->yield(files->arg, i, values, NULL, &tile));
        cube_gaps_count(&own->gaps, values, tile.pixels);
    }
    cube_gaps_judge(&own->gaps, t);
    own->source = *files;
    if (cube_gaps_any(&own->gaps)) {
        own->source.yield = yield_own;
        own->source.arg = own;
    }
}

static void own_tiles_close(struct own_tiles *own, struct rx *rx)
{
    rx_destroy(rx);
    file_tiles_close(&own->files);
}

/* A covariance takes more pixels than channels, or what regularises it; fewer than two pixels, or
 * only constant channels, have no scores. */
static void skip_without_scores(struct yp_case *t, struct own_tiles *own, struct rx *rx,
                                const struct rx_finish_options *options)
{
    struct rx_summary summary;
    rx_summary(rx, &summary);
    size_t channels = cube_gaps_varying(&own->gaps), pixels = (size_t)summary.pixels;
    bool regular = options->eps > 0 || options->shrink > 0;
    if (pixels >= 2 && channels > 0 && (regular || pixels > channels))
        return;
    own_tiles_close(own, rx);
    if (pixels < 2 || channels == 0)
        yp_skip(t,
                "no scores: %zu pixels have data in all channels that are left, of which %zu are "
                "not constant",
                pixels, channels);
    yp_skip(t,
            "no scores: %zu pixels with data give no covariance of %zu channels; --eps or --shrink "
            "regularises it",
            pixels, channels);
}

static void finish_own(struct yp_case *t, struct rx *rx, const struct rx_finish_options *options)
{
    enum yp_status status = rx_finish_with(rx, options);
    if (status == YP_INVALID)
        yp_fail(t,
                "%s (here --precision fp64, --eps X, --shrink X, --max-error X, --leave-out LIST)",
                yp_last_error());
    yp_ok(t, status);
}

/* What all scores sum to: (n - 1) tr(R^-1 Sigma) with the regularised covariance R of the channels
 * that are alive, which is n - 1 times their number where it is Sigma itself. */
static double expected_sum(struct yp_case *t, const struct rx *rx, size_t channels,
                           const struct rx_finish_options *options)
{
    struct rx_summary summary;
    uint8_t *masked = yp_alloc_host(t, channels);
    size_t alive = channels - rx_masked(rx, masked), at = 0;
    rx_summary(rx, &summary);
    double pixels = (double)summary.pixels - 1;
    if (options->eps == 0 && options->shrink == 0)
        return pixels * (double)alive;
    double *sigma = yp_alloc_host(t, 2 * channels * channels * sizeof *sigma);
    double *regular = sigma + channels * channels, trace = 0;
    double range = fmax((double)summary.max - (double)summary.min, 1e-6);
    yp_ok(t, rx_covariance(rx, sigma));
    for (size_t i = 0; i < channels; i++)
        for (size_t j = 0; j < channels; j++)
            if (!masked[i] && !masked[j])
                sigma[at++] = sigma[i * channels + j];
    for (size_t i = 0; i < at; i++)
        regular[i] = i % (alive + 1) == 0 ? sigma[i] + options->eps * range * range
                                          : sigma[i] * (1 - options->shrink);
    lapack_int n = (lapack_int)alive;
    lapack_int failed = LAPACKE_dposv(LAPACK_ROW_MAJOR, 'U', n, n, regular, n, sigma, n);
    yp_require(t, failed == 0, "dposv returned %d for the regularised covariance", (int)failed);
    for (size_t i = 0; i < alive; i++)
        trace += sigma[i * (alive + 1)];
    return pixels * trace;
}

/* `--cube FILE`: fits the detector to it and scores it. What has no data is left out, dead bands
 * are masked. The sum of the scores is as right as the detector says of one, or SUM_ERROR. */
#define SUM_ERROR 1e-3
YP_TEST(rx, cube, .tags = "stress small", .axes = YP_AXES(yp_axis_string("cube", "generated")),
        .timeout = 3600, .budgets = YP_BUDGETS(yp_max_value("score sum error", SUM_ERROR)))
{
    const char *cube = yp_string(t, "cube");
    bool generated = strcmp(cube, "generated") == 0;
    const struct rx_finish_options options = {.mask_dead = true,
                                              .eps = number_of(t, "eps", yp_option(eps)),
                                              .shrink = number_of(t, "shrink", yp_option(shrink)),
                                              .max_error =
                                                  number_of(t, "max-error", yp_option(max_error))};
    const struct rx_options how = {.precision = precision_of(t, yp_option(precision))};
    char path[512];
    if (generated)
        write_own(t, path);
    struct own_tiles own;
    own_tiles_open(&own, t, generated ? path : cube);
    double channels = (double)own.source.channels, pixels = (double)own.gaps.pixels;
    struct rx *rx = rx_create_with(yp_device(t), own.source.channels, TILE_PIXELS, THREADS, &how);
    yp_got(t, rx);
    size_t places = own.source.tiles * TILE_PIXELS;
    float *scores = yp_alloc(t, places * sizeof *scores);
    enum yp_status status = YP_OK;
    yp_measure (t, "fit", .items = pixels * channels, .unit = "values",
                .flops = pixels * channels * (channels + 1), .bytes = 4 * pixels * channels,
                .traffic = YP_READ, .footprint = 4 * pixels * channels, .threads = THREADS) {
        rx_reset(rx);
        status = rx_fit(rx, &own.source);
    }
    yp_ok(t, status);
    struct rx_summary summary;
    rx_summary(rx, &summary);
    yp_value(t, "pixels", (double)summary.pixels);
    yp_value(t, "without data", (double)summary.skipped);
    printf("%zu pixels with data in all channels that are left\n", (size_t)summary.pixels);
    skip_without_scores(t, &own, rx, &options);
    finish_own(t, rx, &options);
    yp_measure (t, "score", .items = pixels * channels, .unit = "values",
                .flops = pixels * channels * channels, .bytes = 4 * pixels * channels,
                .traffic = YP_READ, .footprint = 4 * pixels * channels, .threads = THREADS)
        status = rx_score(rx, &own.source, scores);
    yp_ok(t, status);
    yp_value(t, "channels alive", channels - (double)rx_masked(rx, NULL));
    double expected = expected_sum(t, rx, own.source.channels, &options);
    yp_value(t, "score sum error",
             fabs(sum_of(scores, places) / expected - 1) / fmax(1, rx_score_error(rx) / SUM_ERROR));
    yp_data_hash(t, file_tiles_hash(&own.files, t));
    own_tiles_close(&own, rx);
}
