/* Shared by the presets; not for users of scene.h. */
#pragma once

#include "synth/scene/purpose.h"
#include "synth/scene/scene.h"
#include "synth/scene/shapes.h"

/* Coefficients of a pixel: up to 7 endmembers, then its target; on the lattice shade is last. */
#define SYNTH_LANES 8
#define SYNTH_LAST (SYNTH_LANES - 1)

/* Rows of the tables of spectra: the endmembers, zeros, from SYNTH_LAST on the targets. */
#define SYNTH_ROWS (SYNTH_LAST + SYNTH_TARGETS)

/* The largest lattice pitch of grain. */
#define SYNTH_MAX_GRAIN_PX 64

/* Nodes in a lattice row of a field of this pitch. */
static inline uint64_t synth_nodes_wide(size_t width, size_t pitch)
{
    return (width - 1) / pitch + 3;
}

/* Tables are padded to this many floats a row (64 bytes), with zeros. */
#define SYNTH_PAD 16

/* Floats taken by a table row of `count`. */
static inline size_t synth_padded(size_t count)
{
    return (count + SYNTH_PAD - 1) / SYNTH_PAD * SYNTH_PAD;
}

/* Gain - 1 and offset of an element that reads 0: x + (-1) x + 0. No other has this gain: prnu is
 * 0.1 at most, and a normal stays below 6.8. */
#define SYNTH_DEAD_ELEMENT UINT32_C(0xbf800000)

/* The sensor's noise and quantisation, without the gains and offsets of its columns. */
struct synth_sensor {
    float photon, read; /* a and b of the noise variance */
    float magic;        /* adding and then subtracting it rounds to a step */
    float low, high;    /* ends of the range */
};

struct synth_scene {
    struct yp_device *device; /* where tiles are made */
    char *tables;             /* copy of this block on the device; NULL on the CPU */
    size_t bytes;             /* size of this block, tables included */
    struct synth_spec spec;   /* resolved */
    size_t stride;            /* synth_padded(channels) */

    float *wavelengths; /* stride */
    uint8_t *good;      /* stride */
    /* SCENE: SYNTH_ROWS x stride. CUVIS: 2 x stride, normal and anomaly. */
    float *spectra;

    /* SCENE */
    float *levels;         /* SYNTH_ROWS x stride: tau e_k and tau t */
    float *slopes;         /* SYNTH_LANES x stride: tau e_k cos(n pi w), n = 1 + k mod 3 */
    float *path, *tau;     /* stride */
    uint32_t *columns;     /* width x stride: gain - 1 and offset, a bf16 each; NULL: none */
    float *psf;            /* weights of the point spread along an axis, middle first; NULL: off */
    float *knots;          /* of optics.h, tables at shifted wavelengths; NULL: no smile */
    uint64_t target, dead; /* a word below the threshold makes a target, a dead pixel; <= 2^32 */
    struct synth_shapes shapes; /* of targets; all 0: single pixels */
    struct synth_sensor sensor;

    /* CUVIS */
    float sigma;                   /* of the noise */
    float *row_gain, *column_gain; /* brightness factors: (height), (width), each padded */
    uint64_t discs;
};

/* Allocates the tables of a scene one after the other in a block; base NULL: only counts bytes. */
struct synth_tables {
    char *base;
    size_t used;
};
void *ypi_synth_take(struct synth_tables *tables, size_t bytes);

/* Checks target_shape and target_px and fills in their defaults; the other options are resolved. */
enum yp_status ypi_shapes_resolve(struct synth_spec *spec);
/* Fills scene->shapes. */
void ypi_shapes_prepare(struct synth_scene *scene);

/* Allocate the tables of a resolved spec. */
void ypi_scene_lay_out(struct synth_scene *scene, struct synth_tables *tables);
void ypi_cuvis_lay_out(struct synth_scene *scene, struct synth_tables *tables);

/* Fill the tables, which are zero on entry. */
void ypi_scene_prepare(struct synth_scene *scene);
void ypi_cuvis_prepare(struct synth_scene *scene);

/* Values and truth of a tile, or of one channel; the caller has checked the arguments. */
void ypi_scene_tile(const struct synth_scene *scene, uint64_t cube, size_t first_pixel,
                    size_t pixels, float *values, const struct synth_truth *truth);
void ypi_cuvis_tile(const struct synth_scene *scene, uint64_t cube, size_t first_pixel,
                    size_t pixels, float *values, const struct synth_truth *truth);
void ypi_scene_band(const struct synth_scene *scene, uint64_t cube, size_t channel,
                    size_t first_pixel, size_t pixels, float *values);
void ypi_cuvis_band(const struct synth_scene *scene, uint64_t cube, size_t channel,
                    size_t first_pixel, size_t pixels, float *values);
