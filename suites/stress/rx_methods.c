/* The methods beside RX on the default scene, right as the data grow: against plain loops in double
 * over the pixels themselves. */
#include "models/rx/methods/local.h"
#include "models/rx/methods/matched.h"
#include "models/rx/methods/mnf.h"
#include "suites/scene_tiles.h"
#include "suites/worst.h"

#include <math.h>
#include <string.h>

#define THREADS 2

/* One cube: these methods take an image. */
#define IMAGE_CASES \
    YP_CASES(yp_case_of("small", .set = YP_SET(SCALE(1, 64, 10))), \
             yp_case_of("medium", .set = YP_SET(SCALE(1, 192, 50))))
#define BUDGETS YP_BUDGETS(yp_budget_file("budgets.ini"))

static struct rx_image case_image(struct yp_case *t)
{
    struct scale s = scale_of(t);
    struct synth_spec spec = scale_spec(&s, yp_seed(t));
    struct synth_scene *scene = synth_scene_create(yp_device_cpu(), &spec);
    yp_got(t, scene);
    size_t count = s.height * s.width * s.channels;
    float *values = yp_alloc(t, count * sizeof *values);
    yp_ok(t, synth_scene_tile(scene, 0, 0, s.height * s.width, values, NULL));
    synth_scene_destroy(scene);
    yp_data_hash(t, yp_hash_f32(0, values, count));
    return (struct rx_image){values, s.height, s.width, s.channels};
}

/* -- oracles --------------------------------------------------------------------------------- */

static bool is_finite(const float *x, size_t channels)
{
    for (size_t c = 0; c < channels; c++)
        if (!isfinite(x[c]))
            return false;
    return true;
}

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

/* L of a = L L^T in the lower triangle, in place. */
static void cholesky(double *a, size_t n)
{
    for (size_t j = 0; j < n; j++)
        for (size_t i = j; i < n; i++) {
            for (size_t k = 0; k < j; k++)
                a[i * n + j] -= a[i * n + k] * a[j * n + k];
            a[i * n + j] = i == j ? sqrt(a[i * n + j]) : a[i * n + j] / a[j * n + j];
        }
}

/* z = L^-1 (x - mean); returns |z|^2. */
static double whiten(const double *l, const double *mean, const double *x, size_t n, double *z)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        z[i] = x[i] - mean[i];
        for (size_t k = 0; k < i; k++)
            z[i] -= l[i * n + k] * z[k];
        z[i] /= l[i * n + i];
        sum += z[i] * z[i];
    }
    return sum;
}

static double *doubles(struct yp_case *t, const float *x, size_t count)
{
    double *out = yp_alloc(t, count * sizeof *out);
    for (size_t i = 0; i < count; i++)
        out[i] = (double)x[i];
    return out;
}

static struct rx *fitted(struct yp_case *t, const struct rx_source *source,
                         enum rx_precision precision)
{
    struct rx *rx = rx_create_with(yp_device(t), source->channels, source->tile_pixels, THREADS,
                                   &(struct rx_options){.precision = precision});
    yp_got(t, rx);
    yp_ok(t, rx_fit(rx, source));
    yp_ok(t, rx_finish(rx, 0));
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
    struct rx_image_tiles tiles;
    yp_ok(t, rx_image_pixels(&image, &tiles));
    bool in_float = strcmp(yp_string(t, "sums"), "float") == 0;
    struct rx *rx = fitted(t, &tiles.source, in_float ? RX_FP32 : RX_FP64);
    struct rx_matched *m = NULL;
    size_t places = tiles.source.tiles * tiles.source.tile_pixels;
    float *scores = yp_alloc(t, places * sizeof *scores);
    yp_expect_memory (t, "the filters",
                      .host = rx_matched_bytes(n, tiles.source.tile_pixels, 1, THREADS)) {
        m = rx_matched_create(yp_device(t), rx, image.values + at * n, 1, tiles.source.tile_pixels,
                              THREADS);
        yp_got(t, m);
    }
    double *x = doubles(t, image.values, pixels * n), *mean = yp_alloc(t, n * sizeof *mean);
    double *l = yp_alloc(t, n * n * sizeof *l), *z = yp_alloc(t, 2 * n * sizeof *z), *w = z + n;
    statistics(x, NULL, pixels, n, mean, l);
    cholesky(l, n);
    whiten(l, mean, x + at * n, n, w);
    static const char *const names[] = {"filter error", "ACE error", "cosine error"};
    for (int match = RX_MATCHED_FILTER; match <= RX_COSINE; match++) {
        double most = 0, error = 0;
        yp_expect_no_requests (t, "scores")
            yp_ok(t, rx_matched_score(m, &tiles.source, (enum rx_match)match, scores));
        for (size_t p = 0; p < pixels; p++) {
            bool finite = is_finite(image.values + p * n, n);
            yp_expect(t, finite == !isnan(scores[p]), "pixel %zu scores %g", p, (double)scores[p]);
            if (!finite)
                continue;
            double right = right_score((enum rx_match)match, l, mean, w, x + p * n, n, z);
            most = fmax(most, fabs(right));
            error = worse(error, fabs((double)scores[p] - right));
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

/* Scores of pixels spread over the image, its corners among them, against rings summed one by one.
 * A score is a float: 6e-8. */
YP_TEST(rx_methods, local, .tags = "stress", .cases = IMAGE_CASES, .timeout = 120,
        .budgets = BUDGETS)
{
    enum { INNER = 5, OUTER = 21, STEP = 331 };
    struct rx_image image = case_image(t);
    size_t n = image.channels, pixels = image.height * image.width;
    struct rx_local_options options = {.inner = INNER, .outer = OUTER, .threads = THREADS};
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
        if (!is_finite(own, n))
            continue;
        take_window(&image, p / image.width, p % image.width, OUTER, INNER, x, leave);
        statistics(x, leave, OUTER * OUTER, n, mean, l);
        cholesky(l, n);
        for (size_t c = 0; c < n; c++)
            x[c] = (double)own[c];
        double right = whiten(l, mean, x, n, z);
        error = worse(error, fabs((double)scores[p] / right - 1));
        judged++;
    }
    size_t skipped = 0;
    for (size_t p = 0; p < pixels; p++)
        skipped += !is_finite(image.values + p * n, n);
    yp_expect(t, summary.skipped == skipped && summary.scored == pixels - skipped,
              "%zu scored, %zu skipped of %zu with %zu that are not finite", (size_t)summary.scored,
              (size_t)summary.skipped, pixels, skipped);
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

/* The vectors make the noise of differences 1 and the data their eigenvalues, and from components
 * to pixels there is a way back. */
YP_TEST(rx_methods, mnf, .tags = "stress", .cases = IMAGE_CASES, .timeout = 120, .budgets = BUDGETS)
{
    struct rx_image image = case_image(t);
    size_t n = image.channels, h = image.height, w = image.width;
    struct rx_image_tiles tiles;
    yp_ok(t, rx_image_pixels(&image, &tiles));
    struct rx_source source = tiles.source;
    struct rx *rx = fitted(t, &source, RX_FP32);
    double *square = yp_alloc(t, 5 * n * n * sizeof *square), *noise = square + n * n;
    double *data = noise + n * n, *half = data + n * n, *out = half + n * n;
    yp_ok(t, rx_noise(yp_device(t), &image, RX_LOWER_RIGHT, THREADS, square));
    struct rx_mnf *m = rx_mnf_create(yp_device(t), rx, square, NULL, source.tile_pixels, THREADS);
    yp_got(t, m);

    double *x = doubles(t, image.values, h * w * n), *mean = yp_alloc(t, n * sizeof *mean);
    statistics(x, NULL, h * w, n, mean, data);
    for (size_t r = 0; r + 1 < h; r++)
        for (size_t i = 0; i < (w - 1) * n; i++)
            x[r * (w - 1) * n + i] = x[r * w * n + i] - x[(r + 1) * w * n + n + i];
    statistics(x, NULL, (h - 1) * (w - 1), n, mean, noise);
    const double *values = rx_mnf_eigenvalues(m);
    double of_noise = 0, of_data = 0;
    project(rx_mnf_vectors(m), noise, n, half, out);
    for (size_t k = 0; k < n; k++)
        for (size_t j = 0; j < n; j++)
            of_noise = worse(of_noise, fabs(out[k * n + j] / 2 - (k == j)));
    project(rx_mnf_vectors(m), data, n, half, out);
    for (size_t k = 0; k < n; k++)
        for (size_t j = 0; j < n; j++)
            of_data = worse(of_data, fabs(out[k * n + j] - (k == j ? values[k] : 0)) /
                                         sqrt(values[k] * values[j]));
    size_t places = source.tiles * source.tile_pixels;
    float *y = yp_alloc(t, places * n * sizeof *y), *back = yp_alloc(t, places * n * sizeof *back);
    yp_ok(t, rx_mnf_forward(m, &source, n, y));
    struct rx_image components = {y, h, w, n};
    yp_ok(t, rx_image_pixels(&components, &tiles));
    yp_ok(t, rx_mnf_back(m, &tiles.source, back));
    double away = 0;
    for (size_t p = 0; p < h * w; p++)
        for (size_t c = 0; c < n && is_finite(image.values + p * n, n); c++)
            away = worse(away, fabs((double)back[p * n + c] - (double)image.values[p * n + c]));
    for (size_t k = 1; k < n; k++)
        yp_expect(t, values[k] <= values[k - 1], "eigenvalue %zu is %g, that before it %g", k,
                  values[k], values[k - 1]);
    yp_value(t, "noise error", of_noise);
    yp_value(t, "data error", of_data);
    yp_value(t, "way back error", isnan(away) ? INFINITY : away);
    yp_value(t, "components above 10", (double)rx_mnf_with_snr(m, 10));
    rx_mnf_destroy(m);
    rx_destroy(rx);
}
