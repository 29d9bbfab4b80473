/* A run that is watched, as lines: drawn in place on a terminal, else one when something changes.
 */
#pragma once

#include "reports/watch/watched.h"

#include <stdbool.h>

struct ypi_screen {
    bool terminal;
    int lines;       /* that stand on the terminal */
    char *said;      /* the last line without a terminal; owned */
    int told_errors; /* failures that were printed */
};

void ypi_screen_open(struct ypi_screen *s);
/* `now`: seconds since 1970. */
void ypi_screen_show(struct ypi_screen *s, const struct ypi_watched *w, double now);
/* The last line: how it ended. */
void ypi_screen_end(const struct ypi_watched *w, double now);
void ypi_screen_close(struct ypi_screen *s);
