/* One budget against what was measured. */
#pragma once

#include "harness/vocabulary/result.h"

/* Those of a case with those that the baseline adds: one a measurement. */
enum { YPI_MAX_BUDGETS = YP_MAX_BUDGETS + 16 };

/* The verdict that one process's figures give. Needs the measurements' estimates. */
struct ypi_verdict ypi_budget_judge(const struct ypi_result *r, const struct yp_budget *budget,
                                    bool speed_judged);

/* The same of a speed budget and a measurement that is still going on: fills measured, low, high
 * and met, which stays as it is when there is nothing to judge. */
void ypi_budget_judge_speed(struct ypi_verdict *v, const struct ypi_measured *m);

/* Whether a speed is beyond what there is, so that it meets no budget of that kind: an iteration
 * that takes less than any processor does, or a share far above its ceiling (measurement.md). */
bool ypi_speed_is_impossible(const struct ypi_measured *m, enum yp_budget_kind kind);

/* How many times worse it could be and still be met: measured over limit where the limit is the
 * least, limit over measured where it is the most. 1 and more when it is met. NaN where limit or
 * figure is not above 0. */
double ypi_budget_slack(const struct yp_budget *budget, double measured);
/* Whether so large a slack is worth a note: above 3 of speed, above 10 of anything else, unless the
 * budget is required. */
bool ypi_slack_is_loose(const struct yp_budget *budget, double slack);

/* "at least 1 M pixels/s of 'fit'", "at most 64 MiB of host memory at once". */
void ypi_budget_text(char out[256], const struct yp_budget *budget, const char *unit);

/* What the kind and the name of a budget leave open: its counter, or its quantile as "p99". False,
 * with "", when there is no such thing. */
#define YPI_DETAIL_MAX 32
bool ypi_budget_detail(char out[YPI_DETAIL_MAX], const struct yp_budget *budget);

/* A figure in the budget's unit. */
void ypi_budget_figure(char out[128], const struct yp_budget *budget, double value,
                       const char *unit);

/* The budget of the case at *next, and *next behind it; NULL: no more. */
const struct yp_budget *ypi_next_budget(const struct yp_case *c, int *next);
/* The first of this kind and name; NULL: none. */
const struct yp_budget *ypi_budget_of(const struct yp_case *c, enum yp_budget_kind kind,
                                      const char *name);

const char *ypi_budget_kind_name(enum yp_budget_kind kind); /* "min rate", ... */
const char *ypi_memory_name(enum yp_memory_kind memory);    /* "host", "device", "heap" */
/* False: the text is none of these names. */
bool ypi_memory_of_name(enum yp_memory_kind *out, const char *name);

bool ypi_budget_is_speed(enum yp_budget_kind kind);
bool ypi_budget_is_mark(enum yp_budget_kind kind); /* says something of others in a declaration */

/* Whether both are of the same thing, whatever their limits. */
bool ypi_budget_same(const struct yp_budget *a, const struct yp_budget *b);

/* The unit of a budget's measurement or value in this result; "" when there is none. */
const char *ypi_budget_unit(const struct ypi_result *r, const struct yp_budget *budget);
