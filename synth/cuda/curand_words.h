/* Words by cuRAND's own device functions, the reference for those of words_body.h. QUALIFIERS makes
 * them available on the host too. */
#pragma once

#define QUALIFIERS static __inline__ __host__ __device__
#include <curand_kernel.h>

#include "synth/cuda/work.h"

/* Block `block` of a stream, or in cuRAND's legacy order. Every block initialises a state, since a
 * state belongs to one subsequence. */
YPI_INLINE void synth_curand_block(const struct synth_cuda_words *w, uint64_t block,
                                   uint32_t words[4])
{
    curandStatePhilox4_32_10_t state;
    uint64_t subsequence = w->kind == SYNTH_CUDA_CURAND ? block & 0xffff : w->subsequence;
    uint64_t counter = w->kind == SYNTH_CUDA_CURAND ? block >> 16 : block;
    curand_init(w->seed, subsequence, 4 * counter, &state);
    uint4 four = curand4(&state);
    words[0] = four.x;
    words[1] = four.y;
    words[2] = four.z;
    words[3] = four.w;
}
