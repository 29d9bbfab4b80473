/* Tiles of different sizes by what they have in common: pixels. */
#include "reports/advice/runs/rates.h"

#include <math.h>

#define MIB 1048576.0

struct ranked {
    const struct ypi_point *best, *next; /* the two with the most */
};

/* A rate's interval over memory, which is exact: a second and MiB. */
static struct ypi_rate_of of_point(const struct ypi_point *point, bool of_memory)
{
    struct ypi_rate_of r = ypi_point_pixels(point);
    double mib = point->kept->peak / MIB;
    if (of_memory)
        r = (struct ypi_rate_of){r.rate / mib, r.low / mib, r.high / mib, "pixels/MiB"};
    return r;
}

static bool rank(const struct ypi_point *points, size_t count, bool of_memory, struct ranked *out)
{
    *out = (struct ranked){0};
    for (size_t i = 0; i < count; i++) {
        double rate = of_point(&points[i], of_memory).rate;
        if (!(rate > 0) || !isfinite(rate))
            return false;
        if (out->best == NULL || rate > of_point(out->best, of_memory).rate) {
            out->next = out->best;
            out->best = &points[i];
        } else if (out->next == NULL || rate > of_point(out->next, of_memory).rate) {
            out->next = &points[i];
        }
    }
    return out->next != NULL && out->best->x != out->next->x;
}

static bool most(const struct ypi_point *points, size_t count, bool of_memory,
                 struct ypi_finding *f)
{
    struct ranked r;
    if (!rank(points, count, of_memory, &r))
        return false;
    struct ypi_rate_of best = of_point(r.best, of_memory);
    struct ypi_rate_of next = of_point(r.next, of_memory);
    if (!(best.low > next.high))
        return false;
    ypi_slot(f, "name", "%s", points[0].m->name);
    ypi_slot(f, "axis", "%s", ypi_axis_name(points[0].kept, ypi_tile_axes));
    ypi_slot(f, "best", "%g", r.best->x);
    ypi_slot(f, "next", "%g", r.next->x);
    ypi_slot(f, "times", "%s",
             ypi_say_ratio(best.rate / next.rate, best.low / next.high, best.high / next.low));
    for (size_t i = 0; i < count; i++) {
        struct ypi_rate_of rate = of_point(&points[i], of_memory);
        ypi_finding_evidence(f, "%s %g: %s", ypi_axis_name(points[0].kept, ypi_tile_axes),
                             points[i].x, ypi_say_rate(rate.rate, rate.low, rate.high, rate.unit));
    }
    return true;
}

static bool most_pixels(const struct ypi_point *points, size_t count, double limit,
                        struct ypi_finding *f)
{
    (void)limit;
    return most(points, count, false, f);
}

static bool most_of_memory(const struct ypi_point *points, size_t count, double limit,
                           struct ypi_finding *f)
{
    (void)limit;
    return most(points, count, true, f);
}

/* clang-format off */
static const struct ypi_run_rule rules[] = {
    {"tiles-pixels", YPI_URGENCY_KNOW, ypi_place_tile, ypi_tile_axes, false, 2, most_pixels,
     "{name}{of} does the most pixels a second with {axis} {best}: {times} times those of {axis} {next}.",
     {"take {axis} {best} where many tiles are worked on, and the smallest where one must be quick", NULL}},
    {"tiles-memory", YPI_URGENCY_KNOW, ypi_place_tile, ypi_tile_axes, false, 2, most_of_memory,
     "{name}{of} does the most pixels a second for its memory with {axis} {best}: {times} times those of {axis} {next}.",
     {"take {axis} {best} where memory is short", NULL}},
};
/* clang-format on */

const struct ypi_run_family ypi_tile_rules = {false, rules, sizeof rules / sizeof *rules};
