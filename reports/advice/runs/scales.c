/* Which of the standard scales fit the machine, and what the next one needs. */
#include "reports/advice/rule.h"

#include "base/text/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* In the order of their growth. */
static const char *const scales[] = {"tiny", "mini", "small", "medium", "large", "xl", "2.7B"};
enum { SCALES = sizeof scales / sizeof *scales };

static double place(const struct ypi_kept *kept)
{
    const char *name = ypi_axis_text(kept, ypi_scale_axes);
    if (*name == '\0')
        name = kept->name;
    for (int i = 0; i < SCALES; i++)
        if (strcmp(name, scales[i]) == 0)
            return i;
    return NAN;
}

/* What it takes, as measured, else as planned. */
static double memory_of(const struct ypi_point *point)
{
    return point->kept->passed && point->kept->peak > 0 ? point->kept->peak : point->kept->plan;
}

static bool fits(const struct ypi_point *point, double within)
{
    return point->kept->passed && memory_of(point) <= within;
}

/* -1: none does. */
static int largest_that_fits(const struct ypi_point *points, size_t count, double within)
{
    int largest = -1;
    for (size_t i = 0; i < count; i++)
        if (fits(&points[i], within))
            largest = (int)i;
    return largest;
}

/* Slots {fit} and {within}, and each scale as evidence. False where too little is known. */
static bool describe(const struct ypi_point *points, size_t count, double limit,
                     struct ypi_finding *f)
{
    struct ypi_text text = {0};
    double within = ypi_memory_within(points[0].kept, limit);
    for (size_t i = 0; i < count; i++) {
        double memory = memory_of(&points[i]);
        const char *name = scales[(int)points[i].x];
        if (fits(&points[i], within))
            ypi_text_add(&text, "%s%s", text.length > 0 ? ", " : "", name);
        if (memory > 0)
            ypi_finding_evidence(f, "%s: %s %s", name,
                                 points[i].kept->passed ? "peak" : "did not run, planned",
                                 ypi_say_bytes(memory));
    }
    char *fit = ypi_text_take(&text);
    bool some = *fit != '\0' && within > 0;
    ypi_slot(f, "fit", "%s", fit);
    ypi_slot(f, "within", "%s", ypi_say_bytes(within));
    free(fit);
    return some;
}

/* The next one has a plan, or ran with more than the limit. */
static bool planned(const struct ypi_point *points, size_t count, double limit,
                    struct ypi_finding *f)
{
    double within = ypi_memory_within(points[0].kept, limit);
    int at = largest_that_fits(points, count, within);
    if (!describe(points, count, limit, f) || at < 0 || (size_t)at + 1 == count)
        return false;
    const struct ypi_point *next = &points[at + 1];
    double memory = memory_of(next);
    if (!(memory > within) || !(next->x > points[at].x))
        return false;
    ypi_slot(f, "next", "%s", scales[(int)next->x]);
    ypi_slot(f, "needs", "%s", ypi_say_bytes(memory));
    ypi_slot(f, "times", "%.3g", memory / within);
    return true;
}

/* It was not measured: as the others grow, at the least and at the most. */
static bool projected(const struct ypi_point *points, size_t count, double limit,
                      struct ypi_finding *f)
{
    double x[SCALES] = {0};
    double y[SCALES] = {0};
    size_t known = 0;
    double within = ypi_memory_within(points[0].kept, limit);
    for (size_t i = 0; i < count && known < SCALES; i++) {
        x[known] = points[i].x;
        y[known] = log(memory_of(&points[i]));
        known += y[known] > 0;
    }
    int next = known > 0 ? (int)x[known - 1] + 1 : SCALES;
    int at = largest_that_fits(points, count, within);
    if (known < 3 || next >= SCALES || at < 0 || (size_t)at + 1 != count ||
        !describe(points, count, limit, f))
        return false;
    double least = INFINITY;
    double most = 0;
    for (size_t i = 1; i < known; i++) {
        double growth = exp((y[i] - y[i - 1]) / (x[i] - x[i - 1]));
        least = fmin(least, growth);
        most = fmax(most, growth);
    }
    double typical = exp((y[known - 1] - y[0]) / (x[known - 1] - x[0]));
    double last = exp(y[known - 1]);
    if (!(least > 1) || !isfinite(most))
        return false;
    ypi_slot(f, "next", "%s", scales[next]);
    ypi_slot(f, "needs", "%s [%s, %s]", ypi_say_bytes(last * typical), ypi_say_bytes(last * least),
             ypi_say_bytes(last * most));
    ypi_slot(f, "fits",
             last * most <= within   ? "which fits, too"
             : last * least > within ? "which does not fit"
                                     : "which may or may not fit");
    ypi_finding_evidence(
        f,
        "from one scale to the next memory grows %.3g times, %.3g at the least and %.3g "
        "at the most",
        typical, least, most);
    return true;
}

static bool only_these(const struct ypi_point *points, size_t count, double limit,
                       struct ypi_finding *f)
{
    return describe(points, count, limit, f);
}

#define U YPI_URGENCY_MEMORY

/* clang-format off */
static const struct ypi_run_rule rules[] = {
    {"scales-next-planned", U, place, ypi_scale_axes, true, 2, planned,
     "Of the scales{of} these fit into {within}: {fit}; the next, {next}, needs {needs}, {times} times that.",
     {"a machine with more memory for {next}", "smaller batches, streaming, or recomputed activations for less of it", NULL}},
    {"scales-next-projected", U, place, ypi_scale_axes, true, 3, projected,
     "Of the scales{of} these fit into {within}: {fit}; the next, {next}, would need {needs}, as these grow, {fits}.",
     {NULL}},
    {"scales-fit", U, place, ypi_scale_axes, true, 2, only_these,
     "Of the scales{of} these fit into {within}: {fit}.",
     {NULL}},
};
/* clang-format on */

const struct ypi_run_family ypi_scale_rules = {true, rules, sizeof rules / sizeof *rules};
