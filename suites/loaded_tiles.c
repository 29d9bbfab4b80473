#include "suites/loaded_tiles.h"

#include <omp.h>

static enum yp_status fill(void *arg, size_t index, void *data, uint8_t *labels, size_t *pixels)
{
    struct scene_tiles *tiles = arg;
    struct rx_tile tile = {.values = data, .labels = labels};
    enum yp_status status = tiles->source.yield(tiles, index, data, labels, &tile);
    *pixels = tile.pixels;
    return status;
}

/* A thread holds its tile until it asks for the next one. */
static enum yp_status yield(void *arg, size_t index, float *values, uint8_t *labels,
                            struct rx_tile *tile)
{
    (void)values, (void)labels;
    struct loaded_tiles *loaded = arg;
    int thread = omp_get_thread_num();
    if (thread >= LOADED_CONSUMERS)
        return yp_set_error(YP_INVALID, "thread %d takes a tile: at most %d threads may", thread,
                            LOADED_CONSUMERS);
    struct data_item *held = &loaded->held[thread];
    if (held->data != NULL)
        data_loader_give_back(loaded->loader, held);
    enum yp_status status = data_loader_take(loaded->loader, index, held);
    if (status != YP_OK)
        return status;
    tile->values = held->data;
    tile->labels = held->labels;
    tile->pixels = held->count;
    return YP_OK;
}

void loaded_tiles_open(struct loaded_tiles *loaded, struct yp_case *t, struct scene_tiles *tiles,
                       int workers, size_t depth)
{
    *loaded = (struct loaded_tiles){.source = tiles->source};
    loaded->source.yield = yield;
    loaded->source.arg = loaded;
    struct data_loader_options options = {.items = tiles->source.tiles,
                                          .elements = tiles->source.tile_pixels,
                                          .element_bytes = tiles->source.channels * sizeof(float),
                                          .workers = workers,
                                          .depth = depth,
                                          .consumers = LOADED_CONSUMERS,
                                          .labels = true,
                                          .fill = fill,
                                          .arg = tiles};
    loaded->loader = data_loader_create(tiles->device, &options);
    yp_require(t, loaded->loader != NULL, "%s", yp_last_error());
}

static void give_back(struct loaded_tiles *loaded)
{
    for (int i = 0; i < LOADED_CONSUMERS; i++)
        if (loaded->held[i].data != NULL)
            data_loader_give_back(loaded->loader, &loaded->held[i]);
}

void loaded_tiles_close(struct loaded_tiles *loaded)
{
    give_back(loaded);
    data_loader_destroy(loaded->loader);
}

void loaded_tiles_rewind(void *arg)
{
    struct loaded_tiles *loaded = arg;
    give_back(loaded);
    data_loader_rewind(loaded->loader);
}
