/* Where a run is printed: how wide it is, whether it takes colours, and rules across it. */
#pragma once

#include "harness/vocabulary/options.h"

#include <stdbool.h>
#include <stdio.h>

enum ypi_colour { YPI_PLAIN, YPI_BOLD, YPI_GREEN, YPI_RED, YPI_YELLOW, YPI_MAGENTA, YPI_CYAN };

struct ypi_screen {
    FILE *out;
    int columns;   /* of COLUMNS, else of the terminal, else 80 */
    bool terminal; /* no file and no pipe */
    bool coloured;
};

/* Colours, where not told by --color: as PY_COLORS, NO_COLOR and FORCE_COLOR say, else on a
 * terminal that is not TERM=dumb. */
void ypi_screen_open(struct ypi_screen *s, FILE *out, enum ypi_colouring how);

/* What begins and what ends a colour; "" without colours. */
const char *ypi_colour(const struct ypi_screen *s, enum ypi_colour colour);
const char *ypi_colour_end(const struct ypi_screen *s);

/* "==== title ====" over the whole width, to `to`; the title may have colours of its own. */
void ypi_screen_rule(const struct ypi_screen *s, FILE *to, char with, enum ypi_colour colour,
                     const char *title);
