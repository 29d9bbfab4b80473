/* The chi-square distribution, and how scores of background follow it. */
#include "models/metrics/metrics.h"

#include "base/numbers/sort.h"
#include "device/host.h"

#include <assert.h>
#include <math.h>

static_assert((METRICS_CALIBRATION_BINS & (METRICS_CALIBRATION_BINS - 1)) == 0,
              "halved to find a bin");

#define TERMS 100000 /* more than is needed for any degrees of freedom */

/* x^a e^-x / Gamma(a + 1). For large a by Stirling's series around the maximum, where the plain
 * form would subtract numbers that are a thousand times larger than the result. */
static double front(double a, double x)
{
    if (a < 16)
        return exp(a * log(x) - x) / tgamma(a + 1);
    double away = (x - a) / a, inverse = 1 / (a * a);
    double stirling =
        (1.0 / 12 - inverse * (1.0 / 360 - inverse * (1.0 / 1260 - inverse / 1680))) / a;
    double bend = away > -0.5 ? log1p(away) - away : log(x / a) - away;
    return exp(a * bend - stirling) / sqrt(2 * 3.14159265358979323846 * a);
}

/* P(a, x) = front sum x^n / ((a + 1) ... (a + n)) */
static double series(double a, double x)
{
    double term = 1, sum = 1;
    for (int n = 1; n < TERMS && term > sum * 1e-17; n++) {
        term *= x / (a + n);
        sum += term;
    }
    return front(a, x) * sum;
}

/* Q(a, x) = front a / (x + 1 - a - 1 (1 - a) / (x + 3 - a - 2 (2 - a) / (x + 5 - a - ...))), the
 * even part of 6.5.31, evaluated from its head on: each convergent as a sum of what it adds to the
 * one before (Steed's way). */
static double fraction(double a, double x)
{
    double b = x + 1 - a, inverse = 1 / b, add = inverse, sum = inverse;
    for (int n = 1; n < TERMS && fabs(add) > fabs(sum) * 1e-17; n++) {
        double top = -n * (n - a);
        b += 2;
        inverse = 1 / (b + top * inverse);
        add *= b * inverse - 1;
        sum += add;
    }
    return front(a, x) * a * sum;
}

static double incomplete(double x, double k, bool upper)
{
    if (isnan(x) || !(k > 0))
        return NAN;
    if (!(x > 0))
        return upper ? 1 : 0;
    if (isinf(x))
        return upper ? 0 : 1;
    double a = k / 2, half = x / 2;
    bool have_upper = half >= a + 1;
    double value = have_upper ? fraction(a, half) : series(a, half);
    return have_upper == upper ? value : 1 - value;
}

double metrics_chi_square(double x, double k)
{
    return incomplete(x, k, false);
}

double metrics_chi_square_upper(double x, double k)
{
    return incomplete(x, k, true);
}

/* Newton's steps on whichever tail is smaller, kept inside a bracket that every step narrows. */
double metrics_chi_square_point(double upper, double k)
{
    if (!(upper > 0 && upper < 1) || !(k > 0))
        return NAN;
    double low = 0, high = k + 10;
    while (metrics_chi_square_upper(high, k) > upper)
        high *= 2;
    double x = k < high ? k : high / 2;
    for (int i = 0; i < 200; i++) {
        double q = metrics_chi_square_upper(x, k);
        if (q > upper)
            low = x;
        else
            high = x;
        double over = upper < 0.5 ? q - upper : (1 - upper) - metrics_chi_square(x, k);
        double density = front(k / 2, x / 2) * k / (2 * x), next = x + over / density;
        if (!(next > low && next < high))
            next = low + (high - low) / 2;
        if (fabs(next - x) <= 1e-15 * x)
            return next;
        x = next;
    }
    return x;
}

enum yp_status metrics_calibration_start(struct metrics_calibration *calibration, size_t freedom)
{
    if (freedom == 0 || freedom > METRICS_MAX_FREEDOM)
        return yp_set_error(YP_INVALID,
                            "metrics_calibration_start: freedom is %zu, allowed are 1 to %d",
                            freedom, METRICS_MAX_FREEDOM);
    *calibration = (struct metrics_calibration){0};
    double upper = 1;
    for (int i = 0; i < METRICS_CALIBRATION_TAILS; i++) {
        upper /= 10;
        calibration->tails[i] = metrics_chi_square_point(upper, (double)freedom);
    }
    for (int i = 1; i < METRICS_CALIBRATION_BINS; i++)
        calibration->edges[i - 1] =
            metrics_chi_square_point(1 - (double)i / METRICS_CALIBRATION_BINS, (double)freedom);
    return YP_OK;
}

void metrics_calibration_add(struct metrics_calibration *calibration, const float *scores,
                             const uint8_t *labels, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (labels != NULL && labels[i] != 0)
            continue;
        double score = (double)scores[i];
        if (isnan(score)) {
            calibration->skipped++;
            continue;
        }
        size_t bin = 0; /* edges below the score; no branch to guess */
        for (size_t step = METRICS_CALIBRATION_BINS / 2; step > 0; step /= 2)
            bin += step * (calibration->edges[bin + step - 1] < score);
        calibration->bins[bin]++;
        for (int t = 0; t < METRICS_CALIBRATION_TAILS; t++)
            calibration->beyond[t] += score > calibration->tails[t];
        calibration->counted++;
    }
}

void metrics_calibration_merge(struct metrics_calibration *calibration,
                               const struct metrics_calibration *other)
{
    for (size_t i = 0; i < METRICS_CALIBRATION_BINS; i++)
        calibration->bins[i] += other->bins[i];
    for (size_t i = 0; i < METRICS_CALIBRATION_TAILS; i++)
        calibration->beyond[i] += other->beyond[i];
    calibration->counted += other->counted;
    calibration->skipped += other->skipped;
}

void metrics_calibration_result(const struct metrics_calibration *calibration,
                                struct metrics_calibrated *out)
{
    double n = (double)calibration->counted;
    *out = (struct metrics_calibrated){.background = calibration->counted,
                                       .skipped = calibration->skipped,
                                       .distance = n > 0 ? 0 : NAN};
    for (size_t i = 0; i < METRICS_CALIBRATION_TAILS; i++)
        out->beyond[i] = n > 0 ? (double)calibration->beyond[i] / n : NAN;
    uint64_t below = 0;
    for (size_t i = 0; n > 0 && i < METRICS_CALIBRATION_BINS; i++) {
        below += calibration->bins[i];
        double wanted = (double)(i + 1) / METRICS_CALIBRATION_BINS;
        out->distance = fmax(out->distance, fabs((double)below / n - wanted));
    }
}

enum yp_status metrics_kolmogorov(struct yp_device *device, const float *scores,
                                  const uint8_t *labels, size_t n, size_t freedom, double *distance)
{
    size_t members = 0;
    enum yp_status status = ypi_check_host("metrics_kolmogorov", device);
    if (status != YP_OK)
        return status;
    if (scores == NULL || distance == NULL)
        return yp_set_error(YP_INVALID, "metrics_kolmogorov: %s is NULL",
                            scores == NULL ? "scores" : "distance");
    if (freedom == 0 || freedom > METRICS_MAX_FREEDOM)
        return yp_set_error(YP_INVALID, "metrics_kolmogorov: freedom is %zu, allowed are 1 to %d",
                            freedom, METRICS_MAX_FREEDOM);
    for (size_t i = 0; i < n; i++)
        members += (labels == NULL || labels[i] == 0) && !isnan(scores[i]);
    if (members == 0)
        return yp_set_error(YP_INVALID,
                            "metrics_kolmogorov: there are 0 background scores, allowed is "
                            "1 and more");
    float *sorted = yp_device_alloc(device, members * sizeof *sorted);
    if (sorted == NULL)
        return YP_OUT_OF_MEMORY;
    for (size_t i = 0, at = 0; i < n; i++)
        if ((labels == NULL || labels[i] == 0) && !isnan(scores[i]))
            sorted[at++] = scores[i];
    ypi_sort_f32(sorted, members);
    *distance = 0;
    for (size_t i = 0; i < members; i++) {
        double f = metrics_chi_square((double)sorted[i], (double)freedom);
        *distance = fmax(*distance, fmax(f - (double)i / (double)members,
                                         (double)(i + 1) / (double)members - f));
    }
    yp_device_free(device, sorted);
    return YP_OK;
}
