/* Products of packed pixels, of every instruction set against plain sums. */
#include "tests/unit/rx/rx_packed.h"

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
    enum { CAPACITY = 16 };
    size_t channels = p->shape.channels;
    float products[CAPACITY * CAPACITY], low[CAPACITY], high[CAPACITY];
    double sum[CAPACITY], across[CAPACITY] = {0}, apart[CAPACITY] = {0};
    cr_assert_leq(kernels->width, CAPACITY);
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
