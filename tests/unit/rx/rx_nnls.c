/* Nonnegative least squares against every choice of spectra, and by the conditions that make a
 * minimum one. */
#include "models/rx/methods/nnls.h"
#include "tests/unit/rx/rx_fixture.h"

#include <math.h>

#define MOST RX_NNLS_MAX_SPECTRA

struct problem {
    size_t count, channels, pixels;
    float *spectra;          /* (count, channels) */
    float *weights, *offset; /* (channels) */
    struct scene scene;
    struct rx_nnls_options options;
};

/* Spectra that are much alike, and pixels of them with noise: some abundances would be negative. */
static struct problem problem_make(size_t count, size_t channels, size_t pixels, bool sum_to_one,
                                   uint64_t seed)
{
    uint64_t state = seed;
    struct problem p = {count, channels, pixels, .options = {.sum_to_one = sum_to_one}};
    p.spectra = block(count * channels, sizeof *p.spectra);
    p.weights = block(channels, sizeof *p.weights);
    p.offset = block(channels, sizeof *p.offset);
    for (size_t k = 0; k < count; k++)
        for (size_t c = 0; c < channels; c++)
            p.spectra[k * channels + c] =
                (float)((0.2 + 0.1 * (double)k) * (1 + 0.6 * normal(&state)));
    for (size_t c = 0; c < channels; c++) {
        p.weights[c] = c % 7 == 3 ? 0 : (float)exp(3 * normal(&state));
        p.offset[c] = (float)normal(&state);
    }
    p.options.weights = p.weights;
    p.options.offset = p.offset;
    p.scene = (struct scene){.pixels = pixels, .channels = channels, .tile_pixels = 100};
    p.scene.values = block(pixels * channels, sizeof(float));
    for (size_t i = 0; i < pixels; i++) {
        double share[MOST], total = 0, light = 0.5 + uniform(&state);
        for (size_t k = 0; k < count; k++)
            total += share[k] = pow(uniform(&state), 4);
        for (size_t c = 0; c < channels; c++) {
            double x = (double)p.offset[c] + 0.15 * normal(&state);
            for (size_t k = 0; k < count; k++)
                x += light * share[k] / total * (double)p.spectra[k * channels + c];
            p.scene.values[i * channels + c] = (float)x;
        }
    }
    return p;
}

static void problem_free(struct problem *p)
{
    free(p->spectra);
    free(p->weights);
    free(p->offset);
    scene_free(&p->scene);
}

/* (pixels rounded up to tiles, count) */
static float *unmixed(struct problem *p, int threads, struct rx_nnls_report *report)
{
    struct rx_source source = source_of(&p->scene);
    source.tile_pixels = p->scene.tile_pixels;
    float *out = block(source.tiles * source.tile_pixels * p->count, sizeof *out);
    struct rx_nnls *nnls = rx_nnls_create(yp_device_cpu(), p->spectra, p->count, p->channels,
                                          p->scene.tile_pixels, threads, &p->options);
    cr_assert_not_null(nnls, "%s", yp_last_error());
    OK(rx_nnls_run(nnls, &source, out, report));
    rx_nnls_destroy(nnls);
    return out;
}

/* The weighted products of what is left of a pixel with each spectrum; returns its square. */
static long double rest_of(const struct problem *p, size_t pixel, const long double *a,
                           long double *slopes)
{
    long double sum = 0;
    memset(slopes, 0, p->count * sizeof *slopes);
    for (size_t c = 0; c < p->channels; c++) {
        long double rest =
            (long double)p->scene.values[pixel * p->channels + c] - (long double)p->offset[c];
        for (size_t k = 0; k < p->count; k++)
            rest -= a[k] * (long double)p->spectra[k * p->channels + c];
        for (size_t k = 0; k < p->count; k++)
            slopes[k] +=
                (long double)p->weights[c] * rest * (long double)p->spectra[k * p->channels + c];
        sum += (long double)p->weights[c] * rest * rest;
    }
    return sum;
}

/* -- every choice of spectra --------------------------------------------------------------- */

/* Solves n equations of n + 1 columns by elimination. */
static void eliminate(long double m[8][9], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t pivot = i;
        for (size_t r = i + 1; r < n; r++)
            if (fabsl(m[r][i]) > fabsl(m[pivot][i]))
                pivot = r;
        for (size_t c = 0; c <= n; c++) {
            long double kept = m[i][c];
            m[i][c] = m[pivot][c];
            m[pivot][c] = kept;
        }
        for (size_t r = 0; r < n; r++) {
            long double factor = r == i ? 0 : m[r][i] / m[i][i];
            for (size_t c = i; c <= n; c++)
                m[r][c] -= factor * m[i][c];
        }
    }
    for (size_t i = 0; i < n; i++)
        m[i][n] /= m[i][i];
}

/* Least squares by the spectra of `set`, with its sum held by a further unknown where asked. */
static void by_set(const struct problem *p, size_t pixel, unsigned set, long double *a)
{
    size_t chosen[8], n = 0;
    long double m[8][9] = {{0}}, none[MOST] = {0}, slopes[MOST];
    rest_of(p, pixel, none, slopes);
    for (size_t k = 0; k < p->count; k++) {
        a[k] = 0;
        if (set >> k & 1)
            chosen[n++] = k;
    }
    size_t unknowns = n + p->options.sum_to_one;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++)
            for (size_t c = 0; c < p->channels; c++)
                m[i][j] += (long double)p->weights[c] *
                           (long double)p->spectra[chosen[i] * p->channels + c] *
                           (long double)p->spectra[chosen[j] * p->channels + c];
        m[i][unknowns] = slopes[chosen[i]];
        if (p->options.sum_to_one)
            m[i][n] = m[n][i] = m[n][n + 1] = 1;
    }
    eliminate(m, unknowns);
    for (size_t i = 0; i < n; i++)
        a[chosen[i]] = m[i][unknowns];
}

/* The best of the 2^count choices none of whose abundances is negative. */
static void brute_force(const struct problem *p, size_t pixel, long double *best)
{
    long double a[MOST], slopes[MOST], least = INFINITY;
    for (unsigned set = p->options.sum_to_one; set < 1U << p->count; set++) {
        by_set(p, pixel, set, a);
        bool allowed = true;
        for (size_t k = 0; k < p->count; k++)
            allowed = allowed && a[k] >= 0;
        long double rest = allowed ? rest_of(p, pixel, a, slopes) : INFINITY;
        if (rest < least) {
            least = rest;
            memcpy(best, a, p->count * sizeof *best);
        }
    }
}

Test(rx_nnls, finds_the_best_of_all_choices_of_spectra)
{
    for (size_t count = 1; count <= 6; count++)
        for (int sum = 0; sum < 2; sum++) {
            struct problem p = problem_make(count, 20 + count, 500, sum == 1, count);
            struct rx_nnls_report report;
            float *a = unmixed(&p, 2, &report);
            size_t zeros = 0;
            cr_assert(report.pixels == 500 && report.skipped == 0 && report.unfinished == 0);
            for (size_t i = 0; i < 500; i++) {
                long double best[MOST] = {0};
                brute_force(&p, i, best);
                for (size_t k = 0; k < count; k++) {
                    double found = (double)a[i * count + k], off = fabs(found - (double)best[k]);
                    /* Half a unit of float, and double's rounding at a condition below 1e4. */
                    cr_assert_leq(off, 0x1p-24 * found + 1e-11, "count %zu sum %d pixel %zu: %g",
                                  count, sum, i, off);
                    zeros += best[k] == 0;
                }
            }
            cr_assert(count < 3 || zeros > 100, "%zu: the sign matters", zeros);
            free(a);
            problem_free(&p);
        }
}

/* -- the conditions of a minimum ------------------------------------------------------------ */

/* What rounding of a to float moves a product by at most. */
static long double rounding_of(const struct problem *p, const long double *a)
{
    long double most = 0;
    for (size_t k = 0; k < p->count; k++) {
        long double sum = 0;
        for (size_t j = 0; j < p->count; j++)
            for (size_t c = 0; c < p->channels; c++)
                sum += 0x1p-24L * a[j] *
                       fabsl((long double)p->weights[c] *
                             (long double)p->spectra[k * p->channels + c] *
                             (long double)p->spectra[j * p->channels + c]);
        most = fmaxl(most, sum);
    }
    return most;
}

/* Karush, Kuhn and Tucker: what is left has the product lambda with every spectrum that is there
 * and no larger one with those that are not; lambda is 0, or of any size where the sum is held. */
static void check_minimum(const struct problem *p, size_t pixel, const float *found)
{
    long double a[MOST] = {0}, slopes[MOST], lambda = 0, sum = 0;
    size_t there = 0;
    for (size_t k = 0; k < p->count; k++) {
        cr_assert(found[k] >= 0);
        sum += a[k] = (long double)found[k];
    }
    rest_of(p, pixel, a, slopes);
    for (size_t k = 0; k < p->count; k++) {
        lambda += a[k] > 0 ? slopes[k] : 0;
        there += a[k] > 0;
    }
    lambda = p->options.sum_to_one ? lambda / (long double)there : 0;
    if (p->options.sum_to_one)
        cr_assert_leq(fabsl(sum - 1), 0x1p-24L * (long double)(there + 1));
    long double bound = 1e-10L + rounding_of(p, a) * (p->options.sum_to_one ? 2 : 1);
    for (size_t k = 0; k < p->count; k++) {
        cr_assert(slopes[k] <= lambda + bound && (a[k] == 0 || slopes[k] >= lambda - bound),
                  "%zu spectra, pixel %zu: product %Lg with spectrum %zu of %Lg, lambda %Lg",
                  p->count, pixel, slopes[k], k, a[k], lambda);
    }
}

Test(rx_nnls, meets_the_conditions_of_a_minimum)
{
    for (size_t count = 7; count <= MOST; count += 5)
        for (int sum = 0; sum < 2; sum++) {
            struct problem p = problem_make(count, 120, 1000, sum == 1, 100 + count);
            struct rx_nnls_report report;
            float *a = unmixed(&p, 2, &report);
            cr_assert(report.pixels == 1000 && report.unfinished == 0);
            for (size_t i = 0; i < 1000; i++)
                check_minimum(&p, i, a + i * count);
            free(a);
            problem_free(&p);
        }
}

/* One spectrum twice, and one that is the sum of two others. */
Test(rx_nnls, spectra_that_make_up_each_other_do_no_harm)
{
    for (int sum = 0; sum < 2; sum++) {
        struct problem p = problem_make(6, 30, 1000, sum == 1, 3);
        memcpy(p.spectra + 30, p.spectra + 90, 30 * sizeof(float));
        for (size_t c = 0; c < 30; c++)
            p.spectra[60 + c] = p.spectra[90 + c] + p.spectra[120 + c];
        struct rx_nnls_report report;
        float *a = unmixed(&p, 1, &report);
        cr_assert(report.pixels == 1000 && report.unfinished == 0);
        for (size_t i = 0; i < 1000; i++)
            check_minimum(&p, i, a + i * 6);
        free(a);
        problem_free(&p);
    }
}

/* -- pixels ---------------------------------------------------------------------------------- */

Test(rx_nnls, counts_pixels_without_values)
{
    struct problem p = problem_make(5, 20, 250, false, 9);
    p.scene.values[0] = NAN;
    p.scene.values[20 * 120 + 19] = INFINITY;
    p.scene.values[20 * 249 + 1] = -INFINITY;
    p.scene.values[20 * 7 + 3] = NAN; /* a channel of no weight */
    struct rx_nnls_report report;
    float *a = unmixed(&p, 2, &report);
    cr_assert(report.pixels == 247 && report.skipped == 3 && report.unfinished == 0);
    for (size_t i = 0; i < 300; i++) {
        bool without = i == 0 || i == 120 || i >= 249;
        for (size_t k = 0; k < 5; k++)
            cr_assert_eq(isnan(a[5 * i + k]), without, "pixel %zu", i);
        if (!without && i != 7)
            check_minimum(&p, i, a + 5 * i);
    }
    free(a);
    problem_free(&p);
}

Test(rx_nnls, threads_tiles_and_strides_change_no_bit)
{
    struct problem p = problem_make(9, 33, 700, true, 11);
    float *one = unmixed(&p, 1, NULL);
    p.scene.tile_pixels = 700;
    float *whole = unmixed(&p, 3, NULL);
    cr_assert_arr_eq(one, whole, 700 * 9 * sizeof *one);
    float *wide = block(700 * 40, sizeof *wide);
    for (size_t i = 0; i < 700; i++)
        memcpy(wide + 40 * i, p.scene.values + 33 * i, 33 * sizeof *wide);
    free(p.scene.values);
    p.scene.values = wide;
    p.scene.stride = 40;
    p.scene.tile_pixels = 64;
    float *strided = unmixed(&p, 2, NULL);
    cr_assert_arr_eq(one, strided, 700 * 9 * sizeof *one);
    free(one);
    free(whole);
    free(strided);
    problem_free(&p);
}

Test(rx_nnls, without_options_all_channels_weigh_the_same)
{
    const float spectra[] = {1, 0, 0, 0, 2, 0}, pixels[] = {3, -1, 5, 0.5F, 3, 7};
    struct scene s = {.values = (float *)pixels, .pixels = 2, .channels = 3, .tile_pixels = 2};
    struct rx_source source = source_of(&s);
    float a[4];
    struct rx_nnls *nnls = rx_nnls_create(yp_device_cpu(), spectra, 2, 3, 2, 1, NULL);
    cr_assert_not_null(nnls, "%s", yp_last_error());
    OK(rx_nnls_run(nnls, &source, a, NULL));
    cr_assert(a[0] == 3 && a[1] == 0 && a[2] == 0.5F && a[3] == 1.5F, "%g %g %g %g", (double)a[0],
              (double)a[1], (double)a[2], (double)a[3]);
    rx_nnls_destroy(nnls);
}

/* -- what is refused ------------------------------------------------------------------------- */

Test(rx_nnls, refuses_by_name)
{
    float spectra[] = {1, 2, 3, 4}, weights[] = {1, 1}, a[2];
    struct yp_device *cpu = yp_device_cpu();
    struct rx_nnls_options options = {.weights = weights};
    struct yp_memory before = memory();
    REFUSED(rx_nnls_create(cpu, NULL, 2, 2, 1, 1, NULL), "spectra is NULL");
    REFUSED(rx_nnls_create(cpu, spectra, 0, 2, 1, 1, NULL), "count is 0, allowed are 1 to 32");
    REFUSED(rx_nnls_create(cpu, spectra, 33, 2, 1, 1, NULL), "count is 33");
    REFUSED(rx_nnls_create(cpu, spectra, 2, 0, 1, 1, NULL), "channels is 0");
    REFUSED(rx_nnls_create(cpu, spectra, 2, 2, 1, -1, NULL), "threads is -1");
    REFUSED(rx_nnls_create(NULL, spectra, 2, 2, 1, 1, NULL), "device is NULL");
    weights[1] = -1;
    REFUSED(rx_nnls_create(cpu, spectra, 2, 2, 1, 1, &options), "weights[1] is -1");
    weights[0] = weights[1] = 0;
    REFUSED(rx_nnls_create(cpu, spectra, 2, 2, 1, 1, &options), "spectrum 0 is 0");
    weights[1] = 1;
    spectra[3] = NAN;
    REFUSED(rx_nnls_create(cpu, spectra, 2, 2, 1, 1, &options), "channel 1 has nan in spectrum 1");
    struct rx_nnls *nnls = rx_nnls_create(cpu, spectra, 1, 2, 1, 1, NULL);
    cr_assert_not_null(nnls, "%s", yp_last_error());
    struct scene s = {.values = spectra, .pixels = 1, .channels = 1, .tile_pixels = 1};
    struct rx_source source = source_of(&s);
    FAILS(rx_nnls_run(NULL, &source, a, NULL), YP_INVALID, "nnls is NULL");
    FAILS(rx_nnls_run(nnls, NULL, a, NULL), YP_INVALID, "source is NULL");
    FAILS(rx_nnls_run(nnls, &source, NULL, NULL), YP_INVALID, "abundances is NULL");
    FAILS(rx_nnls_run(nnls, &source, a, NULL), YP_INVALID, "source->channels is 1");
    rx_nnls_destroy(nnls);
    rx_nnls_destroy(NULL);
    cr_assert_eq(memory().allocated, before.allocated);
}
