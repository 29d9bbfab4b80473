/* Is what the header says of the optics what the cube has been seen through? Each is found again
 * in the files of `yieldpoint synth` alone. */
#include "suites/exported.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* -- the channels' width ---------------------------------------------------------------------- */

enum { MATERIALS = 6, FINE = 4201 };
#define FIRST_NM 400.0
#define FINE_NM 0.5

/* Mean spectrum of the pixels that are neither dead nor targets. */
static void mean_spectrum(struct yp_case *t, const struct scratch *scratch,
                          struct synth_cube_info *info, double *mean)
{
    struct synth_cube_info other;
    const float *values = exported_cube(t, scratch, "scene.img", info);
    const float *labels = exported_cube(t, scratch, "scene_labels.img", &other);
    const float *valid = exported_cube(t, scratch, "scene_valid.img", &other);
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

/* What of the mean spectrum no mixture of the materials, seen by channels so wide, can be. */
static double misfit(const double *mean, const struct synth_cube_info *info,
                     const float *const fine[MATERIALS], const float *path, double fwhm,
                     double *rows[MATERIALS + 1])
{
    for (size_t c = 0; c < info->channels; c++) {
        double nm = (double)info->wavelengths[c], air = seen(path, nm, fwhm);
        for (int k = 0; k < MATERIALS; k++)
            rows[k][c] = seen(fine[k], nm, fwhm) - air; /* they come with the path */
        rows[MATERIALS][c] = mean[c] - air;
    }
    return left_of(rows, info->channels);
}

/* The width at which the misfit is least, by golden section. */
static double fitted_width(struct yp_case *t, const struct scratch *scratch, const double *mean,
                           const struct synth_cube_info *info, double low, double high)
{
    size_t count, one;
    const float *all = exported_array(t, scratch, "fine_endmembers.npy", &count, FINE);
    const float *path = exported_array(t, scratch, "fine_path.npy", &one, FINE);
    const float *fine[MATERIALS];
    double *rows[MATERIALS + 1], golden = (sqrt(5) - 1) / 2;
    for (size_t k = 0; k <= MATERIALS; k++)
        rows[k] = yp_alloc(t, info->channels * sizeof **rows);
    for (size_t k = 0; k < MATERIALS; k++)
        fine[k] = all + k * FINE;
    for (int i = 0; i < 16; i++) {
        double a = high - golden * (high - low), b = low + golden * (high - low);
        if (misfit(mean, info, fine, path, a, rows) < misfit(mean, info, fine, path, b, rows))
            high = b;
        else
            low = a;
    }
    return (low + high) / 2;
}

/*
 * A cube with everything on but the materials' variability, and the fine spectra of the same seed
 * sampled at points: the channels' width is that under which the fine spectra explain the mean
 * pixel best. What it is off by, in its square, does not depend on it: up to 3.8 nm^2 over seeds 0
 * to 15, which are 1.7 % of the default's 10.55 nm and 0.3 % of 25; stripes, of which 64 columns
 * are averaged, are most of it.
 */
YP_TEST(optics, width, .tags = "stress small", .timeout = 120, .parallel = true,
        .axes = YP_AXES(yp_axis_string("fwhm", "default", "16", "25")),
        .budgets = YP_BUDGETS(yp_max_value("square of the width off", 5)))
{
    struct scratch scratch;
    struct synth_cube_info info;
    char width[32] = "--interleave=bip"; /* the default: says nothing */
    static double mean[200];
    if (strcmp(yp_string(t, "fwhm"), "default") != 0)
        snprintf(width, sizeof width, "--fwhm-nm=%s", yp_string(t, "fwhm"));
    scratch_open_in_memory(&scratch, t);
    exported_make(t, &scratch, "scene",
                  (const char *[]){"--height=64", "--width=64", "--channels=200",
                                   "--variability=off", width, NULL});
    exported_make(
        t, &scratch, "fine",
        (const char *[]){"--height=1", "--width=1", "--channels=4201", "--fwhm-nm=off", NULL});
    mean_spectrum(t, &scratch, &info, mean);
    yp_require(t, info.fwhm != NULL && info.wavelengths != NULL, "no fwhm in the header");
    double said = (double)info.fwhm[0];
    double is = fitted_width(t, &scratch, mean, &info, 0.5 * said, 2 * said);
    struct synth_cube_info points;
    exported_cube(t, &scratch, "fine.img", &points);
    scratch_close(&scratch);
    yp_value(t, "width", is);
    yp_value(t, "square of the width off", fabs(is * is - said * said));
    for (size_t c = 1; c < info.channels; c++)
        yp_require(t, info.fwhm[c] == info.fwhm[0], "channel %zu has another width", c);
    yp_expect(t, points.fwhm == NULL && points.wavelengths != NULL,
              "points have a width in the header");
}
