/* Words that name cases: "dir", "file.c", "file.c::test", "file.c::test[case]". A `-` in a value
 * may stand there as %2d, and a `:` as %3a, as in ids of Yieldpoint 0.1. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Whether `node` names the case `id`: as a directory, a file, a test or whole. */
bool ypi_node_names(const char *node, const char *id);

/* Whether it is the whole id. */
bool ypi_node_is(const char *node, const char *id);

/* Whether the id begins so, as of --deselect. */
bool ypi_node_begins(const char *node, const char *id);
