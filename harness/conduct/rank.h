/* The process that a launcher starts for a rank. It starts the rank in a process of its own and
 * stays beside it: so the rank's end is known exactly, on every node, no launcher ends the other
 * ranks because of it, and where a rank stood can be told before it is killed. */
#pragma once

#include "harness/message/job.h"

/* In the environment of the ranks: the path of the case's channel. */
#define YPI_RANKS_MARK "YIELDPOINT_RANKS"

/* Files of all ranks together (rank_files.h): the job, which the case's process writes before it
 * starts the launcher, what it makes once all ranks are to end, and what once they have. */
#define YPI_RANKS_JOB "ranks.job"
#define YPI_ORDER "order"
#define YPI_LEAVE "leave"

/* Whether this program was started as a rank. It then comes back in the rank's process, with its
 * job; NULL: none can be read, yp_last_error() says why. */
bool ypi_rank_executed(const struct ypi_job **job);
