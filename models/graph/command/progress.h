/* How far the making of graphs is: a bar on a terminal, a line every 30 seconds elsewhere. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct ypi_graph_progress {
    bool terminal;
    double told; /* when the last line was written; 0: at no time */
};

enum { YPI_GRAPH_PROGRESS = 256 };

/* What is to be written now, at `now` seconds of any clock above 0; "": nothing. `text` has
 * YPI_GRAPH_PROGRESS bytes. `done` is `graphs` in the last call. */
const char *ypi_graph_progress(struct ypi_graph_progress *p, double now, size_t done, size_t graphs,
                               double seconds_left, char *text);
