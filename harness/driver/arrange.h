/* Which of the selected cases run, and in which order: those of a list (--only), one part of
 * several
 * (--shard), without what has a result (--resume), in another order (--shuffle), as those before
 * ended (--lf, --ff, --sw). */
#pragma once

#include "harness/collect/collect.h"

/* Moves what runs to the front of the `*selected` first cases, in its order, and sets *selected.
 * *told: what was done, a line each, NULL or "" where nothing was; the caller frees. YP_OK; or
 * YP_IO with yp_last_error() set where there is a history that cannot be read. */
enum yp_status ypi_arrange(struct ypi_collection *c, const struct ypi_options *o, int *selected,
                           char **told);
