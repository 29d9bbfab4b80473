/* Pipelines: parity with numpy and PyTorch. */
#include "tests/unit/rx/rx_nodes.h"

#include "tests/unit/rx/reference_rx.h"

/* -- parity with numpy and PyTorch ------------------------------------------------------------- */

static uint64_t below(uint64_t *state, uint64_t n) /* as rx_reference.py has it */
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (*state >> 40) % n;
}

static struct scene reference_scene(void)
{
    uint64_t state = 2;
    int loads[3][R_CHANNELS], cause[3];
    struct scene s = {.pixels = R_PIXELS, .channels = R_CHANNELS, .tile_pixels = R_PIXELS};
    s.stride = R_CHANNELS;
    s.values = block(R_PIXELS * R_CHANNELS, sizeof *s.values);
    s.labels = block(R_PIXELS, 1);
    for (int k = 0; k < 3; k++)
        for (int c = 0; c < R_CHANNELS; c++)
            loads[k][c] = (int)below(&state, 33) - 16;
    for (int p = 0; p < R_PIXELS; p++) {
        for (int k = 0; k < 3; k++)
            cause[k] = (int)below(&state, 65) - 32;
        s.labels[p] = below(&state, 16) == 0;
        for (int c = 0; c < R_CHANNELS; c++) {
            int value = 4096 + 256 * c + (int)below(&state, 129) - 64;
            for (int k = 0; k < 3; k++)
                value += loads[k][c] * cause[k];
            value += s.labels[p] != 0 && c % 3 == 0 ? 96 : 0;
            s.values[p * R_CHANNELS + c] = (float)value / 1024;
        }
    }
    return s;
}

/* All are finite; returns smallest and largest value as well. */
static void statistics(const struct scene *s, double *mean, double *covariance, double range[2])
{
    two_passes(s, mean, covariance);
    range[0] = INFINITY;
    range[1] = -INFINITY;
    for (size_t i = 0; i < s->pixels * s->channels; i++) {
        double value = (double)s->values[i];
        range[0] = value < range[0] ? value : range[0];
        range[1] = value > range[1] ? value : range[1];
    }
}

#define PARITY \
    .channels = R_CHANNELS, .tile_pixels = R_PIXELS, .threads = 1, .normalise = true, .tiles = TILES
#define SELECT .select = true, .keep = 7, .temperature = 0.75

static const struct {
    const char *name;
    struct rx_pipeline_options options;
    const double *point, *gradient, *loss;
    size_t count;
} parities[] = {
    {"RX",
     {PARITY, SELECT, .train_temperature = true},
     rx_point,
     rx_gradient,
     rx_loss,
     sizeof rx_point / sizeof(double)},
    {"image",
     {PARITY, SELECT, .train_temperature = true, .detector = RX_IMAGE, .eps = 1e-6},
     image_point,
     image_gradient,
     image_loss,
     sizeof image_point / sizeof(double)},
    {"LAD",
     {PARITY, .detector = RX_LAD},
     lad_point,
     lad_gradient,
     lad_loss,
     sizeof lad_point / sizeof(double)},
    {"PCA",
     {PARITY, .components = R_COMPONENTS, .orthogonality = 0.3},
     pca_point,
     pca_gradient,
     pca_loss,
     sizeof pca_point / sizeof(double)},
    {"autoencoder",
     {PARITY, .detector = RX_AUTOENCODER, .hidden = R_HIDDEN},
     autoencoder_point,
     autoencoder_gradient,
     autoencoder_loss,
     sizeof autoencoder_point / sizeof(double)},
};

Test(rx_nodes, losses_and_gradients_are_those_of_autograd)
{
    struct scene s = reference_scene();
    struct rx_tile tile = tile_of(&s);
    struct rx_source source = source_of(&s);
    double sums[3] = {0, 0, 0};
    for (size_t i = 0; i < R_PIXELS * R_CHANNELS; i++) {
        sums[0] += (double)s.values[i];
        sums[1] += (double)s.values[i] * (double)s.values[i];
    }
    for (size_t p = 0; p < R_PIXELS; p++)
        sums[2] += s.labels[p];
    cr_assert_leq(distance(sums, rx_sums, 3), 1e-14, "the data are not the script's");
    for (size_t k = 0; k < sizeof parities / sizeof *parities; k++) {
        const char *name = parities[k].name;
        size_t n = parities[k].count;
        struct rx_plain *plain = rx_plain_create(yp_device_cpu(), &parities[k].options, &tile);
        struct rx_pipeline *p = pipeline_for(&parities[k].options);
        cr_assert_eq(rx_pipeline_parameters(p), n, "%s", name);
        double losses[R_PIXELS + 1] = {0}, c[R_PIXELS + 1], mean = 0, fast_mean;
        double *g = block(n, sizeof *g);
        float *point = block(n, sizeof *point), *fast = block(n, sizeof *fast);
        for (size_t i = 0; i <= R_PIXELS; i++)
            c[i] = i < R_PIXELS ? 1.0 / R_PIXELS : 1;
        for (size_t i = 0; i < n; i++)
            point[i] = (float)parities[k].point[i];
        rx_plain_losses(plain, parities[k].point, losses);
        rx_plain_vjp(plain, parities[k].point, c, g);
        OK(rx_pipeline_gradient(p, &source, point, &fast_mean, fast));
        for (size_t i = 0; i < rx_plain_outputs(plain); i++)
            mean += c[i] * losses[i];
        cr_expect_leq(fabs(mean / *parities[k].loss - 1), 1e-11, "%s: %.15g", name, mean);
        cr_expect_leq(fabs(fast_mean / *parities[k].loss - 1), 1e-4, "%s: %.9g", name, fast_mean);
        struct yp_tensor tensors[RX_PIPELINE_TENSORS];
        size_t count = rx_pipeline_tensors(p, tensors);
        for (size_t i = 0; i < count; i++) {
            size_t at = tensors[i].offset, size = tensors[i].count;
            double exact = distance(g + at, parities[k].gradient + at, size);
            double rough = off(fast + at, parities[k].gradient + at, size);
            if (getenv("RX_NODES_FIGURES") != NULL)
                fprintf(stderr, "parity %-12s %-12s double %8.2e float %8.2e\n", name,
                        tensors[i].name, exact, rough);
            cr_expect_leq(exact, 1e-10, "%s: %s is off by %g", name, tensors[i].name, exact);
            /* The point itself is rounded for float, before A multiplies what that moves. */
            cr_expect_leq(rough, 1e-4, "%s: %s in float is off by %g", name, tensors[i].name,
                          rough);
        }
        rx_plain_destroy(plain);
        rx_pipeline_destroy(p);
        free(g);
        free(point);
        free(fast);
    }
    scene_free(&s);
}

Test(rx_nodes, the_statistical_phase_is_that_of_numpy)
{
    struct scene s = reference_scene();
    struct rx_tile tile = tile_of(&s);
    double mean[R_CHANNELS], covariance[R_CHANNELS * R_CHANNELS], range[2], scores[R_PIXELS];
    statistics(&s, mean, covariance, range);

    struct rx_pipeline_options o = {PARITY, SELECT, .eps = 1e-6};
    struct rx_pipeline *p = pipeline_for(&o);
    struct rx_plain *plain = rx_plain_create(yp_device_cpu(), &o, &tile);
    double start[172], got = 0, m = 0, sampled[20];
    OK(rx_pipeline_start_plain(p, mean, covariance, range[0], range[1], start, NULL));
    size_t parts[] = {0, 2, 2 + R_CHANNELS, 2 + 2 * R_CHANNELS, 170};
    for (int i = 0; i < 4; i++)
        cr_expect_leq(distance(start + parts[i], rx_start + parts[i], parts[i + 1] - parts[i]),
                      1e-10, "part %d: %g", i,
                      distance(start + parts[i], rx_start + parts[i], parts[i + 1] - parts[i]));
    rx_plain_scores(plain, start, scores);
    for (size_t i = 0; i < 20; i++)
        sampled[i] = scores[15 * i];
    cr_expect_leq(distance(sampled, rx_scores, 20), 1e-10, "%g", distance(sampled, rx_scores, 20));
    for (size_t i = 0; i < R_PIXELS; i++)
        m += scores[i] / R_PIXELS;
    for (size_t i = 0; i < R_PIXELS; i++)
        got += (scores[i] - m) * (scores[i] - m) / (R_PIXELS - 1);
    cr_expect_leq(fabs((m + 2 * sqrt(got)) / rx_bias[0] - 1), 1e-10);

    /* Streamed, in float: what statistics of 2e-7 and the covariance's condition leave. */
    s.tile_pixels = 70;
    float *streamed = fit(p, &s, 1);
    for (int i = 0; i < 4; i++)
        cr_expect_leq(off(streamed + parts[i], rx_start + parts[i], parts[i + 1] - parts[i]), 1e-5,
                      "part %d: %g", i,
                      off(streamed + parts[i], rx_start + parts[i], parts[i + 1] - parts[i]));
    cr_expect_eq(streamed[170], 1);
    cr_expect_leq(fabs((double)streamed[171] / rx_bias[0] - 1), 1e-5);
    rx_plain_destroy(plain);
    rx_pipeline_destroy(p);
    free(streamed);

    o.detector = RX_IMAGE;
    s.tile_pixels = R_PIXELS;
    p = pipeline_for(&o);
    plain = rx_plain_create(yp_device_cpu(), &o, &tile);
    OK(rx_pipeline_start_plain(p, mean, covariance, range[0], range[1], start, NULL));
    rx_plain_scores(plain, start, scores);
    for (size_t i = 0; i < 20; i++)
        sampled[i] = scores[15 * i];
    cr_expect_leq(distance(sampled, image_scores, 20), 1e-10);
    rx_plain_destroy(plain);
    rx_pipeline_destroy(p);
    scene_free(&s);
}

Test(rx_nodes, laplacian_and_components_are_those_of_numpy)
{
    struct scene s = reference_scene();
    double mean[R_CHANNELS], covariance[R_CHANNELS * R_CHANNELS], range[2];
    double l[R_CHANNELS * R_CHANNELS], w[R_COMPONENTS * R_CHANNELS], values[R_COMPONENTS];
    statistics(&s, mean, covariance, range);
    double r = range[1] - range[0], start[2 + R_CHANNELS + sizeof w / 8 + 4 + 16 + 2];
    struct rx_pipeline_options o = {PARITY, .components = R_COMPONENTS, .eps = 1e-6};
    struct rx_pipeline *p = pipeline_for(&o);
    OK(rx_pipeline_start_plain(p, mean, covariance, range[0], range[1], start, NULL));
    cr_expect_leq(distance(start + 2 + R_CHANNELS, pca_w, sizeof w / 8), 1e-10);
    cr_expect_leq(distance(start + 2 + R_CHANNELS + sizeof w / 8 + 4, pca_a, 16), 1e-10);
    rx_pipeline_destroy(p);

    for (size_t i = 0; i < R_CHANNELS; i++)
        mean[i] = (mean[i] - range[0]) / r;
    OK(rx_lad_laplacian(mean, R_CHANNELS, l));
    cr_expect_leq(distance(l, lad_laplacian, R_CHANNELS * R_CHANNELS), 1e-12);
    for (size_t i = 0; i < R_CHANNELS * R_CHANNELS; i++)
        covariance[i] /= r * r;
    OK(rx_pca(yp_device_cpu(), covariance, R_CHANNELS, R_COMPONENTS, w, values));
    cr_expect_leq(distance(w, pca_w, sizeof w / 8), 1e-10);
    cr_expect_leq(distance(values, pca_eigenvalues, R_COMPONENTS), 1e-12);

    mean[0] = NAN;
    FAILS(rx_lad_laplacian(mean, R_CHANNELS, l), YP_INVALID, "mean nan");
    double opposite[2] = {1, -1}, one[1] = {5};
    FAILS(rx_lad_laplacian(opposite, 2, l), YP_INVALID, "mean 0");
    OK(rx_lad_laplacian(one, 1, l));
    cr_expect_eq(l[0], 0);
    covariance[5] = NAN;
    FAILS(rx_pca(yp_device_cpu(), covariance, R_CHANNELS, 2, w, values), YP_INVALID, "0 and 5");
    FAILS(rx_pca(yp_device_cpu(), covariance, 3, 4, w, values), YP_INVALID, "4 components");
    scene_free(&s);
}
