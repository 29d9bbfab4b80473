/* A block's patch, its rows, and the quads of values that a thread goes through. */
#ifndef YIELDPOINT_SYNTH_CUDA_PATCH_H
#define YIELDPOINT_SYNTH_CUDA_PATCH_H

#include "work.h"

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
    uint32_t place = block / job->tile.chunks;
    patch.chunk = block % job->tile.chunks;
    patch.index = cube;
    patch.cube = job->tile.cube + cube;
    patch.row = (uint32_t)(job->tile.patch_row + place / job->tile.across) * side;
    patch.column = place % job->tile.across * side;
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

/* Which quad of the pattern is a thread's, and how it goes through the units of a patch: rows one
 * after the other, `most` units in each, `at_once` of them by the block together. */
struct synth_walk {
    bool idle;
    uint32_t quad;
    uint32_t y, k; /* the unit at hand */
    uint32_t at_once, down, along, most;
};

/* `whole`: a constant to the compiler, which then knows `most`. */
SYNTH_INLINE struct synth_walk synth_walk(const struct synth_cuda_scene *s,
                                          const struct synth_patch *patch, uint32_t thread,
                                          uint32_t side, bool whole)
{
    struct synth_walk walk;
    uint32_t own = s->quads < SYNTH_CUDA_THREADS ? s->quads : SYNTH_CUDA_THREADS;
    uint32_t unit = thread / own;
    walk.at_once = SYNTH_CUDA_THREADS / own;
    walk.quad = patch->chunk * SYNTH_CUDA_THREADS + thread % own;
    walk.idle = unit >= walk.at_once || walk.quad >= s->quads;
    walk.most = whole ? side : (side >> s->group_bits) + (s->width % s->group != 0);
    walk.y = unit / walk.most;
    walk.k = unit % walk.most;
    walk.down = walk.at_once / walk.most;
    walk.along = walk.at_once % walk.most;
    return walk;
}

SYNTH_INLINE void synth_walk_on(struct synth_walk *walk, uint32_t side, bool whole)
{
    if (whole) {
        uint32_t unit = walk->y * side + walk->k + walk->at_once;
        walk->y = unit / side;
        walk->k = unit % side;
        return;
    }
    walk->k += walk->along;
    walk->y += walk->down;
    if (walk->k >= walk->most) {
        walk->k -= walk->most;
        walk->y++;
    }
}

/* A quad's four values belong to these pixels of the pattern, a byte each; few registers. */
struct synth_quad {
    uint32_t first; /* value of the pattern */
    uint32_t pixels;
};

SYNTH_INLINE struct synth_quad synth_quad(const struct synth_cuda_scene *s, uint32_t quad,
                                          bool whole)
{
    struct synth_quad q;
    q.first = 4 * quad;
    q.pixels = 0;
    SYNTH_UNROLL
    for (uint32_t i = 0; i < 4; i++)
        q.pixels |= whole ? 0 : (q.first + i) / s->channels << 8 * i;
    return q;
}

SYNTH_INLINE uint32_t synth_quad_pixel(const struct synth_quad *q, uint32_t i)
{
    return q->pixels >> 8 * i & 0xff;
}

SYNTH_INLINE uint32_t synth_quad_channel(const struct synth_cuda_scene *s,
                                         const struct synth_quad *q, uint32_t i)
{
    return q->first + i - synth_quad_pixel(q, i) * s->channels;
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
    pixel = pixel < row->low ? row->low : pixel;
    return pixel < row->high ? pixel : row->high - 1;
}

/* Puts the `after`th quad of a row where it belongs, as far as its values are wanted. `whole`: all
 * are, and lie at a multiple of 16 bytes. */
SYNTH_INLINE void synth_put(const struct synth_cuda_job *job, const struct synth_patch_row *row,
                            uint64_t after, const int32_t pixel[4], bool whole,
                            const struct synth_four *values)
{
    float *out = (float *)(uintptr_t)(row->out + after * sizeof *values);
    if (whole || (job->tile.vectors && pixel[0] >= row->low && pixel[3] < row->high)) {
        struct synth_four_words words;
        SYNTH_UNROLL
        for (int i = 0; i < 4; i++)
            words.w[i] = (uint32_t)synth_bits(values->v[i]);
        synth_put_16(out, &words);
        return;
    }
    SYNTH_UNROLL
    for (int i = 0; i < 4; i++)
        if (pixel[i] >= row->low && pixel[i] < row->high)
            out[i] = values->v[i];
}

#endif
