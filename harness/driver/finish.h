/* The end of an item: its result is stored and printed. */
#pragma once

#include "harness/driver/runner.h"

/* Nothing more is begun: what has no result yet is dropped. */
void ypi_run_stop(struct ypi_runner *run);

/* Cases skipped by declaration need no process; they are printed where their turn comes, here up to
 * the `number`th item. */
void ypi_finish_skipped(struct ypi_runner *run, int number);
/* A result into the history, and to the reporters that take each one stored. */
void ypi_finish_store(struct ypi_runner *run, const struct ypi_result *r);
/* Stored, printed and kept for the relations that read it, but for its samples. */
void ypi_finish_close(struct ypi_runner *run, struct ypi_item *item, struct ypi_result *r);

static inline bool ypi_item_open(const struct ypi_item *item)
{
    return item->state == YPI_WAITING || item->state == YPI_RUNNING;
}
