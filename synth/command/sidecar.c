/* The files beside the cubes of a run: spectra, wavelengths, what is between ground and reading,
 * and the description. */
#include "synth/command/internal.h"

#include "base/system/npy.h"
#include "base/text/output.h"
#include "base/text/text.h"

#include <cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum yp_status ypi_write_whole(const char *path, const void *head, size_t head_size,
                               const void *data, size_t size, bool replace)
{
    struct ypi_atomic_file file;
    enum yp_status status = ypi_atomic_create(&file, path);
    if (status == YP_OK)
        status = ypi_write_at(file.fd, path, 0, head, head_size);
    if (status == YP_OK)
        status = ypi_write_at(file.fd, path, head_size, data, size);
    if (status == YP_OK)
        status = ypi_atomic_sync(&file);
    if (status == YP_OK)
        return ypi_atomic_publish(&file, replace);
    ypi_atomic_abandon(&file);
    return status;
}

static enum yp_status write_npy(const struct ypi_job *job, const char *suffix, const char *shape,
                                const float *values, size_t count)
{
    char path[YPI_PATH_MAX], head[256];
    ypi_job_path(job, suffix, path);
    size_t size = ypi_npy_text(head, sizeof head, ypi_big_endian() ? ">f4" : "<f4", shape);
    return ypi_write_whole(path, head, size, values, count * sizeof *values, job->force);
}

enum {
    WAVELENGTHS,
    ENDMEMBERS,
    CUVIS_SIDECARS,
    TRANSMISSION = CUVIS_SIDECARS,
    PATH,
    NOISE,
    GAINS,
    OFFSETS,
    SIDECARS,
};
static const char *const suffixes[SIDECARS] = {
    [WAVELENGTHS] = "_wavelengths.npy",
    [ENDMEMBERS] = "_endmembers.npy",
    [TRANSMISSION] = "_transmission.npy",
    [PATH] = "_path.npy",
    [NOISE] = "_noise.npy",
    [GAINS] = "_gains.npy",
    [OFFSETS] = "_offsets.npy",
};

const char *const *ypi_sidecar_suffixes(const struct ypi_outputs *o, size_t *count)
{
    *count = o->spec->preset == SYNTH_CUVIS ? CUVIS_SIDECARS : SIDECARS;
    return suffixes;
}

static size_t spectra_of(const struct ypi_outputs *o)
{
    size_t rows = 0;
    while (synth_scene_spectrum(o->scene, rows) != NULL)
        rows++;
    return rows;
}

uint64_t ypi_sidecar_bytes(const struct ypi_outputs *o)
{
    size_t rows = 1 + spectra_of(o);
    rows += o->spec->preset == SYNTH_CUVIS ? 0 : 3 + 2 * o->spec->width;
    return (uint64_t)rows * o->spec->channels * sizeof(float);
}

/* Endmembers, then targets, so that label k is row endmembers + k - 1; for CUVIS normal and
 * anomaly, and the anomaly has label 1. */
static enum yp_status write_spectra(const struct ypi_outputs *o, float *all)
{
    size_t channels = o->spec->channels, rows = spectra_of(o);
    char shape[64];
    for (size_t i = 0; i < rows; i++)
        ypi_spectrum_in_quantity(o, i, all + i * channels);
    snprintf(shape, sizeof shape, "%zu, %zu", rows, channels);
    return write_npy(o->job, suffixes[ENDMEMBERS], shape, all, rows * channels);
}

/* One row for each column of the sensor. */
static enum yp_status write_columns(const struct ypi_outputs *o, float *gains, float *offsets)
{
    size_t channels = o->spec->channels, width = o->spec->width;
    char shape[64];
    for (size_t i = 0; i < width; i++)
        synth_scene_column(o->scene, i, gains + i * channels, offsets + i * channels);
    snprintf(shape, sizeof shape, "%zu, %zu", width, channels);
    enum yp_status status = write_npy(o->job, suffixes[GAINS], shape, gains, width * channels);
    if (status == YP_OK)
        status = write_npy(o->job, suffixes[OFFSETS], shape, offsets, width * channels);
    return status;
}

static enum yp_status write_arrays(const struct ypi_outputs *o, float *block)
{
    size_t channels = o->spec->channels;
    char shape[64];
    snprintf(shape, sizeof shape, "%zu,", channels);
    enum yp_status status = write_npy(o->job, suffixes[WAVELENGTHS], shape,
                                      synth_scene_wavelengths(o->scene), channels);
    if (status == YP_OK)
        status = write_spectra(o, block);
    if (status != YP_OK || o->spec->preset == SYNTH_CUVIS)
        return status;
    ypi_noise_by_band(o, block);
    status = write_npy(o->job, suffixes[NOISE], shape, block, channels);
    if (status == YP_OK)
        status = write_npy(o->job, suffixes[TRANSMISSION], shape, o->transmission, channels);
    if (status == YP_OK)
        status = write_npy(o->job, suffixes[PATH], shape, o->path, channels);
    if (status == YP_OK)
        status = write_columns(o, block, block + o->spec->width * channels);
    return status;
}

/* Adds a 64-bit number, which cJSON's double would round. */
static void add_word64(cJSON *object, const char *name, uint64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64, value);
    cJSON_AddRawToObject(object, name, text);
}

/* Every option of this preset as the ini file takes it, defaults included. */
static cJSON *options_of(const struct ypi_job *job)
{
    cJSON *options = cJSON_CreateObject();
    for (const struct ypi_option *o = ypi_synth_options; !ypi_option_is_end(o); o++) {
        char *text = ypi_job_option_text(job, o);
        if (text[0] == '\0' || strcmp(o->name, "output") == 0)
            ;
        else if (o->kind == YPI_OPTION_SIZE || o->kind == YPI_OPTION_WORD64 ||
                 (o->kind == YPI_OPTION_REAL && strcmp(text, "off") != 0))
            cJSON_AddRawToObject(options, o->name, text);
        else if (o->kind == YPI_OPTION_SWITCH)
            cJSON_AddBoolToObject(options, o->name, strcmp(text, "yes") == 0);
        else
            cJSON_AddStringToObject(options, o->name, text);
        free(text);
    }
    return options;
}

static void add_files(cJSON *document, const struct ypi_outputs *o)
{
    static const char *const names[YPI_PLANES] = {"labels", "fill", "abundances", "valid",
                                                  "values"};
    cJSON *files = cJSON_AddArrayToObject(document, "files");
    size_t sets = o->job->format == SYNTH_NPY ? 1 : o->job->cubes;
    for (size_t cube = 0; cube < sets; cube++) {
        cJSON *set = cJSON_CreateObject();
        for (int plane = 0; plane < YPI_PLANES; plane++) {
            char path[YPI_PATH_MAX];
            ypi_plane_path(o, cube, (enum ypi_plane)plane, path);
            const char *slash = strrchr(path, '/');
            if (path[0] != '\0')
                cJSON_AddStringToObject(set, names[plane], slash != NULL ? slash + 1 : path);
        }
        cJSON_AddItemToArray(files, set);
    }
}

/* Noise is that of the reading, whatever is stored: variance a x + b of a radiance x before gain
 * and offset, then rounded to steps. */
static void add_sensor(cJSON *document, const struct ypi_outputs *o)
{
    double a, b;
    synth_scene_noise(o->scene, &a, &b);
    cJSON *noise = cJSON_AddObjectToObject(document, "noise");
    cJSON_AddNumberToObject(noise, "a", a);
    cJSON_AddNumberToObject(noise, "b", b);
    cJSON_AddNumberToObject(noise, "step", o->spec->bits > 0 ? exp2(-o->spec->bits) : 0);
    cJSON *bands = cJSON_AddArrayToObject(document, "empty_bands");
    for (size_t i = 0; i < o->spec->channels; i++)
        if (ypi_band_is_empty(o, i))
            cJSON_AddItemToArray(bands, cJSON_CreateNumber((double)i));
}

/* The arrays beside the cubes, by what is between the stem and the ending. */
static void add_arrays(cJSON *document, const struct ypi_outputs *o)
{
    cJSON *arrays = cJSON_AddObjectToObject(document, "arrays");
    size_t count;
    const char *const *all = ypi_sidecar_suffixes(o, &count);
    for (size_t i = 0; i < count; i++) {
        char path[YPI_PATH_MAX], name[32];
        ypi_job_path(o->job, all[i], path);
        const char *slash = strrchr(path, '/');
        snprintf(name, sizeof name, "%.*s", (int)strcspn(all[i] + 1, "."), all[i] + 1);
        cJSON_AddStringToObject(arrays, name, slash != NULL ? slash + 1 : path);
    }
}

static char *document_of(const struct ypi_outputs *o, const struct ypi_made *made)
{
    struct ypi_job job = *o->job;
    job.spec = *o->spec;
    char *line = ypi_job_line(&job);
    cJSON *document = cJSON_CreateObject(), *bands = NULL;
    cJSON_AddStringToObject(document, "made_by", "yieldpoint " YPI_VERSION);
    cJSON_AddStringToObject(document, "remake", line);
    add_word64(document, "seed", job.spec.seed);
    add_word64(document, "targets", job.spec.preset == SYNTH_CUVIS ? 1 : SYNTH_TARGETS);
    cJSON_AddItemToObject(document, "options", options_of(&job));
    bands = cJSON_AddArrayToObject(document, "preview_bands");
    for (size_t i = 0; i < 3; i++)
        cJSON_AddItemToArray(bands, cJSON_CreateNumber((double)o->bands[i]));
    if (job.type != SYNTH_F32) {
        double scale = 0, ignore = 0;
        ypi_outputs_codes(o, &scale, &ignore);
        cJSON_AddNumberToObject(document, "scale", scale);
        cJSON_AddNumberToObject(document, "no_data", ignore);
        add_word64(document, "clipped", made->clipped);
    }
    if (job.spec.preset == SYNTH_SCENE)
        add_sensor(document, o);
    add_arrays(document, o);
    add_files(document, o);
    char *text = ypi_json_text(document, true);
    cJSON_Delete(document);
    free(line);
    return text;
}

enum yp_status ypi_sidecars_write(const struct ypi_outputs *o, const struct ypi_made *made)
{
    char path[YPI_PATH_MAX];
    float *block = yp_device_alloc(yp_device_cpu(), ypi_sidecar_bytes(o));
    enum yp_status status = block != NULL ? write_arrays(o, block) : YP_OUT_OF_MEMORY;
    if (block != NULL)
        yp_device_free(yp_device_cpu(), block);
    if (status != YP_OK)
        return status;
    char *text = document_of(o, made);
    if (text == NULL)
        return yp_set_error(YP_OUT_OF_MEMORY, "no memory for the description of %zu cubes",
                            o->job->cubes);
    ypi_job_path(o->job, ".json", path);
    status = ypi_write_whole(path, text, strlen(text), "\n", 1, o->job->force);
    free(text);
    return status == YP_OK ? ypi_sync_directory(path) : status;
}
