/* Test sources from outside the revisions. */
#pragma once

#include "gate/revision.h"

/* Copies the directory or file `from` into the cache: sets the recipe's .tests and .tests_lock.
 * Links are followed; what is called .git or .yieldpoint is left out. YP_INVALID: nothing is there,
 * or something that is no file. */
enum yp_status ypi_tests_take(struct ypi_recipe *recipe, const char *from);
