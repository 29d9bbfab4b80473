/* One result of a case made of those of its ranks. */
#pragma once

#include "harness/conduct/members.h"

/* Sends it by the case's channel: `all` has the failures. `crowded`: there are more ranks than
 * processors. */
void ypi_merge(struct yp_case *t, const struct ypi_members *members, const struct ypi_result *all,
               bool crowded);

/* Writes what the ranks have written to the case's own output, in a section for each that wrote
 * something: all of it where it is short, else the end of each. Behind them, where the case failed,
 * what the launcher printed to `launcher`. Nothing where output is not captured. */
void ypi_merge_outputs(const struct ypi_job *job, const struct ypi_members *members,
                       const struct ypi_result *all, const char *launcher);
