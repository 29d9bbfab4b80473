/* The last word on an item, or one more process for it. */
#pragma once

#include "harness/driver/runner.h"

/* Its process has ended; one more is for the next pass. */
void ypi_finish(struct ypi_runner *run, struct ypi_item *item, int signal_number, int exit_code);
/* The first item that waits for a process never got one within `seconds`. */
void ypi_finish_unstarted(struct ypi_runner *run, double seconds);
/* A fixture of the item, which waits for its process, has failed: so does it, without one. */
void ypi_finish_without(struct ypi_runner *run, struct ypi_item *item, const char *fixture,
                        const char *reason);
/* Those that waited for one more process when the run was stopped. */
void ypi_finish_pending(struct ypi_runner *run);
