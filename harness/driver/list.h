/* --co: the cases without running them; with -v what was measured of their budgets last, on this
 * machine. */
#pragma once

#include "harness/collect/collect.h"

void ypi_list(const struct ypi_collection *c, int selected, const struct ypi_options *o);
