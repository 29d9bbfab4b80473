/* An image in tiles that overlap, and results of tiles put together again. */
#pragma once

#include <stddef.h>
#include <yieldpoint/device.h>

struct refiner_tiling {
    size_t rows, columns; /* of the image */
    size_t tile;          /* side */
    size_t overlap;       /* of neighbours, at least */
    size_t shrink;        /* a result has a pixel for so many by so many of the image */
};

/* YP_INVALID with the field and what is allowed: a tile is no larger than the image, an overlap is
 * smaller than the tile, and `shrink` divides rows, columns and tile. */
enum yp_status refiner_check_tiling(const struct refiner_tiling *tiling);

/* How many tiles cover the image, and where tile i begins: by rows of tiles, at multiples of
 * `shrink`. Each lies within the image, so that the last ones overlap more than the others. */
size_t refiner_tiles(const struct refiner_tiling *tiling);
void refiner_tile(const struct refiner_tiling *tiling, size_t i, size_t *row, size_t *column);

/* The first row and column of tile i, counted in it, that no tile before it has. */
void refiner_tile_new(const struct refiner_tiling *tiling, size_t i, size_t *row, size_t *column);

/* The results of tiles as one image (rows / shrink, columns / shrink, channels). Where tiles
 * overlap it is their mean, weighted by the distance from the tile's edges up to the overlap: no
 * seam. The caller sets sum and weight, (rows / shrink, columns / shrink), to 0, adds each tile
 * once, and divides at the end. */
struct refiner_merge {
    const struct refiner_tiling *tiling;
    size_t channels;
    float *sum, *weight;
};

/* Adds the result of tile i, (tile / shrink, tile / shrink, channels). */
void refiner_merge_add(const struct refiner_merge *merge, size_t i, const float *values);
void refiner_merge_end(const struct refiner_merge *merge);
