/* From statistics to a factor: Cholesky in double, whitening in float. */
#include "models/rx/device/detector.h"
#include "models/rx/pipeline/internal.h"

#include <lapacke.h>
#include <math.h>
#include <omp.h>
#include <string.h>

#define FAR_OUT 0x1p500 /* a pivot whose inverse square is no variance's */

int ypi_rx_alone(void)
{
    int threads = omp_get_max_threads();
    omp_set_num_threads(1);
    return threads;
}

static bool is_dead(const struct rx *rx, size_t channel)
{
    return rx->all.low[channel] == rx->all.high[channel];
}

enum yp_status ypi_rx_check_fitted(const char *what, const struct rx *rx)
{
    if (rx->failed)
        return yp_set_error(YP_INVALID,
                            "%s: a rx_fit before it failed part of the way; call rx_reset and fit "
                            "again",
                            what);
    if (rx->all.pixels < 2)
        return yp_set_error(YP_INVALID, "%s: %zu finite pixels (%zu skipped), it takes 2 at least",
                            what, (size_t)rx->all.pixels, (size_t)rx->all.skipped);
    return YP_OK;
}

enum yp_status ypi_rx_check_finish(const char *what, const struct rx *rx,
                                   const struct rx_finish_options *options)
{
    double eps = options->eps, shrink = options->shrink, max_error = options->max_error;
    size_t alive = 0;
    if (!(eps >= 0) || isinf(eps))
        return yp_set_error(YP_INVALID, "%s: eps is %g, allowed is 0 or more", what, eps);
    if (!(shrink >= 0 && shrink <= 1))
        return yp_set_error(YP_INVALID, "%s: shrink is %g, allowed are 0 to 1", what, shrink);
    if (!(max_error >= 0))
        return yp_set_error(YP_INVALID, "%s: max_error is %g, allowed is 0 or more", what,
                            max_error);
    enum yp_status fitted = ypi_rx_check_fitted(what, rx);
    if (fitted != YP_OK)
        return fitted;
    for (size_t c = 0; c < rx->channels; c++) {
        if (!isfinite(rx->all.m2[c * rx->channels + c]))
            return yp_set_error(YP_INVALID,
                                "%s: channel %zu has values from %g to %g, whose variance "
                                "overflows float",
                                what, c, (double)rx->all.low[c], (double)rx->all.high[c]);
        if (eps == 0 && is_dead(rx, c) && !options->mask_dead)
            return yp_set_error(YP_INVALID,
                                "%s: channel %zu is dead, all its %zu values are %g; leave it out "
                                "(mask_dead) or use eps > 0",
                                what, c, (size_t)rx->all.pixels, (double)rx->all.low[c]);
        alive += !(options->mask_dead && is_dead(rx, c));
    }
    if (eps == 0 && shrink == 0 && alive > 0 && rx->all.pixels <= alive)
        return yp_set_error(YP_INVALID,
                            "%s: %zu finite pixels cannot give a covariance of %zu channels full "
                            "rank; use more of them, eps > 0 or shrink > 0",
                            what, (size_t)rx->all.pixels, alive);
    return YP_OK;
}

size_t ypi_rx_dead(const struct rx *rx, uint8_t *dead)
{
    size_t n = 0;
    for (size_t c = 0; c < rx->channels; c++)
        n += dead[c] = is_dead(rx, c);
    return n;
}

static enum yp_status refuse(const struct ypi_rx_factoring *job, size_t channel, double variance)
{
    return yp_set_error(YP_INVALID,
                        "%s: the covariance with eps %g is not positive definite at channel %zu "
                        "(variance %g): the channels before it explain it; leave it out or use a "
                        "larger eps",
                        job->what, job->eps, channel, variance);
}

static bool left_out(const struct ypi_rx_factoring *job, size_t channel)
{
    return job->dead != NULL && job->dead[channel] != 0;
}

/* A row-major upper triangle is LAPACK's lower one. */
enum yp_status ypi_rx_factor(const struct ypi_rx_factoring *job, double *matrix, double *variances)
{
    size_t channels = job->channels;
    for (size_t i = 0; i < channels; i++) {
        bool out = left_out(job, i);
        variances[i] = matrix[i * channels + i];
        matrix[i * channels + i] = out ? 1 : variances[i] + job->ridge;
        for (size_t j = i + 1; j < channels; j++)
            matrix[i * channels + j] *= out || left_out(job, j) ? 0 : 1 - job->shrink;
    }
    int threads = ypi_rx_alone();
    lapack_int info = LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', (lapack_int)channels, matrix,
                                          (lapack_int)channels);
    omp_set_num_threads(threads);
    if (info < 0)
        return yp_set_error(YP_UNSUPPORTED, "%s: dpotrf refused its argument %d", job->what,
                            -(int)info);
    if (info > 0)
        return refuse(job, (size_t)info - 1, variances[info - 1]);
    for (size_t c = 0; c < channels; c++) {
        double *pivot = &matrix[c * channels + c];
        if (left_out(job, c))
            *pivot = INFINITY;
        else if (!(*pivot * *pivot >= YPI_RX_MIN_PIVOT * (variances[c] + job->ridge)) ||
                 isinf(variances[c])) /* which LAPACK may pass over */
            return refuse(job, c, variances[c]);
    }
    return YP_OK;
}

/* column (C, from `first` on) = L^-1 e_first */
static void invert_column(const double *factor, size_t channels, size_t first, double *column)
{
    memset(column, 0, channels * sizeof *column);
    column[first] = 1;
    for (size_t j = first; j < channels; j++) {
        const double *below = factor + j * channels;
        column[j] /= below[j];
        for (size_t i = j + 1; i < channels; i++)
            column[i] -= below[i] * column[j];
    }
}

void ypi_rx_whiten(const double *factor, size_t channels, const double *rest, float *whiten,
                   double *column, double *offset)
{
    for (size_t k = 0; k < channels; k++) {
        invert_column(factor, channels, k, column);
        for (size_t i = 0; i < channels; i++) {
            whiten[k * channels + i] = (float)column[i];
            if (offset != NULL)
                offset[i] += column[i] * rest[k];
        }
    }
}

void ypi_rx_inverse(double *matrix, size_t channels)
{
    int threads = ypi_rx_alone();
    for (size_t c = 0; c < channels; c++) /* LAPACK is not asked about infinity */
        if (isinf(matrix[c * channels + c]))
            matrix[c * channels + c] = FAR_OUT;
    LAPACKE_dpotri_work(LAPACK_COL_MAJOR, 'L', (lapack_int)channels, matrix, (lapack_int)channels);
    omp_set_num_threads(threads);
    for (size_t i = 0; i < channels; i++) {
        double *diagonal = &matrix[i * channels + i];
        *diagonal = *diagonal == 1 / FAR_OUT / FAR_OUT ? 0 : *diagonal;
        for (size_t j = i + 1; j < channels; j++)
            matrix[j * channels + i] = matrix[i * channels + j];
    }
}

static double ridge_of(const struct rx *rx, double eps)
{
    struct rx_summary all;
    rx_summary(rx, &all);
    double range = ypi_rx_extent((double)all.min, (double)all.max);
    return eps * range * range;
}

/* The factor, what whitens by it, and v of rx_score_error(). rx->location is scratch. */
static enum yp_status factor_on_host(struct rx *rx, const struct ypi_rx_factoring *job,
                                     double *inflation)
{
    size_t channels = rx->channels;
    for (size_t i = 0; i < channels * channels; i++)
        rx->factor[i] = rx->all.m2[i] / (double)(rx->all.pixels - 1);
    enum yp_status status = ypi_rx_factor(job, rx->factor, rx->location);
    if (status != YP_OK)
        return status;
    double *column = rx->scratch[0].sum, *offset = rx->scratch[0].rest,
           *rest = rx->scratch[0].difference;
    memset(offset, 0, channels * sizeof *offset);
    for (size_t k = 0; k < channels; k++)
        rest[k] = rx->all.mean[k] - (double)(float)rx->all.mean[k];
    ypi_rx_whiten(rx->factor, channels, rest, rx->whiten, column, offset);
    *inflation = ypi_rx_inflation(rx->whiten, rx->location, channels, job->alive);
    for (size_t i = 0; i < channels; i++)
        rx->offset[i] = (float)offset[i];
    return YP_OK;
}

/* The same on the device: here it is the factor alone, for those who ask. */
static enum yp_status factor_on_device(struct rx *rx, const struct ypi_rx_factoring *job,
                                       double *inflation)
{
    struct rxc_factor *how = &rx->on->factor;
    unsigned failed = 0;
    how->mask = job->dead != NULL;
    how->count = (double)(rx->all.pixels - 1);
    how->ridge = job->ridge;
    how->keep = 1 - job->shrink;
    how->least = YPI_RX_MIN_PIVOT;
    enum yp_status status = ypi_rx_device_factor(rx, &failed, rx->location);
    if (status == YP_OK && failed != 0) {
        size_t channel = failed - 1;
        return refuse(job, channel, rx->all.m2[channel * rx->channels + channel] / how->count);
    }
    *inflation = 0;
    for (size_t c = 0; c < rx->channels && status == YP_OK; c++)
        *inflation += rx->all.m2[c * rx->channels + c] / how->count * rx->location[c];
    *inflation /= (double)job->alive;
    return status;
}

enum yp_status rx_finish_with(struct rx *rx, const struct rx_finish_options *options)
{
    if (rx == NULL || options == NULL)
        return yp_set_error(YP_INVALID, "rx_finish: %s is NULL", rx == NULL ? "rx" : "options");
    rx->finished = false;
    enum yp_status status = ypi_rx_check_finish("rx_finish", rx, options);
    if (status != YP_OK)
        return status;
    uint8_t *dead = (uint8_t *)rx->offset; /* until it is filled */
    size_t alive = rx->channels - ypi_rx_dead(rx, dead);
    const struct ypi_rx_factoring job = {.what = "rx_finish",
                                         .channels = rx->channels,
                                         .eps = options->eps,
                                         .ridge = ridge_of(rx, options->eps),
                                         .shrink = options->shrink,
                                         .dead = options->mask_dead ? dead : NULL,
                                         .alive = alive > 0 ? alive : 1,
                                         .max_error = options->max_error};
    double v = 0;
    status = rx->on != NULL ? factor_on_device(rx, &job, &v) : factor_on_host(rx, &job, &v);
    rx->score_error = hypot(ypi_rx_score_error(rx, v), ypi_rx_product_error(v, job.alive));
    if (status == YP_OK)
        status = ypi_rx_check_error(&job, rx, rx->score_error);
    for (size_t k = 0; k < rx->channels && status == YP_OK; k++) {
        rx->location[k] = rx->all.mean[k];
        rx->centre[k] = (float)rx->all.mean[k];
    }
    rx->finished = status == YP_OK;
    return status;
}

enum yp_status rx_finish(struct rx *rx, double eps)
{
    return rx_finish_with(rx, &(struct rx_finish_options){.eps = eps});
}

size_t rx_masked(const struct rx *rx, uint8_t *mask)
{
    size_t masked = 0;
    for (size_t c = 0; c < rx->channels; c++) {
        bool out = rx->finished && isinf(rx->factor[c * rx->channels + c]);
        masked += out;
        if (mask != NULL)
            mask[c] = out;
    }
    return masked;
}

enum yp_status rx_loss_start(const struct rx *rx, float scale, float bias, float *parameters)
{
    if (rx == NULL || parameters == NULL)
        return yp_set_error(YP_INVALID, "rx_loss_start: %s is NULL",
                            rx == NULL ? "rx" : "parameters");
    if (!rx->finished)
        return yp_set_error(YP_INVALID, "rx_loss_start: rx has no factor; call rx_finish");
    size_t channels = rx->channels;
    double *inverse = yp_device_alloc(rx->device, channels * channels * sizeof *inverse);
    if (inverse == NULL)
        return YP_OUT_OF_MEMORY;
    memcpy(inverse, rx->factor, channels * channels * sizeof *inverse);
    ypi_rx_inverse(inverse, channels);

    float *a = parameters + channels;
    for (size_t i = 0; i < channels; i++) {
        parameters[i] = rx->centre[i];
        for (size_t j = 0; j < channels; j++)
            a[i * channels + j] = (float)inverse[i * channels + j];
    }
    a[channels * channels] = scale;
    a[channels * channels + 1] = bias;
    yp_device_free(rx->device, inverse);
    return YP_OK;
}
