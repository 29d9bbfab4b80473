/* Convolutions as matrix products with patches of images (im2col), in float on the CPU: the way for
 * every shape, and what faster ways for some shapes are compared with.
 *
 * An image (b, h, w, c) and a grid (b, p, q, g): grid point (i, j) stands beside the image's pixels
 * (i stride - pad + u, j stride - pad + v) for u < r, v < s, those outside of it being 0. Its patch
 * is a row (r, s, c); weights are (g, r, s, c). A convolution makes the grid of the image, a
 * transposed one the image of the grid. All arrays are dense and do not overlap. Results have the
 * same bits each time with as many threads. */
#pragma once

#include "models/nn/operator.h"

struct nn_patches {
    size_t b, h, w, c, p, q, g, r, s;
    size_t stride, pad;
};

/* Bytes of workspace for each of the three, aligned to 64, as nn_gemm_bytes() counts. */
size_t nn_patches_bytes(const struct nn_patches *g);

/* grid = patches(image) weights^T + bias (g), which may be NULL; added to the grid with `add`,
 * without a bias. */
enum yp_status nn_patches_to_grid(const struct nn_patches *g, const float *image,
                                  const float *weights, const float *bias, bool add, float *grid,
                                  void *work);

/* image += the sum of each pixel's parts in grid weights. */
enum yp_status nn_patches_to_image(const struct nn_patches *g, const float *grid,
                                   const float *weights, float *image, void *work);

/* weights = grid^T patches(image), added to what is there with `add`. */
enum yp_status nn_patches_to_weights(const struct nn_patches *g, const float *image,
                                     const float *grid, bool add, float *weights, void *work);
