/* The ranks of a case, as its own process sees them. */
#pragma once

#include "harness/message/channel.h"
#include "harness/message/job.h"
#include "harness/message/rank_files.h"

struct ypi_member {
    char *channel, *output; /* paths; output NULL: not captured */
    struct ypi_standing *standing;
    struct ypi_report report; /* of its messages so far, and */
    struct ypi_result result; /* what they say */
    off_t seen;               /* size of the channel that both are of */
    /* The operation that it waits in now, and since when; 0: in none. */
    uint64_t waits_in;
    double waits_since;
    /* Since when the process beside it is gone without a word; 0: it is not, or nobody can tell. */
    double vanished;
};

struct ypi_members {
    struct ypi_member *of; /* `count` of them */
    int count;
};

/* Makes their files. YP_IO with yp_last_error() set; the caller closes in any case. */
enum yp_status ypi_members_open(struct ypi_members *members, const struct ypi_job *job);
/* Removes the files too. */
void ypi_members_close(struct ypi_members *members, const struct ypi_job *job);

/* Reads what has come since the last time; `now` is ypi_kernel_now(). */
void ypi_members_look(struct ypi_members *members, double now);

/* Whether it is over, by its own process: it can have an end of its own, or have been killed. */
bool ypi_member_is_over(const struct ypi_member *m);
/* Whether it ended so that the others may wait for it in vain: it crashed, left, or left its body
 * early. */
bool ypi_member_is_lost(const struct ypi_member *m);
/* Whether it ended as a case does, with or without failed checks. */
bool ypi_member_is_whole(const struct ypi_member *m);

/* Bytes that all of them have written. */
uint64_t ypi_members_written(const struct ypi_members *members);
