/* cuRAND's device functions on the host, against the words that synth's kernels make: no GPU is
 * needed. Prints how many words were compared, and the first that differs. */
#include <cstdio>

#pragma GCC diagnostic ignored "-Wshadow"
#include "synth/cuda/curand_words.h"
#include "synth/cuda/words_body.h"

static unsigned long long compared;

static bool same(const struct synth_cuda_words *words, uint64_t block)
{
    uint32_t theirs[4];
    synth_curand_block(words, block, theirs);
    struct synth_four_words ours = synth_cuda_block(words, words->kind, block);
    for (int i = 0; i < 4; i++, compared++)
        if (theirs[i] != ours.w[i]) {
            std::printf("seed %llx subsequence %llx kind %d block %llx word %d: %08x, not %08x\n",
                        (unsigned long long)words->seed, (unsigned long long)words->subsequence,
                        (int)words->kind, (unsigned long long)block, i, ours.w[i], theirs[i]);
            return false;
        }
    return true;
}

int main()
{
    const uint64_t seeds[] = {0, 1, 42, 0x0123456789abcdefULL, 0xfedcba9876543210ULL, ~0ULL};
    const uint64_t subsequences[] = {0, 1, 16 * 9999 + 9, 0xffffffffULL, 0x123456789abcdefULL};
    const uint64_t places[] = {
        0, 65530, 1000003, 0xfffffff0ULL, 1ULL << 32, 3ULL << 40, (1ULL << 61) - 2000};
    for (uint64_t seed : seeds)
        for (uint64_t subsequence : subsequences)
            for (int kind = 0; kind < 2; kind++)
                for (uint64_t place : places)
                    for (uint64_t i = 0; i < 1000; i++) {
                        struct synth_cuda_words words = {};
                        words.keys = ypi_philox_keys_of(seed);
                        words.seed = seed;
                        words.subsequence = subsequence;
                        words.kind = kind == 0 ? SYNTH_CUDA_WORDS : SYNTH_CUDA_CURAND;
                        if (!same(&words, place + i))
                            return 1;
                    }
    std::printf("compared %llu\n", compared);
    return 0;
}
