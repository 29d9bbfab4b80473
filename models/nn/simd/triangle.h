/* The scores |L^-1 (x - centre) - offset|^2 without the zeros of L^-1.
 *
 * A few pixels are transposed, so that a vector holds one channel of many: then a row of L^-1 is
 * its own length long, and rows are taken in blocks held in registers. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ypi_triangle {
    size_t channels;
    const float *whiten; /* (channels, channels): row k is column k of L^-1 */
    const float *centre, *offset;
};

struct ypi_triangle_kernels {
    const char *name;
    size_t pixels; /* at once */
    /* x is (pixels, channels), `stride` floats apart; scratch has (channels, this->pixels). A pixel
     * with a value that is not finite has a score that is not finite, and changes no other. */
    void (*score)(const struct ypi_triangle *triangle, const float *x, size_t stride, size_t pixels,
                  float *scratch, float *scores);
};

/* As ypi_pixel_kernels() and ypi_pixel_kernels_at(). */
const struct ypi_triangle_kernels *ypi_triangle_kernels(void);
const struct ypi_triangle_kernels *ypi_triangle_kernels_at(int rank);
