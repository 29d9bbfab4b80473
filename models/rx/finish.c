/* From statistics to a factor: Cholesky in double, whitening in float. */
#include "internal.h"

#include <lapacke.h>
#include <math.h>
#include <omp.h>
#include <string.h>

/* What rounding leaves of a variance that other channels explain wholly: entries of the covariance
 * are right to 2^-22 or so, and a pivot collects a few of them. A condition of 1e6 stays above. */
#define LEAST_PIVOT 0x1p-20

/* The factor's bits must not hang on the number of threads, nor may small matrices pay for a
 * team: LAPACK's calls run in the calling thread. */
static int alone(void)
{
    int threads = omp_get_max_threads();
    omp_set_num_threads(1);
    return threads;
}

/* Why there can be no factor, known from the data alone. */
static enum yp_status check_data(const struct rx *rx, double eps)
{
    if (!(eps >= 0) || isinf(eps))
        return yp_set_error(YP_INVALID, "rx_finish: eps is %g, allowed is 0 or more", eps);
    if (rx->failed)
        return yp_set_error(YP_INVALID, "rx_finish: a rx_fit before it failed part of the way; "
                                        "call rx_reset and fit again");
    if (rx->pixels < 2)
        return yp_set_error(YP_INVALID,
                            "rx_finish: %zu finite pixels (%zu skipped), it takes 2 at least",
                            (size_t)rx->pixels, (size_t)rx->skipped);
    for (size_t c = 0; c < rx->channels; c++) {
        if (!isfinite(rx->m2[c * rx->channels + c]))
            return yp_set_error(YP_INVALID,
                                "rx_finish: channel %zu has values from %g to %g, whose variance "
                                "overflows float",
                                c, (double)rx->low[c], (double)rx->high[c]);
        if (eps == 0 && rx->low[c] == rx->high[c])
            return yp_set_error(YP_INVALID,
                                "rx_finish: channel %zu is dead, all its %zu values are %g; leave "
                                "it out or use eps > 0",
                                c, (size_t)rx->pixels, (double)rx->low[c]);
    }
    if (eps == 0 && rx->pixels <= rx->channels)
        return yp_set_error(YP_INVALID,
                            "rx_finish: %zu finite pixels cannot give a covariance of %zu channels "
                            "full rank; use more of them or eps > 0",
                            (size_t)rx->pixels, rx->channels);
    return YP_OK;
}

static enum yp_status refuse(const struct rx *rx, size_t channel, double eps)
{
    double variance = rx->m2[channel * rx->channels + channel] / (double)(rx->pixels - 1);
    return yp_set_error(YP_INVALID,
                        "rx_finish: the covariance of %zu pixels with eps %g is not positive "
                        "definite at channel %zu (variance %g): the channels before it explain it; "
                        "leave it out or use a larger eps",
                        (size_t)rx->pixels, eps, channel, variance);
}

/* L L^T = M2 / (n - 1) + ridge I. A row-major upper triangle is LAPACK's lower one. */
static enum yp_status factor(struct rx *rx, double eps)
{
    size_t channels = rx->channels;
    struct rx_summary all;
    rx_summary(rx, &all);
    double range = fmax((double)all.max - (double)all.min, 1e-6), ridge = eps * range * range;
    for (size_t i = 0; i < channels * channels; i++)
        rx->factor[i] = rx->m2[i] / (double)(rx->pixels - 1);
    for (size_t c = 0; c < channels; c++)
        rx->factor[c * channels + c] += ridge;

    int threads = alone();
    lapack_int info = LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', (lapack_int)channels, rx->factor,
                                          (lapack_int)channels);
    omp_set_num_threads(threads);
    if (info < 0)
        return yp_set_error(YP_UNSUPPORTED, "rx_finish: dpotrf refused its argument %d",
                            -(int)info);
    if (info > 0)
        return refuse(rx, (size_t)info - 1, eps);
    for (size_t c = 0; c < channels; c++) {
        double pivot = rx->factor[c * channels + c];
        double variance = rx->m2[c * channels + c] / (double)(rx->pixels - 1) + ridge;
        if (!(pivot * pivot >= LEAST_PIVOT * variance))
            return refuse(rx, c, eps);
    }
    return YP_OK;
}

/* column (C, from `first` on) = L^-1 e_first */
static void invert_column(const struct rx *rx, size_t first, double *column)
{
    size_t channels = rx->channels;
    memset(column, 0, channels * sizeof *column);
    column[first] = 1;
    for (size_t j = first; j < channels; j++) {
        const double *below = rx->factor + j * channels;
        column[j] /= below[j];
        for (size_t i = j + 1; i < channels; i++)
            column[i] -= below[i] * column[j];
    }
}

enum yp_status rx_finish(struct rx *rx, double eps)
{
    if (rx == NULL)
        return yp_set_error(YP_INVALID, "rx_finish: rx is NULL");
    rx->finished = false;
    enum yp_status status = check_data(rx, eps);
    if (status == YP_OK)
        status = factor(rx, eps);
    if (status != YP_OK)
        return status;

    size_t channels = rx->channels;
    double *column = rx->slots[0].mean, *offset = rx->slots[0].rest;
    memset(offset, 0, channels * sizeof *offset);
    for (size_t k = 0; k < channels; k++) {
        rx->location[k] = rx->mean[k];
        rx->centre[k] = (float)rx->mean[k];
        invert_column(rx, k, column);
        for (size_t i = 0; i < channels; i++) {
            rx->whiten[k * channels + i] = (float)column[i];
            offset[i] += column[i] * (rx->location[k] - (double)rx->centre[k]);
        }
    }
    for (size_t i = 0; i < channels; i++)
        rx->offset[i] = (float)offset[i];
    rx->finished = true;
    return YP_OK;
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
    int threads = alone();
    LAPACKE_dpotri_work(LAPACK_COL_MAJOR, 'L', (lapack_int)channels, inverse, (lapack_int)channels);
    omp_set_num_threads(threads);

    float *a = parameters + channels;
    for (size_t i = 0; i < channels; i++) {
        parameters[i] = rx->centre[i];
        for (size_t j = i; j < channels; j++)
            a[i * channels + j] = a[j * channels + i] = (float)inverse[i * channels + j];
    }
    a[channels * channels] = scale;
    a[channels * channels + 1] = bias;
    yp_device_free(rx->device, inverse);
    return YP_OK;
}
