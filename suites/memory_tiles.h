/* A cube that is in memory already as a source, as one tile or as several. */
#pragma once

#include "models/rx/rx.h"

static inline enum yp_status one_tile_yield(void *arg, size_t index, float *values, uint8_t *labels,
                                            struct rx_tile *tile)
{
    (void)index, (void)values, (void)labels;
    *tile = *(const struct rx_tile *)arg;
    return YP_OK;
}

/* `tile` is the caller's, and stays as it is while the source is in use. */
static inline struct rx_source one_tile_source(struct rx_tile *tile)
{
    return (struct rx_source){.channels = tile->channels,
                              .tile_pixels = tile->pixels,
                              .tiles = 1,
                              .yield = one_tile_yield,
                              .arg = tile};
}

struct memory_tiles {
    size_t channels;
    size_t pixels; /* of the whole, a multiple of those of a tile */
    size_t tile_pixels;
    float *values;   /* (pixels, channels), the caller's */
    uint8_t *labels; /* (pixels), the caller's */
};

static inline enum yp_status memory_tiles_yield(void *arg, size_t index, float *values,
                                                uint8_t *labels, struct rx_tile *tile)
{
    (void)values, (void)labels;
    const struct memory_tiles *tiles = arg;
    *tile = (struct rx_tile){.values = tiles->values + index * tiles->tile_pixels * tiles->channels,
                             .labels = tiles->labels + index * tiles->tile_pixels,
                             .pixels = tiles->tile_pixels,
                             .channels = tiles->channels};
    return YP_OK;
}

/* `tiles` is the caller's, and stays as it is while the source is in use. */
static inline struct rx_source memory_tiles_source(struct memory_tiles *tiles)
{
    return (struct rx_source){.channels = tiles->channels,
                              .tile_pixels = tiles->tile_pixels,
                              .tiles = tiles->pixels / tiles->tile_pixels,
                              .yield = memory_tiles_yield,
                              .arg = tiles};
}
