/* Orders and parts of the cubes of a source. Keys are made where they are compared: no memory. */
#include "models/data/cubes.h"

#include "models/rx/internal.h"

uint64_t rx_cube_key(uint64_t seed, uint64_t stream, uint64_t index)
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
        uint64_t of_a = rx_cube_key(by->seed, by->stream, a);
        uint64_t of_b = rx_cube_key(by->seed, by->stream, b);
        if (of_a != of_b)
            return of_a < of_b;
    }
    return a < b;
}

void rx_order_cubes(uint64_t seed, uint64_t stream, uint32_t *cubes, size_t count)
{
    ypi_sort_items(cubes, count, before, &(struct ranking){true, seed, stream});
}

size_t rx_validation_cubes(size_t cubes, double part)
{
    if (cubes < 2 || !(part > 0))
        return 0;
    size_t nearest = (size_t)((double)cubes * part + 0.5);
    return nearest < 1 ? 1 : nearest > cubes - 1 ? cubes - 1 : nearest;
}

void rx_split_cubes(uint64_t seed, size_t cubes, size_t validation, uint32_t *order)
{
    for (size_t i = 0; i < cubes; i++)
        order[i] = (uint32_t)i;
    rx_order_cubes(seed, 0, order, cubes);
    ypi_sort_items(order, cubes - validation, before, &(struct ranking){0});
    ypi_sort_items(order + cubes - validation, validation, before, &(struct ranking){0});
}

static enum yp_status yield(void *arg, size_t index, float *values, uint8_t *labels,
                            struct rx_tile *tile)
{
    const struct rx_cubes *part = arg;
    size_t cube = part->cubes[index / part->tiles_per_cube];
    return part->all->yield(part->all->arg,
                            cube * part->tiles_per_cube + index % part->tiles_per_cube, values,
                            labels, tile);
}

struct rx_source rx_cubes_source(const struct rx_cubes *cubes)
{
    return (struct rx_source){cubes->all->channels, cubes->all->tile_pixels,
                              cubes->count * cubes->tiles_per_cube, yield, (void *)cubes};
}
