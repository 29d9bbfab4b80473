/* Convolutions of 3 x 3 with stride 1 and a border of 1, by Winograd's minimal filtering F(4 x 4, 3
 * x 3): a tile of 4 x 4 results takes 36 multiplications a pair of channels instead of 144 (Lavin
 * and Gray, "Fast algorithms for convolutional neural networks", 2016). Results at the points 0,
 * +-5/8,
 * +-3/2 and infinity are about twice as far off as a plain sum in float; the usual points 0, +-1,
 * +-2 are four times as far off. In float on the CPU, images with channels last, any sizes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* y (b, h, w, out) of x (b, h, w, in). */
struct nn_winograd {
    size_t b, h, w, in, out;
};

/* Whether it is the faster way: there are channels and pixels enough. */
bool nn_winograd_pays(const struct nn_winograd *g);

/* Weights at the points: floats. */
size_t nn_winograd_points(size_t in, size_t out);

/* From weights (out, 3, 3, in) of a convolution; `backward`: from those (in, 3, 3, out) of the
 * convolution whose gradient by its input is wanted, so that `in` are its outputs. */
void nn_winograd_weights(size_t in, size_t out, const float *weights, bool backward, float *points);

/* Workspace in bytes, aligned to 64, with as many threads as OpenMP gives now. */
size_t nn_winograd_bytes(const struct nn_winograd *g);

/* y, plus bias (out) unless that is NULL; added to what is there with `add`. */
void nn_winograd(const struct nn_winograd *g, const float *x, const float *points,
                 const float *bias, bool add, float *y, void *work);

/* dweights (out, 3, 3, in) of x and dy (b, h, w, out), added to what is there with `add`. `points`
 * holds nn_winograd_points() and is overwritten. */
void nn_winograd_gradient(const struct nn_winograd *g, const float *x, const float *dy, bool add,
                          float *dweights, float *points, void *work);
