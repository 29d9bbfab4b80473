/* Relations of a run: what they find, and the fresh rounds that are asked before one of speed
 * fails.
 *
 * In a round each case that a finding in question reads runs once more, in a process of its own;
 * one that several findings read runs once for all of them. The order is that of the run, so what
 * is compared is measured within minutes of each other. A round's processes are stored as attempts
 * of their cases, whose own verdicts they leave alone. */
#pragma once

#include "harness/driver/runner.h"

/* All relations that wait, once every case has its result. */
struct ypi_rounds *ypi_rounds_begin(struct ypi_runner *run);
void ypi_rounds_free(struct ypi_rounds *rounds); /* NULL is allowed */

/* Lets the cases of the next round wait for a process; false: none is wanted. */
bool ypi_rounds_next(struct ypi_runner *run);
/* The end of a process of a round; takes the result. */
void ypi_rounds_finish(struct ypi_runner *run, struct ypi_item *item, struct ypi_result *r);
/* What the round brought. A finding whose cases did not all end is not asked about again. */
void ypi_rounds_take(struct ypi_runner *run);

/* Judges, stores and prints the relations, with as many rounds as there were. */
void ypi_rounds_conclude(struct ypi_runner *run);
