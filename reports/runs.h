/* Runs with their results, in one line each. */
#ifndef YPI_RUNS_H
#define YPI_RUNS_H

#include <cJSON.h>
#include <sqlite3.h>

struct ypi_runs_filter {
    const char *run;     /* UUID; NULL: all */
    const char *id;      /* part of a case's id; NULL: all */
    const char *outcome; /* NULL: all */
    const char *limit;   /* a number of results; "-1": all */
};

/* An array of runs, newest first, each with the array "results", newest first. A run without any
 * result is there unless results are asked for by id or outcome. Owned by the caller; NULL with
 * yp_last_error() set. */
cJSON *ypi_runs_load(sqlite3 *db, const struct ypi_runs_filter *filter);

void ypi_runs_print(const cJSON *runs);

#endif
