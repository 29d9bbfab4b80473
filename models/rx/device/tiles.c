/* How tiles come to a GPU: made there by their source, or staged from the host. */
#include "models/rx/device/detector.h"

#include <string.h>

enum { VALUES, LABELS, ARRAYS }; /* of an item of staging */

static enum ypi_staging_mode mode_of(enum rx_tiles tiles)
{
    return tiles == RX_TILES_OVERLAPPED   ? YPI_STAGING_OVERLAPPED
           : tiles == RX_TILES_SEQUENTIAL ? YPI_STAGING_SEQUENTIAL
                                          : YPI_STAGING_NONE;
}

size_t ypi_rx_device_slots(enum rx_tiles tiles)
{
    return ypi_staging_slots(mode_of(tiles));
}

enum rx_tiles ypi_rx_tiles_of(const struct rx_options *options)
{
    return options != NULL ? options->tiles : RX_TILES_RESIDENT;
}

enum yp_status ypi_rx_staging_open(struct ypi_rx_device *on, enum rx_tiles tiles)
{
    const size_t bytes[ARRAYS] = {on->tile_pixels * on->channels * sizeof(float),
                                  on->labels[0] != NULL ? on->tile_pixels : 0};
    enum yp_status status =
        ypi_staging_open(&on->staging, on->device, mode_of(tiles), bytes, ARRAYS);
    for (size_t i = 0; i < ypi_rx_device_slots(tiles) && status == YP_OK; i++) {
        on->staging.on_device[i][VALUES] = on->values[i];
        on->staging.on_device[i][LABELS] = on->labels[i];
    }
    return status;
}

/* -- a pass --------------------------------------------------------------------------------- */

struct tiles {
    const struct ypi_rx_device *on;
    struct ypi_rx_pass pass;
    const struct rx_source *source;
    struct rx_tile tile; /* at hand */
    ypi_rx_device_work *work;
    void *arg;
};

enum yp_status ypi_rx_device_begin(const char *what, struct ypi_rx_device *on,
                                   const struct rx_source *source)
{
    enum yp_status status = ypi_rx_check_source(
        &(struct ypi_rx_pass){
            .what = what, .channels = on->channels, .tile_pixels = on->tile_pixels},
        source);
    return status == YP_OK ? ypi_staging_begin(&on->staging) : status;
}

/* Pixels side by side, in the buffer where they are not. */
static void pack(struct rx_tile *tile, float *buffer)
{
    size_t stride = ypi_rx_stride(tile);
    for (size_t p = 0; stride != tile->channels && p < tile->pixels; p++)
        memmove(buffer + p * tile->channels, tile->values + p * stride,
                tile->channels * sizeof *buffer);
    if (stride != tile->channels)
        tile->values = buffer;
    tile->stride = 0;
}

static enum yp_status produce(void *arg, size_t index, struct ypi_staged *arrays)
{
    struct tiles *t = arg;
    struct rx_tile *tile = &t->tile;
    t->pass.values = arrays[VALUES].buffer;
    t->pass.labels = t->on->unlabelled ? NULL : arrays[LABELS].buffer;
    enum yp_status status =
        ypi_rx_ask(&t->pass, t->source, (struct ypi_work_item){.index = index}, tile);
    if (status != YP_OK || t->on->staging.mode == YPI_STAGING_NONE || tile->pixels == 0)
        return status;
    pack(tile, arrays[VALUES].buffer);
    arrays[VALUES].data = tile->values;
    arrays[VALUES].bytes = tile->pixels * tile->channels * sizeof *tile->values;
    if (t->pass.labels != NULL) {
        arrays[LABELS].data = tile->labels;
        arrays[LABELS].bytes = tile->pixels;
    }
    return YP_OK;
}

static enum yp_status use(void *arg, size_t index, const struct ypi_staged *arrays)
{
    struct tiles *t = arg;
    if (arrays[VALUES].bytes > 0) {
        t->tile.values = arrays[VALUES].data;
        t->tile.labels = arrays[LABELS].data;
    }
    return t->work(t->arg, index, &t->tile);
}

enum yp_status ypi_rx_device_pass(const char *what, struct ypi_rx_device *on,
                                  const struct rx_source *source, ypi_rx_device_work *work,
                                  void *arg, const bool *stop)
{
    struct tiles tiles = {.on = on,
                          .pass = {.what = what,
                                   .channels = on->channels,
                                   .tile_pixels = on->tile_pixels,
                                   .threads = 1},
                          .source = source,
                          .work = work,
                          .arg = arg};
    struct ypi_staging_run run = {
        .items = source->tiles, .produce = produce, .use = use, .arg = &tiles, .stop = stop};
    return ypi_staging_run(&on->staging, &run);
}
