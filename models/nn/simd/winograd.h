/* Convolutions of 3 x 3 with a border of 1 by Winograd's minimal filtering (Lavin and Gray, "Fast
 * algorithms for convolutional neural networks", 2016), in float on the CPU, images with channels
 * last, any sizes.
 *
 * Stride 1, F(4 x 4, 3 x 3): a tile of 4 x 4 results takes 36 multiplications a pair of channels
 * instead of 144. Results at the points 0, +-5/8, +-3/2 and infinity are about twice as far off as
 * a plain sum in float; the usual points 0, +-1, +-2 are four times as far off.
 *
 * Stride 2: along an axis, pixels of the grid meet the middle tap, 4 multiplications for 4 results,
 * and the pixels beside them the outer two, F(4, 2) at +-1/2, +-6/5 and infinity, 5
 * multiplications: 81 a tile and pair instead of 144. The error is that of a plain sum. Four rows
 * and columns of these points are of the middle tap, so that weights are at 36 points for either
 * stride. */
#pragma once

#include "models/nn/fast.h"

/* Of images (b, h, w) and a grid (b, p, q), p = (h + 1) / 2 with stride 2 and h with stride 1: the
 * convolution y (grid, out) of x (image, in); `back`: its gradient by its input, y (image, out) of
 * x (grid, in), where `in` are the convolution's outputs. */
struct nn_winograd {
    size_t b, h, w, in, out, stride;
    bool back;
};

/* Whether there are channels and pixels enough for it; and that it is the faster way where weights
 * are brought to their points for this one call. */
bool nn_winograd_takes(const struct nn_winograd *g);
bool nn_winograd_pays(const struct nn_winograd *g);

/* Weights at the points: floats. */
size_t nn_winograd_points(const struct nn_winograd *g);

/* From weights (out, 3, 3, in); `back`: (in, 3, 3, out). */
void nn_winograd_weights(const struct nn_winograd *g, const float *weights, float *points);

/* Workspace in bytes, aligned to 64, with as many threads as OpenMP gives now: of nn_winograd()
 * with prepared points, or of that without and of nn_winograd_gradient(). */
size_t nn_winograd_bytes(const struct nn_winograd *g, bool prepared);

/* y, plus bias (out) unless that is NULL, and of that the activation; added to what is there with
 * `add`, without one. With `points`, what nn_winograd_weights() wrote; NULL: from `weights`. */
void nn_winograd(const struct nn_winograd *g, const float *x, const float *weights,
                 const float *points, const float *bias, enum nn_activation activation, bool add,
                 float *y, void *work);

/* dweights (out, 3, 3, in) of x (image, in) and dy (grid, out), added to what is there with `add`;
 * stride 1, not `back`. */
void nn_winograd_gradient(const struct nn_winograd *g, const float *x, const float *dy, bool add,
                          float *dweights, void *work);
