/* The launcher of a case's ranks. */
#pragma once

#include "harness/message/job.h"

/* Starts it with as many copies of this program as the job has ranks. What it prints itself goes to
 * the file `output` where the case's output is captured. It dies with this process. -1 with
 * yp_last_error() set. */
pid_t ypi_launch(const struct ypi_job *job, const char *output);

/* "mpirun": the launcher's name for messages. */
const char *ypi_launcher_name(const struct ypi_job *job);

/* Whether it goes on where one of its processes is killed, and prints that. */
bool ypi_launcher_tells(const struct ypi_job *job);

/* How many nodes the allocation that this program runs in has; 1 outside of one. */
int ypi_launcher_nodes(void);
bool ypi_on_several_nodes(void);

/* After srun ended before any rank began: that it lacks the plugin by which the ranks' MPI finds
 * the others, with those it has. NULL: it does not, or nobody can tell. The caller frees. */
char *ypi_launcher_lacks(const struct ypi_job *job);

/* Whether the user's own environment has the launcher bind the ranks; to be asked before it is
 * started. */
bool ypi_launcher_binds(void);
