/* Merging in double: Chan, Golub and LeVeque's rule for pairs of sums, as rx.h has it. */
#include "models/rx/detector/merge.h"

#include "models/rx/detector/chunk.h"

#include <math.h>
#include <string.h>

/* Row i of m2, so that column j is at [j] for j >= i. */
static double *row_of(const struct ypi_rx_merged *sums, size_t i, size_t channels)
{
    return sums->m2 + i * channels - (sums->packed ? i * (i + 1) / 2 : 0);
}

void ypi_rx_clear(const struct rx *rx, struct ypi_rx_merged *sums)
{
    size_t channels = rx->channels;
    sums->pixels = sums->skipped = 0;
    memset(sums->mean, 0, channels * sizeof *sums->mean);
    for (size_t i = 0; i < channels; i++)
        memset(row_of(sums, i, channels) + i, 0, (channels - i) * sizeof *sums->m2);
    for (size_t c = 0; c < channels; c++) {
        sums->low[c] = INFINITY;
        sums->high[c] = -INFINITY;
    }
}

/* The mean and the ends with those of `pixels` more. Leaves d and d n m / (n + m), of rx.h, in
 * difference and weighted. */
static void add_means(const struct rx *rx, struct ypi_rx_merged *to, uint64_t pixels,
                      const double *mean, const float *low, const float *high)
{
    double before = (double)to->pixels, n = (double)pixels;
    double weight = n * before / (n + before);
    for (size_t c = 0; c < rx->channels; c++) {
        rx->difference[c] = mean[c] - to->mean[c];
        rx->weighted[c] = weight * rx->difference[c];
        to->mean[c] += rx->difference[c] * (n / (n + before));
        to->low[c] = fminf(to->low[c], low[c]);
        to->high[c] = fmaxf(to->high[c], high[c]);
    }
    to->pixels += pixels;
}

void ypi_rx_add_tile(const struct rx *rx, struct ypi_rx_merged *to,
                     const struct ypi_rx_accumulator *tile)
{
    to->skipped += tile->skipped;
    if (tile->kept == 0)
        return;
    add_means(rx, to, tile->kept, tile->mean, tile->low, tile->high);
    struct ypi_gram_shape shape = ypi_rx_shape(rx->channels, rx->precision);
    ypi_gram_merge(&shape, tile->products, rx->weighted, rx->difference, to->m2);
}

void ypi_rx_add_sums(const struct rx *rx, struct ypi_rx_merged *to,
                     const struct ypi_rx_merged *from)
{
    size_t channels = rx->channels;
    to->skipped += from->skipped;
    if (from->pixels == 0)
        return;
    add_means(rx, to, from->pixels, from->mean, from->low, from->high);
    for (size_t i = 0; i < channels; i++) {
        double *m2 = row_of(to, i, channels), left = rx->weighted[i];
        const double *more = row_of(from, i, channels);
        for (size_t j = i; j < channels; j++)
            m2[j] += more[j] + left * rx->difference[j];
    }
}

void ypi_rx_copy_sums(const struct rx *rx, struct ypi_rx_merged *to,
                      const struct ypi_rx_merged *from)
{
    size_t channels = rx->channels;
    to->pixels = from->pixels;
    to->skipped = from->skipped;
    memcpy(to->mean, from->mean, channels * sizeof *to->mean);
    memcpy(to->low, from->low, channels * sizeof *to->low);
    memcpy(to->high, from->high, channels * sizeof *to->high);
    for (size_t i = 0; i < channels; i++)
        memcpy(row_of(to, i, channels) + i, row_of(from, i, channels) + i,
               (channels - i) * sizeof *to->m2);
}

/* -- records --------------------------------------------------------------------------------- */

size_t ypi_rx_record_bytes(size_t channels)
{
    return 2 * sizeof(uint64_t) + channels * sizeof(double) +
           channels * (channels + 1) / 2 * sizeof(double) + 2 * channels * sizeof(float);
}

struct ypi_rx_merged ypi_rx_in_record(char *record, size_t channels)
{
    struct ypi_rx_merged sums = {.packed = true};
    uint64_t counts[2];
    memcpy(counts, record, sizeof counts);
    sums.pixels = counts[0];
    sums.skipped = counts[1];
    sums.mean = (double *)(void *)(record + sizeof counts);
    sums.m2 = sums.mean + channels;
    sums.low = (float *)(void *)(sums.m2 + channels * (channels + 1) / 2);
    sums.high = sums.low + channels;
    return sums;
}

void ypi_rx_write_record(const struct rx *rx, char *record, const struct ypi_rx_merged *from)
{
    const uint64_t counts[2] = {from->pixels, from->skipped};
    memcpy(record, counts, sizeof counts);
    struct ypi_rx_merged to = ypi_rx_in_record(record, rx->channels);
    ypi_rx_copy_sums(rx, &to, from);
}
