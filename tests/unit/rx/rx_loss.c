/* The detection loss and its gradient, and the area under the curve. */
#include "tests/unit/rx/plain_loss.h"
#include "tests/unit/rx/rx_detector.h"

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
    plain_losses(tile, x, losses);
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
        plain_losses_vjp(&tile, x, cotangent, g);
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
    plain_losses(&tile, x, losses);
    plain_losses_f32(&tile, x32, f);
    double wanted[4] = {10 * log(2), 10 * log(2), 4000, 10 * exp(-400)};
    for (int i = 0; i < 4; i++) {
        cr_expect_leq(fabs(losses[i] - wanted[i]), 1e-15 * wanted[i], "%d: %g", i, losses[i]);
        cr_expect_leq(fabs((double)f[i] - wanted[i]), 1e-7 * wanted[i] + 1e-37, "%d: %g", i,
                      (double)f[i]);
    }
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
    plain_losses_vjp(&tile, x, cotangent, wanted);
    plain_losses_vjp_f32(&tile, parameters, cotangent32, plain);

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

/* -- slopes -------------------------------------------------------------------------------- */

Test(rx, a_slope_is_the_logistic_function_or_nothing)
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
