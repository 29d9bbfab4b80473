/* RX on a GPU: what the plugin `rx-cuda` gives the program. All pointers are to the device's
 * memory; every function launches on the device's default stream and returns. A job's arrays are
 * the caller's.
 *
 * All of it is for 1 .. RXC_CHANNELS channels: so many that the sums of one block of threads stay
 * on the chip. */
#pragma once

#include "device/cuda/frame.h"

#include <yieldpoint/device.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RXC_PLUGIN "rx-cuda"
#define RXC_CHANNELS 248U

/* Products of 8 by 8 channels are one thread's. Group b of channels is 4 b .. 4 b + 3 and the four
 * as far from the middle, so that neighbouring threads read neighbouring memory. */
#define RXC_GROUP 8U
#define RXC_SQUARE (RXC_GROUP * RXC_GROUP)

/* Rows of a triangle are taken 16 at once: a slice is 16 inputs of them. */
#define RXC_ROWS 16U
#define RXC_SLICE (RXC_ROWS * RXC_ROWS)
#define RXC_PIXELS 128U /* a block's, of rxc_quadratic */

YPK_BOTH unsigned rxc_groups(unsigned channels)
{
    return (channels + RXC_GROUP - 1) / RXC_GROUP;
}

/* Pairs of groups, which is the number of threads that multiply. */
YPK_BOTH unsigned rxc_pairs(unsigned channels)
{
    unsigned groups = rxc_groups(channels);
    return groups * (groups + 1) / 2;
}

/* Floats of a triangle's slices, one behind the other: those of rows 0 .. 15, then 16 .. 31. */
YPK_BOTH unsigned rxc_slices(unsigned channels)
{
    unsigned blocks = (channels + RXC_ROWS - 1) / RXC_ROWS;
    return blocks * (blocks + 1) / 2 * RXC_SLICE;
}

/* The same of a whole square: row block by row block, each with all of its inputs. */
YPK_BOTH unsigned rxc_square_slices(unsigned channels)
{
    unsigned blocks = (channels + RXC_ROWS - 1) / RXC_ROWS;
    return blocks * blocks * RXC_SLICE;
}

/* Blocks of rxc_quadratic and rxc_dots. */
YPK_BOTH unsigned rxc_pixel_blocks(size_t pixels)
{
    return (unsigned)((pixels + RXC_PIXELS - 1) / RXC_PIXELS);
}

/* Blocks of so many rows of pixels. */
YPK_BOTH unsigned rxc_ranges(size_t pixels, unsigned range)
{
    return (unsigned)((pixels + range - 1) / range);
}

/* Sums over pixels, `range` of them a block: products[b] = sum z z^T, z = x - centre, around a
 * centre of the block's own, near its mean. With weights: sum w z z^T around the given centre, and
 * `mean` is the sum of w z. A pixel with a value that is not finite counts in `skipped` alone. */
struct rxc_gram {
    const float *x; /* (pixels, channels), of `stride` floats */
    size_t stride, pixels;
    unsigned channels, range;
    const float *weights;     /* (pixels), or NULL */
    const float *centre;      /* (channels), with weights */
    float *products;          /* (blocks, RXC_SQUARE, pairs) */
    double *mean;             /* (blocks, channels): of the block's pixels */
    double *shift;            /* (blocks, channels): that, minus the centre */
    float *low, *high;        /* (blocks, channels) */
    unsigned *kept, *skipped; /* (blocks) */
};

/* The sums of all tiles so far, in double, and what merging needs. */
struct rxc_merge {
    unsigned channels, blocks;
    bool weighted; /* as rxc_gram: plain sums, m2 and mean alone */
    bool fresh;    /* with `weighted`: there was nothing before */
    const float *products;
    const double *mean, *shift;
    const float *low, *high;
    const unsigned *kept, *skipped;
    double *difference; /* (blocks, channels): scratch */
    double *weight;     /* (blocks): scratch */
    double *share;      /* (blocks): scratch */
    double *m2;         /* (channels, channels), upper triangle */
    double *all_mean;   /* (channels) */
    float *all_low, *all_high;
    uint64_t *counts; /* kept, skipped */
};

/* y = T z - offset for a lower triangle T, z = x - centre; scores[p] = |y|^2, or y . z when `loss`.
 * A pixel with a value that is not finite scores NaN. With `loss` then, from labels and
 * scalars = (scale, bias), g = dloss/ds, 0 for those, and a block's sums of the loss, of d and of
 * d (s - bias), as rx.h has them.
 *
 * With `products` (and `loss`) the matrix is whole, and y is written too. What counts is then what
 * `keep` says, and without labels nothing is judged: the sums are 0, and g stays. */
struct rxc_quadratic {
    const float *x;
    size_t stride, pixels;
    size_t places; /* pixels and the places after them, whose scores become NaN */
    unsigned channels;
    bool loss;
    const float *centre; /* (channels) */
    const float *slices; /* rxc_slices(), of `products` rxc_square_slices() */
    const float *offset; /* (channels, rounded up to RXC_ROWS), or NULL: zeros */
    float *scores;       /* (places), may be NULL when `loss` */
    const uint8_t *labels;
    const float *scalars;
    float target;        /* the weight of a target in the loss; that of the others is 1 */
    float *g;            /* (pixels) */
    double *sums;        /* (blocks of RXC_PIXELS places, 3) */
    unsigned *kept;      /* (blocks) */
    float *products;     /* (pixels, channels), or NULL */
    const uint8_t *keep; /* (pixels), with products */
};

/* What becomes of a loss's sums; add_loss takes what stands above `gram` alone. */
struct rxc_loss {
    unsigned channels, blocks;
    bool fresh;              /* nothing is in `all` */
    const double *sums;      /* (blocks, 3) */
    const unsigned *kept;    /* (blocks) */
    double *all;             /* loss, d, d_away, pixels: added to */
    const double *gram;      /* (channels, channels), upper triangle */
    const double *moment;    /* (channels) */
    const float *parameters; /* as rx.h */
    float *gradient;
};

/* The factor of a covariance, L L^T = A, and what whitens by it: as ypi_rx_factor() and
 * ypi_rx_whiten() have it, within rounding. A = m2 / count times `keep`, with m2 / count + ridge on
 * the diagonal. Channels that are left out (`mask`, and low = high) have 1 on the diagonal alone,
 * and a pivot that becomes infinite, so that nothing comes of them. */
struct rxc_factor {
    unsigned channels;
    bool mask;
    double count, ridge, keep;
    double least;     /* share of A's diagonal that a pivot's square is at least */
    const double *m2; /* (channels, channels), upper triangle */
    const double *mean;
    const float *low, *high;
    double *matrix;   /* (channels, channels): L^T, zeros below the diagonal */
    double *inverse;  /* (channels, channels): L^-1, zeros above the diagonal */
    double *squares;  /* (channels): sums of squares of its columns, which are the diagonal of A^-1;
                         or NULL */
    float *centre;    /* (channels): the mean, rounded */
    float *slices;    /* rxc_slices(): L^-1 */
    float *offset;    /* (channels + RXC_ROWS): L^-1 (mean - centre), then zeros */
    unsigned *failed; /* 1 + the first channel whose pivot is not above 0, otherwise the first with
                         one that is too small: then only `matrix` has changed; 0: there is none */
};

/* -- of pipelines: rows of pixels as their nodes take them ------------------------------------- */

/* rows = (x - base) gain + rest, side by side. keep[p]: all of the pixel's values are finite; the
 * row of another is `fill` throughout. */
struct rxc_gather {
    const float *x; /* (pixels, channels), of `stride` floats */
    size_t stride, pixels;
    unsigned channels;
    const float *base, *gain, *rest; /* (channels) */
    float fill;
    float *rows;   /* (pixels, channels) */
    uint8_t *keep; /* (pixels) */
};

/* out = in W^T + offset - less */
struct rxc_linear {
    size_t pixels;
    unsigned inputs, outputs;
    const float *in;     /* (pixels, inputs) */
    const float *w;      /* (outputs, inputs) */
    const float *offset; /* (outputs), or NULL: zeros */
    const float *less;   /* (pixels, outputs), or NULL: zeros */
    float *out;          /* (pixels, outputs) */
};

/* scores = factor a . b, row by row; without `a` they are there. With labels g = dloss/ds and a
 * block's sums as in rxc_quadratic. With `own` the score is the loss, and g is 1. A row that is not
 * kept has g = 0 and counts nowhere; its score says nothing. */
struct rxc_dots {
    size_t pixels;
    unsigned width;
    float factor;
    bool own;
    const float *a, *b;    /* (pixels, width) */
    const uint8_t *keep;   /* (pixels) */
    const uint8_t *labels; /* (pixels), or NULL */
    const float *scalars;  /* scale, bias; with labels */
    float target;          /* as in rxc_quadratic */
    float *scores;         /* (pixels) */
    float *g;              /* (pixels) */
    double *sums;          /* (blocks of RXC_PIXELS, 3) */
    unsigned *kept;        /* (blocks) */
};

/* a = factor weight a, then the columns' sums of a and of a b. */
struct rxc_columns {
    size_t pixels;
    unsigned width, range; /* range: rows of a block */
    float factor;
    const float *weights; /* (pixels), or NULL: `a` stays */
    float *a;             /* (pixels, width) */
    const float *b;       /* (pixels, width), or NULL: the second sums are 0 */
    double *parts;        /* (blocks, 2, width) */
};

/* a^T b, block by block; in float, so that `range` bounds how far. */
struct rxc_cross {
    size_t pixels;
    unsigned rows, columns, range;
    const float *a; /* (pixels, rows) */
    const float *b; /* (pixels, columns) */
    float *parts;   /* (blocks, rows, columns) */
};

/* The sum of blocks' parts, of one kind or the other; `fresh`: nothing is in `all`. */
struct rxc_parts {
    size_t count;
    unsigned blocks;
    bool fresh;
    const double *doubles; /* (blocks, count), or NULL */
    const float *floats;   /* (blocks, count), or NULL */
    double *all;           /* (count) */
};

struct rx_cuda {
    enum yp_status (*gram)(struct yp_device *device, const struct rxc_gram *job);
    enum yp_status (*merge)(struct yp_device *device, const struct rxc_merge *job);
    enum yp_status (*quadratic)(struct yp_device *device, const struct rxc_quadratic *job);
    /* slices of (A + A^T) without what is doubled: z^T A z = y . z. `a` is (channels, channels). */
    enum yp_status (*fold)(struct yp_device *device, unsigned channels, const float *a,
                           float *slices);
    enum yp_status (*add_loss)(struct yp_device *device, const struct rxc_loss *job);
    enum yp_status (*gradient)(struct yp_device *device, const struct rxc_loss *job);
    enum yp_status (*factor)(struct yp_device *device, const struct rxc_factor *job);
    enum yp_status (*gather)(struct yp_device *device, const struct rxc_gather *job);
    enum yp_status (*linear)(struct yp_device *device, const struct rxc_linear *job);
    enum yp_status (*dots)(struct yp_device *device, const struct rxc_dots *job);
    enum yp_status (*columns)(struct yp_device *device, const struct rxc_columns *job);
    enum yp_status (*cross)(struct yp_device *device, const struct rxc_cross *job);
    enum yp_status (*parts)(struct yp_device *device, const struct rxc_parts *job);
};

#ifdef __cplusplus
}
#endif
