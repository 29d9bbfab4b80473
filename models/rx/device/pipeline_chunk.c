/* What is launched for a chunk of a tile: scores, the loss, and sums of the gradient. */
#include "models/rx/device/parts.h"

enum yp_status ypi_rx_device_gather(struct ypi_rx_pipeline_device *d, const struct rx_tile *tile,
                                    size_t first, size_t pixels, float fill)
{
    d->gather.stride = ypi_rx_stride(tile);
    d->gather.x = tile->values + first * d->gather.stride;
    d->gather.pixels = pixels;
    d->gather.fill = fill;
    d->gather.keep = d->keep + first;
    return d->on.cuda->gather(d->on.device, &d->gather);
}

static enum yp_status sum_parts(const struct ypi_rx_pipeline_device *d, struct rxc_parts *parts,
                                size_t pixels)
{
    parts->blocks = rxc_ranges(pixels, d->range);
    parts->fresh = d->fresh;
    return d->on.cuda->parts(d->on.device, parts);
}

static enum yp_status multiply(const struct ypi_rx_pipeline_device *d, struct rxc_linear *job,
                               size_t pixels)
{
    job->pixels = pixels;
    return d->on.cuda->linear(d->on.device, job);
}

static enum yp_status add_columns(const struct ypi_rx_pipeline_device *d, struct rxc_columns *job,
                                  struct rxc_parts *parts, size_t pixels)
{
    job->pixels = pixels;
    enum yp_status status = d->on.cuda->columns(d->on.device, job);
    return status == YP_OK ? sum_parts(d, parts, pixels) : status;
}

static enum yp_status add_cross(const struct ypi_rx_pipeline_device *d, struct rxc_cross *job,
                                struct rxc_parts *parts, size_t pixels)
{
    job->pixels = pixels;
    enum yp_status status = d->on.cuda->cross(d->on.device, job);
    return status == YP_OK ? sum_parts(d, parts, pixels) : status;
}

/* sum g z z^T; `fresh`: of nothing so far. */
enum yp_status ypi_rx_device_add_gram(struct ypi_rx_pipeline_device *d, size_t pixels, bool fresh)
{
    d->on.gram.pixels = pixels;
    d->on.merge.blocks = rxc_ranges(pixels, d->range);
    d->on.merge.fresh = fresh;
    enum yp_status status = d->on.cuda->gram(d->on.device, &d->on.gram);
    return status == YP_OK ? d->on.cuda->merge(d->on.device, &d->on.merge) : status;
}

static enum yp_status add_loss(struct ypi_rx_pipeline_device *d, size_t pixels)
{
    d->on.loss.blocks = rxc_pixel_blocks(pixels);
    d->on.loss.fresh = d->fresh;
    return d->on.cuda->add_loss(d->on.device, &d->on.loss);
}

static const uint8_t *judged_labels(const struct rx_pipeline *p, const struct rx_tile *tile,
                                    size_t first)
{
    return p->judged && ypi_rx_trains(&p->options) ? tile->labels + first : NULL;
}

/* Scores, of products or there already, to the loss's sums and g. */
enum yp_status ypi_rx_device_judge(const struct rx_pipeline *p, const struct rx_tile *tile,
                                   size_t first, size_t pixels)
{
    struct ypi_rx_pipeline_device *d = p->on;
    d->dots.pixels = pixels;
    d->dots.keep = d->keep + first;
    d->dots.scores = d->scores + first;
    d->dots.labels = judged_labels(p, tile, first);
    enum yp_status status = d->on.cuda->dots(d->on.device, &d->dots);
    return status == YP_OK ? add_loss(d, pixels) : status;
}

/* All of that from what the detector sees. */
static enum yp_status judge_quadratic(const struct rx_pipeline *p, const struct rx_tile *tile,
                                      size_t first, size_t pixels)
{
    struct ypi_rx_pipeline_device *d = p->on;
    struct rxc_quadratic *job = &d->on.quadratic;
    job->pixels = job->places = pixels;
    job->slices = d->numbers + d->at.product;
    job->keep = d->keep + first;
    job->scores = d->scores + first;
    job->labels = judged_labels(p, tile, first);
    enum yp_status status = d->on.cuda->quadratic(d->on.device, job);
    return status == YP_OK ? add_loss(d, pixels) : status;
}

/* The products once more, with (A + A^T) / 2, where that is another matrix. */
static enum yp_status symmetric_products(const struct rx_pipeline *p)
{
    struct ypi_rx_pipeline_device *d = p->on;
    struct rxc_quadratic *job = &d->on.quadratic;
    job->slices = d->numbers + d->at.back;
    job->labels = NULL;
    job->scores = NULL;
    return d->on.cuda->quadratic(d->on.device, job);
}

/* What makes the gradient, behind the scores: dv takes the place of the products, which are those
 * of dv where A is symmetric, as it stays in training. */
static enum yp_status add_gradient(struct rx_pipeline *p, size_t pixels)
{
    struct ypi_rx_pipeline_device *d = p->on;
    bool autoencoder = p->options.detector == RX_AUTOENCODER;
    enum yp_status status = !autoencoder && p->asymmetric ? symmetric_products(p) : YP_OK;
    if (status == YP_OK)
        status = add_columns(d, &d->columns, &d->column_sums, pixels);
    if (status == YP_OK && ypi_rx_maps(&p->options))
        status = add_cross(d, &d->cross, &d->cross_sums, pixels);
    if (status == YP_OK && !autoencoder)
        return ypi_rx_device_add_gram(d, pixels, d->fresh);
    if (status == YP_OK)
        status = multiply(d, &d->back, pixels);
    if (status == YP_OK)
        status = add_columns(d, &d->hidden, &d->hidden_sums, pixels);
    return status == YP_OK ? add_cross(d, &d->other, &d->other_sums, pixels) : status;
}

enum yp_status ypi_rx_device_chunk(struct rx_pipeline *p, struct ypi_rx_lane *lane,
                                   const struct rx_tile *tile, size_t first, size_t pixels)
{
    (void)lane;
    struct ypi_rx_pipeline_device *d = p->on;
    bool autoencoder = p->options.detector == RX_AUTOENCODER;
    enum yp_status status = ypi_rx_device_gather(d, tile, first, pixels, 0);
    if (status == YP_OK && ypi_rx_maps(&p->options))
        status = multiply(d, &d->map, pixels);
    if (status == YP_OK && autoencoder)
        status = multiply(d, &d->product, pixels);
    if (status == YP_OK)
        status = (autoencoder ? ypi_rx_device_judge : judge_quadratic)(p, tile, first, pixels);
    if (status == YP_OK && p->backward)
        status = add_gradient(p, pixels);
    d->fresh = false;
    return status;
}

enum yp_status ypi_rx_device_over_chunks(struct rx_pipeline *p, struct ypi_rx_lane *lane,
                                         const struct rx_tile *tile, ypi_rx_device_chunk_work *each)
{
    enum yp_status status = YP_OK;
    for (size_t first = 0; first < tile->pixels && status == YP_OK; first += p->on->chunk) {
        size_t rest = tile->pixels - first;
        status = each(p, lane, tile, first, rest < p->on->chunk ? rest : p->on->chunk);
    }
    return status;
}
