/* Everything the history has of one result, or of one run, as one document. */
#ifndef YPI_DOCUMENT_H
#define YPI_DOCUMENT_H

#include <cJSON.h>
#include <sqlite3.h>
#include <stdbool.h>

/* {result, case {.., axes}, run {.., facts, options}, failures, measurements {.., phases, bounds,
 * counters, noise {..}, noise_cause, samples, cpu_samples, shares}, values, gradients, budgets,
 * memory, attempts, reproduce}. Seeds and numbers of allocations are texts: they may be larger than
 * what a JSON reader takes as a number. Owned by the caller; NULL with yp_last_error()
 * set. */
cJSON *ypi_document_of_result(sqlite3 *db, const char *result_id, bool samples);

/* The member "run" of the above alone. */
cJSON *ypi_document_of_run(sqlite3 *db, const char *run_id);

#endif
