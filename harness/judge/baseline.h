/* What a kind of machine reached before, beside what this run reached. */
#pragma once

#include "base/text/text.h"
#include "harness/judge/judge.h"

/* Of YP_BUDGET_MAX_REGRESSION, after its verdict: what has no baseline, or is not there any more,
 * is not judged, and under --baseline=report only recorded. */
void ypi_judge_baseline(struct ypi_verdict *v, const struct ypi_judging *how);

/* Adds to the message of a regression both figures, where the baseline is from, and the commands
 * that make sure; nothing for other budgets. */
void ypi_add_baseline(struct ypi_text *message, const struct ypi_result *r,
                      const struct ypi_verdict *v);

/* Whether another budget of speed of the same measurement fails the case for what this regression
 * is. */
bool ypi_fails_already(const struct ypi_result *r, const struct ypi_verdict *regression);

/* Exact figures that differ from their baseline: a note each, or a failure each. */
void ypi_compare_exact(struct ypi_result *r, const struct ypi_judging *how);

/* Notes: what was undecided for a slower state of the machine, what has become much better, and
 * under --baseline=report what has become worse. */
void ypi_note_baselines(struct ypi_result *r);
