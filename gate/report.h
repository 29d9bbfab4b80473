/* Where a comparison goes: the terminal, files, the history. */
#ifndef YPI_GATE_REPORT_H
#define YPI_GATE_REPORT_H

#include "gate/summary.h"

struct ypi_report {
    const char *history;         /* NULL: the nearest */
    const char *json, *markdown; /* files; NULL: none; "-": the standard output, instead of text */
    bool verbose;
};

/* YPI_GATE_FINE, or YPI_GATE_INTERNAL after telling stderr what cannot be written. */
int ypi_report_put(const struct ypi_report *report, const struct ypi_comparisons *all);

#endif
