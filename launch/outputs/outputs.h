/* What the suite's options ask for, of all shards together: JUnit's XML, Google Benchmark's JSON,
 * rows as CSV, TAP. */
#pragma once

#include "harness/history/history.h"
#include "launch/outcome.h"

/* The cases of a launch, in the order of their ids, and what is stored of them. */
struct ypi_launch_results {
    const struct ypi_launch *l;
    const struct ypi_launch_outcome *found;
    struct ypi_documents *documents; /* of the project's history */
};

/* All that is stored of a case's result (history.h); NULL: it is not in the history. Owned by the
 * caller. */
cJSON *ypi_launch_document(const struct ypi_launch_results *r, const struct ypi_launched_case *c);

/* Members of a document, and 0 or NaN or "" where it has none. */
double ypi_launch_real(const cJSON *object, const char *name);

bool ypi_launch_is(const struct ypi_launched_case *c, const char *outcome);
bool ypi_launch_failed(const struct ypi_launched_case *c);

/* Calls `take` for each case that has no result, for its shard did not come to its end. */
void ypi_launch_each_missing(const struct ypi_launch_results *r,
                             void (*take)(void *arg, const char *id, int shard), void *arg);

void ypi_launch_put_junit(FILE *out, const struct ypi_launch_results *r);
void ypi_launch_put_benchmark(FILE *out, const struct ypi_launch_results *r);
void ypi_launch_put_tap(FILE *out, const struct ypi_launch_results *r);
/* Appends to the file at `path` what the shards wrote of the results that count. YP_IO with
 * yp_last_error() set. */
enum yp_status ypi_launch_append_rows(const struct ypi_launch_results *r, const char *path);
