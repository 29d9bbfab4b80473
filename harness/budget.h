/* Estimates, peaks, values and gradients against what was declared: verdicts and the outcome. */
#ifndef YPI_BUDGET_H
#define YPI_BUDGET_H

#include "result.h"

struct ypi_judging {
    bool speed_judged; /* false: speed budgets are recorded only */
    bool noisy_fails;
    bool skipped; /* the body said so */
};

/* Fills estimates, verdicts and outcome; adds a failure for each budget or check not met. */
void ypi_judge(struct ypi_result *r, const struct ypi_judging *how);

/* "at least 1 M pixels/s of 'fit'", "at most 64 MiB of host memory at once". */
void ypi_budget_text(char out[256], const struct yp_budget *budget, const char *unit);

/* A figure in the budget's unit. */
void ypi_budget_figure(char out[128], const struct yp_budget *budget, double value,
                       const char *unit);

const char *ypi_budget_kind_name(enum yp_budget_kind kind); /* "min rate", ... */
bool ypi_budget_is_speed(enum yp_budget_kind kind);

/* The unit of a budget's measurement or value in this result; "" when there is none. */
const char *ypi_budget_unit(const struct ypi_result *r, const struct yp_budget *budget);

#endif
