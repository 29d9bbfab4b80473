/* An image in memory as a source: its pixels, or differences between neighbours. */
#include "models/rx/methods/image.h"

#define TILE_PIXELS ((size_t)4096) /* of differences, about */

enum yp_status rx_image_check(const char *what, const struct rx_image *image)
{
    if (image == NULL || image->values == NULL)
        return yp_set_error(YP_INVALID, "%s: %s is NULL", what,
                            image == NULL ? "image" : "image->values");
    if (image->channels == 0 || image->channels > RX_MAX_CHANNELS)
        return yp_set_error(YP_INVALID, "%s: image->channels is %zu, allowed are 1 to %d", what,
                            image->channels, RX_MAX_CHANNELS);
    if (image->height == 0 || image->width == 0 || image->height > UINT32_MAX / image->width)
        return yp_set_error(YP_INVALID,
                            "%s: the image is %zu x %zu, allowed are sides of 1 and more and up to "
                            "%u pixels",
                            what, image->height, image->width, UINT32_MAX);
    return YP_OK;
}

static enum yp_status yield(void *arg, size_t index, float *values, uint8_t *labels,
                            struct rx_tile *tile)
{
    (void)labels;
    const struct rx_image_tiles *tiles = arg;
    size_t channels = tiles->image.channels, across = tiles->image.width * channels;
    size_t first = index * tiles->rows, left = tiles->height - first;
    size_t rows = left < tiles->rows ? left : tiles->rows;
    const float *from = tiles->image.values + first * across;
    tile->pixels = rows * tiles->width;
    if (tiles->below == 0 && tiles->right == 0) {
        tile->values = from;
        return YP_OK;
    }
    const float *other = from + tiles->below * across + tiles->right * channels;
    for (size_t r = 0; r < rows; r++, from += across, other += across)
        for (size_t i = 0; i < tiles->width * channels; i++)
            *values++ = from[i] - other[i];
    return YP_OK;
}

static void set_source(struct rx_image_tiles *tiles)
{
    tiles->height = tiles->image.height - tiles->below;
    tiles->width = tiles->image.width - tiles->right;
    tiles->rows = tiles->width < TILE_PIXELS ? TILE_PIXELS / tiles->width : 1;
    tiles->rows = tiles->rows < tiles->height ? tiles->rows : tiles->height;
    tiles->source = (struct rx_source){.channels = tiles->image.channels,
                                       .tile_pixels = tiles->rows * tiles->width,
                                       .tiles = (tiles->height + tiles->rows - 1) / tiles->rows,
                                       .yield = yield,
                                       .arg = tiles};
}

enum yp_status rx_image_pixels(const struct rx_image *image, struct rx_image_tiles *tiles)
{
    if (tiles == NULL)
        return yp_set_error(YP_INVALID, "rx_image_pixels: tiles is NULL");
    enum yp_status status = rx_image_check("rx_image_pixels", image);
    if (status != YP_OK)
        return status;
    *tiles = (struct rx_image_tiles){.image = *image};
    set_source(tiles);
    return YP_OK;
}

enum yp_status rx_image_differences(const struct rx_image *image, enum rx_neighbour neighbour,
                                    struct rx_image_tiles *tiles)
{
    const char *what = "rx_image_differences";
    if (tiles == NULL)
        return yp_set_error(YP_INVALID, "%s: tiles is NULL", what);
    if ((unsigned)neighbour > RX_LOWER)
        return yp_set_error(YP_INVALID, "%s: neighbour is %d, allowed are 0 to %d", what,
                            (int)neighbour, (int)RX_LOWER);
    enum yp_status status = rx_image_check(what, image);
    if (status != YP_OK)
        return status;
    *tiles = (struct rx_image_tiles){
        .image = *image, .below = neighbour != RX_RIGHT, .right = neighbour != RX_LOWER};
    if (image->height <= tiles->below || image->width <= tiles->right)
        return yp_set_error(YP_INVALID, "%s: an image of %zu x %zu has no such neighbours", what,
                            image->height, image->width);
    set_source(tiles);
    return YP_OK;
}
