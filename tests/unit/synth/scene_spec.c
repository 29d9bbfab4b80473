/* Which specs and arguments the scene's functions take, and what they say of those that they
 * refuse. */
#include <criterion/criterion.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "synth/cuda/work.h"
#include "synth/scene/device_stream.h"
#include "synth/scene/scene.h"
#include "synth/tokens/tokens.h"
#include "tests/emulated/device.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define SIZES .height = 4, .width = 4, .channels = 3
#define CUVIS SIZES, .preset = SYNTH_CUVIS
#define ALL_CUBES (UINT64_C(1) << 60)

static void expect_said(const char *wanted)
{
    cr_expect_not_null(strstr(yp_last_error(), wanted), "wanted '%s'\n   got '%s'", wanted,
                       yp_last_error());
}

static void expect_refused(const struct synth_spec *spec, const char *wanted)
{
    struct synth_scene *scene = synth_scene_create(yp_device_cpu(), spec);
    cr_expect_null(scene, "is taken, not: %s", wanted);
    expect_said(wanted);
    cr_expect_eq(synth_scene_bytes(spec), 0, "%s", wanted);
    synth_scene_destroy(scene);
}

/* ---- options by their ranges ---- */

static const struct option {
    const char *name;
    size_t at; /* in the spec */
    double low, high, standard;
    bool may_be_off, cuvis;
} options[] = {
#define OPTION(field, ...) \
    { \
        "synth_spec." #field, offsetof(struct synth_spec, field), __VA_ARGS__ \
    }
    OPTION(first_nm, 100, 20000, 400, false, false),
    OPTION(last_nm, 100, 20000, 2500, false, false),
    OPTION(fwhm_nm, 1e-9, 2100, 1050, true, false),
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

/* With the other end of a pair that must rise out of the way. */
static struct synth_spec with(const struct option *o, double value)
{
    struct synth_spec spec = {SIZES, .preset = o->cuvis ? SYNTH_CUVIS : SYNTH_SCENE};
    if (strstr(o->name, "first_nm") != NULL && value > 2000)
        spec.last_nm = 20000;
    if (strstr(o->name, "last_nm") != NULL)
        spec.first_nm = 100;
    if (strstr(o->name, "fill_high") != NULL)
        spec.fill_low = 1e-9;
    memcpy((char *)&spec + o->at, &value, sizeof value);
    return spec;
}

Test(scene_spec, has_a_range_and_a_default_for_each_option)
{
    for (const struct option *o = options; o < options + COUNT(options); o++) {
        bool first = strstr(o->name, "first_nm") != NULL, last = strstr(o->name, "last_nm") != NULL;
        const double good[] = {last ? 101 : o->low, first ? 19999 : o->high, o->standard, 0,
                               SYNTH_OFF};
        const double bad[] = {
            nextafter(o->low, -1),           nextafter(o->high, 1e9), NAN, INFINITY, -INFINITY, -2,
            o->may_be_off ? -0.5 : SYNTH_OFF};
        for (size_t k = 0; k < (o->may_be_off ? 5 : 4); k++) {
            struct synth_spec spec = with(o, good[k]);
            struct synth_scene *scene = synth_scene_create(yp_device_cpu(), &spec);
            cr_assert_not_null(scene, "%s %g: %s", o->name, good[k], yp_last_error());
            double is, want = good[k] == 0 ? o->standard : fmax(good[k], 0);
            memcpy(&is, (const char *)synth_scene_spec(scene) + o->at, sizeof is);
            cr_expect_eq(is, want, "%s %g: is %g", o->name, good[k], is);
            synth_scene_destroy(scene);
        }
        for (size_t k = 0; k < COUNT(bad); k++) {
            struct synth_spec spec = with(o, bad[k]);
            expect_refused(&spec, o->name);
        }
        struct synth_spec other = {SIZES, .preset = o->cuvis ? SYNTH_SCENE : SYNTH_CUVIS};
        memcpy((char *)&other + o->at, &o->high, sizeof o->high);
        expect_refused(&other, o->name);
        expect_said(o->cuvis ? "it belongs to SYNTH_CUVIS" : "it belongs to SYNTH_SCENE");
    }
}

Test(scene_spec, has_defaults_that_are_whole_numbers)
{
    const struct synth_spec spec = {SIZES};
    struct synth_scene *scene = synth_scene_create(yp_device_cpu(), &spec);
    const struct synth_spec *full = synth_scene_spec(scene);
    cr_expect(full->endmembers == 6 && full->correlation_px == 16 && full->grain_px == 1 &&
              full->target_px == 1);
    cr_expect_not_null(synth_scene_spectrum(scene, 6 + SYNTH_TARGETS - 1));
    cr_expect_null(synth_scene_spectrum(scene, 6 + SYNTH_TARGETS));
    cr_expect_null(synth_scene_light(scene, SIZE_MAX));
    synth_scene_destroy(scene);
    synth_scene_destroy(NULL);
}

/* ---- what does not fit ---- */

Test(scene_spec, refuses_what_does_not_fit_together)
{
    static const struct {
        struct synth_spec spec;
        const char *wanted;
    } bad[] = {
        {{.width = 4, .channels = 3}, "synth_spec.height is 0: must be 1 to 1073741824"},
        {{.height = 4, .channels = 3}, "synth_spec.width is 0: must be 1 to"},
        {{.preset = SYNTH_CUVIS, .height = 4, .width = 4},
         "synth_spec.channels is 0: must be 1 to"},
        {{.height = 4, .width = 4, .channels = SIZE_MAX},
         "synth_spec.channels is 18446744073709551615: must be"},
        {{.height = 1 << 30, .width = 1 << 30, .channels = 1 << 30},
         "height x width x channels is 1073741824 x 1073741824 x 1073741824: a cube may have at "
         "most 4611686018427387903"},
        {{SIZES, .preset = (enum synth_preset)2}, "preset is 2: must be SYNTH_SCENE (0) or SYNTH_"},
        {{SIZES, .level = YPI_LEVELS}, "synth_spec.level is 4: this build or processor"},
        {{SIZES, .endmembers = 1}, "synth_spec.endmembers is 1: must be 2 to 7"},
        {{SIZES, .endmembers = 8}, "synth_spec.endmembers is 8: must be 2 to 7"},
        {{SIZES, .correlation_px = 65537}, "correlation_px is 65537: must be 1 to 65536"},
        {{SIZES, .grain_px = 65}, "synth_spec.grain_px is 65: must be 1 to 64"},
        {{SIZES, .bits = 12.5}, "synth_spec.bits is 12.5: must be a whole number"},
        {{SIZES, .first_nm = 700, .last_nm = 700}, "first_nm is 700 and last_nm is 700: the first"},
        {{SIZES, .last_nm = 399}, "first_nm is 400 and last_nm is 399: the first must be the sm"},
        {{SIZES, .fill_low = 0.6, .fill_high = 0.5}, "fill_low is 0.6 and fill_high is 0.5"},
        {{SIZES, .target_shape = (enum synth_shape)4}, "target_shape is 4: must be"},
        {{SIZES, .target_px = 3}, "synth_spec.target_px is 3: must be 1 where"},
        {{SIZES, .target_shape = SYNTH_MIXED, .target_px = 0.99},
         "target_px is 0.99: must be 1 to"},
        {{SIZES, .target_shape = SYNTH_DISC, .target_px = 64.01}, "target_px is 64.01: must be 1"},
        {{SIZES, .target_shape = SYNTH_DISC, .target_px = NAN}, "synth_spec.target_px is nan"},
        /* pi/4 / 9 of the area is the most */
        {{SIZES, .target_shape = SYNTH_DISC, .target_px = 1, .target_fraction = 0.0873},
         "synth_spec.target_fraction is 0.0873: must be at most"},
        {{CUVIS, .endmembers = 6}, "endmembers is 6: it belongs to SYNTH_SCENE and must stay 0"},
        {{CUVIS, .correlation_px = 16}, "correlation_px is 16: it belongs to SYNTH_SCENE"},
        {{CUVIS, .grain_px = 2}, "grain_px is 2: it belongs to SYNTH_SCENE"},
        {{CUVIS, .target_shape = SYNTH_DISC}, "target_shape is 1: it belongs to SYNTH_SCENE"},
        {{CUVIS, .target_px = 3}, "target_px is 3: it belongs to SYNTH_SCENE"},
        {{CUVIS, .blank_bands = true}, "blank_bands is 1: it belongs to SYNTH_SCENE"},
    };
    for (size_t i = 0; i < COUNT(bad); i++)
        expect_refused(&bad[i].spec, bad[i].wanted);
    expect_refused(NULL, "synth_spec is NULL");
    cr_expect_null(synth_scene_create(NULL, &(struct synth_spec){SIZES}));
    expect_said("device is NULL");
    static const struct synth_spec good[] = {
        {SIZES, .fill_low = 0.6, .fill_high = 0.6},
        {SIZES, .target_shape = SYNTH_DISC, .target_px = 1, .target_fraction = 0.0872},
        {.height = 4, .width = 4, .channels = 1, .fwhm_nm = 100}};
    for (size_t i = 0; i < COUNT(good); i++)
        cr_expect_neq(synth_scene_bytes(&good[i]), 0, "%zu: %s", i, yp_last_error());
}

Test(scene_spec, refuses_tiles_and_bands_outside_the_cube)
{
    const struct synth_spec spec = {SIZES}, without = {CUVIS};
    struct synth_scene *scene = synth_scene_create(yp_device_cpu(), &spec);
    struct synth_scene *cuvis = synth_scene_create(yp_device_cpu(), &without);
    float value[3] = {-7}, share;
    const struct {
        const struct synth_scene *scene;
        uint64_t cube;
        size_t cubes, first, pixels;
        float *values;
        const char *wanted; /* NULL: YP_OK */
    } calls[] = {
        {scene, ALL_CUBES, 1, 0, 1, value, "cube is 1152921504606846976: must be below 2^60"},
        {scene, ALL_CUBES - 1, 2, 0, 1, value, "and cubes 2: together at most 2^60"},
        {scene, 0, ALL_CUBES, 0, 16, value, "their values must fit a size_t in bytes"},
        {scene, 0, 1, 16, 1, value, "first_pixel is 16 and pixels 1: together at most the 16 pix"},
        {scene, 0, 1, SIZE_MAX, 2, value, "first_pixel is 18446744073709551615 and pixels 2"},
        {scene, 0, 1, 1, SIZE_MAX, value, "first_pixel is 1 and pixels 18446744073709551615"},
        {scene, 0, 1, 0, 1, NULL, "values is NULL"},
        {NULL, 0, 1, 0, 1, value, "scene is NULL"},
        {scene, 0, 1, 16, 0, value, NULL},
        {scene, 0, 0, 0, 1, value, NULL},
    };
    for (size_t i = 0; i < COUNT(calls); i++) {
        enum yp_status wanted = calls[i].wanted == NULL ? YP_OK : YP_INVALID;
        cr_expect_eq(synth_scene_cubes(calls[i].scene, calls[i].cube, calls[i].cubes,
                                       calls[i].first, calls[i].pixels, calls[i].values, NULL),
                     wanted, "%zu", i);
        if (wanted != YP_OK)
            expect_said(calls[i].wanted);
        if (calls[i].cubes == 1 && wanted != YP_OK)
            cr_expect_eq(synth_scene_band(calls[i].scene, calls[i].cube, 0, calls[i].first,
                                          calls[i].pixels, calls[i].values),
                         YP_INVALID, "band %zu", i);
    }
    cr_expect_eq(synth_scene_band(scene, 0, 3, 0, 1, value), YP_INVALID);
    expect_said("channel is 3: must be 0 to 2");
    cr_expect_eq(
        synth_scene_tile(cuvis, 0, 0, 1, value, &(struct synth_truth){.abundances = &share}),
        YP_INVALID);
    expect_said("truth->abundances is given: SYNTH_CUVIS has no endmembers");
    cr_expect_eq(value[0], -7, "written");
    cr_expect_not(synth_scene_dead_element(scene, 4, 0));
    cr_expect_not(synth_scene_dead_element(scene, 0, 3));
    synth_scene_destroy(scene);
    synth_scene_destroy(cuvis);
}

Test(scene_spec, leaves_nothing_where_a_copy_to_the_device_fails)
{
    const struct synth_spec spec = {SIZES};
    struct yp_memory before, host, device;
    yp_device_memory(yp_device_cpu(), &before);
    emulated.copies_fail = true;
    cr_expect_null(synth_scene_create(emulated_device(), &spec));
    yp_device_memory(yp_device_cpu(), &host);
    yp_device_memory(emulated_device(), &device);
    cr_expect_eq(host.allocated + device.allocated, before.allocated, "something leaked");
}

/* ---- words, tokens ---- */

Test(scene_spec, refuses_words_to_nowhere)
{
    const struct ypi_stream stream = {1, 2};
    uint32_t word = 7;
    cr_expect_eq(synth_device_words(NULL, stream, 0, 1, &word), YP_INVALID);
    cr_expect_eq(synth_device_words(yp_device_cpu(), stream, 0, 1, NULL), YP_INVALID);
    cr_expect_eq(synth_device_normals(yp_device_cpu(), stream, 0, 1, NULL), YP_INVALID);
    cr_expect_eq(synth_device_words_curand(yp_device_cpu(), 1, 0, 1, NULL), YP_INVALID);
    expect_said("out is NULL");
    cr_expect_eq(synth_device_words_by_curand(yp_device_cpu(), stream, false, 0, 1, &word),
                 YP_UNSUPPORTED);
    cr_expect_eq(word, 7);
}

Test(scene_spec, chains_have_a_known_least_loss)
{
    const struct synth_tokens one = {.vocabulary = 16, .order = 1};
    const struct synth_tokens two = {.vocabulary = 16, .order = 2};
    cr_expect_float_eq(synth_tokens_loss(&one, 10), 1.75 * log(2), 1e-15);
    cr_expect_float_eq(synth_tokens_loss(&two, 4), (log(16) + 3 * 1.75 * log(2)) / 4, 1e-15);
}

/* ---- division by what is known before ---- */

Test(scene_spec, divides_by_multiplying)
{
    static const uint32_t numbers[] = {1,     2,     3,          5,          7,         16,
                                       24,    25,    63,         255,        65535,     65536,
                                       65537, 99991, 0x3fffffff, 0x40000000, 0x7fffffff};
    for (size_t i = 0; i < COUNT(numbers); i++) {
        struct synth_divisor by = synth_divisor(numbers[i]);
        for (size_t k = 0; k < COUNT(numbers); k++)
            for (uint32_t off = 0; off < 5; off++) {
                uint32_t n = UINT32_MAX / numbers[k] * numbers[k] - 2 + off, m = numbers[k] - off;
                cr_expect_eq(synth_divided(n, by), n / numbers[i], "%u / %u", n, numbers[i]);
                cr_expect_eq(synth_divided(m, by), m / numbers[i], "%u / %u", m, numbers[i]);
            }
    }
}
