/* Instruction counts by Callgrind: the same case, executed anew under Valgrind. */
#pragma once

#include "harness/body/child.h"

/* In the case's process: executes it anew under Valgrind, as the program itself with the case's
 * job in a file beside its channel. Returns only when that failed, with yp_last_error() set. */
void ypi_callgrind_execute(const struct yp_case *t, const struct ypi_job *job);

/* First of all in main(): true when ypi_callgrind_execute() made this process. *job is then what
 * it has to run, or NULL with yp_last_error() set. */
bool ypi_callgrind_executed(const struct ypi_job **job);

/* Whether this process runs under Callgrind. */
bool ypi_callgrind_running(void);

/* Around one iteration: zeroes the counts and starts, stops and reads what was counted. NaN when
 * the counts cannot be read. */
void ypi_callgrind_start(void);
double ypi_callgrind_stop(void);
/* What comes between two calls of this is not counted. */
void ypi_callgrind_toggle(void);
