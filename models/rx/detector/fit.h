/* A fit: tiles are measured and merged into blocks. */
#pragma once

#include "models/rx/detector/merge.h"

struct ypi_rx_fit {
    struct rx *rx;
    size_t per_block, in_block; /* tiles: of a block, and in the one that is on */
    bool merged;                /* a tile was */
    char *kept;                 /* blocks as records, one behind the other; NULL: merged at once */
    size_t blocks;              /* that are kept */
};

/* `count` tiles from the first on. */
enum yp_status ypi_rx_fit_tiles(struct ypi_rx_fit *fit, const char *what,
                                const struct rx_source *source, size_t first, size_t count);
