/* Trends: a line by least squares with the interval of its slope, and a slope by medians. */
#include "base/numbers/stats.h"

#include "base/numbers/sum.h"

#include <stdlib.h>

#define MAX_POINTS 512 /* of which Theil and Sen's slope looks at all pairs */

/* P(|T| <= t) for Student's t: finite sums in the angle a, tan a = t / sqrt(freedom) (Abramowitz
 * and Stegun 26.7.3 and 26.7.4). The terms are in pairs: there may be many, each from the last. */
static double student_inside(double t, size_t freedom)
{
    struct ypi_pair n = {(double)freedom, 0}, square = ypi_pair_product(t, t);
    struct ypi_pair cosine2 = ypi_pair_div(n, ypi_pair_add(n, square));
    double cosine = sqrt(cosine2.high), sine = t / sqrt((double)freedom + square.high);
    size_t odd = freedom % 2;

    struct ypi_sum sum = {0};
    struct ypi_pair term = {odd ? cosine : 1, 0};
    for (size_t i = 1; i <= freedom / 2; i++) {
        ypi_sum_add(&sum, term.high);
        struct ypi_pair above = {(double)(2 * i - 1 + odd), 0}, below = {(double)(2 * i + odd), 0};
        term = ypi_pair_mul(term, ypi_pair_mul(cosine2, ypi_pair_div(above, below)));
    }
    double inside = sine * ypi_sum_value(&sum);
    return odd ? 2 / M_PI * (atan2(t, sqrt((double)freedom)) + inside) : inside;
}

/* The derivative of student_inside by t, to some ten digits. */
static double student_slope(double t, size_t freedom)
{
    double n = (double)freedom;
    double middle = exp(lgamma(n / 2 + 0.5) - lgamma(n / 2)) / sqrt(n * M_PI);
    return 2 * middle * exp(-(n + 1) / 2 * log1p(t * t / n));
}

/* The normal distribution's quantile, to 4.5e-4 (Abramowitz and Stegun 26.2.23). */
static double rough_normal(double coverage)
{
    const double w = sqrt(-2 * log((1 - coverage) / 2));
    return w - (2.515517 + w * (0.802853 + w * 0.010328)) /
                   (1 + w * (1.432788 + w * (0.189269 + w * 0.001308)));
}

/* By Newton's method from below, for the function is concave: the steps go up until only rounding
 * is left. The normal distribution's quantile is below Student's, and near it where a step is
 * expensive: with many degrees of freedom. */
double ypi_student_quantile(double coverage, size_t freedom)
{
    if (freedom == 0 || !(coverage >= 0 && coverage < 1))
        return NAN;
    double t = fmax(rough_normal(coverage) - 4.5e-4, 0);
    for (;;) {
        double step = (coverage - student_inside(t, freedom)) / student_slope(t, freedom);
        if (!(step > t * 1e-15))
            return t;
        t += step;
    }
}

/* The largest size among them; NaN when one is not finite. */
static double largest_finite(const double *values, size_t count)
{
    double largest = 0;
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(values[i]))
            return NAN;
        largest = fmax(largest, fabs(values[i]));
    }
    return largest;
}

/* Points as seen from the first: differences as pairs are exact, so that points on one line have
 * no residuals, and equal values no spread. */
struct axis {
    const double *values;
    struct ypi_unit unit;
    double first;         /* in units */
    struct ypi_pair mean; /* from the first on */
};

static struct ypi_pair from_first(const struct axis *axis, size_t i)
{
    return ypi_pair_sum(ypi_in_units(&axis->unit, axis->values[i]), -axis->first);
}

static struct ypi_pair from_mean(const struct axis *axis, size_t i)
{
    return ypi_pair_add(from_first(axis, i), ypi_pair_minus(axis->mean));
}

static struct axis axis_of(const double *values, size_t count, double largest)
{
    struct axis axis = {.values = values, .unit = ypi_unit_of(largest)};
    axis.first = ypi_in_units(&axis.unit, values[0]);
    struct ypi_pair sum = {0, 0};
    for (size_t i = 0; i < count; i++)
        sum = ypi_pair_add(sum, from_first(&axis, i));
    axis.mean = ypi_pair_div(sum, (struct ypi_pair){(double)count, 0});
    return axis;
}

static struct ypi_pair products(const struct axis *a, const struct axis *b, size_t count)
{
    struct ypi_pair sum = {0, 0};
    for (size_t i = 0; i < count; i++)
        sum = ypi_pair_add(sum, ypi_pair_mul(from_mean(a, i), from_mean(b, i)));
    return sum;
}

static double residual_squares(const struct axis *x, const struct axis *y, struct ypi_pair slope,
                               size_t count)
{
    struct ypi_sum sum = {0};
    for (size_t i = 0; i < count; i++) {
        struct ypi_pair fitted = ypi_pair_mul(slope, from_mean(x, i));
        double residual = ypi_pair_add(from_mean(y, i), ypi_pair_minus(fitted)).high;
        ypi_sum_add(&sum, residual * residual);
    }
    return ypi_sum_value(&sum);
}

static struct ypi_pair whole_mean(const struct axis *axis)
{
    return ypi_pair_add((struct ypi_pair){axis->first, 0}, axis->mean);
}

struct ypi_line ypi_line(const double *x, const double *y, size_t count)
{
    struct ypi_line nothing = {NAN, NAN, NAN, NAN};
    double widest = largest_finite(x, count), highest = largest_finite(y, count);
    if (count < 3 || isnan(widest) || isnan(highest))
        return nothing;
    struct axis on_x = axis_of(x, count, widest), on_y = axis_of(y, count, highest);
    struct ypi_pair squares = products(&on_x, &on_x, count);
    if (!(squares.high > 0))
        return nothing;

    struct ypi_pair slope = ypi_pair_div(products(&on_x, &on_y, count), squares);
    struct ypi_pair at_mean = ypi_pair_mul(slope, whole_mean(&on_x));
    double intercept = ypi_pair_add(whole_mean(&on_y), ypi_pair_minus(at_mean)).high;
    double variance = residual_squares(&on_x, &on_y, slope, count) / (double)(count - 2);
    double half = ypi_student_quantile(YPI_COVERAGE, count - 2) * sqrt(variance / squares.high);

    int power = on_y.unit.exponent - on_x.unit.exponent;
    return (struct ypi_line){.slope = ldexp(slope.high, power),
                             .intercept = ldexp(intercept, on_y.unit.exponent),
                             .low = ldexp(slope.high + (slope.low - half), power),
                             .high = ldexp(slope.high + (slope.low + half), power)};
}

double ypi_line_reach(const double *x, size_t count, double scatter)
{
    double widest = largest_finite(x, count);
    if (count < 3 || isnan(widest))
        return INFINITY;
    struct axis on_x = axis_of(x, count, widest);
    double squares = products(&on_x, &on_x, count).high;
    if (!(squares > 0))
        return INFINITY;
    return ypi_student_quantile(YPI_COVERAGE, count - 2) * scatter /
           ldexp(sqrt(squares), on_x.unit.exponent);
}

/* The slopes between all pairs that are apart; gives how many those are. */
static size_t pair_slopes(const double *x, const double *y, size_t points, double *out)
{
    size_t count = 0;
    for (size_t i = 0; i < points; i++)
        for (size_t j = i + 1; j < points; j++)
            if (x[i] != x[j])
                out[count++] = (y[j] - y[i]) / (x[j] - x[i]);
    return count;
}

double ypi_theil_sen(const double *x, const double *y, size_t count)
{
    double widest = largest_finite(x, count), highest = largest_finite(y, count);
    if (count < 2 || isnan(widest) || isnan(highest))
        return NAN;
    struct ypi_unit on_x = ypi_unit_of(widest), on_y = ypi_unit_of(highest);
    size_t points = count < MAX_POINTS ? count : MAX_POINTS;
    double few_x[MAX_POINTS], few_y[MAX_POINTS];
    for (size_t i = 0; i < points; i++) {
        size_t chosen = i * (count - 1) / (points - 1);
        few_x[i] = ypi_in_units(&on_x, x[chosen]);
        few_y[i] = ypi_in_units(&on_y, y[chosen]);
    }

    double *slopes = malloc(points * (points - 1) / 2 * sizeof *slopes);
    if (slopes == NULL)
        return NAN;
    size_t pairs = pair_slopes(few_x, few_y, points, slopes);
    double median = ypi_quantile(slopes, pairs, 0.5);
    free(slopes);
    return ldexp(median, on_y.exponent - on_x.exponent);
}
