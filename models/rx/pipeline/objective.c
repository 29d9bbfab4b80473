/* What can be asked of the pipeline: the loss with its gradient, scores, a calibrated bias; each is
 * its parameters prepared and one pass. */
#include "models/rx/pipeline/internal.h"
#include "models/train/optimiser.h"

#include <math.h>
#include <string.h>

#define MAX_RANGE 1e37 /* the inverse of more loses digits in float */

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

double ypi_rx_whitening_of(const struct rx_pipeline *p, const float *parameters, size_t k)
{
    if (!p->options.whiten)
        return 1;
    return 1 / sqrt(exp((double)parameters[p->places.log_variance + k]) + YPI_RX_WHITEN_EPS);
}

/* p->map, what PCA multiplies by. */
static void whiten(struct rx_pipeline *p)
{
    size_t c = p->options.channels;
    const float *w = p->parameters + p->places.w;
    p->map = p->options.whiten ? p->whitened : w;
    for (size_t k = 0; k < p->options.components && p->options.whiten; k++) {
        double factor = ypi_rx_whitening_of(p, p->parameters, k);
        for (size_t i = 0; i < c; i++)
            p->whitened[k * c + i] = (float)(factor * (double)w[k * c + i]);
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

/* MinMax and selector as one affine map, and from it base, gain and rest for what the detector
 * centres around. `hard`: the selector chooses as options.hard says. */
static enum yp_status prepare(struct rx_pipeline *p, const char *what, const float *parameters,
                              bool hard)
{
    if (p == NULL || parameters == NULL)
        return yp_set_error(YP_INVALID, "%s: %s is NULL", what,
                            p == NULL ? "pipeline" : "parameters");
    const struct rx_pipeline_options *o = &p->options;
    const struct ypi_rx_places *at = &p->places;
    p->parameters = parameters;
    double max = 1;
    p->floor = 0;
    if (ypi_rx_has_range(o)) {
        p->floor = (double)parameters[at->min];
        max = (double)parameters[at->max];
        double width = max - p->floor;
        if (!isfinite(width) || width > MAX_RANGE)
            return yp_set_error(
                YP_INVALID, "%s: min is %g and max %g, allowed are finite values up to %g apart",
                what, p->floor, max, MAX_RANGE);
    }
    p->moves = !ypi_rx_is_flat(p->floor, max);
    p->range = ypi_rx_extent(p->floor, max);
    ypi_rx_weigh(p, hard);
    if (p->symmetric != NULL)
        make_even(p);
    if (o->components > 0)
        whiten(p);
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
    ypi_rx_take_operands(p);
    p->pull = 1;
    memset(p->sums, 0, p->at.sums * sizeof *p->sums);
    if (p->at.matrices > 0)
        memset(p->matrices, 0, p->at.matrices * sizeof *p->matrices);
    p->kept = 0;
    p->failed = SIZE_MAX;
    p->error = 0;
    p->mean_score = p->m2_score = 0;
    p->scores_out = p->logits_out = NULL;
    p->judged = p->backward = p->calibrates = false;
    p->take = NULL;
    return YP_OK;
}

/* 0 without a pixel. */
static double mean_loss(const struct rx_pipeline *p)
{
    if (p->kept == 0)
        return 0;
    return p->sums[p->at.loss] / (double)p->kept + ypi_rx_penalty(p) + ypi_rx_selector_terms(p);
}

/* A power of two, so that nothing is rounded but what leaves the range of 16 bits. */
static void choose_pull(struct rx_pipeline *p, const struct rx_source *source, double scale)
{
    int exponent = 0;
    if (!ypi_rx_mixed(&p->options) || source == NULL)
        return;
    (void)frexp((double)source->tiles * (double)source->tile_pixels, &exponent);
    p->pull = (double)(float)ldexp(scale, -exponent);
}

/* Mean loss and, unless it is NULL, `scale` times its gradient; p->kept tells of how many pixels.
 */
static enum yp_status objective(struct rx_pipeline *p, const char *what,
                                const struct rx_source *source, const float *parameters,
                                double scale, double *mean, float *gradient)
{
    enum yp_status status = prepare(p, what, parameters, false);
    if (status != YP_OK)
        return status;
    p->judged = mean != NULL;
    p->backward = gradient != NULL;
    choose_pull(p, source, scale);
    status = ypi_rx_pipeline_pass(p, what, source);
    if (status != YP_OK)
        return status;
    *mean = mean_loss(p);
    if (gradient != NULL && p->kept > 0)
        ypi_rx_write_gradient(p, gradient);
    else if (gradient != NULL)
        memset(gradient, 0, p->places.count * sizeof *gradient);
    if (gradient != NULL && scale != 1)
        train_scale_gradient(p->places.count, scale, gradient);
    return YP_OK;
}

enum yp_status rx_pipeline_gradient(struct rx_pipeline *p, const struct rx_source *source,
                                    const float *parameters, double *mean, float *gradient)
{
    const char *what = "rx_pipeline_gradient";
    if (mean == NULL)
        return yp_set_error(YP_INVALID, "%s: mean is NULL", what);
    enum yp_status status = objective(p, what, source, parameters, 1, mean, gradient);
    if (status == YP_OK && p->kept == 0)
        return yp_set_error(YP_INVALID, "%s: the source has no finite pixel", what);
    return status;
}

enum yp_status rx_pipeline_train_gradient(void *pipeline, const struct rx_source *source,
                                          const float *parameters, double scale, double *mean,
                                          double *weight, float *gradient)
{
    struct rx_pipeline *p = pipeline;
    const char *what = "rx_pipeline_train_gradient";
    if (mean == NULL || weight == NULL || gradient == NULL)
        return yp_set_error(YP_INVALID, "%s: %s is NULL", what,
                            mean == NULL     ? "mean"
                            : weight == NULL ? "weight"
                                             : "gradient");
    enum yp_status status = objective(p, what, source, parameters, scale, mean, gradient);
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
    enum yp_status status = prepare(p, what, parameters, true);
    if (status != YP_OK)
        return status;
    p->judged = mean != NULL;
    p->take = ypi_rx_trains(&p->options) ? take : NULL;
    p->take_arg = take_arg;
    status = ypi_rx_pipeline_pass(p, what, source);
    if (status == YP_OK && mean != NULL)
        *mean = mean_loss(p);
    if (weight != NULL)
        *weight = status == YP_OK ? (double)p->kept : 0;
    return status;
}

enum yp_status rx_pipeline_score(struct rx_pipeline *p, const struct rx_source *source,
                                 const float *parameters, float *scores, float *logits)
{
    const char *what = "rx_pipeline_score";
    if (p != NULL && parameters != NULL && logits != NULL && !ypi_rx_trains(&p->options))
        return yp_set_error(YP_INVALID, "%s: an autoencoder has no logits", what);
    enum yp_status status = prepare(p, what, parameters, true);
    if (p == NULL || status != YP_OK)
        return status;
    p->scores_out = scores;
    p->logits_out = logits;
    return ypi_rx_pipeline_pass(p, what, source);
}

enum yp_status rx_pipeline_explained(struct rx_pipeline *p, const struct rx *fitted,
                                     const float *parameters, double *ratios)
{
    const char *what = "rx_pipeline_explained";
    if (fitted == NULL || ratios == NULL)
        return yp_set_error(YP_INVALID, "%s: %s is NULL", what,
                            fitted == NULL ? "fitted" : "ratios");
    enum yp_status status = prepare(p, what, parameters, false);
    if (p == NULL || status != YP_OK)
        return status;
    size_t c = p->options.channels;
    if (p->options.components == 0 || fitted->channels != c)
        return yp_set_error(YP_INVALID,
                            "%s: there are %zu components of %zu channels and rx has %zu, allowed "
                            "are 1 component or more and the same channels",
                            what, p->options.components, c, fitted->channels);
    status = rx_covariance(fitted, p->square);
    double all = 0;
    for (size_t i = 0; i < c && status == YP_OK; i++)
        all += p->square[i * c + i] * p->gain64[i] * p->gain64[i];
    for (size_t k = 0; k < p->options.components && status == YP_OK; k++) {
        const float *w = parameters + p->places.w + k * c;
        double along = 0, norm = 0;
        for (size_t i = 0; i < c; i++) {
            norm += (double)w[i] * (double)w[i];
            for (size_t j = 0; j < c; j++)
                along += (double)w[i] * p->gain64[i] * p->square[i * c + j] * p->gain64[j] *
                         (double)w[j];
        }
        ratios[k] = all > 0 && norm > 0 ? along / norm / all : 0;
    }
    return status;
}

enum yp_status rx_pipeline_calibrate(struct rx_pipeline *p, const struct rx_source *source,
                                     float *parameters)
{
    const char *what = "rx_pipeline_calibrate";
    if (p != NULL && parameters != NULL && !ypi_rx_trains(&p->options))
        return YP_OK;
    enum yp_status status = prepare(p, what, parameters, false);
    if (status != YP_OK)
        return status;
    p->calibrates = true;
    status = ypi_rx_pipeline_pass(p, what, source);
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
    bool scales = p->options.by_sample && source != NULL && source->yield != NULL;
    if (scales && rx->on != NULL)
        return yp_set_error(YP_UNSUPPORTED,
                            "rx_pipeline_fit: MinMax is by sample, and rx takes a GPU's tiles; "
                            "allowed is one of the CPU");
    struct rx_source scaled = scales ? rx_sample_source(source) : (struct rx_source){0};
    rx_reset(rx);
    enum yp_status status = rx_fit(rx, scales ? &scaled : source);
    if (status == YP_OK)
        status = rx_pipeline_start(p, rx, parameters, start);
    return status == YP_OK ? rx_pipeline_calibrate(p, source, parameters) : status;
}
