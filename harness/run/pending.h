/* What a case has printed and its C library has not written yet: a line without an end. */
#ifndef YPI_PENDING_H
#define YPI_PENDING_H

#include "harness/run/plan.h"

#include <stdio.h>

/* Where `*stream`, a copy of a stream, has such bytes in its process's memory, and how many. */
const void *ypi_pending(const FILE *stream, size_t *size);

/* Writes those of a case's process, which was stopped, to where its output goes; not those of a
 * body that has put something else in that place. */
void ypi_pending_rescue(const struct ypi_item *item);

#endif
