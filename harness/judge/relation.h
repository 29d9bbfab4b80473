/* What the relations between the cases of a run find. */
#pragma once

#include "harness/vocabulary/relation.h"
#include "harness/vocabulary/result.h"

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
