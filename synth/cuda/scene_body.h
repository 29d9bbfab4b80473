/*
 * A patch of SYNTH_SCENE in four steps, with a barrier after each: the lattice under it, the
 * lattice blended for each row, the coefficients of each pixel, the values. All but the values
 * stays in shared memory.
 */
#ifndef YIELDPOINT_SYNTH_CUDA_SCENE_BODY_H
#define YIELDPOINT_SYNTH_CUDA_SCENE_BODY_H

#include "../mixing_spline.h"
#include "patch.h"

#define SYNTH_VECTOR 1
#ifdef __CUDACC__
#define TARGET __host__ __device__
#else
#define TARGET
#endif
#define NAME(name) name##_cuda
#include "../mixing_formulas.inc"

#define SIDE SYNTH_CUDA_SIDE
#define FIELDS SYNTH_CUDA_FIELDS
#define PURPOSES_OF_FIELDS 3

#define SYNTH_NAN_BITS 0x7fc00000

/* What is summed up at a pixel. Five times 16 bytes, so that eight neighbours read 16 bytes each
 * from banks of their own. */
struct synth_pixel {
    struct mixture_cuda mixture;
    uint32_t kind; /* 1 + the target's number, or 0; SYNTH_IS_DEAD */
    uint32_t unused[4];
} __attribute__((aligned(16)));
#define SYNTH_IS_DEAD 0x80000000u

struct synth_shared {
    struct synth_patch_row rows[SIDE];
    float across[SIDE][3], down[SIDE][3]; /* what the nodes weigh in a column, in a row */
    int32_t left[SIDE], above[SIDE];      /* the first of the three, counted from the patch's */
    struct synth_pixel pixels[SIDE * SIDE];
};

/* After it: nodes x nodes x FIELDS, then blended rows: SIDE x nodes x FIELDS. */
SYNTH_INLINE float *synth_lattice(struct synth_shared *shared)
{
    return (float *)(void *)(shared + 1);
}

SYNTH_INLINE float *synth_blend(const struct synth_cuda_scene *s, struct synth_shared *shared)
{
    return synth_lattice(shared) + (size_t)s->nodes * s->nodes * FIELDS;
}

/* How many nodes lie under `side` pixels from `first` on, of `all`. */
SYNTH_INLINE uint32_t synth_nodes_under(uint32_t first, uint32_t all, uint32_t pitch)
{
    uint32_t last = all - first < SIDE ? all - 1 : first + SIDE - 1;
    return last / pitch - first / pitch + 3;
}

/* -- 1: the lattice ------------------------------------------------------------------------- */

SYNTH_INLINE void synth_place_pixels(const struct synth_cuda_job *job,
                                     const struct synth_patch *patch, struct synth_shared *shared,
                                     uint32_t thread)
{
    uint32_t pitch = job->scene.pitch;
    if (thread < SIDE) {
        uint32_t column = patch->column + thread;
        synth_patch_row(job, patch, thread, SIDE, &shared->rows[thread]);
        mixing_spline((int32_t)(column % pitch), (float)pitch, shared->across[thread]);
        shared->left[thread] = (int32_t)(column / pitch - patch->column / pitch);
    } else if (thread < 2 * SIDE) {
        uint32_t y = thread - SIDE, row = patch->row + y;
        mixing_spline((int32_t)(row % pitch), (float)pitch, shared->down[y]);
        shared->above[y] = (int32_t)(row / pitch - patch->row / pitch);
    }
}

/* Four of a node's eight normals of one purpose at a time. */
SYNTH_INLINE void synth_draw_lattice(const struct synth_cuda_job *job,
                                     const struct synth_patch *patch, struct synth_shared *shared,
                                     uint32_t thread)
{
    const struct synth_cuda_scene *s = &job->scene;
    uint32_t parts = s->varies ? 2 * PURPOSES_OF_FIELDS : 2;
    uint32_t across = synth_nodes_under(patch->column, s->width, s->pitch);
    uint32_t down = synth_nodes_under(patch->row, s->height, s->pitch);
    float *lattice = synth_lattice(shared);
    for (uint32_t i = thread; i < down * across * parts; i += SYNTH_CUDA_THREADS) {
        uint32_t node = i / parts, part = i % parts, y = node / across, x = node % across;
        uint32_t purpose = part < 2 ? SYNTH_FIELD : part < 4 ? SYNTH_PSI_LEVEL : SYNTH_PSI_SLOPE;
        uint64_t number = (patch->row / s->pitch + y) * s->wide + (patch->column / s->pitch + x);
        struct synth_four four = synth_four_normals(
            &s->keys, patch->cube * SYNTH_PURPOSES + purpose, 2 * number + part % 2);
        *(struct synth_four *)(void *)(lattice + (y * s->nodes + x) * FIELDS + 4 * part) = four;
    }
}

/* -- 2: rows of it -------------------------------------------------------------------------- */

SYNTH_INLINE void synth_blend_rows(const struct synth_cuda_job *job,
                                   const struct synth_patch *patch, struct synth_shared *shared,
                                   uint32_t thread)
{
    const struct synth_cuda_scene *s = &job->scene;
    uint32_t fours = (s->varies ? FIELDS : SYNTH_LANES) / 4, row = s->nodes * FIELDS;
    uint32_t across = synth_nodes_under(patch->column, s->width, s->pitch);
    uint32_t rest = s->height - patch->row, rows = rest < SIDE ? rest : SIDE;
    float *blend = synth_blend(s, shared);
    for (uint32_t i = thread; i < rows * across * fours; i += SYNTH_CUDA_THREADS) {
        uint32_t x = i / fours % across, y = i / fours / across;
        uint32_t place = x * FIELDS + 4 * (i % fours);
        const float *node = synth_lattice(shared) + (uint32_t)shared->above[y] * row + place;
        struct synth_four a = *(const struct synth_four *)(const void *)node;
        struct synth_four b = *(const struct synth_four *)(const void *)(node + row);
        struct synth_four c = *(const struct synth_four *)(const void *)(node + 2 * row);
        const float *weight = shared->down[y];
        SYNTH_UNROLL
        for (int k = 0; k < 4; k++)
            a.v[k] = blended_cuda(weight[0], a.v[k], weight[1], b.v[k], weight[2], c.v[k]);
        *(struct synth_four *)(void *)(blend + y * row + place) = a;
    }
}

/* -- 3: pixels ------------------------------------------------------------------------------ */

/* One word of a stream. */
SYNTH_INLINE uint32_t synth_one_word(const struct synth_keys *keys, uint64_t subsequence,
                                     uint64_t index)
{
    uint32_t w[4];
    synth_philox_keyed(keys, (uint32_t)(index / 4), (uint32_t)(index / 4 >> 32),
                       (uint32_t)subsequence, (uint32_t)(subsequence >> 32), w);
    uint32_t low = index & 1 ? w[1] : w[0], high = index & 1 ? w[3] : w[2];
    return index & 2 ? high : low;
}

/* The part of its target, 0 where there is none; the target's number. */
SYNTH_INLINE float synth_share(const struct synth_cuda_scene *s, uint64_t cube, uint64_t pixel,
                               uint32_t *kind)
{
    uint64_t subsequence = cube * SYNTH_PURPOSES + SYNTH_TARGET, block = pixel / 2;
    uint32_t w[4];
    synth_philox_keyed(&s->keys, (uint32_t)block, (uint32_t)(block >> 32), (uint32_t)subsequence,
                       (uint32_t)(subsequence >> 32), w);
    uint32_t which = pixel & 1 ? w[2] : w[0], how_much = pixel & 1 ? w[3] : w[1];
    float f = SYNTH_FMA(s->fill_span, synth_uniform(how_much), s->fill_low);
    *kind = which % SYNTH_TARGETS;
    return which < s->target ? f : 0.0f;
}

SYNTH_INLINE float synth_grain_of(const struct synth_cuda_scene *s, uint64_t cube, uint64_t pixel)
{
    if (!(s->grain > 0))
        return 0.0f;
    uint64_t subsequence = cube * SYNTH_PURPOSES + SYNTH_GRAIN, block = pixel / 4;
    uint32_t w[4];
    float first, second;
    synth_philox_keyed(&s->keys, (uint32_t)block, (uint32_t)(block >> 32), (uint32_t)subsequence,
                       (uint32_t)(subsequence >> 32), w);
    synth_normal_pair(pixel & 2 ? w[2] : w[0], pixel & 2 ? w[3] : w[1], &first, &second);
    return pixel & 1 ? second : first;
}

/* A field at a pixel, of which `at` is the first node's in the blended row. */
SYNTH_INLINE float synth_field_at(const float *at, const float weight[3])
{
    return blended_cuda(weight[0], at[0], weight[1], at[FIELDS], weight[2], at[2 * FIELDS]);
}

/* What is told of a pixel beside its values. */
SYNTH_INLINE void synth_tell(const struct synth_cuda_job *job, uint64_t at, float share,
                             uint32_t kind, bool dead, const float *abundance)
{
    const struct synth_truth *truth = &job->tile.truth;
    uint32_t endmembers = job->scene.endmembers;
    if (truth->labels != NULL)
        truth->labels[at] = share > 0.0f ? (uint8_t)(1 + kind) : 0;
    if (truth->fill != NULL)
        truth->fill[at] = share;
    if (truth->valid != NULL)
        truth->valid[at] = !dead;
    SYNTH_UNROLL
    for (uint32_t k = 0; k < SYNTH_LAST; k++)
        if (truth->abundances != NULL && k < endmembers)
            truth->abundances[at * endmembers + k] = abundance[k];
}

/* a holds abundances. */
SYNTH_INLINE void synth_coefficients(const struct synth_cuda_scene *s, const float *field,
                                     const float weight[3], const float a[SYNTH_LANES], float shade,
                                     struct mixture_cuda *mixture)
{
    SYNTH_UNROLL
    for (uint32_t k = 0; k < SYNTH_LAST; k++) {
        float lit = a[k] * shade, level = lit, slope = 0.0f;
        if (s->varies && k < s->endmembers) {
            float h = synth_field_at(field + SYNTH_LANES + k, weight);
            float g = synth_field_at(field + 2 * SYNTH_LANES + k, weight);
            level = varied_cuda(lit, h, s->half_variability);
            slope = lit * psi_cuda(g, s->half_variability);
        }
        mixture->level[k] = level;
        mixture->slope[k] = slope;
    }
}

SYNTH_INLINE void synth_make_pixel(const struct synth_cuda_job *job,
                                   const struct synth_patch *patch, struct synth_shared *shared,
                                   uint32_t thread)
{
    const struct synth_cuda_scene *s = &job->scene;
    const struct synth_cuda_tile *t = &job->tile;
    uint32_t y = thread / SIDE, x = thread % SIDE, kind = 0;
    const struct synth_patch_row *row = &shared->rows[y];
    if (row->units == 0 || (int32_t)x < row->low || (int32_t)x >= row->high)
        return;
    uint64_t pixel = (uint64_t)(patch->row + y) * s->width + patch->column + x;
    float share = synth_share(s, patch->cube, pixel, &kind);
    bool dead = s->dead > 0 && synth_one_word(&s->keys, SYNTH_DEAD, pixel) < s->dead;

    const float *field =
        synth_blend(s, shared) + (y * s->nodes + (uint32_t)shared->left[x]) * FIELDS;
    const float *weight = shared->across[x];
    float a[SYNTH_LANES];
    SYNTH_UNROLL
    for (uint32_t k = 0; k < SYNTH_LANES; k++)
        a[k] = k < s->endmembers ? synth_field_at(field + k, weight) : 0.0f;
    softmax_cuda(a, s->endmembers, s->sharpness, 1.0f - share);
    float shade = shade_cuda(s->shade, synth_field_at(field + SYNTH_LAST, weight), s->grain,
                             synth_grain_of(s, patch->cube, pixel));

    struct synth_pixel made;
    synth_coefficients(s, field, weight, a, shade, &made.mixture);
    made.mixture.level[SYNTH_LAST] = shade * share;
    made.kind = (share > 0.0f ? 1 + kind : 0) | (dead ? SYNTH_IS_DEAD : 0);
    SYNTH_UNROLL
    for (int i = 0; i < 4; i++)
        made.unused[i] = 0;
    shared->pixels[thread] = made;
    if (patch->chunk == 0)
        synth_tell(job, patch->index * t->pixels + (pixel - t->first), share, kind, dead, a);
}

/* -- 4: values ------------------------------------------------------------------------------ */

/* What a thread keeps of the tables: its four channels. */
struct synth_kept {
    struct synth_quad quad;
    struct rows_cuda rows[4];
    uint32_t blank;          /* a bit each: bands that are not delivered */
    const uint32_t *columns; /* of the patch's first column, at the first of these channels */
};

SYNTH_INLINE void synth_keep(const struct synth_cuda_scene *s, uint32_t first_column, uint32_t quad,
                             int materials, bool whole, struct synth_kept *kept)
{
    kept->quad = synth_quad(s, quad, whole);
    kept->blank = 0;
    kept->columns = s->columns;
    if (s->columns != NULL)
        kept->columns += (size_t)first_column * s->stride + (whole ? kept->quad.first : 0);
    SYNTH_UNROLL
    for (int i = 0; i < 4; i++) {
        uint32_t c = synth_quad_channel(s, &kept->quad, (uint32_t)i);
        kept->rows[i].path = s->path[c];
        kept->rows[i].target = 0.0f;
        SYNTH_UNROLL
        for (int k = 0; k < materials; k++) {
            kept->rows[i].level[k] = s->levels[(size_t)k * s->stride + c];
            kept->rows[i].slope[k] = s->slopes[(size_t)k * s->stride + c];
        }
        kept->blank |= (uint32_t)(s->blank && !s->good[c]) << i;
    }
}

/* Few pixels have a target: its row is not kept. */
SYNTH_INLINE float synth_light_with_target(const struct synth_cuda_scene *s,
                                           const struct synth_pixel *pixel,
                                           const struct synth_kept *kept, int i, int materials)
{
    uint32_t kind = pixel->kind & ~SYNTH_IS_DEAD;
    struct rows_cuda rows = kept->rows[i];
    rows.target = s->levels[(size_t)(SYNTH_LAST + kind - 1) * s->stride +
                            synth_quad_channel(s, &kept->quad, (uint32_t)i)];
    return mixed_cuda(&pixel->mixture, &rows, materials, true, true);
}

SYNTH_INLINE float synth_reading(const struct synth_cuda_scene *s, const struct synth_kept *kept,
                                 float x, float z, uint32_t column)
{
    x = noisy_cuda(&s->sensor, x, z);
    if (kept->columns != NULL)
        x = striped_cuda(x, (int32_t)column);
    return stored_cuda(&s->sensor, x);
}

/* Values first .. last - 1 of a quad, all of one pixel; `four` holds their noise. What is rare, a
 * target, a dead pixel or a blank band, is asked for once. */
SYNTH_INLINE void synth_pixel_values(const struct synth_cuda_scene *s,
                                     const struct synth_pixel *pixel, const struct synth_kept *kept,
                                     const struct synth_four_words *columns, int first, int last,
                                     int materials, struct synth_four *four)
{
    float x[4];
    SYNTH_UNROLL
    for (int i = first; i < last; i++)
        x[i] = mixed_cuda(&pixel->mixture, &kept->rows[i], materials, false, true);
    if ((pixel->kind & ~SYNTH_IS_DEAD) != 0) {
        SYNTH_UNROLL
        for (int i = first; i < last; i++)
            x[i] = synth_light_with_target(s, pixel, kept, i, materials);
    }
    SYNTH_UNROLL
    for (int i = first; i < last; i++)
        four->v[i] = synth_reading(s, kept, x[i], four->v[i], columns->w[i]);
    if (((pixel->kind & SYNTH_IS_DEAD) | kept->blank) != 0) {
        SYNTH_UNROLL
        for (int i = first; i < last; i++) {
            four->v[i] = kept->blank >> i & 1 ? 0.0f : four->v[i];
            four->v[i] = pixel->kind & SYNTH_IS_DEAD ? synth_float(SYNTH_NAN_BITS) : four->v[i];
        }
    }
}

/* The four words of the sensor's columns. */
SYNTH_INLINE struct synth_four_words synth_columns(const struct synth_cuda_scene *s,
                                                   const struct synth_kept *kept,
                                                   const int32_t near_pixel[4], bool whole)
{
    struct synth_four_words four = {{0, 0, 0, 0}};
    if (kept->columns == NULL)
        return four;
    if (whole)
        return *(const struct synth_four_words *)(const void *)(kept->columns +
                                                                (uint64_t)(uint32_t)near_pixel[0] *
                                                                    s->stride);
    SYNTH_UNROLL
    for (int i = 0; i < 4; i++)
        four.w[i] = kept->columns[(uint64_t)(uint32_t)near_pixel[i] * s->stride +
                                  synth_quad_channel(s, &kept->quad, (uint32_t)i)];
    return four;
}

SYNTH_INLINE void synth_make_quad(const struct synth_cuda_job *job, const struct synth_patch *patch,
                                  const struct synth_shared *shared, const struct synth_walk *walk,
                                  const struct synth_kept *kept, int materials, bool whole)
{
    const struct synth_cuda_scene *s = &job->scene;
    const struct synth_patch_row own_row = shared->rows[walk->y], *row = &own_row;
    uint64_t after = (uint64_t)walk->k * s->quads + walk->quad;
    struct synth_four four = synth_four_normals(
        &s->keys, patch->cube * SYNTH_PURPOSES + SYNTH_NOISE, row->block + after);
    int32_t first = row->shift + (int32_t)(walk->k * s->group), pixel[4], near_pixel[4];
    SYNTH_UNROLL
    for (int i = 0; i < 4; i++) {
        pixel[i] = first + (whole ? 0 : (int32_t)synth_quad_pixel(&kept->quad, (uint32_t)i));
        near_pixel[i] = whole ? pixel[i] : synth_near_pixel(row, pixel[i]);
    }
    struct synth_four_words columns = synth_columns(s, kept, near_pixel, whole);
    const struct synth_pixel *pixels = &shared->pixels[walk->y * SIDE];
    if (whole) {
        struct synth_pixel own = pixels[pixel[0]];
        synth_pixel_values(s, &own, kept, &columns, 0, 4, materials, &four);
    }
    SYNTH_UNROLL
    for (int i = 0; i < 4 && !whole; i++) {
        struct synth_pixel own = pixels[near_pixel[i]];
        synth_pixel_values(s, &own, kept, &columns, i, i + 1, materials, &four);
    }
    synth_put(job, row, after, pixel, whole, &four);
}

/* `materials` 6 or 7: rows that are not used are 0. `whole`: each quad is of one pixel, lies at a
 * multiple of 16 bytes, and so is wanted whole or not at all. */
SYNTH_INLINE void synth_make_values(const struct synth_cuda_job *job,
                                    const struct synth_patch *patch,
                                    const struct synth_shared *shared, uint32_t thread,
                                    int materials, bool whole)
{
    struct synth_walk walk = synth_walk(&job->scene, patch, thread, SIDE, whole);
    struct synth_kept kept;
    if (walk.idle)
        return;
    synth_keep(&job->scene, patch->column, walk.quad, materials, whole, &kept);
    for (; walk.y < SIDE; synth_walk_on(&walk, SIDE, whole))
        if ((int32_t)walk.k < shared->rows[walk.y].units)
            synth_make_quad(job, patch, shared, &walk, &kept, materials, whole);
}

#endif
