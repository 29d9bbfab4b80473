/* Declarations times axes times devices: the cases. */
#pragma once

#include "harness/vocabulary/case.h"
#include "harness/vocabulary/options.h"

struct ypi_collection {
    struct yp_case **cases; /* in declared order; owned */
    int count;
    int meant; /* of them, by the ids of the command line; those that others leave out are
                  "deselected". Set by ypi_select() */
    /* Reported on stderr; a run does not start with any. */
    int errors;                            /* in declarations */
    int usage_errors;                      /* in --set */
    struct ypi_axes *axes;                 /* what the cases' settings point to; owned */
    struct ypi_budget_files *budget_files; /* that their tests refer to; owned */
};

/* All the program's tests: the section that YP_TEST fills, its own and its libraries'. */
struct ypi_tests {
    const struct yp_test *const *begin, *const *end;
};
struct ypi_tests ypi_all_tests(void);

void ypi_collect(struct ypi_collection *out, struct ypi_options *o, struct ypi_tests tests);
void ypi_collection_clear(struct ypi_collection *c);

/* A case's budgets and their texts; NULL: none. */
void ypi_budgets_free(const struct yp_budget *budgets);

/* Adds a budget that follows from a baseline; a declared one of the same thing stays. */
void ypi_budgets_add_learned(struct yp_case *c, const struct yp_budget *b);

/* For what a filter asks in vain: tells it and counts it as an error of the collection. */
void ypi_collect_error(const struct yp_test *test, const char *message);

/* `path` as it stands in an id, the same from whichever directory it was compiled: from behind the
 * last suites/ component, else from the last tests/ on, else from the first component that is not
 * `.` or `..`. */
const char *ypi_test_path(const char *file);
