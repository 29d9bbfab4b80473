/* The end of an item: its result is judged, stored and printed. */
#ifndef YPI_FINISH_H
#define YPI_FINISH_H

#include "harness/driver/run.h"

/* Nothing more is begun: what has no result yet is dropped. */
void ypi_run_stop(struct ypi_runner *run);

/* Its process has ended: the last word on the item, or one more process for it in the next pass. */
void ypi_finish(struct ypi_runner *run, struct ypi_item *item, int signal_number, int exit_code);
/* Cases skipped by declaration need no process; they are printed where their turn comes, here up to
 * the `number`th item. */
void ypi_finish_skipped(struct ypi_runner *run, int number);
/* The first item that waits for a process never got one within `seconds`. */
void ypi_finish_unstarted(struct ypi_runner *run, double seconds);
/* A fixture of the item, which waits for its process, has failed: so does it, without one. */
void ypi_finish_without(struct ypi_runner *run, struct ypi_item *item, const char *fixture,
                        const char *reason);
/* Those that waited for one more process when the run was stopped. */
void ypi_finish_pending(struct ypi_runner *run);
/* A result into the history, and to the reporters that take each one stored. */
void ypi_finish_store(struct ypi_runner *run, const struct ypi_result *r);
/* Stored, printed and kept for the relations that read it, but for its samples. */
void ypi_finish_close(struct ypi_runner *run, struct ypi_item *item, struct ypi_result *r);

static inline bool ypi_item_open(const struct ypi_item *item)
{
    return item->state == YPI_WAITING || item->state == YPI_RUNNING;
}

#endif
