/* Scores by blocks, and the plain version that they are held to. */
#include "models/nn/simd/triangle.h"
#include "models/rx/device/detector.h"

#include <math.h>

struct scoring {
    const struct rx *rx;
    float *scores;
    size_t stride; /* scores a tile */
};

static void score(void *arg, struct ypi_work_item item, const struct rx_tile *tile)
{
    const struct scoring *job = arg;
    const struct rx *rx = job->rx;
    size_t channels = rx->channels, stride = ypi_rx_stride(tile);
    struct ypi_triangle triangle = {channels, rx->whiten, rx->centre, rx->offset};
    float *scores = job->scores + item.index * job->stride;
    rx->triangle->score(&triangle, tile->values, stride, tile->pixels,
                        rx->scratch[item.worker].panels, scores);
    for (size_t p = 0; p < tile->pixels; p++)
        if (!isfinite(scores[p]) && !ypi_rx_is_finite(tile->values + p * stride, channels))
            scores[p] = NAN;
    for (size_t p = tile->pixels; p < job->stride; p++)
        scores[p] = NAN;
}

enum yp_status rx_score(struct rx *rx, const struct rx_source *source, float *scores)
{
    if (rx == NULL || scores == NULL)
        return yp_set_error(YP_INVALID, "rx_score: %s is NULL", rx == NULL ? "rx" : "scores");
    if (!rx->finished)
        return yp_set_error(YP_INVALID, "rx_score: rx has no factor; call rx_finish");
    if (rx->on != NULL)
        return ypi_rx_device_score(rx, source, scores);
    struct scoring job = {.rx = rx, .stride = source != NULL ? source->tile_pixels : 0};
    job.scores = scores;
    return ypi_rx_run(&(struct ypi_rx_pass){.what = "rx_score",
                                            .channels = rx->channels,
                                            .tile_pixels = rx->tile_pixels,
                                            .threads = rx->threads,
                                            .values = rx->values,
                                            .work = score,
                                            .arg = &job},
                      source);
}

/* |y|^2 with L y = x - mean; y is scratch, (C). */
static double solve(const struct rx *rx, const float *x, double *y)
{
    size_t channels = rx->channels;
    double sum = 0;
    for (size_t i = 0; i < channels; i++) {
        double rest = (double)x[i] - rx->location[i];
        for (size_t k = 0; k < i; k++)
            rest -= rx->factor[k * channels + i] * y[k];
        y[i] = rest / rx->factor[i * channels + i];
        sum += y[i] * y[i];
    }
    return sum;
}

enum yp_status rx_score_plain(const struct rx *rx, const struct rx_tile *tile, double *scores)
{
    if (rx == NULL || tile == NULL || tile->values == NULL || scores == NULL)
        return yp_set_error(YP_INVALID, "rx_score_plain: %s is NULL",
                            rx == NULL       ? "rx"
                            : tile == NULL   ? "tile"
                            : scores == NULL ? "scores"
                                             : "tile->values");
    if (!rx->finished)
        return yp_set_error(YP_INVALID, "rx_score_plain: rx has no factor; call rx_finish");
    if (tile->channels != rx->channels)
        return yp_set_error(YP_INVALID, "rx_score_plain: the tile has %zu channels, rx has %zu",
                            tile->channels, rx->channels);
    size_t stride = ypi_rx_stride(tile);
    if (stride < tile->channels)
        return yp_set_error(
            YP_INVALID, "rx_score_plain: the tile has stride %zu, allowed are 0 and %zu or more",
            stride, tile->channels);
    double *y = yp_device_alloc(rx->device, rx->channels * sizeof *y);
    if (y == NULL)
        return YP_OUT_OF_MEMORY;
    for (size_t p = 0; p < tile->pixels; p++) {
        const float *x = tile->values + p * stride;
        scores[p] = ypi_rx_is_finite(x, rx->channels) ? solve(rx, x, y) : NAN;
    }
    yp_device_free(rx->device, y);
    return YP_OK;
}
