/* What the values of a cube are, band by band: radiance or reflectance, and the names of it all. */
#include "synth/command/internal.h"

#include <math.h>
#include <string.h>

/* Below this transmission a band is not inverted. At the default 40 dB its noise, divided by the
 * transmission, is 0.05 and more; ten times less light and it would be larger than any material. */
#define LEAST_TRANSMISSION 0.01F

static bool is_inverted(const struct ypi_outputs *o, size_t band)
{
    bool blank = o->spec->blank_bands && synth_scene_good_bands(o->scene)[band] == 0;
    return !blank && o->transmission[band] >= LEAST_TRANSMISSION;
}

bool ypi_band_is_empty(const struct ypi_outputs *o, size_t band)
{
    if (o->spec->preset == SYNTH_CUVIS)
        return false;
    if (o->job->quantity == YPI_REFLECTANCE)
        return !is_inverted(o, band);
    return o->spec->blank_bands && synth_scene_good_bands(o->scene)[band] == 0;
}

static void name_bands(struct ypi_outputs *o)
{
    for (size_t i = 0; i < o->spec->channels; i++) {
        snprintf(o->names[i], sizeof o->names[i], "channel %zu", i + 1);
        o->name_list[i] = o->names[i];
    }
}

enum yp_status ypi_bands_init(struct ypi_outputs *o)
{
    size_t channels = o->spec->channels;
    char *block =
        yp_device_alloc(yp_device_cpu(),
                        channels * (sizeof *o->name_list + 2 * sizeof *o->path + sizeof *o->names));
    if (block == NULL)
        return YP_OUT_OF_MEMORY;
    o->name_list = (const char **)(void *)block;
    o->transmission = (float *)(void *)(o->name_list + channels);
    o->path = o->transmission + channels;
    o->names = (void *)(o->path + channels);
    synth_scene_transmission(o->scene, o->transmission);
    synth_scene_path(o->scene, o->path);
    name_bands(o);
    return YP_OK;
}

void ypi_bands_free(struct ypi_outputs *o)
{
    if (o->name_list != NULL)
        yp_device_free(yp_device_cpu(), o->name_list);
}

void ypi_to_quantity(const struct ypi_outputs *o, size_t pixels, float *values)
{
    size_t channels = o->spec->channels;
    if (o->job->quantity != YPI_REFLECTANCE)
        return;
    for (size_t i = 0; i < pixels; i++)
        for (size_t c = 0; c < channels; c++) {
            float *x = &values[i * channels + c];
            if (is_inverted(o, c))
                *x = (*x - o->path[c]) / o->transmission[c];
            else if (!isnan(*x)) /* a dead pixel stays one */
                *x = 0;
        }
}

void ypi_spectrum_in_quantity(const struct ypi_outputs *o, size_t k, float *values)
{
    const float *spectrum = synth_scene_spectrum(o->scene, k);
    const float *light = synth_scene_light(o->scene, k);
    bool seen = o->job->quantity == YPI_RADIANCE; /* with CUVIS without air: the spectrum itself */
    for (size_t c = 0; c < o->spec->channels; c++) {
        if (seen)
            values[c] = (float)((double)light[c] + (double)o->path[c]);
        else /* what the cube's pixels were divided by */
            values[c] = o->transmission[c] > 0 ? light[c] / o->transmission[c] : spectrum[c];
    }
}

/* a m + b at m = the mean of tau e_k + path over the endmembers. */
void ypi_noise_by_band(const struct ypi_outputs *o, float *variance)
{
    double a, b;
    synth_scene_noise(o->scene, &a, &b);
    for (size_t c = 0; c < o->spec->channels; c++) {
        double mean = 0, tau = (double)o->transmission[c];
        for (size_t k = 0; k < o->spec->endmembers; k++)
            mean += (double)synth_scene_light(o->scene, k)[c] / (double)o->spec->endmembers;
        double own = a * (mean + (double)o->path[c]) + b;
        if (o->job->quantity == YPI_REFLECTANCE)
            own /= tau * tau;
        variance[c] = ypi_band_is_empty(o, c) ? 0.0F : (float)own;
    }
}

/* ---- names ---- */

const char *ypi_quantity_text(const struct ypi_outputs *o)
{
    if (o->spec->preset == SYNTH_CUVIS)
        return "values";
    return o->job->quantity == YPI_REFLECTANCE ? "reflectance of the ground as lit"
                                               : "radiance at the sensor, 1 is its full scale";
}

const char *ypi_quantity_units(const struct ypi_outputs *o)
{
    if (o->spec->preset == SYNTH_CUVIS)
        return NULL;
    return o->job->quantity == YPI_REFLECTANCE ? "Reflectance"
                                               : "Radiance in parts of the full scale";
}

const char *const *ypi_plane_names(const struct ypi_outputs *o, enum ypi_plane plane)
{
    static const char *const shares[] = {"endmember 1", "endmember 2", "endmember 3", "endmember 4",
                                         "endmember 5", "endmember 6", "endmember 7"};
    static const char *const single[YPI_PLANES] = {
        [YPI_LABELS] = "label", [YPI_FILL] = "fill", [YPI_VALID] = "valid"};
    if (plane == YPI_VALUES)
        return o->name_list;
    return plane == YPI_ABUNDANCES ? shares : &single[plane];
}

void ypi_name_classes(const struct ypi_outputs *o, struct synth_cube_info *info)
{
    static const char *const targets[] = {"background", "target 1", "target 2", "target 3",
                                          "target 4"};
    static const char *const discs[] = {"background", "anomaly"};
    static const uint8_t colours[][3] = {
        {0, 0, 0}, {230, 60, 40}, {250, 190, 40}, {60, 180, 75}, {60, 120, 230}};
    _Static_assert(sizeof targets / sizeof *targets == 1 + SYNTH_TARGETS &&
                       sizeof colours / sizeof *colours == 1 + SYNTH_TARGETS,
                   "a name and a colour for each target");
    bool cuvis = o->spec->preset == SYNTH_CUVIS;
    info->classes = cuvis ? 2 : 1 + SYNTH_TARGETS;
    info->class_names = cuvis ? discs : targets;
    info->class_lookup = colours[0];
}
