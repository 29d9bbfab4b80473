/* From sums over pixels to the gradient of the mean loss, in double.
 *
 * With v what MinMax and selector leave of a pixel and dv its cotangent, everything before v needs
 * but two sums a channel: H_c = sum dv_c and Q_c = sum dv_c v_c. For RX and LAD, z = v - mu and
 * dv = 2 g M z with M = (A + A^T) / 2, which the scores z M z need anyway, so
 *     H = sum dv = -dmu,   Q_c = sum dv_c z_c + mu_c H_c.
 * (From sum g z and sum g z z^T alone they follow too, but M is ill-conditioned: errors of those
 * sums come back many times larger.) Behind PCA, with dz = 2 g M z,
 *     dW = sum dz (v - mean)^T,  H = W^T sum dz = -dmean,  Q_c = sum_k W_kc dW_kc + mean_c H_c.
 * Whitened, all of that holds for W' = F W with F_k = 1 / sqrt(variance_k + eps), and
 *     dW_kc = F_k dW'_kc,  dln variance_k = -1/2 variance_k F_k^2 sum_c W'_kc dW'_kc.
 * Autoencoder, dv = W1^T dh - d:  H = W1^T db1 - db2,  Q_c = sum_h W1_hc dW1_hc - sum d_c v_c.
 * RX by image: H = 0 and Q is summed image by image.
 * In 16 bits W' and W1 of H and Q are those that products took, so that what cancels does. */
#include "models/rx/pipeline/internal.h"

static double dot(const double *a, const double *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* dmu, dA; H and Q where there is no PCA in between. */
static void write_quadratic(const struct rx_pipeline *p, double n, float *gradient)
{
    size_t d = ypi_rx_width(&p->options);
    const double *gram = p->matrices + p->at.gram, *moment = p->sums + p->at.moment;
    for (size_t i = 0; i < d; i++)
        gradient[p->places.mu + i] = (float)(-moment[i] / n);
    for (size_t i = 0; i < d; i++) /* symmetric but for rounding; so A stays symmetric, too */
        for (size_t j = 0; j < d; j++)
            gradient[p->places.a + i * d + j] =
                (float)(0.5 * (gram[i * d + j] + gram[j * d + i]) / n);
    for (size_t i = 0; i < d && p->options.components == 0; i++) {
        p->h[i] = moment[i];
        p->q[i] = p->sums[p->at.dots + i] + (double)p->parameters[p->places.mu + i] * moment[i];
    }
}

/* dmean, dW and the penalty's. */
static void write_pca(const struct rx_pipeline *p, double n, float *gradient)
{
    size_t c = p->options.channels, d = p->options.components;
    const float *w = p->parameters + p->places.w, *map = p->map;
    const double *dw = p->matrices + p->at.cross, *moment = p->sums + p->at.moment;
    for (size_t i = 0; i < d && p->options.whiten; i++) {
        double factor = ypi_rx_whitening_of(p, p->parameters, i), sum = 0;
        for (size_t j = 0; j < c; j++)
            sum += (double)map[i * c + j] * dw[i * c + j];
        double variance = exp((double)p->parameters[p->places.log_variance + i]);
        gradient[p->places.log_variance + i] = (float)(-0.5 * variance * factor * factor * sum / n);
    }
    for (size_t j = 0; j < c; j++) {
        p->h[j] = p->q[j] = 0;
        for (size_t i = 0; i < d; i++) {
            p->h[j] += (double)p->taken.map[i * c + j] * moment[i];
            p->q[j] += (double)p->taken.map[i * c + j] * dw[i * c + j];
        }
        p->q[j] += (double)p->parameters[p->places.mean + j] * p->h[j];
        gradient[p->places.mean + j] = (float)(-p->h[j] / n);
    }
    ypi_rx_excess(p);
    double weight = 4 * p->options.orthogonality;
    for (size_t i = 0; i < d; i++) {
        double factor = ypi_rx_whitening_of(p, p->parameters, i);
        for (size_t j = 0; j < c; j++) {
            double sum = 0;
            for (size_t l = 0; l < d && weight > 0; l++)
                sum += p->square[i * d + l] * (double)w[l * c + j];
            gradient[p->places.w + i * c + j] = (float)(factor * dw[i * c + j] / n + weight * sum);
        }
    }
}

void ypi_rx_excess(const struct rx_pipeline *p)
{
    size_t c = p->options.channels, d = p->options.components;
    const float *w = p->parameters + p->places.w;
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = i == j ? -1 : 0;
            for (size_t l = 0; l < c; l++)
                sum += (double)w[i * c + l] * (double)w[j * c + l];
            p->square[i * d + j] = p->square[j * d + i] = sum;
        }
}

double ypi_rx_penalty(const struct rx_pipeline *p)
{
    size_t d = p->options.components;
    if (d == 0 || p->options.orthogonality == 0)
        return 0;
    ypi_rx_excess(p);
    return p->options.orthogonality * dot(p->square, p->square, d * d);
}

static void write_autoencoder(const struct rx_pipeline *p, double n, float *gradient)
{
    size_t c = p->options.channels, h = p->options.hidden;
    const double *dw1 = p->matrices + p->at.w1, *dw2 = p->matrices + p->at.w2;
    const double *db1 = p->sums + p->at.b1, *db2 = p->sums + p->at.b2;
    const float *w1 = p->taken.w1;
    for (size_t i = 0; i < h * c; i++) {
        gradient[p->places.w1 + i] = (float)(dw1[i] / n);
        gradient[p->places.w2 + i] = (float)(dw2[i] / n);
    }
    for (size_t i = 0; i < h; i++)
        gradient[p->places.b1 + i] = (float)(db1[i] / n);
    for (size_t j = 0; j < c; j++) {
        gradient[p->places.b2 + j] = (float)(db2[j] / n);
        p->h[j] = -db2[j];
        p->q[j] = -p->sums[p->at.dots + j];
        for (size_t i = 0; i < h; i++) {
            p->h[j] += (double)w1[i * c + j] * db1[i];
            p->q[j] += (double)w1[i * c + j] * dw1[i * c + j];
        }
    }
}

static void write_image(const struct rx_pipeline *p)
{
    for (size_t c = 0; c < p->options.channels; c++) {
        p->h[c] = 0;
        p->q[c] = p->sums[p->at.dots + c];
    }
}

/* Logits and temperature, min and max, from H and Q. */
static void write_front(const struct rx_pipeline *p, double n, float *gradient)
{
    const struct ypi_rx_places *at = &p->places;
    size_t channels = p->options.channels;
    double q = 0, h = 0, heat = 0, t = ypi_rx_temperature(&p->options, at, p->parameters);
    for (size_t c = 0; c < channels; c++) {
        q += p->q[c];
        h += p->weights[c] * p->h[c];
    }
    ypi_rx_selector_pull(p, p->column);
    for (size_t c = 0; c < channels && p->options.select; c++) {
        double d = ((p->q[c] - p->shares[c] * q) / n + p->column[c]) / t;
        gradient[at->logits + c] = (float)d;
        heat -= d * (double)p->parameters[at->logits + c] / t;
    }
    if (at->temperature != YPI_RX_NOWHERE)
        gradient[at->temperature] = (float)heat;
    if (ypi_rx_has_range(&p->options)) {
        gradient[at->min] = (float)(((p->moves ? q : 0) - h) / p->range / n);
        gradient[at->max] = (float)((p->moves ? -q : 0) / p->range / n);
    }
}

void ypi_rx_write_gradient(const struct rx_pipeline *p, float *gradient)
{
    double kept = (double)p->kept, n = kept * p->pull; /* sums of cotangents are so much more */
    switch (p->options.detector) {
    case RX_AUTOENCODER:
        write_autoencoder(p, n, gradient);
        break;
    case RX_IMAGE:
        write_image(p);
        break;
    default:
        write_quadratic(p, n, gradient);
        if (p->options.components > 0)
            write_pca(p, n, gradient);
        if (p->options.residual)
            ypi_rx_residual_gradient(p, n, gradient);
    }
    write_front(p, n, gradient);
    if (ypi_rx_trains(&p->options)) {
        double scale = (double)p->parameters[p->places.scale];
        gradient[p->places.scale] = (float)(p->sums[p->at.d_away] / kept);
        gradient[p->places.bias] = (float)(-scale * p->sums[p->at.d] / kept);
    }
}
