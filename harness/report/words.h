/* What reporters share: a run, what it comes to, and the words of a result. */
#pragma once

#include "base/text/text.h"
#include "harness/record/environment.h"
#include "harness/vocabulary/options.h"
#include "harness/vocabulary/result.h"

#include <stdio.h>

#define YPI_HEADLINE_MAX 256

struct ypi_session {
    const struct ypi_options *o;
    const struct ypi_environment *environment;
    const char *run_id;
    const char *program; /* path of the executable */
    int collected, deselected;
    const char *arranged; /* lines on what was run before and in which order; NULL: none */
    int total;            /* cases to run, repeats counted */
    double started;       /* monotonic */
};

struct ypi_totals {
    int count[YPI_OUTCOMES];
    bool interrupted;
    bool stopped; /* by -x or --maxfail */
};

/* "fit 12.3 M pixels/s +-0.4 %"; "" when nothing was measured. */
void ypi_headline(char out[YPI_HEADLINE_MAX], const struct ypi_result *r);

/* The first reason of a failure, one line; "" when there is none. */
const char *ypi_first_reason(const struct ypi_result *r);

/* A line for each option whose results are no normal ones, with `prefix` before it. */
void ypi_print_unusual(FILE *out, const char *prefix, const struct ypi_options *o);

/* The line that runs the case again; the caller frees. */
char *ypi_reproduce_line(const struct ypi_session *s, const struct ypi_result *r);

/* A line a budget, indented, with its slack or without. */
void ypi_print_verdicts(FILE *out, const struct ypi_result *r, bool slack);
/* Where each rank was, from its values; nothing of a case of one rank. */
void ypi_print_places(FILE *out, const struct ypi_result *r);
/* That a timed case has no baseline yet, and how many processes there are; where it has, or none
 * was looked for, nothing. */
void ypi_print_lacking(FILE *out, const struct ypi_result *r);

/* Adds a line for each budget and bound that is met and loose. */
void ypi_add_loose(struct ypi_text *out, const struct ypi_result *r);

/* The end of what the case wrote. */
void ypi_print_output(FILE *out, const struct ypi_result *r);

/* As --tb says, at most everything to know about a failed case: reasons, budgets, the end of its
 * output, how to run it again. */
void ypi_print_failure(FILE *out, const struct ypi_session *s, const struct ypi_result *r);

/* The file to which rows are appended, except under --slowdown; NULL: none. */
const char *ypi_appended_to(const struct ypi_options *o);
