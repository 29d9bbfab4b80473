/* The host side of the plugin "synth-cuda": copies a scene's tables to the device and divides the
 * work among blocks. */
#include "synth/scene/accelerated.h"

#include "synth/cuda/work.h"
#include "synth/scene/device_stream.h"

#include <yieldpoint/plugin.h>

static const struct synth_cuda *plugin(void)
{
    return yp_plugin_table(SYNTH_CUDA_PLUGIN, sizeof(struct synth_cuda));
}

/* -- scenes --------------------------------------------------------------------------------- */

enum yp_status ypi_scene_check_device(void)
{
    return plugin() != NULL ? YP_OK : YP_UNSUPPORTED;
}

enum yp_status ypi_scene_to_device(struct synth_scene *scene, struct yp_device *device)
{
    char *copy = yp_device_alloc(device, scene->bytes);
    if (copy == NULL)
        return YP_OUT_OF_MEMORY;
    enum yp_status status = yp_device_copy(device, copy, scene, scene->bytes);
    if (status != YP_OK) {
        yp_device_free(device, copy);
        return status;
    }
    scene->device = device;
    scene->tables = copy;
    return YP_OK;
}

/* The device's copy of a table of the scene; NULL for NULL. */
static const void *device_table(const struct synth_scene *scene, const void *table)
{
    if (table == NULL)
        return NULL;
    return scene->tables + ((const char *)table - (const char *)scene);
}

/* log2 of 4 / gcd(channels, 4), the number of pixels after which pixels and quads align again. */
static uint32_t group_bits_of(size_t channels)
{
    return channels % 4 == 0 ? 0 : channels % 2 == 0 ? 1 : 2;
}

static void describe_mixing(const struct synth_scene *scene, struct synth_cuda_scene *out)
{
    const struct synth_spec *spec = &scene->spec;
    out->endmembers = (uint32_t)spec->endmembers;
    uint32_t pitch = (uint32_t)spec->correlation_px;
    out->pitch = synth_divisor(pitch);
    out->patch_rows = pitch <= SYNTH_CUDA_DENSE ? SYNTH_CUDA_DENSE_ROWS : SYNTH_CUDA_ROWS;
    out->lattice_columns = synth_divisor((SYNTH_CUDA_SIDE - 1 + pitch - 1) / pitch + 3);
    out->lattice_rows = (out->patch_rows - 1 + pitch - 1) / pitch + 3;
    out->lattice_width = (uint32_t)synth_nodes_wide(spec->width, spec->correlation_px);
    out->grain_pitch = synth_divisor((uint32_t)spec->grain_px);
    out->grain_width = (uint32_t)synth_nodes_wide(spec->width, spec->grain_px);
    out->varies = spec->variability > 0;
    out->blank = spec->blank_bands;
    out->fill_low = (float)spec->fill_low;
    out->fill_span = (float)spec->fill_high - (float)spec->fill_low;
    out->half_variability = 0.5f * (float)spec->variability;
    out->shade = (float)spec->shade;
    out->grain = (float)spec->grain;
    out->sharpness = (float)spec->sharpness;
    out->target = scene->target;
    out->dead = scene->dead;
    out->shapes = scene->shapes;
    out->cell = synth_divisor(out->shapes.cell > 0 ? out->shapes.cell : 1);
    out->cells_width = (uint32_t)synth_cells_wide(spec->width, out->cell.by);
    out->sensor = scene->sensor;
    out->levels = device_table(scene, scene->levels);
    out->slopes = device_table(scene, scene->slopes);
    out->path = device_table(scene, scene->path);
    out->striped = scene->columns != NULL;
    out->columns = device_table(scene, out->striped ? (const void *)scene->columns : scene->levels);
    out->column_stride = out->striped ? out->stride : 0;
    out->good = device_table(scene, scene->good);
}

static uint32_t side_of(const struct synth_scene *scene)
{
    return scene->spec.preset == SYNTH_SCENE ? SYNTH_CUDA_SIDE : SYNTH_CUDA_CUVIS_SIDE;
}

/* How a block's threads divide the quads of a unit. A unit with more quads than a block has threads
 * is not reordered. */
static void share_quads(const struct synth_scene *scene, struct synth_cuda_scene *out)
{
    uint32_t row_units = side_of(scene) / out->group + (out->width % out->group != 0);
    bool all = out->quads <= SYNTH_CUDA_THREADS;
    out->unit_quads = all ? out->quads : SYNTH_CUDA_THREADS;
    out->units_at_once = SYNTH_CUDA_THREADS / out->unit_quads;
    out->border_quads = !all                               ? 0
                        : out->group - 1 < out->unit_quads ? out->group - 1
                                                           : out->unit_quads;
    uint32_t inner = out->unit_quads - out->border_quads;
    out->inner_quads = synth_divisor(inner > 0 ? inner : 1);
    out->row_units = synth_divisor(row_units);
    out->step_rows = out->units_at_once / row_units;
    out->step_units = out->units_at_once % row_units;
}

static void describe(const struct synth_scene *scene, struct synth_cuda_scene *out)
{
    const struct synth_spec *spec = &scene->spec;
    *out = (struct synth_cuda_scene){.keys = ypi_philox_keys_of(spec->seed)};
    out->height = (uint32_t)spec->height;
    out->width = (uint32_t)spec->width;
    out->channels = (uint32_t)spec->channels;
    out->stride = (uint32_t)scene->stride;
    out->group_bits = group_bits_of(spec->channels);
    out->group = 1U << out->group_bits;
    out->quads = (uint32_t)(spec->channels * out->group / 4);
    share_quads(scene, out);
    if (spec->preset == SYNTH_SCENE) {
        describe_mixing(scene, out);
        return;
    }
    out->patch_rows = SYNTH_CUDA_CUVIS_SIDE;
    out->spectra = device_table(scene, scene->spectra);
    out->row_gain = device_table(scene, scene->row_gain);
    out->column_gain = device_table(scene, scene->column_gain);
    out->sigma = scene->sigma;
    out->discs = scene->discs;
}

enum yp_status ypi_scene_tile_on_device(const struct synth_scene *scene, uint64_t cube,
                                        size_t cubes, size_t first_pixel, size_t pixels,
                                        float *values, const struct synth_truth *truth)
{
    const struct synth_cuda *cuda = plugin();
    size_t channels = scene->spec.channels;
    struct synth_cuda_job job;
    if (cuda == NULL)
        return YP_UNSUPPORTED;
    if (pixels == 0 || cubes == 0)
        return YP_OK;
    describe(scene, &job.scene);
    uint64_t side = side_of(scene);
    uint32_t threads = SYNTH_CUDA_THREADS;
    job.tile = (struct synth_cuda_tile){.cube = cube,
                                        .first = first_pixel,
                                        .pixels = pixels,
                                        .values = values,
                                        .truth = *truth,
                                        .patch_row =
                                            first_pixel / scene->spec.width / job.scene.patch_rows};
    job.tile.row_patches = synth_divisor((uint32_t)((scene->spec.width + side - 1) / side));
    job.tile.chunks = synth_divisor((job.scene.quads + threads - 1) / threads);
    job.tile.wants_truth = truth->labels != NULL || truth->fill != NULL ||
                           truth->abundances != NULL || truth->valid != NULL;
    job.tile.aligned = (uintptr_t)values % 16 == 0 && first_pixel * channels % 4 == 0 &&
                       (cubes == 1 || pixels * channels % 4 == 0);
    return cuda->tile(scene->device, &job, cubes);
}

/* -- words ---------------------------------------------------------------------------------- */

static enum yp_status check_words(const char *what, const struct yp_device *device, const void *out)
{
    if (device != NULL && out != NULL)
        return YP_OK;
    return yp_set_error(YP_INVALID, "%s: %s is NULL: must not be", what,
                        device == NULL ? "device" : "out");
}

static struct synth_cuda_words words_of(struct ypi_stream stream, uint64_t first, size_t count,
                                        enum synth_cuda_kind kind, void *out)
{
    return (struct synth_cuda_words){.keys = ypi_philox_keys_of(stream.seed),
                                     .seed = stream.seed,
                                     .subsequence = stream.subsequence,
                                     .first = first,
                                     .count = count,
                                     .kind = kind,
                                     .aligned = (uintptr_t)out % 16 == 0 && first % 4 == 0,
                                     .out = out};
}

static enum yp_status on_device(struct yp_device *device, const struct synth_cuda_words *words,
                                bool by_curand)
{
    const struct synth_cuda *cuda = plugin();
    if (cuda == NULL)
        return YP_UNSUPPORTED;
    if (words->count == 0)
        return YP_OK;
    return by_curand ? cuda->by_curand(device, words) : cuda->words(device, words);
}

enum yp_status synth_device_words(struct yp_device *device, struct ypi_stream stream,
                                  uint64_t first, size_t count, uint32_t *out)
{
    enum yp_status status = check_words("synth_device_words", device, out);
    if (status != YP_OK)
        return status;
    struct synth_cuda_words words = words_of(stream, first, count, SYNTH_CUDA_WORDS, out);
    if (yp_device_memory_kind(device) != YP_HOST)
        return on_device(device, &words, false);
    ypi_random_words(YPI_LEVEL_AUTO, stream, first, count, out);
    return YP_OK;
}

enum yp_status synth_device_normals(struct yp_device *device, struct ypi_stream stream,
                                    uint64_t first, size_t count, float *out)
{
    enum yp_status status = check_words("synth_device_normals", device, out);
    if (status != YP_OK)
        return status;
    struct synth_cuda_words words = words_of(stream, first, count, SYNTH_CUDA_NORMALS, out);
    if (yp_device_memory_kind(device) != YP_HOST)
        return on_device(device, &words, false);
    ypi_random_normals(YPI_LEVEL_AUTO, stream, first, count, out);
    return YP_OK;
}

enum yp_status synth_device_words_curand(struct yp_device *device, uint64_t seed, uint64_t first,
                                         size_t count, uint32_t *out)
{
    enum yp_status status = check_words("synth_device_words_curand", device, out);
    struct ypi_stream stream = {seed, 0};
    if (status != YP_OK)
        return status;
    struct synth_cuda_words words = words_of(stream, first, count, SYNTH_CUDA_CURAND, out);
    if (yp_device_memory_kind(device) != YP_HOST)
        return on_device(device, &words, false);
    ypi_random_words_curand(YPI_LEVEL_AUTO, seed, first, count, out);
    return YP_OK;
}

enum yp_status synth_device_words_by_curand(struct yp_device *device, struct ypi_stream stream,
                                            bool legacy, uint64_t first, size_t count,
                                            uint32_t *out)
{
    enum yp_status status = check_words("synth_device_words_by_curand", device, out);
    if (status != YP_OK)
        return status;
    if (yp_device_memory_kind(device) == YP_HOST)
        return yp_set_error(YP_UNSUPPORTED,
                            "synth_device_words_by_curand: device is %s: must be one of CUDA",
                            yp_device_name(device));
    struct synth_cuda_words words =
        words_of(stream, first, count, legacy ? SYNTH_CUDA_CURAND : SYNTH_CUDA_WORDS, out);
    return on_device(device, &words, true);
}
