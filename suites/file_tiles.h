/* Cubes in a file as the input of a detector, and files of scenes for cases that read. */
#ifndef SUITES_FILE_TILES_H
#define SUITES_FILE_TILES_H

#include "suites/scene_tiles.h"
#include "synth/cube/cube.h"

struct file_tiles {
    struct synth_cube_file *file;
    size_t cube_pixels, tiles_per_cube;
    struct rx_source source; /* `arg` is this structure; no labels */
};

/* The cubes of a file, cut as those of a scene are. Requires in `t`. The structure must stay where
 * it is; give it back with file_tiles_close(). */
void file_tiles_open(struct file_tiles *files, struct yp_case *t, const char *path,
                     size_t tile_pixels);
void file_tiles_close(struct file_tiles *files);

/* yp_hash_f32 over all values. Takes a tile of the case's memory, for its rest. */
uint64_t file_tiles_hash(const struct file_tiles *files, struct yp_case *t);

/* A directory of the case's own under TMPDIR, or /tmp; gone with all that is in it at the end of
 * the case, however that comes (a killed one leaves it). */
struct scratch {
    char directory[256];
};

void scratch_open(struct scratch *scratch, struct yp_case *t);
void scratch_path(const struct scratch *scratch, const char *name, char path[512]);
void scratch_close(struct scratch *scratch); /* may be called twice */

/* Writes all cubes of a scene in this format, by two threads. Skips the case where the file system
 * has not the space; `scratch` is closed then, and when writing fails. */
void scene_tiles_write(const struct scene_tiles *tiles, struct yp_case *t, struct scratch *scratch,
                       const char *path, const struct synth_cube_info *info);

/* Shape and wavelengths of a scene's file; format, type and interleave are the caller's to set. */
struct synth_cube_info scene_tiles_info(const struct scene_tiles *tiles);

#endif
