/* Convolutions as matrix products with patches of images (im2col), in float or 16 bits on the CPU:
 * the way for every shape, and what faster ways for some shapes are compared with.
 *
 * An image (b, h, w, c) and a grid (b, p, q, g): grid point (i, j) stands beside the image's pixels
 * (i stride - pad + u, j stride - pad + v) for u < r, v < s, those outside of it being 0. Its patch
 * is a row (r, s, c); weights are (g, r, s, c). A convolution makes the grid of the image, a
 * transposed one the image of the grid. All arrays are dense and do not overlap. Results have the
 * same bits each time with as many threads. */
#pragma once

#include "models/nn/fast.h"

struct nn_patches {
    size_t b, h, w, p, q, r, s;
    size_t c, g; /* channels of the image, and of the grid */
    size_t stride, pad;
    enum nn_type
        type; /* image, grid and weights; sums, bias and the gradient of weights are float */
    enum nn_activation activation;
};

/* Of an operator whose sizes begin with "bhwpqrs" and whose settings are these. */
enum { NN_STRIDE, NN_PAD, NN_ACTIVATION };

static inline struct nn_patches nn_patches_of(const struct nn_shape *shape, size_t c, size_t g)
{
    const size_t *size = shape->size;
    return (struct nn_patches){size[0],
                               size[1],
                               size[2],
                               size[3],
                               size[4],
                               size[5],
                               size[6],
                               c,
                               g,
                               (size_t)shape->setting[NN_STRIDE],
                               (size_t)shape->setting[NN_PAD],
                               false,
                               (enum nn_activation)shape->setting[NN_ACTIVATION]};
}

/* The vector-Jacobian product of an operator with this activation of its n results, tensor y, from
 * its own without one: it makes the results before again, in float; in 16 bits it refuses, since
 * these and their gradient would be rounded on the way. Bytes are those of its workspace, 0 without
 * an activation, beside those of `forward` and `vjp`. */
typedef enum yp_status nn_typed(const struct nn_call *call, enum nn_type type);
size_t nn_activated_bytes(const struct nn_shape *shape, size_t n);
enum yp_status nn_activated_vjp(const struct nn_call *call, int y, enum nn_type type, size_t n,
                                nn_typed *forward, nn_typed *vjp);

/* Plain loops go over all taps of all grid points, `at` from 0 to b p q r s - 1: whether tap `at`
 * lies inside the image, with the numbers of its grid point, of its pixel and of its place in the
 * kernel. */
static inline bool nn_patches_tap(const struct nn_patches *g, size_t at, size_t *point,
                                  size_t *pixel, size_t *place)
{
    const size_t u = at / g->s % g->r, v = at % g->s;
    *place = u * g->s + v;
    *point = at / g->s / g->r;
    const size_t row = *point / g->q % g->p * g->stride + u, column = *point % g->q * g->stride + v;
    *pixel = (*point / g->q / g->p * g->h + row - g->pad) * g->w + column - g->pad;
    return row >= g->pad && column >= g->pad && row - g->pad < g->h && column - g->pad < g->w;
}

/* Bytes of workspace for each of the three, aligned to 64, as nn_gemm_bytes() counts. */
size_t nn_patches_bytes(const struct nn_patches *g);

/* grid = the activation of patches(image) weights^T + bias (g), which may be NULL; with `add`,
 * added to the grid, without either. */
enum yp_status nn_patches_to_grid(const struct nn_patches *g, const void *image,
                                  const void *weights, const float *bias, bool add, void *grid,
                                  void *work);

/* image = the sum of each pixel's parts in grid weights, plus bias (c), which may be NULL; added to
 * the image with `add`, without a bias. */
enum yp_status nn_patches_to_image(const struct nn_patches *g, const void *grid,
                                   const void *weights, const float *bias, bool add, void *image,
                                   void *work);

/* weights = grid^T patches(image), added to what is there with `add`. */
enum yp_status nn_patches_to_weights(const struct nn_patches *g, const void *image,
                                     const void *grid, bool add, float *weights, void *work);
