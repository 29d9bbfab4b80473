/* The tiles of a mixing scene: fields, abundances, what the sensor makes of them. */
#include "scene_internal.h"
#include "stream.h"

#include <math.h>

#define CHUNK 64          /* pixels whose coefficients are made at once */
#define CHUNK_VALUES 4096 /* at most about so many values a chunk: they stay in cache */
#define NODES 34          /* of a lattice row that are there at once */
#define FIELDS 3          /* abundances and shade, psi's level, psi's slope: SYNTH_LANES each */

struct coefficients {
    float level[SYNTH_LANES], slope[SYNTH_LANES]; /* of the rows of those tables */
};

/* -- what a pixel is ---------------------------------------------------------------------- */

/* share[i]: the target's part of pixel i, 0 where there is none. */
SYNTH_INLINE void mixing_targets(const struct synth_scene *scene, uint64_t cube, uint64_t pixel,
                                 size_t pixels, float share[CHUNK])
{
    uint32_t words[2 * CHUNK] __attribute__((aligned(64)));
    float low = (float)scene->spec.fill_low, span = (float)scene->spec.fill_high - low;
    synth_words(scene->spec.level, synth_stream(scene->spec.seed, cube, SYNTH_TARGET), 2 * pixel,
                2 * pixels, words);
    for (size_t i = 0; i < pixels; i++) {
        float f = SYNTH_FMA(span, synth_uniform(words[2 * i + 1]), low);
        share[i] = words[2 * i] < scene->target ? f : 0.0f;
    }
}

/* valid[i]: whether pixel i is alive; false when all are. */
SYNTH_INLINE bool mixing_dead(const struct synth_scene *scene, uint64_t pixel, size_t pixels,
                              uint8_t valid[CHUNK])
{
    uint32_t words[CHUNK] __attribute__((aligned(64)));
    uint32_t any = 0;
    memset(valid, 1, pixels);
    if (scene->dead == 0)
        return false;
    synth_words(scene->spec.level, synth_stream(scene->spec.seed, 0, SYNTH_DEAD), pixel, pixels,
                words);
    for (size_t i = 0; i < pixels; i++) {
        valid[i] = words[i] >= scene->dead;
        any |= !valid[i];
    }
    return any != 0;
}

/* -- fields ------------------------------------------------------------------------------- */

/* Two neighbouring rows of the lattice, from a node on; kept from one image row to the next. */
struct lattice {
    uint64_t row;
    size_t node, nodes; /* nodes 0: nothing is there yet */
    float upper[FIELDS][NODES * SYNTH_LANES] __attribute__((aligned(64)));
    float lower[FIELDS][NODES * SYNTH_LANES] __attribute__((aligned(64)));
    float blend[FIELDS][NODES * SYNTH_LANES] __attribute__((aligned(64)));
};

SYNTH_INLINE int mixing_fields(const struct synth_scene *scene)
{
    return scene->spec.variability > 0 ? FIELDS : 1;
}

SYNTH_INLINE void mixing_lattice(const struct synth_scene *scene, uint64_t cube, uint64_t row,
                                 size_t node, size_t nodes, struct lattice *lattice)
{
    static const enum synth_purpose purposes[FIELDS] = {SYNTH_FIELD, SYNTH_PSI_LEVEL,
                                                        SYNTH_PSI_SLOPE};
    const struct synth_spec *spec = &scene->spec;
    if (lattice->row == row && lattice->node == node && lattice->nodes >= nodes)
        return;
    uint64_t wide = (spec->width - 1) / spec->correlation_px + 2; /* nodes in a lattice row */
    uint64_t first = (row * wide + node) * SYNTH_LANES;
    for (int i = 0; i < mixing_fields(scene); i++) {
        struct synth_stream stream = synth_stream(spec->seed, cube, purposes[i]);
        synth_normals(spec->level, stream, first, nodes * SYNTH_LANES, lattice->upper[i]);
        synth_normals(spec->level, stream, first + wide * SYNTH_LANES, nodes * SYNTH_LANES,
                      lattice->lower[i]);
    }
    lattice->row = row;
    lattice->node = node;
    lattice->nodes = nodes;
}

/* Smoothstep: its slope is 0 at the nodes, so that fields have no creases there. */
SYNTH_INLINE float mixing_ease(int32_t rest, float pitch)
{
    float t = (float)rest / pitch;
    return t * t * SYNTH_FMA(-2.0f, t, 3.0f);
}

SYNTH_INLINE void mixing_blend(const struct synth_scene *scene, size_t row, struct lattice *lattice)
{
    size_t pitch = scene->spec.correlation_px;
    float w = mixing_ease((int32_t)(row % pitch), (float)pitch);
    for (int f = 0; f < mixing_fields(scene); f++)
        for (size_t i = 0; i < lattice->nodes * SYNTH_LANES; i++)
            lattice->blend[f][i] =
                SYNTH_FMA(w, lattice->lower[f][i], (1.0f - w) * lattice->upper[f][i]);
}

/* Where between its two nodes each pixel of a row lies: the weight of the right one, and the factor
 * that keeps the variance 1 between the nodes too. A loop of its own, so that it vectorises. */
SYNTH_INLINE void mixing_places(size_t row, size_t column, size_t pixels, size_t pitch,
                                float weights[CHUNK], float norms[CHUNK])
{
    float wy = mixing_ease((int32_t)(row % pitch), (float)pitch);
    float vy = SYNTH_FMA(wy, wy, (1.0f - wy) * (1.0f - wy));
    int32_t rest[CHUNK], first = (int32_t)(column % pitch);
    for (size_t i = 0; i < pixels; i++) {
        rest[i] = first;
        first = first + 1 == (int32_t)pitch ? 0 : first + 1;
    }
    for (size_t i = 0; i < pixels; i++) {
        float wx = mixing_ease(rest[i], (float)pitch);
        float vx = SYNTH_FMA(wx, wx, (1.0f - wx) * (1.0f - wx));
        weights[i] = wx;
        norms[i] = 1.0f / SYNTH_SQRT(vx * vy);
    }
}

/* -- coefficients ------------------------------------------------------------------------- */

/* A field halved and clamped, times half the variability. */
SYNTH_INLINE float mixing_psi(float field, float half_variability)
{
    float h = 0.5f * field;
    h = h < -1.0f ? -1.0f : h > 1.0f ? 1.0f : h;
    return h * half_variability;
}

/* e[k] = (1 - share) a_k, 0 in lanes that are not used. */
SYNTH_INLINE void mixing_abundances(const struct synth_spec *spec, const float field[SYNTH_LANES],
                                    float share, float e[SYNTH_LANES])
{
    float top = field[0] > field[1] ? field[0] : field[1];
    for (size_t k = 2; k < SYNTH_LAST; k++)
        top = k < spec->endmembers && field[k] > top ? field[k] : top;
    for (size_t k = 0; k < SYNTH_LANES; k++) {
        float below = field[k] - top;
        below = below > 0.0f ? 0.0f : below; /* only in lanes that are not used */
        e[k] = k < spec->endmembers ? synth_exp((float)spec->sharpness * below) : 0.0f;
    }
    float sum = ((e[0] + e[1]) + (e[2] + e[3])) + ((e[4] + e[5]) + (e[6] + e[7]));
    float scale = (1.0f - share) / sum;
    for (size_t k = 0; k < SYNTH_LANES; k++)
        e[k] *= scale;
}

/* `fields` as mixing_fields() says: the last two may be missing. */
SYNTH_INLINE void mixing_pixel(const struct synth_spec *spec, float field[FIELDS][SYNTH_LANES],
                               int fields, float share, struct coefficients *out,
                               float e[SYNTH_LANES])
{
    float shade = SYNTH_FMA((float)spec->shade, field[0][SYNTH_LAST], 1.0f);
    shade = shade < 0.25f ? 0.25f : shade > 1.75f ? 1.75f : shade;
    mixing_abundances(spec, field[0], share, e);
    float half = 0.5f * (float)spec->variability;
    for (size_t k = 0; k < SYNTH_LANES; k++) {
        float lit = e[k] * shade;
        out->level[k] = fields > 1 ? lit * (1.0f + mixing_psi(field[1][k], half)) : lit;
        out->slope[k] = fields > 1 ? lit * mixing_psi(field[2][k], half) : 0.0f;
    }
    out->level[SYNTH_LAST] = shade * share;
}

/* Of at most CHUNK pixels of one row whose lattice is there; abundances may be NULL. */
SYNTH_INLINE void mixing_coefficients(const struct synth_scene *scene,
                                      const struct lattice *lattice, size_t row, size_t column,
                                      size_t pixels, const float share[CHUNK],
                                      struct coefficients out[CHUNK], float *abundances)
{
    const struct synth_spec *spec = &scene->spec;
    size_t pitch = spec->correlation_px, rest = column % pitch;
    size_t at = (column / pitch - lattice->node) * SYNTH_LANES;
    int fields = mixing_fields(scene);
    float weights[CHUNK], norms[CHUNK];
    mixing_places(row, column, pixels, pitch, weights, norms);
    for (size_t i = 0; i < pixels; i++) {
        float field[FIELDS][SYNTH_LANES], e[SYNTH_LANES], w = weights[i], norm = norms[i];
        for (int f = 0; f < fields; f++) {
            const float *left = lattice->blend[f] + at;
            for (int k = 0; k < SYNTH_LANES; k++)
                field[f][k] = SYNTH_FMA(w, left[k + SYNTH_LANES], (1.0f - w) * left[k]) * norm;
        }
        mixing_pixel(spec, field, fields, share[i], &out[i], e);
        for (size_t k = 0; abundances != NULL && k < spec->endmembers; k++)
            *abundances++ = e[k];
        if (++rest == pitch) {
            rest = 0;
            at += SYNTH_LANES;
        }
    }
}

/* -- values ------------------------------------------------------------------------------- */

/* One channel of one pixel from its noise z. */
SYNTH_INLINE float mixing_value(const struct synth_scene *scene, const struct coefficients *k,
                                bool varies, const uint32_t *column, size_t c, float z)
{
    size_t stride = scene->stride;
    const float *e = scene->levels + c, *s = scene->slopes + c;
    float x = SYNTH_FMA(k->level[0], e[0], scene->path[c]);
    for (size_t i = 1; i < SYNTH_LANES; i++)
        x = SYNTH_FMA(k->level[i], e[i * stride], x);
    for (size_t i = 0; i < SYNTH_LAST && varies; i++)
        x = SYNTH_FMA(k->slope[i], s[i * stride], x);
    x = SYNTH_FMA(SYNTH_SQRT(SYNTH_FMA(scene->photon, x, scene->read)), z, x);
    if (column != NULL) {
        float gain = synth_float((int32_t)(column[c] & 0xffff0000u));
        float offset = synth_float((int32_t)(column[c] << 16));
        x = SYNTH_FMA(x, gain, x) + offset;
    }
    x = (x + scene->magic) - scene->magic;
    x = x < scene->low ? scene->low : x;
    return x > scene->high ? scene->high : x;
}

/* values holds standard normals on entry. `varies` and `column` are constants to the compiler where
 * this is inlined. */
SYNTH_INLINE void mixing_values(const struct synth_scene *scene, const struct coefficients *given,
                                bool varies, const uint32_t *restrict column,
                                float *restrict values)
{
    const struct coefficients k = *given;
    const struct synth_scene s = *scene; /* not behind a pointer that a store might change */
    for (size_t c = 0; c < s.spec.channels; c++)
        values[c] = mixing_value(&s, &k, varies, column, c, values[c]);
}

SYNTH_INLINE void mixing_pixel_values(const struct synth_scene *scene, const struct coefficients *k,
                                      size_t column, float *values)
{
    bool varies = mixing_fields(scene) > 1;
    if (varies && scene->columns != NULL)
        mixing_values(scene, k, true, scene->columns + column * scene->stride, values);
    else if (varies)
        mixing_values(scene, k, true, NULL, values);
    else if (scene->columns != NULL)
        mixing_values(scene, k, false, scene->columns + column * scene->stride, values);
    else
        mixing_values(scene, k, false, NULL, values);
}

static void blank(const struct synth_scene *scene, size_t pixels, float *values)
{
    size_t channels = scene->spec.channels;
    for (size_t c = 0; c < channels; c++)
        for (size_t i = 0; i < pixels && !scene->good[c]; i++)
            values[i * channels + c] = 0.0f;
}

static void kill_pixels(const struct synth_scene *scene, const uint8_t *valid, size_t pixels,
                        float *values)
{
    size_t channels = scene->spec.channels;
    for (size_t i = 0; i < pixels; i++)
        for (size_t c = 0; c < channels && !valid[i]; c++)
            values[i * channels + c] = NAN;
}

/* -- tiles -------------------------------------------------------------------------------- */

/* What comes out of a chunk; the truth's pointers may be NULL. */
struct output {
    float *values;
    struct synth_truth truth;
};

SYNTH_INLINE void mixing_advance(struct output *out, const struct synth_spec *spec, size_t pixels)
{
    struct synth_truth *truth = &out->truth;
    out->values += pixels * spec->channels;
    truth->labels = truth->labels != NULL ? truth->labels + pixels : NULL;
    truth->fill = truth->fill != NULL ? truth->fill + pixels : NULL;
    truth->valid = truth->valid != NULL ? truth->valid + pixels : NULL;
    truth->abundances =
        truth->abundances != NULL ? truth->abundances + pixels * spec->endmembers : NULL;
}

/* At most CHUNK pixels of one row whose lattice is there. */
SYNTH_INLINE void mixing_chunk(const struct synth_scene *scene, uint64_t cube, size_t pixel,
                               size_t pixels, const struct lattice *lattice,
                               const struct output *out)
{
    const struct synth_spec *spec = &scene->spec;
    size_t channels = spec->channels, row = pixel / spec->width, column = pixel % spec->width;
    float share[CHUNK];
    uint8_t valid[CHUNK];
    struct coefficients coefficients[CHUNK];
    mixing_targets(scene, cube, pixel, pixels, share);
    bool any_dead = mixing_dead(scene, pixel, pixels, valid);
    mixing_coefficients(scene, lattice, row, column, pixels, share, coefficients,
                        out->truth.abundances);
    synth_normals(spec->level, synth_stream(spec->seed, cube, SYNTH_NOISE),
                  (uint64_t)pixel * channels, pixels * channels, out->values);
    for (size_t i = 0; i < pixels; i++)
        mixing_pixel_values(scene, &coefficients[i], column + i, out->values + i * channels);
    if (spec->blank_bands)
        blank(scene, pixels, out->values);
    if (any_dead)
        kill_pixels(scene, valid, pixels, out->values);
    for (size_t i = 0; out->truth.labels != NULL && i < pixels; i++)
        out->truth.labels[i] = share[i] > 0.0f;
    if (out->truth.fill != NULL)
        memcpy(out->truth.fill, share, pixels * sizeof *share);
    if (out->truth.valid != NULL)
        memcpy(out->truth.valid, valid, pixels);
}

/* Pixels of one row that the lattice's room and what is left of row and tile allow. */
SYNTH_INLINE size_t mixing_segment(const struct synth_spec *spec, size_t column, size_t pixels)
{
    size_t pitch = spec->correlation_px, left = spec->width - column;
    size_t most = (NODES - 1) * pitch - column % pitch;
    left = left < pixels ? left : pixels;
    return left < most ? left : most;
}

SYNTH_INLINE void mixing_tile_body(const struct synth_scene *scene, uint64_t cube, size_t pixel,
                                   size_t pixels, float *values, const struct synth_truth *truth)
{
    const struct synth_spec *spec = &scene->spec;
    size_t pitch = spec->correlation_px, width = spec->width;
    size_t most = CHUNK_VALUES / spec->channels;
    most = most < 1 ? 1 : most > CHUNK ? CHUNK : most;
    struct lattice lattice;
    struct output out = {values, *truth};
    lattice.nodes = 0;
    while (pixels > 0) {
        size_t row = pixel / width, column = pixel % width, node = column / pitch;
        size_t segment = mixing_segment(spec, column, pixels);
        mixing_lattice(scene, cube, row / pitch, node, (column + segment - 1) / pitch - node + 2,
                       &lattice);
        mixing_blend(scene, row, &lattice);
        for (size_t i = 0; i < segment; i += most) {
            size_t take = segment - i < most ? segment - i : most;
            mixing_chunk(scene, cube, pixel + i, take, &lattice, &out);
            mixing_advance(&out, spec, take);
        }
        pixel += segment;
        pixels -= segment;
    }
}

SYNTH_VERSIONS(mixing_tile,
               (const struct synth_scene *scene, uint64_t cube, size_t pixel, size_t pixels,
                float *values, const struct synth_truth *truth),
               (scene, cube, pixel, pixels, values, truth));

void ypi_scene_tile(const struct synth_scene *scene, uint64_t cube, size_t first_pixel,
                    size_t pixels, float *values, const struct synth_truth *truth)
{
    mixing_tile_versions[scene->spec.level](scene, cube, first_pixel, pixels, values, truth);
}

/* -- one channel -------------------------------------------------------------------------- */

SYNTH_INLINE float mixing_one(const struct synth_scene *scene, uint64_t cube, size_t channel,
                              size_t pixel, const struct coefficients *k)
{
    const struct synth_spec *spec = &scene->spec;
    const uint32_t *columns = scene->columns;
    if (columns != NULL)
        columns += pixel % spec->width * scene->stride;
    float z = synth_normal(synth_stream(spec->seed, cube, SYNTH_NOISE),
                           (uint64_t)pixel * spec->channels + channel);
    return mixing_value(scene, k, mixing_fields(scene) > 1, columns, channel, z);
}

SYNTH_INLINE void mixing_band_body(const struct synth_scene *scene, uint64_t cube, size_t channel,
                                   size_t pixel, size_t pixels, float *values)
{
    const struct synth_spec *spec = &scene->spec;
    size_t pitch = spec->correlation_px, width = spec->width;
    struct lattice lattice;
    lattice.nodes = 0;
    while (pixels > 0) {
        size_t row = pixel / width, column = pixel % width, node = column / pitch;
        size_t segment = mixing_segment(spec, column, pixels < CHUNK ? pixels : CHUNK);
        float share[CHUNK];
        uint8_t valid[CHUNK];
        struct coefficients coefficients[CHUNK];
        mixing_lattice(scene, cube, row / pitch, node, (column + segment - 1) / pitch - node + 2,
                       &lattice);
        mixing_blend(scene, row, &lattice);
        mixing_targets(scene, cube, pixel, segment, share);
        mixing_dead(scene, pixel, segment, valid);
        mixing_coefficients(scene, &lattice, row, column, segment, share, coefficients, NULL);
        for (size_t i = 0; i < segment; i++) {
            values[i] = mixing_one(scene, cube, channel, pixel + i, &coefficients[i]);
            values[i] = spec->blank_bands && !scene->good[channel] ? 0.0f : values[i];
            values[i] = valid[i] ? values[i] : NAN;
        }
        pixel += segment;
        pixels -= segment;
        values += segment;
    }
}

SYNTH_VERSIONS(mixing_band,
               (const struct synth_scene *scene, uint64_t cube, size_t channel, size_t pixel,
                size_t pixels, float *values),
               (scene, cube, channel, pixel, pixels, values));

void ypi_scene_band(const struct synth_scene *scene, uint64_t cube, size_t channel,
                    size_t first_pixel, size_t pixels, float *values)
{
    mixing_band_versions[scene->spec.level](scene, cube, channel, first_pixel, pixels, values);
}
