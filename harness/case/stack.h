/* Stacks of this process's threads, for the failure of a case that crashed or was too slow. */
#ifndef YPI_STACK_H
#define YPI_STACK_H

#include "harness/case.h"

/* From now on a crash sends its stack before the process dies of it, and each thread that gets
 * YPI_STACK_SIGNAL sends its own. A sanitizer's handlers of crashes stay. */
void ypi_stack_watch(const struct yp_case *t);

/* Frames of the calling thread from `frame` on (__builtin_frame_address(0)) are the framework's.
 * Returns what was set before. */
const void *ypi_stack_below(const void *frame);

/* Asks each thread that was not there at ypi_stack_watch() for its stack, for a note. */
void ypi_stack_of_left_threads(void);

#endif
