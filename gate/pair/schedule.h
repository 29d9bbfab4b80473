/* Which case gets the next pairs. */
#pragma once

#include "gate/pair/duel.h"

struct ypi_schedule {
    struct ypi_duel *const *duels;
    int count;
    double seconds;            /* for all of them */
    double case_seconds;       /* for one */
    const volatile bool *stop; /* polled */
    /* After each turn of a case: where it stands, and how many seconds are left. */
    void (*progress)(void *arg, int at, int decided, double left);
    void *arg;
};

/* The next one of `count` cases, `left` seconds before the end: those that look slower and may be
 * decided by then first, then the others, each time the one that is nearest to an answer, and of
 * equals the one with the least `spent`. A case whose prospect has negative seconds is passed over;
 * -1: all are. */
int ypi_schedule_next(const struct ypi_prospect *prospects, const double *spent, int count,
                      double left);

/* Half of the time is shared evenly; then the case that ypi_schedule_next() names gets some, until
 * all are decided or the time is over. Errors do not depend on that order: evidence may be looked
 * at, and left, after any pair. False: it was stopped. */
bool ypi_schedule_run(const struct ypi_schedule *s, struct ypi_seed *coin);
