/* models/rx against oracles in double: statistics, factor, scores, AUC, loss, memory. */
#include "tests/unit/rx/rx_fixture.h"

#include "models/metrics/metrics.h"
#include "models/rx/internal.h"
#include <inttypes.h>
#include <math.h>

/* -- data ---------------------------------------------------------------------------------- */

/* Gaussian pixels around `mean` whose covariance has eigenvalues from 1 down to 1 / condition,
 * turned by two reflections; one pixel in 16 is a target, moved along one direction. */
static struct scene scene_make(size_t pixels, size_t channels, double condition, double mean)
{
    uint64_t state = 17 * channels + pixels;
    struct scene s = {.pixels = pixels, .channels = channels, .tile_pixels = 1000};
    s.values = block(pixels * channels, sizeof *s.values);
    s.labels = block(pixels, 1);
    double *mirror = block(2 * channels, sizeof *mirror), *x = block(channels, sizeof *x);
    for (size_t i = 0; i < 2 * channels; i++)
        mirror[i] = normal(&state);
    for (size_t p = 0; p < pixels; p++) {
        s.labels[p] = words(&state) % 16 == 0;
        for (size_t c = 0; c < channels; c++) {
            double rank = channels > 1 ? (double)c / (double)(channels - 1) : 0;
            x[c] = normal(&state) * pow(condition, -0.5 * rank);
            x[c] += s.labels[p] != 0 && c == channels - 1 ? 2 * pow(condition, -0.5) : 0;
        }
        for (int m = 0; m < 2; m++) {
            const double *v = mirror + (size_t)m * channels;
            double along = 0, length = 0;
            for (size_t c = 0; c < channels; c++) {
                along += v[c] * x[c];
                length += v[c] * v[c];
            }
            for (size_t c = 0; c < channels; c++)
                x[c] -= 2 * along / length * v[c];
        }
        for (size_t c = 0; c < channels; c++)
            s.values[p * channels + c] = (float)(x[c] + mean);
    }
    free(mirror);
    free(x);
    return s;
}

static struct rx *fitted(struct scene *s, int threads)
{
    struct rx *rx = detector_for(s, threads);
    struct rx_source source = source_of(s);
    OK(rx_fit(rx, &source));
    return rx;
}

/* -- statistics ---------------------------------------------------------------------------- */

static bool same_bits(const void *a, const void *b, size_t bytes)
{
    return memcmp(a, b, bytes) == 0;
}

static void check_statistics_to(double bound, struct scene *s, size_t tile_pixels)
{
    size_t channels = s->channels;
    double *mean = block(channels, sizeof *mean), *wanted, *got;
    wanted = block(channels * channels, sizeof *wanted);
    got = block(channels * channels, sizeof *got);
    s->tile_pixels = tile_pixels;
    size_t n = two_passes(s, mean, wanted);
    struct rx *rx = fitted(s, 2);
    OK(rx_covariance(rx, got));
    struct rx_summary summary;
    rx_summary(rx, &summary);
    cr_expect_eq(summary.pixels, n);
    cr_expect_eq(summary.skipped, s->pixels - n);
    /* n sums in double, and as many merges as tiles: n roundings bound it. */
    cr_expect_leq(distance(rx_mean(rx), mean, channels), (double)n * 0x1p-53);
    double error = distance(got, wanted, channels * channels);
    cr_expect_leq(error, bound, "tiles of %zu: %g", tile_pixels, error);
    rx_destroy(rx);
    free(mean);
    free(wanted);
    free(got);
}

/* What float tiles leave (the reference's figure), whatever the condition. */
static void check_statistics(struct scene *s, size_t tile_pixels)
{
    check_statistics_to(2e-7, s, tile_pixels);
}

Test(rx, statistics_match_two_passes_in_long_double)
{
    const double conditions[] = {1e4, 1e6};
    for (size_t k = 0; k < sizeof conditions / sizeof *conditions; k++) {
        double condition = conditions[k];
        struct scene s = scene_make(12000, 40, condition, 100);
        check_statistics(&s, 1);
        check_statistics(&s, 7);
        check_statistics(&s, 513);
        check_statistics(&s, 4096);
        check_statistics(&s, 12000);
        scene_free(&s);
    }
}

/* Dead ones here and there, in one channel or in all, and where samples are taken. */
Test(rx, pixels_that_are_not_finite_leave_the_others_exact)
{
    const size_t channels[] = {3, 16, 17, 40}, steps[] = {16, 37, 300};
    for (size_t i = 0; i < sizeof channels / sizeof *channels; i++)
        for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
            size_t c = channels[i];
            struct scene s = scene_make(1300, c, 100, 11);
            for (size_t p = 0; p < s.pixels; p += steps[k])
                for (size_t at = 0; at < c; at++)
                    if (p % 2 == 0 || at == p % c)
                        s.values[p * c + at] = p % 3 == 0 ? NAN : INFINITY;
            check_statistics_to(1e-6, &s, 1300);
            check_statistics_to(1e-6, &s, 600);
            check_statistics_to(1e-6, &s, 1);
            scene_free(&s);
        }
}

/* Values that stand out at regular places, wherever a sample might be taken. There are but two, so
 * that all products round alike: half a unit of the last place in each of a chunk's sums. */
Test(rx, outliers_in_step_mislead_no_first_guess)
{
    const size_t channels[] = {5, 40}, steps[] = {8, 16, 32, 64, 128, 512};
    for (size_t i = 0; i < sizeof channels / sizeof *channels; i++)
        for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
            struct scene s = scene_make(4096, channels[i], 10, 7);
            for (size_t p = 0; p < s.pixels; p++)
                for (size_t c = 0; c < s.channels; c++)
                    s.values[p * s.channels + c] =
                        s.values[p * s.channels + c] * 1e-4F + (p % steps[k] == 0 ? 1.1e6F : 0.3F);
            check_statistics_to(512 * 0x1p-25, &s, 4096);
            check_statistics_to(512 * 0x1p-25, &s, 512);
            scene_free(&s);
        }
}

Test(rx, pixels_that_are_not_finite_are_skipped)
{
    struct scene s = scene_make(5000, 12, 100, 3);
    s.values[0] = NAN;
    s.values[77 * 12 + 11] = INFINITY;
    s.values[4999 * 12 + 5] = -INFINITY;
    for (size_t i = 2000 * 12; i < 3000 * 12; i++)
        s.values[i] = NAN; /* a whole tile */
    check_statistics(&s, 1000);
    check_statistics(&s, 300);

    s.tile_pixels = 1000;
    struct rx *rx = fitted(&s, 2);
    struct rx_source source = source_of(&s);
    float *scores = block(5000, sizeof *scores), low = INFINITY, high = -INFINITY;
    OK(rx_finish(rx, RX_EPS));
    OK(rx_score(rx, &source, scores));
    for (size_t p = 0; p < s.pixels; p++) {
        bool bad = p == 0 || p == 77 || p == 4999 || (p >= 2000 && p < 3000);
        cr_assert_eq(bad, isnan(scores[p]) != 0, "pixel %zu: %g", p, (double)scores[p]);
        for (size_t c = 0; c < 12 && !bad; c++) {
            low = fminf(low, s.values[p * 12 + c]);
            high = fmaxf(high, s.values[p * 12 + c]);
        }
    }
    struct rx_summary summary;
    rx_summary(rx, &summary);
    cr_expect_eq(summary.min, low);
    cr_expect_eq(summary.max, high);
    rx_destroy(rx);
    free(scores);
    scene_free(&s);
}

/* Everything a detector says, as one array of bits. */
struct said {
    double covariance[30 * 30], mean[30], loss;
    float scores[7 * 500], gradient[30 + 30 * 30 + 2];
};

static struct said *say(struct scene *s, int threads)
{
    struct said *said = block(1, sizeof *said);
    struct rx *rx = fitted(s, threads);
    struct rx_source source = source_of(s);
    float *parameters = block(rx_loss_parameters(30), sizeof *parameters);
    OK(rx_covariance(rx, said->covariance));
    memcpy(said->mean, rx_mean(rx), sizeof said->mean);
    OK(rx_finish(rx, RX_EPS));
    OK(rx_score(rx, &source, said->scores));
    OK(rx_loss_start(rx, 0.1f, 40, parameters));
    struct rx_loss *loss = rx_loss_create(yp_device_cpu(), 30, s->tile_pixels, threads);
    cr_assert_not_null(loss);
    OK(rx_loss_gradient(loss, &source, parameters, &said->loss, said->gradient));
    rx_loss_destroy(loss);
    rx_destroy(rx);
    free(parameters);
    return said;
}

Test(rx, bits_do_not_depend_on_threads_or_on_whose_memory_a_tile_is)
{
    struct scene s = scene_make(3400, 30, 1e4, 10);
    s.tile_pixels = 500;
    s.shuffle = true;
    struct said *one = say(&s, 1);
    for (int threads = 2; threads <= 4; threads++) {
        s.copy = threads % 2 == 1;
        struct said *more = say(&s, threads);
        cr_expect(same_bits(one->covariance, more->covariance, sizeof one->covariance));
        cr_expect(same_bits(one->mean, more->mean, sizeof one->mean));
        /* The end of the last tile is NaN, the same NaN. */
        cr_expect(same_bits(one->scores, more->scores, sizeof one->scores));
        cr_expect(same_bits(one->gradient, more->gradient, sizeof one->gradient));
        cr_expect_eq(one->loss, more->loss);
        free(more);
    }
    free(one);
    scene_free(&s);
}

Test(rx, instruction_sets_agree)
{
    struct scene s = scene_make(300, 37, 100, 5);
    s.values[40 * 37 + 36] = NAN;
    const struct ypi_pixel_kernels *plain = ypi_pixel_kernels_at(0), *other;
    double sum[2][37];
    float low[2][37], high[2][37], out[2][300], *rows[2];
    uint8_t keep[2][300];
    rows[0] = block(300 * 37, sizeof **rows);
    rows[1] = block(300 * 37, sizeof **rows);
    cr_assert_not_null(plain);
    cr_assert_null(ypi_pixel_kernels_at(3));
    for (int rank = 0; rank <= 2; rank++) {
        if ((other = ypi_pixel_kernels_at(rank)) == NULL)
            continue;
        const struct ypi_pixel_kernels *both[2] = {plain, other};
        memset(sum, 0, sizeof sum);
        memset(low, 0x42, sizeof low); /* some positive number */
        memset(high, 0, sizeof high);
        for (int i = 0; i < 2; i++) {
            size_t n = both[i]->moments(s.values, 37, 300, 37, sum[i], low[i], high[i], keep[i]);
            cr_assert_eq(n, 299);
            cr_assert_eq(both[i]->finite(s.values, 300, 37, keep[i]), 299);
            cr_assert_eq(keep[i][40], 0);
            n = both[i]->centre(s.values, keep[i], 300, 37, s.values, rows[i]);
            cr_assert_eq(n, 299);
            both[i]->dots(rows[i], rows[i], 299, 37, out[i]);
        }
        cr_expect(same_bits(sum[0], sum[1], sizeof sum[0]), "%s", other->name);
        cr_expect(same_bits(low[0], low[1], sizeof low[0]), "%s", other->name);
        cr_expect(same_bits(high[0], high[1], sizeof high[0]), "%s", other->name);
        cr_expect(same_bits(rows[0], rows[1], 299 * 37 * sizeof **rows), "%s", other->name);
        for (int r = 0; r < 299; r++) /* sums of 37 positive terms in another order */
            cr_expect_leq(fabsf(out[0][r] - out[1][r]), 37 * 0x1p-23f * out[0][r], "%s",
                          other->name);
    }
    free(rows[0]);
    free(rows[1]);
    scene_free(&s);
}

/* -- factor and scores --------------------------------------------------------------------- */

static void score_sums(struct scene *s, double *fast, double *plain)
{
    struct rx *rx = fitted(s, 2);
    struct rx_source source = source_of(s);
    struct rx_tile all = tile_of(s);
    float *scores = block(source.tiles * source.tile_pixels, sizeof *scores);
    double *exact = block(s->pixels, sizeof *exact);
    OK(rx_finish(rx, 0));
    OK(rx_score(rx, &source, scores));
    OK(rx_score_plain(rx, &all, exact));
    *fast = *plain = 0;
    for (size_t p = 0; p < s->pixels; p++) {
        *fast += (double)scores[p];
        *plain += exact[p];
    }
    rx_destroy(rx);
    free(scores);
    free(exact);
}

/* Pairs of small whole numbers x, -x: float holds tile means and all products exactly, so the
 * statistics are exact and the oracle is left with the rounding of double. */
Test(rx, training_scores_sum_to_n_minus_1_times_channels_exactly)
{
    struct scene s = scene_make(4000, 25, 1, 0);
    uint64_t state = 5;
    for (size_t p = 0; p < s.pixels; p += 2)
        for (size_t c = 0; c < 25; c++) {
            s.values[p * 25 + c] = (float)(words(&state) % 17) - 8;
            s.values[(p + 1) * 25 + c] = -s.values[p * 25 + c];
        }
    double fast, plain, wanted = 3999.0 * 25;
    score_sums(&s, &fast, &plain);
    /* n C terms of C products each, condition near 1. */
    cr_expect_leq(fabs(plain / wanted - 1), 25 * 4000 * 0x1p-53, "%.17g", plain / wanted);
    cr_expect_leq(fabs(fast / wanted - 1), 2 * 28 * 0x1p-24, "%.9g", fast / wanted);
    scene_free(&s);
}

/* With a covariance that is off by E, sum = (n-1) trace((Sigma+E)^-1 Sigma), so it is off by
 * ||Sigma^-1|| ||E|| <= C condition ||E|| / ||Sigma|| relative to C, and E is 2e-7. */
Test(rx, training_scores_sum_to_n_minus_1_times_channels_at_condition_1e4)
{
    struct scene s = scene_make(20000, 40, 1e4, 100);
    double fast, plain, wanted = 19999.0 * 40;
    score_sums(&s, &fast, &plain);
    cr_expect_leq(fabs(plain / wanted - 1), 2e-7 * 1e4, "%.9g", plain / wanted);
    /* Rounding of float scores is bounded pixel by pixel in the next test. */
    cr_expect_leq(fabs(fast / wanted - 1), 2e-7 * 1e4, "%.9g", fast / wanted);
    scene_free(&s);
}

/* What float may do to sum_i y_i^2, y = L^-1 (x - mean): each product and sum in y_i is off by
 * 2^-24 at most, C + 4 of them in a chain (whitening entry, centred value and offset rounded). */
static double score_bound(const struct rx *rx, const float *x)
{
    size_t channels = rx->channels;
    double unit = (double)(channels + 4) * 0x1p-24, bound = 0, sum = 0;
    for (size_t i = 0; i < channels; i++) {
        double y = 0, magnitude = fabs((double)rx->offset[i]);
        for (size_t k = 0; k <= i; k++) {
            double term = (double)rx->whiten[k * channels + i] * ((double)x[k] - rx->location[k]);
            y += term;
            magnitude += fabs(term);
        }
        double off = unit * magnitude;
        bound += 2 * fabs(y) * off + off * off;
        sum += y * y;
    }
    return bound + unit * sum;
}

Test(rx, scores_match_forward_substitution_in_double)
{
    const double conditions[] = {1, 1e3, 1e6};
    for (size_t k = 0; k < sizeof conditions / sizeof *conditions; k++) {
        double condition = conditions[k];
        struct scene s = scene_make(2500, 33, condition, 100);
        struct rx *rx = fitted(&s, 2);
        struct rx_source source = source_of(&s);
        struct rx_tile all = tile_of(&s);
        float *scores = block(3000, sizeof *scores);
        double *exact = block(2500, sizeof *exact);
        for (int folded = 0; folded < 2; folded++) {
            OK(rx_finish(rx, folded * RX_EPS));
            OK(rx_score(rx, &source, scores));
            OK(rx_score_plain(rx, &all, exact));
            for (size_t p = 0; p < 2500; p++) {
                double off = fabs((double)scores[p] - exact[p]);
                double bound = score_bound(rx, s.values + p * 33);
                cr_assert_leq(off, bound, "condition %g pixel %zu: %g instead of %g", condition, p,
                              (double)scores[p], exact[p]);
            }
            for (size_t p = 2500; p < 3000; p++)
                cr_assert(isnan(scores[p]), "the short tile's rest is %g", (double)scores[p]);
        }
        rx_destroy(rx);
        free(scores);
        free(exact);
        scene_free(&s);
    }
}

/* eps means eps on data that were normalised by their range: scaling data changes no score. */
Test(rx, the_ridge_goes_with_the_range)
{
    struct scene s = scene_make(2000, 10, 1e6, 0);
    struct rx_tile all = tile_of(&s);
    double *before = block(2000, sizeof *before), *after = block(2000, sizeof *after);
    struct rx *rx = fitted(&s, 1);
    OK(rx_finish(rx, 1e-3));
    OK(rx_score_plain(rx, &all, before));
    rx_destroy(rx);
    for (size_t i = 0; i < 20000; i++)
        s.values[i] *= 1024; /* exact in float */
    rx = fitted(&s, 1);
    OK(rx_finish(rx, 1e-3));
    OK(rx_score_plain(rx, &all, after));
    for (size_t p = 0; p < 2000; p++)
        cr_assert_leq(fabs(after[p] - before[p]), 1e-12 * before[p]);
    rx_destroy(rx);

    /* By hand: -1 and 1 have variance 2, range 2; with eps 1 a score is 1 / (2 + 4). */
    struct scene two = {.values = (float[]){-1, 1},
                        .labels = (uint8_t[]){0, 1},
                        .pixels = 2,
                        .channels = 1,
                        .tile_pixels = 2};
    rx = fitted(&two, 1);
    struct rx_tile pair = tile_of(&two);
    OK(rx_finish(rx, 1));
    OK(rx_score_plain(rx, &pair, before));
    cr_expect_leq(fabs(before[0] - 1.0 / 6), 1e-15);
    cr_expect_leq(fabs(before[1] - 1.0 / 6), 1e-15);
    rx_destroy(rx);
    free(before);
    free(after);
    scene_free(&s);
}

Test(rx, what_cannot_be_factored_is_refused_by_name)
{
    struct scene s = scene_make(600, 8, 10, 1);
    struct rx *rx = fitted(&s, 2);
    struct rx_source source = source_of(&s);
    float scores[1000], parameters[8 + 64 + 2];
    FAILS(rx_score(rx, &source, scores), YP_INVALID, "rx_finish");
    FAILS(rx_loss_start(rx, 1, 0, parameters), YP_INVALID, "rx_finish");
    FAILS(rx_finish(rx, -1), YP_INVALID, "eps is -1");
    FAILS(rx_finish(rx, NAN), YP_INVALID, "eps is nan");
    OK(rx_finish(rx, 0));
    FAILS(rx_finish(rx, -1), YP_INVALID, "eps is -1");
    FAILS(rx_score(rx, &source, scores), YP_INVALID, "rx_finish"); /* no factor is left */
    rx_destroy(rx);

    for (size_t p = 0; p < 600; p++)
        s.values[p * 8 + 5] = 0.1f; /* a dead band; 0.1 is not exact */
    rx = fitted(&s, 2);
    FAILS(rx_finish(rx, 0), YP_INVALID, "channel 5 is dead");
    OK(rx_finish(rx, RX_EPS));
    OK(rx_score(rx, &source, scores));
    for (size_t p = 0; p < 600; p++)
        cr_assert(isfinite(scores[p]));
    rx_destroy(rx);

    for (size_t p = 0; p < 600; p++) /* a band that others explain */
        s.values[p * 8 + 5] = 0.5f * s.values[p * 8 + 1] + s.values[p * 8 + 2];
    rx = fitted(&s, 2);
    FAILS(rx_finish(rx, 0), YP_INVALID, "not positive definite at channel 5");
    FAILS(rx_finish(rx, 1e-12), YP_INVALID, "not positive definite at channel 5");
    OK(rx_finish(rx, RX_EPS));
    rx_destroy(rx);

    s.values[3] = 3e30f; /* its square is beyond float */
    rx = fitted(&s, 2);
    FAILS(rx_finish(rx, RX_EPS), YP_INVALID, "channel 3");
    rx_destroy(rx);
    scene_free(&s);
}

Test(rx, few_pixels)
{
    struct scene s = scene_make(9, 8, 10, 1);
    double covariance[64], score[1];
    for (size_t n = 0; n <= 9; n++) {
        s.pixels = n;
        struct rx *rx = fitted(&s, 2);
        struct rx_tile one = {s.values, 1, 8, NULL, 0};
        if (n < 2) {
            FAILS(rx_covariance(rx, covariance), YP_INVALID, "finite pixels");
            FAILS(rx_finish(rx, RX_EPS), YP_INVALID, "takes 2 at least");
        } else if (n <= 8) {
            FAILS(rx_finish(rx, 0), YP_INVALID, "full rank");
            OK(rx_finish(rx, RX_EPS));
        } else {
            OK(rx_finish(rx, 0));
            /* 9 pixels in 8 channels: a simplex, on which all score (n - 1)^2 / n. The pivots are
             * small there, so the bound is that of the statistics times a condition of 1e4. */
            OK(rx_score_plain(rx, &one, score));
            cr_expect_leq(fabs(score[0] * 9 / 64 - 1), 2e-3, "%g", score[0]);
        }
        rx_destroy(rx);
    }
    s.pixels = 9;
    for (size_t i = 0; i < 72; i++)
        s.values[i] = i % 8 == 3 ? NAN : s.values[i];
    struct rx *rx = fitted(&s, 2);
    FAILS(rx_finish(rx, RX_EPS), YP_INVALID, "0 finite pixels (9 skipped)");
    rx_destroy(rx);
    for (size_t i = 0; i < 72; i++)
        s.values[i] = 7; /* no variance at all */
    rx = fitted(&s, 2);
    FAILS(rx_finish(rx, 0), YP_INVALID, "channel 0 is dead");
    OK(rx_finish(rx, RX_EPS));
    struct rx_tile all = tile_of(&s);
    double scores[9];
    OK(rx_score_plain(rx, &all, scores));
    cr_expect_eq(scores[8], 0);
    rx_destroy(rx);
    scene_free(&s);
}

Test(rx, one_channel_and_fitting_on)
{
    struct scene s = scene_make(1001, 1, 1, 50);
    check_statistics(&s, 100);
    double mean = 0, variance = 0, again;
    two_passes(&s, &mean, &variance);
    struct rx *rx = fitted(&s, 2);
    struct rx_source source = source_of(&s);
    struct rx_tile all = tile_of(&s);
    double scores[1001] = {0};
    OK(rx_finish(rx, 0));
    OK(rx_score_plain(rx, &all, scores));
    double wanted = ((double)s.values[9] - mean) * ((double)s.values[9] - mean) / variance;
    cr_expect_leq(fabs(scores[9] - wanted), 4e-7 * wanted);

    OK(rx_fit(rx, &source)); /* the same data once more: 2 n pixels, M2 doubled */
    OK(rx_covariance(rx, &again));
    cr_expect_leq(fabs(again - variance * 1000 / 1000.5), 2e-7 * variance);
    rx_reset(rx);
    source.tiles = 0;
    OK(rx_fit(rx, &source));
    struct rx_summary summary;
    rx_summary(rx, &summary);
    cr_expect_eq(summary.pixels, 0);
    cr_expect_eq(rx_mean(rx)[0], 0);
    rx_destroy(rx);

    /* An infinite pixel's score would be infinite, were it not told apart. */
    s.values[500] = -INFINITY;
    rx = fitted(&s, 2);
    source = source_of(&s);
    float fast[1100];
    OK(rx_finish(rx, 0));
    OK(rx_score(rx, &source, fast));
    OK(rx_score_plain(rx, &all, scores));
    cr_expect(isnan(fast[500]) && isnan(scores[500]));
    cr_expect(isfinite(fast[499]) && isfinite(scores[499]));
    rx_destroy(rx);
    scene_free(&s);
}

/* The mean of 2^24 and 2^24 + 2 is no float: what is subtracted instead must be made good for. */
Test(rx, a_mean_between_two_floats)
{
    struct scene s = scene_make(300, 1, 1, 0);
    double variance;
    for (size_t p = 0; p < 300; p++)
        s.values[p] = p % 2 == 0 ? 0x1p24f : 0x1p24f + 2;
    s.tile_pixels = 100;
    struct rx *rx = fitted(&s, 2);
    OK(rx_covariance(rx, &variance));
    cr_expect_leq(fabs(variance * 299 / 300 - 1), 1e-12, "%.17g", variance);
    cr_expect_eq(rx_mean(rx)[0], 0x1p24 + 1);
    rx_destroy(rx);
    scene_free(&s);
}

Test(rx, a_failing_source_ends_the_pass_with_its_first_message)
{
    struct scene s = scene_make(2000, 4, 10, 0);
    s.tile_pixels = 100;
    s.shuffle = true;
    s.fail_from = 9;
    struct rx *rx = detector_for(&s, 2);
    struct rx_source source = source_of(&s);
    FAILS(rx_fit(rx, &source), YP_IO, "tile 9 cannot be read");
    FAILS(rx_finish(rx, RX_EPS), YP_INVALID, "rx_reset");
    s.fail_from = 0;
    rx_reset(rx);
    OK(rx_fit(rx, &source));
    OK(rx_finish(rx, 0));

    s.extra = 1;
    FAILS(rx_fit(rx, &source), YP_INVALID, "has 101 pixels");
    OK(rx_finish(rx, 0)); /* nothing had been added */
    source.channels = 5;
    FAILS(rx_fit(rx, &source), YP_INVALID, "source->channels is 5");
    source = source_of(&s);
    source.tile_pixels = 101;
    FAILS(rx_fit(rx, &source), YP_INVALID, "source->tile_pixels is 101");
    source.yield = NULL;
    FAILS(rx_fit(rx, &source), YP_INVALID, "yield is NULL");
    FAILS(rx_fit(rx, NULL), YP_INVALID, "source is NULL");
    FAILS(rx_fit(NULL, &source), YP_INVALID, "rx is NULL");
    rx_destroy(rx);
    scene_free(&s);
}

/* -- AUC ----------------------------------------------------------------------------------- */

static double auc_by_pairs(const float *scores, const uint8_t *labels, size_t n)
{
    double above = 0, pairs = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            if (labels[i] != 0 && labels[j] == 0 && !isnan(scores[i]) && !isnan(scores[j])) {
                above += scores[i] > scores[j] ? 1 : scores[i] == scores[j] ? 0.5 : 0;
                pairs++;
            }
    return above / pairs;
}

Test(rx, auc_is_the_share_of_pairs)
{
    uint64_t state = 3;
    float scores[400];
    uint8_t labels[400];
    double auc;
    for (int round = 0; round < 200; round++) {
        size_t n = 2 + words(&state) % 399, levels = 1 + words(&state) % (round % 2 ? 8 : 4000);
        uint64_t targets = 1 + words(&state) % 9; /* of 10: either class may be the smaller */
        for (size_t i = 0; i < n; i++) {
            labels[i] = words(&state) % 10 < targets ? (uint8_t)(1 + words(&state) % 255) : 0;
            scores[i] = (float)(words(&state) % levels) - (float)levels / 2 +
                        (labels[i] != 0 ? 0.25f * (float)levels : 0);
            scores[i] = words(&state) % 50 == 0 ? INFINITY : scores[i];
        }
        labels[0] = 0;
        labels[1] = 1;
        size_t ones = 0;
        for (size_t i = 0; i < n; i++)
            ones += labels[i] != 0;
        yp_device_reset_peak(yp_device_cpu());
        OK(metrics_auc(yp_device_cpu(), scores, labels, n, &auc, NULL));
        cr_assert_eq(memory().allocated_peak, 4 * (ones < n - ones ? ones : n - ones));
        /* Both are quotients of whole numbers that double holds. */
        cr_assert_eq(auc, auc_by_pairs(scores, labels, n), "round %d: %.17g", round, auc);
    }
}

Test(rx, auc_refuses_an_empty_class_and_counts_nan)
{
    float scores[5] = {1, 2, NAN, 0, 2};
    uint8_t labels[5] = {0, 1, 1, 0, 0};
    struct yp_device *cpu = yp_device_cpu();
    double auc;
    size_t skipped;
    FAILS(metrics_auc(cpu, scores, labels, 5, &auc, NULL), YP_INVALID, "the first is at 2");
    OK(metrics_auc(cpu, scores, labels, 5, &auc, &skipped));
    cr_expect_eq(auc, 2.5 / 3);
    cr_expect_eq(skipped, 1);
    FAILS(metrics_auc(cpu, scores + 2, labels + 2, 3, &auc, &skipped), YP_INVALID, "0 targets");
    FAILS(metrics_auc(cpu, scores + 1, labels + 1, 1, &auc, NULL), YP_INVALID, "0 background");
    FAILS(metrics_auc(cpu, scores, labels, 0, &auc, NULL), YP_INVALID,
          "0 targets and 0 background");
    FAILS(metrics_auc(cpu, NULL, labels, 5, &auc, NULL), YP_INVALID, "scores is NULL");
    FAILS(metrics_auc(NULL, scores, labels, 5, &auc, NULL), YP_INVALID, "device is NULL");
}

/* -- the loss ------------------------------------------------------------------------------ */

/* Parameters near a fitted detector, with an A that is not symmetric: floats, widened. */
static void near_start(struct scene *s, float scale, float *parameters, double *x)
{
    size_t channels = s->channels, n = rx_loss_parameters(channels);
    struct rx *rx = fitted(s, 1);
    OK(rx_finish(rx, RX_EPS));
    OK(rx_loss_start(rx, scale, 1.2f * (float)channels, parameters));
    uint64_t state = 11;
    for (size_t i = 0; i < channels + channels * channels; i++)
        parameters[i] *= (float)(1 + 1e-3 * normal(&state));
    for (size_t i = 0; i < n; i++)
        x[i] = (double)parameters[i];
    rx_destroy(rx);
}

static double paired(struct rx_tile *tile, const double *x, const double *cotangent, double *losses)
{
    double sum = 0;
    rx_loss_plain(tile, x, losses);
    for (size_t p = 0; p < tile->pixels; p++)
        sum += cotangent[p] * losses[p];
    return sum;
}

/* Central difference of <c, f> along v with Richardson's step: error h^4. */
static double slope(struct rx_tile *tile, const double *x, const double *v, double h, size_t n,
                    const double *cotangent, double *losses)
{
    double difference[2], *moved = block(n, sizeof *moved);
    for (int half = 0; half < 2; half++) {
        double step = half ? h / 2 : h, value[2];
        for (int side = 0; side < 2; side++) {
            for (size_t i = 0; i < n; i++)
                moved[i] = x[i] + (side ? -step : step) * v[i];
            value[side] = paired(tile, moved, cotangent, losses);
        }
        difference[half] = (value[0] - value[1]) / (2 * step);
    }
    free(moved);
    return (4 * difference[1] - difference[0]) / 3;
}

Test(rx, plain_gradient_matches_differences)
{
    struct scene s = scene_make(200, 6, 50, 1);
    s.values[7 * 6 + 2] = NAN; /* must not count on either side */
    size_t n = rx_loss_parameters(6);
    struct rx_tile tile = tile_of(&s);
    struct yp_tensor tensors[RX_LOSS_TENSORS];
    float parameters[44];
    double x[44], v[44], g[44], cotangent[200], losses[200];
    uint64_t state = 23;
    cr_assert_eq(n, 44);
    rx_loss_tensors(6, tensors);
    near_start(&s, 0.4f, parameters, x);
    for (int round = 0; round < 12; round++) {
        const struct yp_tensor *tensor = &tensors[round % RX_LOSS_TENSORS];
        double root = 0, forward = 0, size = 0;
        memset(v, 0, sizeof v);
        for (size_t i = 0; i < tensor->count; i++) {
            v[tensor->offset + i] = normal(&state);
            root += x[tensor->offset + i] * x[tensor->offset + i];
        }
        for (size_t p = 0; p < 200; p++)
            cotangent[p] = normal(&state);
        rx_loss_plain_vjp(&tile, x, cotangent, g);
        for (size_t i = 0; i < n; i++) {
            forward += g[i] * v[i];
            size += fabs(g[i] * v[i]);
        }
        double h = 1e-4 * sqrt(root / (double)tensor->count);
        double wanted = slope(&tile, x, v, h, n, cotangent, losses);
        cr_expect_leq(fabs(forward - wanted), 1e-7 * size, "%s: %.10g, by differences %.10g",
                      tensor->name, forward, wanted);
    }
    cr_expect_eq(losses[7], 0);
    scene_free(&s);
}

/* 10 BCE at l = 0 is 10 ln 2 for either label; far out it is 10 |l| or next to nothing. */
Test(rx, loss_by_hand)
{
    float values[4] = {1, 1, 3, 3}, f[4];
    uint8_t labels[4] = {0, 1, 0, 1};
    struct rx_tile tile = {values, 4, 1, labels, 0};
    double losses[4], x[4] = {0, 1, 50, 1}; /* mu, A, scale, bias: l = 50 (v^2 - 1) */
    float x32[4] = {0, 1, 50, 1};
    rx_loss_plain(&tile, x, losses);
    rx_loss_plain_f32(&tile, x32, f);
    double wanted[4] = {10 * log(2), 10 * log(2), 4000, 10 * exp(-400)};
    for (int i = 0; i < 4; i++) {
        cr_expect_leq(fabs(losses[i] - wanted[i]), 1e-15 * wanted[i], "%d: %g", i, losses[i]);
        cr_expect_leq(fabs((double)f[i] - wanted[i]), 1e-7 * wanted[i] + 1e-37, "%d: %g", i,
                      (double)f[i]);
    }
}

/* ||got - oracle|| / ||oracle|| over a tensor */
static double off(const float *got, const double *oracle_values, const struct yp_tensor *tensor)
{
    double difference = 0, norm = 0;
    for (size_t i = tensor->offset; i < tensor->offset + tensor->count; i++) {
        difference += pow((double)got[i] - oracle_values[i], 2);
        norm += oracle_values[i] * oracle_values[i];
    }
    return sqrt(difference / norm);
}

static void check_fast(struct scene *s, double limit)
{
    size_t channels = s->channels, n = rx_loss_parameters(channels);
    struct rx_tile tile = tile_of(s);
    struct rx_source source = source_of(s);
    struct yp_tensor tensors[RX_LOSS_TENSORS];
    float *parameters = block(n, sizeof(float)), *fast = block(n, sizeof(float));
    float *plain = block(n, sizeof(float)), *cotangent32 = block(s->pixels, sizeof(float));
    double *x = block(n, sizeof *x), *wanted = block(n, sizeof *wanted), mean, sum;
    double *cotangent = block(s->pixels, sizeof *x), *losses = block(s->pixels, sizeof *x);
    near_start(s, 0.1f, parameters, x);
    struct rx *counted = fitted(s, 1);
    for (size_t p = 0; p < s->pixels; p++)
        cotangent32[p] = (float)(cotangent[p] = 1 / (double)counted->pixels);
    rx_destroy(counted);
    sum = paired(&tile, x, cotangent, losses);
    rx_loss_plain_vjp(&tile, x, cotangent, wanted);
    rx_loss_plain_vjp_f32(&tile, parameters, cotangent32, plain);

    struct rx_loss *loss = rx_loss_create(yp_device_cpu(), channels, s->tile_pixels, 2);
    OK(rx_loss_gradient(loss, &source, parameters, &mean, fast));
    rx_loss_tensors(channels, tensors);
    double worst = 0x1p-25; /* of the plain implementation; at least half a rounding */
    for (int i = 0; i < RX_LOSS_TENSORS; i++)
        worst = fmax(worst, off(plain, wanted, &tensors[i]));
    for (int i = 0; i < RX_LOSS_TENSORS; i++)
        cr_expect_leq(off(fast, wanted, &tensors[i]), limit * worst, "%s: %g, plain %g",
                      tensors[i].name, off(fast, wanted, &tensors[i]),
                      off(plain, wanted, &tensors[i]));
    cr_expect_leq(fabs(mean - sum), limit * worst * sum, "%g instead of %g", mean, sum);
    rx_loss_destroy(loss);
    free(parameters);
    free(fast);
    free(plain);
    free(cotangent32);
    free(cotangent);
    free(losses);
    free(x);
    free(wanted);
}

Test(rx, fast_gradient_is_as_good_as_plain_float)
{
    const double conditions[] = {1, 1e2, 1e4};
    for (size_t k = 0; k < sizeof conditions / sizeof *conditions; k++) {
        double condition = conditions[k];
        struct scene s = scene_make(3300, 31, condition, 5);
        s.values[1200 * 31] = NAN;
        s.copy = condition > 10;
        check_fast(&s, 3);
        s.tile_pixels = 77;
        check_fast(&s, 3);
        scene_free(&s);
    }
    struct scene thin = scene_make(700, 1, 1, 0);
    check_fast(&thin, 3);
    scene_free(&thin);
}

Test(rx, loss_needs_labels_and_a_finite_pixel)
{
    struct scene s = scene_make(50, 3, 1, 0);
    struct rx_source source = source_of(&s);
    float parameters[14] = {0}, gradient[14];
    double mean;
    struct rx_loss *loss = rx_loss_create(yp_device_cpu(), 3, 1000, 2);
    cr_assert_not_null(loss);
    s.unlabelled = true;
    FAILS(rx_loss_gradient(loss, &source, parameters, &mean, gradient), YP_INVALID,
          "tile 0 has no labels");
    s.unlabelled = false;
    OK(rx_loss_gradient(loss, &source, parameters, &mean, gradient));
    for (size_t i = 0; i < 50; i++)
        s.values[i * 3] = NAN;
    FAILS(rx_loss_gradient(loss, &source, parameters, &mean, gradient), YP_INVALID,
          "no finite pixel");
    FAILS(rx_loss_gradient(loss, &source, NULL, &mean, gradient), YP_INVALID, "parameters is NULL");
    rx_loss_destroy(loss);
    scene_free(&s);
}

/* -- memory -------------------------------------------------------------------------------- */

Test(rx, bytes_are_the_peak_of_a_whole_run)
{
    struct yp_device *cpu = yp_device_cpu();
    const size_t channels[] = {1, 10, 37}, tiles[] = {1, 333, 1000};
    for (int i = 0; i < 3; i++)
        for (int threads = 1; threads <= 3; threads++) {
            struct scene s = scene_make(2000, channels[i], 10, 1);
            s.tile_pixels = tiles[i];
            struct rx_source source = source_of(&s);
            float *scores = block(source.tiles * source.tile_pixels, sizeof *scores);
            float *gradient = block(2 * rx_loss_parameters(channels[i]), sizeof *gradient);
            double mean;
            yp_device_reset_peak(cpu);
            struct rx *rx = detector_for(&s, threads);
            OK(rx_fit(rx, &source));
            OK(rx_finish(rx, 0));
            OK(rx_score(rx, &source, scores));
            cr_expect_eq(memory().allocated_peak, rx_bytes(channels[i], tiles[i], threads));
            rx_destroy(rx);

            yp_device_reset_peak(cpu);
            struct rx_loss *loss = rx_loss_create(cpu, channels[i], tiles[i], threads);
            OK(rx_loss_gradient(loss, &source, gradient, &mean,
                                gradient + rx_loss_parameters(channels[i])));
            cr_expect_eq(memory().allocated_peak, rx_loss_bytes(channels[i], tiles[i], threads));
            rx_loss_destroy(loss);
            free(scores);
            free(gradient);
            scene_free(&s);
        }
    cr_expect_eq(memory().allocated, 0);
}

/* Everything that takes memory, under a limit; YP_OK when all of it went through. */
static enum yp_status whole_run(struct scene *s, float *parameters, double *scores)
{
    struct yp_device *cpu = yp_device_cpu();
    struct rx_source source = source_of(s);
    struct rx_tile all = tile_of(s);
    struct rx *rx = rx_create(cpu, s->channels, s->tile_pixels, 2);
    if (rx == NULL)
        return YP_OUT_OF_MEMORY;
    OK(rx_fit(rx, &source));
    OK(rx_finish(rx, 0));
    double auc;
    struct rx_loss *loss = NULL;
    enum yp_status status = rx_score_plain(rx, &all, scores);
    if (status == YP_OK)
        status = rx_loss_start(rx, 1, 5, parameters);
    if (status == YP_OK)
        status = metrics_auc(cpu, s->values, s->labels, s->pixels, &auc, NULL);
    if (status == YP_OK && (loss = rx_loss_create(cpu, s->channels, s->tile_pixels, 2)) == NULL)
        status = YP_OUT_OF_MEMORY;
    rx_loss_destroy(loss);
    rx_destroy(rx);
    return status;
}

Test(rx, every_refusal_is_told_and_nothing_leaks)
{
    struct scene s = scene_make(400, 5, 10, 1);
    struct yp_device *cpu = yp_device_cpu();
    float parameters[32];
    double scores[400];
    s.tile_pixels = 50;
    uint64_t need = rx_bytes(5, 50, 2) + rx_loss_bytes(5, 50, 2), most = 0;
    for (uint64_t limit = 1; limit <= need; limit += limit < need - 600 ? 97 : 1) {
        yp_device_set_limit(cpu, limit);
        enum yp_status status = whole_run(&s, parameters, scores);
        yp_device_set_limit(cpu, 0);
        cr_assert_eq(memory().allocated, 0, "%" PRIu64 " bytes leaked at limit %" PRIu64,
                     memory().allocated, limit);
        cr_assert_eq(status, limit < need ? YP_OUT_OF_MEMORY : YP_OK, "limit %" PRIu64, limit);
        if (status != YP_OK)
            cr_assert_not_null(strstr(yp_last_error(), "out of memory"));
        most = limit;
    }
    cr_expect_eq(most, need);

    /* The three that take memory for the time of a call. */
    struct rx *rx = fitted(&s, 1);
    struct rx_tile all = tile_of(&s);
    OK(rx_finish(rx, 0));
    double auc;
    yp_device_set_limit(cpu, memory().allocated + 1);
    cr_expect_eq(rx_score_plain(rx, &all, scores), YP_OUT_OF_MEMORY);
    cr_expect_eq(rx_loss_start(rx, 1, 5, parameters), YP_OUT_OF_MEMORY);
    cr_expect_eq(metrics_auc(cpu, s.values, s.labels, 400, &auc, NULL), YP_OUT_OF_MEMORY);
    yp_device_set_limit(cpu, 0);
    rx_destroy(rx);
    cr_expect_eq(memory().allocated, 0);
    scene_free(&s);
}

Test(rx, arguments_are_checked)
{
    struct yp_device *cpu = yp_device_cpu();
    cr_expect_null(rx_create(cpu, 0, 10, 1));
    cr_expect_not_null(strstr(yp_last_error(), "channels is 0"));
    cr_expect_null(rx_create(cpu, RX_MAX_CHANNELS + 1, 10, 1));
    cr_expect_null(rx_create(cpu, 4, 0, 1));
    cr_expect_not_null(strstr(yp_last_error(), "tile_pixels is 0"));
    cr_expect_null(rx_create(cpu, 4, 10, -1));
    cr_expect_not_null(strstr(yp_last_error(), "threads is -1"));
    cr_expect_null(rx_loss_create(cpu, 4, 10, RX_MAX_THREADS + 1));
    cr_expect_null(rx_loss_create(NULL, 4, 10, 1));
    cr_expect_not_null(strstr(yp_last_error(), "device is NULL"));
    cr_expect_eq(rx_bytes(0, 1, 1), 0);
    cr_expect_eq(rx_loss_bytes(1, 0, 1), 0);
    cr_expect_gt(rx_bytes(1, 1, 0), 0);
    rx_destroy(NULL);
    rx_loss_destroy(NULL);
    cr_expect_eq(memory().allocations, 0);
}
