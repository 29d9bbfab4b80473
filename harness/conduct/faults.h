/* What is wrong with the ranks of a case: from what each sent and how each ended to failures that
 * name ranks. */
#pragma once

#include "harness/conduct/members.h"

/* Why the ranks did not all come to their end by themselves. */
enum ypi_broken_off {
    YPI_NOT_BROKEN_OFF = 0,
    YPI_OFF_LOST,     /* a rank ended so that the others may wait for it in vain */
    YPI_OFF_EARLY,    /* a rank is over, and others wait in an operation of all */
    YPI_OFF_TIME,     /* the case's time is over */
    YPI_OFF_OUTPUT,   /* they wrote too much */
    YPI_OFF_LAUNCHER, /* the launcher is gone, and not all of them have begun, or ended */
};

struct ypi_breaking_off {
    enum ypi_broken_off why;
    char *roll;            /* owned: where they stood; NULL */
    int launcher_status;   /* as of waitpid() */
    bool launcher_is_gone; /* by itself */
    uint64_t oom_kills;    /* before the ranks began */
};

/* All failures of the ranks, and of the case, into a cleared result; the first is the reason. */
void ypi_rank_faults(struct ypi_result *all, const struct ypi_members *members,
                     const struct ypi_job *job, const struct ypi_breaking_off *off);
