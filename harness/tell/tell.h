/* The same results in three forms: for a person, for meson (TAP) and for a spreadsheet (CSV). */
#ifndef YPI_TELL_H
#define YPI_TELL_H

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
void ypi_tell_unusual(FILE *out, const char *prefix, const struct ypi_options *o);

/* The line that runs the case again; the caller frees. */
char *ypi_reproduce_line(const struct ypi_session *s, const struct ypi_result *r);

/* A line a budget, indented, with its slack or without. */
void ypi_tell_verdicts(FILE *out, const struct ypi_result *r, bool slack);

/* Adds a line for each budget and bound that is met and loose. */
void ypi_add_loose(struct ypi_text *out, const struct ypi_result *r);

/* The end of what the case wrote. */
void ypi_tell_output(FILE *out, const struct ypi_result *r);

/* As --tb says, at most everything to know about a failed case: reasons, budgets, the end of its
 * output, how to run it again. */
void ypi_tell_failure(FILE *out, const struct ypi_session *s, const struct ypi_result *r);

struct ypi_terminal;
struct ypi_terminal *ypi_terminal_begin(FILE *out, const struct ypi_session *s);
void ypi_terminal_case(struct ypi_terminal *terminal, const struct ypi_result *r);
void ypi_terminal_end(struct ypi_terminal *terminal, const struct ypi_totals *totals);
void ypi_terminal_free(struct ypi_terminal *terminal); /* of a run that never began; takes NULL */

/* TAP 13, numbered, streamed: a line as soon as its case is stored. */
void ypi_tap_begin(FILE *out, const struct ypi_session *s);
void ypi_tap_case(FILE *out, int number, const struct ypi_result *r);
void ypi_tap_end(FILE *out, const struct ypi_totals *totals);

/* Appends the rows of one result, and a header to an empty file: one row for the duration and one
 * for each measurement, value, check, memory peak and verdict. YP_IO with the path, also when the
 * file's header is another one. */
enum yp_status ypi_csv_append(const char *path, const struct ypi_session *s,
                              const struct ypi_result *r);
/* Whether it can be appended to; creates the file. */
enum yp_status ypi_csv_check(const char *path);

#endif
