/* The detector's kernels, each instruction set for itself, and tiles that are not contiguous. */
#include "tests/unit/rx/rx_fixture.h"

#include "models/nn/simd/gram.h"
#include "models/nn/simd/split.h"
#include "models/nn/simd/split_term.h"
#include "models/nn/simd/triangle.h"
#include "models/rx/internal.h"
#include <float.h>
#include <math.h>

enum { RANKS = 3 };

/* Values around 3 to 8 with some correlation from channel to channel. */
static float *pixels_make(size_t pixels, size_t channels, size_t stride)
{
    uint64_t state = 31 * channels + pixels;
    float *x = block(pixels * stride, sizeof *x);
    for (size_t i = 0; i < pixels * stride; i++)
        x[i] = NAN; /* what lies between pixels may be anything */
    for (size_t p = 0; p < pixels; p++) {
        double common = normal(&state);
        for (size_t c = 0; c < channels; c++)
            x[p * stride + c] = (float)(3 + (double)(c % 6) + common + normal(&state));
    }
    return x;
}

/* -- products ------------------------------------------------------------------------------- */

struct packed {
    struct ypi_gram_shape shape;
    double *sum, *sums, *m2;
    float *low, *high, *centre, *fine, *panels;
};

/* All that a chunk goes through in one instruction set; `x` has gaps, `keep` may be NULL. */
static struct packed through(const struct ypi_gram_kernels *kernels, const float *x, size_t stride,
                             const uint8_t *keep, size_t pixels, size_t channels)
{
    struct packed p = {.shape = ypi_gram_shape(channels, kernels->width)};
    size_t padded = p.shape.panels * kernels->width, rows = 0;
    p.sum = block(padded, sizeof *p.sum);
    p.sums = block(p.shape.total, sizeof *p.sums);
    p.m2 = block(channels * channels, sizeof *p.m2);
    p.low = block(padded, sizeof *p.low);
    p.high = block(padded, sizeof *p.high);
    p.centre = block(padded, sizeof *p.centre);
    p.fine = block(padded, sizeof *p.fine);
    p.panels = block(pixels * padded, sizeof *p.panels);
    double *across = block(padded, sizeof *across), *apart = block(padded, sizeof *apart);
    for (size_t c = 0; c < channels; c++) {
        p.low[c] = INFINITY;
        p.high[c] = -INFINITY;
        p.centre[c] = 4 + (float)c;
        p.fine[c] = 0x1p-12f;
        apart[c] = 0.5 - (double)c;
        across[c] = 0.75 * apart[c];
    }
    for (size_t i = 0; i < pixels; i++)
        rows += keep == NULL || keep[i];
    kernels->moments(x, stride, pixels, channels, p.sum, p.low, p.high);
    kernels->pack(x, stride, keep, pixels, channels, p.centre, p.fine, p.panels, rows);
    /* Memory ahead may be anywhere. */
    kernels->add(&p.shape, p.panels, 0, rows, NULL, across, apart, p.sums,
                 (struct ypi_ahead){(const char *)x, pixels * stride * sizeof *x});
    ypi_gram_merge(&p.shape, p.sums, across, apart, p.m2);
    free(across);
    free(apart);
    return p;
}

static void packed_free(struct packed *p)
{
    free(p->sum);
    free(p->sums);
    free(p->m2);
    free(p->low);
    free(p->high);
    free(p->centre);
    free(p->fine);
    free(p->panels);
}

/* Each product of two floats and each sum of `rows` of them is off by 2^-24 of what is summed; the
 * rank-one terms were added twice. */
static void check_products(const struct packed *p, const char *name, const float *x, size_t stride,
                           const uint8_t *keep, size_t pixels)
{
    size_t channels = p->shape.channels;
    for (size_t i = 0; i < channels; i++)
        for (size_t j = i; j < channels; j++) {
            double term = 2 * 0.75 * (0.5 - (double)i) * (0.5 - (double)j), sum = term,
                   size = fabs(term);
            size_t rows = 0;
            for (size_t k = 0; k < pixels; k++) {
                if (keep != NULL && !keep[k])
                    continue;
                float a = (x[k * stride + i] - p->centre[i]) - p->fine[i];
                float b = (x[k * stride + j] - p->centre[j]) - p->fine[j];
                sum += (double)a * (double)b;
                size += fabs((double)a * (double)b);
                rows++;
            }
            double bound = (double)(rows + 2) * 0x1p-24 * size;
            double off = fabs(p->m2[i * channels + j] - sum);
            cr_assert_leq(off, bound, "%s, %zu channels, %zu rows, (%zu, %zu): %g instead of %g",
                          name, channels, rows, i, j, p->m2[i * channels + j], sum);
        }
    for (size_t i = 1; i < channels; i++)
        for (size_t j = 0; j < i; j++)
            cr_assert_eq(p->m2[i * channels + j], 0, "below the diagonal");
}

/* The tile's products, anew, with those of panels with themselves given. */
static void check_turned(const struct ypi_gram_kernels *kernels, struct packed *p, const float *x,
                         size_t stride, size_t pixels, const float *turned)
{
    size_t channels = p->shape.channels, padded = p->shape.panels * kernels->width;
    double *across = block(padded, sizeof *across), *apart = block(padded, sizeof *apart);
    for (size_t c = 0; c < channels; c++) {
        apart[c] = 0.5 - (double)c;
        across[c] = 0.75 * apart[c];
    }
    memset(p->sums, 0, p->shape.total * sizeof *p->sums);
    memset(p->m2, 0, channels * channels * sizeof *p->m2);
    kernels->add(&p->shape, p->panels, 0, pixels, turned, across, apart, p->sums,
                 (struct ypi_ahead){0});
    ypi_gram_merge(&p->shape, p->sums, across, apart, p->m2);
    check_products(p, kernels->name, x, stride, NULL, pixels);
    free(across);
    free(apart);
}

/* Packing with sums and products in one go, in two parts; then with a value that is not finite. */
static void check_take(const struct ypi_gram_kernels *kernels, struct packed *p, float *x,
                       size_t stride, size_t pixels)
{
    size_t channels = p->shape.channels, width = kernels->width, first = pixels / 3;
    size_t padded = p->shape.panels * width, floats = pixels * padded;
    float *panels = block(floats, sizeof *panels), *turned = block(p->shape.blocks, sizeof *turned);
    float *low = block(padded, sizeof *low), *high = block(padded, sizeof *high);
    double *sum = block(padded, sizeof *sum);
    for (size_t c = 0; c < channels; c++) {
        low[c] = INFINITY;
        high[c] = -INFINITY;
    }
    cr_assert(kernels->take(&p->shape, x, stride, first, p->centre, p->fine, panels, pixels, sum,
                            low, high, turned));
    cr_assert(kernels->take(&p->shape, x + first * stride, stride, pixels - first, p->centre,
                            p->fine, panels + first * width, pixels, sum, low, high, turned));
    cr_assert_eq(memcmp(panels, p->panels, floats * sizeof *panels), 0, "%s", kernels->name);
    cr_assert_eq(memcmp(low, p->low, channels * sizeof *low), 0, "%s", kernels->name);
    cr_assert_eq(memcmp(high, p->high, channels * sizeof *high), 0, "%s", kernels->name);
    for (size_t c = 0; c < channels; c++) {
        double size = fmax(fabs((double)low[c]), fabs((double)high[c]));
        cr_assert_leq(fabs(sum[c] - p->sum[c]), (double)(pixels * pixels) * 0x1p-53 * size);
    }
    check_turned(kernels, p, x, stride, pixels, turned);
    memset(turned, 0, p->shape.blocks * sizeof *turned);
    kernels->turn(&p->shape, p->panels, first, pixels, turned);
    kernels->turn(&p->shape, p->panels + first * width, pixels - first, pixels, turned);
    check_turned(kernels, p, x, stride, pixels, turned);

    static const float wrong[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        float *at = x + (pixels - 1) * stride + (i == 0 ? channels - 1 : 0), was = *at;
        *at = wrong[i];
        memset(sum, 0, padded * sizeof *sum);
        memset(panels, 0, floats * sizeof *panels);
        cr_assert_not(kernels->take(&p->shape, x, stride, pixels, p->centre, p->fine, panels,
                                    pixels, sum, low, high, NULL));
        *at = was;
    }
    free(panels);
    free(turned);
    free(low);
    free(high);
    free(sum);
}

/* The same in one go. */
static void check_few(const struct ypi_gram_kernels *kernels, struct packed *p, const float *x,
                      size_t stride, size_t pixels)
{
    enum { MOST = 16 };
    size_t channels = p->shape.channels;
    float products[MOST * MOST], low[MOST], high[MOST];
    double sum[MOST], across[MOST] = {0}, apart[MOST] = {0};
    cr_assert_leq(kernels->width, MOST);
    for (size_t c = 0; c < channels; c++) {
        apart[c] = 0.5 - (double)c;
        across[c] = 0.75 * apart[c];
    }
    memset(p->sums, 0, p->shape.total * sizeof *p->sums);
    memset(p->m2, 0, channels * channels * sizeof *p->m2);
    kernels->few(x, stride, pixels, channels, p->centre, p->fine, products, sum, low, high);
    kernels->add_few(&p->shape, products, across, apart, p->sums);
    ypi_gram_merge(&p->shape, p->sums, across, apart, p->m2);
    check_products(p, kernels->name, x, stride, NULL, pixels);
    for (size_t c = 0; c < channels; c++) {
        double size = fmax(fabs((double)low[c]), fabs((double)high[c]));
        cr_assert_leq(fabs(sum[c] - p->sum[c]), (double)(pixels * pixels) * 0x1p-53 * size);
    }
    cr_assert_eq(memcmp(p->low, low, channels * sizeof *low), 0, "%s", kernels->name);
    cr_assert_eq(memcmp(p->high, high, channels * sizeof *high), 0, "%s", kernels->name);
}

static void check_sets(size_t channels, size_t pixels, const uint8_t *keep)
{
    size_t stride = channels + pixels % 3;
    float *x = pixels_make(pixels, channels, stride);
    struct packed plain = through(ypi_gram_kernels_at(0), x, stride, keep, pixels, channels);
    for (int rank = 0; rank < RANKS; rank++) {
        const struct ypi_gram_kernels *kernels = ypi_gram_kernels_at(rank);
        if (kernels == NULL)
            continue;
        struct packed p = through(kernels, x, stride, keep, pixels, channels);
        check_products(&p, kernels->name, x, stride, keep, pixels);
        if (keep == NULL && channels <= kernels->width)
            check_few(kernels, &p, x, stride, pixels);
        /* Sums in double in the order of pixels, and exact ends: nothing to differ in. */
        cr_assert_eq(memcmp(p.sum, plain.sum, channels * sizeof *p.sum), 0, "%s", kernels->name);
        cr_assert_eq(memcmp(p.low, plain.low, channels * sizeof *p.low), 0, "%s", kernels->name);
        cr_assert_eq(memcmp(p.high, plain.high, channels * sizeof *p.high), 0, "%s", kernels->name);
        if (keep == NULL)
            check_take(kernels, &p, x, stride, pixels);
        packed_free(&p);
    }
    packed_free(&plain);
    free(x);
}

Test(rx_kernels, products_of_any_number_of_channels)
{
    for (size_t channels = 1; channels <= 70; channels++)
        check_sets(channels, 1 + channels * 7 % 40, NULL);
    const size_t more[] = {96, 100, 111, 128, 150, 200, 209};
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        check_sets(more[i], 50, NULL);
}

Test(rx_kernels, products_of_any_number_of_pixels)
{
    const size_t pixels[] = {1, 2, 3, 4, 31, 32, 33, 64, 65, 511, 512, 700};
    for (size_t i = 0; i < sizeof pixels / sizeof *pixels; i++) {
        check_sets(5, pixels[i], NULL);
        check_sets(37, pixels[i], NULL);
    }
}

Test(rx_kernels, pixels_left_out_leave_no_gap)
{
    uint64_t state = 4;
    uint8_t keep[100];
    for (int round = 0; round < 20; round++) {
        for (size_t i = 0; i < 100; i++)
            keep[i] = words(&state) % 4 != 0;
        keep[round] = 1;
        check_sets(1 + (size_t)round * 3, 100, keep);
    }
}

Test(rx_kernels, a_value_that_is_not_finite_shows_in_the_sums)
{
    const float wrong[] = {NAN, INFINITY, -INFINITY};
    for (int rank = 0; rank < RANKS; rank++) {
        const struct ypi_gram_kernels *kernels = ypi_gram_kernels_at(rank);
        for (size_t at = 0; kernels != NULL && at < 40 * 21; at += 13) {
            float *x = pixels_make(40, 21, 21), low[32] = {0}, high[32] = {0};
            double sum[32] = {0};
            x[at] = wrong[at % 3];
            x[(at + 21) % (40 * 21)] = wrong[(at + 1) % 3]; /* and infinities of both signs */
            kernels->moments(x, 21, 40, 21, sum, low, high);
            for (size_t c = 0; c < 21; c++)
                cr_assert_eq(isfinite(sum[c]) == 0, c == at % 21, "%s: value %zu, sum %zu is %g",
                             kernels->name, at, c, sum[c]);
            free(x);
        }
    }
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
    size_t room = ypi_split_floats(kernels, &p->shape, rows, terms);
    float *split = block(room + 1, sizeof *split);
    double *across = block(padded, sizeof *across), *apart = block(padded, sizeof *apart);
    double *nothing = block(padded, sizeof *nothing), *sums = block(p->shape.total, sizeof *sums);
    for (size_t c = 0; c < channels; c++) {
        apart[c] = 0.5 - (double)c;
        across[c] = 0.75 * apart[c];
    }
    split[room] = -7;
    kernels->split(&p->shape, p->panels, rows, terms, split);
    cr_assert_eq(split[room], -7, "written behind the end");
    kernels->add(&p->shape, split, rows, terms, across, apart, nothing, sums,
                 (struct ypi_ahead){(const char *)split, room * sizeof *split});
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
    float *x = pixels_make(rows, channels, channels);
    double *worked_out = NULL;
    for (int rank = 0; rank <= 4; rank++) {
        const struct ypi_split_kernels *kernels =
            rank < 4 ? ypi_split_kernels_at(rank) : &split_kernels_tiles;
        const struct ypi_gram_kernels *gram = ypi_gram_kernels_at(rank < 2 ? rank : 2);
        if (kernels == NULL || gram == NULL)
            continue;
        cr_assert_eq(kernels->width, gram->width);
        struct packed p = through(gram, x, channels, NULL, rows, channels);
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

/* -- scores --------------------------------------------------------------------------------- */

/* |L^-1 (x - centre) - offset|^2 in double, and what float may be off: C + 4 roundings in each y.
 */
static double score_of(const struct ypi_triangle *t, const float *x, double *bound)
{
    double sum = 0, unit = (double)(t->channels + 4) * 0x1p-24;
    *bound = 0;
    for (size_t i = 0; i < t->channels; i++) {
        double y = -(double)t->offset[i], size = fabs(y);
        for (size_t k = 0; k <= i; k++) {
            double term =
                (double)t->whiten[k * t->channels + i] * ((double)x[k] - (double)t->centre[k]);
            y += term;
            size += fabs(term);
        }
        *bound += 2 * fabs(y) * unit * size + unit * size * unit * size;
        sum += y * y;
    }
    *bound += unit * sum;
    return sum;
}

static void check_scores(const struct ypi_triangle_kernels *kernels, size_t channels, size_t pixels)
{
    uint64_t state = channels;
    size_t stride = channels + pixels % 4;
    float *x = pixels_make(pixels, channels, stride), *scores = block(pixels + 1, sizeof *scores);
    float *whiten = block(channels * channels, sizeof *whiten);
    float *centre = block(channels, sizeof *centre), *offset = block(channels, sizeof *offset);
    float *scratch = block(channels * kernels->pixels, sizeof *scratch);
    for (size_t k = 0; k < channels; k++) {
        centre[k] = 3 + (float)(k % 6);
        offset[k] = (float)normal(&state) * 0.25f;
        for (size_t i = k; i < channels; i++)
            whiten[k * channels + i] = (float)normal(&state);
    }
    size_t bad = pixels / 2;
    if (pixels > 4)
        x[bad * stride + channels - 1] = INFINITY;
    scores[pixels] = -7;
    struct ypi_triangle triangle = {channels, whiten, centre, offset};
    kernels->score(&triangle, x, stride, pixels, scratch, scores);
    for (size_t p = 0; p < pixels; p++) {
        double bound, wanted = score_of(&triangle, x + p * stride, &bound);
        if (pixels > 4 && p == bad)
            cr_assert_not(isfinite(scores[p]));
        else
            cr_assert_leq(fabs((double)scores[p] - wanted), bound,
                          "%s, %zu channels, pixel %zu of %zu: %g instead of %g", kernels->name,
                          channels, p, pixels, (double)scores[p], wanted);
    }
    cr_assert_eq(scores[pixels], -7, "written behind the end");
    free(x);
    free(scores);
    free(whiten);
    free(centre);
    free(offset);
    free(scratch);
}

Test(rx_kernels, scores_of_any_number_of_channels_and_pixels)
{
    for (int rank = 0; rank < RANKS; rank++) {
        const struct ypi_triangle_kernels *kernels = ypi_triangle_kernels_at(rank);
        if (kernels == NULL)
            continue;
        cr_assert_leq(kernels->pixels, YPI_RX_BLOCK);
        for (size_t channels = 1; channels <= 50; channels++)
            check_scores(kernels, channels, 1 + channels * 11 % 60);
        for (size_t pixels = 1; pixels <= 100; pixels++)
            check_scores(kernels, 19, pixels);
        check_scores(kernels, 200, 49);
        check_scores(kernels, 103, 200);
    }
}

/* -- tiles with gaps ------------------------------------------------------------------------ */

/* An image, and what of it tiles take: adjacent bands of the pixels of columns, one tile each. */
struct window {
    float *image;
    uint8_t *labels;
    size_t height, width, bands, first_column, columns, first_band, channels;
    bool copy;     /* fill the model's memory instead */
    size_t stride; /* not 0: a wrong one */
};

static enum yp_status window_yield(void *arg, size_t index, float *values, uint8_t *labels,
                                   struct rx_tile *tile)
{
    const struct window *w = arg;
    const float *from = w->image + (w->first_column + index) * w->bands + w->first_band;
    size_t stride = w->width * w->bands;
    tile->pixels = w->height;
    tile->labels = w->labels;
    (void)labels;
    if (w->copy) {
        for (size_t p = 0; p < w->height; p++)
            memcpy(values + p * w->channels, from + p * stride, w->channels * sizeof *values);
        return YP_OK;
    }
    tile->values = from;
    tile->stride = w->stride != 0 ? w->stride : stride;
    return YP_OK;
}

static struct window window_make(size_t channels)
{
    struct window w = {.height = 700,
                       .width = 9,
                       .bands = channels + 5,
                       .first_column = 2,
                       .columns = 6,
                       .first_band = 3,
                       .channels = channels};
    w.image = pixels_make(w.height * w.width, w.bands, w.bands);
    w.labels = block(w.height, 1);
    for (size_t p = 0; p < w.height; p += 9)
        w.labels[p] = 1;
    /* One of the window, one of a band that is not of it. */
    w.image[(100 * w.width + 4) * w.bands + 3] = NAN;
    w.image[(101 * w.width + 4) * w.bands + 2] = NAN;
    return w;
}

struct answers {
    double covariance[33 * 33], mean[33], loss;
    float scores[6 * 700], gradient[33 + 33 * 33 + 2];
};

static struct answers *ask(struct window *w)
{
    struct answers *a = block(1, sizeof *a);
    size_t channels = w->channels;
    struct rx_source source = {channels, w->height, w->columns, window_yield, w};
    float *parameters = block(rx_loss_parameters(channels), sizeof *parameters);
    struct rx *rx = rx_create(yp_device_cpu(), channels, w->height, 2);
    struct rx_loss *loss = rx_loss_create(yp_device_cpu(), channels, w->height, 2);
    cr_assert(rx != NULL && loss != NULL, "%s", yp_last_error());
    OK(rx_fit(rx, &source));
    OK(rx_covariance(rx, a->covariance));
    memcpy(a->mean, rx_mean(rx), channels * sizeof *a->mean);
    OK(rx_finish(rx, RX_EPS));
    OK(rx_score(rx, &source, a->scores));
    OK(rx_loss_start(rx, 0.1f, (float)channels, parameters));
    OK(rx_loss_gradient(loss, &source, parameters, &a->loss, a->gradient));
    struct rx_summary summary;
    rx_summary(rx, &summary);
    cr_expect_eq(summary.skipped, 1);
    cr_expect_eq(summary.pixels, w->height * w->columns - 1);
    rx_destroy(rx);
    rx_loss_destroy(loss);
    free(parameters);
    return a;
}

Test(rx_kernels, a_window_of_an_image_has_the_answers_of_its_copy)
{
    const size_t channels[] = {1, 10, 16, 33};
    for (size_t i = 0; i < sizeof channels / sizeof *channels; i++) {
        struct window w = window_make(channels[i]);
        struct answers *gaps = ask(&w);
        w.copy = true;
        struct answers *copy = ask(&w);
        cr_expect_eq(memcmp(gaps, copy, sizeof *gaps), 0, "%zu channels", channels[i]);
        cr_expect(isnan(gaps->scores[2 * 700 + 100]) && isfinite(gaps->scores[2 * 700 + 101]));
        free(gaps);
        free(copy);
        free(w.image);
        free(w.labels);
    }
}

Test(rx_kernels, the_plain_versions_know_gaps_too)
{
    enum { C = 7, N = 50 };
    float *far = pixels_make(N, C, C + 4), near[N * C], parameters[C + C * C + 2], f[2][N];
    uint8_t labels[N];
    double wide[C + C * C + 2], losses[2][N], cotangent[N], gradient[2][C + C * C + 2];
    for (size_t p = 0; p < N; p++) {
        memcpy(near + p * C, far + p * (C + 4), C * sizeof *near);
        labels[p] = p % 5 == 0;
        cotangent[p] = 1 + (double)p;
    }
    struct rx_tile tiles[2] = {{near, N, C, labels, 0}, {far, N, C, labels, C + 4}};
    struct rx *rx = rx_create(yp_device_cpu(), C, N, 1);
    struct window w = {.image = far, .labels = labels, .height = N, .width = 1, .bands = C + 4};
    w.channels = C;
    w.columns = 1;
    struct rx_source source = {C, N, 1, window_yield, &w};
    OK(rx_fit(rx, &source));
    OK(rx_finish(rx, RX_EPS));
    OK(rx_loss_start(rx, 0.1f, C, parameters));
    for (size_t i = 0; i < C + C * C + 2; i++)
        wide[i] = (double)parameters[i];
    for (int i = 0; i < 2; i++)
        OK(rx_score_plain(rx, &tiles[i], losses[i]));
    cr_expect_eq(memcmp(losses[0], losses[1], sizeof losses[0]), 0);
    cr_expect_gt(losses[0][3], 0);
    for (int i = 0; i < 2; i++) {
        rx_loss_plain(&tiles[i], wide, losses[i]);
        rx_loss_plain_f32(&tiles[i], parameters, f[i]);
        rx_loss_plain_vjp(&tiles[i], wide, cotangent, gradient[i]);
    }
    cr_expect_eq(memcmp(losses[0], losses[1], sizeof losses[0]), 0);
    cr_expect_eq(memcmp(f[0], f[1], sizeof f[0]), 0);
    cr_expect_eq(memcmp(gradient[0], gradient[1], sizeof gradient[0]), 0);
    tiles[1].stride = C - 1;
    FAILS(rx_score_plain(rx, &tiles[1], losses[0]), YP_INVALID, "stride 6");
    rx_destroy(rx);
    free(far);
}

Test(rx_kernels, a_stride_below_the_channels_is_refused)
{
    struct window w = window_make(10);
    struct rx_source source = {10, w.height, w.columns, window_yield, &w};
    struct rx *rx = rx_create(yp_device_cpu(), 10, w.height, 2);
    struct rx_loss *loss = rx_loss_create(yp_device_cpu(), 10, w.height, 2);
    float parameters[112] = {0}, gradient[112];
    double mean;
    w.stride = 9;
    FAILS(rx_fit(rx, &source), YP_INVALID, "tile 0 has stride 9, allowed are 0 and 10 or more");
    FAILS(rx_loss_gradient(loss, &source, parameters, &mean, gradient), YP_INVALID, "stride 9");
    w.stride = 10; /* the nearest there is: pixels that overlap in the image are still pixels */
    OK(rx_fit(rx, &source));
    rx_destroy(rx);
    rx_loss_destroy(loss);
    free(w.image);
    free(w.labels);
}

/* -- accuracy ------------------------------------------------------------------------------- */

/* A smooth scene at 50 dB: a drifting mixture of three spectra and noise of 1 / 316 of it, so that
 * the covariance has a condition of 1e6 and chunks have means that differ. */
static float *smooth_scene(size_t pixels, size_t channels)
{
    uint64_t state = channels;
    float *x = block(pixels * channels, sizeof *x);
    for (size_t p = 0; p < pixels; p++) {
        double t = (double)p / (double)pixels;
        double mix[3] = {1 + t + 0.3 * normal(&state), 2 - t * t + 0.3 * normal(&state),
                         sin(9 * t) + 0.3 * normal(&state)};
        for (size_t c = 0; c < channels; c++) {
            double wave = (double)c / (double)channels, value = 0;
            for (int k = 0; k < 3; k++)
                value += mix[k] * (1 + cos((k + 1) * 3 * wave + k));
            x[p * channels + c] = (float)(value * (1 + 1e-3 * normal(&state)) * 0.2);
        }
    }
    return x;
}

/* Of each precision, against two passes. */
static const double limits[] = {
    [RX_FP32] = 1e-6, [RX_BF16X2] = 1e-5, [RX_BF16X3] = 1e-6, [RX_FP64] = 1e-13};

static struct rx *create_in(enum rx_precision precision, size_t channels, size_t tile_pixels,
                            int threads)
{
    struct rx *rx = rx_create_with(yp_device_cpu(), channels, tile_pixels, threads,
                                   &(struct rx_options){.precision = precision});
    cr_assert_not_null(rx, "%s", yp_last_error());
    return rx;
}

Test(rx_kernels, every_precision_keeps_its_bound_and_its_bits)
{
    const size_t channels[] = {3, 16, 45, 100}, tiles[] = {1, 700, 2000};
    struct scene s = {.pixels = 2000};
    for (size_t i = 0; i < sizeof channels / sizeof *channels; i++) {
        size_t n = s.channels = channels[i];
        s.values = smooth_scene(s.pixels, n);
        double *wanted = block(n * n, sizeof *wanted), *got[2];
        got[0] = block(n * n, sizeof **got);
        got[1] = block(n * n, sizeof **got);
        double mean[100];
        s.values[701 * n] = NAN;
        two_passes(&s, mean, wanted);
        for (int precision = RX_FP32; precision <= RX_FP64; precision++)
            for (size_t k = 0; k < sizeof tiles / sizeof *tiles; k++) {
                s.tile_pixels = tiles[k];
                struct rx_source source = source_of(&s);
                for (int threads = 1; threads <= 2; threads++) {
                    yp_device_reset_peak(yp_device_cpu());
                    struct rx *rx = create_in(precision, n, tiles[k], threads);
                    OK(rx_fit(rx, &source));
                    OK(rx_covariance(rx, got[threads - 1]));
                    cr_expect_eq(memory().allocated_peak,
                                 rx_bytes_with(n, tiles[k], threads,
                                               &(struct rx_options){.precision = precision}));
                    struct rx_summary summary;
                    rx_summary(rx, &summary);
                    cr_expect_eq(summary.skipped, 1);
                    rx_destroy(rx);
                }
                cr_expect_eq(memcmp(got[0], got[1], n * n * sizeof **got), 0,
                             "precision %d: bits of 1 and 2 threads differ", precision);
                double error = distance(got[0], wanted, n * n);
                cr_expect_leq(error, limits[precision],
                              "%zu channels, tiles of %zu, precision %d: "
                              "%g",
                              n, tiles[k], precision, error);
            }
        scene_free(&s);
        free(wanted);
        free(got[0]);
        free(got[1]);
    }
}

Test(rx_kernels, a_precision_that_is_none_is_refused)
{
    struct rx_options options = {.precision = (enum rx_precision)(RX_FP64 + 1)};
    cr_expect_null(rx_create_with(yp_device_cpu(), 4, 10, 1, &options));
    cr_expect_not_null(strstr(yp_last_error(), "options->precision is 4"));
    cr_expect_eq(rx_bytes_with(4, 10, 1, &options), 0);
    cr_expect_eq(rx_bytes_with(4, 10, 1, NULL), rx_bytes(4, 10, 1));
    cr_expect_gt(rx_bytes_with(40, 100, 1, &(struct rx_options){.precision = RX_BF16X3}),
                 rx_bytes(40, 100, 1));
}

Test(rx_kernels, covariance_of_a_50_db_scene_in_any_tiles)
{
    const size_t channels[] = {10, 100, 200}, tiles[] = {1, 100, 512, 1500, 3000};
    for (size_t i = 0; i < sizeof channels / sizeof *channels; i++) {
        size_t n = channels[i];
        struct scene s = {.values = smooth_scene(3000, n), .pixels = 3000, .channels = n};
        double *wanted = block(n * n, sizeof *wanted), *got = block(n * n, sizeof *got), mean[200];
        two_passes(&s, mean, wanted);
        for (size_t k = 0; k < sizeof tiles / sizeof *tiles; k++) {
            s.tile_pixels = tiles[k];
            struct rx_source source = source_of(&s);
            struct rx *rx = detector_for(&s, 2);
            OK(rx_fit(rx, &source));
            OK(rx_covariance(rx, got));
            double error = distance(got, wanted, n * n);
            cr_expect_leq(error, 1e-6, "%zu channels, tiles of %zu: %g", n, tiles[k], error);
            rx_destroy(rx);
        }
        free(wanted);
        free(got);
        scene_free(&s);
    }
}

/* A dark chunk before a bright rest: what a sum around the first chunk's mean would lose. */
Test(rx_kernels, a_tile_whose_chunks_have_nothing_in_common)
{
    enum { C = 20, N = 8192 };
    uint64_t state = 2;
    struct scene s = {.pixels = N, .channels = C, .tile_pixels = N};
    double *wanted = block((size_t)C * C, sizeof *wanted), *got = block((size_t)C * C, sizeof *got);
    double mean[C];
    s.values = block((size_t)N * C, sizeof *s.values);
    for (size_t i = 0; i < (size_t)N * C; i++)
        s.values[i] = (float)(normal(&state) + (i < 512 * (size_t)C ? 0 : 1e4));
    two_passes(&s, mean, wanted);
    struct rx_source source = source_of(&s);
    struct rx *rx = detector_for(&s, 2);
    OK(rx_fit(rx, &source));
    OK(rx_covariance(rx, got));
    /* What is between chunks is summed in double. */
    cr_expect_leq(distance(got, wanted, (size_t)C * C), 1e-10, "%g",
                  distance(got, wanted, (size_t)C * C));
    rx_destroy(rx);
    scene_free(&s);
    free(wanted);
    free(got);
}
