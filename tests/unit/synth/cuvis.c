/* SYNTH_CUVIS against the generator of the cuvis.ai suite: the same distribution, by an
 * implementation of its formula that shares nothing with synth/, and by the exact probabilities. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/synth/rx_kit.h"
#include "tests/unit/synth/scene_kit.h"

#define PI 3.14159265358979323846

/* Random numbers of the reference: SplitMix64 (Steele, Lea and Flood, OOPSLA 2014). */
static uint64_t next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* 0 <= u < 1 */
static double uniform(uint64_t *state)
{
    return (double)(next(state) >> 11) * 0x1p-53;
}

static double normal(uint64_t *state)
{
    double radius = sqrt(-2 * log(1 - uniform(state)));
    return radius * cos(2 * PI * uniform(state));
}

static size_t discs_of(size_t height, size_t width, double ratio)
{
    size_t discs = (size_t)floor((double)(height * width) * ratio) / 20;
    return discs > 1 ? discs : 1;
}

/* A sample as the reference makes one: centres anywhere, discs cut off at the border. */
static void reference(const struct synth_spec *spec, uint64_t *state, float *values,
                      uint8_t *labels)
{
    int height = (int)spec->height, width = (int)spec->width, channels = (int)spec->channels;
    memset(labels, 0, spec->height * spec->width);
    for (size_t d = discs_of(spec->height, spec->width, 0.05); d > 0; d--) {
        int r = 2 + (int)(uniform(state) * 4);
        int cy = (int)(uniform(state) * height), cx = (int)(uniform(state) * width);
        for (int y = 0; y < height; y++)
            for (int x = 0; x < width; x++)
                labels[y * width + x] |= (y - cy) * (y - cy) + (x - cx) * (x - cx) <= r * r;
    }
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            for (int c = 0; c < channels; c++) {
                double w = channels > 1 ? c / (double)(channels - 1) : 0;
                double bright =
                    (1 + 0.2 * sin(2 * PI * y / height)) * (1 + 0.2 * cos(2 * PI * x / width));
                double at = 100 * exp(-(w - 0.5) * (w - 0.5) / 0.1) * bright + 10 * normal(state);
                if (labels[y * width + x])
                    at = 150 *
                         (exp(-(w - 0.3) * (w - 0.3) / 0.05) + exp(-(w - 0.7) * (w - 0.7) / 0.05));
                values[((size_t)y * spec->width + (size_t)x) * spec->channels + (size_t)c] =
                    (float)at;
            }
}

/* ---- moments over samples ---- */

enum { FIGURES = 3 };
static const char *const names[FIGURES] = {"coverage", "coverage of the border rows", "AUC"};

struct moments {
    double n, sum[FIGURES], squares[FIGURES], fourth[FIGURES];
};

/* The first and the last row are the border rows. */
static void judge(const float *values, const uint8_t *labels, const struct synth_spec *spec,
                  double figure[FIGURES])
{
    size_t pixels = spec->height * spec->width;
    figure[0] = figure[1] = 0;
    for (size_t i = 0; i < pixels; i++) {
        bool border = i < spec->width || i >= pixels - spec->width;
        figure[0] += labels[i] / (double)pixels;
        figure[1] += border * labels[i] / (double)(2 * spec->width);
    }
    figure[2] = spec->channels > 1 ? rx_run(values, labels, pixels, spec->channels).auc : 0.5;
}

static double mean_of(const struct moments *m, int k)
{
    return m->sum[k] / m->n;
}

static double variance_of(const struct moments *m, int k)
{
    return m->squares[k] / m->n - mean_of(m, k) * mean_of(m, k);
}

/* Of the variance's estimate; fourth: the central moment, about the other generator's mean. */
static double variance_error(const struct moments *m, int k)
{
    double v = variance_of(m, k);
    return sqrt((m->fourth[k] / m->n - v * v) / m->n);
}

static void add(struct moments *m, const double figure[FIGURES], const double about[FIGURES])
{
    m->n++;
    for (int k = 0; k < FIGURES; k++) {
        m->sum[k] += figure[k];
        m->squares[k] += figure[k] * figure[k];
        m->fourth[k] += pow(figure[k] - about[k], 4);
    }
}

static void expect_same(const struct moments *a, const struct moments *b, const char *what)
{
    for (int k = 0; k < FIGURES; k++) {
        double mean = sqrt((variance_of(a, k) + variance_of(b, k)) / a->n);
        double spread = hypot(variance_error(a, k), variance_error(b, k));
        cr_log_info("%s, %s: mean %.4f +- %.4f, the reference's %.4f; deviation %.4f and %.4f",
                    what, names[k], mean_of(a, k), mean, mean_of(b, k), sqrt(variance_of(a, k)),
                    sqrt(variance_of(b, k)));
        cr_expect_leq(fabs(mean_of(a, k) - mean_of(b, k)), 4 * mean, "%s, %s: mean %g of %g +- %g",
                      what, names[k], mean_of(a, k), mean_of(b, k), mean);
        cr_expect_leq(fabs(variance_of(a, k) - variance_of(b, k)), 4 * spread,
                      "%s, %s: variance %g of %g +- %g", what, names[k], variance_of(a, k),
                      variance_of(b, k), spread);
    }
}

/* Means of the figures over samples, about which fourth moments are taken; near enough. */
static void check_moments(size_t height, size_t width, size_t channels, int samples,
                          const double about[FIGURES])
{
    struct synth_spec spec = kit_sized(height, width, channels);
    spec.preset = SYNTH_CUVIS;
    struct moments ours = {0}, theirs = {0};
    float *values = malloc(height * width * channels * sizeof *values);
    uint8_t *labels = malloc(height * width);
    uint64_t state = 2026;
    for (int i = 0; i < samples; i++) {
        double figure[FIGURES];
        spec.seed = (uint64_t)i;
        struct kit_cube cube = kit_cube(&spec, 5);
        judge(cube.value, cube.label, &spec, figure);
        add(&ours, figure, about);
        kit_free(cube);
        reference(&spec, &state, values, labels);
        judge(values, labels, &spec, figure);
        add(&theirs, figure, about);
    }
    char what[64];
    snprintf(what, sizeof what, "%zu x %zu x %zu", height, width, channels);
    expect_same(&ours, &theirs, what);
    free(values);
    free(labels);
}

/* The scale `small` of the suite: 10 discs, whose overlaps and cuts vary. */
Test(cuvis, is_distributed_like_the_reference, .timeout = 300)
{
    check_moments(64, 64, 10, 600, (const double[FIGURES]){0.095, 0.059, 0.45});
    check_moments(96, 40, 1, 2000, (const double[FIGURES]){0.091, 0.056, 0.5});
}

/* The probability that a disc covers a pixel is the number of centres in the image that are near
 * enough, over all; of each of n independent discs. */
static void exact_coverage(int height, int width, double exact[2])
{
    double n = (double)discs_of((size_t)height, (size_t)width, 0.05);
    exact[0] = exact[1] = 0;
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            double q = 0;
            for (int r = 2; r <= 5; r++)
                for (int dy = -r; dy <= r; dy++)
                    for (int dx = -r; dx <= r; dx++)
                        q += dy * dy + dx * dx <= r * r && y + dy >= 0 && y + dy < height &&
                             x + dx >= 0 && x + dx < width;
            double covered = 1 - pow(1 - q / 4 / height / width, n);
            exact[0] += covered / (height * width);
            exact[1] += (y == 0 || y == height - 1) * covered / (2 * width);
        }
}

Test(cuvis, covers_what_its_discs_should, .timeout = 120)
{
    enum { HEIGHT = 128, WIDTH = 128, SAMPLES = 1000 };
    struct synth_spec spec = kit_sized(HEIGHT, WIDTH, 1);
    spec.preset = SYNTH_CUVIS;
    struct moments ours = {0};
    double exact[FIGURES] = {0};
    exact_coverage(HEIGHT, WIDTH, exact);
    struct synth_scene *scene = kit_scene(&spec);
    for (uint64_t i = 0; i < SAMPLES; i++) {
        double figure[FIGURES];
        struct kit_cube cube = kit_make(scene, i);
        judge(cube.value, cube.label, &spec, figure);
        add(&ours, figure, exact);
        kit_free(cube);
    }
    for (int k = 0; k < 2; k++) {
        double error = sqrt(variance_of(&ours, k) / SAMPLES);
        cr_log_info("%s: %.5f +- %.5f, exactly %.5f", names[k], mean_of(&ours, k), error, exact[k]);
        cr_expect_leq(fabs(mean_of(&ours, k) - exact[k]), 4 * error, "%s: %g, should be %g +- %g",
                      names[k], mean_of(&ours, k), exact[k], error);
    }
    synth_scene_destroy(scene);
}

/* The smallest image has one disc, which covers what of it lies inside; ratio off: none has. */
Test(cuvis, has_a_disc_at_least_and_none_when_off)
{
    static const size_t sides[] = {1, 3, 40, 64};
    for (int i = 0; i < 4; i++) {
        struct synth_spec spec = kit_sized(sides[i], sides[i], 3);
        spec.preset = SYNTH_CUVIS;
        for (int off = 0; off < 2; off++) {
            spec.anomaly_ratio = off ? SYNTH_OFF : 1e-9;
            struct kit_cube cube = kit_cube(&spec, 1);
            size_t marked = 0;
            for (size_t p = 0; p < cube.pixels; p++)
                marked += cube.label[p];
            cr_expect(off ? marked == 0 : marked > 0 && marked <= 81, "side %zu: %zu pixels",
                      sides[i], marked);
            kit_free(cube);
        }
    }
}
