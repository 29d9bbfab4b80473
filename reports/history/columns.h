/* Named sets of columns for exports. docs/history.md says what each column holds. */
#pragma once

#include <stddef.h>

struct ypi_column {
    const char *name;
    const char *sql; /* of the tables that ypi_results_each() knows; NULL where it is not known */
};

struct ypi_column_set {
    const struct ypi_column *list;
    size_t count;
};

#define YPI_COLUMN_SETS "all tile-sweep model-sweep"
extern const struct ypi_column_set ypi_column_sets[3]; /* in that order */
