/*
 * Vectorised words and normals, in whole groups of blocks; stream.c assembles ranges from them. The
 * scalar functions of philox.h and normal.h are the oracle: every level gives the same bits.
 */
#pragma once

#include "base/random/level.h"
#include "base/random/normal.h"

/* A group has 8 blocks: 32 words or normals. */
enum { YPI_GROUP_BLOCKS = 8, YPI_GROUP_WORDS = 4 * YPI_GROUP_BLOCKS };

/* Consecutive blocks in which one word of the counter rises by 1 from each to the next, without
 * overflow: word 0 within a stream, word 2 in cuRAND's legacy order. The other words stay. */
struct ypi_block_run {
    uint64_t seed;
    uint32_t counter[4]; /* of the first block */
};

/* Writes the words or normals of `groups` groups to `out`. */
typedef void ypi_bulk(const struct ypi_block_run *run, size_t groups, void *out);

/* Those named nontemporal bypass the caches and need `out` aligned to 64 bytes. */
struct ypi_bulks {
    ypi_bulk *words, *normals, *curand;
    ypi_bulk *words_nontemporal, *normals_nontemporal, *curand_nontemporal;
};

extern const struct ypi_bulks ypi_bulk_baseline;
#if defined(__x86_64__)
extern const struct ypi_bulks ypi_bulk_avx2, ypi_bulk_avx512;
#endif

/* The size in bytes from which ranges are written by non-temporal stores: they would not stay in
 * the caches, and such a store does not have to read the line first. */
size_t ypi_nontemporal_bytes(void);
