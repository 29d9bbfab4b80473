/*
 * Cubes of a source: in a random order, some of them, or a part for training and a part for
 * validation. A cube is `tiles_per_cube` tiles that follow each other.
 */
#ifndef RX_CUBES_H
#define RX_CUBES_H

#include "models/rx/rx.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The place of a cube in a random order is its rank by this number (and by its index where two are
 * equal), a function of the arguments alone:
 *     mix(mix(seed + G (stream + 1)) + G (index + 1)),   G = 0x9e3779b97f4a7c15,
 * modulo 2^64, with mix the last part of splitmix64 (Steele, Lea and Flood, 2014): z ^= z >> 30;
 * z *= 0xbf58476d1ce4e5b9; z ^= z >> 27; z *= 0x94d049bb133111eb; z ^= z >> 31.
 */
uint64_t rx_cube_key(uint64_t seed, uint64_t stream, uint64_t index);

/* Sorts `cubes` (count) by their keys. Whatever order they came in, the same comes out. */
void rx_order_cubes(uint64_t seed, uint64_t stream, uint32_t *cubes, size_t count);

/* How many of `cubes` are for validation: the nearest whole number to cubes * part, half up, but
 * at least 1 and at most cubes - 1 where 0 < part < 1 and cubes > 1; none of a single cube. */
size_t rx_validation_cubes(size_t cubes, double part);

/* Writes 0 .. cubes - 1 into `order` (cubes): first those for training, then the `validation` that
 * come last by stream 0 of the seed; each part ascends. */
void rx_split_cubes(uint64_t seed, size_t cubes, size_t validation, uint32_t *order);

/* Some cubes of a source as a source: the first has tiles 0 .. tiles_per_cube - 1, and so on. */
struct rx_cubes {
    const struct rx_source *all;
    size_t tiles_per_cube;
    const uint32_t *cubes; /* (count) */
    size_t count;
};

/* Refers to `cubes` and all it points to. */
struct rx_source rx_cubes_source(const struct rx_cubes *cubes);

#ifdef __cplusplus
}
#endif

#endif
