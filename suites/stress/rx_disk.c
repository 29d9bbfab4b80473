/* The detector on cubes that are read from a file instead of being generated. */
#include "scene_tiles.h"
#include "synth/cube_file.h"

#include <errno.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TILE_PIXELS 1024
#define THREADS 2

/* A file of all cubes of a scale, as the input of a detector. */
struct file_tiles {
    struct synth_cube_file *file;
    const struct scene_tiles *tiles; /* how they are cut */
    struct rx_source source;         /* `arg` is this structure */
};

static enum yp_status yield(void *arg, size_t index, float *values, uint8_t *labels,
                            struct rx_tile *tile)
{
    (void)labels;
    const struct file_tiles *files = arg;
    struct scene_place p = scene_tiles_place(files->tiles, index);
    tile->pixels = p.pixels;
    return synth_cube_read(files->file, p.cube, p.first, p.pixels, values);
}

/* Writes all cubes, several threads at once. A file system without the room skips the case. */
static void write_all(struct yp_case *t, const struct scene_tiles *tiles, const char *path)
{
    const struct scale *s = &tiles->scale;
    struct synth_cube_info info = {.format = SYNTH_NPY,
                                   .cubes = s->cubes,
                                   .height = s->height,
                                   .width = s->width,
                                   .channels = s->channels};
    struct synth_cube_writer *writer = synth_cube_create(yp_device(t), path, &info, SYNTH_REPLACE);
    if (writer == NULL && strstr(yp_last_error(), "free") != NULL)
        yp_skip(t, "%s", yp_last_error());
    yp_require(t, writer != NULL, "%s", yp_last_error());
    size_t most = TILE_PIXELS * s->channels;
    float *room = yp_alloc(t, THREADS * most * sizeof *room);
    int failed = 0;
#pragma omp parallel for schedule(dynamic) num_threads(THREADS) reduction(+ : failed)
    for (size_t i = 0; i < tiles->source.tiles; i++) {
        float *values = room + (size_t)omp_get_thread_num() * most;
        struct scene_place p = scene_tiles_place(tiles, i);
        failed +=
            synth_scene_tile(tiles->scene, p.cube, p.first, p.pixels, values, NULL) != YP_OK ||
            synth_cube_write(writer, p.cube, p.first, p.pixels, values) != YP_OK;
    }
    if (failed > 0) {
        synth_cube_abandon(writer);
        yp_fail(t, "%d tiles could not be written to %s", failed, path);
    }
    yp_ok(t, synth_cube_commit(writer));
}

/* large: 26 GB; `--set cubes=N` takes another number of them than the scale has. */
YP_TEST(rx, disk, .tags = "stress",
        .cases = YP_CASES(yp_case_of("small"), yp_case_of("medium"),
                          yp_case_of("large", .tags = "slow", .timeout = 3600)),
        .axes = YP_AXES(yp_axis_int("cubes", 0)), .timeout = 300,
        .budgets = YP_BUDGETS(yp_min_share("read and fit", 0.01), yp_max_peak(YP_HOST, 16 * YP_MIB),
                              yp_max_resident(48 * YP_MIB)))
{
    struct scale s = scale_named(t, yp_case_name(t));
    if (yp_int(t, "cubes") > 0)
        s.cubes = (size_t)yp_int(t, "cubes");
    struct scene_tiles tiles;
    scene_tiles_open(&tiles, t, &s, TILE_PIXELS);
    char directory[] = "/tmp/yieldpoint-disk-XXXXXX";
    yp_require(t, mkdtemp(directory) != NULL, "%s: %s", directory, strerror(errno));
    char path[sizeof directory + 16];
    snprintf(path, sizeof path, "%s/cubes.npy", directory);
    write_all(t, &tiles, path);

    struct file_tiles files = {.tiles = &tiles, .source = tiles.source};
    files.file = synth_cube_open(yp_device(t), path, SYNTH_AS_STORED);
    unlink(path); /* it stays while it is open, and goes however the case ends */
    rmdir(directory);
    yp_require(t, files.file != NULL, "%s", yp_last_error());
    files.source.yield = yield;
    files.source.arg = &files;
    struct rx *rx = rx_create(yp_device(t), s.channels, TILE_PIXELS, THREADS);
    yp_require(t, rx != NULL, "%s", yp_last_error());
    bool once = scale_values(&s) > 1e9;
    enum yp_status status = YP_OK;
    yp_measure (t, "read and fit", .items = scale_values(&s), .unit = "values",
                .flops = scale_values(&s) * (double)(s.channels + 1), .bytes = 4 * scale_values(&s),
                .traffic = YP_READ, .threads = THREADS, .warmup = once ? -1 : 0,
                .samples = once ? 1 : 0) {
        rx_reset(rx);
        status = rx_fit(rx, &files.source);
    }
    yp_ok(t, status);
    yp_ok(t, rx_finish(rx, RX_EPS));
    yp_data_hash(t, scene_tiles_hash_of(&tiles, t, &files.source));
    synth_cube_close(files.file);
    rx_destroy(rx);
    scene_tiles_close(&tiles);
}

/* What was read is what fit generates. */
YP_RELATION(rx, disk_data, .tags = "stress small",
            .relation = yp_same_hash("stress/rx.c::fit[small]",
                                     "stress/rx_disk.c::disk[small-cubes=0]"));
YP_RELATION(rx, disk_data_medium, .tags = "stress medium",
            .relation = yp_same_hash("stress/rx.c::fit[medium]",
                                     "stress/rx_disk.c::disk[medium-cubes=0]"));
