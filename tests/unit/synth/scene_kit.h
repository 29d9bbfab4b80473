/* Shared by the tests of scenes: specs with everything off, whole cubes with their truth. */
#ifndef YIELDPOINT_TESTS_SCENE_KIT_H
#define YIELDPOINT_TESTS_SCENE_KIT_H

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "synth/scene/scene.h"

struct kit_cube {
    size_t pixels, values;
    float *value, *fill, *abundances;
    uint8_t *label, *valid;
};

static inline struct synth_spec kit_sized(size_t height, size_t width, size_t channels)
{
    struct synth_spec spec = {.seed = 8};
    spec.height = height;
    spec.width = width;
    spec.channels = channels;
    return spec;
}

/* The mixture alone, at the channels' centres. */
static inline struct synth_spec kit_off(struct synth_spec spec)
{
    spec.fwhm_nm = SYNTH_OFF;
    spec.variability = spec.shade = spec.water = spec.path = SYNTH_OFF;
    spec.grain = spec.snr_db = spec.prnu = spec.dsnu = spec.bits = SYNTH_OFF;
    spec.dead_fraction = spec.target_fraction = SYNTH_OFF;
    return spec;
}

static inline struct synth_scene *kit_scene(const struct synth_spec *spec)
{
    struct synth_scene *scene = synth_scene_create(yp_device_cpu(), spec);
    cr_assert_not_null(scene, "%s", scene == NULL ? yp_last_error() : "");
    return scene;
}

/* Everything is 0xff first: a NaN in values, and seen when it is left unwritten. CUVIS has no
 * abundances. */
static inline struct kit_cube kit_new(const struct synth_spec *spec)
{
    struct kit_cube cube = {.pixels = spec->height * spec->width};
    cube.values = cube.pixels * spec->channels;
    size_t shares = cube.pixels * spec->endmembers;
    cube.value = malloc(cube.values * sizeof *cube.value);
    cube.fill = malloc(cube.pixels * sizeof *cube.fill);
    cube.abundances = spec->preset == SYNTH_CUVIS ? NULL : malloc(shares * sizeof(float));
    cube.label = malloc(cube.pixels);
    cube.valid = malloc(cube.pixels);
    memset(cube.value, 0xff, cube.values * sizeof *cube.value);
    memset(cube.fill, 0xff, cube.pixels * sizeof *cube.fill);
    memset(cube.label, 0xff, cube.pixels);
    memset(cube.valid, 0xff, cube.pixels);
    if (cube.abundances != NULL)
        memset(cube.abundances, 0xff, shares * sizeof(float));
    return cube;
}

static inline void kit_free(struct kit_cube cube)
{
    free(cube.value);
    free(cube.fill);
    free(cube.abundances);
    free(cube.label);
    free(cube.valid);
}

static inline struct kit_cube kit_make(const struct synth_scene *scene, uint64_t number)
{
    struct kit_cube cube = kit_new(synth_scene_spec(scene));
    struct synth_truth truth = {cube.label, cube.fill, cube.abundances, cube.valid};
    cr_assert_eq(synth_scene_tile(scene, number, 0, cube.pixels, cube.value, &truth), YP_OK);
    return cube;
}

static inline struct kit_cube kit_cube(const struct synth_spec *spec, uint64_t number)
{
    struct synth_scene *scene = kit_scene(spec);
    struct kit_cube cube = kit_make(scene, number);
    synth_scene_destroy(scene);
    return cube;
}

#endif
