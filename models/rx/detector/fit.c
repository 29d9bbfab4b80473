/* A fit: sums of tiles, merged in the order that rx.h says. */
#include "models/rx/detector/fit.h"

#include "models/rx/detector/chunk.h"
#include "models/rx/device/detector.h"

static void measure(void *arg, struct ypi_work_item item, const struct rx_tile *tile)
{
    const struct rx *rx = ((const struct ypi_rx_fit *)arg)->rx;
    ypi_rx_measure(rx, &rx->scratch[item.worker], tile, &rx->accumulators[item.slot]);
}

static void end_block(struct ypi_rx_fit *fit)
{
    struct rx *rx = fit->rx;
    if (fit->in_block == 0)
        return;
    if (fit->kept != NULL)
        ypi_rx_write_record(rx, fit->kept + fit->blocks++ * ypi_rx_record_bytes(rx->channels),
                            rx->block);
    else
        ypi_rx_add_sums(rx, &rx->all, rx->block);
    fit->in_block = 0;
}

static void merge(void *arg, int slot)
{
    struct ypi_rx_fit *fit = arg;
    struct rx *rx = fit->rx;
    fit->merged = true;
    if (fit->per_block == 1 && fit->kept == NULL) { /* the block would be a copy of the tile */
        ypi_rx_add_tile(rx, &rx->all, &rx->accumulators[slot]);
        return;
    }
    if (fit->in_block++ == 0)
        ypi_rx_clear(rx, rx->block);
    ypi_rx_add_tile(rx, rx->block, &rx->accumulators[slot]);
    if (fit->in_block == fit->per_block)
        end_block(fit);
}

enum yp_status ypi_rx_fit_tiles(struct ypi_rx_fit *fit, const char *what,
                                const struct rx_source *source, size_t first, size_t count)
{
    const struct rx *rx = fit->rx;
    const struct ypi_rx_pass pass = {.what = what,
                                     .channels = rx->channels,
                                     .tile_pixels = rx->tile_pixels,
                                     .threads = rx->threads,
                                     .spare = 1,
                                     .values = rx->values,
                                     .work = measure,
                                     .merge = merge,
                                     .arg = fit};
    enum yp_status status = ypi_rx_run_part(&pass, source, first, count);
    if (status == YP_OK)
        end_block(fit);
    return status;
}

enum yp_status rx_fit(struct rx *rx, const struct rx_source *source)
{
    if (rx == NULL)
        return yp_set_error(YP_INVALID, "rx_fit: rx is NULL");
    if (rx->on != NULL)
        return ypi_rx_device_fit(rx, source);
    struct ypi_rx_fit fit = {.rx = rx};
    if (source != NULL)
        fit.per_block = ypi_rx_block_tiles(source->tiles);
    enum yp_status status =
        ypi_rx_fit_tiles(&fit, "rx_fit", source, 0, source != NULL ? source->tiles : 0);
    if (status != YP_OK && fit.merged)
        rx->failed = true;
    return status;
}
