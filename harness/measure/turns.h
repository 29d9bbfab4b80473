/* Measuring in turns: two builds of a case are alive at once, and the gate says whose
 * batches run next. The process of the case connects to the socket that --turns names and speaks in
 * lines; it waits without using a processor. One answers, the other asks:
 *
 *   turns 1                        the case, once: the version of this
 *   measurement NAME               the case: a measurement is warm; then it waits
 *   run N                          run N iterations at least
 *   took SECONDS ITERATIONS        the case: how long they took together; then it waits
 *   over                           the case: the body wants no more of this measurement
 *   next                           enough: go on to the next measurement
 *   leave                          enough of all: the body is left
 *
 * A closed connection is `leave`. NAME goes to the end of its line, without control characters. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct yp_measurement;
struct yp_case;

/* Connects; leaves the body as failed where nobody listens. Nothing without --turns, or where it is
 * done already. */
void ypi_turns_connect(struct yp_case *t);

/* The measurement is warm: tells it, and waits for the first turn. False: none comes. */
bool ypi_turns_begin(struct yp_measurement *m);

/* A batch of the turn took so long; at the turn's end tells, and waits for the next one. False: the
 * measurement is over. *turned is whether a new turn begins. */
bool ypi_turns_batch(struct yp_measurement *m, double seconds, bool *turned);

/* The measurement ends without having been told to. */
void ypi_turns_over(struct yp_measurement *m);
