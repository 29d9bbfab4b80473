/* The files of a cube: its values and its truth. */
#include "synth/command/internal.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#define YPI_TEXT_MAX 256 /* of a description */
#define YPI_OPTICS_MAX 96

static const struct {
    const char *suffix;
    enum synth_type type;
    const char *what;
} planes[YPI_PLANES] = {
    [YPI_LABELS] = {"_labels", SYNTH_U8, "a target's number from 1, else 0"},
    [YPI_FILL] = {"_fill", SYNTH_F32, "the target's share of the pixel"},
    [YPI_ABUNDANCES] = {"_abundances", SYNTH_F32, "shares of the endmembers"},
    [YPI_VALID] = {"_valid", SYNTH_U8, "0 on a dead pixel"},
    [YPI_VALUES] = {"", SYNTH_F32, ""},
};

size_t ypi_plane_channels(const struct ypi_outputs *o, enum ypi_plane plane)
{
    if (plane == YPI_VALUES)
        return o->spec->channels;
    if (plane == YPI_ABUNDANCES)
        return o->spec->preset == SYNTH_CUVIS ? 0 : o->spec->endmembers;
    return 1;
}

static size_t nearest_band(const float *wavelengths, size_t channels, float wanted)
{
    size_t best = 0;
    for (size_t i = 1; i < channels; i++)
        if (fabsf(wavelengths[i] - wanted) < fabsf(wavelengths[best] - wanted))
            best = i;
    return best;
}

enum yp_status ypi_outputs_init(struct ypi_outputs *o, const struct ypi_job *job,
                                const struct synth_scene *scene)
{
    static const float colours[3] = {660, 550, 470};
    *o = (struct ypi_outputs){.job = job, .scene = scene, .spec = synth_scene_spec(scene)};
    const float *wavelengths = synth_scene_wavelengths(scene);
    size_t channels = o->spec->channels;
    o->bands_by_wavelength =
        o->spec->preset == SYNTH_SCENE && wavelengths[0] <= 500 && wavelengths[channels - 1] >= 640;
    for (size_t i = 0; i < 3; i++)
        o->bands[i] = o->bands_by_wavelength ? nearest_band(wavelengths, channels, colours[i])
                                             : channels * (5 - 2 * i) / 6;
    enum yp_status status = ypi_bands_init(o);
    if (status != YP_OK || o->spec->fwhm_nm == 0)
        return status;
    o->fwhm = yp_device_alloc(yp_device_cpu(), channels * sizeof *o->fwhm);
    for (size_t i = 0; o->fwhm != NULL && i < channels; i++)
        o->fwhm[i] = (float)o->spec->fwhm_nm;
    return o->fwhm != NULL ? YP_OK : YP_OUT_OF_MEMORY;
}

void ypi_outputs_free(struct ypi_outputs *o)
{
    if (o->fwhm != NULL)
        yp_device_free(yp_device_cpu(), o->fwhm);
    ypi_bands_free(o);
}

void ypi_job_path(const struct ypi_job *job, const char *suffix, char out[YPI_PATH_MAX])
{
    snprintf(out, YPI_PATH_MAX, "%s%s", job->base, suffix);
}

void ypi_plane_path(const struct ypi_outputs *o, size_t cube, enum ypi_plane plane,
                    char out[YPI_PATH_MAX])
{
    char number[32] = "";
    out[0] = '\0';
    if (ypi_plane_channels(o, plane) == 0)
        return;
    if (o->job->format == SYNTH_ENVI && o->job->cubes > 1)
        snprintf(number, sizeof number, "_%04zu", cube);
    snprintf(out, YPI_PATH_MAX, "%s%s%s%s", o->job->base, number, planes[plane].suffix,
             o->job->ending);
}

/* ---- descriptions ---- */

/* The sensor's steps become the integers; reflectance is stored in ten thousandths, as vendors do:
 * it may exceed 1. The last code means no data, so the brightest step of 16 bits is clipped to the
 * one below. */
void ypi_outputs_codes(const struct ypi_outputs *o, double *scale, double *ignore)
{
    bool is_signed = o->job->type == SYNTH_I16;
    double bits = o->spec->bits > 0 ? o->spec->bits : is_signed ? 15 : 16;
    double usual = o->job->quantity == YPI_REFLECTANCE ? 10000 : exp2(bits);
    *scale = o->job->scale > 0 ? o->job->scale : usual;
    *ignore = is_signed ? INT16_MIN : UINT16_MAX;
}

static void describe_values(const struct ypi_outputs *o, struct synth_cube_info *info)
{
    info->type = (enum synth_type)o->job->type;
    info->has_ignore = info->type != SYNTH_F32;
    if (info->has_ignore)
        ypi_outputs_codes(o, &info->scale, &info->ignore);
    info->scale_is_gain = o->job->quantity != YPI_REFLECTANCE;
    info->units = ypi_quantity_units(o);
    if (o->spec->preset == SYNTH_SCENE) {
        info->wavelengths = synth_scene_wavelengths(o->scene);
        info->fwhm = o->fwhm;
        info->good_bands = synth_scene_good_bands(o->scene);
    }
    info->default_band_count = 3;
    memcpy(info->default_bands, o->bands, sizeof o->bands);
}

/* What stands between the scene and the sensor, "" where nothing does. */
static void describe_optics(const struct ypi_outputs *o, char text[YPI_OPTICS_MAX])
{
    const struct {
        const char *what, *unit;
        double value;
    } all[] = {{"point spread", "px", o->spec->psf_px},
               {"smile", "nm", o->spec->smile_nm},
               {"keystone", "px", o->spec->keystone_px}};
    size_t length = 0;
    text[0] = '\0';
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].value > 0)
            length += (size_t)snprintf(text + length, YPI_OPTICS_MAX - length, "; %s %g %s",
                                       all[i].what, all[i].value, all[i].unit);
}

static void describe(const struct ypi_outputs *o, size_t cube, enum ypi_plane plane,
                     struct synth_cube_info *info, char text[YPI_TEXT_MAX])
{
    const struct ypi_job *job = o->job;
    char optics[YPI_OPTICS_MAX];
    describe_optics(o, optics);
    *info = (struct synth_cube_info){.format = (enum synth_format)job->format,
                                     .type = planes[plane].type,
                                     .interleave = (enum synth_interleave)job->interleave,
                                     .big_endian = job->big_endian,
                                     .cubes = job->format == SYNTH_NPY ? job->cubes : 1,
                                     .height = o->spec->height,
                                     .width = o->spec->width,
                                     .channels = ypi_plane_channels(o, plane),
                                     .band_names = ypi_plane_names(o, plane),
                                     .description = text};
    snprintf(text, YPI_TEXT_MAX,
             "yieldpoint synth " YPI_VERSION ", preset %s, seed %" PRIu64 ", cube %zu: %s%s",
             o->spec->preset == SYNTH_CUVIS ? "cuvis" : "scene", o->spec->seed, cube,
             plane == YPI_VALUES ? ypi_quantity_text(o) : planes[plane].what, optics);
    if (plane == YPI_VALUES)
        describe_values(o, info);
    if (plane == YPI_LABELS)
        ypi_name_classes(o, info);
}

/* ---- checks before the run ---- */

static enum yp_status refuse_existing(const char *path)
{
    struct stat there;
    if (path[0] == '\0' || lstat(path, &there) != 0)
        return YP_OK;
    return yp_set_error(YP_IO, "%s: is there already; --force replaces it", path);
}

static enum yp_status check_plane(const struct ypi_outputs *o, size_t cube, enum ypi_plane plane,
                                  uint64_t *bytes)
{
    char path[YPI_PATH_MAX], text[YPI_TEXT_MAX];
    struct synth_cube_info info;
    ypi_plane_path(o, cube, plane, path);
    if (path[0] == '\0')
        return YP_OK;
    describe(o, cube, plane, &info, text);
    uint64_t own = synth_cube_bytes(&info);
    if (own == 0)
        return YP_INVALID;
    if (__builtin_add_overflow(*bytes, own, bytes))
        return yp_set_error(YP_INVALID, "--cubes is %zu: all together are more than a disk holds",
                            o->job->cubes);
    if (o->job->force)
        return YP_OK;
    enum yp_status status = refuse_existing(path);
    if (status == YP_OK && o->job->format == SYNTH_ENVI) {
        snprintf(path + ypi_envi_stem(path), 5, ".hdr");
        status = refuse_existing(path);
    }
    return status;
}

static enum yp_status refuse_existing_others(const struct ypi_outputs *o)
{
    char path[YPI_PATH_MAX];
    size_t count;
    const char *const *suffixes = ypi_sidecar_suffixes(o, &count);
    enum yp_status status = YP_OK;
    for (size_t i = 0; i < count && status == YP_OK; i++) {
        ypi_job_path(o->job, suffixes[i], path);
        status = refuse_existing(path);
    }
    ypi_job_path(o->job, ".json", path);
    if (status == YP_OK)
        status = refuse_existing(path);
    ypi_job_path(o->job, ".png", path);
    return status == YP_OK && o->job->preview ? refuse_existing(path) : status;
}

enum yp_status ypi_outputs_check(const struct ypi_outputs *o, uint64_t *bytes)
{
    size_t sets = o->job->format == SYNTH_NPY ? 1 : o->job->cubes;
    *bytes = 0;
    if (strlen(o->job->base) + 64 > YPI_PATH_MAX)
        return yp_set_error(YP_INVALID, "--output has %zu bytes: must have below %d",
                            strlen(o->job->base), YPI_PATH_MAX - 64);
    for (size_t cube = 0; cube < sets; cube++)
        for (int plane = 0; plane < YPI_PLANES; plane++) {
            enum yp_status status = check_plane(o, cube, (enum ypi_plane)plane, bytes);
            if (status != YP_OK)
                return status;
        }
    if (!o->job->force) {
        enum yp_status status = refuse_existing_others(o);
        if (status != YP_OK)
            return status;
    }
    return ypi_check_free_space(o->job->base, *bytes + ypi_sidecar_bytes(o));
}

/* ---- one cube ---- */

void ypi_cube_abandon(struct ypi_cube_outputs *out)
{
    for (int plane = 0; plane < YPI_PLANES; plane++) {
        synth_cube_abandon(out->planes[plane]);
        out->planes[plane] = NULL;
    }
}

enum yp_status ypi_cube_begin(const struct ypi_outputs *o, size_t cube,
                              struct ypi_cube_outputs *out)
{
    *out = (struct ypi_cube_outputs){0};
    for (int plane = 0; plane < YPI_PLANES; plane++) {
        char path[YPI_PATH_MAX], text[YPI_TEXT_MAX];
        struct synth_cube_info info;
        ypi_plane_path(o, cube, (enum ypi_plane)plane, path);
        if (path[0] == '\0')
            continue;
        describe(o, cube, (enum ypi_plane)plane, &info, text);
        out->planes[plane] = synth_cube_create(yp_device_cpu(), path, &info,
                                               o->job->force ? SYNTH_REPLACE : SYNTH_REFUSE);
        if (out->planes[plane] == NULL) {
            ypi_cube_abandon(out);
            return YP_IO;
        }
    }
    return YP_OK;
}

enum yp_status ypi_cube_end(struct ypi_cube_outputs *out, uint64_t *clipped)
{
    struct synth_cube_writer *all[YPI_PLANES];
    size_t count = 0;
    *clipped += synth_cube_clipped(out->planes[YPI_VALUES]);
    for (int plane = 0; plane < YPI_PLANES; plane++)
        if (out->planes[plane] != NULL)
            all[count++] = out->planes[plane];
    *out = (struct ypi_cube_outputs){0};
    return synth_cube_commit_all(all, count);
}
