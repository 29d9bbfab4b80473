/* The detector on a GPU: its memory there, and the passes over tiles. */
#include "models/rx/device/detector.h"

#include <assert.h>
#include <yieldpoint/plugin.h>

/* Blocks that a tile is for, of every GPU: enough for four on each multiprocessor of large ones. */
#define BLOCKS ((size_t)528)
#define MIN_RANGE ((size_t)512)
#define MAX_RANGE ((size_t)8192) /* rxc_guess() samples well so far */

/* What a test has set instead of the plugin. */
static const struct rx_cuda *instead;

void ypi_rx_set_cuda(const struct rx_cuda *cuda)
{
    instead = cuda;
}

const struct rx_cuda *ypi_rx_cuda(void)
{
    return instead != NULL ? instead : yp_plugin_table(RXC_PLUGIN, sizeof(struct rx_cuda));
}

unsigned ypi_rx_range(size_t tile_pixels)
{
    size_t even = (tile_pixels + BLOCKS - 1) / BLOCKS;
    even = (even + MIN_RANGE - 1) / MIN_RANGE * MIN_RANGE;
    return (unsigned)(even < MAX_RANGE ? even : MAX_RANGE);
}

enum yp_status ypi_rx_device_check(const char *what, size_t channels, size_t tile_pixels,
                                   const struct rx_options *options)
{
    int threads = 1;
    enum yp_status status = ypi_rx_check(what, channels, tile_pixels, &threads);
    if (status != YP_OK)
        return status;
    if (channels > RXC_CHANNELS)
        return yp_set_error(YP_UNSUPPORTED, "%s: channels is %zu, a GPU takes 1 to %u", what,
                            channels, RXC_CHANNELS);
    if (options != NULL && options->precision != RX_FP32)
        return yp_set_error(YP_UNSUPPORTED,
                            "%s: options->precision is %d, a GPU has %d (RX_FP32) alone", what,
                            (int)options->precision, (int)RX_FP32);
    if (options != NULL && (unsigned)options->tiles > RX_TILES_SEQUENTIAL)
        return yp_set_error(YP_INVALID, "%s: options->tiles is %d, allowed are 0 to %d", what,
                            (int)options->tiles, (int)RX_TILES_SEQUENTIAL);
    return YP_OK;
}

/* -- memory --------------------------------------------------------------------------------- */

/* What a pass over tiles sums, block by block and for all. */
static void lay_out_sums(struct ypi_rx_device *on, struct ypi_arena *arena, size_t channels,
                         bool loss)
{
    struct rxc_gram *gram = &on->gram;
    struct rxc_merge *merge = &on->merge;
    size_t blocks = rxc_ranges(on->tile_pixels, gram->range);
    size_t square = (size_t)RXC_SQUARE * rxc_pairs((unsigned)channels);
    gram->products = ypi_arena_take(arena, blocks * square, sizeof(float));
    gram->mean = ypi_arena_take(arena, blocks * channels, sizeof(double));
    gram->kept = ypi_arena_take(arena, blocks, sizeof(unsigned));
    gram->skipped = ypi_arena_take(arena, blocks, sizeof(unsigned));
    merge->m2 = ypi_arena_take(arena, channels * channels, sizeof(double));
    merge->all_mean = ypi_arena_take(arena, channels, sizeof(double));
    if (loss)
        return;
    gram->shift = ypi_arena_take(arena, blocks * channels, sizeof(double));
    gram->low = ypi_arena_take(arena, blocks * channels, sizeof(float));
    gram->high = ypi_arena_take(arena, blocks * channels, sizeof(float));
    merge->difference = ypi_arena_take(arena, blocks * channels, sizeof(double));
    merge->weight = ypi_arena_take(arena, blocks, sizeof(double));
    merge->share = ypi_arena_take(arena, blocks, sizeof(double));
    merge->all_low = ypi_arena_take(arena, channels, sizeof(float));
    merge->all_high = ypi_arena_take(arena, channels, sizeof(float));
    merge->counts = ypi_arena_take(arena, 2, sizeof(uint64_t));
}

static void lay_out(struct ypi_rx_device *on, struct ypi_arena *arena, size_t channels,
                    size_t tile_pixels, bool loss, enum rx_tiles tiles)
{
    size_t blocks = rxc_pixel_blocks(tile_pixels);
    on->channels = channels;
    on->tile_pixels = tile_pixels;
    on->gram.range = ypi_rx_range(tile_pixels);
    for (size_t i = 0; i < ypi_rx_device_slots(tiles); i++)
        on->values[i] = ypi_arena_take(arena, tile_pixels * channels, sizeof(float));
    on->slices = ypi_arena_take(arena, rxc_slices((unsigned)channels), sizeof(float));
    lay_out_sums(on, arena, channels, loss);
    if (loss) {
        for (size_t i = 0; i < ypi_rx_device_slots(tiles); i++)
            on->labels[i] = ypi_arena_take(arena, tile_pixels, 1);
        on->quadratic.g = ypi_arena_take(arena, tile_pixels, sizeof(float));
        on->quadratic.sums = ypi_arena_take(arena, blocks * 3, sizeof(double));
        on->quadratic.kept = ypi_arena_take(arena, blocks, sizeof(unsigned));
        on->loss.all = ypi_arena_take(arena, 4, sizeof(double));
    } else {
        on->centre = ypi_arena_take(arena, channels, sizeof(float));
        on->offset = ypi_arena_take(arena, channels + RXC_ROWS, sizeof(float));
        on->factor.matrix = ypi_arena_take(arena, channels * channels, sizeof(double));
        on->factor.inverse = ypi_arena_take(arena, channels * channels, sizeof(double));
        on->factor.squares = ypi_arena_take(arena, channels, sizeof(double));
        on->factor.failed = ypi_arena_take(arena, 1, sizeof(unsigned));
    }
}

size_t ypi_rx_device_bytes(size_t channels, size_t tile_pixels, bool loss, enum rx_tiles tiles)
{
    struct ypi_arena arena = {0};
    struct ypi_rx_device on = {0};
    lay_out(&on, &arena, channels, tile_pixels, loss, tiles);
    return arena.used;
}

static void connect_factor(struct ypi_rx_device *on, unsigned channels)
{
    struct rxc_factor *factor = &on->factor;
    factor->channels = channels;
    factor->m2 = on->merge.m2;
    factor->mean = on->merge.all_mean;
    factor->low = on->merge.all_low;
    factor->high = on->merge.all_high;
    factor->centre = on->centre;
    factor->slices = on->slices;
    factor->offset = on->offset;
}

void ypi_rx_merge_what(struct rxc_merge *merge, const struct rxc_gram *gram)
{
    merge->channels = gram->channels;
    merge->products = gram->products;
    merge->mean = gram->mean;
    merge->shift = gram->shift;
    merge->low = gram->low;
    merge->high = gram->high;
    merge->kept = gram->kept;
    merge->skipped = gram->skipped;
}

/* What one job makes is what the next one takes. */
static void connect(struct ypi_rx_device *on, unsigned channels, bool loss)
{
    struct rxc_gram *gram = &on->gram;
    struct rxc_merge *merge = &on->merge;
    gram->channels = on->quadratic.channels = on->loss.channels = channels;
    merge->weighted = on->quadratic.loss = loss;
    ypi_rx_merge_what(merge, gram);
    gram->weights = loss ? on->quadratic.g : NULL;
    on->quadratic.slices = on->slices;
    on->quadratic.centre = on->centre;
    on->quadratic.offset = on->offset;
    on->loss.sums = on->quadratic.sums;
    on->loss.kept = on->quadratic.kept;
    on->loss.gram = merge->m2;
    on->loss.moment = merge->all_mean;
    if (!loss)
        connect_factor(on, channels);
}

enum yp_status ypi_rx_device_open(struct ypi_rx_device *on, struct yp_device *device,
                                  size_t channels, size_t tile_pixels, bool loss,
                                  enum rx_tiles tiles)
{
    *on = (struct ypi_rx_device){.device = device, .cuda = ypi_rx_cuda()};
    if (on->cuda == NULL)
        return YP_UNSUPPORTED;
    struct ypi_arena arena = {
        .base = yp_device_alloc(device, ypi_rx_device_bytes(channels, tile_pixels, loss, tiles))};
    if (arena.base == NULL)
        return YP_OUT_OF_MEMORY;
    on->block = arena.base;
    lay_out(on, &arena, channels, tile_pixels, loss, tiles);
    connect(on, (unsigned)channels, loss);
    enum yp_status status = ypi_rx_staging_open(on, tiles);
    if (status != YP_OK)
        yp_device_free(device, on->block);
    return status;
}

void ypi_rx_device_close(struct ypi_rx_device *on)
{
    ypi_staging_close(&on->staging);
    yp_device_free(on->device, on->block);
}

/* -- passes --------------------------------------------------------------------------------- */

/* Sums of a tile, and those to the sums of all. */
static enum yp_status add_products(void *arg, size_t index, const struct rx_tile *tile)
{
    struct ypi_rx_device *on = arg;
    (void)index;
    if (tile->pixels == 0)
        return YP_OK;
    on->gram.x = tile->values;
    on->gram.stride = ypi_rx_stride(tile);
    on->gram.pixels = tile->pixels;
    on->merge.blocks = rxc_ranges(tile->pixels, on->gram.range);
    enum yp_status status = on->cuda->gram(on->device, &on->gram);
    return status == YP_OK ? on->cuda->merge(on->device, &on->merge) : status;
}

/* The statistics to the device or from there. */
static enum yp_status exchange(struct rx *rx, bool down)
{
    struct ypi_rx_device *on = rx->on;
    const struct rxc_merge *merge = &on->merge;
    size_t channels = rx->channels;
    uint64_t counts[2] = {rx->all.pixels, rx->all.skipped};
    const struct {
        void *there, *here;
        size_t bytes;
    } parts[] = {{merge->m2, rx->all.m2, channels * channels * sizeof *rx->all.m2},
                 {merge->all_mean, rx->all.mean, channels * sizeof *rx->all.mean},
                 {merge->all_low, rx->all.low, channels * sizeof *rx->all.low},
                 {merge->all_high, rx->all.high, channels * sizeof *rx->all.high},
                 {merge->counts, counts, sizeof counts}};
    enum yp_status status = YP_OK;
    for (size_t i = 0; i < sizeof parts / sizeof *parts && status == YP_OK; i++)
        status = yp_device_copy(on->device, down ? parts[i].here : parts[i].there,
                                down ? parts[i].there : parts[i].here, parts[i].bytes);
    if (down && status == YP_OK) {
        rx->all.pixels = counts[0];
        rx->all.skipped = counts[1];
    }
    return status;
}

/* The host's statistics change when all has gone well, and not before. */
enum yp_status ypi_rx_device_fit(struct rx *rx, const struct rx_source *source)
{
    struct ypi_rx_device *on = rx->on;
    enum yp_status status = ypi_rx_device_begin("rx_fit", on, source);
    if (status != YP_OK)
        return status;
    on->same = false;
    status = exchange(rx, false);
    if (status == YP_OK)
        status = ypi_rx_device_pass("rx_fit", on, source, add_products, on, NULL);
    if (status != YP_OK)
        return status;
    status = exchange(rx, true);
    on->same = status == YP_OK;
    rx->failed = rx->failed || status != YP_OK;
    return status;
}

/* A fit that failed, or a rx_reset, leaves other sums there than the host's. */
enum yp_status ypi_rx_device_factor(struct rx *rx, unsigned *failed, double *squares)
{
    struct ypi_rx_device *on = rx->on;
    enum yp_status status = on->same ? YP_OK : exchange(rx, false);
    if (status != YP_OK)
        return status;
    on->same = true;
    status = on->cuda->factor(on->device, &on->factor);
    if (status == YP_OK)
        status = yp_device_copy(on->device, failed, on->factor.failed, sizeof *failed);
    if (status == YP_OK && *failed == 0)
        status = yp_device_copy(on->device, rx->factor, on->factor.matrix,
                                rx->channels * rx->channels * sizeof *rx->factor);
    if (status == YP_OK && *failed == 0)
        status =
            yp_device_copy(on->device, squares, on->factor.squares, rx->channels * sizeof *squares);
    return status;
}

struct scoring {
    struct ypi_rx_device *on;
    size_t tile_pixels;
    float *scores; /* (tiles, tile_pixels) */
};

static enum yp_status score(void *arg, size_t index, const struct rx_tile *tile)
{
    const struct scoring *s = arg;
    struct rxc_quadratic *job = &s->on->quadratic;
    job->x = tile->values;
    job->stride = ypi_rx_stride(tile);
    job->pixels = tile->pixels;
    job->places = s->tile_pixels;
    job->scores = s->scores + index * s->tile_pixels;
    return s->on->cuda->quadratic(s->on->device, job);
}

enum yp_status ypi_rx_device_score(struct rx *rx, const struct rx_source *source, float *scores)
{
    enum yp_status status = ypi_rx_device_begin("rx_score", rx->on, source);
    if (status != YP_OK)
        return status;
    struct scoring scoring = {rx->on, source->tile_pixels, scores};
    return ypi_rx_device_pass("rx_score", rx->on, source, score, &scoring, NULL);
}

/* -- loss ----------------------------------------------------------------------------------- */

static enum yp_status add_loss(void *arg, size_t index, const struct rx_tile *tile)
{
    struct ypi_rx_device *on = arg;
    if (tile->pixels == 0)
        return YP_OK;
    on->quadratic.x = tile->values;
    on->quadratic.stride = ypi_rx_stride(tile);
    on->quadratic.pixels = on->quadratic.places = tile->pixels;
    on->quadratic.labels = tile->labels;
    on->loss.blocks = rxc_pixel_blocks(tile->pixels);
    enum yp_status status = on->cuda->quadratic(on->device, &on->quadratic);
    if (status == YP_OK)
        status = on->cuda->add_loss(on->device, &on->loss);
    if (status == YP_OK)
        status = add_products(on, index, tile);
    on->loss.fresh = on->merge.fresh = false;
    return status;
}

enum yp_status ypi_rx_device_gradient(struct ypi_rx_device *on, const struct rx_source *source,
                                      const float *parameters, double *mean, float *gradient)
{
    size_t channels = on->gram.channels;
    double all[4] = {0};
    enum yp_status status = ypi_rx_device_begin("rx_loss_gradient", on, source);
    if (status != YP_OK)
        return status;
    on->quadratic.centre = on->gram.centre = on->loss.parameters = parameters;
    on->quadratic.scalars = parameters + channels + channels * channels;
    on->quadratic.target = 1;
    on->loss.gradient = gradient;
    on->loss.fresh = on->merge.fresh = true;
    status = on->cuda->fold(on->device, (unsigned)channels, parameters + channels, on->slices);
    if (status == YP_OK)
        status = ypi_rx_device_pass("rx_loss_gradient", on, source, add_loss, on, NULL);
    if (status == YP_OK && !on->loss.fresh)
        status = yp_device_copy(on->device, all, on->loss.all, sizeof all);
    if (status != YP_OK)
        return status;
    if (!(all[3] > 0))
        return yp_set_error(YP_INVALID, "rx_loss_gradient: the source has no finite pixel");
    *mean = all[0] / all[3];
    return on->cuda->gradient(on->device, &on->loss);
}
