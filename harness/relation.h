/* Relations between the cases of a run. */
#ifndef YPI_RELATION_H
#define YPI_RELATION_H

#include "result.h"

/* What is wrong with a declared relation, NULL when nothing is. The caller frees. */
char *ypi_relation_problem(const struct yp_test *test);

/* Whether `node` (a test or a whole case id, as on the command line) names the case `id`. */
bool ypi_node_names(const char *node, const char *id);

/* The results of this run so far, one a case. `results` may hold NULL for a case that has none. */
struct ypi_relation_input {
    const struct yp_case *const *cases;
    const struct ypi_result *const *results;
    int count;
};

/* Works out the relation of r->c->test: adds its value (ypi_value "ratio" or "exponent", with its
 * interval) and, for hashes that differ, a failure that names both cases. False when a case that it
 * reads is missing, was not selected or has no result: r->reason then names it, and the relation is
 * to be skipped. */
bool ypi_relation_work_out(const struct ypi_relation_input *input, struct ypi_result *r);

#endif
