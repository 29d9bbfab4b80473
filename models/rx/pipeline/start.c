/* The statistical phase: from mean, covariance and range of the raw data to parameters. */
#include "models/rx/pipeline/internal.h"

#include <cblas.h>
#include <math.h>
#include <omp.h>
#include <string.h>

#define MIN_VARIANCE 1e-30 /* whose logarithm is a parameter, whatever rounding left of it */

struct statistics {
    const double *mean; /* (C), of the raw data; their covariance is in p->square, full */
    double min, max;
    bool rounded;            /* parameters will be: what follows a tensor starts from its float */
    const struct rx *fitted; /* where they are from, or NULL: they are exact */
};

static double settle(const struct statistics *s, double value)
{
    return s->rounded ? (double)(float)value : value;
}

/* MinMax and selector to parameters, and p->square from raw data to what they leave of them. */
static enum yp_status start_front(struct rx_pipeline *p, const char *what,
                                  const struct statistics *s, double *to)
{
    const struct rx_pipeline_options *o = &p->options;
    size_t c = o->channels;
    double top = -INFINITY, sum = 0;
    double temperature = ypi_rx_has_temperature(o) ? settle(s, o->temperature) : o->temperature;
    p->floor = ypi_rx_has_range(o) ? settle(s, s->min) : 0;
    double max = ypi_rx_has_range(o) ? settle(s, s->max) : 1;
    p->range = ypi_rx_extent(p->floor, max);
    if (ypi_rx_has_range(o)) {
        to[p->places.min] = p->floor;
        to[p->places.max] = max;
    }
    for (size_t i = 0; i < c; i++) {
        double variance = p->square[i * c + i] / (p->range * p->range);
        if (o->select && !isfinite(variance))
            return yp_set_error(YP_INVALID, "%s: the variance of channel %zu is %g, beyond float",
                                what, i, p->square[i * c + i]);
        p->shares[i] = o->uniform ? 0 : settle(s, log(variance + RX_EPS));
        if (o->select)
            to[p->places.logits + i] = p->shares[i];
        top = fmax(top, p->shares[i]);
    }
    for (size_t i = 0; i < c; i++)
        sum += p->shares[i] = exp((p->shares[i] - top) / temperature);
    if (ypi_rx_has_temperature(o))
        to[p->places.temperature] = temperature;
    for (size_t i = 0; i < c; i++)
        p->gain64[i] = (o->select ? o->keep * p->shares[i] / sum : 1) / p->range;
    for (size_t i = 0; i < c; i++)
        for (size_t j = 0; j < c; j++)
            p->square[i * c + j] *= p->gain64[i] * p->gain64[j];
    return YP_OK;
}

/* The mean of what MinMax and selector leave. */
static double mean_after(const struct rx_pipeline *p, const struct statistics *s, size_t channel)
{
    return (s->mean[channel] - p->floor) * p->gain64[channel];
}

/* What operands in 16 bits add to that below. */
static double operands_error(const struct rx_pipeline *p, const double *a, size_t d)
{
    double v = 0, score = 0;
    if (!ypi_rx_mixed(&p->options))
        return 0;
    for (size_t i = 0; i < d * d; i++)
        score += a[i] * p->square[i];
    for (size_t i = 0; i < d && p->options.components > 0; i++)
        v += p->q[i] * a[i * d + i];
    return hypot(ypi_rx_operands_error(p, a, p->square, d, score),
                 ypi_rx_map_error(p->options.precision, v, score));
}

/* Of scores by A, (D, D): v with the errors of Sigma as large as p->q says, and rounding. */
static double score_error(const struct rx_pipeline *p, const struct statistics *s, const double *a,
                          size_t d, size_t alive)
{
    double v = 0, inverse = ypi_rx_inverse_error(a, p->column, d, alive);
    for (size_t i = 0; i < d; i++)
        v += p->q[i] * a[i * d + i] / (double)alive;
    double left = p->options.residual ? p->left / (double)alive : 0;
    double of_weight = p->options.residual ? p->left_weight / (double)alive : 0;
    return hypot(hypot(ypi_rx_score_error(s->fitted, hypot(v, of_weight)),
                       ypi_rx_product_error(v + left, alive)),
                 hypot(inverse, operands_error(p, a, d)));
}

/* Channels, or components without what they leave, that are not dead; at least 1. */
static size_t alive_of(const struct rx_pipeline *p)
{
    const struct rx_pipeline_options *o = &p->options;
    size_t d = o->residual ? o->channels : ypi_rx_width(o), alive = 0;
    bool all = o->components > 0 && !o->residual;
    for (size_t i = 0; i < d; i++)
        alive += all || p->dead[i] == 0;
    return alive > 0 ? alive : 1;
}

/* (D, D) in p->square to A at `a`, by Cholesky. */
static enum yp_status start_cholesky(struct rx_pipeline *p, const char *what,
                                     const struct statistics *s, const uint8_t *dead, double *a,
                                     struct rx_start *start)
{
    const struct rx_pipeline_options *o = &p->options;
    size_t d = ypi_rx_width(o);
    const struct ypi_rx_factoring job = {.what = what,
                                         .channels = d,
                                         .eps = o->eps,
                                         .ridge = o->eps,
                                         .shrink = o->shrink,
                                         .dead = dead,
                                         .alive = alive_of(p),
                                         .max_error = o->max_error,
                                         .precision = o->precision};
    memcpy(a, p->square, d * d * sizeof *a);
    enum yp_status status = ypi_rx_factor(&job, a, p->column);
    if (status != YP_OK)
        return status;
    ypi_rx_inverse(a, d);
    if (s->fitted == NULL)
        return YP_OK;
    start->score_error = score_error(p, s, a, d, job.alive);
    return ypi_rx_check_error(&job, s->fitted, start->score_error);
}

/* (D, D) in p->square to A at `a`. */
static enum yp_status start_inverse(struct rx_pipeline *p, const char *what,
                                    const struct statistics *s, const uint8_t *dead, double *a,
                                    struct rx_start *start)
{
    const struct rx_pipeline_options *o = &p->options;
    size_t d = ypi_rx_width(o);
    if (o->inverse == RX_CHOLESKY)
        return start_cholesky(p, what, s, dead, a, start);
    for (size_t i = 0; i < d * d; i++) {
        size_t row = i / d, column = i % d;
        bool out = dead != NULL && (dead[row] != 0 || dead[column] != 0);
        p->square[i] = out             ? 0
                       : row == column ? p->square[i] + o->eps
                                       : p->square[i] * (1 - o->shrink);
    }
    enum yp_status status =
        ypi_rx_pinv(what, p->square, d, a, p->other, p->lapack, p->lapack_int, &start->dropped);
    start->dropped -= status == YP_OK ? start->masked : 0;
    return status;
}

/* What the channels' variances, which the errors of Sigma go with, are of the residual: as of a
 * component, and of the mean variance that its weight is of, by P = I - W^T W. Uses p->other. */
static void weigh_residual(struct rx_pipeline *p, const double *w, double weight)
{
    size_t c = p->options.channels;
    int n = (int)c, threads = ypi_rx_alone();
    double squares = 0;
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, n, n, (int)p->options.components, -1, w, n,
                w, n, 0, p->other, n);
    omp_set_num_threads(threads);
    p->left = 0;
    for (size_t i = 0; i < c; i++)
        for (size_t j = 0; j < c; j++) {
            double value = p->other[i * c + j] + (i == j ? 1 : 0);
            p->left += i == j ? weight * value * p->square[i * c + i] : 0;
            squares += value * value * p->square[i * c + i] * p->square[j * c + j];
        }
    p->left_weight = weight * sqrt(squares);
}

/* W, its mean and variances, then, whitened or not, p->square (K, K) = W Sigma W^T and
 * mu = W (mean - its parameter). p->q (K) becomes what the channels' variances, which the errors of
 * Sigma go with, are of a component. */
static enum yp_status start_pca(struct rx_pipeline *p, const char *what, const struct statistics *s,
                                double *to, double *explained)
{
    const struct rx_pipeline_options *o = &p->options;
    size_t c = o->channels, k = o->components;
    double *w = to + p->places.w, *mean = to + p->places.mean, *mu = to + p->places.mu;
    memcpy(p->other, p->square, c * c * sizeof *p->other);
    enum yp_status status =
        ypi_rx_pca(what, p->other, c, k, w, p->column, p->lapack, p->lapack_int);
    if (status != YP_OK)
        return status;
    double most = p->column[0], least = p->column[k - 1];
    /* eps is added behind the whitening, where a component is its variance times smaller. */
    double unit_most = o->whiten ? most + YPI_RX_WHITEN_EPS : 1;
    double unit_least = o->whiten ? least + YPI_RX_WHITEN_EPS : 1;
    if (!(least + o->eps * unit_least >= YPI_RX_MIN_EIGENVALUE * (most + o->eps * unit_most)))
        return yp_set_error(YP_INVALID,
                            "%s: component %zu has variance %g of %g in the first, which "
                            "statistics of float data cannot tell from 0; use fewer components or "
                            "a larger eps",
                            what, k - 1, least, most);
    if (o->residual) {
        status = ypi_rx_residual_start(p, what, to + p->places.residual);
        if (status != YP_OK)
            return status;
    }
    double all = 0, kept = 0;
    for (size_t i = 0; i < c; i++)
        all += p->square[i * c + i];
    for (size_t i = 0; i < k; i++)
        kept += p->column[i];
    *explained = all > 0 ? kept / all : 0;
    for (size_t i = 0; i < k * c; i++)
        w[i] = settle(s, w[i]);
    for (size_t i = 0; i < c; i++)
        mean[i] = settle(s, mean_after(p, s, i));
    for (size_t i = 0; i < k; i++) {
        double logarithm = settle(s, log(fmax(p->column[i], MIN_VARIANCE)));
        if (o->whiten)
            to[p->places.log_variance + i] = logarithm;
        p->column[i] = o->whiten ? 1 / sqrt(exp(logarithm) + YPI_RX_WHITEN_EPS) : 1;
        mu[i] = p->q[i] = 0;
        for (size_t j = 0; j < c; j++) {
            double weight = p->column[i] * w[i * c + j];
            mu[i] += weight * (mean_after(p, s, j) - mean[j]);
            p->q[i] += weight * weight * p->square[j * c + j];
        }
    }
    if (o->residual)
        weigh_residual(p, w, to[p->places.residual]);
    int n = (int)c, m = (int)k, threads = ypi_rx_alone();
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, n, 1, w, n, p->square, n, 0,
                p->other, n);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, m, n, 1, p->other, n, w, n, 0,
                p->square, m);
    omp_set_num_threads(threads);
    for (size_t i = 0; i < k * k; i++)
        p->square[i] *= p->column[i / k] * p->column[i % k];
    return YP_OK;
}

/* Weights and offsets uniform in +-1 / sqrt(inputs), as PyTorch's linear layers begin. */
static void start_layers(const struct rx_pipeline *p, double *to)
{
    const struct rx_pipeline_options *o = &p->options;
    size_t c = o->channels, h = o->hidden;
    uint64_t state = o->seed;
    for (size_t i = p->places.w1; i < p->places.count; i++) {
        double unit = (double)(ypi_mix64(state += YPI_GOLDEN) >> 11) * 0x1p-53;
        to[i] = (2 * unit - 1) / sqrt((double)(i < p->places.w2 ? c : h));
    }
}

static enum yp_status start_detector(struct rx_pipeline *p, const char *what,
                                     const struct statistics *s, const uint8_t *dead, double *to,
                                     struct rx_start *start)
{
    const struct rx_pipeline_options *o = &p->options;
    enum yp_status status = YP_OK;
    switch (o->detector) {
    case RX_GLOBAL:
        if (o->components > 0) {
            status = start_pca(p, what, s, to, &start->explained);
            dead = NULL; /* a dead channel is in no component that is kept */
        }
        for (size_t i = 0; i < o->channels && o->components == 0; i++) {
            to[p->places.mu + i] = mean_after(p, s, i);
            p->q[i] = p->square[i * o->channels + i];
        }
        start->masked = 0;
        for (size_t i = 0; i < o->channels && dead != NULL; i++)
            start->masked += dead[i];
        return status == YP_OK ? start_inverse(p, what, s, dead, to + p->places.a, start) : status;
    case RX_LAD:
        for (size_t i = 0; i < o->channels; i++)
            to[p->places.mu + i] = mean_after(p, s, i);
        return rx_lad_laplacian(to + p->places.mu, o->channels, to + p->places.a);
    case RX_AUTOENCODER:
        start_layers(p, to);
        return YP_OK;
    default:
        return YP_OK;
    }
}

static enum yp_status start_all(struct rx_pipeline *p, const char *what, const struct statistics *s,
                                const uint8_t *dead, double *to, struct rx_start *start)
{
    struct rx_start unused;
    start = start != NULL ? start : &unused;
    *start = (struct rx_start){0};
    enum yp_status status = start_front(p, what, s, to);
    if (status == YP_OK)
        status = start_detector(p, what, s, p->options.mask_dead ? dead : NULL, to, start);
    if (status == YP_OK && ypi_rx_trains(&p->options)) {
        to[p->places.scale] = (double)p->options.scale;
        to[p->places.bias] = 0;
    }
    return status;
}

/* What rx_finish would refuse, for RX; others need a finite pixel. */
static enum yp_status check_fitted(const struct rx_pipeline *p, const struct rx *rx)
{
    const struct rx_pipeline_options *o = &p->options;
    if (rx->channels != o->channels)
        return yp_set_error(YP_INVALID, "rx_pipeline_start: rx has %zu channels, the pipeline %zu",
                            rx->channels, o->channels);
    if (o->detector == RX_GLOBAL && o->components == 0 && o->inverse == RX_CHOLESKY)
        return ypi_rx_check_finish("rx_pipeline_start", rx,
                                   &(struct rx_finish_options){.eps = o->eps,
                                                               .shrink = o->shrink,
                                                               .mask_dead = o->mask_dead,
                                                               .max_error = o->max_error});
    if (o->detector == RX_GLOBAL) /* singular is allowed, or judged by eigenvalues */
        return ypi_rx_check_finish(
            "rx_pipeline_start", rx,
            &(struct rx_finish_options){.eps = 1, .mask_dead = true, .max_error = o->max_error});
    if (rx->failed || rx->all.pixels < 1)
        return yp_set_error(YP_INVALID, "rx_pipeline_start: %s",
                            rx->failed ? "a rx_fit before it failed part of the way"
                                       : "there is no finite pixel");
    return YP_OK;
}

enum yp_status rx_pipeline_start(struct rx_pipeline *p, const struct rx *fitted, float *parameters,
                                 struct rx_start *start)
{
    if (p == NULL || fitted == NULL || parameters == NULL)
        return yp_set_error(YP_INVALID, "rx_pipeline_start: %s is NULL",
                            p == NULL        ? "pipeline"
                            : fitted == NULL ? "fitted"
                                             : "parameters");
    enum yp_status status = check_fitted(p, fitted);
    if (status != YP_OK)
        return status;
    size_t c = p->options.channels;
    if (fitted->all.pixels > 1)
        status = rx_covariance(fitted, p->square);
    else
        memset(p->square, 0, c * c * sizeof *p->square);
    if (status != YP_OK)
        return status;
    struct rx_summary summary;
    rx_summary(fitted, &summary);
    ypi_rx_dead(fitted, p->dead);
    struct statistics s = {rx_mean(fitted), (double)summary.min, (double)summary.max, true, fitted};
    status = start_all(p, "rx_pipeline_start", &s, p->dead, p->start, start);
    for (size_t i = 0; i < p->places.count && status == YP_OK; i++)
        parameters[i] = (float)p->start[i];
    return status;
}

enum yp_status rx_pipeline_start_plain(struct rx_pipeline *p, const double *mean,
                                       const double *covariance, double min, double max,
                                       double *parameters, struct rx_start *start)
{
    if (p == NULL || mean == NULL || covariance == NULL || parameters == NULL)
        return yp_set_error(YP_INVALID, "rx_pipeline_start_plain: %s is NULL",
                            p == NULL            ? "pipeline"
                            : mean == NULL       ? "mean"
                            : covariance == NULL ? "covariance"
                                                 : "parameters");
    size_t c = p->options.channels;
    memcpy(p->square, covariance, c * c * sizeof *covariance);
    for (size_t i = 0; i < c; i++)
        p->dead[i] = covariance[i * c + i] == 0;
    struct statistics s = {mean, min, max, false, NULL};
    return start_all(p, "rx_pipeline_start_plain", &s, p->dead, parameters, start);
}
