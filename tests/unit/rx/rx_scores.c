/* The detector's factor and scores: oracles in double, and what is refused by name. */
#include "tests/unit/rx/rx_detector.h"

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
