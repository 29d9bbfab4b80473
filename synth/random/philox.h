/*
 * Philox4x32-10, addressed by the purpose of a number.
 *
 * Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC11. The reference is
 * Random123; tests/unit/synth/synth.c compares this form, which compilers vectorise, with it.
 *
 * A 32-bit word is a function of (seed, subsequence, index): key = the seed, counter = {index / 4,
 * subsequence}, lane = index % 4. That is word `index` of cuRAND's curand_init(seed, subsequence,
 * 0). A subsequence belongs to one purpose in one cube, so a value does not depend on earlier
 * draws, on tiles or on threads.
 */
#ifndef YIELDPOINT_SYNTH_PHILOX_H
#define YIELDPOINT_SYNTH_PHILOX_H

#include "synth/random/portable.h"

/* The purpose of a subsequence. Its number is part of the data: a new purpose takes a new one. */
enum synth_purpose {
    SYNTH_NOISE = 0,     /* a normal per value of the cube */
    SYNTH_FIELD = 1,     /* SYNTH_LANES normals per node of the abundance lattice */
    SYNTH_TARGET = 2,    /* two words per pixel: whether a target and of which material, its fill */
    SYNTH_SPECTRA = 3,   /* of cube 0: the spectra, which all cubes of a seed share */
    SYNTH_DISCS = 4,     /* four words per disc of anomalies: row, column, radius, unused */
    SYNTH_PSI_LEVEL = 5, /* SYNTH_LANES normals per node: how bright each material is there */
    SYNTH_PSI_SLOPE = 6, /* the same for its slope */
    SYNTH_COLUMNS = 7,   /* of cube 0: two normals per column and channel of the sensor */
    SYNTH_DEAD = 8,      /* of cube 0: a word per pixel */
    SYNTH_GRAIN = 9,     /* a normal per pixel */
    SYNTH_PURPOSES = 16,
};

/* Cube numbers are below this: further ones would share subsequences. */
#define SYNTH_CUBES (UINT64_C(1) << 60)

#define SYNTH_PHILOX_M0 0xD2511F53u
#define SYNTH_PHILOX_M1 0xCD9E8D57u
#define SYNTH_PHILOX_W0 0x9E3779B9u
#define SYNTH_PHILOX_W1 0xBB67AE85u

struct synth_stream {
    uint64_t seed, subsequence;
};

SYNTH_INLINE struct synth_stream synth_stream(uint64_t seed, uint64_t cube,
                                              enum synth_purpose purpose)
{
    struct synth_stream stream = {seed, cube * SYNTH_PURPOSES + (uint64_t)purpose};
    return stream;
}

/* Philox4x32-10 itself. */
SYNTH_INLINE void synth_philox(uint64_t key, uint32_t c0, uint32_t c1, uint32_t c2, uint32_t c3,
                               uint32_t words[4])
{
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)SYNTH_PHILOX_M0 * c0;
        uint64_t p1 = (uint64_t)SYNTH_PHILOX_M1 * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
        k0 += SYNTH_PHILOX_W0;
        k1 += SYNTH_PHILOX_W1;
    }
    words[0] = c0;
    words[1] = c1;
    words[2] = c2;
    words[3] = c3;
}

/* The keys of each round, computed once for many blocks: k0 and k1 of round r are key[r][0] and
 * key[r][1]. */
struct synth_keys {
    uint32_t key[10][2];
};

SYNTH_INLINE struct synth_keys synth_keys(uint64_t seed)
{
    struct synth_keys keys;
    for (uint32_t round = 0; round < 10; round++) {
        keys.key[round][0] = (uint32_t)seed + round * SYNTH_PHILOX_W0;
        keys.key[round][1] = (uint32_t)(seed >> 32) + round * SYNTH_PHILOX_W1;
    }
    return keys;
}

/* synth_philox() with precomputed keys. */
SYNTH_INLINE void synth_philox_keyed(const struct synth_keys *keys, uint32_t c0, uint32_t c1,
                                     uint32_t c2, uint32_t c3, uint32_t words[4])
{
    SYNTH_UNROLL
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = synth_wide(SYNTH_PHILOX_M0, c0);
        uint64_t p1 = synth_wide(SYNTH_PHILOX_M1, c2);
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
SYNTH_INLINE void synth_block(struct synth_stream stream, uint64_t block, uint32_t words[4])
{
    synth_philox(stream.seed, (uint32_t)block, (uint32_t)(block >> 32),
                 (uint32_t)stream.subsequence, (uint32_t)(stream.subsequence >> 32), words);
}

#endif
