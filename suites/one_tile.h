/* A tile that is in memory already as a source. */
#ifndef YIELDPOINT_SUITES_ONE_TILE_H
#define YIELDPOINT_SUITES_ONE_TILE_H

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

#endif
