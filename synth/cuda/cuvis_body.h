/* A patch of SYNTH_CUVIS in three steps, with a barrier after each: its rows, the discs that reach
 * into it, its values. */
#pragma once

#include "synth/cuda/patch.h"
#include "synth/scene/cuvis_disc.h"

#ifdef __CUDA_ARCH__
#define SYNTH_MARK(word, bits) atomicOr(word, bits)
#else
#define SYNTH_MARK(word, bits) (*(word) |= (bits))
#endif

struct synth_cuvis_shared {
    struct synth_patch_row rows[SYNTH_CUDA_CUVIS_SIDE];
    uint32_t mask[SYNTH_CUDA_CUVIS_SIDE]; /* bit x: pixel x lies in a disc */
};

YPI_INLINE void synth_cuvis_begin(const struct synth_cuda_job *job, const struct synth_patch *patch,
                                  struct synth_cuvis_shared *shared, uint32_t thread)
{
    if (thread >= SYNTH_CUDA_CUVIS_SIDE)
        return;
    synth_patch_row(job, patch, thread, SYNTH_CUDA_CUVIS_SIDE, &shared->rows[thread]);
    shared->mask[thread] = 0;
}

YPI_INLINE void synth_cuvis_mark(const struct synth_patch *patch, const struct synth_disc *disc,
                                 struct synth_cuvis_shared *shared)
{
    const int64_t side = SYNTH_CUDA_CUVIS_SIDE;
    for (int64_t down = -disc->radius; down <= disc->radius; down++) {
        int64_t y = disc->row + down - patch->row;
        int64_t reach = synth_disc_reach(disc->radius, down);
        int64_t from = disc->column - reach - patch->column;
        int64_t to = disc->column + reach + 1 - patch->column;
        from = from < 0 ? 0 : from;
        to = to > side ? side : to;
        if (y < 0 || y >= side || from >= to)
            continue;
        uint32_t bits = (uint32_t)((UINT64_C(1) << to) - (UINT64_C(1) << from));
        SYNTH_MARK(&shared->mask[y], bits);
    }
}

YPI_INLINE void synth_cuvis_discs(const struct synth_cuda_job *job, const struct synth_patch *patch,
                                  struct synth_cuvis_shared *shared, uint32_t thread)
{
    const struct synth_cuda_scene *s = &job->scene;
    uint64_t subsequence = patch->cube * SYNTH_PURPOSES + SYNTH_DISCS;
    for (uint64_t d = thread; d < s->discs; d += SYNTH_CUDA_THREADS) {
        uint32_t words[4];
        ypi_philox_keyed(&s->keys, (uint32_t)d, (uint32_t)(d >> 32), (uint32_t)subsequence,
                         (uint32_t)(subsequence >> 32), words);
        struct synth_disc disc = synth_disc(words, s->height, s->width);
        synth_cuvis_mark(patch, &disc, shared);
    }
}

YPI_INLINE void synth_cuvis_truth(const struct synth_cuda_job *job, const struct synth_patch *patch,
                                  const struct synth_cuvis_shared *shared, uint32_t thread)
{
    const uint32_t side = SYNTH_CUDA_CUVIS_SIDE;
    const struct synth_truth *truth = &job->tile.truth;
    for (uint32_t i = thread; i < side * side; i += SYNTH_CUDA_THREADS) {
        uint32_t y = i / side, x = i % side;
        const struct synth_patch_row *row = &shared->rows[y];
        if (row->units == 0 || (int32_t)x < row->low || (int32_t)x >= row->high)
            continue;
        uint64_t pixel = (uint64_t)(patch->row + y) * job->scene.width + patch->column + x;
        uint64_t at = patch->index * job->tile.pixels + (pixel - job->tile.first);
        uint8_t in = shared->mask[y] >> x & 1;
        if (truth->labels != NULL)
            truth->labels[at] = in;
        if (truth->fill != NULL)
            truth->fill[at] = in;
        if (truth->valid != NULL)
            truth->valid[at] = 1;
    }
}

/* A thread's part of the tables: its four channels. */
struct synth_cuvis_kept {
    struct synth_quad quad;
    float normal[4], anomaly[4];
};

YPI_INLINE void synth_cuvis_quad(const struct synth_cuda_job *job, const struct synth_patch *patch,
                                 const struct synth_cuvis_shared *shared,
                                 const struct synth_walk *walk, const struct synth_cuvis_kept *kept,
                                 bool whole)
{
    const struct synth_cuda_scene *s = &job->scene;
    const struct synth_patch_row *row = &shared->rows[walk->y];
    uint64_t after = (uint64_t)walk->k * s->quads + walk->quad;
    struct synth_four four = synth_four_normals(
        &s->keys, patch->cube * SYNTH_PURPOSES + SYNTH_NOISE, row->block + after);
    float down = s->row_gain[patch->row + walk->y];
    int32_t first = row->shift + (int32_t)(walk->k * s->group);
    YPI_UNROLL
    for (int i = 0; i < 4; i++) {
        int32_t pixel = first + (whole ? 0 : synth_quad_pixel(s, &kept->quad, i));
        int32_t x = whole ? pixel : synth_near_pixel(row, pixel);
        float bright = down * s->column_gain[patch->column + (uint32_t)x];
        float value = YPI_FMA(s->sigma, four.v[i], kept->normal[i] * bright);
        four.v[i] = shared->mask[walk->y] >> x & 1 ? kept->anomaly[i] : value;
    }
    synth_store_quad(job, row, after, first, &kept->quad, whole, &four);
}

YPI_INLINE void synth_cuvis_values(const struct synth_cuda_job *job,
                                   const struct synth_patch *patch,
                                   const struct synth_cuvis_shared *shared, uint32_t thread,
                                   bool whole)
{
    const struct synth_cuda_scene *s = &job->scene;
    struct synth_walk walk = synth_walk(s, patch, thread, whole);
    struct synth_cuvis_kept kept;
    if (patch->chunk == 0)
        synth_cuvis_truth(job, patch, shared, thread);
    if (walk.idle)
        return;
    kept.quad = synth_quad(job, walk.quad, whole);
    YPI_UNROLL
    for (int i = 0; i < 4; i++) {
        uint32_t c = synth_quad_channel(s, &kept.quad, i);
        kept.normal[i] = s->spectra[c];
        kept.anomaly[i] = s->spectra[s->stride + c];
    }
    for (; walk.y < SYNTH_CUDA_CUVIS_SIDE; synth_walk_on(s, &walk, SYNTH_CUDA_CUVIS_SIDE, whole))
        if ((int32_t)walk.k < shared->rows[walk.y].units)
            synth_cuvis_quad(job, patch, shared, &walk, &kept, whole);
}
