/* Tiles of a scene, generated ahead by the workers of a loader, as the input of a detector. */
#pragma once

#include "models/data/loader.h"
#include "suites/scene_tiles.h"

#define LOADED_CONSUMERS 2 /* threads of the detector, at most */

struct loaded_tiles {
    struct data_loader *loader;
    struct rx_source source;                 /* `arg` is this structure */
    struct data_item held[LOADED_CONSUMERS]; /* what each thread of the detector works on */
};

/* Starts a loader with `workers` threads and `depth` tiles ahead. The scene must be on the CPU and
 * outlive it. An error ends the case `t`. The structure must not move; close it with
 * loaded_tiles_close(). */
void loaded_tiles_open(struct loaded_tiles *loaded, struct yp_case *t, struct scene_tiles *tiles,
                       int workers, size_t depth);
void loaded_tiles_close(struct loaded_tiles *loaded);

/* Rewinds for the next pass; `arg` is a struct loaded_tiles, so that it can be a .reset. */
void loaded_tiles_rewind(void *arg);
