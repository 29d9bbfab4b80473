#include "reports/advice/runs/rates.h"

#include <math.h>
#include <string.h>

struct ypi_rate_of ypi_point_rate(const struct ypi_point *point)
{
    const struct ypi_kept_measure *m = point->m;
    struct ypi_rate_of rate = {NAN, NAN, NAN, ""};
    if (m == NULL || !(m->items > 0) || !isfinite(m->items) || !(m->low > 0) || !isfinite(m->high))
        return rate;
    rate = (struct ypi_rate_of){m->items / m->median, m->items / m->high, m->items / m->low,
                                *m->unit != '\0' ? m->unit : "items"};
    return rate;
}

struct ypi_rate_of ypi_point_pixels(const struct ypi_point *point)
{
    static const char *const squares[] = {"samples", "tiles", "images", "cubes", "patches"};
    struct ypi_rate_of rate = ypi_point_rate(point);
    double side = ypi_axis_number(point->kept, ypi_tile_axes);
    if (strcmp(rate.unit, "pixels") == 0)
        return rate;
    for (size_t i = 0; i < sizeof squares / sizeof *squares; i++)
        if (side > 0 && strcmp(rate.unit, squares[i]) == 0)
            return (struct ypi_rate_of){rate.rate * side * side, rate.low * side * side,
                                        rate.high * side * side, "pixels"};
    return (struct ypi_rate_of){NAN, NAN, NAN, ""};
}

static double place(const struct ypi_kept *kept, const char *const *axes)
{
    return kept->passed ? ypi_axis_number(kept, axes) : (double)NAN;
}

double ypi_place_batch(const struct ypi_kept *kept)
{
    return place(kept, ypi_batch_axes);
}

double ypi_place_tile(const struct ypi_kept *kept)
{
    return place(kept, ypi_tile_axes);
}

double ypi_place_threads(const struct ypi_kept *kept)
{
    return place(kept, ypi_thread_axes);
}
