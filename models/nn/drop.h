/* Dropout's masks. An element's factor is 1 / (1 - rate), or 0 with the probability `rate`, as a
 * function of its row's key (two numbers, the lower 32 bits first), of the layer and of its place
 * in the row: word `place` of the stream with that key as seed and that layer as subsequence
 * (base/random/philox.h) is at least rate 2^32, or not. So it does not matter which rows a batch
 * has, nor who works on them. */
#pragma once

#include "base/random/philox.h"
#include "models/nn/types.h"

#include <stdbool.h>
#include <stddef.h>
#include <yieldpoint/device.h>

struct nn_drop {
    double rate;
    uint64_t layer;
    const int32_t *key; /* (rows, 2) */
    bool whole;         /* word 0 decides for all of a row */
};

/* Words below it are of elements that are left out. */
YPI_INLINE uint32_t nn_drop_threshold(const struct nn_drop *drop)
{
    return (uint32_t)(drop->rate * 0x1p32);
}

YPI_INLINE struct ypi_stream nn_drop_stream(const struct nn_drop *drop, size_t row)
{
    const int32_t *key = drop->key + 2 * row;
    const struct ypi_stream stream = {(uint64_t)(uint32_t)key[1] << 32 | (uint32_t)key[0],
                                      drop->layer};
    return stream;
}

/* The factor of an element; factors of many: nn_drop_row(). */
YPI_INLINE double nn_drop_factor(const struct nn_drop *drop, size_t row, size_t place)
{
    uint32_t words[4];
    place = drop->whole ? 0 : place;
    ypi_philox_block(nn_drop_stream(drop, row), place / 4, words);
    return words[place % 4] >= nn_drop_threshold(drop) ? 1 / (1 - drop->rate) : 0;
}

/* YP_INVALID, naming the operator, unless the rate is at least 0 and below 1. */
enum yp_status nn_check_drop(const char *op, const struct nn_drop *drop);

/* y (n), the elements of a row from `place` on, become x times their factors, or these are added; y
 * may be x. A NaN stays one where the factor is 0, too. */
void nn_drop_row(const struct nn_drop *drop, size_t row, size_t place, enum nn_type type,
                 const void *x, size_t n, bool add, void *y);
