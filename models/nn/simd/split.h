/* Products of floats through bf16, which matrix units multiply: x = t[0] + t[1] (+ t[2]), each term
 * the bf16 nearest to what the ones before leave of x, so two terms hold 16 bits of x and three all
 * 24. Of the products of terms those are summed, in float, that reach the last bit of the sum:
 *     two terms:   t0 t0 + t0 t1 + t1 t0
 *     three terms: those + t1 t1 + t0 t2 + t2 t0
 *
 * A term of a panel of gram.h is (pairs, width) words of 32 bits: channel c of pixels 2 k (low
 * bf16) and 2 k + 1 in word c of row k. Such a row is what VDPBF16PS takes, and 16 of them are what
 * TDPBF16PS takes as its second factor; transposed they are its first. */
#pragma once

#include "models/nn/simd/gram.h"

struct ypi_split_kernels {
    const char *name;
    size_t width;   /* of the panels: that of the gram kernels of this machine */
    size_t granule; /* pairs come in multiples of this */
    size_t even;    /* panels in multiples of this */
    size_t copies;  /* of each term: 2 with the transposed one */
    /* Terms of packed panels; out has room for ypi_split_floats(). */
    void (*split)(const struct ypi_gram_shape *shape, const float *panels, size_t rows, int terms,
                  float *out);
    /* As ypi_gram_kernels.add; nothing is (panels width) zeros. */
    void (*add)(const struct ypi_gram_shape *shape, const float *split, size_t rows, int terms,
                const double *left, const double *right, const double *nothing, double *sums,
                struct ypi_ahead ahead);
};

/* Floats that the terms of `rows` pixels take, and one term of them. */
size_t ypi_split_floats(const struct ypi_split_kernels *kernels, const struct ypi_gram_shape *shape,
                        size_t rows, int terms);

/* As ypi_pixel_kernels() and ypi_pixel_kernels_at(). Ranks 0 to 2 work bf16 out in float, 3 is
 * AVX-512 with BF16, 4 AMX; 0 to 3 sum in the same order but for the width of rotations. */
const struct ypi_split_kernels *ypi_split_kernels(void);
const struct ypi_split_kernels *ypi_split_kernels_at(int rank);
/* Those of rank 4 (split_amx.c); there on x86-64 alone. */
extern const struct ypi_split_kernels ypi_split_kernels_amx;
