/* The Laplacian of LAD. */
#include "models/rx/pipeline/internal.h"

#include <math.h>

/* Weight of the edge between two channels. */
static double edge(const double *mean, double middle, size_t i, size_t j)
{
    double difference = (mean[i] - mean[j]) / middle;
    return i == j ? 0 : 1 / (1 + difference * difference);
}

static double degree(const double *mean, double middle, size_t channels, size_t i)
{
    double sum = 0;
    for (size_t j = 0; j < channels; j++)
        sum += edge(mean, middle, i, j);
    return sum;
}

enum yp_status rx_lad_laplacian(const double *mean, size_t channels, double *laplacian)
{
    if (mean == NULL || laplacian == NULL)
        return yp_set_error(YP_INVALID, "rx_lad_laplacian: %s is NULL",
                            mean == NULL ? "mean" : "laplacian");
    double middle = 0;
    for (size_t c = 0; c < channels; c++)
        middle += mean[c] / (double)channels;
    if (middle == 0 || !isfinite(middle))
        return yp_set_error(
            YP_INVALID,
            "rx_lad_laplacian: the mean spectrum has mean %g, LAD compares channels "
            "relative to it and needs another than 0",
            middle);
    for (size_t i = 0; i < channels; i++) /* degrees on the diagonal, until all edges are there */
        laplacian[i * channels + i] = degree(mean, middle, channels, i);
    for (size_t i = 0; i < channels; i++)
        for (size_t j = 0; j < i; j++) {
            double both = sqrt(laplacian[i * channels + i] * laplacian[j * channels + j]);
            double weight = both > 0 ? edge(mean, middle, i, j) / both : 0;
            laplacian[i * channels + j] = laplacian[j * channels + i] = -weight;
        }
    for (size_t i = 0; i < channels; i++)
        laplacian[i * channels + i] = laplacian[i * channels + i] > 0;
    return YP_OK;
}
