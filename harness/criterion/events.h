/* What Criterion tells of the processes that it starts. */
#pragma once

#include "harness/run/plan.h"

struct criterion_test_set;

struct ypi_events {
    void (*begin)(void);              /* the memory that it shares with the processes is there */
    void (*start)(struct ypi_item *); /* also of one that it passes over, which has no process */
    /* The process is gone, even where Criterion believes it in the middle of the test. More than
     * once for some. */
    void (*end)(struct ypi_item *, int signal_number, int exit_code);
};

/* Initializes Criterion with those items of the plan that need a process; it calls `events`, in the
 * runner's thread. To be given back by criterion_finalize(). */
struct criterion_test_set *ypi_events_begin(struct ypi_plan *plan, const struct ypi_events *events);
