/* Formulas of models/rx with closed answers. */
#include "tests/unit/rx/rx_fixture.h"

#include "models/rx/internal.h"
#include "models/rx/pipeline/internal.h"
#include <math.h>
#include <yieldpoint/isa.h>

static struct rx *fitted(struct scene *s, enum rx_precision precision)
{
    const struct rx_options options = {.precision = precision};
    struct rx *rx = rx_create_with(yp_device_cpu(), s->channels, s->tile_pixels, 2, &options);
    struct rx_source source = source_of(s);
    cr_assert_not_null(rx, "%s", yp_last_error());
    OK(rx_fit(rx, &source));
    return rx;
}

/* Two channels of +-1 that agree in 15 of 16 pixels: a correlation of 7/8, v = 1 / (1 - 49/64). */
Test(rx_formulas, error_of_scores)
{
    struct scene s = {.pixels = 4096, .channels = 2, .tile_pixels = 256};
    s.values = block(2 * s.pixels, sizeof *s.values);
    for (size_t p = 0; p < s.pixels; p++) {
        s.values[2 * p] = p % 2 == 0 ? 1 : -1;
        s.values[2 * p + 1] = p / 2 % 16 == 3 ? -s.values[2 * p] : s.values[2 * p];
    }
    const bool tiles = yp_isa() == YP_ISA_AMX;
    const struct {
        enum rx_precision precision;
        double u, b, ridge;
    } ways[] = {{RX_FP32, 0x1p-24, 0, 0},
                {RX_FP64, 0x1p-53, 0, 0},
                {RX_BF16X2, 0x1p-24 * (tiles ? sqrt(3.0 / 32) : 1), 0x1p-17, 0},
                {RX_BF16X3, 0x1p-24 * (tiles ? sqrt(6.0 / 32) : 1), tiles ? 0 : 0x1p-19, 0},
                {RX_FP32, 0x1p-24, 0, 0.5}};
    for (size_t i = 0; i < LENGTH(ways); i++) {
        struct rx *rx = fitted(&s, ways[i].precision);
        OK(rx_finish(rx, ways[i].ridge / 4)); /* values range over 2 */
        double variance = 4096.0 / 4095, with = variance + ways[i].ridge;
        double v = variance * with / (with * with - variance * variance * 49 / 64);
        double u = 0.42 * ways[i].u * 256 / sqrt(3 * 4096.0);
        double right = sqrt(pow(3 * M_SQRT2 * u * v, 2) + pow(ways[i].b * v, 2) +
                            pow(3 * 0x1p-23, 2) * v / 2 + 0x1p-40);
        cr_expect_leq(fabs(rx_score_error(rx) / right - 1), 1e-6, "way %zu: %g instead of %g", i,
                      rx_score_error(rx), right);
        rx_reset(rx);
        cr_expect_eq(rx_score_error(rx), 0);
        rx_destroy(rx);
    }
    scene_free(&s);
}

/* The scores are those of the living channels, and so are their errors. */
Test(rx_formulas, dead_channels_thin_no_error)
{
    enum { ALIVE = 40, ALL = 160, PIXELS = 4096 };
    uint64_t state = 1;
    struct scene s = {.pixels = PIXELS, .channels = ALIVE, .tile_pixels = PIXELS}, wide = s;
    const struct rx_finish_options mask = {.mask_dead = true};
    double said[2];
    s.values = block((size_t)PIXELS * ALIVE, sizeof *s.values);
    wide.channels = ALL;
    wide.values = block((size_t)PIXELS * ALL, sizeof *wide.values);
    for (size_t i = 0; i < (size_t)PIXELS * ALIVE; i++)
        s.values[i] = (float)(normal(&state) + (i % ALIVE > 0 ? 0.9 * (double)s.values[i - 1] : 0));
    for (size_t i = 0; i < (size_t)PIXELS * ALL; i++)
        wide.values[i] = i % 4 == 1 ? s.values[i / 4] : 3;
    for (int i = 0; i < 2; i++) {
        struct rx *rx = fitted(i == 0 ? &s : &wide, RX_FP64);
        OK(rx_finish_with(rx, &mask));
        said[i] = rx_score_error(rx);
        cr_expect_eq(rx_masked(rx, NULL), i == 0 ? 0 : ALL - ALIVE);
        FAILS(rx_finish(rx, -1), YP_INVALID, "eps is -1");
        cr_expect_eq(rx_masked(rx, NULL), 0);
        rx_destroy(rx);
    }
    cr_expect_leq(fabs(said[1] / said[0] - 1), 1e-6, "%g, among dead channels %g", said[0],
                  said[1]);
    scene_free(&s);
    scene_free(&wide);
}

/* -1 and 1 have variance 2, range 2; with eps 1 a score is 1 / (2 + 4). A score of 9 pixels in 8
 * channels is 64 / 9, for they are a simplex. */
Test(rx_formulas, scores)
{
    float values[9 * 8] = {-1, 1};
    uint64_t state = 3;
    double scores[9];
    struct scene s = {.values = values, .pixels = 2, .channels = 1, .tile_pixels = 9};
    struct rx_tile all = tile_of(&s);
    struct rx *rx = fitted(&s, RX_FP32);
    OK(rx_finish(rx, 1));
    OK(rx_score_plain(rx, &all, scores));
    cr_expect(fabs(scores[0] - 1.0 / 6) < 1e-15 && fabs(scores[1] - 1.0 / 6) < 1e-15);
    rx_destroy(rx);
    for (size_t i = 0; i < 72; i++)
        values[i] = (float)normal(&state);
    s.pixels = 9;
    s.channels = 8;
    all = tile_of(&s);
    rx = fitted(&s, RX_FP64);
    OK(rx_finish(rx, 0));
    OK(rx_score_plain(rx, &all, scores));
    for (int i = 0; i < 9; i++)
        cr_expect_leq(fabs(scores[i] * 9 / 64 - 1), 1e-9, "%g", scores[i]);
    values[7] = INFINITY;
    OK(rx_score_plain(rx, &all, scores));
    cr_expect(isnan(scores[0]) && isfinite(scores[1]));
    rx_destroy(rx);
}

static struct rx_pipeline *pipeline_of(const struct rx_pipeline_options *o)
{
    struct rx_pipeline *p = rx_pipeline_create(yp_device_cpu(), o);
    cr_assert_not_null(p, "%s", yp_last_error());
    return p;
}

/* By hand: A of variances 4, 0 and 2, where 0 is left out, and eps 1. */
Test(rx_formulas, a_dead_channel_has_no_part_in_the_inverse)
{
    const double mean[3] = {1, 2, 3}, covariance[9] = {4, 0, 1, 0, 0, 0, 1, 0, 2};
    const struct rx_pipeline_options o = {
        .channels = 3, .tile_pixels = 10, .threads = 1, .eps = 1, .mask_dead = true};
    struct rx_pipeline *p = pipeline_of(&o);
    struct rx_start start;
    double parameters[3 + 9 + 2];
    OK(rx_pipeline_start_plain(p, mean, covariance, 0, 5, parameters, &start));
    const double wanted[9] = {3.0 / 14, 0, -1.0 / 14, 0, 0, 0, -1.0 / 14, 0, 5.0 / 14};
    for (int i = 0; i < 9; i++)
        cr_expect(wanted[i] == 0 ? parameters[3 + i] == 0
                                 : fabs(parameters[3 + i] - wanted[i]) < 1e-15,
                  "%d: %g", i, parameters[3 + i]);
    cr_expect_eq(start.masked, 1);
    rx_pipeline_destroy(p);
}

/* By hand: variances 8, 3, 1 and 0. Beside the first the living channels have 2 each, and eps 1. */
Test(rx_formulas, the_residual_has_the_mean_variance_of_what_is_left)
{
    const double mean[4] = {1, 2, 3, 4};
    double covariance[16] = {8, 0, 0, 0, 0, 3, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0};
    struct rx_pipeline_options o = {.channels = 4,
                                    .tile_pixels = 10,
                                    .threads = 1,
                                    .eps = 1,
                                    .components = 1,
                                    .residual = true};
    struct rx_pipeline *p = pipeline_of(&o);
    double parameters[4 + 4 + 1 + 1 + 1 + 2];
    OK(rx_pipeline_start_plain(p, mean, covariance, 0, 5, parameters, NULL));
    cr_expect(fabs(parameters[9] - 1.0 / 9) < 1e-15, "A is %g", parameters[9]);
    cr_expect(fabs(parameters[10] - 1.0 / 3) < 1e-15, "the weight is %g", parameters[10]);
    rx_pipeline_destroy(p);
    o.eps = 0;
    p = pipeline_of(&o);
    covariance[5] = covariance[10] = 1e-6; /* 8 2^-23 */
    cr_expect_eq(rx_pipeline_start_plain(p, mean, covariance, 0, 5, parameters, NULL), YP_INVALID);
    cr_expect(strstr(yp_last_error(), "1 components of 3 channels that are not dead") != NULL, "%s",
              yp_last_error());
    rx_pipeline_destroy(p);
}

/* Ties go to the first; a negative temperature turns the order round. */
Test(rx_formulas, the_largest_weights_are_selected)
{
    struct rx_pipeline_options o = {.channels = 6,
                                    .tile_pixels = 9,
                                    .select = true,
                                    .keep = 3,
                                    .train_temperature = true,
                                    .detector = RX_AUTOENCODER};
    struct rx_pipeline *p = pipeline_of(&o);
    float *parameters = block(rx_pipeline_parameters(p), sizeof *parameters);
    const float logits[6] = {-1, 2, 0.5F, 2, 0.5F, -3};
    size_t list[6];
    memcpy(parameters, logits, sizeof logits);
    parameters[p->places.temperature] = 0.25F;
    cr_assert_eq(rx_pipeline_selected(p, parameters, list), 3);
    cr_expect(list[0] == 1 && list[1] == 2 && list[2] == 3, "%zu %zu %zu", list[0], list[1],
              list[2]);
    parameters[p->places.temperature] = -0.25F;
    cr_assert_eq(rx_pipeline_selected(p, parameters, list), 3);
    cr_expect(list[0] == 0 && list[1] == 2 && list[2] == 5, "%zu %zu %zu", list[0], list[1],
              list[2]);
    /* Shares of all but two are 0 here. */
    const float apart[6] = {-9, 0, -30, -1, -8, -20};
    memcpy(parameters, apart, sizeof apart);
    parameters[p->places.temperature] = 0.01F;
    cr_assert_eq(rx_pipeline_selected(p, parameters, list), 3);
    cr_expect(list[0] == 1 && list[1] == 3 && list[2] == 4, "%zu %zu %zu", list[0], list[1],
              list[2]);
    /* No more than k are written, whatever the weights are. */
    for (int i = 0; i < 3; i++) {
        list[3] = 99;
        parameters[2] = i == 0 ? NAN : i == 1 ? INFINITY : 0;
        parameters[p->places.temperature] = i == 2 ? 0 : 1;
        cr_expect_eq(rx_pipeline_selected(p, parameters, list), 0);
        cr_expect(strstr(yp_last_error(), "not finite") != NULL, "%s", yp_last_error());
        cr_expect_eq(list[3], 99);
    }
    cr_expect_eq(rx_pipeline_selected(p, NULL, list), 0);
    cr_expect(strstr(yp_last_error(), "parameters is NULL") != NULL, "%s", yp_last_error());
    rx_pipeline_destroy(p);
    o.keep = 2.5;
    p = pipeline_of(&o);
    cr_expect_eq(rx_pipeline_selected(p, parameters, list), 0);
    cr_expect(strstr(yp_last_error(), "keep is 2.5") != NULL, "%s", yp_last_error());
    rx_pipeline_destroy(p);
    free(parameters);
}

Test(rx_formulas, a_slope_is_the_logistic_function_or_nothing)
{
    for (float l = -150; l <= 150; l += 0.25f) {
        double exact = 1 / (1 + exp(-(double)l));
        float background = ypi_rx_slope(false, l), target = ypi_rx_slope(true, -l);
        cr_assert_eq(target, -background, "at %g", (double)l);
        if (exact < 0x1p-80)
            cr_assert_eq(background, 0, "at %g: %g", (double)l, (double)background);
        else /* half a unit of expf, of the sum and of the quotient */
            cr_assert_lt(fabs((double)background - exact), 2e-7 * exact, "at %g", (double)l);
    }
    cr_assert(isnan(ypi_rx_slope(false, NAN)) && isnan(ypi_rx_slope(true, NAN)));
}
