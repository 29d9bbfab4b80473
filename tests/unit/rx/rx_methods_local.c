/* Local RX against every ring summed by itself, in long double. */
#include "tests/unit/rx/rx_methods.h"

#include "models/rx/methods/local.h"
#include "models/rx/methods/window.h"

/* -- the oracle ------------------------------------------------------------------------------ */

/* Both windows keep their size at the border: see local.h. */
static size_t first_of(long at, long side, long length)
{
    long first = at - side / 2;
    first = first < 0 ? 0 : first;
    return (size_t)(first + side > length ? length - side : first);
}

static bool is_finite(const float *x, size_t channels)
{
    for (size_t c = 0; c < channels; c++)
        if (!isfinite(x[c]))
            return false;
    return true;
}

struct oracle {
    const struct rx_image *image;
    const struct rx_local_options *options;
    const size_t *list; /* channels that count */
    size_t count;
    double range;
};

/* Mean and scatter of the ring in two passes; returns its pixels. */
static size_t ring_of(const struct oracle *o, size_t row, size_t column, long double *mean,
                      long double *scatter)
{
    const struct rx_image *image = o->image;
    size_t n = o->count, pixels = 0, outer = o->options->outer, inner = o->options->inner;
    size_t top = first_of((long)row, (long)outer, (long)image->height);
    size_t left = first_of((long)column, (long)outer, (long)image->width);
    size_t up = first_of((long)row, (long)inner, (long)image->height);
    size_t near = first_of((long)column, (long)inner, (long)image->width);
    memset(mean, 0, n * sizeof *mean);
    memset(scatter, 0, n * n * sizeof *scatter);
    for (int pass = 0; pass < 2; pass++) {
        for (size_t r = top; r < top + outer; r++)
            for (size_t c = left; c < left + outer; c++) {
                const float *x = image->values + (r * image->width + c) * image->channels;
                bool inside = r >= up && r < up + inner && c >= near && c < near + inner;
                if (inside || !is_finite(x, image->channels))
                    continue;
                pixels += pass == 0;
                for (size_t i = 0; i < n && pass == 0; i++)
                    mean[i] += (long double)x[o->list[i]];
                for (size_t i = 0; i < n && pass == 1; i++)
                    for (size_t j = 0; j < n; j++)
                        scatter[i * n + j] += ((long double)x[o->list[i]] - mean[i]) *
                                              ((long double)x[o->list[j]] - mean[j]);
            }
        for (size_t i = 0; i < n && pass == 0; i++)
            mean[i] /= (long double)pixels;
    }
    return pixels;
}

static double score_of(const struct oracle *o, size_t row, size_t column)
{
    const float *x = o->image->values + (row * o->image->width + column) * o->image->channels;
    size_t n = o->count;
    if (!is_finite(x, o->image->channels))
        return NAN;
    long double *mean = block(n, sizeof *mean), *s = block(n * n, sizeof *s),
                *d = block(n, sizeof *d), *y = block(n, sizeof *y), score = 0;
    size_t pixels = ring_of(o, row, column, mean, s);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++)
            s[i * n + j] *=
                (i == j ? 1 : 1 - (long double)o->options->shrink) / (long double)(pixels - 1);
        s[i * n + i] += (long double)(o->options->eps * o->range * o->range);
        d[i] = (long double)x[o->list[i]] - mean[i];
    }
    gauss(s, d, n, y);
    for (size_t i = 0; i < n; i++)
        score += d[i] * y[i];
    free(mean);
    free(s);
    free(d);
    free(y);
    return (double)score;
}

static struct oracle oracle_of(const struct rx_image *image, const struct rx_local_options *options,
                               size_t *list)
{
    struct oracle o = {image, options, list, 0, 0};
    double low = INFINITY, high = -INFINITY;
    for (size_t c = 0; c < image->channels; c++) {
        double least = INFINITY, most = -INFINITY;
        for (size_t p = 0; p < image->height * image->width; p++) {
            const float *x = image->values + p * image->channels;
            if (!is_finite(x, image->channels))
                continue;
            least = fmin(least, (double)x[c]);
            most = fmax(most, (double)x[c]);
        }
        low = fmin(low, least);
        high = fmax(high, most);
        if (!options->mask_dead || least < most)
            list[o.count++] = c;
    }
    o.range = high - low;
    return o;
}

/* All scores against the oracle; returns the largest relative error. */
static double compare(const struct rx_image *image, const struct rx_local_options *options)
{
    size_t pixels = image->height * image->width;
    float *scores = block(pixels, sizeof *scores);
    double *wanted = block(pixels, sizeof *wanted);
    size_t *list = block(image->channels, sizeof *list);
    struct oracle oracle = oracle_of(image, options, list);
    struct rx_local_summary summary;
    OK(rx_local(yp_device_cpu(), image, options, scores, &summary));
    size_t nan = 0;
    for (size_t p = 0; p < pixels; p++) {
        wanted[p] = score_of(&oracle, p / image->width, p % image->width);
        nan += isnan(wanted[p]) != 0;
    }
    double most = worst(scores, wanted, pixels);
    cr_expect_eq(summary.skipped, nan);
    cr_expect_eq(summary.scored, pixels - nan);
    cr_expect_eq(summary.singular, 0);
    free(scores);
    free(wanted);
    free(list);
    return most;
}

/* -- scores ---------------------------------------------------------------------------------- */

/* A score is float: 2^-24. More blocks than one both ways, and their last ones short. */
#define ROUNDED 0x1.02p-24

Test(rx_local, every_score_is_that_of_its_ring)
{
    const struct {
        size_t height, width, channels, inner, outer;
    } cases[] = {{70, 40, 5, 3, 9},
                 {66, 35, 12, 5, 11},
                 {9, 33, 1, 1, 9},
                 {9, 9, 3, 7, 9},
                 {20, 45, 33, 3, 13}};
    for (size_t i = 0; i < LENGTH(cases); i++) {
        struct rx_image image =
            image_make(cases[i].height, cases[i].width, cases[i].channels, 300, i + 1);
        struct rx_local_options options = {
            .inner = cases[i].inner, .outer = cases[i].outer, .threads = 2};
        double most = compare(&image, &options);
        cr_expect_leq(most, ROUNDED, "case %zu: %g", i, most);
        free((void *)image.values);
    }
}

/* 60 dB and a level far from 0 that changes across the image: condition and base cost digits of
 * double, not of float. */
Test(rx_local, a_bright_image_with_little_noise)
{
    struct rx_image image = image_make(70, 40, 10, 1e3, 7);
    float *values = (float *)image.values;
    for (size_t p = 0; p < 70 * 40; p++)
        for (size_t c = 0; c < 10; c++)
            values[p * 10 + c] = values[p * 10 + c] * 1000 + 5000 + (float)(p % 40) * 100;
    double most = compare(&image, &(struct rx_local_options){.inner = 3, .outer = 11});
    cr_expect_leq(most, ROUNDED, "%g", most);
    free(values);
}

Test(rx_local, regularisation_is_that_of_rx)
{
    struct rx_image image = image_make(20, 24, 30, 300, 3);
    const struct rx_local_options cases[] = {
        {.inner = 3, .outer = 5, .eps = 1e-4}, /* 16 pixels, 30 channels */
        {.inner = 3, .outer = 5, .shrink = 0.3},
        {.inner = 1, .outer = 9, .eps = 1e-6, .shrink = 0.05},
        {.inner = 1, .outer = 9, .shrink = 1}};
    float *values = (float *)image.values;
    for (size_t i = 0; i < 2 * LENGTH(cases); i++) {
        double most = compare(&image, &cases[i % LENGTH(cases)]);
        cr_expect_leq(most, ROUNDED, "case %zu: %g", i, most);
        for (size_t k = 0; i + 1 == LENGTH(cases) && k < 20 * 24 * 30; k++)
            values[k] = ldexpf(values[k], -40); /* as amperes */
    }
    free(values);
}

/* -- pixels and bands that are wrong --------------------------------------------------------- */

Test(rx_local, pixels_that_are_not_finite_are_in_no_ring)
{
    struct rx_image image = image_make(70, 40, 6, 300, 11);
    float *values = (float *)image.values;
    uint64_t state = 3;
    for (int i = 0; i < 60; i++)
        values[words(&state) % (70 * 40 * 6)] = i % 3 == 0   ? NAN
                                                : i % 3 == 1 ? INFINITY
                                                             : -INFINITY;
    double most = compare(&image, &(struct rx_local_options){.inner = 3, .outer = 9, .threads = 2});
    cr_expect_leq(most, ROUNDED, "%g", most);
    free(values);
}

Test(rx_local, dead_bands)
{
    struct rx_image image = image_make(20, 40, 6, 300, 11);
    float *values = (float *)image.values, scores[800];
    for (size_t p = 0; p < 800; p++)
        values[p * 6] = 0.1F, values[p * 6 + 4] = 7;
    struct rx_local_options options = {.inner = 3, .outer = 9};
    FAILS(rx_local(yp_device_cpu(), &image, &options, scores, NULL), YP_INVALID,
          "channel 0 is dead");
    options.mask_dead = true;
    double most = compare(&image, &options);
    cr_expect_leq(most, ROUNDED, "masked: %g", most);
    options = (struct rx_local_options){.inner = 3, .outer = 9, .eps = RX_EPS};
    most = compare(&image, &options);
    cr_expect_leq(most, ROUNDED, "with eps: %g", most);

    for (size_t i = 0; i < 800 * 6; i++)
        values[i] = 3;
    options = (struct rx_local_options){.inner = 3, .outer = 9, .mask_dead = true};
    OK(rx_local(yp_device_cpu(), &image, &options, scores, NULL));
    for (size_t p = 0; p < 800; p++)
        cr_assert_eq(scores[p], 0);
    free(values);
}

/* A band that is constant here and not there; one that is another's double; a hole. */
Test(rx_local, a_ring_that_cannot_be_factored_is_counted)
{
    struct rx_image image = image_make(20, 40, 4, 300, 11);
    float *values = (float *)image.values, scores[800];
    struct rx_local_options options = {.inner = 3, .outer = 9, .threads = 2};
    struct rx_local_summary summary;
    for (size_t r = 0; r < 20; r++)
        for (size_t c = 0; c < 20; c++)
            values[(r * 40 + c) * 4 + 2] = 0.7F;
    OK(rx_local(yp_device_cpu(), &image, &options, scores, &summary));
    size_t constant = 0;
    for (size_t p = 0; p < 800; p++) { /* windows within the left 20 columns */
        bool within = p % 40 + 4 < 20;
        cr_expect_eq(isnan(scores[p]) != 0, within, "pixel %zu: %g", p, (double)scores[p]);
        constant += within;
    }
    cr_expect_eq(summary.singular, constant);
    cr_expect_eq(summary.scored, 800 - constant);

    for (size_t p = 0; p < 800; p++)
        values[p * 4 + 3] = 2 * values[p * 4];
    OK(rx_local(yp_device_cpu(), &image, &options, scores, &summary));
    cr_expect_eq(summary.singular, 800);
    options.eps = RX_EPS;
    OK(rx_local(yp_device_cpu(), &image, &options, scores, &summary));
    cr_expect_eq(summary.scored, 800);

    for (size_t r = 0; r < 20; r++) /* a hole with an island: its ring is empty */
        for (size_t c = 10; c < 30; c++)
            if (r != 10 || c != 20)
                values[(r * 40 + c) * 4] = NAN;
    OK(rx_local(yp_device_cpu(), &image, &options, scores, &summary));
    cr_expect(isnan(scores[10 * 40 + 20]));
    cr_expect_eq(summary.singular, 1);
    cr_expect_eq(summary.skipped, 399);
    free(values);
}

Test(rx_local, what_is_not_allowed_is_refused_by_name)
{
    struct rx_image image = image_make(20, 24, 30, 300, 3);
    struct yp_device *cpu = yp_device_cpu();
    float scores[480];
    const struct {
        struct rx_local_options options;
        const char *words;
    } cases[] = {
        {{.inner = 2, .outer = 9}, "options->inner is 2"},
        {{.inner = 3, .outer = 8}, "options->outer is 8"},
        {{.inner = 0, .outer = 9}, "options->inner is 0"},
        {{.inner = 3, .outer = 1025}, "options->outer is 1025"},
        {{.inner = 9, .outer = 9}, "windows of 9 and 9"},
        {{.inner = 3, .outer = 21}, "in an image of 20 x 24"},
        {{.inner = 3, .outer = 9, .eps = -1}, "eps is -1"},
        {{.inner = 3, .outer = 9, .eps = NAN}, "eps is nan"},
        {{.inner = 3, .outer = 9, .shrink = 1.5}, "shrink is 1.5"},
        {{.inner = 3, .outer = 9, .threads = -1}, "threads is -1"},
        {{.inner = 3, .outer = 5}, "16 pixels between windows of 3 and 5"},
    };
    for (size_t i = 0; i < LENGTH(cases); i++)
        FAILS(rx_local(cpu, &image, &cases[i].options, scores, NULL), YP_INVALID, cases[i].words);
    struct rx_local_options options = {.inner = 3, .outer = 9};
    FAILS(rx_local(cpu, NULL, &options, scores, NULL), YP_INVALID, "image is NULL");
    FAILS(rx_local(cpu, &image, NULL, scores, NULL), YP_INVALID, "options is NULL");
    FAILS(rx_local(cpu, &image, &options, NULL, NULL), YP_INVALID, "scores is NULL");
    struct rx_image wrong = image;
    wrong.channels = 0;
    FAILS(rx_local(cpu, &wrong, &options, scores, NULL), YP_INVALID, "channels is 0");
    wrong = (struct rx_image){NULL, 20, 24, 30};
    FAILS(rx_local(cpu, &wrong, &options, scores, NULL), YP_INVALID, "image->values is NULL");
    wrong = (struct rx_image){image.values, 0, 24, 30};
    FAILS(rx_local(cpu, &wrong, &options, scores, NULL), YP_INVALID, "0 x 24");
    for (size_t i = 0; i < 20 * 24 * 30; i++)
        ((float *)image.values)[i] = i % 30 == 3 ? NAN : image.values[i];
    FAILS(rx_local(cpu, &image, &options, scores, NULL), YP_INVALID,
          "0 finite pixels (480 skipped)");
    free((void *)image.values);
}

/* -- threads, memory, instruction sets ------------------------------------------------------- */

Test(rx_local, threads_change_no_bit_and_memory_is_as_predicted)
{
    struct rx_image image = image_make(70, 70, 7, 300, 5);
    float *scores = block((size_t)2 * 4900, sizeof *scores);
    for (int threads = 1; threads <= 3; threads++) {
        struct rx_local_options options = {.inner = 3, .outer = 9, .threads = threads};
        yp_device_reset_peak(yp_device_cpu());
        OK(rx_local(yp_device_cpu(), &image, &options, scores + (threads > 1) * 4900, NULL));
        cr_expect_eq(memory().allocated_peak, rx_local_bytes(&image, &options));
        if (threads > 1)
            cr_expect_eq(memcmp(scores, scores + 4900, 4900 * sizeof *scores), 0);
    }
    cr_expect_eq(memory().allocated, 0);
    yp_device_set_limit(yp_device_cpu(), 1);
    cr_expect_eq(rx_local(yp_device_cpu(), &image,
                          &(struct rx_local_options){.inner = 3, .outer = 9}, scores, NULL),
                 YP_OUT_OF_MEMORY);
    yp_device_set_limit(yp_device_cpu(), 0);
    free(scores);
    free((void *)image.values);
}

Test(rx_local, all_instruction_sets_agree)
{
    enum { SIZE = 15, PIXELS = 60 };
    double sums[2][SIZE * (SIZE + 1) / 2], scratch[SIZE * (SIZE + 5) / 2 + 2 * SIZE], z[SIZE];
    double first = 0;
    for (int rank = 0; ypi_window_kernels_at(rank) != NULL; rank++) {
        const struct ypi_window_kernels *k = ypi_window_kernels_at(rank);
        uint64_t state = 1;
        double lost[SIZE] = {0};
        memset(sums, 0, sizeof sums);
        for (int p = 0; p < PIXELS; p++) {
            for (int i = 0; i < SIZE; i++)
                z[i] = i == SIZE - 1 ? 1 : normal(&state);
            if (p % 2 == 0)
                k->add(sums[0], z, SIZE);
            else
                k->move(sums[0], z, lost, SIZE);
        }
        k->slide(sums[1], sums[0], NULL, SIZE * (SIZE + 1) / 2);
        k->slide(sums[1], sums[0], sums[0], SIZE * (SIZE + 1) / 2);
        struct ypi_ring ring = {SIZE, 0, 1, 0x1p-36, SIZE};
        double empty[SIZE * (SIZE + 1) / 2] = {0};
        double score = k->score(&ring, sums[1], empty, z, scratch);
        first = rank == 0 ? score : first;
        cr_expect_leq(fabs(score / first - 1), 1e-13, "%s: %g", k->name, score / first - 1);
    }
    cr_expect(first > 0);
}
