/* Matched filter and ACE against their formulas in long double, from the pixels on. */
#include "tests/unit/rx/rx_methods.h"

#include "models/rx/methods/matched.h"

/* -- the oracle ------------------------------------------------------------------------------ */

static struct scene scene_of(const struct rx_image *image, size_t tile_pixels)
{
    return (struct scene){.values = (float *)image->values,
                          .pixels = image->height * image->width,
                          .channels = image->channels,
                          .tile_pixels = tile_pixels};
}

struct background {
    double *mean;
    long double *covariance; /* regularised */
};

static double range_of(const struct scene *s)
{
    double low = INFINITY, high = -INFINITY;
    for (size_t p = 0; p < s->pixels; p++) {
        bool finite = true;
        for (size_t c = 0; c < s->channels; c++)
            finite = finite && isfinite(s->values[p * s->channels + c]);
        for (size_t c = 0; c < s->channels && finite; c++) {
            low = fmin(low, (double)s->values[p * s->channels + c]);
            high = fmax(high, (double)s->values[p * s->channels + c]);
        }
    }
    return high - low;
}

static struct background background_of(const struct scene *s, double eps, double shrink)
{
    size_t n = s->channels;
    struct background b = {block(n, sizeof *b.mean), block(n * n, sizeof *b.covariance)};
    double *covariance = block(n * n, sizeof *covariance), range = range_of(s);
    two_passes(s, b.mean, covariance);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            b.covariance[i * n + j] =
                (long double)covariance[i * n + j] * (i == j ? 1 : 1 - (long double)shrink) +
                (i == j ? (long double)(eps * range * range) : 0);
    free(covariance);
    return b;
}

static void background_free(struct background *b)
{
    free(b->mean);
    free(b->covariance);
}

/* y = Sigma^-1 (x - mean) */
static void solve(const struct background *b, size_t n, const float *x, long double *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = (long double)x[i] - (long double)b->mean[i];
    gauss(b->covariance, y, n, y);
}

/* y . (x - mean) */
static long double product(const struct background *b, size_t n, const long double *y,
                           const float *x)
{
    long double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += y[i] * ((long double)x[i] - (long double)b->mean[i]);
    return sum;
}

static double formula(enum rx_match match, long double wz, long double ww, long double zz)
{
    if (match == RX_MATCHED_FILTER)
        return (double)(wz / ww);
    return (double)(match == RX_ACE ? wz * wz / (ww * zz) : wz / sqrtl(ww * zz));
}

/* The largest error of a match over all targets and pixels, the last of them NaN. */
static double compare(struct scene *s, struct rx_matched *matched, const struct background *b,
                      const float *targets, size_t count, enum rx_match match)
{
    struct rx_source source = source_of(s);
    size_t n = s->channels, places = source.tiles * source.tile_pixels;
    float *scores = block(count * places, sizeof *scores);
    double *wanted = block(count * places, sizeof *wanted);
    long double *filters = block(count * n, sizeof *filters), *y = block(n, sizeof *y);
    for (size_t k = 0; k < count; k++)
        solve(b, n, targets + k * n, filters + k * n);
    OK(rx_matched_score(matched, &source, match, scores));
    for (size_t p = 0; p < places; p++) {
        const float *x = s->values + p * n;
        bool finite = p < s->pixels;
        for (size_t c = 0; c < n && finite; c++)
            finite = isfinite(x[c]);
        if (finite)
            solve(b, n, x, y);
        for (size_t k = 0; k < count; k++) {
            const long double *filter = filters + k * n;
            wanted[k * places + p] =
                finite ? formula(match, product(b, n, filter, x),
                                 product(b, n, filter, targets + k * n), product(b, n, y, x))
                       : NAN;
        }
    }
    double most = worst(scores, wanted, count * places);
    free(scores);
    free(wanted);
    free(filters);
    free(y);
    return most;
}

/* Spectra to look for: some pixels, turned a little. */
static float *targets_of(const struct scene *s, size_t count)
{
    size_t n = s->channels;
    float *targets = block(count * n, sizeof *targets);
    for (size_t k = 0; k < count; k++)
        for (size_t c = 0; c < n; c++)
            targets[k * n + c] =
                s->values[(k * 37 + 5) * n + c] * (1 + 0.1F * sinf((float)(c * (k + 1))));
    return targets;
}

static struct rx *fitted_to(struct scene *s, const struct rx_finish_options *options)
{
    struct rx_source source = source_of(s);
    struct rx *rx = detector_for(s, 2);
    OK(rx_fit(rx, &source));
    OK(rx_finish_with(rx, options));
    return rx;
}

static struct rx_matched *matched_of(const struct rx *rx, const struct scene *s,
                                     const float *targets, size_t count, int threads)
{
    struct rx_matched *m =
        rx_matched_create(yp_device_cpu(), rx, targets, count, s->tile_pixels, threads);
    cr_assert_not_null(m, "%s", yp_last_error());
    return m;
}

/* -- scores ---------------------------------------------------------------------------------- */

/* Sums of the covariance in float are off by 2e-7 of it, which its condition raises, and
 * z.z is a float sum: 9.2e-7 measured. */
Test(rx_matched, every_score_is_its_formula)
{
    const struct rx_finish_options options[] = {
        {.eps = 0}, {.eps = RX_EPS}, {.eps = 0, .shrink = 0.2}};
    const size_t channels[] = {1, 5, 37}, tiles[] = {1000, 193, 700};
    for (size_t i = 0; i < LENGTH(options); i++) {
        struct rx_image image = image_make(25, 36, channels[i], 100, i + 1);
        ((float *)image.values)[77 * channels[i]] = NAN;
        ((float *)image.values)[500 * channels[i]] = INFINITY;
        struct scene s = scene_of(&image, tiles[i]);
        struct rx *rx = fitted_to(&s, &options[i]);
        struct background b = background_of(&s, options[i].eps, options[i].shrink);
        float *targets = targets_of(&s, 3);
        struct rx_matched *m = matched_of(rx, &s, targets, 3, 2);
        for (int match = RX_MATCHED_FILTER; match <= RX_COSINE; match++) {
            double most = compare(&s, m, &b, targets, 3, (enum rx_match)match);
            cr_expect_leq(most, 1.4e-6, "case %zu match %d: %g", i, match, most);
        }
        rx_matched_destroy(m);
        rx_destroy(rx);
        background_free(&b);
        free(targets);
        scene_free(&s);
    }
}

/* The target scores 1 and the mean 0; less of the target than the background has, too, by ACE. */
Test(rx_matched, what_a_target_scores)
{
    struct rx_image image = image_make(30, 30, 8, 100, 4);
    struct scene s = scene_of(&image, 900);
    struct rx *rx = fitted_to(&s, &(struct rx_finish_options){.eps = 0});
    float *target = targets_of(&s, 1), pixels[3 * 8], scores[3 * 3];
    for (size_t c = 0; c < 8; c++) {
        double mean = rx_mean(rx)[c], d = (double)target[c] - mean;
        pixels[c] = target[c];
        pixels[8 + c] = (float)(mean - 0.5 * d);
        pixels[16 + c] = (float)(mean + 0.25 * d);
    }
    struct scene few = {.values = pixels, .pixels = 3, .channels = 8, .tile_pixels = 3};
    struct rx_source source = source_of(&few);
    struct rx_matched *m = matched_of(rx, &s, target, 1, 1);
    for (int match = 0; match < 3; match++)
        OK(rx_matched_score(m, &source, (enum rx_match)match, scores + (size_t)match * 3));
    const double wanted[] = {1, -0.5, 0.25, 1, 1, 1, 1, -1, 1};
    for (int i = 0; i < 9; i++)
        cr_expect_leq(fabs((double)scores[i] - wanted[i]), 2e-5, "%d: %g", i, (double)scores[i]);
    float *line = block((size_t)400 * 8, sizeof *line), cosines[400]; /* rounded beyond 1, nearly */
    for (size_t p = 0; p < 400; p++)
        for (size_t c = 0; c < 8; c++) {
            double mean = rx_mean(rx)[c], d = (double)target[c] - mean;
            line[p * 8 + c] = (float)(mean + d * ((double)p - 199.5) / 100);
        }
    few = (struct scene){.values = line, .pixels = 400, .channels = 8, .tile_pixels = 400};
    source = source_of(&few);
    rx_matched_destroy(m);
    m = matched_of(rx, &few, target, 1, 1);
    OK(rx_matched_score(m, &source, RX_COSINE, cosines));
    for (size_t i = 0; i < 400; i++) {
        double side = i < 200 ? -1 : 1;
        cr_expect_leq(side * (double)cosines[i], 1, "%zu", i);
        cr_expect_geq(side * (double)cosines[i], 1 - 2e-4, "%zu: %g", i, (double)cosines[i]);
    }
    free(line);
    rx_matched_destroy(m);
    rx_destroy(rx);
    free(target);
    scene_free(&s);
}

/* A band that is left out counts nowhere, whatever a target has there. */
Test(rx_matched, dead_bands)
{
    struct rx_image image = image_make(30, 30, 6, 100, 4);
    struct rx_image with = {block((size_t)900 * 7, sizeof(float)), 30, 30, 7};
    struct scene s = scene_of(&image, 300), t = scene_of(&with, 300);
    float target[7], dead[7], scores[2][900];
    memcpy(target, s.values + 33 * 6, sizeof target);
    for (size_t p = 0; p <= 900; p++) { /* band 3 is new */
        const float *from = p < 900 ? s.values + p * 6 : target;
        float *to = p < 900 ? t.values + p * 7 : dead;
        memcpy(to, from, 3 * sizeof *to);
        to[3] = p < 900 ? 0.1F : 12345;
        memcpy(to + 4, from + 3, 3 * sizeof *to);
    }
    for (int i = 0; i < 2; i++) {
        struct scene *at = i == 0 ? &s : &t;
        struct rx *rx = fitted_to(at, &(struct rx_finish_options){.eps = 0, .mask_dead = true});
        struct rx_matched *m = matched_of(rx, at, i == 0 ? target : dead, 1, 2);
        struct rx_source source = source_of(at);
        OK(rx_matched_score(m, &source, RX_ACE, scores[i]));
        rx_matched_destroy(m);
        rx_destroy(rx);
    }
    for (size_t p = 0; p < 900; p++)
        cr_assert_leq(fabsf(scores[0][p] - scores[1][p]), 1e-6F, "pixel %zu", p);
    scene_free(&s);
    scene_free(&t);
}

/* -- what is the same, and what is refused --------------------------------------------------- */

Test(rx_matched, threads_change_no_bit_and_memory_is_as_predicted)
{
    struct rx_image image = image_make(40, 50, 13, 100, 6);
    struct scene s = scene_of(&image, 300);
    struct rx *rx = fitted_to(&s, &(struct rx_finish_options){.eps = 0});
    struct rx_source source = source_of(&s);
    float *targets = targets_of(&s, 2), *scores = block((size_t)2 * 2 * 2100, sizeof *scores);
    uint64_t before = memory().allocated;
    for (int threads = 1; threads <= 3; threads++) {
        yp_device_reset_peak(yp_device_cpu());
        struct rx_matched *m = matched_of(rx, &s, targets, 2, threads);
        OK(rx_matched_score(m, &source, RX_ACE, scores + (threads > 1) * 4200));
        cr_expect_eq(memory().allocated_peak - before, rx_matched_bytes(13, 300, 2, threads));
        rx_matched_destroy(m);
        if (threads > 1)
            cr_expect_eq(memcmp(scores, scores + 4200, 4200 * sizeof *scores), 0);
    }
    yp_device_set_limit(yp_device_cpu(), before + 1);
    cr_expect_null(rx_matched_create(yp_device_cpu(), rx, targets, 2, 300, 1));
    yp_device_set_limit(yp_device_cpu(), 0);
    rx_destroy(rx);
    free(targets);
    free(scores);
    scene_free(&s);
}

Test(rx_matched, what_is_not_allowed_is_refused_by_name)
{
    struct rx_image image = image_make(30, 30, 8, 100, 4);
    struct scene s = scene_of(&image, 900);
    struct yp_device *cpu = yp_device_cpu();
    struct rx_source source = source_of(&s);
    struct rx *rx = detector_for(&s, 1);
    float *target = targets_of(&s, 1), scores[900];
    OK(rx_fit(rx, &source));
    REFUSED(rx_matched_create(cpu, rx, target, 1, 900, 1), "call rx_finish");
    OK(rx_finish(rx, 0));
    REFUSED(rx_matched_create(cpu, NULL, target, 1, 900, 1), "rx is NULL");
    REFUSED(rx_matched_create(cpu, rx, NULL, 1, 900, 1), "targets is NULL");
    REFUSED(rx_matched_create(cpu, rx, target, 0, 900, 1), "count is 0");
    REFUSED(rx_matched_create(cpu, rx, target, 1, 0, 1), "tile_pixels is 0");
    REFUSED(rx_matched_create(cpu, rx, target, 1, 900, -1), "threads is -1");
    target[3] = NAN;
    REFUSED(rx_matched_create(cpu, rx, target, 1, 900, 1), "target 0 is nan in channel 3");
    struct scene flat = {
        .values = block(900 * 8, sizeof(float)), .pixels = 900, .channels = 8, .tile_pixels = 900};
    struct rx *still = fitted_to(&flat, &(struct rx_finish_options){.eps = RX_EPS});
    REFUSED(rx_matched_create(cpu, still, flat.values, 1, 900, 1),
            "target 0 has a squared distance of 0");
    target[3] = 0.5F;
    struct rx_matched *m = matched_of(rx, &s, target, 1, 1);
    FAILS(rx_matched_score(NULL, &source, RX_ACE, scores), YP_INVALID, "matched is NULL");
    FAILS(rx_matched_score(m, NULL, RX_ACE, scores), YP_INVALID, "source is NULL");
    FAILS(rx_matched_score(m, &source, RX_ACE, NULL), YP_INVALID, "scores is NULL");
    FAILS(rx_matched_score(m, &source, (enum rx_match)3, scores), YP_INVALID, "match is 3");
    source.channels = 7;
    FAILS(rx_matched_score(m, &source, RX_ACE, scores), YP_INVALID, "channels is 7");
    rx_matched_destroy(m);
    rx_destroy(still);
    rx_destroy(rx);
    free(target);
    scene_free(&flat);
    scene_free(&s);
}
