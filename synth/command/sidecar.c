/* The files beside the cubes of a run: spectra, wavelengths and the description. */
#include "synth/command/internal.h"

#include "base/system/npy.h"
#include "base/text/text.h"

#include <cJSON.h>
#include <inttypes.h>
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

/* Endmembers, then targets, so that label k is row endmembers + k - 1; for CUVIS normal and
 * anomaly, and the anomaly has label 1. */
static enum yp_status write_spectra(const struct ypi_outputs *o)
{
    size_t channels = o->spec->channels, rows = 0;
    char shape[64];
    while (synth_scene_spectrum(o->scene, rows) != NULL)
        rows++;
    float *all = yp_device_alloc(yp_device_cpu(), rows * channels * sizeof *all);
    if (all == NULL)
        return YP_OUT_OF_MEMORY;
    for (size_t i = 0; i < rows; i++)
        memcpy(all + i * channels, synth_scene_spectrum(o->scene, i), channels * sizeof *all);
    snprintf(shape, sizeof shape, "%zu, %zu", rows, channels);
    enum yp_status status = write_npy(o->job, "_endmembers.npy", shape, all, rows * channels);
    yp_device_free(yp_device_cpu(), all);
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
    add_files(document, o);
    char *text = cJSON_Print(document);
    cJSON_Delete(document);
    free(line);
    return text;
}

enum yp_status ypi_sidecars_write(const struct ypi_outputs *o, const struct ypi_made *made)
{
    char path[YPI_PATH_MAX], shape[64];
    snprintf(shape, sizeof shape, "%zu,", o->spec->channels);
    enum yp_status status = write_spectra(o);
    if (status == YP_OK)
        status = write_npy(o->job, "_wavelengths.npy", shape, synth_scene_wavelengths(o->scene),
                           o->spec->channels);
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
