#include "suites/stress/formulas/mixed.h"

#include <math.h>
#include <string.h>

enum { MOST = MIXED_CHANNELS };

float mixed_round(float value, enum rx_operands precision)
{
    if (precision == RX_OPERANDS_FP32 || value == 0 || !isfinite(value))
        return value;
    bool fp16 = precision == RX_OPERANDS_FP16;
    int exponent = 0;
    (void)frexp((double)value, &exponent);
    double unit = fmax(ldexp(1, exponent - (fp16 ? 11 : 8)), fp16 ? 0x1p-24 : 0x1p-133);
    double rounded = nearbyint((double)value / unit) * unit;
    return fabs(rounded) > (fp16 ? 65504 : 0x1.fep127) ? copysignf(INFINITY, value)
                                                       : (float)rounded;
}

/* Sums over pixels have `pull` as a factor, those of the logit not. */
struct plain {
    const struct rx_pipeline_options *o;
    enum rx_operands type;
    size_t c, d, h; /* channels, what the detector sees, hidden */
    const float *min, *max, *logits, *mean, *w, *log_variance, *mu, *a, *w1, *b1, *w2, *b2, *scale,
        *bias;
    float *g_min, *g_max, *g_logits, *g_mean, *g_w, *g_log_variance, *g_mu, *g_a, *g_w1, *g_b1,
        *g_w2, *g_b2, *g_scale, *g_bias;
    float pull, range, weight[MOST], share[MOST], map[MOST * MOST];
    float sum_dv[MOST], sum_dv_v[MOST], loss, d_away, d_logit;
    double inverse[MOST * MOST], whiten[MOST * MOST], gram[MOST * MOST], middle[MOST];
};

static float at(const struct plain *p, float value)
{
    return mixed_round(value, p->type);
}

static void find(const struct yp_tensor *tensors, size_t n, const char *name, const float *x,
                 float *gradient, const float **value, float **to)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(tensors[i].name, name) == 0) {
            *value = x + tensors[i].offset;
            *to = gradient + tensors[i].offset;
        }
}

static void bind(struct plain *p, const struct yp_tensor *tensors, size_t n, const float *x,
                 float *gradient)
{
    const struct {
        const char *name;
        const float **value;
        float **to;
    } all[] = {{"min", &p->min, &p->g_min},
               {"max", &p->max, &p->g_max},
               {"logits", &p->logits, &p->g_logits},
               {"mean", &p->mean, &p->g_mean},
               {"W", &p->w, &p->g_w},
               {"log_variance", &p->log_variance, &p->g_log_variance},
               {"mu", &p->mu, &p->g_mu},
               {"M", &p->mu, &p->g_mu},
               {"A", &p->a, &p->g_a},
               {"L", &p->a, &p->g_a},
               {"W1", &p->w1, &p->g_w1},
               {"b1", &p->b1, &p->g_b1},
               {"W2", &p->w2, &p->g_w2},
               {"b2", &p->b2, &p->g_b2},
               {"scale", &p->scale, &p->g_scale},
               {"bias", &p->bias, &p->g_bias}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        find(tensors, n, all[i].name, x, gradient, all[i].value, all[i].to);
}

/* -- before the detector ---------------------------------------------------------------------- */

static float whitening(const struct plain *p, size_t k)
{
    return p->o->whiten ? 1 / sqrtf(expf(p->log_variance[k]) + 1e-6F) : 1;
}

static void prepare(struct plain *p)
{
    float top = -INFINITY, sum = 0, t = p->o->temperature > 0 ? (float)p->o->temperature : 1;
    float k = p->o->keep > 0 ? (float)p->o->keep : (float)p->c;
    p->range = *p->max > *p->min ? *p->max - *p->min : 1e-6F;
    for (size_t c = 0; c < p->c && p->o->select; c++)
        top = fmaxf(top, p->logits[c] / t);
    for (size_t c = 0; c < p->c && p->o->select; c++)
        sum += p->share[c] = expf(p->logits[c] / t - top);
    for (size_t c = 0; c < p->c; c++) {
        p->share[c] /= sum;
        p->weight[c] = p->o->select ? k * p->share[c] : 1;
    }
    for (size_t i = 0; i < p->o->components * p->c; i++)
        p->map[i] = whitening(p, i / p->c) * p->w[i];
}

/* What MinMax and selector leave of a pixel; false: it is not finite. */
static bool front(const struct plain *p, const float *x, float *v)
{
    bool finite = true;
    for (size_t c = 0; c < p->c; c++) {
        v[c] = (x[c] - *p->min) / p->range * p->weight[c];
        finite = finite && isfinite(x[c]);
    }
    return finite;
}

static void write_front(struct plain *p, float n)
{
    float q = 0, h = 0, t = p->o->temperature > 0 ? (float)p->o->temperature : 1;
    for (size_t c = 0; c < p->c; c++) {
        q += p->sum_dv_v[c];
        h += p->weight[c] * p->sum_dv[c];
    }
    for (size_t c = 0; c < p->c && p->o->select; c++)
        p->g_logits[c] = (p->sum_dv_v[c] - p->share[c] * q) / t / n;
    *p->g_min = (q - h) / p->range / n;
    *p->g_max = -q / p->range / n;
}

/* -- detectors, a pixel at a time ------------------------------------------------------------- */

/* dloss/ds, with the pull. */
static float judge(struct plain *p, float s, bool target)
{
    float away = s - *p->bias, l = *p->scale * away;
    float weight =
        target ? 10 * (p->o->positive_weight > 0 ? (float)p->o->positive_weight : 1) : 10;
    float d = weight * (1 / (1 + expf(-l)) - (target ? 1 : 0));
    p->loss += weight * (fmaxf(l, 0) - (target ? l : 0) + log1pf(expf(-fabsf(l))));
    p->d_away += d * away;
    p->d_logit += d;
    return d * *p->scale * p->pull;
}

/* RX and LAD of z (D); dz. */
static void quadratic(struct plain *p, const float *z, bool target, float *dz)
{
    float s = 0;
    for (size_t j = 0; j < p->d; j++) {
        float y = 0;
        for (size_t i = 0; i < p->d; i++)
            y += at(p, z[i]) * at(p, p->a[i * p->d + j]);
        s += y * z[j];
    }
    float g = judge(p, s, target);
    for (size_t i = 0; i < p->d; i++) {
        float y = 0;
        for (size_t j = 0; j < p->d; j++) {
            y += at(p, z[j]) *
                 at(p, 0.5F * (p->a[i * p->d + j] + p->a[j * p->d + i])); /* of A and A^T */
            p->g_a[i * p->d + j] += at(p, g * z[i]) * at(p, z[j]);
        }
        dz[i] = 2 * g * y;
        p->g_mu[i] -= dz[i];
    }
}

/* v (C); dv. */
static void reduced(struct plain *p, const float *v, bool target, float *dv)
{
    float z[MOST] = {0}, dz[MOST] = {0};
    for (size_t k = 0; k < p->d; k++) {
        z[k] = -p->mu[k];
        for (size_t c = 0; c < p->c; c++)
            z[k] += at(p, p->map[k * p->c + c]) * at(p, v[c] - p->mean[c]);
    }
    quadratic(p, z, target, dz);
    for (size_t c = 0; c < p->c; c++) {
        dv[c] = 0;
        for (size_t k = 0; k < p->d; k++) {
            dv[c] += at(p, p->map[k * p->c + c]) * at(p, dz[k]);
            p->g_w[k * p->c + c] += at(p, dz[k]) * at(p, v[c] - p->mean[c]);
        }
        p->g_mean[c] -= dv[c];
    }
}

static void autoencoder(struct plain *p, const float *v, float *dv)
{
    float hidden[MOST] = {0}, d[MOST] = {0}, s = 0;
    for (size_t k = 0; k < p->h; k++) {
        hidden[k] = p->b1[k];
        for (size_t c = 0; c < p->c; c++)
            hidden[k] += at(p, v[c]) * at(p, p->w1[k * p->c + c]);
    }
    for (size_t c = 0; c < p->c; c++) {
        float o = p->b2[c] - v[c];
        for (size_t k = 0; k < p->h; k++)
            o += at(p, hidden[k]) * at(p, p->w2[c * p->h + k]);
        s += o * o;
        d[c] = 2 / (float)p->c * o * p->pull;
        dv[c] = -d[c];
        p->g_b2[c] += d[c];
    }
    p->loss += s / (float)p->c;
    for (size_t k = 0; k < p->h; k++) {
        float dh = 0;
        for (size_t c = 0; c < p->c; c++) {
            dh += at(p, d[c]) * at(p, p->w2[c * p->h + k]);
            p->g_w2[c * p->h + k] += at(p, d[c]) * at(p, hidden[k]);
        }
        p->g_b1[k] += dh;
        for (size_t c = 0; c < p->c; c++) {
            p->g_w1[k * p->c + c] += at(p, dh) * at(p, v[c]);
            dv[c] += at(p, p->w1[k * p->c + c]) * at(p, dh);
        }
    }
}

static void image_pixel(struct plain *p, const float *v, bool target)
{
    float z[MOST] = {0}, s = 0;
    for (size_t c = 0; c < p->c; c++)
        z[c] = (float)((double)v[c] - p->middle[c]);
    for (size_t k = 0; k < p->c; k++) {
        float y = 0;
        for (size_t c = 0; c <= k; c++)
            y += at(p, z[c]) * at(p, (float)p->whiten[k * p->c + c]);
        s += y * y;
    }
    float g = judge(p, s, target);
    for (size_t i = 0; i < p->c; i++)
        for (size_t j = i; j < p->c; j++)
            p->gram[j * p->c + i] = p->gram[i * p->c + j] +=
                (double)at(p, g * z[i]) * (double)at(p, z[j]);
}

/* -- RX by image: statistics in double --------------------------------------------------------- */

/* p->inverse and p->whiten, L^-1, of the positive definite matrix m, which is used up. */
static void invert(struct plain *p, double *m)
{
    size_t n = p->c;
    for (size_t j = 0; j < n; j++)
        for (size_t i = j; i < n; i++) { /* L in the lower triangle */
            double sum = m[i * n + j];
            for (size_t k = 0; k < j; k++)
                sum -= m[i * n + k] * m[j * n + k];
            m[i * n + j] = i == j ? sqrt(sum) : sum / m[j * n + j];
        }
    for (size_t c = 0; c < n; c++)
        for (size_t i = 0; i < n; i++) {
            double sum = i == c;
            for (size_t k = c; k < i; k++)
                sum -= m[i * n + k] * p->whiten[k * n + c];
            p->whiten[i * n + c] = i < c ? 0 : sum / m[i * n + i];
        }
    for (size_t i = 0; i < n * n; i++) {
        p->inverse[i] = 0;
        for (size_t k = 0; k < n; k++)
            p->inverse[i] += p->whiten[k * n + i / n] * p->whiten[k * n + i % n];
    }
}

static void learn(struct plain *p, const struct rx_tile *tile)
{
    double covariance[MOST * MOST] = {0}, n = 0;
    float v[MOST] = {0};
    for (int pass = 0; pass < 2; pass++) {
        n = 0;
        for (size_t i = 0; i < tile->pixels; i++) {
            if (!front(p, tile->values + i * p->c, v))
                continue;
            n++;
            for (size_t c = 0; c < p->c && pass == 0; c++)
                p->middle[c] += (double)v[c];
            for (size_t c = 0; c < p->c * p->c && pass == 1; c++)
                covariance[c] += ((double)v[c / p->c] - p->middle[c / p->c]) *
                                 ((double)v[c % p->c] - p->middle[c % p->c]);
        }
        for (size_t c = 0; c < p->c && pass == 0; c++)
            p->middle[c] /= n;
    }
    for (size_t c = 0; c < p->c * p->c; c++)
        covariance[c] = covariance[c] / (n - 1) + (c % (p->c + 1) == 0 ? p->o->eps : 0);
    invert(p, covariance);
}

/* 2 eps (A G A)_cc, which models/rx/pipeline/image.c derives. */
static void finish_image(struct plain *p)
{
    for (size_t c = 0; c < p->c; c++)
        for (size_t i = 0; i < p->c; i++)
            for (size_t j = 0; j < p->c; j++)
                p->sum_dv_v[c] += (float)(2 * p->o->eps * p->inverse[c * p->c + i] *
                                          p->gram[i * p->c + j] * p->inverse[j * p->c + c]);
}

/* -- the whole --------------------------------------------------------------------------------- */

static void pixel(struct plain *p, const float *v, bool target)
{
    float dv[MOST] = {0}, z[MOST] = {0};
    if (p->o->detector == RX_IMAGE) {
        image_pixel(p, v, target);
        return;
    }
    if (p->o->detector == RX_AUTOENCODER) {
        autoencoder(p, v, dv);
    } else if (p->o->components > 0) {
        reduced(p, v, target, dv);
    } else {
        for (size_t c = 0; c < p->c; c++)
            z[c] = v[c] - p->mu[c];
        quadratic(p, z, target, dv);
    }
    for (size_t c = 0; c < p->c; c++) {
        p->sum_dv[c] += dv[c];
        p->sum_dv_v[c] += dv[c] * v[c];
    }
}

/* dW' to dW and the variances'. */
static void finish_whitening(struct plain *p)
{
    for (size_t k = 0; k < p->o->components && p->o->whiten; k++) {
        float f = whitening(p, k), sum = 0;
        for (size_t c = 0; c < p->c; c++) {
            sum += p->map[k * p->c + c] * p->g_w[k * p->c + c];
            p->g_w[k * p->c + c] *= f;
        }
        p->g_log_variance[k] = -0.5F * expf(p->log_variance[k]) * f * f * sum;
    }
}

/* A and L stay symmetric where they are. */
static void finish_square(struct plain *p)
{
    for (size_t i = 0; i < p->d && p->a != NULL; i++)
        for (size_t j = 0; j < i; j++) {
            float *one = &p->g_a[i * p->d + j], *other = &p->g_a[j * p->d + i];
            *one = *other = 0.5F * (*one + *other);
        }
}

double mixed_plain(const struct rx_pipeline_options *options, const struct yp_tensor *tensors,
                   size_t n_tensors, const float *parameters, const struct rx_tile *tile,
                   double scale, float *gradient)
{
    size_t c = options->channels;
    int exponent = 0;
    (void)frexp((double)tile->pixels, &exponent);
    struct plain p = {.o = options,
                      .type = options->precision,
                      .c = c,
                      .d = options->components > 0 ? options->components : c,
                      .h = options->hidden > 0 ? options->hidden
                           : c < 5             ? c
                                               : 5,
                      .pull = (float)ldexp(scale, -exponent)};
    size_t count = tensors[n_tensors - 1].offset + tensors[n_tensors - 1].count;
    memset(gradient, 0, count * sizeof *gradient);
    bind(&p, tensors, n_tensors, parameters, gradient);
    prepare(&p);
    if (options->detector == RX_IMAGE)
        learn(&p, tile);
    float v[MOST] = {0}, kept = 0;
    for (size_t i = 0; i < tile->pixels; i++) {
        if (!front(&p, tile->values + i * c, v))
            continue;
        kept++;
        pixel(&p, v, tile->labels != NULL && tile->labels[i] != 0);
    }
    if (options->detector == RX_IMAGE)
        finish_image(&p);
    finish_whitening(&p);
    finish_square(&p);
    for (size_t i = 0; i < count; i++)
        gradient[i] /= kept * p.pull;
    write_front(&p, kept * p.pull);
    if (p.scale != NULL) {
        *p.g_scale = p.d_away / kept;
        *p.g_bias = -*p.scale * p.d_logit / kept;
    }
    return (double)(p.loss / kept);
}
