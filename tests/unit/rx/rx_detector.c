/* Scenes for the tests of the detector. */
#include "tests/unit/rx/rx_detector.h"

/* Gaussian pixels around `mean` whose covariance has eigenvalues from 1 down to 1 / condition,
 * turned by two reflections; one pixel in 16 is a target, moved along one direction. */
struct scene scene_make(size_t pixels, size_t channels, double condition, double mean)
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

struct rx *fitted(struct scene *s, int threads)
{
    struct rx *rx = detector_for(s, threads);
    struct rx_source source = source_of(s);
    OK(rx_fit(rx, &source));
    return rx;
}

void check_statistics_to(double bound, struct scene *s, size_t tile_pixels)
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
void check_statistics(struct scene *s, size_t tile_pixels)
{
    check_statistics_to(2e-7, s, tile_pixels);
}

/* ||got - oracle|| / ||oracle|| over a tensor */
double off(const float *got, const double *oracle_values, const struct yp_tensor *tensor)
{
    double difference = 0, norm = 0;
    for (size_t i = tensor->offset; i < tensor->offset + tensor->count; i++) {
        difference += pow((double)got[i] - oracle_values[i], 2);
        norm += oracle_values[i] * oracle_values[i];
    }
    return sqrt(difference / norm);
}
