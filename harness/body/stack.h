/* Stacks of this process's threads, for the failure of a case that crashed or was too slow. */
#pragma once

#include "harness/vocabulary/case.h"

#include <stdint.h>

/* From now on a crash sends its stack, and writes what was printed without an end of line, before
 * the process dies of it. A sanitizer's handlers of crashes stay. */
void ypi_stack_watch(const struct yp_case *t);

/* Frames of the calling thread from `frame` on (__builtin_frame_address(0)) are the framework's.
 * Returns what was set before. */
const void *ypi_stack_below(const void *frame);

/* Where it is kept, for the runner, which reads this process's memory. */
const void *ypi_stack_below_at(void);

/* Sends the stack of an allocation of the calling thread, from where the call returns to on. */
void ypi_stack_of_allocation(uintptr_t caller);

/* Sends the stack of each thread that was not there at ypi_stack_watch(), for a note. */
void ypi_stack_of_left_threads(void);
