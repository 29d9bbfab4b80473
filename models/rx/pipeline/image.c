/* RX with the statistics of the image itself. A tile is an image; mean, covariance, scores and
 * gradient each take a pass over its pixels. */
#include "models/rx/pipeline/internal.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

typedef void each_chunk(const struct rx_pipeline *p, struct ypi_rx_lane *lane, size_t first,
                        size_t pixels, size_t rows);

/* All chunks, as (x - base) gain + rest. */
static void over_chunks(const struct rx_pipeline *p, struct ypi_rx_lane *lane,
                        const struct rx_tile *tile, const float *base, const float *rest,
                        each_chunk *each)
{
    for (size_t first = 0; first < tile->pixels; first += YPI_RX_CHUNK) {
        size_t pixels = tile->pixels - first;
        pixels = pixels < YPI_RX_CHUNK ? pixels : YPI_RX_CHUNK;
        each(p, lane, first, pixels, ypi_rx_gather(p, lane, tile, first, pixels, base, rest));
    }
}

/* lane->kept counts here, and from 0 again in the pass that puts the scores. */
static void add_mean(const struct rx_pipeline *p, struct ypi_rx_lane *lane, size_t first,
                     size_t pixels, size_t rows)
{
    (void)first;
    (void)pixels;
    p->kernels->columns(lane->rows, NULL, rows, p->options.channels, lane->mean, NULL);
    lane->kept += rows;
}

/* lane->m2 += a^T b, upper triangle. */
static void add_products(const struct rx_pipeline *p, struct ypi_rx_lane *lane, const float *a,
                         const float *b, size_t rows)
{
    size_t channels = p->options.channels;
    int c = (int)channels;
    for (size_t row = 0; row < rows; row += YPI_RX_IMAGE_ROWS) {
        size_t count = rows - row < YPI_RX_IMAGE_ROWS ? rows - row : YPI_RX_IMAGE_ROWS;
        cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, c, c, (int)count, 1,
                    a + row * channels, c, b + row * channels, c, 0, lane->gram, c);
        for (size_t i = 0; i < channels; i++)
            for (size_t j = i; j < channels; j++)
                lane->m2[i * channels + j] += (double)lane->gram[i * channels + j];
    }
}

static void add_covariance(const struct rx_pipeline *p, struct ypi_rx_lane *lane, size_t first,
                           size_t pixels, size_t rows)
{
    (void)first;
    (void)pixels;
    if (rows > 0)
        add_products(p, lane, lane->rows, lane->rows, rows);
}

static void score(const struct rx_pipeline *p, struct ypi_rx_lane *lane, size_t rows)
{
    int c = (int)p->options.channels;
    const float *z = ypi_rx_operand(p, lane->rows, rows * p->options.channels, lane->rows16);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)rows, c, c, 1, z, c, lane->whiten,
                c, 0, lane->products, c);
    p->kernels->dots(lane->products, lane->products, rows, p->options.channels, lane->scores);
}

static void add_gradient(const struct rx_pipeline *p, struct ypi_rx_lane *lane, size_t first,
                         size_t pixels, size_t rows)
{
    if (rows > 0) {
        score(p, lane, rows);
        if (p->judged)
            ypi_rx_judge(p, lane, rows);
    }
    ypi_rx_put(p, lane, first, pixels);
    if (rows == 0 || !p->backward)
        return;
    memset(lane->variances, 0, p->options.channels * sizeof *lane->variances);
    p->kernels->scale(lane->rows, lane->g, rows, p->options.channels, lane->products,
                      lane->variances); /* its sums are of no use */
    add_products(p, lane,
                 ypi_rx_operand(p, lane->products, rows * p->options.channels, lane->products),
                 ypi_rx_mixed(&p->options) ? lane->rows16 : lane->rows, rows);
}

/* Mean of the finite pixels; base and rest to centre around it. */
static void locate(const struct rx_pipeline *p, struct ypi_rx_lane *lane,
                   const struct rx_tile *tile)
{
    memset(lane->mean, 0, p->options.channels * sizeof *lane->mean);
    over_chunks(p, lane, tile, p->base, p->rest, add_mean);
    for (size_t c = 0; c < p->options.channels && lane->kept > 0; c++)
        lane->mean[c] /= (double)lane->kept;
    ypi_rx_centre(p, lane->mean, lane->base, lane->rest);
}

enum yp_status ypi_rx_refuse_image(const struct rx_pipeline *p, const char *what)
{
    const struct rx_pipeline_options *o = &p->options;
    return yp_set_error(YP_INVALID,
                        "%s: with eps %g and operands in %s one score in a hundred of image %zu "
                        "would be off by more than %.2g %%, allowed are %g %%; use fp32, a larger "
                        "eps, or allow more (max_error)",
                        what, o->eps, ypi_rx_operands_name(o->precision), p->failed, 100 * p->error,
                        100 * (o->max_error > 0 ? o->max_error : RX_MAX_ERROR));
}

/* lane->whiten as a product takes it, and lane->error where that is too far off; else false. */
static bool round_whiten(const struct rx_pipeline *p, struct ypi_rx_lane *lane)
{
    const struct rx_pipeline_options *o = &p->options;
    size_t c = o->channels;
    double n = (double)c, trace = 0, v = n * ypi_rx_inflation(lane->whiten, lane->variances, c, c);
    for (size_t i = 0; i < c * c; i++) /* of A: A Sigma is I - eps A */
        trace += (double)lane->whiten[i] * (double)lane->whiten[i];
    double allowed = o->max_error > 0 ? o->max_error : RX_MAX_ERROR;
    double error = ypi_rx_map_error(o->precision, v, n - o->eps * trace);
    ypi_rx_operand(p, lane->whiten, c * c, lane->whiten);
    for (size_t i = 0; i < c * c; i++)
        error = isfinite(lane->whiten[i]) ? error : INFINITY;
    lane->error = error <= allowed && isfinite(error) ? 0 : error;
    return lane->error == 0;
}

/* lane->inverse = L of the image's Sigma + eps I, and lane->whiten; false: not positive definite,
 * or scores would be too far off */
static bool learn(const struct rx_pipeline *p, struct ypi_rx_lane *lane, const struct rx_tile *tile)
{
    size_t channels = p->options.channels;
    memset(lane->m2, 0, channels * channels * sizeof *lane->m2);
    over_chunks(p, lane, tile, lane->base, lane->rest, add_covariance);
    for (size_t i = 0; i < channels * channels; i++)
        lane->inverse[i] = lane->m2[i] / (double)(lane->kept > 1 ? lane->kept - 1 : 1);
    struct ypi_rx_factoring job = {.what = "rx_pipeline",
                                   .channels = channels,
                                   .eps = p->options.eps,
                                   .ridge = p->options.eps};
    if (ypi_rx_factor(&job, lane->inverse, lane->variances) != YP_OK)
        return false;
    ypi_rx_whiten(lane->inverse, channels, NULL, lane->whiten, lane->mean, NULL);
    return !ypi_rx_mixed(&p->options) || round_whiten(p, lane);
}

/* Q_c = sum dv_c v_c with G in m2. dv = 2 g A z - 2 / (n - 1) A G A z, less its mean, and
 * A Sigma = I - eps A, so Q_c = 2 (A G - A G A Sigma)_cc = 2 eps (A G A)_cc: what is left when
 * nearly all of it cancels, since RX without eps would not see a channel's scale at all. */
void ypi_rx_image_front(const struct rx_pipeline *p, struct ypi_rx_lane *lane)
{
    size_t channels = p->options.channels;
    int c = (int)channels;
    ypi_rx_inverse(lane->inverse, channels);
    for (size_t i = 0; i < channels; i++)
        for (size_t j = 0; j < i; j++)
            lane->m2[i * channels + j] = lane->m2[j * channels + i];
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, c, c, c, 1, lane->inverse, c, lane->m2,
                c, 0, lane->spare, c);
    for (size_t i = 0; i < channels; i++) {
        double sum = 0;
        for (size_t j = 0; j < channels; j++)
            sum += lane->spare[i * channels + j] * lane->inverse[j * channels + i];
        lane->sums[p->at.dots + i] += 2 * p->options.eps * sum;
    }
}

void ypi_rx_image_tile(const struct rx_pipeline *p, struct ypi_rx_lane *lane,
                       const struct rx_tile *tile)
{
    size_t channels = p->options.channels;
    locate(p, lane, tile);
    lane->failed = lane->kept > 0 && !p->lost && !learn(p, lane, tile);
    if (lane->kept == 0 || p->lost) /* lost: scores are NaN, as those of the other detectors */
        for (size_t i = 0; i < channels * channels; i++)
            lane->whiten[i] = p->lost ? NAN : 0;
    lane->kept = 0;
    if (lane->failed)
        return;
    memset(lane->m2, 0, channels * channels * sizeof *lane->m2);
    over_chunks(p, lane, tile, lane->base, lane->rest, add_gradient);
    if (p->backward && lane->kept > 0 && !p->lost &&
        (ypi_rx_has_range(&p->options) || p->options.select))
        ypi_rx_image_front(p, lane);
}
