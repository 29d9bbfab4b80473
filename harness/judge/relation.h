/* Relations between the cases of a run. */
#ifndef YPI_RELATION_H
#define YPI_RELATION_H

#include "harness/collect/node.h"
#include "harness/result.h"

/* What is wrong with a test's declaration as a relation, or as one that has none; NULL when nothing
 * is. The caller frees. */
char *ypi_relation_problem(const struct yp_test *test);

/* The same of a budget that is not in the declaration, as "is not one of ...". */
char *ypi_relation_budget_problem(const struct yp_test *test, const struct yp_budget *budget);

/* The first node of a relation that names none of the cases; NULL: each names one. Where all
 * declared cases were collected (no --set, no --device) that is a mistake of the declaration. */
const char *ypi_relation_unmatched_node(const struct yp_test *test,
                                        const struct yp_case *const *cases, int count);

/* Why the values of the axis in one of its series cannot decide the budgets of a growth, whatever
 * is measured: Student's t for them at 99 %, times a scatter of 5 %, over their span (see
 * <yieldpoint/relation.h>) is not less than what the budgets leave. NULL: they can. The caller
 * frees. */
char *ypi_relation_undecidable(const struct yp_case *relation, const struct yp_case *const *cases,
                               int count);

/* Whether a relation looks at this case, as far as its declaration says: one that its nodes name,
 * of its device, and of a ratio over an axis one at either end. */
bool ypi_relation_reads(const struct yp_case *relation, const struct yp_case *c);

/* The results of this run so far, one a case. `results` may hold NULL for a case that has none. */
struct ypi_relation_input {
    const struct yp_case *const *cases;
    const struct ypi_result *const *results;
    int count;
    int report; /* of several pairs or series, the number of the one to report; 0: the worst */
};

/* One pair or series of a relation of speed. */
struct ypi_relation_finding {
    int number; /* from 1 */
    int *cases; /* owned: indices into the input, of those that it is made of */
    int count;
};

struct ypi_relation_findings {
    struct ypi_relation_finding *of; /* by their numbers; owned */
    int count;
    int worst; /* the number of the worst one in the eyes of the budgets */
};
void ypi_relation_findings_clear(struct ypi_relation_findings *findings);

/* Works out the relation of r->c->test from the cases that have r->c's repeat: adds its value
 * ("ratio", "exponent", "order" or "distinct hashes", with its interval), and a note
 * where it is of one of several pairs or series, or where cases had to be left out; for hashes that
 * differ a failure that names both cases; for what cannot be read as declared (no such axis, no
 * such measurement) a failure of cause USAGE. False when a case that it reads is missing, was not
 * selected or has no result: r->reason then names it, and the relation is to be skipped.
 * `findings` are all that there are; NULL: they are not wanted. */
bool ypi_relation_evaluate(const struct ypi_relation_input *input, struct ypi_result *r,
                           struct ypi_relation_findings *findings);

/* Whether what it finds is made of times. */
bool ypi_relation_is_of_speed(const struct yp_test *test);

#endif
