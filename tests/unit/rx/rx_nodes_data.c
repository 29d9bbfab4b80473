/* Pipelines: what data, parameters and options can do to them. */
#include "tests/unit/rx/rx_nodes.h"

/* -- what data can do ------------------------------------------------------------------------- */

Test(rx_nodes, finishing_with_shrinkage_and_without_dead_channels)
{
    struct scene s = scene_make(500, 6, 20, 0);
    struct rx_tile all = tile_of(&s);
    struct rx_source source = source_of(&s);
    double exact[500], one[36], shrunk[500];
    uint8_t mask[6];
    float parameters[6 + 36 + 2];
    struct rx *rx = detector_for(&s, 2);
    OK(rx_fit(rx, &source));
    FAILS(rx_finish_with(rx, &(struct rx_finish_options){.shrink = 1.5}), YP_INVALID,
          "shrink is 1.5");
    FAILS(rx_finish_with(rx, &(struct rx_finish_options){.shrink = NAN}), YP_INVALID, "shrink is");
    FAILS(rx_finish_with(rx, NULL), YP_INVALID, "options is NULL");
    cr_expect_eq(rx_masked(rx, mask), 0);
    OK(rx_finish_with(rx, &(struct rx_finish_options){.shrink = 1}));
    OK(rx_score_plain(rx, &all, shrunk));
    OK(rx_covariance(rx, one));
    for (size_t p = 0; p < 500; p++) { /* with the diagonal alone a score is a sum by channel */
        double sum = 0;
        for (size_t c = 0; c < 6; c++)
            sum += pow((double)s.values[p * 6 + c] - rx_mean(rx)[c], 2) / one[7 * c];
        cr_assert_float_eq(shrunk[p], sum, 1e-12 * sum);
    }
    rx_destroy(rx);

    for (size_t p = 0; p < 500; p++)
        s.values[p * 6 + 2] = s.values[p * 6 + 4] = 0.1f;
    rx = detector_for(&s, 2);
    OK(rx_fit(rx, &source));
    FAILS(rx_finish(rx, 0), YP_INVALID, "channel 2 is dead");
    OK(rx_finish_with(rx, &(struct rx_finish_options){.mask_dead = true}));
    cr_expect_eq(rx_masked(rx, mask), 2);
    cr_expect_eq(memcmp(mask, (uint8_t[]){0, 0, 1, 0, 1, 0}, 6), 0);
    OK(rx_score_plain(rx, &all, exact));
    OK(rx_loss_start(rx, 1, 6, parameters));
    for (size_t i = 0; i < 36; i++)
        cr_expect((parameters[6 + i] == 0) == (mask[i / 6] != 0 || mask[i % 6] != 0) ||
                  parameters[6 + i] == 0);
    cr_expect_gt(parameters[6], 0);
    float fast[1000];
    OK(rx_score(rx, &source, fast));

    struct rx_channel channels[6]; /* the same by leaving them out beforehand */
    size_t list[6];
    OK(rx_survey(yp_device_cpu(), &source, 2, channels));
    cr_assert_eq(rx_usable(channels, 6, 0, list), 4);
    cr_expect_eq(memcmp(list, (size_t[]){0, 1, 3, 5}, 4 * sizeof *list), 0);
    struct rx_subset *subset = rx_subset_create(yp_device_cpu(), &source, list, 4, 2);
    struct rx *four = rx_create(yp_device_cpu(), 4, s.tile_pixels, 2);
    float by_four[1000];
    OK(rx_fit(four, rx_subset_source(subset)));
    OK(rx_finish(four, 0));
    OK(rx_score(four, rx_subset_source(subset), by_four));
    for (size_t p = 0; p < 500; p++) {
        cr_assert_float_eq(exact[p], (double)by_four[p], 1e-5 * exact[p]);
        cr_assert_float_eq(fast[p], by_four[p], 1e-5f * fast[p]);
    }
    rx_destroy(four);
    rx_subset_destroy(subset);
    rx_destroy(rx);

    struct shape shape = {"", {.normalise = true, .mask_dead = true}};
    struct rx_pipeline_options o = options_for(&shape, &s, 2);
    struct rx_pipeline *p = pipeline_for(&o);
    struct rx_start start;
    float pipe[1000], *fitted = block(rx_pipeline_parameters(p), sizeof *fitted);
    rx = detector_for(&s, 2);
    OK(rx_pipeline_fit(p, rx, &source, fitted, &start));
    cr_expect_eq(start.masked, 2);
    scores_of(p, &s, fitted, pipe);
    for (size_t i = 0; i < 500; i++)
        cr_assert_float_eq(pipe[i], by_four[i], 1e-5f * by_four[i]);
    rx_destroy(rx);
    rx_pipeline_destroy(p);
    free(fitted);
    scene_free(&s);
}

/* By hand: A of variances 4, 0 and 2, where 0 is left out, and eps 1. */
Test(rx_nodes, a_dead_channel_has_no_part_in_the_inverse)
{
    const double mean[3] = {1, 2, 3}, covariance[9] = {4, 0, 1, 0, 0, 0, 1, 0, 2};
    const struct rx_pipeline_options o = {
        .channels = 3, .tile_pixels = 10, .threads = 1, .eps = 1, .mask_dead = true};
    struct rx_pipeline *p = pipeline_for(&o);
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

#ifndef RX_NODES_ON_GPU
/* By hand: variances 8, 3, 1 and 0. Beside the first the living channels have 2 each, and eps 1. */
Test(rx_nodes, the_residual_has_the_mean_variance_of_what_is_left)
{
    const double mean[4] = {1, 2, 3, 4};
    double covariance[16] = {8, 0, 0, 0, 0, 3, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0};
    struct rx_pipeline_options o = {.channels = 4,
                                    .tile_pixels = 10,
                                    .threads = 1,
                                    .eps = 1,
                                    .components = 1,
                                    .residual = true};
    struct rx_pipeline *p = pipeline_for(&o);
    double parameters[4 + 4 + 1 + 1 + 1 + 2];
    OK(rx_pipeline_start_plain(p, mean, covariance, 0, 5, parameters, NULL));
    cr_expect(fabs(parameters[9] - 1.0 / 9) < 1e-15, "A is %g", parameters[9]);
    cr_expect(fabs(parameters[10] - 1.0 / 3) < 1e-15, "the weight is %g", parameters[10]);
    rx_pipeline_destroy(p);
    o.eps = 0;
    p = pipeline_for(&o);
    covariance[5] = covariance[10] = 1e-6; /* 8 2^-23 */
    cr_expect_eq(rx_pipeline_start_plain(p, mean, covariance, 0, 5, parameters, NULL), YP_INVALID);
    cr_expect(strstr(yp_last_error(), "1 components of 3 channels that are not dead") != NULL, "%s",
              yp_last_error());
    rx_pipeline_destroy(p);
}
#endif

Test(rx_nodes, a_channel_that_is_never_finite)
{
    struct scene s = scene_make(900, 8, 50, 3);
    s.tile_pixels = 200;
    struct rx_source source = source_of(&s);
    struct rx_channel channels[8];
    size_t list[8];
    for (size_t p = 0; p < 900; p++)
        s.values[p * s.stride + 3] = p % 2 ? NAN : INFINITY;
    s.values[5] = NAN; /* and one that is so once */
    OK(rx_survey(yp_device_cpu(), &source, 2, channels));
    cr_expect_eq(channels[3].finite, 0);
    cr_expect_eq(channels[5].finite, 899);
    cr_expect_eq(channels[6].finite, 900);
    double mean = 0, variance = 0;
    for (size_t p = 0; p < 900; p++)
        mean += (double)s.values[p * s.stride + 6] / 900;
    for (size_t p = 0; p < 900; p++)
        variance += pow((double)s.values[p * s.stride + 6] - mean, 2) / 899;
    cr_expect_float_eq(channels[6].mean, mean, 1e-12);
    cr_expect_float_eq(channels[6].variance, variance, 1e-12);
    cr_assert_eq(rx_usable(channels, 8, 0, list), 7);

    struct rx_subset *subset = rx_subset_create(yp_device_cpu(), &source, list, 7, 2);
    struct rx *rx = rx_create(yp_device_cpu(), 7, 200, 2);
    struct rx_summary summary;
    OK(rx_fit(rx, rx_subset_source(subset)));
    rx_summary(rx, &summary);
    cr_expect_eq(summary.pixels, 899);
    OK(rx_finish(rx, 0));
    rx_destroy(rx);
    rx_subset_destroy(subset);

    /* The two of largest variance, in ascending order. */
    size_t two[2];
    cr_assert_eq(rx_usable(channels, 8, 2, two), 2);
    for (size_t c = 0; c < 8; c++)
        if (c != two[0] && c != two[1] && c != 3)
            cr_expect(channels[c].variance <= channels[two[0]].variance &&
                      channels[c].variance <= channels[two[1]].variance);
    REFUSED(rx_subset_create(yp_device_cpu(), &source, (size_t[]){8}, 1, 2), "list[0] is 8");
    REFUSED(rx_subset_create(yp_device_cpu(), &source, list, 0, 2), "count is 0");
    scene_free(&s);
}

/* Everything a pipeline does on this scene, or the first failure. */
static enum yp_status whole(const struct rx_pipeline_options *o, struct scene *s, double *mean,
                            float *scores)
{
    struct rx_source source = source_of(s);
    source.tiles += 2; /* two empty tiles at the end */
    struct rx_pipeline *p = pipeline_for(o);
    struct rx *rx = detector_for(s, 2);
    size_t n = rx_pipeline_parameters(p);
    float *parameters = block(n, sizeof *parameters), *gradient = block(n, sizeof *gradient);
    float *all = block(source.tiles * source.tile_pixels, sizeof *all);
    enum yp_status status = rx_pipeline_fit(p, rx, &source, parameters, NULL);
    if (status == YP_OK)
        status = rx_pipeline_gradient(p, &source, parameters, mean, gradient);
    if (status == YP_OK)
        status = rx_pipeline_score(p, &source, parameters, all, NULL);
    for (size_t i = 0; i < n && status == YP_OK && isfinite(*mean); i++)
        cr_assert(isfinite(parameters[i]) && isfinite(gradient[i]), "%zu: %g, %g", i,
                  (double)parameters[i], (double)gradient[i]);
    memcpy(scores, all, s->pixels * sizeof *scores);
    rx_pipeline_destroy(p);
    rx_destroy(rx);
    free(parameters);
    free(gradient);
    free(all);
    return status;
}

Test(rx_nodes, constant_images_and_single_pixels)
{
    float scores[60];
    double mean;
    for (size_t k = 0; k < SHAPES; k++) {
        struct scene s = scene_make(60, 8, 10, 0);
        s.tile_pixels = 25;
        bool global = shapes[k].options.detector == RX_GLOBAL;
        bool own = shapes[k].options.detector == RX_IMAGE;
        struct rx_pipeline_options o = options_for(&shapes[k], &s, 2);
        for (size_t i = 0; i < 60 * 8; i++)
            s.values[i] = 0.1f;
        if (o.detector == RX_LAD && o.normalise) { /* all 0 after MinMax, which LAD cannot take */
            FAILS(whole(&o, &s, &mean, scores), YP_INVALID, "mean 0");
        } else {
            OK(whole(&o, &s, &mean, scores));
            for (size_t i = 0; i < 60 && (global || own) && o.hard == RX_SOFT; i++)
                cr_assert_eq(scores[i], 0, "%s: %g", shapes[k].name, (double)scores[i]);
        }
        s.pixels = 1;
        for (size_t i = 0; i < 8; i++)
            s.values[i] = (float)(i + 1);
        if (global) {
            FAILS(whole(&o, &s, &mean, scores), YP_INVALID, "takes 2 at least");
        } else {
            OK(whole(&o, &s, &mean, scores));
            cr_expect(o.detector == RX_AUTOENCODER || fabsf(scores[0]) < 1e-9f, "%s: %g",
                      shapes[k].name, (double)scores[0]);
        }
        s.values[3] = NAN;
        FAILS(whole(&o, &s, &mean, scores), YP_INVALID, "finite pixel");
        s.pixels = 0;
        FAILS(whole(&o, &s, &mean, scores), YP_INVALID, "finite pixel");
        scene_free(&s);
    }

    /* Without MinMax and eps, a constant image has all channels masked. */
    struct scene s = scene_make(60, 8, 10, 0);
    struct shape shape = {"", {.mask_dead = true}};
    struct rx_pipeline_options o = options_for(&shape, &s, 2);
    for (size_t i = 0; i < 60 * 8; i++)
        s.values[i] = 7;
    OK(whole(&o, &s, &mean, scores));
    cr_expect_eq(scores[59], 0);
    o.mask_dead = false;
    FAILS(whole(&o, &s, &mean, scores), YP_INVALID, "channel 0 is dead");
    scene_free(&s);
}

Test(rx_nodes, fewer_pixels_than_channels)
{
    struct scene s = scene_make(5, 8, 10, 0);
    float scores[5];
    double mean;
    struct shape shape = {"", {.normalise = true}};
    struct rx_pipeline_options o = options_for(&shape, &s, 2);
    FAILS(whole(&o, &s, &mean, scores), YP_INVALID, "full rank");
    o.shrink = 0.1;
    OK(whole(&o, &s, &mean, scores));
    o.shrink = 0;
    o.eps = 1e-6;
    OK(whole(&o, &s, &mean, scores));
    o.eps = 0;
    o.components = 3;
    OK(whole(&o, &s, &mean, scores));
    o.components = 5; /* 5 pixels span 4 directions */
    FAILS(whole(&o, &s, &mean, scores), YP_INVALID, "component 4");
    o.components = 0;
    o.inverse = RX_PINV_F32;
    OK(whole(&o, &s, &mean, scores));
    o.inverse = RX_CHOLESKY;
    o.detector = RX_IMAGE;
    o.eps = 1e-6;
    OK(whole(&o, &s, &mean, scores));
    scene_free(&s);
}

Test(rx_nodes, huge_values)
{
    struct scene s = scene_make(300, 5, 10, 0);
    float scores[300];
    double mean;
    for (size_t k = 0; k < SHAPES; k++) {
        struct rx_pipeline_options o = options_for(&shapes[k], &s, 2);
        for (size_t i = 0; i < 1500; i++)
            s.values[i] = ldexpf(s.values[i], 40); /* scaled exactly: nothing else changes */
        OK(whole(&o, &s, &mean, scores));
        for (size_t i = 0; i < 1500; i++)
            s.values[i] = ldexpf(s.values[i], -40);
    }
    s.values[7] = 3e38f; /* its square is beyond float */
    s.values[8] = -3e38f;
    for (size_t k = 0; k < SHAPES; k++) {
        struct rx_pipeline_options o = options_for(&shapes[k], &s, 2);
        enum yp_status status = whole(&o, &s, &mean, scores);
        if (status == YP_OK) /* nothing squares the data */
            cr_expect(o.by_sample || (!o.normalise && !o.select && o.detector != RX_GLOBAL), "%s",
                      shapes[k].name);
        else
            cr_expect(strstr(yp_last_error(), "beyond") != NULL ||
                          strstr(yp_last_error(), "overflow") != NULL ||
                          strstr(yp_last_error(), "allowed are finite") != NULL ||
                          strstr(yp_last_error(), "eps") != NULL,
                      "%s: %s", shapes[k].name, yp_last_error());
    }
    scene_free(&s);
}

/* RX by image would have no factor, which ends a run; a step that is lost is to be skipped. */
Test(rx_nodes, gains_that_run_away)
{
    struct scene s = scene_make(200, 5, 10, 0);
    struct rx_source source = source_of(&s);
    for (size_t i = 0; i < SHAPES; i++) {
        struct rx_pipeline_options o = options_for(&shapes[i], &s, 2);
        if (!o.select)
            continue;
        struct rx_pipeline *p = pipeline_for(&o);
        size_t n = rx_pipeline_parameters(p);
        float *parameters = fit(p, &s, 2), *gradient = block(n, sizeof(float));
        double mean = 0, weight = 0;
        float saved = parameters[p->places.logits + 2];
        OK(rx_pipeline_train_gradient(p, &source, parameters, 1, &mean, &weight, gradient));
        double before = mean;
        for (int j = 0; j < 2; j++) {
            parameters[p->places.logits + 2] = j == 0 ? NAN : INFINITY;
            OK(rx_pipeline_train_gradient(p, &source, parameters, 1, &mean, &weight, gradient));
            cr_expect(isnan(mean) && weight == 200, "%s: %g", shapes[i].name, mean);
        }
        parameters[p->places.logits + 2] = saved;
        OK(rx_pipeline_train_gradient(p, &source, parameters, 1, &mean, &weight, gradient));
        cr_expect_eq(mean, before, "%s", shapes[i].name);
        rx_pipeline_destroy(p);
        free(parameters);
        free(gradient);
    }
    scene_free(&s);
}

/* A stride that the yielder got wrong is reported, not read past. */
static enum yp_status narrow_yield(void *arg, size_t index, float *values, uint8_t *labels,
                                   struct rx_tile *tile)
{
    enum yp_status status = scene_yield(arg, index, values, labels, tile);
    tile->stride = 4;
    return status;
}

Test(rx_nodes, a_stride_below_channels_is_refused)
{
    struct scene s = scene_make(200, 5, 10, 0);
    struct rx_source source = source_of(&s);
    struct rx_pipeline_options o = options_for(&shapes[0], &s, 2);
    struct rx_tile tile = tile_of(&s);
    struct rx_channel channels[2];
    source.yield = narrow_yield;
    struct rx_subset *subset = rx_subset_create(yp_device_cpu(), &source, (size_t[]){1, 0}, 2, 2);
    cr_assert_not_null(subset, "%s", yp_last_error());
    FAILS(rx_survey(yp_device_cpu(), rx_subset_source(subset), 2, channels), YP_INVALID,
          "tile 0 has stride 4, allowed are 0 and 5 or more");
    rx_subset_destroy(subset);
    tile.stride = 4;
    FAILS(rx_plain_create(yp_device_cpu(), &o, &tile) == NULL ? YP_INVALID : YP_OK, YP_INVALID,
          "stride 4, allowed are 0 and 5 or more");
    scene_free(&s);
}

/* What changes a parameter beyond sense gives a loss that tells, or a message. */
Test(rx_nodes, parameters_that_run_away)
{
    struct scene s = scene_make(200, 5, 10, 0);
    struct rx_source source = source_of(&s);
    struct rx_pipeline_options o = options_for(&shapes[3], &s, 2);
    struct rx_pipeline *p = pipeline_for(&o);
    float *parameters = fit(p, &s, 2), *gradient = block(rx_pipeline_parameters(p), sizeof(float));
    double mean;
    parameters[p->places.a] = INFINITY;
    OK(rx_pipeline_gradient(p, &source, parameters, &mean, gradient));
    cr_expect(!isfinite(mean));
    parameters[p->places.max] = NAN;
    FAILS(rx_pipeline_gradient(p, &source, parameters, &mean, gradient), YP_INVALID, "max nan");
    parameters[p->places.max] = 3e38f;
    FAILS(rx_pipeline_score(p, &source, parameters, NULL, NULL), YP_INVALID, "1e+37 apart");
    s.unlabelled = true;
    parameters[p->places.max] = 9;
    FAILS(rx_pipeline_gradient(p, &source, parameters, &mean, gradient), YP_INVALID, "no labels");
    OK(rx_pipeline_score(p, &source, parameters, NULL, NULL));
    FAILS(rx_pipeline_gradient(p, NULL, parameters, &mean, gradient), YP_INVALID, "source is NULL");
    FAILS(rx_pipeline_gradient(p, &source, NULL, &mean, gradient), YP_INVALID, "parameters is");
    FAILS(rx_pipeline_calibrate(p, &source, NULL), YP_INVALID, "parameters is NULL");
    FAILS(rx_pipeline_fit(p, NULL, &source, parameters, NULL), YP_INVALID, "rx is NULL");
    rx_pipeline_destroy(p);
    free(parameters);
    free(gradient);
    scene_free(&s);
}
