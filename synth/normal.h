/*
 * Standard normals that are the same in bits everywhere.
 *
 * Box-Muller from words 2j and 2j + 1 of a stream gives normals 2j and 2j + 1: with
 * u = (x + 1/2) / 2^32 and v = (y + 1/2) / 2^32, s = sqrt(-2 ln u), they are s sin(2 pi v) and
 * s cos(2 pi v). |z| <= sqrt(66 ln 2) < 6.764.
 *
 * Error against the same formula in exact arithmetic, relative, at most 7.5e-7:
 * - radius: ln u is good to 2^-22 by the polynomial and the last sums. Where u < 0.708, u itself
 * has been rounded twice, 2^-23, and |ln u| > 0.345; above, u - 1 is made from the complement of x,
 *   which keeps its relative accuracy as u nears 1. The root halves these and adds 2^-24:
 *   2^-23 + 2^-24 / 0.345 + 2^-24.
 * - sine and cosine: 2^-22 absolute near 1 (angle 2^-23 of at most pi / 4, polynomial and roundings
 *   2^-23), relative to at least sqrt(1/2); relative, too, where they cross 0, since quarter turns
 *   are taken off exactly.
 * - product: 2^-24.
 * Sum: (1 + 1.45 + 0.5 + 2.83 + 0.5) 2^-23. Absolute, at most 4e-6: the part of u's rounding is
 * 2^-23 / 0.83, the rest 6.764 (1 + 0.5 + 2 + 0.5) 2^-23. Largest seen in 2^20 normals: 5.7e-7.
 */
#ifndef YIELDPOINT_SYNTH_NORMAL_H
#define YIELDPOINT_SYNTH_NORMAL_H

#include "philox.h"

/* ln((word + 1/2) / 2^32). With m in [sqrt(1/2), sqrt(2)), u = m 2^e and f = m - 1:
 * ln u = e ln 2 + f - f^2 / 2 + f^3 p(f); coefficients of p: Cephes, logf. */
SYNTH_INLINE float synth_log_uniform(uint32_t word)
{
    int32_t bits = synth_bits(synth_uniform(word));
    int32_t exponent = (bits - 0x3f3504f3) >> 23; /* 0x3f3504f3: sqrt(1/2) */
    float f = synth_float(bits - (int32_t)((uint32_t)exponent << 23)) - 1.0f;
    float e = (float)exponent;
    /* Near 1, rounding the word to 24 bits would lose what matters: 1 - u does not. */
    int near_one = word >= 0xB5000000u; /* u >= 0.70703, just below sqrt(1/2) */
    f = near_one ? -synth_uniform(~word) : f;
    e = near_one ? 0.0f : e;

    float z = f * f;
    float p = 7.0376836292e-2f;
    p = SYNTH_FMA(p, f, -1.1514610310e-1f);
    p = SYNTH_FMA(p, f, 1.1676998740e-1f);
    p = SYNTH_FMA(p, f, -1.2420140846e-1f);
    p = SYNTH_FMA(p, f, 1.4249322787e-1f);
    p = SYNTH_FMA(p, f, -1.6668057665e-1f);
    p = SYNTH_FMA(p, f, 2.0000714765e-1f);
    p = SYNTH_FMA(p, f, -2.4999993993e-1f);
    p = SYNTH_FMA(p, f, 3.3333331174e-1f);
    float r = (p * f) * z;
    r = SYNTH_FMA(e, -2.12194440e-4f, r); /* ln 2 in two parts, the first exact times e */
    r = SYNTH_FMA(z, -0.5f, r) + f;
    return SYNTH_FMA(e, 0.693359375f, r);
}

/* sin and cos of 2 pi (word + 1/2) / 2^32. The quadrant is taken off in integers, exactly;
 * coefficients of the polynomials on [-pi/4, pi/4]: Cephes, sinf and cosf. */
SYNTH_INLINE void synth_sincos(uint32_t word, float *sine, float *cosine)
{
    uint32_t quadrant = (word + 0x20000000u) >> 30;
    int32_t rest = (int32_t)(word - (quadrant << 30));
    float x = SYNTH_FMA((float)rest, 1.46291807926715968e-9f, 7.3145903963357984e-10f);
    float z = x * x;
    float s = -1.9515295891e-4f;
    s = SYNTH_FMA(s, z, 8.3321608736e-3f);
    s = SYNTH_FMA(s, z, -1.6666654611e-1f);
    s = SYNTH_FMA(s * z, x, x);
    float c = 2.443315711809948e-5f;
    c = SYNTH_FMA(c, z, -1.388731625493765e-3f);
    c = SYNTH_FMA(c, z, 4.166664568298827e-2f);
    c = SYNTH_FMA(c * z, z, SYNTH_FMA(z, -0.5f, 1.0f));
    int32_t odd = -(int32_t)(quadrant & 1u); /* quadrants 1 and 3 exchange sine and cosine */
    int32_t sb = synth_bits(s), cb = synth_bits(c);
    int32_t a = (cb & odd) | (sb & ~odd), b = (sb & odd) | (cb & ~odd);
    *sine = synth_float(a ^ (int32_t)((quadrant & 2u) << 30));
    *cosine = synth_float(b ^ (int32_t)(((quadrant + 1u) & 2u) << 30));
}

SYNTH_INLINE void synth_normal_pair(uint32_t x, uint32_t y, float *first, float *second)
{
    float radius = SYNTH_SQRT(-2.0f * synth_log_uniform(x));
    float sine, cosine;
    synth_sincos(y, &sine, &cosine);
    *first = radius * sine;
    *second = radius * cosine;
}

/* Normal `index` of the stream, alone. */
SYNTH_INLINE float synth_normal(struct synth_stream stream, uint64_t index)
{
    uint32_t words[4];
    float first, second;
    synth_block(stream, index / 4, words);
    const uint32_t *pair = words + (index & 2u);
    synth_normal_pair(pair[0], pair[1], &first, &second);
    return index % 2 == 0 ? first : second;
}

/* Normals 4 * block ... 4 * (block + SYNTH_GROUP) - 1 of the stream. */
SYNTH_INLINE void synth_group_normals(struct synth_stream stream, uint64_t block,
                                      float out[4 * SYNTH_GROUP])
{
    struct synth_group words;
    float normals[4][SYNTH_GROUP] __attribute__((aligned(64)));
    synth_blocks(stream, block, &words);
    for (int b = 0; b < SYNTH_GROUP; b++) {
        synth_normal_pair(words.words[0][b], words.words[1][b], &normals[0][b], &normals[1][b]);
        synth_normal_pair(words.words[2][b], words.words[3][b], &normals[2][b], &normals[3][b]);
    }
    for (int b = 0; b < SYNTH_GROUP; b++)
        for (int lane = 0; lane < 4; lane++)
            out[4 * b + lane] = normals[lane][b];
}

#endif
