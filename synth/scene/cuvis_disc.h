/* The discs of anomalies of SYNTH_CUVIS. */
#ifndef YIELDPOINT_SYNTH_CUVIS_DISC_H
#define YIELDPOINT_SYNTH_CUVIS_DISC_H

#include "base/random/portable.h"

#define SYNTH_DISC_SMALLEST 2 /* radius, of four that follow each other */

struct synth_disc {
    int64_t row, column, radius; /* row and column of the centre */
};

/* A centre coordinate, uniform over those at which the disc lies within the image; the middle of
 * the image if there are none. */
YPI_INLINE int64_t synth_disc_centre(uint32_t word, int64_t side, int64_t radius)
{
    int64_t places = side - 2 * radius;
    return places > 0 ? radius + (int64_t)(((uint64_t)word * (uint64_t)places) >> 32) : side / 2;
}

/* Disc d from words 4 d to 4 d + 2 of the cube's stream SYNTH_DISCS: row, column, radius. */
YPI_INLINE struct synth_disc synth_disc(const uint32_t words[4], int64_t height, int64_t width)
{
    struct synth_disc disc;
    disc.radius = SYNTH_DISC_SMALLEST + (int64_t)(words[2] >> 30);
    disc.row = synth_disc_centre(words[0], height, disc.radius);
    disc.column = synth_disc_centre(words[1], width, disc.radius);
    return disc;
}

/* Half the width of the disc `down` rows below its centre; |down| <= radius. */
YPI_INLINE int64_t synth_disc_reach(int64_t radius, int64_t down)
{
    int64_t reach = radius;
    while (reach * reach + down * down > radius * radius)
        reach--;
    return reach;
}

#endif
