/* The covariance in every precision: how fast, and how far from sums of doubles. */
#include "suites/perf/rx_work.h"
#include "suites/plain_linear.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

/* Useful operations are those of the covariance, however many of the hardware a precision needs;
 * split ones are compared with the ceiling of float, which they replace. Double uses plain loops
 * and a quarter of the image. Errors are bounded by those of rx.h (relative, Frobenius norm; twice
 * that for three terms) and by 1e-6, with two terms 1e-5, for each element; in double by what
 * another order of sums may change. One thread, so that ratios of precisions do not contain
 * waiting. */
struct kind {
    const char *name;
    enum rx_precision precision;
    enum yp_ceiling arithmetic;
    size_t side;
    double error, largest;
};

static const struct kind kinds[] = {
    {"fp32", RX_FP32, YP_FP32, 128, 1e-6, 1e-6},
    {"bf16x2", RX_BF16X2, YP_FP32, 128, 1e-5, 1e-5},
    {"bf16x3", RX_BF16X3, YP_FP32, 128, 1e-6, 4e-6},
    {"fp64", RX_FP64, YP_FP64, 64, 1e-12, 1e-12},
};

static const struct kind *kind_of(struct yp_case *t)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(kinds[i].name, yp_string(t, "precision")) == 0)
            return &kinds[i];
    yp_fail(t, "there is no precision '%s': fp32, bf16x2, bf16x3, fp64", yp_string(t, "precision"));
}

/* The mean, (C); returns the number of pixels in it. */
static double mean_of(const struct kept_tiles *kept, double *mean)
{
    size_t channels = kept->source.channels;
    size_t pixels = kept->source.tiles * kept->source.tile_pixels, counted = 0;
    memset(mean, 0, channels * sizeof *mean);
    for (size_t p = 0; p < pixels; p++) {
        const float *pixel = kept->values + p * channels;
        if (!finite_pixel(pixel, channels))
            continue;
        counted++;
        for (size_t c = 0; c < channels; c++)
            mean[c] += (double)pixel[c];
    }
    for (size_t c = 0; c < channels; c++)
        mean[c] /= (double)counted;
    return (double)counted;
}

/* (C, C), its lower triangle: two passes in double, products by OpenBLAS. */
static double *right_covariance(struct yp_case *t, const struct kept_tiles *kept)
{
    size_t channels = kept->source.channels, pixels = kept->source.tile_pixels;
    double *mean = yp_alloc(t, channels * sizeof *mean);
    double *centred = yp_alloc(t, pixels * channels * sizeof *centred);
    double *sums = yp_alloc(t, channels * channels * sizeof *sums), counted = mean_of(kept, mean);
    memset(sums, 0, channels * channels * sizeof *sums);
    for (size_t i = 0; i < kept->source.tiles; i++) {
        for (size_t p = 0; p < pixels; p++) {
            const float *pixel = kept->values + (i * pixels + p) * channels;
            double *out = centred + p * channels;
            bool dead = !finite_pixel(pixel, channels);
            for (size_t c = 0; c < channels; c++)
                out[c] = dead ? 0 : (double)pixel[c] - mean[c];
        }
        cblas_dsyrk(CblasRowMajor, CblasLower, CblasTrans, (int)channels, (int)pixels,
                    1 / (counted - 1), centred, (int)channels, 1, sums, (int)channels);
    }
    return sums;
}

/* "error": of the matrix, in the Frobenius norm. "largest error": of an element, relative to the
 * deviations of its two channels. */
static void report_errors(struct yp_case *t, const struct rx *rx, const struct kept_tiles *kept,
                          const struct kind *kind)
{
    size_t channels = kept->source.channels;
    const double *right = right_covariance(t, kept);
    double *found = yp_alloc(t, channels * channels * sizeof *found);
    double off = 0, all = 0, largest = 0;
    yp_ok(t, rx_covariance(rx, found));
    for (size_t i = 0; i < channels; i++)
        for (size_t j = 0; j <= i; j++) {
            double is = right[i * channels + j], by = found[i * channels + j] - is;
            double times = i == j ? 1 : 2;
            off += times * by * by;
            all += times * is * is;
            largest =
                fmax(largest, fabs(by) / sqrt(right[i * channels + i] * right[j * channels + j]));
        }
    yp_value(t, "error", sqrt(off / all));
    yp_value(t, "largest error", largest);
    yp_value(t, "error over allowed", sqrt(off / all) / kind->error);
    yp_value(t, "largest error over allowed", largest / kind->largest);
}

/* Terms of bf16 have shares of 0.09 to 0.7, as instructions for them are there, and plain loops of
 * double 0.07 to 0.09: no floor. */
static void add_floor(const struct yp_case *c, struct yp_budgets *out)
{
    if (strcmp(yp_string(c, "precision"), "fp32") == 0)
        yp_budget_add(out, yp_min_share("statistics", 0.2));
}

YP_TEST(rx, statistics_precision, .tags = "perf small",
        .axes = YP_AXES(yp_axis_int("channels", 100, 200),
                        yp_axis_string("precision", "fp32", "bf16x2", "bf16x3", "fp64")),
        .budgets_of = add_floor,
        .budgets = YP_BUDGETS(yp_max_value("error over allowed", 1),
                              yp_max_value("largest error over allowed", 1)))
{
    const struct kind *kind = kind_of(t);
    struct scale s = perf_image((size_t)yp_int(t, "channels"));
    s.height = s.width = kind->side;
    struct kept_tiles kept;
    perf_keep(&kept, t, &s, PERF_TILE_PIXELS);
    struct rx_work work = {.source = &kept.source, .threads = 1, .arithmetic = kind->arithmetic};
    struct rx *rx = perf_rx(t, &work, kind->precision);
    measure_statistics(t, rx, &work);
    report_errors(t, rx, &kept, kind);
    rx_destroy(rx);
}

/* About 0.7 of what was reached without instructions for bf16; with them it is 0.7 and 0.4, and
 * matrix units are to come out above 1. */
YP_RELATION(rx, bf16x2_to_fp32, .tags = "perf small",
            .budgets = YP_BUDGETS(yp_min_value("ratio", 0.15)),
            .relation = yp_ratio_over("perf/rx_precision.c::statistics_precision", "statistics",
                                      "precision", "bf16x2", "fp32"));

YP_RELATION(rx, bf16x3_to_fp32, .tags = "perf small",
            .budgets = YP_BUDGETS(yp_min_value("ratio", 0.08)),
            .relation = yp_ratio_over("perf/rx_precision.c::statistics_precision", "statistics",
                                      "precision", "bf16x3", "fp32"));

/* The third term has an effect. */
YP_RELATION(rx, third_term, .tags = "perf small", .budgets = YP_BUDGETS(yp_min_value("ratio", 2)),
            .relation = yp_value_ratio(
                "perf/rx_precision.c::statistics_precision[channels=200-precision=bf16x2]",
                "perf/rx_precision.c::statistics_precision[channels=200-precision=bf16x3]",
                "error"));
