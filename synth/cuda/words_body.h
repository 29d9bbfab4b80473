/* Words and normals of a stream, a block of four at a time. */
#pragma once

#include "synth/cuda/patch.h"

/* Philox blocks that contain the requested words. */
YPI_INLINE uint64_t synth_cuda_word_blocks(const struct synth_cuda_words *w)
{
    return (w->first % 4 + w->count + 3) / 4;
}

YPI_INLINE struct synth_four_words synth_cuda_block(const struct synth_cuda_words *w,
                                                    enum synth_cuda_kind kind, uint64_t block)
{
    struct synth_four_words four;
    if (kind == SYNTH_CUDA_NORMALS) {
        struct synth_four normals = synth_four_normals(&w->keys, w->subsequence, block);
        YPI_UNROLL
        for (int i = 0; i < 4; i++)
            four.w[i] = (uint32_t)ypi_bits_of(normals.v[i]);
        return four;
    }
    /* In cuRAND's legacy order block q is block q / 65536 of subsequence q mod 65536. */
    uint64_t subsequence = kind == SYNTH_CUDA_CURAND ? block & 0xffff : w->subsequence;
    uint64_t counter = kind == SYNTH_CUDA_CURAND ? block >> 16 : block;
    ypi_philox_keyed(&w->keys, (uint32_t)counter, (uint32_t)(counter >> 32), (uint32_t)subsequence,
                     (uint32_t)(subsequence >> 32), four.w);
    return four;
}

/* Stores the requested words of the `number`th block. */
YPI_INLINE void synth_cuda_store_words(const struct synth_cuda_words *w, uint64_t number,
                                       const struct synth_four_words *four)
{
    int64_t at = (int64_t)(4 * number) - (int64_t)(w->first % 4);
    uint32_t *out = w->out + at;
    if (w->aligned && at >= 0 && (uint64_t)at + 4 <= w->count) {
        synth_store_16(out, four);
        return;
    }
    YPI_UNROLL
    for (int i = 0; i < 4; i++)
        if (at + i >= 0 && (uint64_t)(at + i) < w->count)
            out[i] = four->w[i];
}
