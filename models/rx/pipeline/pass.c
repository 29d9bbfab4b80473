/* The pipeline over a stream of tiles: scores, loss and the sums that make its gradient, by matrix
 * products in float. */
#include "models/rx/device/pipeline.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

/* -- what all detectors share --------------------------------------------------------------- */

size_t ypi_rx_gather(const struct rx_pipeline *p, struct ypi_rx_lane *lane,
                     const struct rx_tile *tile, size_t first, size_t pixels, const float *base,
                     const float *rest)
{
    size_t stride = ypi_rx_stride(tile), row = 0;
    size_t rows =
        p->kernels->gather(tile->values + first * stride, stride, pixels, p->options.channels, base,
                           p->gain, rest, lane->rows, lane->keep);
    for (size_t i = 0; i < pixels && p->judged && tile->labels != NULL; i++)
        if (lane->keep[i])
            lane->labels[row++] = tile->labels[first + i];
    return rows;
}

void ypi_rx_judge(const struct rx_pipeline *p, struct ypi_rx_lane *lane, size_t rows)
{
    double *sums = lane->sums + p->at.loss;
    if (!ypi_rx_trains(&p->options)) {
        for (size_t r = 0; r < rows; r++)
            sums[0] += (double)lane->scores[r];
        return;
    }
    float scale = p->parameters[p->places.scale], bias = p->parameters[p->places.bias];
    float positive = (float)p->options.positive_weight, pull = (float)p->pull;
    for (size_t r = 0; r < rows; r++) {
        float away = lane->scores[r] - bias, l = scale * away;
        float wrong = lane->labels[r] != 0 ? -l : l; /* loss = weight ln(1 + e^wrong) */
        float weight = lane->labels[r] != 0 ? 10 * positive : 10;
        float d = weight * ypi_rx_slope(lane->labels[r] != 0, l);
        lane->g[r] = d * scale * pull;
        sums[0] += (double)weight * (double)(fmaxf(wrong, 0) + log1pf(expf(-fabsf(wrong))));
        sums[1] += (double)d;
        sums[2] += (double)d * (double)away;
    }
}

/* Chan, Golub and LeVeque's merge of two means and sums of squares. */
static void merge_moments(double *n, double *mean, double *m2, double n_b, double mean_b,
                          double m2_b)
{
    double difference = mean_b - *mean, both = *n + n_b;
    if (n_b == 0)
        return;
    *mean += difference * (n_b / both);
    *m2 += m2_b + difference * difference * (*n * n_b / both);
    *n = both;
}

static void calibrate_chunk(struct ypi_rx_lane *lane, size_t rows)
{
    double before = (double)lane->kept, mean = 0, m2 = 0;
    for (size_t r = 0; r < rows; r++)
        mean += (double)lane->scores[r] / (double)rows;
    for (size_t r = 0; r < rows; r++)
        m2 += ((double)lane->scores[r] - mean) * ((double)lane->scores[r] - mean);
    merge_moments(&before, &lane->mean_score, &lane->m2_score, (double)rows, mean, m2);
}

void ypi_rx_put(const struct rx_pipeline *p, struct ypi_rx_lane *lane, size_t first, size_t pixels)
{
    size_t at = lane->index * p->stride_out + first, row = 0;
    for (size_t i = 0; i < pixels; i++) {
        float score = lane->keep[i] ? lane->scores[row++] : NAN;
        if (p->scores_out != NULL)
            p->scores_out[at + i] = score;
        if (p->logits_out == NULL && p->take == NULL)
            continue;
        float logit = p->parameters[p->places.scale] * (score - p->parameters[p->places.bias]);
        *(p->take != NULL ? &lane->logits[first + i] : &p->logits_out[at + i]) = logit;
    }
    if (p->calibrates)
        calibrate_chunk(lane, row);
    lane->kept += row;
}

/* -- detectors by matrix products ------------------------------------------------------------ */

/* Where what RX and LAD take stands as an operand. */
static float *z_room(const struct rx_pipeline *p, const struct ypi_rx_lane *lane)
{
    return p->options.components > 0 ? lane->low16 : lane->rows16;
}

/* RX and LAD, behind PCA or not, of lane->rows. */
static void score_quadratic(const struct rx_pipeline *p, struct ypi_rx_lane *lane, size_t rows)
{
    size_t width = ypi_rx_width(&p->options);
    int n = (int)rows, c = (int)p->options.channels, d = (int)width;
    const float *x = lane->rows, *mu = p->parameters + p->places.mu;
    if (p->options.components > 0) {
        const float *v = ypi_rx_operand(p, x, rows * p->options.channels, lane->rows16);
        if (p->options.residual)
            ypi_rx_residual_split(p, lane, rows);
        else
            cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, n, d, c, 1, v, c, p->taken.map, c,
                        0, lane->low, d);
        for (size_t r = 0; r < rows; r++)
            for (size_t k = 0; k < width; k++)
                lane->low[r * width + k] -= mu[k];
        x = lane->low;
    }
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, d, d, 1,
                ypi_rx_operand(p, x, rows * width, z_room(p, lane)), d, p->taken.a, d, 0,
                lane->products, d);
    p->kernels->dots(lane->products, x, rows, width, lane->scores);
    if (p->options.residual)
        ypi_rx_residual_add(p, lane, rows);
}

/* Behind score_quadratic(), whose products are M z where A is symmetric, as it stays in training.
 */
static void quadratic_backward(const struct rx_pipeline *p, struct ypi_rx_lane *lane, size_t rows)
{
    size_t width = ypi_rx_width(&p->options);
    int n = (int)rows, c = (int)p->options.channels, d = (int)width;
    const float *x = p->options.components > 0 ? lane->low : lane->rows;
    const float *z = ypi_rx_mixed(&p->options) ? z_room(p, lane) : x;
    if (p->asymmetric)
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, d, d, 1, z, d, p->taken.symmetric,
                    d, 0, lane->products, d);
    p->kernels->weigh(lane->products, lane->g, 2, rows, width, lane->products);
    p->kernels->columns(lane->products, x, rows, width, lane->sums + p->at.moment,
                        lane->sums + p->at.dots);
    if (p->options.components > 0) {
        const float *v = ypi_rx_mixed(&p->options) ? lane->rows16 : lane->rows;
        cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, d, c, n, 1,
                    ypi_rx_operand(p, lane->products, rows * width, lane->products), d, v, c, 1,
                    lane->matrices + p->at.cross, c);
    }
    p->kernels->weigh(x, lane->g, 1, rows, width, lane->products);
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, d, d, n, 1,
                ypi_rx_operand(p, lane->products, rows * width, lane->products), d, z, d, 1,
                lane->matrices + p->at.gram, d);
    if (p->options.residual)
        ypi_rx_residual_backward(p, lane, rows);
}

/* Rows of `width` values, each `from`. */
static void repeat(const float *from, size_t width, size_t rows, float *to)
{
    for (size_t r = 0; r < rows; r++)
        memcpy(to + r * width, from, width * sizeof *to);
}

/* lane->products = o - v */
static void score_autoencoder(const struct rx_pipeline *p, struct ypi_rx_lane *lane, size_t rows)
{
    size_t channels = p->options.channels, hidden = p->options.hidden;
    int n = (int)rows, c = (int)channels, h = (int)hidden;
    const float *at = p->parameters;
    repeat(at + p->places.b1, hidden, rows, lane->low);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, n, h, c, 1,
                ypi_rx_operand(p, lane->rows, rows * channels, lane->rows16), c, p->taken.w1, c, 1,
                lane->low, h);
    for (size_t r = 0; r < rows; r++)
        for (size_t i = 0; i < channels; i++)
            lane->products[r * channels + i] = at[p->places.b2 + i] - lane->rows[r * channels + i];
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, n, c, h, 1,
                ypi_rx_operand(p, lane->low, rows * hidden, lane->low), h, p->taken.w2, h, 1,
                lane->products, c);
    p->kernels->dots(lane->products, lane->products, rows, channels, lane->scores);
    for (size_t r = 0; r < rows; r++)
        lane->scores[r] /= (float)channels;
}

static void autoencoder_backward(const struct rx_pipeline *p, struct ypi_rx_lane *lane, size_t rows)
{
    size_t channels = p->options.channels, hidden = p->options.hidden;
    int n = (int)rows, c = (int)channels, h = (int)hidden;
    float *d = lane->products, *dh = lane->low + rows * hidden;
    const float *v = ypi_rx_mixed(&p->options) ? lane->rows16 : lane->rows;
    float pull = 2 / (float)channels * (float)p->pull;
    for (size_t i = 0; i < rows * channels; i++)
        d[i] *= pull;
    p->kernels->columns(d, lane->rows, rows, channels, lane->sums + p->at.b2,
                        lane->sums + p->at.dots);
    ypi_rx_operand(p, d, rows * channels, d);
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, c, h, n, 1, d, c, lane->low, h, 1,
                lane->matrices + p->at.w2, h);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, h, c, 1, d, c, p->taken.w2, h, 0, dh,
                h);
    p->kernels->columns(dh, NULL, rows, hidden, lane->sums + p->at.b1, NULL);
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, h, c, n, 1,
                ypi_rx_operand(p, dh, rows * hidden, dh), h, v, c, 1, lane->matrices + p->at.w1, c);
}

static void chunk(const struct rx_pipeline *p, struct ypi_rx_lane *lane, const struct rx_tile *tile,
                  size_t first, size_t pixels)
{
    size_t rows = ypi_rx_gather(p, lane, tile, first, pixels, p->base, p->rest);
    bool autoencoder = p->options.detector == RX_AUTOENCODER;
    if (rows > 0) {
        (autoencoder ? score_autoencoder : score_quadratic)(p, lane, rows);
        if (p->judged)
            ypi_rx_judge(p, lane, rows);
        if (p->backward)
            (autoencoder ? autoencoder_backward : quadratic_backward)(p, lane, rows);
    }
    ypi_rx_put(p, lane, first, pixels);
}

void ypi_rx_begin_tile(struct ypi_rx_lane *lane, size_t index, const struct rx_tile *tile)
{
    lane->mean_score = lane->m2_score = 0;
    lane->kept = 0;
    lane->index = index;
    lane->tile_labels = tile->labels;
    lane->tile_pixels = tile->pixels;
    lane->failed = false;
    lane->error = 0;
}

void ypi_rx_end_tile(const struct rx_pipeline *p, const struct ypi_rx_lane *lane)
{
    for (size_t i = lane->tile_pixels; i < p->stride_out; i++) {
        if (p->scores_out != NULL)
            p->scores_out[lane->index * p->stride_out + i] = NAN;
        if (p->logits_out != NULL)
            p->logits_out[lane->index * p->stride_out + i] = NAN;
    }
}

static void work(void *arg, struct ypi_work_item item, const struct rx_tile *tile)
{
    const struct rx_pipeline *p = arg;
    struct ypi_rx_lane *lane = &p->lanes[item.slot];
    if (p->at.matrices > 0)
        memset(lane->matrices, 0, p->at.matrices * sizeof *lane->matrices);
    memset(lane->sums, 0, p->at.sums * sizeof *lane->sums);
    ypi_rx_begin_tile(lane, item.index, tile);
    if (p->options.detector == RX_IMAGE)
        ypi_rx_image_tile(p, lane, tile);
    else
        for (size_t first = 0; first < tile->pixels; first += YPI_RX_CHUNK) {
            size_t rest = tile->pixels - first;
            chunk(p, lane, tile, first, rest < YPI_RX_CHUNK ? rest : YPI_RX_CHUNK);
        }
    ypi_rx_end_tile(p, lane);
}

void ypi_rx_merge_tile(struct rx_pipeline *p, const struct ypi_rx_lane *lane)
{
    double n = (double)p->kept;
    if (lane->failed && p->failed == SIZE_MAX) {
        p->failed = lane->index;
        p->error = lane->error;
    }
    if (p->take != NULL && p->failed == SIZE_MAX)
        p->take(p->take_arg, lane->logits, lane->tile_labels, lane->tile_pixels);
    merge_moments(&n, &p->mean_score, &p->m2_score, (double)lane->kept, lane->mean_score,
                  lane->m2_score);
    p->kept += lane->kept;
}

static void merge(void *arg, int slot)
{
    struct rx_pipeline *p = arg;
    const struct ypi_rx_lane *lane = &p->lanes[slot];
    ypi_rx_merge_tile(p, lane);
    for (size_t i = 0; i < p->at.matrices && p->backward; i++)
        p->matrices[i] += (double)lane->matrices[i];
    for (size_t i = 0; i < p->at.sums; i++)
        p->sums[i] += lane->sums[i];
}

enum yp_status ypi_rx_pipeline_pass(struct rx_pipeline *p, const char *what,
                                    const struct rx_source *source)
{
    bool labelled = (p->judged || p->take != NULL) && ypi_rx_trains(&p->options);
    p->stride_out = source != NULL ? source->tile_pixels : 0;
    const struct ypi_rx_pass here = {.what = what,
                                     .channels = p->options.channels,
                                     .tile_pixels = p->options.tile_pixels,
                                     .threads = p->options.threads,
                                     .values = p->values,
                                     .labels = labelled ? p->labels : NULL,
                                     .work = work,
                                     .merge = merge,
                                     .arg = p};
    struct rx_source scaled;
    if (p->options.by_sample && source != NULL && source->yield != NULL) {
        scaled = rx_sample_source(source);
        source = &scaled;
    }
    enum yp_status status = p->on != NULL ? ypi_rx_pipeline_device_pass(p, what, source, labelled)
                                          : ypi_rx_run(&here, source);
    if (status == YP_OK && p->failed != SIZE_MAX && p->error > 0)
        return ypi_rx_refuse_image(p, what);
    if (status == YP_OK && p->failed != SIZE_MAX)
        return yp_set_error(YP_INVALID,
                            "%s: the covariance of image %zu with eps %g is not positive definite "
                            "in float; use a larger eps",
                            what, p->failed, p->options.eps);
    return status;
}
