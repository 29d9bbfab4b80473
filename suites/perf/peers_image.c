/* The image that peers/common.py makes, with the same bits. */
#include "suites/perf/peers.h"

#include "suites/score_error.h"

#include <math.h>

enum { MATERIALS = 7 }; /* the last material is the target's */

/* SplitMix64 (Steele, Lea, Flood 2014). */
static uint64_t word(uint64_t seed, uint64_t index)
{
    uint64_t z = seed + (index + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* (MATERIALS, channels): three bumps on a level each. */
static void make_spectra(uint64_t seed, size_t channels, int32_t *out)
{
    for (size_t k = 0; k < MATERIALS; k++)
        for (size_t c = 0; c < channels; c++) {
            int64_t at = (int64_t)(c * 4095 / (channels > 1 ? channels - 1 : 1)), sum = 200;
            for (uint64_t b = 0; b < 3; b++) {
                uint64_t w = word(seed, 3 * k + b);
                int64_t far = at - (int64_t)(w % 4096), width = 256 + (int64_t)((w >> 16) % 1024);
                int64_t height = 256 + (int64_t)((w >> 32) % 1024);
                int64_t bump = height * (width * width - far * far);
                sum += bump > 0 ? bump / (width * width) : 0;
            }
            out[k * channels + c] = (int32_t)sum;
        }
}

static void make_amounts(uint64_t material_seed, uint64_t target_seed, uint64_t pixel,
                         int32_t amounts[MATERIALS])
{
    uint64_t w = word(material_seed, pixel);
    for (int k = 0; k < MATERIALS - 1; k++) {
        int32_t tenth = (int32_t)(w >> (10 * k) & 1023);
        amounts[k] = tenth * tenth >> 10;
    }
    w = word(target_seed, pixel);
    amounts[MATERIALS - 1] = w % 1024 == 0 ? 64 + (int32_t)((w >> 32) % 960) : 0;
}

static enum yp_status yield(void *arg, size_t index, float *values, uint8_t *labels,
                            struct rx_tile *tile)
{
    (void)values, (void)labels;
    const struct peers_image *image = arg;
    size_t first = index * PEERS_TILE_PIXELS;
    tile->values = image->values + first * image->source.channels;
    tile->labels = image->labels + first;
    tile->pixels = PEERS_TILE_PIXELS;
    return YP_OK;
}

/* A linear mixture with noise in 16 bits, in whole numbers: no order of sums changes it. Noise is
 * the sum of 4 bytes, so nearly normal; 40 dB below the signal, about. */
void peers_image_open(struct peers_image *image, struct yp_case *t)
{
    size_t side = (size_t)yp_int(t, "side"), channels = (size_t)yp_int(t, "channels");
    size_t pixels = image->pixels = side * side;
    image->side = side;
    image->source = (struct rx_source){.channels = channels,
                                       .tile_pixels = PEERS_TILE_PIXELS,
                                       .tiles = pixels / PEERS_TILE_PIXELS,
                                       .yield = yield,
                                       .arg = image};
    float *values = image->values = yp_alloc(t, pixels * channels * sizeof *values);
    uint8_t *labels = image->labels = yp_alloc(t, pixels);
    int32_t *spectra = yp_alloc(t, MATERIALS * channels * sizeof *spectra);
    uint64_t seed = yp_seed(t), hash = 0;
    make_spectra(word(seed, 0), channels, spectra);
#pragma omp parallel for reduction(+ : hash)
    for (size_t p = 0; p < pixels; p++) {
        int32_t amounts[MATERIALS];
        make_amounts(word(seed, 1), word(seed, 2), p, amounts);
        labels[p] = amounts[MATERIALS - 1] > 0;
        for (size_t c = 0; c < channels; c++) {
            uint64_t i = p * channels + c;
            uint32_t w = (uint32_t)(word(word(seed, 3), i / 2) >> 32 * (i % 2));
            int32_t mixed = 0;
            for (size_t k = 0; k < MATERIALS; k++)
                mixed += amounts[k] * spectra[k * channels + c];
            w = (w & 0x00ff00ff) + (w >> 8 & 0x00ff00ff);
            mixed = (mixed >> 9) + (int32_t)((w & 0xffff) + (w >> 16));
            values[i] = (float)mixed / 65536;
            hash += (uint64_t)mixed * (2 * i + 1);
        }
    }
    yp_data_hash(t, hash);
}

float peers_uniform(uint64_t seed, uint64_t index)
{
    return (float)(word(seed, index) >> 40) * 0x1p-24F - 0.5F;
}

double peers_digest(const double *values, size_t count)
{
    double square = 0, sum = 0;
    for (size_t i = 0; i < count; i++) {
        square += values[i] * values[i];
        sum += __builtin_parityll(i) ? -values[i] : values[i];
    }
    return 3 * sqrt(square) + sum;
}

double peers_digest_f32(struct yp_case *t, const float *values, size_t count)
{
    return peers_digest(in_double(t, values, count), count);
}
