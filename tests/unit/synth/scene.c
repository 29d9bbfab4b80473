/* The mixing scene, term by term of the formula in scene.h, from the outside: each in double from
 * what the interface gives, with everything else turned off. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/synth/scene_kit.h"

/* x = sum of up to 7 products and path, made of tables that are rounded once: a dozen roundings. */
#define ROUNDING (12 * 0x1p-24)
#define PI 3.14159265358979323846

/* ---- ground and atmosphere ---- */

static double gauss(double x, double at, double width)
{
    return exp(-0.5 * (x - at) * (x - at) / (width * width));
}

static double wavelength_of(const struct synth_spec *spec, size_t c)
{
    return spec->first_nm + (spec->last_nm - spec->first_nm) * (double)c /
                                (double)(spec->channels > 1 ? spec->channels - 1 : 1);
}

static double water_of(double part, double nm)
{
    return (1 - 0.6 * part * gauss(nm, 940, 20)) * (1 - 0.8 * part * gauss(nm, 1130, 25)) *
           (1 - part * gauss(nm, 1400, 40)) * (1 - part * gauss(nm, 1900, 50));
}

static double tau_of(const struct synth_spec *spec, double nm)
{
    return 0.5 * (0.2 + 0.8 * gauss(nm, 700, 500)) * water_of(spec->water, nm);
}

static double path_of(const struct synth_spec *spec, double nm)
{
    return spec->path / 2 * pow(400 / nm, 4);
}

/* m of scene.h, from the spectra that the scene gives. */
static double mean_signal(const struct synth_scene *scene)
{
    const struct synth_spec *spec = synth_scene_spec(scene);
    double sum = 0;
    for (size_t k = 0; k < spec->endmembers; k++)
        for (size_t c = 0; c < spec->channels; c++) {
            double nm = wavelength_of(spec, c);
            sum += tau_of(spec, nm) * (double)synth_scene_spectrum(scene, k)[c] + path_of(spec, nm);
        }
    return sum / (double)(spec->endmembers * spec->channels);
}

/* The mixture with atmosphere, from the truth; nothing else may be on. */
static void check_mixture(struct synth_spec spec)
{
    struct synth_scene *scene = kit_scene(&spec);
    const struct synth_spec *full = synth_scene_spec(scene);
    struct kit_cube cube = kit_make(scene, 3);
    for (size_t i = 0; i < cube.pixels; i++)
        for (size_t c = 0; c < spec.channels; c++) {
            double ground = 0, nm = wavelength_of(full, c);
            for (size_t k = 0; k < full->endmembers; k++)
                ground += (double)cube.abundances[i * full->endmembers + k] *
                          (double)synth_scene_spectrum(scene, k)[c];
            if (cube.label[i] > 0) {
                size_t target = full->endmembers + cube.label[i] - 1;
                ground += (double)cube.fill[i] * (double)synth_scene_spectrum(scene, target)[c];
            }
            double want = tau_of(full, nm) * ground + path_of(full, nm);
            cr_assert_lt(fabs((double)cube.value[i * spec.channels + c] / want - 1), ROUNDING,
                         "pixel %zu channel %zu: %.9g is not %.9g", i, c,
                         (double)cube.value[i * spec.channels + c], want);
        }
    kit_free(cube);
    synth_scene_destroy(scene);
}

Test(scene, is_what_the_truth_says_when_all_else_is_off)
{
    struct synth_spec spec = kit_off(kit_sized(23, 37, 101));
    check_mixture(spec);
    spec.endmembers = 2;
    spec.sharpness = 7;
    check_mixture(spec);
    spec.endmembers = 7;
    spec.target_fraction = 0.2;
    check_mixture(spec);
}

/* Variability and stripes that are on, but too weak to be seen: then other code makes the values.
 */
Test(scene, is_the_same_mixture_in_every_variant)
{
    static const size_t endmembers[] = {2, 6, 7};
    for (int i = 0; i < 3 * 4; i++) {
        struct synth_spec spec = kit_off(kit_sized(13, 37, 53));
        spec.endmembers = endmembers[i % 3];
        spec.target_fraction = 0.3;
        if (i / 3 % 2 == 1)
            spec.variability = 1e-9;
        if (i / 3 / 2 == 1)
            spec.prnu = spec.dsnu = 1e-9;
        check_mixture(spec);
    }
}

Test(scene, has_water_bands_and_light_from_the_path)
{
    struct synth_spec spec = kit_off(kit_sized(5, 7, 211));
    spec.water = 0; /* the default */
    check_mixture(spec);
    spec.water = 0.4;
    check_mixture(spec);
    spec.path = 0;
    check_mixture(spec);
    spec.path = 1;
    spec.first_nm = 500;
    spec.last_nm = 1000;
    check_mixture(spec);
    spec.channels = 1;
    check_mixture(spec);
}

Test(scene, names_its_wavelengths_and_good_bands)
{
    static const double water[] = {0.97, 0.72, 0.5, SYNTH_OFF};
    for (int i = 0; i < 4; i++) {
        struct synth_spec spec = kit_sized(2, 3, 421);
        spec.fwhm_nm = SYNTH_OFF;
        spec.water = water[i];
        struct synth_scene *scene = kit_scene(&spec);
        const struct synth_spec *full = synth_scene_spec(scene);
        size_t bad = 0;
        for (size_t c = 0; c < spec.channels; c++) {
            double nm = wavelength_of(full, c);
            cr_assert_lt(fabs((double)synth_scene_wavelengths(scene)[c] - nm), nm * 0x1p-24);
            cr_assert_eq(synth_scene_good_bands(scene)[c], water_of(full->water, nm) >= 0.3,
                         "water %g, %g nm", water[i], nm);
            bad += !synth_scene_good_bands(scene)[c];
        }
        cr_assert_eq(bad > 0, water[i] > 0.7, "water %g: %zu bad bands", water[i], bad);
        synth_scene_destroy(scene);
    }
}

/* What stands between the ground and the reading, each by its formula. */
Test(scene, tells_its_air_and_sensor)
{
    struct synth_spec spec = kit_sized(5, 7, 60);
    float tau[60], path[60], gains[60], offsets[60];
    double a, b, signal = 0;
    spec.seed = 3;
    spec.fwhm_nm = SYNTH_OFF;
    spec.snr_db = 30;
    struct synth_scene *scene = kit_scene(&spec);
    const struct synth_spec *full = synth_scene_spec(scene);
    synth_scene_transmission(scene, tau);
    synth_scene_path(scene, path);
    synth_scene_noise(scene, &a, &b);
    for (size_t c = 0; c < 60; c++) {
        double nm = wavelength_of(full, c);
        cr_expect_lt(fabs((double)tau[c] / tau_of(full, nm) - 1), 2e-7, "tau %zu", c);
        cr_expect_lt(fabs((double)path[c] / path_of(full, nm) - 1), 2e-7, "path %zu", c);
    }
    double m = mean_signal(scene), deviation = 0;
    cr_expect_lt(fabs(m * m / (a * m + b) / 1000 - 1), 1e-6);
    cr_expect_lt(fabs(a * m / b - 1), 1e-6);
    for (size_t column = 0; column < 7; column++) {
        synth_scene_column(scene, column, gains, offsets);
        for (size_t c = 0; c < 60; c++) {
            deviation += pow(((double)gains[c] - 1) / 0.005, 2) / 420;
            signal += pow((double)offsets[c] / (0.005 * m), 2) / 420;
        }
    }
    /* Means of 420 squares of normals: their deviation is 0.07. */
    cr_expect(fabs(deviation - 1) < 0.28 && fabs(signal - 1) < 0.28, "%g %g", deviation, signal);
    synth_scene_destroy(scene);

    spec = (struct synth_spec){.preset = SYNTH_CUVIS, .height = 5, .width = 7, .channels = 60};
    scene = kit_scene(&spec);
    synth_scene_transmission(scene, tau);
    synth_scene_path(scene, path);
    synth_scene_noise(scene, &a, &b);
    synth_scene_column(scene, 6, gains, offsets);
    for (size_t c = 0; c < 60; c++)
        cr_expect(tau[c] == 1 && path[c] == 0 && gains[c] == 1 && offsets[c] == 0);
    cr_expect(a == 0 && b == 0);
    synth_scene_destroy(scene);
}

Test(scene, reads_nothing_in_blank_bands_and_the_same_in_others)
{
    struct synth_spec spec = kit_sized(9, 11, 211);
    spec.dead_fraction = 0.1;
    struct synth_spec blank = spec;
    blank.blank_bands = true;
    struct kit_cube a = kit_cube(&spec, 1), b = kit_cube(&blank, 1);
    struct synth_scene *scene = kit_scene(&spec);
    size_t zeros = 0;
    for (size_t i = 0; i < a.values; i++) {
        bool good = synth_scene_good_bands(scene)[i % 211] != 0;
        if (!b.valid[i / 211])
            cr_assert(isnan(b.value[i]));
        else
            cr_assert_eq(b.value[i], good ? a.value[i] : 0.0f);
        zeros += !good;
    }
    cr_assert_gt(zeros, 0);
    synth_scene_destroy(scene);
    kit_free(a);
    kit_free(b);
}

/* ---- spectra ---- */

Test(scene, has_spectra_of_its_seed)
{
    struct synth_spec spec = kit_sized(1, 1, 200);
    for (spec.seed = 0; spec.seed < 200; spec.seed++) {
        struct synth_scene *scene = kit_scene(&spec);
        for (size_t k = 0; k < 6 + SYNTH_TARGETS; k++)
            for (size_t c = 0; c < 200; c++) {
                double e = (double)synth_scene_spectrum(scene, k)[c];
                cr_assert(e > 0 && e < 1, "seed %d spectrum %zu: %g", (int)spec.seed, k, e);
                cr_assert(k == 0 || k > 6 || e != (double)synth_scene_spectrum(scene, k - 1)[c]);
            }
        cr_assert_null(synth_scene_spectrum(scene, 6 + SYNTH_TARGETS));
        cr_assert_null(synth_scene_spectrum(scene, SIZE_MAX));
        synth_scene_destroy(scene);
    }
    struct synth_spec cuvis = kit_sized(8, 8, 5);
    cuvis.preset = SYNTH_CUVIS;
    struct synth_scene *scene = kit_scene(&cuvis);
    cr_assert_float_eq(synth_scene_spectrum(scene, 0)[2], 100, 1e-4); /* w = 1/2 */
    cr_assert_float_eq(synth_scene_spectrum(scene, 1)[2], 300 * exp(-0.8), 1e-4);
    cr_assert_null(synth_scene_spectrum(scene, 2));
    cr_assert_eq(synth_scene_wavelengths(scene)[4], 1.0f);
    cr_assert_eq(synth_scene_good_bands(scene)[4], 1);
    synth_scene_destroy(scene);
}

/* More endmembers or channels or another size leave a spectrum where it was. */
Test(scene, keeps_its_spectra_whatever_else_is_asked)
{
    struct synth_spec spec = kit_sized(3, 4, 21), other = kit_sized(64, 5, 41);
    spec.endmembers = 3;
    other.endmembers = 7;
    spec.fwhm_nm = other.fwhm_nm = SYNTH_OFF;
    struct synth_scene *a = kit_scene(&spec), *b = kit_scene(&other);
    for (size_t c = 0; c < 21; c++) {
        for (size_t k = 0; k < 3; k++)
            cr_assert_eq(synth_scene_spectrum(a, k)[c], synth_scene_spectrum(b, k)[2 * c]);
    }
    synth_scene_destroy(a);
    synth_scene_destroy(b);
}

/* ---- abundances and targets ---- */

/* ln(a_k / a_0) = sharpness (g_k - g_0), whose variance is 2 sharpness^2; at a pitch of 1 pixels
 * are independent. The polynomial's exp is good to 2^-22. */
Test(scene, has_abundances_by_a_softmax)
{
    struct synth_spec spec = kit_off(kit_sized(128, 128, 1)), twice;
    spec.correlation_px = 1;
    spec.target_fraction = 0.1;
    spec.endmembers = 5;
    spec.sharpness = 1;
    twice = spec;
    twice.sharpness = 2;
    struct kit_cube a = kit_cube(&spec, 2), b = kit_cube(&twice, 2);
    double sum[5] = {0}, squares[5] = {0}, n = (double)a.pixels;
    for (size_t i = 0; i < a.pixels; i++) {
        double total = (double)a.fill[i];
        cr_assert_eq(a.label[i] > 0, a.fill[i] > 0);
        for (size_t k = 0; k < 5; k++) {
            double x = (double)a.abundances[5 * i + k];
            cr_assert(x >= 0 && x <= 1);
            total += x;
            if (a.fill[i] > 0.9f)
                continue; /* little is left to take a logarithm of */
            double once = log(x / (double)a.abundances[5 * i]);
            double two = log((double)b.abundances[5 * i + k] / (double)b.abundances[5 * i]);
            cr_assert_lt(fabs(two - 2 * once), 8 * 0x1p-22);
            sum[k] += once;
            squares[k] += once * once;
        }
        cr_assert_lt(fabs(total - 1), 8 * 0x1p-24, "pixel %zu: %.9g", i, total);
    }
    for (size_t k = 1; k < 5; k++) {
        cr_expect_lt(fabs(sum[k] / n), 5 * sqrt(2 / n));
        cr_expect_lt(fabs(squares[k] / n - 2), 5 * sqrt(8 / n) + 0.02, "%g", squares[k] / n);
    }
    kit_free(a);
    kit_free(b);
}

Test(scene, fills_its_targets_as_asked)
{
    struct synth_spec spec = kit_off(kit_sized(128, 128, 1));
    spec.target_fraction = 0.5;
    spec.fill_low = 0.25;
    spec.fill_high = 0.75;
    struct kit_cube cube = kit_cube(&spec, 2);
    double n = 0, bins[10] = {0};
    for (size_t i = 0; i < cube.pixels; i++) {
        double f = (double)cube.fill[i];
        if (f == 0)
            continue;
        cr_assert(f >= 0.25 && f <= 0.75, "%.9g", f);
        bins[(int)fmin(9, (f - 0.25) * 20)]++;
        n++;
    }
    double chi = 0; /* chi-square with 9 degrees: mean 9, deviation 4.2 */
    for (int i = 0; i < 10; i++)
        chi += (bins[i] - n / 10) * (bins[i] - n / 10) / (n / 10);
    cr_expect_lt(chi, 40, "%g", chi);
    spec.fill_low = spec.fill_high = 1;
    kit_free(cube);
    check_mixture(spec); /* nothing but target */
    cube = kit_cube(&spec, 2);
    for (size_t i = 0; i < cube.pixels; i++)
        cr_assert(cube.fill[i] == 0 || cube.fill[i] == 1);
    kit_free(cube);
}

/* ---- shade and variability ---- */

/* S is one factor for all channels of a pixel, on what comes from the ground alone, targets too. */
Test(scene, shades_the_ground_but_not_the_path)
{
    struct synth_spec lit = kit_off(kit_sized(64, 64, 20)), shaded;
    lit.path = 0.5;
    lit.target_fraction = 0.2;
    lit.correlation_px = 1;
    shaded = lit;
    shaded.shade = 0.5;
    struct kit_cube a = kit_cube(&lit, 2), b = kit_cube(&shaded, 2);
    struct synth_scene *scene = kit_scene(&lit);
    const struct synth_spec *full = synth_scene_spec(scene);
    double low = 2, high = 0, n = 0, squares = 0;
    for (size_t i = 0; i < a.pixels; i++) {
        double first = 0;
        for (size_t c = 0; c < 20; c++) {
            double path = path_of(full, wavelength_of(full, c));
            double s = ((double)b.value[20 * i + c] - path) / ((double)a.value[20 * i + c] - path);
            /* path is up to some ten times the ground at 400 nm, hence its rounding too */
            double error = ROUNDING * (2 + 4 * path / ((double)a.value[20 * i + c] - path));
            first = c == 0 ? s : first;
            if (c == 19)
                low = fmin(low, s), high = fmax(high, s), squares += (s - 1) * (s - 1), n++;
            cr_assert_lt(fabs(s - first), 40 * ROUNDING + 2 * error, "pixel %zu channel %zu", i, c);
        }
    }
    cr_expect_float_eq(low, 0.25, 1e-5, "%.9g", low);
    cr_expect_float_eq(high, 1.75, 1e-5, "%.9g", high);
    /* g clamped to 1.5: E min(g^2, 2.25) = 0.7784 */
    double variance = squares / n / 0.25;
    cr_expect_lt(fabs(variance - 0.7784), 5 * 0.8 / sqrt(n), "%g", variance);
    synth_scene_destroy(scene);
    kit_free(a);
    kit_free(b);
}

/* S - 1 is grain times a standard normal of the pixel's own. */
Test(scene, has_grain_in_every_pixel_for_itself)
{
    struct synth_spec smooth = kit_off(kit_sized(128, 128, 3)), spec;
    spec = smooth;
    spec.grain = 0.1;
    struct kit_cube a = kit_cube(&smooth, 2), b = kit_cube(&spec, 2), c = kit_cube(&spec, 3);
    double n = (double)a.pixels, sum = 0, squares = 0, fourth = 0, product = 0, last = 0;
    for (size_t i = 0; i < a.pixels; i++) {
        double z = ((double)b.value[3 * i] / (double)a.value[3 * i] - 1) / 0.1;
        double again = ((double)b.value[3 * i + 2] / (double)a.value[3 * i + 2] - 1) / 0.1;
        cr_assert_lt(fabs(z - again), 4 * ROUNDING / 0.1);
        sum += z, squares += z * z, fourth += z * z * z * z, product += z * last;
        last = z;
    }
    cr_expect_lt(fabs(sum / n), 5 * sqrt(1 / n), "mean %g", sum / n);
    cr_expect_lt(fabs(squares / n - 1), 5 * sqrt(2 / n), "variance %g", squares / n);
    cr_expect_lt(fabs(fourth / n - 3), 5 * sqrt(96 / n), "fourth moment %g", fourth / n);
    cr_expect_lt(fabs(product / n), 5 * sqrt(1 / n), "neighbours: %g", product / n);
    cr_expect_arr_neq(b.value, c.value, b.values * sizeof(float));
    kit_free(a);
    kit_free(b);
    kit_free(c);
}

/* In each cell a field is a combination of 1, cos and sin of a third of a turn per pitch, so four
 * values in a row obey a recurrence; those values fix it, and from one cell to the next neither
 * value nor slope jumps. */
Test(scene, has_fields_of_raised_cosines)
{
    enum { PITCH = 8, WIDTH = 61 };
    struct synth_spec lit = kit_off(kit_sized(1, WIDTH, 1)), shaded;
    lit.correlation_px = PITCH;
    shaded = lit;
    shaded.shade = 0.1;
    struct kit_cube a = kit_cube(&lit, 2), b = kit_cube(&shaded, 2);
    double r[WIDTH], tolerance = 10 * ROUNDING / 0.1, step = 2 * PI / 3 / PITCH;
    double c = cos(step), s = sin(step);
    for (size_t i = 0; i < WIDTH; i++)
        r[i] = ((double)b.value[i] / (double)a.value[i] - 1) / 0.1;
    for (size_t i = 0; i + PITCH < WIDTH; i += PITCH)
        for (size_t j = i; j + 3 <= i + PITCH; j++)
            cr_assert_lt(fabs(r[j + 3] - (1 + 2 * c) * (r[j + 2] - r[j + 1]) - r[j]), tolerance,
                         "column %zu", j);
    /* From the border on, in either direction, r is A + B cos + C sin of the angle: the slope is C.
     * One step on it has grown by B (c - 1) + C s, two steps on by 2 s (C c - B s). */
    for (size_t i = PITCH; i + 2 < WIDTH; i += PITCH) {
        double slope[2];
        for (int right = 0; right < 2; right++) {
            double one = r[right ? i + 1 : i - 1] - r[i], two = r[right ? i + 2 : i - 2] - r[i];
            slope[right] = (2 * s * s * one + (c - 1) * two) / (2 * s * (s * s + c * (c - 1)));
        }
        cr_assert_lt(fabs(slope[0] + slope[1]), 20 * tolerance, "column %zu", i);
    }
    kit_free(a);
    kit_free(b);
}

enum { PSI = 14 }; /* most unknowns: level and shape of each material */

/* Solves a system of `n` by elimination with pivots. */
static void solve(int n, double m[PSI][PSI + 1], double x[PSI])
{
    for (int j = 0; j < n; j++) {
        int best = j;
        for (int i = j; i < n; i++)
            best = fabs(m[i][j]) > fabs(m[best][j]) ? i : best;
        for (int k = 0; k <= n; k++) {
            double swap = m[j][k];
            m[j][k] = m[best][k];
            m[best][k] = swap;
        }
        for (int i = j + 1; i < n; i++)
            for (int k = n; k >= j; k--)
                m[i][k] -= m[i][j] / m[j][j] * m[j][k];
    }
    for (int j = n - 1; j >= 0; j--) {
        x[j] = m[j][n];
        for (int k = j + 1; k < n; k++)
            x[j] -= m[j][k] * x[k];
        x[j] /= m[j][j];
    }
}

/* From x / tau = sum_k a_k e_k (1 + variability (h_k + h'_k cos(n pi w)) / 2), n = 1 + k mod 3: h
 * and h' of all materials by least squares over the channels; returns the largest residual. */
static double fit_psi(const struct synth_scene *scene, const float *value, const float *abundances,
                      double h[PSI])
{
    const struct synth_spec *spec = synth_scene_spec(scene);
    double normal[PSI][PSI + 1] = {{0}}, worst = 0;
    int unknowns = 2 * (int)spec->endmembers;
    for (int pass = 0; pass < 2; pass++)
        for (size_t c = 0; c < spec->channels; c++) {
            double row[PSI] = {0}, w = (double)c / (double)(spec->channels - 1);
            double rest = (double)value[c] / tau_of(spec, wavelength_of(spec, c)), is = 0;
            for (int k = 0; k < unknowns / 2; k++) {
                double part =
                    (double)abundances[k] * (double)synth_scene_spectrum(scene, (size_t)k)[c];
                rest -= part;
                row[2 * k] = part * spec->variability / 2;
                row[2 * k + 1] = row[2 * k] * cos((1 + k % 3) * PI * w);
            }
            for (int i = 0; i < unknowns && pass == 0; i++) {
                for (int j = 0; j < unknowns; j++)
                    normal[i][j] += row[i] * row[j];
                normal[i][unknowns] += row[i] * rest;
            }
            for (int i = 0; i < unknowns; i++)
                is += pass == 1 ? row[i] * h[i] : 0;
            worst = pass == 1 ? fmax(worst, fabs(is - rest)) : worst;
            if (pass == 0 && c + 1 == spec->channels)
                solve(unknowns, normal, h);
        }
    return worst;
}

/* With all seven materials, each in about equal parts, the fit leaves no more than rounding: a
 * wrong shape of any of them would. */
Test(scene, varies_every_material_in_its_shape)
{
    struct synth_spec spec = kit_off(kit_sized(16, 16, 200));
    spec.endmembers = 7;
    spec.correlation_px = 1;
    spec.sharpness = 0.1;
    spec.variability = 0.5;
    struct synth_scene *scene = kit_scene(&spec);
    struct kit_cube cube = kit_make(scene, 2);
    double worst = 0;
    for (size_t i = 0; i < cube.pixels; i++) {
        double h[PSI];
        worst = fmax(worst, fit_psi(scene, cube.value + 200 * i, cube.abundances + 7 * i, h));
    }
    cr_expect_lt(worst, 4e-7, "%g is not of levels and shapes", worst);
    kit_free(cube);
    synth_scene_destroy(scene);
}

/* Of pixels with enough of both materials, so that the fit is well conditioned: which those are
 * depends on abundances alone, of which h and h' are independent. E min((g/2)^2, 1) = 0.2301. */
Test(scene, varies_each_material_by_level_and_shape)
{
    struct synth_spec spec = kit_off(kit_sized(128, 128, 64));
    spec.endmembers = 2;
    spec.correlation_px = 1;
    spec.sharpness = 0.5;
    spec.variability = 0.5;
    struct synth_scene *scene = kit_scene(&spec);
    struct kit_cube cube = kit_make(scene, 2);
    enum { UNKNOWNS = 4 };
    double n = 0, sum[UNKNOWNS] = {0}, product[UNKNOWNS][UNKNOWNS] = {{0}}, top = 0;
    for (size_t i = 0; i < cube.pixels; i++) {
        const float *a = cube.abundances + 2 * i;
        double h[PSI] = {0};
        if (a[0] < 0.3f || a[1] < 0.3f)
            continue;
        double residual = fit_psi(scene, cube.value + 64 * i, a, h);
        cr_assert_lt(residual, 1e-6, "pixel %zu: %g is not of level and shape", i, residual);
        n++;
        for (int j = 0; j < UNKNOWNS; j++) {
            cr_assert_lt(fabs(h[j]), 1 + 1e-3, "pixel %zu: h is %g", i, h[j]);
            top = fmax(top, fabs(h[j]));
            sum[j] += h[j];
            for (int k = 0; k < UNKNOWNS; k++)
                product[j][k] += h[j] * h[k];
        }
    }
    cr_assert_gt(n, 5000);
    cr_expect_gt(top, 0.999);
    for (int j = 0; j < UNKNOWNS; j++) {
        cr_expect_lt(fabs(sum[j] / n), 5 * sqrt(0.2301 / n), "mean %d: %g", j, sum[j] / n);
        for (int k = 0; k < UNKNOWNS; k++)
            cr_expect_lt(fabs(product[j][k] / n - (j == k ? 0.2301 : 0)), 5 * 0.3 / sqrt(n),
                         "%d with %d: %g", j, k, product[j][k] / n);
    }
    kit_free(cube);
    synth_scene_destroy(scene);
}

/* ---- sensor ---- */

/* Photon and read noise are equal at m: variance of what noise adds, as a x + b, by the channel,
 * each of which has its own x. A variance from n values is good to sqrt(2 / n). */
Test(scene, has_photon_and_read_noise_that_are_equal_at_the_mean)
{
    struct synth_spec clean = kit_off(kit_sized(128, 128, 60)), spec;
    clean.path = 0.2;
    spec = clean;
    spec.snr_db = 30;
    struct kit_cube a = kit_cube(&spec, 2), b = kit_cube(&clean, 2);
    struct synth_scene *scene = kit_scene(&spec);
    double m = mean_signal(scene), n = (double)a.pixels;
    for (size_t c = 0; c < 60; c++) {
        double is = 0, want = 0, mean = 0;
        for (size_t i = 0; i < a.pixels; i++) {
            double x = (double)b.value[60 * i + c], r = (double)a.value[60 * i + c] - x;
            is += r * r / n;
            mean += r / n;
            want += m * m * 1e-3 * (0.5 * x / m + 0.5) / n;
        }
        cr_expect_lt(fabs(is / want - 1), 5 * sqrt(2 / n), "channel %zu: %g of %g", c, is, want);
        cr_expect_lt(fabs(mean), 5 * sqrt(want / n), "channel %zu: mean %g", c, mean);
    }
    synth_scene_destroy(scene);
    kit_free(a);
    kit_free(b);
}

/* y = gain x + offset by least squares over the rows of one column and channel of two cubes: both
 * the same ones, or the residual shows it. gain = 1 and offset = 0 when off. */
static void fit_column(struct kit_cube y[2], struct kit_cube x[2], size_t width, size_t at,
                       double *gain, double *offset)
{
    double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
    for (int cube = 0; cube < 2; cube++)
        for (size_t i = at; i < x[0].values; i += width) {
            double u = (double)x[cube].value[i], v = (double)y[cube].value[i];
            n++, sx += u, sy += v, sxx += u * u, sxy += u * v;
        }
    *gain = (n * sxy - sx * sy) / (n * sxx - sx * sx);
    *offset = (sy - *gain * sx) / n;
    for (int cube = 0; cube < 2; cube++)
        for (size_t i = at; i < x[0].values; i += width) {
            double want = *gain * (double)x[cube].value[i] + *offset;
            cr_assert_lt(fabs((double)y[cube].value[i] - want), 4 * 0x1p-24,
                         "value %zu of cube %d is not of its column", i, cube);
        }
}

static void check_striping(double prnu, double dsnu)
{
    enum { WIDTH = 256, CHANNELS = 100, COLUMNS = WIDTH * CHANNELS };
    struct synth_spec plain = kit_off(kit_sized(12, WIDTH, CHANNELS)), spec;
    plain.correlation_px = 2;
    spec = plain;
    spec.prnu = prnu;
    spec.dsnu = dsnu;
    struct kit_cube x[2], y[2];
    for (uint64_t cube = 0; cube < 2; cube++) {
        x[cube] = kit_cube(&plain, 7 * cube);
        y[cube] = kit_cube(&spec, 7 * cube);
    }
    struct synth_scene *scene = kit_scene(&spec);
    double m = mean_signal(scene), n = COLUMNS, g[4] = {0}, wide = fmax(prnu, 0);
    double deep = m * fmax(dsnu, 0);
    for (size_t at = 0; at < COLUMNS; at++) {
        double gain, offset;
        fit_column(y, x, COLUMNS, at, &gain, &offset);
        g[0] += gain - 1;
        g[1] += (gain - 1) * (gain - 1);
        g[2] += offset;
        g[3] += offset * offset;
    }
    /* Five standard errors, half a last place of bf16 (2^-9 of it), and what the fit is off. */
    cr_expect_lt(fabs(g[0] / n), 5 * wide / sqrt(n) + 1e-5, "gain %g", g[0] / n);
    cr_expect_lt(fabs(sqrt(g[1] / n) - wide), 5 * wide / sqrt(2 * n) + 3e-5, "gains %g of %g",
                 sqrt(g[1] / n), wide);
    cr_expect_lt(fabs(g[2] / n), 5 * deep / sqrt(n) + 1e-6, "offset %g", g[2] / n);
    cr_expect_lt(fabs(sqrt(g[3] / n) - deep), 5 * deep / sqrt(2 * n) + 1e-5 * m + 1e-6,
                 "offsets %g of %g", sqrt(g[3] / n), deep);
    synth_scene_destroy(scene);
    for (int cube = 0; cube < 2; cube++) {
        kit_free(x[cube]);
        kit_free(y[cube]);
    }
}

Test(scene, has_stripes_that_stay_with_column_and_channel)
{
    check_striping(0.02, 0.05);
    check_striping(0.02, SYNTH_OFF);
    check_striping(SYNTH_OFF, 0.05);
    check_striping(SYNTH_OFF, SYNTH_OFF);
}

/* So noisy that both ends are passed. Half a step, and half a last place of what is rounded. */
static void check_bits(double bits)
{
    struct synth_spec raw = kit_off(kit_sized(64, 64, 30)), spec;
    raw.snr_db = 1;
    raw.shade = 0.5;
    raw.path = 1;
    spec = raw;
    spec.bits = bits;
    struct kit_cube a = kit_cube(&raw, 1), b = kit_cube(&spec, 1);
    double steps = exp2(bits > 0 ? bits : 16), top = 1 - 1 / steps, clipped[2] = {0};
    for (size_t i = 0; i < a.values; i++) {
        double x = (double)a.value[i], y = (double)b.value[i];
        cr_assert_eq(y * steps, round(y * steps), "%.9g is no step of 2^-%g", y, bits);
        cr_assert(y >= 0 && y <= top);
        clipped[0] += x < 0;
        clipped[1] += x > 1;
        x = fmin(fmax(x, 0), top);
        cr_assert_leq(fabs(y - x), 0.5 / steps + 0x1p-24, "%.9g of %.9g", y, x);
    }
    cr_assert(clipped[0] > 0 && clipped[1] > 0);
    kit_free(a);
    kit_free(b);
}

Test(scene, reads_whole_steps_within_its_range)
{
    for (int bits = 8; bits <= 16; bits++)
        check_bits(bits);
    check_bits(0); /* the default: 16 */
}

/* Dead pixels are the sensor's, the same in all cubes; nothing else changes with them. */
Test(scene, has_dead_pixels_of_the_sensor)
{
    struct synth_spec alive = kit_sized(128, 128, 9), spec, other;
    alive.dead_fraction = SYNTH_OFF;
    spec = alive;
    spec.dead_fraction = 0.03;
    other = spec;
    other.seed++;
    struct kit_cube a = kit_cube(&spec, 2), b = kit_cube(&spec, 9), c = kit_cube(&alive, 2);
    struct kit_cube d = kit_cube(&other, 2);
    double n = (double)a.pixels, dead = 0;
    for (size_t i = 0; i < a.pixels; i++) {
        for (size_t k = 9 * i; k < 9 * i + 9; k++)
            cr_assert(a.valid[i] ? memcmp(&a.value[k], &c.value[k], sizeof(float)) == 0
                                 : isnan(a.value[k]));
        dead += !a.valid[i];
        cr_assert_eq(c.valid[i], 1);
    }
    cr_expect_lt(fabs(dead - 0.03 * n), 5 * sqrt(0.03 * 0.97 * n), "%g of %g", dead, n);
    cr_expect_arr_eq(a.valid, b.valid, a.pixels);
    cr_expect_arr_neq(a.valid, d.valid, a.pixels);
    cr_expect_arr_eq(a.fill, c.fill, a.pixels * sizeof *a.fill);
    cr_expect_arr_eq(a.abundances, c.abundances, 6 * a.pixels * sizeof *a.abundances);
    kit_free(a);
    kit_free(b);
    kit_free(c);
    kit_free(d);
}
