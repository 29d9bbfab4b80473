#include "base/random/portable.h"
#include "synth/scene/accelerated.h"
#include "synth/scene/internal.h"
#include "synth/scene/optics.h"
#include "synth/scene/passband.h"

#include <inttypes.h>

#define MAX_SIDE ((size_t)1 << 30)
#define HEADER ((sizeof(struct synth_scene) + 63) / 64 * 64)

_Static_assert(HEADER <= 512, "scene.h promises a header of up to 512 bytes");

static enum yp_status check_size(const char *field, size_t value, size_t low, size_t high)
{
    if (value >= low && value <= high)
        return YP_OK;
    return yp_set_error(YP_INVALID, "synth_spec.%s is %zu: must be %zu to %zu", field, value, low,
                        high);
}

/* A numeric option: 0 takes the default, SYNTH_OFF (where allowed) becomes 0. */
struct option {
    const char *field;
    size_t offset;
    double standard, low, high;
    bool may_be_off;
};

#define LEAST 1e-9
#define OPTION(field, ...) \
    { \
#field, offsetof(struct synth_spec, field), __VA_ARGS__ \
    }

static const struct option scene_options[] = {
    OPTION(first_nm, 400, 100, 20000, false),
    OPTION(last_nm, 2500, 100, 20000, false),
    OPTION(sharpness, 5, LEAST, 20, false),
    OPTION(variability, 0.25, LEAST, 0.5, true),
    OPTION(shade, 0.2, LEAST, 0.5, true),
    OPTION(grain, 0.1, LEAST, 0.5, true),
    OPTION(water, 0.97, LEAST, 1, true),
    OPTION(path, 0.1, LEAST, 1, true),
    OPTION(snr_db, 40, 1, 120, true),
    OPTION(prnu, 0.005, LEAST, 0.1, true),
    OPTION(dsnu, 0.005, LEAST, 0.1, true),
    OPTION(bits, 16, 8, 16, true),
    OPTION(dead_fraction, 0.0005, LEAST, 1, true),
    OPTION(dead_elements, 0, LEAST, 1, true),
    OPTION(psf_px, 0, LEAST, 6, true),
    OPTION(smile_nm, 0, LEAST, 20, true),
    OPTION(keystone_px, 0, LEAST, 4, true),
    OPTION(target_fraction, 0.001, LEAST, 1, true),
    OPTION(fill_low, 0.05, LEAST, 1, false),
    OPTION(fill_high, 1, LEAST, 1, false),
};

static const struct option cuvis_options[] = {
    OPTION(anomaly_ratio, 0.05, LEAST, 1, true),
    OPTION(anomaly_strength, 3, LEAST, 1000, false),
    OPTION(noise_std, 0.1, LEAST, 1000, true),
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static double *field_of(struct synth_spec *spec, const struct option *option)
{
    return (double *)((char *)spec + option->offset);
}

static enum yp_status resolve(struct synth_spec *spec, const struct option *option)
{
    double *value = field_of(spec, option);
    if (*value == 0.0) {
        *value = option->standard;
        return YP_OK;
    }
    if (option->may_be_off && *value == SYNTH_OFF) {
        *value = 0.0;
        return YP_OK;
    }
    if (*value >= option->low && *value <= option->high) /* not so for a NaN */
        return YP_OK;
    return yp_set_error(YP_INVALID, "synth_spec.%s is %g: must be %g to %g, or 0 for %g%s",
                        option->field, *value, option->low, option->high, option->standard,
                        option->may_be_off ? ", or SYNTH_OFF (-1) for none" : "");
}

static enum yp_status resolve_all(struct synth_spec *spec, const struct option *options,
                                  size_t count)
{
    enum yp_status status = YP_OK;
    for (size_t i = 0; i < count && status == YP_OK; i++)
        status = resolve(spec, &options[i]);
    return status;
}

/* An option of the other preset would have no effect: an error. */
static enum yp_status check_unused(const char *field, double value, const char *preset)
{
    if (value == 0.0)
        return YP_OK;
    return yp_set_error(YP_INVALID, "synth_spec.%s is %g: it belongs to %s and must stay 0 here",
                        field, value, preset);
}

static enum yp_status check_all_unused(struct synth_spec *spec, const struct option *options,
                                       size_t count, const char *preset)
{
    enum yp_status status = YP_OK;
    for (size_t i = 0; i < count && status == YP_OK; i++)
        status = check_unused(options[i].field, *field_of(spec, &options[i]), preset);
    return status;
}

static enum yp_status resolve_sizes(const struct synth_spec *spec)
{
    enum yp_status status = check_size("height", spec->height, 1, MAX_SIDE);
    if (status == YP_OK)
        status = check_size("width", spec->width, 1, MAX_SIDE);
    if (status == YP_OK)
        status = check_size("channels", spec->channels, 1, MAX_SIDE);
    if (status != YP_OK)
        return status;
    size_t bytes = sizeof(float);
    if (__builtin_mul_overflow(bytes, spec->height, &bytes) ||
        __builtin_mul_overflow(bytes, spec->width, &bytes) ||
        __builtin_mul_overflow(bytes, spec->channels, &bytes))
        return yp_set_error(YP_INVALID,
                            "synth_spec.height x width x channels is %zu x %zu x %zu: a cube may "
                            "have at most %zu values",
                            spec->height, spec->width, spec->channels, SIZE_MAX / sizeof(float));
    return YP_OK;
}

static enum yp_status check_rising(const char *first, double low, const char *second, double high,
                                   bool may_be_equal)
{
    if (low < high || (may_be_equal && low == high))
        return YP_OK;
    return yp_set_error(YP_INVALID, "synth_spec.%s is %g and %s is %g: the first must be %s", first,
                        low, second, high, may_be_equal ? "at most the second" : "the smaller");
}

static enum yp_status resolve_scene(struct synth_spec *spec)
{
    if (spec->endmembers == 0)
        spec->endmembers = 6;
    if (spec->correlation_px == 0)
        spec->correlation_px = 16;
    if (spec->grain_px == 0)
        spec->grain_px = 1;
    enum yp_status status = check_size("endmembers", spec->endmembers, 2, SYNTH_LAST);
    if (status == YP_OK)
        status = check_size("correlation_px", spec->correlation_px, 1, 65536);
    if (status == YP_OK)
        status = check_size("grain_px", spec->grain_px, 1, SYNTH_MAX_GRAIN_PX);
    if (status == YP_OK)
        status = resolve_all(spec, scene_options, COUNT(scene_options));
    if (status == YP_OK)
        status = check_all_unused(spec, cuvis_options, COUNT(cuvis_options), "SYNTH_CUVIS");
    if (status == YP_OK)
        status = check_rising("first_nm", spec->first_nm, "last_nm", spec->last_nm, false);
    if (status == YP_OK)
        status = ypi_passband_resolve(spec);
    if (status == YP_OK)
        status = check_rising("fill_low", spec->fill_low, "fill_high", spec->fill_high, true);
    if (status == YP_OK)
        status = ypi_shapes_resolve(spec);
    if (status == YP_OK && spec->bits != (double)(int)spec->bits)
        status =
            yp_set_error(YP_INVALID, "synth_spec.bits is %g: must be a whole number", spec->bits);
    return status;
}

static enum yp_status resolve_cuvis(struct synth_spec *spec)
{
    const char *other = "SYNTH_SCENE";
    enum yp_status status = resolve_all(spec, cuvis_options, COUNT(cuvis_options));
    if (status == YP_OK)
        status = check_all_unused(spec, scene_options, COUNT(scene_options), other);
    if (status == YP_OK)
        status = check_unused("endmembers", (double)spec->endmembers, other);
    if (status == YP_OK)
        status = check_unused("fwhm_nm", spec->fwhm_nm, other);
    if (status == YP_OK)
        status = check_unused("correlation_px", (double)spec->correlation_px, other);
    if (status == YP_OK)
        status = check_unused("grain_px", (double)spec->grain_px, other);
    if (status == YP_OK)
        status = check_unused("target_shape", (double)spec->target_shape, other);
    if (status == YP_OK)
        status = check_unused("target_px", spec->target_px, other);
    if (status == YP_OK)
        status = check_unused("blank_bands", spec->blank_bands, other);
    return status;
}

static enum yp_status resolve_spec(const struct synth_spec *asked, struct synth_spec *spec)
{
    if (asked == NULL)
        return yp_set_error(YP_INVALID, "synth_spec is NULL: must point to a spec");
    *spec = *asked;
    if (spec->preset != SYNTH_SCENE && spec->preset != SYNTH_CUVIS)
        return yp_set_error(YP_INVALID,
                            "synth_spec.preset is %d: must be SYNTH_SCENE (%d) or SYNTH_CUVIS (%d)",
                            (int)spec->preset, SYNTH_SCENE, SYNTH_CUVIS);
    if (!ypi_level_runs(spec->level))
        return yp_set_error(YP_UNSUPPORTED,
                            "synth_spec.level is %d: this build or processor does not run it; "
                            "YPI_LEVEL_AUTO (0) takes the highest that it does",
                            (int)spec->level);
    spec->level = ypi_level_resolve(spec->level);
    enum yp_status status = resolve_sizes(spec);
    if (status != YP_OK)
        return status;
    return spec->preset == SYNTH_CUVIS ? resolve_cuvis(spec) : resolve_scene(spec);
}

void *ypi_synth_take(struct synth_tables *tables, size_t bytes)
{
    void *part = tables->base != NULL ? tables->base + tables->used : NULL;
    tables->used += (bytes + 63) / 64 * 64;
    return part;
}

/* Fills *scene for a resolved spec, with its tables from `base` on (NULL: only counts); returns
 * their bytes. */
static size_t lay_out(struct synth_scene *scene, const struct synth_spec *spec, char *base)
{
    struct synth_tables tables = {.base = base};
    *scene = (struct synth_scene){.spec = *spec, .stride = synth_padded(spec->channels)};
    scene->wavelengths = ypi_synth_take(&tables, scene->stride * sizeof(float));
    scene->good = ypi_synth_take(&tables, scene->stride);
    if (spec->preset == SYNTH_CUVIS)
        ypi_cuvis_lay_out(scene, &tables);
    else
        ypi_scene_lay_out(scene, &tables);
    return tables.used;
}

size_t synth_scene_bytes(const struct synth_spec *spec)
{
    struct synth_spec resolved;
    struct synth_scene scene;
    return resolve_spec(spec, &resolved) == YP_OK ? HEADER + lay_out(&scene, &resolved, NULL) : 0;
}

/* The scene itself, in host memory. */
static struct synth_scene *create(const struct synth_spec *resolved)
{
    struct synth_scene counted;
    size_t bytes = lay_out(&counted, resolved, NULL);
    struct synth_scene *scene = yp_device_alloc(yp_device_cpu(), HEADER + bytes);
    if (scene == NULL)
        return NULL;
    char *tables = (char *)scene + HEADER;
    memset(tables, 0, bytes);
    lay_out(scene, resolved, tables);
    scene->device = yp_device_cpu();
    scene->bytes = HEADER + bytes;
    if (resolved->preset == SYNTH_CUVIS)
        ypi_cuvis_prepare(scene);
    else
        ypi_scene_prepare(scene);
    return scene;
}

struct synth_scene *synth_scene_create(struct yp_device *device, const struct synth_spec *spec)
{
    struct synth_spec resolved;
    if (device == NULL) {
        yp_set_error(YP_INVALID, "synth_scene_create: device is NULL: must be a device");
        return NULL;
    }
    if (resolve_spec(spec, &resolved) != YP_OK)
        return NULL;
    bool accelerated = yp_device_memory_kind(device) != YP_HOST;
    if (accelerated &&
        (ypi_optics_check_device(&resolved) != YP_OK || ypi_scene_check_device() != YP_OK))
        return NULL;
    struct synth_scene *scene = create(&resolved);
    if (scene != NULL && accelerated && ypi_scene_to_device(scene, device) != YP_OK) {
        synth_scene_destroy(scene);
        return NULL;
    }
    return scene;
}

void synth_scene_destroy(struct synth_scene *scene)
{
    if (scene == NULL)
        return;
    if (scene->tables != NULL)
        yp_device_free(scene->device, scene->tables);
    yp_device_free(yp_device_cpu(), scene);
}

const struct synth_spec *synth_scene_spec(const struct synth_scene *scene)
{
    return &scene->spec;
}

const float *synth_scene_wavelengths(const struct synth_scene *scene)
{
    return scene->wavelengths;
}

const uint8_t *synth_scene_good_bands(const struct synth_scene *scene)
{
    return scene->good;
}

bool synth_scene_dead_element(const struct synth_scene *scene, size_t column, size_t channel)
{
    if (scene->columns == NULL || column >= scene->spec.width || channel >= scene->spec.channels)
        return false;
    return scene->columns[column * scene->stride + channel] == SYNTH_DEAD_ELEMENT;
}

const float *synth_scene_spectrum(const struct synth_scene *scene, size_t k)
{
    if (scene->spec.preset == SYNTH_CUVIS)
        return k < 2 ? scene->spectra + k * scene->stride : NULL;
    size_t endmembers = scene->spec.endmembers;
    if (k >= endmembers + SYNTH_TARGETS)
        return NULL;
    return scene->spectra + (k < endmembers ? k : SYNTH_LAST + k - endmembers) * scene->stride;
}

const float *synth_scene_light(const struct synth_scene *scene, size_t k)
{
    const float *spectrum = synth_scene_spectrum(scene, k);
    if (scene->spec.preset == SYNTH_CUVIS || spectrum == NULL)
        return spectrum;
    return scene->levels + (spectrum - scene->spectra);
}

void synth_scene_transmission(const struct synth_scene *scene, float *transmission)
{
    for (size_t c = 0; c < scene->spec.channels; c++)
        transmission[c] = scene->spec.preset == SYNTH_SCENE ? scene->tau[c] : 1.0f;
}

void synth_scene_path(const struct synth_scene *scene, float *path)
{
    for (size_t c = 0; c < scene->spec.channels; c++)
        path[c] = scene->spec.preset == SYNTH_SCENE ? scene->path[c] : 0.0f;
}

void synth_scene_noise(const struct synth_scene *scene, double *a, double *b)
{
    *a = (double)scene->sensor.photon; /* 0 with CUVIS */
    *b = (double)scene->sensor.read;
}

void synth_scene_column(const struct synth_scene *scene, size_t column, float *gains,
                        float *offsets)
{
    for (size_t c = 0; c < scene->spec.channels; c++) {
        uint32_t word = scene->columns != NULL ? scene->columns[column * scene->stride + c] : 0;
        gains[c] = 1.0f + ypi_float_of((int32_t)(word & 0xffff0000u));
        offsets[c] = ypi_float_of((int32_t)(word << 16));
    }
}

static enum yp_status check_pixels(const char *what, const struct synth_scene *scene, uint64_t cube,
                                   size_t first_pixel, size_t pixels, const float *values)
{
    if (scene == NULL || values == NULL)
        return yp_set_error(YP_INVALID, "%s: %s is NULL: must not be", what,
                            scene == NULL ? "scene" : "values");
    if (cube >= SYNTH_CUBES)
        return yp_set_error(YP_INVALID, "%s: cube is %" PRIu64 ": must be below 2^60", what, cube);
    size_t all = scene->spec.height * scene->spec.width;
    if (first_pixel > all || pixels > all - first_pixel)
        return yp_set_error(YP_INVALID,
                            "%s: first_pixel is %zu and pixels %zu: together at most the %zu "
                            "pixels of the cube",
                            what, first_pixel, pixels, all);
    return YP_OK;
}

/* Checks that `cubes` cubes from `cube` on exist and that `pixels` of each fit in memory. */
static enum yp_status check_cubes(const char *what, const struct synth_scene *scene, uint64_t cube,
                                  size_t cubes, size_t pixels)
{
    size_t bytes = scene->spec.channels * sizeof(float);
    if (cubes > SYNTH_CUBES - cube)
        return yp_set_error(YP_INVALID,
                            "%s: cube is %" PRIu64 " and cubes %zu: together at most 2^60", what,
                            cube, cubes);
    if (__builtin_mul_overflow(bytes, pixels, &bytes) ||
        __builtin_mul_overflow(bytes, cubes, &bytes))
        return yp_set_error(YP_INVALID, "%s: cubes is %zu: their values must fit a size_t in bytes",
                            what, cubes);
    return YP_OK;
}

static void make_tile(const struct synth_scene *scene, uint64_t cube, size_t first_pixel,
                      size_t pixels, float *values, const struct synth_truth *truth)
{
    if (scene->spec.preset == SYNTH_CUVIS)
        ypi_cuvis_tile(scene, cube, first_pixel, pixels, values, truth);
    else if (ypi_optics_is_on(&scene->spec))
        ypi_optics_tile(scene, cube, first_pixel, pixels, values, truth);
    else
        ypi_scene_tile(scene, cube, first_pixel, pixels, values, truth);
}

/* The truth arrays advanced by `pixels` pixels. */
static struct synth_truth truth_after(const struct synth_truth *truth, size_t pixels,
                                      size_t endmembers)
{
    struct synth_truth after = {0};
    after.labels = truth->labels != NULL ? truth->labels + pixels : NULL;
    after.fill = truth->fill != NULL ? truth->fill + pixels : NULL;
    after.valid = truth->valid != NULL ? truth->valid + pixels : NULL;
    if (truth->abundances != NULL)
        after.abundances = truth->abundances + pixels * endmembers;
    return after;
}

static enum yp_status make_cubes(const char *what, const struct synth_scene *scene, uint64_t cube,
                                 size_t cubes, size_t first_pixel, size_t pixels, float *values,
                                 const struct synth_truth *truth)
{
    static const struct synth_truth nothing;
    enum yp_status status = check_pixels(what, scene, cube, first_pixel, pixels, values);
    if (status == YP_OK)
        status = check_cubes(what, scene, cube, cubes, pixels);
    if (status != YP_OK)
        return status;
    if (truth == NULL)
        truth = &nothing;
    if (scene->spec.preset == SYNTH_CUVIS && truth->abundances != NULL)
        return yp_set_error(YP_INVALID,
                            "%s: truth->abundances is given: SYNTH_CUVIS has no endmembers, it "
                            "must be NULL",
                            what);
    if (scene->tables != NULL)
        return ypi_scene_tile_on_device(scene, cube, cubes, first_pixel, pixels, values, truth);
    for (size_t i = 0; i < cubes; i++) {
        struct synth_truth own = truth_after(truth, i * pixels, scene->spec.endmembers);
        make_tile(scene, cube + i, first_pixel, pixels, values + i * pixels * scene->spec.channels,
                  &own);
    }
    return YP_OK;
}

enum yp_status synth_scene_tile(const struct synth_scene *scene, uint64_t cube, size_t first_pixel,
                                size_t pixels, float *values, const struct synth_truth *truth)
{
    return make_cubes("synth_scene_tile", scene, cube, 1, first_pixel, pixels, values, truth);
}

enum yp_status synth_scene_cubes(const struct synth_scene *scene, uint64_t cube, size_t cubes,
                                 size_t first_pixel, size_t pixels, float *values,
                                 const struct synth_truth *truth)
{
    return make_cubes("synth_scene_cubes", scene, cube, cubes, first_pixel, pixels, values, truth);
}

enum yp_status synth_scene_band(const struct synth_scene *scene, uint64_t cube, size_t channel,
                                size_t first_pixel, size_t pixels, float *values)
{
    enum yp_status status =
        check_pixels("synth_scene_band", scene, cube, first_pixel, pixels, values);
    if (status != YP_OK)
        return status;
    if (channel >= scene->spec.channels)
        return yp_set_error(YP_INVALID, "synth_scene_band: channel is %zu: must be 0 to %zu",
                            channel, scene->spec.channels - 1);
    if (scene->tables != NULL)
        return yp_set_error(YP_UNSUPPORTED,
                            "synth_scene_band: the scene is on %s: bands are made on the CPU only",
                            yp_device_name(scene->device));
    if (scene->spec.preset == SYNTH_CUVIS)
        ypi_cuvis_band(scene, cube, channel, first_pixel, pixels, values);
    else if (ypi_optics_is_on(&scene->spec))
        ypi_optics_band(scene, cube, channel, first_pixel, pixels, values);
    else
        ypi_scene_band(scene, cube, channel, first_pixel, pixels, values);
    return YP_OK;
}
