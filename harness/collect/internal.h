/* Between the files that make a collection; nothing else includes it. */
#pragma once

#include "harness/collect/collect.h"
#include "harness/vocabulary/axis.h"

#define YPI_DEFAULT_TIMEOUT 60.0 /* seconds */

/* The axes of one test; cases point to their texts. */
struct ypi_axes {
    struct yp_axis_values of[YP_MAX_AXES];
    int count;
    struct ypi_axes *next;
};

struct ypi_collecting {
    struct ypi_collection *out;
    struct ypi_options *o;
    const struct yp_test *test;
    struct ypi_axes *axes; /* of the test, read by ypi_declaration_is_right(); the collection's */
    struct ypi_budget_file *file; /* of the test; the collection's. NULL: none, or not there */
    bool file_sought;
    bool misfiltered; /* its filter or .budgets_of was wrong of a case: reported once */
};

/* Reports an error of the declaration that is being collected, and counts it. */
void ypi_declaration_error(struct ypi_collecting *g, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* How many ypi_collect_error() has reported in this collection. */
int ypi_filter_errors(void);

/* How many the test declares: the first without a name, or of no kind, ends the list. */
int ypi_case_count(const struct yp_test *test);
int ypi_axis_count(const struct yp_test *test);
int ypi_parameter_count(const struct yp_case_decl *c);

/* Of a list of budgets in a declaration: how many it has, and the device that one is for, NULL for
 * all. */
int ypi_budget_count(const struct yp_budget *list, int max);
const char *ypi_budget_device(const struct yp_budget *list, int i);

/* Whether budget `i` of the list is for the case's device. */
bool ypi_budget_is_for(const struct yp_budget *list, int i, const struct yp_case *c);

/* Adds a budget, in the place of the one that is of the same thing; texts are copied. */
void ypi_budgets_put(struct yp_budgets *all, const struct yp_budget *budget);

/* Adds what the test's file has for the case; reports what of it is wrong. */
void ypi_budgets_put_file(struct ypi_collecting *g, const struct yp_case *c,
                          struct yp_budgets *all);

/* After all tests: reports sections that no case has asked for, and --budgets without any use. */
void ypi_budget_files_check(struct ypi_collection *out, const struct ypi_options *o);
void ypi_budget_files_free(struct ypi_budget_files *files);

/* What is wrong with one budget of a case of the test, as "has the limit nan: ..."; NULL: nothing.
 * The caller frees. */
char *ypi_budget_problem(const struct yp_test *test, const struct yp_budget *budget);

/* Reports what is wrong with the budgets of the test and of its named cases. */
void ypi_check_budgets(struct ypi_collecting *g);

/* Works out what the case is held to, with its .budgets_of; false: that was reported as wrong. */
bool ypi_resolve_budgets(struct ypi_collecting *g, struct yp_case *c);

/* NULL, or what is wrong with .fixtures or with a fixture's declaration; the caller frees. */
char *ypi_fixture_problem(const struct yp_test *test);

/* Gives each case the cases that its .fixtures name; reports those that name none. */
void ypi_resolve_fixtures(struct ypi_collection *out, struct ypi_options *o);

/* Whether all of the declaration is allowed; reports every error. */
bool ypi_declaration_is_right(struct ypi_collecting *g);

/* Adds the cases of a declaration that is right. */
void ypi_expand(struct ypi_collecting *g);

/* The id of a case, and its tags: each once, sorted, separated by one blank. The caller's. */
char *ypi_make_id(const struct yp_case *c);
char *ypi_id_escape(const char *value); /* as it stands in one */
char *ypi_make_tags(const struct yp_case *c, const struct ypi_options *o);
