/*
 * Random directions and cotangents for the harness, which links no mathematics library. Not for
 * data: those come from synth/.
 *
 * The words are splitmix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number
 * generators", 2014): equally spaced numbers through a mixing function.
 */
#pragma once

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#define YPI_GOLDEN UINT64_C(0x9e3779b97f4a7c15) /* 2^64 over the golden ratio, odd */

struct ypi_seed {
    uint64_t state;
};

/* The finaliser of splitmix64 (Stafford's variant 13): one to one, every input bit reaches every
 * output bit. */
static inline uint64_t ypi_mix64(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* The stream that belongs to (seed, purpose, index). */
static inline struct ypi_seed ypi_seed_of(uint64_t seed, uint64_t purpose, uint64_t index)
{
    uint64_t state = ypi_mix64(seed + YPI_GOLDEN);
    state = ypi_mix64(state + purpose + YPI_GOLDEN);
    return (struct ypi_seed){ypi_mix64(state + index + YPI_GOLDEN)};
}

static inline uint64_t ypi_seed_next(struct ypi_seed *seed)
{
    seed->state += YPI_GOLDEN;
    return ypi_mix64(seed->state);
}

/* In (0, 1), never an end: odd multiples of 2^-53. */
static inline double ypi_seed_uniform(struct ypi_seed *seed)
{
    return (double)((ypi_seed_next(seed) >> 11) | 1) * 0x1p-53;
}

/* Standard normal, by Box and Muller; the second of each pair is let go to keep the state one
 * word. */
static inline double ypi_seed_normal(struct ypi_seed *seed)
{
    const double two_pi = 6.283185307179586476925;
    double radius = sqrt(-2 * log(ypi_seed_uniform(seed)));
    return radius * cos(two_pi * ypi_seed_uniform(seed));
}

static inline void ypi_seed_normals(struct ypi_seed *seed, double *out, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = ypi_seed_normal(seed);
}
