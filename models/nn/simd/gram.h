/* Sums over the pixels of a chunk, by blocks held in registers.
 *
 * A chunk is packed once, centred, into panels of `width` channels: panel v is (rows, width), one
 * pixel's channels v width ... side by side; the last one has the `tail` = channels % width that
 * are left, then zeros. All products are sums over rows of two panels' entries:
 *   - of a panel with itself every pair once, by rotations: sum x[i] x[(i + r) % width] for
 *     r = 0 .. width / 2, which is bf16 of what a square needs;
 *   - of a panel's rows with all panels after it, in blocks;
 *   - of the tail's rows with all whole panels, so that no vector is mostly zeros.
 * The sums of a tile, in double, stand in the same order: see struct ypi_gram_shape. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where what is, in doubles. */
struct ypi_gram_shape {
    size_t channels, width;
    size_t whole, tail; /* panels without gaps, and what is left */
    size_t panels;      /* whole + (tail > 0) */
    size_t turns;       /* width / 2 + 1: rotations of one panel, each `width` sums, from 0 on */
    size_t blocks;      /* from here, for each whole panel u: (width, (whole - 1 - u) width) */
    size_t rest;        /* from here: (tail, whole width) */
    size_t total;
};

struct ypi_gram_shape ypi_gram_shape(size_t channels, size_t width);

/* Memory that will be wanted after this chunk: fetched while its products are made. */
struct ypi_ahead {
    const char *from;
    size_t bytes;
};

struct ypi_gram_kernels {
    const char *name;
    size_t width;
    /* Adds pixels to sum, low and high, all (panels width); x is (pixels, channels), `stride`
     * floats right. When a value is not finite, so is one of the sums. */
    void (*moments)(const float *x, size_t stride, size_t pixels, size_t channels, double *sum,
                    float *low, float *high);
    /* The same, packs all of them as pack() does, into panels of `rows`, and, when products
     * (panels, turns, width) is not NULL, adds to it those of each panel with itself. Returns
     * whether all values were finite; when not, none of what was added to is of any use. */
    bool (*take)(const struct ypi_gram_shape *shape, const float *x, size_t stride, size_t pixels,
                 const float *centre, const float *rest, float *panels, size_t rows, double *sum,
                 float *low, float *high, float *products);
    /* Adds to those products again, for packed pixels. */
    void (*turn)(const struct ypi_gram_shape *shape, const float *panels, size_t pixels,
                 size_t rows, float *products);
    /* Packs (x - centre) - rest of kept pixels (keep NULL: all) into panels that have room for
     * `rows` each, which is the number of those. centre and rest are (panels width), zeros at the
     * end. */
    void (*pack)(const float *x, size_t stride, const uint8_t *keep, size_t pixels, size_t channels,
                 const float *centre, const float *rest, float *panels, size_t rows);
    /* sums += products of the panels with those `with` floats behind them (0: with themselves)
     * + left right^T; both are (panels width), and one is a multiple of the other, so that this
     * is symmetric. `turned`: products as take() makes them of the same rows, or NULL. */
    void (*add)(const struct ypi_gram_shape *shape, const float *panels, ptrdiff_t with,
                size_t rows, const float *turned, const double *left, const double *right,
                double *sums, struct ypi_ahead ahead);
    /* All of it in one go for channels <= width: from pixels as take() has them to their sums, low
     * and high, which are set, and the products of one panel with itself, (turns, width). Leaves
     * out pixels with a value that is not finite and returns how many are left. */
    size_t (*few)(const float *x, size_t stride, size_t pixels, size_t channels,
                  const float *centre, const float *rest, float *products, double *sum, float *low,
                  float *high);
    /* sums += those products + left right^T */
    void (*add_few)(const struct ypi_gram_shape *shape, const float *products, const double *left,
                    const double *right, double *sums);
};

/* As ypi_pixel_kernels() and ypi_pixel_kernels_at(). */
const struct ypi_gram_kernels *ypi_gram_kernels(void);
const struct ypi_gram_kernels *ypi_gram_kernels_at(int rank);

/* m2 (channels, channels), upper triangle, += sums + left right^T, as above; both are (channels).
 */
void ypi_gram_merge(const struct ypi_gram_shape *shape, const double *sums, const double *left,
                    const double *right, double *m2);
