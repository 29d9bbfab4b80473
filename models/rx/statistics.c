/* The detector's memory, and mean and covariance of a stream of tiles. */
#include "gram.h"
#include "split.h"
#include "triangle.h"

#include <math.h>
#include <string.h>

/* Pixels a chunk has room for. */
static size_t chunk_of(size_t tile_pixels)
{
    return tile_pixels < YPI_RX_CHUNK ? tile_pixels : YPI_RX_CHUNK;
}

static size_t padded_of(size_t channels)
{
    return (channels + YPI_RX_LANES - 1) / YPI_RX_LANES * YPI_RX_LANES;
}

static int terms_of(enum rx_precision precision)
{
    return precision == RX_BF16X2 ? 2 : precision == RX_BF16X3 ? 3 : 0;
}

/* How sums stand: RX_FP64 has no vectors. */
static struct ypi_gram_shape shape_of(size_t channels, enum rx_precision precision)
{
    return ypi_gram_shape(channels, precision == RX_FP64 ? 1 : ypi_gram_kernels()->width);
}

static void lay_out_slot(struct ypi_rx_slot *slot, struct ypi_arena *arena, size_t channels,
                         size_t tile_pixels, enum rx_precision precision)
{
    size_t padded = padded_of(channels), chunk = chunk_of(tile_pixels);
    struct ypi_gram_shape shape = shape_of(channels, precision);
    int terms = terms_of(precision);
    slot->sums = ypi_arena_take(arena, shape.total, sizeof(double));
    slot->panels = ypi_arena_take(arena, (chunk > YPI_RX_BLOCK ? chunk : YPI_RX_BLOCK) * padded,
                                  sizeof(float));
    if (terms > 0)
        slot->split = ypi_arena_take(
            arena, ypi_split_floats(ypi_split_kernels(), &shape, chunk, terms), sizeof(float));
    double **doubles[] = {&slot->mean, &slot->rest, &slot->difference, &slot->sum};
    for (size_t i = 0; i < sizeof doubles / sizeof *doubles; i++)
        *doubles[i] = ypi_arena_take(arena, padded, sizeof(double));
    float **floats[] = {&slot->centre, &slot->fine,  &slot->low,
                        &slot->high,   &slot->least, &slot->most};
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++)
        *floats[i] = ypi_arena_take(arena, padded, sizeof(float));
    slot->keep = ypi_arena_take(arena, chunk, 1);
}

static void lay_out(struct rx *rx, struct ypi_arena *arena, size_t channels, size_t tile_pixels,
                    int threads, enum rx_precision precision)
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
        lay_out_slot(&slot, arena, channels, tile_pixels, precision);
        if (arena->base != NULL)
            rx->slots[i] = slot;
    }
}

static enum yp_status check_options(const char *what, const struct rx_options *options)
{
    if (options != NULL && (unsigned)options->precision > RX_FP64)
        return yp_set_error(YP_INVALID, "%s: options->precision is %d, allowed are 0 to %d", what,
                            (int)options->precision, (int)RX_FP64);
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
    lay_out(&rx, &arena, channels, tile_pixels, threads,
            options != NULL ? options->precision : RX_FP32);
    return arena.used;
}

size_t rx_bytes(size_t channels, size_t tile_pixels, int threads)
{
    return rx_bytes_with(channels, tile_pixels, threads, NULL);
}

struct rx *rx_create_with(struct yp_device *device, size_t channels, size_t tile_pixels,
                          int threads, const struct rx_options *options)
{
    if (ypi_rx_check_device("rx_create", device) != YP_OK ||
        ypi_rx_check("rx_create", channels, tile_pixels, &threads) != YP_OK ||
        check_options("rx_create", options) != YP_OK)
        return NULL;
    struct ypi_arena arena = {
        .base = yp_device_alloc(device, rx_bytes_with(channels, tile_pixels, threads, options))};
    if (arena.base == NULL)
        return NULL;
    struct rx *rx = ypi_arena_take(&arena, 1, sizeof *rx);
    enum rx_precision precision = options != NULL ? options->precision : RX_FP32;
    lay_out(rx, &arena, channels, tile_pixels, threads, precision);
    rx->device = device;
    rx->kernels = ypi_rx_kernels();
    rx->precision = precision;
    rx->gram = ypi_gram_kernels();
    rx->split = terms_of(precision) > 0 ? ypi_split_kernels() : NULL;
    rx->triangle = ypi_triangle_kernels();
    rx_reset(rx);
    return rx;
}

struct rx *rx_create(struct yp_device *device, size_t channels, size_t tile_pixels, int threads)
{
    return rx_create_with(device, channels, tile_pixels, threads, NULL);
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

/* The sums and ends of a chunk that may have values that are not finite, pixel by pixel. */
static size_t locate_finite(const struct rx *rx, struct ypi_rx_slot *slot, const float *x,
                            size_t stride, size_t pixels)
{
    return rx->kernels->moments(x, stride, pixels, rx->channels, slot->sum, slot->least, slot->most,
                                slot->keep);
}

static void clear_chunk(struct ypi_rx_slot *slot, size_t padded)
{
    for (size_t c = 0; c < padded; c++) {
        slot->sum[c] = 0;
        slot->least[c] = INFINITY;
        slot->most[c] = -INFINITY;
    }
}

/* Whether all sums are finite, and so all values that were summed. */
static bool all_finite(const double *sum, size_t channels)
{
    double wrong = 0;
    for (size_t c = 0; c < channels; c++)
        wrong += sum[c] * 0; /* NaN for infinity and NaN: fewer tests */
    return wrong == 0;
}

/* The sum of two floats that is the mean. */
static void split(struct ypi_rx_slot *slot, const double *mean, double scale, size_t channels)
{
    for (size_t c = 0; c < channels; c++) {
        double value = mean[c] * scale;
        slot->centre[c] = (float)value;
        slot->fine[c] = (float)(value - (double)slot->centre[c]);
    }
}

/* The tile's mean moves to that of all its pixels so far, with `rows` more. Leaves what the chunk's
 * mean has over the tile's in rest, and the same times `weight` in difference. */
static void move_mean(struct ypi_rx_slot *slot, size_t channels, double rows, double weight)
{
    double all = (double)slot->kept + rows;
    for (size_t c = 0; c < channels; c++) {
        double mean = slot->sum[c] / rows;
        slot->rest[c] = mean - slot->mean[c];
        slot->difference[c] = slot->rest[c] * weight;
        slot->mean[c] = slot->kept > 0 ? slot->mean[c] + slot->rest[c] * (rows / all) : mean;
    }
    for (size_t c = 0; c < channels; c++) {
        slot->low[c] = slot->least[c] < slot->low[c] ? slot->least[c] : slot->low[c];
        slot->high[c] = slot->most[c] > slot->high[c] ? slot->most[c] : slot->high[c];
    }
}

/* What the tile has from `p` on, up to `most` pixels of it, when it lies close enough. */
static struct ypi_ahead ahead_of(const struct rx_tile *tile, size_t p, size_t most)
{
    size_t stride = ypi_rx_stride(tile), n = tile->pixels > p ? tile->pixels - p : 0;
    if (n == 0 || stride > 2 * tile->channels)
        return (struct ypi_ahead){0};
    return (struct ypi_ahead){(const char *)(tile->values + p * stride),
                              (n < most ? n : most) * stride * sizeof(float)};
}

static void clear_tile(struct ypi_rx_slot *slot, const struct ypi_gram_shape *shape)
{
    size_t padded = padded_of(shape->channels);
    memset(slot->sums, 0, shape->total * sizeof *slot->sums);
    for (size_t c = 0; c < padded; c++) {
        slot->mean[c] = slot->rest[c] = slot->difference[c] = 0;
        slot->centre[c] = slot->fine[c] = 0;
        slot->low[c] = INFINITY;
        slot->high[c] = -INFINITY;
    }
    slot->kept = slot->skipped = 0;
}

/* Whether the centre lies among the chunk's values in every channel. */
static bool among(const struct ypi_rx_slot *slot, size_t channels)
{
    bool inside = true;
    for (size_t c = 0; c < channels; c++)
        inside &= slot->least[c] <= slot->centre[c] && slot->centre[c] <= slot->most[c];
    return inside;
}

/* A chunk of a tile, and where its products go. */
struct chunk {
    const struct rx *rx;
    struct ypi_rx_slot *slot;
    struct ypi_gram_shape shape;
    const float *x;
    size_t stride, pixels;
    struct ypi_ahead ahead;
};

/* The products of packed pixels to the tile's. */
static void add_packed(const struct chunk *k, size_t rows)
{
    const struct rx *rx = k->rx;
    struct ypi_rx_slot *slot = k->slot;
    if (rx->split == NULL) {
        rx->gram->add(&k->shape, slot->panels, 0, rows, slot->difference, slot->rest, slot->sums,
                      k->ahead);
        return;
    }
    int terms = terms_of(rx->precision);
    memset(slot->sum, 0, padded_of(rx->channels) * sizeof *slot->sum);
    rx->split->split(&k->shape, slot->panels, rows, terms, slot->split);
    rx->split->add(&k->shape, slot->split, rows, terms, slot->difference, slot->rest, slot->sum,
                   slot->sums, k->ahead);
}

/* All in double, pixel by pixel: what the others are held to. */
static void add_in_double(const struct chunk *k, const double *mean, const uint8_t *keep)
{
    struct ypi_rx_slot *slot = k->slot;
    size_t channels = k->rx->channels;
    double *row = (double *)(void *)slot->panels;
    for (size_t p = 0; p <= k->pixels; p++) {
        double *at = slot->sums + k->shape.blocks;
        const double *left = row, *right = row;
        if (p == k->pixels) /* and the term between this chunk and those before */
            left = slot->difference, right = slot->rest;
        else if (keep != NULL && !keep[p])
            continue;
        for (size_t c = 0; c < channels && p < k->pixels; c++)
            row[c] = (double)k->x[p * k->stride + c] - mean[c];
        for (size_t i = 0; i < channels; i++) {
            slot->sums[i] += left[i] * right[i];
            for (size_t j = i + 1; j < channels; j++)
                *at++ += left[i] * right[j];
        }
    }
}

/*
 * In one go around the mean of the tile before it:
 *     M2 += sum z z^T - d d^T m m / (n + m).
 * That is M2_b + d d^T n m / (n + m) as in rx.h, and as good: with n >= m, which holds from the
 * second chunk on, what is taken off again is no more than what d d^T adds to the whole. Not so
 * when a value is not finite, or when the chunk lies off that mean: sums of products that are all
 * alike may round all alike.
 */
static bool add_around_tile(const struct chunk *k)
{
    const struct rx *rx = k->rx;
    struct ypi_rx_slot *slot = k->slot;
    size_t channels = rx->channels;
    double n = (double)slot->kept, m = (double)k->pixels;
    if (slot->kept < k->pixels || rx->precision == RX_FP64 ||
        (rx->split == NULL && channels <= rx->gram->width))
        return false;
    split(slot, slot->mean, 1, channels);
    clear_chunk(slot, padded_of(channels));
    rx->gram->take(k->x, k->stride, k->pixels, channels, slot->centre, slot->fine, slot->panels,
                   slot->sum, slot->least, slot->most);
    if (!all_finite(slot->sum, channels) || !among(slot, channels))
        return false;
    move_mean(slot, channels, m, -m * m / (n + m));
    add_packed(k, k->pixels);
    slot->kept += k->pixels;
    return true;
}

/* In two, around its own mean. */
static void add_around_itself(const struct chunk *k)
{
    const struct rx *rx = k->rx;
    struct ypi_rx_slot *slot = k->slot;
    size_t channels = rx->channels, rows = k->pixels, padded = padded_of(channels);
    clear_chunk(slot, padded);
    rx->gram->moments(k->x, k->stride, k->pixels, channels, slot->sum, slot->least, slot->most);
    bool all = all_finite(slot->sum, channels);
    if (!all) {
        clear_chunk(slot, padded);
        rows = locate_finite(rx, slot, k->x, k->stride, k->pixels);
        slot->skipped += k->pixels - rows;
    }
    if (rows == 0)
        return;
    double n = (double)slot->kept, m = (double)rows;
    split(slot, slot->sum, 1 / m, channels);
    move_mean(slot, channels, m, n * m / (n + m));
    if (rx->precision == RX_FP64) {
        for (size_t c = 0; c < channels; c++)
            slot->sum[c] /= m;
        add_in_double(k, slot->sum, all ? NULL : slot->keep);
    } else if (all && rx->split == NULL && channels <= rx->gram->width) {
        rx->gram->add_raw(&k->shape, k->x, k->stride, rows, slot->centre, slot->fine,
                          slot->difference, slot->rest, slot->sums, k->ahead);
    } else {
        rx->gram->pack(k->x, k->stride, all ? NULL : slot->keep, k->pixels, channels, slot->centre,
                       slot->fine, slot->panels, rows);
        add_packed(k, rows);
    }
    slot->kept += rows;
}

static void measure(void *arg, int thread, size_t index, const struct rx_tile *tile)
{
    const struct rx *rx = arg;
    size_t most = chunk_of(rx->tile_pixels);
    struct chunk k = {.rx = rx, .slot = &rx->slots[thread], .stride = ypi_rx_stride(tile)};
    k.shape = shape_of(rx->channels, rx->precision);
    (void)index;
    clear_tile(k.slot, &k.shape);
    for (size_t p = 0; p < tile->pixels; p += most) {
        k.pixels = tile->pixels - p < most ? tile->pixels - p : most;
        k.x = tile->values + p * k.stride;
        k.ahead = ahead_of(tile, p + k.pixels, most);
        if (!add_around_tile(&k))
            add_around_itself(&k);
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
    double *difference = slot->difference, *across = slot->rest;
    for (size_t c = 0; c < channels; c++) {
        difference[c] = slot->mean[c] - rx->mean[c];
        across[c] = weight * difference[c];
        rx->mean[c] += difference[c] * (n / (n + before));
        rx->low[c] = fminf(rx->low[c], slot->low[c]);
        rx->high[c] = fmaxf(rx->high[c], slot->high[c]);
    }
    struct ypi_gram_shape shape = shape_of(channels, rx->precision);
    ypi_gram_merge(&shape, slot->sums, across, difference, rx->m2);
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
