/* Memory along the batch: a line, and where it meets what there is. */
#include "reports/advice/runs/rates.h"

#include "base/numbers/stats.h"
#include "base/text/text.h"

#include <math.h>
#include <stdlib.h>

#define BEND 0.05 /* of the memory: points further from their line do not lie on one */

struct line {
    double slope, low, high; /* bytes an item of the batch */
    double x, y;             /* the point in the middle, through which all of its slopes go */
};

/* Of peaks, or of plans. False where they are missing or do not lie on a line that rises. */
static bool fit(const struct ypi_point *points, size_t count, bool plan, struct line *out)
{
    double *x = ypi_calloc(2 * count, sizeof *x);
    double *y = x + count;
    bool there = true;
    *out = (struct line){0};
    for (size_t i = 0; i < count; i++) {
        x[i] = points[i].x;
        y[i] = plan ? points[i].kept->plan : points[i].kept->peak;
        there = there && y[i] > 0;
        out->x += x[i] / (double)count;
        out->y += y[i] / (double)count;
    }
    struct ypi_line l = ypi_line(x, y, count);
    for (size_t i = 0; i < count && there; i++)
        there = fabs(l.intercept + l.slope * x[i] - y[i]) <= BEND * y[i];
    free(x);
    out->slope = l.slope;
    out->low = l.low;
    out->high = l.high;
    return there && l.low > 0;
}

static double largest(const struct line *l, double slope, double limit)
{
    return floor(l->x + (limit - l->y) / slope);
}

static bool headroom(const struct ypi_point *points, size_t count, double limit,
                     struct ypi_finding *f)
{
    struct line line;
    struct line plan;
    const struct ypi_point *last = &points[count - 1];
    const char *axis = ypi_axis_name(last->kept, ypi_batch_axes);
    double within = ypi_memory_within(last->kept, limit);
    if (!(within > 0) || !fit(points, count, false, &line))
        return false;
    double most = largest(&line, line.slope, within);
    /* A steeper line has the smaller batch above the mean of the peaks, the larger one below. */
    const double steep = largest(&line, line.high, within), flat = largest(&line, line.low, within);
    double least = fmin(steep, flat);
    double upper = fmax(steep, flat);
    if (!(least >= 1))
        return false;
    ypi_slot(f, "axis", "%s", axis);
    ypi_slot(f, "most", "%.0f", most);
    if (least < upper)
        ypi_slot(f, "interval", " [%.0f, %.0f]", least, upper);
    else
        ypi_slot(f, "interval", "%s", "");
    ypi_slot(f, "within", "%s", ypi_say_bytes(within));
    for (size_t i = 0; i < count; i++)
        ypi_finding_evidence(f, "%s %g: peak %s", axis, points[i].x,
                             ypi_say_bytes(points[i].kept->peak));
    ypi_finding_evidence(f, "%s [%s, %s] for each more of %s", ypi_say_bytes(line.slope),
                         ypi_say_bytes(line.low), ypi_say_bytes(line.high), axis);
    if (last->kept->peak < within)
        ypi_finding_evidence(f, "with %s %g there are %s left", axis, last->x,
                             ypi_say_bytes(within - last->kept->peak));
    if (fit(points, count, true, &plan))
        ypi_finding_evidence(f, "by the plan the largest is %.0f",
                             largest(&plan, plan.slope, within));
    return true;
}

/* clang-format off */
static const struct ypi_run_rule rules[] = {
    {"memory-headroom", YPI_URGENCY_MEMORY, ypi_place_batch, ypi_batch_axes, true, 3, headroom,
     "The largest value of {axis} that fits into {within}{of} is {most}{interval}, by the line through what was measured.",
     {NULL}},
};
/* clang-format on */

const struct ypi_run_family ypi_headroom_rules = {true, rules, sizeof rules / sizeof *rules};
