/* What a gate found, kept in the history. */
#pragma once

#include "gate/comparison.h"

#include <yieldpoint/device.h>

/* Adds it to the history at `path`, which is made where there is none. `exit_code`: what the gate
 * ends with. YP_IO with yp_last_error() set. */
enum yp_status ypi_kept_store(const char *path, const struct ypi_comparisons *all, int exit_code);

/* Reads the gate whose UUID begins with `word`, or the newest where that is "last", from the
 * history at `path` (NULL: the nearest). YP_INVALID
 * where there is none or more than one, YP_IO; with yp_last_error() set. *out is to be cleared in
 * any case. */
enum yp_status ypi_kept_load(const char *path, const char *word, struct ypi_comparisons *out);
