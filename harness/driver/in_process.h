/* --no-fork: cases in the runner's own process, one after the other, without Criterion. */
#pragma once

#include "harness/driver/runner.h"

/* Runs the item's case here and finishes it. A body that crashes or is killed ends this process;
 * of one that calls exit() the result is stored and told, and the process ends with
 * YPI_EXIT_FAILED. `end`: tells the end of the run then. */
void ypi_run_here(struct ypi_runner *run, struct ypi_item *item, void (*end)(void));
