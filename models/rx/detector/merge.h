/* Sums of tiles become sums of blocks of tiles, and those the sums of all. */
#pragma once

#include "models/rx/internal.h"

/* A fit's tiles are merged into blocks in the order of their indices, and blocks in the order of
 * theirs, so that processes that share the blocks have the bits of one that has them all. There are
 * so many blocks at most, all of the same number of tiles but the last. */
#define YPI_RX_BLOCKS ((size_t)256)

static inline size_t ypi_rx_block_tiles(size_t tiles)
{
    return tiles > YPI_RX_BLOCKS ? (tiles + YPI_RX_BLOCKS - 1) / YPI_RX_BLOCKS : 1;
}

/* Sums without a pixel. */
void ypi_rx_clear(const struct rx *rx, struct ypi_rx_merged *sums);
/* Both write to rx->difference and rx->weighted. `to` is not packed. */
void ypi_rx_add_tile(const struct rx *rx, struct ypi_rx_merged *to,
                     const struct ypi_rx_accumulator *tile);
void ypi_rx_add_sums(const struct rx *rx, struct ypi_rx_merged *to,
                     const struct ypi_rx_merged *from);
/* The same sums; either may be packed. */
void ypi_rx_copy_sums(const struct rx *rx, struct ypi_rx_merged *to,
                      const struct ypi_rx_merged *from);

/* Sums as one piece of memory, for messages: counts, means, packed products, ends. Aligned to 8. */
size_t ypi_rx_record_bytes(size_t channels);
void ypi_rx_write_record(const struct rx *rx, char *record, const struct ypi_rx_merged *from);
/* The sums in it, packed. */
struct ypi_rx_merged ypi_rx_in_record(char *record, size_t channels);
