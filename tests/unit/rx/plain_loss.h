/* The detection loss of each pixel of one tile in plain loops: the pipeline's, of RX alone. */
#pragma once

#include "models/rx/pipeline/nodes.h"
#include <criterion/criterion.h>

static inline struct rx_plain *plain_of(const struct rx_tile *tile)
{
    struct rx_pipeline_options options = {.channels = tile->channels,
                                          .tile_pixels = tile->pixels > 0 ? tile->pixels : 1};
    struct rx_plain *plain = rx_plain_create(yp_device_cpu(), &options, tile);
    cr_assert_not_null(plain, "%s", yp_last_error());
    return plain;
}

static inline void plain_losses(const struct rx_tile *tile, const double *x, double *losses)
{
    struct rx_plain *plain = plain_of(tile);
    rx_plain_losses(plain, x, losses);
    rx_plain_destroy(plain);
}

static inline void plain_losses_vjp(const struct rx_tile *tile, const double *x,
                                    const double *cotangent, double *gradient)
{
    struct rx_plain *plain = plain_of(tile);
    rx_plain_vjp(plain, x, cotangent, gradient);
    rx_plain_destroy(plain);
}

static inline void plain_losses_vjp_f32(const struct rx_tile *tile, const float *x,
                                        const float *cotangent, float *gradient)
{
    struct rx_plain *plain = plain_of(tile);
    rx_plain_vjp_f32(plain, x, cotangent, gradient);
    rx_plain_destroy(plain);
}
