/* The detector's memory, and mean and covariance of a stream of tiles. */
#include "models/nn/simd/triangle.h"
#include "models/rx/detector/chunk.h"
#include "models/rx/detector/merge.h"
#include "models/rx/device/detector.h"

#include <math.h>
#include <string.h>

int ypi_rx_terms(enum rx_precision precision)
{
    return precision == RX_BF16X2 ? 2 : precision == RX_BF16X3 ? 3 : 0;
}

struct ypi_gram_shape ypi_rx_shape(size_t channels, enum rx_precision precision)
{
    return ypi_gram_shape(channels, precision == RX_FP64 ? 1 : ypi_gram_kernels()->width);
}

/* One behind the other, so that all of them are kept and taken back at once. */
static void lay_out_moments(struct ypi_rx_scratch *to, struct ypi_arena *arena, size_t padded,
                            size_t turned)
{
    to->moments = padded * (sizeof(double) + 2 * sizeof(float)) + turned * sizeof(float);
    to->sum = ypi_arena_take(arena, to->moments, 1);
    to->before = ypi_arena_take(arena, to->moments, 1);
    if (to->sum == NULL)
        return;
    to->min = (float *)(void *)(to->sum + padded);
    to->max = to->min + padded;
    to->turned = turned > 0 ? to->max + padded : NULL;
}

static void lay_out_scratch(struct ypi_rx_scratch *to, struct ypi_arena *arena, size_t channels,
                            size_t tile_pixels, enum rx_precision precision)
{
    size_t padded = ypi_rx_padded(channels), chunk = ypi_rx_chunk(tile_pixels);
    struct ypi_gram_shape shape = ypi_rx_shape(channels, precision);
    int terms = ypi_rx_terms(precision);
    to->panels = ypi_arena_take(arena, (chunk > YPI_RX_BLOCK ? chunk : YPI_RX_BLOCK) * padded,
                                sizeof(float));
    if (terms > 0)
        to->split = ypi_arena_take(
            arena, ypi_split_floats(ypi_split_kernels(), &shape, chunk, terms), sizeof(float));
    to->rest = ypi_arena_take(arena, padded, sizeof(double));
    to->difference = ypi_arena_take(arena, padded, sizeof(double));
    to->centre = ypi_arena_take(arena, padded, sizeof(float));
    to->fine = ypi_arena_take(arena, padded, sizeof(float));
    lay_out_moments(to, arena, padded, precision == RX_FP32 ? shape.blocks : 0);
    to->keep = ypi_arena_take(arena, chunk, 1);
}

static void lay_out_accumulator(struct ypi_rx_accumulator *to, struct ypi_arena *arena,
                                size_t channels, enum rx_precision precision)
{
    size_t padded = ypi_rx_padded(channels);
    to->products = ypi_arena_take(arena, ypi_rx_shape(channels, precision).total, sizeof(double));
    to->mean = ypi_arena_take(arena, padded, sizeof(double));
    to->low = ypi_arena_take(arena, padded, sizeof(float));
    to->high = ypi_arena_take(arena, padded, sizeof(float));
}

static void lay_out_sums(struct ypi_rx_merged *to, struct ypi_arena *arena, size_t channels)
{
    to->mean = ypi_arena_take(arena, channels, sizeof(double));
    to->m2 = ypi_arena_take(arena, channels * channels, sizeof(double));
    to->low = ypi_arena_take(arena, channels, sizeof(float));
    to->high = ypi_arena_take(arena, channels, sizeof(float));
}

static void lay_out(struct rx *rx, struct ypi_arena *arena, size_t channels, size_t tile_pixels,
                    int threads, enum rx_precision precision)
{
    size_t square = channels * channels, teams = (size_t)threads;
    *rx = (struct rx){.channels = channels, .tile_pixels = tile_pixels, .threads = threads};
    lay_out_sums(&rx->all, arena, channels);
    rx->weighted = ypi_arena_take(arena, channels, sizeof(double));
    rx->difference = ypi_arena_take(arena, channels, sizeof(double));
    rx->factor = ypi_arena_take(arena, square, sizeof(double));
    rx->location = ypi_arena_take(arena, channels, sizeof(double));
    rx->whiten = ypi_arena_take(arena, square, sizeof(float));
    rx->centre = ypi_arena_take(arena, channels, sizeof(float));
    rx->offset = ypi_arena_take(arena, channels, sizeof(float));
    rx->values = ypi_arena_take(arena, teams * tile_pixels, channels * sizeof(float));
    rx->scratch = ypi_arena_take(arena, teams, sizeof *rx->scratch);
    rx->accumulators = ypi_arena_take(arena, 2 * teams, sizeof *rx->accumulators);
    for (size_t i = 0; i < teams; i++) {
        struct ypi_rx_scratch scratch = {0};
        lay_out_scratch(&scratch, arena, channels, tile_pixels, precision);
        if (arena->base != NULL)
            rx->scratch[i] = scratch;
    }
    for (size_t i = 0; i < 2 * teams; i++) {
        struct ypi_rx_accumulator accumulator = {0};
        lay_out_accumulator(&accumulator, arena, channels, precision);
        if (arena->base != NULL)
            rx->accumulators[i] = accumulator;
    }
}

/* The object of the CPU. */
static void lay_out_here(struct rx *rx, struct ypi_arena *arena, size_t channels,
                         size_t tile_pixels, int threads, enum rx_precision precision)
{
    struct ypi_rx_merged block = {0};
    lay_out(rx, arena, channels, tile_pixels, threads, precision);
    struct ypi_rx_merged *at = ypi_arena_take(arena, 1, sizeof block);
    lay_out_sums(&block, arena, channels);
    if (arena->base != NULL) {
        *at = block;
        rx->block = at;
    }
}

static enum yp_status check_options(const char *what, const struct rx_options *options)
{
    if (options != NULL && (unsigned)options->precision > RX_FP64)
        return yp_set_error(YP_INVALID, "%s: options->precision is %d, allowed are 0 to %d", what,
                            (int)options->precision, (int)RX_FP64);
    if (options != NULL && (unsigned)options->tiles > RX_TILES_SEQUENTIAL)
        return yp_set_error(YP_INVALID, "%s: options->tiles is %d, allowed are 0 to %d", what,
                            (int)options->tiles, (int)RX_TILES_SEQUENTIAL);
    return YP_OK;
}

/* The object stands at the beginning of its own block. */
size_t rx_bytes_with(size_t channels, size_t tile_pixels, int threads,
                     const struct rx_options *options)
{
    struct ypi_arena arena = {0};
    struct rx rx;
    if (ypi_rx_check("rx_bytes", channels, tile_pixels, &threads) != YP_OK ||
        check_options("rx_bytes", options) != YP_OK)
        return 0;
    ypi_arena_take(&arena, 1, sizeof rx);
    lay_out_here(&rx, &arena, channels, tile_pixels, threads,
                 options != NULL ? options->precision : RX_FP32);
    return arena.used;
}

size_t rx_bytes(size_t channels, size_t tile_pixels, int threads)
{
    return rx_bytes_with(channels, tile_pixels, threads, NULL);
}

size_t rx_device_bytes(size_t channels, size_t tile_pixels, const struct rx_options *options)
{
    if (ypi_rx_device_check("rx_device_bytes", channels, tile_pixels, options) != YP_OK)
        return 0;
    return ypi_rx_device_bytes(channels, tile_pixels, false, ypi_rx_tiles_of(options));
}

static void start(struct rx *rx, struct yp_device *device, enum rx_precision precision)
{
    rx->device = device;
    rx->kernels = ypi_pixel_kernels();
    rx->precision = precision;
    rx->gram = ypi_gram_kernels();
    rx->few = precision == RX_FP32 && rx->channels <= rx->gram->width;
    rx->split = ypi_rx_terms(precision) > 0 ? ypi_split_kernels() : NULL;
    rx->triangle = ypi_triangle_kernels();
    rx_reset(rx);
}

/* The object on the host, which has no tiles there, and what is on the device. */
static struct rx *lay_out_on(struct rx *rx, struct ypi_arena *arena, size_t channels)
{
    lay_out(rx, arena, channels, 1, 1, RX_FP32);
    struct ypi_rx_device *on = ypi_arena_take(arena, 1, sizeof *on);
    if (arena->base != NULL)
        rx->on = on;
    return rx;
}

static struct rx *create_on(struct yp_device *device, size_t channels, size_t tile_pixels,
                            const struct rx_options *options)
{
    struct ypi_arena size = {0};
    struct rx object;
    if (ypi_rx_device_check("rx_create", channels, tile_pixels, options) != YP_OK)
        return NULL;
    ypi_arena_take(&size, 1, sizeof object);
    lay_out_on(&object, &size, channels);
    struct ypi_arena arena = {.base = yp_device_alloc(yp_device_cpu(), size.used)};
    if (arena.base == NULL)
        return NULL;
    struct rx *rx = lay_out_on(ypi_arena_take(&arena, 1, sizeof *rx), &arena, channels);
    rx->tile_pixels = tile_pixels;
    start(rx, yp_device_cpu(), RX_FP32);
    if (ypi_rx_device_open(rx->on, device, channels, tile_pixels, false,
                           ypi_rx_tiles_of(options)) == YP_OK)
        return rx;
    yp_device_free(yp_device_cpu(), rx);
    return NULL;
}

struct rx *rx_create_with(struct yp_device *device, size_t channels, size_t tile_pixels,
                          int threads, const struct rx_options *options)
{
    if (device != NULL && yp_device_memory_kind(device) == YP_DEVICE)
        return create_on(device, channels, tile_pixels, options);
    if (ypi_check_host("rx_create", device) != YP_OK ||
        ypi_rx_check("rx_create", channels, tile_pixels, &threads) != YP_OK ||
        check_options("rx_create", options) != YP_OK)
        return NULL;
    struct ypi_arena arena = {
        .base = yp_device_alloc(device, rx_bytes_with(channels, tile_pixels, threads, options))};
    if (arena.base == NULL)
        return NULL;
    struct rx *rx = ypi_arena_take(&arena, 1, sizeof *rx);
    enum rx_precision precision = options != NULL ? options->precision : RX_FP32;
    lay_out_here(rx, &arena, channels, tile_pixels, threads, precision);
    start(rx, device, precision);
    return rx;
}

struct rx *rx_create(struct yp_device *device, size_t channels, size_t tile_pixels, int threads)
{
    return rx_create_with(device, channels, tile_pixels, threads, NULL);
}

void rx_destroy(struct rx *rx)
{
    if (rx == NULL)
        return;
    if (rx->on != NULL)
        ypi_rx_device_close(rx->on);
    yp_device_free(rx->device, rx);
}

void rx_reset(struct rx *rx)
{
    rx->failed = rx->finished = false;
    ypi_rx_clear(rx, &rx->all);
}

void rx_summary(const struct rx *rx, struct rx_summary *out)
{
    *out = (struct rx_summary){rx->all.pixels, rx->all.skipped, INFINITY, -INFINITY};
    for (size_t c = 0; c < rx->channels; c++) {
        out->min = fminf(out->min, rx->all.low[c]);
        out->max = fmaxf(out->max, rx->all.high[c]);
    }
}

const double *rx_mean(const struct rx *rx)
{
    return rx->all.mean;
}

enum yp_status rx_covariance(const struct rx *rx, double *out)
{
    if (rx->all.pixels < 2)
        return yp_set_error(YP_INVALID, "rx_covariance: %zu finite pixels, it takes 2 at least",
                            (size_t)rx->all.pixels);
    size_t channels = rx->channels;
    for (size_t i = 0; i < channels; i++)
        for (size_t j = i; j < channels; j++)
            out[i * channels + j] = out[j * channels + i] =
                rx->all.m2[i * channels + j] / (double)(rx->all.pixels - 1);
    return YP_OK;
}
