/* Runs with their results, in one line each. */
#ifndef YPI_RUNS_H
#define YPI_RUNS_H

#include <cJSON.h>
#include <sqlite3.h>
#include <stdbool.h>

struct ypi_runs_filter {
    const char *run;     /* UUID; NULL: all */
    const char *id;      /* part of a case's id; NULL: all */
    const char *outcome; /* NULL: all */
    const char *limit;   /* a number of results; "-1": all */
    bool attempts;       /* the fresh processes that confirm a case or fail its allocations, too */
};

/* An array of runs, newest first, each with the array "results", newest first. A run without any
 * result is there unless results are asked for by id or outcome. Owned by the caller; NULL with
 * yp_last_error() set. */
cJSON *ypi_runs_load(sqlite3 *db, const struct ypi_runs_filter *filter);

void ypi_runs_print(const cJSON *runs);

/* The other results of the same run, case and repeat, by their attempts. Owned by the caller; NULL
 * with yp_last_error() set. */
cJSON *ypi_attempts_load(sqlite3 *db, const char *result_id);

/* What there is to say of a result, which may have more lines than one; "" when there is nothing.
 */
void ypi_result_headline(const cJSON *result, char *out, size_t size);

#endif
