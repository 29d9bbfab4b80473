/* Signals to the runner: what they ask for. */
#pragma once

#include <stdbool.h>

/* Set by handlers. */
struct ypi_requests {
    volatile bool interrupted; /* end the cases that run */
    volatile bool urgent;      /* end everything, the runner as well */
    volatile bool suspended;   /* stop, with the cases, until a shell lets the runner go on */
};

/* To be called first, since Criterion catches some of them: what is ignored now stays so. nohup
 * ignores SIGHUP, a script's shell SIGINT for what it starts in the background. */
void ypi_signals_look(void);

/* From now on the signals that end a program set *requests, which stays where it is. With `alone`,
 * where cases run in this process, a second one ends it at once. */
void ypi_signals_catch(struct ypi_requests *requests, bool alone);

/* SIGTSTP (Ctrl-Z) sets `suspended`, from the one call to the other. */
void ypi_signals_catch_stops(void);
void ypi_signals_leave_stops(void);
