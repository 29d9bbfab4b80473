/* A run while it goes on: what its parts share. */
#pragma once

#include "harness/judge/judge.h"
#include "harness/record/record.h"
#include "harness/report/reporter.h"
#include "harness/run/plan.h"

struct ypi_runner {
    const struct ypi_options *o;
    const struct ypi_session *session;
    struct ypi_history *history;
    FILE *out;                  /* where results are printed: the program's own standard output */
    struct ypi_reports reports; /* open; ypi_run() ends them */
    struct ypi_totals totals;
    bool exact_fails;   /* of baselines */
    bool record_failed; /* a result could not be stored; was reported */
    /* Set and kept by ypi_run(). */
    struct ypi_plan *plan;
    struct ypi_judging how;
    int failures;
    int again;                 /* items that want one more process */
    int depth;                 /* of the items that run now: see ypi_case */
    bool alone;                /* one case at a time */
    bool stopped;              /* nothing more is begun */
    struct ypi_rounds *rounds; /* of relations; NULL: before all cases have ended */
};

/* Runs, judges, stores and reports every item, in that order for each: in run.c. */
void ypi_run(struct ypi_runner *runner, struct ypi_plan *plan);
