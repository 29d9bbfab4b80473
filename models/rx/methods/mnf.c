/* Minimum noise fraction: noise of differences, the generalised eigenproblem, and transforms. */
#include "models/rx/methods/mnf.h"

#include "models/rx/pipeline/internal.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <omp.h>
#include <string.h>

/* -- noise ----------------------------------------------------------------------------------- */

size_t rx_noise_bytes(const struct rx_image *image, enum rx_neighbour neighbour, int threads)
{
    struct rx_image_tiles tiles;
    if (rx_image_differences(image, neighbour, &tiles) != YP_OK)
        return 0;
    return rx_bytes(image->channels, tiles.source.tile_pixels, threads);
}

enum yp_status rx_noise(struct yp_device *device, const struct rx_image *image,
                        enum rx_neighbour neighbour, int threads, double *covariance)
{
    struct rx_image_tiles tiles;
    if (covariance == NULL)
        return yp_set_error(YP_INVALID, "rx_noise: covariance is NULL");
    enum yp_status status = ypi_check_host("rx_noise", device);
    if (status == YP_OK)
        status = rx_image_differences(image, neighbour, &tiles);
    if (status != YP_OK)
        return status;
    struct rx *rx = rx_create(device, image->channels, tiles.source.tile_pixels, threads);
    if (rx == NULL)
        return yp_last_status();
    status = rx_fit(rx, &tiles.source);
    if (status == YP_OK)
        status = rx_covariance(rx, covariance);
    for (size_t i = 0; i < image->channels * image->channels && status == YP_OK; i++)
        covariance[i] /= 2;
    rx_destroy(rx);
    return status;
}

/* -- the eigenproblem ------------------------------------------------------------------------ */

struct rx_mnf {
    struct yp_device *device;
    size_t channels, components, tile_pixels;
    int threads;
    double *eigenvalues;   /* (C) */
    double *vectors;       /* (C, C): row k is v_k */
    double *back;          /* (C, C): row k is Sigma_N v_k */
    float *forward, *away; /* (C, C): the same rounded */
    float *centre, *rest;  /* (C): the mean as the sum of two floats */
    float *values;         /* (threads, tile_pixels, C) */
    float *rows;           /* (threads, CHUNK, C) */
};

/* What is needed while the object is made. N are the channels that count. */
struct solving {
    const char *what;
    size_t channels, count;
    double *noise, *factor, *matrix; /* (C, C), of which (N, N) are used */
    double *variances, *work;
    int *iwork;
    size_t *list; /* (C): the N channels */
};

static void lay_out(struct rx_mnf *m, struct ypi_arena *arena, size_t channels, size_t tile_pixels,
                    int threads)
{
    size_t square = channels * channels, teams = (size_t)threads;
    *m = (struct rx_mnf){.channels = channels, .tile_pixels = tile_pixels, .threads = threads};
    m->eigenvalues = ypi_arena_take(arena, channels, sizeof *m->eigenvalues);
    m->vectors = ypi_arena_take(arena, square, sizeof *m->vectors);
    m->back = ypi_arena_take(arena, square, sizeof *m->back);
    m->forward = ypi_arena_take(arena, square, sizeof *m->forward);
    m->away = ypi_arena_take(arena, square, sizeof *m->away);
    m->centre = ypi_arena_take(arena, channels, sizeof *m->centre);
    m->rest = ypi_arena_take(arena, channels, sizeof *m->rest);
    m->values = ypi_arena_take(arena, teams * tile_pixels, channels * sizeof *m->values);
    m->rows = ypi_arena_take(arena, teams * YPI_RX_CHUNK, channels * sizeof *m->rows);
}

static void lay_out_solving(struct solving *s, struct ypi_arena *arena, size_t channels)
{
    size_t square = channels * channels;
    *s = (struct solving){.channels = channels};
    s->noise = ypi_arena_take(arena, square, sizeof *s->noise);
    s->factor = ypi_arena_take(arena, square, sizeof *s->factor);
    s->matrix = ypi_arena_take(arena, square, sizeof *s->matrix);
    s->variances = ypi_arena_take(arena, channels, sizeof *s->variances);
    s->work = ypi_arena_take(arena, ypi_rx_pca_work(channels), sizeof *s->work);
    s->iwork = ypi_arena_take(arena, ypi_rx_pca_iwork(channels), sizeof *s->iwork);
    s->list = ypi_arena_take(arena, channels, sizeof *s->list);
}

static size_t object_bytes(size_t channels, size_t tile_pixels, int threads)
{
    struct ypi_arena arena = {0};
    struct rx_mnf mnf;
    ypi_arena_take(&arena, 1, sizeof mnf);
    lay_out(&mnf, &arena, channels, tile_pixels, threads);
    return arena.used;
}

static size_t solving_bytes(size_t channels)
{
    struct ypi_arena arena = {0};
    struct solving solving;
    lay_out_solving(&solving, &arena, channels);
    return arena.used;
}

size_t rx_mnf_bytes(size_t channels, size_t tile_pixels, int threads)
{
    if (ypi_rx_check("rx_mnf_bytes", channels, tile_pixels, &threads) != YP_OK)
        return 0;
    return object_bytes(channels, tile_pixels, threads) + solving_bytes(channels);
}

/* Both covariances of the channels that count, symmetric, the noise's shrunk. */
static enum yp_status gather(struct solving *s, const struct rx *rx, const double *noise,
                             const struct rx_mnf_options *options)
{
    s->count = 0;
    for (size_t c = 0; c < s->channels; c++)
        if (!options->mask_dead || rx->all.low[c] != rx->all.high[c])
            s->list[s->count++] = c;
    if (s->count == 0)
        return yp_set_error(YP_INVALID, "%s: all %zu channels are dead", s->what, s->channels);
    for (size_t i = 0; i < s->count; i++)
        for (size_t j = i; j < s->count; j++) {
            size_t at = s->list[i] * s->channels + s->list[j];
            double data = rx->all.m2[at] / (double)(rx->all.pixels - 1), grain = noise[at];
            if (!isfinite(data) || !isfinite(grain))
                return yp_set_error(YP_INVALID,
                                    "%s: the covariance of channels %zu and %zu is %g, "
                                    "of their noise %g",
                                    s->what, s->list[i], s->list[j], data, grain);
            grain *= i == j ? 1 : 1 - options->shrink;
            s->matrix[i * s->count + j] = s->matrix[j * s->count + i] = data;
            s->noise[i * s->count + j] = s->noise[j * s->count + i] = grain;
        }
    return YP_OK;
}

/* L of Sigma_N. ypi_rx_factor() knows channels by their index among those that count. */
static enum yp_status factor_noise(struct solving *s)
{
    for (size_t i = 0; i < s->count; i++) {
        double variance = s->noise[i * s->count + i];
        if (!(variance > 0))
            return yp_set_error(YP_INVALID,
                                "%s: channel %zu has a noise variance of %g; leave it out "
                                "(mask_dead, or a source without it)",
                                s->what, s->list[i], variance);
    }
    memcpy(s->factor, s->noise, s->count * s->count * sizeof *s->factor);
    int threads = ypi_rx_alone();
    lapack_int n = (lapack_int)s->count;
    lapack_int info = LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', n, s->factor, n);
    omp_set_num_threads(threads);
    for (size_t i = 0; i < s->count; i++) {
        double pivot = s->factor[i * s->count + i], variance = s->noise[i * s->count + i];
        if ((info > 0 && (size_t)info - 1 == i) || !(pivot * pivot >= YPI_RX_MIN_PIVOT * variance))
            return yp_set_error(YP_INVALID,
                                "%s: the noise covariance is not positive definite at channel %zu "
                                "(variance %g): the channels before it explain it; leave it out, "
                                "or use shrink > 0",
                                s->what, s->list[i], variance);
    }
    return YP_OK;
}

/* Columns of s->matrix: v, smallest eigenvalue first. */
static enum yp_status solve(struct solving *s, double *values)
{
    lapack_int n = (lapack_int)s->count;
    int threads = ypi_rx_alone();
    lapack_int info = LAPACKE_dsygst_work(LAPACK_COL_MAJOR, 1, 'L', n, s->matrix, n, s->factor, n);
    if (info == 0)
        info = LAPACKE_dsyevd_work(LAPACK_COL_MAJOR, 'V', 'L', n, s->matrix, n, values, s->work,
                                   (lapack_int)ypi_rx_pca_work(s->channels), s->iwork,
                                   (lapack_int)ypi_rx_pca_iwork(s->channels));
    if (info == 0)
        cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasTrans, CblasNonUnit, n, n, 1,
                    s->factor, n, s->matrix, n);
    omp_set_num_threads(threads);
    if (info != 0)
        return yp_set_error(YP_UNSUPPORTED, "%s: LAPACK did not solve the eigenproblem (%d)",
                            s->what, (int)info);
    return YP_OK;
}

/* Components, largest first, among all channels: v and Sigma_N v. */
static void take(struct rx_mnf *m, const struct solving *s, const struct rx *rx)
{
    size_t channels = m->channels, n = s->count;
    m->components = n;
    memset(m->vectors, 0, channels * channels * sizeof *m->vectors);
    memset(m->back, 0, channels * channels * sizeof *m->back);
    for (size_t k = 0; k < n; k++) {
        const double *v = s->matrix + (n - 1 - k) * n;
        double *to = m->vectors + k * channels, *back = m->back + k * channels, largest = 0;
        m->eigenvalues[k] = s->variances[n - 1 - k];
        for (size_t c = 0; c < n; c++)
            largest = fabs(v[c]) > fabs(largest) ? v[c] : largest;
        for (size_t c = 0; c < n; c++)
            to[s->list[c]] = largest < 0 ? -v[c] : v[c];
        for (size_t c = 0; c < n; c++)
            for (size_t j = 0; j < n; j++)
                back[s->list[c]] += s->noise[c * n + j] * to[s->list[j]];
    }
    for (size_t i = 0; i < channels * channels; i++) {
        m->forward[i] = (float)m->vectors[i];
        m->away[i] = (float)m->back[i];
    }
    for (size_t c = 0; c < channels; c++) {
        m->centre[c] = (float)rx->all.mean[c];
        m->rest[c] = (float)(rx->all.mean[c] - (double)m->centre[c]);
    }
}

static enum yp_status check(const char *what, const struct rx *rx, const double *noise,
                            const struct rx_mnf_options *options)
{
    if (rx == NULL || noise == NULL)
        return yp_set_error(YP_INVALID, "%s: %s is NULL", what, rx == NULL ? "rx" : "noise");
    if (!(options->shrink >= 0 && options->shrink <= 1))
        return yp_set_error(YP_INVALID, "%s: shrink is %g, allowed are 0 to 1", what,
                            options->shrink);
    return ypi_rx_check_fitted(what, rx);
}

struct rx_mnf *rx_mnf_create(struct yp_device *device, const struct rx *rx, const double *noise,
                             const struct rx_mnf_options *options, size_t tile_pixels, int threads)
{
    const char *what = "rx_mnf_create";
    const struct rx_mnf_options none = {0};
    options = options != NULL ? options : &none;
    if (check(what, rx, noise, options) != YP_OK || ypi_check_host(what, device) != YP_OK ||
        ypi_rx_check(what, rx->channels, tile_pixels, &threads) != YP_OK)
        return NULL;
    size_t channels = rx->channels;
    struct ypi_arena arena = {
        .base = yp_device_alloc(device, object_bytes(channels, tile_pixels, threads))};
    if (arena.base == NULL)
        return NULL;
    struct rx_mnf *m = ypi_arena_take(&arena, 1, sizeof *m);
    lay_out(m, &arena, channels, tile_pixels, threads);
    m->device = device;
    struct solving solving;
    struct ypi_arena extra = {.base = yp_device_alloc(device, solving_bytes(channels))};
    enum yp_status status = extra.base != NULL ? YP_OK : YP_OUT_OF_MEMORY;
    if (status == YP_OK) {
        lay_out_solving(&solving, &extra, channels);
        solving.what = what;
        status = gather(&solving, rx, noise, options);
    }
    if (status == YP_OK)
        status = factor_noise(&solving);
    if (status == YP_OK)
        status = solve(&solving, solving.variances);
    if (status == YP_OK)
        take(m, &solving, rx);
    yp_device_free(device, extra.base);
    if (status == YP_OK)
        return m;
    yp_device_free(device, m);
    return NULL;
}

void rx_mnf_destroy(struct rx_mnf *mnf)
{
    if (mnf != NULL)
        yp_device_free(mnf->device, mnf);
}

size_t rx_mnf_components(const struct rx_mnf *mnf)
{
    return mnf->components;
}

const double *rx_mnf_eigenvalues(const struct rx_mnf *mnf)
{
    return mnf->eigenvalues;
}

const double *rx_mnf_vectors(const struct rx_mnf *mnf)
{
    return mnf->vectors;
}

size_t rx_mnf_with_snr(const struct rx_mnf *mnf, double snr)
{
    size_t n = 0;
    for (size_t k = 0; k < mnf->components; k++)
        n += mnf->eigenvalues[k] - 1 >= snr;
    return n;
}

/* -- transforms ------------------------------------------------------------------------------ */

struct transform {
    const struct rx_mnf *mnf;
    size_t kept, stride; /* components; pixels of a tile's place */
    float *out;
};

static void spoil(float *out, size_t values)
{
    for (size_t i = 0; i < values; i++)
        out[i] = NAN;
}

static void forward(void *arg, struct ypi_work_item item, const struct rx_tile *tile)
{
    const struct transform *job = arg;
    const struct rx_mnf *m = job->mnf;
    size_t channels = m->channels, stride = ypi_rx_stride(tile), kept = job->kept;
    float *rows = m->rows + (size_t)item.worker * YPI_RX_CHUNK * channels;
    float *out = job->out + item.index * job->stride * kept;
    for (size_t first = 0, n; first < tile->pixels; first += n) {
        const float *x = tile->values + first * stride;
        n = tile->pixels - first < YPI_RX_CHUNK ? tile->pixels - first : YPI_RX_CHUNK;
        for (size_t p = 0; p < n; p++)
            for (size_t c = 0; c < channels; c++)
                rows[p * channels + c] = (x[p * stride + c] - m->centre[c]) - m->rest[c];
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)n, (int)kept, (int)channels, 1,
                    rows, (int)channels, m->forward, (int)channels, 0, out + first * kept,
                    (int)kept);
        for (size_t p = 0; p < n; p++)
            if (!ypi_rx_is_finite(x + p * stride, channels))
                spoil(out + (first + p) * kept, kept);
    }
    spoil(out + tile->pixels * kept, (job->stride - tile->pixels) * kept);
}

static void back(void *arg, struct ypi_work_item item, const struct rx_tile *tile)
{
    const struct transform *job = arg;
    const struct rx_mnf *m = job->mnf;
    size_t channels = m->channels, stride = ypi_rx_stride(tile), kept = job->kept;
    float *out = job->out + item.index * job->stride * channels;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)tile->pixels, (int)channels,
                (int)kept, 1, tile->values, (int)stride, m->away, (int)channels, 0, out,
                (int)channels);
    for (size_t p = 0; p < tile->pixels; p++, out += channels) {
        if (!ypi_rx_is_finite(tile->values + p * stride, kept))
            spoil(out, channels);
        for (size_t c = 0; c < channels; c++)
            out[c] = (out[c] + m->rest[c]) + m->centre[c];
    }
    spoil(out, (job->stride - tile->pixels) * channels);
}

static enum yp_status run(struct rx_mnf *mnf, const char *what, const struct rx_source *source,
                          size_t kept, float *out, ypi_rx_work *work, size_t channels)
{
    if (mnf == NULL || out == NULL || source == NULL)
        return yp_set_error(YP_INVALID, "%s: %s is NULL", what,
                            mnf == NULL   ? "mnf"
                            : out == NULL ? "out"
                                          : "source");
    if (kept == 0 || kept > mnf->components)
        return yp_set_error(YP_INVALID, "%s: %zu components, allowed are 1 to %zu", what, kept,
                            mnf->components);
    struct transform job = {mnf, kept, source->tile_pixels, out};
    return ypi_rx_run(&(struct ypi_rx_pass){.what = what,
                                            .channels = channels == 0 ? kept : channels,
                                            .tile_pixels = mnf->tile_pixels,
                                            .threads = mnf->threads,
                                            .values = mnf->values,
                                            .work = work,
                                            .arg = &job},
                      source);
}

enum yp_status rx_mnf_forward(struct rx_mnf *mnf, const struct rx_source *source, size_t kept,
                              float *out)
{
    return run(mnf, "rx_mnf_forward", source, kept, out, forward, mnf != NULL ? mnf->channels : 0);
}

enum yp_status rx_mnf_back(struct rx_mnf *mnf, const struct rx_source *source, float *out)
{
    return run(mnf, "rx_mnf_back", source, source != NULL ? source->channels : 1, out, back, 0);
}
