/* Where options come from: built in, yieldpoint.ini, YIELDPOINT_OPTIONS, the command line. What is
 * later wins; --show-config tells for each which it was. */
#pragma once

#include "harness/collect/options.h"

/* --show-config: the file, the root, every option with its value and where it stands. */
void ypi_show_configuration(const struct ypi_options *o);

/* Why the history is the file that it is: where the option was given, else where it is looked for;
 * NULL: not known. */
const char *ypi_history_why(const struct ypi_options *o);
