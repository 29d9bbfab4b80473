/* The minimum noise fraction against Jacobi's method in long double, from the pixels on. */
#include "tests/unit/rx/rx_methods.h"

#include "models/rx/methods/mnf.h"

/* -- the oracle ------------------------------------------------------------------------------ */

/* Covariance (n, n) in two passes of all finite rows of `x` (count, n), divided by `divisor`. */
static void covariance_of(const double *x, size_t count, size_t n, double divisor,
                          long double *mean, long double *out)
{
    size_t used = 0;
    memset(mean, 0, n * sizeof *mean);
    memset(out, 0, n * n * sizeof *out);
    for (int pass = 0; pass < 2; pass++) {
        for (size_t p = 0; p < count; p++) {
            bool finite = true;
            for (size_t c = 0; c < n; c++)
                finite = finite && isfinite(x[p * n + c]);
            used += pass == 0 && finite;
            for (size_t i = 0; i < n && finite; i++)
                if (pass == 0)
                    mean[i] += (long double)x[p * n + i];
                else
                    for (size_t j = 0; j < n; j++)
                        out[i * n + j] += ((long double)x[p * n + i] - mean[i]) *
                                          ((long double)x[p * n + j] - mean[j]);
        }
        for (size_t i = 0; i < n && pass == 0; i++)
            mean[i] /= (long double)used;
    }
    for (size_t i = 0; i < n * n; i++)
        out[i] /= (long double)(used - 1) * (long double)divisor;
}

static void oracle_covariances(const struct rx_image *image, size_t below, size_t right,
                               long double *mean, long double *data, long double *noise)
{
    size_t n = image->channels, h = image->height - below, w = image->width - right;
    double *x = block(image->height * image->width * n, sizeof *x);
    for (size_t i = 0; i < h * w * n; i++) {
        size_t p = i / n, at = (p / w * image->width + p % w) * n + i % n;
        x[i] = (double)image->values[at] -
               (double)image->values[at + (below * image->width + right) * n];
    }
    covariance_of(x, h * w, n, 2, mean, noise);
    for (size_t i = 0; i < image->height * image->width * n; i++)
        x[i] = (double)image->values[i];
    covariance_of(x, image->height * image->width, n, 1, mean, data);
    free(x);
}

/* Eigenvalues, largest first, of noise^-1 data: Cholesky, then Jacobi's rotations. */
static void jacobi(const long double *data, const long double *noise, size_t n, double *values)
{
    long double *l = block(n * n, sizeof *l), *a = block(n * n, sizeof *a);
    for (size_t j = 0; j < n; j++)
        for (size_t i = j; i < n; i++) {
            long double sum = noise[i * n + j];
            for (size_t k = 0; k < j; k++)
                sum -= l[i * n + k] * l[j * n + k];
            l[i * n + j] = i == j ? sqrtl(sum) : sum / l[j * n + j];
        }
    memcpy(a, data, n * n * sizeof *a);
    for (int side = 0; side < 2; side++) { /* a = L^-1 a, then its transpose */
        for (size_t c = 0; c < n; c++)
            for (size_t i = 0; i < n; i++) {
                for (size_t k = 0; k < i; k++)
                    a[i * n + c] -= l[i * n + k] * a[k * n + c];
                a[i * n + c] /= l[i * n + i];
            }
        for (size_t i = 0; i < n; i++)
            for (size_t j = i + 1; j < n; j++) {
                long double t = a[i * n + j];
                a[i * n + j] = a[j * n + i];
                a[j * n + i] = t;
            }
    }
    for (int sweep = 0; sweep < 40; sweep++)
        for (size_t p = 0; p < n; p++)
            for (size_t q = p + 1; q < n; q++) {
                if (fabsl(a[p * n + q]) < 1e-30L)
                    continue;
                long double theta = (a[q * n + q] - a[p * n + p]) / (2 * a[p * n + q]);
                long double t = (theta < 0 ? -1 : 1) / (fabsl(theta) + sqrtl(theta * theta + 1));
                long double c = 1 / sqrtl(t * t + 1), s = t * c;
                for (size_t k = 0; k < n; k++) {
                    long double x = a[k * n + p], y = a[k * n + q];
                    a[k * n + p] = c * x - s * y;
                    a[k * n + q] = s * x + c * y;
                }
                for (size_t k = 0; k < n; k++) {
                    long double x = a[p * n + k], y = a[q * n + k];
                    a[p * n + k] = c * x - s * y;
                    a[q * n + k] = s * x + c * y;
                }
            }
    for (size_t k = 0; k < n; k++) {
        size_t best = 0;
        for (size_t i = 1; i < n; i++)
            best = a[i * n + i] > a[best * n + best] ? i : best;
        values[k] = (double)a[best * n + best];
        a[best * n + best] = -1;
    }
    free(l);
    free(a);
}

/* -- helpers of the cases -------------------------------------------------------------------- */

struct made {
    struct rx_image image;
    struct rx_image_tiles tiles;
    struct rx *rx;
    double *noise;
    struct rx_mnf *mnf;
};

static void fit(struct made *m, int threads)
{
    size_t n = m->image.channels;
    OK(rx_image_pixels(&m->image, &m->tiles));
    m->rx = rx_create(yp_device_cpu(), n, m->tiles.source.tile_pixels, threads);
    cr_assert_not_null(m->rx, "%s", yp_last_error());
    OK(rx_fit(m->rx, &m->tiles.source));
    m->noise = block(n * n, sizeof *m->noise);
    OK(rx_noise(yp_device_cpu(), &m->image, RX_LOWER_RIGHT, threads, m->noise));
}

static void make(struct made *m, const struct rx_mnf_options *options, int threads)
{
    fit(m, threads);
    m->mnf = rx_mnf_create(yp_device_cpu(), m->rx, m->noise, options, m->tiles.source.tile_pixels,
                           threads);
    cr_assert_not_null(m->mnf, "%s", yp_last_error());
}

static void give_back(struct made *m)
{
    rx_mnf_destroy(m->mnf);
    rx_destroy(m->rx);
    free(m->noise);
    free((void *)m->image.values);
}

/* -- noise and the eigenproblem -------------------------------------------------------------- */

/* Sums in float: 2e-7 of some thousand pixels. */
Test(rx_mnf, noise_is_half_the_covariance_of_differences)
{
    const struct {
        enum rx_neighbour neighbour;
        size_t below, right;
    } cases[] = {{RX_LOWER_RIGHT, 1, 1}, {RX_RIGHT, 0, 1}, {RX_LOWER, 1, 0}};
    struct rx_image image = image_make(90, 70, 9, 30, 2);
    ((float *)image.values)[1234] = NAN;
    ((float *)image.values)[4321] = INFINITY;
    for (size_t i = 0; i < LENGTH(cases); i++) {
        double got[81], wanted[81];
        long double mean[9], data[81], noise[81];
        OK(rx_noise(yp_device_cpu(), &image, cases[i].neighbour, 2, got));
        oracle_covariances(&image, cases[i].below, cases[i].right, mean, data, noise);
        for (int k = 0; k < 81; k++)
            wanted[k] = (double)noise[k];
        cr_expect_leq(distance(got, wanted, 81), 2e-7, "case %zu: %g", i,
                      distance(got, wanted, 81));
        cr_expect(fabs(sqrt(got[0]) * 30 - 1) < 0.05, "the noise is 1 / 30: %g", sqrt(got[0]));
    }
    free((void *)image.values);
}

Test(rx_mnf, eigenvalues_are_those_of_the_pixels)
{
    struct made m = {.image = image_make(90, 70, 12, 50, 3)};
    make(&m, NULL, 2);
    long double mean[12], data[144], noise[144];
    double wanted[12];
    oracle_covariances(&m.image, 1, 1, mean, data, noise);
    jacobi(data, noise, 12, wanted);
    cr_expect_eq(rx_mnf_components(m.mnf), 12);
    const double *got = rx_mnf_eigenvalues(m.mnf), *v = rx_mnf_vectors(m.mnf);
    /* Sums in float, as above, times the condition of the noise (5): 1.4e-6 measured. */
    for (int k = 0; k < 12; k++)
        cr_expect_leq(fabs(got[k] / wanted[k] - 1), 2e-6, "%d: %g instead of %g", k, got[k],
                      wanted[k]);
    size_t above = 0;
    for (int k = 0; k < 12; k++)
        above += wanted[k] >= 11;
    cr_expect_eq(rx_mnf_with_snr(m.mnf, 10), above);
    cr_expect(above >= 2 && above <= 4, "four materials, three dimensions: %zu", above);
    cr_expect_eq(rx_mnf_with_snr(m.mnf, got[5] - 1 - 1e-9), 6);
    cr_expect_eq(rx_mnf_with_snr(m.mnf, got[5] - 1 + 1e-9), 5);

    /* v^T noise v = 1, v^T data v = lambda, 0 between two; their sign. */
    for (int k = 0; k < 12; k++)
        for (int j = 0; j < 12; j++) {
            long double of_noise = 0, of_data = 0;
            for (int a = 0; a < 12; a++)
                for (int b = 0; b < 12; b++) {
                    long double both = (long double)v[k * 12 + a] * (long double)v[j * 12 + b];
                    of_noise += both * noise[a * 12 + b];
                    of_data += both * data[a * 12 + b];
                }
            double scale = sqrt(wanted[k] * wanted[j]), one = k == j;
            cr_expect_leq(fabs((double)of_noise - one), 2e-6, "%d %d", k, j);
            cr_expect_leq(fabs((double)of_data - one * wanted[k]), 2e-6 * scale, "%d %d", k, j);
        }
    for (int k = 0; k < 12; k++) {
        double largest = 0;
        for (int c = 0; c < 12; c++)
            largest = fabs(v[k * 12 + c]) > fabs(largest) ? v[k * 12 + c] : largest;
        cr_expect(largest > 0, "%d", k);
    }
    give_back(&m);
}

/* -- transforms ------------------------------------------------------------------------------ */

static void check_forward(struct made *m, size_t kept)
{
    size_t n = m->image.channels, places = m->tiles.source.tiles * m->tiles.source.tile_pixels;
    size_t pixels = m->image.height * m->image.width;
    float *got = block(places * kept, sizeof *got);
    double *wanted = block(places * kept, sizeof *wanted);
    OK(rx_mnf_forward(m->mnf, &m->tiles.source, kept, got));
    for (size_t i = 0; i < places * kept; i++) {
        size_t p = i / kept, k = i % kept;
        const float *x = m->image.values + p * n;
        wanted[i] = p < pixels ? 0 : NAN;
        for (size_t c = 0; c < n && p < pixels; c++)
            wanted[i] += isfinite(x[c]) ? rx_mnf_vectors(m->mnf)[k * n + c] *
                                              ((double)x[c] - rx_mean(m->rx)[c])
                                        : (double)NAN;
    }
    /* Relative to 1, which is the noise: signals are up to 30 times that. Measured 1.1e-6. */
    double most = worst(got, wanted, places * kept);
    cr_expect_leq(most, 1.5e-6, "%zu kept: %g", kept, most);
    free(got);
    free(wanted);
}

Test(rx_mnf, forward_is_the_vectors_times_pixels)
{
    struct made m = {.image = image_make(90, 70, 12, 50, 3)};
    ((float *)m.image.values)[12 * 600 + 3] = NAN;
    ((float *)m.image.values)[12 * 5000 + 11] = -INFINITY;
    make(&m, NULL, 2);
    check_forward(&m, 12);
    check_forward(&m, 3);
    give_back(&m);
}

/* From all components the pixels themselves; from the first ones what those are of them. */
Test(rx_mnf, back_from_components)
{
    struct made m = {.image = image_make(90, 70, 12, 50, 3)};
    ((float *)m.image.values)[12 * 600 + 3] = NAN;
    make(&m, NULL, 2);
    size_t places = m.tiles.source.tiles * m.tiles.source.tile_pixels, pixels = 90 * 70;
    float *y = block(places * 12, sizeof *y), *x = block(places * 12, sizeof *x);
    const double *u = rx_mnf_back_vectors(m.mnf);
    double *wanted = block(places * 12, sizeof *wanted);
    const size_t kepts[] = {12, 3};
    for (size_t i = 0; i < LENGTH(kepts); i++) {
        size_t kept = kepts[i];
        OK(rx_mnf_forward(m.mnf, &m.tiles.source, kept, y));
        struct scene s = {.values = y, .pixels = pixels, .channels = kept, .tile_pixels = 1000};
        struct rx_source source = source_of(&s);
        for (size_t j = 0; j < pixels * 12; j++) {
            wanted[j] = rx_mean(m.rx)[j % 12];
            for (size_t k = 0; k < kept; k++)
                wanted[j] += u[k * 12 + j % 12] * (double)y[j / 12 * kept + k];
            if (kept == 12 && !isnan(wanted[j])) /* the pixel itself */
                cr_assert_leq(fabs(wanted[j] - (double)m.image.values[j]), 1e-6, "%zu", j);
        }
        for (size_t j = pixels * 12; j < source.tiles * source.tile_pixels * 12; j++)
            wanted[j] = NAN;
        OK(rx_mnf_back(m.mnf, &source, x));
        double most = worst(x, wanted, source.tiles * source.tile_pixels * 12);
        cr_expect_leq(most, 1.2e-7, "%zu kept: %g", kept, most);
    }
    free(y);
    free(x);
    free(wanted);
    give_back(&m);
}

/* -- bands that are wrong -------------------------------------------------------------------- */

Test(rx_mnf, dead_bands)
{
    struct made all = {.image = image_make(60, 50, 8, 50, 3)}, m = {.image = all.image};
    float *values = block((size_t)3000 * 10, sizeof *values);
    for (size_t p = 0; p < 3000; p++)
        for (size_t c = 0, from = 0; c < 10; c++)
            values[p * 10 + c] = c == 0 || c == 6 ? 0.25F : all.image.values[p * 8 + from++];
    m.image = (struct rx_image){values, 60, 50, 10};
    make(&all, NULL, 1);
    fit(&m, 1);
    REFUSED(rx_mnf_create(yp_device_cpu(), m.rx, m.noise, NULL, 5000, 1),
            "channel 0 has a noise variance of 0");
    m.mnf = rx_mnf_create(yp_device_cpu(), m.rx, m.noise,
                          &(struct rx_mnf_options){.mask_dead = true}, 5000, 1);
    cr_assert_not_null(m.mnf, "%s", yp_last_error());
    cr_expect_eq(rx_mnf_components(m.mnf), 8);
    for (size_t k = 0; k < 8; k++) {
        cr_expect_leq(fabs(rx_mnf_eigenvalues(m.mnf)[k] / rx_mnf_eigenvalues(all.mnf)[k] - 1),
                      1e-6);
        cr_expect_eq(rx_mnf_vectors(m.mnf)[k * 10], 0);
        cr_expect_eq(rx_mnf_vectors(m.mnf)[k * 10 + 6], 0);
    }
    check_forward(&m, 8);
    float *y = block((size_t)10000 * 8, sizeof *y), *x = block((size_t)10000 * 10, sizeof *x);
    OK(rx_mnf_forward(m.mnf, &m.tiles.source, 8, y));
    struct scene s = {.values = y, .pixels = 3000, .channels = 8, .tile_pixels = 3000};
    struct rx_source source = source_of(&s);
    OK(rx_mnf_back(m.mnf, &source, x));
    for (size_t i = 0; i < 3000 * 10; i++)
        cr_assert_leq(fabsf(x[i] - values[i]), 2e-6F, "%zu", i);
    free(x);
    free(y);
    give_back(&all);
    give_back(&m);
}

Test(rx_mnf, what_cannot_be_solved_is_refused_by_name)
{
    struct yp_device *cpu = yp_device_cpu();
    struct made m = {0};
    float *values = NULL, out[1];
    for (uint64_t seed = 3; seed < 11; seed++) { /* rounding leaves something, or less than that */
        if (seed > 3)
            give_back(&m);
        m = (struct made){.image = image_make(60, 50, 8, 50, seed)};
        values = (float *)m.image.values;
        for (size_t p = 0; p < 3000; p++)
            values[p * 8 + 5] = 0.5F * values[p * 8 + 1] + 0.25F * values[p * 8 + 2];
        fit(&m, 1);
        REFUSED(rx_mnf_create(cpu, m.rx, m.noise, NULL, 5000, 1),
                "not positive definite at channel 5");
    }
    m.mnf = rx_mnf_create(cpu, m.rx, m.noise, &(struct rx_mnf_options){.shrink = 0.1}, 5000, 1);
    cr_assert_not_null(m.mnf, "%s", yp_last_error());
    REFUSED(rx_mnf_create(cpu, m.rx, m.noise, &(struct rx_mnf_options){.shrink = 2}, 5000, 1),
            "shrink is 2");
    REFUSED(rx_mnf_create(cpu, NULL, m.noise, NULL, 5000, 1), "rx is NULL");
    REFUSED(rx_mnf_create(cpu, m.rx, NULL, NULL, 5000, 1), "noise is NULL");
    REFUSED(rx_mnf_create(cpu, m.rx, m.noise, NULL, 0, 1), "tile_pixels is 0");
    struct rx_source *source = &m.tiles.source;
    FAILS(rx_mnf_forward(m.mnf, source, 0, out), YP_INVALID, "0 components");
    FAILS(rx_mnf_forward(m.mnf, source, 9, out), YP_INVALID, "9 components");
    FAILS(rx_mnf_forward(m.mnf, NULL, 1, out), YP_INVALID, "source is NULL");
    FAILS(rx_mnf_forward(m.mnf, source, 1, NULL), YP_INVALID, "out is NULL");
    FAILS(rx_mnf_forward(NULL, source, 1, out), YP_INVALID, "mnf is NULL");
    m.noise[9] = NAN;
    REFUSED(rx_mnf_create(cpu, m.rx, m.noise, NULL, 5000, 1), "channels 1 and 1");
    rx_reset(m.rx);
    REFUSED(rx_mnf_create(cpu, m.rx, m.noise, NULL, 5000, 1), "0 finite pixels");

    struct rx_image row = {values, 1, 40, 8};
    FAILS(rx_noise(cpu, &row, RX_LOWER, 1, m.noise), YP_INVALID, "1 x 40 has no such neighbours");
    FAILS(rx_noise(cpu, &row, (enum rx_neighbour)3, 1, m.noise), YP_INVALID, "neighbour is 3");
    FAILS(rx_noise(cpu, NULL, RX_RIGHT, 1, m.noise), YP_INVALID, "image is NULL");
    FAILS(rx_noise(cpu, &row, RX_RIGHT, 1, NULL), YP_INVALID, "covariance is NULL");
    row.width = 2;
    FAILS(rx_noise(cpu, &row, RX_RIGHT, 1, m.noise), YP_INVALID, "1 finite pixels");
    give_back(&m);
}

/* -- threads and memory ---------------------------------------------------------------------- */

Test(rx_mnf, threads_change_no_bit_and_memory_is_as_predicted)
{
    struct made first = {.image = image_make(90, 70, 11, 50, 3)};
    size_t values = (size_t)90 * 70 * 11;
    float *copies[4];
    make(&first, NULL, 1);
    size_t places = first.tiles.source.tiles * first.tiles.source.tile_pixels;
    for (int threads = 1; threads <= 3; threads++) {
        struct made m = {.image = {block(values, sizeof(float)), 90, 70, 11}};
        memcpy((float *)m.image.values, first.image.values, values * sizeof(float));
        fit(&m, threads);
        size_t tile_pixels = m.tiles.source.tile_pixels;
        uint64_t before = memory().allocated;
        yp_device_reset_peak(yp_device_cpu());
        m.mnf = rx_mnf_create(yp_device_cpu(), m.rx, m.noise, NULL, tile_pixels, threads);
        cr_expect_eq(memory().allocated_peak - before, rx_mnf_bytes(11, tile_pixels, threads));
        copies[threads] = block(places * 11, sizeof(float));
        OK(rx_mnf_forward(m.mnf, &m.tiles.source, 11, copies[threads]));
        cr_expect_eq(memcmp(copies[1], copies[threads], places * 11 * sizeof(float)), 0);
        before = memory().allocated;
        yp_device_reset_peak(yp_device_cpu());
        OK(rx_noise(yp_device_cpu(), &m.image, RX_LOWER_RIGHT, threads, m.noise));
        cr_expect_eq(memory().allocated_peak - before,
                     rx_noise_bytes(&m.image, RX_LOWER_RIGHT, threads));
        give_back(&m);
    }
    uint64_t before = memory().allocated;
    for (size_t limit = 1; limit < 3; limit++) { /* the object alone fits; not even that */
        yp_device_set_limit(yp_device_cpu(),
                            before + rx_mnf_bytes(11, 1, 1) / limit - (limit == 1));
        cr_expect_null(rx_mnf_create(yp_device_cpu(), first.rx, first.noise, NULL, 1, 1));
        cr_expect_eq(yp_last_status(), YP_OUT_OF_MEMORY);
        yp_device_set_limit(yp_device_cpu(), 0);
        cr_expect_eq(memory().allocated, before);
    }
    for (int threads = 1; threads <= 3; threads++)
        free(copies[threads]);
    give_back(&first);
}
