/* Statistics of any cube, in double, that distinguish a real scene from a synthetic one.
 *
 * A pixel has data when it is finite in some channel. A channel is valid when it is finite in at
 * least half of the pixels that have data and not constant there; a pixel when it has data and is
 * finite in all valid channels. */
#pragma once

#include <stddef.h>
#include <yieldpoint/device.h>

/* (height, width, channels), a pixel's channels side by side. */
struct cube_view {
    const float *values;
    size_t height, width, channels;
};

enum { CUBE_SHARES = 3, CUBE_LAGS = 3, CUBE_TAILS = 3 };

/* NaN: the cube has no such figure. It takes a valid channel and two valid pixels; what is made of
 * scores, and the virtual dimension, two more valid pixels than channels. */
struct cube_statistics {
    size_t pixels, channels; /* valid ones */
    size_t with_data;        /* pixels that have any */
    /* Of the covariance: the part of its trace in the 1, 3 and 10 largest eigenvalues, and how many
     * of the largest give 99 % and 99.9 % of it. */
    double share[CUBE_SHARES];
    double components_99, components_999;
    /* Virtual dimensionality: signal sources above the noise, at a false-alarm probability of
     * 1e-3 (Harsanyi, Farrand and Chang; Chang and Du, IEEE TGRS 42(3), 2004). */
    double virtual_dimension;
    /* Correlation of pixels at distances of 1, 8 and 32, the mean over rows and columns and over
     * channels; none of a cube that is not two pixels wider and higher than that. */
    double correlation[CUBE_LAGS];
    /* Median over channels of the mean to the noise, 20 log10. Noise: the median of second
     * differences down the columns, where striping does not show, as of a normal one. Texture finer
     * than three pixels counts as noise. None without three valid pixels in a column, nor where
     * most channels have no noise or a mean of 0. */
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

/* YP_INVALID when no pixel has data, or none is finite in all valid channels. */
enum yp_status cube_statistics(struct yp_device *device, const struct cube_view *cube,
                               struct cube_statistics *out);
