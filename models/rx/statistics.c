/* The detector's memory, and mean and covariance of a stream of tiles. */
#include "internal.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

static void lay_out_slot(struct ypi_rx_slot *slot, struct ypi_arena *arena, size_t channels,
                         size_t tile_pixels)
{
    size_t chunk = tile_pixels < YPI_RX_CHUNK ? tile_pixels : YPI_RX_CHUNK;
    slot->m2 = ypi_arena_take(arena, channels * channels, sizeof(double));
    slot->gram = ypi_arena_take(arena, channels * channels, sizeof(float));
    slot->rows = ypi_arena_take(arena, chunk * channels, sizeof(float));
    slot->products = ypi_arena_take(arena, chunk * channels, sizeof(float));
    slot->mean = ypi_arena_take(arena, channels, sizeof(double));
    slot->rest = ypi_arena_take(arena, channels, sizeof(double));
    slot->difference = ypi_arena_take(arena, channels, sizeof(double));
    slot->centre = ypi_arena_take(arena, channels, sizeof(float));
    slot->low = ypi_arena_take(arena, channels, sizeof(float));
    slot->high = ypi_arena_take(arena, channels, sizeof(float));
    slot->keep = ypi_arena_take(arena, tile_pixels, 1);
}

static void lay_out(struct rx *rx, struct ypi_arena *arena, size_t channels, size_t tile_pixels,
                    int threads)
{
    size_t square = channels * channels, teams = (size_t)threads;
    *rx = (struct rx){.channels = channels, .tile_pixels = tile_pixels, .threads = threads};
    rx->mean = ypi_arena_take(arena, channels, sizeof(double));
    rx->m2 = ypi_arena_take(arena, square, sizeof(double));
    rx->low = ypi_arena_take(arena, channels, sizeof(float));
    rx->high = ypi_arena_take(arena, channels, sizeof(float));
    rx->factor = ypi_arena_take(arena, square, sizeof(double));
    rx->location = ypi_arena_take(arena, channels, sizeof(double));
    rx->whiten = ypi_arena_take(arena, square, sizeof(float));
    rx->centre = ypi_arena_take(arena, channels, sizeof(float));
    rx->offset = ypi_arena_take(arena, channels, sizeof(float));
    rx->values = ypi_arena_take(arena, teams * tile_pixels, channels * sizeof(float));
    rx->slots = ypi_arena_take(arena, teams, sizeof *rx->slots);
    for (size_t i = 0; i < teams; i++) {
        struct ypi_rx_slot slot = {0};
        lay_out_slot(&slot, arena, channels, tile_pixels);
        if (arena->base != NULL)
            rx->slots[i] = slot;
    }
}

/* The object stands at the beginning of its own block. */
size_t rx_bytes(size_t channels, size_t tile_pixels, int threads)
{
    struct ypi_arena arena = {0};
    struct rx rx;
    if (ypi_rx_check("rx_bytes", channels, tile_pixels, &threads) != YP_OK)
        return 0;
    ypi_arena_take(&arena, 1, sizeof rx);
    lay_out(&rx, &arena, channels, tile_pixels, threads);
    return arena.used;
}

struct rx *rx_create(struct yp_device *device, size_t channels, size_t tile_pixels, int threads)
{
    if (ypi_rx_check_device("rx_create", device) != YP_OK ||
        ypi_rx_check("rx_create", channels, tile_pixels, &threads) != YP_OK)
        return NULL;
    struct ypi_arena arena = {
        .base = yp_device_alloc(device, rx_bytes(channels, tile_pixels, threads))};
    if (arena.base == NULL)
        return NULL;
    struct rx *rx = ypi_arena_take(&arena, 1, sizeof *rx);
    lay_out(rx, &arena, channels, tile_pixels, threads);
    rx->device = device;
    rx->kernels = ypi_rx_kernels();
    rx_reset(rx);
    return rx;
}

void rx_destroy(struct rx *rx)
{
    if (rx != NULL)
        yp_device_free(rx->device, rx);
}

void rx_reset(struct rx *rx)
{
    rx->failed = rx->finished = false;
    rx->pixels = rx->skipped = 0;
    memset(rx->mean, 0, rx->channels * sizeof *rx->mean);
    memset(rx->m2, 0, rx->channels * rx->channels * sizeof *rx->m2);
    for (size_t c = 0; c < rx->channels; c++) {
        rx->low[c] = INFINITY;
        rx->high[c] = -INFINITY;
    }
}

/* First pass over a tile: its mean, and the float next to it that the second pass subtracts. */
static void locate(const struct rx *rx, struct ypi_rx_slot *slot, const struct rx_tile *tile)
{
    for (size_t c = 0; c < rx->channels; c++) {
        slot->mean[c] = 0;
        slot->low[c] = INFINITY;
        slot->high[c] = -INFINITY;
    }
    slot->kept = rx->kernels->moments(tile->values, tile->pixels, rx->channels, slot->mean,
                                      slot->low, slot->high, slot->keep);
    slot->skipped = tile->pixels - slot->kept;
    for (size_t c = 0; c < rx->channels && slot->kept > 0; c++) {
        slot->mean[c] /= (double)slot->kept;
        slot->centre[c] = (float)slot->mean[c];
        slot->rest[c] = slot->mean[c] - (double)slot->centre[c];
    }
}

/* Adds one chunk's sums of products, which are float, to the tile's. */
static void fold(struct ypi_rx_slot *slot, size_t channels)
{
    for (size_t i = 0; i < channels; i++)
        for (size_t j = i; j < channels; j++)
            slot->m2[i * channels + j] += (double)slot->gram[i * channels + j];
}

static void measure(void *arg, int thread, size_t index, const struct rx_tile *tile)
{
    const struct rx *rx = arg;
    struct ypi_rx_slot *slot = &rx->slots[thread];
    int channels = (int)rx->channels;
    (void)index;
    locate(rx, slot, tile);
    if (slot->kept == 0)
        return;
    memset(slot->m2, 0, rx->channels * rx->channels * sizeof *slot->m2);
    for (size_t p = 0; p < tile->pixels; p += YPI_RX_CHUNK) {
        size_t pixels = tile->pixels - p < YPI_RX_CHUNK ? tile->pixels - p : YPI_RX_CHUNK;
        size_t rows = rx->kernels->centre(tile->values + p * rx->channels, slot->keep + p, pixels,
                                          rx->channels, slot->centre, slot->rows);
        if (rows == 0)
            continue;
        cblas_ssyrk(CblasRowMajor, CblasUpper, CblasTrans, channels, (int)rows, 1, slot->rows,
                    channels, 0, slot->gram, channels);
        fold(slot, rx->channels);
    }
}

static void merge(void *arg, int thread)
{
    struct rx *rx = arg;
    const struct ypi_rx_slot *slot = &rx->slots[thread];
    size_t channels = rx->channels;
    rx->skipped += slot->skipped;
    if (slot->kept == 0)
        return;
    double before = (double)rx->pixels, n = (double)slot->kept;
    double weight = n * before / (n + before);
    double *difference = slot->difference;
    for (size_t c = 0; c < channels; c++) {
        difference[c] = slot->mean[c] - rx->mean[c];
        rx->mean[c] += difference[c] * (n / (n + before));
        rx->low[c] = fminf(rx->low[c], slot->low[c]);
        rx->high[c] = fmaxf(rx->high[c], slot->high[c]);
    }
    /* The slot's sums stand around its rounded mean; the last term moves them to the mean. */
    for (size_t i = 0; i < channels; i++) {
        double across = weight * difference[i], within = n * slot->rest[i];
        for (size_t j = i; j < channels; j++)
            rx->m2[i * channels + j] +=
                slot->m2[i * channels + j] + across * difference[j] - within * slot->rest[j];
    }
    rx->pixels += slot->kept;
}

enum yp_status rx_fit(struct rx *rx, const struct rx_source *source)
{
    if (rx == NULL)
        return yp_set_error(YP_INVALID, "rx_fit: rx is NULL");
    uint64_t before = rx->pixels + rx->skipped;
    enum yp_status status = ypi_rx_run(&(struct ypi_rx_pass){.what = "rx_fit",
                                                             .channels = rx->channels,
                                                             .tile_pixels = rx->tile_pixels,
                                                             .threads = rx->threads,
                                                             .values = rx->values,
                                                             .work = measure,
                                                             .merge = merge,
                                                             .arg = rx},
                                       source);
    if (status != YP_OK && rx->pixels + rx->skipped != before)
        rx->failed = true;
    return status;
}

void rx_summary(const struct rx *rx, struct rx_summary *out)
{
    *out = (struct rx_summary){rx->pixels, rx->skipped, INFINITY, -INFINITY};
    for (size_t c = 0; c < rx->channels; c++) {
        out->min = fminf(out->min, rx->low[c]);
        out->max = fmaxf(out->max, rx->high[c]);
    }
}

const double *rx_mean(const struct rx *rx)
{
    return rx->mean;
}

enum yp_status rx_covariance(const struct rx *rx, double *out)
{
    if (rx->pixels < 2)
        return yp_set_error(YP_INVALID, "rx_covariance: %zu finite pixels, it takes 2 at least",
                            (size_t)rx->pixels);
    size_t channels = rx->channels;
    for (size_t i = 0; i < channels; i++)
        for (size_t j = i; j < channels; j++)
            out[i * channels + j] = out[j * channels + i] =
                rx->m2[i * channels + j] / (double)(rx->pixels - 1);
    return YP_OK;
}
