/* What every precision keeps of the covariance. */
#include "tests/unit/rx/rx_packed.h"

/* -- accuracy ------------------------------------------------------------------------------- */

/* A smooth scene at 50 dB: a drifting mixture of three spectra and noise of 1 / 316 of it, so that
 * the covariance has a condition of 1e6 and chunks have means that differ. */
static float *smooth_scene(size_t pixels, size_t channels)
{
    uint64_t state = channels;
    float *x = block(pixels * channels, sizeof *x);
    for (size_t p = 0; p < pixels; p++) {
        double t = (double)p / (double)pixels;
        double mix[3] = {1 + t + 0.3 * normal(&state), 2 - t * t + 0.3 * normal(&state),
                         sin(9 * t) + 0.3 * normal(&state)};
        for (size_t c = 0; c < channels; c++) {
            double wave = (double)c / (double)channels, value = 0;
            for (int k = 0; k < 3; k++)
                value += mix[k] * (1 + cos((k + 1) * 3 * wave + k));
            x[p * channels + c] = (float)(value * (1 + 1e-3 * normal(&state)) * 0.2);
        }
    }
    return x;
}

/* Of each precision, against two passes. */
static const double limits[] = {
    [RX_FP32] = 1e-6, [RX_BF16X2] = 1e-5, [RX_BF16X3] = 1e-6, [RX_FP64] = 1e-13};

static struct rx *create_in(enum rx_precision precision, size_t channels, size_t tile_pixels,
                            int threads)
{
    struct rx *rx = rx_create_with(yp_device_cpu(), channels, tile_pixels, threads,
                                   &(struct rx_options){.precision = precision});
    cr_assert_not_null(rx, "%s", yp_last_error());
    return rx;
}

Test(rx_kernels, every_precision_keeps_its_bound_and_its_bits)
{
    const size_t channels[] = {3, 16, 45, 100}, tiles[] = {1, 700, 2000};
    struct scene s = {.pixels = 2000};
    for (size_t i = 0; i < sizeof channels / sizeof *channels; i++) {
        size_t n = s.channels = channels[i];
        s.values = smooth_scene(s.pixels, n);
        double *wanted = block(n * n, sizeof *wanted), *got[2];
        got[0] = block(n * n, sizeof **got);
        got[1] = block(n * n, sizeof **got);
        double mean[100];
        s.values[701 * n] = NAN;
        two_passes(&s, mean, wanted);
        for (int precision = RX_FP32; precision <= RX_FP64; precision++)
            for (size_t k = 0; k < sizeof tiles / sizeof *tiles; k++) {
                s.tile_pixels = tiles[k];
                struct rx_source source = source_of(&s);
                for (int threads = 1; threads <= 2; threads++) {
                    yp_device_reset_peak(yp_device_cpu());
                    struct rx *rx = create_in(precision, n, tiles[k], threads);
                    OK(rx_fit(rx, &source));
                    OK(rx_covariance(rx, got[threads - 1]));
                    cr_expect_eq(memory().allocated_peak,
                                 rx_bytes_with(n, tiles[k], threads,
                                               &(struct rx_options){.precision = precision}));
                    struct rx_summary summary;
                    rx_summary(rx, &summary);
                    cr_expect_eq(summary.skipped, 1);
                    rx_destroy(rx);
                }
                cr_expect_eq(memcmp(got[0], got[1], n * n * sizeof **got), 0,
                             "precision %d: bits of 1 and 2 threads differ", precision);
                double error = distance(got[0], wanted, n * n);
                cr_expect_leq(error, limits[precision],
                              "%zu channels, tiles of %zu, precision %d: "
                              "%g",
                              n, tiles[k], precision, error);
            }
        scene_free(&s);
        free(wanted);
        free(got[0]);
        free(got[1]);
    }
}

Test(rx_kernels, a_precision_that_is_none_is_refused)
{
    struct rx_options options = {.precision = (enum rx_precision)(RX_FP64 + 1)};
    cr_expect_null(rx_create_with(yp_device_cpu(), 4, 10, 1, &options));
    cr_expect_not_null(strstr(yp_last_error(), "options->precision is 4"));
    cr_expect_eq(rx_bytes_with(4, 10, 1, &options), 0);
    cr_expect_eq(rx_bytes_with(4, 10, 1, NULL), rx_bytes(4, 10, 1));
    cr_expect_gt(rx_bytes_with(40, 100, 1, &(struct rx_options){.precision = RX_BF16X3}),
                 rx_bytes(40, 100, 1));
}

Test(rx_kernels, covariance_of_a_50_db_scene_in_any_tiles)
{
    const size_t channels[] = {10, 100, 200}, tiles[] = {1, 100, 512, 1500, 3000};
    for (size_t i = 0; i < sizeof channels / sizeof *channels; i++) {
        size_t n = channels[i];
        struct scene s = {.values = smooth_scene(3000, n), .pixels = 3000, .channels = n};
        double *wanted = block(n * n, sizeof *wanted), *got = block(n * n, sizeof *got), mean[200];
        two_passes(&s, mean, wanted);
        for (size_t k = 0; k < sizeof tiles / sizeof *tiles; k++) {
            s.tile_pixels = tiles[k];
            struct rx_source source = source_of(&s);
            struct rx *rx = detector_for(&s, 2);
            OK(rx_fit(rx, &source));
            OK(rx_covariance(rx, got));
            double error = distance(got, wanted, n * n);
            cr_expect_leq(error, 1e-6, "%zu channels, tiles of %zu: %g", n, tiles[k], error);
            rx_destroy(rx);
        }
        free(wanted);
        free(got);
        scene_free(&s);
    }
}

/* A dark chunk before a bright rest: what a sum around the first chunk's mean would lose. */
Test(rx_kernels, a_tile_whose_chunks_have_nothing_in_common)
{
    enum { C = 20, N = 8192 };
    uint64_t state = 2;
    struct scene s = {.pixels = N, .channels = C, .tile_pixels = N};
    double *wanted = block((size_t)C * C, sizeof *wanted), *got = block((size_t)C * C, sizeof *got);
    double mean[C];
    s.values = block((size_t)N * C, sizeof *s.values);
    for (size_t i = 0; i < (size_t)N * C; i++)
        s.values[i] = (float)(normal(&state) + (i < 512 * (size_t)C ? 0 : 1e4));
    two_passes(&s, mean, wanted);
    struct rx_source source = source_of(&s);
    struct rx *rx = detector_for(&s, 2);
    OK(rx_fit(rx, &source));
    OK(rx_covariance(rx, got));
    /* What is between chunks is summed in double. */
    cr_expect_leq(distance(got, wanted, (size_t)C * C), 1e-10, "%g",
                  distance(got, wanted, (size_t)C * C));
    rx_destroy(rx);
    scene_free(&s);
    free(wanted);
    free(got);
}
