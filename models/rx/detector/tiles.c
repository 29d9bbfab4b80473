/* A pass over the tiles of a source: what it yields is checked before anyone works on it. */
#include "models/rx/internal.h"

#include <assert.h>
#include <omp.h>

/* The limits on arguments keep every size below 2^60. */
static_assert(SIZE_MAX == UINT64_MAX, "sizes are counted in 64 bits");

enum yp_status ypi_rx_check(const char *what, size_t channels, size_t tile_pixels, int *threads)
{
    if (channels == 0 || channels > RX_MAX_CHANNELS)
        return yp_set_error(YP_INVALID, "%s: channels is %zu, allowed are 1 to %d", what, channels,
                            RX_MAX_CHANNELS);
    if (tile_pixels == 0 || tile_pixels > UINT32_MAX)
        return yp_set_error(YP_INVALID, "%s: tile_pixels is %zu, allowed are 1 to %u", what,
                            tile_pixels, UINT32_MAX);
    if (*threads < 0 || *threads > RX_MAX_THREADS)
        return yp_set_error(YP_INVALID, "%s: threads is %d, allowed are 0 (all) to %d", what,
                            *threads, RX_MAX_THREADS);
    if (*threads == 0)
        *threads = omp_get_max_threads() < RX_MAX_THREADS ? omp_get_max_threads() : RX_MAX_THREADS;
    return YP_OK;
}

enum yp_status ypi_rx_check_source(const struct ypi_rx_pass *pass, const struct rx_source *source)
{
    if (source == NULL || source->yield == NULL)
        return yp_set_error(YP_INVALID, "%s: %s is NULL", pass->what,
                            source == NULL ? "source" : "source->yield");
    if (source->channels != pass->channels)
        return yp_set_error(YP_INVALID, "%s: source->channels is %zu, the object has %zu",
                            pass->what, source->channels, pass->channels);
    if (source->tile_pixels == 0 || source->tile_pixels > pass->tile_pixels)
        return yp_set_error(YP_INVALID, "%s: source->tile_pixels is %zu, allowed are 1 to %zu",
                            pass->what, source->tile_pixels, pass->tile_pixels);
    return YP_OK;
}

enum yp_status ypi_rx_ask(const struct ypi_rx_pass *pass, const struct rx_source *source,
                          struct ypi_work_item item, struct rx_tile *tile)
{
    size_t index = item.index, pixels = pass->tile_pixels;
    float *values = pass->values + (size_t)item.worker * pixels * pass->channels;
    uint8_t *labels = pass->labels != NULL ? pass->labels + (size_t)item.slot * pixels : NULL;
    *tile = (struct rx_tile){values, 0, pass->channels, labels, 0};
    enum yp_status status = source->yield(source->arg, index, values, labels, tile);
    if (status != YP_OK)
        return status;
    if (tile->channels != pass->channels)
        return yp_set_error(YP_INVALID, "%s: tile %zu has %zu channels, the source has %zu",
                            pass->what, index, tile->channels, pass->channels);
    if (tile->stride != 0 && tile->stride < tile->channels)
        return yp_set_error(YP_INVALID,
                            "%s: tile %zu has stride %zu, allowed are 0 and %zu or more",
                            pass->what, index, tile->stride, tile->channels);
    if (tile->pixels > source->tile_pixels)
        return yp_set_error(YP_INVALID, "%s: tile %zu has %zu pixels, allowed are 0 to %zu",
                            pass->what, index, tile->pixels, source->tile_pixels);
    if (tile->values == NULL)
        return yp_set_error(YP_INVALID, "%s: tile %zu has no values", pass->what, index);
    if (pass->labels != NULL && tile->labels == NULL)
        return yp_set_error(YP_INVALID, "%s: tile %zu has no labels", pass->what, index);
    return YP_OK;
}

struct tiles {
    const struct ypi_rx_pass *pass;
    const struct rx_source *source;
};

static enum yp_status work(void *arg, struct ypi_work_item item)
{
    const struct tiles *tiles = arg;
    struct rx_tile tile;
    enum yp_status status = ypi_rx_ask(tiles->pass, tiles->source, item, &tile);
    if (status == YP_OK)
        tiles->pass->work(tiles->pass->arg, item, &tile);
    return status;
}

static void merge(void *arg, int slot)
{
    const struct tiles *tiles = arg;
    tiles->pass->merge(tiles->pass->arg, slot);
}

enum yp_status ypi_rx_run_part(const struct ypi_rx_pass *pass, const struct rx_source *source,
                               size_t first, size_t count)
{
    enum yp_status status = ypi_rx_check_source(pass, source);
    if (status != YP_OK)
        return status;
    return ypi_pass_run(&(struct ypi_pass){.first = first,
                                           .items = count,
                                           .workers = pass->threads,
                                           .spare = pass->spare,
                                           .work = work,
                                           .merge = pass->merge != NULL ? merge : NULL,
                                           .arg = &(struct tiles){pass, source}});
}

enum yp_status ypi_rx_run(const struct ypi_rx_pass *pass, const struct rx_source *source)
{
    return ypi_rx_run_part(pass, source, 0, source != NULL ? source->tiles : 0);
}
