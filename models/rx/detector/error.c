/* How far off scores are: the estimate that rx.h states. */
#include "models/nn/simd/split.h"
#include "models/rx/device/detector.h"
#include "models/rx/pipeline/internal.h"

#include <math.h>
#include <string.h>

/* A rounding's size beside the result, root mean square, in units of the precision: uniform within
 * half a unit of the last place, the result uniform in its logarithm. */
#define ROUNDING 0.42
/* 99 % of the errors lie within so many times their root mean square: 2.6 if they were normal, and
 * they have longer tails, being squares of few quiet directions. */
#define NINETY_NINE 3.0
/* Of z^T A z in units of |R^-1| / n, R the correlations: roundings of A's entries and of products,
 * as measured on the scenes below. */
#define INVERSE (5 * 0x1p-24)
/* Of float scores of a well-conditioned covariance. */
#define LEAST 0x1p-20

static bool by_tiles(void)
{
    return strcmp(ypi_split_kernels()->name, "amx") == 0;
}

/* Errors of variances that have a sign, so that more pixels do not help. Two terms leave out the
 * square of what is beyond them. Three leave out nothing, but squares of bf16 end in the bits 00 or
 * 01 and are all rounded down by a float sum whose last bit is four times theirs, as after some
 * hundred pixels; AMX adds 32 pixels up first. As measured on scenes of 30 to 60 dB, 50 and 100
 * channels, 4,096 to 262,144 pixels: 0.6 to 1 and 0.65 to 1.25 of these. */
static double left_out(enum rx_precision precision)
{
    return precision == RX_BF16X2 ? 0x1p-17 : precision == RX_BF16X3 && !by_tiles() ? 0x1p-19 : 0;
}

/* Relative error of an entry of Sigma beside its channels' deviations: sums of `run` products, each
 * off by sum_k (k / run)^2 = run / 3 roundings of the whole, and pixels / run of them. AMX rounds
 * once for 32 products of each pair of terms, of which there are 3 or 6. On a GPU those sums are
 * summed in float again, over a block's range. */
static double entry_error(const struct rx *rx)
{
    double pixels = (double)rx->all.pixels, tile = (double)rx->tile_pixels;
    double all = fmin(pixels, tile), run = fmin(all, (double)YPI_RX_CHUNK), unit = 0x1p-24;
    double range = rx->on != NULL ? fmin(all, (double)rx->on->gram.range) : 0, roundings = run;
    if (rx->precision == RX_FP64) {
        run = roundings = all;
        unit = 0x1p-53;
    } else if (rx->precision != RX_FP32 && by_tiles()) {
        roundings = (rx->precision == RX_BF16X2 ? 3 : 6) * ceil(run / 32);
    }
    return ROUNDING * unit * sqrt((run * roundings + range * range / run) / (3 * pixels));
}

double ypi_rx_score_error(const struct rx *rx, double inflation)
{
    double of_sums = NINETY_NINE * M_SQRT2 * entry_error(rx) * inflation;
    double of_terms = left_out(rx->precision) * inflation;
    return sqrt(of_sums * of_sums + of_terms * of_terms);
}

double ypi_rx_product_error(double inflation, size_t alive)
{
    double of_products = NINETY_NINE * 0x1p-23 * sqrt(inflation / (double)alive);
    return sqrt(of_products * of_products + LEAST * LEAST);
}

double ypi_rx_inverse_error(const double *inverse, const double *variances, size_t n, size_t alive)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            sum += inverse[i * n + j] * inverse[i * n + j] * variances[i] * variances[j];
    return INVERSE * sqrt(sum) / (double)alive;
}

double ypi_rx_inflation(const float *whiten, const double *variances, size_t channels, size_t alive)
{
    double sum = 0;
    for (size_t k = 0; k < channels; k++) {
        double column = 0;
        for (size_t i = k; i < channels; i++)
            column += (double)whiten[k * channels + i] * (double)whiten[k * channels + i];
        sum += variances[k] * column;
    }
    return sum / (double)alive;
}

enum yp_status ypi_rx_check_error(const struct ypi_rx_factoring *job, const struct rx *rx,
                                  double error)
{
    double allowed = job->max_error > 0 ? job->max_error : RX_MAX_ERROR;
    if (error <= allowed && isfinite(error))
        return YP_OK;
    if (job->precision != RX_OPERANDS_FP32 && !isfinite(error))
        return yp_set_error(YP_INVALID,
                            "%s: with eps %g the inverse of the covariance has a value beyond what "
                            "%s holds; use PCA with whitening, bf16, fp32, or a larger eps",
                            job->what, job->eps, ypi_rx_operands_name(job->precision));
    if (job->precision != RX_OPERANDS_FP32)
        return yp_set_error(YP_INVALID,
                            "%s: with eps %g and operands in %s one score in a hundred would be "
                            "off by more than %.2g %%, allowed are %g %%; use PCA with whitening "
                            "or fewer components of it, fp32, a larger eps or shrink, or allow "
                            "more (max_error)",
                            job->what, job->eps, ypi_rx_operands_name(job->precision), 100 * error,
                            100 * allowed);
    return yp_set_error(YP_INVALID,
                        "%s: with eps %g and %zu pixels in %s one score in a hundred would be off "
                        "by more than %.2g %%, allowed are %g %%; use more pixels, %sa larger eps "
                        "or shrink, or allow more (max_error)",
                        job->what, job->eps, (size_t)rx->all.pixels,
                        rx->precision == RX_FP64     ? "double"
                        : rx->precision == RX_FP32   ? "float"
                        : rx->precision == RX_BF16X2 ? "bf16 in two terms"
                                                     : "bf16 in three terms",
                        100 * error, 100 * allowed,
                        rx->precision == RX_FP64 || rx->on != NULL ? "" : "RX_FP64, ");
}

double rx_score_error(const struct rx *rx)
{
    return rx->finished ? rx->score_error : 0;
}
