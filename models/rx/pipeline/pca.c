/* Eigenvalues: principal components in double, and the float32 pseudo-inverse. */
#include "models/rx/pipeline/internal.h"

#include <assert.h>
#include <float.h>
#include <lapacke.h>
#include <math.h>
#include <omp.h>

static_assert(sizeof(lapack_int) == sizeof(int), "LAPACK's integers are counted as int");

size_t ypi_rx_pca_work(size_t channels)
{
    return 1 + 6 * channels + 2 * channels * channels;
}

size_t ypi_rx_pca_iwork(size_t channels)
{
    return 3 + 5 * channels;
}

/* Row k of w: the vector of the k-th largest eigenvalue, its largest element positive. LAPACK
 * leaves vectors as columns of a column-major matrix, smallest eigenvalue first. */
static void take_vector(const double *vectors, size_t channels, size_t k, double *w)
{
    const double *from = vectors + (channels - 1 - k) * channels;
    size_t largest = 0;
    for (size_t c = 1; c < channels; c++)
        if (fabs(from[c]) > fabs(from[largest]))
            largest = c;
    for (size_t c = 0; c < channels; c++)
        w[k * channels + c] = from[largest] < 0 ? -from[c] : from[c];
}

enum yp_status ypi_rx_pca(const char *what, double *covariance, size_t channels, size_t components,
                          double *w, double *eigenvalues, double *work, int *iwork)
{
    for (size_t i = 0; i < channels * channels; i++)
        if (!isfinite(covariance[i]))
            return yp_set_error(YP_INVALID, "%s: the covariance of channels %zu and %zu is %g",
                                what, i / channels, i % channels, covariance[i]);
    int threads = ypi_rx_alone();
    lapack_int n = (lapack_int)channels;
    lapack_int info = LAPACKE_dsyevd_work(LAPACK_COL_MAJOR, 'V', 'L', n, covariance, n, eigenvalues,
                                          work, (lapack_int)ypi_rx_pca_work(channels), iwork,
                                          (lapack_int)ypi_rx_pca_iwork(channels));
    omp_set_num_threads(threads);
    if (info != 0)
        return yp_set_error(YP_UNSUPPORTED, "%s: dsyevd did not converge (%d)", what, (int)info);
    for (size_t k = 0; k < components; k++)
        take_vector(covariance, channels, k, w);
    for (size_t k = 0; k < channels / 2; k++) { /* largest first */
        double swapped = eigenvalues[k];
        eigenvalues[k] = eigenvalues[channels - 1 - k];
        eigenvalues[channels - 1 - k] = swapped;
    }
    return YP_OK;
}

enum yp_status rx_pca(struct yp_device *device, double *covariance, size_t channels,
                      size_t components, double *w, double *eigenvalues)
{
    if (covariance == NULL || w == NULL || eigenvalues == NULL)
        return yp_set_error(YP_INVALID, "rx_pca: %s is NULL",
                            covariance == NULL ? "covariance"
                            : w == NULL        ? "w"
                                               : "eigenvalues");
    if (channels == 0 || channels > RX_MAX_CHANNELS || components > channels)
        return yp_set_error(YP_INVALID,
                            "rx_pca: %zu components of %zu channels, allowed are 0 to channels of "
                            "1 to %d",
                            components, channels, RX_MAX_CHANNELS);
    enum yp_status status = ypi_check_host("rx_pca", device);
    if (status != YP_OK)
        return status;
    struct ypi_arena arena = {0};
    for (int lay = 0; lay < 2; lay++) { /* count, then take */
        if (lay == 1 && (arena.base = yp_device_alloc(device, arena.used)) == NULL)
            return YP_OUT_OF_MEMORY;
        arena.used = 0;
        double *work = ypi_arena_take(&arena, ypi_rx_pca_work(channels), sizeof *work);
        double *all = ypi_arena_take(&arena, channels, sizeof *all);
        int *iwork = ypi_arena_take(&arena, ypi_rx_pca_iwork(channels), sizeof *iwork);
        if (lay == 0)
            continue;
        status = ypi_rx_pca("rx_pca", covariance, channels, components, w, all, work, iwork);
        for (size_t k = 0; k < components && status == YP_OK; k++)
            eigenvalues[k] = all[k];
    }
    yp_device_free(device, arena.base);
    return status;
}

enum yp_status ypi_rx_pinv(const char *what, double *matrix, size_t channels, double *a,
                           double *spare, double *work, int *iwork, size_t *dropped)
{

    float *m = (float *)(void *)spare, *values = (float *)(void *)a;
    lapack_int n = (lapack_int)channels;
    for (size_t i = 0; i < channels * channels; i++) {
        m[i] = (float)matrix[i];
        if (!isfinite(m[i]))
            return yp_set_error(YP_INVALID,
                                "%s: the covariance of channels %zu and %zu is %g, beyond float",
                                what, i / channels, i % channels, matrix[i]);
    }
    int threads = ypi_rx_alone();
    lapack_int info = LAPACKE_ssyevd_work(
        LAPACK_COL_MAJOR, 'V', 'L', n, m, n, values, (float *)(void *)work,
        (lapack_int)ypi_rx_pca_work(channels), iwork, (lapack_int)ypi_rx_pca_iwork(channels));
    omp_set_num_threads(threads);
    if (info != 0)
        return yp_set_error(YP_UNSUPPORTED, "%s: ssyevd did not converge (%d)", what, (int)info);
    float top = fmaxf(fabsf(values[0]), fabsf(values[channels - 1]));
    float cut = (float)channels * FLT_EPSILON * top;
    *dropped = 0;
    float *inverse = (float *)(void *)matrix; /* (C): 1 / eigenvalue, or 0 */
    for (size_t k = 0; k < channels; k++) {
        bool kept = fabsf(values[k]) > cut;
        inverse[k] = kept ? 1 / values[k] : 0;
        *dropped += !kept;
    }
    for (size_t i = 0; i < channels; i++)
        for (size_t j = 0; j < channels; j++) {
            double sum = 0;
            for (size_t k = 0; k < channels; k++)
                sum +=
                    (double)m[k * channels + i] * (double)inverse[k] * (double)m[k * channels + j];
            a[i * channels + j] = sum;
        }
    return YP_OK;
}
