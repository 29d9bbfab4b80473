#include "base/numbers/order.h"

#include "base/numbers/stats.h"

#include <math.h>

/* Of one direction of doubt; there are three that are far enough from each other. */
#define COVERAGE (1 - (1 - YPI_COVERAGE) / 3)

const char *ypi_order_name(int order)
{
    static const char *const names[YPI_ORDERS] = {"O(1)",       "O(log N)", "O(N)",
                                                  "O(N log N)", "O(N^2)",   "O(N^3)"};
    return order >= 0 && order < YPI_ORDERS ? names[order] : "none";
}

/* log f(N), of x = log N. */
static double log_of(int order, double x)
{
    static const double powers[YPI_ORDERS] = {0, 0, 1, 1, 2, 3};
    static const double logarithms[YPI_ORDERS] = {0, 1, 0, 1, 0, 0};
    return powers[order] * x + (logarithms[order] > 0 ? log(x / M_LN2) : 0);
}

/* log(g(N) / f(N)) less its mean, which has the sum of squares `square`. */
static double direction(int f, int g, double x)
{
    return log_of(g, x) - log_of(f, x);
}

static double mean_direction(const double *x, size_t count, int f, int g, double *square)
{
    double mean = 0;
    *square = 0;
    for (size_t i = 0; i < count; i++)
        mean += direction(f, g, x[i]) / (double)count;
    for (size_t i = 0; i < count; i++)
        *square += pow(direction(f, g, x[i]) - mean, 2);
    return mean;
}

double ypi_order_reach(const double *x, size_t count, int f, int g, double scatter)
{
    double square = 0;
    if (count < 3)
        return INFINITY;
    mean_direction(x, count, f, g, &square);
    return ypi_student_quantile(COVERAGE, count - 2) * scatter / sqrt(square);
}

/* Whether the times lie off f in the direction of g. */
static bool is_off(const struct ypi_growth_points *p, int f, int g, double student)
{
    double square = 0;
    double mean = mean_direction(p->x, p->count, f, g, &square);
    double level = 0;
    double slope = 0;
    double below = 0;
    double above = 0;
    if (!(square > 0))
        return false;
    for (size_t i = 0; i < p->count; i++) {
        double weight = (direction(f, g, p->x[i]) - mean) / square;
        double rest = p->y[i] - log_of(f, p->x[i]);
        level += rest / (double)p->count;
        slope += weight * rest;
        below += weight > 0 ? weight * p->down[i] : -weight * p->up[i];
        above += weight > 0 ? weight * p->up[i] : -weight * p->down[i];
    }
    double left = 0;
    for (size_t i = 0; i < p->count; i++)
        left += pow(
            p->y[i] - log_of(f, p->x[i]) - level - slope * (direction(f, g, p->x[i]) - mean), 2);
    double scatter = fmax(sqrt(left / (double)(p->count - 2)), YPI_ORDER_SCATTER);
    double reach = student * scatter / sqrt(square);
    return slope - fmax(reach, below) > 0 || slope + fmax(reach, above) < 0;
}

static struct ypi_order fit(const struct ypi_growth_points *p, int f)
{
    double student = ypi_student_quantile(COVERAGE, p->count - 2);
    double mean = 0;
    double square = 0;
    double below = 0;
    double above = 0;
    for (size_t i = 0; i < p->count; i++) {
        mean += (p->y[i] - log_of(f, p->x[i])) / (double)p->count;
        below += p->down[i] / (double)p->count;
        above += p->up[i] / (double)p->count;
    }
    for (size_t i = 0; i < p->count; i++)
        square += pow(p->y[i] - log_of(f, p->x[i]) - mean, 2);
    double reach = ypi_student_quantile(YPI_COVERAGE, p->count - 1) *
                   sqrt(square / (double)(p->count - 1) / (double)p->count);
    struct ypi_order order = {.coefficient = exp(mean),
                              .low = exp(mean - fmax(reach, below)),
                              .high = exp(mean + fmax(reach, above)),
                              .rms = sqrt(square / (double)p->count)};
    for (int g = 0; g < YPI_ORDERS; g++)
        order.refuted = order.refuted || (g != f && is_off(p, f, g, student));
    return order;
}

static bool is_finite(const struct ypi_growth_points *p)
{
    for (size_t i = 0; i < p->count; i++)
        if (!(p->x[i] > 0) || !isfinite(p->x[i]) || !isfinite(p->y[i]) || !isfinite(p->down[i]) ||
            !isfinite(p->up[i]))
            return false;
    return p->count >= 3;
}

bool ypi_orders_fit(const struct ypi_growth_points *points, struct ypi_orders *out)
{
    *out = (struct ypi_orders){.best = -1, .first = -1, .last = -1};
    if (!is_finite(points))
        return false;
    for (int f = 0; f < YPI_ORDERS; f++) {
        const struct ypi_order *order = &out->of[f];
        out->of[f] = fit(points, f);
        if (!order->refuted) {
            out->first = out->first < 0 ? f : out->first;
            out->last = f;
        }
        const struct ypi_order *best = out->best < 0 ? NULL : &out->of[out->best];
        if (best == NULL || (best->refuted && !order->refuted) ||
            (best->refuted == order->refuted && order->rms < best->rms))
            out->best = f;
    }
    return true;
}

/* The slope is a weighted sum of the y, so it is farthest off when each median lies at that end of
 * its interval where the weight's sign has it; the scatter about the line may be wider still. */
struct ypi_exponent ypi_exponent_fit(const struct ypi_growth_points *p)
{
    struct ypi_line line = ypi_line(p->x, p->y, p->count);
    double mean = 0;
    double square = 0;
    for (size_t i = 0; i < p->count; i++)
        mean += p->x[i] / (double)p->count;
    for (size_t i = 0; i < p->count; i++)
        square += (p->x[i] - mean) * (p->x[i] - mean);
    double low = line.slope;
    double high = line.slope;
    for (size_t i = 0; i < p->count; i++) {
        double weight = (p->x[i] - mean) / square;
        if (weight > 0) {
            low -= weight * p->down[i];
            high += weight * p->up[i];
        } else if (weight < 0) {
            low += weight * p->up[i];
            high -= weight * p->down[i];
        }
    }
    return (struct ypi_exponent){line.slope, fmin(low, line.low), fmax(high, line.high)};
}
