/* Which processes a case's process has started. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* What carries the number of a case's process in the environment of all that it starts: Criterion's
 * own mark, or ours where a program that links Criterion would take that for an order to run a
 * test. */
#define YPI_MARK_OF_CRITERION "BXFI_MAP"
#define YPI_MARK "YIELDPOINT_WORKER"
bool ypi_started_by(pid_t pid, pid_t worker);
