/* What starts the processes of a case of several ranks. */
#pragma once

#include "harness/vocabulary/case.h"
#include "harness/vocabulary/options.h"

/* Its absolute path, found once a run: `--launcher`, or for "auto" srun inside an allocation of
 * Slurm and mpirun elsewhere. NULL: there is none; *reason says what was looked for. Static texts.
 */
const char *ypi_launcher(const struct ypi_options *o, const char **reason);

/* How many cases of several ranks may run at once, each on a node of its own: with --pack, inside
 * an allocation of Slurm, as many as it has nodes; else 1. */
int ypi_pack_nodes(const struct ypi_options *o);
/* Whether this case is one of them: it has several ranks, and not more than the smallest node of
 * the allocation has processors, and its placement does not ask for several nodes. */
bool ypi_is_packed(const struct yp_case *c, const struct ypi_options *o);

/* Why a case of several ranks cannot run here, or with these options: a static text. NULL: it can,
 * or it has one rank. */
const char *ypi_ranks_refused(const struct yp_case *c, const struct ypi_options *o);
