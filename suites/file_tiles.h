/* Cubes in a file as the input of a detector, and files of scenes for cases that read. */
#pragma once

#include "suites/scene_tiles.h"
#include "synth/cube/cube.h"

struct file_tiles {
    struct synth_cube_file *file;
    size_t cube_pixels, tiles_per_cube;
    struct rx_source source; /* `arg` is this structure; no labels */
};

/* Opens the cubes of a file, in tiles like those of a scene. An error ends the case `t`. The
 * structure must not move; close it with file_tiles_close(). */
void file_tiles_open(struct file_tiles *files, struct yp_case *t, const char *path,
                     size_t tile_pixels);
void file_tiles_close(struct file_tiles *files);

/* yp_hash_f32 over all values. Allocates a tile from the case, which keeps it to its end. */
uint64_t file_tiles_hash(const struct file_tiles *files, struct yp_case *t);

/* The path of a file in yp_tmp_path(). */
void tmp_file(struct yp_case *t, const char *name, char path[512]);

/* Writes all cubes of a scene in this format, to a file in yp_tmp_path(), by two threads. Skips the
 * case where the file system has too little space. */
void scene_tiles_write(const struct scene_tiles *tiles, struct yp_case *t, const char *path,
                       const struct synth_cube_info *info);

/* Shape and wavelengths of a scene's file; format, type and interleave are the caller's to set. */
struct synth_cube_info scene_tiles_info(const struct scene_tiles *tiles);
