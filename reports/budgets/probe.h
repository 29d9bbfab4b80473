/* A suite under --slowdown: do its budgets notice? */
#pragma once

#include <stdbool.h>

struct ypi_probe {
    const char *program; /* a path, or a name on PATH */
    char **words;        /* its options and ids; --slowdown 2x unless they say otherwise */
    int word_count;
    bool json;
};

/* Runs the suite with a history of its own, what it prints on the standard error stream, and lists
 * the timed cases that no budget failed. An enum ypi_command_exit: YPI_COMMAND_NOTHING when there
 * are such, YPI_COMMAND_UNSELECTED when nothing was timed. */
int ypi_probe(const struct ypi_probe *probe);
