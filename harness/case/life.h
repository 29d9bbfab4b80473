/* The process of a case from its first instruction to its last. */
#pragma once

#include "harness/message/job.h"

/* Criterion's test function: the same for every case. */
void ypi_child_main(void);

/* Runs the case in this process and leaves it: for a program that was executed anew, under
 * Valgrind, from the process that Criterion made. */
void ypi_child_direct(const struct ypi_job *job) __attribute__((noreturn));

/* Runs the case in this process, which goes on, unless the body crashes or exits. Its accounts
 * begin anew: what earlier cases left behind is not its own. The job is to stay as long as the
 * process. */
void ypi_child_here(const struct ypi_job *job);
