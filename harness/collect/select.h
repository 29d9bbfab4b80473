/* -m, -k and node ids: which of the collected cases run. */
#ifndef YPI_SELECT_H
#define YPI_SELECT_H

#include "harness/collect/collect.h"

/* Moves the selected cases to the front, in order, and sets *selected. Returns YPI_EXIT_OK, or
 * YPI_EXIT_USAGE after telling stderr: a malformed expression, an unregistered tag, an id or an
 * axis of --set that nothing has. */
enum ypi_exit ypi_select(struct ypi_collection *c, const struct ypi_options *o, int *selected);

#endif
