/* Processes that are stopped and go on later, or are killed while they stand still. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct ypi_frozen {
    pid_t *pids; /* owned */
    int count;
};

/* Stops `root` and all its descendants, those too that they start meanwhile (for half a second),
 * and adds them to *frozen, which begins as zeros. Processes that something else has stopped are
 * left out. */
void ypi_freeze(struct ypi_frozen *frozen, pid_t root);

/* Waits until no thread of `pid` runs any more, at most `seconds`. */
void ypi_await_frozen(pid_t pid, double seconds);

/* Lets them go on, and clears *frozen. */
void ypi_thaw(struct ypi_frozen *frozen);

/* The same without letting them go on. */
void ypi_frozen_clear(struct ypi_frozen *frozen);

/* Stops this whole process, as its SIGTSTP does by default; comes back when it goes on. Where no
 * shell could let it go on, the kernel does not stop it. */
void ypi_stop_here(void);
