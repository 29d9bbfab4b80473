/* Stacks as a case's process sent them, as text: functions and lines where addr2line finds them. */
#pragma once

#include "harness/vocabulary/result.h"

/* One frame a line, innermost first, each behind `indent`: "at work (tests/a.c:12)", or
 * "at libm.so.6+0x1f2a0"; those of the C library around what it calls are left out. NULL when there
 * is none; the caller frees. */
char *ypi_stack_text(const struct ypi_stack *stack, const char *indent);

/* The same in one line: "work (tests/a.c:12) < main (tests/a.c:30)". */
char *ypi_stack_line(const struct ypi_stack *stack);

/* Whether a library keeps threads for later, by its path: OpenMP, OpenBLAS, CUDA. */
bool ypi_is_pool(const char *path);

/* Whether the thread belongs to such a one. */
bool ypi_stack_of_pool(const struct ypi_stack *stack);
