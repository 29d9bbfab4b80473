/* What Criterion takes for granted: without it the program would be ended, or hang, in the middle
 * of a run. */
#pragma once

#include <yieldpoint/device.h>

/* Whether there are descriptors, processes, shared memory and /proc enough for `cases` cases,
 * `jobs` of them at once, `fixtures` of them fixtures; any other status with yp_last_error() saying
 * what is missing and how much of it is needed. */
enum yp_status ypi_surroundings_check(int cases, int jobs, int fixtures);

/* A runner that is killed while a case's process comes to life leaves a file in /dev/shm. Criterion
 * would end the run of another user whose case gets the same process number one day. Removes those
 * of no living process, at the beginning of a run. */
void ypi_surroundings_tidy(void);

/* In a process that was forked just now for a case: says so where such a file cannot be removed. */
void ypi_surroundings_make_way(void);
