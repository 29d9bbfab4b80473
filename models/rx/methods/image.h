/* An image in memory, for methods that ask where a pixel lies, and its pixels as a source. */
#pragma once

#include "models/rx/rx.h"

/* (height, width, channels), one pixel's channels side by side (BIP). A pixel with a value that is
 * not finite counts nowhere. */
struct rx_image {
    const float *values;
    size_t height, width, channels;
};

/* YP_INVALID with what is wrong: a NULL, a side of 0, channels beyond 1 .. RX_MAX_CHANNELS, more
 * than 2^32 - 1 pixels. `what` names the function in the message. */
enum yp_status rx_image_check(const char *what, const struct rx_image *image);

/* Which neighbour is subtracted from a pixel, in the words of Spectral Python's noise_from_diffs().
 */
enum rx_neighbour { RX_LOWER_RIGHT = 0, RX_RIGHT, RX_LOWER };

/* An image as a source, without labels: its pixels row after row, or the differences between
 * neighbours. Tiles are whole rows, about 4096 pixels or one row; pixels are not copied. The
 * structure must not move while the source is in use. */
struct rx_image_tiles {
    struct rx_image image;
    size_t below, right;  /* of the neighbour; both 0: the pixels themselves */
    size_t height, width; /* of what is yielded */
    size_t rows;          /* of a tile */
    struct rx_source source;
};

enum yp_status rx_image_pixels(const struct rx_image *image, struct rx_image_tiles *tiles);

/* x(i, j) less x(i + 1, j + 1), x(i, j + 1) or x(i + 1, j), rounded to float. One with a pixel that
 * is not finite is not finite, so a fit skips it. YP_INVALID also when the image is too small for
 * that neighbour. */
enum yp_status rx_image_differences(const struct rx_image *image, enum rx_neighbour neighbour,
                                    struct rx_image_tiles *tiles);
