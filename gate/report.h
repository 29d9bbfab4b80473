/* Where a comparison goes: the terminal, files, the history. */
#pragma once

#include "gate/summary.h"

#include <yieldpoint/device.h>

struct ypi_report {
    const char *history;         /* NULL: the nearest */
    const char *json, *markdown; /* files; NULL: none; "-": the standard output, instead of text */
    bool verbose;
};

/* YPI_GATE_FINE, or YPI_GATE_INTERNAL after telling stderr what cannot be written. */
int ypi_report_put(const struct ypi_report *report, const struct ypi_comparisons *all);

/* Prints the last error and says which exit code is its own. With `stop` (NULL: none) set, or for
 * YP_UNSUPPORTED there, it is an interruption, which needs no words. */
int ypi_gate_error(enum yp_status status, const volatile bool *stop);

/* Whether a line of progress is to be printed at `now` (seconds): each on a terminal, else one when
 * 30 s have passed since *told, which it sets then. */
bool ypi_report_is_due(double *told, double now, bool terminal);

/* For another outcome: with `put` into a file, "-": the standard output, NULL: none. False after
 * telling stderr. */
bool ypi_report_file(const char *path, void (*put)(FILE *out, const void *what), const void *what);
/* Writes the document in lines, and deletes it. */
void ypi_report_json(FILE *out, cJSON *document);
/* Whether a file of them is the standard output. */
bool ypi_report_is_stdout(const struct ypi_report *report);
