/* MinMax with the min and max of each tile. */
#include "models/rx/pipeline/internal.h"

#include <math.h>

/* Of the pixels that are finite: those that the others' calls count. */
static void range_of(const struct rx_tile *tile, float *min, float *max)
{
    *min = INFINITY;
    *max = -INFINITY;
    for (size_t i = 0; i < tile->pixels; i++) {
        const float *x = tile->values + i * ypi_rx_stride(tile);
        if (!ypi_rx_is_finite(x, tile->channels))
            continue;
        for (size_t c = 0; c < tile->channels; c++) {
            *min = x[c] < *min ? x[c] : *min;
            *max = x[c] > *max ? x[c] : *max;
        }
    }
}

/* To `values`, where the pixels stand side by side; they may be there already, with or without
 * gaps. */
static void scale_tile(struct rx_tile *tile, float *values)
{
    float least, most;
    range_of(tile, &least, &most);
    double min = (double)least, gain = 1 / ypi_rx_extent(min, (double)most);
    for (size_t i = 0; i < tile->pixels; i++) {
        const float *x = tile->values + i * ypi_rx_stride(tile);
        for (size_t c = 0; c < tile->channels; c++)
            values[i * tile->channels + c] = (float)(((double)x[c] - min) * gain);
    }
    tile->values = values;
    tile->stride = 0;
}

/* A tile that the caller is going to refuse is left to him. */
static enum yp_status yield(void *arg, size_t index, float *values, uint8_t *labels,
                            struct rx_tile *tile)
{
    const struct rx_source *source = arg;
    enum yp_status status = source->yield(source->arg, index, values, labels, tile);
    bool sound = tile->values != NULL && tile->channels == source->channels &&
                 tile->pixels <= source->tile_pixels &&
                 (tile->stride == 0 || tile->stride >= tile->channels);
    if (status == YP_OK && sound)
        scale_tile(tile, values);
    return status;
}

struct rx_source rx_sample_source(const struct rx_source *source)
{
    struct rx_source scaled = *source;
    scaled.yield = yield;
    scaled.arg = (void *)(uintptr_t)source; /* read only */
    return scaled;
}
