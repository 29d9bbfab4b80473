/* Operands of products of matrices in 16 bits, and how far off that makes scores. */
#include "models/nn/convert.h"
#include "models/rx/pipeline/internal.h"

#include <cblas.h>
#include <math.h>
#include <omp.h>

/* As error.c has them. */
#define ROUNDING 0.42
#define NINETY_NINE 3.0

const char *ypi_rx_operands_name(enum rx_operands precision)
{
    return precision == RX_OPERANDS_FP32 ? "fp32" : precision == RX_OPERANDS_BF16 ? "bf16" : "fp16";
}

/* -- operands ------------------------------------------------------------------------------- */

const float *ypi_rx_operand(const struct rx_pipeline *p, const float *values, size_t count,
                            float *room)
{
    if (!ypi_rx_mixed(&p->options))
        return values;
    (p->options.precision == RX_OPERANDS_BF16 ? nn_round_bf16 : nn_round_fp16)(values, count, room);
    return room;
}

/* Of parameters that there are, or of what was made of them, `values`; to p->rounded. */
static const float *take(const struct rx_pipeline *p, const float *values, size_t place,
                         size_t count)
{
    if (place == YPI_RX_NOWHERE)
        return NULL;
    return ypi_rx_operand(p, values != NULL ? values : p->parameters + place, count,
                          ypi_rx_mixed(&p->options) ? p->rounded + place : NULL);
}

void ypi_rx_take_operands(struct rx_pipeline *p)
{
    const struct rx_pipeline_options *o = &p->options;
    const struct ypi_rx_places *at = &p->places;
    size_t c = o->channels, d = ypi_rx_width(o), h = o->hidden;
    p->taken.map = take(p, p->map, at->w, o->components * c);
    p->taken.a = take(p, NULL, at->a, d * d);
    p->taken.symmetric = p->symmetric != NULL ? take(p, p->symmetric, at->count, d * d) : NULL;
    p->taken.w1 = take(p, NULL, at->w1, h * c);
    p->taken.w2 = take(p, NULL, at->w2, c * h);
}

/* -- errors --------------------------------------------------------------------------------- */

/* Half a unit of the last place of 1. */
static double unit(enum rx_operands precision)
{
    return precision == RX_OPERANDS_FP32 ? 0 : precision == RX_OPERANDS_BF16 ? 0x1p-9 : 0x1p-12;
}

/* Scores are z^T A z with A, by d, and on one side z rounded. With z normal, of covariance Sigma,
 * E (z^T d z)^2 = (tr d Sigma)^2 + 2 tr (d Sigma)^2 and E z_i^2 (A z)_i^2 is up to A_ii Sigma_ii
 * + 2. */
double ypi_rx_operands_error(const struct rx_pipeline *p, const double *inverse,
                             const double *covariance, size_t n, double score)
{
    double v = 0, trace = 0, squares = 0, *product = p->other;
    double *change = (double *)(void *)p->rounded; /* which holds 2 D^2 floats and more */
    for (size_t i = 0; i < n * n; i++) {
        float value = (float)inverse[i], rounded = value;
        change[i] = (double)*ypi_rx_operand(p, &value, 1, &rounded) - (double)value;
        v += i % (n + 1) == 0 ? inverse[i] * covariance[i] + 2 : 0;
    }
    int d = (int)n, threads = ypi_rx_alone();
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, d, d, d, 1, change, d, covariance, d, 0,
                product, d);
    omp_set_num_threads(threads);
    for (size_t i = 0; i < n; i++) {
        trace += product[i * n + i];
        for (size_t j = 0; j < n; j++)
            squares += product[i * n + j] * product[j * n + i];
    }
    double of_a = sqrt(trace * trace + 2 * squares);
    double of_z = ROUNDING * unit(p->options.precision) * sqrt(v);
    double error = NINETY_NINE * hypot(of_z, of_a) / score;
    return isnan(error) ? INFINITY : error;
}

/* Both operands of y = B x are rounded; a score is y^T y. Many scores are far below their mean, and
 * relative errors are then twice as large, as measured (suites/stress/rx_mixed.c). */
double ypi_rx_map_error(enum rx_operands precision, double v, double score)
{
    return NINETY_NINE * 4 * M_SQRT2 * ROUNDING * unit(precision) * sqrt(v) / score;
}
