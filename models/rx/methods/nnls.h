/* Unmixing: how much of each of some known spectra is in a pixel, none of it negative.
 *
 * With E the (count, channels) spectra, o an offset and W = diag(weights) it finds, for a pixel x,
 *
 *     a = argmin |W^(1/2) (x - o - E^T a)|^2,   a_k >= 0,   and with `sum_to_one` sum_k a_k = 1,
 *
 * by the active set method of Lawson and Hanson (Solving Least Squares Problems, 1974, chapter 23,
 * algorithm NNLS) on the normal equations, E W E^T a = E W (x - o), in double. The sum is held
 * exactly, by its multiplier: what fully constrained least squares (Heinz and Chang, IEEE Trans.
 * Geosci. Remote Sens. 39(3), 2001) approaches as the weight of its added row grows. Without it
 * light and shade do no harm: they are the sum of a.
 *
 * The normal equations square the condition of the spectra: a spectrum that the others make up but
 * for 1e-6 of its length is left out. */
#pragma once

#include "models/rx/rx.h"

#define RX_NNLS_MAX_SPECTRA 32

struct rx_nnls_options {
    bool sum_to_one;
    const float *weights YPI_OR_ZERO; /* (channels), 0 and more, such as 1 / variance of the noise;
                                         0: the channel is not looked at. NULL: all are 1 */
    const float *offset YPI_OR_ZERO;  /* (channels), such as light scattered on the way. NULL: 0 */
};

struct rx_nnls;

/* An object for spectra (count, channels), which are copied, as the options are. Works on the CPU:
 * `threads` OpenMP threads, 0 for all. NULL with yp_last_error() set: an argument that is not
 * allowed, a value that is not finite, a spectrum without length in the channels that have weight,
 * or no memory. The block has about 4 threads tile_pixels channels + 8 channels (count + 10) bytes.
 * Destroy it with rx_nnls_destroy(). */
struct rx_nnls *rx_nnls_create(struct yp_device *device, const float *spectra, size_t count,
                               size_t channels, size_t tile_pixels, int threads,
                               const struct rx_nnls_options *options);

/* NULL is allowed. */
void rx_nnls_destroy(struct rx_nnls *nnls);

struct rx_nnls_report {
    uint64_t pixels;     /* that have an answer */
    uint64_t skipped;    /* a value that is not finite in a channel of some weight: a is NaN */
    uint64_t unfinished; /* among `pixels`: stopped after 10 count exchanges, not the minimum */
};

/* Unmixes all tiles of a source. abundances: (tiles, source->tile_pixels, count), the caller's; a
 * tile that is shorter ends in NaN. report: NULL when not wanted. The bits do not depend on the
 * number of threads nor on the tiles. */
enum yp_status rx_nnls_run(struct rx_nnls *nnls, const struct rx_source *source, float *abundances,
                           struct rx_nnls_report *report);
