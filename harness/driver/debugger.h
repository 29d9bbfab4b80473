/* --gdb: the selected case under the debugger. */
#pragma once

#include "harness/collect/collect.h"

/* Executes gdb on this program in its place: the words of the command line but --gdb, with
 * --no-fork and --speed=off before them, so that the body runs in the very process. Comes back
 * only when it cannot, which was told: YPI_EXIT_USAGE where the selection is not one case
 * of one process, YPI_EXIT_INTERNAL where there is no gdb. */
enum ypi_exit ypi_debug(const struct ypi_collection *c, int selected, char **argv);
