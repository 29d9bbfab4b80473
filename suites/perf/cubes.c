/* Cube files: writing and reading, over interleaves and types, in a file system in memory: what
 * Yieldpoint and the kernel do, and not the disk. */
#include "suites/file_tiles.h"

#include <stdio.h>
#include <string.h>

#define TILE_PIXELS 4096
#define ROOM ((uint64_t)64 << 20) /* bytes: the file, and the one that replaces it */

static enum synth_interleave interleave_named(const char *name)
{
    return strcmp(name, "bsq") == 0 ? SYNTH_BSQ : strcmp(name, "bil") == 0 ? SYNTH_BIL : SYNTH_BIP;
}

struct subject {
    struct scene_tiles tiles;
    struct kept_tiles kept;
    struct synth_cube_info info;
    char path[512];
};

static void subject_open(struct subject *f, struct yp_case *t)
{
    struct scale s = {.cubes = 1, .height = 256, .width = 256, .channels = 100};
    scene_tiles_open(&f->tiles, t, &s, TILE_PIXELS);
    kept_tiles_open(&f->kept, t, &f->tiles);
    f->info = scene_tiles_info(&f->tiles);
    f->info.interleave = interleave_named(yp_string(t, "interleave"));
    f->info.type = strcmp(yp_string(t, "type"), "uint16") == 0 ? SYNTH_U16 : SYNTH_F32;
    f->info.scale = f->info.type == SYNTH_U16 ? 65536 : 0;
    snprintf(f->path, sizeof f->path, "%s/cube.img", yp_tmp_path_in_memory(t, ROOM));
}

static enum yp_status write_all(struct subject *f, struct yp_device *device)
{
    struct synth_cube_writer *writer = synth_cube_create(device, f->path, &f->info, SYNTH_REPLACE);
    if (writer == NULL)
        return YP_IO;
    enum yp_status status = YP_OK;
    size_t step = TILE_PIXELS * f->kept.source.channels;
    for (size_t i = 0; i < f->kept.source.tiles && status == YP_OK; i++)
        status = synth_cube_write(writer, 0, i * TILE_PIXELS, f->kept.pixels[i],
                                  f->kept.values + i * step);
    if (status != YP_OK) {
        synth_cube_abandon(writer);
        return status;
    }
    return synth_cube_commit(writer);
}

/* Of the values and of the file: one of them is read and the other written. What is read goes to
 * one tile's buffer, which stays in a cache, so its share comes out higher than memory alone
 * allows. */
static double bytes_moved(const struct subject *f)
{
    return scale_values(&f->tiles.scale) * (f->info.type == SYNTH_U16 ? 2 + 4 : 4 + 4);
}

static void subject_close(struct subject *f)
{
    scene_tiles_close(&f->tiles);
}

#define AXES \
    YP_AXES(yp_axis_string("interleave", "bip", "bil", "bsq"), \
            yp_axis_string("type", "float32", "uint16"))

/* A file is made anew each time, so the kernel clears a page for each that is written: shares are
 * 0.04 to 0.07 on most machines for that, and there is no floor. */
YP_TEST(cubes, write, .tags = "perf small", .axes = AXES, .timeout = 120)
{
    struct subject f;
    subject_open(&f, t);
    enum yp_status status = YP_OK;
    yp_measure (t, "write", .items = scale_values(&f.tiles.scale), .unit = "values",
                .bytes = bytes_moved(&f), .footprint = YP_FOOTPRINT_MEMORY, .threads = 1)
        status = write_all(&f, yp_device(t));
    subject_close(&f);
    yp_ok(t, status);
}

/* bip is read as it is kept; the others are gathered. bsq of two bytes has 0.13 on some machines,
 * too little for a floor. */
static void read_floor(const struct yp_case *c, struct yp_budgets *out)
{
    const char *interleave = yp_string(c, "interleave");
    if (strcmp(interleave, "bip") == 0)
        yp_budget_add(out, yp_min_share("read", 0.22));
    else if (strcmp(interleave, "bil") == 0)
        yp_budget_add(out, yp_min_share("read", 0.15));
    else if (strcmp(yp_string(c, "type"), "float32") == 0)
        yp_budget_add(out, yp_min_share("read", 0.12));
}

YP_TEST(cubes, read, .tags = "perf small", .axes = AXES, .timeout = 120, .budgets_of = read_floor)
{
    struct subject f;
    struct file_tiles files;
    subject_open(&f, t);
    enum yp_status status = write_all(&f, yp_device(t));
    if (status != YP_OK)
        subject_close(&f);
    yp_ok(t, status);
    file_tiles_open(&files, t, f.path, TILE_PIXELS);
    float *values = yp_alloc(t, TILE_PIXELS * f.kept.source.channels * sizeof *values);
    yp_measure (t, "read", .items = scale_values(&f.tiles.scale), .unit = "values",
                .bytes = bytes_moved(&f), .footprint = YP_FOOTPRINT_MEMORY, .threads = 1) {
        for (size_t i = 0; i < files.source.tiles && status == YP_OK; i++) {
            struct rx_tile tile = {.values = values};
            status = files.source.yield(files.source.arg, i, values, NULL, &tile);
        }
        yp_keep(values);
    }
    yp_ok(t, status);
    file_tiles_close(&files);
    subject_close(&f);
}
