#include "suites/file_tiles.h"

#include <omp.h>
#include <stdio.h>
#include <sys/statvfs.h>

#define WRITERS 2

static enum yp_status yield(void *arg, size_t index, float *values, uint8_t *labels,
                            struct rx_tile *tile)
{
    (void)labels;
    const struct file_tiles *files = arg;
    size_t cube = index / files->tiles_per_cube;
    size_t first = index % files->tiles_per_cube * files->source.tile_pixels;
    size_t left = files->cube_pixels - first;
    tile->pixels = left < files->source.tile_pixels ? left : files->source.tile_pixels;
    return synth_cube_read(files->file, cube, first, tile->pixels, values);
}

void file_tiles_open(struct file_tiles *files, struct yp_case *t, const char *path,
                     size_t tile_pixels)
{
    *files = (struct file_tiles){.file = synth_cube_open(yp_device(t), path, SYNTH_SCALED)};
    yp_require(t, files->file != NULL, "%s", yp_last_error());
    const struct synth_cube_info *info = synth_cube_info(files->file);
    files->cube_pixels = info->height * info->width;
    files->tiles_per_cube = (files->cube_pixels + tile_pixels - 1) / tile_pixels;
    files->source = (struct rx_source){.channels = info->channels,
                                       .tile_pixels = tile_pixels,
                                       .tiles = info->cubes * files->tiles_per_cube,
                                       .yield = yield,
                                       .arg = files};
}

void file_tiles_close(struct file_tiles *files)
{
    synth_cube_close(files->file);
    files->file = NULL;
}

uint64_t file_tiles_hash(const struct file_tiles *files, struct yp_case *t)
{
    const struct rx_source *source = &files->source;
    float *values = yp_alloc(t, source->tile_pixels * source->channels * sizeof *values);
    uint64_t sum = 0;
    for (size_t i = 0; i < source->tiles; i++) {
        struct rx_tile tile = {.values = values};
        yp_ok(t, source->yield(source->arg, i, values, NULL, &tile));
        size_t before = i / files->tiles_per_cube * files->cube_pixels +
                        i % files->tiles_per_cube * source->tile_pixels;
        sum += yp_hash_f32(before * source->channels, values, tile.pixels * source->channels);
    }
    return sum;
}

void tmp_file(struct yp_case *t, const char *name, char path[512])
{
    snprintf(path, 512, "%s/%s", yp_tmp_path(t), name);
}

struct synth_cube_info scene_tiles_info(const struct scene_tiles *tiles)
{
    const struct scale *s = &tiles->scale;
    return (struct synth_cube_info){.cubes = s->cubes,
                                    .height = s->height,
                                    .width = s->width,
                                    .channels = s->channels,
                                    .wavelengths = synth_scene_wavelengths(tiles->scene)};
}

static bool has_space(const char *directory, uint64_t bytes)
{
    struct statvfs space;
    return statvfs(directory, &space) != 0 ||
           (uint64_t)space.f_bavail * (uint64_t)space.f_frsize > bytes;
}

void scene_tiles_write(const struct scene_tiles *tiles, struct yp_case *t, const char *path,
                       const struct synth_cube_info *info)
{
    uint64_t bytes = synth_cube_bytes(info);
    if (!has_space(yp_tmp_path(t), bytes))
        yp_skip(t, "no room for %.1f GB under %s", (double)bytes / 1e9, yp_tmp_path(t));
    struct synth_cube_writer *writer = synth_cube_create(yp_device(t), path, info, SYNTH_REPLACE);
    yp_require(t, writer != NULL, "%s", yp_last_error());
    size_t tile_values = tiles->source.tile_pixels * tiles->scale.channels;
    float *staging = yp_alloc(t, WRITERS * tile_values * sizeof *staging);
    int failed = 0;
#pragma omp parallel for schedule(dynamic) num_threads(WRITERS) reduction(+ : failed)
    for (size_t i = 0; i < tiles->source.tiles; i++) {
        float *values = staging + (size_t)omp_get_thread_num() * tile_values;
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
