/* How far a figure is from its limit. */
#pragma once

#include <math.h>
#include <stdbool.h>

/* A share of a ceiling below this says that the declared work does not bound the measurement, as in
 * branchy integer code: it is no figure to quote, and none for a budget. */
#define YPI_LEAST_SHARE 0.1

/* What is allowed over what was measured, or the other way round where the limit is the least: how
 * many times worse the figure may become; below 1 the limit is not kept. 1 where both are the
 * same, infinity where nothing was measured of what is allowed, NaN for what is negative or no
 * number. */
static inline double ypi_slack(double limit, double measured, bool at_least)
{
    double above = at_least ? measured : limit;
    double below = at_least ? limit : measured;
    if (above == below)
        return 1;
    if (!(above >= 0) || !(below >= 0))
        return NAN;
    return above / below;
}
