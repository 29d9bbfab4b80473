/* Stacks of threads, read from memory: nothing runs for it in the thread whose stack it is. */
#pragma once

#include "base/system/process.h"
#include "harness/stack/registers.h"
#include "harness/stack/target.h"
#include "harness/vocabulary/result.h"

/* The frames of a thread that stands where its registers say, innermost first. Of those that begin
 * beyond `below` on the stack, and the one inside them, none: they are the framework's; 0: all. */
void ypi_walk(const struct ypi_target *target, const struct ypi_registers *registers,
              uint64_t below, struct ypi_stack *out);

/* Those of a process that was stopped, kind YPI_STACK_STUCK, one for each of the threads; without
 * frames where it could not be read, or another program runs there. `below_at` is where in its
 * memory the `below` of its first thread is, 0: nowhere. Returns 0, or the error with which ptrace
 * was refused: frames may be missing then. */
int ypi_walk_stopped(pid_t pid, uint64_t below_at, const struct ypi_thread *threads, int count,
                     struct ypi_stack *out);
