/* A study of warm-up: the same work after 0, 1, 2, 5 iterations that are not timed. */
#include "reports/advice/rule.h"

#include <math.h>

static double place(const struct ypi_kept *kept)
{
    return kept->passed ? ypi_axis_number(kept, ypi_warmup_axes) : (double)NAN;
}

#define TIGHT 1.5 /* fence over median: samples that scatter more hide a slow beginning */

static bool describe(const struct ypi_point *points, size_t count, struct ypi_finding *f)
{
    for (size_t i = 0; i < count; i++) {
        const struct ypi_kept_measure *m = points[i].m;
        if (!(m->fence <= TIGHT * m->later)) /* or too few samples, or one that is no number */
            return false;
        ypi_finding_evidence(f, "%s %g: first sample %s, later ones %s, mean %s, median %s",
                             ypi_axis_name(points[i].kept, ypi_warmup_axes), points[i].x,
                             ypi_say_time(m->first, NAN, NAN), ypi_say_time(m->later, NAN, NAN),
                             ypi_say_time(m->mean, NAN, NAN),
                             ypi_say_time(m->median, m->low, m->high));
    }
    ypi_slot(f, "name", "%s", points[0].m->name);
    return points[count - 1].x > points[0].x;
}

/* The least from which on no first sample is slow. */
static bool needed(const struct ypi_point *points, size_t count, double limit,
                   struct ypi_finding *f)
{
    size_t at = count;
    (void)limit;
    while (at > 0 && points[at - 1].m->slow == 0)
        at--;
    if (!describe(points, count, f) || at == 0 || at == count || points[0].m->slow == 0)
        return false;
    const struct ypi_kept_measure *cold = points[0].m;
    const struct ypi_kept_measure *warm = points[count - 1].m;
    ypi_slot(f, "needed", "%g", points[at].x);
    ypi_slot(f, "without", "%g", points[0].x);
    ypi_slot(f, "times", "%.3g", cold->first / cold->later);
    const double more = cold->mean / warm->mean - 1;
    ypi_slot(f, "mean", "%s%s", more < 0 ? "" : "+", ypi_say_percent(more));
    return true;
}

static bool none(const struct ypi_point *points, size_t count, double limit, struct ypi_finding *f)
{
    (void)limit;
    for (size_t i = 0; i < count; i++)
        if (points[i].m->slow > 0)
            return false;
    ypi_slot(f, "least", "%g", points[0].x);
    return describe(points, count, f);
}

static bool not_enough(const struct ypi_point *points, size_t count, double limit,
                       struct ypi_finding *f)
{
    (void)limit;
    ypi_slot(f, "most", "%g", points[count - 1].x);
    return points[count - 1].m->slow > 0 && describe(points, count, f);
}

#define U YPI_URGENCY_KNOW

/* clang-format off */
static const struct ypi_run_rule rules[] = {
    {"warm-up-needed", U, place, ypi_warmup_axes, false, 2, needed,
     "{name}{of} needs a warm-up of {needed} iterations: after {without} the first sample takes {times} times as long as later "
     "ones, and the mean is off by {mean}.",
     {".warmup = {needed}", NULL}},
    {"warm-up-none", U, place, ypi_warmup_axes, false, 2, none,
     "{name}{of} needs no more warm-up than {least} iterations: no first sample is slower than the later ones.",
     {NULL}},
    {"warm-up-not-enough", U, place, ypi_warmup_axes, false, 2, not_enough,
     "{name}{of} needs more warm-up than {most} iterations: its first samples are slow even then.",
     {"measure more: a larger value of the axis", "look for what the first iterations alone do", NULL}},
};
/* clang-format on */

const struct ypi_run_family ypi_warmup_study_rules = {true, rules, sizeof rules / sizeof *rules};
