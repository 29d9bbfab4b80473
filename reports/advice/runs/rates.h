/* Items a second of a point, with the interval that the median's gives it. */
#pragma once

#include "reports/advice/rule.h"

struct ypi_rate_of {
    double rate, low, high; /* NaN: no items, or no time */
    const char *unit;
};
struct ypi_rate_of ypi_point_rate(const struct ypi_point *point);
/* Pixels where a tile's are known: of `pixels`, or of square tiles counted by samples, tiles,
 * images or cubes. */
struct ypi_rate_of ypi_point_pixels(const struct ypi_point *point);

double ypi_place_batch(const struct ypi_kept *kept); /* of cases that passed, as all of these */
double ypi_place_tile(const struct ypi_kept *kept);
double ypi_place_threads(const struct ypi_kept *kept);
