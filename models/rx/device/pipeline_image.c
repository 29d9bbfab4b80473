/* RX by image on a GPU: each tile's own statistics and factor. */
#include "models/rx/device/parts.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* A row that does not count is not finite, so that gram() leaves it out. */
static enum yp_status add_statistics(struct rx_pipeline *p, struct ypi_rx_lane *lane,
                                     const struct rx_tile *tile, size_t first, size_t pixels)
{
    (void)lane;
    struct ypi_rx_pipeline_device *d = p->on;
    d->sample.pixels = pixels;
    d->statistics.blocks = rxc_ranges(pixels, d->range);
    enum yp_status status = ypi_rx_device_gather(d, tile, first, pixels, NAN);
    if (status == YP_OK)
        status = d->on.cuda->gram(d->on.device, &d->sample);
    return status == YP_OK ? d->on.cuda->merge(d->on.device, &d->statistics) : status;
}

static enum yp_status centre_around(const struct rx_pipeline *p, const float *base,
                                    const float *rest)
{
    const struct ypi_rx_pipeline_device *d = p->on;
    const struct ypi_rx_numbers *at = &d->at;
    size_t c = p->options.channels;
    assert(at->base == 0 && at->rest < at->gain);
    memcpy(d->given + at->base, base, c * sizeof *base);
    memcpy(d->given + at->rest, rest, c * sizeof *rest);
    return yp_device_copy(d->on.device, d->numbers, d->given, at->gain * sizeof(float));
}

/* Statistics of the image around those of all, and its factor. `kept`: its finite pixels. */
static enum yp_status factor_image(struct rx_pipeline *p, struct ypi_rx_lane *lane,
                                   const struct rx_tile *tile, uint64_t *kept)
{
    struct ypi_rx_pipeline_device *d = p->on;
    struct yp_device *device = d->on.device;
    uint64_t counts[2] = {0};
    unsigned failed = 0;
    enum yp_status status =
        yp_stream_copy(yp_device_stream(device), d->statistics.m2, d->none.m2, d->statistics_bytes);
    if (status == YP_OK)
        status = centre_around(p, p->base, p->rest);
    if (status == YP_OK)
        status = ypi_rx_device_over_chunks(p, lane, tile, add_statistics);
    if (status == YP_OK)
        status = yp_device_copy(device, counts, d->statistics.counts, sizeof counts);
    if (status == YP_OK)
        status = yp_device_copy(device, lane->mean, d->statistics.all_mean,
                                p->options.channels * sizeof *lane->mean);
    *kept = counts[0];
    if (status != YP_OK || *kept == 0)
        return status;
    ypi_rx_centre(p, lane->mean, lane->base, lane->rest);
    d->on.factor.count = (double)(*kept > 1 ? *kept - 1 : 1);
    status = centre_around(p, lane->base, lane->rest);
    if (status == YP_OK)
        status = d->on.cuda->factor(device, &d->on.factor);
    if (status == YP_OK)
        status = yp_device_copy(device, &failed, d->on.factor.failed, sizeof failed);
    lane->failed = failed != 0;
    return status;
}

static enum yp_status score_chunk(struct rx_pipeline *p, struct ypi_rx_lane *lane,
                                  const struct rx_tile *tile, size_t first, size_t pixels)
{
    (void)lane;
    struct ypi_rx_pipeline_device *d = p->on;
    d->on.quadratic.pixels = d->on.quadratic.places = pixels;
    d->on.quadratic.scores = d->scores + first;
    enum yp_status status = ypi_rx_device_gather(d, tile, first, pixels, 0);
    if (status == YP_OK)
        status = d->on.cuda->quadratic(d->on.device, &d->on.quadratic);
    if (status == YP_OK)
        status = ypi_rx_device_judge(p, tile, first, pixels);
    d->fresh = false;
    return status == YP_OK && p->backward ? ypi_rx_device_add_gram(d, pixels, first == 0) : status;
}

/* What of an image's gradient the host works out. */
static enum yp_status add_front(const struct rx_pipeline *p, struct ypi_rx_lane *lane)
{
    const struct ypi_rx_pipeline_device *d = p->on;
    size_t c = p->options.channels, square = c * c * sizeof(double);
    enum yp_status status = yp_device_copy(d->on.device, lane->m2, d->on.merge.m2, square);
    if (status == YP_OK)
        status = yp_device_copy(d->on.device, lane->inverse, d->on.factor.matrix, square);
    if (status == YP_OK)
        ypi_rx_image_front(p, lane);
    return status;
}

static enum yp_status count_kept(struct ypi_rx_pipeline_device *d)
{
    double all[4] = {0};
    enum yp_status status = yp_device_copy(d->on.device, all, d->on.loss.all, sizeof all);
    d->kept = (uint64_t)all[3];
    return status;
}

/* A pixel that is finite, and is not any more where the detector sees it, has no part in the
 * statistics; on the CPU it makes them infinite. Either way there is no covariance. */
enum yp_status ypi_rx_device_image(struct rx_pipeline *p, struct ypi_rx_lane *lane,
                                   const struct rx_tile *tile)
{
    struct ypi_rx_pipeline_device *d = p->on;
    uint64_t kept = 0, before = d->kept;
    enum yp_status status = p->lost ? YP_OK : factor_image(p, lane, tile, &kept);
    bool known = kept > 0; /* otherwise nothing counts, or, when a gain is lost, all is NaN */
    if (status != YP_OK || lane->failed)
        return status;
    d->on.quadratic.centre = d->numbers + (known ? d->at.zeros : d->at.nans);
    status = ypi_rx_device_over_chunks(p, lane, tile, score_chunk);
    if (status == YP_OK && !p->lost)
        status = count_kept(d);
    lane->failed = !p->lost && d->kept - before != kept;
    bool front = ypi_rx_has_range(&p->options) || p->options.select;
    return status == YP_OK && known && !lane->failed && p->backward && front ? add_front(p, lane)
                                                                             : status;
}
