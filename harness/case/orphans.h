/* What a case leaves behind: processes still running, descriptors that are gone. */
#pragma once

#include "harness/vocabulary/case.h"

/* Kills and reaps every process the case left running and sends a failure that names them. */
void ypi_orphans_check(struct yp_case *t);

/* The open descriptors of this process, without that of MPICH's launcher, and what they are, one a
 * line; the caller frees. */
char *ypi_descriptors(void);

/* Those of `before` that are no longer what they were: "5 (socket:[123])"; NULL: none. */
char *ypi_descriptors_lost(const char *before);
