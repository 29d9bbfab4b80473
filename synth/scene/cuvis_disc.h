/* The discs of anomalies of SYNTH_CUVIS. */
#pragma once

#include "base/random/portable.h"

#define SYNTH_DISC_SMALLEST 2 /* radius, of four that follow each other */

struct synth_disc {
    int64_t row, column, radius; /* row and column of the centre, which lies in the image */
};

/* Disc d from words 4 d to 4 d + 2 of the cube's stream SYNTH_DISCS: row, column, radius. Centres
 * are uniform over the image; what of a disc lies outside is not there. */
YPI_INLINE struct synth_disc synth_disc(const uint32_t words[4], int64_t height, int64_t width)
{
    struct synth_disc disc;
    disc.radius = SYNTH_DISC_SMALLEST + (int64_t)(words[2] >> 30);
    disc.row = (int64_t)(((uint64_t)words[0] * (uint64_t)height) >> 32);
    disc.column = (int64_t)(((uint64_t)words[1] * (uint64_t)width) >> 32);
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
