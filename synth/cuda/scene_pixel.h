/*
 * A patch of SYNTH_SCENE in four steps, with a barrier after each: the lattice under it and what is
 * drawn for each pixel, the lattice blended for each row, the coefficients of each pixel, and the
 * values (scene_body.h). All but the values stays in shared memory.
 */
#ifndef YIELDPOINT_SYNTH_CUDA_SCENE_PIXEL_H
#define YIELDPOINT_SYNTH_CUDA_SCENE_PIXEL_H

#include "synth/cuda/patch.h"
#include "synth/scene/mixing_spline.h"

#define V_LANES 1
#define V_SUFFIX cuda
#ifdef __CUDACC__
#define V_TARGET __host__ __device__
#else
#define V_TARGET
#endif
#include "synth/random/vector_scalar.h"

#include "synth/scene/mixing_formulas.inc"

#define SIDE SYNTH_CUDA_SIDE
#define FIELDS SYNTH_CUDA_FIELDS
#define PURPOSES_OF_FIELDS 3

/* What is drawn for a pixel, and then summed up there. Five times 16 bytes, so that eight
 * neighbours read 16 bytes each from banks of their own. */
struct synth_drawn {
    float grain;
    uint32_t which, how_much, dead; /* words */
} __attribute__((aligned(16)));

struct synth_pixel {
    struct mixture_cuda mixture;
    uint32_t kind; /* 1 + the target's number, or 0; SYNTH_IS_DEAD */
    struct synth_drawn drawn;
} __attribute__((aligned(16)));
#define SYNTH_IS_DEAD 0x80000000u

struct synth_shared {
    struct synth_patch_row rows[SYNTH_CUDA_TALL];
    /* What nodes weigh in a column, in a row: three, and one that is not used. */
    float across[SIDE][4], down[SYNTH_CUDA_TALL][4];
    int32_t left[SIDE], above[SYNTH_CUDA_TALL]; /* the first of the three, from the patch's on */
};

/* After it: tall x SIDE pixels, deep x nodes x FIELDS, blended rows: tall x nodes x FIELDS. */
SYNTH_INLINE struct synth_pixel *synth_pixels(struct synth_shared *shared)
{
    return (struct synth_pixel *)(void *)(shared + 1);
}

SYNTH_INLINE float *synth_lattice(const struct synth_cuda_scene *s, struct synth_shared *shared)
{
    return (float *)(void *)(synth_pixels(shared) + s->tall * SIDE);
}

SYNTH_INLINE float *synth_blend(const struct synth_cuda_scene *s, struct synth_shared *shared)
{
    return synth_lattice(s, shared) + s->deep * s->nodes.by * FIELDS;
}

SYNTH_INLINE size_t synth_shared_bytes(const struct synth_cuda_scene *s)
{
    size_t floats = ((size_t)s->deep + s->tall) * s->nodes.by * FIELDS;
    return sizeof(struct synth_shared) + s->tall * SIDE * sizeof(struct synth_pixel) +
           floats * sizeof(float);
}

/* How many nodes lie under `side` pixels from `first` on, of `all`. */
SYNTH_INLINE uint32_t synth_nodes_under(uint32_t first, uint32_t all, uint32_t side,
                                        struct synth_divisor pitch)
{
    uint32_t last = all - first < side ? all - 1 : first + side - 1;
    return synth_divided(last, pitch) - synth_divided(first, pitch) + 3;
}

/* -- 1: the lattice, and words of pixels ---------------------------------------------------- */

/* Three warps draw the lattice, one places the pixels on it, the others draw words. */
#define SYNTH_PLACING 96
#define SYNTH_DRAWING 128

/* What a pixel `first + i` of the image's row or column has of its nodes: weights; the first. */
SYNTH_INLINE int32_t synth_place(const struct synth_cuda_scene *s, uint32_t first, uint32_t i,
                                 float weights[3])
{
    uint32_t cell = synth_divided(first + i, s->pitch);
    mixing_spline((int32_t)(first + i - cell * s->pitch.by), (float)s->pitch.by, weights);
    return (int32_t)(cell - synth_divided(first, s->pitch));
}

/* i < 32 */
SYNTH_INLINE void synth_place_pixels(const struct synth_cuda_job *job,
                                     const struct synth_patch *patch, struct synth_shared *shared,
                                     uint32_t i)
{
    if (i < job->scene.tall) {
        synth_patch_row(job, patch, i, SIDE, &shared->rows[i]);
        shared->above[i] = synth_place(&job->scene, patch->row, i, shared->down[i]);
    }
    if (i < SIDE)
        shared->left[i] = synth_place(&job->scene, patch->column, i, shared->across[i]);
}

/* Four of a node's eight normals of one purpose at a time. */
SYNTH_INLINE void synth_draw_lattice(const struct synth_cuda_job *job,
                                     const struct synth_patch *patch, struct synth_shared *shared,
                                     uint32_t thread)
{
    const struct synth_cuda_scene *s = &job->scene;
    uint32_t parts = s->varies ? 2 * PURPOSES_OF_FIELDS : 2;
    uint32_t across = synth_nodes_under(patch->column, s->width, SIDE, s->pitch);
    uint32_t down = synth_nodes_under(patch->row, s->height, s->tall, s->pitch);
    uint32_t above = synth_divided(patch->row, s->pitch);
    uint32_t left = synth_divided(patch->column, s->pitch);
    float *lattice = synth_lattice(s, shared);
    for (uint32_t i = thread; i < down * s->nodes.by * parts; i += SYNTH_PLACING) {
        uint32_t node = s->varies ? i / (2 * PURPOSES_OF_FIELDS) : i / 2, part = i - node * parts;
        uint32_t y = synth_divided(node, s->nodes), x = node - y * s->nodes.by;
        if (x >= across)
            continue;
        uint32_t purpose = part < 2 ? SYNTH_FIELD : part < 4 ? SYNTH_PSI_LEVEL : SYNTH_PSI_SLOPE;
        uint64_t number = synth_wide(above + y, s->wide) + left + x;
        struct synth_four four = synth_four_normals(
            &s->keys, patch->cube * SYNTH_PURPOSES + purpose, 2 * number + part % 2);
        *(struct synth_four *)(void *)(lattice + (y * s->nodes.by + x) * FIELDS + 4 * part) = four;
    }
}

SYNTH_INLINE void synth_philox_of(const struct synth_cuda_scene *s, uint64_t subsequence,
                                  uint64_t block, uint32_t words[4])
{
    synth_philox_keyed(&s->keys, (uint32_t)block, (uint32_t)(block >> 32), (uint32_t)subsequence,
                       (uint32_t)(subsequence >> 32), words);
}

/* Pixels 4 block .. 4 block + 3 of the cube; `first` is the place of the first of them in the row
 * at `pixels`, and may lie before it. */
SYNTH_INLINE void synth_draw_four(const struct synth_cuda_scene *s, uint64_t cube, uint64_t block,
                                  int32_t first, struct synth_pixel *pixels)
{
    uint64_t stream = cube * SYNTH_PURPOSES;
    uint32_t target[8], dead[4] = {0, 0, 0, 0};
    struct synth_four grain = {{0.0f, 0.0f, 0.0f, 0.0f}};
    synth_philox_of(s, stream + SYNTH_TARGET, 2 * block, target);
    synth_philox_of(s, stream + SYNTH_TARGET, 2 * block + 1, target + 4);
    if (s->dead > 0)
        synth_philox_of(s, SYNTH_DEAD, block, dead);
    if (s->grain > 0)
        grain = synth_four_normals(&s->keys, stream + SYNTH_GRAIN, block);
    SYNTH_UNROLL
    for (int32_t i = 0; i < 4; i++) {
        struct synth_drawn drawn = {grain.v[i], target[2 * i], target[2 * i + 1], dead[i]};
        if (first + i >= 0 && first + i < SIDE)
            pixels[first + i].drawn = drawn;
    }
}

/* Words of pixels come in fours that begin at multiples of four, wherever rows do. The i-th of the
 * threads that draw them. */
SYNTH_INLINE void synth_draw_pixels(const struct synth_cuda_job *job,
                                    const struct synth_patch *patch, struct synth_shared *shared,
                                    uint32_t i)
{
    const struct synth_cuda_scene *s = &job->scene;
    bool straight = s->width % 4 == 0;
    uint32_t fours = straight ? SIDE / 4 : SIDE / 4 + 1;
    for (; i < s->tall * fours; i += SYNTH_CUDA_THREADS - SYNTH_DRAWING) {
        uint32_t y = straight ? i / (SIDE / 4) : i / (SIDE / 4 + 1), k = i - y * fours;
        uint64_t begin = (uint64_t)(patch->row + y) * s->width + patch->column;
        if (patch->row + y < s->height)
            synth_draw_four(s, patch->cube, begin / 4 + k, (int32_t)(4 * k) - (int32_t)(begin % 4),
                            synth_pixels(shared) + y * SIDE);
    }
}

SYNTH_INLINE void synth_begin_patch(const struct synth_cuda_job *job,
                                    const struct synth_patch *patch, struct synth_shared *shared,
                                    uint32_t thread)
{
    if (thread < SYNTH_PLACING)
        synth_draw_lattice(job, patch, shared, thread);
    else if (thread < SYNTH_DRAWING)
        synth_place_pixels(job, patch, shared, thread - SYNTH_PLACING);
    else
        synth_draw_pixels(job, patch, shared, thread - SYNTH_DRAWING);
}

/* -- 2: rows of it -------------------------------------------------------------------------- */

/* Four fields through three nodes, `step` floats from one to the next. */
SYNTH_INLINE struct synth_four synth_fields(const float *at, uint32_t step, const float weight[3])
{
    struct synth_four a = *(const struct synth_four *)(const void *)at;
    struct synth_four b = *(const struct synth_four *)(const void *)(at + step);
    struct synth_four c = *(const struct synth_four *)(const void *)(at + 2 * step);
    SYNTH_UNROLL
    for (int k = 0; k < 4; k++)
        a.v[k] = blended_cuda(weight[0], a.v[k], weight[1], b.v[k], weight[2], c.v[k]);
    return a;
}

/* Eight threads a row. */
SYNTH_INLINE void synth_blend_rows(const struct synth_cuda_job *job,
                                   const struct synth_patch *patch, struct synth_shared *shared,
                                   uint32_t thread)
{
    const struct synth_cuda_scene *s = &job->scene;
    uint32_t fours = (s->varies ? FIELDS : SYNTH_LANES) / 4, row = s->nodes.by * FIELDS;
    uint32_t across = synth_nodes_under(patch->column, s->width, SIDE, s->pitch);
    uint32_t y = thread / 8;
    if (y >= s->tall || patch->row + y >= s->height)
        return;
    const float *lattice = synth_lattice(s, shared) + (uint32_t)shared->above[y] * row;
    float *blend = synth_blend(s, shared) + y * row;
    struct synth_four weight = *(const struct synth_four *)(const void *)shared->down[y];
    for (uint32_t i = thread % 8; i < across * fours; i += 8) {
        uint32_t place = fours == FIELDS / 4 ? 4 * i : i / 2 * FIELDS + 4 * (i % 2);
        struct synth_four four = synth_fields(lattice + place, row, weight.v);
        *(struct synth_four *)(void *)(blend + place) = four;
    }
}

/* -- 3: pixels ------------------------------------------------------------------------------ */

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

/* Eight fields, of which `at` is the first node's first in a blended row. */
SYNTH_INLINE void synth_eight(const float *at, const float weight[3], float field[SYNTH_LANES])
{
    struct synth_four low = synth_fields(at, FIELDS, weight);
    struct synth_four high = synth_fields(at + 4, FIELDS, weight);
    SYNTH_UNROLL
    for (int k = 0; k < 4; k++) {
        field[k] = low.v[k];
        field[k + 4] = high.v[k];
    }
}

/* a holds fields, and then abundances that sum to `left`. */
SYNTH_INLINE void synth_abundances(const struct synth_cuda_scene *s, int materials, float left,
                                   float a[SYNTH_LANES])
{
    uint32_t used = s->endmembers;
    if (used == (uint32_t)materials) { /* which the compiler knows */
        SYNTH_UNROLL
        for (int k = materials; k < SYNTH_LANES; k++)
            a[k] = 0.0f;
        softmax_cuda(a, (size_t)materials, s->sharpness, left);
        return;
    }
    SYNTH_UNROLL
    for (uint32_t k = 0; k < SYNTH_LANES; k++)
        a[k] = k < used ? a[k] : 0.0f;
    softmax_cuda(a, used, s->sharpness, left);
}

/* a holds abundances; `field` is where synth_eight() begins. A material that is not has 0. */
SYNTH_INLINE void synth_coefficients(const struct synth_cuda_scene *s, const float *field,
                                     const float weight[3], const float a[SYNTH_LANES], float shade,
                                     int materials, struct mixture_cuda *mixture)
{
    float h[SYNTH_LANES], g[SYNTH_LANES], level[SYNTH_LANES], slope[SYNTH_LANES];
    SYNTH_UNROLL
    for (int k = 0; k < SYNTH_LAST; k++) {
        level[k] = a[k] * shade;
        slope[k] = 0.0f;
    }
    if (s->varies) {
        synth_eight(field + SYNTH_LANES, weight, h);
        synth_eight(field + 2 * SYNTH_LANES, weight, g);
        SYNTH_UNROLL
        for (int k = 0; k < materials; k++) {
            slope[k] = level[k] * psi_cuda(g[k], s->half_variability);
            level[k] = varied_cuda(level[k], h[k], s->half_variability);
        }
    }
    SYNTH_UNROLL
    for (int k = 0; k < SYNTH_LAST; k++) {
        mixture->level[k] = level[k];
        mixture->slope[k] = slope[k];
    }
}

SYNTH_INLINE void synth_make_pixel(const struct synth_cuda_job *job,
                                   const struct synth_patch *patch, struct synth_shared *shared,
                                   uint32_t y, uint32_t x, int materials)
{
    const struct synth_cuda_scene *s = &job->scene;
    const struct synth_patch_row *row = &shared->rows[y];
    if (row->units == 0 || (int32_t)x < row->low || (int32_t)x >= row->high)
        return;
    struct synth_pixel *pixel = synth_pixels(shared) + y * SIDE + x;
    struct synth_drawn drawn = pixel->drawn;
    uint32_t kind = drawn.which % SYNTH_TARGETS;
    float share = SYNTH_FMA(s->fill_span, synth_uniform(drawn.how_much), s->fill_low);
    share = drawn.which < s->target ? share : 0.0f;
    bool dead = drawn.dead < s->dead;

    const float *field =
        synth_blend(s, shared) + (y * s->nodes.by + (uint32_t)shared->left[x]) * FIELDS;
    struct synth_four weight = *(const struct synth_four *)(const void *)shared->across[x];
    float a[SYNTH_LANES];
    synth_eight(field, weight.v, a);
    float shade = shade_cuda(s->shade, a[SYNTH_LAST], s->grain, drawn.grain);
    synth_abundances(s, materials, 1.0f - share, a);

    struct synth_pixel made;
    synth_coefficients(s, field, weight.v, a, shade, materials, &made.mixture);
    made.mixture.level[SYNTH_LAST] = shade * share;
    made.kind = (share > 0.0f ? 1 + kind : 0) | (dead ? SYNTH_IS_DEAD : 0);
    made.drawn = drawn;
    *pixel = made;
    if (job->tile.tells && patch->chunk == 0) {
        uint64_t number = (uint64_t)(patch->row + y) * s->width + patch->column + x;
        synth_tell(job, patch->index * job->tile.pixels + (number - job->tile.first), share, kind,
                   dead, a);
    }
}

SYNTH_INLINE void synth_make_pixels(const struct synth_cuda_job *job,
                                    const struct synth_patch *patch, struct synth_shared *shared,
                                    uint32_t thread, int materials)
{
    for (uint32_t y = thread / SIDE; y < job->scene.tall; y += SYNTH_CUDA_THREADS / SIDE)
        synth_make_pixel(job, patch, shared, y, thread % SIDE, materials);
}

#endif
