/* Optics between the scene and the sensor of a mixing scene: point spread, smile and keystone, each
 * off by default. scene.h says what they are. */
#pragma once

#include "synth/scene/internal.h"

/* Shifts of the channels whose tables are kept: a smile is interpolated between two of them. */
#define SYNTH_KNOTS 17
/* Rows of a knot's tables: levels, slopes, path. */
#define SYNTH_KNOT_ROWS (SYNTH_ROWS + SYNTH_LANES + 1)

/* Pixels of an image row that are held at once. */
#define SYNTH_SPAN 48

/* What pixels of the ground send: coefficients of the rows of the tables. */
enum {
    SYNTH_LEVELS = 0,                           /* S (1 - f) a_k, with psi's level */
    SYNTH_SLOPES = SYNTH_LEVELS + SYNTH_LAST,   /* the same with psi's slope */
    SYNTH_FILLS = SYNTH_SLOPES + SYNTH_LAST,    /* S f */
    SYNTH_SHARES = SYNTH_FILLS + SYNTH_TARGETS, /* S (1 - f) a_k */
    SYNTH_LIGHTS = SYNTH_SHARES + SYNTH_LAST,
};
struct synth_ground_light {
    float of[SYNTH_LIGHTS][SYNTH_SPAN];
};

static inline bool ypi_optics_is_on(const struct synth_spec *spec)
{
    return spec->psf_px > 0 || spec->smile_nm > 0 || spec->keystone_px > 0;
}

/* Pixels on either side that a pixel gets light from. */
size_t ypi_optics_reach(const struct synth_spec *spec);

/* YP_UNSUPPORTED, with the option's name, when one is on that accelerators do not make. */
enum yp_status ypi_optics_check_device(const struct synth_spec *spec);

/* Allocates tables for what is on; fills the weights of the point spread. The knots are filled with
 * the tables of spectra. */
void ypi_optics_lay_out(struct synth_scene *scene, struct synth_tables *tables);
void ypi_optics_prepare(struct synth_scene *scene);

/* Values and truth of a tile, or of one channel, where optics are on. */
void ypi_optics_tile(const struct synth_scene *scene, uint64_t cube, size_t first_pixel,
                     size_t pixels, float *values, const struct synth_truth *truth);
void ypi_optics_band(const struct synth_scene *scene, uint64_t cube, size_t channel,
                     size_t first_pixel, size_t pixels, float *values);

/* Of mixing.c, up to SYNTH_SPAN pixels, all of one row: what they send, and their truth as if
 * optics were off, written from pixel `at` of the arrays on. */
void ypi_mixing_light(const struct synth_scene *scene, uint64_t cube, size_t pixel, size_t pixels,
                      struct synth_ground_light *light);
void ypi_mixing_truth(const struct synth_scene *scene, uint64_t cube, size_t pixel, size_t pixels,
                      size_t at, const struct synth_truth *truth);
/* The sensor's reading of one pixel whose light is scene->path and nothing else: scene->columns are
 * its own. values: standard normals in, readings out. */
void ypi_mixing_read(const struct synth_scene *scene, float *values);
