/* Some cubes of a source as a source. */
#include "models/rx/detector/cubes.h"

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
