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
    const uint32_t *group; /* of an item, whose key and number come first; NULL: keys of items */
};

static bool before(const void *ranking, uint32_t a, uint32_t b)
{
    const struct ranking *by = ranking;
    const uint32_t *group = by->group;
    if (by->by_key) {
        uint64_t of_a = data_order_key(by->seed, by->stream, group != NULL ? group[a] : a);
        uint64_t of_b = data_order_key(by->seed, by->stream, group != NULL ? group[b] : b);
        if (of_a != of_b)
            return of_a < of_b;
    }
    return group != NULL && group[a] != group[b] ? group[a] < group[b] : a < b;
}

void data_order(uint64_t seed, uint64_t stream, uint32_t *items, size_t count)
{
    ypi_sort_items(items, count, before, &(struct ranking){true, seed, stream, NULL});
}

size_t data_validation_count(size_t items, double part)
{
    if (items < 2 || !(part > 0))
        return 0;
    size_t nearest = (size_t)((double)items * part + 0.5);
    return nearest < 1 ? 1 : nearest > items - 1 ? items - 1 : nearest;
}

/* How many of the sorted items the groups at the end have that are nearest to `wanted`. */
static size_t of_groups(const uint32_t *order, size_t items, size_t wanted, const uint32_t *group)
{
    size_t best = 0;
    for (size_t i = items - 1; i > 0 && wanted > 0; i--) {
        const size_t count = items - i;
        if (group[order[i]] == group[order[i - 1]])
            continue;
        if (best == 0 || count <= wanted || count - wanted <= wanted - best)
            best = count;
        if (count >= wanted)
            break;
    }
    return best;
}

size_t data_split(uint64_t seed, size_t items, size_t validation, const uint32_t *group,
                  uint32_t *order)
{
    for (size_t i = 0; i < items; i++)
        order[i] = (uint32_t)i;
    ypi_sort_items(order, items, before, &(struct ranking){true, seed, 0, group});
    if (group != NULL)
        validation = of_groups(order, items, validation, group);
    ypi_sort_items(order, items - validation, before, &(struct ranking){0});
    ypi_sort_items(order + items - validation, validation, before, &(struct ranking){0});
    return validation;
}
