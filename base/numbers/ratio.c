#include "base/numbers/ratio.h"

#include "base/numbers/stats.h"
#include "base/text/text.h"

#include <math.h>
#include <stdlib.h>

#define SERIES_LEAST 8
#define MEDIAN_STEP 0.9538726 /* sqrt(2) times the normal distribution's quantile of 3/4 */

struct ypi_scatter ypi_scatter_of_series(const double *logarithms, size_t count)
{
    if (count < SERIES_LEAST)
        return (struct ypi_scatter){0};
    double *steps = ypi_calloc(count, sizeof *steps);
    for (size_t i = 0; i + 1 < count; i++)
        steps[i] = fabs(logarithms[i + 1] - logarithms[i]);
    struct ypi_scatter s = {ypi_quantile(steps, count - 1, 0.5) / MEDIAN_STEP, (double)count / 4};
    free(steps);
    return s;
}

static double mean(const double *x, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += x[i];
    return sum / (double)count;
}

/* Sum of the squares about the mean. */
static double squares(const double *x, size_t count)
{
    double m = mean(x, count);
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (x[i] - m) * (x[i] - m);
    return sum;
}

/* The sum behind a quantile has a term for every two degrees of freedom, and a report of thousands
 * of cases needs few different ones: those asked for last are kept. */
enum { KEPT = 64 };
static _Thread_local struct {
    double coverage, quantile;
    size_t degrees; /* 0: none is kept */
} kept[KEPT];

static double student(double coverage, size_t degrees)
{
    const size_t at = degrees % KEPT;
    if (kept[at].degrees != degrees || kept[at].coverage != coverage) {
        kept[at].coverage = coverage;
        kept[at].degrees = degrees;
        kept[at].quantile = ypi_student_quantile(coverage, degrees);
    }
    return kept[at].quantile;
}

struct ypi_ratio ypi_ratio(const double *base, size_t base_count, const double *head,
                           size_t head_count, struct ypi_scatter known, double more, double error)
{
    if (base_count == 0 || head_count == 0)
        return (struct ypi_ratio){NAN, NAN, NAN};
    double difference = mean(head, head_count) - mean(base, base_count);
    struct ypi_ratio r = {exp(difference), 0, INFINITY};
    double inside = (double)(base_count + head_count - 2);
    double freedom = inside + known.freedom;
    if (freedom < 1 || isnan(difference))
        return r;
    double variance = isinf(known.freedom)
                          ? known.sd * known.sd
                          : (squares(base, base_count) + squares(head, head_count) +
                             known.freedom * known.sd * known.sd) /
                                freedom;
    double parts = 1 / (double)base_count + 1 / (double)head_count;
    double sd = sqrt(variance * parts + more * more);
    size_t degrees = freedom < 1e6 ? (size_t)freedom : (size_t)1000000;
    double reach = student(1 - error, degrees) * sd;
    r.low = exp(difference - reach);
    r.high = exp(difference + reach);
    return r;
}
