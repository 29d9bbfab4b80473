/* The methods beside RX on the default scene, right as the data grow: against plain loops in double
 * over the pixels themselves. */
#include "base/numbers/splitmix.h"
#include "models/rx/methods/local.h"
#include "models/rx/methods/matched.h"
#include "models/rx/methods/mnf.h"
#include "models/rx/methods/nnls.h"
#include "suites/memory_tiles.h"
#include "suites/plain_linear.h"
#include "suites/scene_tiles.h"
#include "suites/score_error.h"
#include "suites/worst.h"

#include <math.h>
#include <string.h>

#define THREADS 2

/* One cube: these methods take an image. A spoiled one is bright, has bands that are dead, pixels
 * that are not finite, and regularisation. */
#define IMAGE_CASES \
    YP_CASES(yp_case_of("small", .set = YP_SET(SCALE(1, 64, 10))), \
             yp_case_of("spoiled", .tags = "small", .set = YP_SET(SCALE(1, 70, 13))), \
             yp_case_of("medium", .set = YP_SET(SCALE(1, 192, 50))))
#define BUDGETS YP_BUDGETS(yp_budget_file("budgets.ini"))

static bool is_spoiled(struct yp_case *t)
{
    return strcmp(yp_case_name(t), "spoiled") == 0;
}

static bool is_dead(struct yp_case *t, size_t channel)
{
    return is_spoiled(t) && (channel == 0 || channel == 8);
}

static void spoil(struct yp_case *t, float *values, size_t width, size_t pixels, size_t n)
{
    static const float odd[] = {NAN, INFINITY, -INFINITY};
    for (size_t p = 0; p < pixels; p++)
        for (size_t c = 0; c < n; c++) {
            float *x = &values[p * n + c];
            *x = is_dead(t, c) ? 0.1F : 1000 * *x + 5000 + 10 * (float)(p % width);
            if (p % 397 == 20 && c == p % n)
                *x = odd[p % 3];
        }
}

static struct rx_image case_image(struct yp_case *t)
{
    struct scale s = scale_of(t);
    struct synth_spec spec = scale_spec(&s, yp_seed(t));
    size_t count = s.height * s.width * s.channels;
    float *values = yp_alloc(t, count * sizeof *values);
    make_cube(t, yp_device_cpu(), &spec, 0, values, NULL);
    if (is_spoiled(t))
        spoil(t, values, s.width, s.height * s.width, s.channels);
    yp_data_hash(t, yp_hash_f32(0, values, count));
    return (struct rx_image){values, s.height, s.width, s.channels};
}

/* -- oracles --------------------------------------------------------------------------------- */

/* Mean (C) and covariance (C, C), full, of those of `count` pixels that are finite and whose entry
 * in `leave` is 0; leave NULL: all. */
static void statistics(const double *x, const uint8_t *leave, size_t count, size_t channels,
                       double *mean, double *covariance)
{
    double used = 0;
    memset(mean, 0, channels * sizeof *mean);
    memset(covariance, 0, channels * channels * sizeof *covariance);
    for (int pass = 0; pass < 2; pass++) {
        for (size_t p = 0; p < count; p++) {
            const double *at = x + p * channels;
            bool finite = leave == NULL || leave[p] == 0;
            for (size_t c = 0; c < channels; c++)
                finite = finite && isfinite(at[c]);
            if (!finite)
                continue;
            used += pass == 0;
            for (size_t i = 0; i < channels; i++) {
                if (pass == 0)
                    mean[i] += at[i];
                for (size_t j = 0; j <= i && pass == 1; j++)
                    covariance[i * channels + j] += (at[i] - mean[i]) * (at[j] - mean[j]);
            }
        }
        for (size_t i = 0; i < channels && pass == 0; i++)
            mean[i] /= used;
    }
    for (size_t i = 0; i < channels; i++)
        for (size_t j = 0; j <= i; j++)
            covariance[i * channels + j] = covariance[j * channels + i] =
                covariance[i * channels + j] / (used - 1);
}

/* What finds a dead band in its place is 0. */
static void regularise(struct yp_case *t, const struct rx_image *image, double eps, double shrink,
                       double *covariance)
{
    size_t n = image->channels;
    double low = INFINITY, high = -INFINITY;
    for (size_t p = 0; p < image->height * image->width; p++)
        for (size_t c = 0; c < n && finite_pixel(image->values + p * n, n); c++) {
            low = fmin(low, (double)image->values[p * n + c]);
            high = fmax(high, (double)image->values[p * n + c]);
        }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double *at = &covariance[i * n + j];
            if (is_dead(t, i) || is_dead(t, j))
                *at = i == j;
            else
                *at = i == j ? *at + eps * (high - low) * (high - low) : *at * (1 - shrink);
        }
}

static const double shrink = 0.2, local_shrink = 0.3, local_eps = 1e-6; /* of spoiled images */

static struct rx *fitted(struct yp_case *t, const struct rx_source *source,
                         enum rx_precision precision)
{
    const struct rx_finish_options options = {.mask_dead = is_spoiled(t),
                                              .shrink = is_spoiled(t) ? shrink : 0};
    struct rx *rx =
        open_rx_on(t, yp_device(t), source->channels, source->tile_pixels, THREADS, precision);
    yp_ok(t, rx_fit(rx, source));
    yp_ok(t, rx_finish_with(rx, &options));
    return rx;
}

/* -- matched filter and ACE ------------------------------------------------------------------ */

/* What a pixel scores. L and mean are the background's, w a target's z; z is scratch. */
static double right_score(enum rx_match match, const double *l, const double *mean, const double *w,
                          const double *x, size_t n, double *z)
{
    double zz = whiten(l, mean, x, n, z), ww = 0, wz = 0;
    for (size_t i = 0; i < n; i++) {
        ww += w[i] * w[i];
        wz += w[i] * z[i];
    }
    if (match == RX_MATCHED_FILTER)
        return wz / ww;
    return match == RX_ACE ? wz * wz / (ww * zz) : wz / sqrt(ww * zz);
}

/* Largest error of each score over all pixels, beside the largest score; a pixel is NaN where it
 * has a NaN. With statistics summed in float budgets are what rx_fit() says, times the scene's
 * condition; with those in double they are what whitening in float leaves. */
YP_TEST(rx_methods, matched, .tags = "stress", .cases = IMAGE_CASES, .timeout = 120,
        .axes = YP_AXES(yp_axis_string("sums", "float", "double")), .budgets = BUDGETS)
{
    struct rx_image image = case_image(t);
    size_t n = image.channels, pixels = image.height * image.width, at = pixels / 3;
    size_t count = is_spoiled(t) ? 3 : 1;
    float *targets = yp_alloc(t, count * n * sizeof *targets);
    for (size_t i = 0; i < count * n; i++) /* the dead bands of a target do not count */
        targets[i] = is_dead(t, i % n) ? 12345 : image.values[(at + 37 * (i / n)) * n + i % n];
    struct rx_image_tiles tiles;
    yp_ok(t, rx_image_pixels(&image, &tiles));
    bool in_float = strcmp(yp_string(t, "sums"), "float") == 0;
    struct rx *rx = fitted(t, &tiles.source, in_float ? RX_FP32 : RX_FP64);
    struct rx_matched *m = NULL;
    size_t places = tiles.source.tiles * tiles.source.tile_pixels;
    float *scores = yp_alloc(t, count * places * sizeof *scores);
    yp_expect_memory (t, "the filters",
                      .host = rx_matched_bytes(n, tiles.source.tile_pixels, count, THREADS)) {
        m = rx_matched_create(yp_device(t), rx, targets, count, tiles.source.tile_pixels, THREADS);
        yp_got(t, m);
    }
    double *x = in_double(t, image.values, pixels * n), *mean = yp_alloc(t, n * sizeof *mean);
    double *l = yp_alloc(t, n * n * sizeof *l), *z = yp_alloc(t, 2 * n * sizeof *z), *w = z + n;
    statistics(x, NULL, pixels, n, mean, l);
    regularise(t, &image, 0, is_spoiled(t) ? shrink : 0, l);
    cholesky(l, n);
    static const char *const names[] = {"filter error", "ACE error", "cosine error"};
    for (int match = RX_MATCHED_FILTER; match <= RX_COSINE; match++) {
        double most = 0, error = 0;
        yp_expect_no_requests (t, "scores")
            yp_ok(t, rx_matched_score(m, &tiles.source, (enum rx_match)match, scores));
        for (size_t i = 0; i < count * pixels; i++) {
            size_t k = i / pixels, p = i % pixels;
            bool finite = finite_pixel(image.values + p * n, n);
            float score = scores[k * places + p];
            for (size_t c = 0; c < n && p == 0; c++) /* z of the target, without dead bands */
                z[c] = is_dead(t, c) ? mean[c] : (double)targets[k * n + c];
            if (p == 0)
                whiten(l, mean, z, n, w);
            yp_expect(t, finite == !isnan(score), "pixel %zu scores %g", p, (double)score);
            if (!finite)
                continue;
            double right = right_score((enum rx_match)match, l, mean, w, x + p * n, n, z);
            most = fmax(most, fabs(right));
            error = worse(error, fabs((double)score - right));
        }
        yp_value(t, names[match], error / most);
    }
    rx_matched_destroy(m);
    rx_destroy(rx);
}

/* -- local RX -------------------------------------------------------------------------------- */

static size_t first_of(size_t at, size_t side, size_t length)
{
    size_t first = at < side / 2 ? 0 : at - side / 2;
    return first + side > length ? length - side : first;
}

/* The pixels of an outer window to x, and which of them are in the inner one to leave. */
static void take_window(const struct rx_image *image, size_t row, size_t column, size_t outer,
                        size_t inner, double *x, uint8_t *leave)
{
    size_t top = first_of(row, outer, image->height), left = first_of(column, outer, image->width);
    size_t up = first_of(row, inner, image->height), near = first_of(column, inner, image->width);
    for (size_t i = 0; i < outer * outer; i++) {
        size_t r = top + i / outer, c = left + i % outer;
        leave[i] = r >= up && r < up + inner && c >= near && c < near + inner;
        for (size_t b = 0; b < image->channels; b++)
            x[i * image->channels + b] =
                (double)image->values[(r * image->width + c) * image->channels + b];
    }
}

/* The pixels of the smaller images are fewer. */
static void local_judged(const struct yp_case *c, struct yp_budgets *out)
{
    if (yp_int(c, "side") > 100)
        yp_budget_add(out, yp_min_value("judged", 110));
}

/* Scores of pixels spread over the image, its corners among them, against rings summed one by one.
 * A score is a float: 6e-8. */
YP_TEST(rx_methods, local, .tags = "stress", .cases = IMAGE_CASES, .timeout = 120,
        .budgets = YP_BUDGETS(yp_max_value("score error", 6.1e-8), yp_min_value("judged", 13)),
        .budgets_of = local_judged)
{
    enum { INNER = 5, OUTER = 21, STEP = 331 };
    struct rx_image image = case_image(t);
    size_t n = image.channels, pixels = image.height * image.width;
    struct rx_local_options options = {.inner = INNER, .outer = OUTER, .threads = THREADS};
    if (is_spoiled(t)) {
        options.mask_dead = true;
        options.eps = local_eps;
        options.shrink = local_shrink;
    }
    float *scores = yp_alloc(t, pixels * sizeof *scores);
    struct rx_local_summary summary = {0};
    yp_expect_memory (t, "local RX", .host_at_most = true, .host = rx_local_bytes(&image, &options))
        yp_ok(t, rx_local(yp_device(t), &image, &options, scores, &summary));
    double *x = yp_alloc(t, OUTER * OUTER * n * sizeof *x), *mean = yp_alloc(t, n * sizeof *mean);
    double *l = yp_alloc(t, n * n * sizeof *l), *z = yp_alloc(t, n * sizeof *z), error = 0;
    uint8_t *leave = yp_alloc(t, OUTER * OUTER);
    size_t judged = 0;
    for (size_t p = 0; p < pixels;
         p += p + STEP < pixels || p == pixels - 1 ? STEP : pixels - 1 - p) {
        const float *own = image.values + p * n;
        if (!finite_pixel(own, n))
            continue;
        take_window(&image, p / image.width, p % image.width, OUTER, INNER, x, leave);
        statistics(x, leave, OUTER * OUTER, n, mean, l);
        regularise(t, &image, options.eps, options.shrink, l);
        cholesky(l, n);
        for (size_t c = 0; c < n; c++)
            x[c] = (double)own[c];
        double right = whiten(l, mean, x, n, z);
        error = worse(error, fabs((double)scores[p] / right - 1));
        judged++;
    }
    size_t skipped = 0;
    for (size_t p = 0; p < pixels; p++)
        skipped += !finite_pixel(image.values + p * n, n);
    yp_expect(t, summary.skipped == skipped && summary.scored == pixels - skipped,
              "%zu scored, %zu skipped of %zu with %zu that are not finite", (size_t)summary.scored,
              (size_t)summary.skipped, pixels, skipped);
    float *alone = yp_alloc(t, pixels * sizeof *alone);
    options.threads = 1;
    yp_ok(t, rx_local(yp_device(t), &image, &options, alone, NULL));
    yp_expect(t, memcmp(scores, alone, pixels * sizeof *alone) == 0, "another thread, other bits");
    yp_value(t, "judged", (double)judged);
    yp_value(t, "score error", error);
}

/* -- minimum noise fraction ------------------------------------------------------------------ */

/* v^T a v of all pairs of rows of v (n, n) to out. */
static void project(const double *v, const double *a, size_t n, double *half, double *out)
{
    for (size_t k = 0; k < n; k++)
        for (size_t j = 0; j < n; j++) {
            half[k * n + j] = 0;
            for (size_t c = 0; c < n; c++)
                half[k * n + j] += v[k * n + c] * a[c * n + j];
        }
    for (size_t k = 0; k < n; k++)
        for (size_t j = 0; j < n; j++) {
            out[k * n + j] = 0;
            for (size_t c = 0; c < n; c++)
                out[k * n + j] += half[k * n + c] * v[j * n + c];
        }
}

/* Half the covariance of differences between neighbours, by both; returns how far they are apart.
 */
static double noise_of(struct yp_case *t, const struct rx_image *image, int neighbour,
                       double *noise, double *got)
{
    size_t n = image->channels, h = image->height, w = image->width;
    size_t down = neighbour != RX_RIGHT, right = neighbour != RX_LOWER, pairs = 0;
    double *x = yp_alloc(t, h * w * n * sizeof *x), *mean = yp_alloc(t, n * sizeof *mean);
    double off = 0, size = 0;
    for (size_t r = 0; r + down < h; r++)
        for (size_t c = 0; c + right < w; c++, pairs++)
            for (size_t b = 0; b < n; b++)
                x[pairs * n + b] = (double)image->values[(r * w + c) * n + b] -
                                   (double)image->values[((r + down) * w + c + right) * n + b];
    statistics(x, NULL, pairs, n, mean, noise);
    yp_ok(t, rx_noise(yp_device(t), image, (enum rx_neighbour)neighbour, THREADS, got));
    for (size_t i = 0; i < n * n; i++) {
        noise[i] /= 2;
        off += pow(got[i] - noise[i], 2);
        size += noise[i] * noise[i];
    }
    return sqrt(off / size);
}

/* The vectors make the noise of differences 1 and the data their eigenvalues, the largest entry of
 * each is positive, and from components to pixels there is a way back. */
YP_TEST(rx_methods, mnf, .tags = "stress", .cases = IMAGE_CASES, .timeout = 120, .budgets = BUDGETS)
{
    struct rx_image image = case_image(t);
    size_t n = image.channels, h = image.height, w = image.width, few = 3;
    struct rx_image_tiles tiles;
    yp_ok(t, rx_image_pixels(&image, &tiles));
    struct rx_source source = tiles.source;
    struct rx *rx = fitted(t, &source, RX_FP32);
    double *square = yp_alloc(t, 5 * n * n * sizeof *square), *noise = square + n * n;
    double *data = noise + n * n, *half = data + n * n, *out = half + n * n, apart = 0;
    for (int to = RX_LOWER_RIGHT + 2; to >= RX_LOWER_RIGHT; to--)
        apart = worse(apart, noise_of(t, &image, to, noise, square));
    yp_expect(t, apart < 1e-6, "the noise is off by %g", apart);
    struct rx_mnf_options options = {.mask_dead = is_spoiled(t),
                                     .shrink = is_spoiled(t) ? shrink : 0};
    struct rx_mnf *m =
        rx_mnf_create(yp_device(t), rx, square, &options, source.tile_pixels, THREADS);
    yp_got(t, m);
    for (size_t i = 0; i < n * n; i++)
        noise[i] *= i % (n + 1) == 0 ? 1 : 1 - options.shrink;

    double *x = in_double(t, image.values, h * w * n), *mean = yp_alloc(t, n * sizeof *mean);
    statistics(x, NULL, h * w, n, mean, data);
    const double *values = rx_mnf_eigenvalues(m), *v = rx_mnf_vectors(m);
    double of_noise = 0, of_data = 0;
    size_t kept = rx_mnf_components(m), above = 0;
    yp_expect(t, kept == n - (is_spoiled(t) ? 2 : 0), "%zu components", kept);
    project(v, noise, n, half, out);
    for (size_t k = 0; k < kept; k++)
        for (size_t j = 0; j < kept; j++)
            of_noise = worse(of_noise, fabs(out[k * n + j] - (k == j)));
    project(v, data, n, half, out);
    for (size_t k = 0; k < kept; k++)
        for (size_t j = 0; j < kept; j++)
            of_data = worse(of_data, fabs(out[k * n + j] - (k == j ? values[k] : 0)) /
                                         sqrt(values[k] * values[j]));
    size_t places = source.tiles * source.tile_pixels;
    float *y = yp_alloc(t, places * n * sizeof *y), *back = yp_alloc(t, places * n * sizeof *back);
    yp_ok(t, rx_mnf_forward(m, &source, few, back));
    yp_ok(t, rx_mnf_forward(m, &source, kept, y));
    double away = 0;
    for (size_t p = 0; p < h * w; p++)
        for (size_t k = 0; k < few && finite_pixel(image.values + p * n, n); k++)
            yp_require(t,
                       fabsf(back[p * few + k] - y[p * kept + k]) <=
                           1e-3F * (1 + fabsf(y[p * kept + k])),
                       "component %zu of pixel %zu is another one among all", k, p);
    struct rx_image components = {y, h, w, kept};
    yp_ok(t, rx_image_pixels(&components, &tiles));
    yp_ok(t, rx_mnf_back(m, &tiles.source, back));
    for (size_t p = 0; p < h * w; p++)
        for (size_t c = 0; c < n && finite_pixel(image.values + p * n, n); c++)
            away = worse(away, fabs((double)back[p * n + c] - (double)image.values[p * n + c]));
    for (size_t k = 0; k < kept; k++) {
        double largest = 0;
        for (size_t c = 0; c < n; c++)
            largest = fabs(v[k * n + c]) > fabs(largest) ? v[k * n + c] : largest;
        yp_expect(t, largest > 0 && (k == 0 || values[k] <= values[k - 1]),
                  "vector %zu has %g, its eigenvalue is %g", k, largest, values[k]);
        above += values[k] >= 11;
    }
    yp_expect(t, rx_mnf_with_snr(m, 10) == above, "%zu components above 10, not %zu",
              rx_mnf_with_snr(m, 10), above);
    yp_value(t, "noise error", of_noise);
    yp_value(t, "data error", of_data);
    yp_value(t, "way back error", isnan(away) ? INFINITY : away);
    yp_value(t, "components above 10", (double)above);
    rx_mnf_destroy(m);
    rx_destroy(rx);
}

/* -- nonnegative least squares ---------------------------------------------------------------- */

enum { SPECTRA = 9, MIXED = 600, BANDS = 40, GAP = 3 };

/* Karush, Kuhn and Tucker: what is left of a pixel has the product lambda with every spectrum that
 * is there and no larger one with those that are not; lambda is 0 unless the sum is held. */
static double off_minimum(const float *e, const float *weights, const float *offset, const float *x,
                          size_t count, bool sum_to_one, const float *a)
{
    double slope[SPECTRA] = {0}, size = 0, lambda = 0, there = 0, sum = 0, worst = 0;
    for (size_t b = 0; b < BANDS; b++) {
        double rest = (double)x[b] - (double)offset[b];
        for (size_t k = 0; k < count; k++)
            rest -= (double)a[k] * (double)e[k * BANDS + b];
        for (size_t k = 0; k < count && weights[b] > 0; k++) {
            slope[k] += (double)weights[b] * rest * (double)e[k * BANDS + b];
            size = fmax(size, (double)weights[b] * pow((double)e[k * BANDS + b], 2));
        }
    }
    for (size_t k = 0; k < count; k++) {
        sum += (double)a[k];
        there += a[k] > 0;
        lambda += a[k] > 0 && sum_to_one ? slope[k] : 0;
    }
    lambda /= there > 0 ? there : 1;
    for (size_t k = 0; k < count; k++)
        worst = worse(worst, a[k] > 0   ? fabs(slope[k] - lambda)
                             : a[k] < 0 ? INFINITY
                                        : fmax(slope[k] - lambda, 0));
    return worse(worst / (size * BANDS), sum_to_one ? fabs(sum - 1) : 0);
}

/* Spectra that are much alike, one twice and one that is the sum of two, in pixels with noise: for
 * many shares the bound counts. The weights differ by factors, some are 0. */
YP_TEST(rx_methods, nnls, .tags = "stress small", .timeout = 60, .parallel = true,
        .axes = YP_AXES(yp_axis_int("spectra", 1, 4, SPECTRA), yp_axis_int("sum", 0, 1)))
{
    size_t count = (size_t)yp_int(t, "spectra"), zeros = 0, skipped = 0;
    struct ypi_seed seed = ypi_seed_of(yp_seed(t), 38, count);
    float e[SPECTRA * BANDS], weights[BANDS], offset[BANDS], *a[2];
    float *x = yp_alloc(t, MIXED * (BANDS + GAP) * sizeof *x);
    for (size_t i = 0; i < SPECTRA * BANDS; i++)
        e[i] = (float)(0.5 + 0.3 * ypi_seed_normal(&seed));
    for (size_t b = 0; b < BANDS; b++) {
        weights[b] = b % 7 == 3 ? 0 : (float)exp(2 * ypi_seed_normal(&seed));
        offset[b] = (float)ypi_seed_normal(&seed);
        e[6 * BANDS + b] = e[2 * BANDS + b];
        e[7 * BANDS + b] = e[3 * BANDS + b] + e[4 * BANDS + b];
    }
    for (size_t p = 0; p < MIXED; p++) {
        double share[SPECTRA], light = 0.5 + ypi_seed_uniform(&seed), total = 0;
        for (size_t k = 0; k < count; k++)
            total += share[k] = pow(ypi_seed_uniform(&seed), 4);
        for (size_t b = 0; b < BANDS + GAP; b++) {
            double value = b < BANDS ? (double)offset[b] + 0.15 * ypi_seed_normal(&seed) : 1e30;
            for (size_t k = 0; k < count && b < BANDS; k++)
                value += light * share[k] / total * (double)e[k * BANDS + b];
            x[p * (BANDS + GAP) + b] = p % 97 == 5 && b == 3 + p % 2 ? NAN : (float)value;
        }
    }
    struct rx_nnls_options options = {yp_int(t, "sum") == 1, weights, offset};
    struct rx_tile tile = {x, MIXED, BANDS, NULL, BANDS + GAP};
    struct rx_nnls_report report;
    for (int i = 0; i < 2; i++) {
        struct rx_nnls *nnls =
            rx_nnls_create(yp_device_cpu(), e, count, BANDS, MIXED, i + 1, &options);
        yp_got(t, nnls);
        a[i] = yp_alloc(t, MIXED * count * sizeof *a[i]);
        struct rx_source source = one_tile_source(&tile);
        yp_ok(t, rx_nnls_run(nnls, &source, a[i], &report));
        rx_nnls_destroy(nnls);
    }
    double worst = 0;
    for (size_t p = 0; p < MIXED; p++) {
        const float *at = x + p * (BANDS + GAP), *found = a[0] + p * count;
        bool lost = isnan(at[4]); /* band 3 has no weight */
        skipped += lost;
        yp_require(t, isnan(found[0]) == lost, "pixel %zu has %g", p, (double)found[0]);
        for (size_t k = 0; k < count; k++)
            zeros += found[k] == 0;
        if (!lost && !isnan(at[3]))
            worst =
                worse(worst, off_minimum(e, weights, offset, at, count, options.sum_to_one, found));
    }
    yp_expect(t,
              report.pixels == MIXED - skipped && report.skipped == skipped &&
                  report.unfinished == 0 && (count < 3 || zeros > 100),
              "%zu pixels, %zu skipped, %zu unfinished, %zu shares of 0", (size_t)report.pixels,
              (size_t)report.skipped, (size_t)report.unfinished, zeros);
    yp_expect(t, memcmp(a[0], a[1], MIXED * count * sizeof *a[0]) == 0,
              "another thread, other bits");
    yp_value(t, "off", worst);
    yp_expect(t, worst < 1e-7, "a minimum is off by %g", worst);
}
