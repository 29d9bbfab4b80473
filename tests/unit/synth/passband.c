/* The channels' responses: means under a Gaussian, held to sums over a scene of so many channels,
 * sampled at points, that it shows the fine spectra themselves. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/synth/scene_kit.h"

enum { FINE = 16801, ROWS = 6 + SYNTH_TARGETS }; /* every 0.125 nm */

/* What a scene's tables say. */
struct tables {
    size_t channels;
    const float *spectrum[ROWS], *light[ROWS];
    float *tau, *path;
    const uint8_t *good;
    struct synth_scene *scene;
};

static struct tables tables_of(const struct synth_spec *spec)
{
    struct tables t = {.channels = spec->channels, .scene = kit_scene(spec)};
    t.tau = malloc(spec->channels * sizeof *t.tau);
    t.path = malloc(spec->channels * sizeof *t.path);
    synth_scene_transmission(t.scene, t.tau);
    synth_scene_path(t.scene, t.path);
    t.good = synth_scene_good_bands(t.scene);
    for (size_t k = 0; k < ROWS; k++) {
        t.spectrum[k] = synth_scene_spectrum(t.scene, k);
        t.light[k] = synth_scene_light(t.scene, k);
    }
    return t;
}

static void tables_free(struct tables t)
{
    free(t.tau);
    free(t.path);
    synth_scene_destroy(t.scene);
}

/* The mean of a fine spectrum under a Gaussian, by Simpson's rule; beyond the axis it is what it is
 * at its end, which is a kink at an even point. */
static double seen(const float *fine, double centre, double fwhm)
{
    double s = fwhm / sqrt(8 * log(2)), sum = 0, weights = 0;
    for (long i = lround((centre - 400 - 8 * s) * 8); i <= (centre - 400 + 8 * s) * 8; i++) {
        double d = (400 + (double)i / 8 - centre) / s;
        double weight = exp(-0.5 * d * d) * (i % 2 == 0 ? 2 : 4);
        long at = i < 0 ? 0 : i >= FINE ? FINE - 1 : i;
        sum += weight * (double)fine[at];
        weights += weight;
    }
    return sum / weights;
}

static double worst_of(const float *is, const float *fine, size_t channels, double fwhm)
{
    double worst = 0;
    for (size_t c = 0; c < channels; c++) {
        double centre = 400 + 2100.0 * (double)c / (double)(channels - 1);
        worst = fmax(worst, fabs((double)is[c] / seen(fine, centre, fwhm) - 1));
    }
    return worst;
}

/* Rows up to `rows`. Both sides are rounded to float once, and the fine spectra are too. */
static void check_means(const struct tables *fine, size_t channels, double fwhm, size_t rows)
{
    struct synth_spec spec = kit_sized(3, 4, channels);
    spec.fwhm_nm = fwhm;
    struct tables own = tables_of(&spec);
    double width = synth_scene_spec(own.scene)->fwhm_nm, worst = 0;
    cr_assert_float_eq(width, fwhm > 0 ? fwhm : 2100.0 / (double)(channels - 1), 1e-9);
    for (size_t k = 0; k < rows; k++) {
        worst = fmax(worst, worst_of(own.spectrum[k], fine->spectrum[k], channels, width));
        worst = fmax(worst, worst_of(own.light[k], fine->light[k], channels, width));
    }
    worst = fmax(worst, worst_of(own.tau, fine->tau, channels, width));
    worst = fmax(worst, worst_of(own.path, fine->path, channels, width));
    cr_log_info("%zu channels, %g nm: %.2g", channels, width, worst);
    cr_expect_lt(worst, 2.5e-7, "%zu channels, %g nm: %.3g", channels, width, worst);
    tables_free(own);
}

/* Targets are as in the fine scene from 100 channels on. */
Test(passband, gives_means_of_the_fine_spectra)
{
    struct synth_spec spec = kit_sized(3, 4, FINE);
    spec.fwhm_nm = SYNTH_OFF;
    struct tables fine = tables_of(&spec);
    check_means(&fine, 200, 0, ROWS);
    check_means(&fine, 101, 0, ROWS);
    check_means(&fine, 421, 25, ROWS);
    check_means(&fine, 150, 3, ROWS);
    check_means(&fine, 37, 0, 6);
    check_means(&fine, 7, 0, 6);
    check_means(&fine, 61, 300, 6);
    tables_free(fine);
}

/* A water band is bad by what a channel gets of it: a wide one at 1130 nm gets more light. */
Test(passband, tells_bad_bands_by_their_light)
{
    struct synth_spec spec = kit_sized(1, 1, 421);
    size_t bad[3] = {0};
    static const double widths[] = {SYNTH_OFF, 0, 150};
    for (int i = 0; i < 3; i++) {
        spec.fwhm_nm = widths[i];
        struct tables own = tables_of(&spec);
        for (size_t c = 0; c < 421; c++)
            bad[i] += !own.good[c];
        tables_free(own);
    }
    cr_expect(bad[0] > 20 && bad[1] > 20 && bad[2] < bad[1], "%zu, %zu, %zu", bad[0], bad[1],
              bad[2]);
}

Test(passband, is_of_the_axis_at_most)
{
    struct synth_spec spec = kit_sized(3, 4, 20);
    static const double bad[] = {1e-10, 2101, NAN, INFINITY, -2, -INFINITY};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        spec.fwhm_nm = bad[i];
        cr_expect_null(synth_scene_create(yp_device_cpu(), &spec), "%g", bad[i]);
        cr_expect_not_null(strstr(yp_last_error(), "synth_spec.fwhm_nm is"), "%s", yp_last_error());
        cr_expect_not_null(strstr(yp_last_error(), "here 2100"), "%s", yp_last_error());
        cr_expect_eq(synth_scene_bytes(&spec), 0);
    }
    static const double good[] = {1e-9, 2100, SYNTH_OFF};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        spec.fwhm_nm = good[i];
        struct synth_scene *scene = kit_scene(&spec);
        cr_expect_eq(synth_scene_spec(scene)->fwhm_nm, good[i] > 0 ? good[i] : 0);
        synth_scene_destroy(scene);
    }
    spec.preset = SYNTH_CUVIS;
    spec.fwhm_nm = 5;
    cr_expect_null(synth_scene_create(yp_device_cpu(), &spec));
    cr_expect_not_null(strstr(yp_last_error(), "fwhm_nm"), "%s", yp_last_error());
}

/* One channel has no spacing: a point, unless a width is asked for. */
Test(passband, of_a_single_channel_is_a_point)
{
    struct synth_spec spec = kit_sized(2, 2, 1), off = spec;
    off.fwhm_nm = SYNTH_OFF;
    struct kit_cube a = kit_cube(&spec, 0), b = kit_cube(&off, 0);
    cr_expect_arr_eq(a.value, b.value, a.values * sizeof(float));
    kit_free(a);
    kit_free(b);
    spec.fwhm_nm = 100;
    struct synth_scene *scene = kit_scene(&spec);
    cr_expect_eq(synth_scene_spec(scene)->fwhm_nm, 100);
    synth_scene_destroy(scene);
}

/* Nearly no width is a point. */
Test(passband, becomes_a_point_when_narrow)
{
    struct synth_spec narrow = kit_sized(1, 1, 211), off = narrow;
    narrow.fwhm_nm = 1e-5;
    off.fwhm_nm = SYNTH_OFF;
    struct tables a = tables_of(&narrow), b = tables_of(&off);
    for (size_t k = 0; k < ROWS; k++)
        for (size_t c = 0; c < 211; c++)
            cr_assert_lt(fabs((double)a.light[k][c] / (double)b.light[k][c] - 1), 2e-7);
    tables_free(a);
    tables_free(b);
}
