/*
 * Philox4x32-10: random numbers that are addressed, not drawn one after the other.
 *
 * Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC11.
 * suites/stress/synth.c compares this form, which compilers vectorise, with the definition and with
 * the known answers of Random123, the authors' library.
 *
 * A 32-bit word is a function of (seed, subsequence, index): key = the seed, counter = {index / 4,
 * subsequence}, lane = index % 4. That is word `index` of cuRAND's curand_init(seed, subsequence,
 * 0). What is drawn for one purpose has a subsequence of its own, so a value does not depend on
 * earlier draws, on tiles or on threads.
 */
#pragma once

#include "base/random/portable.h"

#define YPI_PHILOX_M0 0xD2511F53u
#define YPI_PHILOX_M1 0xCD9E8D57u
#define YPI_PHILOX_W0 0x9E3779B9u
#define YPI_PHILOX_W1 0xBB67AE85u

/* Random words addressed by an index; the seed and the subsequence make them others. */
struct ypi_stream {
    uint64_t seed, subsequence;
};

/* Philox4x32-10 itself. */
YPI_INLINE void ypi_philox(uint64_t key, uint32_t c0, uint32_t c1, uint32_t c2, uint32_t c3,
                           uint32_t words[4])
{
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)YPI_PHILOX_M0 * c0;
        uint64_t p1 = (uint64_t)YPI_PHILOX_M1 * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
        k0 += YPI_PHILOX_W0;
        k1 += YPI_PHILOX_W1;
    }
    words[0] = c0;
    words[1] = c1;
    words[2] = c2;
    words[3] = c3;
}

/* The keys of each round, computed once for many blocks: k0 and k1 of round r are key[r][0] and
 * key[r][1]. */
struct ypi_philox_keys {
    uint32_t key[10][2];
};

YPI_INLINE struct ypi_philox_keys ypi_philox_keys_of(uint64_t seed)
{
    struct ypi_philox_keys keys;
    for (uint32_t round = 0; round < 10; round++) {
        keys.key[round][0] = (uint32_t)seed + round * YPI_PHILOX_W0;
        keys.key[round][1] = (uint32_t)(seed >> 32) + round * YPI_PHILOX_W1;
    }
    return keys;
}

/* ypi_philox() with precomputed keys. */
YPI_INLINE void ypi_philox_keyed(const struct ypi_philox_keys *keys, uint32_t c0, uint32_t c1,
                                 uint32_t c2, uint32_t c3, uint32_t words[4])
{
    YPI_UNROLL
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = ypi_wide(YPI_PHILOX_M0, c0);
        uint64_t p1 = ypi_wide(YPI_PHILOX_M1, c2);
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ keys->key[round][0];
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ keys->key[round][1];
        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
    }
    words[0] = c0;
    words[1] = c1;
    words[2] = c2;
    words[3] = c3;
}

/* The four words of one block: words[i] is word 4 * block + i of the stream. */
YPI_INLINE void ypi_philox_block(struct ypi_stream stream, uint64_t block, uint32_t words[4])
{
    ypi_philox(stream.seed, (uint32_t)block, (uint32_t)(block >> 32), (uint32_t)stream.subsequence,
               (uint32_t)(stream.subsequence >> 32), words);
}
