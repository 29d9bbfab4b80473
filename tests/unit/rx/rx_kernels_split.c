/* Products through bf16, on a model of the matrix unit too. */
#include "tests/unit/rx/rx_fixture.h"

#include "models/nn/simd/gram.h"
#include "models/nn/simd/split.h"
#include "models/nn/simd/split_term.h"
#include "models/nn/simd/triangle.h"
#include <float.h>
#include <math.h>

/* -- packed pixels --------------------------------------------------------------------------- */

struct packed {
    struct ypi_gram_shape shape;
    double *m2;
    float *centre, *fine, *panels;
};

/* Values around 3 to 8 with some correlation from channel to channel. */
static float *pixels_make(size_t pixels, size_t channels)
{
    uint64_t state = 31 * channels + pixels;
    float *x = block(pixels * channels, sizeof *x);
    for (size_t p = 0; p < pixels; p++) {
        double common = normal(&state);
        for (size_t c = 0; c < channels; c++)
            x[p * channels + c] = (float)(3 + (double)(c % 6) + common + normal(&state));
    }
    return x;
}

static struct packed packed_of(const struct ypi_gram_kernels *kernels, const float *x,
                               size_t pixels, size_t channels)
{
    struct packed p = {.shape = ypi_gram_shape(channels, kernels->width)};
    size_t padded = p.shape.panels * kernels->width;
    p.m2 = block(channels * channels, sizeof *p.m2);
    p.centre = block(padded, sizeof *p.centre);
    p.fine = block(padded, sizeof *p.fine);
    p.panels = block(pixels * padded, sizeof *p.panels);
    for (size_t c = 0; c < channels; c++) {
        p.centre[c] = 4 + (float)c;
        p.fine[c] = 0x1p-12f;
    }
    kernels->pack(x, channels, NULL, pixels, channels, p.centre, p.fine, p.panels, pixels);
    return p;
}

static void packed_free(struct packed *p)
{
    free(p->m2);
    free(p->centre);
    free(p->fine);
    free(p->panels);
}

/* -- products of bf16 ----------------------------------------------------------------------- */

/*
 * A model of the tile instructions after Intel's manual (SDM volume 2, LDTILECFG, TILELOADD,
 * TDPBF16PS): 8 tiles of up to 16 rows of 64 bytes. Of each pair the even and the odd products are
 * summed apart over the whole row, by FMA that takes and makes denormals as 0 and rounds to nearest
 * even; then both sums are added, then that to the tile.
 */
enum { TILES = 8, TILE_ROWS = 16, TILE_BYTES = 64 };
struct tile {
    float row[TILE_ROWS][TILE_BYTES / sizeof(float)];
};
static struct tile registers[TILES];
static bool tiles_ready;
static size_t tile_loads, tile_products;

static float flush(float x)
{
    return fabsf(x) < FLT_MIN ? copysignf(0, x) : x;
}

static float half_of(float word, bool odd)
{
    uint32_t bits;
    memcpy(&bits, &word, sizeof bits);
    bits = odd ? bits & 0xffff0000u : bits << 16;
    memcpy(&word, &bits, sizeof word);
    return flush(word);
}

static void model_config(const void *layout)
{
    const uint8_t *byte = layout;
    cr_assert_eq(byte[0], 1, "palette");
    cr_assert_eq(byte[1], 0, "start row");
    for (int i = 0; i < TILES; i++) {
        cr_assert_eq(byte[16 + 2 * i] + 256 * byte[17 + 2 * i], TILE_BYTES);
        cr_assert_eq(byte[48 + i], TILE_ROWS);
    }
    for (int i = TILES; i < 16; i++)
        cr_assert_eq(byte[16 + 2 * i] + byte[17 + 2 * i] + byte[48 + i], 0);
    memset(registers, 0xff, sizeof registers); /* not to be used before they are set */
    for (int i = 2; i < 16; i++)
        cr_assert_eq(byte[i], 0, "reserved");
    tiles_ready = true;
}

static void model_zero(int tile)
{
    cr_assert(tiles_ready);
    memset(&registers[tile], 0, sizeof registers[tile]);
}

static void model_load(int tile, const void *from, size_t stride)
{
    cr_assert(tiles_ready);
    for (size_t r = 0; r < TILE_ROWS; r++)
        memcpy(registers[tile].row[r], (const char *)from + r * stride, TILE_BYTES);
    tile_loads++;
}

static void model_store(int tile, void *to, size_t stride)
{
    cr_assert(tiles_ready);
    for (size_t r = 0; r < TILE_ROWS; r++)
        memcpy((char *)to + r * stride, registers[tile].row[r], TILE_BYTES);
}

static void model_product(int sum, int a, int b)
{
    cr_assert(tiles_ready && sum != a && sum != b && a != b);
    for (size_t m = 0; m < TILE_ROWS; m++)
        for (size_t n = 0; n < TILE_BYTES / 4; n++) {
            float apart[2] = {0, 0};
            for (size_t k = 0; k < TILE_BYTES / 4; k++)
                for (int odd = 0; odd < 2; odd++)
                    apart[odd] = flush(fmaf(half_of(registers[a].row[m][k], odd),
                                            half_of(registers[b].row[k][n], odd), apart[odd]));
            float both = flush(apart[0] + apart[1]);
            registers[sum].row[m][n] = flush(flush(registers[sum].row[m][n]) + both);
        }
    tile_products++;
}

#define TILE_TARGET
#define TILE_CONFIG(layout) model_config(layout)
#define TILE_RELEASE() (tiles_ready = false)
#define TILE_ZERO(tile) model_zero(tile)
#define TILE_LOAD(tile, from, stride) model_load(tile, from, stride)
#define TILE_DP(sum, a, b) model_product(sum, a, b)
#define TILE_STORE(tile, to, stride) model_store(tile, to, stride)
#define TURN_TILE(in, out) turn_tile(in, out)
#define TILE_KERNELS static const struct ypi_split_kernels split_kernels_tiles
#include "models/nn/simd/split_amx.inc"

/* M2 of packed pixels by `kernels`, in place of what p has, and the sums it came from. */
static double *split_sums(const struct ypi_split_kernels *kernels, struct packed *p, size_t rows,
                          int terms)
{
    size_t channels = p->shape.channels, padded = p->shape.panels * p->shape.width;
    size_t floats = ypi_split_floats(kernels, &p->shape, rows, terms);
    float *split = block(floats + 1, sizeof *split);
    double *across = block(padded, sizeof *across), *apart = block(padded, sizeof *apart);
    double *nothing = block(padded, sizeof *nothing), *sums = block(p->shape.total, sizeof *sums);
    for (size_t c = 0; c < channels; c++) {
        apart[c] = 0.5 - (double)c;
        across[c] = 0.75 * apart[c];
    }
    split[floats] = -7;
    kernels->split(&p->shape, p->panels, rows, terms, split);
    cr_assert_eq(split[floats], -7, "written behind the end");
    kernels->add(&p->shape, split, rows, terms, across, apart, nothing, sums,
                 (struct ypi_ahead){(const char *)split, floats * sizeof *split});
    memset(p->m2, 0, channels * channels * sizeof *p->m2);
    ypi_gram_merge(&p->shape, sums, across, apart, p->m2);
    free(split);
    free(across);
    free(apart);
    free(nothing);
    return sums;
}

/* Two terms leave 2^-16 of each factor and the product of second terms, 2^-16 of each product;
 * three leave 2^-24 and some: then the sums' rounding is what counts, once for each product. */
static void check_split(const struct packed *p, const char *name, const float *x, size_t stride,
                        size_t rows, int terms)
{
    size_t channels = p->shape.channels;
    double unit =
        terms == 2 ? 3 * 0x1p-16 + (double)(3 * rows) * 0x1p-24 : (double)(6 * rows + 8) * 0x1p-24;
    for (size_t i = 0; i < channels; i++)
        for (size_t j = i; j < channels; j++) {
            double term = 2 * 0.75 * (0.5 - (double)i) * (0.5 - (double)j), sum = term, size = 0;
            for (size_t k = 0; k < rows; k++) {
                float a = (x[k * stride + i] - p->centre[i]) - p->fine[i];
                float b = (x[k * stride + j] - p->centre[j]) - p->fine[j];
                sum += (double)a * (double)b;
                size += fabs((double)a * (double)b);
            }
            double off = fabs(p->m2[i * channels + j] - sum);
            cr_assert_leq(off, unit * size + 1e-15 * fabs(term),
                          "%s, %d terms, %zu channels, %zu rows, (%zu, %zu): %g instead of %g",
                          name, terms, channels, rows, i, j, p->m2[i * channels + j], sum);
        }
}

static void check_split_sets(size_t channels, size_t rows, int terms)
{
    float *x = pixels_make(rows, channels);
    double *worked_out = NULL;
    for (int rank = 0; rank <= 4; rank++) {
        const struct ypi_split_kernels *kernels =
            rank < 4 ? ypi_split_kernels_at(rank) : &split_kernels_tiles;
        const struct ypi_gram_kernels *gram = ypi_gram_kernels_at(rank < 2 ? rank : 2);
        if (kernels == NULL || gram == NULL)
            continue;
        cr_assert_eq(kernels->width, gram->width);
        struct packed p = packed_of(gram, x, rows, channels);
        double *sums = split_sums(kernels, &p, rows, terms);
        check_split(&p, kernels->name, x, channels, rows, terms);
        /* The instruction does what is worked out for it, to the bit. */
        if (rank == 3 && worked_out != NULL)
            cr_assert_eq(memcmp(sums, worked_out, p.shape.total * sizeof *sums), 0, "%s",
                         kernels->name);
        packed_free(&p);
        free(worked_out);
        worked_out = sums;
    }
    free(worked_out);
    free(x);
}

Test(rx_kernels, products_through_bf16)
{
    const size_t channels[] = {1, 2, 5, 15, 16, 17, 31, 32, 33, 40, 48, 50, 64, 70, 100};
    for (int terms = 2; terms <= 3; terms++) {
        for (size_t i = 0; i < sizeof channels / sizeof *channels; i++)
            check_split_sets(channels[i], 3 + channels[i] % 40, terms);
        for (size_t rows = 1; rows <= 70; rows += 1 + rows / 8)
            check_split_sets(21, rows, terms);
        check_split_sets(20, 512, terms);
    }
}

/* 200 channels are 7 double panels: 21 blocks of 4 tiles and 7 of 3, three products of each for 32
 * pixels, and 8 loads for a block's. */
Test(rx_kernels, tiles_are_loaded_as_often_as_counted)
{
    struct ypi_gram_shape shape = ypi_gram_shape(200, 16);
    struct packed p = {.shape = shape};
    p.panels = block(64 * shape.panels * 16, sizeof *p.panels);
    p.m2 = block((size_t)200 * 200, sizeof *p.m2);
    tile_loads = tile_products = 0;
    free(split_sums(&split_kernels_tiles, &p, 64, 2));
    cr_expect_eq(tile_products, 2 * 3 * (21 * 4 + 7 * 3));
    cr_expect_eq(tile_loads, 2 * 8 * (21 + 7));
    tile_loads = 0;
    free(split_sums(&split_kernels_tiles, &p, 64, 3));
    cr_expect_eq(tile_loads, 2 * 16 * (21 + 7));
    free(p.panels);
    free(p.m2);
}

Test(rx_kernels, terms_add_up_and_are_nearest)
{
    uint64_t state = 8;
    for (int round = 0; round < 20000; round++) {
        float x = (float)(normal(&state) * pow(2, (double)(words(&state) % 60) - 30)), kept = x;
        float low[1] = {x}, high[1] = {-x}, word;
        double sum = 0;
        for (int t = 0; t < 3; t++) {
            double left = (double)x - sum;
            ypi_split_term(low, high, 1, &word);
            float even = half_of(word, false), odd = half_of(word, true);
            cr_assert_eq(even, -odd);
            /* 8 bits of what was left, to the nearest */
            cr_assert_leq(fabs((double)even - left), fabs(left) * 0x1p-8);
            if (left != 0)
                cr_assert_leq(fabs((double)even - left), ldexp(1, ilogb(left) - 8));
            sum += (double)even;
            cr_assert_eq((double)low[0], (double)x - sum);
        }
        cr_assert_eq((float)sum, kept);
    }
    float tie[1] = {1 + 0x1p-8f}, other[1] = {1 + 3 * 0x1p-8f}, word; /* ties go to even */
    ypi_split_term(tie, other, 1, &word);
    cr_expect_eq(half_of(word, false), 1);
    cr_expect_eq(half_of(word, true), 1 + 0x1p-6f);
}
