/* Comparisons as text, Markdown and JSON. */
#pragma once

#include "base/text/text.h"
#include "gate/comparison.h"

#include <cJSON.h>
#include <stdio.h>

/* Exit codes of `gate`, `compare`, `reproduce` and `bisect`. */
enum ypi_gate_exit {
    YPI_GATE_FINE = 0,
    YPI_GATE_WORSE = 1,
    YPI_GATE_INTERRUPTED = 2,
    YPI_GATE_INTERNAL = 3, /* a build failed, a file cannot be read or written */
    YPI_GATE_USAGE = 4,
    YPI_GATE_UNSELECTED = 5,
    YPI_GATE_UNSURE = 6,
};

/* Worse or changed: 1; else cannot say of one: 6; else 0. What one side alone has is reported
 * and changes nothing, unless .missing_fails. */
int ypi_summary_exit(const struct ypi_comparisons *all);

/* What is worse first, then changed, cannot say, better, one side only; what is the same as a
 * count, and a line each with `verbose`. Ends with one line that says it all: "1 slower, 2 cannot
 * say, 37 same in 212 s". Columns and colours of a terminal as reports/format does. */
void ypi_summary_text(FILE *out, const struct ypi_comparisons *all, bool verbose);
/* A table for a comment in a code review; escapes `|`, `<`, backquotes and line ends of names. */
void ypi_summary_markdown(FILE *out, const struct ypi_comparisons *all);
/* Parts of the two above: what there is of one comparison; a line without control characters, which
 * would take hold of a terminal, after which the text is empty; what means nothing in a table. */
void ypi_summary_change(struct ypi_text *out, const struct ypi_comparison *c);
void ypi_summary_line(FILE *out, struct ypi_text *text);
void ypi_summary_escaped(struct ypi_text *out, const char *text);
/* Owned by the caller: cJSON_Delete(). */
cJSON *ypi_summary_document(const struct ypi_comparisons *all);
