/* By how much one part of a series lies above another, and how it moves inside a part: medians of
 * all pairs, with intervals by ranks. */
#include "base/numbers/change_points.h"

#include "base/numbers/stats.h"
#include "base/text/text.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#define MOST 512              /* points of which all pairs are looked at */
#define NINETY_NINE 2.5758293 /* of a standard normal, two-sided */

static size_t fewer(size_t count)
{
    return count < MOST ? count : MOST;
}

/* One of `fewer(count)` places that are evenly chosen. */
static size_t chosen(size_t i, size_t count)
{
    return count <= MOST ? i : i * (count - 1) / (MOST - 1);
}

/* How many times the variance of a mean of independent points (Bartlett, 1946); points that are
 * chosen stand farther apart than neighbours. */
static double inflation(double correlation, size_t count)
{
    double r = pow(correlation, (double)count / (double)fewer(count));
    return (1 + r) / (1 - r);
}

/* The median of pairs, and the ranks that lie `half` away from it, none beyond the last. */
static struct ypi_shift middle_of(const double *pairs, size_t count, double half)
{
    double last = (double)count - 1;
    double rank = floor((double)count / 2 - half);
    bool known = rank >= 0;
    return (struct ypi_shift){
        .middle = ypi_quantile(pairs, count, 0.5),
        .low = known ? ypi_quantile(pairs, count, last > 0 ? rank / last : 0) : -INFINITY,
        .high = known ? ypi_quantile(pairs, count, last > 0 ? 1 - rank / last : 1) : INFINITY};
}

/* The variance of the rank sum statistic is m n (m + n + 1) / 12. */
struct ypi_shift ypi_shift(const double *before, size_t before_count, const double *after,
                           size_t after_count, double correlation)
{
    size_t m = fewer(before_count);
    size_t n = fewer(after_count);
    if (m == 0 || n == 0)
        return (struct ypi_shift){NAN, NAN, NAN};
    double *pairs = ypi_calloc(m * n, sizeof *pairs);
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++)
            pairs[i * n + j] = after[chosen(j, after_count)] - before[chosen(i, before_count)];
    size_t denser = before_count < after_count ? before_count : after_count;
    double variance = (double)(m * n) * (double)(m + n + 1) / 12 * inflation(correlation, denser);
    struct ypi_shift shift = middle_of(pairs, m * n, NINETY_NINE * sqrt(variance));
    free(pairs);
    return shift;
}

/* The correlation of what is left when a line is taken away, for a trend itself makes neighbours
 * alike; one deviation more than estimated, for one that is missed makes a false alarm. */
static double correlation_about_line(const double *values, size_t count, double slope)
{
    double *left = ypi_calloc(count + 1, sizeof *left);
    for (size_t i = 0; i < count; i++)
        left[i] = values[i] - slope * (double)i;
    double correlation = ypi_neighbour_correlation(left, count);
    free(left);
    return tanh(atanh(correlation) + ypi_correlation_deviation(count));
}

/* The variance of Kendall's statistic, pairs that rise less pairs that fall, is
 * n (n - 1) (2 n + 5) / 18 without a trend; equal values make it less. */
struct ypi_drift ypi_drift(const double *values, size_t count)
{
    size_t n = fewer(count);
    if (n < 3)
        return (struct ypi_drift){{NAN, NAN, NAN}, 1};
    double *slopes = ypi_calloc(n * (n - 1) / 2, sizeof *slopes);
    size_t pairs = 0;
    double rising = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++) {
            size_t from = chosen(i, count);
            size_t to = chosen(j, count);
            slopes[pairs++] = (values[to] - values[from]) / (double)(to - from);
            rising += (values[to] > values[from]) - (values[to] < values[from]);
        }
    double correlation = correlation_about_line(values, count, ypi_quantile(slopes, pairs, 0.5));
    double points = (double)n;
    double deviation =
        sqrt(points * (points - 1) * (2 * points + 5) / 18 * inflation(correlation, count));
    struct ypi_drift drift = {.slope = middle_of(slopes, pairs, NINETY_NINE * deviation / 2),
                              .probability = erfc(fmax(0, fabs(rising) - 1) / deviation / sqrt(2))};
    free(slopes);
    return drift;
}

/* -- a line or steps ----------------------------------------------------------------------- */

/* The sum of the distances from the median, of values that a slope is taken from. */
static double distance(const double *values, size_t count, double slope)
{
    double *level = ypi_calloc(count + 1, sizeof *level);
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        level[i] = values[i] - slope * (double)i;
    double median = ypi_quantile(level, count, 0.5);
    for (size_t i = 0; i < count; i++)
        sum += fabs(level[i] - median);
    free(level);
    return sum;
}

/* Whether the levels between the places all rise, or all fall. */
static bool goes_one_way(const double *values, size_t count, const size_t *places, size_t found,
                         size_t start)
{
    int way = 0;
    double before = ypi_quantile(values + start, places[0] - start, 0.5);
    for (size_t i = 0; i < found; i++) {
        size_t end = i + 1 < found ? places[i + 1] : count;
        double level = ypi_quantile(values + places[i], end - places[i], 0.5);
        int here = (level > before) - (level < before);
        if (here == 0 || (i > 0 && here != way))
            return false;
        way = here;
        before = level;
    }
    return true;
}

/* A step has a place and a level, a line a slope. */
static bool line_is_nearer(const double *values, size_t count, const size_t *places, size_t found,
                           size_t start)
{
    double points = (double)(count - start);
    double slope = ypi_drift(values + start, count - start).slope.middle;
    double to_line = distance(values + start, count - start, slope) / (points - 2);
    double to_steps = distance(values + start, places[0] - start, 0);
    for (size_t i = 0; i < found; i++) {
        size_t end = i + 1 < found ? places[i + 1] : count;
        to_steps += distance(values + places[i], end - places[i], 0);
    }
    return to_line < to_steps / (points - 1 - 2 * (double)found);
}

size_t ypi_changes_before_line(const double *values, size_t count, const size_t *places,
                               size_t found)
{
    for (size_t kept = 0; kept < found; kept++) {
        size_t start = kept > 0 ? places[kept - 1] : 0;
        if (goes_one_way(values, count, places + kept, found - kept, start) &&
            line_is_nearer(values, count, places + kept, found - kept, start))
            return kept;
    }
    return found;
}
