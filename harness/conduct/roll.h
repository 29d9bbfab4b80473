/* Where each rank of a case stood. */
#pragma once

#include "harness/conduct/members.h"

/* "rank 1", "ranks 0, 2-5". The caller frees. */
char *ypi_rank_names(const bool *in, int count);

/* "ranks 0, 2, 3 in phase exchange in the body, rank 1 in the body; rank 4 over": now. The
 * caller frees. */
char *ypi_roll_call(const struct ypi_members *members);

/* Of ranks that were ended where they stood, the stack of one of each place, as text; NULL: there
 * is none. The caller frees. */
char *ypi_roll_stacks(const struct ypi_members *members);
