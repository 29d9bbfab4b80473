/* Matched filter and ACE: a filter for each target, and RX's score where that is wanted. */
#include "models/rx/methods/matched.h"

#include "base/simd/simd.h"
#include "models/nn/simd/triangle.h"
#include "models/rx/internal.h"
#include "models/rx/pipeline/internal.h"

#include <math.h>
#include <string.h>

/* Pixels that stay in a core's cache between the two sums over them. */
#define BLOCK ((size_t)192)
#define TOGETHER ((size_t)4) /* pixels whose products are summed at once */

struct kernels {
    void (*project)(const float *x, size_t stride, size_t pixels, const struct rx_matched *matched,
                    double *centred, double *out);
};

struct rx_matched {
    struct yp_device *device;
    size_t channels, tile_pixels, count;
    int threads;
    double *mean;           /* (C) */
    double *filters;        /* (count, C): Sigma^-1 (t - mu) */
    double *norms;          /* (count): w.w */
    float *whiten;          /* as struct ypi_triangle */
    float *centre, *offset; /* (C) */
    float *values;          /* (threads, tile_pixels, C) */
    float *panels;          /* (threads, C, triangle->pixels) */
    double *centred;        /* (threads, TOGETHER, C) */
    double *products;       /* (threads, count, BLOCK) */
    float *lengths;         /* (threads, BLOCK): z.z */
    const struct ypi_triangle_kernels *triangle;
    const struct kernels *kernels;
};

/* -- products of pixels with all filters ----------------------------------------------------- */

/* out (count, BLOCK) = (x - mean) . filter, TOGETHER pixels at once: sums that do not wait for each
 * other. centred is (TOGETHER, C). */
static inline __attribute__((always_inline)) void project(const float *restrict x, size_t stride,
                                                          size_t pixels,
                                                          const struct rx_matched *matched,
                                                          double *centred, double *restrict out)
{
    const double *restrict mean = matched->mean;
    size_t channels = matched->channels;
    for (size_t p = 0; p < pixels; p += TOGETHER) {
        size_t rows = pixels - p < TOGETHER ? pixels - p : TOGETHER;
        const double *a = centred, *b = a + channels, *c = b + channels, *d = c + channels;
        const double *restrict filter = matched->filters;
        for (size_t r = 0; r < TOGETHER; r++) { /* the last one again where there are fewer */
            const float *restrict from = x + (p + (r < rows ? r : rows - 1)) * stride;
            for (size_t i = 0; i < channels; i++)
                centred[r * channels + i] = (double)from[i] - mean[i];
        }
        for (size_t k = 0; k < matched->count; k++, filter += channels) {
            double sums[TOGETHER], s0 = 0, s1 = 0, s2 = 0, s3 = 0;
#pragma omp simd reduction(+ : s0, s1, s2, s3)
            for (size_t i = 0; i < channels; i++) {
                s0 += filter[i] * a[i];
                s1 += filter[i] * b[i];
                s2 += filter[i] * c[i];
                s3 += filter[i] * d[i];
            }
            sums[0] = s0, sums[1] = s1, sums[2] = s2, sums[3] = s3;
            for (size_t r = 0; r < rows; r++)
                out[k * BLOCK + p + r] = sums[r];
        }
    }
}

YPI_SIMD_VERSIONS(void, project,
                  (const float *x, size_t stride, size_t pixels, const struct rx_matched *matched,
                   double *centred, double *out),
                  project(x, stride, pixels, matched, centred, out))

#define KERNELS(set) static const struct kernels kernels_##set = {project_##set};
KERNELS(baseline)
#if defined(__x86_64__)
KERNELS(avx2)
KERNELS(avx512)
#endif

static const struct ypi_simd_version versions[] = {YPI_SIMD_TABLE(kernels)};

/* -- the object ------------------------------------------------------------------------------ */

static void lay_out(struct rx_matched *m, struct ypi_arena *arena, size_t channels,
                    size_t tile_pixels, size_t count, int threads)
{
    size_t teams = (size_t)threads;
    *m = (struct rx_matched){
        .channels = channels, .tile_pixels = tile_pixels, .count = count, .threads = threads};
    m->triangle = ypi_triangle_kernels();
    m->kernels = ypi_simd_best(versions, sizeof versions / sizeof *versions);
    m->mean = ypi_arena_take(arena, channels, sizeof *m->mean);
    m->filters = ypi_arena_take(arena, count * channels, sizeof *m->filters);
    m->norms = ypi_arena_take(arena, count, sizeof *m->norms);
    m->whiten = ypi_arena_take(arena, channels * channels, sizeof *m->whiten);
    m->centre = ypi_arena_take(arena, channels, sizeof *m->centre);
    m->offset = ypi_arena_take(arena, channels, sizeof *m->offset);
    m->values = ypi_arena_take(arena, teams * tile_pixels, channels * sizeof *m->values);
    m->panels = ypi_arena_take(arena, teams * channels, m->triangle->pixels * sizeof *m->panels);
    m->centred = ypi_arena_take(arena, teams * TOGETHER * channels, sizeof *m->centred);
    m->products = ypi_arena_take(arena, teams * count, BLOCK * sizeof *m->products);
    m->lengths = ypi_arena_take(arena, teams * BLOCK, sizeof *m->lengths);
}

static enum yp_status check(const char *what, size_t channels, size_t tile_pixels, size_t count,
                            int *threads)
{
    if (count == 0 || count > RX_MAX_TARGETS)
        return yp_set_error(YP_INVALID, "%s: count is %zu, allowed are 1 to %d", what, count,
                            RX_MAX_TARGETS);
    return ypi_rx_check(what, channels, tile_pixels, threads);
}

size_t rx_matched_bytes(size_t channels, size_t tile_pixels, size_t count, int threads)
{
    struct ypi_arena arena = {0};
    struct rx_matched matched;
    if (check("rx_matched_bytes", channels, tile_pixels, count, &threads) != YP_OK)
        return 0;
    ypi_arena_take(&arena, 1, sizeof matched);
    lay_out(&matched, &arena, channels, tile_pixels, count, threads);
    return arena.used;
}

/* x (C) = L^-T L^-1 x; returns |L^-1 x|^2. A channel that is left out has an infinite diagonal. */
static double solve(const double *factor, size_t channels, double *x)
{
    double norm = 0;
    for (size_t k = 0; k < channels; k++) {
        const double *column = factor + k * channels;
        x[k] /= column[k];
        norm += x[k] * x[k];
        for (size_t i = k + 1; i < channels; i++)
            x[i] -= column[i] * x[k];
    }
    for (size_t k = channels; k-- > 0;) {
        const double *column = factor + k * channels;
        for (size_t i = k + 1; i < channels; i++)
            x[k] -= column[i] * x[i];
        x[k] /= column[k];
    }
    return norm;
}

static enum yp_status make_filters(struct rx_matched *m, const struct rx *rx, const float *targets)
{
    size_t channels = m->channels;
    for (size_t k = 0; k < m->count; k++) {
        double *filter = m->filters + k * channels;
        for (size_t c = 0; c < channels; c++) {
            double value = (double)targets[k * channels + c];
            if (!isfinite(value))
                return yp_set_error(
                    YP_INVALID, "rx_matched_create: target %zu is %g in channel %zu", k, value, c);
            filter[c] = value - rx->location[c];
        }
        m->norms[k] = solve(rx->factor, channels, filter);
        if (!(m->norms[k] > 0) || isinf(m->norms[k]))
            return yp_set_error(
                YP_INVALID,
                "rx_matched_create: target %zu has a squared distance of %g from the "
                "background's mean in the channels that count; it must be above 0",
                k, m->norms[k]);
    }
    return YP_OK;
}

/* As rx_finish() prepares scoring: a GPU's object has none of it on the host. */
static void copy_background(struct rx_matched *m, const struct rx *rx)
{
    size_t channels = m->channels;
    double *rest = m->centred, *column = m->mean, *offset = m->filters; /* filled later */
    memset(offset, 0, channels * sizeof *offset);
    for (size_t c = 0; c < channels; c++) {
        m->centre[c] = (float)rx->location[c];
        rest[c] = rx->location[c] - (double)m->centre[c];
    }
    ypi_rx_whiten(rx->factor, channels, rest, m->whiten, column, offset);
    for (size_t c = 0; c < channels; c++) {
        m->offset[c] = (float)offset[c];
        m->mean[c] = rx->location[c];
    }
}

struct rx_matched *rx_matched_create(struct yp_device *device, const struct rx *rx,
                                     const float *targets, size_t count, size_t tile_pixels,
                                     int threads)
{
    const char *what = "rx_matched_create";
    if (rx == NULL || targets == NULL) {
        yp_set_error(YP_INVALID, "%s: %s is NULL", what, rx == NULL ? "rx" : "targets");
        return NULL;
    }
    if (!rx->finished) {
        yp_set_error(YP_INVALID, "%s: rx has no factor; call rx_finish", what);
        return NULL;
    }
    if (ypi_check_host(what, device) != YP_OK ||
        check(what, rx->channels, tile_pixels, count, &threads) != YP_OK)
        return NULL;
    struct ypi_arena arena = {
        .base =
            yp_device_alloc(device, rx_matched_bytes(rx->channels, tile_pixels, count, threads))};
    if (arena.base == NULL)
        return NULL;
    struct rx_matched *m = ypi_arena_take(&arena, 1, sizeof *m);
    lay_out(m, &arena, rx->channels, tile_pixels, count, threads);
    m->device = device;
    copy_background(m, rx);
    if (make_filters(m, rx, targets) == YP_OK)
        return m;
    yp_device_free(device, m);
    return NULL;
}

void rx_matched_destroy(struct rx_matched *matched)
{
    if (matched != NULL)
        yp_device_free(matched->device, matched);
}

/* -- scores ---------------------------------------------------------------------------------- */

struct scoring {
    const struct rx_matched *matched;
    enum rx_match match;
    float *scores;
    size_t stride, plane; /* scores of a tile, and of a target */
};

/* From products with one filter to scores; a length of 0 has one of 0. */
static void judge(enum rx_match match, const double *restrict products, double norm,
                  const float *restrict lengths, size_t pixels, float *restrict scores)
{
    if (match == RX_MATCHED_FILTER) {
        for (size_t p = 0; p < pixels; p++)
            scores[p] = (float)(products[p] / norm);
        return;
    }
    for (size_t p = 0; p < pixels; p++) {
        double both = norm * (double)lengths[p], cosine = both > 0 ? products[p] / sqrt(both) : 0;
        cosine = cosine < -1 ? -1 : cosine > 1 ? 1 : cosine; /* beyond by rounding alone */
        scores[p] = (float)(match == RX_COSINE ? cosine : cosine * cosine);
    }
}

static void score(void *arg, struct ypi_work_item item, const struct rx_tile *tile)
{
    const struct scoring *job = arg;
    const struct rx_matched *m = job->matched;
    size_t channels = m->channels, stride = ypi_rx_stride(tile), worker = (size_t)item.worker;
    struct ypi_triangle triangle = {channels, m->whiten, m->centre, m->offset};
    double *products = m->products + worker * m->count * BLOCK;
    float *lengths = m->lengths + worker * BLOCK;
    for (size_t first = 0, n; first < tile->pixels; first += n) {
        const float *x = tile->values + first * stride;
        n = tile->pixels - first < BLOCK ? tile->pixels - first : BLOCK;
        if (job->match != RX_MATCHED_FILTER)
            m->triangle->score(&triangle, x, stride, n,
                               m->panels + worker * channels * m->triangle->pixels, lengths);
        m->kernels->project(x, stride, n, m, m->centred + worker * TOGETHER * channels, products);
        for (size_t k = 0; k < m->count; k++) {
            float *scores = job->scores + k * job->plane + item.index * job->stride + first;
            judge(job->match, products + k * BLOCK, m->norms[k], lengths, n, scores);
        }
        for (size_t p = 0; p < n; p++)
            if (!isfinite(products[p]) && !ypi_rx_is_finite(x + p * stride, channels))
                for (size_t k = 0; k < m->count; k++)
                    job->scores[k * job->plane + item.index * job->stride + first + p] = NAN;
    }
    for (size_t k = 0; k < m->count; k++)
        for (size_t p = tile->pixels; p < job->stride; p++)
            job->scores[k * job->plane + item.index * job->stride + p] = NAN;
}

enum yp_status rx_matched_score(struct rx_matched *matched, const struct rx_source *source,
                                enum rx_match match, float *scores)
{
    if (matched == NULL || scores == NULL)
        return yp_set_error(YP_INVALID, "rx_matched_score: %s is NULL",
                            matched == NULL ? "matched" : "scores");
    if ((unsigned)match > RX_COSINE)
        return yp_set_error(YP_INVALID, "rx_matched_score: match is %d, allowed are 0 to %d",
                            (int)match, (int)RX_COSINE);
    struct scoring job = {.matched = matched, .match = match, .scores = scores};
    if (source != NULL) {
        job.stride = source->tile_pixels;
        job.plane = source->tiles * source->tile_pixels;
    }
    return ypi_rx_run(&(struct ypi_rx_pass){.what = "rx_matched_score",
                                            .channels = matched->channels,
                                            .tile_pixels = matched->tile_pixels,
                                            .threads = matched->threads,
                                            .values = matched->values,
                                            .work = score,
                                            .arg = &job},
                      source);
}
