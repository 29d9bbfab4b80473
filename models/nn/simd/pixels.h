/* Loops over pixels, or any other rows of `channels` floats, for the instruction sets of this
 * machine. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ypi_pixel_kernels {
    const char *name;
    /* keep[p] = all channels of pixel p are finite; returns how many are. */
    size_t (*finite)(const float *x, size_t pixels, size_t channels, uint8_t *keep);
    /* The same of pixels `stride` floats apart, and adds kept ones to sum, low and high, all
     * (channels). */
    size_t (*moments)(const float *x, size_t stride, size_t pixels, size_t channels, double *sum,
                      float *low, float *high, uint8_t *keep);
    /* out = x - centre for kept pixels, without gaps (keep NULL: all); returns its rows. */
    size_t (*centre)(const float *x, const uint8_t *keep, size_t pixels, size_t channels,
                     const float *centre, float *out);
    /* out[r] = sum over c of a[r][c] b[r][c] */
    void (*dots)(const float *a, const float *b, size_t rows, size_t channels, float *out);
    /* out[r][c] = g[r] x[r][c]; sum[c] += out[r][c] */
    void (*scale)(const float *x, const float *g, size_t rows, size_t channels, float *out,
                  double *sum);
    /* out = (x - base) gain + rest for finite pixels, without gaps; keep[p] says which; rows. */
    size_t (*gather)(const float *x, size_t stride, size_t pixels, size_t channels,
                     const float *base, const float *gain, const float *rest, float *out,
                     uint8_t *keep);
    /* sum[c] += sum over rows of a[r][c]; product[c] += of a[r][c] b[r][c], when not NULL */
    void (*columns)(const float *a, const float *b, size_t rows, size_t channels, double *sum,
                    double *product);
    /* out[r][c] = factor g[r] x[r][c]; out may be x */
    void (*weigh)(const float *x, const float *g, float factor, size_t rows, size_t channels,
                  float *out);
};

/* centre() after finite(), for pixels `stride` floats apart. */
size_t ypi_centre_finite(const struct ypi_pixel_kernels *kernels, const float *x, size_t stride,
                         size_t pixels, size_t channels, const float *middle, uint8_t *keep,
                         float *out);

/* The fastest set this processor has, or the one of that rank: 0 is plain C. NULL when there is
 * no such rank or the processor lacks it. */
const struct ypi_pixel_kernels *ypi_pixel_kernels(void);
const struct ypi_pixel_kernels *ypi_pixel_kernels_at(int rank);
