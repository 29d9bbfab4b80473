/* Some cubes of a source as a source. A cube is `tiles_per_cube` tiles that follow each other. */
#pragma once

#include "models/rx/rx.h"

/* The first of them has tiles 0 .. tiles_per_cube - 1, and so on. */
struct rx_cubes {
    const struct rx_source *all;
    size_t tiles_per_cube;
    const uint32_t *cubes; /* (count) */
    size_t count;
};

/* Refers to `cubes` and all it points to. */
struct rx_source rx_cubes_source(const struct rx_cubes *cubes);
