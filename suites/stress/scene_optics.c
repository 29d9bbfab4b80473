/* Is what the header says of the optics what the cube has been seen through? Each is found again
 * in the files of `yieldpoint synth` alone. */
#include "suites/exported.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- the channels' width ---------------------------------------------------------------------- */

enum { MATERIALS = 6, FINE = 4201 };
#define FIRST_NM 400.0
#define FINE_NM 0.5

/* Mean spectrum of the pixels that are neither dead nor targets. */
static void mean_spectrum(struct yp_case *t, struct synth_cube_info *info, double *mean)
{
    struct synth_cube_info other;
    const float *values = exported_cube(t, "scene.img", info);
    const float *labels = exported_cube(t, "scene_labels.img", &other);
    const float *valid = exported_cube(t, "scene_valid.img", &other);
    double pixels = 0;
    size_t channels = info->channels;
    memset(mean, 0, channels * sizeof *mean);
    for (size_t p = 0; p < info->height * info->width; p++) {
        if (labels[p] > 0 || !(valid[p] > 0))
            continue;
        pixels++;
        for (size_t c = 0; c < channels; c++)
            mean[c] += (double)values[p * channels + c];
    }
    for (size_t c = 0; c < channels; c++)
        mean[c] /= pixels;
    yp_data_hash(t, yp_hash_f32(0, values, info->height * info->width * channels));
}

/* A fine spectrum under a Gaussian; what is beyond its ends is as at the end. */
static double seen(const float *fine, double nm, double fwhm)
{
    double s = fwhm / sqrt(8 * log(2)), sum = 0, weights = 0;
    long middle = lround((nm - FIRST_NM) / FINE_NM), reach = lround(6 * s / FINE_NM) + 1;
    for (long i = middle - reach; i <= middle + reach; i++) {
        double d = (FIRST_NM + (double)i * FINE_NM - nm) / s, weight = exp(-0.5 * d * d);
        sum += weight * (double)fine[i < 0 ? 0 : i >= FINE ? FINE - 1 : i];
        weights += weight;
    }
    return sum / weights;
}

/* Takes the projection of v[MATERIALS] on the others off it; returns the square of what is left. */
static double left_of(double *rows[MATERIALS + 1], size_t channels)
{
    double squares = 0;
    for (int k = 0; k <= MATERIALS; k++) {
        squares = 0;
        for (int pass = 0; pass < 2; pass++) /* twice: Gram-Schmidt as good as any */
            for (int j = 0; j < k; j++) {
                double dot = 0;
                for (size_t c = 0; c < channels; c++)
                    dot += rows[j][c] * rows[k][c];
                for (size_t c = 0; c < channels; c++)
                    rows[k][c] -= dot * rows[j][c];
            }
        for (size_t c = 0; c < channels; c++)
            squares += rows[k][c] * rows[k][c];
        for (size_t c = 0; c < channels && k < MATERIALS; c++)
            rows[k][c] /= sqrt(squares);
    }
    return squares;
}

/* What of the mean spectrum no mixture of the materials, seen by channels so wide and shifted so
 * far, can be. */
static double misfit(const double *mean, const struct synth_cube_info *info,
                     const float *const fine[MATERIALS], const float *path, double fwhm,
                     double shift, double *rows[MATERIALS + 1])
{
    for (size_t c = 0; c < info->channels; c++) {
        double nm = (double)info->wavelengths[c] + shift, air = seen(path, nm, fwhm);
        for (int k = 0; k < MATERIALS; k++)
            rows[k][c] = seen(fine[k], nm, fwhm) - air; /* they come with the path */
        rows[MATERIALS][c] = mean[c] - air;
    }
    return left_of(rows, info->channels);
}

/* The width, or the shift of channels of a known width, at which the misfit is least, between low
 * and high, by golden section. */
static double fitted(struct yp_case *t, const double *mean, const struct synth_cube_info *info,
                     double known_width, double low, double high)
{
    size_t count, one;
    const float *all = exported_array(t, "fine_endmembers.npy", &count, FINE);
    const float *path = exported_array(t, "fine_path.npy", &one, FINE);
    const float *fine[MATERIALS];
    double *rows[MATERIALS + 1], golden = (sqrt(5) - 1) / 2;
    for (size_t k = 0; k <= MATERIALS; k++)
        rows[k] = yp_alloc(t, info->channels * sizeof **rows);
    for (size_t k = 0; k < MATERIALS; k++)
        fine[k] = all + k * FINE;
    for (int i = 0; i < 16; i++) {
        double at[2] = {high - golden * (high - low), low + golden * (high - low)}, is[2];
        for (int k = 0; k < 2; k++)
            is[k] = known_width > 0 ? misfit(mean, info, fine, path, known_width, at[k], rows)
                                    : misfit(mean, info, fine, path, at[k], 0, rows);
        *(is[0] < is[1] ? &high : &low) = at[is[0] < is[1]];
    }
    return (low + high) / 2;
}

static void export_fine(struct yp_case *t)
{
    exported_make(
        t, "fine",
        (const char *[]){"--height=1", "--width=1", "--channels=4201", "--fwhm-nm=off", NULL});
}

/* A cube with everything on but the materials' variability, and the fine spectra of the same seed
 * sampled at points: the channels' width is that under which the fine spectra explain the mean
 * pixel best. What it is off by, in its square, does not depend on it: up to 3.8 nm^2 over seeds 0
 * to 15, which are 1.7 % of the default's 10.55 nm and 0.3 % of 25; stripes, of which 64 columns
 * are averaged, are most of it. */
YP_TEST(optics, width, .tags = "stress small", .timeout = 120, .parallel = true,
        .axes = YP_AXES(yp_axis_string("fwhm", "default", "16", "25")),
        .budgets = YP_BUDGETS(yp_max_value("square of the width off", 5)))
{
    struct synth_cube_info info;
    char width[32] = "--interleave=bip"; /* the default: says nothing */
    static double mean[200];
    if (strcmp(yp_string(t, "fwhm"), "default") != 0)
        snprintf(width, sizeof width, "--fwhm-nm=%s", yp_string(t, "fwhm"));
    exported_make(t, "scene",
                  (const char *[]){"--height=64", "--width=64", "--channels=200",
                                   "--variability=off", width, NULL});
    exported_make(
        t, "fine",
        (const char *[]){"--height=1", "--width=1", "--channels=4201", "--fwhm-nm=off", NULL});
    mean_spectrum(t, &info, mean);
    yp_require(t, info.fwhm != NULL && info.wavelengths != NULL, "no fwhm in the header");
    double said = (double)info.fwhm[0], is = fitted(t, mean, &info, 0, 0.5 * said, 2 * said);
    struct synth_cube_info points;
    exported_cube(t, "fine.img", &points);
    yp_value(t, "width", is);
    yp_value(t, "square of the width off", fabs(is * is - said * said));
    for (size_t c = 1; c < info.channels; c++)
        yp_require(t, info.fwhm[c] == info.fwhm[0], "channel %zu has another width", c);
    yp_expect(t, points.fwhm == NULL && points.wavelengths != NULL,
              "points have a width in the header");
}

/* -- smile ------------------------------------------------------------------------------------- */

/* The mean spectrum of each of a few columns is explained best by channels that are shifted by
 * smile_nm times the square of the column's distance from the middle. Stripes are off, since those
 * of a single column look like a shift; noise is that of 64 rows. Over seeds 0 to 15 the worst of
 * five columns is off by 0.01 to 0.055 nm. */
YP_TEST(optics, smile, .tags = "stress small", .timeout = 120, .parallel = true,
        .budgets = YP_BUDGETS(yp_max_value("shift off", 0.08)))
{
    enum { COLUMNS = 65, ROWS = 64, CHANNELS = 100 };
    const double smile = 3;
    struct synth_cube_info info;
    double mean[CHANNELS], off = 0;
    exported_make(t, "scene",
                  (const char *[]){"--height=64", "--width=65", "--channels=100", "--smile-nm=3",
                                   "--variability=off", "--prnu=off", "--dsnu=off",
                                   "--dead-fraction=off", "--target-fraction=off", NULL});
    export_fine(t);
    const float *values = exported_cube(t, "scene.img", &info);
    yp_require(t, info.width == COLUMNS && info.height == ROWS && info.channels == CHANNELS,
               "another shape");
    for (size_t column = 0; column < COLUMNS; column += 16) {
        memset(mean, 0, sizeof mean);
        for (size_t i = 0; i < (size_t)ROWS * CHANNELS; i++)
            mean[i % CHANNELS] +=
                (double)values[(i / CHANNELS * COLUMNS + column) * CHANNELS + i % CHANNELS] / ROWS;
        double u = 2.0 * (double)column / (COLUMNS - 1) - 1;
        double is = fitted(t, mean, &info, (double)info.fwhm[0], -5, 5);
        printf("column %zu: %.3f of %.3f nm\n", column, is, smile * u * u);
        off = fmax(off, fabs(is - smile * u * u));
    }
    yp_data_hash(t, yp_hash_f32(0, values, (size_t)ROWS * COLUMNS * CHANNELS));
    yp_value(t, "shift off", off);
}

/* -- point spread and keystone ---------------------------------------------------------------- */

/* A scene of grain alone: white before the optics, whose traces are all that correlates. */
enum { GRAIN_SIDE = 256, GRAIN_CHANNELS = 9 };

static const float *export_grain(struct yp_case *t, const char *optics)
{
    struct synth_cube_info info;
    exported_make(t, "scene",
                  (const char *[]){"--height=256", "--width=256", "--channels=9",
                                   "--sharpness=1e-9", "--variability=off", "--shade=off",
                                   "--target-fraction=off", "--snr-db=off", "--prnu=off",
                                   "--dsnu=off", "--dead-fraction=off", "--bits=off",
                                   "--quantity=reflectance", optics, NULL});
    const float *values = exported_cube(t, "scene.img", &info);
    yp_require(
        t, info.width == GRAIN_SIDE && info.height == GRAIN_SIDE && info.channels == GRAIN_CHANNELS,
        "another shape");
    yp_data_hash(t, yp_hash_f32(0, values, (size_t)GRAIN_SIDE * GRAIN_SIDE * GRAIN_CHANNELS));
    return values;
}

/* Covariance of channel c with channel d so many columns and rows further, of the inner pixels. */
static double covariance(const float *values, size_t c, size_t d, long columns, long rows)
{
    enum { EDGE = 8 };
    double n = 0, x = 0, y = 0, xy = 0;
    for (long row = EDGE; row < GRAIN_SIDE - EDGE; row++)
        for (long column = EDGE; column < GRAIN_SIDE - EDGE; column++) {
            const float *at = values + (row * GRAIN_SIDE + column) * GRAIN_CHANNELS;
            const float *other = at + (rows * GRAIN_SIDE + columns) * GRAIN_CHANNELS;
            double a = (double)at[c], b = (double)other[d];
            n++, x += a, y += b, xy += a * b;
        }
    return xy / n - x / n * (y / n);
}

/* Correlation of neighbours under samples of a Gaussian so many pixels wide. */
static double neighbours(double psf_px)
{
    double squares = 0, products = 0;
    for (int i = -60; i <= 60; i++) {
        double w = exp(-4 * log(2) * i * i / (psf_px * psf_px));
        squares += w * w;
        products += w * exp(-4 * log(2) * (i + 1) * (i + 1) / (psf_px * psf_px));
    }
    return products / squares;
}

/* The spread's width from how neighbours of blurred grain correlate, along each axis. The
 * correlation of 58,000 pixels, independent where they are further apart than the spread, sets the
 * width off by up to 1.6 % over seeds 0 to 15. */
YP_TEST(optics, point_spread, .tags = "stress small", .timeout = 120, .parallel = true,
        .axes = YP_AXES(yp_axis_string("psf", "1", "1.5", "3")),
        .budgets = YP_BUDGETS(yp_max_value("spread off", 0.02)))
{
    char option[32];
    double said = strtod(yp_string(t, "psf"), NULL), off = 0;
    snprintf(option, sizeof option, "--psf-px=%s", yp_string(t, "psf"));
    const float *values = export_grain(t, option);
    for (long axis = 0; axis < 2; axis++) {
        double is = covariance(values, 4, 4, 1 - axis, axis) / covariance(values, 4, 4, 0, 0);
        double low = 0.3, high = 10;
        for (int i = 0; i < 50; i++)
            *(neighbours((low + high) / 2) < is ? &low : &high) = (low + high) / 2;
        printf("%s: %.4f px\n", axis == 0 ? "columns" : "rows", low);
        off = fmax(off, fabs(low / said - 1));
    }
    yp_value(t, "spread off", off);
}

/* A channel's place from the covariances of its grain with that of the first channel: their centre
 * of gravity. Over seeds 0 to 15 the worst of nine is off by 0.006 to 0.032 pixels. */
YP_TEST(optics, keystone, .tags = "stress small", .timeout = 120, .parallel = true,
        .budgets = YP_BUDGETS(yp_max_value("place off", 0.045)))
{
    const double keystone = 2.6;
    const float *values = export_grain(t, "--keystone-px=2.6");
    double off = 0;
    for (size_t c = 0; c < GRAIN_CHANNELS; c++) {
        double all = 0, moment = 0;
        for (long x = -1; x <= 4;
             x++) { /* channel c at column j sees what the first sees at j + x */
            double own = covariance(values, c, 0, x, 0);
            all += own;
            moment += (double)x * own;
        }
        double want = keystone * (double)c / (GRAIN_CHANNELS - 1);
        printf("channel %zu: %.3f of %.3f px\n", c, moment / all, want);
        off = fmax(off, fabs(moment / all - want));
    }
    yp_value(t, "place off", off);
}
