#include "suites/cube_statistics.h"

#include "models/metrics/metrics.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <string.h>

#define CHUNK 512 /* pixels of one matrix product */

static const size_t lags[CUBE_LAGS] = {1, 8, 32};

/* -- work space --------------------------------------------------------------------------- */

struct work {
    size_t pixels, channels, count; /* of the cube; count: its valid channels */
    size_t *channel;                /* (count): their numbers */
    char *counts;                   /* (pixels) */
    double *mean, *values, *others; /* (channels) each; eigenvalues, those of the correlation */
    double *matrix, *second;        /* (channels, channels) each; matrix: vectors in its rows */
    double *rows, *rotated;         /* (CHUNK, channels) each */
    double *lapack;                 /* what dsyevd asks for */
    lapack_int *integers;
    lapack_int lapack_count, integer_count;
    double *scores; /* (pixels); scratch of the SNR before */
};

static void *take(char **at, size_t bytes)
{
    void *part = *at;
    *at += (bytes + 63) / 64 * 64;
    return part;
}

static size_t lay_out(struct work *w, const struct cube_view *cube, char *base)
{
    char *at = base;
    size_t n = w->pixels = cube->height * cube->width, c = w->channels = cube->channels;
    w->channel = take(&at, c * sizeof *w->channel);
    w->counts = take(&at, n);
    w->mean = take(&at, c * sizeof(double));
    w->values = take(&at, c * sizeof(double));
    w->others = take(&at, c * sizeof(double));
    w->matrix = take(&at, c * c * sizeof(double));
    w->second = take(&at, c * c * sizeof(double));
    w->rows = take(&at, CHUNK * c * sizeof(double));
    w->rotated = take(&at, CHUNK * c * sizeof(double));
    w->scores = take(&at, n * sizeof(double));
    w->lapack_count = (lapack_int)(1 + 6 * c + 2 * c * c);
    w->integer_count = (lapack_int)(3 + 5 * c);
    w->lapack = take(&at, (size_t)w->lapack_count * sizeof(double));
    w->integers = take(&at, (size_t)w->integer_count * sizeof *w->integers);
    return (size_t)(at - base);
}

size_t cube_statistics_bytes(const struct cube_view *cube)
{
    static char nothing;
    struct work w;
    return lay_out(&w, cube, &nothing);
}

/* -- valid pixels and channels ------------------------------------------------------------ */

static bool has_data(const float *pixel, size_t channels)
{
    size_t c = 0;
    while (c < channels && !isfinite(pixel[c]))
        c++;
    return c < channels;
}

static bool channel_counts(const struct cube_view *cube, size_t pixels, size_t with_data, size_t c)
{
    size_t finite = 0;
    float low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < pixels; i++) {
        float x = cube->values[i * cube->channels + c];
        if (!isfinite(x))
            continue;
        finite++;
        low = x < low ? x : low;
        high = x > high ? x : high;
    }
    return 2 * finite >= with_data && low < high;
}

static void find_what_counts(const struct cube_view *cube, struct work *w,
                             struct cube_statistics *out)
{
    for (size_t i = 0; i < w->pixels; i++) {
        w->counts[i] = (char)has_data(cube->values + i * w->channels, w->channels);
        out->with_data += (size_t)w->counts[i];
    }
    w->count = 0;
    for (size_t c = 0; c < w->channels; c++)
        if (channel_counts(cube, w->pixels, out->with_data, c))
            w->channel[w->count++] = c;
    out->channels = w->count;
    for (size_t i = 0; i < w->pixels; i++) {
        for (size_t k = 0; k < w->count && w->counts[i]; k++)
            w->counts[i] = (char)isfinite(cube->values[i * w->channels + w->channel[k]]);
        out->pixels += (size_t)w->counts[i];
    }
}

/* -- covariance and its eigenvalues ------------------------------------------------------- */

/* Copies the next valid pixels from *pixel on, less the mean, to w->rows; returns how many. */
static size_t next_rows(const struct cube_view *cube, const struct work *w, size_t *pixel,
                        size_t at[CHUNK])
{
    size_t rows = 0;
    for (; *pixel < w->pixels && rows < CHUNK; ++*pixel) {
        if (!w->counts[*pixel])
            continue;
        const float *x = cube->values + *pixel * w->channels;
        for (size_t k = 0; k < w->count; k++)
            w->rows[rows * w->count + k] = (double)x[w->channel[k]] - w->mean[k];
        at[rows++] = *pixel;
    }
    return rows;
}

static void find_mean(const struct cube_view *cube, struct work *w, double pixels)
{
    memset(w->mean, 0, w->count * sizeof *w->mean);
    for (size_t i = 0; i < w->pixels; i++)
        for (size_t k = 0; k < w->count && w->counts[i]; k++)
            w->mean[k] += (double)cube->values[i * w->channels + w->channel[k]] / pixels;
}

/* Upper triangles (row-major) of the covariance to matrix, of the correlation to second. */
static void find_covariance(const struct cube_view *cube, struct work *w, double pixels)
{
    int c = (int)w->count;
    size_t at[CHUNK], pixel = 0, rows;
    memset(w->matrix, 0, w->count * w->count * sizeof *w->matrix);
    while ((rows = next_rows(cube, w, &pixel, at)) > 0)
        cblas_dsyrk(CblasRowMajor, CblasUpper, CblasTrans, c, (int)rows, 1 / (pixels - 1), w->rows,
                    c, 1, w->matrix, c);
    memcpy(w->second, w->matrix, w->count * w->count * sizeof *w->second);
    cblas_dsyr(CblasRowMajor, CblasUpper, c, 1, w->mean, 1, w->second, c);
}

/* The upper triangle by rows is the lower by columns, which LAPACK takes without a copy. */
static bool decompose(const struct work *w, char vectors, double *matrix, double *values)
{
    lapack_int c = (lapack_int)w->count;
    return LAPACKE_dsyevd_work(LAPACK_COL_MAJOR, vectors, 'L', c, matrix, c, values, w->lapack,
                               w->lapack_count, w->integers, w->integer_count) == 0;
}

/* Writes rising eigenvalues to values and others, eigenvectors to the rows of matrix. */
static enum yp_status find_eigenvalues(struct work *w)
{
    if (decompose(w, 'V', w->matrix, w->values) && decompose(w, 'N', w->second, w->others))
        return YP_OK;
    return yp_set_error(YP_INVALID,
                        "cube_statistics: the eigenvalues of the covariance of %zu "
                        "channels did not converge",
                        w->count);
}

static void judge_spectrum(const struct work *w, struct cube_statistics *out)
{
    static const size_t first[CUBE_SHARES] = {1, 3, 10};
    double trace = 0, sum = 0;
    for (size_t k = 0; k < w->count; k++)
        trace += w->values[k];
    size_t of_99 = w->count, of_999 = w->count;
    for (size_t k = 0; k < w->count; k++) {
        sum += w->values[w->count - 1 - k];
        for (int i = 0; i < CUBE_SHARES; i++)
            if (k < first[i])
                out->share[i] = sum / trace;
        if (sum >= 0.99 * trace && of_99 == w->count)
            of_99 = k + 1;
        if (sum >= 0.999 * trace && of_999 == w->count)
            of_999 = k + 1;
    }
    out->components_99 = (double)of_99;
    out->components_999 = (double)of_999;
}

/* The k-th eigenvalues of correlation and covariance differ by chance with a variance of about
 * 2 (l^2 + m^2) / n; 3.0902 standard deviations are exceeded once in 1,000. */
static void judge_dimension(const struct work *w, struct cube_statistics *out)
{
    out->virtual_dimension = 0;
    for (size_t k = 0; k < w->count; k++) {
        double l = w->others[k], m = w->values[k];
        out->virtual_dimension +=
            l - m > 3.0902323 * sqrt(2 * (l * l + m * m) / (double)out->pixels);
    }
}

/* -- scores ------------------------------------------------------------------------------- */

/* Writes the scores of the valid pixels to w->scores, contiguously. Returns the degrees of freedom:
 * the directions whose variance is above the rounding error of the largest. */
static size_t find_scores(const struct cube_view *cube, struct work *w)
{
    int c = (int)w->count;
    double least = 1e-13 * w->values[w->count - 1];
    size_t at[CHUNK], pixel = 0, rows, done = 0, rank = 0;
    for (size_t k = 0; k < w->count; k++)
        rank += w->values[k] > least;
    while ((rows = next_rows(cube, w, &pixel, at)) > 0) {
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)rows, c, c, 1, w->rows, c,
                    w->matrix, c, 0, w->rotated, c);
        for (size_t i = 0; i < rows; i++) {
            double score = 0;
            for (size_t k = w->count - rank; k < w->count; k++) {
                double y = w->rotated[i * w->count + k];
                score += y * y / w->values[k];
            }
            w->scores[done++] = score;
        }
    }
    return rank;
}

/* Mean log density of scores of a multivariate t with v degrees of freedom and this covariance:
 * s / c * v / (v - 2) is F(c, v). Terms without v are left out. */
static double likelihood(const double *scores, size_t n, double c, double v)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += log1p(scores[i] / (v - 2));
    return lgamma((v + c) / 2) - lgamma(v / 2) - c / 2 * log(v - 2) - (v + c) / 2 * sum / (double)n;
}

/* Golden section on the logarithm of v - 2. */
static double most_likely_degrees(const double *scores, size_t n, double c)
{
    const double golden = 0.6180339887498949;
    double low = log(0.01), high = log(1e6);
    while (high - low > 1e-4) {
        double a = high - golden * (high - low), b = low + golden * (high - low);
        if (likelihood(scores, n, c, 2 + exp(a)) < likelihood(scores, n, c, 2 + exp(b)))
            low = a;
        else
            high = b;
    }
    return 2 + exp((low + high) / 2);
}

static void judge_scores(const struct cube_view *cube, struct work *w, struct cube_statistics *out)
{
    static const double above[CUBE_TAILS] = {0.01, 0.001, 0.0001};
    double rank = (double)find_scores(cube, w);
    for (int i = 0; i < CUBE_TAILS; i++) {
        double limit = metrics_chi_square_point(above[i], rank);
        size_t count = 0;
        for (size_t k = 0; k < out->pixels; k++)
            count += w->scores[k] > limit;
        out->tail[i] = (double)count / (above[i] * (double)out->pixels);
    }
    out->degrees = most_likely_degrees(w->scores, out->pixels, rank);
}

/* -- space and noise ---------------------------------------------------------------------- */

struct pairs {
    double n, x, y, xx, yy, xy;
};

static double correlation_of(const struct pairs *p)
{
    return (p->n * p->xy - p->x * p->y) /
           sqrt((p->n * p->xx - p->x * p->x) * (p->n * p->yy - p->y * p->y));
}

/* Of channel k, `lag` pixels from each other along rows or, with `rows` false, columns. */
static double channel_correlation(const struct cube_view *cube, const struct work *w, size_t k,
                                  size_t lag, bool rows)
{
    size_t step = rows ? lag : lag * cube->width, c = w->channel[k];
    size_t height = rows ? cube->height : cube->height - lag;
    size_t width = rows ? cube->width - lag : cube->width;
    struct pairs p = {0};
    for (size_t row = 0; row < height; row++)
        for (size_t i = row * cube->width; i < row * cube->width + width; i++) {
            if (!w->counts[i] || !w->counts[i + step])
                continue;
            double x = (double)cube->values[i * w->channels + c] - w->mean[k];
            double y = (double)cube->values[(i + step) * w->channels + c] - w->mean[k];
            p.n++, p.x += x, p.y += y, p.xx += x * x, p.yy += y * y, p.xy += x * y;
        }
    return correlation_of(&p);
}

static void judge_space(const struct cube_view *cube, const struct work *w,
                        struct cube_statistics *out)
{
    for (int i = 0; i < CUBE_LAGS; i++) {
        if (lags[i] + 1 >= cube->width || lags[i] + 1 >= cube->height)
            continue;
        double sum = 0, n = 0;
        for (size_t k = 0; k < w->count; k++)
            for (int rows = 0; rows < 2; rows++) {
                double each = channel_correlation(cube, w, k, lags[i], rows);
                /* Where too few pairs are left, or all the same, it is none. */
                sum += isfinite(each) ? each : 0;
                n += isfinite(each);
            }
        if (n > 0)
            out->correlation[i] = sum / n;
    }
}

/* Quickselect (Hoare): returns value number `want` in sorted order and moves smaller ones before
 * it. */
static double select_value(double *values, size_t n, size_t want)
{
    size_t low = 0, high = n - 1;
    while (low < high) {
        double pivot = values[low + (high - low) / 2];
        size_t i = low, j = high;
        for (;;) {
            while (values[i] < pivot)
                i++;
            while (values[j] > pivot)
                j--;
            if (i >= j)
                break;
            double swap = values[i];
            values[i++] = values[j];
            values[j--] = swap;
        }
        if (want <= j)
            high = j;
        else
            low = j + 1;
    }
    return values[want];
}

/* The upper median of an even number of values. */
static double median(double *values, size_t n)
{
    return n == 0 ? NAN : select_value(values, n, n / 2);
}

/* The median of a normal's absolute value is 0.6745 of its standard deviation; a second difference
 * has six times the variance of its terms. */
static double channel_noise(const struct cube_view *cube, struct work *w, size_t k)
{
    size_t n = 0, c = w->channel[k], step = cube->width;
    for (size_t i = 0; i + 2 * step < w->pixels; i++) {
        if (!w->counts[i] || !w->counts[i + step] || !w->counts[i + 2 * step])
            continue;
        double a = (double)cube->values[i * w->channels + c];
        double b = (double)cube->values[(i + step) * w->channels + c];
        double d = (double)cube->values[(i + 2 * step) * w->channels + c];
        w->scores[n++] = fabs(a - 2 * b + d);
    }
    return median(w->scores, n) / 0.6744897501960817 / sqrt(6);
}

/* Overwrites w->scores, and w->others, which the virtual dimension no longer needs. */
static void judge_noise(const struct cube_view *cube, struct work *w, struct cube_statistics *out)
{
    size_t n = 0;
    for (size_t k = 0; k < w->count; k++) {
        double ratio = fabs(w->mean[k]) / channel_noise(cube, w, k);
        if (!isnan(ratio))
            w->others[n++] = ratio;
    }
    double middle = median(w->others, n);
    if (middle > 0 && isfinite(middle))
        out->snr_db = 20 * log10(middle);
}

/* -- all of it ---------------------------------------------------------------------------- */

static void clear(struct cube_statistics *out)
{
    *out = (struct cube_statistics){.components_99 = NAN,
                                    .components_999 = NAN,
                                    .virtual_dimension = NAN,
                                    .snr_db = NAN,
                                    .degrees = NAN};
    for (int i = 0; i < CUBE_SHARES; i++)
        out->share[i] = NAN;
    for (int i = 0; i < CUBE_LAGS; i++)
        out->correlation[i] = NAN;
    for (int i = 0; i < CUBE_TAILS; i++)
        out->tail[i] = NAN;
}

static enum yp_status judge(const struct cube_view *cube, struct work *w,
                            struct cube_statistics *out)
{
    clear(out);
    find_what_counts(cube, w, out);
    if (out->pixels == 0)
        return yp_set_error(YP_INVALID,
                            "cube_statistics: no pixel counts: %zu of %zu have a finite value, and "
                            "none is finite in all of the %zu channels that count",
                            out->with_data, w->pixels, w->count);
    if (w->count == 0 || out->pixels < 2)
        return YP_OK;
    find_mean(cube, w, (double)out->pixels);
    find_covariance(cube, w, (double)out->pixels);
    enum yp_status status = find_eigenvalues(w);
    if (status != YP_OK)
        return status;
    if (w->values[w->count - 1] > 0)
        judge_spectrum(w, out);
    if (w->values[w->count - 1] > 0 && out->pixels >= w->count + 2) {
        judge_dimension(w, out);
        judge_scores(cube, w, out);
    }
    judge_space(cube, w, out);
    judge_noise(cube, w, out);
    return YP_OK;
}

enum yp_status cube_statistics(struct yp_device *device, const struct cube_view *cube,
                               struct cube_statistics *out)
{
    struct work w;
    char *block = yp_device_alloc(device, cube_statistics_bytes(cube));
    if (block == NULL)
        return YP_OUT_OF_MEMORY;
    lay_out(&w, cube, block);
    enum yp_status status = judge(cube, &w, out);
    yp_device_free(device, block);
    return status;
}
