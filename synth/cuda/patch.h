/* A block's patch, its rows, and the quads of values that a thread goes through. */
#pragma once

#include "synth/cuda/work.h"

/* The patch of a block. */
struct synth_patch {
    uint64_t cube;        /* its number */
    uint64_t index;       /* of the cube in this launch */
    uint32_t row, column; /* of the patch's first pixel */
    uint32_t chunk;       /* which part of a unit's quads */
};

YPI_INLINE struct synth_patch synth_patch(const struct synth_cuda_job *job, uint32_t block,
                                          uint64_t cube, uint32_t side)
{
    struct synth_patch patch;
    uint32_t place = synth_divided(block, job->tile.chunks);
    uint32_t row = synth_divided(place, job->tile.row_patches);
    patch.chunk = block - place * job->tile.chunks.by;
    patch.index = cube;
    patch.cube = job->tile.cube + cube;
    patch.row = ((uint32_t)job->tile.patch_row + row) * job->scene.patch_rows;
    patch.column = (place - row * job->tile.row_patches.by) * side;
    return patch;
}

/* The wanted part of a row of the patch: pixels low .. high - 1, which lie in `units` units of
 * `group` pixels. */
struct synth_patch_row {
    uint64_t block; /* of Philox, of the first unit's first quad */
    uint64_t out;   /* the address of that quad, which may lie before the tile's */
    int32_t units, low, high;
    int32_t shift; /* the first unit's first pixel; negative: in the patch to the left */
} __attribute__((aligned(16)));

YPI_INLINE void synth_patch_row(const struct synth_cuda_job *job, const struct synth_patch *patch,
                                uint32_t y, uint32_t side, struct synth_patch_row *row)
{
    const struct synth_cuda_scene *s = &job->scene;
    const struct synth_cuda_tile *t = &job->tile;
    uint32_t left = s->width - patch->column;
    uint64_t begin = (uint64_t)(patch->row + y) * s->width + patch->column;
    uint64_t end = begin + (left < side ? left : side);
    uint64_t low = begin > t->first ? begin : t->first;
    uint64_t high = end < t->first + t->pixels ? end : t->first + t->pixels;
    uint64_t unit = low >> s->group_bits;
    row->units = 0;
    if (patch->row + y >= s->height || low >= high)
        return;
    row->units = (int32_t)(((high - 1) >> s->group_bits) - unit + 1);
    row->block = unit * s->quads;
    uint64_t pixels = unit * s->group - t->first + patch->index * t->pixels; /* modulo 2^64 */
    row->out = (uint64_t)(uintptr_t)t->values + pixels * s->channels * sizeof(float);
    row->low = (int32_t)(low - begin);
    row->high = (int32_t)(high - begin);
    row->shift = (int32_t)((int64_t)(unit * s->group) - (int64_t)begin);
}

/* The quad that holds the first value of pixel `pixel` of a unit, 0 < pixel < group: it also holds
 * values of the pixel before. */
YPI_INLINE uint32_t synth_border(const struct synth_cuda_scene *s, uint32_t pixel)
{
    return (uint32_t)(ypi_wide(pixel, s->channels) / 4);
}

/* A thread's quad of a unit; returns which of the units that are computed together it belongs to,
 * units_at_once or more: none. The first threads have the quads of one pixel, the last those of
 * several. */
YPI_INLINE uint32_t synth_own_quad(const struct synth_cuda_scene *s, uint32_t thread, bool whole,
                                   uint32_t *quad)
{
    uint32_t inner = s->unit_quads - s->border_quads;
    if (whole || thread < inner * s->units_at_once) {
        uint32_t unit = synth_divided(thread, s->inner_quads);
        *quad = thread - unit * inner;
        YPI_UNROLL
        for (uint32_t k = 1; k < 4 && !whole; k++)
            *quad += k <= s->border_quads && *quad >= synth_border(s, k);
        return unit;
    }
    uint32_t rest = thread - inner * s->units_at_once;
    uint32_t unit = s->border_quads == 3   ? rest / 3
                    : s->border_quads == 1 ? rest
                                           : s->units_at_once;
    *quad = synth_border(s, rest - unit * s->border_quads + 1);
    return unit;
}

/* A thread's quad, and its position in the loop over a patch's units: row after row, row_units in
 * each; a block computes units_at_once of them together. */
struct synth_walk {
    bool idle;
    uint32_t quad;
    uint32_t y, k; /* the current unit: row of the patch, unit of that row */
};

YPI_INLINE struct synth_walk synth_walk(const struct synth_cuda_scene *s,
                                        const struct synth_patch *patch, uint32_t thread,
                                        bool whole)
{
    struct synth_walk walk;
    uint32_t quad, unit = synth_own_quad(s, thread, whole, &quad);
    walk.quad = patch->chunk * SYNTH_CUDA_THREADS + quad;
    walk.idle = unit >= s->units_at_once || walk.quad >= s->quads;
    walk.y = synth_divided(unit, s->row_units);
    walk.k = unit - walk.y * s->row_units.by;
    return walk;
}

YPI_INLINE void synth_walk_on(const struct synth_cuda_scene *s, struct synth_walk *walk,
                              uint32_t side, bool whole)
{
    if (whole) { /* `side` is a constant to the compiler, a power of 2 */
        uint32_t unit = walk->y * side + walk->k + s->units_at_once;
        walk->y = unit / side;
        walk->k = unit % side;
        return;
    }
    uint32_t k = walk->k + s->step_units,
             wrapped = k - s->row_units.by; /* huge if k is in the row */
    walk->y += s->step_rows + (k >= s->row_units.by);
    walk->k = k < wrapped ? k : wrapped;
}

/* Keeps a value in a register: the compiler would otherwise compute it again at each use. */
#ifdef __CUDA_ARCH__
#define SYNTH_KEPT(number) asm volatile("" : "+r"(number))
#else
#define SYNTH_KEPT(number) ((void)(number))
#endif

/* The pixels and channels of a quad's values. */
struct synth_quad {
    uint32_t channel; /* of value 0 */
    int32_t pixel;    /* of value 0, in its unit */
    int32_t split;    /* the first value that belongs to the next pixel; 4: none does */
    int32_t last;     /* pixel of value 3; beyond all pixels where 16-byte stores are not allowed */
};

YPI_INLINE struct synth_quad synth_quad(const struct synth_cuda_job *job, uint32_t quad, bool whole)
{
    const struct synth_cuda_scene *s = &job->scene;
    struct synth_quad q = {4 * quad, 0, 4, 0};
    if (whole)
        return q;
    YPI_UNROLL
    for (uint32_t k = 1; k < 4; k++)
        q.pixel += 4 * quad >= k * s->channels;
    q.channel -= (uint32_t)q.pixel * s->channels;
    q.split = s->channels - q.channel < 4 ? (int32_t)(s->channels - q.channel) : 4;
    q.last = q.pixel + (s->channels == 1 ? 3 : q.split < 4);
    q.last = job->tile.aligned ? q.last : INT16_MAX;
    SYNTH_KEPT(q.last);
    SYNTH_KEPT(q.channel);
    SYNTH_KEPT(q.pixel);
    SYNTH_KEPT(q.split);
    return q;
}

/* The pixel of value i, in its unit. Only with a single channel has a quad more than two pixels. */
YPI_INLINE int32_t synth_quad_pixel(const struct synth_cuda_scene *s, const struct synth_quad *q,
                                    int32_t i)
{
    return q->pixel + (s->channels == 1 ? i : (int32_t)(i >= q->split));
}

YPI_INLINE uint32_t synth_quad_channel(const struct synth_cuda_scene *s, const struct synth_quad *q,
                                       int32_t i)
{
    uint32_t further = s->channels == 1 ? 0 : (uint32_t)(i - q->split);
    return i < q->split ? q->channel + (uint32_t)i : further;
}

struct synth_four {
    float v[4];
} __attribute__((aligned(16)));

struct synth_four_words {
    uint32_t w[4];
} __attribute__((aligned(16)));

/* Stores 16 bytes to an address that is a multiple of 16. In PTX, since the compiler would split an
 * assignment into four stores. */
YPI_INLINE void synth_store_16(void *to, const struct synth_four_words *four)
{
#ifdef __CUDA_ARCH__
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};"
                 :
                 : "l"(__cvta_generic_to_global(to)), "r"(four->w[0]), "r"(four->w[1]),
                   "r"(four->w[2]), "r"(four->w[3])
                 : "memory");
#else
    if ((uintptr_t)to % sizeof *four != 0)
        __builtin_trap(); /* as the device would */
    memcpy(to, four, sizeof *four);
#endif
}

/* The four normals of a block of a stream. */
YPI_INLINE struct synth_four synth_four_normals(const struct ypi_philox_keys *keys,
                                                uint64_t subsequence, uint64_t block)
{
    struct synth_four four;
    uint32_t words[4];
    ypi_philox_keyed(keys, (uint32_t)block, (uint32_t)(block >> 32), (uint32_t)subsequence,
                     (uint32_t)(subsequence >> 32), words);
    ypi_normal_pair(words[0], words[1], &four.v[0], &four.v[1]);
    ypi_normal_pair(words[2], words[3], &four.v[2], &four.v[3]);
    return four;
}

/* `pixel`, or the nearest wanted pixel of the row when it is not wanted. */
YPI_INLINE int32_t synth_near_pixel(const struct synth_patch_row *row, int32_t pixel)
{
    pixel = pixel > row->low ? pixel : row->low;
    return pixel < row->high - 1 ? pixel : row->high - 1;
}

/* Stores the wanted values of a row's quad number `after`; the unit begins with pixel `first`.
 * `whole`: all four are wanted and the address is a multiple of 16. */
YPI_INLINE void synth_store_quad(const struct synth_cuda_job *job,
                                 const struct synth_patch_row *row, uint64_t after, int32_t first,
                                 const struct synth_quad *quad, bool whole,
                                 const struct synth_four *values)
{
    float *out = (float *)(uintptr_t)(row->out + after * sizeof *values);
    if (whole || (first + quad->pixel >= row->low && first + quad->last < row->high)) {
        struct synth_four_words words;
        YPI_UNROLL
        for (int i = 0; i < 4; i++)
            words.w[i] = (uint32_t)ypi_bits_of(values->v[i]);
        synth_store_16(out, &words);
        return;
    }
    YPI_UNROLL
    for (int32_t i = 0; i < 4; i++) {
        int32_t pixel = first + synth_quad_pixel(&job->scene, quad, i);
        if (pixel >= row->low && pixel < row->high)
            out[i] = values->v[i];
    }
}
