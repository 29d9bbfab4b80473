/* The generator of the cuvis.ai stress suite; scene.h has its formula and its limits. */
#include "base/random/stream.h"
#include "synth/scene/cuvis_disc.h"
#include "synth/scene/internal.h"
#include "synth/scene/table.h"

#define CHUNK 4096        /* pixels whose mask is computed together */
#define NOISE_VALUES 8192 /* about the most noise values drawn together: they stay in cache */
#define PIXELS_A_DISC 20  /* wanted anomalous pixels per disc, as in the original generator */
#define DISCS 32          /* whose words are drawn together */

void ypi_cuvis_lay_out(struct synth_scene *scene, struct synth_tables *tables)
{
    const struct synth_spec *spec = &scene->spec;
    scene->spectra = ypi_synth_take(tables, 2 * scene->stride * sizeof(float));
    scene->row_gain = ypi_synth_take(tables, spec->height * sizeof(float));
    scene->column_gain = ypi_synth_take(tables, spec->width * sizeof(float));
}

void ypi_cuvis_prepare(struct synth_scene *scene)
{
    const struct synth_spec *spec = &scene->spec;
    size_t channels = spec->channels;
    float *normal = scene->spectra, *anomaly = scene->spectra + scene->stride;
    memset(scene->good, 1, channels);
    for (size_t c = 0; c < channels; c++) {
        double w = channels > 1 ? (double)c / (double)(channels - 1) : 0.0;
        scene->wavelengths[c] = (float)w;
        double d = w - 0.5, left = w - 0.3, right = w - 0.7;
        normal[c] = (float)(100.0 * synth_table_exp(-d * d / 0.1));
        anomaly[c] = (float)(100.0 * spec->anomaly_strength *
                             (0.5 * synth_table_exp(-left * left / 0.05) +
                              0.5 * synth_table_exp(-right * right / 0.05)));
    }
    for (size_t i = 0; i < spec->height; i++)
        scene->row_gain[i] =
            (float)(1.0 + 0.2 * synth_table_sin_turns((double)i / (double)spec->height));
    for (size_t j = 0; j < spec->width; j++)
        scene->column_gain[j] =
            (float)(1.0 + 0.2 * synth_table_cos_turns((double)j / (double)spec->width));
    scene->sigma = (float)(100.0 * spec->noise_std);
    double pixels = (double)spec->height * (double)spec->width;
    scene->discs = (uint64_t)(pixels * spec->anomaly_ratio) / PIXELS_A_DISC;
    if (scene->discs == 0 && spec->anomaly_ratio > 0)
        scene->discs = 1;
}

/* Marks the part of a disc that lies in pixels first .. first + pixels - 1 of the image. */
YPI_INLINE void cuvis_disc(const struct synth_spec *spec, const struct synth_disc *disc,
                           size_t first, size_t pixels, uint8_t *mask)
{
    int64_t height = (int64_t)spec->height, width = (int64_t)spec->width;
    int64_t begin = (int64_t)first, end = begin + (int64_t)pixels;
    for (int64_t dy = -disc->radius; dy <= disc->radius; dy++) {
        int64_t y = disc->row + dy, dx = synth_disc_reach(disc->radius, dy);
        if (y < 0 || y >= height || (y + 1) * width <= begin || y * width >= end)
            continue;
        int64_t from = disc->column - dx < 0 ? 0 : disc->column - dx;
        int64_t to = disc->column + dx + 1 > width ? width : disc->column + dx + 1;
        from = y * width + from < begin ? begin : y * width + from;
        to = y * width + to > end ? end : y * width + to;
        if (from < to)
            memset(mask + (from - begin), 1, (size_t)(to - from));
    }
}

YPI_INLINE void cuvis_mask(const struct synth_scene *scene, uint64_t cube, size_t first,
                           size_t pixels, uint8_t *mask)
{
    const struct synth_spec *spec = &scene->spec;
    struct ypi_stream stream = synth_stream(spec->seed, cube, SYNTH_DISCS);
    memset(mask, 0, pixels);
    for (uint64_t disc = 0; disc < scene->discs; disc += DISCS) {
        uint32_t words[DISCS][4];
        ypi_random_words(spec->level, stream, 4 * disc, DISCS * (size_t)4, words[0]);
        for (size_t d = 0; d < DISCS && disc + d < scene->discs; d++) {
            struct synth_disc at =
                synth_disc(words[d], (int64_t)spec->height, (int64_t)spec->width);
            cuvis_disc(spec, &at, first, pixels, mask);
        }
    }
}

/* values holds standard normals on entry. */
YPI_INLINE void cuvis_values(const struct synth_scene *scene, size_t pixel, uint8_t anomalous,
                             float *restrict values)
{
    size_t channels = scene->spec.channels, width = scene->spec.width;
    const float *restrict normal = scene->spectra;
    if (anomalous) {
        memcpy(values, normal + scene->stride, channels * sizeof *values);
        return;
    }
    float bright = scene->row_gain[pixel / width] * scene->column_gain[pixel % width];
    float sigma = scene->sigma;
    for (size_t c = 0; c < channels; c++)
        values[c] = YPI_FMA(sigma, values[c], normal[c] * bright);
}

/* At most CHUNK pixels. */
YPI_INLINE void cuvis_chunk(const struct synth_scene *scene, uint64_t cube, size_t first,
                            size_t pixels, float *values, uint8_t mask[CHUNK])
{
    size_t channels = scene->spec.channels;
    size_t limit = NOISE_VALUES / channels < 1 ? 1 : NOISE_VALUES / channels;
    struct ypi_stream noise = synth_stream(scene->spec.seed, cube, SYNTH_NOISE);
    cuvis_mask(scene, cube, first, pixels, mask);
    for (size_t i = 0; i < pixels; i += limit) {
        size_t take = pixels - i < limit ? pixels - i : limit;
        ypi_random_normals(scene->spec.level, noise, (uint64_t)(first + i) * channels,
                           take * channels, values + i * channels);
        for (size_t j = i; j < i + take; j++)
            cuvis_values(scene, first + j, mask[j], values + j * channels);
    }
}

YPI_INLINE void cuvis_tile(const struct synth_scene *scene, uint64_t cube, size_t pixel,
                           size_t pixels, float *values, const struct synth_truth *truth)
{
    uint8_t mask[CHUNK];
    for (size_t i = 0; i < pixels; i += CHUNK) {
        size_t count = pixels - i < CHUNK ? pixels - i : CHUNK;
        cuvis_chunk(scene, cube, pixel + i, count, values + i * scene->spec.channels, mask);
        if (truth->labels != NULL)
            memcpy(truth->labels + i, mask, count);
        for (size_t j = 0; truth->fill != NULL && j < count; j++)
            truth->fill[i + j] = mask[j];
    }
    if (truth->valid != NULL)
        memset(truth->valid, 1, pixels);
}

YPI_SIMD_VERSIONS(void, tile,
                  (const struct synth_scene *scene, uint64_t cube, size_t pixel, size_t pixels,
                   float *values, const struct synth_truth *truth),
                  cuvis_tile(scene, cube, pixel, pixels, values, truth))

YPI_INLINE void cuvis_band(const struct synth_scene *scene, uint64_t cube, size_t channel,
                           size_t pixel, size_t pixels, float *values)
{
    const struct synth_spec *spec = &scene->spec;
    struct ypi_stream noise = synth_stream(spec->seed, cube, SYNTH_NOISE);
    uint8_t mask[CHUNK];
    for (size_t i = 0; i < pixels; i++) {
        size_t at = pixel + i;
        if (i % CHUNK == 0)
            cuvis_mask(scene, cube, at, pixels - i < CHUNK ? pixels - i : CHUNK, mask);
        float bright = scene->row_gain[at / spec->width] * scene->column_gain[at % spec->width];
        float z = ypi_random_normal(noise, (uint64_t)at * spec->channels + channel);
        float normal = scene->spectra[channel], anomaly = scene->spectra[scene->stride + channel];
        values[i] = mask[i % CHUNK] ? anomaly : YPI_FMA(scene->sigma, z, normal * bright);
    }
}

YPI_SIMD_VERSIONS(void, band,
                  (const struct synth_scene *scene, uint64_t cube, size_t channel, size_t pixel,
                   size_t pixels, float *values),
                  cuvis_band(scene, cube, channel, pixel, pixels, values))

struct kernels {
    void (*tile)(const struct synth_scene *, uint64_t, size_t, size_t, float *,
                 const struct synth_truth *);
    void (*band)(const struct synth_scene *, uint64_t, size_t, size_t, size_t, float *);
};

static const struct kernels kernels_baseline = {tile_baseline, band_baseline};
#if defined(__x86_64__)
static const struct kernels kernels_avx2 = {tile_avx2, band_avx2};
static const struct kernels kernels_avx512 = {tile_avx512, band_avx512};
#endif

static const struct kernels *kernels_of(const struct synth_scene *scene)
{
    static const struct ypi_simd_version versions[] = {YPI_SIMD_TABLE(kernels)};
    return ypi_level_kernels(versions, scene->spec.level);
}

void ypi_cuvis_tile(const struct synth_scene *scene, uint64_t cube, size_t first_pixel,
                    size_t pixels, float *values, const struct synth_truth *truth)
{
    kernels_of(scene)->tile(scene, cube, first_pixel, pixels, values, truth);
}

void ypi_cuvis_band(const struct synth_scene *scene, uint64_t cube, size_t channel,
                    size_t first_pixel, size_t pixels, float *values)
{
    kernels_of(scene)->band(scene, cube, channel, first_pixel, pixels, values);
}
