/* Orders and parts of the cubes of a source. */
#include "cubes.h"

#include "internal.h"

uint64_t rx_cube_key(uint64_t seed, uint64_t stream, uint64_t index)
{
    return ypi_rx_mix(ypi_rx_mix(seed + YPI_RX_GOLDEN * (stream + 1)) +
                      YPI_RX_GOLDEN * (index + 1));
}

struct ranking {
    bool by_key; /* else by index alone */
    uint64_t seed, stream;
};

static bool before(const struct ranking *by, uint32_t a, uint32_t b)
{
    if (by->by_key) {
        uint64_t of_a = rx_cube_key(by->seed, by->stream, a);
        uint64_t of_b = rx_cube_key(by->seed, by->stream, b);
        if (of_a != of_b)
            return of_a < of_b;
    }
    return a < b;
}

static void sift(const struct ranking *by, uint32_t *heap, size_t root, size_t n)
{
    uint32_t moved = heap[root];
    for (size_t child = 2 * root + 1; child < n; child = 2 * root + 1) {
        if (child + 1 < n && before(by, heap[child], heap[child + 1]))
            child++;
        if (!before(by, moved, heap[child]))
            break;
        heap[root] = heap[child];
        root = child;
    }
    heap[root] = moved;
}

/* Heapsort: no memory, and keys are made where they are compared. */
static void sort(const struct ranking *by, uint32_t *cubes, size_t n)
{
    for (size_t i = n / 2; i-- > 0;)
        sift(by, cubes, i, n);
    for (size_t end = n; end-- > 1;) {
        uint32_t last = cubes[end];
        cubes[end] = cubes[0];
        cubes[0] = last;
        sift(by, cubes, 0, end);
    }
}

void rx_order_cubes(uint64_t seed, uint64_t stream, uint32_t *cubes, size_t count)
{
    sort(&(struct ranking){true, seed, stream}, cubes, count);
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
    sort(&(struct ranking){0}, order, cubes - validation);
    sort(&(struct ranking){0}, order + cubes - validation, validation);
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
