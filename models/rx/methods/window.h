/* Sums of local RX and what is made of them, for the instruction sets of this machine. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* A vector z has `size` elements: the channels that count, less base, and a 1; all 0 for a pixel
 * that is not finite. Sums of z z^T are upper triangles, row after row without gaps: row i from its
 * diagonal on. So the last column has the sums of z, and the last element is the number of pixels.
 */
static inline size_t ypi_window_total(size_t size)
{
    return size * (size + 1) / 2;
}

/* Doubles of scratch that a score takes: the matrix, the mean, limits of pivots. */
static inline size_t ypi_window_scratch(size_t size)
{
    return ypi_window_total(size) + 2 * size;
}

/* From sums to a score. */
struct ypi_ring {
    size_t size;
    double ridge, keep; /* keep: 1 - shrink */
    double least;       /* a pivot's square must be above that part of sum z_i^2 / (n - 1) */
    double fewest;      /* pixels that a ring needs */
};

struct ypi_window_kernels {
    const char *name;
    /* sums += gained gained^T - lost lost^T */
    void (*move)(double *sums, const double *gained, const double *lost, size_t size);
    /* sums += gained gained^T */
    void (*add)(double *sums, const double *gained, size_t size);
    /* window += gained - lost, (total) each; lost may be NULL */
    void (*slide)(double *window, const double *gained, const double *lost, size_t total);
    /* The score of z against outer - inner; NaN when that cannot be factored. */
    double (*score)(const struct ypi_ring *ring, const double *outer, const double *inner,
                    const double *z, double *scratch);
};

/* As ypi_pixel_kernels() and ypi_pixel_kernels_at(). */
const struct ypi_window_kernels *ypi_window_kernels(void);
const struct ypi_window_kernels *ypi_window_kernels_at(int rank);
