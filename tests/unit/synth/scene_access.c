/* A scene does not depend on levels, tiles, threads, bands and the truth that is requested, with
 * each option on and off; and which specs are refused. */
#include <criterion/criterion.h>
#include <math.h>
#include <omp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/synth/scene_kit.h"

/* ---- one option at a time ---- */

static const struct option {
    const char *name;
    size_t at; /* in the spec */
    double low, high, standard;
    bool may_be_off, cuvis;
} options[] = {
#define OPTION(field, ...) \
    { \
#field, offsetof(struct synth_spec, field), __VA_ARGS__ \
    }
    OPTION(first_nm, 100, 20000, 400, false, false),
    OPTION(last_nm, 100, 20000, 2500, false, false),
    OPTION(sharpness, 1e-9, 20, 5, false, false),
    OPTION(variability, 1e-9, 0.5, 0.25, true, false),
    OPTION(shade, 1e-9, 0.5, 0.2, true, false),
    OPTION(grain, 1e-9, 0.5, 0.1, true, false),
    OPTION(water, 1e-9, 1, 0.97, true, false),
    OPTION(path, 1e-9, 1, 0.1, true, false),
    OPTION(snr_db, 1, 120, 40, true, false),
    OPTION(prnu, 1e-9, 0.1, 0.005, true, false),
    OPTION(dsnu, 1e-9, 0.1, 0.005, true, false),
    OPTION(bits, 8, 16, 16, true, false),
    OPTION(dead_fraction, 1e-9, 1, 0.0005, true, false),
    OPTION(dead_elements, 1e-9, 1, 0, true, false),
    OPTION(psf_px, 1e-9, 6, 0, true, false),
    OPTION(smile_nm, 1e-9, 20, 0, true, false),
    OPTION(keystone_px, 1e-9, 4, 0, true, false),
    OPTION(target_fraction, 1e-9, 1, 0.001, true, false),
    OPTION(fill_low, 1e-9, 1, 0.05, false, false),
    OPTION(fill_high, 1e-9, 1, 1, false, false),
    OPTION(anomaly_ratio, 1e-9, 1, 0.05, true, true),
    OPTION(anomaly_strength, 1e-9, 1000, 3, false, true),
    OPTION(noise_std, 1e-9, 1000, 0.1, true, true),
#undef OPTION
};

enum { OPTIONS = sizeof options / sizeof *options };

static void set(struct synth_spec *spec, const struct option *option, double value)
{
    memcpy((char *)spec + option->at, &value, sizeof value);
}

/* A value that has an effect. */
static double on(const struct option *option)
{
    return option->standard > 0 ? option->standard : option->high / 4;
}

/* Remainders in every loop; frequent targets and dead pixels, so that the cube has some. */
static struct synth_spec odd(enum synth_preset preset)
{
    struct synth_spec spec = kit_sized(29, 71, 37);
    spec.preset = preset;
    spec.seed = 0x0123456789abcdef;
    spec.target_fraction = preset == SYNTH_SCENE ? 0.05 : 0;
    spec.dead_fraction = preset == SYNTH_SCENE ? 0.02 : 0;
    return spec;
}

/* Grain that is a field: a cell of the lattice two pixels wide, one that fits neither chunks nor
 * rows, one that is larger than both. Targets of several pixels: cells of 3 pixels, as small as
 * they come, and some in a chunk, one larger than the cube. */
static const struct {
    size_t grain_px;
    enum synth_shape shape;
    double px;
} grounds[] = {{2, SYNTH_PIXEL, 0},   {7, SYNTH_PIXEL, 0},       {64, SYNTH_PIXEL, 0},
               {0, SYNTH_DISC, 1},    {0, SYNTH_RECTANGLE, 1},   {0, SYNTH_MIXED, 2.7},
               {0, SYNTH_DISC, 7.25}, {0, SYNTH_RECTANGLE, 11},  {5, SYNTH_MIXED, 24},
               {0, SYNTH_DISC, 64},   {0, SYNTH_RECTANGLE, 63.9}};

/* Both presets as they are, everything off, blank bands; each option off alone and on alone; what
 * the ground has by option. */
enum {
    GROUNDS = sizeof grounds / sizeof *grounds,
    FIRST_GROUND = 4 + 2 * OPTIONS,
    VARIANTS = FIRST_GROUND + GROUNDS,
};

static bool variant(int number, struct synth_spec *spec)
{
    if (number >= FIRST_GROUND) {
        *spec = odd(SYNTH_SCENE);
        spec->grain_px = grounds[number - FIRST_GROUND].grain_px;
        spec->target_shape = grounds[number - FIRST_GROUND].shape;
        spec->target_px = grounds[number - FIRST_GROUND].px;
        if (spec->target_px == 1)
            spec->target_fraction = 0.015; /* cells hold no more */
        return true;
    }
    const struct option *option = &options[number >= 4 ? (number - 4) / 2 : 0];
    *spec = odd(number == 1 || (number >= 4 && option->cuvis) ? SYNTH_CUVIS : SYNTH_SCENE);
    if (number < 4) {
        if (number == 2)
            *spec = kit_off(*spec);
        spec->blank_bands = number == 3;
        return true;
    }
    if (!option->may_be_off)
        return false;
    if (number % 2 == 1 && !option->cuvis)
        *spec = kit_off(*spec);
    set(spec, option, number % 2 == 1 ? on(option) : SYNTH_OFF);
    return true;
}

static void check_same(struct kit_cube a, struct kit_cube b, size_t endmembers, const char *what,
                       int number)
{
    cr_expect_arr_eq(a.value, b.value, a.values * sizeof(float), "%s: values, %d", what, number);
    cr_expect_arr_eq(a.fill, b.fill, a.pixels * sizeof(float), "%s: fill, %d", what, number);
    cr_expect_arr_eq(a.label, b.label, a.pixels, "%s: labels, %d", what, number);
    cr_expect_arr_eq(a.valid, b.valid, a.pixels, "%s: valid, %d", what, number);
    if (a.abundances != NULL)
        cr_expect_arr_eq(a.abundances, b.abundances, a.pixels * endmembers * sizeof(float),
                         "%s: abundances, %d", what, number);
}

Test(scene_access, is_the_same_at_every_level_with_each_option_alone, .timeout = 120)
{
    int levels = 0;
    for (int i = 0; i < VARIANTS; i++) {
        struct synth_spec spec;
        if (!variant(i, &spec))
            continue;
        struct kit_cube first = {0};
        for (int level = YPI_LEVEL_BASELINE; level < YPI_LEVELS; level++) {
            spec.level = (enum ypi_level)level;
            if (!ypi_level_runs(spec.level))
                continue;
            struct synth_scene *scene = kit_scene(&spec);
            struct kit_cube cube = kit_make(scene, 3);
            levels++;
            if (first.value == NULL) {
                first = cube;
            } else {
                check_same(cube, first, synth_scene_spec(scene)->endmembers, "level", i);
                kit_free(cube);
            }
            synth_scene_destroy(scene);
        }
        kit_free(first);
    }
    cr_log_info("%d cubes", levels);
}

/* Every option has an effect: the cube differs with and without it. */
Test(scene_access, changes_with_each_option)
{
    for (int i = 0; i < OPTIONS; i++) {
        struct synth_spec with = odd(options[i].cuvis ? SYNTH_CUVIS : SYNTH_SCENE), other = with;
        if (strcmp(options[i].name, "bits") == 0)
            set(&other, &options[i], 8);
        else
            set(&other, &options[i],
                options[i].standard > 0 ? options[i].standard / 2 : on(&options[i]));
        struct kit_cube a = kit_cube(&with, 3), b = kit_cube(&other, 3);
        cr_expect_arr_neq(a.value, b.value, a.values * sizeof(float), "%s", options[i].name);
        kit_free(a);
        kit_free(b);
    }
}

static void check_tiles(const struct synth_spec *spec, int number)
{
    static const size_t tiles[] = {1, 64, 97};
    struct synth_scene *scene = kit_scene(spec);
    const struct synth_spec *full = synth_scene_spec(scene);
    struct kit_cube whole = kit_make(scene, 3);
    for (int t = 0; t < 3; t++) {
        struct kit_cube cut = kit_new(full);
        size_t tile = tiles[t], count = (cut.pixels + tile - 1) / tile;
#pragma omp parallel for num_threads(2) schedule(dynamic)
        for (size_t i = 0; i < count; i++) {
            size_t at = (count - 1 - i) * tile;
            size_t pixels = tile < cut.pixels - at ? tile : cut.pixels - at;
            struct synth_truth truth = {cut.label + at, cut.fill + at, NULL, cut.valid + at};
            if (cut.abundances != NULL)
                truth.abundances = cut.abundances + at * full->endmembers;
            synth_scene_tile(scene, 3, at, pixels, cut.value + at * full->channels, &truth);
        }
        check_same(cut, whole, full->endmembers, "tiles", 1000 * number + (int)tile);
        kit_free(cut);
    }
    kit_free(whole);
    synth_scene_destroy(scene);
}

Test(scene_access, is_the_same_in_any_tiles_with_each_option_alone, .timeout = 120)
{
    for (int i = 0; i < VARIANTS; i++) {
        struct synth_spec spec;
        if (variant(i, &spec))
            check_tiles(&spec, i);
    }
}

Test(scene_access, gives_any_band_as_the_tile_has_it, .timeout = 120)
{
    for (int i = 0; i < VARIANTS; i++) {
        struct synth_spec spec;
        if (!variant(i, &spec))
            continue;
        struct synth_scene *scene = kit_scene(&spec);
        struct kit_cube cube = kit_make(scene, 3);
        float *band = malloc((cube.pixels + 1) * sizeof *band);
        for (size_t c = 0; c < spec.channels; c++) {
            size_t first = c * 41 % 2000, pixels = cube.pixels - first - c;
            band[pixels] = -7;
            cr_assert_eq(synth_scene_band(scene, 3, c, first, pixels, band), YP_OK);
            for (size_t p = 0; p < pixels; p++)
                cr_assert(memcmp(&band[p], &cube.value[(first + p) * spec.channels + c],
                                 sizeof *band) == 0,
                          "variant %d channel %zu pixel %zu: %.9g", i, c, first + p,
                          (double)band[p]);
            cr_assert_eq(band[pixels], -7, "wrote past the end");
        }
        free(band);
        kit_free(cube);
        synth_scene_destroy(scene);
    }
}

Test(scene_access, refuses_bands_outside_the_cube)
{
    struct synth_spec spec = odd(SYNTH_SCENE);
    struct synth_scene *scene = kit_scene(&spec);
    float value = -7;
    cr_expect_eq(synth_scene_band(scene, 0, 37, 0, 1, &value), YP_INVALID);
    cr_expect_not_null(strstr(yp_last_error(), "channel is 37: must be 0 to 36"));
    cr_expect_eq(synth_scene_band(scene, 0, 0, 29 * 71, 1, &value), YP_INVALID);
    cr_expect_eq(synth_scene_band(scene, 0, 0, 1, SIZE_MAX, &value), YP_INVALID);
    cr_expect_eq(synth_scene_band(scene, UINT64_C(1) << 60, 0, 0, 1, &value), YP_INVALID);
    cr_expect_eq(synth_scene_band(scene, 0, 0, 0, 1, NULL), YP_INVALID);
    cr_expect_eq(synth_scene_band(NULL, 0, 0, 0, 1, &value), YP_INVALID);
    cr_expect_eq(synth_scene_band(scene, 0, 36, 29 * 71, 0, &value), YP_OK);
    cr_expect_eq(value, -7, "written");
    synth_scene_destroy(scene);
}

/* Any of labels, fill, abundances and valid, wanted or not: the rest stays what it is. */
Test(scene_access, gives_the_truth_that_is_wanted)
{
    for (int preset = SYNTH_SCENE; preset <= SYNTH_CUVIS; preset++) {
        struct synth_spec spec = odd((enum synth_preset)preset);
        struct synth_scene *scene = kit_scene(&spec);
        const struct synth_spec *full = synth_scene_spec(scene);
        struct kit_cube all = kit_make(scene, 3);
        for (int wanted = 0; wanted < 16; wanted++) {
            struct kit_cube some = kit_new(full), untouched = kit_new(full);
            struct synth_truth truth = {.labels = wanted & 1 ? some.label : NULL,
                                        .fill = wanted & 2 ? some.fill : NULL,
                                        .abundances = wanted & 4 ? some.abundances : NULL,
                                        .valid = wanted & 8 ? some.valid : NULL};
            cr_assert_eq(
                synth_scene_tile(scene, 3, 0, some.pixels, some.value, wanted == 0 ? NULL : &truth),
                YP_OK);
            size_t n = some.pixels;
            cr_expect_arr_eq(some.value, all.value, all.values * sizeof(float));
            cr_expect_arr_eq(some.label, (wanted & 1 ? all : untouched).label, n);
            cr_expect_arr_eq(some.fill, (wanted & 2 ? all : untouched).fill, n * sizeof(float));
            cr_expect_arr_eq(some.valid, (wanted & 8 ? all : untouched).valid, n);
            if (all.abundances != NULL)
                cr_expect_arr_eq(some.abundances, (wanted & 4 ? all : untouched).abundances,
                                 n * full->endmembers * sizeof(float));
            kit_free(some);
            kit_free(untouched);
        }
        kit_free(all);
        synth_scene_destroy(scene);
    }
}

Test(scene_access, has_no_abundances_of_cuvis)
{
    struct synth_spec spec = odd(SYNTH_CUVIS);
    struct synth_scene *scene = kit_scene(&spec);
    float value[37] = {-7}, share;
    struct synth_truth truth = {.abundances = &share};
    cr_expect_eq(synth_scene_tile(scene, 0, 0, 1, value, &truth), YP_INVALID);
    cr_expect_not_null(strstr(yp_last_error(), "abundances"));
    cr_expect_eq(value[0], -7);
    synth_scene_destroy(scene);
}

/* ---- accepted and refused values ---- */

static void check_refused(const struct synth_spec *spec, const char *name, const char *why)
{
    cr_expect_null(synth_scene_create(yp_device_cpu(), spec), "%s, %s", name, why);
    cr_expect_not_null(strstr(yp_last_error(), name), "%s, %s: %s", name, why, yp_last_error());
    cr_expect_eq(synth_scene_bytes(spec), 0);
}

/* Moves the other end of a pair that must rise, so that `value` is allowed. */
static void move_partner(struct synth_spec *spec, const struct option *option, double value)
{
    if (strcmp(option->name, "first_nm") == 0)
        spec->last_nm = fmin(20000, fmax(value * 2, 2500));
    if (strcmp(option->name, "last_nm") == 0)
        spec->first_nm = 100;
    if (strcmp(option->name, "fill_low") == 0)
        spec->fill_high = 1;
    if (strcmp(option->name, "fill_high") == 0)
        spec->fill_low = 1e-9;
}

Test(scene_access, takes_and_refuses_each_option_by_its_range)
{
    for (int i = 0; i < OPTIONS; i++) {
        const struct option *o = &options[i];
        bool rising = strstr(o->name, "_nm") != NULL; /* at the ends the other has no value left */
        const double good[] = {o->low, o->high, o->standard, 0};
        const double bad[] = {
            nextafter(o->low, -1),           nextafter(o->high, 1e9), NAN, INFINITY, -INFINITY, -2,
            o->may_be_off ? -0.5 : SYNTH_OFF};
        for (int k = 0; k < 4; k++) {
            struct synth_spec spec = odd(o->cuvis ? SYNTH_CUVIS : SYNTH_SCENE);
            if (rising && k < 2 && (k == 0) == (strcmp(o->name, "last_nm") == 0))
                continue;
            move_partner(&spec, o, good[k]);
            set(&spec, o, good[k]);
            struct synth_scene *scene = synth_scene_create(yp_device_cpu(), &spec);
            cr_expect_not_null(scene, "%s %g: %s", o->name, good[k], yp_last_error());
            synth_scene_destroy(scene);
        }
        for (int k = 0; k < 7; k++) {
            struct synth_spec spec = odd(o->cuvis ? SYNTH_CUVIS : SYNTH_SCENE);
            set(&spec, o, bad[k]);
            check_refused(&spec, o->name, "out of its range");
        }
        struct synth_spec other = odd(o->cuvis ? SYNTH_SCENE : SYNTH_CUVIS);
        set(&other, o, o->standard > 0 ? o->standard : o->high);
        check_refused(&other, o->name, "of the other preset");
    }
}

Test(scene_access, takes_white_grain_by_either_name)
{
    struct synth_spec spec = odd(SYNTH_SCENE), white = spec;
    white.grain_px = 1;
    struct kit_cube a = kit_cube(&spec, 3), b = kit_cube(&white, 3);
    cr_expect_arr_eq(a.value, b.value, a.values * sizeof(float));
    kit_free(a);
    kit_free(b);
}

Test(scene_access, has_the_defaults_it_names)
{
    for (int i = 0; i < OPTIONS; i++) {
        const struct option *o = &options[i];
        struct synth_spec spec = kit_sized(4, 4, 3);
        spec.preset = o->cuvis ? SYNTH_CUVIS : SYNTH_SCENE;
        for (int off = 0; off <= (int)o->may_be_off; off++) {
            set(&spec, o, off ? SYNTH_OFF : 0);
            struct synth_scene *scene = kit_scene(&spec);
            double is;
            memcpy(&is, (const char *)synth_scene_spec(scene) + o->at, sizeof is);
            cr_expect_eq(is, off ? 0 : o->standard, "%s is %g", o->name, is);
            cr_expect(o->cuvis || (synth_scene_spec(scene)->endmembers == 6 &&
                                   synth_scene_spec(scene)->correlation_px == 16 &&
                                   synth_scene_spec(scene)->grain_px == 1 &&
                                   synth_scene_spec(scene)->target_px == 1));
            synth_scene_destroy(scene);
        }
    }
}

Test(scene_access, refuses_what_does_not_fit_together)
{
    struct synth_spec spec = odd(SYNTH_SCENE);
    spec.first_nm = spec.last_nm = 700;
    check_refused(&spec, "first_nm", "not below last_nm");
    spec.first_nm = 701;
    check_refused(&spec, "first_nm", "above last_nm");
    spec = odd(SYNTH_SCENE);
    spec.last_nm = 399; /* below the default of the first */
    check_refused(&spec, "last_nm", "below first_nm");
    spec = odd(SYNTH_SCENE);
    spec.fill_low = 0.6;
    spec.fill_high = 0.5;
    check_refused(&spec, "fill_low", "above fill_high");
    spec.fill_high = 0.6;
    synth_scene_destroy(kit_scene(&spec));
    spec = odd(SYNTH_SCENE);
    spec.bits = 12.5;
    check_refused(&spec, "bits", "not whole");
    spec = odd(SYNTH_CUVIS);
    spec.blank_bands = true;
    check_refused(&spec, "blank_bands", "of the other preset");
    spec = odd(SYNTH_SCENE);
    spec.endmembers = 1;
    check_refused(&spec, "endmembers", "too few");
    spec.endmembers = 8;
    check_refused(&spec, "endmembers", "too many");
    spec = odd(SYNTH_SCENE);
    spec.correlation_px = 65537;
    check_refused(&spec, "correlation_px", "too long");
    spec = odd(SYNTH_SCENE);
    spec.grain_px = 65;
    check_refused(&spec, "grain_px", "too long");
    spec = odd(SYNTH_CUVIS);
    spec.grain_px = 2;
    check_refused(&spec, "grain_px", "of the other preset");
    spec = odd(SYNTH_CUVIS);
    spec.target_shape = SYNTH_DISC;
    check_refused(&spec, "target_shape", "of the other preset");
    spec = odd(SYNTH_CUVIS);
    spec.target_px = 3;
    check_refused(&spec, "target_px", "of the other preset");
    spec = odd(SYNTH_SCENE);
    spec.target_shape = (enum synth_shape)4;
    check_refused(&spec, "target_shape", "unknown");
    spec = odd(SYNTH_SCENE);
    spec.target_px = 3;
    check_refused(&spec, "target_px", "of single pixels");
    static const double sizes[] = {0.99, 64.01, NAN, INFINITY, -3};
    for (int i = 0; i < 5; i++) {
        spec.target_shape = SYNTH_MIXED;
        spec.target_px = sizes[i];
        check_refused(&spec, "target_px", "out of its range");
    }
    spec.target_shape = SYNTH_DISC; /* pi/4 / 9 of the area is the most */
    spec.target_px = 1;
    spec.target_fraction = 0.0873;
    check_refused(&spec, "target_fraction", "more than the cells hold");
    spec.target_fraction = 0.0872;
    synth_scene_destroy(kit_scene(&spec));
}
