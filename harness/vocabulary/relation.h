/* Relations between the cases of a run: what a declaration says, and whether that can be. */
#pragma once

#include "harness/vocabulary/case.h"

struct ypi_relation_kind {
    const char *value; /* that it finds */
    bool of_speed;
    bool to, name, axis, ends; /* the fields that it takes beside `of` */
};

const struct ypi_relation_kind *ypi_relation_kind(const struct yp_relation *relation);

/* Whether what it finds is made of times. */
bool ypi_relation_is_of_speed(const struct yp_test *test);

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

/* Where a case stands on an axis; NULL: it has none of that name. */
const struct ypi_setting *ypi_relation_setting(const struct yp_case *c, const char *axis);
bool ypi_relation_stands_at(const struct yp_case *c, const char *axis, const char *text);

/* Whether two cases differ in this axis at most. */
bool ypi_relation_differ_only_in(const struct yp_case *x, const struct yp_case *y,
                                 const char *axis);

/* Whether that is the value on its axis. */
bool ypi_relation_equals(const struct ypi_setting *s, const char *text);
/* "cuda" names any of them, "cuda:1" that one. */
bool ypi_relation_is_device(const char *device, const char *name, size_t length);
/* A relation that names devices is about cases of its own alone, where these name any. */
bool ypi_relation_is_of_device(const struct yp_case *relation, const struct yp_case *c);

/* Of points of a growth, with two of which a line has no scatter to be unsure by. */
enum { YPI_RELATION_POINTS = 3 };

/* Why points at `x`, logarithms of values of the axis, cannot decide the relation's budgets; NULL:
 * they can, or there is none. The caller frees. */
char *ypi_relation_undecidable_by(const struct yp_case *relation, const double *x, int count);
