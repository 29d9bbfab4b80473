/* Which cases --instructions and --audit can count. */
#pragma once

#include "harness/vocabulary/case.h"

/* Whether a case has something to be counted, which one that times nothing has not. */
bool ypi_count_wanted(const struct yp_case *c);

/* NULL when it can be counted here or has nothing to count, else the reason. Static text. */
const char *ypi_callgrind_refuses(const struct yp_case *c);

/* NULL when it may be counted or has nothing to count, else the reason. Static text. Whether the
 * device permits it is known in the case's process only. */
const char *ypi_audit_refuses(const struct yp_case *c);
