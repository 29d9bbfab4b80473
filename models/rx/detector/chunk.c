/* A tile's statistics, chunk by chunk. */
#include "models/rx/detector/chunk.h"

#include <math.h>
#include <string.h>

/* A chunk of a tile, and what is known of the tile so far. */
struct chunk {
    const struct rx *rx;
    struct ypi_rx_scratch *own;
    struct ypi_rx_accumulator *sums;
    struct ypi_gram_shape shape;
    const float *x;
    size_t stride, pixels;
    struct ypi_ahead ahead;
};

/* What the tile has from `p` on, up to `limit` pixels of it, when it lies close enough. */
static struct ypi_ahead ahead_of(const struct rx_tile *tile, size_t p, size_t limit)
{
    size_t stride = ypi_rx_stride(tile), n = tile->pixels > p ? tile->pixels - p : 0;
    if (n == 0 || stride > 2 * tile->channels)
        return (struct ypi_ahead){0};
    return (struct ypi_ahead){(const char *)(tile->values + p * stride),
                              (n < limit ? n : limit) * stride * sizeof(float)};
}

/* The sums and ends of a chunk that may have values that are not finite, pixel by pixel. */
static size_t locate_finite(const struct chunk *k)
{
    struct ypi_rx_scratch *own = k->own;
    return k->rx->kernels->moments(k->x, k->stride, k->pixels, k->rx->channels, own->sum, own->min,
                                   own->max, own->keep);
}

static void clear_moments(double *sum, float *min, float *max, size_t channels)
{
    for (size_t c = 0; c < channels; c++) {
        sum[c] = 0;
        min[c] = INFINITY;
        max[c] = -INFINITY;
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
static void split(struct ypi_rx_scratch *own, const double *mean, double scale, size_t channels)
{
    for (size_t c = 0; c < channels; c++) {
        double value = mean[c] * scale;
        own->centre[c] = (float)value;
        own->fine[c] = (float)(value - (double)own->centre[c]);
    }
}

/* The tile's mean of `kept` pixels moves to that with `rows` more, whose mean has `rest` over it.
 * Leaves that times `weight` in difference. */
static void move_mean(const struct chunk *k, double kept, double rows, double weight)
{
    struct ypi_rx_scratch *own = k->own;
    struct ypi_rx_accumulator *sums = k->sums;
    size_t channels = k->rx->channels;
    for (size_t c = 0; c < channels; c++) {
        own->difference[c] = own->rest[c] * weight;
        sums->mean[c] += own->rest[c] * (rows / (kept + rows));
    }
    for (size_t c = 0; c < channels; c++) {
        sums->low[c] = own->min[c] < sums->low[c] ? own->min[c] : sums->low[c];
        sums->high[c] = own->max[c] > sums->high[c] ? own->max[c] : sums->high[c];
    }
}

static void clear_tile(const struct chunk *k)
{
    struct ypi_rx_scratch *own = k->own;
    struct ypi_rx_accumulator *sums = k->sums;
    size_t padded = ypi_rx_padded(k->rx->channels);
    memset(sums->products, 0, k->shape.total * sizeof *sums->products);
    for (size_t c = 0; c < padded; c++) {
        sums->mean[c] = own->rest[c] = own->difference[c] = 0;
        own->centre[c] = own->fine[c] = 0;
        sums->low[c] = INFINITY;
        sums->high[c] = -INFINITY;
    }
    sums->kept = sums->skipped = 0;
}

/* Whether the centre lies among the chunk's values in every channel. */
static bool among(const struct ypi_rx_scratch *own, size_t channels)
{
    bool inside = true;
    for (size_t c = 0; c < channels; c++)
        inside &= own->min[c] <= own->centre[c] && own->centre[c] <= own->max[c];
    return inside;
}

/* The products of packed pixels to the tile's; those of panels with themselves may have been made
 * before. */
static void add_packed(const struct chunk *k, size_t rows, const float *turned)
{
    const struct rx *rx = k->rx;
    struct ypi_rx_scratch *own = k->own;
    struct ypi_rx_accumulator *sums = k->sums;
    if (rx->split == NULL) {
        rx->gram->add(&k->shape, own->panels, 0, rows, turned, own->difference, own->rest,
                      sums->products, k->ahead);
        return;
    }
    int terms = ypi_rx_terms(rx->precision);
    memset(own->sum, 0, ypi_rx_padded(rx->channels) * sizeof *own->sum);
    rx->split->split(&k->shape, own->panels, rows, terms, own->split);
    rx->split->add(&k->shape, own->split, rows, terms, own->difference, own->rest, own->sum,
                   sums->products, k->ahead);
}

/* Whether the mean lies near the sample's. With two values, of which the sample has so many of the
 * rarer one that this just holds, d^2 is twice the variance; with more it is less. */
static bool well_guessed(const struct ypi_rx_scratch *own, size_t channels)
{
    bool near = true;
    for (size_t c = 0; c < channels; c++)
        near &= 8 * fabs(own->rest[c]) <= (double)own->max[c] - (double)own->min[c];
    return near;
}

/* All in double, pixel by pixel: what the others are held to. */
static void add_in_double(const struct chunk *k, const double *mean, const uint8_t *keep)
{
    struct ypi_rx_scratch *own = k->own;
    struct ypi_rx_accumulator *sums = k->sums;
    size_t channels = k->rx->channels;
    double *row = (double *)(void *)own->panels;
    for (size_t p = 0; p <= k->pixels; p++) {
        double *at = sums->products + k->shape.blocks;
        const double *left = row, *right = row;
        if (p == k->pixels) /* and the term between this chunk and those before */
            left = own->difference, right = own->rest;
        else if (keep != NULL && !keep[p])
            continue;
        for (size_t c = 0; c < channels && p < k->pixels; c++)
            row[c] = (double)k->x[p * k->stride + c] - mean[c];
        for (size_t i = 0; i < channels; i++) {
            sums->products[i] += left[i] * right[i];
            for (size_t j = i + 1; j < channels; j++)
                *at++ += left[i] * right[j];
        }
    }
}

/* A tile's first chunk goes around the mean of one pixel in so many. */
#define SAMPLE ((size_t)16)

static void guess_mean(const struct chunk *k)
{
    struct ypi_rx_scratch *own = k->own;
    size_t channels = k->rx->channels, pixels = (k->pixels + SAMPLE - 1) / SAMPLE;
    double *mean = k->sums->mean;
    memset(mean, 0, channels * sizeof *mean);
    size_t taken = k->rx->kernels->moments(k->x, k->stride * SAMPLE, pixels, channels, mean,
                                           own->min, own->max, own->keep);
    for (size_t c = 0; c < channels && taken > 0; c++)
        mean[c] /= (double)taken;
}

/* Pixels that are packed at once. Where one of them is not finite their moments have to be made
 * anew, of so many and not of the whole chunk. */
#define PART ((size_t)64)

/* As it was before the part: of packed pixels those that are not finite become the mean, which adds
 * nothing. Returns how many are left. */
static size_t repair_part(const struct chunk *k, size_t first, size_t pixels)
{
    struct ypi_rx_scratch *own = k->own;
    size_t width = k->shape.width;
    float *panels = own->panels + first * width;
    memcpy(own->sum, own->before, own->moments);
    size_t rows = k->rx->kernels->moments(k->x + first * k->stride, k->stride, pixels,
                                          k->rx->channels, own->sum, own->min, own->max, own->keep);
    for (size_t p = 0; p < pixels; p++)
        for (size_t v = 0; v < k->shape.panels && !own->keep[p]; v++)
            memset(panels + (v * k->pixels + p) * width, 0, width * sizeof *panels);
    if (own->turned != NULL)
        k->rx->gram->turn(&k->shape, panels, pixels, k->pixels, own->turned);
    return rows;
}

/* Packs the chunk around the centre. Returns how many pixels are finite. */
static size_t pack(const struct chunk *k)
{
    const struct rx *rx = k->rx;
    struct ypi_rx_scratch *own = k->own;
    size_t rows = 0;
    clear_moments(own->sum, own->min, own->max, ypi_rx_padded(rx->channels));
    if (own->turned != NULL)
        memset(own->turned, 0, k->shape.blocks * sizeof *own->turned);
    for (size_t first = 0, n; first < k->pixels; first += n) {
        n = k->pixels - first < PART ? k->pixels - first : PART;
        memcpy(own->before, own->sum, own->moments);
        bool finite = rx->gram->take(&k->shape, k->x + first * k->stride, k->stride, n, own->centre,
                                     own->fine, own->panels + first * k->shape.width, k->pixels,
                                     own->sum, own->min, own->max, own->turned);
        rows += finite ? n : repair_part(k, first, n);
    }
    return rows;
}

/* In one go around the mean of the tile before it:
 *     M2 += sum z z^T - d d^T m m / (n + m).
 * That is M2_b + d d^T n m / (n + m) as in rx.h, and as good: with n >= m / 2, which holds from the
 * second chunk on, what is taken off again is no more than twice what d d^T adds to the whole. In
 * the first one it is some part of what is left while d is small beside the range of values. Not so
 * when the chunk lies off that mean: sums of products that are all alike may round all alike. */
static bool add_around_tile(const struct chunk *k)
{
    const struct rx *rx = k->rx;
    struct ypi_rx_scratch *own = k->own;
    struct ypi_rx_accumulator *sums = k->sums;
    size_t channels = rx->channels;
    if ((sums->kept > 0 && 2 * sums->kept < k->pixels) || rx->precision == RX_FP64)
        return false;
    if (sums->kept == 0)
        guess_mean(k);
    split(own, sums->mean, 1, channels);
    size_t rows = rx->few ? rx->gram->few(k->x, k->stride, k->pixels, channels, own->centre,
                                          own->fine, own->panels, own->sum, own->min, own->max)
                          : pack(k);
    double n = (double)sums->kept, m = (double)rows;
    if (rows > 0 && !among(own, channels))
        return false;
    for (size_t c = 0; c < channels && rows > 0; c++)
        own->rest[c] = own->sum[c] / m - sums->mean[c];
    if (rows > 0 && sums->kept == 0 && !well_guessed(own, channels))
        return false;
    sums->skipped += k->pixels - rows;
    sums->kept += rows;
    if (rows == 0)
        return true;
    move_mean(k, n, m, -m * m / (n + m));
    if (rx->few)
        rx->gram->add_few(&k->shape, own->panels, own->difference, own->rest, sums->products);
    else
        add_packed(k, k->pixels, own->turned);
    return true;
}

/* In two, around its own mean. */
static void add_around_itself(const struct chunk *k)
{
    const struct rx *rx = k->rx;
    struct ypi_rx_scratch *own = k->own;
    struct ypi_rx_accumulator *sums = k->sums;
    size_t channels = rx->channels, rows = k->pixels, padded = ypi_rx_padded(channels);
    if (sums->kept == 0) /* no guess */
        memset(sums->mean, 0, channels * sizeof *sums->mean);
    clear_moments(own->sum, own->min, own->max, padded);
    rx->gram->moments(k->x, k->stride, k->pixels, channels, own->sum, own->min, own->max);
    bool all = all_finite(own->sum, channels);
    if (!all) {
        clear_moments(own->sum, own->min, own->max, padded);
        rows = locate_finite(k);
        sums->skipped += k->pixels - rows;
    }
    if (rows == 0)
        return;
    double n = (double)sums->kept, m = (double)rows;
    split(own, own->sum, 1 / m, channels);
    for (size_t c = 0; c < channels; c++)
        own->rest[c] = own->sum[c] / m - sums->mean[c];
    move_mean(k, n, m, n * m / (n + m));
    if (rx->precision == RX_FP64) {
        for (size_t c = 0; c < channels; c++)
            own->sum[c] /= m;
        add_in_double(k, own->sum, all ? NULL : own->keep);
    } else {
        rx->gram->pack(k->x, k->stride, all ? NULL : own->keep, k->pixels, channels, own->centre,
                       own->fine, own->panels, rows);
        add_packed(k, rows, NULL);
    }
    sums->kept += rows;
}

void ypi_rx_measure(const struct rx *rx, struct ypi_rx_scratch *own, const struct rx_tile *tile,
                    struct ypi_rx_accumulator *sums)
{
    size_t limit = ypi_rx_chunk(rx->tile_pixels);
    struct chunk k = {.rx = rx, .own = own, .sums = sums, .stride = ypi_rx_stride(tile)};
    k.shape = ypi_rx_shape(rx->channels, rx->precision);
    clear_tile(&k);
    for (size_t p = 0; p < tile->pixels; p += limit) {
        k.pixels = tile->pixels - p < limit ? tile->pixels - p : limit;
        k.x = tile->values + p * k.stride;
        k.ahead = ahead_of(tile, p + k.pixels, limit);
        if (!add_around_tile(&k))
            add_around_itself(&k);
    }
}
