/* The mixing scene: endmember spectra, correlated abundances, shade, noise, rare targets. */
#include "scene_internal.h"
#include "stream.h"
#include "table.h"

#define CHUNK 64            /* pixels whose coefficients are made at once */
#define CHUNK_VALUES 8192   /* at most about so many values a chunk: they stay in cache */
#define SHARPNESS 2.0f      /* of the softmax */
#define WORDS_A_SPECTRUM 32 /* 17 used; room for more features without new spectra */

size_t ypi_mixing_floats(const struct synth_spec *spec)
{
    return SYNTH_LANES * synth_padded(spec->channels);
}

struct shape {
    double level, slope;
    double hump[2], hump_at[2], hump_width[2];
    double depth[3], dip_at[3], dip_width[3];
};

static double draw(const uint32_t **word, double low, double high)
{
    double u = ((double)*(*word)++ + 0.5) * 0x1p-32;
    return low + (high - low) * u;
}

/* The ranges keep the smooth part in 0.02 ... 0.88, so that nothing need be clipped. */
static struct shape draw_shape(const uint32_t *word)
{
    struct shape shape;
    shape.level = draw(&word, 0.3, 0.6);
    shape.slope = draw(&word, -0.16, 0.16);
    for (int i = 0; i < 2; i++) {
        shape.hump[i] = draw(&word, -0.1, 0.1);
        shape.hump_at[i] = draw(&word, 0.0, 1.0);
        shape.hump_width[i] = draw(&word, 0.1, 0.3);
    }
    for (int i = 0; i < 3; i++) {
        shape.depth[i] = draw(&word, 0.1, 0.5);
        shape.dip_at[i] = draw(&word, 0.0, 1.0);
        shape.dip_width[i] = draw(&word, 0.015, 0.075);
    }
    return shape;
}

static double bell(double x, double at, double width)
{
    double d = (x - at) / width;
    return synth_table_exp(-0.5 * d * d);
}

static double reflectance(const struct shape *shape, double x)
{
    double smooth = shape->level + shape->slope * (x - 0.5);
    for (int i = 0; i < 2; i++)
        smooth += shape->hump[i] * bell(x, shape->hump_at[i], shape->hump_width[i]);
    for (int i = 0; i < 3; i++)
        smooth *= 1.0 - shape->depth[i] * bell(x, shape->dip_at[i], shape->dip_width[i]);
    return smooth;
}

/* Row k of the table gets spectrum k of the seed; the mean over its channels is returned. */
static double fill_spectrum(struct synth_scene *scene, int k)
{
    uint32_t words[WORDS_A_SPECTRUM];
    synth_words(scene->spec.level, synth_stream(scene->spec.seed, 0, SYNTH_SPECTRA),
                (uint64_t)k * WORDS_A_SPECTRUM, WORDS_A_SPECTRUM, words);
    struct shape shape = draw_shape(words);
    float *row = scene->spectra + (size_t)k * scene->stride;
    size_t channels = scene->spec.channels;
    double sum = 0.0;
    for (size_t c = 0; c < channels; c++) {
        row[c] = (float)reflectance(&shape, channels > 1 ? (double)c / (double)(channels - 1) : 0);
        sum += row[c];
    }
    return sum / (double)channels;
}

void ypi_mixing_prepare(struct synth_scene *scene, float *tables)
{
    const struct synth_spec *spec = &scene->spec;
    scene->spectra = tables;
    memset(tables, 0, ypi_mixing_floats(spec) * sizeof *tables);
    double mean = 0.0;
    for (int k = 0; k < (int)spec->endmembers; k++)
        mean += fill_spectrum(scene, k);
    mean /= (double)spec->endmembers;
    fill_spectrum(scene, SYNTH_LAST);

    /* 10^(-snr/10) of the mean's square, half of it growing with the signal. */
    double variance =
        spec->snr_db > 0 ? mean * mean * synth_table_exp(-0.23025850929940457 * spec->snr_db) : 0;
    scene->photon = (float)(0.5 * variance / mean);
    scene->read = (float)(0.5 * variance);
    scene->threshold = (uint64_t)(spec->target_fraction * 0x1p32 + 0.5);
}

/* share[i]: the target's part of pixel i, 0 where there is none. */
SYNTH_INLINE void mixing_targets(const struct synth_scene *scene, uint64_t cube, uint64_t pixel,
                                 size_t pixels, float share[CHUNK])
{
    uint32_t words[2 * CHUNK] __attribute__((aligned(64)));
    synth_words_body(synth_stream(scene->spec.seed, cube, SYNTH_TARGET), 2 * pixel, 2 * pixels,
                     words);
    for (size_t i = 0; i < pixels; i++) {
        float f = SYNTH_FMA(0.95f, synth_uniform(words[2 * i + 1]), 0.05f);
        share[i] = words[2 * i] < scene->threshold ? f : 0.0f;
    }
}

/* Smoothstep: its slope is 0 at the nodes, so that fields have no creases there. */
SYNTH_INLINE float mixing_ease(int32_t rest, size_t pitch)
{
    float t = (float)rest / (float)pitch;
    return t * t * SYNTH_FMA(-2.0f, t, 3.0f);
}

/* Blends of the two lattice rows around `row`, at the nodes from `node` on. */
SYNTH_INLINE void mixing_nodes(const struct synth_scene *scene, uint64_t cube, size_t row,
                               size_t node, size_t nodes, float blend[(CHUNK + 1) * SYNTH_LANES])
{
    const struct synth_spec *spec = &scene->spec;
    struct synth_stream stream = synth_stream(spec->seed, cube, SYNTH_FIELD);
    float lower[(CHUNK + 1) * SYNTH_LANES] __attribute__((aligned(64)));
    size_t pitch = spec->correlation_px, count = nodes * SYNTH_LANES;
    uint64_t wide = (spec->width - 1) / pitch + 2; /* nodes in a lattice row */
    uint64_t first = ((row / pitch) * wide + node) * SYNTH_LANES;
    synth_normals_body(stream, first, count, blend);
    synth_normals_body(stream, first + wide * SYNTH_LANES, count, lower);
    float w = mixing_ease((int32_t)(row % pitch), pitch);
    for (size_t i = 0; i < count; i++)
        blend[i] = SYNTH_FMA(w, lower[i], (1.0f - w) * blend[i]);
}

/* What each spectrum of the table contributes to one pixel, from its fields. */
SYNTH_INLINE void mixing_pixel(const struct synth_spec *spec, const float field[SYNTH_LANES],
                               float share, float coefficients[SYNTH_LANES])
{
    float shade = SYNTH_FMA((float)spec->shade, field[SYNTH_LAST], 1.0f);
    shade = shade < 0.25f ? 0.25f : shade > 1.75f ? 1.75f : shade;
    float top = field[0] > field[1] ? field[0] : field[1];
    for (size_t k = 2; k < SYNTH_LAST; k++)
        top = k < spec->endmembers && field[k] > top ? field[k] : top;
    float e[SYNTH_LANES];
    for (size_t k = 0; k < SYNTH_LANES; k++) {
        float below = field[k] - top;
        below = below > 0.0f ? 0.0f : below; /* only in lanes that are not used */
        e[k] = k < spec->endmembers ? synth_exp(SHARPNESS * below) : 0.0f;
    }
    float sum = ((e[0] + e[1]) + (e[2] + e[3])) + ((e[4] + e[5]) + (e[6] + e[7]));
    float scale = shade * (1.0f - share) / sum;
    for (size_t k = 0; k < SYNTH_LANES; k++)
        coefficients[k] = e[k] * scale;
    coefficients[SYNTH_LAST] = shade * share;
}

/* Where between its two nodes each pixel of a row lies: the weight of the right one, and the factor
 * that keeps the variance 1 between the nodes too. A loop of its own, so that it vectorises. */
SYNTH_INLINE void mixing_places(size_t row, size_t column, size_t pixels, size_t pitch,
                                float weights[CHUNK], float norms[CHUNK])
{
    float wy = mixing_ease((int32_t)(row % pitch), pitch);
    float vy = SYNTH_FMA(wy, wy, (1.0f - wy) * (1.0f - wy));
    int32_t rest[CHUNK], first = (int32_t)(column % pitch);
    for (size_t i = 0; i < pixels; i++) {
        rest[i] = first;
        first = first + 1 == (int32_t)pitch ? 0 : first + 1;
    }
    for (size_t i = 0; i < pixels; i++) {
        float wx = mixing_ease(rest[i], pitch);
        float vx = SYNTH_FMA(wx, wx, (1.0f - wx) * (1.0f - wx));
        weights[i] = wx;
        norms[i] = 1.0f / SYNTH_SQRT(vx * vy);
    }
}

/* Coefficients of `pixels` pixels of one row. */
SYNTH_INLINE void mixing_coefficients(const struct synth_scene *scene, uint64_t cube, size_t row,
                                      size_t column, size_t pixels, const float share[CHUNK],
                                      float coefficients[CHUNK][SYNTH_LANES])
{
    size_t pitch = scene->spec.correlation_px, node = column / pitch, rest = column % pitch;
    float blend[(CHUNK + 1) * SYNTH_LANES] __attribute__((aligned(64)));
    float weights[CHUNK], norms[CHUNK];
    mixing_nodes(scene, cube, row, node, (column + pixels - 1) / pitch - node + 2, blend);
    mixing_places(row, column, pixels, pitch, weights, norms);
    const float *left = blend;
    for (size_t i = 0; i < pixels; i++) {
        float field[SYNTH_LANES], w = weights[i], norm = norms[i];
        for (int k = 0; k < SYNTH_LANES; k++)
            field[k] = SYNTH_FMA(w, left[k + SYNTH_LANES], (1.0f - w) * left[k]) * norm;
        mixing_pixel(&scene->spec, field, share[i], coefficients[i]);
        if (++rest == pitch) {
            rest = 0;
            left += SYNTH_LANES;
        }
    }
}

/* values holds standard normals on entry. */
SYNTH_INLINE void mixing_values(const struct synth_scene *scene, const float k[SYNTH_LANES],
                                float *restrict values)
{
    size_t stride = scene->stride, channels = scene->spec.channels;
    const float *restrict e = scene->spectra;
    float photon = scene->photon, read = scene->read;
    for (size_t c = 0; c < channels; c++) {
        float x = k[0] * e[c];
        x = SYNTH_FMA(k[1], e[stride + c], x);
        x = SYNTH_FMA(k[2], e[2 * stride + c], x);
        x = SYNTH_FMA(k[3], e[3 * stride + c], x);
        x = SYNTH_FMA(k[4], e[4 * stride + c], x);
        x = SYNTH_FMA(k[5], e[5 * stride + c], x);
        x = SYNTH_FMA(k[6], e[6 * stride + c], x);
        x = SYNTH_FMA(k[7], e[7 * stride + c], x);
        values[c] = SYNTH_FMA(SYNTH_SQRT(SYNTH_FMA(photon, x, read)), values[c], x);
    }
}

/* At most CHUNK pixels of one row. */
SYNTH_INLINE void mixing_chunk(const struct synth_scene *scene, uint64_t cube, size_t pixel,
                               size_t pixels, float *values, uint8_t *labels, float *fill)
{
    size_t channels = scene->spec.channels, width = scene->spec.width;
    float share[CHUNK], coefficients[CHUNK][SYNTH_LANES] __attribute__((aligned(64)));
    mixing_targets(scene, cube, pixel, pixels, share);
    mixing_coefficients(scene, cube, pixel / width, pixel % width, pixels, share, coefficients);
    synth_normals_body(synth_stream(scene->spec.seed, cube, SYNTH_NOISE),
                       (uint64_t)pixel * channels, pixels * channels, values);
    for (size_t i = 0; i < pixels; i++)
        mixing_values(scene, coefficients[i], values + i * channels);
    for (size_t i = 0; labels != NULL && i < pixels; i++)
        labels[i] = share[i] > 0.0f;
    if (fill != NULL)
        memcpy(fill, share, pixels * sizeof *fill);
}

SYNTH_INLINE void mixing_tile_body(const struct synth_scene *scene, uint64_t cube, size_t pixel,
                                   size_t pixels, float *values, uint8_t *labels, float *fill)
{
    size_t channels = scene->spec.channels, width = scene->spec.width;
    size_t most = CHUNK_VALUES / channels;
    most = most < 1 ? 1 : most > CHUNK ? CHUNK : most;
    while (pixels > 0) {
        size_t row_left = width - pixel % width;
        size_t take = pixels < most ? pixels : most;
        take = take < row_left ? take : row_left;
        mixing_chunk(scene, cube, pixel, take, values, labels, fill);
        pixel += take;
        pixels -= take;
        values += take * channels;
        labels = labels != NULL ? labels + take : NULL;
        fill = fill != NULL ? fill + take : NULL;
    }
}

SYNTH_VERSIONS(mixing_tile,
               (const struct synth_scene *scene, uint64_t cube, size_t pixel, size_t pixels,
                float *values, uint8_t *labels, float *fill),
               (scene, cube, pixel, pixels, values, labels, fill));

void ypi_mixing_tile(const struct synth_scene *scene, uint64_t cube, size_t first_pixel,
                     size_t pixels, float *values, uint8_t *labels, float *fill)
{
    mixing_tile_versions[scene->spec.level](scene, cube, first_pixel, pixels, values, labels, fill);
}
