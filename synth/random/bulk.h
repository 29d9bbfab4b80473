/*
 * Vectorised words and normals, in whole groups of blocks; stream.c assembles ranges from them. The
 * scalar functions of philox.h and normal.h are the oracle: every level gives the same bits.
 */
#ifndef YIELDPOINT_SYNTH_BULK_H
#define YIELDPOINT_SYNTH_BULK_H

#include "synth/random/level.h"
#include "synth/random/normal.h"

/* A group has 8 blocks: 32 words or normals. */
enum { SYNTH_GROUP_BLOCKS = 8, SYNTH_GROUP_WORDS = 4 * SYNTH_GROUP_BLOCKS };

/* Consecutive blocks in which one word of the counter rises by 1 from each to the next, without
 * overflow: word 0 within a stream, word 2 in cuRAND's legacy order. The other words stay. */
struct synth_run {
    uint64_t seed;
    uint32_t counter[4]; /* of the first block */
};

/* Writes the words or normals of `groups` groups to `out`. */
typedef void synth_bulk(const struct synth_run *run, size_t groups, void *out);

/* Those named nontemporal bypass the caches and need `out` aligned to 64 bytes. */
struct synth_bulks {
    synth_bulk *words, *normals, *curand;
    synth_bulk *words_nontemporal, *normals_nontemporal, *curand_nontemporal;
};

extern const struct synth_bulks ypi_bulk_baseline;
#if defined(__x86_64__)
extern const struct synth_bulks ypi_bulk_avx2, ypi_bulk_avx512;
#endif

/* The size in bytes from which ranges are written by non-temporal stores: they would not stay in
 * the caches, and such a store does not have to read the line first. */
size_t ypi_nontemporal_bytes(void);

#endif
