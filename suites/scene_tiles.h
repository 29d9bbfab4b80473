/* A synthetic scene as the input of a detector: where synth/ and models/ meet.
 *
 * The cubes of a scene follow each other and are cut into tiles of `tile_pixels`. No tile spans
 * part of a cube and another one: the last tile of a cube may be shorter, or a tile consists of
 * whole cubes where two or more fit, and the last tile may have fewer. A tile is generated when it
 * is requested and is not kept; on a GPU one launch generates it there. */
#pragma once

#include "models/rx/rx.h"
#include "synth/scene/scene.h"

#include <yieldpoint/yieldpoint.h>

struct scale {
    size_t cubes, height, width, channels;
    bool points; /* channels see a point of the spectrum each, not the default's Gaussian */
};

/* The scales of the suites, as parameters of named cases: so many cubes of side x side pixels. */
#define SCALE(cubes_, side_, channels_) \
    yp_set_int("cubes", cubes_), yp_set_int("side", side_), yp_set_int("channels", channels_)
#define SCALE_SMALL SCALE(10, 64, 10)
#define SCALE_MEDIUM SCALE(100, 128, 50)
#define SCALE_LARGE SCALE(1000, 256, 100)
#define SCALE_XL SCALE(10000, 512, 200)

#define SMALL_CASE yp_case_of("small", .set = YP_SET(SCALE_SMALL))
#define MEDIUM_CASE yp_case_of("medium", .set = YP_SET(SCALE_MEDIUM))
/* All scales; the large ones take minutes. */
#define SCALE_CASES \
    YP_CASES(SMALL_CASE, MEDIUM_CASE, \
             yp_case_of("large", .tags = "slow", .timeout = 600, .set = YP_SET(SCALE_LARGE)), \
             yp_case_of("xl", .tags = "slow", .timeout = 600, .set = YP_SET(SCALE_XL)))

/* The case's parameters or axes "cubes", "side" and "channels". */
struct scale scale_of(struct yp_case *t);

/* The default scene at this scale. */
struct synth_spec scale_spec(const struct scale *s, uint64_t seed);

/* A scene, or the case ends; the caller gives it back with synth_scene_destroy(). */
struct synth_scene *open_scene(struct yp_case *t, struct yp_device *device,
                               const struct synth_spec *spec);

/* All of a cube of such a scene, in memory of the device; truth may be NULL. */
void make_cube(struct yp_case *t, struct yp_device *device, const struct synth_spec *spec,
               uint64_t cube, float *values, const struct synth_truth *truth);

/* A detector on the case's device, or the case ends; the caller gives it back with rx_destroy(). */
struct rx *open_rx(struct yp_case *t, size_t channels, size_t tile_pixels, int threads);
/* The same on any device. */
struct rx *open_rx_on(struct yp_case *t, struct yp_device *device, size_t channels,
                      size_t tile_pixels, int threads, enum rx_precision precision);

/* A copy in memory of the case's device, which the case owns. */
void *sent(struct yp_case *t, const void *from, size_t bytes);

/* rx_reset() for .reset of a measurement. */
void reset_rx(void *rx);

/* Whether the case runs on a GPU. */
bool runs_on_gpu(struct yp_case *t);
/* Records peak reserved over peak allocated memory of the device ("reserved over allocated"), and
 * the same with the allocated memory rounded up to granules of the device's pool, which cannot
 * reserve less ("reserved over granules"). */
void report_reserved(struct yp_case *t);

double scale_pixels(const struct scale *s); /* of all cubes */
double scale_values(const struct scale *s);

/* Pixels of a tile: `pixels` on the CPU; on a GPU whole cubes, a million pixels of them or as many
 * as there are, so that one tile keeps all of it busy. */
size_t scale_tile_pixels(const struct scale *s, struct yp_device *device, size_t pixels);

struct scene_tiles {
    struct synth_scene *scene;
    struct yp_device *device;
    struct scale scale;
    size_t tiles_per_cube, cubes_per_tile; /* one of them is 1 */
    struct rx_source source;               /* what a detector takes; `arg` is this structure */
};

/* Creates the default scene of this seed at this scale. An error ends the case `t`. The structure
 * must not move; close it with scene_tiles_close(). */
void scene_tiles_open(struct scene_tiles *tiles, struct yp_case *t, const struct scale *scale,
                      size_t tile_pixels);
void scene_tiles_close(struct scene_tiles *tiles);

/* The same on a device other than the case's. */
void scene_tiles_open_on(struct scene_tiles *tiles, struct yp_case *t, struct yp_device *device,
                         const struct scale *scale, size_t tile_pixels);

/* The place of tile `index`: first cube, number of cubes, pixels. */
struct scene_place {
    size_t cube, cubes, first, pixels;
};
struct scene_place scene_tiles_place(const struct scene_tiles *tiles, size_t index);

/* The number of tiles that contain the first `cubes` cubes; the last may contain further ones. */
size_t scene_tiles_count(const struct scene_tiles *tiles, size_t cubes);

/* yp_hash_f32 over all values of all cubes, or, where there are more than 100, of 100 cubes spread
 * evenly; by all OpenMP threads. Allocates one tile a thread while it runs; on a GPU one cube of
 * its memory and 4 MiB of the host's. */
uint64_t scene_tiles_hash(const struct scene_tiles *tiles, struct yp_case *t);
/* The same of another source with the same tiles; at most two threads read it, each tile once. */
uint64_t scene_tiles_hash_of(const struct scene_tiles *tiles, struct yp_case *t,
                             const struct rx_source *source);

/* Labels of the first `cubes` cubes, where rx_score puts their scores: scene_tiles_count() *
 * tile_pixels of the host's memory. */
void scene_tiles_labels(const struct scene_tiles *tiles, struct yp_case *t, size_t cubes,
                        uint8_t *labels);

/* Scores of all tiles by a finished detector on the same device, in the order of rx_score, in the
 * host's memory; on a GPU as much of its memory too. The case owns all of it to its end. */
const float *scene_tiles_score(const struct scene_tiles *tiles, struct yp_case *t, struct rx *rx);

/* ROC-AUC on the first `cubes` cubes; scores are on the host in the order of rx_score. Allocates a
 * byte a pixel of the host's memory, which the case keeps to its end. */
double scene_tiles_auc(const struct scene_tiles *tiles, struct yp_case *t, const float *scores,
                       size_t cubes);

/* All tiles of a scene, generated once and kept in the memory of its device, for the case's rest.
 */
struct kept_tiles {
    struct rx_source source; /* `arg` is this structure */
    float *values;           /* tile i at i * tile_pixels * channels */
    uint8_t *labels;         /* tile i at i * tile_pixels */
    size_t *pixels;          /* (tiles), on the host */
    size_t first;            /* tile 0 of the source is this one; 0 at first */
};

/* Also sets the case's data hash, by 4 MiB of the host's memory where the device is another. The
 * structure must stay where it is. */
void kept_tiles_open(struct kept_tiles *kept, struct yp_case *t, const struct scene_tiles *tiles);
