/* A patch of SYNTH_SCENE in four steps, with a barrier after each: random numbers of the lattice
 * and of each pixel, the lattice interpolated for each row, the coefficients of each pixel, and the
 * values (scene_body.h). All but the values stays in shared memory. */
#pragma once

#include "synth/cuda/scene_ground.h"
#include "synth/scene/mixing_window.h"

#define V_LANES 1
#define V_SUFFIX cuda
#ifdef __CUDACC__
#define V_TARGET __host__ __device__
#else
#define V_TARGET
#endif
#include "base/random/vector_scalar.h"

#include "synth/scene/mixing_formulas.inc"

#define SIDE SYNTH_CUDA_SIDE
#define FIELDS SYNTH_CUDA_FIELDS
#define PURPOSES_OF_FIELDS 3

/* Random numbers of a pixel. */
struct synth_drawn {
    float grain;
    uint32_t target, fill, dead; /* words */
} __attribute__((aligned(16)));

/* 5 x 16 bytes: eight neighbours that read 16 bytes each use different banks of shared memory. */
struct synth_pixel {
    struct mixture_cuda mixture;
    uint32_t kind; /* 1 + the target's number, or 0; SYNTH_IS_DEAD */
    struct synth_drawn drawn;
} __attribute__((aligned(16)));
#define SYNTH_IS_DEAD 0x80000000u

struct synth_shared {
    struct synth_patch_row rows[SYNTH_CUDA_ROWS];
    /* Weights of the three nodes of a column, of a row; the fourth is padding. */
    float column_weights[SIDE][4], row_weights[SYNTH_CUDA_ROWS][4];
    int32_t column_node[SIDE],
        row_node[SYNTH_CUDA_ROWS]; /* the first of the three, from the patch's on */
};

/* Behind it in shared memory: pixels, patch_rows x SIDE; nodes, lattice_rows x lattice_columns x
 * FIELDS; interpolated rows, patch_rows x lattice_columns x FIELDS. */
YPI_INLINE struct synth_pixel *synth_pixels(struct synth_shared *shared)
{
    return (struct synth_pixel *)(void *)(shared + 1);
}

YPI_INLINE float *synth_lattice(const struct synth_cuda_scene *s, struct synth_shared *shared)
{
    return (float *)(void *)(synth_pixels(shared) + s->patch_rows * SIDE);
}

YPI_INLINE float *synth_blend(const struct synth_cuda_scene *s, struct synth_shared *shared)
{
    return synth_lattice(s, shared) + s->lattice_rows * s->lattice_columns.by * FIELDS;
}

YPI_INLINE size_t synth_shared_bytes(const struct synth_cuda_scene *s)
{
    size_t floats = ((size_t)s->lattice_rows + s->patch_rows) * s->lattice_columns.by * FIELDS;
    return sizeof(struct synth_shared) + s->patch_rows * SIDE * sizeof(struct synth_pixel) +
           floats * sizeof(float);
}

/* The number of nodes under pixels first .. first + side - 1, which end before `all`. */
YPI_INLINE uint32_t synth_nodes_under(uint32_t first, uint32_t all, uint32_t side,
                                      struct synth_divisor pitch)
{
    uint32_t last = all - first < side ? all - 1 : first + side - 1;
    return synth_divided(last, pitch) - synth_divided(first, pitch) + 3;
}

/* -- 1: random numbers of the lattice and of pixels ------------------------------------------ */

/* Threads 0 to 95 draw the lattice's normals, 96 to 127 compute nodes and weights, the others draw
 * the pixels' numbers. */
#define SYNTH_LATTICE_THREADS 96
#define SYNTH_FIRST_WORD_THREAD 128

/* Weights of the three nodes of pixel `first + i` of an image row or column; returns its first
 * node, counted from that of pixel `first`. */
YPI_INLINE int32_t synth_place(const struct synth_cuda_scene *s, uint32_t first, uint32_t i,
                               float weights[3])
{
    uint32_t cell = synth_divided(first + i, s->pitch);
    mixing_window((int32_t)(first + i - cell * s->pitch.by), (float)s->pitch.by, weights);
    return (int32_t)(cell - synth_divided(first, s->pitch));
}

/* Rows and columns i of the patch; i < 32. */
YPI_INLINE void synth_place_pixels(const struct synth_cuda_job *job,
                                   const struct synth_patch *patch, struct synth_shared *shared,
                                   uint32_t i)
{
    if (i < job->scene.patch_rows) {
        synth_patch_row(job, patch, i, SIDE, &shared->rows[i]);
        shared->row_node[i] = synth_place(&job->scene, patch->row, i, shared->row_weights[i]);
    }
    if (i < SIDE)
        shared->column_node[i] =
            synth_place(&job->scene, patch->column, i, shared->column_weights[i]);
}

/* Draws the lattice under the patch: a step draws four of the eight normals that a node has for one
 * purpose. */
YPI_INLINE void synth_draw_lattice(const struct synth_cuda_job *job,
                                   const struct synth_patch *patch, struct synth_shared *shared,
                                   uint32_t thread)
{
    const struct synth_cuda_scene *s = &job->scene;
    uint32_t parts = s->varies ? 2 * PURPOSES_OF_FIELDS : 2;
    uint32_t columns = synth_nodes_under(patch->column, s->width, SIDE, s->pitch);
    uint32_t rows = synth_nodes_under(patch->row, s->height, s->patch_rows, s->pitch);
    uint32_t above = synth_divided(patch->row, s->pitch);
    uint32_t left = synth_divided(patch->column, s->pitch);
    float *lattice = synth_lattice(s, shared);
    for (uint32_t i = thread; i < rows * s->lattice_columns.by * parts;
         i += SYNTH_LATTICE_THREADS) {
        uint32_t node = s->varies ? i / (2 * PURPOSES_OF_FIELDS) : i / 2, part = i - node * parts;
        uint32_t y = synth_divided(node, s->lattice_columns), x = node - y * s->lattice_columns.by;
        if (x >= columns)
            continue;
        uint32_t purpose = part < 2 ? SYNTH_FIELD : part < 4 ? SYNTH_PSI_LEVEL : SYNTH_PSI_SLOPE;
        uint64_t number = ypi_wide(above + y, s->lattice_width) + left + x;
        struct synth_four four = synth_four_normals(
            &s->keys, patch->cube * SYNTH_PURPOSES + purpose, 2 * number + part % 2);
        *(struct synth_four *)(void *)(lattice + (y * s->lattice_columns.by + x) * FIELDS +
                                       4 * part) = four;
    }
}

YPI_INLINE void synth_philox_of(const struct synth_cuda_scene *s, uint64_t subsequence,
                                uint64_t block, uint32_t words[4])
{
    ypi_philox_keyed(&s->keys, (uint32_t)block, (uint32_t)(block >> 32), (uint32_t)subsequence,
                     (uint32_t)(subsequence >> 32), words);
}

/* Draws the numbers of pixels 4 block .. 4 block + 3 of the cube. `first` is the index in `pixels`,
 * a row of the patch, of the first of them; those outside the row are skipped. */
YPI_INLINE void synth_draw_four(const struct synth_cuda_scene *s, uint64_t cube, uint64_t block,
                                int32_t first, struct synth_pixel *pixels)
{
    uint64_t stream = cube * SYNTH_PURPOSES;
    uint32_t target[8], dead[4] = {0, 0, 0, 0};
    struct synth_four grain = {{0.0f, 0.0f, 0.0f, 0.0f}};
    synth_philox_of(s, stream + SYNTH_TARGET, 2 * block, target);
    synth_philox_of(s, stream + SYNTH_TARGET, 2 * block + 1, target + 4);
    if (s->dead > 0)
        synth_philox_of(s, SYNTH_DEAD, block, dead);
    if (s->grain > 0 && s->grain_pitch.by == 1)
        grain = synth_four_normals(&s->keys, stream + SYNTH_GRAIN, block);
    YPI_UNROLL
    for (int32_t i = 0; i < 4; i++) {
        struct synth_drawn drawn = {grain.v[i], target[2 * i], target[2 * i + 1], dead[i]};
        if (first + i >= 0 && first + i < SIDE)
            pixels[first + i].drawn = drawn;
    }
}

/* Grain that is a field and targets of several pixels, where they are on, of the same pixels, which
 * are in this row of the image. The fill is drawn then, not the word that it is made of. */
YPI_INLINE void synth_ground_four(const struct synth_cuda_scene *s, const struct synth_patch *patch,
                                  uint32_t row, int32_t first, struct synth_pixel *pixels)
{
#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
    for (int32_t x = first; x < first + 4; x++)
        if (x >= 0 && x < SIDE) {
            struct synth_drawn *drawn = &pixels[x].drawn;
            uint32_t column = patch->column + (uint32_t)x;
            if (s->grain > 0 && s->grain_pitch.by > 1)
                drawn->grain = synth_grain_field(s, patch->cube, row, column);
            if (s->shapes.shape != SYNTH_PIXEL)
                drawn->fill = (uint32_t)ypi_bits_of(
                    synth_shape_fill(s, patch->cube, row, column, &drawn->target));
        }
}

/* Draws the numbers of all pixels; i counts the threads that do. Words come in fours that begin at
 * multiples of four, independently of where rows begin. */
YPI_INLINE void synth_draw_pixels(const struct synth_cuda_job *job, const struct synth_patch *patch,
                                  struct synth_shared *shared, uint32_t i)
{
    const struct synth_cuda_scene *s = &job->scene;
    bool aligned = s->width % 4 == 0;
    uint32_t fours = aligned ? SIDE / 4 : SIDE / 4 + 1;
    for (; i < s->patch_rows * fours; i += SYNTH_CUDA_THREADS - SYNTH_FIRST_WORD_THREAD) {
        uint32_t y = aligned ? i / (SIDE / 4) : i / (SIDE / 4 + 1), k = i - y * fours;
        uint64_t begin = (uint64_t)(patch->row + y) * s->width + patch->column;
        struct synth_pixel *pixels = synth_pixels(shared) + y * SIDE;
        int32_t first = (int32_t)(4 * k) - (int32_t)(begin % 4);
        if (patch->row + y >= s->height)
            continue;
        synth_draw_four(s, patch->cube, begin / 4 + k, first, pixels);
        if (s->grain_pitch.by > 1 || s->shapes.shape != SYNTH_PIXEL)
            synth_ground_four(s, patch, patch->row + y, first, pixels);
    }
}

YPI_INLINE void synth_begin_patch(const struct synth_cuda_job *job, const struct synth_patch *patch,
                                  struct synth_shared *shared, uint32_t thread)
{
    if (thread < SYNTH_LATTICE_THREADS)
        synth_draw_lattice(job, patch, shared, thread);
    else if (thread < SYNTH_FIRST_WORD_THREAD)
        synth_place_pixels(job, patch, shared, thread - SYNTH_LATTICE_THREADS);
    else
        synth_draw_pixels(job, patch, shared, thread - SYNTH_FIRST_WORD_THREAD);
}

/* -- 2: the lattice interpolated for each row ------------------------------------------------ */

/* Four fields interpolated from three nodes, which are `step` floats from each other. */
YPI_INLINE struct synth_four synth_fields(const float *at, uint32_t step, const float weight[3])
{
    struct synth_four a = *(const struct synth_four *)(const void *)at;
    struct synth_four b = *(const struct synth_four *)(const void *)(at + step);
    struct synth_four c = *(const struct synth_four *)(const void *)(at + 2 * step);
    YPI_UNROLL
    for (int k = 0; k < 4; k++)
        a.v[k] = blended_cuda(weight[0], a.v[k], weight[1], b.v[k], weight[2], c.v[k]);
    return a;
}

/* Eight threads share a row. */
YPI_INLINE void synth_blend_rows(const struct synth_cuda_job *job, const struct synth_patch *patch,
                                 struct synth_shared *shared, uint32_t thread)
{
    const struct synth_cuda_scene *s = &job->scene;
    uint32_t fours = (s->varies ? FIELDS : SYNTH_LANES) / 4, row = s->lattice_columns.by * FIELDS;
    uint32_t columns = synth_nodes_under(patch->column, s->width, SIDE, s->pitch);
    uint32_t y = thread / 8;
    if (y >= s->patch_rows || patch->row + y >= s->height)
        return;
    const float *lattice = synth_lattice(s, shared) + (uint32_t)shared->row_node[y] * row;
    float *blend = synth_blend(s, shared) + y * row;
    struct synth_four weight = *(const struct synth_four *)(const void *)shared->row_weights[y];
    for (uint32_t i = thread % 8; i < columns * fours; i += 8) {
        uint32_t place = fours == FIELDS / 4 ? 4 * i : i / 2 * FIELDS + 4 * (i % 2);
        struct synth_four four = synth_fields(lattice + place, row, weight.v);
        *(struct synth_four *)(void *)(blend + place) = four;
    }
}

/* -- 3: pixels ------------------------------------------------------------------------------ */

/* The truth of pixel `at` of the arrays. */
YPI_INLINE void synth_write_truth(const struct synth_cuda_job *job, uint64_t at, float fill,
                                  uint32_t kind, bool dead, const float *abundance)
{
    const struct synth_truth *truth = &job->tile.truth;
    uint32_t endmembers = job->scene.endmembers;
    if (truth->labels != NULL)
        truth->labels[at] = fill > 0.0f ? (uint8_t)(1 + kind) : 0;
    if (truth->fill != NULL)
        truth->fill[at] = fill;
    if (truth->valid != NULL)
        truth->valid[at] = !dead;
    YPI_UNROLL
    for (uint32_t k = 0; k < SYNTH_LAST; k++)
        if (truth->abundances != NULL && k < endmembers)
            truth->abundances[at * endmembers + k] = abundance[k];
}

/* Eight fields of a pixel; `at` is the first of them at its first node in an interpolated row. */
YPI_INLINE void synth_eight(const float *at, const float weight[3], float field[SYNTH_LANES])
{
    struct synth_four low = synth_fields(at, FIELDS, weight);
    struct synth_four high = synth_fields(at + 4, FIELDS, weight);
    YPI_UNROLL
    for (int k = 0; k < 4; k++) {
        field[k] = low.v[k];
        field[k + 4] = high.v[k];
    }
}

/* a: in, fields; out, abundances that sum to `total`. */
YPI_INLINE void synth_abundances(const struct synth_cuda_scene *s, int materials, float total,
                                 float a[SYNTH_LANES])
{
    uint32_t used = s->endmembers;
    if (used == (uint32_t)materials) { /* `materials` is a compile-time constant */
        YPI_UNROLL
        for (int k = materials; k < SYNTH_LANES; k++)
            a[k] = 0.0f;
        softmax_cuda(a, (size_t)materials, s->sharpness, total);
        return;
    }
    YPI_UNROLL
    for (uint32_t k = 0; k < SYNTH_LANES; k++)
        a[k] = k < used ? a[k] : 0.0f;
    softmax_cuda(a, used, s->sharpness, total);
}

/* The pixel's coefficients. a: abundances; field: the pixel's first field, as for synth_eight(). A
 * material that is not used gets 0. */
YPI_INLINE void synth_coefficients(const struct synth_cuda_scene *s, const float *field,
                                   const float weight[3], const float a[SYNTH_LANES], float shade,
                                   int materials, struct mixture_cuda *mixture)
{
    float h[SYNTH_LANES], g[SYNTH_LANES], level[SYNTH_LANES], slope[SYNTH_LANES];
    YPI_UNROLL
    for (int k = 0; k < SYNTH_LAST; k++) {
        level[k] = a[k] * shade;
        slope[k] = 0.0f;
    }
    if (s->varies) {
        synth_eight(field + SYNTH_LANES, weight, h);
        synth_eight(field + 2 * SYNTH_LANES, weight, g);
        YPI_UNROLL
        for (int k = 0; k < materials; k++) {
            slope[k] = level[k] * psi_cuda(g[k], s->half_variability);
            level[k] = varied_cuda(level[k], h[k], s->half_variability);
        }
    }
    YPI_UNROLL
    for (int k = 0; k < SYNTH_LAST; k++) {
        mixture->level[k] = level[k];
        mixture->slope[k] = slope[k];
    }
}

YPI_INLINE void synth_make_pixel(const struct synth_cuda_job *job, const struct synth_patch *patch,
                                 struct synth_shared *shared, uint32_t y, uint32_t x, int materials)
{
    const struct synth_cuda_scene *s = &job->scene;
    const struct synth_patch_row *row = &shared->rows[y];
    if (row->units == 0 || (int32_t)x < row->low || (int32_t)x >= row->high)
        return;
    struct synth_pixel *pixel = synth_pixels(shared) + y * SIDE + x;
    struct synth_drawn drawn = pixel->drawn;
    uint32_t kind = drawn.target % SYNTH_TARGETS;
    float fill = YPI_FMA(s->fill_span, ypi_uniform(drawn.fill), s->fill_low);
    fill = drawn.target < s->target ? fill : 0.0f;
    if (s->shapes.shape != SYNTH_PIXEL)
        fill = ypi_float_of((int32_t)drawn.fill);
    bool dead = drawn.dead < s->dead;

    const float *field = synth_blend(s, shared) +
                         (y * s->lattice_columns.by + (uint32_t)shared->column_node[x]) * FIELDS;
    struct synth_four weight = *(const struct synth_four *)(const void *)shared->column_weights[x];
    float a[SYNTH_LANES];
    synth_eight(field, weight.v, a);
    float shade = shade_cuda(s->shade, a[SYNTH_LAST], s->grain, drawn.grain);
    synth_abundances(s, materials, 1.0f - fill, a);

    struct synth_pixel made;
    synth_coefficients(s, field, weight.v, a, shade, materials, &made.mixture);
    made.mixture.level[SYNTH_LAST] = shade * fill;
    made.kind = (fill > 0.0f ? 1 + kind : 0) | (dead ? SYNTH_IS_DEAD : 0);
    made.drawn = drawn;
    *pixel = made;
    if (job->tile.wants_truth && patch->chunk == 0) {
        uint64_t number = (uint64_t)(patch->row + y) * s->width + patch->column + x;
        synth_write_truth(job, patch->index * job->tile.pixels + (number - job->tile.first), fill,
                          kind, dead, a);
    }
}

YPI_INLINE void synth_make_pixels(const struct synth_cuda_job *job, const struct synth_patch *patch,
                                  struct synth_shared *shared, uint32_t thread, int materials)
{
    for (uint32_t y = thread / SIDE; y < job->scene.patch_rows; y += SYNTH_CUDA_THREADS / SIDE)
        synth_make_pixel(job, patch, shared, y, thread % SIDE, materials);
}
