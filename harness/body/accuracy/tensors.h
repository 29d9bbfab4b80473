/* The tensors that a check is given. */
#pragma once

#include <yieldpoint/gradient.h>

/* YP_INVALID when one of the slices has no name or no values, ends behind `limit` values, which
 * the check calls `limit_name`, or overlaps another. `check` and `name` begin the message. */
enum yp_status ypi_check_tensors(const char *check, const char *name,
                                 const struct yp_tensor *tensors, size_t count,
                                 const char *limit_name, size_t limit);
