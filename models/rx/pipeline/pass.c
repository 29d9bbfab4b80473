/* The pipeline over a stream of tiles: scores, loss and the sums that make its gradient, by matrix
 * products in float. */
#include "models/rx/device/pipeline.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

#define MOST_RANGE 1e37 /* the inverse of more loses digits in float */

/* -- parameters of the call ----------------------------------------------------------------- */

static void share_out(struct rx_pipeline *p)
{
    const struct rx_pipeline_options *o = &p->options;
    const struct ypi_rx_places *at = &p->places;
    double top = -INFINITY, sum = 0;
    double t =
        at->temperature == YPI_RX_NOWHERE ? o->temperature : (double)p->parameters[at->temperature];
    for (size_t c = 0; c < o->channels; c++) {
        p->shares[c] = o->select ? (double)p->parameters[at->logits + c] / t : 0;
        top = fmax(top, p->shares[c]);
    }
    for (size_t c = 0; c < o->channels; c++)
        sum += p->shares[c] = exp(p->shares[c] - top);
    for (size_t c = 0; c < o->channels; c++) {
        p->shares[c] /= sum;
        p->weights[c] = o->select ? o->keep * p->shares[c] : 1;
    }
}

/* p->symmetric = (A + A^T) / 2, and whether that is another matrix than A. */
static void make_even(struct rx_pipeline *p)
{
    size_t d = ypi_rx_width(&p->options);
    const float *a = p->parameters + p->places.a;
    p->asymmetric = false;
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++) {
            p->symmetric[i * d + j] = (float)(0.5 * ((double)a[i * d + j] + (double)a[j * d + i]));
            p->asymmetric = p->asymmetric || a[i * d + j] != a[j * d + i];
        }
}

void ypi_rx_centre(const struct rx_pipeline *p, const double *centre, float *base, float *rest)
{
    for (size_t c = 0; c < p->options.channels; c++) {
        double near = p->floor + (centre[c] != 0 ? centre[c] / p->gain64[c] : 0);
        base[c] = fabs(near) < 1e30 ? (float)near : (float)p->floor;
        rest[c] = (float)(((double)base[c] - p->floor) * p->gain64[c] - centre[c]);
    }
}

enum yp_status ypi_rx_prepare(struct rx_pipeline *p, const char *what, const float *parameters)
{
    const struct rx_pipeline_options *o = &p->options;
    const struct ypi_rx_places *at = &p->places;
    p->parameters = parameters;
    double width = 1;
    p->floor = 0;
    if (o->normalise) {
        p->floor = (double)parameters[at->min];
        width = (double)parameters[at->max] - p->floor;
        if (!isfinite(width) || width > MOST_RANGE)
            return yp_set_error(
                YP_INVALID, "%s: min is %g and max %g, allowed are finite values up to %g apart",
                what, (double)parameters[at->min], (double)parameters[at->max], MOST_RANGE);
    }
    p->moves = width >= YPI_RX_LEAST_RANGE;
    p->range = p->moves ? width : YPI_RX_LEAST_RANGE;
    share_out(p);
    if (p->symmetric != NULL)
        make_even(p);
    p->lost = false;
    for (size_t c = 0; c < o->channels; c++) {
        p->gain64[c] = p->weights[c] / p->range;
        p->lost = p->lost || !isfinite(p->gain64[c]);
        p->gain[c] = (float)p->gain64[c];
        p->column[c] = at->mean != YPI_RX_NOWHERE ? (double)parameters[at->mean + c]
                       : at->mu != YPI_RX_NOWHERE ? (double)parameters[at->mu + c]
                                                  : 0;
    }
    ypi_rx_centre(p, p->column, p->base, p->rest);
    memset(p->sums, 0, p->at.sums * sizeof *p->sums);
    if (p->at.matrices > 0)
        memset(p->matrices, 0, p->at.matrices * sizeof *p->matrices);
    p->kept = 0;
    p->failed = SIZE_MAX;
    p->mean_score = p->m2_score = 0;
    p->scores_out = p->logits_out = NULL;
    p->judged = p->backward = p->calibrates = false;
    p->take = NULL;
    return YP_OK;
}

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
    for (size_t r = 0; r < rows; r++) {
        float away = lane->scores[r] - bias, l = scale * away;
        float wrong = lane->labels[r] != 0 ? -l : l; /* loss = 10 ln(1 + e^wrong) */
        float d = 10 * (lane->labels[r] != 0 ? -1 / (1 + expf(l)) : 1 / (1 + expf(-l)));
        lane->g[r] = d * scale;
        sums[0] += 10.0 * (double)(fmaxf(wrong, 0) + log1pf(expf(-fabsf(wrong))));
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

/* RX and LAD, behind PCA or not, of lane->rows. */
static void score_quadratic(const struct rx_pipeline *p, struct ypi_rx_lane *lane, size_t rows)
{
    size_t width = ypi_rx_width(&p->options);
    int n = (int)rows, c = (int)p->options.channels, d = (int)width;
    const float *x = lane->rows, *mu = p->parameters + p->places.mu;
    if (p->options.components > 0) {
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, n, d, c, 1, lane->rows, c,
                    p->parameters + p->places.w, c, 0, lane->low, d);
        for (size_t r = 0; r < rows; r++)
            for (size_t k = 0; k < width; k++)
                lane->low[r * width + k] -= mu[k];
        x = lane->low;
    }
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, d, d, 1, x, d,
                p->parameters + p->places.a, d, 0, lane->products, d);
    p->kernels->dots(lane->products, x, rows, width, lane->scores);
}

/* Behind score_quadratic(), whose products are M z where A is symmetric, as it stays in training.
 */
static void quadratic_backward(const struct rx_pipeline *p, struct ypi_rx_lane *lane, size_t rows)
{
    size_t width = ypi_rx_width(&p->options);
    int n = (int)rows, c = (int)p->options.channels, d = (int)width;
    const float *x = p->options.components > 0 ? lane->low : lane->rows;
    if (p->asymmetric)
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, d, d, 1, x, d, p->symmetric, d, 0,
                    lane->products, d);
    p->kernels->weigh(lane->products, lane->g, 2, rows, width, lane->products);
    p->kernels->columns(lane->products, x, rows, width, lane->sums + p->at.moment,
                        lane->sums + p->at.dots);
    if (p->options.components > 0)
        cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, d, c, n, 1, lane->products, d,
                    lane->rows, c, 1, lane->matrices + p->at.cross, c);
    p->kernels->weigh(x, lane->g, 1, rows, width, lane->products);
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, d, d, n, 1, lane->products, d, x, d, 1,
                lane->matrices + p->at.gram, d);
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
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, n, h, c, 1, lane->rows, c,
                at + p->places.w1, c, 1, lane->low, h);
    for (size_t r = 0; r < rows; r++)
        for (size_t i = 0; i < channels; i++)
            lane->products[r * channels + i] = at[p->places.b2 + i] - lane->rows[r * channels + i];
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, n, c, h, 1, lane->low, h,
                at + p->places.w2, h, 1, lane->products, c);
    p->kernels->dots(lane->products, lane->products, rows, channels, lane->scores);
    for (size_t r = 0; r < rows; r++)
        lane->scores[r] /= (float)channels;
}

static void autoencoder_backward(const struct rx_pipeline *p, struct ypi_rx_lane *lane, size_t rows)
{
    size_t channels = p->options.channels, hidden = p->options.hidden;
    int n = (int)rows, c = (int)channels, h = (int)hidden;
    float *d = lane->products, *dh = lane->low + rows * hidden;
    for (size_t i = 0; i < rows * channels; i++)
        d[i] *= 2 / (float)channels;
    p->kernels->columns(d, lane->rows, rows, channels, lane->sums + p->at.b2,
                        lane->sums + p->at.dots);
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, c, h, n, 1, d, c, lane->low, h, 1,
                lane->matrices + p->at.w2, h);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, h, c, 1, d, c,
                p->parameters + p->places.w2, h, 0, dh, h);
    p->kernels->columns(dh, NULL, rows, hidden, lane->sums + p->at.b1, NULL);
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, h, c, n, 1, dh, h, lane->rows, c, 1,
                lane->matrices + p->at.w1, c);
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
    if (lane->failed && p->failed == SIZE_MAX)
        p->failed = lane->index;
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

/* -- public calls ---------------------------------------------------------------------------- */

static enum yp_status pass(struct rx_pipeline *p, const char *what, const struct rx_source *source)
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
    enum yp_status status = p->on != NULL ? ypi_rx_pipeline_device_pass(p, what, source, labelled)
                                          : ypi_rx_run(&here, source);
    if (status == YP_OK && p->failed != SIZE_MAX)
        return yp_set_error(YP_INVALID,
                            "%s: the covariance of image %zu with eps %g is not positive definite "
                            "in float; use a larger eps",
                            what, p->failed, p->options.eps);
    return status;
}

/* Mean loss and gradient, or only what is not NULL; p->kept tells of how many pixels. */
static enum yp_status objective(struct rx_pipeline *p, const char *what,
                                const struct rx_source *source, const float *parameters,
                                double *mean, float *gradient, rx_take *take, void *take_arg)
{
    if (p == NULL || parameters == NULL)
        return yp_set_error(YP_INVALID, "%s: %s is NULL", what,
                            p == NULL ? "pipeline" : "parameters");
    enum yp_status status = ypi_rx_prepare(p, what, parameters);
    if (status != YP_OK)
        return status;
    p->judged = mean != NULL;
    p->backward = gradient != NULL;
    p->take = ypi_rx_trains(&p->options) ? take : NULL;
    p->take_arg = take_arg;
    status = pass(p, what, source);
    if (status != YP_OK)
        return status;
    if (mean != NULL)
        *mean = p->kept > 0 ? p->sums[p->at.loss] / (double)p->kept + ypi_rx_penalty(p) : 0;
    if (gradient != NULL && p->kept > 0)
        ypi_rx_write_gradient(p, gradient);
    else if (gradient != NULL)
        memset(gradient, 0, p->places.count * sizeof *gradient);
    return YP_OK;
}

enum yp_status rx_pipeline_gradient(struct rx_pipeline *p, const struct rx_source *source,
                                    const float *parameters, double *mean, float *gradient)
{
    const char *what = "rx_pipeline_gradient";
    if (mean == NULL)
        return yp_set_error(YP_INVALID, "%s: mean is NULL", what);
    enum yp_status status = objective(p, what, source, parameters, mean, gradient, NULL, NULL);
    if (status == YP_OK && p->kept == 0)
        return yp_set_error(YP_INVALID, "%s: the source has no finite pixel", what);
    return status;
}

enum yp_status rx_pipeline_train_gradient(void *pipeline, const struct rx_source *source,
                                          const float *parameters, double *mean, double *weight,
                                          float *gradient)
{
    struct rx_pipeline *p = pipeline;
    const char *what = "rx_pipeline_train_gradient";
    if (mean == NULL || weight == NULL || gradient == NULL)
        return yp_set_error(YP_INVALID, "%s: %s is NULL", what,
                            mean == NULL     ? "mean"
                            : weight == NULL ? "weight"
                                             : "gradient");
    enum yp_status status = objective(p, what, source, parameters, mean, gradient, NULL, NULL);
    *weight = status == YP_OK ? (double)p->kept : 0;
    return status;
}

enum yp_status rx_pipeline_train_evaluate(void *pipeline, const struct rx_source *source,
                                          const float *parameters, double *mean, double *weight,
                                          rx_take *take, void *take_arg)
{
    struct rx_pipeline *p = pipeline;
    const char *what = "rx_pipeline_train_evaluate";
    if ((mean == NULL) != (weight == NULL))
        return yp_set_error(YP_INVALID, "%s: %s is NULL and the other is not", what,
                            mean == NULL ? "mean" : "weight");
    enum yp_status status = objective(p, what, source, parameters, mean, NULL, take, take_arg);
    if (weight != NULL)
        *weight = status == YP_OK ? (double)p->kept : 0;
    return status;
}

enum yp_status rx_pipeline_score(struct rx_pipeline *p, const struct rx_source *source,
                                 const float *parameters, float *scores, float *logits)
{
    const char *what = "rx_pipeline_score";
    if (p == NULL || parameters == NULL)
        return yp_set_error(YP_INVALID, "%s: %s is NULL", what,
                            p == NULL ? "pipeline" : "parameters");
    if (logits != NULL && !ypi_rx_trains(&p->options))
        return yp_set_error(YP_INVALID, "%s: an autoencoder has no logits", what);
    enum yp_status status = ypi_rx_prepare(p, what, parameters);
    if (status != YP_OK)
        return status;
    p->scores_out = scores;
    p->logits_out = logits;
    return pass(p, what, source);
}

enum yp_status rx_pipeline_calibrate(struct rx_pipeline *p, const struct rx_source *source,
                                     float *parameters)
{
    const char *what = "rx_pipeline_calibrate";
    if (p == NULL || parameters == NULL)
        return yp_set_error(YP_INVALID, "%s: %s is NULL", what,
                            p == NULL ? "pipeline" : "parameters");
    if (!ypi_rx_trains(&p->options))
        return YP_OK;
    enum yp_status status = ypi_rx_prepare(p, what, parameters);
    if (status != YP_OK)
        return status;
    p->calibrates = true;
    status = pass(p, what, source);
    if (status != YP_OK)
        return status;
    if (p->kept == 0)
        return yp_set_error(YP_INVALID, "%s: the source has no finite pixel", what);
    double sigma = p->kept > 1 ? sqrt(p->m2_score / (double)(p->kept - 1)) : 0;
    float bias = (float)(p->mean_score + 2 * sigma);
    if (!isfinite(bias))
        return yp_set_error(YP_INVALID, "%s: the scores have mean %g and sigma %g, beyond float",
                            what, p->mean_score, sigma);
    parameters[p->places.bias] = bias;
    return YP_OK;
}

enum yp_status rx_pipeline_fit(struct rx_pipeline *p, struct rx *rx, const struct rx_source *source,
                               float *parameters, struct rx_start *start)
{
    if (p == NULL || rx == NULL || parameters == NULL)
        return yp_set_error(YP_INVALID, "rx_pipeline_fit: %s is NULL",
                            p == NULL    ? "pipeline"
                            : rx == NULL ? "rx"
                                         : "parameters");
    rx_reset(rx);
    enum yp_status status = rx_fit(rx, source);
    if (status == YP_OK)
        status = rx_pipeline_start(p, rx, parameters, start);
    return status == YP_OK ? rx_pipeline_calibrate(p, source, parameters) : status;
}
