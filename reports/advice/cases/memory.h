#pragma once

#include "reports/advice/rule.h"

/* What of the case can be made smaller, as it is in its axes: the cheapest first. */
void ypi_try_smaller(const struct ypi_kept *kept, struct ypi_finding *f);
