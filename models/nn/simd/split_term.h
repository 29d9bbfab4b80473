/* One term of a pair of pixels; see split.h. */
#pragma once

#include <stdint.h>
#include <string.h>

/* The bf16 nearest to x, ties to even, as a float's bits. Infinities stay, and so does NaN as
 * arithmetic makes it. */
static inline __attribute__((always_inline)) uint32_t ypi_bf16(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (bits + 0x7fffu + ((bits >> 16) & 1u)) & 0xffff0000u;
}

/* Writes the terms of (low, high), `width` of each, and leaves what they leave. */
static inline __attribute__((always_inline)) void
ypi_split_term(float *restrict low, float *restrict high, size_t width, float *restrict out)
{
    for (size_t i = 0; i < width; i++) {
        uint32_t a = ypi_bf16(low[i]), b = ypi_bf16(high[i]), word = a >> 16 | b;
        float x, y;
        memcpy(&x, &a, sizeof x);
        memcpy(&y, &b, sizeof y);
        low[i] -= x;
        high[i] -= y;
        memcpy(&out[i], &word, sizeof word);
    }
}
