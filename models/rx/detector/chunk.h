/* Mean, covariance and ends of a tile, chunk by chunk: pixels that stay in a core's cache while
 * their products are made. */
#pragma once

#include "models/nn/simd/split.h"
#include "models/nn/simd/triangle.h"
#include "models/rx/internal.h"

/* The largest number of pixels of a chunk. */
static inline size_t ypi_rx_chunk(size_t tile_pixels)
{
    return tile_pixels < YPI_RX_CHUNK ? tile_pixels : YPI_RX_CHUNK;
}

static inline size_t ypi_rx_padded(size_t channels)
{
    return (channels + YPI_RX_LANES - 1) / YPI_RX_LANES * YPI_RX_LANES;
}

/* Terms a precision splits a float into; 0: it does not. */
int ypi_rx_terms(enum rx_precision precision);

/* How products stand: RX_FP64 has no vectors. */
struct ypi_gram_shape ypi_rx_shape(size_t channels, enum rx_precision precision);

/* Sets the sums, bounds and counts of the tile. */
void ypi_rx_measure(const struct rx *rx, struct ypi_rx_scratch *own, const struct rx_tile *tile,
                    struct ypi_rx_accumulator *sums);
