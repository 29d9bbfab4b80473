/* The pipeline on a GPU: the object, and a pass over tiles. */
#include "models/rx/device/parts.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* -- the object ------------------------------------------------------------------------------ */

static size_t bytes_on_device(const struct rx_pipeline_options *o)
{
    struct ypi_arena arena = {0};
    struct ypi_rx_pipeline_device d = {0};
    ypi_rx_device_lay_out(&d, &arena, o);
    return arena.used;
}

static void lay_out_on_host(struct rx_pipeline *p, struct ypi_arena *arena,
                            const struct rx_pipeline_options *o)
{
    struct ypi_rx_pipeline_device *d = ypi_arena_take(arena, 1, sizeof *d);
    struct ypi_rx_numbers at;
    ypi_rx_count_numbers(o, &at);
    float *given = ypi_arena_take(arena, at.count, sizeof *given);
    ypi_rx_pipeline_lay_out(p, arena, o, true);
    if (arena->base == NULL)
        return;
    *d = (struct ypi_rx_pipeline_device){.given = given};
    p->on = d;
}

static size_t bytes_on_host(const struct rx_pipeline_options *o)
{
    struct ypi_arena arena = {0};
    struct rx_pipeline p;
    ypi_arena_take(&arena, 1, sizeof p);
    lay_out_on_host(&p, &arena, o);
    return arena.used;
}

static enum yp_status check(const char *what, const struct rx_pipeline_options *given,
                            struct rx_pipeline_options *checked)
{
    enum yp_status status = ypi_rx_pipeline_check(what, given, checked);
    if (status != YP_OK)
        return status;
    if (checked->by_sample)
        return yp_set_error(YP_UNSUPPORTED,
                            "%s: by_sample is set, a GPU has MinMax over all data alone", what);
    if (checked->residual)
        return yp_set_error(YP_UNSUPPORTED,
                            "%s: residual is set, a GPU scores what PCA keeps alone", what);
    if (ypi_rx_mixed(checked))
        return yp_set_error(YP_UNSUPPORTED,
                            "%s: precision is %s, a GPU's products are float's alone; allowed is "
                            "fp32",
                            what, ypi_rx_operands_name(checked->precision));
    return ypi_rx_device_check(what, checked->channels, checked->tile_pixels,
                               &(struct rx_options){.tiles = checked->tiles});
}

size_t rx_pipeline_device_bytes(const struct rx_pipeline_options *options)
{
    struct rx_pipeline_options o = {0};
    return check("rx_pipeline_device_bytes", options, &o) == YP_OK ? bytes_on_device(&o) : 0;
}

size_t rx_pipeline_host_bytes(const struct rx_pipeline_options *options)
{
    struct rx_pipeline_options o = {0};
    return check("rx_pipeline_host_bytes", options, &o) == YP_OK ? bytes_on_host(&o) : 0;
}

/* The statistics of no pixel, by way of scratch that the pipeline has. */
static enum yp_status send_none(const struct rx_pipeline *p)
{
    const struct ypi_rx_pipeline_device *d = p->on;
    struct yp_device *device = d->on.device;
    size_t c = p->options.channels;
    const uint64_t counts[2] = {0};
    memset(p->square, 0, c * c * sizeof *p->square);
    for (size_t i = 0; i < c; i++) {
        p->base[i] = INFINITY;
        p->rest[i] = -INFINITY;
    }
    enum yp_status status = yp_device_copy(device, d->none.m2, p->square, c * c * sizeof(double));
    if (status == YP_OK)
        status = yp_device_copy(device, d->none.mean, p->square, c * sizeof(double));
    if (status == YP_OK)
        status = yp_device_copy(device, d->none.counts, counts, sizeof counts);
    if (status == YP_OK)
        status = yp_device_copy(device, d->none.low, p->base, c * sizeof(float));
    return status == YP_OK ? yp_device_copy(device, d->none.high, p->rest, c * sizeof(float))
                           : status;
}

static enum yp_status open_on_device(const struct rx_pipeline *p, struct yp_device *device)
{
    struct ypi_rx_pipeline_device *d = p->on;
    const struct rx_pipeline_options *o = &p->options;
    d->on.device = device;
    d->on.cuda = ypi_rx_cuda();
    if (d->on.cuda == NULL)
        return YP_UNSUPPORTED;
    struct ypi_arena arena = {.base = yp_device_alloc(device, bytes_on_device(o))};
    if (arena.base == NULL)
        return YP_OUT_OF_MEMORY;
    d->on.block = arena.base;
    ypi_rx_device_lay_out(d, &arena, o);
    ypi_rx_device_connect(d, o);
    enum yp_status status = ypi_rx_staging_open(&d->on, o->tiles);
    if (status != YP_OK) {
        yp_device_free(device, d->on.block);
        return status;
    }
    status = o->detector == RX_IMAGE ? send_none(p) : YP_OK;
    if (status != YP_OK)
        ypi_rx_device_close(&d->on);
    return status;
}

struct rx_pipeline *ypi_rx_pipeline_create_on_device(struct yp_device *device,
                                                     const struct rx_pipeline_options *options)
{
    struct rx_pipeline_options o = {0};
    if (check("rx_pipeline_create", options, &o) != YP_OK)
        return NULL;
    struct ypi_arena arena = {.base = yp_device_alloc(yp_device_cpu(), bytes_on_host(&o))};
    if (arena.base == NULL)
        return NULL;
    struct rx_pipeline *p = ypi_arena_take(&arena, 1, sizeof *p);
    lay_out_on_host(p, &arena, &o);
    p->device = yp_device_cpu();
    if (open_on_device(p, device) == YP_OK)
        return p;
    yp_device_free(yp_device_cpu(), p);
    return NULL;
}

void ypi_rx_pipeline_device_close(struct ypi_rx_pipeline_device *d)
{
    ypi_rx_device_close(&d->on);
}

/* -- a pass ---------------------------------------------------------------------------------- */

/* A tile's scores to the host, when anybody asks for them, and what is made of them. */
static enum yp_status fetch(const struct rx_pipeline *p, struct ypi_rx_lane *lane)
{
    const struct ypi_rx_pipeline_device *d = p->on;
    size_t pixels = lane->tile_pixels;
    if (p->scores_out == NULL && p->logits_out == NULL && p->take == NULL && !p->calibrates)
        return YP_OK;
    /* The two stand behind each other on both sides. */
    ptrdiff_t distance = (const char *)d->keep - (const char *)d->scores;
    size_t bytes = (size_t)distance + pixels;
    assert((const char *)lane->keep - (const char *)lane->scores == distance);
    enum yp_status status = yp_device_copy(d->on.device, lane->scores, d->scores, bytes);
    if (status == YP_OK && p->take != NULL)
        status = yp_device_copy(d->on.device, p->labels, lane->tile_labels, pixels);
    if (status != YP_OK)
        return status;
    lane->tile_labels = p->labels;
    for (size_t i = 0, row = 0; i < pixels; i++)
        if (lane->keep[i])
            lane->scores[row++] = lane->scores[i];
    ypi_rx_put(p, lane, 0, pixels);
    return YP_OK;
}

static enum yp_status work(void *arg, size_t index, const struct rx_tile *tile)
{
    struct rx_pipeline *p = arg;
    struct ypi_rx_lane *lane = &p->lanes[0];
    bool by_image = p->options.detector == RX_IMAGE;
    enum yp_status status = YP_OK;
    ypi_rx_begin_tile(lane, index, tile);
    memset(lane->sums, 0, p->at.sums * sizeof *lane->sums);
    if (tile->pixels > 0)
        status = by_image ? ypi_rx_device_image(p, lane, tile)
                          : ypi_rx_device_over_chunks(p, lane, tile, ypi_rx_device_chunk);
    if (status == YP_OK && tile->pixels > 0 && !lane->failed)
        status = fetch(p, lane);
    if (status != YP_OK)
        return status;
    ypi_rx_end_tile(p, lane);
    ypi_rx_merge_tile(p, lane);
    for (size_t i = 0; i < p->at.sums; i++)
        p->sums[i] += lane->sums[i];
    p->on->failed = p->failed != SIZE_MAX;
    return YP_OK;
}

/* `count` doubles from `from` on; nothing when there were no pixels. */
static enum yp_status take_doubles(const struct ypi_rx_pipeline_device *d, enum yp_status before,
                                   double *to, const double *from, size_t count)
{
    return before == YP_OK ? yp_device_copy(d->on.device, to, from, count * sizeof *to) : before;
}

static enum yp_status take_gradient(const struct rx_pipeline *p)
{
    const struct ypi_rx_pipeline_device *d = p->on;
    const struct rx_pipeline_options *o = &p->options;
    const struct ypi_rx_sums *at = &p->at;
    size_t c = o->channels, h = o->hidden, w = ypi_rx_width(o);
    const double *columns = d->column_sums.all;
    enum yp_status status = YP_OK;
    if (o->detector == RX_AUTOENCODER) {
        status = take_doubles(d, status, p->sums + at->b2, columns, c);
        status = take_doubles(d, status, p->sums + at->dots, columns + c, c);
        status = take_doubles(d, status, p->sums + at->b1, d->hidden_sums.all, h);
        status = take_doubles(d, status, p->matrices + at->w2, d->cross_sums.all, c * h);
        return take_doubles(d, status, p->matrices + at->w1, d->other_sums.all, h * c);
    }
    double *gram = p->matrices + at->gram;
    status = take_doubles(d, status, p->sums + at->moment, columns, w);
    status = take_doubles(d, status, p->sums + at->dots, columns + w, w);
    status = take_doubles(d, status, gram, d->on.merge.m2, w * w);
    if (o->components > 0)
        status = take_doubles(d, status, p->matrices + at->cross, d->cross_sums.all, w * c);
    for (size_t i = 0; i < w && status == YP_OK; i++)
        for (size_t j = 0; j < i; j++)
            gram[i * w + j] = gram[j * w + i];
    return status;
}

/* Sums of all tiles to the host, where they stand as the CPU's would. */
static enum yp_status take_sums(struct rx_pipeline *p)
{
    const struct ypi_rx_pipeline_device *d = p->on;
    double all[4] = {0};
    if (d->fresh)
        return YP_OK;
    enum yp_status status = yp_device_copy(d->on.device, all, d->on.loss.all, sizeof all);
    if (status == YP_OK && p->backward && p->options.detector != RX_IMAGE)
        status = take_gradient(p);
    p->sums[p->at.loss] = all[0];
    p->sums[p->at.d] = all[1];
    p->sums[p->at.d_away] = all[2];
    p->kept = (uint64_t)all[3];
    return status;
}

enum yp_status ypi_rx_pipeline_device_pass(struct rx_pipeline *p, const char *what,
                                           const struct rx_source *source, bool labelled)
{
    struct ypi_rx_pipeline_device *d = p->on;
    d->on.unlabelled = !labelled;
    enum yp_status status = ypi_rx_device_begin(what, &d->on, source);
    if (status != YP_OK)
        return status;
    d->fresh = true;
    d->failed = p->failed != SIZE_MAX;
    d->kept = 0;
    status = ypi_rx_device_give(p);
    if (status == YP_OK)
        status = ypi_rx_device_pass(what, &d->on, source, work, p, &d->failed);
    return status == YP_OK ? take_sums(p) : status;
}
