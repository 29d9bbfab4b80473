/* The detector's statistics: oracles in long double, bits on any threads and instruction set. */
#include "tests/unit/rx/rx_detector.h"

/* -- statistics ---------------------------------------------------------------------------- */

static bool same_bits(const void *a, const void *b, size_t bytes)
{
    return memcmp(a, b, bytes) == 0;
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
