/* What the verdicts mean for a case: its outcome, and whether fresh processes have to be asked. */
#pragma once

#include "harness/vocabulary/options.h"
#include "harness/vocabulary/result.h"

struct ypi_judging {
    bool speed_judged; /* false: speed budgets are recorded only */
    bool instructions; /* under Callgrind or CUPTI, whose own memory is resident too */
    bool sanitized;    /* AddressSanitizer's memory is resident too, but for commands */
    bool once;         /* each body runs once: neither speed nor growth is judged */
    bool noisy_fails;
    enum ypi_baseline_mode baseline;
    bool exact_fails;  /* a figure that differs from its exact baseline fails the case */
    int confirmations; /* fresh processes that must all agree before a budget of speed or of
                          resident memory fails a case; 0: this one decides */
};

/* Fills estimates and verdicts: what this process's figures say. */
void ypi_judge_budgets(struct ypi_result *r, const struct ypi_judging *how);

/* Whether one more fresh process could still decide a budget, after `count` of them. */
bool ypi_needs_confirmation(const struct ypi_result *r, const struct ypi_judging *how,
                            const struct ypi_result *others, int count);

/* The last word: verdicts in the light of the fresh processes, a failure for each budget or check
 * that is not met, the outcome. `others` are results of the same case after ypi_judge_budgets. */
void ypi_conclude(struct ypi_result *r, const struct ypi_judging *how,
                  const struct ypi_result *others, int count);

/* Both at once, without any confirmation. */
void ypi_judge(struct ypi_result *r, const struct ypi_judging *how);
