/* The case's own process of a case of several ranks: it runs no body, but starts the ranks, watches
 * them, and makes one result of theirs. */
#pragma once

#include "harness/vocabulary/case.h"

/* From the start of the launcher until nothing of it runs any more. Sends what came of the ranks.
 */
void ypi_conduct(struct yp_case *t);
