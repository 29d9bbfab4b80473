/* -m, -k and node ids: which of the collected cases run. */
#pragma once

#include "harness/collect/collect.h"

/* Moves the selected cases to the front, in order, and sets *selected; fixtures only where an id of
 * theirs asks for them. Returns YPI_EXIT_OK, or
 * YPI_EXIT_USAGE after telling stderr: a malformed expression, an unregistered tag, an id or an
 * axis of --set that nothing has. */
enum ypi_exit ypi_select(struct ypi_collection *c, const struct ypi_options *o, int *selected);

/* The same of cases that were not collected but read somewhere: whether -m and -k are well formed,
 * or stderr was told, and whether they and the ids mean this case. */
bool ypi_selection_is_right(const struct ypi_options *o);
bool ypi_is_selected(struct yp_case *c, const struct ypi_options *o);
/* Whether an id of the command line means this case. */
bool ypi_is_meant(const char *wanted, const struct yp_case *c);
