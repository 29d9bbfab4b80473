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

/* Opens the cubes of a file, in tiles like those of a scene. An error ends the case `t`. The
 * structure must not move; close it with file_tiles_close(). */
void file_tiles_open(struct file_tiles *files, struct yp_case *t, const char *path,
                     size_t tile_pixels);
void file_tiles_close(struct file_tiles *files);

/* yp_hash_f32 over all values. Allocates a tile from the case, which keeps it to its end. */
uint64_t file_tiles_hash(const struct file_tiles *files, struct yp_case *t);

/* Makes a directory for the case under TMPDIR, or /tmp, which is removed with its contents at the
 * end of the case; a killed case leaves it. */
struct scratch {
    char directory[256];
};

void scratch_open(struct scratch *scratch, struct yp_case *t);
/* The same in the system's file system in memory, /dev/shm, where there is one with 256 MiB free:
 * what is timed there does not wait for a disk. */
void scratch_open_in_memory(struct scratch *scratch, struct yp_case *t);
void scratch_path(const struct scratch *scratch, const char *name, char path[512]);
void scratch_close(struct scratch *scratch); /* may be called twice */

/* Writes all cubes of a scene in this format, by two threads. Skips the case where the file system
 * has too little space; `scratch` is closed then, and when writing fails. */
void scene_tiles_write(const struct scene_tiles *tiles, struct yp_case *t, struct scratch *scratch,
                       const char *path, const struct synth_cube_info *info);

/* Shape and wavelengths of a scene's file; format, type and interleave are the caller's to set. */
struct synth_cube_info scene_tiles_info(const struct scene_tiles *tiles);

#endif
