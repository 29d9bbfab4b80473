/* What larger batches, or more threads, gain, and where that ends. */
#include "reports/advice/runs/rates.h"

#include "base/text/text.h"

#include <math.h>
#include <stdlib.h>

#define GAIN 1.05   /* below, nobody changes a configuration */
#define NO_GAIN 1.1 /* what can be ruled out, for a sentence that there is none */

/* The last point that is surely faster than the one before that was: steps that intervals do not
 * tell apart add up until they do. `count` where a rate is missing or units differ. */
static size_t end_of_gain(const struct ypi_point *points, size_t count)
{
    size_t end = 0;
    for (size_t i = 0; i < count; i++)
        if (isnan(ypi_point_rate(&points[i]).rate))
            return count;
    for (size_t i = 1; i < count; i++)
        if (ypi_point_rate(&points[i]).low > ypi_point_rate(&points[end]).high)
            end = i;
    return end;
}

static void add_rates(const struct ypi_point *points, size_t count, const char *axis,
                      struct ypi_finding *f)
{
    for (size_t i = 0; i < count; i++) {
        struct ypi_rate_of r = ypi_point_rate(&points[i]);
        ypi_finding_evidence(f, "%s %g: %s%s%s", axis, points[i].x,
                             ypi_say_rate(r.rate, r.low, r.high, r.unit),
                             points[i].kept->peak > 0 ? ", peak " : "",
                             points[i].kept->peak > 0 ? ypi_say_bytes(points[i].kept->peak) : "");
    }
}

static bool gains(const struct ypi_point *points, size_t count, const char *const *axes,
                  struct ypi_finding *f)
{
    size_t end = end_of_gain(points, count);
    if (end == 0 || end == count)
        return false;
    struct ypi_rate_of first = ypi_point_rate(&points[0]);
    struct ypi_rate_of best = ypi_point_rate(&points[end]);
    const char *axis = ypi_axis_name(points[0].kept, axes);
    if (!(best.low > GAIN * first.high))
        return false;
    ypi_slot(f, "name", "%s", points[0].m->name);
    ypi_slot(f, "axis", "%s", axis);
    ypi_slot(f, "best", "%g", points[end].x);
    ypi_slot(f, "first", "%g", points[0].x);
    ypi_slot(f, "gain", "%s",
             ypi_say_ratio(best.rate / first.rate, best.low / first.high, best.high / first.low));
    if (end < count - 1)
        ypi_slot(f, "end", "beyond it there is no gain up to %g", points[count - 1].x);
    else
        ypi_slot(f, "end", "it still gains there, at the largest that was measured");
    if (end == count - 1)
        ypi_try(f, "measure a larger %s than %g", axis, points[end].x);
    add_rates(points, count, axis, f);
    return true;
}

static bool none(const struct ypi_point *points, size_t count, const char *const *axes,
                 struct ypi_finding *f)
{
    struct ypi_rate_of first = ypi_point_rate(&points[0]);
    if (end_of_gain(points, count) == count || !(points[count - 1].x > points[0].x))
        return false;
    for (size_t i = 1; i < count; i++)
        if (!(ypi_point_rate(&points[i]).high < NO_GAIN * first.low))
            return false;
    ypi_slot(f, "name", "%s", points[0].m->name);
    ypi_slot(f, "axis", "%s", ypi_axis_name(points[0].kept, axes));
    ypi_slot(f, "first", "%g", points[0].x);
    ypi_slot(f, "last", "%g", points[count - 1].x);
    add_rates(points, count, ypi_axis_name(points[0].kept, axes), f);
    return true;
}

static bool batch_gains(const struct ypi_point *points, size_t count, double limit,
                        struct ypi_finding *f)
{
    (void)limit;
    return gains(points, count, ypi_batch_axes, f);
}

static bool batch_none(const struct ypi_point *points, size_t count, double limit,
                       struct ypi_finding *f)
{
    (void)limit;
    return none(points, count, ypi_batch_axes, f);
}

static bool threads_gain(const struct ypi_point *points, size_t count, double limit,
                         struct ypi_finding *f)
{
    (void)limit;
    return gains(points, count, ypi_thread_axes, f);
}

static bool threads_none(const struct ypi_point *points, size_t count, double limit,
                         struct ypi_finding *f)
{
    (void)limit;
    return none(points, count, ypi_thread_axes, f);
}

#define U YPI_URGENCY_KNOW

/* clang-format off */
static const struct ypi_run_rule rules[] = {
    {"batching-gain", U, ypi_place_batch, ypi_batch_axes, false, 2, batch_gains,
     "{name}{of} does {gain} times as much a second with {axis} {best} as with {axis} {first}; {end}.",
     {NULL}},
    {"batching-none", U, ypi_place_batch, ypi_batch_axes, false, 2, batch_none,
     "{name}{of} gains nothing from a larger {axis}: from {first} to {last} less than a tenth, at the ends of the intervals.",
     {"keep {axis} {first}, for the least memory and latency", NULL}},
    {"threads-gain", U, ypi_place_threads, ypi_thread_axes, false, 2, threads_gain,
     "{name}{of} does {gain} times as much a second on {best} {axis} as on {first}; {end}.",
     {NULL}},
    {"threads-none", U, ypi_place_threads, ypi_thread_axes, false, 2, threads_none,
     "{name}{of} gains nothing from more {axis}: from {first} to {last} less than a tenth, at the ends of the intervals.",
     {"use {first}", "look what they share: memory's rate, a lock, a part that one does alone", NULL}},
};
/* clang-format on */

const struct ypi_run_family ypi_batching_rules = {false, rules, sizeof rules / sizeof *rules};
