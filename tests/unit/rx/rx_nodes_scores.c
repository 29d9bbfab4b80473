/* Pipelines: scores, what a trainer asks for, bits on any threads and instruction set. */
#include "tests/unit/rx/rx_nodes.h"

Test(rx_nodes, scores_and_logits_match_the_plain_chain)
{
    struct scene s = scene_make(700, 11, 100, 3);
    s.values[450 * s.stride + 10] = NAN;
    s.tile_pixels = 700;
    struct rx_tile tile = tile_of(&s);
    struct rx_source source = source_of(&s);
    float scores[800], logits[800], plain32[700];
    double exact[700], kept64[700];
    source.tile_pixels = 800; /* room for more than comes */
    for (size_t k = 0; k < SHAPES; k++) {
        struct rx_pipeline_options o = options_for(&shapes[k], &s, 2);
        o.tile_pixels = 800;
        struct rx_pipeline *p = pipeline_for(&o);
        float *parameters = fit(p, &s, 2), kept32[700], got[700];
        double *x = block(rx_pipeline_parameters(p), sizeof *x);
        for (size_t i = 0; i < rx_pipeline_parameters(p); i++)
            x[i] = (double)parameters[i];
        struct rx_plain *plain = rx_plain_create(yp_device_cpu(), &o, &tile);
        bool autoencoder = o.detector == RX_AUTOENCODER;
        OK(rx_pipeline_score(p, &source, parameters, scores, autoencoder ? NULL : logits));
        rx_plain_scores(plain, x, exact);
        rx_plain_scores_f32(plain, parameters, plain32);
        size_t n = 0;
        for (size_t i = 0; i < 800; i++) {
            cr_assert_eq(i == 450 || i >= 700, isnan(scores[i]) != 0, "%s: pixel %zu is %g",
                         shapes[k].name, i, (double)scores[i]);
            if (!autoencoder && isfinite(scores[i])) {
                float l = parameters[p->places.scale] * (scores[i] - parameters[p->places.bias]);
                cr_assert_float_eq(logits[i], l, 1e-5f * fabsf(l));
            } else if (!autoencoder) {
                cr_assert(isnan(logits[i]));
            }
            if (isnan(scores[i]))
                continue;
            kept64[n] = exact[i];
            kept32[n] = plain32[i];
            got[n++] = scores[i];
        }
        struct yp_precision check = {.name = shapes[k].name,
                                     .count = n,
                                     .oracle = kept64,
                                     .plain = kept32,
                                     .got = got,
                                     .multiple = 2};
        struct yp_precision_result result;
        OK(yp_precision_error(&check, &result));
        cr_expect_leq(result.ratio, 2, "%s: %g, plain float %g", shapes[k].name, result.error,
                      result.plain_error);
        rx_plain_destroy(plain);
        rx_pipeline_destroy(p);
        free(parameters);
        free(x);
    }
    scene_free(&s);
}

Test(rx_nodes, the_pipeline_scores_as_the_detector_does)
{
    struct scene s = scene_make(3000, 16, 1e3, 0);
    struct rx_source source = source_of(&s);
    struct rx *rx = detector_for(&s, 2);
    float wanted[3000], scores[3000];
    double both = 0, norm = 0;
    OK(rx_fit(rx, &source));
    OK(rx_finish(rx, 0));
    OK(rx_score(rx, &source, wanted));
    const struct rx_pipeline_options ways[] = {
        {.eps = 0},
        {.normalise = true, .eps = 0},
        {.normalise = true, .select = true, .eps = 0}, /* RX does not see a channel's scale */
        {.normalise = true, .components = 16, .eps = 0},
    };
    for (size_t k = 0; k < 4; k++) {
        struct shape shape = {"", ways[k]};
        struct rx_pipeline_options o = options_for(&shape, &s, 2);
        struct rx_pipeline *p = pipeline_for(&o);
        float *parameters = fit(p, &s, 2);
        scores_of(p, &s, parameters, scores);
        both = norm = 0;
        for (size_t i = 0; i < 3000; i++) {
            both += pow((double)scores[i] - (double)wanted[i], 2);
            norm += pow((double)wanted[i], 2);
        }
        cr_expect_leq(sqrt(both / norm), 1e-4, "way %zu: %g", k, sqrt(both / norm));
        rx_pipeline_destroy(p);
        free(parameters);
    }
    rx_destroy(rx);
    scene_free(&s);
}

/* All components together are RX, down to the quietest. */
Test(rx_nodes, quiet_components_score_as_the_detector_does)
{
    struct scene s = scene_make(3000, 24, 1e5, 0);
    struct rx_source source = source_of(&s);
    struct rx *rx = detector_for(&s, 2);
    struct shape shape = {"", {.normalise = true, .components = 24}};
    struct rx_pipeline_options o = options_for(&shape, &s, 2);
    struct rx_pipeline *p = pipeline_for(&o);
    float wanted[3000], scores[3000], *parameters = fit(p, &s, 2);
    double apart2 = 0, norm = 0;
    OK(rx_fit(rx, &source));
    OK(rx_finish(rx, 0));
    OK(rx_score(rx, &source, wanted));
    scores_of(p, &s, parameters, scores);
    for (size_t i = 0; i < 3000; i++) {
        apart2 += pow((double)scores[i] - (double)wanted[i], 2);
        norm += pow((double)wanted[i], 2);
    }
    cr_expect_leq(sqrt(apart2 / norm), 4e-6, "%g", sqrt(apart2 / norm));
    rx_pipeline_destroy(p);
    rx_destroy(rx);
    free(parameters);
    scene_free(&s);
}

static double auc_of(const struct rx_pipeline_options *options, struct scene *s,
                     struct rx_start *start)
{
    struct rx_pipeline *p = pipeline_for(options);
    struct rx *rx = detector_for(s, 2);
    struct rx_source source = source_of(s);
    float *parameters = block(rx_pipeline_parameters(p), sizeof *parameters);
    float *scores = block(s->pixels, sizeof *scores);
    double auc;
    OK(rx_pipeline_fit(p, rx, &source, parameters, start));
    scores_of(p, s, parameters, scores);
    OK(metrics_auc(yp_device_cpu(), scores, s->labels, s->pixels, &auc, NULL));
    rx_pipeline_destroy(p);
    rx_destroy(rx);
    free(parameters);
    free(scores);
    return auc;
}

/* The target lies in the quietest direction, which pinv's cut-off takes for nothing: the cut is at
 * 64 2^-23 = 7.6e-6 of the largest eigenvalue, and 9 of 64 between 1 and 1e-6 lie below. */
Test(rx_nodes, the_float_pseudo_inverse_loses_what_cholesky_keeps)
{
    struct scene s = scene_with(8000, 64, 1e6, 0, 100, 10);
    struct shape shape = {"", {.eps = 1e-12}};
    struct rx_pipeline_options o = options_for(&shape, &s, 2);
    struct rx_start start;
    double cholesky = auc_of(&o, &s, &start);
    cr_expect_eq(start.dropped, 0);
    o.inverse = RX_PINV_F32;
    double pinv = auc_of(&o, &s, &start);
    cr_expect(start.dropped >= 8 && start.dropped <= 12, "%zu dropped", start.dropped);
    cr_expect_gt(cholesky, 0.95, "%g", cholesky);
    cr_expect_lt(fabs(pinv - 0.5), 0.05, "%g", pinv);
    scene_free(&s);

    s = scene_make(8000, 64, 10, 0); /* where nothing is dropped both are the same */
    o.inverse = RX_CHOLESKY;
    cholesky = auc_of(&o, &s, &start);
    o.inverse = RX_PINV_F32;
    pinv = auc_of(&o, &s, &start);
    cr_expect_eq(start.dropped, 0);
    cr_expect_leq(fabs(cholesky - pinv), 1e-4);
    scene_free(&s);
}

/* -- for a trainer ---------------------------------------------------------------------------- */

struct taken {
    float logits[700];
    uint8_t labels[700];
    size_t pixels;
};

static void take(void *arg, const float *logits, const uint8_t *labels, size_t pixels)
{
    struct taken *taken = arg;
    cr_assert_leq(taken->pixels + pixels, 700);
    memcpy(taken->logits + taken->pixels, logits, pixels * sizeof *logits);
    memcpy(taken->labels + taken->pixels, labels, pixels);
    taken->pixels += pixels;
}

Test(rx_nodes, a_trainer_is_told_weights_and_logits)
{
    struct scene s = scene_make(700, 7, 30, 0);
    s.tile_pixels = 130;
    s.values[650 * 7] = NAN;
    for (size_t k = 0; k < SHAPES; k++)
        for (int copied = 0; copied < 2; copied++) {
            struct rx_pipeline_options o = options_for(&shapes[k], &s, 3);
            struct rx_pipeline *p = pipeline_for(&o);
            struct rx_source source = source_of(&s);
            struct taken *taken = block(1, sizeof *taken);
            bool autoencoder = o.detector == RX_AUTOENCODER;
            size_t n = rx_pipeline_parameters(p), bytes = n * sizeof(float);
            float *parameters = fit(p, &s, 2), *gradient = block(2 * n, sizeof *gradient);
            float *logits = block(source.tiles * source.tile_pixels, sizeof *logits);
            double mean, again, weight = 0;
            s.copy = copied != 0;
            OK(rx_pipeline_gradient(p, &source, parameters, &mean, gradient));
            OK(rx_pipeline_train_gradient(p, &source, parameters, 1, &again, &weight,
                                          gradient + n));
            cr_expect_eq(again, mean);
            cr_expect_eq(weight, 699);
            cr_expect_eq(memcmp(gradient, gradient + n, bytes), 0);
            again = weight = 0;
            OK(rx_pipeline_train_evaluate(p, &source, parameters, &again, &weight, take, taken));
            cr_expect(o.hard != RX_SOFT || again == mean); /* the gradient's is of the soft one */
            cr_expect_eq(weight, 699);
            cr_expect_eq(taken->pixels, autoencoder ? 0 : 700);
            if (!autoencoder) {
                OK(rx_pipeline_score(p, &source, parameters, NULL, logits));
                cr_expect_eq(memcmp(logits, taken->logits, 700 * sizeof *logits), 0);
                cr_expect_eq(memcmp(s.labels, taken->labels, 700), 0);
                taken->pixels = 0;
                OK(rx_pipeline_train_evaluate(p, &source, parameters, NULL, NULL, take, taken));
                cr_expect_eq(memcmp(logits, taken->logits, 700 * sizeof *logits), 0);
            }
            source.tiles = 0;
            gradient[0] = 5;
            OK(rx_pipeline_train_gradient(p, &source, parameters, 1, &again, &weight, gradient));
            cr_expect(weight == 0 && again == 0 && gradient[0] == 0);
            FAILS(rx_pipeline_train_evaluate(p, &source, parameters, &mean, NULL, take, taken),
                  YP_INVALID, "weight is NULL");
            FAILS(rx_pipeline_train_gradient(p, &source, parameters, 1, &mean, NULL, gradient),
                  YP_INVALID, "weight is NULL");
            s.copy = false;
            rx_pipeline_destroy(p);
            free(taken);
            free(parameters);
            free(gradient);
            free(logits);
        }
    scene_free(&s);
}

/* -- bits ------------------------------------------------------------------------------------- */

Test(rx_nodes, bits_do_not_depend_on_threads_or_on_where_pixels_lie)
{
    for (size_t k = 0; k < SHAPES; k++) {
        float *first = NULL;
        size_t bytes = 0;
        for (int threads = 1; threads <= 4; threads++) {
            struct scene s = scene_make(1900, 13, 50, 2);
            s.tile_pixels = 150;
            s.copy = threads == 3;
            s.values[90 * s.stride + 1] = NAN;
            struct rx_pipeline_options o = options_for(&shapes[k], &s, threads);
            struct rx_pipeline *p = pipeline_for(&o);
            struct rx_source source = source_of(&s);
            size_t n = rx_pipeline_parameters(p), places = source.tiles * source.tile_pixels;
            float *said = block(2 * n + 2 + places, sizeof *said),
                  *parameters = fit(p, &s, threads);
            double mean;
            s.copy = threads == 3;
            memcpy(said, parameters, n * sizeof *said);
            settle(p, parameters);
            OK(rx_pipeline_gradient(p, &source, parameters, &mean, said + n));
            memcpy(said + 2 * n, &mean, sizeof mean);
            scores_of(p, &s, parameters, said + 2 * n + 2);
            bytes = (2 * n + 2 + places) * sizeof *said;
            if (first == NULL)
                first = said;
            else {
                cr_expect_eq(memcmp(first, said, bytes), 0, "%s: %d threads", shapes[k].name,
                             threads);
                free(said);
            }
            rx_pipeline_destroy(p);
            free(parameters);
            scene_free(&s);
        }
        free(first);
    }
}

Test(rx_nodes, instruction_sets_agree)
{
    struct scene s = scene_make(200, 37, 100, 5);
    s.values[40 * s.stride + 36] = NAN;
    float base[37], gain[37], rest[37], *out[2];
    uint8_t keep[2][200];
    double sums[2][37], products[2][37];
    for (int c = 0; c < 37; c++) {
        base[c] = (float)c / 16;
        gain[c] = 1 + (float)c / 7;
        rest[c] = (float)c / 3;
    }
    for (int rank = 0; rank <= 2; rank++) {
        const struct ypi_pixel_kernels *sets[2] = {ypi_pixel_kernels_at(0),
                                                   ypi_pixel_kernels_at(rank)};
        if (sets[1] == NULL)
            continue;
        for (int i = 0; i < 2; i++) {
            out[i] = block(200 * 37, sizeof **out);
            memset(sums[i], 0, sizeof sums[i]);
            memset(products[i], 0, sizeof products[i]);
            cr_assert_eq(
                sets[i]->gather(s.values, s.stride, 200, 37, base, gain, rest, out[i], keep[i]),
                199);
            cr_assert_eq(keep[i][40], 0);
            sets[i]->columns(out[i], out[i], 199, 37, sums[i], products[i]);
        }
        for (int i = 0; i < 199 * 37; i++) /* with and without a fused product */
            cr_assert_float_eq(out[0][i], out[1][i], 0x1p-22f * (fabsf(out[0][i]) + 13));
        for (int c = 0; c < 37; c++) {
            cr_expect_float_eq(sums[0][c], sums[1][c], 1e-5 * fabs(sums[0][c]) + 1e-3);
            cr_expect_float_eq(products[0][c], products[1][c], 1e-5 * products[0][c]);
        }
        free(out[0]);
        free(out[1]);
    }
    cr_assert_null(ypi_pixel_kernels_at(3));
    scene_free(&s);
}
