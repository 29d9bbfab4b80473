/* A block's patch, its rows, and the quads of values that a thread goes through. */
#ifndef YIELDPOINT_SYNTH_CUDA_PATCH_H
#define YIELDPOINT_SYNTH_CUDA_PATCH_H

#include "synth/cuda/work.h"

/* Where a block works. */
struct synth_patch {
    uint64_t cube;        /* its number */
    uint64_t index;       /* how many cubes were before it */
    uint32_t row, column; /* of its first pixel */
    uint32_t chunk;       /* which part of the channels */
};

SYNTH_INLINE struct synth_patch synth_patch(const struct synth_cuda_job *job, uint32_t block,
                                            uint64_t cube, uint32_t side)
{
    struct synth_patch patch;
    uint32_t place = synth_divided(block, job->tile.chunks);
    uint32_t row = synth_divided(place, job->tile.across);
    patch.chunk = block - place * job->tile.chunks.by;
    patch.index = cube;
    patch.cube = job->tile.cube + cube;
    patch.row = ((uint32_t)job->tile.patch_row + row) * job->scene.tall;
    patch.column = (place - row * job->tile.across.by) * side;
    return patch;
}

/* What is wanted of a row of the patch: its pixels low .. high - 1, which lie in `units` patterns
 * of `group` pixels. */
struct synth_patch_row {
    uint64_t block; /* of Philox, of the first unit's first quad */
    uint64_t out;   /* the address that quad goes to, which may lie before the tile's */
    int32_t units, low, high;
    int32_t shift; /* the first unit's first pixel; below 0: in the patch before */
} __attribute__((aligned(16)));

SYNTH_INLINE void synth_patch_row(const struct synth_cuda_job *job, const struct synth_patch *patch,
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

/* The quad of value `pixel` x channels of the pattern: of two pixels at least, if 0 < pixel <
 * group.
 */
SYNTH_INLINE uint32_t synth_border(const struct synth_cuda_scene *s, uint32_t pixel)
{
    return (uint32_t)(synth_wide(pixel, s->channels) / 4);
}

/* A thread's unit of those at once, and its quad of that: first all that are of one pixel, then the
 * others. From at_once on: none. */
SYNTH_INLINE uint32_t synth_own_quad(const struct synth_cuda_scene *s, uint32_t thread, bool whole,
                                     uint32_t *quad)
{
    uint32_t plain = s->own - s->borders;
    if (whole || thread < plain * s->at_once) {
        uint32_t unit = synth_divided(thread, s->plain);
        *quad = thread - unit * plain;
        SYNTH_UNROLL
        for (uint32_t k = 1; k < 4 && !whole; k++)
            *quad += k <= s->borders && *quad >= synth_border(s, k);
        return unit;
    }
    uint32_t left = thread - plain * s->at_once;
    uint32_t unit = s->borders == 3 ? left / 3 : s->borders == 1 ? left : s->at_once;
    *quad = synth_border(s, left - unit * s->borders + 1);
    return unit;
}

/* Which quad of the pattern is a thread's, and how it goes through the units of a patch: rows one
 * after the other, the scene's `most` units in each, `at_once` of them by the block together. */
struct synth_walk {
    bool idle;
    uint32_t quad;
    uint32_t y, k; /* the unit at hand */
};

SYNTH_INLINE struct synth_walk synth_walk(const struct synth_cuda_scene *s,
                                          const struct synth_patch *patch, uint32_t thread,
                                          bool whole)
{
    struct synth_walk walk;
    uint32_t quad, unit = synth_own_quad(s, thread, whole, &quad);
    walk.quad = patch->chunk * SYNTH_CUDA_THREADS + quad;
    walk.idle = unit >= s->at_once || walk.quad >= s->quads;
    walk.y = synth_divided(unit, s->most);
    walk.k = unit - walk.y * s->most.by;
    return walk;
}

SYNTH_INLINE void synth_walk_on(const struct synth_cuda_scene *s, struct synth_walk *walk,
                                uint32_t side, bool whole)
{
    if (whole) { /* `side` is a constant to the compiler, a power of 2 */
        uint32_t unit = walk->y * side + walk->k + s->at_once;
        walk->y = unit / side;
        walk->k = unit % side;
        return;
    }
    uint32_t k = walk->k + s->along, beyond = k - s->most.by; /* huge where it is not */
    walk->y += s->down + (k >= s->most.by);
    walk->k = k < beyond ? k : beyond;
}

/* Made once and kept in a register: the compiler would rather make it again where it is used. */
#ifdef __CUDA_ARCH__
#define SYNTH_KEPT(number) asm volatile("" : "+r"(number))
#else
#define SYNTH_KEPT(number) ((void)(number))
#endif

/* Whose a quad's values are. */
struct synth_quad {
    uint32_t channel; /* of value 0 */
    int32_t pixel;    /* the same, in its unit */
    int32_t split;    /* the first value of the next pixel; 4: it has none */
    int32_t last;     /* value 3's pixel; beyond all of them where quads are not stored at once */
};

SYNTH_INLINE struct synth_quad synth_quad(const struct synth_cuda_job *job, uint32_t quad,
                                          bool whole)
{
    const struct synth_cuda_scene *s = &job->scene;
    struct synth_quad q = {4 * quad, 0, 4, 0};
    if (whole)
        return q;
    SYNTH_UNROLL
    for (uint32_t k = 1; k < 4; k++)
        q.pixel += 4 * quad >= k * s->channels;
    q.channel -= (uint32_t)q.pixel * s->channels;
    q.split = s->channels - q.channel < 4 ? (int32_t)(s->channels - q.channel) : 4;
    q.last = q.pixel + (s->channels == 1 ? 3 : q.split < 4);
    q.last = job->tile.vectors ? q.last : INT16_MAX;
    SYNTH_KEPT(q.last);
    SYNTH_KEPT(q.channel);
    SYNTH_KEPT(q.pixel);
    SYNTH_KEPT(q.split);
    return q;
}

/* More than one further pixel has a quad with a single channel only. */
SYNTH_INLINE int32_t synth_quad_pixel(const struct synth_cuda_scene *s, const struct synth_quad *q,
                                      int32_t i)
{
    return q->pixel + (s->channels == 1 ? i : (int32_t)(i >= q->split));
}

SYNTH_INLINE uint32_t synth_quad_channel(const struct synth_cuda_scene *s,
                                         const struct synth_quad *q, int32_t i)
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

/* 16 bytes at once to where a multiple of 16 bytes is. Said in so many words: the compiler makes
 * four stores of an assignment. */
SYNTH_INLINE void synth_put_16(void *to, const struct synth_four_words *four)
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

/* Four normals of a stream. */
SYNTH_INLINE struct synth_four synth_four_normals(const struct synth_keys *keys,
                                                  uint64_t subsequence, uint64_t block)
{
    struct synth_four four;
    uint32_t words[4];
    synth_philox_keyed(keys, (uint32_t)block, (uint32_t)(block >> 32), (uint32_t)subsequence,
                       (uint32_t)(subsequence >> 32), words);
    synth_normal_pair(words[0], words[1], &four.v[0], &four.v[1]);
    synth_normal_pair(words[2], words[3], &four.v[2], &four.v[3]);
    return four;
}

/* The pixel in the patch's row of a value of unit k; the nearest that is wanted when it is not. */
SYNTH_INLINE int32_t synth_near_pixel(const struct synth_patch_row *row, int32_t pixel)
{
    pixel = pixel > row->low ? pixel : row->low;
    return pixel < row->high - 1 ? pixel : row->high - 1;
}

/* Puts the `after`th quad of a row, of the unit that begins with pixel `first`, where it belongs,
 * as far as its values are wanted. `whole`: all are, and lie at a multiple of 16 bytes. */
SYNTH_INLINE void synth_put(const struct synth_cuda_job *job, const struct synth_patch_row *row,
                            uint64_t after, int32_t first, const struct synth_quad *quad,
                            bool whole, const struct synth_four *values)
{
    float *out = (float *)(uintptr_t)(row->out + after * sizeof *values);
    if (whole || (first + quad->pixel >= row->low && first + quad->last < row->high)) {
        struct synth_four_words words;
        SYNTH_UNROLL
        for (int i = 0; i < 4; i++)
            words.w[i] = (uint32_t)synth_bits(values->v[i]);
        synth_put_16(out, &words);
        return;
    }
    SYNTH_UNROLL
    for (int32_t i = 0; i < 4; i++) {
        int32_t pixel = first + synth_quad_pixel(&job->scene, quad, i);
        if (pixel >= row->low && pixel < row->high)
            out[i] = values->v[i];
    }
}

#endif
