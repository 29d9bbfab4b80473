/* A report's cases as a trace in the Chrome format, for Perfetto or chrome://tracing: a process row
 * for each case at its true time, and on it the case, its stages, measurements, samples, phases and
 * fresh processes, and the series of its device as counters.
 *
 * Format: "Trace Event Format", JSON object format; events `X` (complete), `C` (counter) and `M`
 * (metadata); times in microseconds since 1970, whole quarters of one, which doubles hold exactly.
 */
#pragma once

#include "reports/content/content.h"

#include <cJSON.h>

struct ypi_trace;

/* Writes beside `path` as cases come; the file appears by ypi_trace_finish(), whole or not at all.
 * "-": the standard output. NULL with yp_last_error() set. */
struct ypi_trace *ypi_trace_create(const char *path);

/* Adds a case, `document` being ypi_document_of_result()'s with samples. `about` may be NULL. After
 * a failed write all later calls fail too. */
enum yp_status ypi_trace_take(struct ypi_trace *trace, const struct ypi_report_case *about,
                              const cJSON *document);

/* Ends the file and frees the trace, whatever it returns. YP_IO with yp_last_error() set: there is
 * no file, or the one that was there before. */
enum yp_status ypi_trace_finish(struct ypi_trace *trace);

/* Frees the trace and leaves no file. NULL is allowed. */
void ypi_trace_drop(struct ypi_trace *trace);
