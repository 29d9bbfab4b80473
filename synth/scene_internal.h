/* What the presets share; not for users of scene.h. */
#ifndef YIELDPOINT_SYNTH_SCENE_INTERNAL_H
#define YIELDPOINT_SYNTH_SCENE_INTERNAL_H

#include "philox.h"
#include "scene.h"

/* Slots of a mixing pixel: up to 7 endmembers, then the target; on the lattice the last is shade.
 */
#define SYNTH_LANES 8
#define SYNTH_LAST (SYNTH_LANES - 1)

/* Tables are padded to this many floats a row (64 bytes), with zeros. */
#define SYNTH_PAD 16

/* Floats taken by a table row of `count`. */
static inline size_t synth_padded(size_t count)
{
    return (count + SYNTH_PAD - 1) / SYNTH_PAD * SYNTH_PAD;
}

struct synth_scene {
    struct yp_device *device;
    struct synth_spec spec; /* resolved */
    size_t stride;          /* synth_padded(channels) */

    /* MIXING: SYNTH_LANES x stride, the endmembers, zeros, and last the target.
     * CUVIS: 2 x stride, normal and anomaly. */
    float *spectra;
    float photon, read;    /* MIXING: a and b of the noise variance */
    uint64_t threshold;    /* MIXING: a word below it makes a target; at most 2^32 */
    float *rows, *columns; /* CUVIS: the brightness factors, height and width (each padded) */
    float sigma;           /* CUVIS: noise */
    uint64_t discs;        /* CUVIS */
};

/* Floats of the tables of a resolved spec; the spec has passed the checks. */
size_t ypi_mixing_floats(const struct synth_spec *spec);
size_t ypi_cuvis_floats(const struct synth_spec *spec);

/* Fill the scene's tables, which lie at `tables`. */
void ypi_mixing_prepare(struct synth_scene *scene, float *tables);
void ypi_cuvis_prepare(struct synth_scene *scene, float *tables);

/* A tile whose arguments have been checked. */
void ypi_mixing_tile(const struct synth_scene *scene, uint64_t cube, size_t first_pixel,
                     size_t pixels, float *values, uint8_t *labels, float *fill);
void ypi_cuvis_tile(const struct synth_scene *scene, uint64_t cube, size_t first_pixel,
                    size_t pixels, float *values, uint8_t *labels, float *fill);

#endif
