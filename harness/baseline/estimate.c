/* From the figures of several processes to what is typical. */
#include "harness/baseline/baseline.h"

#include "base/numbers/stats.h"
#include "base/text/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Two states: at least so many processes in each, that far apart, and further than either is wide.
 */
enum { STATE_LEAST = 2 };
#define STATES_APART 1.12
#define WIDTHS_APART 1.5

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* How many of the sorted figures, the better first, are of the faster state; all where there is
 * one. The states are apart at the widest step. */
static int fast_ones(const double *sorted, int count)
{
    int at = count;
    double widest = 1;
    for (int i = STATE_LEAST; i + STATE_LEAST <= count; i++) {
        const double step = fmax(sorted[i] / sorted[i - 1], sorted[i - 1] / sorted[i]);
        if (step <= widest)
            continue;
        widest = step;
        at = i;
    }
    if (at == count)
        return count;
    const double fast = fabs(log(sorted[at - 1] / sorted[0]));
    const double slow = fabs(log(sorted[count - 1] / sorted[at]));
    const double between = log(widest);
    return between >= log(STATES_APART) && between >= WIDTHS_APART * fmax(fast, slow) ? at : count;
}

/* As many digits as a reader compares. */
static double rounded(double figure, int digits)
{
    char text[40];
    snprintf(text, sizeof text, "%.*g", digits, figure);
    return strtod(text, NULL);
}

/* The sample standard deviation. */
static double deviation(const double *figures, int count)
{
    double mean = 0;
    double squares = 0;
    for (int i = 0; i < count; i++)
        mean += figures[i] / count;
    for (int i = 0; i < count; i++)
        squares += (figures[i] - mean) * (figures[i] - mean);
    return sqrt(squares / (count - 1));
}

static int runs_of(const struct ypi_learned_figure *list, int count)
{
    int runs = 0;
    for (int i = 0; i < count; i++) {
        bool seen = false;
        for (int k = 0; k < i; k++)
            seen = seen || list[k].run == list[i].run;
        runs += !seen;
    }
    return runs;
}

bool ypi_baseline_estimate(struct ypi_baseline *out, const struct ypi_learned_figure *list,
                           int count)
{
    const int runs = runs_of(list, count);
    if (count < YPI_BASELINE_PROCESSES || runs < YPI_BASELINE_RUNS)
        return false;
    double *sorted = ypi_calloc((size_t)count, sizeof *sorted);
    for (int i = 0; i < count; i++)
        sorted[i] = list[i].figure;
    qsort(sorted, (size_t)count, sizeof *sorted, by_size);
    for (int i = 0; out->of == YPI_BASELINE_SHARE && i < count / 2; i++) {
        const double swapped = sorted[i];
        sorted[i] = sorted[count - 1 - i];
        sorted[count - 1 - i] = swapped;
    }
    const int fast = fast_ones(sorted, count);
    out->typical = rounded(ypi_quantile(sorted, (size_t)fast, 0.5), 4);
    out->slower =
        fast < count ? rounded(ypi_quantile(sorted + fast, (size_t)(count - fast), 0.5), 4) : NAN;
    out->deviation = rounded(deviation(sorted, fast) / out->typical, 2);
    out->processes = count;
    out->runs = runs;
    free(sorted);
    return true;
}
