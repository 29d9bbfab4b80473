/* Which case gets the next pairs. */
#ifndef YPI_SCHEDULE_H
#define YPI_SCHEDULE_H

#include "gate/duel.h"

struct ypi_schedule {
    struct ypi_duel *const *duels;
    int count;
    double seconds;            /* for all of them */
    double case_seconds;       /* for one */
    const volatile bool *stop; /* polled */
    /* After each turn of a case: where it stands, and how many seconds are left. */
    void (*tell)(void *arg, int at, int decided, double left);
    void *arg;
};

/* Each case in its turn until all are decided or the time is over: those that are decided at once
 * leave theirs to the others. False: it was stopped. */
bool ypi_schedule_run(const struct ypi_schedule *s, struct ypi_seed *coin);

#endif
