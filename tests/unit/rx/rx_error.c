/* The error of scores as rx_score_error() estimates it, against what it is: scores in long double
 * and double of the same pixels. */
#include "tests/unit/rx/rx_detector.h"

#include "models/rx/pipeline/nodes.h"

#include <yieldpoint/isa.h>

enum { MATERIALS = 5, PIXELS = 4096 };

/* Mixtures of smooth spectra of different brightness, with white noise `db` below their mean. */
static struct scene mixtures(size_t pixels, size_t channels, double db)
{
    uint64_t state = 1000 * channels + (uint64_t)db;
    struct scene s = {.pixels = pixels, .channels = channels, .tile_pixels = 4096};
    s.values = block(pixels * channels, sizeof *s.values);
    for (size_t p = 0; p < pixels; p++) {
        double share[MATERIALS], sum = 0, shade = 1 + 0.1 * normal(&state);
        for (size_t k = 0; k < MATERIALS; k++)
            sum += share[k] = exp(2 * normal(&state));
        for (size_t c = 0; c < channels; c++) {
            double w = (double)c / (double)channels, value = 0;
            for (size_t k = 0; k < MATERIALS; k++)
                value += share[k] / sum * (0.3 + 0.1 * (double)k) *
                         (1 + 0.5 * sin(5 * w * (double)(k + 1) + (double)(k * k)));
            s.values[p * channels + c] =
                (float)(shade * value + 0.5 * pow(10, -db / 20) * normal(&state));
        }
    }
    return s;
}

/* Scores by the textbook, of statistics in long double. */
static double *right_scores(const struct scene *s, double ridge)
{
    size_t n = s->channels;
    double *mean = block(n, sizeof *mean), *a = block(n * n, sizeof *a), *y = block(n, sizeof *y);
    double *scores = block(s->pixels, sizeof *scores);
    two_passes(s, mean, a);
    for (size_t j = 0; j < n; j++) /* L below the diagonal */
        for (size_t i = j; i < n; i++) {
            double sum = a[i * n + j] + (i == j ? ridge : 0);
            for (size_t k = 0; k < j; k++)
                sum -= a[i * n + k] * a[j * n + k];
            a[i * n + j] = i == j ? sqrt(sum) : sum / a[j * n + j];
        }
    for (size_t p = 0; p < s->pixels; p++)
        for (size_t i = 0; i < n; i++) {
            y[i] = (double)s->values[p * n + i] - mean[i];
            for (size_t k = 0; k < i; k++)
                y[i] -= a[i * n + k] * y[k];
            y[i] /= a[i * n + i];
            scores[p] += y[i] * y[i];
        }
    free(mean);
    free(a);
    free(y);
    return scores;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* What 99 % of the relative errors stay within. */
static double measured(const float *got, const double *right, size_t pixels)
{
    double *errors = block(pixels, sizeof *errors);
    for (size_t p = 0; p < pixels; p++) {
        cr_assert(isfinite(got[p]));
        errors[p] = fabs((double)got[p] / right[p] - 1);
    }
    qsort(errors, pixels, sizeof *errors, by_size);
    double at = errors[pixels * 99 / 100];
    free(errors);
    return at;
}

static struct rx *fitted_in(struct scene *s, enum rx_precision precision)
{
    const struct rx_options options = {.precision = precision};
    struct rx *rx = rx_create_with(yp_device_cpu(), s->channels, s->tile_pixels, 2, &options);
    struct rx_source source = source_of(s);
    cr_assert_not_null(rx, "%s", yp_last_error());
    OK(rx_fit(rx, &source));
    return rx;
}

/* Both, and whether rx_finish() says the same of them. */
static void expect_estimate(struct scene *s, enum rx_precision precision, const double *right,
                            double low, double high)
{
    struct rx *rx = fitted_in(s, precision);
    struct rx_source source = source_of(s);
    float *scores = block(source.tiles * source.tile_pixels, sizeof *scores);
    OK(rx_finish_with(rx, &(struct rx_finish_options){.max_error = INFINITY}));
    OK(rx_score(rx, &source, scores));
    double is = measured(scores, right, s->pixels), said = rx_score_error(rx);
    cr_expect(said >= low * is && said <= high * is,
              "%zu channels, precision %d: %g, estimated as %g", s->channels, (int)precision, is,
              said);
    if (said > RX_MAX_ERROR)
        FAILS(rx_finish(rx, 0), YP_INVALID, "allowed are 1 %");
    else
        OK(rx_finish(rx, 0));
    cr_expect_eq(rx_score_error(rx), said > RX_MAX_ERROR ? 0 : said);
    rx_destroy(rx);
    free(scores);
}

Test(rx_error, is_what_is_measured_over_channels_and_noise, .timeout = 120)
{
    static const size_t channels[] = {50, 100, 200};
    static const double db[] = {30, 40, 50, 60};
    for (size_t i = 0; i < LENGTH(channels); i++)
        for (size_t k = 0; k < LENGTH(db); k++) {
            struct scene s = mixtures(PIXELS, channels[i], db[k]);
            double *right = right_scores(&s, 0);
            expect_estimate(&s, RX_FP32, right, 1, 2.2); /* 1.27 to 1.86 were seen */
            free(right);
            scene_free(&s);
        }
}

Test(rx_error, of_all_precisions_and_tiles)
{
    struct scene s = mixtures(3 * PIXELS, 60, 50);
    double *right = right_scores(&s, 0);
    expect_estimate(&s, RX_BF16X2, right, 1.2, 2.1); /* 1.55 to 1.62; on AMX 2.098 */
    expect_estimate(&s, RX_BF16X3, right, 1.2, 2.1); /* 1.47 to 1.63 */
    expect_estimate(&s, RX_FP64, right, 0.6, 1.2);   /* 0.88 */
    expect_estimate(&s, RX_FP32, right, 1.2, 2.2);   /* 1.65 and 1.67 */
    s.tile_pixels = 64;                              /* shorter sums */
    expect_estimate(&s, RX_FP32, right, 1.2, 2.2);   /* 1.65 and 1.67 */
    free(right);
    scene_free(&s);
}

/* Two channels of +-1 that agree in 15 of 16 pixels: a correlation of 7/8, v = 1 / (1 - 49/64). */
Test(rx_error, is_the_formula)
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
        struct rx *rx = fitted_in(&s, ways[i].precision);
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

static double said_of(struct scene *s, const struct rx_finish_options *options)
{
    struct rx *rx = fitted_in(s, RX_FP32);
    OK(rx_finish_with(rx, options));
    double error = rx_score_error(rx);
    rx_destroy(rx);
    return error;
}

/* Nor channels of other units, nor dead ones that are left out, make an error. */
Test(rx_error, goes_with_what_channels_say_of_each_other_alone)
{
    struct scene s = mixtures(PIXELS, 40, 50);
    double before = said_of(&s, &(struct rx_finish_options){0});
    for (size_t i = 0; i < PIXELS * 40; i++)
        s.values[i] *= (float)(1 << i % 40 % 7 * 3);
    double scaled = said_of(&s, &(struct rx_finish_options){0});
    cr_expect_leq(fabs(scaled / before - 1), 1e-6, "%g, then %g", before, scaled);
    cr_expect_lt(said_of(&s, &(struct rx_finish_options){.shrink = 0.01}), before / 20);
    for (size_t p = 0; p < PIXELS; p++)
        s.values[p * 40 + 17] = 3;
    double masked = said_of(&s, &(struct rx_finish_options){.mask_dead = true});
    cr_expect(masked > before / 4 && masked < before, "%g, then %g", before, masked);
    scene_free(&s);
}

/* The scores are those of the living channels, and so are their errors. */
Test(rx_error, is_not_thinned_by_dead_channels)
{
    enum { ALIVE = 40, ALL = 160 };
    struct scene s = mixtures(PIXELS, ALIVE, 50);
    struct scene wide = s;
    wide.channels = ALL;
    wide.values = block(PIXELS * ALL, sizeof *wide.values);
    for (size_t p = 0; p < PIXELS; p++)
        for (size_t c = 0; c < ALL; c++)
            wide.values[p * ALL + c] = c % 4 == 1 ? s.values[p * ALIVE + c / 4] : 3;
    const struct rx_finish_options mask = {.mask_dead = true};
    double alone = said_of(&s, &mask), among = said_of(&wide, &mask);
    cr_expect_leq(fabs(among / alone - 1), 1e-6, "%g, among dead channels %g", alone, among);
    scene_free(&s);
    free(wide.values);
}

Test(rx_error, refuses_what_is_above_the_limit)
{
    struct scene s = mixtures(PIXELS, 50, 60);
    struct rx *rx = fitted_in(&s, RX_FP32);
    struct rx_source source = source_of(&s);
    float *scores = block(PIXELS, sizeof *scores);
    FAILS(rx_finish(rx, 0), YP_INVALID, "with eps 0 and 4096 pixels in float one score in a");
    FAILS(rx_finish(rx, 0), YP_INVALID, "use more pixels, RX_FP64, a larger eps");
    FAILS(rx_score(rx, &source, scores), YP_INVALID, "rx_finish"); /* no factor is left */
    FAILS(rx_finish_with(rx, &(struct rx_finish_options){.max_error = -1}), YP_INVALID,
          "max_error is -1");
    FAILS(rx_finish_with(rx, &(struct rx_finish_options){.max_error = NAN}), YP_INVALID,
          "max_error is nan");
    OK(rx_finish_with(rx, &(struct rx_finish_options){.max_error = 0.2}));
    double limit = rx_score_error(rx);
    OK(rx_finish_with(rx, &(struct rx_finish_options){.max_error = limit}));
    FAILS(rx_finish_with(rx, &(struct rx_finish_options){.max_error = 0.999 * limit}), YP_INVALID,
          "more than");
    OK(rx_finish(rx, RX_EPS));
    cr_expect(rx_score_error(rx) > 1e-3 && rx_score_error(rx) < RX_MAX_ERROR);
    rx_destroy(rx);
    rx = fitted_in(&s, RX_FP64);
    OK(rx_finish(rx, 0));
    cr_expect_lt(rx_score_error(rx), 3e-5);
    rx_destroy(rx);
    free(scores);
    scene_free(&s);
}

/* A pipeline, whose A is rounded to float. The same scores are right for any of them: RX does not
 * see a channel's scale. */
static void expect_of_pipeline(struct scene *s, enum rx_precision precision,
                               const struct rx_pipeline_options *options, const double *right)
{
    struct rx_pipeline_options o = *options;
    o.channels = s->channels;
    o.tile_pixels = s->tile_pixels;
    o.threads = 2;
    o.max_error = INFINITY;
    struct rx *rx = fitted_in(s, precision);
    struct rx_source source = source_of(s);
    struct rx_pipeline *pipeline = rx_pipeline_create(yp_device_cpu(), &o);
    cr_assert_not_null(pipeline, "%s", yp_last_error());
    float *parameters = block(rx_pipeline_parameters(pipeline), sizeof *parameters);
    float *scores = block(s->pixels, sizeof *scores);
    struct rx_start start;
    OK(rx_pipeline_start(pipeline, rx, parameters, &start));
    OK(rx_pipeline_score(pipeline, &source, parameters, scores, NULL));
    double is = measured(scores, right, s->pixels), said = start.score_error;
    /* 0.62 to 1.70 were seen */
    cr_expect(said >= 0.5 * is && said <= 2.1 * is, "precision %d: %g, estimated as %g",
              (int)precision, is, said);
    rx_pipeline_destroy(pipeline);
    o.max_error = 0.99 * said;
    pipeline = rx_pipeline_create(yp_device_cpu(), &o);
    cr_assert_not_null(pipeline, "%s", yp_last_error());
    FAILS(rx_pipeline_start(pipeline, rx, parameters, &start), YP_INVALID,
          "one score in a hundred");
    rx_pipeline_destroy(pipeline);
    rx_destroy(rx);
    free(parameters);
    free(scores);
}

Test(rx_error, of_pipelines)
{
    static const struct rx_pipeline_options options[] = {
        {.eps = 0},
        {.normalise = true, .eps = 0},
        {.normalise = true, .select = true, .eps = 0},
        {.components = 50, .eps = 0}, /* all of them: a rotation */
    };
    struct scene s = mixtures(PIXELS, 50, 45);
    double *right = right_scores(&s, 0);
    for (size_t i = 0; i < LENGTH(options); i++) {
        expect_of_pipeline(&s, RX_FP32, &options[i], right);
        expect_of_pipeline(&s, RX_FP64, &options[i], right);
    }
    struct rx_pipeline_options refused = {.channels = 50, .tile_pixels = 64, .max_error = -1};
    cr_expect_eq(rx_pipeline_bytes(&refused), 0);
    cr_expect_not_null(strstr(yp_last_error(), "max_error is -1"));
    free(right);
    scene_free(&s);
}
