/*
 * Whole groups of blocks, by vectors: what stream.c makes long ranges of. The plain functions of
 * philox.h and normal.h are the oracle; every level gives their bits.
 */
#ifndef YIELDPOINT_SYNTH_BULK_H
#define YIELDPOINT_SYNTH_BULK_H

#include "synth/random/level.h"
#include "synth/random/normal.h"

/* Blocks come in eights: 32 words, or normals. */
enum { SYNTH_EIGHT = 8, SYNTH_EIGHT_WORDS = 4 * SYNTH_EIGHT };

/* Blocks of which one word of the counter goes up by 1 from each to the next, and does not pass
 * 2^32 - 1: word 0 within a stream, word 2 in cuRAND's legacy order. The others stay. */
struct synth_run {
    uint64_t seed;
    uint32_t counter[4]; /* of the first block */
};

/* `out` gets the words or normals of 8 `eights` blocks. */
typedef void synth_bulk(const struct synth_run *run, size_t eights, void *out);

/* `past`: stores go past the caches, `out` is aligned to 64 bytes. */
struct synth_bulks {
    synth_bulk *words, *normals, *curand;
    synth_bulk *words_past, *normals_past, *curand_past;
};

extern const struct synth_bulks ypi_bulk_baseline;
#if defined(__x86_64__)
extern const struct synth_bulks ypi_bulk_avx2, ypi_bulk_avx512;
#endif

/* Ranges of at least so many bytes are written past the caches: they would not stay there, and such
 * a store need not read the line first. */
size_t ypi_past_caches(void);

#endif
