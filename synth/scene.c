#include "scene_internal.h"

#include <inttypes.h>

#define MAX_SIDE ((size_t)1 << 30)
#define HEADER ((sizeof(struct synth_scene) + 63) / 64 * 64)

_Static_assert(HEADER < 512, "scene.h promises a header below 512 bytes");

static enum yp_status check_size(const char *field, size_t value, size_t low, size_t high)
{
    if (value >= low && value <= high)
        return YP_OK;
    return yp_set_error(YP_INVALID, "synth_spec.%s is %zu: must be %zu to %zu", field, value, low,
                        high);
}

enum off { NEEDED, MAY_BE_OFF };

/* Puts the default in the place of 0, and 0 in the place of OFF. */
static enum yp_status resolve(const char *field, double *value, double standard, double high,
                              enum off off)
{
    const double low = 1e-9;
    if (*value == 0.0) {
        *value = standard;
        return YP_OK;
    }
    if (off == MAY_BE_OFF && *value == SYNTH_OFF) {
        *value = 0.0;
        return YP_OK;
    }
    if (*value >= low && *value <= high) /* not so for a NaN */
        return YP_OK;
    return yp_set_error(YP_INVALID, "synth_spec.%s is %g: must be %g to %g, or 0 for %g%s", field,
                        *value, low, high, standard,
                        off == MAY_BE_OFF ? ", or SYNTH_OFF (-1) for none" : "");
}

/* An option of a preset that was not asked for would have no effect: better say so. */
static enum yp_status check_unused(const char *field, double value, const char *preset)
{
    if (value == 0.0)
        return YP_OK;
    return yp_set_error(YP_INVALID, "synth_spec.%s is %g: it belongs to %s and must stay 0 here",
                        field, value, preset);
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

static enum yp_status resolve_mixing(struct synth_spec *spec)
{
    const char *other = "SYNTH_CUVIS";
    if (spec->endmembers == 0)
        spec->endmembers = 6;
    if (spec->correlation_px == 0)
        spec->correlation_px = 16;
    enum yp_status status = check_size("endmembers", spec->endmembers, 2, SYNTH_LAST);
    if (status == YP_OK)
        status = check_size("correlation_px", spec->correlation_px, 1, 65536);
    if (status == YP_OK)
        status = resolve("shade", &spec->shade, 0.2, 0.5, MAY_BE_OFF);
    if (status == YP_OK)
        status = resolve("snr_db", &spec->snr_db, 40.0, 120.0, MAY_BE_OFF);
    if (status == YP_OK)
        status = resolve("target_fraction", &spec->target_fraction, 0.001, 1.0, MAY_BE_OFF);
    if (status == YP_OK)
        status = check_unused("anomaly_ratio", spec->anomaly_ratio, other);
    if (status == YP_OK)
        status = check_unused("anomaly_strength", spec->anomaly_strength, other);
    if (status == YP_OK)
        status = check_unused("noise_std", spec->noise_std, other);
    return status;
}

static enum yp_status resolve_cuvis(struct synth_spec *spec)
{
    const char *other = "SYNTH_MIXING";
    enum yp_status status = resolve("anomaly_ratio", &spec->anomaly_ratio, 0.05, 1.0, NEEDED);
    if (status == YP_OK)
        status = resolve("anomaly_strength", &spec->anomaly_strength, 3.0, 1000.0, NEEDED);
    if (status == YP_OK)
        status = resolve("noise_std", &spec->noise_std, 0.1, 1000.0, MAY_BE_OFF);
    if (status == YP_OK)
        status = check_unused("endmembers", (double)spec->endmembers, other);
    if (status == YP_OK)
        status = check_unused("correlation_px", (double)spec->correlation_px, other);
    if (status == YP_OK)
        status = check_unused("shade", spec->shade, other);
    if (status == YP_OK)
        status = check_unused("snr_db", spec->snr_db, other);
    if (status == YP_OK)
        status = check_unused("target_fraction", spec->target_fraction, other);
    return status;
}

static enum yp_status resolve_spec(const struct synth_spec *asked, struct synth_spec *spec)
{
    if (asked == NULL)
        return yp_set_error(YP_INVALID, "synth_spec is NULL: must point to a spec");
    *spec = *asked;
    if (spec->preset != SYNTH_MIXING && spec->preset != SYNTH_CUVIS)
        return yp_set_error(
            YP_INVALID, "synth_spec.preset is %d: must be SYNTH_MIXING (%d) or SYNTH_CUVIS (%d)",
            (int)spec->preset, SYNTH_MIXING, SYNTH_CUVIS);
    if (!synth_level_runs(spec->level))
        return yp_set_error(YP_UNSUPPORTED,
                            "synth_spec.level is %d: this build or processor does not run it; "
                            "SYNTH_LEVEL_AUTO (0) takes the highest that it does",
                            (int)spec->level);
    spec->level = synth_level_resolve(spec->level);
    enum yp_status status = resolve_sizes(spec);
    if (status != YP_OK)
        return status;
    return spec->preset == SYNTH_CUVIS ? resolve_cuvis(spec) : resolve_mixing(spec);
}

static size_t bytes_of(const struct synth_spec *spec)
{
    size_t floats = spec->preset == SYNTH_CUVIS ? ypi_cuvis_floats(spec) : ypi_mixing_floats(spec);
    return HEADER + floats * sizeof(float);
}

size_t synth_scene_bytes(const struct synth_spec *spec)
{
    struct synth_spec resolved;
    return resolve_spec(spec, &resolved) == YP_OK ? bytes_of(&resolved) : 0;
}

struct synth_scene *synth_scene_create(struct yp_device *device, const struct synth_spec *spec)
{
    struct synth_spec resolved;
    if (device == NULL) {
        yp_set_error(YP_INVALID, "synth_scene_create: device is NULL: must be a device");
        return NULL;
    }
    if (yp_device_memory_kind(device) != YP_HOST) {
        yp_set_error(YP_UNSUPPORTED,
                     "synth_scene_create: device is %s: must be one with host memory",
                     yp_device_name(device));
        return NULL;
    }
    if (resolve_spec(spec, &resolved) != YP_OK)
        return NULL;
    struct synth_scene *scene = yp_device_alloc(device, bytes_of(&resolved));
    if (scene == NULL)
        return NULL;
    float *tables = (float *)((char *)scene + HEADER);
    *scene = (struct synth_scene){
        .device = device, .spec = resolved, .stride = synth_padded(resolved.channels)};
    if (resolved.preset == SYNTH_CUVIS)
        ypi_cuvis_prepare(scene, tables);
    else
        ypi_mixing_prepare(scene, tables);
    return scene;
}

void synth_scene_destroy(struct synth_scene *scene)
{
    if (scene != NULL)
        yp_device_free(scene->device, scene);
}

const struct synth_spec *synth_scene_spec(const struct synth_scene *scene)
{
    return &scene->spec;
}

enum yp_status synth_scene_tile(const struct synth_scene *scene, uint64_t cube, size_t first_pixel,
                                size_t pixels, float *values, uint8_t *labels, float *fill)
{
    if (scene == NULL || values == NULL)
        return yp_set_error(YP_INVALID, "synth_scene_tile: %s is NULL: must not be",
                            scene == NULL ? "scene" : "values");
    if (cube >= SYNTH_CUBES)
        return yp_set_error(YP_INVALID, "synth_scene_tile: cube is %" PRIu64 ": must be below 2^60",
                            cube);
    size_t all = scene->spec.height * scene->spec.width;
    if (first_pixel > all || pixels > all - first_pixel)
        return yp_set_error(YP_INVALID,
                            "synth_scene_tile: first_pixel is %zu and pixels %zu: together at most "
                            "the %zu pixels of the cube",
                            first_pixel, pixels, all);
    if (scene->spec.preset == SYNTH_CUVIS)
        ypi_cuvis_tile(scene, cube, first_pixel, pixels, values, labels, fill);
    else
        ypi_mixing_tile(scene, cube, first_pixel, pixels, values, labels, fill);
    return YP_OK;
}
