/* The tiles of a mixing scene: fields, abundances, sensor. mixing.inc holds the code that is
 * compiled for each instruction set, this file the loops around it. */
#include "base/random/level.h"
#include "base/random/stream.h"
#include "synth/scene/internal.h"
#include "synth/scene/mixing_window.h"
#include "synth/scene/optics.h"

#include <math.h>

#define CHUNK 64                /* pixels whose coefficients are computed together */
#define CHUNK_VALUES 4096       /* about the most values of a chunk: they stay in cache */
#define GRAINS 128              /* normals drawn together */
#define NODES 34                /* nodes of a lattice row that are held at once */
#define LANES (3 * SYNTH_LANES) /* abundances and shade, psi's level, psi's shape */

/* The coefficients of the pixels of a chunk. */
struct chunk {
    float fill[CHUNK];   /* the target's part, 0 where there is none */
    uint8_t kind[CHUNK]; /* which target it would be */
    uint8_t valid[CHUNK];
    bool any_dead;
    int32_t node[CHUNK];    /* the first of its three nodes, counted from the lattice's first */
    float weight[3][CHUNK]; /* of the three */
    float grain[CHUNK];     /* of shade; 0 where there is none */
    float shade[CHUNK];
    float drawn[GRAINS];
    uint64_t group; /* whose grain is drawn, counted from 1 */
    float abundance[SYNTH_LAST][CHUNK];
    float level[SYNTH_LANES][CHUNK], slope[SYNTH_LANES][CHUNK]; /* of the rows of those tables */
};

/* Three neighbouring rows of the lattice from node `node` on, kept from one image row to the next.
 * A vector may begin at any node and reads two beyond its last: hence the capacity. */
#define ROW_CAPACITY (NODES + 18)
struct lattice {
    uint64_t row;
    size_t node, nodes; /* nodes 0: still empty */
    float rows[3][LANES][ROW_CAPACITY], blend[LANES][ROW_CAPACITY];
};

/* Which terms a pixel's values have; compile-time constants in each inlined copy but for `row`. */
struct variant {
    int endmembers; /* 6 or 7: rows that are not used are 0 */
    bool target, varies, columns;
    size_t row; /* of the target in the tables */
};
#define VARIANT(...) ((struct variant){__VA_ARGS__})

static int mixing_fields(const struct synth_scene *scene)
{
    return scene->spec.variability > 0 ? LANES : SYNTH_LANES;
}

#define V_LANES 1
#include "base/random/vector_scalar.h"

#include "synth/scene/mixing.inc"

#include "base/simd/vector_end.h"

#if defined(__x86_64__)
#define V_LANES 8
#include "base/simd/vector.h"

#include "synth/scene/mixing.inc"

#include "base/simd/vector_end.h"

#define V_LANES 16
#include "base/simd/vector.h"

#include "synth/scene/mixing.inc"

#include "base/simd/vector_end.h"
#endif

struct kernels {
    void (*blend)(const struct synth_scene *, size_t, struct lattice *);
    void (*mix)(const struct synth_scene *, uint64_t, size_t, size_t, const struct lattice *,
                struct chunk *);
    void (*values)(const struct synth_scene *, const struct chunk *, size_t, size_t, float *);
    float (*one)(const struct synth_scene *, const struct chunk *, size_t, size_t, size_t, float);
};

#define KERNELS(set) \
    static const struct kernels kernels_##set = {blend_##set, mix_##set, values_##set, one_##set}
KERNELS(baseline);
#if defined(__x86_64__)
KERNELS(avx2);
KERNELS(avx512);
#endif

static const struct kernels *kernels_of(const struct synth_scene *scene)
{
    static const struct ypi_simd_version versions[] = {YPI_SIMD_TABLE(kernels)};
    return ypi_level_kernels(versions, scene->spec.level);
}

/* -- rows --------------------------------------------------------------------------------- */

/* Draws the nodes of a lattice row for one purpose; normals come node by node and are transposed to
 * lane by lane. */
static void draw_nodes(const struct synth_spec *spec, struct ypi_stream stream, uint64_t first,
                       size_t nodes, float lanes[SYNTH_LANES][ROW_CAPACITY])
{
    float normals[NODES * SYNTH_LANES] __attribute__((aligned(64)));
    ypi_random_normals(spec->level, stream, first * SYNTH_LANES, nodes * SYNTH_LANES, normals);
    for (size_t node = 0; node < nodes; node++)
        for (int k = 0; k < SYNTH_LANES; k++)
            lanes[k][node] = normals[node * SYNTH_LANES + (size_t)k];
}

static void fill_lattice(const struct synth_scene *scene, uint64_t cube, uint64_t row, size_t node,
                         size_t nodes, struct lattice *lattice)
{
    static const enum synth_purpose purposes[] = {SYNTH_FIELD, SYNTH_PSI_LEVEL, SYNTH_PSI_SLOPE};
    const struct synth_spec *spec = &scene->spec;
    if (lattice->row == row && lattice->node == node && lattice->nodes >= nodes)
        return;
    uint64_t wide = synth_nodes_wide(spec->width, spec->correlation_px);
    uint64_t first = row * wide + node;
    for (int lane = 0; lane < mixing_fields(scene); lane += SYNTH_LANES) {
        struct ypi_stream stream = synth_stream(spec->seed, cube, purposes[lane / SYNTH_LANES]);
        for (int i = 0; i < 3; i++)
            draw_nodes(spec, stream, first + (uint64_t)i * wide, nodes, lattice->rows[i] + lane);
    }
    lattice->row = row;
    lattice->node = node;
    lattice->nodes = nodes;
}

/* Part of an image row whose lattice nodes are all held. */
struct segment {
    size_t row, column, pixels;
};

/* The longest segment that the lattice's capacity, the row's end and `pixels` allow. */
static struct segment next_segment(const struct synth_scene *scene, uint64_t cube, size_t pixel,
                                   size_t pixels, struct lattice *lattice)
{
    const struct synth_spec *spec = &scene->spec;
    size_t pitch = spec->correlation_px;
    struct segment s = {.row = pixel / spec->width, .column = pixel % spec->width};
    size_t limit = (NODES - 2) * pitch - s.column % pitch, left = spec->width - s.column;
    s.pixels = left < pixels ? left : pixels;
    s.pixels = s.pixels < limit ? s.pixels : limit;
    size_t node = s.column / pitch, last = (s.column + s.pixels - 1) / pitch;
    fill_lattice(scene, cube, s.row / pitch, node, last - node + 3, lattice);
    kernels_of(scene)->blend(scene, s.row, lattice);
    return s;
}

/* Zeros: vectors also read elements that were never written. */
static void start(struct lattice *lattice, struct chunk *chunk)
{
    memset(lattice, 0, sizeof *lattice);
    memset(chunk, 0, sizeof *chunk);
}

/* -- tiles -------------------------------------------------------------------------------- */

static void blank(const struct synth_scene *scene, size_t pixels, float *values)
{
    size_t channels = scene->spec.channels;
    for (size_t c = 0; c < channels; c++)
        for (size_t i = 0; i < pixels && !scene->good[c]; i++)
            values[i * channels + c] = 0.0f;
}

static void kill_pixels(const struct chunk *chunk, size_t channels, size_t pixels, float *values)
{
    for (size_t i = 0; i < pixels; i++)
        for (size_t c = 0; c < channels && !chunk->valid[i]; c++)
            values[i * channels + c] = NAN;
}

/* The truth of a chunk's first `pixels` pixels, from pixel `at` of the tile on. */
static void write_truth(const struct synth_spec *spec, const struct chunk *chunk, size_t pixels,
                        size_t at, const struct synth_truth *truth)
{
    for (size_t i = 0; truth->labels != NULL && i < pixels; i++)
        truth->labels[at + i] = chunk->fill[i] > 0.0f ? (uint8_t)(1 + chunk->kind[i]) : 0;
    if (truth->fill != NULL)
        memcpy(truth->fill + at, chunk->fill, pixels * sizeof *truth->fill);
    if (truth->valid != NULL)
        memcpy(truth->valid + at, chunk->valid, pixels);
    for (size_t i = 0; truth->abundances != NULL && i < pixels; i++)
        for (size_t k = 0; k < spec->endmembers; k++)
            truth->abundances[(at + i) * spec->endmembers + k] = chunk->abundance[k][i];
}

/* Up to CHUNK pixels of a segment; the first is number `pixel` of the cube. */
static void make_chunk(const struct synth_scene *scene, uint64_t cube, size_t pixel, size_t pixels,
                       const struct lattice *lattice, struct chunk *chunk, float *values)
{
    const struct synth_spec *spec = &scene->spec;
    size_t channels = spec->channels;
    kernels_of(scene)->mix(scene, cube, pixel, pixels, lattice, chunk);
    ypi_random_normals(spec->level, synth_stream(spec->seed, cube, SYNTH_NOISE),
                       (uint64_t)pixel * channels, pixels * channels, values);
    kernels_of(scene)->values(scene, chunk, pixel % spec->width, pixels, values);
    if (spec->blank_bands)
        blank(scene, pixels, values);
    if (chunk->any_dead)
        kill_pixels(chunk, channels, pixels, values);
}

void ypi_scene_tile(const struct synth_scene *scene, uint64_t cube, size_t first_pixel,
                    size_t pixels, float *values, const struct synth_truth *truth)
{
    const struct synth_spec *spec = &scene->spec;
    size_t limit = CHUNK_VALUES / spec->channels;
    limit = limit < 1 ? 1 : limit > CHUNK ? CHUNK : limit;
    struct lattice lattice;
    struct chunk chunk;
    start(&lattice, &chunk);
    for (size_t at = 0; at < pixels;) {
        struct segment s = next_segment(scene, cube, first_pixel + at, pixels - at, &lattice);
        for (size_t end = at + s.pixels; at < end;) {
            size_t take = end - at < limit ? end - at : limit;
            make_chunk(scene, cube, first_pixel + at, take, &lattice, &chunk,
                       values + at * spec->channels);
            write_truth(spec, &chunk, take, at, truth);
            at += take;
        }
    }
}

/* -- one channel -------------------------------------------------------------------------- */

static float one_value(const struct synth_scene *scene, uint64_t cube, size_t channel, size_t pixel,
                       const struct chunk *chunk, size_t i)
{
    const struct synth_spec *spec = &scene->spec;
    if (!chunk->valid[i])
        return NAN;
    if (spec->blank_bands && !scene->good[channel])
        return 0.0f;
    float z = ypi_random_normal(synth_stream(spec->seed, cube, SYNTH_NOISE),
                                (uint64_t)pixel * spec->channels + channel);
    return kernels_of(scene)->one(scene, chunk, i, pixel % spec->width, channel, z);
}

void ypi_scene_band(const struct synth_scene *scene, uint64_t cube, size_t channel,
                    size_t first_pixel, size_t pixels, float *values)
{
    struct lattice lattice;
    struct chunk chunk;
    start(&lattice, &chunk);
    for (size_t at = 0; at < pixels;) {
        size_t left = pixels - at < CHUNK ? pixels - at : CHUNK;
        size_t pixel = first_pixel + at;
        struct segment s = next_segment(scene, cube, pixel, left, &lattice);
        kernels_of(scene)->mix(scene, cube, pixel, s.pixels, &lattice, &chunk);
        for (size_t i = 0; i < s.pixels; i++)
            values[at + i] = one_value(scene, cube, channel, pixel + i, &chunk, i);
        at += s.pixels;
    }
}

/* -- for optics --------------------------------------------------------------------------- */

static void put_light(const struct synth_spec *spec, const struct chunk *chunk, size_t i, size_t at,
                      struct synth_ground_light *light)
{
    for (size_t k = 0; k < spec->endmembers; k++) {
        light->of[SYNTH_LEVELS + k][at] = chunk->level[k][i];
        light->of[SYNTH_SLOPES + k][at] = spec->variability > 0 ? chunk->slope[k][i] : 0.0f;
        light->of[SYNTH_SHARES + k][at] = chunk->shade[i] * chunk->abundance[k][i];
    }
    light->of[SYNTH_FILLS + chunk->kind[i]][at] = chunk->level[SYNTH_LAST][i];
}

void ypi_mixing_light(const struct synth_scene *scene, uint64_t cube, size_t pixel, size_t pixels,
                      struct synth_ground_light *light)
{
    struct lattice lattice;
    struct chunk chunk;
    start(&lattice, &chunk);
    memset(light, 0, sizeof *light);
    for (size_t at = 0; at < pixels;) {
        struct segment s = next_segment(scene, cube, pixel + at, pixels - at, &lattice);
        kernels_of(scene)->mix(scene, cube, pixel + at, s.pixels, &lattice, &chunk);
        for (size_t i = 0; i < s.pixels; i++)
            put_light(&scene->spec, &chunk, i, at + i, light);
        at += s.pixels;
    }
}

void ypi_mixing_truth(const struct synth_scene *scene, uint64_t cube, size_t pixel, size_t pixels,
                      size_t at, const struct synth_truth *truth)
{
    struct lattice lattice;
    struct chunk chunk;
    start(&lattice, &chunk);
    for (size_t done = 0; done < pixels;) {
        struct segment s = next_segment(scene, cube, pixel + done, pixels - done, &lattice);
        kernels_of(scene)->mix(scene, cube, pixel + done, s.pixels, &lattice, &chunk);
        write_truth(&scene->spec, &chunk, s.pixels, at + done, truth);
        done += s.pixels;
    }
}

void ypi_mixing_read(const struct synth_scene *scene, float *values)
{
    static const struct chunk nothing;
    kernels_of(scene)->values(scene, &nothing, 0, 1, values);
}
