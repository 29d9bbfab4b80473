/* Orders and parts of items. Keys are made where they are compared: no memory. */
#include "models/data/order.h"

#include "base/numbers/sort.h"
#include "base/numbers/splitmix.h"

uint64_t data_order_key(uint64_t seed, uint64_t stream, uint64_t index)
{
    return ypi_mix64(ypi_mix64(seed + YPI_GOLDEN * (stream + 1)) + YPI_GOLDEN * (index + 1));
}

struct ranking {
    bool by_key; /* else by index alone */
    uint64_t seed, stream;
};

static bool before(const void *ranking, uint32_t a, uint32_t b)
{
    const struct ranking *by = ranking;
    if (by->by_key) {
        uint64_t of_a = data_order_key(by->seed, by->stream, a);
        uint64_t of_b = data_order_key(by->seed, by->stream, b);
        if (of_a != of_b)
            return of_a < of_b;
    }
    return a < b;
}

void data_order(uint64_t seed, uint64_t stream, uint32_t *items, size_t count)
{
    ypi_sort_items(items, count, before, &(struct ranking){true, seed, stream});
}

size_t data_validation_count(size_t items, double part)
{
    if (items < 2 || !(part > 0))
        return 0;
    size_t nearest = (size_t)((double)items * part + 0.5);
    return nearest < 1 ? 1 : nearest > items - 1 ? items - 1 : nearest;
}

void data_split(uint64_t seed, size_t items, size_t validation, uint32_t *order)
{
    for (size_t i = 0; i < items; i++)
        order[i] = (uint32_t)i;
    data_order(seed, 0, order, items);
    ypi_sort_items(order, items - validation, before, &(struct ranking){0});
    ypi_sort_items(order + items - validation, validation, before, &(struct ranking){0});
}
