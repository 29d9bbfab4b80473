/*
 * Statistics of any cube, in double, that distinguish a real scene from a synthetic one.
 *
 * A channel is valid when it is finite in at least half of the pixels and not constant there; a
 * pixel when it is finite in all valid channels.
 */
#ifndef SUITES_CUBE_STATISTICS_H
#define SUITES_CUBE_STATISTICS_H

#include <stddef.h>
#include <yieldpoint/device.h>

/* (height, width, channels), a pixel's channels side by side. */
struct cube_view {
    const float *values;
    size_t height, width, channels;
};

enum { CUBE_SHARES = 3, CUBE_LAGS = 3, CUBE_TAILS = 3 };

struct cube_statistics {
    size_t pixels, channels; /* valid ones */
    /* Of the covariance: the part of its trace in the 1, 3 and 10 largest eigenvalues, and how many
     * of the largest give 99 % and 99.9 % of it. */
    double share[CUBE_SHARES];
    size_t components_99, components_999;
    /* Virtual dimensionality: signal sources above the noise, at a false-alarm probability of
     * 1e-3 (Harsanyi, Farrand and Chang; Chang and Du, IEEE TGRS 42(3), 2004). */
    size_t virtual_dimension;
    /* Correlation of pixels at distances of 1, 8 and 32, the mean over rows and columns and over
     * channels; NaN where the cube is too small. */
    double correlation[CUBE_LAGS];
    /* Median over channels of the mean to the noise, 20 log10. Noise: the median of second
     * differences down the columns, where striping does not show, as of a normal one. Texture finer
     * than three pixels counts as noise. */
    double snr_db;
    /* RX scores by the cube's own mean and covariance: how many times as many are above the
     * 0.99, 0.999 and 0.9999 quantile of chi-square as of normal pixels would be. */
    double tail[CUBE_TAILS];
    /* The most likely degrees of freedom of a multivariate t distribution with these scores; 1e6
     * is as good as normal (Manolakis and Marden, IGARSS 2002). */
    double degrees;
};

/* Bytes of accounted memory that cube_statistics() uses while it runs. */
size_t cube_statistics_bytes(const struct cube_view *cube);

/* YP_INVALID when there are fewer valid pixels than channels + 2, or no valid channel. */
enum yp_status cube_statistics(struct yp_device *device, const struct cube_view *cube,
                               struct cube_statistics *out);

#endif
