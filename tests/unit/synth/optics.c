/* Point spread, smile and keystone against what they do to a cube without them, in double. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/synth/scene_kit.h"

/* Light that is neither read by a sensor nor rounded. */
static struct synth_spec clean(size_t height, size_t width, size_t channels)
{
    struct synth_spec spec = kit_sized(height, width, channels);
    spec.snr_db = spec.prnu = spec.dsnu = spec.bits = spec.dead_fraction = SYNTH_OFF;
    spec.target_fraction = 0.05;
    spec.correlation_px = 5;
    return spec;
}

static size_t mirror(long at, size_t size)
{
    while (at < 0 || at >= (long)size)
        at = at < 0 ? -1 - at : 2 * (long)size - 1 - at;
    return (size_t)at;
}

/* ---- point spread ---- */

/* What a Gaussian makes of plane c of a cube of `channels`. */
static double blurred(const float *plane, const struct synth_spec *spec, size_t channels, size_t c,
                      size_t row, size_t column)
{
    double s = spec->psf_px / sqrt(8 * log(2)), sum = 0, weights = 0;
    long reach = (long)(1.5 * spec->psf_px) + 1;
    for (long y = -reach; y <= reach; y++)
        for (long x = -reach; x <= reach; x++) {
            double weight = exp(-0.5 * (double)(x * x + y * y) / (s * s));
            size_t at = mirror((long)row + y, spec->height) * spec->width +
                        mirror((long)column + x, spec->width);
            weights += weight;
            sum += weight * (double)plane[at * channels + c];
        }
    return sum / weights;
}

static void check_spread(struct synth_spec spec, double psf_px)
{
    struct kit_cube sharp = kit_cube(&spec, 3);
    spec.psf_px = psf_px;
    struct kit_cube cube = kit_cube(&spec, 3);
    double worst = 0;
    for (size_t i = 0; i < cube.values; i++) {
        size_t pixel = i / spec.channels;
        double want = blurred(sharp.value, &spec, spec.channels, i % spec.channels,
                              pixel / spec.width, pixel % spec.width);
        worst = fmax(worst, fabs((double)cube.value[i] / want - 1));
    }
    cr_expect_lt(worst, 1.2e-6, "%g px: %g", psf_px, worst);
    kit_free(sharp);
    kit_free(cube);
}

Test(optics, spread_each_pixels_light)
{
    check_spread(clean(23, 61, 7), 1.5);
    check_spread(clean(23, 61, 7), 0.4);
    check_spread(clean(31, 30, 3), 6);
    check_spread(clean(3, 2, 5), 4); /* far smaller than the spread */
    check_spread(clean(1, 1, 150), 2.2);
}

/* The image beyond the border is its mirror image, so no light is lost. */
Test(optics, lose_no_light)
{
    struct synth_spec spec = clean(40, 50, 4);
    struct kit_cube sharp = kit_cube(&spec, 3);
    spec.psf_px = 3;
    struct kit_cube cube = kit_cube(&spec, 3);
    double before[4] = {0}, after[4] = {0};
    for (size_t i = 0; i < cube.values; i++) {
        before[i % 4] += (double)sharp.value[i];
        after[i % 4] += (double)cube.value[i];
    }
    for (int c = 0; c < 4; c++)
        cr_expect_lt(fabs(after[c] / before[c] - 1), 2e-7, "%g", after[c] / before[c]);
    kit_free(sharp);
    kit_free(cube);
}

/* Truth is that of the light: with S and blurred, as parts of all. S of a pixel from a channel
 * without path, whose spectra are known. */
Test(optics, have_the_truth_of_the_light)
{
    struct synth_spec spec = clean(41, 43, 60);
    spec.variability = spec.path = SYNTH_OFF;
    struct kit_cube sharp = kit_cube(&spec, 3);
    spec.psf_px = 1.5;
    struct synth_scene *scene = kit_scene(&spec);
    struct kit_cube cube = kit_make(scene, 3);
    size_t labels = 0, same = 0, targets = 0;
    for (size_t i = 0; i < cube.pixels; i++) {
        double sum = (double)cube.fill[i], light = 0;
        for (size_t k = 0; k < 6; k++)
            sum += (double)cube.abundances[6 * i + k];
        cr_assert_lt(fabs(sum - 1), 4e-7, "pixel %zu: %.9g", i, sum);
        labels += cube.label[i] > 0;
        targets += sharp.label[i] > 0;
        /* A target keeps its label but where it is weak and its neighbours are bright. */
        cr_assert(sharp.label[i] == 0 || cube.label[i] > 0 || cube.fill[i] < 0.05, "pixel %zu", i);
        same += sharp.label[i] > 0 && cube.label[i] == sharp.label[i];
        cr_assert_eq(cube.valid[i], 1);
        if (cube.fill[i] > 0)
            continue;
        for (size_t c = 0; c < 60; c++) {
            double ground = 0;
            for (size_t k = 0; k < 6; k++)
                ground +=
                    (double)cube.abundances[6 * i + k] * (double)synth_scene_light(scene, k)[c];
            double is = (double)cube.value[60 * i + c] / ground;
            light = c == 0 ? is : light;
            cr_assert_lt(fabs(is / light - 1), 4e-6, "pixel %zu channel %zu", i, c);
        }
    }
    cr_expect_gt(targets, 50);
    cr_expect_gt(labels, targets);
    cr_expect_gt((double)same, 0.9 * (double)targets);
    synth_scene_destroy(scene);
    kit_free(sharp);
    kit_free(cube);
}

/* ---- keystone ---- */

Test(optics, let_each_channel_look_at_a_place_of_its_own)
{
    static const double shifts[] = {0.3, 1, 2.5, 4};
    for (size_t n = 0; n < 4; n++) {
        struct synth_spec spec = clean(7, 33, 150);
        struct kit_cube straight = kit_cube(&spec, 3);
        spec.keystone_px = shifts[n];
        struct kit_cube cube = kit_cube(&spec, 3);
        double worst = 0;
        for (size_t i = 0; i < cube.values; i++) {
            size_t c = i % 150, column = i / 150 % 33, row = i / 150 / 33;
            double at = (double)column + shifts[n] * (double)c / 149, part = at - floor(at);
            const float *from = straight.value + row * 33 * 150 + c;
            double want = (1 - part) * (double)from[mirror((long)at, 33) * 150] +
                          part * (double)from[mirror((long)at + 1, 33) * 150];
            worst = fmax(worst, fabs((double)cube.value[i] / want - 1));
        }
        cr_expect_lt(worst, 1.2e-6, "%g px: %g", shifts[n], worst);
        cr_assert(cube.abundances != NULL && straight.abundances != NULL);
        cr_expect_arr_eq(cube.abundances, straight.abundances, 6 * cube.pixels * sizeof(float));
        cr_expect_arr_eq(cube.label, straight.label, cube.pixels);
        kit_free(straight);
        kit_free(cube);
    }
}

/* ---- smile ---- */

enum { FINE = 16801, BANDS = 200, COLUMNS = 41 }; /* every 0.125 nm */

/* The mean of a fine spectrum under a Gaussian, by Simpson's rule; see passband.c. */
static double seen(const float *fine, double centre, double fwhm)
{
    double s = fwhm / sqrt(8 * log(2)), sum = 0, weights = 0;
    for (long i = lround((centre - 400 - 7 * s) * 8); i <= (centre - 400 + 7 * s) * 8; i++) {
        double d = (400 + (double)i / 8 - centre) / s;
        double weight = exp(-0.5 * d * d) * (i % 2 == 0 ? 2 : 4);
        sum += weight * (double)fine[i < 0 ? 0 : i >= FINE ? FINE - 1 : i];
        weights += weight;
    }
    return sum / weights;
}

/* Largest error of a column, from the truth and the fine spectra; in `all` the largest value. */
static double worst_of_column(const struct kit_cube *cube, const struct synth_scene *fine,
                              const float *path, double smile, size_t column, double *all)
{
    double u = 2.0 * (double)column / (COLUMNS - 1) - 1, worst = 0;
    for (size_t c = 0; c < BANDS; c++) {
        double centre = 400 + 2100.0 * (double)c / (BANDS - 1) + smile * u * u, x;
        double light[6], air = seen(path, centre, 2100.0 / (BANDS - 1));
        for (size_t k = 0; k < 6; k++)
            light[k] = seen(synth_scene_light(fine, k), centre, 2100.0 / (BANDS - 1));
        for (size_t row = 0; row < 3; row++) {
            size_t pixel = row * COLUMNS + column;
            x = air;
            for (size_t k = 0; k < 6; k++)
                x += (double)cube->abundances[6 * pixel + k] * light[k];
            worst = fmax(worst, fabs((double)cube->value[pixel * BANDS + c] - x));
            *all = fmax(*all, x);
        }
    }
    return worst;
}

/* On a knot the error is that of rounding; between two it grows with the square of the smile: at 2
 * nm a fortieth of a step of 16 bits, at 20 nm two of them, where noise at 40 dB has fifty. */
Test(optics, shift_the_channels_with_the_column)
{
    static const struct {
        double smile, error;
    } cases[] = {{2, 4.5e-7}, {20, 4e-5}};
    struct synth_spec points = kit_sized(1, 1, FINE);
    points.fwhm_nm = SYNTH_OFF;
    struct synth_scene *fine = kit_scene(&points);
    float *path = malloc(FINE * sizeof *path);
    synth_scene_path(fine, path);
    for (int n = 0; n < 2; n++) {
        struct synth_spec spec = clean(3, COLUMNS, BANDS);
        spec.variability = spec.shade = spec.grain = spec.target_fraction = SYNTH_OFF;
        spec.smile_nm = cases[n].smile;
        struct kit_cube cube = kit_cube(&spec, 3);
        double all = 0, knots = 0, between = 0;
        /* Every fifth column is at a quarter of the half width, so on a knot. */
        static const size_t columns[] = {0, 5, 20, 35, 1, 2, 8, 16, 38};
        for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
            double worst = worst_of_column(&cube, fine, path, cases[n].smile, columns[i], &all);
            double *of = columns[i] % 5 == 0 ? &knots : &between;
            *of = fmax(*of, worst);
        }
        cr_log_info("smile %g nm: %.2g on knots, %.2g between, of %.2g", cases[n].smile, knots,
                    between, all);
        cr_expect_lt(knots, 5e-8, "%g nm: %g", cases[n].smile, knots);
        cr_expect_lt(between, cases[n].error, "%g nm: %g", cases[n].smile, between);
        kit_free(cube);
    }
    synth_scene_destroy(fine);
    free(path);
}

/* ---- together ---- */

/* The sensor's part is what it is without optics: a spread too small to reach a neighbour changes
 * no more than rounding, and dead pixels and elements stay where they are. */
Test(optics, leave_the_sensor_as_it_is)
{
    struct synth_spec spec = kit_sized(19, 29, 40);
    spec.dead_fraction = 0.05;
    spec.dead_elements = 0.05;
    spec.blank_bands = true;
    spec.water = 1;
    spec.fwhm_nm = 20;
    struct kit_cube plain = kit_cube(&spec, 3);
    spec.psf_px = 0.01;
    struct kit_cube cube = kit_cube(&spec, 3);
    size_t off = 0;
    for (size_t i = 0; i < cube.values; i++) {
        cr_assert_eq(isnan(cube.value[i]), isnan(plain.value[i]));
        if (isnan(cube.value[i]))
            continue;
        cr_assert_leq(fabs((double)cube.value[i] - (double)plain.value[i]), 0x1p-16);
        cr_assert((cube.value[i] == 0) == (plain.value[i] == 0));
        off += cube.value[i] != plain.value[i];
    }
    cr_expect_lt((double)off, 0.01 * (double)cube.values, "%zu of %zu", off, cube.values);
    cr_expect_arr_eq(cube.label, plain.label, cube.pixels);
    cr_expect_arr_eq(cube.valid, plain.valid, cube.pixels);
    kit_free(plain);
    kit_free(cube);
}

/* All at once, in tiles and bands, at every instruction set. */
Test(optics, are_the_same_in_any_tiles_and_bands)
{
    struct synth_spec spec = kit_sized(13, 37, 131);
    spec.target_fraction = spec.dead_fraction = 0.05;
    spec.psf_px = 2;
    spec.smile_nm = 3;
    spec.keystone_px = 1.7;
    struct kit_cube whole = kit_cube(&spec, 3);
    for (int level = YPI_LEVEL_BASELINE; level < YPI_LEVELS; level++) {
        spec.level = (enum ypi_level)level;
        if (!ypi_level_runs(spec.level))
            continue;
        struct synth_scene *scene = kit_scene(&spec);
        struct kit_cube cut = kit_new(synth_scene_spec(scene));
        for (size_t at = 0, tile = 1; at < cut.pixels; at += tile, tile = tile * 3 % 47 + 1) {
            tile = tile < cut.pixels - at ? tile : cut.pixels - at;
            struct synth_truth truth = {cut.label + at, cut.fill + at, cut.abundances + 6 * at,
                                        cut.valid + at};
            synth_scene_tile(scene, 3, at, tile, cut.value + at * 131, &truth);
        }
        cr_expect_arr_eq(cut.value, whole.value, whole.values * sizeof(float), "%d", level);
        cr_assert(cut.abundances != NULL && whole.abundances != NULL);
        cr_expect_arr_eq(cut.abundances, whole.abundances, 6 * whole.pixels * sizeof(float));
        cr_expect_arr_eq(cut.fill, whole.fill, whole.pixels * sizeof(float));
        cr_expect_arr_eq(cut.label, whole.label, whole.pixels);
        float *band = malloc(whole.pixels * sizeof *band);
        for (size_t c = 0; c < 131; c += 13) {
            cr_assert_eq(synth_scene_band(scene, 3, c, 5, whole.pixels - 7, band), YP_OK);
            for (size_t p = 0; p < whole.pixels - 7; p++)
                cr_assert_arr_eq(&band[p], &whole.value[(p + 5) * 131 + c], sizeof *band);
        }
        free(band);
        kit_free(cut);
        synth_scene_destroy(scene);
    }
    kit_free(whole);
}
