/* An object and its arrays in one block of memory. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Hands out parts of a block in the order of asking. With base NULL it only counts, so the same
 * code gives an object's size and its layout. */
struct ypi_arena {
    char *base;
    size_t used;
    bool overflow; /* more was asked for than a size_t counts; `used` means nothing then */
    bool together; /* what is taken while it is set is copied at once, so never separated */
};

/* `count` elements of `size` bytes, on a cache line of their own. NULL while the arena counts. */
void *ypi_arena_take(struct ypi_arena *arena, size_t count, size_t size);

/* For debugging: gives `bytes` at `offset` of the block `base` an allocation of their own, which
 * lives as long as the block, or NULL, where they stay a part of it. Set by the caller that hands
 * out such blocks, before the first; NULL: parts are parts. */
typedef void *ypi_arena_separate(void *base, size_t offset, size_t bytes);
extern ypi_arena_separate *ypi_arena_separated;
