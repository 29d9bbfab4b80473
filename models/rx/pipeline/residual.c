/* What PCA's components leave of a pixel, beside RX of the components: in the words of nodes.h,
 * r = c - W^T y, y = W c, and weight |r|^2. */
#include "models/rx/pipeline/internal.h"

#include <cblas.h>
#include <string.h>

void ypi_rx_residual_split(const struct rx_pipeline *p, struct ypi_rx_lane *lane, size_t rows)
{
    size_t channels = p->options.channels, width = p->options.components;
    int n = (int)rows, c = (int)channels, k = (int)width;
    const float *w = p->parameters + p->places.w;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, n, k, c, 1, lane->rows, c, w, c, 0,
                lane->along, k);
    memcpy(lane->left, lane->rows, rows * channels * sizeof *lane->left);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, c, k, -1, lane->along, k, w, c, 1,
                lane->left, c);
    p->kernels->dots(lane->left, lane->left, rows, channels, lane->energy);
    for (size_t i = 0; i < width; i++) {
        float factor = (float)ypi_rx_whitening_of(p, p->parameters, i);
        for (size_t r = 0; r < rows; r++)
            lane->low[r * width + i] = factor * lane->along[r * width + i];
    }
}

void ypi_rx_residual_add(const struct rx_pipeline *p, struct ypi_rx_lane *lane, size_t rows)
{
    float weight = p->parameters[p->places.residual];
    for (size_t r = 0; r < rows; r++)
        lane->scores[r] += weight * lane->energy[r];
}

/* With t = W r, which is 0 while the rows of W are orthonormal:
 *     dweight = sum g |r|^2,  dW = -2 weight sum g (y r^T + t c^T),
 *     dc = 2 weight g (r - W^T t),  H = sum dc = -dmean,  Q_c = sum dc_c c_c + mean_c H_c. */
void ypi_rx_residual_backward(const struct rx_pipeline *p, struct ypi_rx_lane *lane, size_t rows)
{
    size_t channels = p->options.channels, width = p->options.components;
    int n = (int)rows, c = (int)channels, k = (int)width;
    const float *w = p->parameters + p->places.w;
    float *across = lane->low, *sum = lane->matrices + p->at.residual; /* t, and dW */
    float pull = 2 * p->parameters[p->places.residual];
    for (size_t r = 0; r < rows; r++)
        lane->sums[p->at.energy] += (double)lane->g[r] * (double)lane->energy[r];
    p->kernels->weigh(lane->left, lane->g, pull, rows, channels, lane->left);
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, k, c, n, -1, lane->along, k, lane->left, c,
                1, sum, c);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, n, k, c, 1, lane->left, c, w, c, 0, across,
                k);
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, k, c, n, -1, across, k, lane->rows, c, 1,
                sum, c);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, c, k, -1, across, k, w, c, 1,
                lane->left, c);
    p->kernels->columns(lane->left, lane->rows, rows, channels, lane->sums + p->at.left,
                        lane->sums + p->at.left + channels);
}

void ypi_rx_residual_gradient(const struct rx_pipeline *p, double n, float *gradient)
{
    size_t channels = p->options.channels, count = p->options.components * channels;
    const double *left = p->sums + p->at.left, *dw = p->matrices + p->at.residual;
    gradient[p->places.residual] = (float)(p->sums[p->at.energy] / n);
    for (size_t i = 0; i < count; i++)
        gradient[p->places.w + i] = (float)((double)gradient[p->places.w + i] + dw[i] / n);
    for (size_t c = 0; c < channels; c++) {
        p->h[c] += left[c];
        p->q[c] += left[channels + c] + (double)p->parameters[p->places.mean + c] * left[c];
        gradient[p->places.mean + c] = (float)(-p->h[c] / n);
    }
}

enum yp_status ypi_rx_residual_start(const struct rx_pipeline *p, const char *what, double *weight)
{
    const struct rx_pipeline_options *o = &p->options;
    size_t channels = o->channels, width = o->components, living = 0;
    double left = 0, first = p->column[0];
    for (size_t c = 0; c < channels; c++) {
        left += p->square[c * channels + c];
        living += p->dead[c] == 0;
    }
    for (size_t k = 0; k < width; k++)
        left -= p->column[k];
    double variance = living > width ? left / (double)(living - width) : 0;
    double unit = o->whiten ? variance + YPI_RX_WHITEN_EPS : 1;
    double unit_first = o->whiten ? first + YPI_RX_WHITEN_EPS : 1, all = variance + o->eps * unit;
    if (!(all > 0 && all >= YPI_RX_MIN_EIGENVALUE * (first + o->eps * unit_first)))
        return yp_set_error(YP_INVALID,
                            "%s: %zu components of %zu channels that are not dead leave a variance "
                            "of %g beside %g of the first, which statistics of float data cannot "
                            "tell from 0; use fewer components or a larger eps, or no residual",
                            what, width, living, variance, first);
    *weight = 1 / all;
    return YP_OK;
}
