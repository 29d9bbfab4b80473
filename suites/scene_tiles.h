/*
 * A synthetic scene as the input of a detector: the one place where synth/ and models/ meet.
 *
 * The cubes of a scene stand one after the other and are cut into tiles of `tile_pixels`; no tile
 * crosses a cube, so the last of a cube may be shorter. A tile is generated when it is asked for
 * and is not kept.
 */
#ifndef SUITES_SCENE_TILES_H
#define SUITES_SCENE_TILES_H

#include "rx/rx.h"
#include "synth/scene.h"

#include <yieldpoint/yieldpoint.h>

struct scale {
    const char *name;
    size_t cubes, height, width, channels;
};

/* The scales of the suites by their names: small, medium, large. Fails the case for another. */
struct scale scale_named(struct yp_case *t, const char *name);

double scale_pixels(const struct scale *s); /* of all cubes */
double scale_values(const struct scale *s);

struct scene_tiles {
    struct synth_scene *scene;
    struct scale scale;
    size_t tiles_per_cube;
    struct rx_source source; /* what a detector takes; `arg` is this structure */
};

/* The default scene of this seed at this scale. Requires in `t`, so it either works or ends the
 * case. The structure must stay where it is; give it back with scene_tiles_close(). */
void scene_tiles_open(struct scene_tiles *tiles, struct yp_case *t, const struct scale *scale,
                      size_t tile_pixels);
void scene_tiles_close(struct scene_tiles *tiles);

/* yp_hash_f32 over all values of all cubes, by all OpenMP threads. Takes one tile a thread of the
 * case's memory while it runs. */
uint64_t scene_tiles_hash(const struct scene_tiles *tiles, struct yp_case *t);

/* Labels of the first `cubes` cubes, where rx_score puts their scores: tiles * tile_pixels. */
void scene_tiles_labels(const struct scene_tiles *tiles, struct yp_case *t, size_t cubes,
                        uint8_t *labels);

#endif
