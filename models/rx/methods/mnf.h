/* The minimum noise fraction transform (Green, Berman, Switzer and Craig, IEEE Trans. Geoscience
 * and Remote Sensing 26(1), 1988; as noise-adjusted principal components: Lee, Woodyatt and Berman,
 * ibid. 28(3), 1990): components in the order of their signal-to-noise ratio.
 *
 * With the covariance Sigma of the data and Sigma_N of their noise,
 *     Sigma v = lambda Sigma_N v,   v^T Sigma_N v = 1,   lambda_1 >= lambda_2 >= ...
 * Component k of a pixel is y_k = v_k^T (x - mu). Noise has the variance 1 in each of them, and
 * lambda_k is the variance of data there: the signal-to-noise ratio is lambda_k - 1, the noise
 * fraction 1 / lambda_k. Back from all components, or the first K of them, which takes out noise:
 *     x = mu + sum_k Sigma_N v_k y_k.
 * The eigenproblem is solved in double, by Cholesky and LAPACK's dsygst and dsyevd; pixels are
 * transformed in float. Of a vector and its opposite the one is taken whose element of largest size
 * is positive. */
#pragma once

#include "models/rx/methods/image.h"

/* Writes the noise covariance, (channels, channels), of an image: half the covariance of
 * differences between neighbours, where what is not noise cancels. Noise that is correlated between
 * neighbours is underestimated, and edges count as noise. `neighbour` and the pixels that are left
 * out: image.h. Sums as rx_fit() makes them, with `threads` threads (0: all); takes
 * rx_noise_bytes() of accounted memory while it runs. YP_INVALID with fewer than 2 differences. */
size_t rx_noise_bytes(const struct rx_image *image, enum rx_neighbour neighbour, int threads);
enum yp_status rx_noise(struct yp_device *device, const struct rx_image *image,
                        enum rx_neighbour neighbour, int threads, double *covariance);

struct rx_mnf_options {
    /* Sigma_N becomes (1 - shrink) Sigma_N + shrink diag(Sigma_N), 0 to 1. */
    double shrink YPI_OR_ZERO;
    /* Channels whose values are all the same are left out: no component has anything of them, and
     * back from components they are the mean. Without, one without noise is refused. */
    bool mask_dead YPI_OR_ZERO;
};

struct rx_mnf;

/* Bytes of accounted memory that rx_mnf_create() takes with the same arguments, while it runs; it
 * keeps less, and transforms take no more. 0 with yp_last_error() set when one is not allowed. */
size_t rx_mnf_bytes(size_t channels, size_t tile_pixels, int threads);

/* The transform of data that a detector was fitted to (rx_fit, no factor is needed), of which the
 * mean and covariance are copied. `noise` is (channels, channels), its upper triangle is read.
 * `device` is the CPU. options NULL: all 0.
 *
 * NULL with yp_last_error() set: rx has fewer than 2 pixels; a covariance is not finite; Sigma_N is
 * not positive definite, or the part of a channel's noise that the channels before it do not
 * explain is below 2^-20 of it (the channel is named); an argument is out of its range. */
struct rx_mnf *rx_mnf_create(struct yp_device *device, const struct rx *rx, const double *noise,
                             const struct rx_mnf_options *options, size_t tile_pixels, int threads);
void rx_mnf_destroy(struct rx_mnf *mnf); /* NULL is allowed */

size_t rx_mnf_components(const struct rx_mnf *mnf); /* channels that are not left out */
/* (components), largest first; the object's. */
const double *rx_mnf_eigenvalues(const struct rx_mnf *mnf);
/* (components, channels): row k is v_k. The object's. */
const double *rx_mnf_vectors(const struct rx_mnf *mnf);
/* How many components have a signal-to-noise ratio of `snr` or more: lambda - 1 >= snr. */
size_t rx_mnf_with_snr(const struct rx_mnf *mnf, double snr);

/* The first `kept` components of all pixels, 1 to rx_mnf_components(): pixel p of tile i goes to
 * out[(i * source->tile_pixels + p) * kept]. All NaN for a pixel with a value that is not finite
 * and for places that a short tile leaves. */
enum yp_status rx_mnf_forward(struct rx_mnf *mnf, const struct rx_source *source, size_t kept,
                              float *out);

/* Back: `source` has source->channels components a pixel, the first ones; `out` has a pixel's
 * channels where rx_mnf_forward() has its components. The rest is as there. */
enum yp_status rx_mnf_back(struct rx_mnf *mnf, const struct rx_source *source, float *out);
