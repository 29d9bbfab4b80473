/* Local RX: each pixel against the mean and covariance of a ring of pixels around it (Reed and Yu,
 * IEEE Trans. Acoustics, Speech, and Signal Processing 38(10), 1990, with a dual window: the inner
 * one keeps a target out of its own background).
 *
 *     s(x) = (x - m)^T (S + ridge I)^-1 (x - m),   S = sum (y - m)(y - m)^T / (n - 1)
 *
 * over the n finite pixels y of an outer window around x that are not in the inner one, m their
 * mean. Near the border both windows are moved inwards, so that they keep their size; this is what
 * spectral.rx(window=(inner, outer)) does, whose documentation says that the inner one is clipped.
 *
 * Windows slide: sums over a window's pixels of z z^T, z = (x - base, 1) in double and base the
 * mean of the image, are kept for each column of the window, gain a pixel and lose one from row to
 * row, and a window gains a column and loses one from pixel to pixel; a ring is the difference of
 * two windows. So that rounding does not add up, blocks of RX_LOCAL_ROWS x RX_LOCAL_COLUMNS pixels
 * begin with sums of their own: none is carried further than that. What is left of rounding is
 * 1e-14 or so of sum (y - base)^2; with the covariance's condition times that it stays far below
 * float. Cost of a pixel: about 13 C^2 / 2 operations for the sums, C^3 / 3 for Cholesky, whatever
 * the windows' size. */
#pragma once

#include "models/rx/methods/image.h"

#define RX_LOCAL_ROWS 64
#define RX_LOCAL_COLUMNS 32
#define RX_LOCAL_MAX_CHANNELS 1024
#define RX_LOCAL_MAX_WINDOW 1023

struct rx_local_options {
    size_t inner, outer; /* sides of the windows: odd, inner < outer */
    /* ridge = eps r^2 as in rx_finish(), r over all finite pixels; 0: none. */
    double eps YPI_OR_ZERO;
    /* S becomes (1 - shrink) S + shrink diag(S), 0 to 1. */
    double shrink YPI_OR_ZERO;
    /* Channels whose values are all the same in the whole image are left out: they add 0. */
    bool mask_dead YPI_OR_ZERO;
    int threads YPI_OR_ZERO; /* 0: all */
};

struct rx_local_summary {
    uint64_t scored;
    uint64_t skipped;  /* with a value that is not finite: NaN */
    uint64_t singular; /* whose ring gives no covariance that can be factored: NaN */
};

/* Bytes of accounted memory that rx_local() takes while it runs. 0 with yp_last_error() set when an
 * argument is not allowed. About 4 (RX_LOCAL_COLUMNS + outer) C^2 of them for each thread, and as
 * many with the inner window. */
size_t rx_local_bytes(const struct rx_image *image, const struct rx_local_options *options);

/* Writes the scores of all pixels, (height, width), and, unless it is NULL, what became of them.
 * Bits do not depend on the number of threads.
 *
 * A ring is singular when it has fewer than 2 finite pixels, with eps = 0 and shrink = 0 no more of
 * them than channels, or when what is left of a channel's variance beside the channels before it is
 * below 2^-36 of its mean square distance from base: that is a channel that is constant there, or
 * that the others explain.
 *
 * YP_INVALID, with a message: windows that are even, too large for the image or not in that order;
 * eps or shrink out of range; eps = 0 and a channel that is dead in the whole image, named, without
 * mask_dead; eps = 0, shrink = 0 and windows whose ring has no more pixels than the image has
 * channels that count; fewer than 2 finite pixels. `device` is the CPU. */
enum yp_status rx_local(struct yp_device *device, const struct rx_image *image,
                        const struct rx_local_options *options, float *scores,
                        struct rx_local_summary *summary);
