/* A case with each of its allocations refused in turn. */
#pragma once

#include "harness/vocabulary/result.h"

/* Judges the process `r`, in which one allocation was refused on purpose, for the case's result
 * `whole`: it may end as out of memory or with any failure that it reports, or find another way and
 * keep its promises; a crash, a hang, a leak or anything left behind is a failure of the case.
 * Counts each as a value of `whole`. */
void ypi_failed_allocation(struct ypi_result *whole, const struct ypi_result *r);
