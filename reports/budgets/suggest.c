#include "reports/budgets/suggest.h"

#include "base/numbers/stats.h"
#include "base/text/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The figures of one machine, to `out`; returns how many. */
static int of_machine(const struct ypi_figures_of *f, int machine, double *out)
{
    int count = 0;
    for (int i = 0; i < f->count; i++)
        if (f->machine[i] == machine)
            out[count++] = f->measured[i];
    return count;
}

static double least_of(const double *figures, int count)
{
    double least = INFINITY;
    for (int i = 0; i < count; i++)
        least = fmin(least, figures[i]);
    return least;
}

static double most_of(const double *figures, int count)
{
    double most = -INFINITY;
    for (int i = 0; i < count; i++)
        most = fmax(most, figures[i]);
    return most;
}

struct ypi_spread ypi_spread_of(const struct ypi_figures_of *f)
{
    double *own = ypi_calloc((size_t)f->count + 1, sizeof *own);
    double *medians = ypi_calloc((size_t)f->machine_count + 1, sizeof *medians);
    struct ypi_spread s = {.typical = ypi_quantile(f->measured, (size_t)f->count, 0.5),
                           .least = least_of(f->measured, f->count),
                           .most = most_of(f->measured, f->count)};
    int machines = 0;
    for (int m = 0; m < f->machine_count; m++) {
        int count = of_machine(f, m, own);
        if (count == 0)
            continue;
        s.processes = fmax(s.processes, most_of(own, count) - least_of(own, count));
        medians[machines++] = ypi_quantile(own, (size_t)count, 0.5);
    }
    if (machines > 0)
        s.machines = most_of(medians, machines) - least_of(medians, machines);
    free(own);
    free(medians);
    return s;
}

/* One-sided prediction bound of a single future observation from n of the same normal distribution:
 * mean -+ t(1 - error, n - 1) s sqrt(1 + 1 / n) (G. J. Hahn and W. Q. Meeker, "Statistical
 * Intervals", Wiley 1991, section 4.8). Times and shares scatter by factors, so it is taken of the
 * logarithms. */
double ypi_prediction_bound(const double *figures, int count, bool lower, double error)
{
    bool factors = least_of(figures, count) > 0;
    double mean = 0;
    double squares = 0;
    for (int i = 0; i < count; i++)
        mean += (factors ? log(figures[i]) : figures[i]) / count;
    for (int i = 0; i < count; i++) {
        double from_mean = (factors ? log(figures[i]) : figures[i]) - mean;
        squares += from_mean * from_mean;
    }
    double n = count;
    /* The quantile is two-sided: outside it are both tails. */
    double t = ypi_student_quantile(1 - 2 * error, (size_t)count - 1);
    double half = t * sqrt(squares / (n - 1) * (1 + 1 / n));
    double bound = lower ? mean - half : mean + half;
    return factors ? exp(bound) : bound;
}

double ypi_round_outwards(double value, bool up)
{
    if (value == 0 || !isfinite(value))
        return value;
    double power = floor(log10(fabs(value)));
    double first = fabs(value) / pow(10, power);
    double digits = first < 4 ? 2 : 1; /* behind the first one */
    double exponent = power - digits;
    /* Powers of ten above 1 are exact, so that what has few digits is left as it is. */
    double scaled = exponent < 0 ? value * pow(10, -exponent) : value / pow(10, exponent);
    double nearest = nearbyint(scaled);
    if (fabs(scaled - nearest) > 1e-9 * fabs(scaled))
        nearest = up ? ceil(scaled) : floor(scaled);
    char text[32];
    snprintf(text, sizeof text, "%.0fe%.0f", nearest, exponent);
    return strtod(text, NULL);
}

static double suggest_exact(const struct ypi_figures_of *f, const char **why_not)
{
    double least = least_of(f->measured, f->count);
    double most = most_of(f->measured, f->count);
    if (f->count < YPI_SUGGEST_EXACT_AT_LEAST) {
        *why_not = "needs 2 processes";
        return NAN;
    }
    if (!(least < most))
        return least;
    double spread = most - least;
    return ypi_round_outwards(f->at_least ? least - spread : most + spread, !f->at_least);
}

static bool is_beyond(const struct ypi_figures_of *f, double limit)
{
    for (int i = 0; i < f->count; i++)
        if (f->at_least ? f->measured[i] < limit : f->measured[i] > limit)
            return true;
    return false;
}

double ypi_suggest(const struct ypi_figures_of *f, double error, const char **why_not)
{
    *why_not = NULL;
    if (f->exact)
        return suggest_exact(f, why_not);
    double *own = ypi_calloc((size_t)f->count + 1, sizeof *own);
    double worst = NAN;
    bool few = false; /* a machine cannot speak for itself */
    for (int m = 0; m < f->machine_count; m++) {
        int count = of_machine(f, m, own);
        few = few || (count > 0 && count < YPI_SUGGEST_AT_LEAST);
        if (count < YPI_SUGGEST_AT_LEAST)
            continue;
        double bound = ypi_prediction_bound(own, count, f->at_least, error);
        worst = isnan(worst) ? bound : f->at_least ? fmin(worst, bound) : fmax(worst, bound);
    }
    free(own);
    if (isnan(worst))
        *why_not = "needs 5 processes of one machine";
    else if (few && is_beyond(f, worst))
        *why_not = "beyond on a machine with fewer than 5 processes";
    return *why_not ? (double)NAN : ypi_round_outwards(worst, !f->at_least);
}
