/*
 * Any range of a stream's words or normals, at any offset: vectorised forms of philox.h and
 * normal.h with the same bits, for each instruction set (bulk.h). With some thousand values a call
 * the cost of the call is negligible and the values stay in a near cache.
 */
#pragma once

#include "base/random/level.h"
#include "base/random/normal.h"

/* out[i] = word (first + i) of the stream, i < count. */
void ypi_random_words(enum ypi_level level, struct ypi_stream stream, uint64_t first, size_t count,
                      uint32_t *out);

/* out[i] = normal (first + i) of the stream, i < count. */
void ypi_random_normals(enum ypi_level level, struct ypi_stream stream, uint64_t first,
                        size_t count, float *out);

/* out[i] = word (first + i) of cuRAND's Philox4x32-10 generator with that seed, in its legacy
 * order: what curandGenerate() gives after curandSetGeneratorOffset(first) where the ordering is
 * CURAND_ORDERING_PSEUDO_LEGACY. Block q of four words is block q / 65536 of subsequence
 * q mod 65536. */
void ypi_random_words_curand(enum ypi_level level, uint64_t seed, uint64_t first, size_t count,
                             uint32_t *out);
