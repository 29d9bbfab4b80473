/* Instruction counts by Callgrind: the same case, executed anew under Valgrind. */
#ifndef YPI_CALLGRIND_H
#define YPI_CALLGRIND_H

#include "child.h"

/* NULL when Valgrind can be run here, else the reason it cannot. Static text; asked once. */
const char *ypi_callgrind_absent(void);

/* In the case's process: executes it anew under Valgrind, as the program itself with the words of
 * ypi_direct. Returns only when that failed, with yp_last_error() set. */
void ypi_callgrind_execute(const struct yp_case *t, const struct ypi_wire *wire);

/* Whether this process runs under Callgrind. */
bool ypi_callgrind_running(void);

/* Around one iteration: zeroes the counts and starts, stops and reads what was counted. NaN when
 * the counts cannot be read. */
void ypi_callgrind_start(void);
double ypi_callgrind_stop(void);

#endif
